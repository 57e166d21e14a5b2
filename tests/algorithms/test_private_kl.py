"""DP-KLUCB, DP-IMED and AdaP-KLUCB: phases and indices by hand, limits, the width's law, and reference values."""

import math

import numpy as np
import pytest

from privbandits_cli.analysis.rates import theory
from privbandits_cli.games.bandit import Draws, Setting, play
from privbandits_cli.numerics.kl import chernoff_reach, private_reach, reach
from tests.algorithms.test_algorithms import ready
from tests.conftest import first, foe, make, match, some
from tests.naive import by_chernoff

TWO = Setting(1000, 2)


def played(bound, state, rounds, gain=lambda arm, t: 1.0 - arm, noise=0.0):
    """The arms of some rounds."""
    arms = []
    for t in range(rounds):
        draws = Draws(0.0, noise)
        arms.append(bound["choose"](state, draws))
        bound["update"](state, arms[-1], gain(arms[-1], t), draws)
    return arms


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("name", ["dp_klucb", "dp_imed", "adap_klucb"])
def test_a_phase_plays_one_arm_as_often_as_before(name):
    """Gains of 1 and 0 without noise: the arm with gains of 1 has phases of 1, 1, 2, 4, ... rounds."""
    bound, state = ready(name, TWO, epsilon=50.0)
    arms = played(bound, state, 64)
    assert arms[:2] == [0, 1] and sum(arms) <= 4
    changes = np.flatnonzero(np.diff(arms)) + 1
    assert state.plays.sum() <= 64 and state.plays[0] & (state.plays[0] - 1) == 0
    assert len(changes) <= 4


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize(("alpha", "lengths"), [(2.0, [1, 1, 2, 4, 8]), (1.1, [1, 1, 1, 1]), (1.5, [1, 1, 1, 2, 3])])
def test_phases_grow_by_alpha(alpha, lengths):
    bound, state = ready("dp_klucb", Setting(1000, 1), epsilon=1.0, alpha=alpha)
    seen = []
    while len(seen) < len(lengths):
        bound["choose"](state, Draws(0, 0))
        bound["update"](state, 0, 1.0, Draws(0, 0))
        if state.played == 0:
            seen.append(int(state.length))
    assert seen == lengths


@pytest.mark.usefixtures("by_hand")
def test_sums_keep_all_gains_and_all_noise_or_those_of_the_last_phase():
    """One arm, phases of 1, 1, 2 and 4 rounds with gains of 1, noise of 3/ε at each end."""
    for memory, wanted in (("all", (8 + 4 * 6, 8, 4)), ("last", (4 + 6, 4, 1))):
        bound, state = ready("dp_klucb", Setting(1000, 1), epsilon=0.5, memory=memory)
        played(bound, state, 8, noise=3.0)
        assert (state.sums[0], state.counts[0], state.noises[0]) == wanted
        assert state.plays[0] == 8 and state.total == 0


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize(
    ("width", "own", "rate", "h"), [("asymptotic", {}, 0.5, 0), ("chernoff", {"eta": 0.2}, 0.4, 1)]
)
def test_the_leader_has_the_largest_index(width, own, rate, h):
    bound, state = ready("dp_klucb", Setting(10**6, 3), epsilon=0.5, width=width, **own)
    rng = np.random.default_rng(3)
    leaders = set()
    for _ in range(200):
        state.counts[:] = state.plays[:] = 2 ** rng.integers(3, 14, 3)
        state.sums[:], state.noises[:] = rng.random(3) * state.counts, rng.integers(1, 8, 3)
        state.t, state.played = 50_000, 0
        cost = (math.log(50_000) - h * state.noises * math.log(0.2 * 1.8)) / state.counts
        index = [private_reach(x, c, rate) for x, c in zip(state.sums / state.counts, cost, strict=True)]
        assert bound["choose"](state, Draws(0, 0)) == int(np.argmax(index))
        leaders.add(state.arm)
    assert leaders == {0, 1, 2}


def test_without_noise_the_index_is_that_of_kl_ucb():
    for x in (0.0, 0.3, 0.75, 0.999):
        for cost in (1e-4, 0.01, 1.0):
            assert private_reach(x, cost, 1e9) == pytest.approx(reach(x, cost), rel=1e-12)


@pytest.mark.parametrize("trials", some([5000, 20_000], 5000))
def test_chernoffs_width_covers_at_every_t_and_the_asymptotic_one_does_not(trials):
    """P(index < μ) <= 1/t for N gains and m Laplace numbers, which the asymptotic index does not count."""
    rng, mu, t, epsilon, n = np.random.default_rng(8), 0.6, 20, 0.5, 64
    missed = {}
    m, cost, h = 7, math.log(t) / n, -math.log(0.3 * 1.7)
    noisy = rng.binomial(n, mu, trials) + rng.laplace(scale=1 / epsilon, size=(trials, m)).sum(1)
    index = {
        "chernoff": lambda x: private_reach(x, cost + m * h / n, 0.7 * epsilon),
        "optimal": lambda x: chernoff_reach(x, cost, m / n, epsilon),
        "asymptotic": lambda x: private_reach(x, cost, epsilon),
    }
    for width, of in index.items():
        far = [of(min(1, max(0, x))) for x in noisy / n]
        missed[width] = np.mean(np.array(far) < -math.log(1 - mu))
    assert missed["chernoff"] < missed["optimal"] < 1 / t < missed["asymptotic"]


def test_the_optimal_index_is_the_least_over_a_grid_and_below_that_of_every_eta():
    for x in (0.0, 0.3, 0.7, 0.99, 1.0):
        for n, m, epsilon in ((20, 3, 1.0), (500, 9, 0.1), (10**5, 17, 0.01), (10**6, 20, 10.0), (8, 1, 1e4)):
            cost = math.log(1000) / n
            found = chernoff_reach(x, cost, m / n, epsilon)
            rates = min(epsilon, 40) * np.exp(-np.linspace(1e-6, 40, 100_001))
            spent = cost + rates * x - m / n * np.log1p(-((rates / epsilon) ** 2))
            least = (np.expm1(-spent) / np.expm1(-rates)).min()
            assert -math.expm1(-found) == pytest.approx(min(1, least), rel=1e-7)
            for eta in (0.1, 0.3, 0.5):
                h = -math.log(eta * (2 - eta))
                other = private_reach(x, cost + m * h / n, (1 - eta) * epsilon)
                assert math.expm1(-found) >= math.expm1(-other) - 1e-9


@pytest.mark.usefixtures("by_hand")
def test_the_first_phase_is_counted_in_units_of_one_over_epsilon():
    bound, state = ready("dp_klucb", TWO, epsilon=0.5, first=2.2)
    arms = played(bound, state, 10)
    assert arms == [0] * 5 + [1] * 5 and state.plays.tolist() == [5, 5] and state.noises.tolist() == [1, 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "own", "centre", "low", "high"),
    [
        ("dp_klucb", {}, np.mean, 135, 170),  # reference: mean 156, over 100 trials
        ("dp_klucb", {"width": "chernoff"}, np.mean, 200, 300),
        ("dp_klucb", {"width": "optimal"}, np.mean, 200, 240),
        ("dp_klucb", {"width": "optimal", "first": 16}, np.mean, 170, 210),
        ("dp_imed", {}, np.median, 80, 125),  # median 104
        ("adap_klucb", {}, np.mean, 1400, 1800),  # mean 1555
    ],
)
def test_reference_values_on_c2(name, own, centre, low, high):
    """ε = 1, T = 10^6."""
    game = match(foe("bernoulli", means="C2"), [make(name, epsilon=1.0, **own)], 10**6, 5)
    assert low < centre(play(game, range(40))[0, :, 0]) < high


def pulls_by_hand(t, mean, best, first, epsilon):
    """The bound on an arm's plays, phase by phase, with x_m by bisection of the index."""
    plays, total = first, float(min(first, t))
    while plays < t:
        m = total_phases(plays, first)
        low, high = -50.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            if by_chernoff(plays, m, epsilon)(middle, best) > math.log(t):
                low = middle
            else:
                high = middle
        above = 1.0 if low <= 0 or low <= mean else math.exp(-by_chernoff(plays, m, epsilon)(1 - low, 1 - mean))
        below, other = 0.0, first
        while plays + other < t:
            below += 1 / (plays + other + 1)
            other *= 2
        total += (min(2 * plays, t) - plays) * min(1, above + below)
        plays *= 2
    return total


def total_phases(plays, first):
    return round(math.log2(plays / first)) + 1


@pytest.mark.parametrize(("epsilon", "first"), first(1, [(1.0, 16), (0.1, 160), (10.0, 1)]))
def test_the_finite_bound_is_the_sum_over_phases(epsilon, first):
    """The package's grid of λ may only enlarge it, and by less than one part in a thousand."""
    means, t = np.array([0.75, 0.625, 0.5, 0.25]), 50_000
    algorithm = make("dp_klucb", epsilon=epsilon, first=16 if first > 1 else 0, width="optimal")
    (bound,) = algorithm.instance_regret_bound(np.array([float(t)]), means, Setting(10**6, 4))
    by_hand = sum((0.75 - mu) * pulls_by_hand(t, mu, 0.75, first, epsilon) for mu in means)
    assert by_hand * (1 - 1e-9) <= bound <= 1.001 * by_hand


def test_the_finite_bound_is_above_the_regret_and_grows_like_the_square_of_the_logarithm():
    rounds = np.array([1e4, 1e6, 1e8, 1e12, 1e18])
    means, setting = np.array([0.75, 0.625, 0.5, 0.375, 0.25]), Setting(10**6, 5)
    for own in ({"width": "optimal"}, {"width": "chernoff"}, {"width": "optimal", "memory": "last"}):
        algorithm = make("dp_klucb", epsilon=1.0, first=16, **own)
        bound = algorithm.instance_regret_bound(rounds, means, setting)
        game = match(foe("bernoulli", means="C2"), [algorithm], 10**4, 5)
        lost = play(game, range(32))[0, :, 0]
        assert lost.mean() + 3 * lost.std() / math.sqrt(32) < bound[0] < 10**4 * 0.5 / 3
        assert (np.diff(bound) > 0).all() and bound[-1] / np.log(1e18) ** 2 < bound[1] / np.log(1e6) ** 2
        assert theory(algorithm, foe("bernoulli", means="C2"), setting, rounds).bound.tolist() == bound.tolist()
    assert make("dp_klucb", epsilon=1.0).instance_regret_bound(rounds, means, setting) is None
    assert (
        make("dp_klucb", epsilon=1.0, alpha=1.0001, width="optimal").instance_regret_bound(rounds, means, setting)
        is None
    )


def test_both_bounds_are_epsilon():
    for name in ("dp_klucb", "dp_imed"):
        algorithm = make(name, epsilon=0.7).tuned(TWO)
        upper, *_, lower = algorithm.bounds(TWO, 1e-6)
        assert upper.epsilon == 0.7 and upper.delta == 0 and not upper.lower and lower.lower
        assert lower.epsilon == pytest.approx(0.7, abs=3e-6)
