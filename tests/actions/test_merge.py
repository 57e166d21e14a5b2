"""Shards and what joins them: the whole's bytes, from any parts, in any order; and the script for Slurm."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys

import pytest

from tests.cli import call
from tests.conftest import SMALL, some
from tests.engine.test_engine import csvs, manifest

pytestmark = pytest.mark.usefixtures("no_figure")
SWEPT = SMALL.replace("epsilon: 1}", "epsilon: [1, 2]}")


@pytest.fixture
def swept(tmp_path):
    """The path of a small experiment that sweeps a parameter: a sweep is a column of the CSVs."""
    path = tmp_path / "small.yaml"
    path.write_text(SWEPT)
    return path


@pytest.fixture
def whole(swept, tmp_path):
    """The CSVs of one run."""
    assert call("run", swept, "--results", tmp_path / "whole", "-q").exit_code == 0
    return csvs(tmp_path / "whole" / "small")


def play(config, results, *shards):
    for shard in shards:
        assert call("run", config, "--results", results, "--shard", shard, "-q", "-j", "2").exit_code == 0
    return sorted(results.glob("small-shard-*"))


@pytest.mark.parametrize("n", some([1, 3, 4, 5, 20], 3))
def test_shards_merged_equal_the_whole(swept, tmp_path, one_format, whole, n):
    """Whatever their order; of 20 shards some have no trial."""
    shards = play(swept, tmp_path / "r", *(f"{i}/{n}" for i in range(1, n + 1)))
    assert len(shards) == (n if n > 1 else 0)
    if n > 1:
        assert not (tmp_path / "r" / "small").exists()
        merged = call("merge", *reversed(shards), "--results", tmp_path / "r")
        assert merged.exit_code == 0 and "of 16 trials" in merged.stdout and merged.stderr == ""
    made, of_whole = manifest(tmp_path / "r" / "small"), manifest(tmp_path / "whole" / "small")
    assert csvs(tmp_path / "r" / "small") == whole and made["complete"]
    assert made["sha256"] == of_whole["sha256"] and made["config"] == of_whole["config"]
    one, two = (tmp_path / name / "small" / "small.svg" for name in ("r", "whole"))
    assert one.read_bytes() == two.read_bytes()


def test_the_shards_are_a_partition(swept):
    from privbandits_cli.experiment.config import load
    from privbandits_cli.experiment.plan import make_plan

    for n in (1, 2, 3, 7, 16, 17, 100):
        parts = [make_plan(load(swept), (i, n)).span for i in range(1, n + 1)]
        assert [trial for part in parts for trial in part] == list(range(16))
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_a_shard_cannot_be_mistaken_for_the_whole(swept, tmp_path):
    (shard,) = play(swept, tmp_path, "2/3")
    assert shard.name == "small-shard-2-of-3"
    assert {path.name for path in shard.iterdir()} == {
        "chunks", "experiment.yaml", "journal.jsonl", "lock", "manifest.json", "ro-crate-metadata.json",
    }  # fmt: skip
    made = manifest(shard)
    assert not made["complete"] and made["shard"] == {"part": "2/3", "trials": 8 * 5, "done": 8 * 5}
    text = call("run", swept, "--results", tmp_path, "--shard", "2/3").stdout
    assert "small, shard 2/3: trials 5-9 of each curve, 40/40 played" in text and "privbandits merge" in text
    assert "no trials, as there are only 16" in call("run", swept, "--results", tmp_path, "--shard", "1/20").stdout
    made = json.loads(call("run", swept, "--results", tmp_path, "--shard", "2/3", "--json").stdout)
    assert made["done"] == made["trials"] == 40 and "final" not in made


def test_missing_trials_are_listed_and_played_by_the_next_run(swept, tmp_path, whole):
    shards = play(swept, tmp_path / "r", "1/4", "2/4", "4/4")
    merged = call("merge", *shards, "--results", tmp_path / "r")
    assert merged.exit_code == 1 and "missing: every curve, trials 8-11" in merged.stderr
    assert "PARTIAL, 12 to 16 trials" in merged.stdout and not manifest(tmp_path / "r" / "small")["complete"]
    play(swept, tmp_path / "r", "3/4")
    assert call("merge", *shards, tmp_path / "r" / "small-shard-3-of-4", "--results", tmp_path / "r").exit_code == 0
    assert csvs(tmp_path / "r" / "small") == whole
    assert call("merge", *shards[:1], "--results", tmp_path / "s", "-q").exit_code == 1
    assert call("run", swept, "--results", tmp_path / "s", "-q").exit_code == 0
    assert csvs(tmp_path / "s" / "small") == whole


@pytest.mark.slow
def test_overlap_and_repetition_do_no_harm(swept, tmp_path, whole):
    shards = play(swept, tmp_path / "r", "1/2", "2/2", "2/3", "3/5")
    assert call("merge", *shards, *shards, "--results", tmp_path / "r").exit_code == 0
    before = manifest(tmp_path / "r" / "small")
    assert before["merged"][0].endswith("small-shard-1-of-2")
    assert call("merge", *shards, "--results", tmp_path / "r").exit_code == 0
    assert csvs(tmp_path / "r" / "small") == whole and manifest(tmp_path / "r" / "small") == before


def test_a_damaged_chunk_of_a_shard_is_not_taken(swept, tmp_path):
    shards = play(swept, tmp_path / "r", "1/2", "2/2")
    victim = sorted((shards[0] / "chunks").glob("*.npz"))[0]
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 4
    victim.write_bytes(content)
    merged = call("merge", *shards, "--results", tmp_path / "r")
    assert merged.exit_code == 1 and "damaged" in merged.stderr and "missing: " in merged.stderr and victim.exists()


def test_what_does_not_belong_together_is_refused(swept, tmp_path, monkeypatch):
    from privbandits_cli.engine import store

    (one,) = play(swept, tmp_path / "r", "1/2")
    assert call("run", swept, "seed=9", "--results", tmp_path / "o", "--shard", "2/2", "-q").exit_code == 0
    other = tmp_path / "o" / "small-shard-2-of-2"
    refused = call("merge", one, other, "--results", tmp_path / "m")
    assert refused.exit_code == 2 and "different experiments" in refused.stderr and "differ in seed" in refused.stderr
    refused = call("merge", one, tmp_path, "--results", tmp_path / "m")
    assert refused.exit_code == 2 and "is not a shard's folder" in refused.stderr
    assert not (tmp_path / "m").exists()
    monkeypatch.setattr(store, "_digest", lambda *game: "0123456789ab")
    play(swept, tmp_path / "r", "2/2")
    monkeypatch.undo()
    refused = call("merge", one, tmp_path / "r" / "small-shard-2-of-2", "--results", tmp_path / "m")
    assert refused.exit_code == 2 and "different versions of the code or its libraries" in refused.stderr
    assert "0123456789ab" in refused.stderr and "--fresh" in refused.stderr
    assert not list((tmp_path / "m").rglob("*.npz"))
    monkeypatch.setattr(store, "libraries", lambda: "NumPy 1.0, numba 0.1")
    play(swept, tmp_path / "n", "2/2")
    monkeypatch.undo()
    refused = call("merge", one, tmp_path / "n" / "small-shard-2-of-2", "--results", tmp_path / "m")
    assert refused.exit_code == 2 and "with NumPy 1.0, numba 0.1" in refused.stderr


@pytest.mark.parametrize("wrong", ["0/4", "5/4", "1", "1/0", "-1/2", "a/b"])
def test_an_impossible_shard_is_refused(swept, tmp_path, wrong):
    found = call("run", swept, "--results", tmp_path / "r", f"--shard={wrong}")
    assert found.exit_code == 2 and "1/4 to 4/4" in found.stderr and not (tmp_path / "r").exists()


# --------------------------------------------------------------------------------------------- Slurm

SBATCH = """#!{python}
import os, subprocess, sys
script = sys.stdin.read()
words = dict(word.lstrip("-").partition("=")[::2] for word in sys.argv[1:])
job = {{"SLURM_JOB_ID": str(os.getpid())}}
first, last = map(int, words.get("array", "0-0").split("-"))
for i in range(first, last + 1):
    mine = job | {{"SLURM_ARRAY_TASK_ID": str(i)}}
    done = subprocess.run(["bash"], input=script, text=True, env=os.environ | mine, stdout=sys.stderr, timeout=100)
    if done.returncode:
        sys.exit(done.returncode)
print(os.getpid())
"""


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """A folder in which `sbatch` and `srun` play at once what they are given."""
    tools = tmp_path / "tools"
    tools.mkdir()
    here = os.path.dirname(sys.executable)
    for name, text in {
        "sbatch": SBATCH.format(python=sys.executable),
        "srun": '#!/bin/sh\ncase "$1" in --cpus-per-task=*) shift ;; esac\nexec "$@"\n',
        "hostname": "#!/bin/sh\necho 127.0.0.1\n",
    }.items():
        (tools / name).write_text(text)
        (tools / name).chmod((tools / name).stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tools}:{here}:{os.environ['PATH']}")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["shards", "dask"])
def test_the_slurm_script_plays_the_experiment(slurm, swept, tmp_path, whole, way):
    script = call("slurm", "small.yaml", "checkpoints=8").stdout
    script = script.replace("tasks=8", "tasks=3").replace("cpus=4", "cpus=1")
    done = subprocess.run(["bash", "-s", way], input=script, text=True, timeout=120, capture_output=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "submitted: " in done.stdout
    assert csvs(tmp_path / "results" / "small") == whole
    assert len(list((tmp_path / "results").glob("*-shard-*"))) == (3 if way == "shards" else 0)


def test_the_slurm_script_is_sound(swept):
    found = call("slurm", swept, "algorithms[1].epsilon=[1, 2]", "--smoke")
    assert found.exit_code == 0
    assert f"privbandits run {swept} 'algorithms[1].epsilon=[1, 2]' --smoke \\\n    --shard" in found.stdout
    assert "@" not in found.stdout.replace("[@]", "").replace('"$@"', "") and "small-smoke-shard-" in found.stdout
    assert subprocess.run(["bash", "-n"], input=found.stdout, text=True, timeout=20).returncode == 0
    assert subprocess.run(["bash", "-s", "x"], input=found.stdout, text=True, timeout=20).returncode == 2
    assert max(map(len, found.stdout.replace(str(swept), "").splitlines())) <= 100
    least, span = map(int, re.search(r"port=\$\(\(([0-9]+) \+ SLURM_JOB_ID % ([0-9]+)\)\)", found.stdout).groups())
    assert least >= 1024 and least + span <= 32768  # where no outgoing connection can have it
    if shutil.which("shellcheck"):
        assert subprocess.run(["shellcheck", "-"], input=found.stdout, text=True, timeout=20).returncode == 0
