"""Statistics against closed forms, plain twins and known laws."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from privbandits_cli.analysis import statistics
from tests import naive

samples = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30)


@given(samples)
def test_gini_is_the_mean_difference_over_pairs(sample):
    found = statistics.gini_mean_difference(np.array(sample))
    assert found == pytest.approx(naive.gini_mean_difference(sample), rel=1e-9, abs=1e-7)


@given(samples)
def test_gini_is_the_papers_sum_normalised(sample):
    n, ordered = len(sample), sorted(sample)
    printed = sum((2 * j - n - 1) * x for j, x in enumerate(ordered, start=1))
    assert statistics.gini_mean_difference(np.array(sample)) == pytest.approx(
        2 / (n * (n - 1)) * printed, rel=1e-6, abs=1e-5
    )


def test_gini_of_known_laws():
    """1/3 for U[0,1], 1 for Exp(1), 2/√π for N(0,1); the estimate's error is below 5 sd/√n."""
    rng, n = np.random.default_rng(1), 100_000
    for sample, known in (
        (rng.random(n), 1 / 3),
        (rng.exponential(size=n), 1),
        (rng.normal(size=n), 2 / math.sqrt(math.pi)),
    ):
        assert statistics.gini_mean_difference(sample) == pytest.approx(known, abs=5 * 2 * sample.std() / math.sqrt(n))


def test_gini_of_degenerate_samples():
    assert statistics.gini_mean_difference(np.array([])) == 0
    assert statistics.gini_mean_difference(np.array([3.0])) == 0
    assert statistics.gini_mean_difference(np.full(9, 0.1)) == 0


def test_split_gini_looks_at_each_side_alone():
    x = np.array([[1.0], [2.0], [4.0], [10.0], [20.0], [50.0]])
    below, above = statistics.split_gini(x, np.array([5.0]))
    assert below[0] == pytest.approx(naive.gini_mean_difference([1, 2, 4]))
    assert above[0] == pytest.approx(naive.gini_mean_difference([10, 20, 50]))
    assert above[0] > below[0]


@given(st.lists(st.floats(-1e6, 1e6), min_size=24, max_size=24), st.sampled_from([1, 2, 3, 4, 6, 8, 12, 24]))
def test_median_of_means_equals_its_twin(sample, groups):
    x = np.array(sample)[:, None]
    found = statistics.median_of_means(x, np.arange(24), 24, groups)[0]
    assert found == pytest.approx(naive.median_of_means(sample, groups), rel=1e-9, abs=1e-6)


def test_median_of_means_limits():
    x = np.random.default_rng(0).normal(size=(12, 3))
    trials = np.arange(12)
    np.testing.assert_allclose(statistics.median_of_means(x, trials, 12, 1), x.mean(axis=0))
    alone = statistics.median_of_means(x, trials, 12, 12)
    np.testing.assert_allclose(alone, np.median(x, axis=0))


def test_median_of_means_survives_an_outlier():
    x = np.ones((24, 1))
    x[5] = 1e9
    assert statistics.median_of_means(x, np.arange(24), 24, 8)[0] == 1
    assert x.mean() > 1e7


def test_groups_are_runs_of_consecutive_trials():
    trials = np.arange(720)
    squares = (trials // 30)[:, None] ** 2.0
    assert statistics.median_of_means(squares, trials, 720, 24) == (11**2 + 12**2) / 2
    some = np.array([0, 29, 30, 719])  # missing trials leave the others where they are
    assert statistics.median_of_means(np.array([[0.0], [2.0], [10.0], [100.0]]), some, 720, 24) == 10


def test_proposition_4_1():
    radius, confidence = statistics.median_of_means_accuracy(24, 720)
    assert confidence == pytest.approx(0.995, abs=5e-4)
    assert radius == pytest.approx(math.sqrt(6 * 24 / 720))


def test_sd():
    x = np.arange(1.0, 6.0)[:, None]
    assert statistics.sd(x)[0] == pytest.approx(math.sqrt(2.5))
    assert statistics.sd(x[:1])[0] == 0


def test_the_bootstrap_of_fewer_trials_than_are_shown_misses_too_often():
    x = np.random.default_rng(4).normal(size=(statistics.FEWEST_TRIALS, 1000))
    held = {}
    for n in (2, 4, statistics.FEWEST_TRIALS):
        low, high = statistics.bootstrap_interval(x[:n], seed=1)
        held[n] = np.mean((low <= 0) & (high >= 0))
    assert held == pytest.approx({2: 0.51, 4: 0.80, 8: 0.89}, abs=0.05)  # three standard errors of 1,000 samples


def test_bootstrap_interval_covers_as_often_as_it_says():
    """Coverage of 95 % intervals over 300 samples of 40 normals: between 88 % and 99 %, both sides."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 300))
    low, high = statistics.bootstrap_interval(x, seed=1)
    covered = int(((low <= 0) & (high >= 0)).sum())
    tail = stats.binom(300, 0.93)  # a percentile interval of 40 falls a little short of 95 %
    assert tail.ppf(1e-4) <= covered < 300
    np.testing.assert_array_equal(statistics.bootstrap_interval(x, seed=1)[0], low)
    assert not np.array_equal(statistics.bootstrap_interval(x, seed=2)[0], low)


@pytest.mark.parametrize("statistic", [np.mean, partial(np.quantile, q=0.75)])
@pytest.mark.parametrize(("trials", "checkpoints"), [(2, 3), (30, 1), (9, 600)])  # the last one in two batches
def test_the_bootstrap_is_that_of_scipy(trials, checkpoints, statistic):
    x = np.random.default_rng(5).normal(size=(trials, checkpoints))
    batch = 10**7 // x.size
    found = stats.bootstrap(
        (x,), statistic, n_resamples=2000, method="percentile", batch=batch, rng=np.random.default_rng(7)
    ).confidence_interval
    np.testing.assert_allclose(statistics.bootstrap_interval(x, 7, statistic), (found.low, found.high), rtol=1e-11)


def test_cvar_is_the_mean_of_the_worst_trials():
    x = np.random.default_rng(6).permutation(np.arange(1.0, 101))[:, None]
    assert statistics.cvar(x, 0.95)[0] == pytest.approx(98)  # of 96 to 100
    assert statistics.cvar(x[:1], 0.95) == x[0]
    assert statistics.cvar(np.arange(1.0, 11)[:, None], 0.75)[0] == pytest.approx((10 + 9 + 0.5 * 8) / 2.5)
    assert statistics.cvar(x, 1e-12)[0] == pytest.approx(x.mean())  # of all
    law = np.random.default_rng(7).normal(size=(200_000, 1))
    true = stats.norm.pdf(stats.norm.ppf(0.9)) / 0.1
    beyond = np.maximum(
        law - stats.norm.ppf(0.9), 0
    )  # Rockafellar & Uryasev 2000: cvar = q + E max(X - q, 0)/(1 - level)
    assert statistics.cvar(law, 0.9)[0] == pytest.approx(true, abs=5 * 10 * beyond.std() / math.sqrt(len(law)))


def test_the_interval_of_a_tail_is_that_of_its_statistic():
    """Of 200 samples of 100 normals, the interval of the 0.75 quantile holds it; that of the mean never does."""
    x = np.random.default_rng(8).normal(size=(100, 200))
    true = stats.norm.ppf(0.75)
    low, high = statistics.bootstrap_interval(x, 1, partial(np.quantile, q=0.75))
    covered = int(((low <= true) & (high >= true)).sum())
    assert stats.binom(200, 0.92).ppf(1e-4) <= covered
    low, high = statistics.bootstrap_interval(x, 1)
    assert not ((low <= true) & (high >= true)).any()
    worst = statistics.cvar(x, 0.75)
    low, high = statistics.bootstrap_interval(x, 1, partial(statistics.cvar, level=0.75))
    assert ((low <= worst) & (worst <= high)).mean() > 0.95 and (low > true).mean() > 0.9
