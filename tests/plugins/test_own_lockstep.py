"""A user's file plays in lockstep by itself; what has no form for many trials, and what raises errors, plays alone."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from privbandits_cli.cli import app
from privbandits_cli.convex.spaces import Simplex
from privbandits_cli.games import bandit, contextual, linear
from privbandits_cli.games.match import Match
from privbandits_cli.games.players import Contexts, Setting
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


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch, no_figure):
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(SMALL)


def own(text=FILE):
    Path("mine.py").write_text(text)
    return loader.module(loader.read(Path("mine.py"))).Parameters()


def how(mine):
    """How it plays."""
    return bandit.Games.loop(match(foe("stochastic"), [mine], 100), mine)


def changed(old, new, text=FILE):
    """The file with another line."""
    assert text.count(old) == 1
    return text.replace(old, new)


def test_a_users_file_plays_in_lockstep_by_itself():
    mine, game = own(), foe("stochastic", best=0.9, others=0.2)
    assert how(mine).play
    played = match(game, [mine], 300, checkpoints=range(1, 301))
    alone = bandit.play(played, range(9), width=1)
    np.testing.assert_array_equal(bandit.play(played, range(9)), alone)
    assert len(np.unique(alone[0, :, -1])) > 4


UPDATE = "    state.total += gain\n"
SUM = """    for i, x in enumerate([gain]):
        state.total += x
"""
FORMLESS = [
    (UPDATE, SUM, "line 18 of update: a loop over something else than a range"),
    (UPDATE, "    state.total += sum([gain])\n", "line 18 of update: `[gain]` (List)"),
    (UPDATE, "    state.total += gain\n    print(gain)\n", "line 19 of update: a call of print"),
]


@pytest.mark.parametrize(("old", "new", "reason"), FORMLESS)
def test_what_has_no_form_plays_alone_and_says_which_line(old, new, reason):
    mine = own(changed(old, new))
    assert not how(mine).play and bandit.Games.form(mine, Setting(100, 4)).reason == reason


ERRORS = [
    ("    return state.arm\n", "    return state.arm + 4 * (state.t == 250)\n", "returned arm"),
    pytest.param(UPDATE, "    state.total += gain / (state.t - 250)\n", "division by zero", marks=pytest.mark.slow),
    pytest.param(
        UPDATE,
        "    if state.t == 250:\n        raise ValueError('too long')\n    state.total += gain\n",
        "too long",
        marks=pytest.mark.slow,
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), ERRORS)
def test_an_error_in_one_trial_is_raised_as_if_it_played_alone(old, new, message):
    mine = own(changed(old, new))
    assert how(mine).play
    game, found = match(foe("stochastic"), [mine], 300), []
    for width in (32, 1):
        with pytest.raises(Exception, match=message) as error:
            bandit.play(game, range(9), width=width)
        found.append((type(error.value), str(error.value)))
    assert found[0] == found[1]


INDEX = FILE.replace("total=0.0", "total=np.zeros(3)").replace("state.total", "state.total[state.t // 99]")


def test_an_index_out_of_bounds_is_an_error_in_lockstep_too():
    mine = own(INDEX)
    assert how(mine).play
    fine = match(foe("stochastic"), [mine], 290)
    np.testing.assert_array_equal(bandit.play(fine, range(9)), bandit.play(fine, range(9), width=1))
    with pytest.raises(IndexError, match="out of bounds"):
        bandit.play(match(foe("stochastic"), [mine], 400), range(9))


OTHER_GAMES = ["linear", "contextual"]


def written(game):
    """The file that `new algorithm --game` writes."""
    if not Path("other.py").exists():
        assert CliRunner().invoke(app, ["new", "algorithm", "other.py", "--game", game]).exit_code == 0
    return loader.module(loader.read(Path("other.py"))).Parameters()


def other_match(game, horizon=200):
    if game == "linear":
        setting = linear.Setting(horizon, 6, space=Simplex(6))
        adversary = foe("stochastic", best=0.9)
    else:
        setting = contextual.Setting(horizon, 6, contexts=Contexts(3))
        adversary = foe("sphere_arms", gap=0.1)
    adversary = adversary.tuned(setting)
    known = adversary.revealed(setting)
    return Match(adversary, [written(game).tuned(known)], known, np.arange(1, horizon + 1), 1)


@pytest.mark.parametrize("game", some(OTHER_GAMES, "linear"))
def test_a_users_file_of_another_game_plays_in_lockstep_by_itself(game):
    played, module = other_match(game), {"linear": linear, "contextual": contextual}[game]
    assert module.Games.loop(played, played.algorithms[0]).play
    alone = module.play(played, range(9), width=1)
    np.testing.assert_array_equal(module.play(played, range(9)), alone)
    assert len(np.unique(alone[0, :, -1])) > 4


WRONG = {
    "a point outside": ("linear", "    x /= sum(x)\n", "    x /= sum(x)\n    x[0] += 0.1 * (state.losses[0] > 40)\n"),
    "a point that is no number": (
        "linear",
        "    x /= sum(x)\n",
        "    x /= sum(x)\n    x[0] += 0.0 * np.sqrt(40.0 - state.losses[0])\n",
    ),
    "a state that is no number": (
        "contextual",
        "    grown, error",
        "    state.y[0] += 0.0 * np.sqrt(0.6 - state.theta[0])\n    grown, error",
    ),
    "an arm that is none": ("contextual", "    return arm\n", "    return arm - 9 * (state.theta[0] > 0.6)\n"),
    "an error": (
        "contextual",
        "    grown, error",
        "    if state.theta[0] > 0.6:\n        raise ValueError('too large')\n    grown, error",
    ),
}


@pytest.mark.parametrize("case", some(WRONG, "a point that is no number"))
def test_an_error_in_another_game_is_raised_as_if_trials_played_alone(case):
    game, old, new = WRONG[case]
    written(game)
    text = Path("other.py").read_text()
    assert text.count(old) == 1
    Path("other.py").write_text(text.replace(old, new))
    played, module, found = other_match(game, 2000), {"linear": linear, "contextual": contextual}[game], []
    assert module.Games.loop(played, played.algorithms[0]).play
    for width in (8, 1):
        with pytest.raises(Exception, match=r".") as error:
            module.play(played, range(8), width=width)
        found.append((type(error.value), str(error.value)))
    assert found[0] == found[1]


FEW = "int(state.losses[0]) % 3", "int(20.0 * abs(state.theta[0])) % 3"
ASKS = (
    "    def state(",
    '    def draws(self, setting, rounds):\n        return {"uniform": 0 * rounds + 3}\n\n    def state(',
)
GIVEN = {  # what a game gives, at an index from the end that differs between trials
    "the point": ("linear", "    x /= sum(x)\n", "    x[-1 - PLACE] += 0.5\n    x /= sum(x)\n"),
    "the losses": ("linear", "    state.losses += losses", "    state.losses += losses[-1 - PLACE]"),
    "the numbers": ("linear", "    x /= sum(x)\n", "    x[0] += rng.uniform[-1 - PLACE]\n    x /= sum(x)\n"),
    "the arms": ("contextual", "    return arm\n", "    return 3 if arms[-1 - PLACE, -2] > 0.1 else arm\n"),
    "the arm played": ("contextual", "    grown, error", "    state.y[0] += x[-1 - PLACE]\n    grown, error"),
}


@pytest.mark.parametrize("late", some([False, True], False))
@pytest.mark.parametrize("case", some(GIVEN, "the point"))
def test_an_index_of_what_a_game_gives_is_that_of_python(case, late):
    game, old, new = GIVEN[case]
    written(game)
    text, place = Path("other.py").read_text(), FEW[game == "contextual"]
    assert text.count(old) == 1
    text = text.replace(old, new.replace("PLACE", f"(9 if {place} == 2 else 0)" if late else place))
    Path("other.py").write_text(text.replace(*ASKS) if game == "linear" else text)
    played, module = other_match(game), {"linear": linear, "contextual": contextual}[game]
    assert module.Games.loop(played, played.algorithms[0]).play
    if late:
        for width in (8, 1):
            with pytest.raises(IndexError, match="out of bounds"):
                module.play(played, range(9), width=width)
        return
    alone = module.play(played, range(9), width=1)
    np.testing.assert_array_equal(module.play(played, range(9)), alone)
    assert len(np.unique(alone[0, :, -1])) > 4
