"""Streams depend on names alone, never repeat, and give NumPy's documented draws."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.games.drawing import fill_of
from privbandits_cli.numerics.streams import stream


def test_trials_and_names_have_streams_of_their_own():
    """Seeds drawn from a small range repeat: 720 trials must give 720 games, and each role its own numbers."""
    first = {
        (name, trial): tuple(stream(1, name, "exp3", trial=trial).random(2))
        for name in ("gains", "uniform", "laplace")
        for trial in range(720)
    }
    assert len(set(first.values())) == len(first)
    assert len({stream(seed, "gains", trial=0).random() for seed in range(100)}) == 100


def test_a_stream_does_not_depend_on_other_streams():
    alone = stream(5, "gains", "stochastic", trial=3).random(4)
    for trial in range(3):
        stream(5, "gains", "stochastic", trial=trial).random(100)
    np.testing.assert_array_equal(stream(5, "gains", "stochastic", trial=3).random(4), alone)


def test_neighbouring_streams_are_uncorrelated():
    """Correlation of n pairs has sd 1/√n under independence; 6 sd over 50 pairs of streams."""
    n = 10_000
    rows = np.array([stream(0, "uniform", trial=trial).random(n) for trial in range(51)])
    for a, b in pairwise(rows):
        assert abs(np.corrcoef(a, b)[0, 1]) < 6 / np.sqrt(n)


def test_golden_draws():
    """NumPy may change its generators' methods; results then change, and this says why."""
    rng = stream(2017, "gains", "golden", trial=0)
    found = [*rng.random(2), *rng.standard_normal(2), *rng.standard_exponential(2), float(rng.integers(10))]
    assert found == GOLDEN


GOLDEN = [
    0.4913550409662404,
    0.5603082458059875,
    0.6917607224039777,
    0.3744162569356817,
    0.7162488655605685,
    3.873684996546746,
    0.0,
]


def test_laplace_has_its_law_and_a_gaussian_has_not():
    n = 100_000
    x = np.empty(n)
    fill_of("laplace", stream(1, "laplace", trial=0))(x)
    assert stats.kstest(x, stats.laplace.cdf).pvalue > 1e-4
    assert stats.kstest(x / 1.05, stats.laplace.cdf).pvalue < 1e-4  # negative control: scale off by 5 %
    assert np.abs(x).sum() == pytest.approx(n, abs=5 * np.sqrt(n))  # Σ|x| ~ Gamma(n, 1)
    signs = np.sign(x)
    for lag in (1, 2, 64):  # signs come from the bits of a word: independent, of each other and of the sizes
        assert abs(np.mean(signs[lag:] * signs[:-lag])) < 5 / np.sqrt(n)
    assert abs(np.mean(signs * (np.abs(x) - 1))) < 5 / np.sqrt(n)


@pytest.mark.parametrize("cuts", [[1, 5, 30], [17], [63, 1, 1], [64, 3], [35, 35]])
def test_laplace_draws_continue_over_block_ends(cuts):
    whole = np.empty(200)
    fill_of("laplace", stream(1, "laplace", trial=0))(whole)
    parts = np.empty(200)
    fill = fill_of("laplace", stream(1, "laplace", trial=0))
    for part in np.split(parts, np.cumsum(cuts)):
        fill(part)
    np.testing.assert_array_equal(parts, whole)
