"""A run killed at any moment, also while it writes: the next run finishes with the bytes of a run left alone."""

import json
import os
import random
import signal
import subprocess
import sys

import pytest

from privbandits_cli.engine.store import Store, read_chunk
from privbandits_cli.experiment.config import load
from privbandits_cli.experiment.plan import make_plan
from tests.conftest import SMALL

pytestmark = pytest.mark.slow

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}
FILES = ("summary.csv", "final.csv", "config.yaml", "small.pdf", "small.png", "small.svg")  # manifest.json has times
LONG = SMALL.replace("horizon: 1000", "horizon: 60000").replace("trials: 16", "trials: 80")

# The command, which sends itself a signal before or after its n-th file takes its name.
KILLER = """
import os, signal, sys
from privbandits_cli.cli import main

n, when, number, *sys.argv[1:] = sys.argv[1:]
rename, seen = os.replace, 0

def replace(source, target):
    global seen
    seen += 1
    if seen == int(n) and when == "before":
        os.kill(os.getpid(), int(number))
    rename(source, target)
    if seen == int(n) and when == "after":
        os.kill(os.getpid(), int(number))

os.replace = replace
main()
"""


def command(config, results, *options):
    return ["run", str(config), "--results", str(results), "--jobs", "2", *options]


def run(*words, timeout=300):
    return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, timeout=timeout)


def wrong(folder, whole, plan):
    """What a killed run has left that is neither missing nor whole."""
    store = Store(folder)
    store.open(plan, clean=False)
    broken = [name for name in FILES if (folder / name).exists() and (folder / name).read_bytes() != whole[name]]
    if (folder / "manifest.json").exists():
        json.loads((folder / "manifest.json").read_text())
    return [*store.damaged, *broken]


@pytest.fixture(scope="module")
def left_alone(tmp_path_factory):
    """An experiment of some seconds, its plan, and its files from a run that nobody disturbs."""
    folder = tmp_path_factory.mktemp("kills")
    config = folder / "small.yaml"
    config.write_text(LONG)
    done = run("-m", "privbandits_cli", *command(config, folder / "whole", "-q"))
    assert done.returncode == 0, done.stderr
    return config, make_plan(load(config)), {name: (folder / "whole" / "small" / name).read_bytes() for name in FILES}


def finishes(config, plan, whole, results):
    """The next run succeeds, with the same bytes, and leaves nothing half-written."""
    done = run("-m", "privbandits_cli", *command(config, results, "-q"))
    assert done.returncode == 0, done.stderr
    folder = results / "small"
    assert {name: (folder / name).read_bytes() for name in FILES} == whole
    assert json.loads((folder / "manifest.json").read_text())["complete"] and not list(folder.rglob(".*.tmp*"))
    trials = [(path.name[:-18], trial) for path in (folder / "chunks").glob("*.npz") for trial in read_chunk(path)[0]]
    assert len(trials) == len(set(trials)) == 6 * 80


@pytest.mark.parametrize("kill", list(CODES), ids=lambda kill: kill.name)
@pytest.mark.parametrize("seed", range(2))
def test_killed_at_random_moments(left_alone, tmp_path, kill, seed):
    """Whatever runs then: imports, compilation, play, CSVs, manifest or figures."""
    config, plan, whole = left_alone
    draw = random.Random(f"{kill.name} {seed}")
    for _ in range(5):
        words = command(config, tmp_path, "--engine", draw.choice(("threads", "processes")))
        process = subprocess.Popen(
            [sys.executable, "-m", "privbandits_cli", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            process.wait(draw.uniform(0.3, 8.0))
        except subprocess.TimeoutExpired:
            process.send_signal(kill)
        _, err = process.communicate(timeout=60)
        early = -kill  # before the run handles signals
        assert process.returncode in (0, CODES[kill], early), err
        assert process.returncode == early or "Traceback" not in err
        if (tmp_path / "small").exists():
            assert not wrong(tmp_path / "small", whole, plan)
    finishes(config, plan, whole, tmp_path)


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGTERM], ids=lambda kill: kill.name)
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_every_file_that_a_finished_run_writes(left_alone, tmp_path, kill, when):
    """All trials are kept: what is written are the CSVs, the manifest and the figures, one after the other."""
    config, plan, whole = left_alone
    folder, n, code = tmp_path / "small", 0, None
    os.link(config, tmp_path / "small.yaml")
    (folder / "chunks").mkdir(parents=True)
    for path in (config.parent / "whole" / "small" / "chunks").iterdir():
        os.link(path, folder / "chunks" / path.name)
    while code != 0:
        n += 1
        for name in (*FILES, "manifest.json"):
            (folder / name).unlink(missing_ok=True)
        done = run("-c", KILLER, n, when, int(kill), *command(config, tmp_path))
        code = done.returncode
        assert code in (0, CODES[kill]), done.stderr
        assert not wrong(folder, whole, plan)
        if code == -signal.SIGKILL:
            assert "the run was killed; finished trials are kept" in done.stderr
    assert n > len(FILES)
    finishes(config, plan, whole, tmp_path)
