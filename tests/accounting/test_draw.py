"""Lemma B: its inequalities on grids, its constants against an adversarial search, its ε against all paths."""

import math
from itertools import product

import numpy as np
import pytest

from privbandits_cli.accounting import bounded_range
from privbandits_cli.accounting.draw import REACH, SIZE, SLOPE, A, Draw, composed, divergence, draw, largest
from privbandits_cli.accounting.exponential_weights import ExponentialWeights, attack
from privbandits_cli.games.bandit import Setting
from tests.conftest import make, some


def tuned(n_arms, rounds, sensitivity=1.0):
    """EXP3 with Auer's γ, as in `exp3.py`."""
    gamma = min(1.0, math.sqrt(n_arms * math.log(n_arms) / ((math.e - 1) * rounds)))
    return ExponentialWeights(gamma, n_arms, math.ceil(rounds), sensitivity)


# ------------------------------------------------------------------------------------------ its inequalities


def triangle(n):
    """0 < x < y < 1, `[n, n]` each."""
    share = (np.arange(n) + 0.5) / n
    y = share[:, None] * np.ones(n)
    return y * share, y


def slack(a, x, y):
    """ln(right side/left side) in step 2 of the proof, divided by x (1-y) y²."""
    rho = y + (1 - y) * np.exp(x)
    return (a * y**2 * (1 - rho**-2) - np.log(rho) - np.log1p(-x * (1 - y))) / (x * (1 - y) * y**2)


def integrand_from_below(a, y, t):
    """A lower bound on the integrand of step 2 on boxes, with y from y[0] to y[1] and t from t[0] to t[1]."""
    (y_low, y_high), (t_low, t_high) = y, t
    middle, half = (t_low + t_high) / 2, (t_high - t_low) / 2
    top = middle - y_high * (middle - np.expm1(-middle))  # falls in y; what t changes, by its steepest slope
    top -= half * np.maximum(abs(1 - y_low * (1 + np.exp(-t_high))), abs(1 - y_high * (1 + np.exp(-t_low))))
    least = (1 - t_high * (1 - y_low)) * (1 + y_high * np.expm1(-t_high))
    most = (1 - t_low * (1 - y_high)) * (1 + y_low * np.expm1(-t_low))
    rho = y_low + (1 - y_low) * np.exp(middle)  # the second term's logarithm has slopes in t of at most 2
    second = 2 * a * y_low**2 * np.exp(middle - 2 * half) / rho**3
    return np.where(top < 0, top / least, top / most) + second


def certified(a, cells):
    """The least of ln(right/left) by x (1-y) y² for y >= 1/2, from below: integrals of bounds over small boxes."""
    edges = np.linspace(0.5, 1, cells + 1)
    low, high = edges[:-1, None], edges[1:, None]
    worst = np.inf
    for rows in range(0, cells, 100):
        y = low[rows : rows + 100], high[rows : rows + 100]
        t = np.linspace(0, 1, cells + 1) * y[1]
        bound = integrand_from_below(a, y, (t[:, :-1], t[:, 1:]))
        integral = np.cumsum(bound * np.diff(t), axis=1)
        worst = min(worst, float((integral / (t[:, 1:] * y[1] ** 2)).min()))
    return worst


@pytest.mark.parametrize(("cells", "least"), [(1500, 0.002), pytest.param(3000, 0.005, marks=pytest.mark.slow)])
def test_the_potential_cannot_grow(cells, least):
    """Step 2 is proved for y <= 1/2. For larger y, boxes cover it. The slack itself is least on the edge x = y."""
    assert certified(A, cells) > least
    assert certified(0.217, cells) < 0
    edge = np.linspace(0.5, 0.9999, 100_001)
    assert slack(A, edge, edge).min() == pytest.approx(0.006692, abs=1e-6)
    assert slack(A, *triangle(1000))[100:, 100:].min() > 0.0066
    assert slack(0.218, edge, edge).min() > 0 > slack(0.217, edge, edge).min()


@pytest.mark.parametrize("q", [0.0, 0.01, 0.3, 0.9, 1.0])
def test_the_mean_walks_at_most_e_minus_1_times_its_share(q):
    x, y = triangle(1000)
    x, y = x[100:], y[100:]  # below, the numerator is lost to rounding
    grown = np.expm1(x)
    ratio = (grown - x * (1 - y) * (1 + grown)) / (x * y * (1 + q * grown))
    assert 0.5 - 1e-9 < ratio.min() < ratio.max() < math.e - 1
    if q == 0:
        assert ratio.max() > 1.71


def test_constants_are_rounded_up():
    y = np.linspace(0, 1, 100_001)
    for constant, values in (
        (REACH, y + (1 - y) * np.exp(y) + (math.e - 2) * y),
        (SLOPE, (1 - y) * y * np.exp(-A * y**2)),
        (SIZE, y * (1 - y) ** 2 * np.exp(-2 * A * y**2)),
    ):
        assert values.max() <= constant < 1.0002 * values.max()


def test_two_points_are_the_worst_law():
    """Mixtures of two laws on two points each, of mean 1 within e^±0.7, against the bound for their variance."""
    rng = np.random.default_rng(1)
    alpha = np.array([1.1, 1.5, 1.9, 2.0, 2.5, 6.0, 30.0])
    high, low = math.expm1(0.7), -math.expm1(-0.7)
    up = high * rng.choice([1.0, 1.0, 0.5, 0.01], (2, 5000)) * rng.uniform(0.98, 1, (2, 5000))
    down = low * rng.choice([1.0, 1.0, 0.5, 0.01], (2, 5000)) * rng.uniform(0.98, 1, (2, 5000))
    share = rng.uniform(size=5000) * rng.choice([0, 1], 5000)
    weight = np.array([share, 1 - share])
    variance = (weight * up * down).sum(axis=0)
    moments = [(weight * (down * (1 + up) ** a + up * (1 - down) ** a) / (up + down)).sum(axis=0) for a in alpha]
    true = np.log(moments).T / (alpha - 1)
    shares = true / np.array([divergence(Draw(0.7, v), alpha) for v in variance])
    assert shares.max() < 1 + 1e-9 and np.all(shares.max(axis=0) > 0.98)
    mass = variance / (variance + high**2)  # the points of orders above 2 are not the worst at 1.5
    other = mass * (1 + high) ** 1.5 + (1 - mass) * (1 - variance / high) ** 1.5
    assert np.max(moments[1] - other) > 0


# ---------------------------------------------------------------------------------- adversaries that search


def laws(u, game):
    """q and p of `[games, arms]` weights."""
    q = np.exp(u - u.max(axis=1, keepdims=True))
    q /= q.sum(axis=1, keepdims=True)
    return q, (1 - game.gamma) * q + game.floor


def search(game, base, games=1200, steps=150, seed=3):
    """The largest |log-ratio| and χ²-divergence of a draw, over Δ and ηΔ², of adversaries that keep arm 0 near 3η.

    Arm 0 starts anywhere from the floor up, earns base or base + Δ, and is then played where it is rare, others
    where it is not, with gains 1 mostly; a part of the games plays at random. Also the largest growth of what
    Lemma B's proof says cannot grow, and the largest mean of u's derivative over M.
    """
    rng, eta, n_arms, delta = np.random.default_rng(seed), game.floor, game.n_arms, game.sensitivity
    every = np.arange(games)
    u = rng.exponential(2.0, (games, n_arms))
    rare = np.minimum(eta * np.exp(rng.uniform(-3, 4, games)) / (1 - game.gamma), 0.9)
    u[:, 0] = np.log(np.exp(u[:, 1:]).sum(axis=1)) + np.log(rare / (1 - rare))
    share = eta / laws(u, game)[1][:, 0]
    low, high = u.copy(), u.copy()
    low[:, 0] += base * share
    high[:, 0] += (base + delta) * share
    v = np.zeros((games, n_arms))  # the derivative of `high` in the changed gain
    v[:, 0] = delta * share
    most = largest(game) * delta
    worst = {"ratio": 0.0, "variance": 0.0, "mean": 0.0, "growth": 0.0}
    before = np.full(games, np.inf)
    for _ in range(steps):
        (_, p_low), (q, p) = laws(low, game), laws(high, game)
        mean = (q * v).sum(axis=1)
        y = eta / p[:, 0]
        potential = np.maximum(0, v[:, 0] - most) * p[:, 0] * np.exp(A * y**2)
        chi = np.maximum(((p - p_low) ** 2 / p_low).sum(axis=1), ((p - p_low) ** 2 / p).sum(axis=1))
        for key, value in (
            ("ratio", np.abs(np.log(p / p_low)).max() / delta),
            ("variance", chi.max() / (eta * delta**2)),
            ("mean", mean.max() / most),
            ("growth", (potential - before).max() / (eta * delta)),
        ):
            worst[key] = max(worst[key], float(value))
        before = potential
        arm = rng.integers(0, n_arms, games)
        arm[p[:, 0] < eta * (1 + np.exp(rng.uniform(-1, 2, games)))] = 0
        arm = np.where(rng.random(games) < 0.15, rng.integers(0, n_arms, games), arm)
        gain = np.where(rng.random(games) < 0.7, 1.0, rng.random(games))
        played = p[every, arm]
        v[every, arm] -= gain * eta / played * (1 - eta / played) * (v[every, arm] - mean)
        high[every, arm] += gain * eta / played
        low[every, arm] += gain * eta / p_low[every, arm]
    return worst


@pytest.mark.parametrize(
    "case", some([*product((2, 3, 8), (1.0, 0.3, 1 / 19))], (2, 1.0), (3, 1 / 19), (8, 0.3)), ids=str
)
def test_no_adversary_finds_a_larger_draw(case):
    n_arms, sensitivity = case
    for gamma in (0.004, 0.1, 0.3):
        game = ExponentialWeights(gamma, n_arms, 1000, sensitivity)
        one, found = draw(game), search(game, 1 - sensitivity)
        assert found["ratio"] <= one.ratio / sensitivity
        assert found["variance"] <= one.variance / (game.floor * sensitivity**2)
        assert found["mean"] < 1 and found["growth"] < 1e-12
        if gamma == 0.004:  # and not by much
            assert found["ratio"] > 0.93 * one.ratio / sensitivity
            assert found["variance"] > 0.6 * one.variance / (game.floor * sensitivity**2)


def test_a_gain_near_1_reveals_more_than_one_near_0():
    """A search near 0 finds ratio 0.288 and variance 0.1945, which are no bounds: gains from 18/19 to 1 exceed them."""
    game = ExponentialWeights(0.004, 4, 1000, 1 / 19)
    near_0, near_1 = search(game, 0.0), search(game, 18 / 19)
    assert 0.27 < near_0["ratio"] < 0.289 and 0.18 < near_0["variance"] < 0.198
    assert near_1["ratio"] > 0.325 and near_1["variance"] > 0.255
    assert attack(tuned(4, 13798, 1 / 19), 2.0**-36, 18 / 19) > 1.29 * attack(tuned(4, 13798, 1 / 19), 2.0**-36)


# ------------------------------------------------------------------------------------------------- its ε


def paths_laws(game, *tables):
    """ln of the probability of each path of arms under tables of gains `[rounds, arms]`."""
    rounds, n_arms = tables[0].shape
    paths = np.array(list(product(range(n_arms), repeat=rounds)))
    every, log_laws = np.arange(len(paths)), []
    for gains in tables:
        u, log_law = np.zeros((len(paths), n_arms)), np.zeros(len(paths))
        for t in range(rounds):
            p = laws(u, game)[1][every, paths[:, t]]
            log_law += np.log(p)
            u[every, paths[:, t]] += game.floor * gains[t, paths[:, t]] / p
        assert np.exp(log_law).sum() == pytest.approx(1)
        log_laws.append(log_law)
    return log_laws


@pytest.mark.parametrize(("n_arms", "rounds"), [(2, 12), (3, 8)])
def test_all_paths_of_short_games_satisfy_the_bounds(n_arms, rounds):
    """Rényi divergences and δ at ε, exact, of neighbouring tables: a canary in round 1, then silence or coins."""
    rng = np.random.default_rng(0)
    orders, shares = np.array([1.2, 2.0, 8.0, 40.0]), []
    for gamma, sensitivity, silent in product((0.05, 0.2, 0.35), (1.0, 0.2), (True, False)):
        game = ExponentialWeights(gamma, n_arms, rounds - 2, sensitivity)
        table = rng.choice([0.0, 1.0], size=(rounds, n_arms))
        table[:2, 0] = 1.0
        table[2:] *= not silent
        other = table.copy()
        other[1, 0] -= sensitivity
        one, two = paths_laws(game, table, other)
        bound = game.k * divergence(draw(game), orders)
        for here, there in ((one, two), (two, one)):
            exact = [math.log(np.exp(a * here + (1 - a) * there).sum()) / (a - 1) for a in orders]
            assert np.all(exact <= bound)
            shares.append(exact / bound)
            for delta in (1e-2, 1e-4):
                epsilon = composed(draw(game), game.k, delta)
                assert np.maximum(0, np.exp(here) - np.exp(epsilon + there)).sum() <= delta
    assert np.max(shares) > 0.1  # in games this short, from equal weights


@pytest.mark.parametrize("arms", some([(4,), (2, 4, 16)], (4,)), ids=str)
def test_the_proved_epsilon_lies_between_the_attack_and_lemma_a(arms):
    ratios = []
    for k, n_arms, sensitivity in product((200, 5000, 100_000), arms, (1.0, 0.1)):
        game = tuned(n_arms, k, sensitivity)
        for delta in (1e-3, 1e-6):
            epsilon = composed(draw(game), k, delta)
            below = attack(game, delta, 1 - sensitivity)
            assert below <= epsilon
            ratios.append((below / epsilon, epsilon / bounded_range.composed(sensitivity, k, delta)))
    closest, gain = np.array(ratios).T
    assert closest.max() > 0.5 and gain.min() < 0.01


def test_figure_1():
    """Figure 1 of Tossou & Dimitrakakis 2017: EXP3-τ, ε = 240 in the paper, has ε of 1.06 to 1.51; EXP3 62 to 94."""
    setting = Setting(2**18, 4)
    for name, low, high in (("exp3_tau", 1.066, 1.504), ("exp3", 62.48, 93.52)):
        algorithm = make(name).tuned(setting)
        bounds = algorithm.bounds(setting, 2.0**-36)
        assert min(bound.epsilon for bound in bounds if bound.status == "proved") == pytest.approx(high, rel=4e-4)
        assert max(bound.epsilon for bound in bounds if bound.lower and bound.delta) == pytest.approx(low, rel=4e-4)


@pytest.mark.parametrize("gamma", [1e-6, 0.36, 0.37, 0.9])
@pytest.mark.parametrize("n_arms", [2, 1000])
def test_every_parameter_has_a_finite_bound(gamma, n_arms):
    for sensitivity in (1.0, 1e-3):
        game = ExponentialWeights(gamma, n_arms, 1000, sensitivity)
        one = draw(game)
        assert 0 < one.ratio <= sensitivity and 0 < one.variance < 2
        assert 0 < composed(one, 1000, 1e-6) < composed(one, 1000, 1e-9) < math.inf
    for nothing in (ExponentialWeights(gamma, n_arms, 1000, 0.0), ExponentialWeights(1.0, n_arms, 1000)):
        assert composed(draw(nothing), 1000, 1e-6) == 0.0
    with pytest.raises(ValueError, match="delta"):
        composed(one, 1000, 0.0)
