"""Trials of `contextual` in lockstep equal single trials bit for bit: arms, numbers, on every processor."""

import platform

import numpy as np
import pytest
from numpy.random import SFC64, Generator

from privbandits_cli.adversaries import sphere_arms
from privbandits_cli.algorithms import dp_linucb
from privbandits_cli.games import contextual, driver, guards, lockstep
from privbandits_cli.games.contextual import Contexts, Setting, largest
from privbandits_cli.games.drawing import WIDTH, filled
from privbandits_cli.games.ellipsoid import invert
from privbandits_cli.games.steps import blocks
from privbandits_cli.numerics.jit import record
from privbandits_cli.numerics.sfc64 import laplace, standard_gamma, words_of
from privbandits_cli.numerics.streams import stream
from tests.conftest import foe, make, some
from tests.games.test_contextual import ARMS, FOES, LEARNERS, PRIVATE, WITHOUT_PRIVACY, foe_is_bounded, inverting, match
from tests.games.test_lockstep import on_every_processor
from tests.spmd.steps import together

COUNTERS = [
    make("dp_linucb", counter=counter, deviations=5.0, epsilon=50.0, delta=0.1)
    for counter in ("tree", "honaker", "smooth", "square_root", "blt")
]
VECTORS = ("linucb", "dp_linucb", "ldp_linucb")


def equal(game, trials=WIDTH + 1, **how):
    """The regrets, which are the same in vectors, in the code for a last trial by itself, and trial by trial."""
    found = contextual.play(game, range(trials), **how)
    np.testing.assert_array_equal(found, contextual.play(game, range(trials), width=1))
    assert (found[:, 0, -1] != found[:, 1, -1]).any()
    return found


REST = pytest.mark.slow  # left to `make test-all`


@pytest.mark.parametrize(
    ("rival", "names"),
    [
        ("sphere", ("linucb",)),
        pytest.param("sphere", ("gaussian", "wishart", "lints"), marks=REST),
        pytest.param("gaussian rewards", ("linucb", "lints"), marks=REST),
        pytest.param("fixed", ("linucb", "gaussian", "lints"), marks=REST),
        *(pytest.param(rival, LEARNERS, marks=REST) for rival in FOES),
    ],
)
def test_vectors_equal_single_trials(rival, names):
    """Also beside learners that cannot play in vectors."""
    players = [LEARNERS[name]() for name in names if foe_is_bounded(rival) or name in WITHOUT_PRIVACY]
    players = [player for player in players if player.name in (*VECTORS, "lints", "plain_dp_linucb")]
    if rival in ("drawn", "basis"):
        players = [player for player in players if player.name != "ldp_linucb"]
    game = match(FOES[rival](), players, 70, ARMS.get(rival, 6), checkpoints=range(1, 71))
    assert all(
        contextual.Games.loop(game, algorithm).play for algorithm in game.algorithms if algorithm.name in VECTORS
    )
    equal(game, block=7)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", COUNTERS, ids=lambda algorithm: algorithm.counter)
def test_every_counter_plays_in_vectors(algorithm):
    game = match(foe("sphere_arms", gap=0.1), [algorithm], 140, checkpoints=[1, 2, 3, 64, 65, 140])
    assert contextual.Games.loop(game, game.algorithms[0]).play
    equal(game)


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 8])
def test_vectors_of_other_dimensions(d):
    players = [make("linucb"), make("dp_linucb", noise="wishart", **PRIVATE), make("ldp_linucb", **PRIVATE)]
    equal(match(foe("sphere_arms", gap=0.3), players, 50, 9, d, checkpoints=[1, 50]))


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [1, 2, 70, 100, 128])
def test_vectors_of_other_horizons(horizon):
    """At 65 to 128 rounds the state has eight whole numbers in a row."""
    players = [make("linucb"), make("dp_linucb", **PRIVATE)]
    found = contextual.play(game := match(foe("sphere_arms", gap=0.1), players, horizon, 1 + horizon % 4), range(4))
    np.testing.assert_array_equal(found, contextual.play(game, range(4), width=1))


def test_what_does_not_play_in_vectors(monkeypatch):
    def played(adversary, algorithm, d):
        game = match(adversary, [algorithm], 100, 6, d)
        return contextual.Games.loop(game, game.algorithms[0]).play

    sphere = foe("sphere_arms")
    assert played(sphere, make("linucb"), 8)
    assert played(sphere, make("linucb"), 12)
    assert not played(sphere, make("linucb"), 200)  # states of 5 MB
    assert not played(foe("sphere_arms", drawn="on_demand"), make("linucb"), 3)
    assert played(sphere, make("squarecb", oracle="logistic"), 3)
    with monkeypatch.context() as patch:
        patch.setattr(guards, "is_own", lambda player: True)  # a user's adversary may share what its trials draw from
        assert not played(sphere, make("linucb"), 3)
    assert played(sphere, make("dp_linucb", noise="wishart", calibration="code", epsilon=100.0, delta=0.5), 3)


@pytest.mark.slow
def test_gamma_numbers_of_shape_1_are_drawn_one_trial_after_the_other():
    learner = make("dp_linucb", noise="wishart", calibration="code", epsilon=1e6, delta=0.5)
    game = match(foe("sphere_arms", gap=0.1), [learner], 40)
    assert contextual.Games.loop(game, game.algorithms[0]).play
    equal(game, block=7)


def test_any_number_of_trials_plays_the_same_games():
    game = match(foe("sphere_arms", gap=0.1), [make("linucb"), make("dp_linucb", **PRIVATE)], 70)
    whole = contextual.play(game, range(WIDTH + 1))
    for n in range(1, WIDTH + 1):
        np.testing.assert_array_equal(contextual.play(game, range(n)), whole[:, :n])


@pytest.mark.parametrize("horizon", some([127, 200], 127))
def test_a_matrix_that_is_not_positive_definite_is_left_out_in_its_trial_alone(monkeypatch, horizon):
    """A shift of the size of the noise: in some rounds of some trials the last V is used again."""
    whole, spread, kept = dp_linucb.Parameters.state, driver.spread, []

    def weaker(self, setting):
        state = whole(self, setting)
        state["shifts"] = 1.5 * self.deviation(setting)
        return state

    monkeypatch.setattr(dp_linucb.Parameters, "state", weaker)

    def watched(seats, layout, width):
        kept.append((spread(seats, layout, width), layout))
        return kept[-1][0]

    monkeypatch.setattr(driver, "spread", watched)
    learner = make("dp_linucb", epsilon=0.5, delta=0.1)
    game = match(foe("sphere_arms", gap=0.1), [learner], horizon, checkpoints=range(1, horizon + 1))
    equal(game)
    words, layout = kept[0]  # of the first eight trials, at the end
    strange = words.view(np.float64)[0, lockstep.place(layout, "state", "indefinite")]
    assert len(set(strange)) > 4 and strange.min() > 0 and strange.max() < horizon


def invert_own(state):
    """Invert the matrix of a trial."""
    state.logdet = invert(state.v)


def test_invert_at_the_ends_of_the_numbers():
    """Determinants that over- and underflow, matrices that are not positive definite, or no numbers."""
    rng = np.random.default_rng(3)
    for scale in (1.0, 1e-80, 1e80, 1e60, 1e-60):
        matrices = []
        for i in range(WIDTH):
            root = rng.normal(size=(5, 5))
            matrices.append(scale ** (i % 3 - 1) * (root @ root.T if i < 5 else root + root.T))
        matrices[2][2, 2] = np.nan
        matrices[3][:, 1] = matrices[3][1] = 0.0
        states = np.concatenate([record(v=matrix, logdet=0.0) for matrix in matrices])
        assert together(invert_own, states)
        for i, matrix in enumerate(matrices):
            logdet = inverting()(matrix)
            assert np.array_equal(states["logdet"][i], logdet, equal_nan=True)
            if not np.isnan(logdet):
                np.testing.assert_array_equal(states["v"][i], matrix)
        assert 2 < np.isnan(states["logdet"]).sum() < WIDTH


# ---------------------------------------------------------------------------------------------------- arms


@pytest.mark.parametrize("rival", FOES)
@pytest.mark.parametrize("d", some([2, 3, 9], 3))
def test_arms_of_several_trials_are_those_of_each(rival, d):
    adversary, k, n = FOES[rival](), ARMS.get(rival, 6), 300
    if (rival == "fixed" and d != 3) or (rival == "basis" and d != 3):
        return
    setting = adversary.revealed(Setting(n, k, contexts=Contexts(d)))
    rngs = [stream(7, "contexts", trial=trial) for trial in range(WIDTH)]
    parts = [part.copy() for part in adversary.arms_together(setting, rngs, lambda: blocks(n, 99))]
    together = np.concatenate(parts)
    for trial in range(WIDTH):
        pairs = adversary.arms(setting, stream(7, "contexts", trial=trial), blocks(n, 40))
        arms, means = map(np.concatenate, zip(*((x.copy(), mean.copy()) for x, mean in pairs), strict=True))
        np.testing.assert_array_equal(together[:, :d, :, trial], arms)
        np.testing.assert_array_equal(together[:, d, :, trial], means)
        np.testing.assert_array_equal(largest(together[:, d])[:, trial], means.max(axis=1))


# ------------------------------------------------------------------------------------------ random numbers


def gamma_row(state, layers, out):
    """A gamma number of shape α."""
    out[0] = standard_gamma(state.words, layers, state.alpha)


@pytest.mark.parametrize("shape", [1.0 + 2.0**-40, 1.2, 2.5, 17.0, 2000.5])
def test_gamma_numbers_are_numpys_bit_for_bit(shape):
    """Small shapes reject many normal numbers, some of them before the uniform number is drawn."""
    found = np.empty((20000, WIDTH))
    filled(gamma_row, [record(alpha=shape, **words_of(Generator(SFC64(seed)))) for seed in range(WIDTH)])(found)
    for seed in range(WIDTH):
        np.testing.assert_array_equal(found[:, seed], Generator(SFC64(seed)).standard_gamma(shape, 20000))


def laplace_row(state, layers, out):
    """A Laplace number of mean 1 and scale 3."""
    out[0] = laplace(state.words, 1.0, 3.0)


def standard_laplace_row(state, layers, out):
    """A Laplace number of mean 0 and scale 1."""
    out[0] = laplace(state.words)


@pytest.mark.parametrize(("row", "given"), [(laplace_row, (1.0, 3.0)), (standard_laplace_row, (0.0, 1.0))])
def test_laplace_numbers_are_numpys_bit_for_bit(row, given):
    found = np.empty((5000, WIDTH))
    filled(row, [record(**words_of(Generator(SFC64(seed)))) for seed in range(WIDTH)])(found)
    for seed in range(WIDTH):
        np.testing.assert_array_equal(found[:, seed], Generator(SFC64(seed)).laplace(*given, 5000))


# ----------------------------------------------------------------------------------------- errors, processors


def too_long(self, setting, rngs, rounds):
    """Arms twice as long as the adversary says."""
    for part in honest(self, setting, rngs, rounds):
        part[:, :-1] *= 2
        yield part


honest = sphere_arms.Parameters.arms_together


def test_an_arm_that_is_too_long_is_reported(monkeypatch):
    monkeypatch.setattr(sphere_arms.Parameters, "arms_together", too_long)
    game = match(foe("sphere_arms", gap=0.1), [make("linucb")], 20)
    with pytest.raises(ValueError, match="an arm of norm 2 was played, but the declared bound is L = 1"):
        contextual.play(game, range(WIDTH))


PROGRAM = """
import json
from privbandits_cli.games.contextual import play
from tests.games.test_contextual_lockstep import lineup
print(json.dumps(play(lineup(), range(9)).tolist()))
"""


def lineup():
    """A match of three learners in vectors."""
    noisy = [make("dp_linucb", noise=noise, epsilon=1.0, delta=0.1) for noise in ("gaussian", "wishart")]
    return match(foe("sphere_arms", gap=0.1), [make("linucb"), *noisy], 500, 9, 4)


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="these are names of x86-64 processors")
def test_every_processor_plays_the_same_bytes():
    own = contextual.play(lineup(), range(9))
    for name, found in on_every_processor(PROGRAM):
        assert found == own.tolist(), name
