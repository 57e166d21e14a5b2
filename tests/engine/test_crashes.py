"""Adversaries in a user's file that crash in a late round, on every engine: an error with a name, and nothing lost."""

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from privbandits_cli.cli import app
from tests.conftest import SMALL, some
from tests.engine.test_engine import csvs, manifest

CRASHES = {
    "segfault": "import ctypes; ctypes.string_at(0)",
    "exit": "os._exit(3)",
    "system_exit": "raise SystemExit(3)",
    "recursion": "deeper()",
    "memory": "np.ones(2**57)",
}
DEADLY = ("segfault", "exit")  # they end the process that plays
ERRORS = {
    "system_exit": "SystemExit: 3",
    "recursion": "RecursionError: maximum recursion depth",
    "memory": "MemoryError: Unable to allocate 1.00 EiB",
}
MINE = '''"""A game of zeros. A trial whose first random number is below 0.165 crashes in a late round."""

import os

import numpy as np

from privbandits_cli.games import bandit


def deeper():
    return deeper()


class Parameters(bandit.Adversary):
    """No parameters."""

    def gains(self, setting, rng, blocks):
        """Zeros."""
        late = rng.random() < 0.165
        for rounds in blocks:
            if late and rounds.stop > 500:
                pass  # HERE
            yield np.zeros((len(rounds), setting.n_arms))
'''
DEEPER, LINE = (1 + MINE[: MINE.index(words)].count("\n") for words in ("return deeper()", "pass  # HERE"))
FEW = SMALL.replace("[stochastic, switching_costs]", "[stochastic, crashing]").replace("  - exp3_tau\n", "")
pytestmark = pytest.mark.usefixtures("no_figure")
ENGINES = ("threads", *(pytest.param(engine, marks=pytest.mark.slow) for engine in ("processes", "dask")))


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A working directory with an experiment whose second adversary is the user's."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(FEW)
    return tmp_path


RUN = ["run", "small.yaml", "--include", "crashing.py", "--jobs", "2"]


def run(*words):
    """A run in a process of its own, which may die."""
    command = [sys.executable, "-m", "privbandits_cli", *RUN, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return SimpleNamespace(
        exit_code=done.returncode, stdout=done.stdout, stderr=done.stderr, output=done.stdout + done.stderr
    )


def run_here(*words):
    """A run in the process of the tests."""
    return CliRunner().invoke(app, [*RUN, *words])


def chunks(desk):
    return sorted((desk / "results" / "small" / "chunks").glob("*stochastic*.npz"))


@pytest.mark.parametrize("how", some([run_here, run], run_here))
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", some(ERRORS, "system_exit"))
def test_what_a_file_raises_is_an_error_of_its_trials(desk, kind, engine, how):
    (desk / "crashing.py").write_text(MINE.replace("pass  # HERE", CRASHES[kind]))
    done = how("--engine", engine)
    assert done.exit_code == 1, done.output
    assert f"crashing.py:{DEEPER if kind == 'recursion' else LINE}: {ERRORS[kind]}" in done.stderr
    made = manifest(desk / "results" / "small")
    failed = {failure["trial"] for failure in made["failures"]}
    assert {failure["adversary"] for failure in made["failures"]} == {"crashing"}
    assert 0 < len(failed) < 16 and made["trials"]["missing"] == 2 * len(failed)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", some(DEADLY, "segfault"))
def test_what_ends_a_process_is_named_and_loses_no_finished_chunk(desk, kind, engine):
    (desk / "crashing.py").write_text(MINE.replace("pass  # HERE", CRASHES[kind]))
    done = run("--engine", engine)
    kept = chunks(desk)
    if engine == "threads":
        assert done.exit_code in (3, -11)
        assert "crashing.py ended it; finished trials are kept" in done.stderr
        assert kind != "segfault" or f'File "crashing.py", line {LINE} in gains' in done.stderr
    else:
        assert done.exit_code == 1, done.stderr
        made = manifest(desk / "results" / "small")
        assert {failure["adversary"] for failure in made["failures"]} == {"crashing"}
        assert all("that played it died" in one["error"] or "process died" in one["error"] for one in made["failures"])
        assert len(kept) > 1 and f"{made['failures'][0]['label']} against crashing, trial" in done.stderr
    before = {path: path.stat().st_mtime_ns for path in kept}
    (desk / "crashing.py").write_text(MINE)
    assert run_here("-q", "trials=16").exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in kept} == before
    whole = run_here("-q", "--results", "whole", "--jobs", "1")
    assert whole.exit_code == 0, whole.output
    assert csvs(desk / "results" / "small") == csvs(desk / "whole" / "small")


ALIVE = [(kind, run_here) for kind in ERRORS]
KILLED = [(kind, run) for kind in DEADLY]


@pytest.mark.parametrize(
    ("kind", "how"), [*ALIVE, *KILLED, *(pytest.param(kind, run, marks=pytest.mark.slow) for kind in ERRORS)]
)
@pytest.mark.parametrize("place", some(["import", "first round"], "import"))
def test_a_crash_before_anything_is_played_names_the_file_too(desk, kind, how, place):
    text = MINE.replace("class Parameters", f"{CRASHES[kind]}\n\n\nclass Parameters")
    if place == "first round":
        text = MINE.replace("if late and rounds.stop > 500", "if True").replace("pass  # HERE", CRASHES[kind])
    (desk / "crashing.py").write_text(text)
    done = how("--json")
    if kind in DEADLY:
        assert done.exit_code in (3, -11) and "the run was killed, or " in done.stderr
        assert kind != "segfault" or 'File "crashing.py", line ' in done.stderr
    else:
        assert done.exit_code == 2 and ERRORS[kind] in done.stderr and "Traceback" not in done.stderr
    assert "crashing.py" in done.stderr and not chunks(desk)
    assert not (desk / "results" / "small" / "manifest.json").exists()


@pytest.mark.slow
def test_without_a_death_there_are_no_last_words(desk):
    (desk / "crashing.py").write_text(MINE.replace("0.165", "0"))
    done = run("--json", "--shard", "1/2")  # which draws no figure
    assert done.exit_code == 0 and "killed" not in done.stderr and json.loads(done.stdout)["experiment"] == "small"
