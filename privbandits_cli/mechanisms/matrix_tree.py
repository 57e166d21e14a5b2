"""The tree mechanism for sums of matrices [x; y] [x; y]', with noise of one law (Shariff & Sheffet 2018, section 4).

At every t = 0, ..., n - 1 the sum of the first t data is released with the noise of m = 1 + ⌈log2 n⌉ nodes, one for
each level. The node of level j is drawn anew when 2^j divides t. The authors call this pan-private. The noise has the
same law in every round, and round t redraws only trailing_zeros(t) + 1 levels.

The releases are as private as those of a tree. The rounds t >= s, whose sums contain datum s, are a union of dyadic
ranges with at most one range of each level. Within a range, the node of that range hides the datum, and no release
outside of it uses this node. There are at most m - 1 such nodes, because the top level is drawn before any datum. The
paper counts m. Both counts are upper bounds: no node is released alone, and the other nodes of a release hide it. With
Gaussian noise and n = 5e7, m = 27, all releases together are exactly as private as 1.873² nodes
(`accounting.trees.redrawn`).

The matrices are symmetric of order d + 1. Of their rows i < d we store the columns j <= i and the last column, which
has y. The corner is never used. `noise[j]` is the sum of the nodes at levels j and above; `noise[m]` remains 0.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from privbandits_cli.accounting import trees
from privbandits_cli.mechanisms.counter import Noise
from privbandits_cli.mechanisms.tree import trailing_zeros
from privbandits_cli.mechanisms.wishart import wishart_node
from privbandits_cli.numerics.jit import Record
from privbandits_cli.numerics.types import Floats, Ints

ROOT_2 = math.sqrt(2)


def n_levels(horizon: float) -> int:
    """m = 1 + ⌈log2 n⌉, the number of nodes that contribute noise to a release."""
    return 1 + math.ceil(math.log2(horizon))


@dataclass(frozen=True)
class Redrawn(Noise):
    """Gaussian noise of this tree on n + 1 sums, the first of which is empty."""

    title = "a redrawn tree"
    laws = ("gaussian",)

    @property
    def levels(self) -> int:
        """m, the number of nodes that contribute noise to a release."""
        return 1 + self.n.bit_length()

    def sensitivity(self) -> float:
        return trees.redrawn(max(1, self.n))

    def counted(self) -> float:
        return self.cost(self.levels)

    def variances(self, prefixes: Ints) -> Floats:
        return np.full(len(prefixes), float(self.levels))

    def spread(self) -> tuple[float, float]:
        return float(self.levels), float(self.levels)


def state(horizon: float, dimension: int, scale: float, k: float) -> dict[str, Any]:
    """The fields of the record `counter`; k: the number of rows of a Wishart node, or 0 for Gaussian noise."""
    return {
        "items": 0,
        "drawn": -1,  # the number of data of the last release
        "scale": scale,
        "k": k,
        "noise": np.zeros((n_levels(horizon) + 1, dimension, dimension + 1)),
        "factor": np.zeros((dimension + 1, dimension)),
    }


def redraw(counter: Record, rng: Generator) -> None:
    """Set `noise[0]` to the noise of the release after `items` data; call it for each of 0, 1, 2, ... data.

    It is drawn once: a learner that chooses again before the next datum, as on a `log`, has the same release.
    """
    noise = counter.noise
    if counter.drawn == counter.items:
        return
    counter.drawn = counter.items
    level = len(noise) - 2 if counter.items == 0 else trailing_zeros(counter.items)
    for j in range(level, -1, -1):
        if counter.k > 0.0:
            wishart_node(noise[j + 1], noise[j], counter.factor, counter.scale, counter.k, rng)
        else:
            gaussian_node(noise[j + 1], noise[j], counter.scale, rng)


def gaussian_node(above: Floats, out: Floats, scale: float, rng: Generator) -> None:
    """Set out = above + noise with σ = `scale`, `[d, d + 1]`: the lower triangle and the last column.

    The noise is symmetric, (Z + Z')/√2 with independent entries N(0, σ²) of Z: variance σ², and 2σ² on the diagonal.
    """
    d = len(out)
    for i in range(d):
        for j in range(i):
            out[i, j] = above[i, j] + scale * rng.standard_normal()
        out[i, i] = above[i, i] + ROOT_2 * scale * rng.standard_normal()
        out[i, d] = above[i, d] + scale * rng.standard_normal()


def release(counter: Record, sums: Floats, rng: Any) -> None:
    """Add the noise of the next release to the sums, row by row; `rng.generator` draws it."""
    redraw(counter, rng.generator)
    noise, d, place = counter.noise[0], counter.noise.shape[1], 0
    for i in range(d):
        for j in range(i + 1):
            sums[place + j] += noise[i, j]
        sums[place + i + 1] += noise[i, d]
        place += i + 2


def add_item(counter: Record, rng: Any) -> None:
    """Count the datum."""
    counter.items += 1
