"""The tree mechanism: all prefix sums of a stream from noisy sums of dyadic ranges (Chan, Shi & Song 2011; Dwork,
Naor, Pitassi & Rothblum 2010). Algorithm 2 of Tao et al. 2022 is this mechanism with growing bounds; TreeBasedAgg,
Algorithm 2 of Agarwal & Singh 2017, is this mechanism with top-up noise.

Item n closes one node, which covers the 2^j items up to n, where j is the number of trailing zeros of n in binary. The
ones of n select the nodes whose sum is prefix n. A released prefix is the true prefix plus the noise of those nodes, so
only the noise is stored: `noise[j]` is the total noise of the last node of level j and of the nodes before it in the
prefix. When a node is closed, its noise is drawn, and added to the total of the node before it, or to 0 if it is the
first. This takes `levels + 1` numbers, the last of which remains 0, and one new number for each item. Counters of
vectors (`mechanisms.counter`) store the totals of the current nodes of levels j and above.

Each item is in at most one node of each level. So if every node is (ε/levels)-DP, the release is ε-DP. The number of
levels is floor(log2 T) + 1 if the last prefix released is T, and ceil(log2 T) if it is T - 1. Algorithm 2 of Tao et al.
divides ε by log T, which is less than the number of levels, so that its ε is in fact ε levels / ln T. If items lie in
[-B_n, B_n] and B_n does not decrease, the node that item n closes has noise of scale 2 B_n levels/ε, because B_n is the
largest bound of its items.

Top-up noise adds the noise of one node for each zero of n, so that the noise of every prefix has the same law, that of
`levels` nodes. TreeBasedAgg draws it anew for every prefix. Shared top-up noise has the same effect: one node for each
level is drawn once and used whenever that level has no node, so that the ones and zeros of n always select `levels`
independent nodes. Top-up noise does not depend on the items, so in both cases the prefixes are post-processing of the
nodes, and at least as private. Fresh noise hides part of what the nodes reveal; shared noise hides nothing. The proof
of the regret (Theorem 3.4) only uses the law of each prefix's noise; it says that the noises of different prefixes need
not be independent. Sharing saves three quarters of the random numbers.

A tree whose nodes have k children (Qardaji, Yang & Li 2013) has fewer levels, and so less Laplace noise on each node.
Item n closes a node whose level is the number of trailing zeros of n in base k. If a digit of n is d, its level has d
current nodes.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.accounting import digits
from privbandits_cli.numerics.reals import bits_of
from privbandits_cli.numerics.types import Floats

WIDEST = 64  # children of a node, at most


def depth(horizon: float) -> int:
    """The number of levels for T = `horizon` >= 1 items: floor(log2 T) + 1. An item is in at most one node of each."""
    return math.floor(math.log2(horizon)) + 1


def height(horizon: float) -> int:
    """The largest number of nodes that contain one item if the prefixes 0 to T - 1 are released: ceil(log2 T), or 1."""
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
    lowest = np.float64(n & -n)
    level: int = (bits_of(lowest) >> 52) - 1023  # its exponent; a loop would end at another time for each n
    return level


def trailing_zeros_in(n: int, k: int) -> int:
    """The number of trailing zeros of n >= 1 in base k."""
    level = 0
    while n % k == 0:
        n //= k
        level += 1
    return level


def close_node(noise: Floats, n: int, fresh: float) -> float:
    """Close the node that ends with item n >= 1 in a binary tree, and return the noise of prefix n; fresh: the node's.

    noise: `[levels + 1]`, zeros before the first tree; a later tree needs no new zeros.
    """
    rest = n & (n - 1)  # the items of the other nodes
    before = trailing_zeros(rest) if rest > 0 else len(noise) - 1
    total: float = noise[before] + fresh
    noise[trailing_zeros(n)] = total
    return total


@dataclass(frozen=True)
class KAry:
    """A tree whose nodes have k children, with `height` levels, for at most k^height - 1 items."""

    k: int
    height: int

    first: ClassVar[int] = 0  # the code of the first item; a code is the number of items before

    @classmethod
    def of(cls, k: int, items: int) -> Self:
        """The lowest tree for `items` >= 1."""
        return cls(k, digits.height(items, k))

    @classmethod
    @cache
    def best(cls, items: int) -> Self:
        """The tree with the smallest `deviation` for `items` >= 1."""
        return min((cls.of(k, items) for k in range(2, WIDEST + 1)), key=lambda tree: tree.deviation(items))

    @property
    def sensitivity(self) -> int:
        """The largest number of nodes that contain one item."""
        return self.height

    def reached(self, items: int) -> int:
        """How many nodes contain the first item, once `items` >= 1 are summed."""
        return digits.height(items, self.k)

    def facts(self) -> dict[str, float]:
        """The numbers that determine the tree."""
        return {"k": self.k, "height": self.height}

    def most(self, items: int) -> int:
        """The largest number of nodes in a prefix: the largest sum of digits among 1, ..., items."""
        return int(digits.spread(items, self.k, self.height, signed=False)[1])

    def deviation(self, items: int) -> float:
        """The largest standard deviation of a prefix's noise, for Laplace noise at ε = 1."""
        return self.sensitivity * math.sqrt(2 * self.most(items))

    def levels(self, items: int) -> NDArray[np.int8]:
        """The level of the node that each item closes, `[items]`."""
        levels, covered = np.zeros(items, np.int8), self.k
        while covered <= items:
            levels[covered - 1 :: covered] += 1
            covered *= self.k
        return levels
