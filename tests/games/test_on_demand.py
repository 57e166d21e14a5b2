"""Arms that are drawn on demand: what is played, the law of the game, learners that look at all arms."""

import platform
import re
from typing import Any

import numpy as np
import pytest
from numpy.random import SFC64, Generator
from scipy import stats

from privbandits_cli.games import contenders, contextual, ellipsoid, on_demand
from privbandits_cli.games.contextual import Contexts
from privbandits_cli.games.on_demand import ArmLaw, LazyArms, new_crowd
from privbandits_cli.numerics.jit import PluginError, bind, compile_step, record, without_jit
from privbandits_cli.plugins import loader
from tests.conftest import foe, make, some
from tests.games.test_contextual import LEARNERS, match
from tests.games.test_lockstep import on_every_processor

PLAYERS = ["linucb", "gaussian", "wishart", "local", "plain"]
# A loop is compiled for each dimension, for seconds: most tests play in four dimensions, and the others are left to
# `make test-all`.
D = 4
REST = pytest.mark.slow
FEW = ["linucb"], 12, D
LINEUPS = [FEW, pytest.param((PLAYERS, 6, 3), marks=REST)]
WIDE = ArmLaw(0.75, -0.999, 0.65)


def crowd_foe(**given):
    return foe("sphere_arms", gap=0.1, drawn="on_demand", **given)


# ------------------------------------------------------------------------------------------- the choice


def play_rounds(dealer, states, tops, places, xs):
    """Play rounds in one state: the score of the arm played, whether it is the best arm, and its coordinates."""
    for t in range(len(tops)):
        arm = optimistic(states[0], deal_round(dealer, t))
        tops[t], places[t] = dealer.records[0].most, arm == dealer.records[0].place
        take(dealer, arm, xs[t])


optimistic: Any = None  # filled in
deal_round: Any = None
take: Any = None


class Table:
    """A crowd, and a state in which `optimistic` chooses; beta: β, the factor of |x|."""

    def __init__(self, d, k, beta=1.0, lasting=False, crowd=WIDE, seed=3):
        room = ellipsoid.room(Contexts(d), k) | {"fixed": beta, "sigma": 0.0, "logdet": 0.0, "log_term": 0.0}
        self.states, self.beta, self.d = record(theta=np.zeros(d), inverse=np.zeros((d, d)), **room), beta, d
        self.crowd = new_crowd(crowd, d, k, lasting, Generator(SFC64(seed)))
        self.dealer = LazyArms((d, k), self.crowd, np.zeros((0, 0)))
        self.play = bind(play_rounds, optimistic=on_demand.rule(), **on_demand.steps(True))

    def set(self, theta, inverse):
        self.states["theta"], self.states["inverse"] = theta, inverse

    def scores(self, x):
        theta, inverse = self.states["theta"][0], self.states["inverse"][0]
        return x @ theta + self.beta * np.sqrt(np.maximum(0.0, np.einsum("ai,ij,aj->a", x, inverse, x)))

    def rounds(self, n):
        """The scores of the arms played, whether these are the best arms, and their coordinates."""
        tops, places, xs = np.empty(n), np.empty(n, bool), np.empty((n, self.d))
        with np.errstate(over="ignore"):
            self.play(self.dealer, self.states, tops, places, xs)
        return tops, places, xs


def state_of(d, seed, spread=30.0, theta=1.0):
    """θ~ and V^-1; spread: the ratio of the largest to the least eigenvalue, at most."""
    rng = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(rng.standard_normal((d, d)))
    return theta * rng.standard_normal(d) / np.sqrt(d), (basis * spread ** -rng.random(d)) @ basis.T


def drawn_ahead(table, k, rounds, seed=7):
    """The largest score of each round, if all arms are drawn, and whether it is that of the best arm."""
    crowd, rng, d = table.crowd[0], np.random.default_rng(seed), table.d
    tops, places = np.empty(rounds), np.empty(rounds, bool)
    for t in range(rounds):
        x = rng.standard_normal((3 * k + 30, d))
        x /= np.linalg.norm(x, axis=1)[:, None]
        means = x @ crowd.theta
        x = x[(crowd.low <= means) & (means <= crowd.high)][: k - 1]
        assert len(x) == k - 1
        w = rng.standard_normal(d)
        w -= w @ crowd.theta * crowd.theta
        best = crowd.best * crowd.theta + np.sqrt(1 - crowd.best**2) * w / np.linalg.norm(w)
        scores = table.scores(np.vstack([x, best]))
        tops[t], places[t] = scores.max(), scores.argmax() == k - 1
    return tops, places


CASES = [
    (D, 40, 1.0),
    (2, 6, 1.0),
    (2, 200, 0.3),
    (3, 40, 1.0),
    (3, 400, 1.0),
    (4, 16, 0.3),
    (8, 64, 1.0),
    (8, 300, 3.0),
    (20, 400, 0.3),
    (20, 400, 3.0),
]


@pytest.mark.slow
@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_score_that_is_played_has_the_law_of_the_largest(case, lasting):
    """In 1500 rounds of a state, against as many with all arms drawn. Control: a third of the arms."""
    d, k, theta = case
    table, n = Table(d, k, lasting=lasting), 1500
    table.set(*state_of(d, 1, theta=theta))
    table.rounds(300)  # meanwhile τ and κ become good ones
    found, best, _ = table.rounds(n)
    tops, places = drawn_ahead(table, k, n)
    assert stats.ks_2samp(found, tops).pvalue > 1e-6
    assert abs(best.mean() - places.mean()) < 5 * np.sqrt((best.mean() * (1 - best.mean()) * 2 + 1e-3) / n)
    fewer, _ = drawn_ahead(table, max(2, k // 3), n)
    assert stats.ks_2samp(fewer, tops).pvalue < 1e-6 or places.mean() > 0.8


@pytest.mark.slow
def test_few_arms_are_drawn():
    """For 400 arms in 20 dimensions the random words are those of less than 120 arms, once τ and κ are good."""
    table = Table(20, 400)
    table.set(*state_of(20, 1))
    table.rounds(200)
    before = table.crowd["words"][0][3]  # which counts the random words
    table.rounds(500)
    words = int(table.crowd["words"][0][3] - before) / 500
    assert 20 < words < 0.3 * 400 * 20


@pytest.mark.parametrize("d", some([2, 3, D, 5, 16], D))
def test_the_arm_that_is_played_has_the_score_and_the_mean_that_are_said(d):
    table = Table(d, 40 if d == D else 50)
    table.set(*state_of(d, 2))
    tops, places, x = table.rounds(400)
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(table.scores(x), tops, atol=1e-12)
    means = x @ table.crowd["theta"][0]
    np.testing.assert_allclose(means[places], 0.75, atol=1e-12)
    assert ((means[~places] <= 0.65) & (means[~places] >= -0.999)).all()
    assert d < 5 or 0 < places.sum() < 400


def find_level(crowd, theta, inverse, few, out):
    """A level at which `few` arms are proposed, by `search`, and how many are."""
    if envelop(crowd[0], theta, inverse, 1.0):
        out[0] = search(crowd[0], out[0], few)
        out[1] = on_demand_at(crowd[0], out[0])


envelop, search, on_demand_at = contenders.fit_envelope, on_demand.search, on_demand.at


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 3, D, 5, 16])
@pytest.mark.parametrize("k", [100, 2000, 10**5])
def test_a_level_with_as_many_proposals_as_wanted_is_found(d, k):
    """From levels far below and above it, which no arm reaches."""
    find = bind(find_level)
    for seed in range(20):
        for start in (0.0, 0.5, 2.0, 20.0):
            table, (theta, inverse), out = Table(d, k, seed=seed), state_of(d, seed), np.array([start, 0.0])
            table.crowd["scale"] = [0.0, 0.01, 10.0][seed % 3]
            with np.errstate(over="ignore"):
                find(table.crowd, theta, inverse, 12.0, out)
            assert 12.0 / on_demand.CLOSE < out[1] < 12.0 * on_demand.CLOSE, (seed, start, out)


def a_hundredth(crowd):
    """Takes the place of `wanted`."""
    return 0.01


@pytest.mark.slow
def test_levels_that_are_too_high_for_any_arm_are_lowered():
    """The first level asks for a hundredth of a proposal: most rounds need a second one, and the law is the same."""
    table, n = Table(6, 60, seed=4), 3000
    table.play = bind(
        play_rounds, optimistic=compile_step(on_demand.optimistic, wanted=a_hundredth), **on_demand.steps(True)
    )
    table.set(*state_of(6, 1))
    found, _, _ = table.rounds(n)
    tops, _ = drawn_ahead(table, 60, n)
    assert stats.ks_2samp(found, tops).pvalue > 1e-6


@pytest.mark.parametrize("d", some([D, 5], D))
@pytest.mark.parametrize("wrong", [np.nan, 0.0, -1.0])
def test_a_strange_matrix_leaves_all_arms_drawn(wrong, d):
    """No number bounds the scores then: all have the same root, or none, so <θ~, x> decides."""
    table, n = Table(d, 40), 1000
    table.set(np.ones(d), np.full((d, d), wrong))
    _, _, x = table.rounds(n)
    assert np.isfinite(x).all() and (wrong == 0.0) <= (np.mean(x @ np.ones(d)) > 0.8)


@pytest.mark.parametrize("values", some([(3, -2, -2, 0.5), (-1, -1, -1, -2), (3, 2, 2, 0.5)], (3, -2, -2, 0.5)))
def test_an_indefinite_matrix_has_the_law_of_its_scores(values):
    table, n = Table(4, 40), 3000
    basis, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((4, 4)))
    table.set(np.array([0.5, -0.2, 0.1, 0.3]), (basis * np.array(values, float)) @ basis.T)
    found, _, _ = table.rounds(n)
    tops, _ = drawn_ahead(table, 40, n)
    assert stats.ks_2samp(found, tops).pvalue > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d", "crowd"),
    [pytest.param(30, ArmLaw(0.75, 0.7, 0.74), marks=REST), (D, ArmLaw(0.9, -0.99, -0.97))],
)
def test_means_that_few_directions_have(d, crowd):
    """All arms are drawn, by turning directions. Control: uniform means."""
    table = Table(d, 20, crowd=crowd)
    table.set(-table.crowd["theta"][0], np.eye(d) * 1e-6)  # it plays the least mean
    _, _, x = table.rounds(1000)
    means = x @ table.crowd["theta"][0]
    law = stats.beta((d - 1) / 2, (d - 1) / 2, loc=-1, scale=2)
    share = (law.cdf(means) - law.cdf(crowd.low)) / (law.cdf(crowd.high) - law.cdf(crowd.low))
    assert stats.kstest(share, stats.beta(1, 19).cdf).pvalue > 1e-6  # the least of 19
    even = (means - crowd.low) / (crowd.high - crowd.low)
    assert stats.kstest(even, stats.beta(1, 19).cdf).pvalue < 1e-6


@pytest.mark.slow
def test_means_that_no_direction_is_likely_to_have():
    """Their probability is 0 in double precision: all arms are drawn."""
    crowd = ArmLaw(0.99, -0.99, -0.98)
    table = Table(512, 4, crowd=crowd)
    assert table.crowd["share"] == 0.0
    table.set(-table.crowd["theta"][0], np.eye(512) * 1e-6)
    _, _, x = table.rounds(20)
    means = x @ table.crowd["theta"][0]
    assert ((means >= crowd.low) & (means <= crowd.high)).all()


# ------------------------------------------------------------------------------------------- proposals


def propose_many(records, level, cells, accepted, xs):
    room = records[0]
    chance(room, level)
    for i in range(len(cells)):
        cells[i] = any_cell(room)
        accepted[i] = propose(room, cells[i], xs[i])


chance, any_cell, propose = contenders.chance, contenders.any_cell, contenders.propose


def envelop_once(records, theta, inverse, wide):
    envelop(records[0], theta, inverse, wide)


@pytest.mark.slow
@pytest.mark.parametrize("case", [(3, 5), (D, 3), (8, 5), (20, 5)], ids=str)
def test_what_is_proposed_above_a_level_has_the_law_of_all_arms_above_it(case):
    """Its number, and its coordinate along θ~, against a million directions. Control: all proposals above it."""
    d, seed = case
    theta, inverse = state_of(d, seed)
    table = Table(d, 9, crowd=ArmLaw(0.999, -1.0, 0.999))
    table.set(theta, inverse)
    table.rounds(100)
    bind(envelop_once)(table.crowd, theta, inverse, 1.0)
    rng, n = np.random.default_rng(1), 10**6
    x = rng.standard_normal((n, d))
    x /= np.linalg.norm(x, axis=1)[:, None]
    scores = table.scores(x)
    level = np.quantile(scores, 0.99)
    cells, accepted, xs = np.empty(n, np.int64), np.empty(n, bool), np.empty((n, d))
    with np.errstate(over="ignore"):
        bind(propose_many)(table.crowd, level, cells, accepted, xs)
    above = table.scores(xs) > level
    share = table.crowd["whole"][0] * (above & accepted).mean()
    assert abs(share - 0.01) < 5 * np.sqrt(0.01 / n * (1 + table.crowd["whole"][0]))
    assert table.crowd["whole"][0] < 0.5 and (above & accepted).sum() > 1000
    direction = theta / np.linalg.norm(theta)
    u, v = xs[above & accepted] @ direction, x[scores > level] @ direction
    assert stats.ks_2samp(u, v).pvalue > 1e-6
    assert d == 3 or abs(table.crowd["whole"][0] * above.mean() - 0.01) > 5 * np.sqrt(0.01 / n)


@pytest.mark.parametrize("d", [2, 3, 9, 64])
def test_a_coordinate_in_a_cell_has_its_law(d):
    room = record(**contenders.contenders_room(d), **on_demand.source(Generator(SFC64(1))))[0]
    law = stats.beta((d - 1) / 2, (d - 1) / 2, loc=-1, scale=2)
    with np.errstate(over="ignore"):
        for cell in (len(room.edges) // 3, len(room.edges) // 2, 2 * len(room.edges) // 3):
            low, high = room.edges[cell], room.edges[cell + 1]
            ends = room.angles[cell + 1], room.angles[cell], room.inner[cell]
            u = np.array([contenders.coordinate(room.words, *ends, d - 2) for _ in range(1000)])
            assert ((low <= u + 1e-12) & (u <= high + 1e-12)).all()
            p = (law.cdf(u) - law.cdf(low)) / (law.cdf(high) - law.cdf(low))
            assert stats.kstest(np.clip(p, 0, 1), "uniform").pvalue > 1e-6
    assert room.masses.sum() == pytest.approx(1)


def test_the_factor_of_a_matrix():
    """R' R is the matrix, with its determinant; a matrix that is not positive definite is refused."""
    a = np.random.default_rng(1).standard_normal((7, 7))
    matrix = a @ a.T + np.eye(7)
    factor = matrix.copy()
    assert contenders.factorise(factor) == pytest.approx(np.linalg.slogdet(matrix)[1])
    np.testing.assert_allclose(np.tril(factor) @ np.tril(factor).T, matrix, atol=1e-12)
    np.testing.assert_allclose(factor, factor.T)
    assert np.isnan(contenders.factorise(matrix - 50 * np.eye(7)))


# ------------------------------------------------------------------------------------------- learners


@pytest.mark.slow
@pytest.mark.parametrize("games", [80, 200])
@pytest.mark.parametrize("shape", [(12, D), (120, 6)], ids=str)
def test_linucb_meets_the_same_arms_while_lambda_is_kept(shape, games):
    """V^-1 becomes smaller. The mean regret of LinUCB is that of the same learner that does not say so."""

    def played(lasting, monkeypatch):
        monkeypatch.setattr(type(make("linucb")), "growing", lasting)
        found = contextual.play(match(crowd_foe(), [make("linucb")], 300, *shape), range(games))[0, :, -1]
        return found.mean(), found.var() / len(found)

    with pytest.MonkeyPatch.context() as patch:
        (kept, error), (anew, other) = played(True, patch), played(False, patch)
    assert kept != anew and abs(kept - anew) < 5 * np.sqrt(error + other)


@pytest.mark.parametrize("plain", [True, pytest.param(False, marks=REST)])
def test_a_second_choice_in_a_round_is_an_error(tmp_path, plain):
    file, twice = tmp_path / "my_linucb.py", "min(optimistic(state, arms), optimistic(state, arms))"
    file.write_text(OWN.format(imported="optimistic", promise="optimistic = True", chosen=twice))
    own = loader.module(loader.read(file)).Parameters
    with without_jit(plain), pytest.raises(ValueError, match="called twice in a round: remove `optimistic = True`"):
        contextual.play(match(crowd_foe(), [own()], 40, 12), [0])


ARMS = """
from privbandits_cli.adversaries import sphere_arms
from privbandits_cli.games.on_demand import ArmLaw

class Parameters(sphere_arms.Parameters):
    def on_demand(self):
        return {law}
"""


@pytest.mark.parametrize(
    ("law", "error", "message"),
    [
        ("ArmLaw(0.5, -0.5, 0.5)", None, ""),
        ("True", PluginError, "on_demand returned True: return ArmLaw"),
        ("ArmLaw(0.5, 0.5, 0.5)", ValueError, "no unit vectors in 4 dimensions have the means of ArmLaw"),
        ("ArmLaw(0.5, -0.5, 0.9)", ValueError, "no unit vectors in 4 dimensions have the means of ArmLaw"),
    ],
)
def test_an_adversary_of_ones_own_gives_the_law_of_its_arms(tmp_path, law, error, message):
    file = tmp_path / "my_arms.py"
    file.write_text(ARMS.format(law=law))
    played = match(loader.module(loader.read(file)).Parameters(), [make("linucb")], 40, 12, 4)
    if error is None:
        assert (contextual.play(played, [0]) > 0).all()
    else:
        with pytest.raises(error, match=message):
            contextual.play(played, [0])


OWN = """
from privbandits_cli.algorithms import linucb
from privbandits_cli.games import contextual
from privbandits_cli.games.ellipsoid import {imported}

class Parameters(linucb.Parameters):
    {promise}

def choose(state, arms, rng):
    return {chosen}

update = linucb.update
"""


@pytest.mark.parametrize(
    ("imported", "promise", "chosen", "expected"),
    [
        ("optimistic", "optimistic = True", "optimistic(state, arms)", None),
        ("optimistic", "pass", "optimistic(state, arms)", None),
        ("beta", "pass", "int(arms[0, 0] > 0)", None),
        ("beta", "optimistic = True", "0", "promises that `choose` itself calls `optimistic(state, arms)`"),
    ],
)
@pytest.mark.parametrize("plain", [True, pytest.param(False, marks=REST)])
def test_a_file_of_ones_own_promises_how_it_reads_the_arms(tmp_path, imported, promise, chosen, expected, plain):
    """What the built-in class promises does not count for the steps of another file."""
    file = tmp_path / "my_linucb.py"
    file.write_text(OWN.format(imported=imported, promise=promise, chosen=chosen))
    own = loader.module(loader.read(file)).Parameters
    played = match(crowd_foe(), [own()], 40)
    if expected is None:
        with without_jit(plain), np.errstate(over="ignore"):
            found = contextual.play(played, [0])
        assert np.isfinite(found).all() and (found > 0).all()
    else:
        with pytest.raises(PluginError, match=re.escape(expected)):
            contextual.play(played, [0])


@pytest.mark.slow
@pytest.mark.parametrize("case", [(150, 0.9), (600, 0.2)], ids=str)
@pytest.mark.parametrize("shape", [(2, 4), (D, 12), (4, 16), (9, 81), (16, 256)], ids=str)
def test_regrets_have_the_law_of_arms_drawn_ahead(shape, case):
    """The means of games of each kind differ by less than five deviations; with other means they differ by more."""
    games, best = case

    def played(adversary):
        d, k = shape
        game = match(adversary, [make("linucb")], 150, k, d)
        how = {"width": 1} if shape == (D, 12) else {}  # vectors would be compiled for this test alone
        found = contextual.play(game, range(games), **how)[0, :, -1]
        return found.mean(), found.var() / len(found)

    (ahead, ahead_error), (demanded, error) = played(foe("sphere_arms", gap=0.1)), played(crowd_foe())
    assert abs(ahead - demanded) < 5 * np.sqrt(ahead_error + error)
    other, other_error = played(crowd_foe(best=best))
    assert abs(ahead - other) > 5 * np.sqrt(ahead_error + other_error)


@pytest.mark.parametrize("games", some([80, 200], 80))
@pytest.mark.parametrize("name", some(PLAYERS, "linucb"))
def test_a_learner_that_looks_at_all_arms_meets_the_same_law(name, games, monkeypatch):
    """Its regret in many games has the mean of the same learner with few arms drawn."""

    def played():
        game = match(crowd_foe(), [LEARNERS[name]()], 80, 12, 4)
        found = contextual.play(game, range(games))[0, :, -1]
        return found.mean(), found.var() / len(found)

    few, error = played()
    monkeypatch.setattr(type(LEARNERS[name]()), "optimistic", False)
    every, other_error = played()
    assert few != every
    assert abs(few - every) < 5 * np.sqrt(error + other_error)


@pytest.mark.parametrize("block", [1, 7, 64])
@pytest.mark.parametrize("lineup", LINEUPS, ids=["few", "all"])
def test_blocks_change_no_number(block, lineup):
    names, *shape = lineup
    played = match(crowd_foe(), [LEARNERS[name]() for name in names], 100, *shape, checkpoints=[9, 50, 100])
    np.testing.assert_array_equal(contextual.play(played, [0, 1], block), contextual.play(played, [0, 1]))


@pytest.mark.parametrize("plain", [True, pytest.param(False, marks=REST)])
def test_a_learner_is_not_disturbed_by_others(plain):
    both = match(crowd_foe(), [LEARNERS["gaussian"](), LEARNERS["linucb"]()], 8 if plain else 60)
    alone = both._replace(algorithms=both.algorithms[1:])
    with without_jit(plain), np.errstate(over="ignore"):
        np.testing.assert_array_equal(contextual.play(both, [1])[1], contextual.play(alone, [1])[0])


@pytest.mark.parametrize("lineup", [FEW, *(pytest.param((PLAYERS, 9, d), marks=REST) for d in (2, 3, 5))])
def test_plain_python_plays_the_same_game(lineup):
    names, *shape = lineup
    played = match(crowd_foe(), [LEARNERS[name]() for name in names], 10, *shape)
    kept = contextual.play(played, [0])
    with without_jit():
        np.testing.assert_allclose(contextual.play(played, [0]), kept, atol=1e-9)


PROGRAM = """
import json
from privbandits_cli.games.contextual import play
from tests.games.test_on_demand import small
print(json.dumps(play(small(), [0, 1]).tolist()))
"""


def small():
    return match(crowd_foe(), [LEARNERS["linucb"]()], 300, 70, 9)


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="these are names of x86-64 processors")
def test_every_processor_plays_the_same_bytes():
    own = contextual.play(small(), [0, 1])
    for name, found in on_every_processor(PROGRAM):
        assert found == own.tolist(), name
