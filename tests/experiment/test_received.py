"""A results folder or a config from somebody else: looking at it executes nothing, reads nothing outside of it, and
neither pages nor the terminal obey its texts."""

import csv
import hashlib
import io
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from privbandits_cli.actions import run
from privbandits_cli.actions.report import gather
from privbandits_cli.adversaries import replay
from privbandits_cli.cli import app
from privbandits_cli.data import files
from privbandits_cli.experiment.names import Name
from privbandits_cli.experiment.received import Outside, Trust, Untrusted, inside, printable
from privbandits_cli.figures import table
from privbandits_cli.plugins import loader
from privbandits_cli.plugins.source import sources
from tests.conftest import ROOT, SMALL, some
from tests.engine.test_engine import csvs

pytestmark = pytest.mark.usefixtures("no_figure")

FILE = (ROOT / "privbandits_cli/cli/algorithm_bandit.txt").read_text().replace("@NAME@", "mine")
FILE = FILE.replace("@TITLE@", "Mine").replace(
    "    def state",
    "    def regret_bound(self, rounds, setting, memory=0):\n        return 3.0 * rounds**0.5\n\n    def state",
)
OWN = SMALL.replace("experiment: small", "experiment: own").replace("trials: 16", "trials: 4").replace("1000", "200")
OWN = OWN.replace("algorithms:\n  - exp3", "algorithms:\n  - exp3\n  - mine") + "include: mine.py\n"
CLAIMS = 'claims: [{claim: "mine < 9 x exp3", source: here}]\n'
ESCAPE = "\x1b[31mred\x1b]0;title\x07"


def call(*words):
    found = CliRunner().invoke(app, [str(word) for word in words])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found


def refused(*said, by):
    """Each of these commands is refused, with all of this in its message."""
    for words in by:
        found = call(*words.split())
        assert found.exit_code == 2 and all(part in found.stderr for part in said), (words, found.output)


LOOKS = "plot results/own --format svg", "report results/own"
LINKED = "a link to a place outside of the folder"


def forget():
    """Let users' files be executed again, as in another process."""
    for name in list(sources):
        del sources[name]
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def _own(tmp_path_factory):
    """A results folder and two shards of an experiment with an own file, its config and the file."""
    desk = tmp_path_factory.mktemp("own")
    before = Path.cwd()
    os.chdir(desk)
    try:
        Path("mine.py").write_text(FILE + f"\nopen({str(desk / 'marker')!r}, 'w').close()\n")
        Path("own.yaml").write_text(OWN + CLAIMS)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(run, "FIGURES", ("svg",))
            for words in ((), ("--shard", "1/2"), ("--shard", "2/2")):
                assert call("run", "own.yaml", "-q", *words).exit_code == 0
    finally:
        os.chdir(before)
    return desk


@pytest.fixture
def own(_own, tmp_path, monkeypatch):
    """A copy of that folder to work in; the own file leaves `marker` when it is executed."""
    desk = tmp_path / "desk"
    shutil.copytree(_own, desk, ignore=shutil.ignore_patterns("marker"), copy_function=shutil.copyfile)
    (desk / "configs").mkdir()
    shutil.copy(desk / "own.yaml", desk / "configs/own.yaml")
    monkeypatch.chdir(desk)
    (_own / "marker").unlink(missing_ok=True)
    monkeypatch.setattr(loader, "marker", _own / "marker", raising=False)
    forget()
    return desk


def executed():
    found = loader.marker.exists()
    loader.marker.unlink(missing_ok=True)
    forget()
    return found


def changed(path, **entries):
    """Change the top entries of a JSON or YAML file; None deletes one."""
    path = Path(path)
    read, write = (json.loads, json.dumps) if path.suffix == ".json" else (yaml.safe_load, yaml.safe_dump)
    found = read(path.read_text()) | entries
    path.write_text(write({key: value for key, value in found.items() if value is not None}))


def older(folder):
    """Make a results folder as it was written before theory and ledger were recorded."""
    path = folder / "manifest.json"
    curves = json.loads(path.read_text())["curves"]
    for one in curves.values():
        one.pop("theory", None)
    changed(path, ledger=None, curves=curves)


# --------------------------------------------------------------------------------- nothing is executed

LOOKING = [
    "plot results/own --format svg",
    "plot results/own --format svg --bounds --log",
    "plot results/own --format svg --kind distribution",
    "plot results/own --format svg --kind paired",
    "report results/own",
    "report results",
    "compare results/own results/own",
    "check results",
    "check results/own --config own.yaml",
    "merge results/own-shard-1-of-2 results/own-shard-2-of-2 --results merged",
    "list experiments",
    "list algorithms",
    "show exp3",
]


@pytest.mark.parametrize("words", some(LOOKING, *LOOKING[::4]))
@pytest.mark.parametrize("old", some([False, True], True))
def test_looking_executes_no_file_of_the_folder(own, words, old):
    if old:
        older(own / "results/own")
    call(*words.split())
    assert not executed()


@pytest.mark.parametrize("words", [words for words in LOOKING if words.split()[0] in ("check", "merge", "report")])
@pytest.mark.parametrize("allowed", [["--trust"], ["--include", "mine.py"]])
def test_with_leave_it_is_executed(own, words, allowed):
    result = call(*words.split(), *allowed)
    assert result.exit_code == 0 and executed(), result.output


def test_what_a_run_has_recorded_is_what_the_file_says(own):
    seen, said = (table.read(Path("results/own"), bounds=True, trust=trust) for trust in (Trust(), Trust(kept=True)))
    assert executed()
    pairs = [(a, b) for title in seen.panels for a, b in zip(seen.panels[title], said.panels[title], strict=True)]
    assert len(pairs) == 8 and all((a.bound is None) == (b.bound is None) for a, b in pairs)
    for a, b in pairs:
        if a.bound is not None:
            np.testing.assert_array_equal(a.bound, b.bound)
    mine = next(a for a, _ in pairs if a.algorithm == "mine")
    np.testing.assert_allclose(mine.bound, 3 * np.sqrt(mine.x))
    assert gather(Path("results/own")).privacy == gather(Path("results/own"), trust=Trust(kept=True)).privacy != []


def test_a_folder_without_the_record_says_what_it_needs(own):
    older(own / "results/own")
    plotted = call("plot", "results/own", "--bounds", "--format", "svg")
    assert plotted.exit_code == 2
    assert "no bound of Mine: mine.py is needed: --include FILE.py or --trust executes it" in plotted.stderr
    assert call("plot", "results/own", "--bounds", "--format", "svg", "--trust").exit_code == 0 and executed()
    assert call("plot", "results/own", "--bounds", "--format", "svg", "--include", "mine.py").exit_code == 0
    found = gather(Path("results/own"))
    assert found.privacy == [] and found.unknown.startswith("Unknown: results/own/config.yaml needs")
    assert "--include FILE.py or --trust executes it" in found.unknown
    config = Path("results/own/config.yaml")
    config.write_text(config.read_text().replace("bounds: false", "bounds: true"))
    assert call("report", "results/own").exit_code == 0  # a figure with bounds is drawn without that one, and says so
    assert "no bound of Mine" in Path("results/own/report.md").read_text()


def test_check_and_merge_say_what_they_need(own):
    commands = "check results/own", "check results", "merge results/own-shard-1-of-2 --results merged"
    refused("needs", "mine.py", "--include FILE.py or --trust executes it", by=commands)
    assert not Path("merged").exists()
    assert "no claims about results/own: configs/own.yaml needs mine.py" in call("report", "results/own").stderr
    changed("configs/own.yaml", claims=None)
    assert call("check", "results").exit_code == 0  # nothing to check, so nothing to execute


def test_shards_merge_to_the_same_bytes(own):
    whole = csvs(Path("results/own"))
    assert call("merge", *Path("results").glob("own-shard-*"), "--trust", "-q", "--results", "merged").exit_code == 0
    assert csvs(Path("merged/own")) == whole
    made = json.loads(Path("merged/own/manifest.json").read_text())
    assert made["ledger"] == json.loads(Path("results/own/manifest.json").read_text())["ledger"]


def test_another_file_than_the_one_that_played_is_refused(own):
    Path("mine.py").write_text(Path("mine.py").read_text() + "\n# edited\n")
    for words in ("plot results/own --bounds", "report results/own", "merge results/own-shard-1-of-2"):
        refused("mine.py is not the file that played: it differs from", by=[f"{words} --include mine.py"])
        assert not executed()


def test_a_bound_that_fails_is_recorded_as_such(own):
    text = FILE.replace("return 3.0 * rounds**0.5", "raise ValueError('no luck')")
    Path("mine.py").write_text(text)
    assert call("run", "own.yaml", "-q", "experiment=failing").exit_code == 0
    line = 1 + text[: text.index("raise ValueError")].count("\n")
    refused(f"no bound of Mine: mine.py:{line}: ValueError: no luck", by=["plot results/failing --bounds"])


# ------------------------------------------------------------------------- what is executed is announced


def test_a_config_that_includes_files_is_announced_on_stderr(own):
    line = "executing mine.py, which own.yaml includes\n"
    assert call("validate", "own.yaml").stderr == line and executed()
    found = call("validate", "own.yaml", "--json")
    assert found.stderr == line and json.loads(found.stdout) == {"own.yaml": []}
    dry = call("run", "own.yaml", "--dry-run", "--json")
    assert dry.stderr.startswith(line) and json.loads(dry.stdout)["experiment"] == "own"
    assert call("run", "own.yaml", "-q").stderr == ""
    assert call("validate", "own.yaml", "--include", "mine.py").stderr == ""  # who names it knows
    assert call("privacy", "own.yaml").stderr == line
    copy = "executing results/own/included/mine.py, which results/own/config.yaml includes\n"
    assert call("run", "results/own/config.yaml", "--dry-run").stderr.startswith(copy)


def test_listing_experiments_reads_their_keys_alone(own):
    changed("configs/own.yaml", title="By mail")
    listed = call("list", "experiments")
    assert "By mail" in listed.stdout and listed.stderr == "" and not executed()


def test_the_slurm_script_trusts_its_own_shards(own):
    assert "merge --trust results/own-shard-" in call("slurm", "own.yaml").stdout
    assert "merge results/fig1-shard-" in call("slurm", "fig1").stdout


# ------------------------------------------------------------------------------------ chunks, manifests, configs


class Bomb:
    def __reduce__(self):
        return open, (str(loader.marker), "w")


def sealed(**arrays):
    """The bytes of a chunk file with these arrays, with the right checksum."""
    buffer = io.BytesIO()
    save = np.savez_compressed if arrays.pop("compressed", False) else np.savez
    save(buffer, **arrays)
    return buffer.getvalue() + hashlib.sha256(buffer.getvalue()).digest()


GOOD = {"trials": np.arange(2), "regrets": np.ones((2, 8)), "code": np.array("x")}
WRONG = {
    "pickle": {"regrets": np.array([[Bomb()]], dtype=object)},
    "code is a pickle": {"code": np.array(Bomb(), dtype=object)},
    "compressed": {"compressed": True},
    "other checkpoints": {"regrets": np.ones((2, 3))},
    "more trials than regrets": {"trials": np.arange(3)},
    "one number": {"trials": np.array(1)},
    "text": {"trials": np.array(["a", "b"])},
    "negative": {"trials": np.array([-2, 1])},
    "twice": {"trials": np.array([1, 1])},
    "nan": {"regrets": np.full((2, 8), np.nan)},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_chunk_that_no_run_wrote_is_played_again(own, name):
    folder = Path("results/own-shard-1-of-2")
    victim = next(file for file in sorted((folder / "chunks").glob("*__exp3__*.npz")))
    victim.write_bytes(sealed(**GOOD | WRONG[name]))
    merged = call("merge", folder, "--trust", "--results", "merged")
    assert merged.exit_code == 1 and f"{victim} was damaged" in merged.stderr and "missing: " in merged.stderr
    executed()  # the own file, by --trust
    again = call("run", "own.yaml", "--shard", "1/2")
    assert again.exit_code == 0 and f"{victim} was damaged; their trials are run again" in again.stderr


def test_a_pickle_is_never_loaded(own):
    with pytest.raises(ValueError, match="allow_pickle"):  # these bytes would execute something
        content = sealed(**GOOD | WRONG["pickle"])
        np.load(io.BytesIO(content[:-32]), allow_pickle=False)["regrets"]
    np.load(io.BytesIO(content[:-32]), allow_pickle=True)["regrets"]
    assert executed()
    victim = next(Path("results/own-shard-1-of-2/chunks").glob("*__exp3__*.npz"))
    for harm in (content, pickle.dumps(Bomb()), pickle.dumps(Bomb()) + hashlib.sha256(pickle.dumps(Bomb())).digest()):
        victim.write_bytes(harm)
        call("merge", victim.parent.parent, "--include", "mine.py", "--results", "merged")
        call("run", "results/own/config.yaml", "--dry-run", "--results", "results")
        victim.write_bytes(harm)
    loader.marker.unlink()  # by the own file
    victim.write_bytes(content)
    call("merge", victim.parent.parent, "--results", "merged")
    assert not executed()


def test_a_chunk_that_is_a_link_or_a_folder_is_not_read(own, tmp_path):
    folder = Path("results/own-shard-1-of-2")
    first, second = sorted((folder / "chunks").glob("*__exp3__*.npz"))[:2]
    shutil.move(first, tmp_path / "elsewhere.npz")
    first.symlink_to(tmp_path / "elsewhere.npz")
    second.unlink()
    second.mkdir()
    merged = call("merge", folder, "--trust", "--results", "merged")
    assert merged.exit_code == 1 and "and 1 more chunks were damaged" in merged.stderr


@pytest.mark.parametrize("line", ["[" * 3000, "[1]", '{"event": "chunk"}', '{"event": "chunk", "seconds": "x"}', "\0"])
def test_a_journal_that_no_run_wrote_stops_nothing(own, line):
    Path("results/own/journal.jsonl").write_text(line + "\n")
    assert call("run", "own.yaml", "--dry-run").exit_code == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"curves": [1]},
        {"curves": {"x": 1}},
        {"command": ["privbandits", "run", 3]},
        {"command": "run"},
        {"git": ["a"]},
        {"git": {"commit": 3, "dirty": False}},
        {"machine": "fast"},
        {"trials": {"done": "</td><script>alert(1)</script>"}},
        {"complete": "no"},
        {"versions": [1]},
        {"sha256": 4},
        {"ledger": [{"algorithm": "x"}]},
        {"jobs": "\n\\input{x}"},
    ],
)
def test_a_manifest_that_no_run_wrote_is_an_error(own, wrong):
    changed("results/own/manifest.json", **wrong)
    refused("manifest.json is not a manifest: run the experiment again", by=LOOKS)


@pytest.mark.parametrize("text", some(["", "{", "[" * 100_000, "[]", '"x"', "\xff"], "{", "[" * 100_000, "[]", "\xff"))
def test_a_manifest_that_is_none_is_an_error_and_a_run_writes_it_anew(own, text):
    Path("results/own/manifest.json").write_bytes(text.encode("latin-1"))
    refused("run the experiment again", by=LOOKS)
    assert (
        call("run", "own.yaml", "-q").exit_code == 0 and call("plot", "results/own", "--format", "svg").exit_code == 0
    )


def test_theory_of_another_run_is_an_error(own):
    curves = json.loads(Path("results/own/manifest.json").read_text())["curves"]
    key = next(key for key, one in curves.items() if "theory" in one)
    curves[key]["theory"] = {"bound": [1.0], "rates": []}
    changed("results/own/manifest.json", curves=curves)
    refused("of different runs: run the experiment again", by=["plot results/own --bounds"])


CONFIGS = {
    "not YAML": "a: [",
    "a tag": "title: !!python/object/apply:os.system ['touch marker']",
    "no text": "title: [1]",
    "no number": "trials: many",
    "no list": "horizon: {a: 1}",
    "unknown bars": "summary: {bars: wide}",
    "no axis": "plot: {against: 3}",
    "no mapping": "[1, 2]",
}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_config_in_a_results_folder_is_data(own, name):
    Path("results/own/config.yaml").write_text(CONFIGS[name])
    refused("config.yaml", by=LOOKS)
    assert not Path("marker").exists()


@pytest.mark.parametrize(
    ("column", "cell"),
    [("parameters", "["), ("parameters", "[]"), ("parameters", '{"adversary": 1, "algorithm": {}}'), ("mean", "x"),
     ("parameters", "[" * 100_000), ("round", ""), ("trials", "many"), ("label", "x" * 140_000)],
)  # fmt: skip
def test_a_csv_that_no_run_wrote_is_an_error(own, column, cell):
    path = Path("results/own/summary.csv")
    head, *lines = path.read_text().splitlines()
    cells = next(iter(csv.reader(lines[:1])))
    cells[head.split(",").index(column)] = cell
    out = io.StringIO()
    csv.writer(out).writerow(cells)
    path.write_text("\n".join([head, out.getvalue().strip(), *lines[1:]]) + "\n")
    for words in ("report results/own", "compare results/own results/own", "check results/own --trust"):
        found = call(*words.split())
        assert found.exit_code == 2 or (column, words) == ("mean", "report results/own"), words
    path.write_text(head + "\n" + lines[0] + ",1,2,3\n")
    assert "this row has more or fewer cells" in call("compare", "results/own", "results/own").stderr


# ------------------------------------------------------------------------------------------ paths and links


def test_a_config_names_no_file_outside_of_its_folder(own, tmp_path):
    """Neither the users' files nor the claims."""
    evil = tmp_path / "evil.py"
    evil.write_text(Path("mine.py").read_text())
    older(own / "results/own")
    for name in (str(evil), "../evil.py", "../../evil.py"):
        changed("results/own/config.yaml", include=[name])
        changed("results/own-shard-1-of-2/experiment.yaml", include=[name])
        for words in ("report results/own --trust", "merge results/own-shard-1-of-2 --results merged --trust"):
            found = call(*words.split())
            told = found.stderr if words.startswith("merge") else Path("results/own/report.md").read_text()
            assert "of which the folder keeps no copy: name it by --include" in told.replace("\\", ""), found.output
    executed()
    changed("configs/own.yaml", experiment="evil")
    shutil.move("configs/own.yaml", "evil.yaml")
    changed("results/own/config.yaml", experiment="../evil", include=["mine.py"])
    refused("configs/own.yaml does not exist", by=["check results/own"])
    assert not executed()


@pytest.mark.parametrize("name", ["config.yaml", "manifest.json", "summary.csv", "final.csv", "included"])
def test_a_link_out_of_the_folder_is_not_followed(own, tmp_path, name):
    shutil.rmtree("configs")  # claims that include the own file
    place, secret = Path("results/own") / name, tmp_path / "secret"
    shutil.move(place, secret)
    place.symlink_to(secret)
    words = ("plot results/own --kind distribution", "report results/own", "compare results/own results/own")
    for command in words if name != "included" else ("plot results/own --bounds --trust", "report results/own --trust"):
        refused(f"{place}", LINKED, by=[command])
        assert not executed()
    assert not Path("results/own/report.html").exists()


def test_a_tree_of_results_has_no_linked_folder(own, tmp_path):
    shutil.move("results/own", tmp_path / "far")
    Path("results/own").symlink_to(tmp_path / "far")
    refused(f"results/own: {LINKED}", by=["plot results --format svg", "report results"])
    assert not (tmp_path / "far/report.html").exists()


def test_a_link_within_the_folder_and_a_linked_folder_are_followed(own, tmp_path):
    shutil.move("results/own/summary.csv", "results/own/there.csv")
    Path("results/own/summary.csv").symlink_to("there.csv")
    shutil.move("results/own", tmp_path / "far")
    Path("results/own").symlink_to(tmp_path / "far")
    assert call("plot", "results/own", "--format", "svg").exit_code == 0
    with pytest.raises(Outside, match="far/x: a link"):
        (tmp_path / "far/x").symlink_to("/etc")
        inside(tmp_path / "far", "x")


@pytest.mark.parametrize("name", ["lock", "journal.jsonl", "chunks", "included"])
def test_a_run_writes_through_no_link(own, tmp_path, name):
    """A received folder could overwrite any file of the user's."""
    place, victim = Path("results/own") / name, tmp_path / "victim"
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    victim.mkdir() if name in ("chunks", "included") else victim.write_text("mine\n")
    (tmp_path / "victim" / ".x.tmp1").write_text("") if victim.is_dir() else None
    place.symlink_to(victim)
    refused(f"{place}: {LINKED}", by=["run own.yaml", "merge results/own-shard-1-of-2 --trust"])
    assert victim.read_text() == "mine\n" if victim.is_file() else os.listdir(victim) == [".x.tmp1"]


def test_what_is_written_replaces_a_link(own, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine\n")
    for name in ("results/CLAIMS.md", "results/own/report.html", "results/own/own.svg", "results/index.html"):
        Path(name).unlink(missing_ok=True)
        Path(name).symlink_to(victim)
    for words in ("check results --write --trust", "report results", "plot results/own --format svg"):
        assert call(*words.split()).exit_code == 0
    assert victim.read_text() == "mine\n" and not Path("results/CLAIMS.md").is_symlink()


@pytest.mark.slow
def test_data_that_a_config_names_are_not_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("clicks.csv").write_text("a,b,c,d\n" + "0.25,1,0,0\n" * 40)
    words = ("adversary={name: replay, path: clicks.csv, repeat: true}", "algorithms=exp3")
    Path("small.yaml").write_text(SMALL)
    assert call("run", "small.yaml", *words, "-q").exit_code == 0
    assert call("run", "small.yaml", *words, "-q", "--shard", "1/1").exit_code == 0
    assert call("run", "small.yaml", *words, "-q", "--shard", "1/2").exit_code == 0
    read = []
    for module in (replay, files):
        monkeypatch.setattr(module, "stamp", lambda path: read.append(path) or (1, 1))
    assert call("report", "results/small").exit_code == 0 and call("plot", "results/small", "--bounds").exit_code == 0
    assert "EXP3" in [block["algorithm"] for block in gather(Path("results/small")).privacy]
    refused("needs clicks.csv: --trust reads it", by=["merge results/small-shard-1-of-2 --results merged"])
    changed("results/small/manifest.json", ledger=None)
    assert gather(Path("results/small")).unknown.endswith("needs clicks.csv: --trust reads it.")
    assert read == []
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert call("merge", "results/small-shard-1-of-2", "--results", "merged", "--trust").exit_code == 1


# --------------------------------------------------------------------------------------- texts are inert

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>"
TEX = r"\input{/etc/passwd}%^^M$x$&[0pt]"


def poisoned(folder, text):
    """Put a text wherever a results folder holds one."""
    curves = json.loads((folder / "manifest.json").read_text())["curves"]
    for one in curves.values():
        one["adversary"] |= {"title": text, "notes": [{"x": text}]}
        one["algorithm"]["notes"] = [{"x": f"{text} {one['algorithm']['family']}"}]
        one["algorithm"]["family"] = f"[{text}"
        one["panel"] = text
    words = ["privbandits", "run", f"a.yaml\n\n{text}", f"x=\n\n{text}"]
    versions = {text: text}
    changed(folder / "manifest.json", curves=curves, command=words, note=text, engine=text, versions=versions)
    changed(folder / "config.yaml", title=text, source=text)
    labels = {key: str(Name(one["algorithm"]["family"], *one["algorithm"]["notes"])) for key, one in curves.items()}
    for name in ("summary.csv", "final.csv"):
        with (folder / name).open(newline="") as file:
            rows = list(csv.DictReader(file))
        with (folder / name).open("w", newline="") as file:
            out = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            out.writeheader()
            out.writerows(row | {"label": labels[row["curve"]]} for row in rows)


def test_a_script_is_inert_in_pages(own):
    poisoned(Path("results/own"), SCRIPT)
    nasty = Path("results") / "o](javascript:alert(3))<script>"
    shutil.copytree("results/own", nasty)
    reported = call("report", "results")
    assert reported.exit_code == 0, reported.output
    for page in (*Path("results").rglob("report.html"), Path("results/index.html")):
        text = page.read_text()
        assert "alert(1)" in text and "<script>alert" not in text and "<img src=x" not in text
        assert 'href="javascript' not in text.lower()
    for page in Path("results").rglob("report.md"):
        text = page.read_text()
        assert "alert(1)" in text
        shown_to_all, command = text.split("## Run it again\n\n")
        assert not re.search(r"(?<!\\)<(script|img)", shown_to_all) and "](" not in re.sub(
            r"!\[.*\]\(.*\)", "", shown_to_all
        )
        assert command.startswith("    privbandits run ") and command.count("\n") == 1  # one line of code


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not on this machine")
def test_latex_reads_no_command_of_a_label(own):
    poisoned(Path("results/own"), TEX)
    assert call("report", "results/own").exit_code == 0
    Path("paper.tex").write_text(
        r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs,graphicx}"
        r"\begin{document}\input{results/own/table.tex}\end{document}"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-recorder", "paper.tex"]
    made = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
    if "not found" in made.stdout:
        pytest.skip("a LaTeX package is not on this machine: booktabs")
    assert made.returncode == 0, made.stdout[-2000:]
    assert "/etc/passwd" not in Path("paper.fls").read_text()


def test_the_terminal_obeys_no_text(own):
    poisoned(Path("results/own"), "x")
    for path, escape in (("summary.csv", ESCAPE), ("final.csv", ESCAPE), ("manifest.json", json.dumps(ESCAPE)[1:-1])):
        text = Path("results/own", path).read_text()
        Path("results/own", path).write_text(text.replace("[x", f"{escape}[x"))
    refused("", by=["compare results/own results/own-shard-1-of-2"])
    shutil.copytree("results/own", "results/b")
    text = Path("results/b/final.csv").read_text().splitlines()
    Path("results/b/final.csv").write_text("\n".join(text[:-1]) + "\n")
    for words in (
        ("compare", "results/own", "results/b"),
        ("compare", "results/own", "results/b", "--json"),
        ("plot", "results/own", "--kind", "paired", "--pair", f"{ESCAPE},b"),
        ("plot", f"results/{ESCAPE}"),
        ("report", f"results/{ESCAPE}"),
        ("validate", f"{ESCAPE}.yaml"),
        ("show", ESCAPE),
    ):
        found = call(*words)
        assert "\x1b" not in found.output + found.stderr and "\x07" not in found.output + found.stderr, words
    assert "\\x1b[31mred" in call("compare", "results/own", "results/b").stdout
    shutil.copytree("results/own", f"results/{ESCAPE}")
    changed("results/own/manifest.json", experiment=None)
    for words in (("plot", "results", "--format", "svg"), ("report", "results")):
        found = call(*words)
        assert "\x1b" not in found.output and "\\x1b[31m" in found.output


def test_a_recorded_table_is_shown_without_control_characters(own, tmp_path):
    assert call("check", "results", "--write", "--trust").exit_code == 0
    table_ = Path("results/CLAIMS.md")
    table_.write_text(table_.read_text() + f"| {ESCAPE} |\n")
    found = call("check", "results", "--recorded", "--trust")
    assert found.exit_code == 3 and "\\x1b[31mred" in found.stdout and "\x1b" not in found.stdout
    shutil.move(table_, tmp_path / "elsewhere")
    table_.symlink_to(tmp_path / "elsewhere")
    refused(LINKED, by=["check results --recorded --trust"])


def test_a_config_with_a_control_character_is_refused(own):
    Path("bad.yaml").write_text(OWN.replace("- mine", '- {name: mine, label: "a\\e[31mb"}'))
    refused(r": the text holds the control character \x1b: leave it out", by=["validate bad.yaml"])
    Path("bad.yaml").write_text(OWN.replace("- mine", "- \x1b[31mmine"))
    found = call("validate", "bad.yaml")
    assert found.exit_code == 2 and "\x1b" not in found.stderr


def test_what_is_written_out():
    assert printable("a\x1b[0m\x07\r\nb\rc\u202ed\te") == "a\\x1b[0m\\x07\r\nb\\rc\\u202ed\te"
    assert printable("ε ≤ 2, 日本") == "ε ≤ 2, 日本"


def test_trust_is_nothing_by_default():
    assert not Trust() and Trust(kept=True) and Trust((Path("a.py"),))
    with pytest.raises(Untrusted, match=r"x.yaml needs a.py, b.py: --include FILE.py or --trust executes them"):
        Trust().admit("x.yaml", [Path("a.py"), Path("b.py")], executed=True)
