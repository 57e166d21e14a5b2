"""Composition: the privacy of k releases together, each ε0-differentially private given the ones before it.

Units: every ε is in nats. Domain: ε0 >= 0, k >= 1, 0 < δ < 1; other values raise a ValueError that names them. All
bounds except `basic` hold at the δ that is given.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.privacy_loss import PrivacyLoss
from privbandits_cli.numerics.types import Floats

COUNTED = 2**20  # releases: `optimal` of more takes minutes, and then gigabytes


def check(epsilon0: float, k: int, delta: float | None = None) -> None:
    """Raise ValueError for arguments outside the domain of the theorems."""
    if not 0 <= epsilon0 <= 500:
        raise ValueError(f"epsilon0 must lie in [0, 500], got {epsilon0}")
    if k < 1 or k != int(k):
        raise ValueError(f"k must be a whole number from 1 up, got {k}")
    if delta is not None and not 0 < delta < 1:
        raise ValueError(f"delta must lie in (0, 1), got {delta}")


def basic(epsilon0: float, k: int) -> float:
    """k epsilon0, with delta 0 (Dwork & Roth 2014, Corollary 3.15)."""
    check(epsilon0, k)
    return k * epsilon0


def advanced(epsilon0: float, k: int, delta: float) -> float:
    """√(2k ln(1/δ)) ε0 + k ε0 (e^ε0 - 1) (Dwork, Rothblum & Vadhan 2010, Theorem III.3)."""
    check(epsilon0, k, delta)
    return math.sqrt(-2 * k * math.log(delta)) * epsilon0 + k * epsilon0 * math.expm1(epsilon0)


def response(epsilon0: float, k: int) -> PrivacyLoss:
    """The loss of k-fold randomised response: (2l - k) ε0 with l ~ Bin(k, 1/(1 + e^-ε0)).

    No k releases that are ε0-private each lose more, even if they are adaptive (Kairouz, Oh & Viswanath 2015,
    Theorem 3.3).
    """
    from scipy import stats

    check(epsilon0, k)
    heads = np.arange(k + 1, dtype=np.float64)
    return PrivacyLoss((2 * heads - k) * epsilon0, np.exp(stats.binom.logpmf(heads, k, 1 / (1 + math.exp(-epsilon0)))))


@cache
def optimal(epsilon0: float, k: int, delta: float) -> float:
    """The least ε at which all k-fold compositions of ε0-private releases, also adaptive ones, are (ε, δ)-private."""
    check(epsilon0, k, delta)
    return response(epsilon0, k).epsilon(delta)


def mixed_delta(epsilon0: float, mu: float, epsilon: float) -> float:
    """The least δ at which an ε0-private release and a μ-GDP one of the same data are together (ε, δ)-private, exact.

    The worst ε0-private release is randomised response, whose privacy loss is ε0 or, less often, -ε0. The Gaussian loss
    is added to it (Dong, Roth & Su 2022, Theorem 3.2): the δ of the two is the mean of the Gaussian δ at ε - ε0 and at
    ε + ε0.
    """
    gaussian.check(mu, epsilon0)
    below, share = epsilon - epsilon0, 1 / (1 + math.exp(-epsilon0))
    near = gaussian.delta_of(mu, abs(below))
    if below < 0:  # δ(-ε) = 1 - e^-ε + e^-ε δ(ε)
        near = -math.expm1(below) + math.exp(below) * near
    return share * near + (1 - share) * gaussian.delta_of(mu, epsilon + epsilon0)


def mixed(epsilon0: float, mu: float, delta: float) -> float:
    """The least ε at which an ε0-private release and a μ-GDP one are together (ε, δ)-private."""
    from scipy.optimize import brentq

    if mu == math.inf:
        return mu
    gaussian.check(mu, epsilon0, delta)
    if mixed_delta(epsilon0, mu, 0.0) <= delta:
        return 0.0
    most = (epsilon0 + gaussian.epsilon_of(mu, delta)) * (1 + 1e-9)  # by basic composition, and rounding

    def excess(epsilon: float) -> float:  # a difference of logarithms, as δ may be 1e-11
        return math.log(max(mixed_delta(epsilon0, mu, epsilon), 1e-320)) - math.log(delta)

    return float(brentq(excess, 0.0, most, xtol=1e-12, rtol=1e-12))


def mixed_mu(epsilon0: float, epsilon: float, delta: float) -> float:
    """The largest μ at which a μ-GDP release beside an ε0-private one is (ε, δ)-private; ε0 < ε."""
    from scipy.optimize import brentq

    gaussian.check(0.0, epsilon0, delta)
    if not epsilon0 < epsilon:
        raise ValueError(f"epsilon0 must be less than epsilon, got {epsilon0} and {epsilon}")
    least = most = gaussian.mu_of(epsilon - epsilon0, delta)  # by basic composition
    while mixed_delta(epsilon0, most, epsilon) < delta:
        most *= 2
    return float(brentq(lambda mu: mixed_delta(epsilon0, mu, epsilon) - delta, least / 2, most, xtol=1e-14 * most))


def concentrated(rho: float, delta: float) -> float:
    """ρ + 2 √(ρ ln(1/δ)), the ε at δ of a ρ-zCDP release (Bun & Steinke 2016, Proposition 1.3)."""
    check(0.0, 1, delta)
    return rho + 2 * math.sqrt(-rho * math.log(delta))


def renyi(divergence: Callable[[Floats], Floats], delta: float) -> float:
    """The ε of a Rényi divergence D(α) at δ: min over α > 1 of D(α) + ln(1 - 1/α) - (ln δ + ln α)/(α - 1).

    Canonne, Kamath & Steinke 2020, Proposition 12. The bound holds at every α, so a grid of orders is valid; this one
    exceeds the minimum by about one part in 1e8. `divergence` gives the composed D, in nats, for an array of orders.
    """
    check(0.0, 1, delta)
    low, high = -12.0, 16.0  # of ln(α - 1)
    least = math.inf
    for _ in range(3):
        x = np.linspace(low, high, 601)
        alpha = 1 + np.exp(x)
        epsilon = divergence(alpha) + np.log1p(-1 / alpha) - (math.log(delta) + np.log(alpha)) / (alpha - 1)
        i = int(np.argmin(epsilon))
        least = min(least, float(epsilon[i]))
        low, high = x[max(0, i - 1)], x[min(len(x) - 1, i + 1)]
    return max(0.0, least)
