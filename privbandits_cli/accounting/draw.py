"""What one draw of EXP3 leaks of a gain long ago: Lemma B, for any number of arms.

Setting and letters are those of `exponential_weights`, where Lemma A bounds a draw's log-ratio by Δ. That would be
its size if the changed arm could be rare, so that its weight moves far, and popular, so that the move is seen. It
cannot be both, and what it gains in popularity its difference loses. With m(y) = e^(a y²), a = 0.22, let

    ν = η/(1-γ), β = (e-1) ν, V = β Δ (1 + (K-2) ν)/(1 - K β),  M = ν (r Δ + (e-2) ((K-1) ν Δ + K V)),
    r = max y + (1-y) e^y + (e-2) y,  λ = max (1-y) y/m(y),  κ = max y (1-y)²/m(y)²  over 0 <= y <= 1,
    C = ρ m(y/ρ) with ρ = y + (1-y) e^(g y), and E its mean over g in [1-Δ, 1] at the worst y,
    L = Δ λ E[C] + M,  v = e^L (η Δ² κ E[C²] + 2 η Δ M E[C] + M²).

    Lemma B. Let K β < 1, that is γ < 1/e. Each draw after round s has log-ratios in [-L, L], and the χ²-divergence
    of its two laws is at most v, either way round: of order Δ² γ/K for small γ.

    Proof. Arm 1 is played in round s; let its gain there be g(θ) = g' + θ (g - g'), g >= g', 0 <= θ <= 1, and follow
    one path of arms. With v_i = du_i/dθ, v̄ = Σ q_i v_i and y_i = η/p_i, playing j with a gain g adds x = g y_j <= y_j
    to u_j and takes c (v_j - v̄) from v_j, c = x (1 - y_j) <= 1/4: v_j moves towards v̄, not past it. After round s
    v_1 is at most Δ y, y = y_1 in that round, and the others are 0; so no v_i is ever negative.

    (i) v̄ <= M. A play of j adds (1 + R) c (v_j - v̄) ν to v̄, and R c (v_j - v̄) η to Φ = Σ p_i v_i = (1-γ) v̄ + η Σ v_i,
    where 1 + R = [e^x - 1 - c e^x]/[x y_j (1 + q_j (e^x - 1))] lies in [1/2, e-1]: its numerator is positive, as
    e^x (1 - x + x²) >= 1; it is at most its value at q_j = 0, y_j = 1, (e^x - 1)/x, and at least that at q_j = 1,
    y_j = x, 1 - (e^-x - 1 + x)/x². So v̄ walks at most β for each unit that a v_j walks; and v_j, always towards v̄,
    walks at most |v_j - v̄| at the start and what v̄ walks. v̄ starts at most at νΔ, as e^y (1-y) <= 1, so that v̄
    walks at most β (Δ + (K-2) νΔ + K times what it walks): V. Φ starts at most at ηΔ (y + (1-y) e^y); as
    |R| <= e-2 it stays below ηΔ r + (e-2) η ((K-1) νΔ + K V), and v̄ <= Φ/(1-γ). No v_j but v_1 exceeds M, either.

    (ii) Z = max(0, v_1 - M) p_1 m(y_1) never grows. When others are played p_1 falls, and p m(η/p) with it, as
    2 a <= 1. When arm 1 is, v_1 - M shrinks to at most 1-c of itself, p_1 grows to ρ p_1 with
    ρ = y + (1-y) e^x/(1 + q (e^x - 1)), y = y_1, and

        (1 - x (1-y)) ρ m(y/ρ) <= m(y)    for 0 <= x <= y <= 1.

    Of all q with the same ρ, q = 0 has the least x and so the largest left side. There ln(right/left) is (1-y) times
    the integral over t from 0 to x of [t - y (1 + t - e^-t)]/[(1 - t (1-y)) (y e^-t + 1-y)] + 2 a y² e^t/ρ_t³,
    ρ_t = y + (1-y) e^t. For y <= 1/2 both terms are positive. For y >= 1/2 a cover by small intervals shows that it
    is at least 0.005 x (1-y) y² (tests/test_draw.py; truly 0.0067, at x = y = 0.918). Z starts at most at ηΔ C.

    (iii) So |v_1 - v̄| <= M + ΔC y_1/m(y_1) and |v_j - v̄| <= M for the others. As d ln p_i/dθ = (1-y_i) (v_i - v̄), that
    is at most ΔλC + M, and the Fisher information Σ p_i (d ln p_i/dθ)² at most ηΔ² κ C² + 2 ηΔ M C + M². The
    log-ratio is the integral over θ of the one; the χ²-divergence is at most e^L times that of the other, by
    Cauchy-Schwarz. C grows with g, so [1-Δ, 1] is the worst interval of gains, and a shorter one is no worse. ∎

Near 1 a gain tells more than near 0: it makes the arm popular while it is told apart. Units: nats, rounds.
"""

import math
from typing import NamedTuple

import numpy as np

from privbandits_cli.accounting.composition import check, renyi
from privbandits_cli.accounting.exponential_weights import ExponentialWeights
from privbandits_cli.numerics.types import Floats

A = 0.22  # a; from 0.218 up (ii) holds
REACH = 1.8203  # r, rounded up
SLOPE, SIZE = 0.2373, 0.1415  # λ and κ, rounded up
GRID = 1 + 1e-6  # more than a maximum over 1001 points of [0, 1] leaves out
ROUNDING = 1e-15  # of the logarithm of a moment near 1


class Draw(NamedTuple):
    """Largest |log-ratio| of one draw, and largest χ²-divergence of its two laws."""

    ratio: float
    variance: float


def draw(game: ExponentialWeights) -> Draw:
    """Lemma B's L and v; for γ >= 1/e, or where Lemma A's Δ is less than L, what follows from Δ."""
    eta, delta = game.floor, game.sensitivity
    if game.gamma == 1:
        return Draw(0.0, 0.0)  # uniform play, whatever was seen
    most = largest(game)
    once, square = starts(delta)
    ratio = min(delta, delta * (SLOPE * once + most))
    fisher = eta * delta**2 * (SIZE * square + 2 * most * once) + (delta * most) ** 2
    apart = math.expm1(ratio) * -math.expm1(-ratio)  # the largest variance of mean 1 in [e^-ratio, e^ratio]
    return Draw(ratio, min(apart, math.exp(ratio) * fisher))


def largest(game: ExponentialWeights) -> float:
    """M/Δ: how far one gain can move the mean of u; infinite where K β >= 1."""
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
    nodes, weights = np.polynomial.legendre.leggauss(16)
    gain = 1 - sensitivity * (1 - nodes) / 2
    rho = y + (1 - y) * np.exp(gain * y)
    c = rho * np.exp(A * (y / rho) ** 2)
    return float((c @ weights).max() / 2) * GRID, float((c**2 @ weights).max() / 2) * GRID


def divergence(one: Draw, alpha: Floats) -> Floats:
    """The largest Rényi divergence of orders α > 1 of two laws whose ratio is within `one`.

    Their ratio under the second is 1 + X, E X = 0, E X² <= v, X in [e^-L - 1, e^L - 1]. Of E(1 + X)^α the largest is
    at two points: e^L - 1 and -v/(e^L - 1) for α >= 2, e^-L - 1 and v/(1 - e^-L) below (Bennett 1962, by the sign of
    the third derivative).
    """
    at = np.where(alpha >= 2, math.expm1(one.ratio), math.expm1(-one.ratio))
    there = one.variance / (one.variance + at**2)
    moment = np.logaddexp(np.log(there) + alpha * np.log1p(at), np.log1p(-there) + alpha * np.log1p(-one.variance / at))
    return np.asarray((moment + ROUNDING) / (alpha - 1))


def composed(one: Draw, k: int, delta: float) -> float:
    """ε at δ of k such draws, each in view of the ones before: Rényi divergences add."""
    check(one.ratio, k, delta)
    return 0.0 if one.variance == 0 else renyi(lambda alpha: k * divergence(one, alpha), delta)
