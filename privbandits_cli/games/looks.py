"""The coordinates of arms that are drawn on demand (`games.on_demand`), and bounds on their |x|² = x' V^-1 x.

An arm has its coordinates along θ and along e. The rest of it is orthogonal to both, of a length that makes it a unit
vector, and in a uniformly random direction: that of the part of a standard normal vector that is orthogonal to both.

`look` draws one arm. `look_at` draws many, each a column of one table, so that every loop over them becomes vector
instructions. It computes their |x|² in single precision and bounds the error. This rules out nearly all arms.
"""

from typing import Any

import numpy as np

from privbandits_cli.games.rough_scores import ROUNDING, Singles, frobenius, squares
from privbandits_cli.numerics.jit import Record, once
from privbandits_cli.numerics.sfc64 import fill_normal, fill_normal_widely
from privbandits_cli.numerics.types import Floats

TILE = 64  # arms that are drawn together; they fit into the first cache
SHORT = 1e-6  # a remainder with a smaller square is drawn again, as rounding would turn it; the law does not change


def looks_room(dimension: int, n_arms: int) -> dict[str, Any]:
    """The fields of a crowd's record in which this module works."""
    d, k, wide = dimension, n_arms, min(TILE, n_arms)
    tiles = -(-k // wide)  # only the first choice of a round uses them, and it fills all but the last
    singles = {"scaled": (d, d), "sums": (d,), "singles": (d * wide,), "rows": (2, wide), "rough": (wide,)}
    return {
        "x": np.zeros((k, d)),
        "made": np.zeros(k, np.int64),  # the last round in which `x` was set
        "seen": np.zeros(k, np.int64),  # the last round in which an arm's other coordinates were drawn
        "places": np.zeros(k, np.int64),  # where an arm that was drawn with others is: TILE · tile + column
        "tiles": np.zeros((tiles, d * wide)),  # their coordinates, `[d, columns]`
        "columns": np.zeros(tiles, np.int64),  # how many columns each tile has
        "used": 0,  # tiles of this round
        "near": np.zeros(wide, np.int64),  # arms that are to be drawn together
        "squares": np.zeros(wide),  # bounds on their |x|²
        "parts": np.zeros((3, wide)),
        "normals": np.zeros((1, d)),
        "row": np.zeros(d),
        "other": np.zeros(d),
        "unit": 0.0,  # the trace of V^-1
        "error": 0.0,  # a bound on the error of |x|², divided by the trace
        **{name: np.zeros(shape, np.float32) for name, shape in singles.items()},
    }


def scale(crowd: Record, inverse: Floats) -> None:
    """Set `unit` to the trace of V^-1, `scaled` to V^-1 / trace in single precision, and `error` to its bound.

    No term of x' V^-1 x goes through more than d + 16 roundings. So for a unit vector x the computed x' V^-1 x is wrong
    by at most (d + 16) 2^-24 F, F the Frobenius norm. Twice this covers all rounding in double precision, too.
    """
    trace, d = 0.0, len(inverse)
    for i in range(d):
        trace += inverse[i, i]
    crowd.unit = trace if trace > 0.0 else np.nan  # `look_at` takes what is not a number for infinite
    share = np.divide(0.5, crowd.unit)
    for i in range(d):
        for j in range(d):
            crowd.scaled[i, j] = share * (inverse[i, j] + inverse[j, i])
    crowd.error = 2.0 * (d + 16) * ROUNDING * frobenius(crowd.scaled, crowd.sums)


@once
def look(crowd: Record, a: int) -> Floats:
    """The coordinates of arm a, `[d]`; those beside θ and e are drawn when they are first asked for in a round."""
    x: Floats = crowd.x[a]
    if crowd.made[a] == crowd.t:
        return x
    crowd.made[a] = crowd.t
    if crowd.seen[a] == crowd.t:
        tile, c = crowd.places[a] // TILE, crowd.places[a] % TILE
        n, drawn = crowd.columns[tile], crowd.tiles[tile]
        for i in range(len(x)):
            x[i] = drawn[i * n + c]
        return x
    crowd.seen[a] = crowd.t
    square, u, v, rest = remainder(crowd), crowd.first[a], crowd.second[a], crowd.normals[0]
    size = size_of(u, v, square)
    for i in range(len(x)):
        x[i] = u * crowd.theta[i] + v * crowd.across[i] + size * rest[i]
    return x


def remainder(crowd: Record) -> float:
    """Draw a direction orthogonal to θ and e, `crowd.normals[0]`, and return its square; there is none for d = 2."""
    rest, square = crowd.normals[0], 0.0
    while square < SHORT and len(rest) > 2:
        fill_normal(crowd, crowd.normals)
        without(rest, crowd.theta)
        square = without(rest, crowd.across)
    return square


def size_of(u: float, v: float, square: float) -> float:
    """The factor of a direction of this square in an arm with coordinates u and v."""
    size: float = np.sqrt(np.divide(max(0.0, 1.0 - u * u - v * v), square)) if square > 0.0 else 0.0
    return size


@once
def look_at(crowd: Record, n: int) -> None:
    """Draw the arms `crowd.near[:n]`, and set `crowd.squares[:n]` to bounds on their |x|² by the V^-1 of `scale`."""
    near, bounds, d = crowd.near, crowd.squares, len(crowd.theta)
    u, v, sizes = crowd.parts[0], crowd.parts[1], crowd.parts[2]
    x, rough = crowd.tiles[crowd.used][: d * n].reshape(d, n), crowd.singles[: d * n].reshape(d, n)
    draw_rests(crowd, x, crowd.theta, crowd.across, u, v, sizes)
    for c in range(n):
        u[c], v[c] = crowd.first[near[c]], crowd.second[near[c]]
        crowd.seen[near[c]], crowd.places[near[c]] = crowd.t, crowd.used * TILE + c
    crowd.columns[crowd.used] = n
    crowd.used += 1
    for c in range(n):
        sizes[c] = size_of(u[c], v[c], sizes[c])
    combine(x, rough, crowd.theta, crowd.across, u, v, sizes)
    found = crowd.rough[:n]
    squares(crowd.scaled, rough, crowd.rows, found)
    for c in range(n):
        bound = crowd.unit * (found[c] + crowd.error)
        bounds[c] = max(0.0, bound) if -np.inf < bound < np.inf else np.inf


def draw_rests(crowd: Record, x: Floats, theta: Floats, across: Floats, u: Floats, v: Floats, sizes: Floats) -> None:
    """Fill the columns of `x[d, n]` with directions orthogonal to θ and e, and set `sizes[:n]` to their squares."""
    d, n = x.shape
    fill_normal_widely(crowd, x.reshape(d * n))
    for c in range(n):
        u[c], v[c], sizes[c] = 0.0, 0.0, 0.0
    for i in range(d):
        p, q = theta[i], across[i]
        for c in range(n):
            u[c] += p * x[i, c]
            v[c] += q * x[i, c]
    for i in range(d):
        p, q = theta[i], across[i]
        for c in range(n):
            y = x[i, c] - (u[c] * p + v[c] * q)
            x[i, c] = y
            sizes[c] += y * y
    for c in range(n):
        if sizes[c] < SHORT:
            sizes[c] = remainder(crowd)
            for i in range(d):
                x[i, c] = crowd.normals[0, i]


def combine(x: Floats, rough: Singles, theta: Floats, across: Floats, u: Floats, v: Floats, sizes: Floats) -> None:
    """Make arms of directions, `x[d, n]`, and copy them in single precision."""
    for i in range(len(x)):
        p, q = theta[i], across[i]
        for c in range(x.shape[1]):
            y = u[c] * p + v[c] * q + sizes[c] * x[i, c]
            x[i, c] = y
            rough[i, c] = y


def score(x: Floats, theta: Floats, inverse: Floats, wide: float, row: Floats) -> float:
    """<θ~, x> + β √(x' V^-1 x), `[d]`."""
    apply(inverse, x, row)
    total: float = dot(theta, x) + wide * np.sqrt(max(0.0, dot(x, row)))
    return total


def apply(matrix: Floats, x: Floats, out: Floats) -> None:
    """out = matrix x for a symmetric matrix, by four of its rows at a time."""
    whole = len(x) - len(x) % 4
    for j in range(len(x)):
        out[j] = 0.0
    for i in range(0, whole, 4):
        p, q, r, s = x[i], x[i + 1], x[i + 2], x[i + 3]
        for j in range(len(x)):
            out[j] += (p * matrix[i, j] + q * matrix[i + 1, j]) + (r * matrix[i + 2, j] + s * matrix[i + 3, j])
    for i in range(whole, len(x)):
        for j in range(len(x)):
            out[j] += x[i] * matrix[i, j]


def dot(x: Floats, y: Floats) -> float:
    """<x, y> in four partial sums, which do not wait for each other."""
    whole, a, b, c, d = len(x) - len(x) % 4, 0.0, 0.0, 0.0, 0.0
    for i in range(0, whole, 4):
        a += x[i] * y[i]
        b += x[i + 1] * y[i + 1]
        c += x[i + 2] * y[i + 2]
        d += x[i + 3] * y[i + 3]
    for i in range(whole, len(x)):
        a += x[i] * y[i]
    total: float = (a + b) + (c + d)
    return total


def without(x: Floats, unit: Floats) -> float:
    """Make x orthogonal to a unit vector; returns |x|²."""
    along = dot(unit, x)
    for i in range(len(x)):
        x[i] -= along * unit[i]
    return dot(x, x)


def shorten(x: Floats, square: float) -> None:
    """Divide x by the root of `square`."""
    length = np.sqrt(square)
    for i in range(len(x)):
        x[i] = np.divide(x[i], length)
