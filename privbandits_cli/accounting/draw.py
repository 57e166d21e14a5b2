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

    Proof. Let arm 1 be the arm played in round s, and let its gain in that round be g(θ) = g' + θ (g - g') with
    g >= g' and 0 <= θ <= 1. Fix a path of arms. Write v_i = du_i/dθ, v̄ = Σ q_i v_i and y_i = η/p_i. Playing arm j with
    a gain g adds x = g y_j <= y_j to u_j and subtracts c (v_j - v̄) from v_j, where c = x (1 - y_j) <= 1/4. So v_j
    moves towards v̄ and not past it. After round s we have v_1 <= Δ y, where y is y_1 in that round, and the other v_i
    are 0. Hence no v_i ever becomes negative.

    (i) v̄ <= M at all times. Let Φ = Σ p_i v_i = (1-γ) v̄ + η Σ v_i. A play of arm j changes v̄ by (1 + R) c (v_j - v̄)
    ν and Φ by R c (v_j - v̄) η, where 1 + R = [e^x - 1 - c e^x]/[x y_j (1 + q_j (e^x - 1))]. This quantity lies in
    [1/2, e-1]. Indeed its numerator is positive, since e^x (1 - x + x²) >= 1. It is at most its value at q_j = 0, y_j =
    1, which is (e^x - 1)/x, and at least its value at q_j = 1, y_j = x, which is 1 - (e^-x - 1 + x)/x². So when a v_j
    moves by some distance, v̄ moves by at most β times that distance. As v_j always moves towards v̄, the total
    distance that v_j moves is at most its initial distance |v_j - v̄| plus the total distance that v̄ moves. Initially
    v̄ <= νΔ, because e^y (1-y) <= 1. So the total distance W that v̄ moves satisfies W <= β (Δ + (K-2) νΔ + K W),
    whence W <= V. Initially Φ <= ηΔ (y + (1-y) e^y). As |R| <= e-2, Φ stays below ηΔ r + (e-2) η ((K-1) νΔ + K V), and
    v̄ <= Φ/(1-γ) <= M. Consequently no v_j other than v_1 exceeds M, either.

    (ii) Z = max(0, v_1 - M) p_1 m(y_1) never increases. When another arm is played, p_1 falls, and p m(η/p) falls with
    it because 2 a <= 1. When arm 1 is played, v_1 - M shrinks to at most 1-c times itself, and p_1 grows to ρ p_1 with
    ρ = y + (1-y) e^x/(1 + q (e^x - 1)), where y = y_1 and q = q_1. So it suffices that

        (1 - x (1-y)) ρ m(y/ρ) <= m(y)    for 0 <= x <= y <= 1.

    Among all q that give the same ρ, q = 0 has the smallest x and therefore the largest left side. For q = 0,
    ln(right/left) is (1-y) times the integral over t from 0 to x of
    [t - y (1 + t - e^-t)]/[(1 - t (1-y)) (y e^-t + 1-y)] + 2 a y² e^t/ρ_t³, where ρ_t = y + (1-y) e^t. For y <= 1/2
    both terms are positive. For y >= 1/2 a cover by small intervals shows that ln(right/left) is at least
    0.005 x (1-y) y² (tests/accounting/test_draw.py; numerically 0.0067, at x = y = 0.918). Initially Z <= ηΔ C.

    (iii) It follows that |v_1 - v̄| <= M + ΔC y_1/m(y_1), and that |v_j - v̄| <= M for the other arms. Since
    d ln p_i/dθ = (1-y_i) (v_i - v̄), the absolute value of this derivative is at most ΔλC + M, and the Fisher
    information Σ p_i (d ln p_i/dθ)² is at most ηΔ² κ C² + 2 ηΔ M C + M². The log-ratio is the integral over θ of the
    derivative. The χ²-divergence is at most e^L times the integral over θ of the Fisher information, by the
    Cauchy-Schwarz inequality. C grows with g, so [1-Δ, 1] is the worst interval of gains of its length, and a shorter
    one is no worse. ∎

A change of a gain near 1 is more visible than one near 0, as a large gain makes the arm popular. Units: nats, rounds.
"""

import math
from typing import NamedTuple

import numpy as np

from privbandits_cli.accounting.composition import check, renyi
from privbandits_cli.accounting.exponential_weights import ExponentialWeights
from privbandits_cli.numerics.types import Floats

A = 0.22  # a; (ii) holds for a >= 0.218
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
