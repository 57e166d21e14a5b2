"""A user's own files: found, played on every engine, seen when edited, and errors shown at their lines."""

import json
import os
import pickle
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from privbandits_cli import api
from privbandits_cli.actions.run import Outcome
from privbandits_cli.cli import app, run
from privbandits_cli.cli.signals import Stop
from privbandits_cli.engine.payload import pack, unpack
from privbandits_cli.engine.play import Failure, play_chunk
from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.experiment.plan import make_plan
from privbandits_cli.figures import table
from privbandits_cli.figures.styles import Drawn
from privbandits_cli.games.bandit import play
from privbandits_cli.games.guards import PluginError
from privbandits_cli.numerics.jit import without_jit
from privbandits_cli.plugins import lint, loader, messages, registry
from privbandits_cli.plugins.registry import Registry, including
from tests.conftest import ROOT, SMALL, first, foe, make, match, some
from tests.engine.test_engine import csvs, manifest, outputs

CLI = ROOT / "privbandits_cli" / "cli"
ALGORITHM = (CLI / "algorithm_bandit.txt").read_text().replace("@NAME@", "mine").replace("@TITLE@", "Mine")
ADVERSARY = (CLI / "adversary_bandit.txt").read_text().replace("@NAME@", "game").replace("@TITLE@", "Game")
ARGMAX = "return int(np.argmax(state.means))"
PLAYS = "    state.plays[arm] += 1.0\n"
OWN = ("include=[mine.py, game.py]", "algorithms=[exp3, mine]", "adversary=game", "horizon=200")


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch, no_figure):
    """A working directory with an algorithm and an adversary of one's own, and a small experiment."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(ALGORITHM)
    Path("game.py").write_text(ADVERSARY)
    Path("small.yaml").write_text(SMALL)
    return tmp_path


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def edited(old, new, name="mine.py"):
    """The file with one thing in it changed."""
    text = Path(name).read_text()
    assert text.count(old) == 1
    Path(name).write_text(text.replace(old, new))


def errors(*words, config="small.yaml"):
    result = call("run", config, "-q", "--include", "mine.py", "algorithms=mine", "adversary=stochastic", *words)
    assert result.exit_code == 2 and not Path("results/small/summary.csv").exists(), result.output
    return result.stderr


def line_of(text, name="mine.py"):
    return 1 + Path(name).read_text()[: Path(name).read_text().index(text)].count("\n")


# ----------------------------------------------------------------------------------------- found and played


def test_an_own_algorithm_learns_and_an_own_adversary_has_its_law():
    known, errors = including([Path("mine.py"), Path("game.py")])
    model = known.find("algorithms", "mine")
    assert not errors and model().name == "mine" and model().title == "Mine" and "mine" in known.names("algorithms")
    game = match(foe("stochastic", best=0.9, others=0.3), [model(), make("uniform")], 4000)
    mine, blind = play(game, range(4))[:, :, 0].mean(axis=1)
    assert mine < 0.2 * blind
    gains = next(known.find("adversaries", "game")(gap=0.3).gains(match(foe("stochastic"), [], 40_000).setting,
                 np.random.default_rng(1), [range(1, 20_001)]))  # fmt: skip
    assert np.abs(gains.mean(axis=0) - [0.8, 0.5, 0.5, 0.5]).max() < 5 * 0.5 / np.sqrt(20_000)


@pytest.mark.parametrize("engine", ["processes", pytest.param("dask", marks=pytest.mark.slow)])
def test_every_engine_plays_own_files_to_the_same_bytes(engine):
    _, _, here = outputs(Path("here"), Path("small.yaml"), *OWN)
    _, _, there = outputs(Path("there"), Path("small.yaml"), *OWN, jobs=2, engine=engine)
    assert here == there and b"mine" in here["summary.csv"]


def test_compiled_equals_plain_python_bit_for_bit():
    known, _ = including([Path("mine.py"), Path("game.py")])
    mine, game = known.find("algorithms", "mine"), known.find("adversaries", "game")
    wrapped = make("mini_batch", base=mine())
    played = match(game(), [mine(), wrapped], 600, checkpoints=[10, 600])
    with without_jit():
        plain = play(played, range(2))
    np.testing.assert_array_equal(play(played, range(2)), plain)


@pytest.mark.slow
def test_two_experiments_whose_files_share_a_name_play_side_by_side():
    """One plays arm 0 in every round, the other arm 1; reading a results folder changes neither."""
    learnt = "return int(rng.uniform / state.explore * len(state.means))"
    for folder, arm in (("a", 0), ("b", 1)):
        Path(folder).mkdir()
        text = ALGORITHM.replace("rng.uniform < state.explore", "state.explore > 0").replace(learnt, f"return {arm}")
        Path(folder, "mine.py").write_text(text)
    words = ["algorithms=mine", "adversary={name: stochastic, best: 1, others: 0}"]
    plans = [make_plan(load(Path("small.yaml"), words, include=[Path(folder, "mine.py")])) for folder in "ab"]
    outputs(Path("x"), Path("small.yaml"), *words, "include=mine.py")
    (line,) = table.read(Path("x"), bounds=True).lines
    assert line.drawn == Drawn("mine", "Mine", private=False)
    load(Path("small.yaml"))  # without files
    assert [play(plan.match(plan.curves), [0])[0, 0, -1] for plan in plans] == [0, plans[1].curves[0].horizon]
    assert plans[0].curves[0].key != plans[1].curves[0].key
    found = [plan.experiment.registry.find("algorithms", "mine") for plan in plans]
    assert found == [type(plan.curves[0].algorithm) for plan in plans] and "mine" not in Registry().names("algorithms")


LEFT_OUT = 'explore: float = left_out("probability of a random arm", ge=0, le=1)'
TUNED = "    def tuned(self, setting):\n        return self.replace(explore=self.explore or 1 / setting.n_arms)\n\n"


@pytest.mark.parametrize(("given", "played"), [("mine", 0.25), ("{name: mine, explore: null}", 0.25),
                                               ("{name: mine, explore: 0.5}", 0.5)])  # fmt: skip
def test_a_parameter_may_be_left_out(given, played):
    edited('explore: float = Field(0.05, ge=0, le=1, description="probability of a random arm")', LEFT_OUT)
    edited("from pydantic import Field", "from privbandits_cli.games.parameters import left_out")
    edited("    def state", TUNED + "    def state")
    plan = make_plan(load(Path("small.yaml"), [f"algorithms={given}"], include=[Path("mine.py")]))
    assert plan.curves[0].algorithm.described() == {"name": "mine", "explore": played}
    assert np.isfinite(play(plan.match(plan.curves[:1]), [0])).all()
    assert "explore should be less than or equal to 1, got 2" in errors("algorithms={name: mine, explore: 2}")
    edited("    def state(self, setting", "    def state(self, horizon, setting")
    assert "`state` should take (self, setting)" in errors()


def test_a_value_of_tuned_is_checked():
    edited('explore: float = Field(0.05, ge=0, le=1, description="probability of a random arm")', LEFT_OUT)
    edited("from pydantic import Field", "from privbandits_cli.games.parameters import left_out")
    edited("    def state", TUNED.replace("1 / setting", "2 * setting") + "    def state")
    assert "less than or equal to 1" in errors()


def test_a_class_of_tuned_parameters_is_refused_at_its_line():
    edited("    def state", "    def tuned(self, setting):\n        return Tuned(explore=1 / setting.n_arms)\n\n"
           "\nclass Tuned(Parameters):\n    def state")  # fmt: skip
    found = errors()
    assert f"mine.py:{line_of('class Tuned')}: there is no second class any more" in found
    assert "left_out(" in found and "self.replace(" in found and "class Tuned(Parameters):" in found


@pytest.mark.parametrize("others", some([[], ["algorithms=exp3"]], ["algorithms=exp3"]), ids=["three", "one"])
def test_own_files_change_no_other_number(others):
    small = Path("small.yaml"), "adversary=stochastic", *others
    _, _, without = outputs(Path("without"), *small)
    _, _, beside = outputs(Path("beside"), *small, "include=mine.py", "algorithms+=mine")
    rows = set(beside["summary.csv"].splitlines())
    assert all(row in rows for row in without["summary.csv"].splitlines())


def test_an_edit_plays_its_trials_anew_and_no_others():
    seen = []

    def watch(played):
        seen.extend(algorithm.name for algorithm in played.chunk.match.algorithms)
        return True

    def run():
        seen.clear()
        return outputs(
            Path("x"),
            Path("small.yaml"),
            "include=mine.py",
            "algorithms=[exp3, mine]",
            "adversary=stochastic",
            watch=watch,
        )[2]

    first = run()
    assert set(seen) == {"exp3", "mine"}
    assert run() == first and not seen
    edited("return int(rng.uniform / state.explore * len(state.means))", "return 0")
    second = run()
    assert set(seen) == {"mine"} and second != first
    assert manifest(Path("x"))["included"][0]["name"] == "mine"
    assert Path("x/included/mine.py").read_text() == Path("mine.py").read_text()


def test_a_chunk_travels_to_a_process_that_has_never_seen_the_file():
    plan = make_plan(load(Path("small.yaml"), ["algorithms=[mine]", "trials=4"], include=[Path("mine.py")]))
    chunk = next(plan.chunks(lambda curve: np.empty(0, np.int64), 1))
    Path("payload").write_bytes(pack(chunk))
    Path("mine.py").unlink()
    program = (
        "import sys; from privbandits_cli.engine.payload import unpack; from privbandits_cli.engine.play import *\n"
    )
    program += "print(play_chunk(unpack(open('payload', 'rb').read())).regrets.popitem()[1][1][:, -1].tolist())"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=120)
    here = play(unpack(pack(chunk)).match, chunk.trials)[0, :, -1]
    assert done.returncode == 0 and json.loads(done.stdout) == here.tolist(), done.stderr
    with pytest.raises(ModuleNotFoundError):  # without its source it does not travel
        program = "import pickle; pickle.load(open('bare', 'rb'))"
        Path("bare").write_bytes(pickle.dumps(chunk))
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
        raise ModuleNotFoundError if "ModuleNotFoundError" in done.stderr else AssertionError(done.stderr)


def test_a_result_is_redrawn_and_repeated_from_the_copies():
    edited(
        "    def state",
        "    def regret_bound(self, rounds, setting, memory=0):\n        return rounds / 2\n\n    def state",
    )
    words = ("--include", "mine.py", "algorithms=mine", "adversary=stochastic")
    assert call("run", "small.yaml", "-q", *words).exit_code == 0
    before = csvs(Path("results/small"))
    Path("mine.py").unlink()
    lines = {line.label: line for line in table.read(Path("results/small"), bounds=True).panels["Stochastic"]}
    assert lines["Mine"].bound.tolist() == (lines["Mine"].x / 2).tolist()
    assert call("plot", "results/small", "--bounds").exit_code == 0
    assert call("run", "results/small/config.yaml", "-q", "--results", "again").exit_code == 0
    assert csvs(Path("again/small")) == before


def test_shards_with_own_files_merge_and_those_of_other_versions_do_not():
    words = ("-q", "--include", "mine.py", "algorithms=mine", "adversary=stochastic")
    assert call("run", "small.yaml", *words, "--shard", "1/2").exit_code == 0
    assert call("run", "small.yaml", *words, "--shard", "2/2").exit_code == 0
    shards = sorted(Path("results").glob("small-shard-*"))
    Path("mine.py").unlink()
    assert call("merge", *shards, "-q", "--trust").exit_code == 0 and manifest(Path("results/small"))["complete"]
    (shards[1] / "included/mine.py").write_text(ALGORITHM + "\n# edited\n")
    result = call("merge", *shards, "-q", "--results", "other")
    assert result.exit_code == 2 and "the included files" in result.stderr


def test_commands_take_own_files():
    assert "Mine: the arm with the best mean" in call("show", "mine", "--include", "mine.py").stdout
    assert "mine " in call("list", "algorithms", "--include", "mine.py").stdout
    assert "mine " not in call("list", "algorithms").stdout
    assert call("validate", "small.yaml", "--include", "mine.py").exit_code == 0
    assert "Mine" in call("privacy", "small.yaml", "algorithms+=mine", "--include", "mine.py").stdout
    assert "--include mine.py" in call("slurm", "small.yaml", "algorithms+=mine", "--include", "mine.py").stdout
    assert "no parameter that sets" in call("tune", "mine", "--epsilon", "1", "--include", "mine.py").stderr
    audited = call("audit", "small.yaml", "algorithms=mine", "--include", "mine.py", "--budget", "1024")
    assert "NOT AUDITABLE" in audited.stdout


def test_key_plus_value_adds():
    def lines(*overrides):
        found = load(Path("small.yaml"), list(overrides))
        return [v.parameters.name for v in found.algorithms], [v.parameters.name for v in found.adversaries]

    assert lines("algorithms+=ucb1")[0] == ["exp3", "dp_exp3_lap", "exp3_tau", "ucb1"]
    assert lines("algorithms=exp3", "algorithms+=[ucb1, {name: uniform}]")[0] == ["exp3", "ucb1", "uniform"]
    assert lines("adversary+=oblivious")[1] == ["stochastic", "switching_costs", "oblivious"]
    with pytest.raises(ConfigError, match=r"override 'algorithms\+=ucb2': unknown algorithm 'ucb2', did you mean"):
        lines("algorithms+=ucb2")


# -------------------------------------------------------------------------------------------------- errors


def test_a_step_of_the_base_is_named_where_it_is_missing():
    base = "from privbandits_cli.mechanisms.phased import Growing"
    step = "def choose(state, rng):\n    return 0\n"
    Path("mine.py").write_text(
        f"{base}\n\n\nclass Parameters(Growing):\n    def state(self, setting):\n        return 0\n\n\n{step}",
        encoding="utf-8",
    )
    assert "has one, `from privbandits_cli.mechanisms.phased import update`" in errors()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("def choose(state", "def choose(state state", "SyntaxError: invalid syntax"),
        ("import numpy as np", "import numpy as np\nimport no_such_helpers", "An included file is run by itself"),
        ("class Parameters", "x = undefined\n\n\nclass Parameters", "NameError: name 'undefined' is not defined"),
        ("def update", "def updat", "the file needs a function `update` outside the class"),
        ("arm: int, ", "", "`update` should take (state, arm, gain, rng)"),
        (ARGMAX, "return 4", "choose returned arm 4 in round"),
        (ARGMAX, "return -1", "choose returned arm -1 in round"),
        (ARGMAX, "return state.means.max()", "a float64: make it an int"),
        (PLAYS, "    state.plays[arm] += 0.0\n", "update left NaN in state.means"),
        (PLAYS, PLAYS + "    found = {1: [], 'a': 2}\n", "cannot be compiled"),
        (PLAYS, PLAYS + "    {0: 0.0}['x'] = 3\n", "compiled: No implementation of function"),
        (PLAYS, PLAYS + "    print(f'{gain:.2f}')\n", "run it with --python, or remove it\n    print(f'{gain:.2f}')"),
        (PLAYS, PLAYS + "    shout(gain)\n\n\ndef shout(gain):\n    print(gain)\n", "or remove it\n    print(gain)"),
        (
            ARGMAX,
            "for arm in range(4):\n        return arm",
            "`choose` ends here without an arm: return an int\n    for",
        ),
        (ARGMAX, "return 0 if rng.uniform < 2 else arms()\n\n\ndef arms():\n    return 'no'", "compiled: "),
        (
            ARGMAX,
            "return nothing()\n\n\ndef nothing():\n    pass",
            "mine.py:27: choose returned None, a NoneType: make it an int",
        ),
        (ARGMAX, "return None", "`choose` ends here without an arm: return an int\n    return None"),
        ("rng.uniform < state", "np.random.rand() < state", "np.random.rand draws other numbers in every run"),
        ("import numpy as np", "import numpy as np\nfrom random import random as draw", None),
        ("def state(self, setting", "def state(self, horizon, setting", "`state` should take (self, setting)\n    def"),
        (PLAYS, PLAYS + "    state.nothing += 1\n", "no attribute 'nothing'"),
        ("plays=np.zeros(setting.n_arms)", "plays=[None]", "the fields ['plays'] of a record are not numbers"),
        (
            "    def state",
            "    def tuned(self, setting):\n        return self.no\n\n    def state",
            "no attribute 'no'",
        ),
        ("class Parameters(bandit.Algorithm)", "class Parameters(bandit.Setting)", "no class Parameters(bandit."),
        ("class Parameters(", "class Settings(", "no class Parameters(bandit."),
    ],
)
def test_an_error_is_shown_at_its_line_before_anything_is_played(old, new, message):
    edited(old, new)
    if message is None:
        edited("rng.uniform < state", "draw() < state")
        message = (
            "draw draws other numbers in every run: draw from the argument `rng`; privbandits_cli.numerics.bits makes "
            "Beta and other numbers of `rng.bits`\n    if draw() <"
        )
    found = errors()
    assert message in found and "mine.py" in found and "Traceback" not in found and len(found.splitlines()) <= 5


def test_an_adversary_is_not_sent_to_the_bits_of_an_algorithm():
    edited("rng.random(means.shape)", "np.random.random(means.shape)", "game.py")
    found = errors("--include", "game.py")
    assert "np.random.random draws other numbers in every run: draw from the argument `rng`\n" in found


@pytest.mark.parametrize(
    ("game", "old", "new", "message"),
    [
        ("linear", "x: Floats, ", "", "`choose` should take (state, x, rng)"),
        ("contextual", "arms: Floats, ", "", "`choose` should take (state, arms, rng)"),
        ("contextual", "x: Floats, ", "", "`update` should take (state, x, reward, rng)"),
        (
            "linear",
            "losses: Floats, rng",
            "x: Floats, loss: float, rng",
            "`update` should take (state, losses, rng)",
        ),
        (
            "linear",
            "    display",
            '    feedback = "bandit"\n    display',
            "`update` should take (state, x, loss, rng)\n",
        ),
        ("linear", "x /=", "x += rng.normal[1]\n    x /=", "rng.normal holds no random numbers: write `draws(self, "),
        ("linear", "x /=", "x += np.random.rand()\n    x /=", "np.random.rand draws other numbers"),
        ("contextual", "if rng.random()", "if np.random.rand()", "np.random.rand draws other numbers"),
        pytest.param(
            "contextual",
            "rng.random() * arms.shape[1]",
            "rng.integers(arms.shape[1])",
            "cannot be compiled: No implementation of function",
            marks=pytest.mark.slow,
        ),
        ("contextual", "rng.random() * ", "rng.choice(1) * ", "cannot be compiled: Unknown attribute 'choice'"),
    ],
)
def test_an_error_in_a_file_of_another_game_is_shown_at_its_line(game, old, new, message):
    assert call("new", "algorithm", "theirs.py", "--game", game).exit_code == 0
    edited(old, new, "theirs.py")
    words = {"linear": ["smoke_linear", "adversary=alternating"], "contextual": ["linucb_time", "horizon=9"]}[game]
    result = call("run", *words, "--include", "theirs.py", "algorithms=theirs")
    assert result.exit_code == 2 and message in result.stderr and "theirs.py:" in result.stderr, result.output


@pytest.mark.parametrize("how", [["--python"], pytest.param([], marks=pytest.mark.slow)], ids=["plain", "compiled"])
def test_random_numbers_that_draws_asks_for_are_taken(how):
    assert call("new", "algorithm", "theirs.py", "--game", "linear").exit_code == 0
    edited("x /=", "x *= np.exp(rng.normal[1] + rng.laplace[0])\n    x /=", "theirs.py")
    counts = '{"normal": np.full(len(rounds), 2), "laplace": 1}'
    draws = f"    def draws(self, setting, rounds):\n        return {counts}\n\n    def state"
    edited("    def state", draws, "theirs.py")
    words = ["adversary=alternating", "horizon=60", "--include", "theirs.py", "algorithms=theirs"]
    result = call("run", "smoke_linear", *words, *how)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (
            "",
            "rng.laplace holds no random numbers: name the kind in the class, `drawn = (..., 'laplace')`, or return "
            "its count in a method `draws`\n    state.",
        ),  # not silently a release without noise
        (
            '("uniform",)',
            "rng.laplace holds no random numbers: name the kind in the class, `drawn = (..., 'laplace')`",
        ),
        (
            '("laplace",)',
            "rng.uniform holds no random numbers: name the kind in the class, `drawn = (..., 'uniform')`",
        ),
        (
            '(); draws = lambda self, setting: {"laplace": bandit.One()}',
            "rng.uniform holds no random numbers: name the kind in the class, `drawn = (..., 'uniform')`",
        ),
    ],
)
def test_random_numbers_that_draws_does_not_ask_for_are_refused(returned, message):
    edited("state.means[arm] += ", "state.means[arm] += rng.laplace + ")
    if returned:
        edited("    display", f"    drawn = {returned}\n    display")
    assert message in errors() and "mine.py:" in errors()


def test_so_they_are_in_a_helper():
    edited("state.means[arm] += ", "state.means[arm] += noise(rng) + ")
    with Path("mine.py").open("a") as file:
        file.write("\n\ndef noise(rng):\n    return rng.laplace\n")
    assert "rng.laplace holds no random numbers" in errors()
    edited("def noise(rng):\n    return rng.laplace", "def noise(numbers):\n    return numbers.laplace")
    assert "rng.laplace holds no random numbers" in errors()


def test_laplace_noise_that_draws_asks_for_is_drawn():
    edited("state.means[arm] += ", "assert rng.laplace != 0.0\n    state.means[arm] += ")
    draws = '    def draws(self, setting):\n        return {"laplace": bandit.One()}\n\n    def state'
    edited("    def state", draws)
    result = call("run", "small.yaml", "-q", "--include", "mine.py", "algorithms=mine", "adversary=stochastic")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    "body",
    [
        "while True:\n        for _ in range(3):\n            break\n        return 0",
        "if rng.uniform < 0.5:\n        return 0\n    else:\n        raise ValueError",
        "random = state.means\n    return int(np.argmax(random))",
    ],
)
def test_steps_that_return_on_every_path_are_accepted(body):
    edited(ARGMAX, body)
    known, found = including([Path("mine.py")])
    assert not found and "mine" in known.names("algorithms")


def test_on_a_terminal_errors_keep_to_its_width(monkeypatch):
    edited("import numpy as np", "import numpy as np\nimport no_such_helpers as " + "long_" * 12)
    assert max(map(len, errors().splitlines())) > 60
    monkeypatch.setenv("COLUMNS", "60")
    found = errors().splitlines()
    assert max(map(len, found)) <= 60 and any(line.startswith("    import no_such_h") for line in found), found


def test_a_long_list_of_failed_trials_is_cut(capsys):
    plan = make_plan(load(Path("small.yaml"), ["algorithms=exp3", "adversary=stochastic"]))
    failed = [Failure(plan.curves[0].key, trial, f"x.py:3: arm 4 in round {trial}", "") for trial in range(0, 400, 2)]

    def listed(failures):
        run.show(plan, None, Outcome(failures, []), Stop(), quiet=True, as_json=False)
        return [line for line in capsys.readouterr().err.splitlines() if line.startswith("  failed: ")]

    (found,) = listed(failed)
    assert found.endswith("stochastic, trials 0, 2, 4, 6, 8, 10, 12, 14, 16, ..., 200 trials: x.py:3: arm 4 in round 0")
    other = Failure(plan.curves[0].key, 1, "x.py:4: arm 4 in round 7", "")
    assert len(listed([*failed, other])) == 2  # of another line


HELPER = "\n\ndef scaled(gain, factor=0.5, *, shift=1.0, times=2):\n    return times * (factor * gain + shift)\n"


def test_a_helper_keeps_its_defaults_compiled_or_not():
    """Keyword-only arguments, too, which numba does not know."""
    with Path("mine.py").open("a") as file:
        file.write(HELPER)
    edited("(gain - state", "(scaled(gain) + scaled(gain, 0.25, times=3, shift=2.0) + gain - state")
    right = 2 * (0.5 + 1.0) + 3 * (0.25 + 2.0) + 1.0  # of a gain of 1
    edited(
        PLAYS,
        PLAYS + f"    assert gain < 1 or scaled(gain) + scaled(gain, 0.25, times=3, shift=2.0) + gain == {right}\n",
    )
    words = ("--include", "mine.py", "algorithms=mine", "adversary=stochastic", "horizon=60", "-q")
    assert call("run", "small.yaml", *words).exit_code == 0
    assert call("run", "small.yaml", *words, "--python", "--results", "plain").exit_code == 0
    assert csvs(Path("results/small")) == csvs(Path("plain/small"))


@pytest.mark.parametrize(
    "arguments", some(["gain, *others, shift=1.0", "gain, scale=2.0, *, shift"], "gain, scale=2.0, *, shift")
)
def test_a_helper_that_cannot_keep_its_defaults_is_refused_at_its_line(arguments):
    with Path("mine.py").open("a") as file:
        file.write(f"\n\ndef moved({arguments}):\n    return gain + shift\n")
    edited("(gain - state", "(moved(gain, shift=0.0) - state")
    found = errors()
    assert f"mine.py:{line_of('def moved')}: compiled, `moved` cannot take shift by keyword only: drop the `*`" in found
    edited(arguments, arguments.replace("*others, ", "").replace("*, shift", "shift=0.0"))
    words = ("--include", "mine.py", "algorithms=mine", "adversary=stochastic", "-q")
    assert call("run", "small.yaml", *words).exit_code == 0


def test_the_line_of_an_error_is_the_users():
    edited(PLAYS, PLAYS + "    raise ValueError('here')\n")
    assert f"mine.py:{line_of('raise ValueError')}: ValueError: here\n    raise ValueError('here')\n" in errors()


@pytest.mark.parametrize(
    ("harm", "message", "at"),
    [
        ("raise ValueError('late')", "ValueError: late", "raise ValueError"),
        pytest.param(
            "state.means[0] = 1.0 / (gain - gain)",
            "ZeroDivisionError: division by zero",
            "state.means[0] =",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "state.means[0] = np.inf - np.inf * gain",
            "state.means is not a number (NaN)",
            "state.means[0] =",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "state.means[:] = 0.0\n        state.explore = 9e9",
            "choose returned arm",
            "def choose",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_late_error_is_shown_at_its_line_too(harm, message, at):
    """It comes when one arm has been played 400 times: after the rehearsal, in compiled code, in some trials."""
    edited(PLAYS, PLAYS + f"    if state.plays.max() > 400:\n        {harm}\n")
    if "explore" in harm:
        edited(
            "return int(rng.uniform / state.explore",
            "return 9 if state.explore > 1 else int(rng.uniform / state.explore",
        )
    words = ("algorithms=[exp3, mine]", "--include", "mine.py", "adversary=stochastic")
    result = call("run", "small.yaml", "-q", *words)
    assert result.exit_code == 1 and f"mine.py:{line_of(at)}: {message}" in result.stderr, result.stderr
    assert result.stderr.count("failed: Mine") == 2 and f"\n    {at}" in result.stderr  # at once, and at the end
    assert b"exp3" in csvs(Path("results/small"))["final.csv"]  # the others are played


@pytest.mark.slow
def test_equal_files_at_two_paths_are_each_named_at_their_own():
    """In the manifest and in messages; their curves are the same."""
    edited(PLAYS, PLAYS + "    if state.plays.sum() > 400:\n        raise ValueError('late')\n")
    words, plans = ("algorithms=mine", "adversary=stochastic", "horizon=500"), []
    for folder in "ab":
        Path(folder).mkdir()
        Path(folder, "mine.py").write_text(Path("mine.py").read_text())
        plans.append(make_plan(load(Path("small.yaml"), words, include=[Path(folder, "mine.py")])))
    place = f"mine.py:{line_of('raise ValueError')}: ValueError: late"
    for folder, plan in zip("ab", plans, strict=True):
        assert [source.path for source in plan.own_files] == [f"{folder}/mine.py"]
        (chunk, *_) = plan.chunks(lambda curve: np.empty(0, np.int64), 1)
        assert {failure.error for failure in play_chunk(unpack(pack(chunk))).failures} == {f"{folder}/{place}"}
    assert plans[0].curves[0].key == plans[1].curves[0].key


@pytest.mark.slow
def test_an_error_of_a_file_that_was_edited_since_has_the_line_that_was_read():
    edited(PLAYS, PLAYS + "    if state.plays.sum() > 400:\n        raise ValueError('late')\n")
    line, words = line_of("raise ValueError"), ("algorithms=mine", "adversary=stochastic", "horizon=500")
    before = make_plan(load(Path("small.yaml"), words, include=[Path("mine.py")]))
    Path("mine.py").write_text("# edited\n" + Path("mine.py").read_text().replace("'late'", "'later'"))
    after = make_plan(load(Path("small.yaml"), words, include=[Path("mine.py")]))
    for plan, at, text in ((before, line, "late"), (after, line + 1, "later"), (before, line, "late")):
        (chunk, *_) = plan.chunks(lambda curve: np.empty(0, np.int64), 1)
        shown = f"mine.py:{at}: ValueError: {text}\n    raise ValueError('{text}')\n"
        assert {failure.trace[: len(shown)] for failure in play_chunk(chunk).failures} == {shown}
        with without_jit(), pytest.raises(ValueError, match=text) as caught:
            play_chunk(chunk)
        assert f"    raise ValueError('{text}')\n" in "".join(messages.inner_trace(caught.value))


def test_built_in_games_are_not_guarded_and_own_ones_are(monkeypatch):
    from privbandits_cli.games import bandit, driver

    monkeypatch.setattr(driver, "loop", lambda play_round, deal, names: names["GUARDED"])
    known, _ = including([Path("mine.py")])
    mine = known.find("algorithms", "mine")
    for module, guarded in (("privbandits_cli.algorithms.exp3", False), (mine.__module__, True)):
        assert bandit.loop.__wrapped__((module,), "layout", False) is guarded


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("+= self.gap", "+= 2 + self.gap", "the gain of round 1, arm 0 is"),
        (".astype(float)", ".astype(float) * np.nan", "the gain of round 1, arm 0 is nan"),
        (".astype(float)", ".astype(float)[:, :3]", "a block of shape"),
        ("for rounds in blocks:", "for rounds in list(blocks)[:0]:", "gains yielded no block for the rounds from 1 on"),
        ("yield (rng", "yield self.nothing, (rng", "no attribute 'nothing'"),
        ("setting: Setting, rng: Generator, ", "setting, ", "`gains` should take (self, setting, rng, blocks)"),
        ("            yield (", "            _ = (", "`gains` has no `yield`: yield a table for each of `blocks`"),
        ("(rng.random(", "(np.random.random(", "np.random.random draws other numbers"),
        ("(rng.random(", "(np.random.default_rng().random(", "np.random.default_rng draws other numbers"),
        ("    def gains", "    def gain", "the class needs a method `gains`"),
    ],
)
def test_an_error_of_an_adversary_is_shown_at_its_line(old, new, message):
    if "+= 2" in new:
        edited("(rng.random(means.shape) < means).astype(float)", "means", "game.py")
    edited(old, new, "game.py")
    result = call("run", "small.yaml", "-q", "--include", "game.py", "adversary=game")
    assert result.exit_code == 2 and message in result.stderr and "game.py:" in result.stderr, result.output
    assert "Traceback" not in result.stderr


def test_python_runs_it_uncompiled_with_its_own_traceback():
    short = "--include", "mine.py", "algorithms=mine", "horizon=9", "checkpoints=2", "--python", "--results", "short"
    assert "Regret after 9 rounds" in call("run", "small.yaml", *short).stdout
    edited(
        PLAYS, PLAYS + "    print('seen', {'arm': arm})\n    if state.plays.sum() == 3:\n        raise KeyError('x')\n"
    )
    words = ("--include", "mine.py", "algorithms=mine", "adversary=stochastic", "--python")
    result = call("run", "small.yaml", *words)
    assert result.exit_code == 2 and result.stdout.count("seen {'arm':") >= 3
    assert "Traceback" in result.stderr and 'File "mine.py", line' in result.stderr and "KeyError: 'x'" in result.stderr
    assert call("run", "small.yaml", *words, "--engine", "processes").exit_code == 2


@pytest.mark.slow
def test_python_gives_the_same_numbers():
    words = ("--include", "mine.py", "algorithms=[mine, exp3]", "adversary=switching_costs", "horizon=60", "-q")
    assert call("run", "small.yaml", *words).exit_code == 0
    assert call("run", "small.yaml", *words, "--python", "--results", "plain").exit_code == 0
    assert csvs(Path("results/small")) == csvs(Path("plain/small"))


@pytest.mark.parametrize("name", ["exp3.py", "my-bandit.py", "mine.txt", "nowhere.py"])
def test_a_file_that_cannot_be_included(name, desk):
    if name != "nowhere.py":
        Path(name).write_text(ALGORITHM)
    with pytest.raises(ConfigError, match=r"already 'exp3'|must be a Python name|cannot be read"):
        load(Path("small.yaml"), include=[Path(name)])


def test_a_pipe_is_not_waited_for():
    os.mkfifo("pipe.py")
    with pytest.raises(ConfigError, match=r"pipe\.py: cannot be read: it is a folder, a pipe or a device, not a file"):
        load(Path("small.yaml"), include=[Path("pipe.py")])


def test_two_files_of_one_name_are_refused_and_one_given_twice_is_not():
    Path("sub").mkdir()
    Path("sub/mine.py").write_text(ALGORITHM)
    with pytest.raises(ConfigError, match="another included file has the same name"):
        load(Path("small.yaml"), include=[Path("mine.py"), Path("sub/mine.py")])
    twice = [Path("mine.py"), Path("sub/../mine.py")]
    assert load(Path("small.yaml"), ["algorithms=mine"], include=twice).algorithms[0].parameters.name == "mine"
    assert load(Path("small.yaml"), ["include=mine.py"], include=[Path("mine.py")]).keys.include == ["mine.py"]


def test_a_missing_file_is_reported_with_where_paths_start(desk):
    for path, message in (
        ("mine2.py", "directory; paths are relative to the working directory"),
        (desk / "x.py", "directory"),
    ):
        assert call("list", "algorithms", "--include", path).stderr.rstrip().endswith(f"No such file or {message}")


def test_a_private_algorithm_without_bounds_is_not_tuned():
    """One that proves nothing; with `bounds` it is."""
    private = 'private = True\n\n    epsilon: float = Field(1.0, gt=0, description="ε")\n    explore: float'
    edited("explore: float", private)
    refused = call("tune", "mine", "--epsilon", "1", "--include", "mine.py")
    assert refused.exit_code == 2 and refused.stderr == "nothing is proved about the privacy of mine: define `bounds`\n"
    bounds = (
        "    def bounds(self, setting, delta, sensitivity=1.0):\n"
        "        return [Guarantee(self.epsilon, 0.0, 'here', 'proved')]\n\n    def state"
    )
    edited("    def state", bounds)
    edited("import numpy as np", "import numpy as np\nfrom privbandits_cli.accounting.guarantee import Guarantee")
    tuned = call("tune", "mine", "--epsilon", "1", "--include", "mine.py")
    assert tuned.exit_code == 0 and "epsilon: 1" in tuned.stdout, tuned.output


STATED = "Guarantee(1.0, 0.0, 'here', 'proved')"


def stating(method, returned):
    """`mine.py` with this method, which states its privacy, and the imports that it needs."""
    edited("import numpy as np", "import numpy as np\nfrom privbandits_cli.accounting.guarantee import Guarantee")
    words = {"bounds": "setting, delta, sensitivity=1.0", "facts": "setting"}
    edited("    def state", f"    def {method}(self, {words[method]}):\n        return {returned}\n\n    def state")


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("view", [True, False])
def test_one_bound_gives_one_answer_everywhere(view):
    stating("bounds", f"[{STATED}]")
    edited("    display", "    private = True\n    display")
    if view:
        edited("    def state", "    def view(self, setting):\n        return views.Noisy('means')\n\n    def state")
        edited("import bandit", "import bandit, views")
    words = ["small.yaml", "--include", "mine.py", "algorithms=mine"]
    assert "Privacy: ε = 1, proved" in call("show", "mine", "--include", "mine.py").stdout
    (block,) = json.loads(call("privacy", *words, "--json").stdout)
    assert (block["upper"], [bound["source"] for bound in block["bounds"]]) == (1.0, ["here"])
    (row,) = json.loads(call("audit", *words, "--budget", "1024", "--json").stdout)
    assert "ε = 1" in row["claim"]
    unseen = "no view is declared (here); return one by a method `view(self, setting)`: one of "
    assert view or (row["verdict"] == "NOT AUDITABLE" and row["found"].startswith(unseen))
    (curve,) = make_plan(load(Path("small.yaml"), ["algorithms=mine"], include=[Path("mine.py")])).curves[:1]
    assert curve.label == "Mine (ε = 1)"
    wrapped = ["algorithms={name: mini_batch, base: mine, tau: 4}"]
    assert "(ε = 1)" in make_plan(load(Path("small.yaml"), wrapped, include=[Path("mine.py")])).curves[0].label


@pytest.mark.parametrize(
    ("method", "returned", "message"),
    [
        ("bounds", STATED, "bounds returned Guarantee(eps"),
        ("bounds", "[1.0]", "bounds returned [1.0]: return a list, [Guarantee(epsilon, delta, source, status), ...]"),
        ("facts", "[2.0]", "facts returned [2.0]: return numbers by name, {'sigma': 2.0}"),
        ("bounds", "[Guarantee(1.0, 0.0, 'here', 'proven')]", "status must be one of paper, proved, exact, numeric, "),
    ],
)
def test_a_wrong_statement_of_privacy_is_refused_at_its_line(method, returned, message):
    stating(method, returned)
    words = ["small.yaml", "--include", "mine.py", "algorithms=mine"]
    for result in (call("run", *words), call("privacy", *words), call("show", "mine", "--include", "mine.py")):
        line = line_of(f"def {method}") + ("proven" in returned)
        assert result.exit_code == 2 and f"mine.py:{line}: " in result.stderr, result.output
        assert message in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("bounds(self, setting, delta)", "`bounds` should take (self, setting, delta, sensitivity=1.0)"),
        ("bounds(self, setting, delta, sensitivity)", "`bounds` should take (self, setting, delta, sensitivity=1.0)"),
        ("regret_bound(self, rounds, setting)", "`regret_bound` should take (self, rounds, setting, memory=0)"),
        (
            "draws(self, setting, rounds)",
            "`draws` should take (self, setting)",
        ),
    ],
)
def test_a_method_that_takes_too_little_or_is_of_another_game_is_refused(method, message):
    edited("    def state", f"    def {method}:\n        return None\n\n    def state")
    assert f"mine.py:{line_of('def ' + method)}: {message}" in errors()


@pytest.mark.parametrize(
    ("method", "today"),
    [
        ("guarantee(self, setting)", "let `bounds(self, setting, delta, sensitivity=1.0)` return a list"),
        ("periods(self)", "name the kinds in the class, `drawn = (...)`"),
        ("unbounded(self, setting)", "let `remarks(self, setting)` return a list"),
    ],
)
def test_a_method_of_an_older_contract_is_refused_with_what_to_write(method, today):
    edited("    def state", f"    def {method}:\n        return None\n\n    def state")
    name = method.partition("(")[0]
    message = f"mine.py:{line_of('def ' + name)}: a class does not define `{name}` any more: {today}"
    assert message in errors()


def test_a_copy_of_a_file_of_the_package_follows_the_contract():
    """Also one that has both `bounds` and `guarantee`."""
    files = [file for room in ("algorithms", "adversaries") for file in (ROOT / "privbandits_cli" / room).glob("*.py")]
    assert len(files) > 90
    assert not [(file.name, *line) for file in files for line in lint.retired(file.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("drawn", ['("uniform", "uniform")', '{"uniform": 4}', '"uniform"', '("gaussian",)'])
def test_what_is_drawn_is_a_tuple_of_kinds(drawn):
    edited("    display", f"    drawn = {drawn}\n    display")
    assert f"mine.py:{line_of('class Parameters')}: drawn is " in errors() and "asks for several numbers" in errors()


def test_random_numbers_of_another_game_are_refused():
    assert call("new", "algorithm", "theirs.py", "--game", "contextual").exit_code == 0
    edited(
        "    def state", "    def draws(self, setting):\n        return {'uniform': 1}\n\n    def state", "theirs.py"
    )
    result = call("run", "linucb_time", "--include", "theirs.py", "algorithms=theirs")
    assert result.exit_code == 2 and "the game contextual has no method `draws`: `rng` is a NumPy" in result.stderr


def test_validate_keeps_errors_of_own_files_to_the_terminals_width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    edited(ARGMAX, "return 4")
    Path("own.yaml").write_text(SMALL.replace("algorithms:", "include: mine.py\nalgorithms:\n  - mine"))
    _, *found = call("validate", "own.yaml").stderr.splitlines()  # the first line names the file that is executed
    assert "mine.py:27: choose returned arm 4" in found[0] and max(map(len, found)) <= 60, found


def test_a_plugin_error_is_pickled():
    assert str(pickle.loads(pickle.dumps(PluginError("text", play)))) == "text"


def test_a_record_of_no_numbers_is_refused_and_a_recursive_step_too():
    edited(PLAYS, PLAYS + "    again(3)\n")
    Path("mine.py").write_text(
        Path("mine.py").read_text() + "\n\ndef again(n):\n    return 0 if n == 0 else again(n - 1)\n"
    )
    assert "`again` calls itself, which a compiled step cannot do\n    def again(n):" in errors()


# ------------------------------------------------------------------------------------ packages, new, shipped


@pytest.fixture
def package(desk, monkeypatch):
    """An installed package with an algorithm, an adversary and a helper of theirs."""
    site = desk / "site"
    (site / "my_package").mkdir(parents=True)
    (site / "my_package" / "__init__.py").write_text("")
    (site / "my_package" / "help.py").write_text("EXPLORE = 0.05\n")
    text = ALGORITHM.replace(
        "import numpy as np", "import numpy as np\nfrom my_package.help import EXPLORE\nfrom . import help"
    )
    (site / "my_package" / "mine.py").write_text(text.replace("Field(0.05,", "Field(EXPLORE,"))
    (site / "my_package" / "game.py").write_text(ADVERSARY)
    info = site / "my_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    entries = (
        "[privbandits.algorithms]\n{} = my_package.mine\n[privbandits.adversaries]\ntheir_game = my_package.game\n"
    )
    (info / "entry_points.txt").write_text(entries.format("their_bandit"))
    monkeypatch.syspath_prepend(site)
    caches = (registry.installed, registry.packaged)
    for cache in caches:
        cache.cache_clear()
    yield site, entries
    for cache in caches:
        cache.cache_clear()
    for name in [name for name in sys.modules if name.startswith("my_package")]:
        del sys.modules[name]


def test_an_installed_package_brings_algorithms_and_adversaries(package):
    names = "algorithms=their_bandit", "adversary=their_game"
    _, _, here = outputs(Path("here"), Path("small.yaml"), *names)
    assert b"their_bandit" in here["summary.csv"] and b"their_game" in here["summary.csv"]
    first = Registry().find("algorithms", "their_bandit").__module__
    (package[0] / "my_package" / "help.py").write_text("EXPLORE = 0.06\n")
    registry.packaged.cache_clear()
    assert Registry().find("algorithms", "their_bandit").__module__ != first  # an edit of a helper is seen


def test_a_package_may_not_take_a_name_and_its_errors_are_reported(package):
    (site, entries) = package
    (site / "my_package-1.0.dist-info" / "entry_points.txt").write_text(entries.format("exp3"))
    registry.installed.cache_clear()
    result = call("list", "algorithms")
    assert result.exit_code == 2 and "package my-package: the name 'exp3' is already taken" in result.stderr
    (site / "my_package-1.0.dist-info" / "entry_points.txt").write_text(entries.format("other").replace(".mine", ".no"))
    registry.installed.cache_clear()
    assert "no module my_package.no" in call("show", "other").stderr


SMALLER = {  # of what `new` prints: as much as is played in a second
    "bandit": ["horizon=200", "trials=24"],
    "linear": ["horizon=60"],
    "contextual": ["horizon=40", "planned_horizon=40", "checkpoints=2"],
}
FOES = {"bandit": "stochastic", "linear": "{name: gap, gap: 0.4}", "contextual": "sphere_arms"}


CREATED = [(kind, game) for game in SMALLER for kind in ("algorithm", "adversary")]


@pytest.mark.parametrize(
    ("kind", "game", "how"),
    [
        *first(1, [(*created, []) for created in CREATED]),
        *first(2, [(*created, ["--python"]) for created in CREATED[3:] + CREATED[2:3]]),
    ],
)
def test_new_writes_a_short_file_that_runs_at_once(kind, game, how, desk):
    result = call("new", kind, "fresh_one.py", "--game", game)
    text = Path("fresh_one.py").read_text()
    assert result.exit_code == 0 and text.count("\n") < 50 and max(map(len, text.splitlines())) <= 120
    words = [*shlex.split(result.stdout.splitlines()[-1])[1:], *SMALLER[game], *how]
    played = call(*words, *([f"adversary={FOES[game]}"] if kind == "algorithm" else []))
    assert played.exit_code == 0 and (how or "Fresh one" in played.stdout), played.output
    (table,) = Path("results").glob("*/summary.csv")
    assert "fresh_one" in table.read_text()  # `--python` prints no table
    assert f"\nGame: {game}\n" in call("show", "fresh_one", "--include", "fresh_one.py").stdout
    before = text + "# mine\n"
    Path("fresh_one.py").write_text(before)
    assert call("new", kind, "fresh_one.py").exit_code == 2 and Path("fresh_one.py").read_text() == before
    assert call("new", kind, "exp3.py").exit_code == 2 and not Path("exp3.py").exists()
    assert call("new", kind, "no-name.py").exit_code == 2 and call("new", kind, "none/x.py").exit_code == 2


def test_new_writes_a_private_algorithm_that_every_command_accepts(either):
    """Its ε is the same in the legend, in `show`, `privacy`, `tune` and the audit, and the game is played in secret."""
    written = call("new", "algorithm", "fresh_one.py", "--private")
    assert written.exit_code == 0
    plays, states, tunes, audits = (shlex.split(line)[1:] for line in written.stdout.splitlines()[-4:])
    alone = ["algorithms=fresh_one"] if either else []
    played = call(*plays, *SMALLER["bandit"], "adversary=stochastic", *alone)
    assert played.exit_code == 0 and "Fresh one" in played.stdout and "(ε = 1)" in played.stdout, played.output
    (block,) = json.loads(call(*states, "--json").stdout)
    assert block["upper"] == 1.0 and "tree" in block["bounds"][0]["source"]
    assert "epsilon: 0.5" in call(*tunes).stdout
    shown = call("show", "fresh_one", "--include", "fresh_one.py").stdout
    assert "Privacy: ε = 1, proved" in shown and "oblivious adversaries: no theorem" in shown
    rounds = "horizon=12" if either else "horizon=512"
    (row,) = json.loads(call(*audits, rounds, "--budget", "1024", "--json").stdout)
    assert row["verdict"] == "CONSISTENT" and row["claim"].startswith("ε = 1 of all noisy numbers"), row


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("state.scale * rng.laplace", "0.5 * state.scale * rng.laplace", "needs more noise"),
        pytest.param("(state.sums[arm] + noise)", "state.sums[arm]", "no noise hides it", marks=pytest.mark.slow),
        pytest.param(
            "np.argmax(state.means)",
            "np.argmax(state.sums)",
            "gains act through sums of the state",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_audit_refutes_the_private_template_without_its_noise(old, new, found, either):
    assert call("new", "algorithm", "fresh_one.py", "--private").exit_code == 0
    edited(old, new, "fresh_one.py")
    rounds = 48 if "state.sums" in new else 12  # in which its arms change
    size = [f"horizon={rounds}", "--budget", "1024"] if either else ["horizon=512"]
    result = call("audit", "fig1", *size, "--include", "fresh_one.py", "algorithms=fresh_one", "--json")
    (row,) = json.loads(result.stdout)
    assert row["verdict"] == "VIOLATION" and found in row["found"], row


@pytest.mark.parametrize("words", [["adversary", "fresh.py"], ["algorithm", "fresh.py", "--game", "linear"]])
def test_only_a_bandit_algorithm_is_written_private(words):
    result = call("new", *words, "--private")
    assert result.exit_code == 2 and "--private writes an algorithm of the game bandit" in result.stderr
    assert not Path("fresh.py").exists()


@pytest.mark.parametrize(
    ("game", "keys", "clear", "blind"),
    first(
        1,
        [
            ("linear", ["set=simplex", "dimension=9"], "gap: 0.5", "eta: 1e-9"),
            ("contextual", ["dimension=3", "arms=4"], "size: 1", "explore: 1"),
        ],
    ),
)
def test_what_new_writes_plays_the_same_compiled_or_not_and_learns(game, keys, clear, blind):
    """Bit for bit, wherever a block ends; and loses less than itself where it learns nothing."""
    for kind in ("algorithm", "adversary"):
        assert call("new", kind, f"{kind}_{game}.py", "--game", game).exit_code == 0
    Path("bare.yaml").write_text("experiment: bare\nseed: 1\nhorizon: 400\ntrials: 24\ncheckpoints: 3\n")
    who = [f"adversary={{name: adversary_{game}, {clear}}}"]
    who += [f"algorithms=[algorithm_{game}, {{name: algorithm_{game}, {blind}}}]"]
    files = [Path(f"algorithm_{game}.py"), Path(f"adversary_{game}.py")]
    plan = make_plan(load(Path("bare.yaml"), [f"game={game}", *keys, *who], include=files))
    played = plan.match(plan.curves)
    regrets = loader.GAMES[game].play(played, range(2))
    for compiled, block in ((True, 7), (False, 64)):
        with without_jit(not compiled):
            np.testing.assert_array_equal(loader.GAMES[game].play(played, range(2), block=block), regrets)
    mine, unlearnt = regrets[:, :, -1].mean(axis=1)
    assert mine < 0.6 * unlearnt


def test_a_shipped_config_is_found_by_its_name_and_a_local_file_wins():
    assert load(Path("fig1")).keys.trials == 720 and load(Path("fig1.yaml")).keys.experiment == "fig1"
    Path("fig1.yaml").write_text(SMALL)
    Path("fig1").mkdir()  # a folder of that name is no config
    assert load(Path("fig1")).keys.experiment == "small"
    assert "fig1 " in call("list", "experiments").stdout
    with pytest.raises(ConfigError, match=r"no_such: cannot be read: No such.* \(known: fig1, small, .*smoke_linear, "):
        load(Path("no_such"))


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("configs/fig1.yaml", "; it is shipped with the package as fig1, as in `privbandits run fig1`"),
        ("fgi1", ", did you mean 'fig1'?"),
        ("configs/fgi1.yaml", ", did you mean 'fig1'?"),
        ("smal.yaml", ", did you mean 'small'?"),
        ("mine/smal.yaml", ", did you mean 'mine/small.yaml'? (known: mine/small.yaml)"),
        ("switching_costs", "; switching_costs is not a config: try `privbandits show switching_costs`"),
        ("ran", "; the config of this results folder is ran/config.yaml"),
    ],
)
def test_a_config_that_is_not_there_is_not_far(written, hint):
    for name in ("mine", "ran"):
        Path(name).mkdir()
    Path("mine", "small.yaml").write_text(SMALL)
    Path("ran", "config.yaml").write_text(SMALL)
    with pytest.raises(ConfigError) as error:
        load(Path(written))
    reason = "Is a directory" if written == "ran" else "No such file or directory"
    assert str(error.value) == f"{written}: cannot be read: {reason}{hint}"


def test_the_library_takes_a_name_or_a_path_where_it_takes_an_experiment():
    assert [row["algorithm"] for row in api.guarantee("small.yaml")] == ["exp3", "dp_exp3_lap", "exp3_tau"]
    with pytest.raises(ConfigError, match="no_such: cannot be read"):
        api.run("no_such")


def test_the_files_that_a_wrapper_needs():
    known, _ = including([Path("mine.py")])
    wrapped = make("mini_batch", base=known.find("algorithms", "mine")())
    (source,) = loader.sources_of([wrapped])
    assert source.path == "mine.py"
    assert loader.sources_of([make("exp3")]) == []


def test_a_dry_run_reports_the_errors_of_own_files():
    edited(ARGMAX, "return 4")
    result = call("run", "small.yaml", "--include", "mine.py", "algorithms=mine", "--dry-run")
    assert result.exit_code == 2 and "mine.py:" in result.stderr and "choose returned arm 4 in round" in result.stderr
