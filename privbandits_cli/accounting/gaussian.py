"""Gaussian differential privacy, exactly (Balle & Wang 2018, Theorem 8; Dong, Roth & Su 2022).

Noise of standard deviation σ on what may move by Δ in the Euclidean norm is μ-GDP, μ = Δ/σ; k such releases, each
chosen in view of the ones before, are √k μ-GDP; and μ-GDP is (ε, δ)-privacy at exactly

    δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ).

The two terms cancel where δ is small. With t = ε/μ - μ/2, t' = ε/μ + μ/2 and Mills' ratio R(t) = Φ(-t)/φ(t) the
second is Φ(-t) R(t')/R(t), so that ln δ = ln Φ(-t) + ln(1 - R(t')/R(t)), which has no large terms to cancel.

Units: ε and μ in nats. Domain: ε >= 0, μ >= 0, 0 < δ < 1; else a ValueError.
"""

import math
from collections.abc import Callable


def log_delta(mu: float, epsilon: float) -> float:
    """ln δ(ε) of μ-GDP; -inf at μ = 0."""
    from scipy import special

    if not (mu >= 0 and epsilon >= 0):
        raise ValueError(f"mu and epsilon must not be negative, got {mu} and {epsilon}")
    if mu == 0 or math.isinf(epsilon):
        return -math.inf
    if math.isinf(mu):
        return 0.0
    t, beyond = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    apart = _log_mills(beyond) - _log_mills(t)
    return float(special.log_ndtr(-t)) + (math.log(-math.expm1(apart)) if apart < 0 else -math.inf)


def _log_mills(t: float) -> float:
    """ln(Φ(-t)/φ(t)) + ½ ln(2/π)."""
    from scipy import special

    if t > 0:
        return math.log(special.erfcx(t / math.sqrt(2)))
    return t * t / 2 + math.log(2) + float(special.log_ndtr(-t))


def delta(mu: float, epsilon: float) -> float:
    """The least δ at which μ-GDP is (ε, δ)-privacy."""
    return math.exp(log_delta(mu, epsilon))


def epsilon(mu: float, delta: float) -> float:
    """The least ε at which μ-GDP is (ε, δ)-privacy."""
    _check(delta)
    if mu == math.inf or log_delta(mu, 0.0) <= math.log(delta):
        return mu if mu == math.inf else 0.0
    most = mu * mu / 2 + mu * math.sqrt(-2 * math.log(delta))  # there Φ(-t) <= e^(-t²/2) is δ
    return _root(lambda x: log_delta(mu, x) - math.log(delta), 0.0, most)


def mu(epsilon: float, delta: float) -> float:
    """The largest μ at which μ-GDP is (ε, δ)-privacy: noise of standard deviation Δ/μ is what (ε, δ) needs."""
    _check(delta)
    if not 0 <= epsilon < math.inf:
        raise ValueError(f"epsilon must be a number from 0 up, got {epsilon}")
    spread = math.sqrt(-2 * math.log(delta))
    low = 2 * epsilon / (spread + math.sqrt(spread * spread + 2 * epsilon)) or delta  # Φ(-t) <= e^(-t²/2) is δ there
    high = 2 * low
    while log_delta(high, epsilon) < math.log(delta):
        high *= 2
    return _root(lambda x: log_delta(x, epsilon) - math.log(delta), low, high)


def _root(gap: Callable[[float], float], low: float, high: float) -> float:
    """Where a monotone function is 0, between points of different sign."""
    from scipy import optimize

    return float(optimize.brentq(gap, low, high, xtol=1e-300, rtol=1e-14, maxiter=500))


def _check(delta: float) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie in (0, 1), got {delta}")
