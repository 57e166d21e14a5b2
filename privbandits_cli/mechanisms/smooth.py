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
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.games.linear import Draws
from privbandits_cli.mechanisms.counter import Counter, Law, close_level, release
from privbandits_cli.mechanisms.tree import trailing_zeros
from privbandits_cli.numerics.jit import Record
from privbandits_cli.numerics.types import Floats, Ints

__all__ = [
    "HIGHEST",
    "MOST_ITEMS",
    "TOO_MANY",
    "Smooth",
    "SmoothTree",
    "add_item",
    "closed_level",
    "next_code",
    "release",
]

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
class Smooth:
    """A smooth tree for at most C(height, ones) - 1 items; ones: their number in the code of an item's leaf."""

    height: int
    ones: int

    k = 0  # a smooth tree has no base

    @classmethod
    def best(cls, items: int) -> Self:
        """The tree with the smallest `deviation` for `items` >= 1; ValueError beyond MOST_ITEMS."""
        shapes = [cls(h, w) for h in range(2, HIGHEST + 1) for w in range(1, h) if math.comb(h, w) > items]
        if not shapes:
            raise ValueError(TOO_MANY)
        return min(shapes, key=lambda tree: tree.deviation(items))

    @property
    def first(self) -> int:
        """The code of the first leaf."""
        return (1 << self.ones) - 1

    @property
    def sensitivity(self) -> int:
        """The largest number of nodes that contain one item."""
        return self.height - self.ones

    def reached(self, items: int) -> int:
        """How many nodes contain the first item, once `items` >= 1 are summed: those of the lowest tree for them."""
        return _lowest(self.ones, items) - self.ones

    def facts(self) -> dict[str, float]:
        """The numbers that determine the tree."""
        return {"height": self.height, "ones": self.ones}

    def most(self, items: int) -> int:
        """The largest number of nodes in a prefix."""
        return min(self.ones, items)

    def deviation(self, items: int) -> float:
        """The largest standard deviation of a prefix's noise, for Laplace noise at ε = 1."""
        return self.sensitivity * math.sqrt(2 * self.most(items))

    def levels(self, items: int) -> NDArray[np.int8]:
        """The level of the node that each item closes, `[items]`."""
        return _levels(_lowest(self.ones, items), self.ones)[:items]


def _lowest(ones: int, items: int) -> int:
    """The height of the lowest tree for `items` items. Every higher tree begins with the nodes of this one."""
    height = ones + 1
    while math.comb(height, ones) <= items:
        height += 1
    return height


@cache
def _levels(height: int, ones: int) -> NDArray[np.int8]:
    """The level of the node that each item closes, `[items]`: those of the left half, its last one, the right half."""
    if ones in (0, height):
        return np.empty(0, np.int8)
    middle = np.array([height - 1], np.int8)
    return np.concatenate([_levels(height - 1, ones), middle, _levels(height - 1, ones - 1)])


@dataclass(frozen=True)
class SmoothTree(Counter):
    """The smooth mechanism for vectors, on the lowest tree for n items whose codes have `ones` ones."""

    title = "a smooth tree"

    ones: int

    @classmethod
    @cache
    def best(cls, n: int, law: Law) -> Self:
        """The tree with the least root mean square of E_t; ValueError beyond MOST_ITEMS."""
        if n > MOST_ITEMS:
            raise ValueError(TOO_MANY)
        trees = (cls(n, law, ones) for ones in range(1, HIGHEST) if math.comb(HIGHEST, ones) > n)
        return min(trees, key=Counter.rms)

    @property
    def height(self) -> int:
        """h, the length of a code in bits."""
        return _lowest(self.ones, self.n)

    def state(self, width: int, scale: float) -> dict[str, Any]:
        return {
            "code": (1 << self.ones) - 1,
            "gaussian": self.law == "gaussian",
            "scale": scale,
            "noise": np.zeros((self.height, width)),
        }

    def sensitivity(self) -> float:
        return self.cost(self.height - self.ones)

    def variances(self, prefixes: Ints) -> Floats:
        """Prefix t has a noisy node for each 1 in the code of leaf t + 1, except for the ones at its end."""
        rank, left, nodes = prefixes.copy(), np.full(len(prefixes), self.ones), np.zeros(len(prefixes))
        for place in range(self.height - 1, -1, -1):
            zero = np.array([math.comb(place, ones) for ones in range(self.ones + 1)])[left]  # leaves with a 0 here
            one = rank >= zero
            nodes += one & (left <= place)
            rank, left = rank - np.where(one, zero, 0), left - one
        return self.unit * nodes

    def spread(self) -> tuple[float, float]:
        """The mean variance counts w nodes for each prefix, and subtracts the ones at the ends of the codes."""
        rank, left, ending = self.n + 1, self.ones, 0  # ending: ones at the ends of the first n + 1 codes
        for place in range(self.height, -1, -1):
            zero = math.comb(place, left)
            if rank < zero:
                continue
            ending += sum(math.comb(place - r, left - r) for r in range(1, min(left, place) + 1))
            rank, left = rank - zero, left - 1
        return self.unit * (self.ones * (self.n + 1) - ending) / self.n, self.unit * min(self.ones, self.n)

    def facts(self) -> dict[str, float]:
        return {"h": self.height, "w": self.ones}


def add_item(counter: Record, rng: Draws) -> None:
    """Close the node that ends with the next item."""
    level = closed_level(counter.code)
    counter.code = next_code(counter.code)
    close_level(counter, level, rng)
