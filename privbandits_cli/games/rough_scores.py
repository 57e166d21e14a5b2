"""Squared norms |x|² = x' V^-1 x of many arms, and bounds on their scores that rule most of them out.

The score of an arm is <θ~, x> + β |x|. Double precision decides which arm has the largest, but only for the few arms
that bounds leave. The first bound is that of the largest eigenvalue of V^-1, which needs no quadratic form. The second
is the score in single precision and its error, in half the time. Bounds only rule out, so they change no arm that is
played. Where there are few arms they would not pay, and there are none.
"""

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.numerics.jit import Record, Records, once, record
from privbandits_cli.numerics.types import Floats

TILE = 128  # arms that are scored together; they fit into the first cache
CROWD, WIDE = 32, 32  # arms per coordinate, and coordinates, from which on bounds pay
SQUARINGS = 6  # of V^-1, for its largest eigenvalue
ROUNDING = 2.0**-24  # u, of single precision
LEAST, MOST = np.float32(2.0**-60), np.float32(2.0**60)  # between them, no |x|² is near an under- or overflow
TINY = 1e-140  # the same for |θ~|², and the trace of V^-1
ZERO, INFINITE = np.float32(0.0), np.float32(np.inf)

Singles = NDArray[np.float32]


def rough_room(dimension: int, n_arms: int) -> Records:
    """The record in which `bound` works; it holds nothing if bounds do not pay."""
    d, k, tile = (dimension, n_arms, TILE) if n_arms >= CROWD * dimension >= CROWD * WIDE else (0, 0, 0)
    shapes: dict[str, tuple[int, ...]] = {
        "theta": (d,), "inverse": (d, d), "powers": (2, d, d), "sums": (d,),
        "means": (k,), "norms": (k,), "most": (k,),
        "x": (d, tile), "rows": (2, tile), "squares": (tile,),
        "least": (), "low": (), "high": (), "mean_error": (), "square_error": (),
    }  # fmt: skip
    fields = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    return record(near=np.zeros(tile, np.int64), **fields)


def ruled_out(rough: Record, first: int, n: int) -> bool:
    """Whether none of these arms has the largest score; NaN rules nothing out."""
    if len(rough.near) == 0:
        return False
    found = 0
    for a in range(first, first + n):
        found += not rough.most[a] < rough.least
    return found == 0


@once
def bound(rough: Record, theta: Floats, inverse: Floats, wide: float, arms: Floats) -> None:
    """Set `rough.most[k]` to numbers that no arm's score exceeds, and `rough.least` to one that some score reaches.

    In units of max(|θ~|, β √τ), τ the trace of V^-1. All arms have the bound by the largest eigenvalue of V^-1. Those
    that may still be the best are scored in single precision. No term of a sum goes through more than d + 16 roundings,
    so <θ~, x> is wrong by (d + 16) u |θ~| |x| at most, and x' V^-1 x by (d + 16) u F |x|², F the Frobenius norm. Twice
    these and 16 u of a root cover all other rounding, too, even that in double precision.
    """
    most, near = rough.most, rough.near
    if len(most) == 0:
        return
    scale(rough, theta, inverse, wide)
    along(rough, arms)
    top = np.float32(largest_eigenvalue(rough.inverse, rough.powers, rough.sums)) + rough.square_error
    best, mean_error, high = 0, rough.mean_error, rough.high
    for a in range(len(most)):
        norm = rough.norms[a]
        upper = rough.means[a] + mean_error * np.sqrt(norm) + high * np.sqrt(top * norm)
        most[a] = upper if LEAST < norm < MOST else INFINITE
    for a in range(1, len(most)):
        if most[a] > most[best]:
            best = a
    rough.least, n = -INFINITE, 0
    for i in range(-1, len(most)):  # first the best, whose score rules out most of the others
        a = best if i < 0 else i
        if not most[a] < rough.least:
            near[n] = a
            n += 1
        if n == len(near) or (n > 0 and (i < 0 or i == len(most) - 1)):
            closer(rough, arms, n)
            n = 0


def scale(rough: Record, theta: Floats, inverse: Floats, wide: float) -> None:
    """θ~, V^-1 and the errors, in single precision."""
    d, trace, square = len(theta), 0.0, 0.0
    for i in range(d):
        trace += inverse[i, i]
        square += theta[i] * theta[i]
    length, spread = np.sqrt(square), wide * np.sqrt(trace)
    unit = max(length, spread)
    if not min(unit, trace) > TINY:
        unit = np.nan  # nothing is ruled out
    for i in range(d):
        rough.theta[i] = np.divide(theta[i], unit)
        for j in range(i + 1):
            rough.inverse[i, j] = np.divide(inverse[i, j], trace)
            rough.inverse[j, i] = rough.inverse[i, j]
    error, root = 2.0 * (d + 16) * ROUNDING, np.divide(spread, unit)
    rough.low, rough.high = root * (1.0 - 16.0 * ROUNDING), root * (1.0 + 16.0 * ROUNDING)
    rough.mean_error = np.divide(error * length, unit)
    rough.square_error = error * frobenius(rough.inverse, rough.sums)


def along(rough: Record, arms: Floats) -> None:
    """<θ~, x> and |x|² of all `arms[d, k]`."""
    means, norms, theta = rough.means, rough.norms, rough.theta
    for a in range(len(means)):
        means[a] = ZERO
        norms[a] = ZERO
    for i in range(len(theta)):
        weight = theta[i]
        for a in range(len(means)):
            x = np.float32(arms[i, a])
            means[a] += weight * x
            norms[a] += x * x


def closer(rough: Record, arms: Floats, n: int) -> None:
    """Closer bounds for the arms `near[:n]`, from quadratic forms."""
    near, x, rows, found = rough.near, rough.x, rough.rows, rough.squares
    first = near[0]
    if near[n - 1] == first + n - 1:  # no gaps; the two branches differ only in speed
        for i in range(len(x)):
            for c in range(n):
                x[i, c] = np.float32(arms[i, first + c])
    else:
        for i in range(len(x)):
            for c in range(n):
                x[i, c] = np.float32(arms[i, near[c]])
    squares(rough.inverse, x, rows, found)
    low, high, mean_error, square_error = rough.low, rough.high, rough.mean_error, rough.square_error
    for c in range(n):
        mean, norm = rough.means[near[c]], rough.norms[near[c]]
        off, wrong, within = mean_error * np.sqrt(norm), square_error * norm, LEAST < norm < MOST
        upper = mean + off + high * np.sqrt(max(ZERO, found[c] + wrong))
        lower = mean - off + low * np.sqrt(max(ZERO, found[c] - wrong))
        rows[0, c] = upper if within else INFINITE
        rows[1, c] = lower if within else -INFINITE
    least = rough.least
    for c in range(n):
        rough.most[near[c]] = rows[0, c]
        least = max(least, rows[1, c])
    rough.least = least


def frobenius(matrix: Singles, sums: Singles) -> float:
    """The Frobenius norm."""
    for j in range(len(sums)):
        sums[j] = ZERO
    for i in range(len(sums)):
        for j in range(len(sums)):
            sums[j] += matrix[i, j] * matrix[i, j]
    total = 0.0
    for j in range(len(sums)):
        total += sums[j]
    norm: float = np.sqrt(total)
    return norm


def largest_eigenvalue(matrix: Singles, powers: Singles, sums: Singles) -> float:
    """An upper bound on the eigenvalues of a symmetric matrix, at most d^(1/128) times the largest.

    The Frobenius norm is one. The root of that of the square is closer, and so on. A matrix of norm 1 has a square of
    norm at least 1/√d, which is wrong by (d + 16) u at most. That is a share of d (d + 16) u of the product of two such
    norms, which bounds the square of the eigenvalue.
    """
    d, result, power = len(sums), 1.0, 1.0
    for i in range(d):
        for j in range(d):
            powers[0, i, j] = matrix[i, j]
    for step in range(SQUARINGS + 1):
        now, after = powers[step % 2], powers[1 - step % 2]
        norm = frobenius(now, sums) * (1.0 + 2.0 * d * (d + 16) * ROUNDING)
        result *= norm**power
        power *= 0.5
        if step < SQUARINGS:
            over = np.float32(np.divide(1.0, norm))
            for i in range(d):
                for j in range(d):
                    now[i, j] *= over
            square_of(now, after)
    return result


def square_of(matrix: Singles, out: Singles) -> None:
    """out = matrix matrix."""
    d = len(matrix)
    whole = d - d % 4
    for i in range(d):
        row = out[i]
        for j in range(d):
            row[j] = ZERO
        for c in range(0, whole, 4):
            p, q, r, s = matrix[i, c], matrix[i, c + 1], matrix[i, c + 2], matrix[i, c + 3]
            for j in range(d):
                row[j] += (p * matrix[c, j] + q * matrix[c + 1, j]) + (r * matrix[c + 2, j] + s * matrix[c + 3, j])
        for c in range(whole, d):
            for j in range(d):
                row[j] += matrix[i, c] * matrix[c, j]


def squares(inverse: Floats, x: Floats, rows: Floats, out: Floats) -> None:
    """x' V^-1 x for every arm of `x[d, arms]`, by two rows and four columns of the lower triangle at a time."""
    n, odd, half, two = len(out), x.dtype.type(len(x) % 2), x.dtype.type(0.5), x.dtype.type(2.0)
    for a in range(n):
        out[a] = odd * inverse[0, 0] * x[0, a] * x[0, a]
    for i in range(len(x) % 2, len(x), 2):
        upper, lower = inverse[i], inverse[i + 1]
        for a in range(n):
            rows[0, a] = half * upper[i] * x[i, a]
            rows[1, a] = half * lower[i + 1] * x[i + 1, a] + lower[i] * x[i, a]
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
            out[a] += two * (x[i, a] * rows[0, a] + x[i + 1, a] * rows[1, a])
