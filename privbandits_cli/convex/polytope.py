"""Polytopes {x: A x <= b} as decision sets: whether one can be played on, and coordinates in which it is round.

A polytope may be a million times as wide as it is thick. Everything is therefore computed in coordinates z about its
analytic centre c, in which the Hessian of the log barrier is the identity: x = c + S z, and A x <= b becomes Q z <= 1
with the orthonormal columns of Q from a QR decomposition of A / (b - A c). In z the polytope contains the unit ball
and, with m rows, is contained in the ball of radius m, however thin it is in x.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from privbandits_cli.convex.losses import CrossPolytope, LossSet
from privbandits_cli.convex.spaces import Space
from privbandits_cli.numerics.types import Floats

THINNEST = 1e-7  # inradius over width: below it the slacks lose too many digits
PRECISE: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Rounded(NamedTuple):
    """A polytope in coordinates in which it is round: x = centre + axes z, with rows z <= 1."""

    centre: Floats  # [N], the point with the largest product of the slacks
    axes: Floats  # [N, N]
    rows: Floats  # [m, N], Q
    a: Floats  # [m, N], the rows as given, without zero rows and redundant ones
    b: Floats  # [m]


@dataclass(frozen=True)
class Polytope(Space):
    """{x: A x <= b}, bounded and with an interior; losses have l1 norm at most 1."""

    name = "polytope"
    a: tuple[tuple[float, ...], ...] = ()
    b: tuple[float, ...] = ()

    def losses(self, signed: bool = False) -> LossSet:
        return CrossPolytope(self.dimension)

    def least(self, totals: Floats) -> Floats:
        return np.array([self._minimum(total) for total in totals])

    def excess(self, points: Floats) -> Floats:
        a, b = self.rounded.a, self.rounded.b
        return np.asarray(((points @ a.T - b) / np.linalg.norm(a, axis=1)).max(axis=1))

    def violation(self, point: Floats) -> str:
        return f"it is {self.excess(point[None])[0]:.3g} beyond a row of A x <= b"

    def radius(self) -> float:
        """The radius of the bounding box, which is at least that of the polytope."""
        return float(np.linalg.norm(np.abs(self.box).max(axis=0)))

    def largest_loss(self) -> float:
        """The largest coordinate of a point, as |l|_1 <= 1."""
        return float(np.abs(self.box).max())

    def width(self, signed: bool = False) -> float:
        """The largest difference between two points in a coordinate."""
        return float(np.ptp(self.box, axis=0).max())

    @cached_property
    def box(self) -> Floats:
        """The least and the largest value of each coordinate, `[2, N]`."""
        return np.array([[sign * self._minimum(sign * axis) for axis in np.eye(self.dimension)] for sign in (1, -1)])

    @cached_property
    def rounded(self) -> Rounded:
        """Its round coordinates; ValueError if it is empty, unbounded or too thin."""
        return rounded(np.array(self.a, float), np.array(self.b, float))

    def _minimum(self, cost: Floats) -> float:
        """min <cost, x>, computed in the round coordinates, in which HiGHS's absolute tolerances are relative ones."""
        inside = self.rounded
        slope = cost @ inside.axes
        length = float(np.linalg.norm(slope))
        if length == 0:
            return float(cost @ inside.centre)
        found = _linprog(slope / length, inside.rows, np.ones(len(inside.rows)), (None, None))
        if found.status != 0:
            raise ArithmeticError(f"no best point of the polytope was found: {found.message}")
        return float(cost @ inside.centre) + length * float(found.fun)

    def errors(self) -> Iterator[str]:
        try:
            _ = self.rounded
        except ValueError as error:
            yield str(error)


def rounded(a: Floats, b: Floats) -> Rounded:
    """Round coordinates of {x: a x <= b}; ValueError with the reason if there are none.

    First the bounding box is found, then the largest ball inside in coordinates of the box; Newton's method starts at
    the centre of this ball.
    """
    a, b = _needed(a, b)
    lengths = np.linalg.norm(a, axis=1)
    reach = float(np.abs(b / lengths).max()) or 1.0
    _, radius = _ball(a / lengths[:, None], b / lengths / reach)
    if radius < -1e-9:
        raise ValueError("the polytope is empty: no x has A x <= b")
    low, high = _box(a / lengths[:, None], b / lengths / reach)
    middle, width = reach * (low + high) / 2, reach * float((high - low).max())
    if width <= 0:
        raise ValueError(
            "the polytope has no interior: it is a single point, or too small for its distance from the origin"
        )
    # u = (x - middle) / width
    unit, offsets = a / lengths[:, None], (b - a @ middle) / lengths / width
    u, radius = _ball(unit, offsets)
    if not radius >= THINNEST * (1 - 1e-3):
        raise ValueError(
            f"the polytope is too thin: the largest ball inside has radius {max(0.0, radius):.2g} times its width, and "
            f"a barrier needs {THINNEST:g}; rescale the coordinates, or leave out those that hardly vary"
        )
    u, q, r = _analytic_centre(unit, offsets, u)
    return Rounded(middle + width * u, np.asarray(np.linalg.inv(r / width), np.float64), q, a, b)


def _needed(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The rows that matter: no zero rows, and of parallel rows the tightest."""
    tightest: dict[tuple[float, ...], int] = {}
    for i, row in enumerate(a):
        if not np.isfinite([*row, b[i]]).all():
            raise ValueError(f"row {i + 1} of the polytope has a number that is not finite: remove it")
        largest = np.abs(row).max()
        if largest == 0:
            if b[i] < 0:
                raise ValueError(f"the polytope is empty: row {i + 1} requires 0 <= {b[i]:g}")
            continue
        way = tuple(row / largest + 0.0)  # -0.0 is 0.0
        other = tightest.setdefault(way, i)
        if b[i] / largest < b[other] / np.abs(a[other]).max():
            tightest[way] = i
    kept = sorted(tightest.values())
    if not kept:
        raise ValueError("the polytope is unbounded: all rows of a are zero")
    return np.ascontiguousarray(a[kept]), b[kept]


def _ball(unit: Floats, b: Floats) -> tuple[Floats, float]:
    """Centre and radius of the largest ball inside (Chebyshev), for rows of length 1; negative radius: it is empty."""
    n = unit.shape[1]
    rows, cost = np.column_stack([unit, np.ones(len(b))]), np.append(np.zeros(n), -1.0)
    found = _linprog(cost, rows, b, [(None, None)] * n + [(None, 1.0)])
    if found.status != 0:
        raise ValueError(f"no largest ball inside the polytope was found: {found.message}")
    return found.x[:n], float(found.x[n])


def _box(unit: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The least and the largest value of each coordinate, `[N]` each."""
    sides = []
    for sign in (1, -1):
        for i, axis in enumerate(np.eye(unit.shape[1])):
            found = _linprog(sign * axis, unit, b, (None, None))
            if found.status == 2:
                raise ValueError("the polytope is empty: no x has A x <= b")
            if found.status != 0:
                raise ValueError(f"the polytope is unbounded along x_{i + 1}: add rows to a and b that bound it")
            sides.append(sign * float(found.fun))
    low, high = np.array(sides).reshape(2, -1)
    return low, high


def _analytic_centre(unit: Floats, b: Floats, u: Floats) -> tuple[Floats, Floats, Floats]:
    """The minimiser of -sum ln(b - unit u), from a `u` inside; and Q, R of the rows divided by their slacks there.

    The Hessian is R'R; it is never formed, as that would square the condition number.
    """
    for _ in range(1000):
        q, r = np.linalg.qr(unit / (b - unit @ u)[:, None])
        step = q.sum(axis=0)
        decrement = float(np.linalg.norm(step))
        if decrement < 1e-9:
            break
        u = u - np.linalg.solve(r, step) / (1 + decrement if decrement > 0.25 else 1)
    else:
        raise ValueError(f"the polytope's analytic centre was not found: Newton's decrement stays at {decrement:.2g}")
    return u, q, r


def _linprog(cost: Floats, rows: Floats, b: Floats, bounds: Any) -> Any:
    from scipy.optimize import linprog

    return linprog(cost, A_ub=rows, b_ub=b, bounds=bounds, method="highs", options=PRECISE)
