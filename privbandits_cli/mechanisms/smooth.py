"""The smooth binary mechanism (Andersson & Pagh 2023): a binary tree whose items sit at the leaves with w ones only.

The code of a leaf in a binary tree of height h consists of the h bits of the path to it. The items are, in order, at
the leaves whose codes have exactly w ones. Each 1 in the code of leaf n + 1 selects one node of prefix n: the left
sibling of the node that the path enters there. So a prefix has at most w nodes. An item is in at most h - w nodes, one
for each 0 of its code. The paper has w = h/2, for Gaussian noise. Laplace noise has scale (h - w)/ε on each node, so a
smaller h - w is better for it. If every item is in at most a nodes and every prefix has at most b, a tree has at most
C(a + b, a) - 1 items. The smooth tree with h = a + b and w = b has as many.

The next code is the next number with w ones: a carry sets one bit, and all other ones that it passes drop to the end.
The item closes the node of the bit that is set. Ones at the end of a code stand for nodes without items, which have no
noise. So each item takes one random number, and the noise of a prefix is stored as in a binary tree
(`counter.close_level`). The prefixes reveal the nodes, so μ = √(h - w) (Gaussian noise) and ε = h - w (Laplace noise)
are exact for the lowest tree with n + 1 leaves.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np

from privbandits_cli.games.linear import Draws
from privbandits_cli.mechanisms.counter import Counter, Law, close_level, release
from privbandits_cli.mechanisms.tree import trailing_zeros
from privbandits_cli.numerics.jit import Record
from privbandits_cli.numerics.types import Floats, Ints

__all__ = ["SmoothTree", "add_item", "release"]

HIGHEST = 62  # levels at most, so that a code is an integer of 64 bits
MOST_ITEMS = math.comb(HIGHEST, HIGHEST // 2) - 1
TOO_MANY = f"a smooth tree has at most {MOST_ITEMS:.3g} items"


def carried(code: int) -> int:
    """The code after the carry. Its lowest one is the bit that the carry sets."""
    return code + (code & -code)


def next_code(code: int) -> int:
    """The next number with as many ones as `code` >= 1."""
    further = carried(code)
    return further | (code ^ further) >> (trailing_zeros(code) + 2)


def closed_level(code: int) -> int:
    """The level of the node that an item closes, from the code of its leaf."""
    return trailing_zeros(carried(code))


@dataclass(frozen=True)
class SmoothTree(Counter):
    """The smooth mechanism for vectors, on the lowest tree for n items whose codes have `ones` ones."""

    title = "a smooth tree"

    ones: int

    k: ClassVar[int] = 0  # it has no base

    @classmethod
    @cache
    def best(cls, n: int, law: Law, size: Callable[[Counter], float] = Counter.rms) -> Self:
        """The tree whose noise has the least size, by default the root mean square of E_t.

        ValueError if no tree has n items.
        """
        if n > MOST_ITEMS:
            raise ValueError(TOO_MANY)
        trees = (cls(n, law, ones) for ones in range(1, HIGHEST) if math.comb(HIGHEST, ones) > n)
        return min(trees, key=size)

    @property
    def first(self) -> int:
        """The code of the first item's leaf."""
        return (1 << self.ones) - 1

    @property
    def levels(self) -> int:
        """h, the length of a code in bits. Every higher tree begins with the nodes of this one."""
        height = self.ones + 1
        while math.comb(height, self.ones) <= self.n:
            height += 1
        return height

    @property
    def nodes(self) -> int:
        """The largest number of nodes that contain an item."""
        return self.levels - self.ones

    def state(self, width: int, scale: float) -> dict[str, Any]:
        return {
            "code": self.first,
            "gaussian": self.law == "gaussian",
            "scale": scale,
            "noise": np.zeros((self.levels, width)),
        }

    def sensitivity(self) -> float:
        return self.cost(self.nodes)

    def variances(self, prefixes: Ints) -> Floats:
        """Prefix t has a noisy node for each 1 in the code of leaf t + 1, except for the ones at its end."""
        rank, left, nodes = prefixes.copy(), np.full(len(prefixes), self.ones), np.zeros(len(prefixes))
        for place in range(self.levels - 1, -1, -1):
            zero = np.array([math.comb(place, ones) for ones in range(self.ones + 1)])[left]  # leaves with a 0 here
            one = rank >= zero
            nodes += one & (left <= place)
            rank, left = rank - np.where(one, zero, 0), left - one
        return self.unit * nodes

    def spread(self) -> tuple[float, float]:
        """The mean variance counts w nodes for each prefix, and subtracts the ones at the ends of the codes."""
        rank, left, ending = self.n + 1, self.ones, 0  # ending: ones at the ends of the first n + 1 codes
        for place in range(self.levels, -1, -1):
            zero = math.comb(place, left)
            if rank < zero:
                continue
            ending += sum(math.comb(place - r, left - r) for r in range(1, min(left, place) + 1))
            rank, left = rank - zero, left - 1
        return self.unit * (self.ones * (self.n + 1) - ending) / self.n, self.unit * min(self.ones, self.n)

    def facts(self) -> dict[str, float]:
        return {"h": self.levels, "w": self.ones}


def add_item(counter: Record, rng: Draws) -> None:
    """Close the node that ends with the next item."""
    level = closed_level(counter.code)
    counter.code = next_code(counter.code)
    close_level(counter, level, rng)
