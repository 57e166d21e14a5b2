"""The contextual game: twins, contracts, laws of its adversaries, the sums of the learners, errors of configs."""

import math
from functools import cache

import numpy as np
import pytest
from numpy.random import SFC64, Generator
from scipy import stats

from privbandits_cli.games import bandit, contextual, ellipsoid, on_demand
from privbandits_cli.games.contextual import Contexts, Setting
from privbandits_cli.games.match import Match
from privbandits_cli.games.on_demand import LazyArms, new_crowd
from privbandits_cli.games.rewards import REWARDS, reward
from privbandits_cli.games.steps import composition, steps
from privbandits_cli.numerics.jit import compile_step, record, without_jit
from privbandits_cli.numerics.streams import stream
from tests.conftest import foe, make, some
from tests.naive_contextual import regrets

VECTORS = {
    "vectors": [[0.6, 0, 0.3], [0, 0.9, 0.1], [0.2, 0.2, 0.2], [0.5, 0.5, 0.5], [0.7, 0.1, 0], [0.1, -0.2, 0.8]],
    "theta": [0.5, 0.4, 0.3],
}
FOES = {
    "sphere": lambda: foe("sphere_arms", gap=0.1),
    "gaussian rewards": lambda: foe("sphere_arms", gap=0.2, rewards="gaussian"),
    "basis": lambda: foe("basis_arms", means=[0.9, 0.5, 0.1]),
    "fixed": lambda: foe("fixed_arms", **VECTORS),
    "drawn": lambda: foe("fixed_arms", rewards="signs"),
}
ARMS = {"basis": 3}  # others have as many, so that learners are compiled once
PRIVATE = {"epsilon": 50.0, "delta": 0.1}
LEARNERS = {
    "linucb": lambda: make("linucb"),
    "linucb, rho": lambda: make("linucb", rho=0.3),
    "lints": lambda: make("lints"),
    "lints, v": lambda: make("lints", rho=0.3, v=1.0),
    "gaussian": lambda: make("dp_linucb", calibration="code", **PRIVATE),
    "gaussian, exact": lambda: make("dp_linucb", calibration="exact", **PRIVATE),
    "gaussian, rho": lambda: make("dp_linucb", rho=100.0, calibration="printed", **PRIVATE),
    "gaussian, optimal": lambda: make("dp_linucb", calibration="code", shift="optimal", **PRIVATE),
    "wishart": lambda: make("dp_linucb", calibration="code", noise="wishart", **PRIVATE),
    "wishart, printed": lambda: make("dp_linucb", noise="wishart", calibration="printed", **PRIVATE),
    "wishart, unshifted": lambda: make("dp_linucb", calibration="code", noise="wishart_unshifted", **PRIVATE),
    "oful": lambda: make("adac_oful", rho=2.0),
    "oful, rarely": lambda: make("adac_oful", rho=50.0, regulariser=2.0, growth=3.0, alpha=0.01),
    "local": lambda: make("ldp_linucb", calibration="printed", **PRIVATE),
    "plain": lambda: make("plain_dp_linucb", epsilon=1.0, base=make("linucb")),
    "squarecb": lambda: make("squarecb", ridge=0.05),
    "squarecb, private": lambda: make("squarecb", epsilon=20.0),
    "squarecb, logistic": lambda: make("squarecb", oracle="logistic"),
    "squarecb, private logistic": lambda: make("squarecb", oracle="logistic", epsilon=20.0, calibration="printed"),
    "fastcb": lambda: make("fastcb", ridge=0.05),
    "fastcb, private": lambda: make("fastcb", epsilon=20.0, gamma=2.0),
    "vpo": lambda: make("vpo", ridge=0.05),
    "vpo, private logistic": lambda: make("vpo", oracle="logistic", epsilon=20.0, eta=100.0),
    "bpo": lambda: make("bpo", ridge=0.05, gamma=1.0),
    "bpo, private": lambda: make("bpo", epsilon=20.0, eta=0.01, gamma=0.1),
    "bpo, private logistic": lambda: make("bpo", oracle="logistic", epsilon=20.0),
    "regcb": lambda: make("regcb", ridge=0.05, width=1.0),
    "regcb, private": lambda: make("regcb", epsilon=20.0, width=1.0),
    "regcb, logistic": lambda: make("regcb", oracle="logistic"),
    "regcb, private logistic": lambda: make("regcb", oracle="logistic", epsilon=20.0, calibration="printed"),
}
WITHOUT_PRIVACY = ("linucb", "linucb, rho", "lints", "lints, v", "plain", "squarecb")
REST = pytest.mark.slow  # left to `make test-all`
# Compiling a learner takes longer than its short game in plain Python. So `make test` compiles a few of them only.
PLAIN = [True, pytest.param(False, marks=REST)]


def match(adversary, algorithms, horizon, k=6, d=3, planned=None, checkpoints=None, seed=5):
    """A match of tuned players who can play it."""
    setting = Setting(planned or horizon, k, contexts=Contexts(d))
    assert not list(adversary.errors(setting))
    adversary = adversary.tuned(setting)
    setting = adversary.revealed(setting)
    assert not [error for algorithm in algorithms for error in algorithm.errors(setting)]
    tuned = [algorithm.tuned(setting) for algorithm in algorithms]
    return Match(adversary, tuned, setting, np.array(checkpoints or [horizon], np.int64), seed)


def drawn(adversary, rounds, k, d, blocks=None, seed=1):
    """Arms `[rounds, d, k]` and means `[rounds, k]`."""
    setting = adversary.revealed(Setting(rounds, k, contexts=Contexts(d)))
    if adversary.on_demand():
        return drawn_on_demand(adversary, setting, rounds, seed)
    ranges = blocks or [range(1, rounds + 1)]
    parts = [(x.copy(), m.copy()) for x, m in adversary.arms(setting, Generator(SFC64(seed)), ranges)]
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def drawn_on_demand(adversary, setting, rounds, seed):
    """The same of a crowd, every arm of which is drawn."""
    shape = setting.known().dimension, setting.n_arms
    dealer = LazyArms(shape, new_crowd(adversary.on_demand(), *shape, False, Generator(SFC64(seed))), np.zeros(shape))
    deal_all, arms, means = on_demand.steps(False)["deal_round"], [], []
    for _ in range(rounds):
        deal_all(dealer, 0)
        arms.append(dealer.table.copy())
        means.append(dealer.records["theta"][0] @ arms[-1])
        means[-1][dealer.records["place"][0]] = dealer.records["best"][0]
    return np.array(arms), np.array(means)


# ------------------------------------------------------------------------------------------------ the game


def equals_its_twin(rival, names, plain, trials=(0, 3)):
    """Whole matrices and direct solves: the same arms, so regrets that differ by rounding alone."""
    players = [LEARNERS[name]() for name in names if foe_is_bounded(rival) or name in WITHOUT_PRIVACY]
    if rival == "drawn":
        players = [player for player in players if player.name != "ldp_linucb"]
    played = match(FOES[rival](), players, 70, ARMS.get(rival, 6), checkpoints=[1, 2, 33, 70])
    with without_jit(plain), np.errstate(over="ignore"):
        found = contextual.play(played, trials)
    for i, trial in enumerate(trials):
        np.testing.assert_allclose(found[:, i], regrets(played, trial), atol=1e-9)
    assert (found[:, 0] != found[:, -1]).any() or len(trials) == 1


ON_THE_BASIS = ("linucb", "lints", "gaussian", "wishart")


@pytest.mark.slow
@pytest.mark.parametrize("trials", [(3,), (0, 3)], ids=str)
@pytest.mark.parametrize(
    ("rival", "names"),
    [
        ("sphere", LEARNERS),
        ("gaussian rewards", LEARNERS),
        ("basis", ON_THE_BASIS),
        ("fixed", (*ON_THE_BASIS, "local")),
        ("drawn", ON_THE_BASIS),
    ],
    ids=FOES,
)
def test_equals_its_twin_in_plain_python(rival, names, trials):
    equals_its_twin(rival, names, True, trials)


@pytest.mark.parametrize(
    ("rival", "names"),
    [
        ("sphere", ("linucb", "gaussian", "lints")),
        *(pytest.param(rival, ON_THE_BASIS if rival == "basis" else LEARNERS, marks=REST) for rival in FOES),
    ],
    ids=["few", *FOES],
)
def test_equals_its_twin(rival, names):
    equals_its_twin(rival, names, plain=False)


COUNTED = [
    {"counter": "blt", "eigenvalues": "exact", "shift": "noise=3"},
    {"counter": "blt", "buffers": 2, "shift": "noise=3", "shift_by": "round"},
    {"counter": "honaker", "shift_by": "round"},
    {"counter": "smooth", "rho": 30.0},
    {"counter": "square_root", "shift": "optimal"},
    {"counter": "tree", "shift_by": "round"},
]


@pytest.mark.parametrize(
    "given",
    some(COUNTED, COUNTED[1], COUNTED[4]),  # a shift by the round, and the best one
    ids=lambda given: given["counter"],
)
@pytest.mark.parametrize("plain", PLAIN)
def test_counters_equal_their_twin(given, plain):
    """The noise of a counter, from its matrix, and shifts that grow with it; to the last of 70 rounds.

    The arms have different norms: the first round has no noise, and would leave ties.
    """
    played = match(FOES["fixed"](), [make("dp_linucb", **PRIVATE, **given)], 70, checkpoints=[1, 2, 33, 70])
    with without_jit(plain):
        found = contextual.play(played, [0, 3])
    for i, trial in enumerate([0, 3]):
        np.testing.assert_allclose(found[:, i], regrets(played, trial), atol=1e-9)


def foe_is_bounded(rival):
    return math.isfinite(REWARDS[FOES[rival]().law()].largest)


@pytest.mark.parametrize("d", [2, 4, 9])
@pytest.mark.parametrize("plain", PLAIN)
def test_equals_its_twin_in_other_dimensions(d, plain):
    """Past eight coordinates sums are done in another order, and past 64 arms in more than one tile."""
    names = ("linucb", "gaussian", "wishart", "lints")[d > 8 :]  # whose ties rounding breaks; noise leaves none
    played = match(FOES["sphere"](), [LEARNERS[name]() for name in names], 25, 70 if d == 9 else 7, d)
    with without_jit(plain), np.errstate(over="ignore"):
        found = contextual.play(played, [2])
    np.testing.assert_allclose(found[:, 0], regrets(played, 2), atol=1e-9)


@pytest.mark.parametrize("block", [1, 7, 64])
def test_blocks_change_no_number(block):
    played = match(FOES["sphere"](), [LEARNERS["linucb"](), LEARNERS["wishart"]()], 100, checkpoints=[9, 50, 100])
    np.testing.assert_array_equal(contextual.play(played, [0, 1], block), contextual.play(played, [0, 1]))


@pytest.mark.parametrize("planned", some([100, 1000], 100))
def test_a_game_cut_short_of_its_planned_horizon_has_the_same_rounds(planned):
    """40 rounds played with a planned horizon of 100 equal the first 40 of all 100."""
    players = [LEARNERS["gaussian"](), LEARNERS["wishart"]()]
    early = contextual.play(match(FOES["sphere"](), players, 40, planned=planned, checkpoints=[10, 40]), [0])
    late = contextual.play(match(FOES["sphere"](), players, planned, checkpoints=[10, 40, planned]), [0])
    np.testing.assert_array_equal(early, late[..., :2])
    with without_jit(planned == 100), np.errstate(over="ignore"):
        unplanned = contextual.play(match(FOES["sphere"](), players, 40, checkpoints=[10, 40]), [0])
    assert (unplanned != early).any()  # the control: with the noise of 40 rounds all is different


def test_a_learner_is_not_disturbed_by_others():
    both = match(FOES["sphere"](), [LEARNERS["gaussian"](), LEARNERS["linucb"]()], 70)
    alone = both._replace(algorithms=both.algorithms[1:])
    np.testing.assert_array_equal(contextual.play(both, [1])[1], contextual.play(alone, [1])[0])


def test_an_arm_beyond_the_declared_norm_is_refused():
    played = match(FOES["fixed"](), [LEARNERS["linucb"]()], 20)
    small = played.setting._replace(contexts=played.setting.contexts._replace(norm=0.5))
    with pytest.raises(ValueError, match=r"norm 0\.\d+ was played, but the declared bound is L = 0\.5"):
        contextual.play(played._replace(setting=small), [0])


@pytest.mark.parametrize("plain", PLAIN)
def test_basis_arms_are_a_bandit(plain):
    """LinUCB on the standard basis is an index of arms: the bandit game on the same rewards has the same regret."""
    from tests import bandit_twin

    marks = [10, 300] if plain else [10, 300, 3000]
    played = match(foe("basis_arms", means=[0.9, 0.6, 0.3]), [make("linucb")], 3000, 3, 3, checkpoints=marks)
    played = played._replace(seed=0)  # with seed 7 rounding decides a round in which two indices are equal
    numbers = stream(played.seed, "rewards", played.adversary.name, trial=0).random(3000)
    arms = bandit_twin.Parameters(s=math.sqrt(3), sigma=0.5, alpha=played.algorithms[0].alpha)
    rival = bandit_twin.Table(list(numbers), [0.9, 0.6, 0.3])
    as_bandit = Match(rival, [arms], bandit.Setting(3000, 3), played.checkpoints, 0)
    with without_jit(plain):
        np.testing.assert_allclose(contextual.play(played, [0]), bandit.play(as_bandit, [0]), atol=1e-9)


# ---------------------------------------------------------------------------------------------- adversaries


@pytest.mark.parametrize(
    "case",
    some(
        [(when, *shape) for when in ("ahead", "on_demand") for shape in ((2, 9), (3, 9), (5, 25), (9, 81), (16, 64))]
        + [("ahead", 3, 6)],
        ("ahead", 3, 6),
    ),
)
@pytest.mark.parametrize("gap", some([0.0, 0.3], 0.3))
def test_sphere_arms_have_their_documented_means(case, gap):
    when, d, k = case
    x, means = drawn(foe("sphere_arms", gap=gap, drawn=when), 300, k, d)
    np.testing.assert_allclose(np.sqrt((x**2).sum(axis=1)), 1, atol=1e-12)
    ordered = np.sort(means, axis=1)
    assert (ordered[:, -1] == 0.75).all() and (ordered[:, -2] <= 0.75 - gap).all() and (ordered[:, 0] >= -0.75).all()
    flat = x.transpose(0, 2, 1).reshape(-1, d)
    theta, *_ = np.linalg.lstsq(flat, means.ravel(), rcond=None)
    np.testing.assert_allclose(flat @ theta, means.ravel(), atol=1e-12)
    assert np.linalg.norm(theta) == pytest.approx(1)
    counts = np.bincount(means.argmax(axis=1), minlength=k)
    assert stats.chisquare(counts).pvalue > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [(when, d) for when in ("ahead", "on_demand") for d in (2, 4, 5, 12)],
)
def test_the_means_and_the_rest_of_sphere_arms_have_their_laws(case):
    """A coordinate of a random direction is 2B - 1, B ~ Beta((d-1)/2, (d-1)/2), here truncated; the rest is uniform."""
    (when, d), rounds, k, gap = case, 4000, 5, 0.2
    x, means = drawn(foe("sphere_arms", gap=gap, drawn=when), rounds, k, d)
    others = means != 0.75
    b = stats.beta((d - 1) / 2, (d - 1) / 2, loc=-1, scale=2)
    low, high = b.cdf(-0.75), b.cdf(0.75 - gap)
    u = (b.cdf(means[others]) - low) / (high - low)
    assert stats.kstest(u, "uniform").pvalue > 1e-6
    wrong = stats.beta((d + 2) / 2, (d + 2) / 2, loc=-1, scale=2)  # the control: the law of three dimensions more
    v = (wrong.cdf(means[others]) - wrong.cdf(-0.75)) / (wrong.cdf(0.75 - gap) - wrong.cdf(-0.75))
    assert stats.kstest(v, "uniform").pvalue < 1e-6
    flat = x.transpose(0, 2, 1)[others]
    theta, *_ = np.linalg.lstsq(flat, means[others], rcond=None)
    axis = np.linalg.svd(theta[None])[2][1]  # across θ
    along = flat @ axis / np.sqrt(1 - means[others] ** 2)
    if d == 2:
        assert abs((along > 0).mean() - 0.5) < 5 * 0.5 / math.sqrt(len(along))
    else:
        rest = stats.beta((d - 2) / 2, (d - 2) / 2, loc=-1, scale=2)
        assert stats.kstest(along, rest.cdf).pvalue > 1e-6


@pytest.mark.parametrize("rival", FOES)
def test_arms_do_not_depend_on_blocks(rival):
    k = ARMS.get(rival, 6)
    whole = drawn(FOES[rival](), 50, k, 3)
    parts = drawn(FOES[rival](), 50, k, 3, [range(1, 2), range(2, 31), range(31, 51)])
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


def test_drawn_arms_are_those_of_chowdhury_and_zhou():
    adversary = foe("fixed_arms")
    vectors, theta = adversary.drawn(Setting(100, 40, contexts=Contexts(5)), np.random.default_rng(0))
    np.testing.assert_array_equal(vectors[:4, :4], np.eye(4))
    np.testing.assert_array_equal(vectors[4], [0, 0, 0, 0, 1])
    np.testing.assert_allclose(np.linalg.norm(vectors[5:, :4], axis=1), 1)
    assert (vectors[:, 4] == 1).all() and theta[4] == 0.5 and np.linalg.norm(theta[:4]) == pytest.approx(0.5)
    assert adversary.bounds(Setting(100, 40, contexts=Contexts(5))) == pytest.approx((math.sqrt(2), math.sqrt(0.5)))


def test_arms_of_the_shape_sphere_are_uniform_on_it():
    """A coordinate of a uniform direction in three dimensions is uniform on [-1, 1]; one of two of its kind is not."""
    adversary, setting = foe("fixed_arms", shape="sphere", rewards="signs"), Setting(100, 2000, contexts=Contexts(3))
    vectors, theta = adversary.drawn(setting, np.random.default_rng(0))
    rows = np.vstack([vectors, theta])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)
    assert all(stats.kstest(rows[:, i], "uniform", (-1, 2)).pvalue > 1e-4 for i in range(3))
    assert stats.kstest(rows[:, 0] * rows[:, 1], "uniform", (-1, 2)).pvalue < 1e-4
    assert adversary.bounds(setting) == (1.0, 1.0) and not list(adversary.errors(setting))
    assert "set rewards: signs" in next(foe("fixed_arms", shape="sphere").errors(setting))
    given = foe("fixed_arms", shape="sphere", rewards="signs", vectors=[[1.0] * 3] * 2000, theta=[0.1] * 3)
    assert "leave vectors and theta out" in next(given.errors(setting))


@pytest.mark.parametrize("law", REWARDS)
def test_rewards_have_their_mean_and_are_subgaussian(law):
    kind, sigma, largest, _ = REWARDS[law]
    rng, drawn, place = np.random.default_rng(3), compile_step(reward), [*REWARDS].index(law)
    numbers = rng.random(40_000) if kind == "uniform" else rng.standard_normal(40_000)
    for mean in (0.1, 0.75):
        y = np.array([reward(place, mean, number) for number in numbers])
        np.testing.assert_array_equal(y, [drawn(place, mean, number) for number in numbers])
        assert abs(y.mean() - mean) < 5 * sigma / math.sqrt(len(y))
        assert np.abs(y).max() <= largest
        assert y.std() <= 1.03 * sigma


# ------------------------------------------------------------------------------------------------- the sums


SHAPES = [(1, 2), (5, 25), (8, 130), (9, 2), (12, 64), (15, 130)]


@pytest.mark.parametrize("case", [*((True, *shape) for shape in SHAPES), *some([(False, *shape) for shape in SHAPES])])
def test_the_optimistic_arm_is_the_best(case):
    plain, d, k = case
    rng, optimistic = (
        np.random.default_rng(d * k),
        ellipsoid.optimistic if plain else compile_step(ellipsoid.optimistic),
    )
    known = Contexts(d)
    for _ in range(20):
        root = rng.standard_normal((d, 2 * d))
        v = root @ root.T
        state = record(
            theta=rng.standard_normal(d), inverse=np.linalg.inv(v), logdet=np.linalg.slogdet(v)[1],
            **ellipsoid.width(known, 0.1, 0.5, 2.0, 0.3), **ellipsoid.room(known, k),
        )  # fmt: skip
        arms = rng.standard_normal((d, k))
        beta = (
            1.0 * math.sqrt(max(0, 2 * math.log(20) + np.linalg.slogdet(v)[1] - d * math.log(0.5))) + math.sqrt(2) + 0.3
        )
        scores = arms.T @ state[0].theta + beta * np.sqrt(np.einsum("ia,ij,ja->a", arms, np.linalg.inv(v), arms))
        assert optimistic(state[0], arms) == scores.argmax()


@cache
def inverting():
    """The compiled `invert`."""
    return compile_step(ellipsoid.invert)


@pytest.mark.parametrize("d", [1, 3, 8, 40])
def test_invert(d):
    rng, invert = np.random.default_rng(d), inverting()
    root = rng.standard_normal((d, d + 3))
    v = 1e12 * (root @ root.T)
    inverse = v.copy()
    assert invert(inverse) == pytest.approx(np.linalg.slogdet(v)[1], rel=1e-12)
    np.testing.assert_allclose(inverse @ v, np.eye(d), atol=1e-9)
    flipped = v - 1.001 * np.linalg.eigvalsh(v)[0] * np.eye(d)  # one eigenvalue is now negative
    assert np.isnan(invert(flipped))


@pytest.mark.parametrize("case", some([(True, 5), (False, 3), (False, 12)], (True, 5)), ids=str)
def test_rank_one_updates_agree_with_a_direct_solve(case):
    """To 1e-9 in every round, before and after a renewal; a renewal removes the effect of a small perturbation."""
    plain, d = case
    setting = Setting(10_000, 10, contexts=Contexts(d))
    algorithm = make("linucb", rho=0.5).tuned(setting)
    with without_jit(plain):
        bound, state = steps(composition(algorithm)), algorithm.state(setting)[0]
    rng = np.random.default_rng(8)
    axis = rng.standard_normal(d)
    for t in range(1, 2100):
        x = rng.standard_normal(d) * 0.01 + axis  # nearly one direction: badly conditioned
        x /= np.linalg.norm(x)
        if t == 1500:
            state.inverse[0, 0] *= 1.01
        bound["update"](state, x, rng.standard_normal(), rng)
        if t in (1, 10, 1023, 1024, 1025, 1499, 1501, 2048, 2099):
            direct = np.linalg.solve(state.v, state.u)
            apart = np.abs(state.inverse @ state.v - np.eye(d)).max(), np.abs(state.theta - direct).max()
            assert max(apart) > 1e-6 if t == 1501 else max(apart) < 1e-9, t
            if t != 1501:
                assert state.logdet == pytest.approx(np.linalg.slogdet(state.v)[1], abs=1e-9)


@pytest.mark.parametrize("shape", some([(6, 3), (25, 5)], (6, 3)), ids=str)
def test_learns_what_uniform_play_does_not(shape):
    """On the sphere uniform play loses 0.75 a round."""
    played = match(foe("sphere_arms", gap=0.1), [make("linucb")], 20_000, *shape, checkpoints=[2_000, 20_000])
    half, full = contextual.play(played, [0])[0, 0]
    assert full < 150 and full < 2 * half


def update(state, x, reward, rng):
    """Placeholder for LinUCB's step until the loop is compiled."""


def updates(states, xs, ys, rounds, rng):
    """Play this many rounds, cycling through the data."""
    for t in range(rounds):
        update(states[0], xs[t % len(xs)], ys[t % len(xs)], rng)


@pytest.mark.slow
def test_nothing_drifts_in_a_million_rounds():
    """V against the sum of each datum times how often it was seen; the rest against direct solves."""
    rng, rounds, d = np.random.default_rng(5), 10**6 - 1, 5
    xs, ys = rng.standard_normal((1021, d)), rng.choice([-1.0, 1.0], 1021)
    xs /= np.linalg.norm(xs, axis=1, keepdims=True)
    setting = Setting(rounds, 25, contexts=Contexts(d))
    states = make("linucb").tuned(setting).state(setting)
    compile_step(updates, update=steps(("privbandits_cli.algorithms.linucb",))["update"])(states, xs, ys, rounds, rng)
    state, seen = states[0], rounds // 1021 + (np.arange(1021) < rounds % 1021)
    v, u = np.eye(d) + (xs * seen[:, None]).T @ xs, (xs * (seen * ys)[:, None]).sum(axis=0)
    assert state.t % 1024 == 575  # far from a renewal
    np.testing.assert_allclose(state.v, v, rtol=1e-9, atol=1e-9 * v.max())
    np.testing.assert_allclose(state.inverse @ v, np.eye(d), atol=1e-9)
    np.testing.assert_allclose(state.theta, np.linalg.solve(v, u), rtol=1e-9)
    assert state.logdet == pytest.approx(np.linalg.slogdet(v)[1], abs=1e-9)


def test_rotations_do_not_drift_in_a_million_rounds():
    """F' F against V, and F' c against Σ x y: each rotation has a relative error of a few 1e-16."""
    rng, rounds, d = np.random.default_rng(6), 10**6, 5
    x = rng.standard_normal(d) * 0.01 + rng.standard_normal((1000, 1))  # nearly one direction: badly conditioned
    x[::2] = rng.standard_normal((500, d))
    y = rng.choice([-1.0, 1.0], 1000)
    setting = Setting(rounds, 25, contexts=Contexts(d))
    states = make("lints").tuned(setting).state(setting)
    compile_step(updates, update=steps(("privbandits_cli.algorithms.lints",))["update"])(states, x, y, rounds, rng)
    factor, v, u = states[0].factor, np.eye(d) + 1000 * x.T @ x, 1000 * x.T @ y
    assert (np.tril(factor[:, :d], -1) == 0).all() and states[0].t == rounds + 1
    np.testing.assert_allclose(factor[:, :d].T @ factor[:, :d], v, atol=1e-10 * v.max())
    np.testing.assert_allclose(factor[:, :d].T @ factor[:, d], u, atol=1e-10 * v.max())


# ----------------------------------------------------------------------------------------------------- errors


CONFIG = """\
experiment: x
game: contextual
horizon: 100
dimension: 3
arms: 4
trials: 2
adversary: sphere_arms
algorithms: [linucb]
summary: {centre: mean}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("dimension: 3", "dimension: 0", "x.yaml:4:12: dimension should be greater than or equal to 1"),
        ("dimension: 3\n", "", "missing key 'dimension': d, the number of coordinates of an arm"),
        ("dimension: 3", "dimension: 1", "x.yaml:7:12: on a line the only means are 1 and -1"),
        ("horizon: 100", "horizon: 100\nset: simplex", "x.yaml:4:1: the game contextual has no 'set'"),
        ("horizon: 100", "horizon: 100\nplanned_horizon: 50", "x.yaml:4:18: it is shorter than the horizon 100"),
        ("horizon: 100", "horizon: [50, 100]\nplanned_horizon: 500", "x.yaml:3:10: a planned_horizon needs a single"),
        ("arms: 4", "arms: d^3", "x.yaml:5:7: arms should be an integer or should be 'd^2'"),
        ("game: contextual", "game: bandit", "x.yaml:4:1: the game bandit has no 'dimension'"),
        ("[linucb]", "[exp3]", "x.yaml:8:14: exp3 plays the game bandit, not contextual"),
        ("adversary: sphere_arms", "adversary: stochastic", "stochastic plays the game bandit, not contextual"),
        ("sphere_arms", "{name: sphere_arms, gap: 1.6}", "x.yaml:7:12: gap = 1.6 leaves no room"),
        ("sphere_arms", "basis_arms", "x.yaml:7:12: the standard basis of dimension 3 has 3 arms, not 4"),
        (
            "sphere_arms",
            "{name: fixed_arms, vectors: [[1, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1]], theta: [0.1, 0, 0], norm: 1}",
            "x.yaml:7:12: arm 3 has norm 1.4142135623730951, above the declared bound norm = 1",
        ),
        (
            "sphere_arms",
            "{name: fixed_arms, vectors: [[1, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1]], theta: [2, 0.1, 0.1]}",
            "the means <θ, x> lie in [0.1, 2], but those of bernoulli rewards must lie in [0, 1]",
        ),
        (
            "sphere_arms",
            "{name: fixed_arms, vectors: [[1, 0], [0, 1], [0, 1], [0, 0.5]], theta: [0.1, 0.1]}",
            "vectors and theta need d = 3 numbers each, but have 2",
        ),
        ("[linucb]", "[{name: dp_linucb, epsilon: 1, delta: 1}]", "x.yaml:8:51: delta should be less than 1, got 1"),
        ("[linucb]", "[{name: dp_linucb, epsilon: 0, delta: 0.1}]", "x.yaml:8:41: epsilon should be greater than"),
        (
            "[linucb]",
            "[{name: dp_linucb, epsilon: 1, delta: 0.1, noise: wishart_unshifted, rho: 3}]",
            "x.yaml:8:14: wishart_unshifted has no shift",
        ),
        (
            "sphere_arms\nalgorithms: [linucb]",
            "{name: sphere_arms, rewards: gaussian}\nalgorithms: [{name: dp_linucb, epsilon: 1, delta: 0.1}]",
            "x.yaml:8:14: its noise hides bounded rewards only, and these are unbounded",
        ),
    ],
)
def test_errors_are_located_and_explained(tmp_path, monkeypatch, old, new, message):
    from privbandits_cli.experiment.config import ConfigError, load

    assert old in CONFIG
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "x.yaml"
    path.write_text(CONFIG.replace(old, new))
    with pytest.raises(ConfigError) as caught:
        load(path.relative_to(tmp_path))
    assert message in "\n".join(caught.value.errors)


def test_a_config_is_tuned_for_its_planned_horizon(tmp_path):
    from privbandits_cli.experiment.config import load
    from privbandits_cli.experiment.plan import make_plan

    path = tmp_path / "x.yaml"
    text = CONFIG.replace("dimension: 3", "dimension: [3, 5]").replace("arms: 4", "arms: d^2")
    path.write_text(text.replace("horizon: 100", "horizon: 100\nplanned_horizon: 1000"))
    curves = make_plan(load(path)).curves
    assert [(curve.horizon, curve.setting.horizon, curve.setting.n_arms) for curve in curves] == [
        (100, 1000, 9),
        (100, 1000, 25),
    ]
    assert [curve.swept for curve in curves] == [{"dimension": 3}, {"dimension": 5}]
    assert [curve.adversary_label for curve in curves] == ["Arms on the sphere (d = 3)", "Arms on the sphere (d = 5)"]
    path.write_text(text)
    assert {curve.key for curve in make_plan(load(path)).curves}.isdisjoint(curve.key for curve in curves)


def test_no_round_costs_more_than_the_largest_regret():
    """Means are <θ, x>, at most L S, and means of rewards, at most the largest reward."""
    setting = Setting(8, 4, contexts=Contexts(2, norm=0.5, theta_norm=3.0, reward=math.inf))
    assert setting.largest_regret() == 3.0
    assert setting._replace(contexts=setting.contexts._replace(reward=1.0)).largest_regret() == 2.0
    assert Setting(8, 4).largest_regret() == 1.0
    assert Setting(8, 4, v=1.0, u=4.0).largest_regret() == 4.0  # means in [-2, 2], as E X² <= 4
