"""Many machines: Dask workers that die, shards, the Slurm script, and every kill at every moment on every engine."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import ROOT, SMALL
from tests.engine.test_engine import csvs, manifest, outputs

pytestmark = pytest.mark.slow

PYTHON = sys.executable
CLUSTER = SMALL.replace("horizon: 1000", "horizon: 80000").replace("trials: 16", "trials: 160")


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    """The path of an experiment of some seconds."""
    path = tmp_path_factory.mktemp("cluster") / "small.yaml"
    path.write_text(CLUSTER)
    return path


@pytest.fixture(scope="module")
def unbroken(config):
    """Its CSVs, played on threads in one go."""
    return outputs(config.parent / "unbroken", config, jobs=2)[2]


def launch(config, results, *options, start_new_session=False):
    command = [PYTHON, "-m", "privbandits_cli", "run", str(config), "--results", str(results), *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **pipes, start_new_session=start_new_session)


def run(config, results, *options, timeout=120):
    """Exit code, stdout, stderr of a finished run."""
    process = launch(config, results, *options)
    try:
        out, err = process.communicate(timeout=timeout)
    finally:
        process.kill()
    return process.returncode, out, err


def chunks(results):
    return list((results / "small" / "chunks").glob("*.npz"))


def until(condition, process=None, seconds=60):
    """Wait, for a time, until a condition holds or the process has ended."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline and (process is None or process.poll() is None):
        time.sleep(0.005)


def all_once(folder):
    """No trial is in two chunk files."""
    found = Counter(
        (path.name.rpartition("__")[0], int(trial))
        for path in (folder / "chunks").glob("*.npz")
        for trial in np.load(path)["trials"]
    )
    return len(found) == 6 * 160 and set(found.values()) == {1}


# ---------------------------------------------------------------------------------------- kill matrix

ENGINES = ("threads", "processes", "dask")
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}
MOMENTS = (1, 11, 17)  # chunk files of 24: early, middle, late


def children_of(pid):
    """The process ids of all that descends from this process."""
    found = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return found + [grandchild for child in found for grandchild in children_of(child)]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


KILLS = [(signal.SIGINT, 0), (signal.SIGTERM, 1), *((signal.SIGKILL, first) for first in range(3))]


@pytest.mark.parametrize(("kill", "first"), KILLS, ids=lambda part: getattr(part, "name", str(part)))
def test_killed_early_in_the_middle_and_late(config, unbroken, tmp_path, kill, first):
    """Each run is killed and goes on on another engine: every signal on every engine, SIGKILL at every moment, too."""
    engines = ENGINES[first:] + ENGINES[:first]
    for engine, moment in zip(engines, MOMENTS, strict=True):
        process = launch(config, tmp_path, "--engine", engine, "--jobs", "2")
        until(lambda moment=moment: len(chunks(tmp_path)) >= moment, process)
        assert process.poll() is None, "it ended before it could be killed"
        workers = children_of(process.pid)
        asked = time.monotonic()
        process.send_signal(kill)
        _, err = process.communicate(timeout=30)
        assert process.returncode == CODES[kill] and time.monotonic() - asked < 5
        assert "Traceback" not in err and not (tmp_path / "small" / "summary.csv").exists()
        if kill != signal.SIGKILL:
            assert "the same command continues from there" in err
        until(lambda workers=workers: not any(map(alive, workers)), seconds=5)
        assert not any(map(alive, workers)), "worker processes outlive the run"
    kept = len(chunks(tmp_path))
    code, _, err = run(
        config, tmp_path, "-q", "--engine", "processes" if engine == "threads" else "threads", "--jobs", "2"
    )
    assert code == 0 and len(chunks(tmp_path)) > kept >= MOMENTS[-1], err
    assert csvs(tmp_path / "small") == unbroken and all_once(tmp_path / "small")


@pytest.mark.parametrize("engine", ENGINES)
def test_workers_that_receive_ctrl_c_too_print_nothing(config, tmp_path, engine):
    """A terminal sends it to every process of the run."""
    process = launch(config, tmp_path, "--engine", engine, "--jobs", "2", "trials=1600", start_new_session=True)
    until(lambda: chunks(tmp_path), process)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert len(err.splitlines()) == 2 and "stopped: " in err, err


# ----------------------------------------------------------------------------------------- a scheduler


class Cluster:
    """A scheduler and workers, as processes of their own on loopback."""

    def __init__(self, folder):
        self.processes = []
        file = folder / "scheduler.json"
        self.scheduler = self._start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)
        )
        until(lambda: file.exists() and file.read_text().endswith("\n}"), self.scheduler)
        self.address = json.loads(file.read_text())["address"]

    def _start(self, module, *options, **environment):
        command = [PYTHON, "-m", f"distributed.cli.{module}", *options, "--no-dashboard"]
        quiet = subprocess.DEVNULL
        environment = {**os.environ, **environment}
        process = subprocess.Popen(
            command, stdout=quiet, stderr=quiet, env=environment, start_new_session=True, cwd=tempfile.gettempdir()
        )
        self.processes.append(process)
        return process

    def worker(self, *options, **environment):
        """Start a worker of one thread."""
        return self._start("dask_worker", self.address, "--nthreads", "1", *options, **environment)

    def ready(self):
        """Wait for a worker."""
        from distributed import Client

        with Client(self.address) as client:
            client.wait_for_workers(1, timeout=60)

    def stop(self):
        for process in self.processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            process.wait()


@pytest.fixture
def cluster(tmp_path_factory):
    """A scheduler without workers."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.stop()


def test_two_workers_killed_in_the_middle(config, unbroken, tmp_path, cluster):
    workers = [cluster.worker("--no-nanny") for _ in range(3)]
    process = launch(config, tmp_path, "--engine", "dask", "--scheduler", cluster.address)
    for worker, n in zip(workers, (6, 24), strict=False):
        until(lambda n=n: len(chunks(tmp_path)) >= n, process)
        worker.kill()
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert csvs(tmp_path / "small") == unbroken and all_once(tmp_path / "small")
    made = manifest(tmp_path / "small")
    assert made["engine"] == "dask" and 1 <= made["jobs"] <= 3 and made["complete"]
    assert "Traceback" not in err and "distributed" not in err


def test_threads_of_a_worker_that_compile_at_once(config, unbroken, tmp_path, cluster):
    cluster.worker("--no-nanny", "--nthreads", "4", NUMBA_CACHE_DIR=str(tmp_path / "numba"))
    code, _, err = run(
        config, tmp_path, "-q", "--engine", "dask", "--scheduler", cluster.address.removeprefix("tcp://")
    )
    assert code == 0 and csvs(tmp_path / "small") == unbroken, err
    assert manifest(tmp_path / "small")["jobs"] == 4


POISON = """
import os, signal
from privbandits_cli.engine import cluster

from privbandits_cli.engine.play import play_chunk

def poisoned(chunk):
    if 77 in chunk.trials and chunk.match.adversary.name == "stochastic":
        os.kill(os.getpid(), signal.SIGKILL)
    return play_chunk(chunk)

cluster.play_chunk = poisoned
"""


def test_poison_is_listed_and_the_rest_is_played(config, unbroken, tmp_path, cluster):
    (tmp_path / "poison.py").write_text(POISON)
    for _ in range(2):
        cluster.worker("--preload", str(tmp_path / "poison.py"))  # with a nanny, which starts it again
    code, _, err = run(config, tmp_path, "--engine", "dask", "--scheduler", cluster.address, timeout=150)
    assert code == 1, err
    lines = [line for line in err.splitlines() if line.startswith("  failed: ")]
    assert len(lines) == 3 and all(
        "stochastic, trials " in line and "workers that played it died" in line for line in lines
    )
    made = manifest(tmp_path / "small")
    failed = {failure["trial"] for failure in made["failures"]}
    assert 77 in failed and len(failed) <= 80 and {f["adversary"] for f in made["failures"]} == {"stochastic"}
    assert made["trials"]["missing"] == 3 * len(failed) and not made["complete"]
    assert run(config, tmp_path, "-q")[0] == 0
    assert csvs(tmp_path / "small") == unbroken


def test_a_lost_scheduler_ends_the_run_with_what_arrived(config, unbroken, tmp_path, cluster):
    cluster.worker("--no-nanny")
    process = launch(config, tmp_path, "--engine", "dask", "--scheduler", cluster.address)
    until(lambda: len(chunks(tmp_path)) >= 6, process)
    cluster.scheduler.kill()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "lost" in err and "the same command continues from there" in err
    assert "Traceback" not in err and not (tmp_path / "small" / "summary.csv").exists()
    kept = len(chunks(tmp_path))
    assert kept >= 6 and run(config, tmp_path, "-q", "--engine", "processes")[0] == 0
    assert csvs(tmp_path / "small") == unbroken and all_once(tmp_path / "small")


def elsewhere(tmp_path):
    """A copy of the package that differs by a line; the environment that finds it first."""
    import shutil

    shutil.copytree(ROOT / "privbandits_cli", tmp_path / "other" / "privbandits_cli")
    with (tmp_path / "other" / "privbandits_cli" / "numerics" / "streams.py").open("a") as file:
        file.write("ANOTHER_VERSION = True\n")
    return {"PYTHONPATH": str(tmp_path / "other")}


def test_a_worker_of_another_version_is_refused(config, tmp_path, cluster):
    cluster.worker("--no-nanny", **elsewhere(tmp_path))
    code, _, err = run(config, tmp_path, "--engine", "dask", "--scheduler", cluster.address)
    assert code == 2 and "has code" in err and "install the same privbandits there" in err and not chunks(tmp_path)


def test_a_worker_of_another_version_that_joins_late_is_refused(config, unbroken, tmp_path, cluster):
    cluster.worker("--no-nanny")
    process = launch(config, tmp_path, "--engine", "dask", "--scheduler", cluster.address)
    until(lambda: len(chunks(tmp_path)) >= 3, process)
    os.kill(cluster.processes[1].pid, signal.SIGSTOP)  # so that it is the other that plays on
    cluster.worker("--no-nanny", **elsewhere(tmp_path))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "has code" in err and "trials are kept" in err
    assert run(config, tmp_path, "-q")[0] == 0 and csvs(tmp_path / "small") == unbroken


def test_a_scheduler_without_workers_and_none_at_all(config, tmp_path, cluster, monkeypatch):
    from typer.testing import CliRunner

    from privbandits_cli.cli import app
    from privbandits_cli.engine import cluster as module

    monkeypatch.setattr(module, "PATIENCE", 1.0)
    words = ["run", str(config), "--results", str(tmp_path), "--engine", "dask", "--scheduler"]
    found = CliRunner().invoke(app, [*words, cluster.address])
    assert found.exit_code == 2 and f"no worker at {cluster.address} in 1 s: start `dask worker" in found.stderr
    cluster.stop()
    found = CliRunner().invoke(app, [*words, cluster.address])
    assert found.exit_code == 2 and "start `dask scheduler`" in found.stderr


def test_workers_that_all_die_end_the_run(config, tmp_path, cluster, monkeypatch):
    from typer.testing import CliRunner

    from privbandits_cli.cli import app
    from privbandits_cli.engine import cluster as module

    worker = cluster.worker("--no-nanny")
    cluster.ready()
    monkeypatch.setattr(module, "PATIENCE", 6.0)

    def kill_it_at_work():
        until(lambda: chunks(tmp_path))
        worker.kill()

    threading.Thread(target=kill_it_at_work, daemon=True).start()
    words = ["run", str(config), "--results", str(tmp_path), "--engine", "dask", "--scheduler", cluster.address]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 1 and "all workers were lost, and none came in 6 s" in found.stderr
    assert "the same command continues from there" in found.stderr


def test_chunks_that_died_beside_a_deadly_one_are_played_alone(config, monkeypatch):
    """Workers die at one chunk, and take another one with them as long as the two run at once."""
    from privbandits_cli.engine import cluster as module
    from privbandits_cli.engine.payload import unpack
    from privbandits_cli.engine.play import play_chunk
    from privbandits_cli.experiment.config import load
    from privbandits_cli.experiment.plan import make_plan

    plan = make_plan(load(config, ["horizon=100", "trials=8"]))
    chunks = list(plan.chunks(lambda curve: np.empty(0, np.int64), 1))
    beside, deadly = ((chunk.keys, chunk.trials) for chunk in chunks[:2])
    submitted = []

    class Future:
        def __init__(self, payload):
            self.key, self.chunk = str(len(submitted)), unpack(payload)
            submitted.append((self.chunk.keys, self.chunk.trials))
            self.first = submitted.count(submitted[-1]) == 1

        def add_done_callback(self, done):
            done(self)

        def result(self):
            name = self.chunk.keys, self.chunk.trials
            if name == deadly or (name == beside and self.first):
                raise module.KilledWorker("play", None, 4)
            return play_chunk(self.chunk)

    class Client(nullcontext):
        status, cluster = "running", None

        def __init__(self, address, timeout):
            super().__init__()

        def nthreads(self):
            return {"worker": 2}

        def submit(self, play, payload, *_, **__):
            return Future(payload)

        def close(self):
            pass

    monkeypatch.setattr(module, "Client", Client)
    played = list(module.run(chunks, 2, "tcp://host:8786"))
    assert len(played) == len(chunks) > 2
    failed = [one for one in played if one.failures]
    assert [(one.chunk.keys, one.chunk.trials) for one in failed] == [deadly]
    assert len(failed[0].failures) == len(failed[0].chunk.trials) * 3
