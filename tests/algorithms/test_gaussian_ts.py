"""Gaussian Thompson sampling: the law of its arms, its rounds by hand, and both sides of its account."""

import math

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.accounting import gaussian
from privbandits_cli.games.bandit import Numbers, Setting, play
from tests.algorithms.test_algorithms import ready
from tests.conftest import foe, make, match, some

SMALL = Setting(100, 3)


def numbers(*normal):
    return Numbers(0.0, 0.0, np.array(normal), 0)


@pytest.mark.usefixtures("by_hand")
def test_rounds_by_hand():
    """b = 1 and c = 4: after one pull of each arm the draws are S/2 + √2 z, and S/3 + √(4/3) z after two."""
    bound, state = ready("gaussian_ts", SMALL, mu=None, b=1, c=4.0)
    for arm, gain in enumerate((1.0, 0.0, 0.5)):
        assert bound["choose"](state, numbers(9.0, 9.0, 9.0)) == arm
        bound["update"](state, arm, gain, numbers(9.0, 9.0, 9.0))
    assert bound["choose"](state, numbers(-1.0, 0.5, 0.0)) == 1
    np.testing.assert_allclose(state.drawn, [0.5 - math.sqrt(2), math.sqrt(0.5), 0.25], rtol=1e-12)
    bound["update"](state, 1, 1.0, numbers(0.0, 0.0, 0.0))
    bound["choose"](state, numbers(0.0, 1.0, 0.0))
    np.testing.assert_allclose(state.drawn, [0.5, 1 / 3 + math.sqrt(4 / 3), 0.25], rtol=1e-12)


@pytest.mark.parametrize("c", some([1.0, 3.0], 3.0))
def test_arms_are_drawn_by_the_probability_that_they_are_best(c):
    sums, plays = [3.0, 10.0, 0.0], [5.0, 30.0, 1.0]
    bound, state = ready("gaussian_ts", SMALL, plain=False, mu=None, b=0, c=c)
    state.gains[:], state.plays[:] = sums, plays
    table = np.random.default_rng(4).standard_normal((40_000, 3))
    found = np.bincount([bound["choose"](state, numbers(*row)) for row in table], minlength=3)

    def best(c):
        laws = [stats.norm(s / (n + 1), math.sqrt(c / (n + 1))) for s, n in zip(sums, plays, strict=True)]
        x = np.linspace(-12, 12, 400_001)
        p = [np.sum(own.pdf(x) * np.prod([other.cdf(x) for other in laws if other is not own], axis=0)) for own in laws]
        return np.array(p) / sum(p) * found.sum()

    assert stats.chisquare(found, best(c)).pvalue > 1e-6
    assert stats.chisquare(found, best(1.5 * c)).pvalue < 1e-12


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize(("b", "horizon"), [(0, 2), (0, 50), (1, 50), (7, 50), (16, 50), (17, 50)])
def test_the_account_is_that_of_the_worst_and_of_the_best_order_of_arms(b, horizon):
    """The change of an arm's draws after a gain, added up over all rounds of two games in which arms are forced."""
    setting = Setting(horizon, 3)
    algorithm = make("gaussian_ts", mu=None, b=b, c=2.5).tuned(setting)
    cost = {}
    for again in (False, True):
        bound, state = ready("gaussian_ts", setting, mu=None, b=b, c=2.5)
        other, total, changed = state.copy(), 0.0, max(3 * b - 1, 0)
        for t in range(horizon):
            arm = bound["choose"](state, numbers(0.0, 0.0, 0.0))
            bound["choose"](other, numbers(0.0, 0.0, 0.0))
            if t >= 3 * b:
                total += np.sum((state.drawn - other.drawn) ** 2 * (state.plays + 1) / 2.5)
                arm = 2 if again or t == changed else 0
            for one, gain in ((state, 0.0), (other, float(t == changed))):
                bound["update"](one, arm, gain, numbers(0.0, 0.0, 0.0))
        cost[again] = math.sqrt(total)
    upper, *lower = algorithm.bounds(setting, 1e-6)
    assert upper.epsilon == pytest.approx(gaussian.epsilon_of(cost[False], 1e-6), rel=1e-9, abs=1e-12)
    attacks = [gaussian.epsilon_of(cost[True], 1e-6)] if b < 17 else []  # 51 first pulls leave no draw
    assert [bound.epsilon for bound in lower] == pytest.approx(attacks, rel=1e-9, abs=1e-12)
    assert not upper.lower and all(bound.lower and bound.epsilon <= upper.epsilon + 1e-9 for bound in lower)
    assert algorithm.facts(setting)["mu"] == pytest.approx(cost[False])


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize(("horizon", "tau", "b"), [(8, 4, 0), (10, 4, 0), (11, 2, 2), (8, 4, 2)])
def test_in_blocks_every_draw_counts_also_that_of_an_incomplete_last_block(horizon, tau, b):
    """The draws of θ are counted in a game; each moves by 1/τ/(n + 1) at most, where n >= max(b, 1)."""
    setting, base = Setting(horizon, 2), make("gaussian_ts", mu=None, b=b, c=1.0)
    algorithm = make("mini_batch", tau=tau, base=base).tuned(setting)
    bound, state = ready("mini_batch", setting, tau=tau, base=base)
    count = 0
    for _ in range(horizon):
        state.wrapped.drawn[:] = np.nan
        arm = bound["choose"](state, numbers(0.0, 0.0))
        count += not np.isnan(state.wrapped.drawn).any()
        bound["update"](state, arm, 1.0, numbers(0.0, 0.0))
    after = count - (b == 0)  # the first draw precedes every gain
    mu = math.sqrt(after / (max(b, 1) + 1)) / tau
    assert algorithm.bounds(setting, 1e-6)[0].epsilon == pytest.approx(gaussian.epsilon_of(mu, 1e-6), rel=1e-9)


def test_as_published_it_protects_nobody_in_a_long_game():
    setting = Setting(10**6, 5)
    assert make("gaussian_ts", mu=None, b=0, c=1.0).tuned(setting).guarantee(setting, 1e-5).epsilon > 250_000  # μ²/2


@pytest.mark.parametrize("b", [0, 20, None])
def test_tuning_reaches_epsilon_exactly(b):
    setting = Setting(10**5, 4)
    found = type(make("gaussian_ts")).for_epsilon(1.0, 1e-6, 10**6, {"b": b})["certified"].tuned(setting)
    assert found.guarantee(setting).epsilon == pytest.approx(1.0, rel=1e-6)
    assert found.tuned(setting) == found and not list(found.errors(setting))
    assert found.c * (max(found.b, 1) + 1) == pytest.approx((1e5 - max(4 * found.b, 1)) / found.mu**2)


def test_c_and_mu_exclude_each_other():
    assert list(make("gaussian_ts", c=1.0).errors(SMALL)) == ["mu sets c: give one of them, not both"]
    assert not list(make("gaussian_ts", c=1.0, mu=None).errors(SMALL))


@pytest.mark.slow
def test_privacy_has_its_price_and_first_pulls_lower_it():
    """C2, T = 10^5, means of 12 trials: c = 1 and b = 0; μ = 1 with the default b; μ = 1 with b = 0."""
    plain, default = make("gaussian_ts", mu=None, b=None), make("gaussian_ts", mu=1.0, b=None)
    without = make("gaussian_ts", mu=1.0, b=0)
    game = match(foe("bernoulli", means="C2"), [plain, default, without], 10**5, 5)
    found = play(game, range(12))[:, :, 0].mean(1)
    assert found[0] < 400 < 10 * found[0] < found[1] < found[2] / 2
