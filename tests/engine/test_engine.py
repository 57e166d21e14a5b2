"""Running: the same bytes whatever the jobs, engine, order or interruption; resume; failures; damage."""

import errno
import fcntl
import gc
import json
import logging
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from typer.testing import CliRunner

from privbandits_cli import summary
from privbandits_cli.actions import run
from privbandits_cli.analysis import curves, measured
from privbandits_cli.analysis.folder import BOOTSTRAP, CURVE, NAMES, STATISTICS
from privbandits_cli.cli import app
from privbandits_cli.cli.signals import Stop
from privbandits_cli.engine import Engine, EngineError, runner
from privbandits_cli.engine.play import estimated
from privbandits_cli.engine.store import Busy, Store, code_here
from privbandits_cli.experiment.config import load
from privbandits_cli.experiment.files import DiskWarning, write_atomically
from privbandits_cli.experiment.plan import make_plan
from privbandits_cli.games import bandit
from privbandits_cli.numerics.streams import stream
from tests.conftest import SMALL, first, some

JOBS = first(1, [(2, "processes"), (2, "threads"), (5, "threads"), (2, "dask")])


def outputs(folder, config, *overrides, jobs=1, engine="threads", watch=lambda played: True):
    """Run an experiment into a folder; the plan, its store and the two CSVs."""
    plan, store = make_plan(load(config, list(overrides))), Store(folder)
    run.run(plan, store, Engine(engine), jobs, ["test"], events=run.Events(playing=lambda: nullcontext(watch)))
    return plan, store, csvs(folder)


def csvs(folder):
    return {name: (folder / name).read_bytes() for name in ("summary.csv", "final.csv")}


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text())


pytestmark = pytest.mark.usefixtures("no_figure")


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """The folders of a test are side by side, but each run plays its own trials."""
    monkeypatch.setattr(Store, "neighbours", lambda store, plan: ())


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """The folder of a run on one job that nothing interrupts."""
    folder = tmp_path_factory.mktemp("unbroken")
    (folder / "small.yaml").write_text(SMALL)
    outputs(folder / "small", folder / "small.yaml")
    return folder / "small"


@pytest.fixture
def whole(unbroken):
    """The CSVs of that run."""
    return csvs(unbroken)


@pytest.fixture
def played(unbroken, tmp_path):
    """A copy of its folder."""
    return Path(shutil.copytree(unbroken, tmp_path / "x"))


# ------------------------------------------------------------------------------------- the same bytes


@pytest.mark.parametrize(("jobs", "engine"), JOBS)
def test_jobs_and_engines_change_no_byte(small, tmp_path, unbroken, jobs, engine):
    assert outputs(tmp_path / "other", small, jobs=jobs, engine=engine)[2] == csvs(unbroken)
    assert manifest(tmp_path / "other")["sha256"] == manifest(unbroken)["sha256"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "few",
    [["algorithms=[uniform]", "adversary=[stochastic, deterministic, oblivious, switching_costs]", "trials=4"], []],
    ids=["one", "three"],
)
def test_processes_compile_what_would_take_long(small, tmp_path, monkeypatch, few):
    """The third loop of an algorithm and the fourth, or those of three, which they write to the cache on disk."""
    whole = outputs(tmp_path / "whole", small, *few)[2]
    get_reusable_executor().shutdown(kill_workers=True)  # new processes read the folder of the cache
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(runner, "LONG", 0.0)
    assert outputs(tmp_path / "other", small, *few, jobs=2)[2] == whole
    assert any(path.name.startswith("play_block__") for path in (tmp_path / "cache").rglob("*.nbc"))


@pytest.mark.parametrize(
    ("jobs", "seconds", "kept"), [(2, 0.3, True), (1, 0.3, True), (2, 0.01, True), (2, 0.3, False)]
)
def test_no_process_is_started_where_it_would_not_help(small, monkeypatch, jobs, seconds, kept):
    """With one job, if all but the first loop load at once, or if what a process compiles is not kept."""
    elsewhere, first, clock = [], [3.0], [0.0]

    def load_slowly(loop):
        clock[0] += first.pop() if first else seconds

    monkeypatch.setattr(runner, "LONG", 0.2)
    monkeypatch.setattr(runner, "folder", lambda: kept)
    monkeypatch.setattr(runner, "load", load_slowly)
    monkeypatch.setattr(runner, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    monkeypatch.setattr(runner, "_compile_elsewhere", lambda left, *_: elsewhere.append(len(left)))
    plan = make_plan(load(small, []))
    runner.warm(list(plan.chunks(lambda curve: np.array([], np.int64), 2)), jobs, nullcontext)
    assert bool(elsewhere) == (jobs > 1 and seconds > 0.1 and kept)


@pytest.mark.slow
def test_processes_that_cannot_compile_are_done_without(small, tmp_path, whole, monkeypatch):
    monkeypatch.setattr(runner, "LONG", 0.0)
    monkeypatch.setattr(runner, "pack", lambda loop: [][0])
    assert outputs(tmp_path / "other", small, jobs=2)[2] == whole


def test_the_order_of_algorithms_changes_no_row(small, tmp_path, whole):
    lines = SMALL.splitlines(keepends=True)
    start = lines.index("algorithms:\n") + 1
    small.write_text("".join(lines[:start] + lines[start : start + 3][::-1] + lines[start + 3 :]))
    found = outputs(tmp_path / "other", small)[2]
    for name, content in whole.items():
        assert content != found[name] and sorted(content.splitlines()) == sorted(found[name].splitlines())


def test_one_algorithm_alone_has_the_same_rows(small, tmp_path, whole):
    found = outputs(tmp_path / "other", small, "algorithms=[exp3_tau]", "adversary=switching_costs")[2]
    rows = set(whole["summary.csv"].splitlines())
    assert all(row in rows for row in found["summary.csv"].splitlines())


def test_another_seed_changes_the_numbers(small, tmp_path, whole):
    assert outputs(tmp_path / "other", small, "seed=4")[2] != whole


# --------------------------------------------------------------------------------------------- resume


def test_stopped_after_each_chunk_and_resumed(small, tmp_path, whole):
    folder, runs, seen = tmp_path / "broken", 0, []
    while runs == 0 or not manifest(folder)["complete"]:
        _, _, found = outputs(folder, small, jobs=2, watch=lambda played: seen.append(played.chunk) or False)
        runs += 1
    assert found == whole and runs > 2
    played = [(key, trial) for chunk in seen for key in chunk.keys for trial in chunk.trials]
    assert len(played) == len(set(played)) == 6 * 16  # no trial twice


def test_a_partial_result_says_so(small, tmp_path):
    outputs(tmp_path / "part", small, jobs=2, watch=lambda played: False)
    made = manifest(tmp_path / "part")
    assert made["complete"] is False and made["trials"]["missing"] > 0
    assert made["trials"]["done"] + made["trials"]["missing"] == made["trials"]["wanted"] == 96


def test_more_trials_and_algorithms_play_only_what_is_missing(small, tmp_path, whole):
    folder, seen = tmp_path / "grow", []
    outputs(folder, small, "trials=8")

    def watch(played):
        seen.extend((key, trial) for key in played.chunk.keys for trial in played.chunk.trials)
        return True

    _, _, grown = outputs(folder, small, watch=watch)
    assert sorted({trial for _, trial in seen}) == list(range(8, 16)) and len(seen) == 6 * 8
    seen.clear()
    plan, _, _ = outputs(folder, small, "algorithms=[exp3, uniform]", watch=watch)
    assert {plan.by_key[key].algorithm.name for key, _ in seen} == {"uniform"}
    seen.clear()
    assert outputs(folder, small, watch=watch)[2] == grown and not seen
    assert grown == whole


def test_fewer_trials_use_only_the_first(small, played, tmp_path):
    assert outputs(played, small, "trials=8")[2] == outputs(tmp_path / "few", small, "trials=8")[2]


@pytest.mark.parametrize("harm", some(["cut", "flip", "flip start", "flip end", "empty", "swapped"], "flip", "empty"))
def test_a_damaged_chunk_is_noticed_and_played_again(small, played, whole, harm):
    victim = sorted((played / "chunks").glob("*.npz"))[1]
    content = victim.read_bytes()
    flip = bytearray(content)
    flip[{"flip start": 11, "flip end": -1}.get(harm, len(content) // 2)] ^= 1  # 11: zip's time, which it checks not
    half = content[: len(content) // 2]
    victim.write_bytes({"cut": half, "empty": b"", "swapped": half[::-1] + content[len(half) :]}.get(harm, flip))
    _, store, found = outputs(played, small)
    assert store.damaged == [victim] and found == whole


def test_leftovers_of_a_crash_are_swept(small, played):
    leftover = played / "chunks" / ".half.npz.abc.tmp"
    leftover.write_bytes(b"half")
    outputs(played, small)
    assert not leftover.exists()


def test_fresh_forgets(small, played):
    plan, store = make_plan(load(small)), Store(played)
    assert list((played / "chunks").glob("*.npz"))
    store.open(plan, fresh=True)
    assert all(len(store.done(curve)) == 0 for curve in plan.curves)
    assert not list((played / "chunks").glob("*.npz"))


def test_a_folder_belongs_to_one_process(tmp_path):
    with Store(tmp_path).locked(), pytest.raises(Busy, match=str(os.getpid())), Store(tmp_path).locked():
        pass
    with Store(tmp_path).locked():
        pass


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EIO])
def test_a_file_system_without_locks_is_used_with_a_note(tmp_path, monkeypatch, number):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.warns(DiskWarning, match="start no second run in it before this one ends"), Store(tmp_path).locked():
        assert (tmp_path / "lock").read_text() == str(os.getpid())


def test_a_dask_worker_that_runs_its_script_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(EngineError, match="__main__"):
        Engine("dask").check_guarded()
    Engine("processes").check_guarded()


def test_atomic_writes_leave_the_old_file_when_they_fail(tmp_path, monkeypatch):
    path = tmp_path / "x"
    write_atomically(path, b"old")
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["x"]


# ------------------------------------------------------------------------------------------- failures


@pytest.fixture
def breaks(monkeypatch):
    """EXP3 raises in trials 3 and 11 against the stochastic adversary; what stops that."""
    real = bandit.Seat.__init__

    def start(seat, games, algorithm, loop, trials):
        if (algorithm.name, games.adversary.name) == ("exp3", "stochastic") and {3, 11} & set(trials):
            raise ZeroDivisionError("on purpose")
        real(seat, games, algorithm, loop, trials)

    monkeypatch.setattr(bandit.Seat, "__init__", start)
    return lambda: monkeypatch.setattr(bandit.Seat, "__init__", real)


DEADLY = '''"""A game of zeros. A trial whose first random number is below 0.25 kills the process that plays it."""

import os

import numpy as np

from privbandits_cli.games import bandit


class Parameters(bandit.Adversary):
    """No parameters."""

    display = "Deadly"

    def gains(self, setting, rng, blocks):
        """Zeros."""
        if rng.random() < 0.25 and os.getpid() != PARENT:
            os.kill(os.getpid(), 9)
        for rounds in blocks:
            yield np.zeros((len(rounds), setting.n_arms))
'''


@pytest.mark.slow
@pytest.mark.parametrize("trials", [8, 16])
def test_only_chunks_that_kill_their_process_fail(small, tmp_path, trials):
    (tmp_path / "deadly.py").write_text(DEADLY.replace("PARENT", str(os.getpid())))
    changes = [f"include={tmp_path / 'deadly.py'}", "adversary=[deadly, stochastic]", "algorithms=[exp3]"]
    changes.append(f"trials={trials}")
    plan, *_ = outputs(tmp_path / "bad", small, *changes, jobs=2, engine="processes")
    fatal = {trial for trial in range(trials) if stream(3, "gains", "deadly", trial=trial).random() < 0.25}
    failures = manifest(tmp_path / "bad")["failures"]
    failed = {failure["trial"] for failure in failures}
    assert failures[0]["error"] == "the worker process died" and {f["adversary"] for f in failures} == {"deadly"}
    every = plan.chunks(lambda curve: np.empty(0, np.int64), 2)
    chunks = [chunk for chunk in every if chunk.match.adversary.name == "deadly"]
    assert fatal and failed == {trial for chunk in chunks if fatal & {*chunk.trials} for trial in chunk.trials}
    assert len(failed) < trials


def test_a_failing_trial_leaves_the_rest_alone(small, tmp_path, whole, breaks):
    _, _, found = outputs(tmp_path / "bad", small)
    made = manifest(tmp_path / "bad")
    assert sorted((f["adversary"], f["label"], f["trial"]) for f in made["failures"]) == [
        ("stochastic", "EXP3", 3),
        ("stochastic", "EXP3", 11),
    ]
    assert made["failures"][0]["error"] == "ZeroDivisionError: on purpose"
    assert not made["complete"] and made["trials"]["failed"] == 2
    lost = [row for row in whole["final.csv"].splitlines() if row not in found["final.csv"].splitlines()]
    assert len(lost) == 2
    counts = {row.split(b",")[-9] for row in found["summary.csv"].splitlines() if b"stochastic,exp3," in row}
    assert counts == {b"14"}


def test_failed_trials_are_played_by_the_next_run(small, tmp_path, whole, breaks):
    outputs(tmp_path / "bad", small)
    breaks()
    assert outputs(tmp_path / "bad", small)[2] == whole


def test_a_worker_process_that_dies_is_survived(small, tmp_path, whole):
    """A worker is killed in the middle; its chunks are offered again."""
    killed = []

    def watch(played):
        if not killed:
            children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
            workers = [pid for pid in children if b"LokyProcess" in Path(f"/proc/{pid}/cmdline").read_bytes()]
            os.kill(int(workers[0]), signal.SIGKILL)
            killed.append(workers[0])
        return True

    found = outputs(tmp_path / "killed", small, jobs=2, engine="processes", watch=watch)[2]
    assert killed and found == whole


# ------------------------------------------------------------------------------------------- summary

SUMMARY = ("experiment", *CURVE, *NAMES, "parameters", "round", "trials", *STATISTICS)


def test_the_summary_is_that_of_its_twin(small, unbroken):
    import csv

    from tests import naive

    rows = list(csv.DictReader((unbroken / "summary.csv").open(encoding="utf-8")))
    finals = list(csv.DictReader((unbroken / "final.csv").open(encoding="utf-8")))
    assert len(rows) == 6 * 8 and len(finals) == 6 * 16
    assert tuple(rows[0]) == SUMMARY and tuple(finals[0]) == (*CURVE, "panel", "trial", "regret")
    assert [row["curve"] for row in rows[::8]] == [curve.key for curve in make_plan(load(small, [])).curves]
    for row in rows:
        if row["round"] == "1000":
            mine = [final for final in finals if final["curve"] == row["curve"]]
            assert {(final["label"], final["adversary"]) for final in mine} == {(row["label"], row["adversary"])}
            x = [float(final["regret"]) for final in mine]
            centre = naive.median_of_means(x, 4)
            assert float(row["regret"]) == pytest.approx(centre)
            assert float(row["mean"]) == pytest.approx(np.mean(x))
            for name, q in (("q05", 5), ("q50", 50), ("q95", 95)):
                assert float(row[name]) == pytest.approx(np.percentile(x, q))
            assert float(row["sd"]) == pytest.approx(np.std(x, ddof=1))
            assert float(row["gmd_above"]) == pytest.approx(naive.gini_mean_difference([v for v in x if v > centre]))
            assert float(row["gmd_below"]) == pytest.approx(naive.gini_mean_difference([v for v in x if v < centre]))
            assert set(json.loads(row["parameters"])) == {"adversary", "algorithm"}
            assert "gamma" in str(json.loads(row["parameters"])["algorithm"])
    assert manifest(unbroken)["accuracy"]["confidence"] == pytest.approx(1 - np.exp(-4 / 4.5))


def test_both_tables_have_the_title_of_the_panel(small, tmp_path, plainly):
    """Panels of one adversary have different titles; games that differ in a folded parameter share one."""
    import csv

    four = [f"{{name: bernoulli, means: {name}, label: Game {name}}}" for name in ("C1", "C2")]
    four += ["{name: constrained, gap: [0.125, 0.25]}"]
    changes = [f"adversary=[{', '.join(four)}]", "algorithms=[ucb1, {name: dp_se, epsilon: [0.5, 1]}]", "arms=5"]
    outputs(tmp_path / "x", small, *changes, "plot={worst: gap}", "trials=2", "horizon=50", "summary.groups=2")
    for name in ("summary.csv", "final.csv"):
        rows = list(csv.DictReader((tmp_path / "x" / name).open(encoding="utf-8")))
        assert list(dict.fromkeys(row["panel"] for row in rows)) == ["Game C1", "Game C2", "Constrained"]
    rows = list(csv.DictReader((tmp_path / "x" / "summary.csv").open(encoding="utf-8")))
    assert {tuple(row[part] for part in NAMES[1:]) for row in rows} == {
        ("UCB1", "", "", ""),
        ("DP-SE", "0.5", "0.0", "proved"),
        ("DP-SE", "1.0", "0.0", "proved"),
    }


FIRST = '''"""The first arm, always."""
import numpy as np
from privbandits_cli.games import bandit
from privbandits_cli.numerics.jit import record

class Parameters(bandit.Algorithm):
    family: str = "a"
    def state(self, setting):
        return record(plays=np.zeros(1))

def choose(state, rng):
    return 0

def update(state, arm, gain, rng):
    state.plays[0] += 1.0
'''


def test_a_swept_parameter_may_be_called_family(small, tmp_path, plainly):
    """Its column takes the place of the legend's part; curves without it have an empty cell there."""
    import csv

    own = tmp_path / "own_bandit.py"
    own.write_text(FIRST)
    words = ["algorithms=[ucb1, {name: own_bandit, family: [a, b]}]", f"include=[{own}]", "adversary=stochastic"]
    outputs(tmp_path / "x", small, *words, "trials=2", "horizon=50", "summary.groups=2")
    rows = list(csv.DictReader((tmp_path / "x" / "summary.csv").open(encoding="utf-8")))
    assert list(dict.fromkeys(row["family"] for row in rows)) == ["", "a", "b"]
    assert tuple(rows[0])[-1] == "family" and "family" not in tuple(rows[0])[:-1]
    assert [curve.own.get("family") for curve in curves.read(tmp_path / "x").every] == [None, "a", "b"]
    assert {row["family"] for row in summary(tmp_path / "x")} == {"UCB1", "a", "b"}
    assert sorted(key[-1] for key in measured.read(tmp_path / "x"))[-2:] == ["family=a", "family=b"]


def test_swept_parameters_are_the_last_columns(small, tmp_path):
    import csv

    outputs(tmp_path / "x", small, "algorithms[1].epsilon=[1, 2]", "summary={groups: 4, bars: bootstrap}")
    rows = list(csv.DictReader((tmp_path / "x" / "summary.csv").open(encoding="utf-8")))
    assert tuple(rows[0]) == (*SUMMARY, *BOOTSTRAP, "epsilon")
    assert {(row["algorithm"], row["epsilon"]) for row in rows} == {
        ("exp3", ""),
        ("exp3_tau", ""),
        ("dp_exp3_lap", "1"),
        ("dp_exp3_lap", "2"),
    }
    assert all(float(row["boot_low"]) <= float(row["mean"]) <= float(row["boot_high"]) for row in rows)


# ------------------------------------------------------------------------------------ real interruptions

LONG = SMALL.replace("horizon: 1000", "horizon: 150000").replace("trials: 16", "trials: 200")


def launch(config, results, *options, **environment):
    command = [sys.executable, "-m", "privbandits_cli", "run", str(config), "--results", str(results), "--jobs", "2"]
    environment = {**os.environ, **environment}
    return subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.05, 0.3, 0.6, 1.0, 1.5])
@pytest.mark.parametrize(("kill", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_at_any_moment_ends_the_run_with_its_code(tmp_path, kill, code, delay):
    """Also while modules are imported and kernels compiled, where an exception would be swallowed."""
    config = tmp_path / "long.yaml"
    config.write_text(LONG.replace("trials: 200", "trials: 2000"))
    process = launch(config, tmp_path / "results", "algorithms=[exp3]", NUMBA_CACHE_DIR=str(tmp_path / "numba"))
    while not (tmp_path / "results" / "small" / "lock").exists() and process.poll() is None:
        time.sleep(0.005)  # from here on signals are the run's
    time.sleep(delay)
    process.send_signal(kill)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == code, stderr
    assert "the same command continues from there" in stderr and "Traceback" not in stderr


# A run in a compiled block of hours, in which Python cannot note a signal.
IN_A_BLOCK = """
import hashlib, sys
from privbandits_cli.cli import signals

signals.GRACE = 0.2
with signals.Stop() as stop:
    stop.farewell = lambda: print("kept")
    print("playing", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
"""


@pytest.mark.parametrize(("kill", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_that_is_in_a_long_block(kill, code):
    process = subprocess.Popen([sys.executable, "-c", IN_A_BLOCK], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "playing\n"
    time.sleep(0.2)
    process.send_signal(kill)
    try:
        assert process.communicate(timeout=30)[0] == "kept\n" and process.returncode == code
    finally:
        process.kill()


def test_a_run_that_ends_by_itself_leaves_signals_as_they_were():
    before, threads = signal.getsignal(signal.SIGTERM), set(threading.enumerate())
    with Stop():
        (watching,) = set(threading.enumerate()) - threads
    watching.join(timeout=30)
    assert not watching.is_alive() and signal.getsignal(signal.SIGTERM) is before


def test_worker_processes_do_not_outlive_a_kill(tmp_path):
    config = tmp_path / "long.yaml"
    config.write_text(LONG.replace("trials: 200", "trials: 2000"))
    process = launch(config, tmp_path / "results", "--engine", "processes")
    chunks = tmp_path / "results" / "small" / "chunks"
    while len(list(chunks.glob("*.npz"))) < 1 and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    process.communicate(timeout=30)  # the pipes close when the last worker is gone


def test_a_run_that_plays_nothing_keeps_its_record(small, tmp_path):
    outputs(tmp_path / "x", small, jobs=2)
    before = manifest(tmp_path / "x")
    plan = make_plan(load(small))
    store = Store(tmp_path / "x")
    store.open(plan)
    run.write_outputs(plan, store, [], None)
    after = manifest(tmp_path / "x")
    assert {key: after[key] for key in ("engine", "jobs", "ended")} == {
        key: before[key] for key in ("engine", "jobs", "ended")
    }


def test_chunks_of_other_code_are_reported(small, tmp_path, monkeypatch):
    from privbandits_cli.engine import store as module

    with monkeypatch.context() as patch:
        patch.setattr(module, "_digest", lambda *game: "old")
        outputs(tmp_path / "x", small)
    plan, store, _ = outputs(tmp_path / "x", small, "trials=20")
    assert set(store.other_code) == {curve.key for curve in plan.curves}
    assert manifest(tmp_path / "x")["other_source_hashes"] == [f"old with {module.libraries()}"]


def test_chunks_are_of_other_code_if_a_module_that_played_them_differs(small, tmp_path, monkeypatch):
    from privbandits_cli.engine import store as module
    from privbandits_cli.numerics import digests

    real, edited = digests._module, "privbandits_cli.algorithms.dp_exp3_lap"
    with monkeypatch.context() as patch:
        patch.setattr(digests, "_module", lambda name: ("edited", real(name)[1]) if name == edited else real(name))
        module._digest.cache_clear()
        outputs(tmp_path / "x", small)
    module._digest.cache_clear()
    plan, store, _ = outputs(tmp_path / "x", small)
    assert {plan.by_key[key].algorithm.name for key in store.other_code} == {"dp_exp3_lap"}


def test_chunks_of_another_numpy_are_reported(small, tmp_path, monkeypatch):
    from privbandits_cli.engine import store as module

    with monkeypatch.context() as patch:
        patch.setattr(module, "libraries", lambda: "NumPy 1.0, numba 0.1")
        outputs(tmp_path / "x", small)
    plan, store, _ = outputs(tmp_path / "x", small)
    assert set(store.other_code) == {curve.key for curve in plan.curves}
    assert manifest(tmp_path / "x")["other_source_hashes"] == sorted(
        {module.code_here(curve).replace(module.libraries(), "NumPy 1.0, numba 0.1") for curve in plan.curves}
    )


def test_a_torn_journal_stops_nothing(small, tmp_path, whole):
    outputs(tmp_path / "x", small, "trials=8")
    journal = tmp_path / "x" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-9])  # as a full disk leaves it; the next line is joined to it
    assert outputs(tmp_path / "x", small)[2] == whole


@pytest.mark.slow
def test_two_runs_at_once_in_one_folder(tmp_path):
    config = tmp_path / "long.yaml"
    config.write_text(LONG.replace("trials: 200", "trials: 2000"))
    first = launch(config, tmp_path / "results")
    while not list((tmp_path / "results").rglob("*.npz")) and first.poll() is None:
        time.sleep(0.01)
    second = launch(config, tmp_path / "results")
    try:
        _, err = second.communicate(timeout=30)
        assert second.returncode == 2 and f"process {first.pid} is running in" in err
    finally:
        first.kill()
        first.communicate(timeout=30)


@pytest.mark.slow
@pytest.mark.parametrize("kilobytes", [40, 120, 260])
def test_a_full_disk_is_reported_and_survived(small, tmp_path, whole, kilobytes):
    """Among the chunks, at the CSVs and at the figure."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        process = launch(small, disk)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 2 and "No space left on device" in err, err
        assert "trials are kept; the same command continues from there" in err and "Traceback" not in err
        assert not list(disk.rglob(".*.tmp*"))
        subprocess.run(["mount", "-o", "remount,size=50m", disk], check=True)
        again = launch(small, disk)
        assert again.communicate(timeout=60) and again.returncode == 0
        assert csvs(disk / "small") == whole and manifest(disk / "small")["complete"]
    finally:
        subprocess.run(["umount", disk], check=True)


MEASURE = """
import os, subprocess, sys
_, status, used = os.wait4(subprocess.Popen(sys.argv[1:]).pid, 0)
print(os.waitstatus_to_exitcode(status), used.ru_maxrss, used.ru_utime + used.ru_stime)
"""  # started from a small process: a child's peak begins at its parent's


@pytest.mark.slow
def test_a_hundred_thousand_trials(tmp_path):
    """Resume, summary and figure of five curves: seconds of work, and a fraction of a gigabyte."""
    config = tmp_path / "small.yaml"
    config.write_text(
        SMALL.replace("trials: 16", "trials: 100000")
        .replace("[stochastic, switching_costs]", "stochastic")
        .replace("  - exp3_tau\n", "  - exp3_tau\n  - tsallis_inf\n  - uniform\n")
        .replace("checkpoints: 8", "checkpoints: 32")
    )
    plan, store, rng = make_plan(load(config)), Store(tmp_path / "small"), np.random.default_rng(1)
    sizes = [len(chunk.trials) for chunk in plan.chunks(store.done, 2)]
    assert sum(sizes) == 100_000 and len(sizes) < 100
    with store.locked():
        for curve in plan.curves:
            for trials in np.split(np.arange(100_000), np.cumsum(sizes)[:-1]):
                store.keep(curve, trials, rng.normal(size=(len(trials), 32)), code_here(curve))
    command = [sys.executable, "-m", "privbandits_cli", "run", config, "--results", tmp_path, "-q"]
    measured = subprocess.run([sys.executable, "-c", MEASURE, *command], capture_output=True, text=True, timeout=120)
    code, kilobytes, seconds = map(float, measured.stdout.split())
    assert code == 0 and manifest(tmp_path / "small")["complete"]
    assert kilobytes < 500_000 and seconds < 40  # of the processor: about 8
    assert len((tmp_path / "small" / "final.csv").read_bytes().splitlines()) == 500_001


def test_many_long_trials_are_not_many_files():
    from tests.conftest import ROOT

    plan = make_plan(load(ROOT / "configs" / "fig1.yaml", ["trials=100000", "summary.groups=20"]))
    chunks = list(plan.chunks(lambda curve: np.empty(0, np.int64), 8))
    assert len(chunks) < 1200 and sum(len(chunk.trials) for chunk in chunks) == 5 * 100_000


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_missing_dask_is_reported(small, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "privbandits_cli.engine.cluster", raising=False)
    monkeypatch.delattr("privbandits_cli.engine.cluster", raising=False)
    done = call("run", small, "--results", tmp_path / "r", "--engine", "dask")
    assert done.exit_code == 2 and "pip install distributed" in done.stderr and "Traceback" not in done.stderr


def test_a_scheduler_is_for_dask(small, tmp_path):
    done = call("run", small, "--results", tmp_path / "r", "--scheduler", "tcp://127.0.0.1:1")
    assert done.exit_code == 2 and "add --engine dask" in done.stderr and not (tmp_path / "r").exists()


# ------------------------------------------------------------------------------------------- engines


def test_engines_are_parsed():
    assert [Engine.parse(kind) for kind in ("threads", "processes")] == [Engine("threads"), Engine("processes")]
    for given in ("host:8786", "tcp://host:8786"):
        assert Engine.parse("dask", given) == Engine("dask", "tcp://host:8786")
    assert Engine.parse("dask", "[::1]:1").address == "tcp://[::1]:1"
    for words in (
        ("tcp://host:1",),
        ("dask", "host"),
        ("dask", "host:99999"),
        ("dask", "ucx://h:1"),
        ("threads", "h:1"),
    ):
        with pytest.raises(EngineError):
            Engine.parse(*words)


IMPORTED_TWICE = """
import importlib, logging, pkgutil, sys, warnings

def import_all():
    import privbandits_cli
    found = [module.name for module in pkgutil.walk_packages(privbandits_cli.__path__, "privbandits_cli.")]
    for name in found:
        if name != "privbandits_cli.__main__":
            importlib.import_module(name)
    return found

import_all()  # other libraries are imported now, and not again
for name in [name for name in sys.modules if name.partition(".")[0] == "privbandits_cli"]:
    del sys.modules[name]
warnings.resetwarnings()
sys.warnoptions.clear()
loggers = [logging.root, *map(logging.getLogger, list(logging.root.manager.loggerDict))]
for logger in loggers:
    logger.setLevel(7)
assert len(import_all()) > 100
assert not warnings.filters and not sys.warnoptions
assert {logger.name for logger in loggers if logger.level != 7} == set()
"""


@pytest.mark.slow
def test_an_import_changes_neither_warnings_nor_logging():
    done = subprocess.run([sys.executable, "-c", IMPORTED_TWICE], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("engine", some(["threads", "processes", "dask"], "threads"))
def test_a_run_that_is_stopped_early_leaves_warnings_and_logging_as_they_were(small, tmp_path, engine):
    """Joblib warns of results that are not used: not here, and elsewhere as before."""
    logger = logging.getLogger("distributed")
    logger.setLevel(logging.INFO)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        before = list(warnings.filters), list(sys.warnoptions)
        outputs(tmp_path / "x", small, jobs=2, engine=engine, watch=lambda played: False)
        gc.collect()
        assert (list(warnings.filters), list(sys.warnoptions)) == before and logger.level == logging.INFO
    assert [str(one.message) for one in caught if one.category is UserWarning] == []
    assert not manifest(tmp_path / "x")["complete"]


def test_the_time_of_a_run_is_extrapolated_from_its_first_rounds(small, monkeypatch):
    """With 7 s to compile a game, 3 s to set it up, and 1 or 2 ms for a round, by the adversary."""
    plan = make_plan(load(small))
    chunks = list(plan.chunks(lambda curve: np.empty(0, np.int64), 2))
    clock, compiled, played = [0.0], set(), []

    def checked(chunk):
        clock[0] += 3 + (7 if chunk.keys not in compiled else 0)
        clock[0] += chunk.rounds * (0.001 if chunk.match.adversary.name == "stochastic" else 0.002)
        compiled.add(chunk.keys)
        played.append(chunk.rounds)

    monkeypatch.setattr("privbandits_cli.engine.play._checked", checked)
    monkeypatch.setattr("privbandits_cli.engine.play.time", SimpleNamespace(perf_counter=lambda: clock[0]))
    monkeypatch.setattr("privbandits_cli.engine.play.MEASURED", 100.0)
    seconds, rounds = estimated(chunks)
    every = sum(chunk.rounds for chunk in chunks)
    assert seconds == pytest.approx(0.0015 * every, rel=0.01) and 0 < rounds < sum(played) <= 0.5 * every
    monkeypatch.setattr("privbandits_cli.engine.play.MEASURED", 0.5)  # the first game takes longer: it stands for both
    assert estimated(chunks)[0] == pytest.approx(0.001 * every, rel=0.01)


def test_a_worker_whose_run_has_ended_ends_before_its_first_task():
    """Another process has adopted it, which it must not take for its run."""
    program = "import time; from privbandits_cli.engine import runner; runner._follow(0); time.sleep(50)"
    assert subprocess.run([sys.executable, "-c", program], timeout=40, check=False).returncode == 1
