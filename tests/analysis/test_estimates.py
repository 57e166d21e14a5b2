"""Intervals of means, differences and ratios: their coverage, on samples whose truth is known."""

import math

import numpy as np
import pytest

from privbandits_cli.analysis import estimates, statistics
from privbandits_cli.analysis.estimates import Estimate, two
from tests.conftest import some


def sample(rng, mean, size, shared=0.0):
    return estimates.mean(dict(enumerate((mean + shared + rng.normal(size=size)).tolist())))


@pytest.mark.parametrize("same_seed", [True, False])
def test_intervals_have_the_coverage_they_state(same_seed):
    """The true means satisfy a = 2 b: the interval of a - 2 b contains 0 in 95 % of 4000 samples of 12 trials.

    The paired interval is exact, Welch's within half a percent. Tolerance: four standard errors of a proportion, plus
    that half percent for Welch.
    """
    rng = np.random.default_rng(20)
    hits = agree = 0
    for _ in range(4000):
        shared = rng.normal(size=12) if same_seed else 0.0
        a = sample(rng, 10.0, 12, 2 * shared)
        b = sample(rng, 5.0, 12, shared)
        pair = two(a, b, independent=not same_seed)
        assert pair.how == ("paired" if same_seed else "Welch")
        low, high = pair.interval(2.0, 0.95)
        hits += low <= 0 <= high
        ends = pair.ratio(0.95)
        agree += ends is not None and (ends[0] <= 2.0 <= ends[1]) == (low <= 0 <= high)
    tolerance = 4 * math.sqrt(0.95 * 0.05 / 4000) + (0 if same_seed else 0.005)
    assert abs(hits / 4000 - 0.95) < tolerance
    assert agree >= (4000 if same_seed else 3950)  # Welch's degrees of freedom depend slightly on the factor


@pytest.mark.parametrize("shared", some([0.0, 1.0, -1.0], 1.0))
def test_the_interval_of_a_slope_has_the_coverage_it_states(shared):
    """Means 4 x^0.5 of 40 trials, which have a part in common; with -1, neighbours move against each other.

    As independent means the intervals would hold too often, or too rarely. Tolerance: four standard errors, plus one
    percent, because the logarithm is linear only to first order.
    """
    rng, x, hits = np.random.default_rng(3), np.array([1.0, 2.0, 4.0, 8.0]), 0
    for _ in range(4000):
        common = 0.3 * rng.normal(size=40)
        means = [
            sample(rng, 4 * at**0.5, 40, math.copysign(1, shared) ** i * abs(shared) * at**0.5 * common)
            for i, at in enumerate(x)
        ]
        low, high = two(estimates.slope_of(x, means), Estimate(0.5)).interval(1.0, 0.95)
        hits += low <= 0 <= high
    assert abs(hits / 4000 - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 4000) + 0.01


def test_added_errors_are_never_smaller_than_the_truth():
    a, b = Estimate(10.0, 1.0, 9), Estimate(10.0, 2.0, 9)
    assert two(a, b).error(1.0) == 3.0 and two(a, b).how == "unpaired"


def test_a_ratio_without_bounds_is_none():
    assert two(Estimate(1.0, 0.1, 9), Estimate(0.1, 1.0, 9)).ratio(0.95) is None
    assert two(Estimate(1.0, 0.1, 9), Estimate(-1.0)).ratio(0.95) is None


@pytest.mark.parametrize("rare", [0.02, 0.1])
def test_an_interval_for_any_law_covers_where_students_does_not(rare):
    """Regrets of 1, and rarely of 1000, within [0, 1000]: 2000 samples of 100."""
    rng, hits = np.random.default_rng(4), np.zeros(2)
    mean = 1 + 999 * rare
    for _ in range(2000):
        x = np.where(rng.random(100) < rare, 1000.0, 1.0)
        alone = two(estimates.mean(dict(enumerate(x.tolist())), (0.0, 1000.0)), Estimate(0.0))
        hits += [low <= mean <= high for low, high in (alone.sure(1.0, 0.95), alone.interval(1.0, 0.95))]
    assert hits[0] >= 0.95 * 2000
    assert hits[1] < 0.9 * 2000 or rare == 0.1


@pytest.mark.parametrize(("n", "level"), [(7, 0.5), (20, 0.95), (33, 0.9), (100, 0.95), (3, 0.99)])
def test_the_mean_of_the_worst_trials_is_that_of_the_statistic(n, level):
    x = np.random.default_rng(n).exponential(size=n)
    made = estimates.cvar(dict(enumerate(x.tolist())), level)
    assert made.value == pytest.approx(float(statistics.cvar(x, level)), rel=1e-12) and made.trials == n
    assert made.sure(0.95) == (-math.inf, math.inf)


def test_the_interval_of_the_worst_trials_covers_their_mean():
    """Of an exponential law it is 1 + ln 20 at the level 0.95. Of 1,000 trials 50 are in the tail.

    A skewed law makes Student's interval short: in 2,000 samples it misses at most 8 %, plus four standard errors. The
    control: the worst 50 as if they were a sample by themselves, without the error of their quantile.
    """
    rng, truth, missed, alone = np.random.default_rng(21), 1 + math.log(20), 0, 0
    for _ in range(2000):
        x = rng.exponential(size=1000)
        made = two(estimates.cvar(dict(enumerate(x.tolist())), 0.95), Estimate(truth))
        low, high = made.interval(1.0, 0.95)
        missed += not low <= 0 <= high
        worst = np.sort(x)[-50:]
        alone += abs(worst.mean() - truth) > estimates.quantile(49, 0.95) * worst.std(ddof=1) / math.sqrt(50)
    limit = 2000 * 0.08 + 4 * math.sqrt(2000 * 0.08 * 0.92)
    assert missed <= limit < alone


def test_an_interval_for_any_law_by_hand():
    """n = 2, share √(ln(2/0.5)/4) = 0.5887: all of the sample but 0.4113 of one end moves to a limit."""
    low, high = estimates.within(np.array([3.0, 1.0]), (0.0, 10.0), 0.5)
    share = math.sqrt(math.log(4) / 4)
    assert (low, high) == pytest.approx(((1 - share) * 1.0, (1 - share) * 3.0 + share * 10.0))


def test_a_further_trial_moves_the_interval_of_each_way_of_comparing():
    a = estimates.mean({0: 1.0, 1: 2.0, 2: 6.0}, (0.0, 8.0))
    b = estimates.mean({0: 1.0, 1: 1.0, 2: 1.0}, (0.0, 8.0))
    paired, alone = two(a, b), two(a, Estimate(1.0))
    for found, clipped in ((paired.further(1.0), (-4.0, 8.0)), (alone.further(1.0), (-1.0, 7.0))):
        for one, extreme in zip(found, clipped, strict=True):
            x = np.array([0.0, 1.0, 5.0, extreme])
            assert (one.value, one.error, one.trials) == pytest.approx((x.mean(), x.std(ddof=1) / 2, 4))
    apart = two(a, estimates.mean({0: 1.0, 1: 3.0, 2: 2.0}, (0.0, 8.0)), independent=True)
    assert len(apart.further(1.0)) == 4
    low, high = apart.sure(1.0, 0.95)
    assert low <= apart.interval(1.0, 0.95)[0] and -8 <= low < high <= 8


def test_without_single_trials_one_is_as_far_out_as_mean_and_error_allow():
    """The sample with the largest deviation of one trial, eight equal numbers and one other, attains it."""
    x = np.array([1.0] * 8 + [22.0])
    whole = estimates.mean(dict(enumerate(x.tolist())))
    known = Estimate(whole.value, whole.error, 9)
    for one, other in zip(known.further(), whole.further(), strict=True):
        assert (one.value, one.error, one.trials) == pytest.approx((other.value, other.error, other.trials))
    even = estimates.mean(dict(enumerate((x[::-1] + np.arange(9.0)).tolist())))
    steps = [abs(one.value - even.value) for one in (*even.further(), *Estimate(even.value, even.error, 9).further())]
    assert max(steps[:2]) < min(steps[2:])  # control: of any other sample it is further than the trials are
    judge = lambda low, high: "below" if high < 0 else "open"  # noqa: E731
    assert two(whole, Estimate(12.0)).judged(1.0, 0.95, judge, "open") == ("open", True)
    assert two(known, Estimate(12.0)).judged(1.0, 0.95, judge, "open") == ("open", True)
    assert two(known, Estimate(900.0)).judged(1.0, 0.95, judge, "open") == ("below", False)
    assert two(known, Estimate(1.0)).judged(1.0, 0.95, judge, "open") == ("open", False)  # it was never decided


def test_a_slope_after_one_further_trial_by_hand():
    """Two means, at x = 1 and e: the slope is log of their ratio."""
    x = np.array([1.0, math.e])
    one, other = (estimates.mean(dict(enumerate(y)), (0.0, 20.0)) for y in ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]))
    slope = estimates.slope_of(x, [one, other])
    assert slope.value == pytest.approx(math.log(5 / 2)) and slope.trials == 3
    sums = np.array([4.0, 5.0, 6.0]) / 5 - np.array([1.0, 2.0, 3.0]) / 2  # of each trial, to first order
    assert slope.error == pytest.approx(sums.std(ddof=1) / math.sqrt(3))
    assert list(slope.regrets.values()) == pytest.approx(slope.value + sums)
    for each, further in zip(slope.further(), (-0.6, 0.6), strict=True):  # twice as far as 0.3, to either side
        assert each.value == pytest.approx(slope.value + further / 4) and each.trials == 4
        assert each.error == pytest.approx(np.append(sums, further).std(ddof=1) / 2)
    low, high = slope.sure(0.5)
    ends = [each.sure(0.75) for each in (one, other)]
    assert (low, high) == pytest.approx((math.log(ends[1][0] / ends[0][1]), math.log(ends[1][1] / ends[0][0])))
    alone = estimates.slope_of(x, [one, Estimate(5.0, 0.1, 3)])
    assert alone.error == pytest.approx(one.error / 2 + 0.1 / 5)  # without single trials, errors are added
    assert alone.sure(0.5) == (-math.inf, math.inf)  # nothing is known of any law without limits
    middle = estimates.slope_of(np.exp([0.0, 0.5, 1.0]), [one, Estimate(3.0, 0.1, 3), other])
    assert middle.sure(0.5) == pytest.approx((low, high))  # a mean in the middle changes nothing
    assert math.isinf(estimates.slope_of(x, [Estimate(-1.0, 1.0, 3), other]).error)
