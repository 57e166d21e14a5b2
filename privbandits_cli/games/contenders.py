"""Random arms that may have a large score, drawn exactly, without drawing the others.

The score of a unit vector x is <θ~, x> + β √(x' A x), A = V^-1. Let φ = θ~/β and e = φ/|φ|. Then x = u e + s w, with a
unit vector w orthogonal to e and s² = 1 - u². Let a = e' A e, and q = A e - a e, so that
x' A x = u² a + 2 u s <q, w> + s² w' A w.

Let l be a level. We want the arms whose scores exceed β l. For such an arm with |φ| u < l,
w' A w + 2 (u/s) <q, w> >= ((l - |φ| u)² - u² a)/s². As 2 (u/s) <q, w> <= κ <q, w>² + (u/s)²/κ for every κ > 0, also
w' B w >= c, where B = A + κ q q' and c = ((l - |φ| u)² - u² (a + 1/κ))/s².

For Λ = I - τ B, the angular central Gaussian law is that of g/|g|, g ~ N(0, Λ^-1), both orthogonal to e. Its density
against the uniform law is det(Λ)^½ (w' Λ w)^(-m/2), m = d - 1 (Tyler 1987). If w' B w >= c, then w' Λ w <= b = 1 - τ c,
and the density is at least 1/z, z = b^(m/2) det(Λ)^-½. Kent, Ganeiban & Mardia (2018) draw from laws on the sphere by
this envelope. Here z bounds how likely a large score is, and most arms are not even proposed.

The range of u is cut into cells. In each cell c has a lower bound, so b and z have upper bounds. An arm is proposed in
a cell with the probability of that cell times z. Then u is drawn, given the cell, and w from the Gaussian law. The arm
is accepted with probability (w' Λ w/b)^(m/2), if its score exceeds the level. Where z >= 1, c <= 0 or |φ| u >= l, w is
drawn from the uniform law, and the score alone decides. What is accepted has the law of the arms whose scores exceed
the level, and no other arm exceeds it. This holds for every τ and κ for which Λ is positive definite; they decide how
many arms are proposed. It also holds if A has become smaller since Λ was computed, and if φ has moved by δ, for the
level l - δ. Cells in which no arm has a mean in [low, high], the range of the game, are left out.
"""

from typing import Any

import numpy as np

from privbandits_cli.numerics.exponential import exponential
from privbandits_cli.numerics.jit import Record, once
from privbandits_cli.numerics.logarithm import logarithm
from privbandits_cli.numerics.sfc64 import Words, fill_normal, uniform
from privbandits_cli.numerics.types import Floats

FINE = 12  # cells for each standard deviation of u
SURE = 2.0  # in place of b where w is drawn from the uniform law
TINY = 1e-300
SLACK = 1e-9  # relative; more than all rounding in double precision
LARGE = 1e100
ROUNDING = 1e-14  # more than that of cos²
SHORT = 1e-6  # a remainder with a smaller square is drawn again, as rounding would turn it
HALVINGS = 60


def contenders_room(dimension: int) -> dict[str, Any]:
    """The fields of a record in which this module works, beside θ, `low`, `high` and `sfc64.source`."""
    from scipy import stats  # slow to import

    d, law = dimension, stats.beta((dimension - 1) / 2, (dimension - 1) / 2)  # the law of (1 + u)/2
    tails = np.concatenate([[1.0], stats.norm.sf(np.arange(-3, 6.5, 1 / FINE)), [0.0]])
    edges = np.unique(np.clip(2 * law.isf(tails) - 1, -1, 1))
    low, high = edges[:-1], edges[1:]
    nearest = np.where(low * high < 0, 0.0, np.minimum(low * low, high * high))
    return {
        "edges": edges,  # the edges of the cells
        "angles": np.arccos(edges),
        "inner": np.sqrt(1 - nearest),  # the largest s of each cell
        "masses": law.sf((1 + low) / 2) - law.sf((1 + high) / 2),  # the probability of each cell
        "bounds": np.zeros(len(low)),  # b
        "shares": np.zeros(len(low)),  # the probability of a proposal in each cell
        "whole": 1.0,  # their sum
        "tau": 0.0,  # 0: there is no Λ yet
        "weight": 0.5,  # τ tr A, which changes little from round to round
        "kappa": 0.0,
        "steep": 1.0,  # κ |q|, the same
        "phi": np.zeros(d),  # φ when Λ was computed
        "length": 0.0,  # |φ|
        "unit": np.zeros(d),  # e
        "core": 0.0,  # a
        "lean": np.zeros(d),  # q
        "factor": np.eye(d),  # R and R', upper and lower: Λ = R' R
        "logdet": 0.0,  # ln det Λ
        "row": np.zeros(d),
        "normals": np.zeros(d),
    }


@once
def fit_envelope(room: Record, theta: Floats, inverse: Floats, wide: float) -> bool:
    """Compute Λ for this θ~, V^-1 and β; False if no number bounds the scores."""
    d, phi, unit, lean = len(theta), room.phi, room.unit, room.lean
    if not wide > 0.0:
        return False
    for i in range(d):
        phi[i] = np.divide(theta[i], wide)
    room.length = np.sqrt(dot(phi, phi))
    for i in range(d):
        unit[i] = np.divide(phi[i], room.length) if room.length > TINY else 0.0
    if not room.length > TINY:
        unit[0] = 1.0
    apply(inverse, unit, lean)
    room.core = dot(unit, lean)
    trace = 0.0
    for i in range(d):
        lean[i] -= room.core * unit[i]
        trace += inverse[i, i]
    if not 0.0 < trace < np.inf:
        room.tau = 0.0
        return False
    square = dot(lean, lean)
    room.kappa = LARGE  # for q = 0
    if square > TINY:  # κ q q' is at most all of A
        room.kappa = min(np.divide(trace, square), np.divide(room.steep, np.sqrt(square)))
    weight = room.weight
    for _ in range(HALVINGS):
        room.tau = np.divide(room.weight, trace)
        fill(room, inverse, room.factor)
        room.logdet = factorise(room.factor)
        if np.isfinite(room.logdet):
            return True
        room.weight *= 0.5
    room.tau, room.weight = 0.0, weight
    return False


def fill(room: Record, inverse: Floats, out: Floats) -> None:
    """out = Λ, with e for an eigenvector whose value is 1."""
    d, unit, lean, tau = len(inverse), room.unit, room.lean, room.tau
    for i in range(d):
        a, b, c = tau * unit[i], tau * (lean[i] + room.core * unit[i]), tau * room.kappa * lean[i]
        for j in range(d):
            out[i, j] = (a * lean[j] + b * unit[j]) - (tau * inverse[i, j] + c * lean[j])
        out[i, i] += 1.0


def factorise(matrix: Floats) -> float:
    """Replace a symmetric matrix = R' R by R and R'; returns ln det, or NaN if it is not positive definite."""
    d, product, logarithms = len(matrix), 1.0, 0.0
    for k in range(d):
        pivot = matrix[k, k]
        if not 0.0 < pivot < np.inf:
            return np.nan
        product *= pivot
        if not 1e-100 < product < 1e100:
            logarithms += np.log(product)
            product = 1.0
        over = 1.0 / np.sqrt(pivot)
        for j in range(k, d):
            matrix[k, j] *= over
            matrix[j, k] = matrix[k, j]
        for i in range(k + 1, d):
            factor = matrix[k, i]
            for j in range(i, d):
                matrix[i, j] -= factor * matrix[k, j]
    return float(logarithms + np.log(product))


@once
def chance(room: Record, level: float) -> float:
    """Set `bounds` and `shares` for the level l, and `whole`, the probability of a proposal, which it returns."""
    edges, bounds, shares, tau, length = room.edges, room.bounds, room.shares, room.tau, room.length
    quadratic = room.core + 1.0 / room.kappa
    leading = length * length - quadratic
    vertex = level * length / leading if leading > 0.0 else 2.0  # where the numerator of c is least; 2 is in no cell
    least = (level - length * vertex) * (level - length * vertex) - vertex * vertex * quadratic
    slack = SLACK * (abs(level) + length) * (abs(level) + length)
    cosine = min(1.0, abs(dot(room.theta, room.unit)))
    sine, way = np.sqrt(1.0 - cosine * cosine + ROUNDING), np.copysign(cosine, dot(room.theta, room.unit))
    for i in range(len(bounds)):
        u, v = edges[i], edges[i + 1]
        before, after = level - length * u, level - length * v
        n = min(before * before - u * u * quadratic, after * after - v * v * quadratic)
        n = (least if u < vertex and vertex < v else n) - slack
        inner = max(TINY, room.inner[i] * room.inner[i])
        bounds[i] = max(TINY, 1.0 - tau * n / inner) if after > 0.0 and n > 0.0 else SURE
    power, root = 0.5 * (len(room.phi) - 1), -0.5 * room.logdet
    for i in range(len(bounds)):
        shares[i] = power * logarithm(bounds[i]) + root
    for i in range(len(bounds)):
        sure = shares[i] >= 0.0 or bounds[i] > 1.0
        bounds[i] = SURE if sure else bounds[i]
        one, other, far = way * edges[i], way * edges[i + 1], sine * room.inner[i]
        reached = max(one, other) + far >= room.low and min(one, other) - far <= room.high
        share = room.masses[i] * exponential(max(-700.0, 0.0 if sure else shares[i]))
        shares[i] = share if reached else 0.0
    whole = 0.0
    for i in range(len(bounds)):
        whole += shares[i]
    room.whole = whole
    return whole


def any_cell(room: Record) -> int:
    """A random cell, by the probabilities `shares`. The search begins at the last cells, which have the largest."""
    shares = room.shares
    rest, cell = room.whole * uniform(room.words), len(shares) - 1
    while cell > 0 and rest >= shares[cell]:
        rest -= shares[cell]
        cell -= 1
    return cell


def coordinate(words: Words, low: float, high: float, widest: float, power: int) -> float:
    """A coordinate of a random direction, given that its angle is in [low, high], by rejection.

    The density of the angle is proportional to s^power, where s is its sine and power = d - 2; widest: the largest s.
    """
    while True:
        angle = low + (high - low) * uniform(words)
        if uniform(words) <= (np.sin(angle) / widest) ** power:
            u: float = np.cos(angle)
            return u


def propose(room: Record, cell: int, x: Floats) -> bool:
    """Set x to an arm in this cell; returns whether it is accepted, provided that its score exceeds the level."""
    low, high, b = room.angles[cell + 1], room.angles[cell], room.bounds[cell]
    normals, factor = room.normals, room.factor
    u = coordinate(room.words, low, high, room.inner[cell], len(x) - 2)
    square, along = 0.0, 0.0
    while square < SHORT:  # w' Λ w |g|², which does not depend on w, and is at most |g|²
        fill_normal(room.words, room, room.normals)
        for i in range(len(x)):
            x[i] = normals[i]
        if b < SURE:
            for i in range(len(x) - 1, -1, -1):  # R g = normals
                x[i] /= factor[i, i]
                last = x[i]
                for j in range(i):
                    x[j] -= last * factor[i, j]
        along = dot(room.unit, x)
        square = dot(normals, normals) - along * along
    for i in range(len(x)):
        x[i] -= along * room.unit[i]
    below = dot(x, x)
    size = np.sqrt((1.0 - u * u) / below)
    for i in range(len(x)):
        x[i] = u * room.unit[i] + size * x[i]
    ratio = np.divide(square, below * b)
    power = 0.5 * (len(x) - 1)
    return bool(b == SURE or (ratio <= 1.0 and np.log(1.0 - uniform(room.words)) <= power * np.log(ratio)))


def score(x: Floats, theta: Floats, inverse: Floats, wide: float, row: Floats) -> float:
    """The score <θ~, x> + β √(x' V^-1 x); row: room for `[d]` numbers."""
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
