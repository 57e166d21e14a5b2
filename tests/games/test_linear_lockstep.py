"""The game `linear`: trials in lockstep equal single trials bit for bit, and so do their random numbers."""

import platform
from functools import cache

import numpy as np
import pytest
from numpy.random import SFC64, Generator

from privbandits_cli.algorithms import ftrl
from privbandits_cli.games import guards, linear, lockstep
from privbandits_cli.games.drawing import WIDTH, wide_fill_of
from privbandits_cli.games.linear import Cube, Draws, Setting, Simplex, Sphere
from privbandits_cli.games.match import Match
from privbandits_cli.mechanisms import counters
from privbandits_cli.numerics.jit import compile_step, without_jit
from tests.conftest import foe, make, playing, some
from tests.games.test_lockstep import on_every_processor

COUNTERS = [
    make("dp_ftrl", epsilon=1.0, nodes=law, counter=counter)
    for law in ("laplace", "gaussian")
    for counter in counters.with_law(law)
]
SPARES = [make("dp_ftrl", epsilon=1.0, spare=spare) for spare in ("once", "none")]
LEARNERS = [
    make("ftrl"),
    make("ftrl", eta=3.0),
    make("noisy_ftrl", epsilon=2.0),
    make("noisy_ftrl", epsilon=2.0, rate="non_private"),
    make("dp_ftrl", blur=0.3),
    *COUNTERS,
    *SPARES,
]
FEW = [make("ftrl"), make("noisy_ftrl", epsilon=2.0), make("dp_ftrl", epsilon=1.0)]
SOME = [LEARNERS[2], make("dp_ftrl", epsilon=1.0, nodes="gaussian", counter="smooth")]
REST = pytest.mark.slow  # left to `make test-all`; a loop is compiled for each dimension, which is 4 where it can be


def match(algorithms, space, horizon=150, checkpoints=None, adversary=None):
    """A match whose losses and learners are random."""
    known = Setting(horizon, space.dimension, space=space)
    foe_of_all = (adversary or foe("gap", gap=0.25)).tuned(known)
    known = foe_of_all.revealed(known)
    rounds = np.unique([1, horizon] if checkpoints is None else checkpoints)
    return Match(foe_of_all, [algorithm.tuned(known) for algorithm in algorithms], known, rounds, 5)


def equal(game, trials=WIDTH + 1, **how):
    """The regrets, which are the same in vectors, in the code for a last trial by itself, and trial by trial."""
    found = linear.play(game, range(trials), **how)
    np.testing.assert_array_equal(found, linear.play(game, range(trials), width=1))
    return found


@pytest.mark.parametrize(("learners", "n"), [(SOME, 4), pytest.param(LEARNERS, 5, marks=REST)], ids=["some", "all"])
@pytest.mark.parametrize("kind", some([Simplex, Sphere, Cube], Simplex))
def test_lockstep_equals_single_trials(kind, learners, n):
    """All learners against the same losses, with marks within blocks and at their ends."""
    game = match(learners, kind(n), checkpoints=[1, 2, 7, 8, 63, 64, 65, 128, 150])
    assert all(linear.Games.loop(game, algorithm).play for algorithm in game.algorithms)
    found = equal(game, block=7)
    np.testing.assert_array_equal(found, linear.play(game, range(WIDTH + 1)))
    assert all(len(set(regrets[:, -1])) > 4 for regrets in found)


@pytest.mark.slow
@pytest.mark.parametrize("space", [Simplex(2), Sphere(1), Cube(2), Simplex(12)], ids=str)
def test_lockstep_of_other_dimensions(space):
    equal(match(FEW, space))


ABLE = ["ftrl", "noisy_ftrl", "dp_ftrl", "ftpl"]


@pytest.mark.parametrize("adversary", [*playing("adversaries", "linear"), "stochastic", "switching_costs"])
def test_learners_equal_single_trials_against_every_adversary(adversary):
    """On each set; a bandit's gains are losses on the simplex."""
    spaces = (Simplex(4), Sphere(4), Cube(4)) if foe(adversary).game == "linear" else (Simplex(4),)
    for space in spaces:
        equal(match([make(name) for name in ABLE], space, adversary=foe(adversary)))


@pytest.mark.parametrize("n", some([4, 6], 4))
def test_a_projection_on_the_simplex_in_lockstep(n):
    """In one round, the point of one trial may be a corner while all coordinates of another are positive."""
    learners = [make("ftrl", regulariser="euclidean", eta=eta) for eta in (0.01, 0.5, 20.0)]
    learners += [make(name, epsilon=1.0, base=learners[1]) for name in ("noisy_ftrl", "dp_ftrl")]
    equal(match(learners, Simplex(n), checkpoints=range(1, 151)))


def test_lockstep_against_signed_losses(monkeypatch):
    monkeypatch.setattr(type(foe("gap")), "signed", True)
    game = match(FEW, Simplex(4))
    assert game.setting.signed
    found = equal(game)
    monkeypatch.undo()
    assert (found != linear.play(match(FEW, Simplex(4)), range(WIDTH + 1))).any()


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [1, 2, 3, 70, 129])
def test_lockstep_of_other_horizons(horizon):
    equal(match([*FEW, make("dp_ftrl", epsilon=1.0, counter="negative_digits")], Simplex(3), horizon), trials=4)


def alone_but_ftrl(monkeypatch):
    """Let all algorithms but one play one trial after the other."""
    whole = linear.Games.loop
    loop = lambda game, one, lone=False: whole(game, one, lone) if one.name == "ftrl" else lockstep.NONE  # noqa: E731
    monkeypatch.setattr(linear.Games, "loop", staticmethod(loop))


@pytest.mark.parametrize("more", [[], pytest.param(["shrinking_dartboard", "dp_ftpl"], marks=REST)], ids=len)
def test_beside_learners_that_play_alone(monkeypatch, more):
    game = match([make("ftpl"), make("ftrl"), *map(make, more)], Simplex(4))
    found = equal(game)
    alone_but_ftrl(monkeypatch)
    np.testing.assert_array_equal(found, linear.play(game, range(WIDTH + 1)))


@pytest.mark.parametrize("dimension", some([3, 4], 4))
def test_any_number_of_trials_plays_the_same_games(dimension):
    game = match([make("ftrl"), make("dp_ftrl", epsilon=1.0)], Simplex(dimension))
    whole = linear.play(game, range(WIDTH + 1))
    for n in range(1, WIDTH + 1):
        np.testing.assert_array_equal(linear.play(game, range(n)), whole[:, :n])


def test_what_does_not_play_in_lockstep(monkeypatch):
    def played(algorithm, space, **how):
        game = match([algorithm], space, **how)
        return linear.Games.loop(game, game.algorithms[0]).play

    assert played(make("ftrl"), Simplex(4))
    assert played(make("scrible"), Sphere(4))
    with without_jit():
        assert not played(make("ftrl"), Simplex(4))
    square_root = make("dp_ftrl", epsilon=1.0, nodes="gaussian", counter="square_root")
    assert played(square_root, Simplex(4), horizon=1000)
    assert not played(square_root, Simplex(4), horizon=2**14)  # a state of 4.2 MB in all
    monkeypatch.setattr(guards, "is_own", lambda player: True)  # a user's adversary may share what its trials draw from
    assert not played(make("ftrl"), Simplex(4))


def test_a_loss_outside_of_the_set_is_reported_in_lockstep():
    class Wrong(type(foe("gap"))):
        def losses(self, setting, rng, blocks):
            for losses in super().losses(setting, rng, blocks):
                yield losses * 1.5

    game = match([make("ftrl")], Simplex(4), adversary=Wrong(gap=0.1))
    with pytest.raises(ValueError, match=r"the loss of round \d+ is outside \[0, 1\]\^4 by 0.5"):
        linear.play(game, range(WIDTH))


@pytest.mark.parametrize("kind", Draws._fields)
def test_numbers_of_several_trials_are_those_of_each(kind):
    """In calls that end within the words of a stream, at their end, and beyond."""
    sizes, width = [1, 0, 126, 1, 128, 300, 5], 7
    rngs = [Generator(SFC64(seed)) for seed in range(WIDTH)]
    fill, parts = wide_fill_of(kind, *rngs), [np.empty((width * size, WIDTH)) for size in sizes]
    for part in parts:
        fill(part)
    together = np.concatenate(parts)
    for seed in range(WIDTH):
        alone = np.empty(len(together))
        wide_fill_of(kind, Generator(SFC64(seed)))(alone)
        np.testing.assert_array_equal(together[:, seed], alone)
    assert len(np.unique(together)) == together.size


def test_learners_with_large_states_play_alone_trial_by_trial(monkeypatch):
    """Eight states of such a learner at once would take too much memory."""
    game = match([make("ftrl"), make("ftpl")], Simplex(4))
    assert linear.Games.together(game) == WIDTH
    found = linear.play(game, range(4))
    monkeypatch.setattr(linear, "STATES_ALONE", 100)
    alone_but_ftrl(monkeypatch)
    assert linear.Games.together(game) == 1 and linear.Games.together(match([make("ftrl")], Simplex(4))) == WIDTH
    np.testing.assert_array_equal(found, linear.play(game, range(4)))


@cache
def projecting():
    """The compiled projection."""
    return compile_step(ftrl.project)


@pytest.mark.parametrize("strange", [np.nan, np.inf])
def test_the_projection_keeps_what_is_no_number(strange):
    """The check of a user's points must see it; no error hides it."""
    project = projecting()
    for i in range(3):
        x = np.zeros(3)
        x[i] = strange
        project(x)
        assert np.isnan(x).any()
    project(x := np.full(3, -np.inf))
    assert np.isnan(x).all()


def test_the_projection_keeps_its_digits_far_from_the_simplex():
    """Its threshold is counted from the largest coordinate; 1e17 - 1 is 1e17."""
    project, x = projecting(), np.array([1e17, 1e17, 0.0])
    project(x)
    np.testing.assert_array_equal(x, [0.5, 0.5, 0.0])


PROGRAM = """
import json
from privbandits_cli.games.linear import play
from tests.games.test_linear_lockstep import lineups
print(json.dumps([play(game, range(9)).tolist() for game in lineups()]))
"""


def lineups():
    """Matches on three sets, with Laplace and Gaussian noise."""
    noisy = [make("dp_ftrl", epsilon=1.0), make("dp_ftrl", epsilon=1.0, nodes="gaussian"), make("noisy_ftrl")]
    return [match([make("ftrl"), *noisy], space, 500) for space in (Simplex(4), Sphere(4), Cube(4))]


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="these are names of x86-64 processors")
def test_every_processor_plays_the_same_bytes():
    own = [linear.play(game, range(9)).tolist() for game in lineups()]
    for name, found in on_every_processor(PROGRAM):
        assert found == own, name
