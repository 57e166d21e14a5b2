"""Bounded range: releases whose log-likelihood ratios lie in an interval of length ε0 (Durfee & Rogers 2019).

The exponential mechanism is such a release, and so is every draw of EXP3 (see `exponential_weights`). It costs about
half of what ε0-privacy alone would, since the ratio cannot be both high and low. The worst case is generalised
randomised response with some t in [0, ε0]: loss t with probability q = (e^ε0 - e^t)/(e^ε0 - 1), otherwise t - ε0.
"""

import math

import numpy as np

from privbandits_cli.accounting.composition import check, renyi, solve
from privbandits_cli.numerics.types import Floats


def _log_q(epsilon0: float, t: float) -> tuple[float, float]:
    """ln q and ln(1 - q) of generalised randomised response, 0 < t < ε0."""
    return math.log(math.expm1(epsilon0 - t)) + t - math.log(math.expm1(epsilon0)), math.log(math.expm1(t)) - math.log(
        math.expm1(epsilon0)
    )


def divergence(epsilon0: float, alpha: Floats) -> Floats:
    """The largest Rényi divergences of orders α > 1 of an ε0-bounded-range release; at most α ε0²/8.

    Let β = α - 1, E = e^ε0 and c = e^(-β ε0). Then E(e^(αL)) = e^(βt) (E - c - e^t (1 - c))/(E - 1) is largest at
    e^t = β (E - c)/(α (1 - c)).
    """
    check(epsilon0, 1)
    if np.any(alpha <= 1):
        raise ValueError(f"alpha must exceed 1, got {np.min(alpha)}")
    if epsilon0 == 0:
        return np.zeros_like(alpha)
    beta = alpha - 1
    one_c, e_one = -np.expm1(-beta * epsilon0), math.expm1(epsilon0)  # 1 - c and E - 1, so E - c is their sum
    t = np.clip(np.log(beta / alpha) + np.log(e_one + one_c) - np.log(one_c), 0, epsilon0)
    log_moment = beta * t + np.log1p(-np.expm1(t) * one_c / e_one)  # (E - c - e^t (1 - c))/(E - 1) - 1
    return np.asarray(np.minimum(log_moment / beta, alpha * epsilon0**2 / 8))


def composed(epsilon0: float, k: int, delta: float) -> float:
    """The ε at δ of k ε0-bounded-range releases, chosen adaptively: their Rényi divergences add up."""
    check(epsilon0, k, delta)
    return 0.0 if epsilon0 == 0 else renyi(lambda alpha: k * divergence(epsilon0, alpha), delta)


def optimal_non_adaptive(epsilon0: float, k: int, delta: float) -> float:
    """The least ε at δ of k releases that are fixed in advance (Dong, Durfee & Rogers 2020).

    The releases of a bandit are adaptive. For them this is no guarantee, only a measure of how tight `composed` is.
    """
    from scipy import optimize, stats

    check(epsilon0, k, delta)
    low = np.arange(k + 1)  # the number of losses t - ε0

    def worst_delta(epsilon: float) -> float:
        def minus_delta(t: float) -> float:
            _, log_rest = _log_q(epsilon0, t)
            loss = k * t - low * epsilon0
            beyond = loss > epsilon
            log_p = stats.binom.logpmf(low[beyond], k, math.exp(log_rest))
            return -float(np.sum(np.exp(log_p) * -np.expm1(epsilon - loss[beyond])))

        grid = np.linspace(0.4, 0.6, 41) * epsilon0 if k > 100 else np.linspace(0.01, 0.99, 99) * epsilon0
        i = int(np.argmin([minus_delta(t) for t in grid]))
        bracket = (grid[max(0, i - 1)], grid[min(len(grid) - 1, i + 1)])
        found = optimize.minimize_scalar(
            minus_delta, bounds=bracket, method="bounded", options={"xatol": 1e-9 * epsilon0}
        )
        return max(-float(found.fun), -minus_delta(grid[i]))

    return solve(worst_delta, delta, composed(epsilon0, k, delta))
