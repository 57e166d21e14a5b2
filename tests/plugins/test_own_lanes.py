"""The steps for lanes of a user's file: played, compared with `choose` and `update`, errors shown at their lines."""

from pathlib import Path

import numpy as np
import pytest

from privbandits_cli.engine import rehearsal
from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.experiment.plan import make_plan
from privbandits_cli.games import bandit
from privbandits_cli.games.players import Setting
from privbandits_cli.games.steps import composition, for_lanes
from privbandits_cli.plugins import loader
from tests.conftest import SMALL, foe, match, some

# An arm for four rounds, which depends on all gains before
FILE = """
import numpy as np
from privbandits_cli.games import bandit
from privbandits_cli.numerics.jit import record


class Parameters(bandit.Algorithm):
    def state(self, setting):
        return record(t=0, arm=0, total=0.0, n_arms=setting.n_arms)


def choose(state, rng):
    state.arm = int(3.0 * state.total) % state.n_arms if state.t % 4 == 0 else state.arm
    return state.arm


def update(state, arm, gain, rng):
    state.total += gain
    state.t += 1
"""
USUAL = """

def usual(state, arm, gain, rng):
    state.total += gain
    state.t += 1
    return True
"""
JUMP = """

def jump(state, arm, gain, rng):
    state.total += gain


def usual(state, arm, gain, rng):
    state.t += 1
    return True
"""
IDLE = """

def idle(state):
    return (4 - state.t % 4) % 4


def stay(state):
    return state.arm


def note(state, gain, rng):
    state.total += gain
    state.t += 1
"""
STEPS = {"usual": USUAL, "jump": JUMP, "idle": IDLE, "usual and idle": USUAL + IDLE, "jump and idle": JUMP + IDLE}


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch, no_figure):
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(SMALL)


def own(steps):
    Path("mine.py").write_text(FILE + steps)
    return loader.module(loader.read(Path("mine.py"))).Parameters()


def errors(steps):
    Path("mine.py").write_text(FILE + steps)
    try:
        words = ["include=[mine.py]", "algorithms=mine", "adversary=stochastic"]
        return "\n".join(rehearsal.errors(make_plan(load(Path("small.yaml"), words))))
    except ConfigError as error:
        return str(error)


@pytest.mark.parametrize("name", some(STEPS, "usual", "jump and idle"))
def test_steps_for_lanes_are_played_and_equal_choose_and_update(name):
    steps = STEPS[name]
    mine, game = own(steps), foe("stochastic", best=0.9, others=0.2)
    assert bandit.has_lanes(composition(mine), mine.state(Setting(100, 4)).dtype, 4)
    played = match(game, [mine], 300, checkpoints=range(1, 301))
    alone = bandit.play(played, range(9), lanes=1)
    np.testing.assert_array_equal(bandit.play(played, range(9)), alone)
    assert len(np.unique(alone[0, :, -1])) > 4 and errors(steps) == ""


@pytest.mark.parametrize("name", some(["usual", "jump", "usual and idle", "jump and idle"], "usual and idle"))
def test_steps_that_do_other_things_are_refused_before_a_run(name):
    steps = STEPS[name]
    wrong = steps.replace("total += gain", "total += 0.5 * gain", 1)
    assert wrong != steps
    found = errors(wrong)
    assert "the regrets are not those of `choose` and `update`: make them equal" in found and "mine.py:" in found
    assert all(f"`{name}`" in found for name in for_lanes(loader.read(Path("mine.py")).module))


@pytest.mark.parametrize(
    ("steps", "old", "new", "message"),
    [
        (USUAL, "    return True\n", "", "`usual` ends here without an answer: return True or False"),
        (USUAL, "return True", "return None", "`usual` ends here without an answer: return True or False"),
        (IDLE, "return state.arm", "pass", "`stay` ends here without an arm: return an int"),
        (IDLE, "return (4 - state.t % 4) % 4", "state.t", "`idle` ends here without a number of rounds: return an int"),
        (IDLE, "return state.arm", "return 7", "choose or stay returned arm 7 in round 2; the arms are 0 to 3"),
        (USUAL, "    return True", "    print(gain)\n    return True", "or remove it\n    print(gain)"),
    ],
)
def test_an_error_in_a_step_for_lanes_is_shown_at_its_line(steps, old, new, message):
    assert steps.count(old) == 1
    found = errors(steps.replace(old, new))
    assert message in found and "mine.py:" in found
