"""Bounded range: releases whose log-likelihood ratios lie in an interval of length ε0 (Durfee & Rogers 2019).

The exponential mechanism is such a release, and so is every draw of EXP3 (see `exponential_weights`). It costs about
half of what ε0-privacy alone would, since the ratio cannot be both high and low. The worst case is generalised
randomised response with some t in [0, ε0]: loss t with probability q = (e^ε0 - e^t)/(e^ε0 - 1), otherwise t - ε0.
"""

import math

import numpy as np

from privbandits_cli.accounting.composition import check, renyi
from privbandits_cli.numerics.types import Floats


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
