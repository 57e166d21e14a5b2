"""Bounded range: its divergence is the largest, and enumeration of small cases lies between the bounds."""

import math

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.accounting import bounded_range


@pytest.mark.parametrize("epsilon0", [0.01, 0.2, 1.0, 4.0])
@pytest.mark.parametrize("alpha", [1.001, 1.5, 2.0, 10.0, 300.0])
def test_bounded_range_divergence_is_the_largest(epsilon0, alpha):
    """Against a grid over t of generalised randomised response, and below α ε0²/8."""
    t = np.linspace(0, epsilon0, 20001)[1:-1]
    q = (math.exp(epsilon0) - np.exp(t)) / math.expm1(epsilon0)
    log_moment = np.logaddexp(np.log(q) + (alpha - 1) * t, np.log1p(-q) + (alpha - 1) * (t - epsilon0))
    found = float(bounded_range.divergence(epsilon0, np.array([alpha]))[0])
    assert found == pytest.approx(float(log_moment.max()) / (alpha - 1), rel=1e-6)
    assert found <= alpha * epsilon0**2 / 8


def test_bounded_range_by_enumeration_is_between():
    """The exact ε of the worst non-adaptive releases is below the adaptive bound and above that of one release."""
    for k, epsilon0, delta in ((3, 0.5, 1e-3), (8, 0.3, 1e-4)):
        best = 0.0
        for t in np.linspace(0.01, 0.99, 99) * epsilon0:
            q = (math.exp(epsilon0) - math.exp(t)) / math.expm1(epsilon0)
            losses = k * t - epsilon0 * np.arange(k + 1)
            mass = stats.binom.pmf(np.arange(k + 1), k, 1 - q)
            lo, hi = 0.0, k * epsilon0
            for _ in range(60):
                mid = (lo + hi) / 2
                value = float(np.sum(mass * np.maximum(0, 1 - np.exp(mid - losses))))
                lo, hi = (mid, hi) if value > delta else (lo, mid)
            best = max(best, lo)
        assert epsilon0 < best < bounded_range.composed(epsilon0, k, delta)
