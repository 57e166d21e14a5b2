"""Loss sets of online linear optimisation: the losses l_t that may occur, and random laws on them.

The sets are those of Agarwal & Singh 2017, section 2: the unit cube for experts, the Euclidean ball for the sphere, the
l1 ball for the cube. Each has the norms to which noise is calibrated: the largest |l|_1 and |l|_2 of a loss vector, and
the largest distance between two. The paper calibrates to the former; the neighbours of Definition 2.1 replace a loss
vector, which needs the latter.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from privbandits_cli.numerics.types import Floats

SLACK = 1e-9  # tolerance on a norm, for rounding


@dataclass(frozen=True)
class LossSet:
    """A symmetric or non-negative set of loss vectors of N = `dimension` coordinates."""

    dimension: int

    def norms(self, weights: Floats | None = None) -> tuple[float, float]:
        """The largest l1 and l2 norm of a loss vector whose coordinates are multiplied with `weights`, `[N]`, all >= 0.

        Without weights, the largest norms of a loss vector.
        """
        return self._norms(np.ones(self.dimension) if weights is None else weights)

    def _norms(self, weights: Floats) -> tuple[float, float]:
        raise NotImplementedError

    def changes(self, weights: Floats | None = None) -> tuple[float, float]:
        """The largest l1 and l2 distance between two loss vectors; for a symmetric set, twice the norms."""
        l1, l2 = self.norms(weights)
        return 2 * l1, 2 * l2

    def ends(self) -> tuple[Floats, Floats]:
        """Two losses at the distances of `changes`, in both norms."""
        raise NotImplementedError

    def excess(self, losses: Floats) -> Floats:
        """By how much each of `losses[rounds, N]` is outside the set, `[rounds]`; at most 0 inside."""
        raise NotImplementedError

    def admits(self, losses: Floats) -> bool:
        """Whether all of `losses[rounds, N]` are in the set, up to rounding."""
        return bool(self.excess(losses).max() <= SLACK)

    def violation(self, losses: Floats, rounds: range) -> str | None:
        """A message about the loss of these rounds that is farthest outside the set; None if all are inside."""
        if self.admits(losses):
            return None
        over = np.nan_to_num(self.excess(losses), nan=np.inf)
        worst = int(np.argmax(over))
        what = f"is outside {self} by {over[worst]:.3g}" if over[worst] < np.inf else "holds NaN or infinity"
        return f"the loss of round {rounds[worst]} {what}"

    def uniform(self, rng: Generator) -> Callable[[int], Floats]:
        """A source of uniform losses on the set: each call draws `[n, N]` and continues where the last one ended."""
        raise NotImplementedError

    def leaning(self, rng: Generator) -> Callable[[Floats], Floats]:
        """A source of random losses whose mean is that of `uniform` minus `lean[rounds, N]`.

        lean: non-negative, with a sum of at most 1 in each round (1/2 for experts).
        """
        raise NotImplementedError

    def swinging(self, amplitude: Floats) -> Floats:
        """Losses `[rounds, N]` between two ends of the set, given amplitudes in [-1, 1]."""
        losses = np.zeros((len(amplitude), self.dimension))
        losses[:, 0] = amplitude
        return losses


@dataclass(frozen=True)
class UnitCube(LossSet):
    """The losses of experts: [0, 1]^N, or [-1, 1]^N if they are signed."""

    signed: bool = False

    def _norms(self, weights: Floats) -> tuple[float, float]:
        return float(weights.sum()), math.sqrt(weights @ weights)

    def changes(self, weights: Floats | None = None) -> tuple[float, float]:
        width, (l1, l2) = 2 if self.signed else 1, self.norms(weights)
        return width * l1, width * l2

    def ends(self) -> tuple[Floats, Floats]:
        return np.full(self.dimension, -1.0 if self.signed else 0.0), np.ones(self.dimension)

    def excess(self, losses: Floats) -> Floats:
        return np.asarray(np.maximum(losses.max(axis=1) - 1, (-1 if self.signed else 0) - losses.min(axis=1)))

    def admits(self, losses: Floats) -> bool:
        return bool(losses.max() <= 1 + SLACK and losses.min() >= (-1 if self.signed else 0) - SLACK)

    def uniform(self, rng: Generator) -> Callable[[int], Floats]:
        return lambda n: self._scaled(rng.random((n, self.dimension)))

    def leaning(self, rng: Generator) -> Callable[[Floats], Floats]:
        """Each loss is at one end of its range: Bernoulli with mean 1/2 - lean, or -2 lean if signed."""
        return lambda lean: self._scaled((rng.random(lean.shape) < 0.5 - lean).astype(float))

    def swinging(self, amplitude: Floats) -> Floats:
        """Odd and even experts swing in opposite directions."""
        side = np.where(np.arange(self.dimension) % 2 == 0, 1.0, -1.0)
        return self._scaled((1 + np.multiply.outer(amplitude, side)) / 2)

    def __str__(self) -> str:
        return f"[{-1 if self.signed else 0}, 1]^{self.dimension}"

    def _scaled(self, unit: Floats) -> Floats:
        return 2 * unit - 1 if self.signed else unit


@dataclass(frozen=True)
class Ball(LossSet):
    """The Euclidean unit ball."""

    def _norms(self, weights: Floats) -> tuple[float, float]:
        return math.sqrt(weights @ weights), float(weights.max())

    def ends(self) -> tuple[Floats, Floats]:
        end = np.full(self.dimension, 1 / math.sqrt(self.dimension))
        return -end, end

    def excess(self, losses: Floats) -> Floats:
        return lengths(losses) - 1

    def __str__(self) -> str:
        return "the unit ball"

    def uniform(self, rng: Generator) -> Callable[[int], Floats]:
        radii = rng.spawn(1)[0]

        def draw(n: int) -> Floats:
            directions = _unit(rng.standard_normal((n, self.dimension)))
            return np.asarray(directions * radii.random((n, 1)) ** (1 / self.dimension))

        return draw

    def leaning(self, rng: Generator) -> Callable[[Floats], Floats]:
        """Unit vectors: -lean plus a random direction orthogonal to it."""

        def draw(lean: Floats) -> Floats:
            across = rng.standard_normal(lean.shape)
            length = lengths(lean)[:, None]
            along = np.divide(lean, length, out=np.zeros_like(lean), where=length > 0)
            across -= np.einsum("ti,ti->t", across, along)[:, None] * along
            return np.asarray(np.sqrt(np.maximum(0, 1 - length**2)) * _unit(across) - lean)

        return draw


@dataclass(frozen=True)
class CrossPolytope(LossSet):
    """The l1 unit ball."""

    def _norms(self, weights: Floats) -> tuple[float, float]:
        return float(weights.max()), float(weights.max())

    def ends(self) -> tuple[Floats, Floats]:
        end = np.eye(self.dimension)[0]
        return -end, end

    def excess(self, losses: Floats) -> Floats:
        return np.asarray(np.abs(losses).sum(axis=1) - 1)

    def __str__(self) -> str:
        return "the l1 unit ball"

    def uniform(self, rng: Generator) -> Callable[[int], Floats]:
        """The first N of N + 1 exponentials over their sum are uniform on the simplex; each gets a random sign."""
        signs = rng.spawn(1)[0]

        def draw(n: int) -> Floats:
            parts = rng.standard_exponential((n, self.dimension + 1))
            sign = np.where(signs.random((n, self.dimension)) < 0.5, -1.0, 1.0)
            return np.asarray(sign * parts[:, :-1] / parts.sum(axis=1, keepdims=True))

        return draw

    def leaning(self, rng: Generator) -> Callable[[Floats], Floats]:
        """A signed axis: -e_i with probability lean_i, else any axis with any sign."""

        def draw(lean: Floats) -> Floats:
            n, dimension = lean.shape
            u, v = rng.random((n, 2)).T
            ends = np.cumsum(lean, axis=1)
            aimed = u < ends[:, -1]
            axis = np.where(aimed, (u[:, None] >= ends[:, :-1]).sum(axis=1), (2 * dimension * v).astype(np.int64) // 2)
            sign = np.where(aimed | ((2 * dimension * v).astype(np.int64) % 2 == 0), -1.0, 1.0)
            losses = np.zeros_like(lean)
            losses[np.arange(n), axis] = sign
            return losses

        return draw


def lengths(vectors: Floats) -> Floats:
    """The Euclidean length of each row."""
    return np.asarray(np.sqrt(np.einsum("ti,ti->t", vectors, vectors)))


def _unit(vectors: Floats) -> Floats:
    """Each row scaled to length 1; rows of length 0 stay 0."""
    length = lengths(vectors)[:, None]
    return np.asarray(np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 1e-12))
