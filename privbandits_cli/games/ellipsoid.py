"""Optimism in a confidence ellipsoid: the arm with the largest <θ~, x> + β |x| in the norm of V^-1.

Proposition 4 of Shariff & Sheffet 2018, for regularisers with eigenvalues in [ρ_min, ρ_max] and |h| <= γ in the norm of
the inverse regulariser, each with probability 1 - α/2n: β = σ √(2 ln(2/α) + ln det V - d ln ρ_min) + S √ρ_max + γ.
If the law of H changes from round to round, ρ_max and γ are those of the round, but ρ_min is the least of all rounds.
The proof adds three norms of V^-1. Those of H θ and of h are bounded by H of the round. The sum of x times the noise of
its reward is bounded for all rounds at once by a martingale, which needs one matrix ρ I that is below every H. So the
least ρ_min is compared with ln det V.

The state of every such algorithm has V^-1 (`inverse`), θ~ (`theta`), ln det V (`logdet`) and the constants of β.
"""

import math
from typing import Any

import numpy as np

from privbandits_cli.games.players import Contexts
from privbandits_cli.numerics.jit import Record
from privbandits_cli.numerics.types import Floats

FEW = 8  # coordinates: the compiler unrolls loops over up to this many
TILE = 64  # arms that are scored together; they fit into the first cache


def width(known: Contexts, alpha: float, rho_min: float, rho_max: float, gamma: float) -> dict[str, float]:
    """The constants of β: σ, 2 ln(2/α) - d ln ρ_min, S √ρ_max + γ."""
    return {
        "sigma": known.sigma,
        "log_term": 2 * math.log(2 / alpha) - known.dimension * math.log(rho_min),
        "fixed": known.theta_norm * math.sqrt(rho_max) + gamma,
    }


def room(known: Contexts, n_arms: int) -> dict[str, Any]:
    """Scratch fields of a state for `optimistic`."""
    tile = n_arms if known.dimension <= FEW else min(TILE, n_arms)
    tiled = known.dimension if known.dimension > FEW else 0
    return {
        "scores": np.zeros(tile),
        "rows": np.zeros((2, tile)),
        "tiles": np.zeros((tiled, tile)),
    }


def beta(state: Record) -> float:
    """β_t."""
    square = state.logdet + state.log_term
    total: float = state.fixed + state.sigma * np.sqrt(square if square > 0.0 else 0.0)
    return total


def optimistic(state: Record, arms: Floats) -> int:
    """The first arm of `arms[d, k]` with the largest <θ~, x> + β √(x' V^-1 x)."""
    if len(state.theta) <= FEW:
        return optimistic_of_few(state, beta(state), arms)
    return optimistic_of_many(state, beta(state), arms)


def optimistic_of_few(state: Record, wide: float, arms: Floats) -> int:
    """`optimistic` for few coordinates: the compiler unrolls their loops and vectorises over the arms.

    It reads the fields itself, because the size of an array that is passed as an argument is not a constant.
    """
    theta, inverse, scores = state.theta, state.inverse, state.scores
    for a in range(len(scores)):
        mean, square = 0.0, 0.0
        for i in range(len(theta)):
            row = 0.0
            for j in range(i):
                row += inverse[i, j] * arms[j, a]
            square += arms[i, a] * (inverse[i, i] * arms[i, a] + 2.0 * row)
            mean += theta[i] * arms[i, a]
        scores[a] = mean + wide * np.sqrt(square if square > 0.0 else 0.0)
    best, top = 0, scores[0]
    for a in range(1, len(scores)):
        better = scores[a] > top
        best, top = a if better else best, scores[a] if better else top
    return best


def optimistic_of_many(state: Record, wide: float, arms: Floats) -> int:
    """`optimistic` for many coordinates: tile by tile, each row of V^-1 is applied to all arms of a tile at once."""
    scores, rows, x = state.scores, state.rows, state.tiles
    best, top = 0, -np.inf
    for first in range(0, arms.shape[1], len(scores)):
        n = min(len(scores), arms.shape[1] - first)
        for i in range(len(x)):
            for a in range(n):
                x[i, a] = arms[i, first + a]
        squares(state.inverse, x, rows, scores)
        for a in range(len(scores)):
            scores[a] = wide * np.sqrt(max(0.0, scores[a]))
        for i in range(len(x)):
            for a in range(len(scores)):
                scores[a] += state.theta[i] * x[i, a]
        for a in range(n):
            if scores[a] > top:
                best, top = first + a, scores[a]
    return best


def squares(inverse: Floats, x: Floats, rows: Floats, out: Floats) -> None:
    """x' V^-1 x for every arm of `x[d, arms]`, by two rows and four columns of the lower triangle at a time."""
    n, odd = len(out), float(len(x) % 2)
    for a in range(n):
        out[a] = odd * inverse[0, 0] * x[0, a] * x[0, a]
    for i in range(len(x) % 2, len(x), 2):
        upper, lower = inverse[i], inverse[i + 1]
        for a in range(n):
            rows[0, a] = 0.5 * upper[i] * x[i, a]
            rows[1, a] = 0.5 * lower[i + 1] * x[i + 1, a] + lower[i] * x[i, a]
        whole = i - i % 4
        for j in range(0, whole, 4):
            p, q, r, s = upper[j], upper[j + 1], upper[j + 2], upper[j + 3]
            t, u, v, w = lower[j], lower[j + 1], lower[j + 2], lower[j + 3]
            for a in range(n):
                rows[0, a] += (p * x[j, a] + q * x[j + 1, a]) + (r * x[j + 2, a] + s * x[j + 3, a])
                rows[1, a] += (t * x[j, a] + u * x[j + 1, a]) + (v * x[j + 2, a] + w * x[j + 3, a])
        for j in range(whole, i):
            p, q = upper[j], lower[j]
            for a in range(n):
                rows[0, a] += p * x[j, a]
                rows[1, a] += q * x[j, a]
        for a in range(n):
            out[a] += 2.0 * (x[i, a] * rows[0, a] + x[i + 1, a] * rows[1, a])


def invert(v: Floats) -> float:
    """Invert the symmetric positive definite `v[d, d]` in place; returns ln det V, or NaN if V is not such a matrix.

    Gauss-Jordan elimination. Its pivots are the squares of those of Cholesky's factorisation, so they are all positive
    if and only if V is positive definite.
    """
    product, logarithm, least = 1.0, 0.0, v[0, 0]
    for k in range(len(v)):
        pivot = v[k, k]
        positive = pivot > 0.0
        least, pivot = least if positive else pivot, pivot if positive else 1.0
        product *= pivot
        if not 1e-100 < product < 1e100:
            logarithm += np.log(product)
            product = 1.0
        over = 1.0 / pivot
        for i in range(len(v)):
            if i != k:
                factor = v[i, k] * over
                for j in range(len(v)):
                    v[i, j] -= factor * v[k, j]
                v[i, k] = -factor
        for j in range(len(v)):
            v[k, j] *= over
        v[k, k] = over
    return logarithm + np.log(product) if least > 0.0 else np.nan


def rotate(row: Floats, factor: Floats) -> float:
    """Rotate `row[n]` into the triangular `factor[d, n]` (Givens 1958), n >= d; the row is overwritten.

    F' F, with F the first d columns, grows by x x' for the first d numbers x of the row. Returns how many times as
    large its determinant is now. Each rotation is orthogonal, so rounding errors do not grow.
    """
    grown = 1.0
    for i in range(len(factor)):
        length = np.sqrt(factor[i, i] * factor[i, i] + row[i] * row[i])
        ratio = length / factor[i, i]
        grown *= ratio * ratio
        cosine, sine = factor[i, i] / length, row[i] / length
        for j in range(i, len(row)):
            above, below = factor[i, j], row[j]
            factor[i, j] = cosine * above + sine * below
            row[j] = cosine * below - sine * above
    return grown


def largest_eigenvalue(matrix: Floats, power: Floats, square: Floats) -> float:
    """The largest eigenvalue of a positive definite `matrix[d, d]`; too large by at most 1e-15, apart from rounding.

    (tr M^p)^(1/p) decreases to this eigenvalue as p doubles. power, square: scratch space `[d, d]`.
    """
    copy(matrix, power)
    logarithm, share = 0.0, 1.0
    for _ in range(60):
        trace = 0.0
        for i in range(len(power)):
            trace += power[i, i]
        logarithm += share * np.log(trace)
        if share < 1.0 and share * np.log(trace) > -1e-16:
            break
        for i in range(len(power)):
            for j in range(len(power)):
                total = 0.0
                for k in range(len(power)):
                    total += (power[i, k] / trace) * (power[k, j] / trace)
                square[i, j] = total
        copy(square, power)
        share *= 0.5
    largest: float = np.exp(logarithm)
    return largest


def settle(state: Record) -> None:
    """Compute V^-1, θ~ and ln det V from `state.v`, which is overwritten.

    If V is not positive definite, the state keeps its previous values of the three.
    """
    logdet = invert(state.v)
    if np.isnan(logdet):
        state.indefinite += 1
        return
    inverse, state.logdet = state.inverse, logdet
    for i in range(len(inverse)):
        for j in range(len(inverse)):
            inverse[i, j] = state.v[i, j]
    for i in range(len(inverse)):
        total = 0.0
        for j in range(len(inverse)):
            total += inverse[i, j] * state.u[j]
        state.theta[i] = total


def copy(matrix: Floats, out: Floats) -> None:
    """out = matrix, both square."""
    for i in range(len(out)):
        for j in range(len(out)):
            out[i, j] = matrix[i, j]


def multiply(matrix: Floats, vector: Floats, out: Floats) -> None:
    """out = matrix vector. Four rows are summed at a time, so that their sums do not wait for each other."""
    whole = len(out) - len(out) % 4
    for i in range(0, whole, 4):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for j in range(len(out)):
            x = vector[j]
            a += matrix[i, j] * x
            b += matrix[i + 1, j] * x
            c += matrix[i + 2, j] * x
            d += matrix[i + 3, j] * x
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, d
    for i in range(whole, len(out)):
        total = 0.0
        for j in range(len(out)):
            total += matrix[i, j] * vector[j]
        out[i] = total
