"""TreeBasedAgg, Algorithm 2 of Agarwal & Singh 2017: a binary tree whose prefixes all have noise of the same law.

Prefix n is the sum of one node for each 1 among the binary digits of n (`mechanisms.tree`). For each 0 it gets top-up
noise: the noise of one more node, drawn anew for every prefix. So every prefix has the noise of m nodes, where m is the
number of levels. Top-up noise does not depend on the items, so the prefixes are at least as private as the nodes. They
are more private, because fresh noise hides part of the nodes. `accounting.trees.fresh_top_up` is their exact μ for
Gaussian noise.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from privbandits_cli.accounting import trees
from privbandits_cli.games.linear import Draws
from privbandits_cli.mechanisms.counter import Counter, close_level
from privbandits_cli.mechanisms.counter import release as release_nodes
from privbandits_cli.mechanisms.tree import ones, trailing_zeros
from privbandits_cli.numerics.jit import Record
from privbandits_cli.numerics.logarithm import logarithm
from privbandits_cli.numerics.types import Floats, Ints


@dataclass(frozen=True)
class ToppedUp(Counter):
    """A binary tree whose prefixes all have noise of the same law."""

    title = "the nodes of a tree"
    steady = True

    @property
    def levels(self) -> int:
        """m, the number of levels. Each prefix has the noise of m nodes."""
        return self.n.bit_length()

    def counted(self) -> float:
        return self.cost(self.levels)

    def together(self, rounds: int) -> float:
        """At most that of the nodes that hold the worst items, of which a left sibling alone has noise."""
        held = trees.held(self.n, 2, rounds, squares=self.law == "gaussian")
        return min(super().together(rounds), held)

    def variances(self, prefixes: Ints) -> Floats:
        return np.full(len(prefixes), self.unit * self.levels)

    def spread(self) -> tuple[float, float]:
        return self.unit * self.levels, self.unit * self.levels


@dataclass(frozen=True)
class FreshTopUp(ToppedUp):
    """A binary tree with fresh top-up noise."""

    def state(self, width: int, scale: float) -> dict[str, Any]:
        return {
            "items": 0,
            "levels": self.levels,
            "gaussian": self.law == "gaussian",
            "scale": scale,
            "noise": np.zeros((self.levels, width)),
            "product": np.zeros(width),
        }

    def draws(self, rounds: Ints) -> dict[str, Ints]:
        """The numbers for the top-up noise of the prefix before the round (see `release`), then one for a node."""
        one = np.ones_like(rounds)
        if self.law == "gaussian":
            return {"normal": 2 * one}
        return {"uniform": self.levels - np.bitwise_count(rounds - 1).astype(np.int64), "normal": one, "laplace": one}

    def sensitivity(self) -> float:
        return trees.fresh_top_up(self.n) if self.law == "gaussian" else self.counted()


def add_item(counter: Record, rng: Draws) -> None:
    """Close the node that ends with the next item."""
    counter.items += 1
    close_level(counter, trailing_zeros(counter.items), rng)


def release(counter: Record, sums: Floats, rng: Draws) -> None:
    """Add the noise of the nodes of the current prefix t, and fresh noise of r nodes, one for each binary 0 of t.

    The sum of r normal numbers has the law of √r times one normal number. The sum of r Laplace numbers has the law of
    √(2 E) times a normal number, where E is the sum of r exponential numbers: -ln of a product of r uniform numbers.
    """
    n, product = len(sums), counter.product
    release_nodes(counter, sums, rng)
    if counter.gaussian:
        scale = counter.scale * np.sqrt(float(counter.levels - ones(counter.items)))
        for i in range(n):
            sums[i] += scale * rng.normal[i]
        return
    for i in range(n):
        product[i] = 1.0
    for first in range(0, len(rng.uniform), n):
        for i in range(n):
            product[i] *= 1.0 - rng.uniform[first + i]
    for i in range(n):
        sums[i] += counter.scale * np.sqrt(-2.0 * logarithm(product[i])) * rng.normal[i]
