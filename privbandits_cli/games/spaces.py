"""Decision sets of online linear optimisation: where a learner plays, and the best fixed point in hindsight."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.games.losses import Ball, CrossPolytope, LossSet, UnitCube

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Space:
    """A compact convex set X of N = `dimension` coordinates."""

    name: ClassVar[str]
    dimension: int

    def losses(self, signed: bool = False) -> LossSet:
        """The losses that come here; `signed` asks for negative ones where the set has them by choice."""
        raise NotImplementedError

    def least(self, totals: Floats) -> Floats:
        """min over x in X of <L, x> for each L of `totals[points, N]`, `[points]`."""
        raise NotImplementedError

    def radius(self) -> float:
        """|X|_2, the largest Euclidean norm of a point."""
        raise NotImplementedError

    def faults(self) -> Iterator[str]:
        """Why nobody can play here."""
        yield from ()


@dataclass(frozen=True)
class Simplex(Space):
    """Probability vectors: prediction with expert advice."""

    name = "simplex"

    def losses(self, signed: bool = False) -> LossSet:
        return UnitCube(self.dimension, signed)

    def least(self, totals: Floats) -> Floats:
        least: Floats = totals.min(axis=1)
        return least

    def radius(self) -> float:
        return 1.0


@dataclass(frozen=True)
class Sphere(Space):
    """The Euclidean unit ball, as the paper's `sphere` is."""

    name = "sphere"

    def losses(self, signed: bool = False) -> LossSet:
        return Ball(self.dimension)

    def least(self, totals: Floats) -> Floats:
        least: Floats = -np.sqrt(np.einsum("ti,ti->t", totals, totals))
        return least

    def radius(self) -> float:
        return 1.0


@dataclass(frozen=True)
class Cube(Space):
    """[-1, 1]^N."""

    name = "cube"

    def losses(self, signed: bool = False) -> LossSet:
        return CrossPolytope(self.dimension)

    def least(self, totals: Floats) -> Floats:
        least: Floats = -np.abs(totals).sum(axis=1)
        return least

    def radius(self) -> float:
        return math.sqrt(self.dimension)


SPACES: dict[str, type[Space]] = {space.name: space for space in (Simplex, Sphere, Cube)}


@dataclass(frozen=True)
class Polytope(Space):
    """{x: A x <= b}, bounded and with an inside; losses have l1 norm at most 1."""

    name = "polytope"
    a: tuple[tuple[float, ...], ...] = ()
    b: tuple[float, ...] = ()

    def losses(self, signed: bool = False) -> LossSet:
        return CrossPolytope(self.dimension)

    def least(self, totals: Floats) -> Floats:
        return np.array([self._minimum(total) for total in totals])

    def radius(self) -> float:
        """Of the box around it: at least that of the polytope itself."""
        sides = [max(-self._minimum(axis), -self._minimum(-axis)) for axis in np.eye(self.dimension)]
        return float(np.linalg.norm(sides))

    def _minimum(self, cost: Floats) -> float:
        """min <cost, x>; -inf where the set is unbounded that way, nan where it is empty."""
        from scipy.optimize import linprog

        found = linprog(cost, A_ub=np.array(self.a), b_ub=np.array(self.b), bounds=(None, None), method="highs")
        return {0: float(found.fun or 0.0), 3: -math.inf}.get(found.status, math.nan)

    def faults(self) -> Iterator[str]:
        widths = [self._minimum(sign * axis) for axis in np.eye(self.dimension) for sign in (1, -1)]
        if np.isnan(widths).any():
            yield "the polytope is empty: no x has A x <= b"
        elif np.isinf(widths).any():
            axis = int(np.flatnonzero(np.isinf(widths))[0]) // 2 + 1
            yield f"the polytope is unbounded along x_{axis}: add rows to a and b that hold it in"
