"""A tree whose nodes have k children (Qardaji, Yang & Li 2013). With k = 2 it is the binary tree without top-up noise.

The number of nodes of prefix t is the sum of the digits of t in base k. An item is in at most one node of each of h
levels, where h is the number of digits of n. A larger k makes the tree lower, but gives its prefixes more nodes. This
helps with Laplace noise, because the scale of Laplace noise grows as h. The prefixes reveal the nodes, so μ = √h
(Gaussian noise) and ε = h (Laplace noise) are exact. Item n closes a node whose level is the number of trailing zeros
of n in base k (`mechanisms.tree`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np

from privbandits_cli.accounting import digits, trees
from privbandits_cli.games.linear import Draws
from privbandits_cli.mechanisms.counter import Counter, Law, close_level, release
from privbandits_cli.mechanisms.tree import WIDEST, trailing_zeros_in
from privbandits_cli.numerics.jit import Record
from privbandits_cli.numerics.types import Floats, Ints

__all__ = ["KAryTree", "add_item", "release"]


@dataclass(frozen=True)
class KAryTree(Counter):
    """A tree whose nodes have k children."""

    title = "a k-ary tree"

    k: int = 2

    first: ClassVar[int] = 0  # the code of the first item: the number of items before it
    signed: ClassVar[bool] = False  # whether digits may be negative

    @classmethod
    @cache
    def best(cls, n: int, law: Law, size: Callable[[Counter], float] = Counter.rms) -> Self:
        """The tree whose noise has the least size, by default the root mean square of E_t."""
        return min((cls(n, law, k) for k in range(2, WIDEST + 1)), key=size)

    @property
    def levels(self) -> int:
        """h, the number of levels."""
        return digits.height(self.n, self.k)

    @property
    def nodes(self) -> int:
        """The largest number of nodes that contain an item: one of each level."""
        return self.levels

    def state(self, width: int, scale: float) -> dict[str, Any]:
        return {
            "items": 0,
            "k": self.k,
            "gaussian": self.law == "gaussian",
            "scale": scale,
            "noise": np.zeros((self.levels, width)),
        }

    def sensitivity(self) -> float:
        return self.cost(self.nodes)

    def together(self, rounds: int) -> float:
        return trees.held(self.n, self.k, rounds, squares=self.law == "gaussian")

    def variances(self, prefixes: Ints) -> Floats:
        return self.unit * digits.least_sums(prefixes, self.k, self.levels, signed=self.signed)

    def spread(self) -> tuple[float, float]:
        mean, largest = digits.spread(self.n, self.k, self.levels, signed=self.signed)
        return self.unit * mean, self.unit * largest

    def facts(self) -> dict[str, float]:
        return {"k": self.k, "levels": self.levels}


def add_item(counter: Record, rng: Draws) -> None:
    """Close the node that ends with the next item."""
    counter.items += 1
    close_level(counter, trailing_zeros_in(counter.items, counter.k), rng)
