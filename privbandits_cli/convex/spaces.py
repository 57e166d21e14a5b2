"""Decision sets of online linear optimisation, with the best fixed point in hindsight."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privbandits_cli.convex.losses import Ball, CrossPolytope, LossSet, UnitCube, lengths
from privbandits_cli.numerics.text import exact
from privbandits_cli.numerics.types import Floats


@dataclass(frozen=True)
class Space:
    """A compact convex set X of N = `dimension` coordinates."""

    name: ClassVar[str]
    dimension: int

    def losses(self, signed: bool = False) -> LossSet:
        """The loss set; `signed` includes negative losses of experts."""
        raise NotImplementedError

    def least(self, totals: Floats) -> Floats:
        """min over x in X of <L, x> for each L of `totals[points, N]`, `[points]`."""
        raise NotImplementedError

    def excess(self, points: Floats) -> Floats:
        """By how much each of `points[rounds, N]` is outside the set, `[rounds]`; inside, at most a rounding error."""
        raise NotImplementedError

    def violation(self, point: Floats) -> str:
        """How a point `[N]` violates the constraints of the set."""
        raise NotImplementedError

    def radius(self) -> float:
        """|X|_2, the largest Euclidean norm of a point."""
        return 1.0

    def largest_loss(self) -> float:
        """M, the largest |<l, x>| over losses and points."""
        return 1.0

    def width(self, signed: bool = False) -> float:
        """The largest <l, x - y> over losses and points; `signed` includes negative losses of experts."""
        return 2.0

    def errors(self) -> Iterator[str]:
        """The reasons why no game can be played on this set."""
        yield from ()

    def __str__(self) -> str:
        return f"the {self.name}"


@dataclass(frozen=True)
class Simplex(Space):
    """Probability vectors: prediction with expert advice."""

    name = "simplex"

    def losses(self, signed: bool = False) -> LossSet:
        return UnitCube(self.dimension, signed)

    def least(self, totals: Floats) -> Floats:
        return np.asarray(totals.min(axis=1))

    def excess(self, points: Floats) -> Floats:
        return np.asarray(np.maximum(np.abs(points.sum(axis=1) - 1), -points.min(axis=1)))

    def width(self, signed: bool = False) -> float:
        return 2.0 if signed else 1.0

    def violation(self, point: Floats) -> str:
        least, total = point.min(), point.sum()
        return f"a coordinate is {exact(least)}" if -least >= abs(total - 1) else f"it sums to {total:.12g}, not 1"


@dataclass(frozen=True)
class Sphere(Space):
    """The Euclidean unit ball, which the paper calls the sphere."""

    name = "sphere"

    def losses(self, signed: bool = False) -> LossSet:
        return Ball(self.dimension)

    def least(self, totals: Floats) -> Floats:
        return -lengths(totals)

    def excess(self, points: Floats) -> Floats:
        return lengths(points) - 1

    def violation(self, point: Floats) -> str:
        return f"its norm is {np.linalg.norm(point):.12g}"

    def __str__(self) -> str:
        return "the unit ball"


@dataclass(frozen=True)
class Cube(Space):
    """[-1, 1]^N."""

    name = "cube"

    def losses(self, signed: bool = False) -> LossSet:
        return CrossPolytope(self.dimension)

    def least(self, totals: Floats) -> Floats:
        return np.asarray(-np.abs(totals).sum(axis=1))

    def excess(self, points: Floats) -> Floats:
        return np.asarray(np.abs(points).max(axis=1) - 1)

    def violation(self, point: Floats) -> str:
        return f"a coordinate is {exact(point[np.argmax(np.abs(point))])}"

    def __str__(self) -> str:
        return f"the cube [-1, 1]^{self.dimension}"

    def radius(self) -> float:
        return math.sqrt(self.dimension)


SPACES: dict[str, type[Space]] = {space.name: space for space in (Simplex, Sphere, Cube)}
