"""Shares and medians of trials: their intervals hold for every law."""

import math

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.analysis import counts, estimates

WILD = np.random.default_rng(5)


def test_a_share_has_the_interval_of_clopper_and_pearson():
    made = counts.share(3, 40)
    assert (made.value, made.trials) == (0.075, 40)
    wanted = stats.beta.ppf(0.005, 3, 38), stats.beta.ppf(0.995, 4, 37)
    np.testing.assert_allclose(made.sure(0.99), wanted)
    assert counts.share(0, 40).sure(0.95) == (0.0, pytest.approx(1 - 0.025 ** (1 / 40)))


@pytest.mark.parametrize("n", [1, 5, 6, 20, 21, 96])
def test_the_interval_of_a_median_is_the_shortest_that_is_sure(n):
    i = counts.outside(n, 0.95)
    missed = 2 * stats.binom.cdf(i - 1, n, 0.5)  # the true median is below the i-th value, or above the i-th last
    assert missed <= 0.05 < 2 * stats.binom.cdf(i, n, 0.5)
    own = counts.median(list(range(n)))
    assert own.value == (n - 1) / 2
    assert own.sure(0.95) == ((i - 1, n - i) if i else (0.0, math.inf))


def test_the_interval_of_a_median_covers_it_whatever_the_law():
    """In 400 samples of 25 Cauchy numbers at most 5 % miss it, up to five standard deviations; i + 2 misses more."""
    found, shorter, n = 0, 0, 25
    i = counts.outside(n, 0.95)
    for sample in WILD.standard_cauchy((400, n)):
        low, high = counts.median(sample.tolist()).sure(0.95)
        found += not low <= 0 <= high
        own = np.sort(sample)
        shorter += not own[i + 1] <= 0 <= own[-i - 2]
    limit = 400 * 0.05 + 5 * math.sqrt(400 * 0.05 * 0.95)
    assert found <= limit < shorter


def test_infinite_times_are_no_obstacle_to_a_median():
    own = counts.median([5.0, 1.0, math.inf, 2.0, 4.0, 3.0, math.inf])
    assert own.value == 4.0 and own.sure(0.5) == (3.0, 5.0) and own.sure(0.9) == (1.0, math.inf)
    assert math.isinf(counts.median([1.0, math.inf, math.inf]).value)


def test_two_shares_are_compared_by_both_of_their_intervals():
    few, many = counts.share(2, 300), counts.share(35, 300)
    pair = estimates.two(few, many)
    low, high = (one.sure(0.975) for one in (few, many))
    assert pair.interval(1.0, 0.95) == pytest.approx((low[0] - high[1], low[1] - high[0]))
    assert pair.interval(0.5, 0.95) == pytest.approx((low[0] - 0.5 * high[1], low[1] - 0.5 * high[0]))
    assert pair.how == "Welch" and pair.ratio(0.95) is None and pair.trials == 300
    assert pair.judged(1.0, 0.95, lambda low, high: high < 0, False) == (True, False)


def test_a_share_of_none_is_not_known_exactly():
    """Student's interval would be a point."""
    pair = estimates.two(counts.share(0, 100), estimates.Estimate(1.0))
    assert pair.interval(0.01, 0.95) == pytest.approx((-0.01, 1 - 0.025**0.01 - 0.01))
    assert pair.half(0.01, 0.95) > 0 and not pair.judged(0.01, 0.95, lambda low, high: high < 0, False)[0]
