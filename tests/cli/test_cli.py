"""The commands as a user meets them: output, exit codes, nothing half-written."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.actions import privacy, run
from privbandits_cli.actions.show import plain
from privbandits_cli.analysis.format import amount, parameter, whole
from privbandits_cli.cli import terminal
from privbandits_cli.cli.app import filled
from privbandits_cli.cli.check import _interval
from privbandits_cli.cli.run import warn_of
from privbandits_cli.convex.spaces import Simplex
from privbandits_cli.experiment.settings import Size
from privbandits_cli.games.bandit import Setting
from privbandits_cli.plugins.registry import Registry
from tests.cli import call
from tests.conftest import ROOT, SMALL, committed, make, playing, some
from tests.experiment.test_config import PLANTED

SWEPT = "algorithms=[{name: dp_exp3_lap, epsilon: [0.5, 1, 2]}]"


@pytest.fixture
def ran(_finished, tmp_path):
    """A finished small run; its results folder."""
    return Path(shutil.copytree(_finished, tmp_path / "results" / "small"))


@pytest.mark.parametrize("command", ["plot", "report"])
def test_a_folder_that_cannot_be_written_is_one_line(ran, monkeypatch, command):
    def refused(*given):
        raise OSError(errno.EROFS, "Read-only file system", "x.png")

    monkeypatch.setattr("privbandits_cli.figures.write.write", refused)
    monkeypatch.setattr("privbandits_cli.actions.report.write", refused)
    lines = "x.png: Read-only file system: choose another place, or change its permissions\n"
    assert call(command, ran).stderr.endswith(lines) and "Errno" not in call(command, ran).stderr


def test_a_run_says_which_results_of_an_earlier_one_it_replaces(ran, small):
    """More trials of the same curves replace none; a page of the earlier numbers is none of the run's files."""
    (ran / "report.html").write_text("of an earlier run")
    words = "run", small, "--results", ran.parent
    keys = ("seed=4",), ("seed=4", "trials=20"), ("seed=5",), ("seed=6", "-q")
    said = [call(*words, *more).stderr for more in keys]
    assert ["6 curves of its CSVs will be replaced" in one for one in said] == [False, False, True, False]
    assert ["report.html is of an earlier run" in one for one in said] == [False, True, True, False]


def test_warnings_of_kept_trials_fit_the_terminal(monkeypatch, capsys):
    """`merge` prints them, too, which has no option --fresh."""
    monkeypatch.setenv("COLUMNS", "80")
    warn_of(SimpleNamespace(damaged=[Path("results/small/chunks/one.npz")] * 2, other_code={"a curve"}))
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 80 and "`run --fresh` runs them again" in " ".join(map(str.strip, lines))


def test_run_leaves_everything(small, tmp_path):
    result = call("run", small, "--results", tmp_path / "results")
    assert result.exit_code == 0
    once = call("run", small, "--results", tmp_path / "once", "horizon=1", "algorithms=exp3", "checkpoints=1")
    assert "Regret after 1 round (median" in once.stdout
    assert "Regret after 1,000 rounds (median of means of 16 trials)" in result.stdout
    assert "EXP3-τ" in result.stdout and "Switching costs" in result.stdout
    left = {path.name for path in (tmp_path / "results" / "small").iterdir()}
    assert left >= {"summary.csv", "final.csv", "manifest.json", "config.yaml", "small.pdf", "small.png", "small.svg"}
    made = json.loads((tmp_path / "results" / "small" / "manifest.json").read_text())
    assert made["complete"] is True and made["schema"] == 1
    assert set(made) >= {"command", "config", "config_sha256", "git", "versions", "machine", "seed", "engine", "jobs"}
    assert set(made["sha256"]) == {"summary.csv", "final.csv", "chunks"}


def test_results_fit_80_columns(small, tmp_path, no_figure):
    result = call("run", small, "--results", tmp_path, "algorithms[1].label=A label that is rather long for a table")
    assert max(map(len, result.stdout.splitlines()[:-2])) <= 80


def test_of_a_swept_adversary_the_worst_is_shown_where_the_figure_draws_it(small, tmp_path, no_figure):
    """Five adversaries are one column: of each algorithm the largest of its five regrets."""
    words = ["run", small, "--results", tmp_path, "adversary={name: stochastic, best: [0.55, 0.6, 0.7, 0.8, 0.9]}"]
    result = call(*words, "plot={worst: best}")
    assert "at the worst best" in result.stdout and "best = " not in result.stdout
    finals = json.loads(call(*words, "plot={worst: best}", "--json").stdout)["final"]
    worst = max(row["regret"] for row in finals if row["algorithm"] == "exp3")
    (shown,) = [line.split()[-1] for line in result.stdout.splitlines() if line.startswith("EXP3 ")]
    assert shown == f"{worst:,.0f}"


def test_json_is_all_of_stdout(small, tmp_path, no_figure):
    result = call("run", small, "--results", tmp_path, "--json")
    made = json.loads(result.stdout)
    assert len(made["final"]) == 6 and made["final"][0]["trials"] == 16
    assert all((tmp_path / "small" / name).exists() for name in made["files"])


def test_dry_run_estimates_the_time_and_writes_nothing(small, tmp_path, no_figure):
    result = call("run", small, "--results", tmp_path / "r", "--dry-run", "--json")
    made = json.loads(result.stdout)
    assert made["rounds"] == 6 * 16 * 1000 and made["curves"][0]["done"] == 0
    assert made["seconds"] > 0 and made["measured"] > 0
    assert not (tmp_path / "r").exists()
    call("run", small, "--results", tmp_path / "r", "-q")
    made = json.loads(call("run", small, "--results", tmp_path / "r", "--dry-run", "--json", "trials=20").stdout)
    assert made["rounds"] == 6 * 4 * 1000 and made["curves"][0]["done"] == 16 and made["seconds"] > 0
    text = call("run", small, "--results", tmp_path / "r", "--dry-run", "trials=20", "-j", 1).stdout
    assert re.search(r"to run: .*\ntime: about 1 s on 1 job \(an estimate from [0-9,]+ rounds played now\)\n", text)
    assert call("run", small, "--results", tmp_path / "r", "--dry-run").stdout.endswith("to run: 0 chunks, 0 rounds\n")


def test_a_faulty_config_writes_nothing_and_exits_2(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(PLANTED)
    result = call("run", path, "--results", tmp_path / "r")
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.count("bad.yaml:") == 7
    assert "7 errors; nothing was run or written" in result.stderr
    assert os.listdir(tmp_path) == ["bad.yaml"]
    assert len(json.loads(call("run", path, "--json").stdout)["errors"]) == 7


def test_a_failing_trial_exits_1_and_is_listed(small, tmp_path, monkeypatch, no_figure):
    from privbandits_cli.games import driver

    real = driver.stream

    def stream(seed, kind, player, trial):
        if player == "exp3" and trial == 3:
            raise ZeroDivisionError("on purpose")
        return real(seed, kind, player, trial=trial)

    monkeypatch.setattr(driver, "stream", stream)
    result = call("run", small, "--results", tmp_path)
    assert result.exit_code == 1
    assert "2 trials failed" in result.stderr
    assert "EXP3 against switching_costs, trial 3: ZeroDivisionError: on purpose" in result.stderr
    first = call("run", small, "--results", tmp_path / "fast", "--fail-fast", "-j", "1")
    assert first.exit_code == 1
    assert call("run", small, "--results", tmp_path / "none", "algorithms=[exp3]", "trials=4").exit_code == 1
    monkeypatch.undo()
    assert call("run", small, "--results", tmp_path).exit_code == 0


def test_progress_goes_to_stderr_and_quiet_is_quiet(small, tmp_path, no_figure):
    loud = call("run", small, "--results", tmp_path / "a")
    assert "96/96 trials" in loud.stderr and "rounds/s" in loud.stderr and "trials," not in loud.stdout
    silent = call("run", small, "--results", tmp_path / "b", "--quiet")
    assert silent.stdout == "" and silent.stderr == ""


def test_an_occupied_folder_is_refused(small, tmp_path):
    from privbandits_cli.engine.store import Store

    with Store(tmp_path / "small").locked():
        result = call("run", small, "--results", tmp_path)
    assert result.exit_code == 2 and f"process {os.getpid()} is running" in result.stderr


def test_plot_redraws_from_the_csv_and_the_names(ran, tmp_path):
    bare = tmp_path / "bare" / "small"
    bare.mkdir(parents=True)
    (bare / "summary.csv").write_bytes((ran / "summary.csv").read_bytes())
    refused = call("plot", bare)
    assert refused.exit_code == 2 and "does not describe the curves: run the experiment again" in refused.stderr
    (bare / "manifest.json").write_bytes((ran / "manifest.json").read_bytes())
    result = call("plot", bare, "--format", "png")
    assert result.exit_code == 0 and (bare / "small.png").stat().st_size > 10_000
    assert [path.name for path in bare.iterdir() if path.suffix == ".pdf"] == []
    assert call("plot", tmp_path / "bare", "--bounds", "--log", "--format", "svg").exit_code == 0
    assert (bare / "small-log-bounds.svg").exists()


def test_plot_of_a_finished_run_gives_the_same_bytes(ran):
    before = {kind: (ran / f"small.{kind}").read_bytes() for kind in ("pdf", "png", "svg")}
    assert call("plot", ran).exit_code == 0
    assert {kind: (ran / f"small.{kind}").read_bytes() for kind in before} == before


def test_plot_says_what_is_wrong(tmp_path, ran):
    result = call("plot", tmp_path / "nothing")
    assert result.exit_code == 2 and "no summary.csv" in result.stderr
    assert "unknown format 'gif'" in call("plot", ran, "--format", "gif").stderr
    (ran / "summary.csv").write_text("a,b\n1,2\n")
    assert call("plot", ran).exit_code == 2


@pytest.mark.parametrize("kind", ["algorithms", "adversaries"])
def test_list(kind):
    text = call("list", kind).stdout
    assert all(name in text for name in Registry().names(kind))
    listed = json.loads(call("list", kind, "--json").stdout)
    assert [entry["name"] for entry in listed] == list(Registry().names(kind))
    games = {entry["name"]: entry["game"] for entry in listed}
    some = {"algorithms": {"exp3": "bandit", "ftrl": "linear", "linucb": "contextual"}}.get(kind, {"gap": "linear"})
    assert some.items() <= games.items()
    assert all(re.search(rf"^{name} +{game} ", text, re.MULTILINE) for name, game in games.items())
    assert all(entry["line"] and not entry["line"].startswith("(no") for entry in listed)
    assert all(parameter["description"] for entry in listed for parameter in entry["parameters"])


def test_list_experiments(monkeypatch):
    monkeypatch.chdir(committed())
    assert "configs/fig1.yaml" in call("list", "experiments").stdout


@pytest.mark.parametrize("every", some([1, 20], 20))
def test_show(every):
    """One of `every` names."""
    wrong = []
    for name in [*Registry().names("algorithms"), *Registry().names("adversaries")][::every]:
        text, facts = call("show", name).stdout, json.loads(call("show", name, "--json").stdout or "{}")
        right = text.strip() and max(map(len, text.splitlines())) <= 80 and facts.get("name") == name
        wrong += [] if right and f"\nGame: {facts['game']}\n" in text else [name]
    assert not wrong


def test_show_prints_the_named_instances_with_their_means():
    text = call("show", "bernoulli", "--arms", "5").stdout
    assert "Named instances, with their means for K = 5" in text
    for line in ("C1       0.75, 0.7, 0.7, 0.7, 0.7", "C2       0.75, 0.625, 0.5, 0.375, 0.25"):
        assert f"  {line}\n" in text
    assert json.loads(call("show", "bernoulli", "--json").stdout)["instances"]["C1"] == [0.75, 0.7, 0.7, 0.7]
    assert "Named instances" not in call("show", "exp3").stdout


def test_show_tells_the_papers_numbers():
    text = call("show", "dp_exp3_lap").stdout
    assert "ε = 243.3, proved; local\n  Theorem 3.2" in text and "at most 3,505" in text
    text = call("show", "exp3_tau").stdout
    assert (
        "= 19" in text and "ε = 1.504, δ = 1.5e-11, proved" in text and "Lemma B: one draw's variance (Rényi)" in text
    )


def test_show_writes_exponents_as_people_do():
    text = call("show", "squarecb").stdout
    assert "= 1e-5\n" in text and "1e-05" not in text


def test_what_is_no_config_or_has_no_set_is_reported():
    message = call("privacy", "exp3_tau").stderr
    assert "exp3_tau is not a config: try `privbandits show exp3_tau`" in " ".join(message.split())
    for words in (["tune", "exp3_tau", "--epsilon", "1"], ["show", "linucb"]):
        refused = call(*words, "--set", "sphere")
        assert refused.exit_code == 2 and "which has no decision set: leave --set out" in refused.stderr


def test_a_large_epsilon_is_flagged_in_words_of_every_game():
    text = call("privacy", "smoke_linear", "algorithms={name: dp_ftrl, epsilon: 50}", "--delta", "1e-300").stdout
    assert "promises no protection: it lets one round change a likelihood" in " ".join(text.split())


def test_show_of_an_unknown_name():
    result = call("show", "exp33")
    assert result.exit_code == 2 and "did you mean 'exp3'?" in result.stderr


def test_validate(small, tmp_path):
    assert call("validate", small, ROOT / "configs" / "fig1.yaml").exit_code == 0
    bad = tmp_path / "bad.yaml"
    bad.write_text(SMALL + "nonsense: 1\n")
    result = call("validate", small, bad)
    assert result.exit_code == 2 and "unknown key 'nonsense'" in result.stderr and "small.yaml: ok" in result.stdout
    assert json.loads(call("validate", small, bad, "--json").stdout)[str(small)] == []


def test_validate_replaces_keys_as_run_does(small):
    assert call("validate", small, "trials=48").exit_code == 0
    wrong = call("validate", "trials=3", small)
    assert wrong.exit_code == 2 and "override 'trials=3': 3 trials are not a multiple of" in wrong.stderr
    assert "1 trial is not a multiple of" in call("validate", "trials=1", small).stderr
    assert "name a config to check" in call("validate", "trials=48").stderr
    for command, option in (("validate", "-s"), ("run", "--trials")):
        refused = call(command, small, option, "3")
        assert refused.exit_code == 2 and "by KEY=VALUE without dashes, as in trials=48" in refused.stderr
    for words in (["--engin", "x"], ["--jobs"]):
        assert "KEY=VALUE without" not in call("run", small, *words).stderr


def test_messages_of_options_are_wrapped_and_name_no_python_class(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    printed = call("list", "foo").stderr
    assert "Invalid value for 'kind': 'foo' is not one of 'algorithms'," in " ".join(printed.split())
    assert max(map(len, printed.splitlines())) <= 60


def test_validate_warns_of_a_font_that_is_not_installed(small):
    small.write_text(SMALL + "plot: {font: Nonsense}\n")
    result = call("validate", small)
    assert result.exit_code == 0 and result.stdout == f"{small}: ok\n"
    assert result.stderr.startswith(f"{small}: warning: no font is called 'Nonsense' here: give another")
    assert not call("validate", small, "plot.font=DejaVu Sans").stderr


def test_usage_errors_exit_2():
    assert call("run").exit_code == 2
    assert call("frobnicate").exit_code == 2
    assert call("list", "nonsense").exit_code == 2


def test_jobs_beside_a_scheduler_are_refused(small, tmp_path):
    words = ["run", small, "--results", tmp_path, "--engine", "dask", "--scheduler", "tcp://127.0.0.1:1"]
    refused = call(*words, "--jobs", "2")
    assert refused.exit_code == 2 and "leave --jobs out" in refused.stderr


@pytest.mark.parametrize("command", ["privacy smoke", "tune dp_exp3_lap --epsilon 1"])
def test_a_delta_of_0_or_just_above_1_is_refused_in_words_that_are_true(command):
    zero = call(*command.split(), "--delta", "0").stderr
    assert "must be above 0 and below 1, got 0: what is proved at δ = 0 is shown at any δ" in zero
    assert "below 1, got 95" in call(*command.split(), "--delta", "95").stderr
    assert "got 1.0000001" in call(*command.split(), "--delta", "1.0000001").stderr


def test_help_lists_the_commands_in_the_order_of_use():
    listed = re.findall(r"^  ([a-z]+)  ", call("--help").stdout.partition("Commands:")[2], re.MULTILINE)
    wanted = (
        "run merge slurm plot report cite check compare evaluate plan",
        "new list show privacy tune audit validate schema",
    )
    assert listed == " ".join(wanted).split()


def test_names_are_completed():
    from privbandits_cli.cli.options import complete_name

    assert complete_name("exp3") == ["exp3", "exp3_ix", "exp3_p", "exp3_pp", "exp3_tau"]


def test_the_command_as_a_process():
    command = [sys.executable, "-X", "importtime", "-m", "privbandits_cli", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "privbandits run fig1" in done.stdout and len(done.stdout.splitlines()) <= 30  # fits on a screen
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "typer" in loaded and not loaded & {"numpy", "numba", "matplotlib", "scipy", "pydantic", "rich.markdown"}
    version = subprocess.run(
        [*command[:1], "-m", "privbandits_cli", "--version"], capture_output=True, text=True, check=True
    )
    assert version.stdout.startswith("privbandits ")


def test_labels_are_text_and_no_markup(small, tmp_path, no_figure):
    label = r"[/foo] [red]x $\\bad{$"
    small.write_text(SMALL.replace("- exp3\n", f"- {{name: exp3, label: '{label}'}}\n"))
    result = call("run", small, "--results", tmp_path)
    assert result.exit_code == 0 and "[/foo]" in result.stdout and "[red]x" in result.stdout
    assert (tmp_path / "small" / "manifest.json").exists()


def test_every_number_is_shown_however_many_panels(small, tmp_path, no_figure):
    panels = ", ".join(f"{{name: stochastic, best: 0.{i}}}" for i in range(51, 60))
    result = call("run", small, "--results", tmp_path, f"adversary=[{panels}]", "--json")
    finals = {f"{row['regret']:,.0f}" for row in json.loads(result.stdout)["final"]}
    text = call("run", small, "--results", tmp_path, f"adversary=[{panels}]").stdout
    assert all(number in text for number in finals) and "(best = 0.51)" in text
    assert max(map(len, text.splitlines()[:-2])) <= 80


def test_plot_goes_on_after_a_damaged_folder(ran, tmp_path):
    other = ran.parent / "another"
    other.mkdir()
    (other / "summary.csv").write_bytes((ran / "summary.csv").read_bytes())
    (other / "config.yaml").write_text("")
    (ran / "small.png").unlink()
    result = call("plot", ran.parent, "--format", "png")
    assert result.exit_code == 2 and "no config" in result.stderr and (ran / "small.png").exists()


def test_foreign_files_among_the_chunks_do_no_harm(small, ran, no_figure):
    (ran / "chunks" / "foo.npz").write_text("junk")
    assert call("run", small, "--results", ran.parent, "-q").exit_code == 0


def test_dry_run_of_fresh_counts_everything(small, ran):
    made = json.loads(call("run", small, "--results", ran.parent, "--dry-run", "--fresh", "--json").stdout)
    assert made["rounds"] == 6 * 16 * 1000


def test_privacy(tmp_path):
    text = call("privacy", ROOT / "configs" / "fig1.yaml").stdout
    assert max(map(len, text.splitlines())) <= 80
    lines = {line.split()[0]: line.split()[-3:] for line in text.splitlines()[1:4]}
    assert lines["DP-EXP3-Lap"] == ["243.3", "243.2", "1.46e-11"] and lines["EXP3-τ"] == ["1.504", "1.065", "1.46e-11"]
    assert "scale 0.00411" in text and "no protection" in text
    odd = call(
        "privacy", ROOT / "configs" / "fig1.yaml", "algorithms[1].epsilon=.inf", "--delta", "1e-320", "--json"
    ).stdout
    assert "Infinity" not in odd and json.loads(odd)[1]["upper"] == "inf"
    blocks = json.loads(call("privacy", ROOT / "configs" / "fig1.yaml", "--delta", "1e-5", "--json").stdout)
    assert [block["delta"] for block in blocks] == [1e-5] * 3
    assert all(bound["source"] and bound["status"] for block in blocks for bound in block["bounds"])
    assert call("privacy", ROOT / "configs" / "fig1.yaml", "--delta", "2").exit_code == 2


def test_privacy_is_stated_at_the_delta_that_an_algorithm_is_set_for(tmp_path):
    path = tmp_path / "some.yaml"
    entries = [
        {"name": "exp3_tau", "tau": "certified", "delta": 1e-6, "epsilon": 1},
        {"name": "dp_exp3_lap", "epsilon": 0.5},
        {"name": "dp_exp3_lap", "epsilon": 2.0},
    ]
    keys = {"experiment": "some", "horizon": 1024, "arms": 3, "trials": 24, "seed": 1, "adversary": "deterministic"}
    path.write_text(yaml.safe_dump(keys | {"checkpoints": 2, "algorithms": entries}))
    tau, *others = json.loads(call("privacy", path, "--json").stdout)
    assert tau["delta"] == 1e-6 and 0.5 < tau["upper"] <= 1
    assert [other["delta"] for other in others] == [2**-20, 2**-20]
    assert [other["algorithm"] for other in others] == ["DP-EXP3-Lap (epsilon = 0.5)", "DP-EXP3-Lap (epsilon = 2)"]
    asked = json.loads(call("privacy", path, "--delta", "1e-3", "--json").stdout)
    assert [block["delta"] for block in asked] == [1e-3] * 3


def test_entries_of_the_ledger_that_differ_beside_a_sweep_have_different_titles(tmp_path):
    path = tmp_path / "some.yaml"
    swept = [{"name": "dp_exp3_lap", "epsilon": [0.5, 2], "base": {"name": "exp3", "gamma": x}} for x in (0.1, 0.2)]
    keys = {"experiment": "some", "horizon": 1024, "arms": 3, "trials": 24, "adversary": "deterministic"}
    path.write_text(yaml.safe_dump(keys | {"algorithms": swept}))
    titles = [block["algorithm"] for block in json.loads(call("privacy", path, "--json").stdout)]
    assert titles[0] == "DP-EXP3-Lap (epsilon = 0.5) (base.gamma = 0.1)" and len(set(titles)) == 4


def test_tune():
    rows = json.loads(call("tune", "exp3_tau", "--epsilon", "1", "--json").stdout)
    assert [row["choice"] for row in rows] == ["certified", "shortest", "paper"]
    assert [row["parameters"]["tau"] for row in rows] == [30, 20, 203] and all(row["epsilon"] <= 1 for row in rows)
    assert "certified: {name: dp_exp3_lap, epsilon: 1.0" in call("tune", "dp_exp3_lap", "--epsilon", "1").stdout
    assert "--base" in call("tune", "mini_batch", "--epsilon", "1").stderr
    assert call("tune", "dp_lambda_lap", "--epsilon", "1", "--base", "tsallis_inf").exit_code == 0
    assert "unknown algorithm 'nope'" in call("tune", "mini_batch", "--epsilon", "1", "--base", "nope").stderr
    for words in (["exp3", "--epsilon", "1"], ["nonsense", "--epsilon", "1"], ["exp3_tau", "--epsilon", "0"]):
        assert call("tune", *words).exit_code == 2
    for shown in (call("tune", "dp_ftrl", "--epsilon", "1"), call("show", "dp_ftrl", "counter=k_ary")):
        assert "No theorem bounds the regret: the noise of a k-ary tree" in " ".join(shown.stdout.split())
    uniform = json.loads(call("tune", "exp3_tau", "--epsilon", "1e-6", "--horizon", "1000", "--json").stdout)
    assert uniform[0]["epsilon"] == 0 and uniform[0]["parameters"]["base"]["gamma"] == 1  # which anybody may see
    assert "nothing is proved" in call("tune", "mini_batch", "--epsilon", "1", "--base", "tsallis_inf").stderr
    for words, message in {
        ("dp_reduction", "--base", "ftrl"): "ftrl cannot be the base of dp_reduction",
        ("dp_ucb", "--base", "exp3"): "'dp_ucb' takes no base algorithm",
        ("exp3_tau", "--horizon", "2^x"): "2^x is not a number of rounds",
    }.items():
        refused = call("tune", *words, "--epsilon", "1")
        assert refused.exit_code == 2 and message in refused.stderr


@pytest.mark.parametrize("name", [name for name in playing("algorithms", "linear") if make(name).private])
def test_tuning_of_linear_games_is_what_it_says_it_is(name):
    text = call("tune", name, "--epsilon", "1", "--horizon", "2^16").stdout
    assert max(map(len, text.splitlines())) <= 80 and "switching" not in text
    status = {"shrinking_dartboard": "paper", "dp_ftpl": "exact", "rw_ftpl": "exact"}.get(name, "proved")
    assert text.splitlines()[1].split()[2] == status
    at_once = name == "rnm_ftnl"  # the noise of its epochs does not depend on the horizon
    assert (call("tune", name, "--epsilon", "1").stdout == text) == at_once


@pytest.mark.slow
def test_contextual_algorithms_are_shown_and_tuned_in_a_dimension():
    """Bounds grow with d; without --dimension d is K."""
    words = ("--arms", "25", "--horizon", "50000000")
    shown = [json.loads(call("show", "dp_linucb", "--json", *words, "--dimension", d).stdout) for d in ("5", "9")]
    assert [facts["dimension"] for facts in shown] == [5, 9] and shown[0]["bound"] == shown[1]["bound"]
    assert shown[0]["bound, oblivious"] < shown[1]["bound, oblivious"]
    assert "K = 25, d = 5," in call("show", "dp_linucb", *words, "--dimension", "5").stdout
    tuned = [call("tune", "dp_linucb", "--epsilon", "1", *words, *more).stdout for more in ((), ("--dimension", "25"))]
    assert tuned[0] == tuned[1] != call("tune", "dp_linucb", "--epsilon", "1", *words, "--dimension", "5").stdout
    assert ", d = " not in call("show", "exp3_tau").stdout


@pytest.mark.parametrize(
    ("given", "shown"),
    [((), "rho_min = 92208.7"), (["noise=wishart"], "rho_min = 222336"), (["noise=wishart_unshifted"], "1.28101e+7")],
)
def test_show_and_privacy_print_what_the_parameters_imply(given, shown):
    """The authors' ρ_min, for the parameters and the setting of their experiments."""
    words = ("show", "dp_linucb", "calibration=code", *given, "--arms", 25, "--horizon", 50_000_000, "--dimension", 5)
    text = call(*words).stdout
    assert shown in text and max(map(len, text.splitlines())) <= 80
    facts = json.loads(call(*words, "--json").stdout)["facts"]
    assert {"rho_min", "rho_max", "gamma", "shift"} < set(facts)
    config = ROOT / "configs" / "linucb_time.yaml"
    assert shown in call("privacy", config).stdout
    assert facts in [block["facts"] for block in json.loads(call("privacy", config, "--json").stdout)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("calibratin=code", "unknown key 'calibratin', did you mean 'calibration'?"),
        ("code", "write it as NAME=VALUE, for example epsilon=0.5"),
        ("epsilon=[1, 2]", "these are several values: give one of them"),
        ("epsilon=-1", "epsilon"),
    ],
)
def test_wrong_parameters_of_show_are_reported(given, message):
    refused = call("show", "dp_linucb", given)
    assert refused.exit_code == 2 and message in " ".join(refused.stderr.split())


def tunable():
    """The private algorithms whose parameters, besides ε, δ and a base, have defaults."""
    for name, model in Registry().every("algorithms"):
        needed = {field for field, known in model.model_fields.items() if known.is_required()}
        if model.private and needed <= {"epsilon", "rho", "delta", "base"}:
            yield name


@pytest.mark.parametrize("name", list(tunable()))
def test_what_tune_certifies_costs_no_more_than_asked(name):
    base = {"dp_lambda_lap": "exp3", "dp_reduction": "exp3"}.get(name)
    for row in privacy.tune(Registry(), name, base, 0.5, 1e-6, Size(2**16, 4)):
        if row["choice"] == "certified":
            assert 0 < row["epsilon"] <= 0.5 * (1 + 1e-9) and row["status"] in ("proved", "exact")


def test_what_is_private_without_a_delta_has_one_epsilon_everywhere():
    """Legends, `privacy` and `tune` quote its ε at δ = 0, although its sums have a smaller one at a δ > 0."""
    (certified, *_) = privacy.tune(Registry(), "dp_ftrl", None, 0.5, 1e-6, Size(2**16, 4))
    setting = Setting(2**16, 4, space=Simplex(4))
    tuned = make("dp_ftrl", epsilon=0.5).tuned(setting)
    shown = privacy.block(tuned, setting)
    for quoted in (certified, shown["leading"], vars(tuned.guarantee(setting))):
        assert (quoted["epsilon"], quoted["delta"]) == (pytest.approx(0.5), 0.0)
    assert shown["upper"] < 0.5 and privacy.block(tuned, setting, 1e-6)["leading"]["epsilon"] < 0.5


@pytest.mark.parametrize("change", some(["", SWEPT], SWEPT))
def test_audit(small, monkeypatch, change):
    result = call("audit", small, "--budget", "65536", *filter(None, [change]))
    assert (
        result.exit_code == 0
        and result.stdout.count("CONSISTENT") >= 3
        and "cannot prove" in " ".join(result.stdout.split())
    )
    assert call("audit").exit_code == 2
    assert call("audit", small, "--alpha", "0").exit_code == 2
    from privbandits_cli.actions import privacy

    row = {
        "verdict": "VIOLATION",
        "algorithm": "x",
        "claim": "c",
        "found": "f",
        "cost": 1,
        "epsilon_seen": 2.0,
        "refutable": None,
        "played": "p",
        "assumed": "",
    }
    monkeypatch.setattr(privacy, "audits", lambda *_: [row])
    assert call("audit", small).exit_code == 4


def test_regret_bounds_that_nothing_can_exceed_are_marked():
    """EXP3-τ's bound with switching costs is 139.4 after 100 rounds; that of its theorem for others is 89.31."""
    text = " ".join(call("show", "exp3_tau", "--horizon", "100").stdout.split())
    assert "oblivious adversaries: expected regret at most 89.31 Against" in text
    assert "at most 139.4 (vacuous) (vacuous): no algorithm can lose more than 100 " in text
    assert "(vacuous)" not in call("show", "exp3_tau").stdout
    few = call("tune", "exp3_tau", "--epsilon", "1e-6", "--horizon", "1000").stdout
    assert "(vacuous)" in few.splitlines()[1] and "lose more than 1,000" in few
    assert "(vacuous)" not in call("tune", "exp3_tau", "--epsilon", "1").stdout
    assert max(map(len, few.splitlines())) <= 88


def test_a_bound_for_arms_with_known_means_is_told_if_there_is_one():
    said = "Against independent arms with known means: Theorem 1: 8 Σ_a ln T/Δ_a"
    assert said in " ".join(call("show", "ucb1").stdout.split())
    for name in ("exp3", "adap_klucb", "linucb", "dp_tt"):  # none, an order only, and other games
        assert "known means" not in call("show", name).stdout


CONTEXTUAL = """\
experiment: wasted
game: contextual
dimension: 2
arms: 3
horizon: 20
trials: 2
adversary: sphere_arms
algorithms:
  - {name: dp_linucb, epsilon: [1, 2], delta: 0.1, calibration: code}
  - {name: ldp_linucb, epsilon: 1, delta: 0.1}
summary: {groups: 1}
"""


@pytest.mark.parametrize("measured", some([False, True], False))
def test_a_run_says_before_it_starts_that_noise_is_wasted(tmp_path, monkeypatch, measured):
    (tmp_path / "wasted.yaml").write_text(CONTEXTUAL)
    if not measured:
        monkeypatch.setattr(run, "estimated", lambda chunks, wait: (1.0, 1))  # seconds, from so many rounds
    result = call("run", tmp_path / "wasted.yaml", "--results", tmp_path, "--dry-run")
    need = "the noise is far larger than the ε of the config requires, it gives ε = 0, δ = 0.1"
    warning = f"note: DP-LinUCB (ε = 0, δ = 0.1) (epsilon = 1) and 1 more: {need}: set `calibration: exact`"
    assert (result.exit_code, " ".join(result.stderr.split())) == (0, warning)
    exact = call("run", tmp_path / "wasted.yaml", "--dry-run", "algorithms[0].calibration=exact")
    assert not exact.stderr and "DP-LinUCB (ε = 2, δ = 0.1)" in exact.stdout


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.01, "1 s"), (44.6, "45 s"), (119, "119 s"), (150, "2.5 min"), (7000, "117 min"), (9e4, "25 h")],
)
def test_a_duration_has_the_unit_that_fits(seconds, text):
    assert terminal.duration(seconds) == text


def test_equations_stay_on_one_line_and_columns_fit(capsys, monkeypatch):
    heads = ["Deterministic", "Stochastic", "Fully oblivious", "Oblivious", "Switching costs"]
    long = "Arms on the sphere (gap = 0.1), chosen by the user"
    rows = [["EXP3-τ\n(ε = 2.868, δ = 6e-08)", *["1,000"] * 5], [long, *["9"] * 5]]
    for width in (40, 60, 80, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        terminal._print_columns("Arms on the sphere (gap = 0.1)", heads, rows)
        terminal.print_table(["curve", "against"], [[long, "Arms on the sphere (gap = 0.25)"]], text=2)
        text = capsys.readouterr().out
        assert text.count("1,000") == 5 and max(map(len, text.splitlines())) <= width
        assert text.count("gap = 0.1") >= 2 and "ε = 2.868" in text and "δ = 6e-08" in text and "gap = 0.25" in text
    assert "(ε = 2.868, δ = 6e-08)" in text
    assert filled("x" * 70 + " so that ε = 0.5 holds").splitlines()[1] == "ε = 0.5 holds"
    assert filled("δ = 1e-06, take-05.csv") == "δ = 1e-6, take-05.csv"


def test_no_number_is_minus_zero():
    assert [amount(-0.0), whole(-0.2), parameter(-0.0), plain(-0.0), _interval(-0.0, 5.0)] == ["0"] * 4 + ["0 to 5"]
    assert str(Guarantee(-0.0, 0.1, "here", "proved")) == "ε = 0, δ = 0.1"


def test_a_first_paragraph_of_two_lines_is_listed_whole(tmp_path):
    text = call("list", "adversaries").stdout
    assert "(Shalev-Shwartz 2011, section 2.2)." in " ".join(text.split())


def test_what_show_says_of_its_values_is_one_sentence_within_the_width(tmp_path):
    own = tmp_path / "own.py"
    assert call("new", "algorithm", own).exit_code == 0
    for words in (("own", "--include", own), ("dp_lambda_lap",), ("plain_dp_linucb", "--dimension", "5")):
        text = call("show", *words).stdout
        assert max(map(len, text.splitlines())) <= 80
        assert re.search(r"\n  \(values after = are for T = 262144, K = 4[^()]*(\([^()]*\))?[^()]*\)\n\n", text), text


def test_new_writes_no_file_that_hides_a_module_of_python(tmp_path):
    refused = call("new", "algorithm", tmp_path / "random.py")
    assert refused.exit_code == 2 and "which this file would hide: choose another name" in refused.stderr
    assert call("new", "algorithm", tmp_path / "random_arm.py").exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["random_arm.py"]


def test_show_leaves_out_what_a_file_without_values_does_not_have(tmp_path):
    """No parameters: no gap. No values: no sentence about them."""
    own = tmp_path / "own.py"
    call("new", "algorithm", own)
    text = own.read_text(encoding="utf-8").replace("record(explore=self.explore,", "record(explore=0.1,")
    field = next(line for line in text.splitlines() if " explore: float" in line)
    unset = "    explore: float | None = Field(None, description='none')"
    for line, expected in (("", "\nGame: bandit\n\nPrivacy"), (unset, "\n\nParameters\n  explore: none\n\nPrivacy")):
        own.write_text(text.replace(field, line), encoding="utf-8")
        assert expected in call("show", "own", "--include", own).stdout


def test_tune_says_why_its_epsilon_is_below_the_target():
    printed = call("tune", "exp3_tau", "--epsilon", "1").stdout
    assert max(map(len, printed.splitlines())) <= 80
    text = " ".join(printed.split())
    assert "these have the smallest bound against switching costs; longer blocks also have a smaller ε." in text
    assert "No shorter block reaches the target ε. Its ε can be smaller: a block is a whole number of rounds." in text
    assert "tau: 30" in text and "tau: 20" in text
    one_less = json.loads(call("tune", "exp3_tau", "--epsilon", "1", "--json").stdout)[1]
    assert one_less["choice"] == "shortest" and one_less["epsilon"] < 1 and one_less["reason"]
    setting = Setting(2**18, 4)
    assert make("exp3_tau", tau=19, delta=1e-6).tuned(setting).guarantee(setting, 1e-6).epsilon > 1
