"""What one draw of EXP3 leaks of a gain long ago: Lemma B, for any number of arms.

Setting and letters are those of `exponential_weights`, where Lemma A bounds a draw's log-ratio by Δ. That would be
its size if the changed arm could be rare, so that its weight moves far, and popular, so that the move is seen. It
cannot be both, and what it gains in popularity its difference loses:

    Lemma B. With M, L and v below, the log-ratio of each draw after round s lies in [-L, L], and the χ²-divergence
    of its two laws is at most v, which is of order Δ² γ/K, either way round.

    Proof. On one path of arms let the changed gain be g(θ) = g' + θ (g - g'), 0 <= θ <= 1, of arm 1 say, and
    v_i = du_i/dθ, v̄ = Σ q_i v_i, y_i = η/p_i. Playing j with a gain g adds x = g y_j to u_j and takes
    c (v_j - v̄) from v_j, c = x (1 - y_j) <= 1/4: v_j moves towards v̄, not past it. After round s v_1 is at most
    Δ y_s, y_s = y_1 in that round, and the others are 0; so no v_i is ever negative.

    (i) v̄ <= M. A play of j adds (1 + R) c (v_j - v̄) η/(1-γ) to v̄ and R c (v_j - v̄) η to Φ = Σ p_i v_i
    = (1-γ) v̄ + η Σ v_i, where 1 + R = [e^x - 1 - c e^x]/[x y_j (1 + q_j (e^x - 1))] lies in [1/2, e - 1]: at most its
    value at q_j = 0, y_j = 1, (e^x - 1)/x; at least that at q_j = 1, y_j = x, 1 - (e^-x - 1 + x)/x². So v̄ walks at
    most β = (e-1) η/(1-γ) times what v_j walks; and v_j, always towards v̄, walks at most |v_j - v̄| at the start and
    what v̄ walks. With ν = η/(1-γ), v̄ starts at most at νΔ, as e^y (1-y) <= 1, and V, all that v̄ walks, is at
    most β (Δ + (K-2) νΔ + K V). Φ starts at most at ηΔ ρ, ρ = y_s + (1 - y_s) e^y_s; with |R| <= e - 2,
    Φ <= ηΔ (ρ + (e-2) y_s) + (e-2) η ((K-1) νΔ + K V), and v̄ <= Φ/(1-γ): that is M. No other v_j exceeds it.

    (ii) Z = max(0, v_1 - M) p_1 m(y_1), m(y) = e^(a y²), a = 0.22, never grows. When others are played p_1 falls, and
    p m(η/p) with it. When arm 1 is, v_1 - M shrinks to at most (1-c) of itself, and p_1 grows to ρ p_1,
    ρ = y + (1-y) e^x/(1 + q (e^x - 1)); and

        (1 - x (1-y)) ρ m(y/ρ) <= m(y)    for 0 <= x <= y <= 1,

    for q = 0 by computation: ln of right over left is at least 0.0067 x (1-y) y² there. Of all q with the same ρ that
    one has the least x, so the left is largest. Z starts at most at ηΔ C, C = ρ m(y_s/ρ), ρ = y_s + (1-y_s) e^(g y_s).

    (iii) So |v_1 - v̄| <= M + ΔC y_1/m(y_1) and |v_j - v̄| <= M. As d ln p_i/dθ = (1 - y_i) (v_i - v̄), the log-ratio
    is at most L = Δ λ E[C] + M, λ = max (1-y) y/m(y), and the Fisher information Σ p_i (d ln p_i/dθ)² at most
    ηΔ² κ C² + 2 ηΔ C M + M², κ = max y (1-y)²/m(y)². Here E is the mean over g in [1-Δ, 1], where C is largest, at
    the worst y_s. The χ²-divergence is at most e^L times the mean of the Fisher information over θ. ∎

Near 1 a gain tells more than near 0: it makes the arm popular while it is told apart. Units: nats, rounds.
"""

import math
from typing import NamedTuple

import numpy as np

from privbandits_cli.accounting.composition import Floats, check, renyi
from privbandits_cli.accounting.exponential_weights import ExponentialWeights

A = 0.22  # of m; from 0.218 up (ii) holds
REACH = 1.8203  # the largest y + (1-y) e^y + (e-2) y, rounded up
SLOPE, SIZE = 0.2373, 0.1415  # λ and κ, rounded up


class Draw(NamedTuple):
    """Largest |log-ratio| of one draw, and largest χ²-divergence of its two laws."""

    ratio: float
    variance: float


def draw(game: ExponentialWeights) -> Draw:
    """Lemma B's L and v; where M is not bounded (γ from 0.37 up), or Lemma A's Δ is less, what follows from Δ."""
    eta, delta = game.floor, game.sensitivity
    most = largest(game)
    once, square = starts(delta)
    ratio = min(delta, delta * (SLOPE * once + most))
    fisher = eta * delta**2 * (SIZE * square + 2 * most * once) + (delta * most) ** 2
    apart = math.expm1(ratio) * -math.expm1(-ratio)  # the largest variance of mean 1 in [e^-ratio, e^ratio]
    return Draw(ratio, min(apart, math.exp(ratio) * fisher))


def largest(game: ExponentialWeights) -> float:
    """M/Δ: how far one gain can move the mean of u, part (i); infinite where K β >= 1."""
    eta, n_arms = game.floor, game.n_arms
    beta = (math.e - 1) * eta
    if n_arms * beta >= 1 - game.gamma:
        return math.inf
    nu = eta / (1 - game.gamma)
    walks = beta * (1 + (n_arms - 2) * nu) / (1 - game.gamma - n_arms * beta)
    return nu * (REACH + (math.e - 2) * ((n_arms - 1) * nu + n_arms * walks))


def starts(sensitivity: float) -> tuple[float, float]:
    """E[C] and E[C²] of part (iii), each at its worst y_s."""
    y = np.linspace(0, 1, 1001)[:, None]
    nodes, weights = np.polynomial.legendre.leggauss(16)
    gain = 1 - sensitivity * (1 - nodes) / 2
    rho = y + (1 - y) * np.exp(gain * y)
    c = rho * np.exp(A * (y / rho) ** 2)
    return float((c @ weights).max() / 2), float((c**2 @ weights).max() / 2)


def divergence(one: Draw, alpha: Floats) -> Floats:
    """The largest Rényi divergence of orders α > 1 of two laws whose ratio is within `one`.

    Their ratio under the second is 1 + X, E X = 0, E X² <= v, X in [e^-L - 1, e^L - 1]. Of E(1 + X)^α the largest is
    at two points: e^L - 1 and -v/(e^L - 1) for α >= 2, e^-L - 1 and v/(1 - e^-L) below (Bennett 1962, by the sign of
    the third derivative).
    """
    at = np.where(alpha >= 2, math.expm1(one.ratio), math.expm1(-one.ratio))
    there = one.variance / (one.variance + at**2)
    moment = np.logaddexp(np.log(there) + alpha * np.log1p(at), np.log1p(-there) + alpha * np.log1p(-one.variance / at))
    return np.asarray(moment / (alpha - 1))


def composed(one: Draw, k: int, delta: float) -> float:
    """ε at δ of k such draws, each in view of the ones before: Rényi divergences add."""
    check(one.ratio, k, delta)
    return 0.0 if one.ratio == 0 else renyi(lambda alpha: k * divergence(one, alpha), delta)
