"""FTPL with Fréchet noise: the law of its arms, its estimates of 1/p, and what its constants do."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from privbandits_cli.games.bandit import Numbers, Setting, play
from tests.algorithms.test_algorithms import ready
from tests.conftest import foe, make, match, some

LOSSES, T = np.array([3.0, 0.0, 8.0]), 25  # 1/η = 2.5 at c = 2


def words(n, seed):
    return np.random.default_rng(seed).integers(2**64, size=n, dtype=np.uint64)


def behind(**parameters):
    """Steps and state in round T with these losses."""
    bound, state = ready("ftpl_frechet", Setting(1000, 3), plain=False, **parameters)
    state.losses[:], state.t = LOSSES, T
    return bound, state


def law(c, shape=2):
    """p_i: r_i > r_j + η (L_i - L_j) for all j, by integration over r_i with density f and distribution function F."""
    gaps = c / math.sqrt(T) * (LOSSES[:, None] - LOSSES)
    frechet = stats.invweibull(shape)

    def p(i):
        others = np.delete(gaps[i], i)
        low = max(0.0, others.max())  # where the law of another arm begins
        return integrate.quad(lambda u: np.prod(frechet.cdf(frechet.ppf(u) - others)), frechet.cdf(low), 1)[0]

    return np.array([p(i) for i in range(3)])


@pytest.mark.parametrize("c", some([2.0, 0.42], 0.42))
def test_arms_have_the_law_of_the_perturbed_leader(c):
    bound, state = behind(c=c)
    n = 40_000
    arms = [bound["choose"](state, Numbers(0.0, 0.0, 0.0, word)) for word in words(n, 1)]
    found = np.bincount(arms, minlength=3)
    assert law(c).sum() == pytest.approx(1, abs=1e-6)
    assert stats.chisquare(found, n * law(c) / law(c).sum()).pvalue > 1e-6
    for wrong in (law(1.5 * c), law(c, shape=1)):  # negative controls
        assert stats.chisquare(found, n * wrong / wrong.sum()).pvalue < 1e-12


@pytest.mark.parametrize("resamplings", some([1, 10], 1))
@pytest.mark.parametrize("arm", some([0, 1, 2], 1))
def test_geometric_resampling_estimates_one_over_p(arm, resamplings):
    """Whatever the arm, the mean is 1/p with variance (1 - p)/p² a number, to six standard errors."""
    bound, state = behind(resamplings=resamplings)
    p, n, estimates = law(2.0)[arm], 4000, []
    for word in words(n, 2):
        fork = state.copy()
        bound["update"](fork, arm, 0.25, Numbers(0.0, 0.0, 0.0, word))
        estimates.append((fork.losses[arm] - LOSSES[arm]) / 0.75)
    error = math.sqrt((1 - p) / n / resamplings) / p
    assert abs(np.mean(estimates) - 1 / p) < 6 * error
    assert np.std(estimates) == pytest.approx(error * math.sqrt(n), rel=0.2)
    assert abs(np.mean(estimates) - 1 / law(4.0)[arm]) > 6 * error  # negative control


def test_the_numbers_of_the_choice_are_not_those_of_the_estimate():
    """If the first new draw had the numbers of the choice, the arm would lead again at once, and w be 1."""
    bound, state = behind()
    found = []
    for word in words(500, 3):
        fork, numbers = state.copy(), Numbers(0.0, 0.0, 0.0, word)
        arm = bound["choose"](fork, numbers)
        bound["update"](fork, arm, 0.0, numbers)
        found.append(fork.losses[arm] - LOSSES[arm])
    assert np.mean(found) > 1 and stats.binomtest(sum(w == 1 for w in found), 500, (law(2.0) ** 2).sum()).pvalue > 1e-6


def test_a_gain_of_one_costs_no_draw():
    bound, state = behind()
    bound["update"](state, 2, 1.0, Numbers(0.0, 0.0, 0.0, np.uint64(1)))
    assert state.losses.tolist() == LOSSES.tolist() and state.t == T + 1


@pytest.mark.slow
def test_it_is_good_in_both_worlds():
    """K = 8: i.i.d. gains and the constrained adversary; at most twice the regret of Tsallis-INF, unlike EXP3."""
    for adversary in (foe("constrained"), foe("bernoulli", means=[0.5625] + 7 * [0.4375])):
        lineup = [make("ftpl_frechet"), make("tsallis_inf"), make("exp3")]
        frechet, tsallis, exp3 = play(match(adversary, lineup, 2**15, 8), range(16))[:, :, 0].mean(axis=1)
        assert frechet < 2 * tsallis and 1.5 * frechet < exp3
