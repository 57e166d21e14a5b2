"""The tree mechanism: all prefix sums of a stream from noisy sums of dyadic ranges (Chan, Shi & Song 2011; Dwork,
Naor, Pitassi & Rothblum 2010). Algorithm 2 of Tao et al. 2022 is this mechanism with growing bounds; TreeBasedAgg,
Algorithm 2 of Agarwal & Singh 2017, is this mechanism with top-up noise.

Item n closes one node, which covers the 2^j items up to n, where j is the number of trailing zeros of n in binary. The
ones of n select the nodes whose sum is prefix n. A released prefix is the true prefix plus the noise of those nodes, so
only the noise is stored: `noise[j]` is the total noise of the current nodes of levels j and above. The noise of a node
is drawn once, when the node is closed. This takes `levels + 1` numbers (or vectors), the last of which remains 0, and
one new number for each item.

Each item is in one node of each level. If every node is ε/levels-private, the release is therefore ε-private, where
levels = floor(log2 T) + 1 if prefix T is released, and ceil(log2 T) if T - 1 is the last. Algorithm 2 of Tao et al.
divides by log T, which is less: it states ε but gives ε levels / ln T. If items lie in [-B_n, B_n] and B_n does not
decrease, the node that item n closes has noise of scale 2 B_n levels/ε, because B_n is the largest bound of its items.

Top-up noise gives the noise of every prefix the same law, that of `levels` nodes, by adding the noise of one node for
each zero of n. Algorithm 2 draws it anew for every prefix. Shared top-up noise has the same effect: one node for each
level is drawn once and used whenever that level has no node, and for every n the ones and zeros of n select `levels`
different, independent nodes. Privacy is that of the nodes. Top-up noise is independent of the items, so the released
prefixes are post-processing in both cases; fresh noise hides part of what the nodes reveal, shared noise hides nothing.
The proof of the regret (Theorem 3.4) only uses the law of each prefix's noise; it says that the noises of different
prefixes need not be independent. Sharing saves three quarters of the random numbers.

A tree with k children a node (Qardaji, Yang & Li 2013) has fewer levels, and so less Laplace noise on each node: item n
closes a node of the level of its trailing zeros in base k. A level with digit d has d current nodes.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.accounting import digits
from privbandits_cli.numerics.types import Floats

WIDEST = 64  # children of a node, at most


def depth(horizon: float) -> int:
    """The number of nodes that contain an item, one for each level: floor(log2 T) + 1 for T = `horizon` >= 1 items."""
    return math.floor(math.log2(horizon)) + 1


def height(horizon: float) -> int:
    """The largest number of nodes containing an item if prefixes 0 to T - 1 are released: ceil(log2 T), at least 1."""
    return max(1, math.ceil(math.log2(horizon)))


def ones(n: int) -> int:
    """The number of ones of n >= 0 in binary, which is the number of nodes of prefix n."""
    count = 0
    while n > 0:
        n &= n - 1
        count += 1
    return count


def trailing_zeros(n: int) -> int:
    """The number of trailing zeros of n >= 1 in binary, which is the level of the node that item n closes."""
    level = 0
    while n & 1 == 0:
        n >>= 1
        level += 1
    return level


def trailing_zeros_in(n: int, k: int) -> int:
    """The number of trailing zeros of n >= 1 in base k."""
    level = 0
    while n % k == 0:
        n //= k
        level += 1
    return level


def close_level(noise: Floats, level: int, fresh: float) -> float:
    """Close a node of this level with this fresh noise, and return the noise of the prefix.

    noise: `[levels]` or longer, zeros before the first item.
    """
    total: float = noise[level] + fresh
    for below in range(level + 1):  # the new node replaces those of the levels below
        noise[below] = total
    return total


def close_node(noise: Floats, n: int, fresh: float) -> float:
    """Close the node of item n >= 1 of a binary tree with this fresh noise, and return the noise of prefix n.

    noise: `[levels + 1]`, zeros before the first item.
    """
    return close_level(noise, trailing_zeros(n), fresh)


@dataclass(frozen=True)
class KAry:
    """A tree with k children a node and nodes on `height` levels, for at most k^height - 1 items."""

    k: int
    height: int

    first: ClassVar[int] = 0  # the code before the first item: the number of items

    @classmethod
    def of(cls, k: int, items: int) -> Self:
        """The lowest tree for so many items >= 1."""
        return cls(k, digits.height(items, k))

    @classmethod
    @cache
    def best(cls, items: int) -> Self:
        """The tree with the smallest `deviation`."""
        return min((cls.of(k, items) for k in range(2, WIDEST + 1)), key=lambda tree: tree.deviation(items))

    @property
    def sensitivity(self) -> int:
        """The largest number of nodes that contain an item."""
        return self.height

    def facts(self) -> dict[str, float]:
        """The numbers that determine the tree."""
        return {"k": self.k, "height": self.height}

    def most(self, items: int) -> int:
        """The largest number of nodes of a prefix, which is the largest sum of digits of 1, ..., items."""
        return int(digits.spread(items, self.k, self.height, signed=False)[1])

    def deviation(self, items: int) -> float:
        """The largest standard deviation of a prefix with Laplace noise at ε = 1."""
        return self.sensitivity * math.sqrt(2 * self.most(items))

    def levels(self, items: int) -> NDArray[np.int8]:
        """The level of the node that each item closes, `[items]`."""
        levels, covered = np.zeros(items, np.int8), self.k
        while covered <= items:
            levels[covered - 1 :: covered] += 1
            covered *= self.k
        return levels
