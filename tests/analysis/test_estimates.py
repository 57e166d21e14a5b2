"""Intervals of means, differences and ratios: their coverage, on samples whose truth is known."""

import math

import numpy as np
import pytest

from privbandits_cli.analysis import estimates
from privbandits_cli.analysis.estimates import Estimate, two


def sample(rng, game, mean, size, shared=0.0):
    return estimates.mean(game, dict(enumerate((mean + shared + rng.normal(size=size)).tolist())))


@pytest.mark.parametrize("same_game", [True, False])
def test_intervals_have_the_coverage_they_state(same_game):
    """The true means satisfy a = 2 b: the interval of a - 2 b contains 0 in 95 % of 4000 samples of 12 trials.

    The paired interval is exact, Welch's within half a percent. Tolerance: four standard errors of a proportion, plus
    that half percent for Welch.
    """
    rng = np.random.default_rng(20)
    hits = agree = 0
    for _ in range(4000):
        shared = rng.normal(size=12) if same_game else 0.0
        a = sample(rng, "one", 10.0, 12, 2 * shared)
        b = sample(rng, "one" if same_game else "another", 5.0, 12, shared)
        pair = two(a, b)
        assert pair.how == ("paired" if same_game else "Welch")
        low, high = pair.interval(2.0, 0.95)
        hits += low <= 0 <= high
        ends = pair.ratio(0.95)
        agree += ends is not None and (ends[0] <= 2.0 <= ends[1]) == (low <= 0 <= high)
    tolerance = 4 * math.sqrt(0.95 * 0.05 / 4000) + (0 if same_game else 0.005)
    assert abs(hits / 4000 - 0.95) < tolerance
    assert agree >= (4000 if same_game else 3950)  # Welch's degrees of freedom depend slightly on the factor


def test_added_errors_are_never_smaller_than_the_truth():
    a, b = Estimate(10.0, 1.0, 9), Estimate(10.0, 2.0, 9)
    assert two(a, b).error(1.0) == 3.0 and two(a, b).how == "unpaired"


def test_a_ratio_without_bounds_is_none():
    assert two(Estimate(1.0, 0.1, 9), Estimate(0.1, 1.0, 9)).ratio(0.95) is None
    assert two(Estimate(1.0, 0.1, 9), Estimate(-1.0)).ratio(0.95) is None
