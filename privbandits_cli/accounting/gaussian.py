"""Gaussian differential privacy (Dong, Roth & Su 2022): noise of deviation σ on statistics of sensitivity Δ.

All such releases together, however they are chosen, are μ-GDP, where μ² is the sum of the (Δ/σ)². The numbers here
depend on μ alone. Units: ε in nats, δ a probability. Domain: μ >= 0, ε >= 0, 0 < δ < 1; else ValueError.
"""

import math
from functools import lru_cache


def check(mu: float, epsilon: float = 0.0, delta: float = 0.5) -> None:
    """Raise ValueError for arguments outside the domain."""
    if not 0 <= mu < math.inf:
        raise ValueError(f"mu must be a number from 0 up, got {mu}")
    if not epsilon >= 0:
        raise ValueError(f"epsilon must not be negative, got {epsilon}")
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie in (0, 1), got {delta}")


def delta_of(mu: float, epsilon: float) -> float:
    """δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ), exact (Balle & Wang 2018, Theorem 8; Dong et al., Corollary 2.13)."""
    from scipy.special import log_ndtr

    check(mu, epsilon)
    if mu == 0 or epsilon == math.inf:
        return 0.0
    above = float(log_ndtr(mu / 2 - epsilon / mu))
    below = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return math.exp(above) * -math.expm1(min(0.0, below - above))


@lru_cache(1000)  # each trial is tuned anew
def epsilon_of(mu: float, delta: float) -> float:
    """The least ε with δ(ε) <= delta, exact."""
    from scipy.optimize import brentq

    if mu == math.inf:
        return mu
    check(mu, 0.0, delta)
    if delta_of(mu, 0.0) <= delta:
        return 0.0
    most = mu * (mu / 2 + math.sqrt(-2 * math.log(delta))) + 1.0  # δ is smaller there (Mironov 2017)
    if delta_of(mu, most) >= delta:  # by rounding, where μ is so large that ε is μ²/2 in all digits but the last
        return most
    return float(brentq(lambda epsilon: delta_of(mu, epsilon) - delta, 0.0, most, xtol=1e-14 * most, rtol=1e-14))


@lru_cache(1000)  # each trial is tuned anew
def mu_of(epsilon: float, delta: float) -> float:
    """The largest μ at which μ-GDP implies (ε, δ)-privacy, exact: noise needs at least the deviation Δ/μ."""
    from scipy.optimize import brentq

    check(0.0, epsilon, delta)
    if epsilon == math.inf:
        return math.inf
    most = 1.0
    while delta_of(most, epsilon) < delta:
        most *= 2
    return float(brentq(lambda mu: delta_of(mu, epsilon) - delta, 0.0, most, xtol=1e-14 * most, rtol=1e-14))
