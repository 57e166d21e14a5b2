"""The privacy loss of one draw of EXP3 with respect to one earlier gain: Lemma B, for any number of arms.

Setting and notation are those of `exponential_weights`, where Lemma A bounds the log-ratios of a draw by Δ. That
bound would be attained if the changed arm could be both rare, so that its weight moves far, and popular, so that the
move is visible. It cannot be both, and as it becomes popular its difference shrinks. Let m(y) = e^(a y²), a = 0.22, and

    ν = η/(1-γ), β = (e-1) ν, V = β Δ (1 + (K-2) ν)/(1 - K β),  M = ν (r Δ + (e-2) ((K-1) ν Δ + K V)),
    r = max y + (1-y) e^y + (e-2) y,  λ = max (1-y) y/m(y),  κ = max y (1-y)²/m(y)²  over 0 <= y <= 1,
    C = ρ m(y/ρ) with ρ = y + (1-y) e^(g y), and E its mean over g in [1-Δ, 1] at the worst y,
    L = Δ λ E[C] + M,  v = e^L (η Δ² κ E[C²] + 2 η Δ M E[C] + M²).

    Lemma B. Let K β < 1, that is γ < 1/e. Then each draw after round s has log-ratios in [-L, L], and the χ²-divergence
    of its two laws is at most v in either direction, which is of order Δ² γ/K for small γ.

`docs/privacy/lemma_b.md` has the proof. A change of a gain is more visible near 1 than near 0, because a large gain
makes its arm popular. Units: nats, rounds.
"""

import math
from typing import NamedTuple

import numpy as np

from privbandits_cli.accounting.composition import check, renyi
from privbandits_cli.accounting.exponential_weights import ExponentialWeights
from privbandits_cli.numerics.types import Floats

A = 0.22  # a; step 2 of the proof holds for a >= 0.218
REACH = 1.8203  # r, rounded up
SLOPE, SIZE = 0.2373, 0.1415  # λ and κ, rounded up
GRID = 1 + 1e-6  # covers what a maximum over 1001 points of [0, 1] misses
ROUNDING = 1e-15  # error of the logarithm of a moment near 1
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


class Draw(NamedTuple):
    """Bounds on |log-ratio| of one draw and on the χ²-divergence of its two laws."""

    ratio: float
    variance: float


def draw(game: ExponentialWeights) -> Draw:
    """L and v of Lemma B; if γ >= 1/e, or if Δ of Lemma A is less than L, what follows from Δ."""
    eta, delta = game.floor, game.sensitivity
    if game.gamma == 1:
        return Draw(0.0, 0.0)  # uniform play, whatever the gains
    most = largest(game)
    once, square = starts(delta)
    ratio = min(delta, delta * (SLOPE * once + most))
    fisher = eta * delta**2 * (SIZE * square + 2 * most * once) + (delta * most) ** 2
    apart = math.expm1(ratio) * -math.expm1(-ratio)  # the largest variance of mean 1 in [e^-ratio, e^ratio]
    return Draw(ratio, min(apart, math.exp(ratio) * fisher))


def largest(game: ExponentialWeights) -> float:
    """M/Δ: how far one gain can move the mean of u; infinite if K β >= 1."""
    eta, n_arms = game.floor, game.n_arms
    beta = (math.e - 1) * eta
    if n_arms * beta >= 1 - game.gamma:
        return math.inf
    nu = eta / (1 - game.gamma)
    walks = beta * (1 + (n_arms - 2) * nu) / (1 - game.gamma - n_arms * beta)
    return nu * (REACH + (math.e - 2) * ((n_arms - 1) * nu + n_arms * walks))


def starts(sensitivity: float) -> tuple[float, float]:
    """E[C] and E[C²], each at its worst y."""
    y = np.linspace(0, 1, 1001)[:, None]
    gain = 1 - sensitivity * (1 - NODES) / 2
    rho = y + (1 - y) * np.exp(gain * y)
    c = rho * np.exp(A * (y / rho) ** 2)
    return float((c @ WEIGHTS).max() / 2) * GRID, float((c**2 @ WEIGHTS).max() / 2) * GRID


def divergence(one: Draw, alpha: Floats) -> Floats:
    """The largest Rényi divergences of orders α > 1 between two laws whose ratio satisfies the bounds `one`.

    Under the second law the ratio is 1 + X with E X = 0, E X² <= v and X in [e^-L - 1, e^L - 1]. E(1 + X)^α is largest
    for a law on two points: e^L - 1 and -v/(e^L - 1) for α >= 2, e^-L - 1 and v/(1 - e^-L) for α < 2 (Bennett 1962, by
    the sign of the third derivative).
    """
    at = np.where(alpha >= 2, math.expm1(one.ratio), math.expm1(-one.ratio))
    there = one.variance / (one.variance + at**2)
    moment = np.logaddexp(np.log(there) + alpha * np.log1p(at), np.log1p(-there) + alpha * np.log1p(-one.variance / at))
    return np.asarray((moment + ROUNDING) / (alpha - 1))


def composed(one: Draw, k: int, delta: float) -> float:
    """The ε at δ of k such draws, chosen adaptively: their Rényi divergences add up."""
    check(one.ratio, k, delta)
    return 0.0 if one.variance == 0 else renyi(lambda alpha: k * divergence(one, alpha), delta)
