"""What the tests share: algorithms and adversaries by name, matches, small experiments on disk."""

import atexit
import csv
import functools
import gc
import importlib.util
import os
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
import typer
from typer import testing

from privbandits_cli.actions import run
from privbandits_cli.analysis import manifest
from privbandits_cli.data.files import PlaysFile
from privbandits_cli.engine.runner import cores
from privbandits_cli.games import best_arm, driver
from privbandits_cli.games.bandit import Setting
from privbandits_cli.games.match import Match
from privbandits_cli.numerics.jit import without_jit
from privbandits_cli.plugins.registry import Registry
from tests.workers import free_memory, workers

os.environ.pop("COLUMNS", None)  # set by a test runner's workers; messages would be broken at it
os.unsetenv("COLUMNS")  # and by readline, behind the back of `os.environ`
os.fsync = lambda handle: None  # no test cuts the power; a test waited 5 ms for each file
for module, name in ((testing, "_get_command"), (manifest, "git_state"), (manifest, "version")):
    setattr(module, name, functools.cache(getattr(module, name)))  # every command and run had it made anew
ROOT = Path(__file__).resolve().parent.parent
KEEPERS = tuple(f"privbandits_cli.{room}." for room in ("audit", "games", "numerics"))  # their caches hold kernels

# Parameters of the examples. A new algorithm needs a line only if it has parameters without default beside `epsilon`.
NEEDED = {
    "adac_gope": lambda: {"rho": 0.5},
    "adac_oful": lambda: {"rho": 0.5},
    "adac_ucb": lambda: {"rho": 0.5},
    "batched_htinf": lambda: {"epsilon": 0.3},
    "dp_ftrl": lambda: {"epsilon": 1.0},
    "dp_linucb": lambda: {"epsilon": 1.0, "delta": 0.1},
    "dp_sprt": lambda: {"epsilon": 1.0, "mu0": 0.4, "mu1": 0.6},
    "gaussian_ts": lambda: {"mu": 4.0, "b": 3},
    "ldp_linucb": lambda: {"epsilon": 1.0, "delta": 0.1},
    "dp_lambda_lap": lambda: {"epsilon": 1.0, "base": make("tsallis_inf")},
    "dp_reduction": lambda: {"epsilon": 1.0, "base": make("tsallis_inf")},
    "dp_robust_se": lambda: {"epsilon": 1.0, "constants": 0.05},
    "dp_robust_ucb": lambda: {"epsilon": 1.0, "constants": 0.03},
    "ldp_robust_se": lambda: {"epsilon": 4.0, "constants": 0.05, "epochs": 2},
    "ldp_robust_ucb": lambda: {"epsilon": 1.0, "constants": 0.3},
    "robust_se": lambda: {"constants": 0.05},
    "mini_batch": lambda: {"tau": 5, "base": make("tsallis_inf")},
}
NEEDED_OF_FOES = {"gap": {"gap": 0.1}, "uneven_noise": {"epsilon": 1.0}}


def playing(kind, game="bandit"):
    """The names of those that play a game by themselves; those that play a file have tests of their own."""
    every = Registry().every(kind)
    return [name for name, model in every if model.game == game and not issubclass(model, PlaysFile)]


def make(name, **parameters):
    """An algorithm by name, not tuned; an `epsilon` without default is 1."""
    model = Registry().find("algorithms", name)
    epsilon = model.model_fields.get("epsilon")
    private = {"epsilon": 1.0} if epsilon and epsilon.is_required() else {}
    return model(**(private | NEEDED.get(name, dict)() | parameters))


def foe(name, **parameters):
    """An adversary by name."""
    return Registry().find("adversaries", name)(**(NEEDED_OF_FOES.get(name, {}) | parameters))


def fit(algorithm, adversary):
    """Whether the algorithm may meet the adversary."""
    return adversary.bounded or not algorithm.bounded


def watch_states(patch, seen):
    """Let `seen(states)` see an algorithm's states `[trials]` after each block."""
    play = driver.Seat.play

    def watched(seat, *block):
        found = play(seat, *block)
        seen(seat.states())
        return found

    patch.setattr(driver.Seat, "play", watched)


def match(adversary, algorithms, horizon, n_arms=4, seed=7, checkpoints=None):
    """A match of tuned players; checkpoints default to the horizon."""
    adversary = adversary.tuned(Setting(horizon, n_arms))
    setting = adversary.revealed(Setting(horizon, n_arms))
    tuned = [algorithm.tuned(setting) for algorithm in algorithms]
    rounds = np.array([horizon] if checkpoints is None else checkpoints, np.int64)
    return Match(adversary, tuned, setting, rounds, seed)


def outcomes(algorithm, adversary, setting, trials, seed=7, block=best_arm.FIRST, width=32):
    """What some trials of a tuned algorithm in the game best_arm came to."""
    one = Match(adversary, [algorithm], setting, np.array([int(setting.horizon)]), seed)
    return best_arm.outcomes(best_arm.play(one, range(trials), block, width)[0])


def some(values, *kept):
    """These values as parameters of a test; those that are not `kept` are left to `make test-all`."""
    return [value if value in kept else pytest.param(value, marks=pytest.mark.slow) for value in values]


def first(n, rows):
    """The same where each case is a row of values of several parameters: the first n are kept."""
    return [*rows[:n], *(pytest.param(*row, marks=pytest.mark.slow) if type(row) is tuple else row for row in rows[n:])]


class Steps:
    """How the tests that call steps themselves make them, if they do not say it: in plain Python or compiled."""

    plain = True


@pytest.fixture(params=some([True, False], True), ids=["plain", "compiled"])
def by_hand(request, monkeypatch):
    """Steps are plain Python, and in `make test-all` also compiled: no twin plays from a state that is set by hand."""
    monkeypatch.setattr(Steps, "plain", request.param)
    with np.errstate(over="ignore"):  # words of random numbers
        yield


@pytest.fixture
def plainly():
    """Loops are plain Python: an audit of a short game takes less time than compiling it."""
    with without_jit(), np.errstate(over="ignore"):
        yield


@pytest.fixture(params=some([True, False], True), ids=["plain", "compiled"])
def either(request):
    """True: loops are plain Python. In `make test-all` they are also compiled (False)."""
    if request.param:
        request.getfixturevalue("plainly")
    return request.param


@pytest.fixture
def shared_streams(monkeypatch):
    """Algorithms draw the same numbers whatever their parameters."""
    real = driver.stream
    shared = {"uniform": ("uniform",), "laplace": ("laplace",)}
    monkeypatch.setattr(
        driver, "stream", lambda seed, *names, trial: real(seed, *shared.get(names[0], names), trial=trial)
    )


def tracked(*paths):
    """What git would commit now of these paths, as names from the root of the repository; nothing without git."""
    if not (ROOT / ".git").exists():
        return []
    found = subprocess.run(["git", "ls-files", "-z", *paths], cwd=ROOT, capture_output=True, text=True, check=True)
    return found.stdout.split("\0")[:-1]


@functools.cache
def script(name):
    """A script of `configs/` by its file's name, such as `wins.py`, as a module."""
    spec = importlib.util.spec_from_file_location(name.removesuffix(".py"), ROOT / "configs" / name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table_of(path):
    """The rows of a CSV, each as a dict of texts."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def started(name, *words):
    """What a script prints and its exit code, when it is started with these words."""
    app = typer.Typer()
    app.command()(script(name).main)
    return testing.CliRunner().invoke(app, [*map(str, words)])


@functools.cache
def committed():
    """A folder like the repository, whose `results/` has what git would commit now: the files of its index.

    So nothing that a run leaves in `results/` changes a test, not even a figure that it makes again. To test such a
    figure, `git add` it: then the tests judge what you are about to commit. Without git, as in an unpacked archive,
    `results/` is a copy of the committed kinds of files that belong to shipped configs.
    """
    folder = Path(tempfile.mkdtemp(prefix="privbandits-committed-")).resolve()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for path in ROOT.iterdir():
        if path.name != "results" and not path.name.startswith("."):
            (folder / path.name).symlink_to(path)
    if names := "\0".join(tracked("results")):
        command = ["git", "checkout-index", "-z", "--stdin", f"--prefix={folder}/"]
        subprocess.run(command, cwd=ROOT, input=names, text=True, check=True)
    for path in [] if names else [*ROOT.glob("results/*.*"), *ROOT.glob("results/*/*.*")]:
        shipped = path.parent.name == "results" or (ROOT / "configs" / f"{path.parent.name}.yaml").exists()
        if shipped and path.suffix in {".csv", ".json", ".md", ".pdf", ".png", ".svg", ".yaml"}:
            copy = folder / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    return folder


def pytest_terminal_summary(terminalreporter):
    """Beside failures: whether the results on the disk differ from those that the tests read."""
    if terminalreporter.stats.get("failed") and tracked("results"):
        changed = subprocess.run(["git", "diff", "--stat", "--", "results"], cwd=ROOT, capture_output=True, text=True)
        if changed.stdout:
            terminalreporter.line(f"the tests read results as git has them, without these changes:\n{changed.stdout}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """The processes of `-n auto`, unless PYTEST_XDIST_AUTO_NUM_WORKERS has their number."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" not in os.environ:
        return workers(cores(), free_memory())


def pytest_collection_finish():
    """What is loaded now stays loaded: garbage collections that look at all of it take a tenth of the tests' time."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


def pytest_sessionfinish():
    """At its end pytest collects garbage five times, which takes seconds. Freezing leaves it nothing to look at."""
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def _free_kernels():
    """After a file of tests that took more memory than those before, compiled kernels are forgotten.

    Others load those that they need from disk.
    """
    yield
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if used > 1.15 * most_used[-1]:
        most_used.append(used)
        for cached in gc.get_objects():
            if type(cached) is functools._lru_cache_wrapper and cached.__module__.startswith(KEEPERS):
                cached.cache_clear()
        gc.collect()


most_used = [0]


SMALL = """\
experiment: small
horizon: 1000
arms: 4
trials: 16
seed: 3
checkpoints: 8
adversary: [stochastic, switching_costs]
algorithms:
  - exp3
  - {name: dp_exp3_lap, epsilon: 1}
  - exp3_tau
summary: {groups: 4}
"""


@pytest.fixture
def small(tmp_path):
    """The path of a small experiment."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def one_format(monkeypatch):
    """A run draws its figure in one format: where that does not matter, all three take most of its time."""
    monkeypatch.setattr(run, "FIGURES", ("svg",))


def without_figures(patch):
    """From here on a run draws no figure, which takes more time than its games."""
    patch.setattr(run, "FIGURES", ())
    patch.setattr(run.write, "sources", lambda folder: None)


@pytest.fixture
def no_figure(monkeypatch):
    """A run draws no figure."""
    without_figures(monkeypatch)


@pytest.fixture(scope="session")
def _finished(tmp_path_factory):
    from tests.figures.test_plot import ran

    folder = tmp_path_factory.mktemp("finished")
    (folder / "small.yaml").write_text(SMALL.replace("seed: 3", "seed: 4"))  # no trial of seed 4 is far out
    return ran(folder, folder / "small.yaml")


@pytest.fixture
def finished(_finished, tmp_path):
    """The results folder of the small experiment, played once, one's own copy."""
    return Path(shutil.copytree(_finished, tmp_path / "out"))
