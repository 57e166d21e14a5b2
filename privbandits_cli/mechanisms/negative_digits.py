"""A k-ary tree with digits from -k/2 to k/2 (Andersson, Pagh & Torkamani 2024, "Count on your elders").

A prefix may be written as a larger node that reaches beyond it, minus nodes to its right. So it consists of about half
as many nodes as in a k-ary tree. Each prefix takes the digits with the least sum of absolute values. These are found
from the highest level down: a path moves between two boundaries, the multiples of k^l on both sides of the prefix
(`accounting.digits`).

A prefix may use the noise of a node before the node's items arrive. The prefixes are private nevertheless: if Laplace
noise on h levels has a scale of h times the sensitivity, the densities of the prefixes under two neighbouring streams
have a ratio of at most e, so ε = 1. This argument does not extend to (ε, δ) or to Gaussian noise.

At each level the record keeps the noise of the k children of one node: `sums[l, j]` is that of the first j of them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from privbandits_cli.games.linear import Draws
from privbandits_cli.mechanisms.counter import Counter, release
from privbandits_cli.mechanisms.k_ary import KAryTree
from privbandits_cli.numerics.jit import Record
from privbandits_cli.numerics.types import Floats, Ints

__all__ = ["NegativeDigits", "add_item", "release"]


@dataclass(frozen=True)
class NegativeDigits(KAryTree):
    """A k-ary tree whose prefixes may have negative digits."""

    title = "a k-ary tree with negative digits"
    laws = ("laplace",)
    signed = True

    def state(self, width: int, scale: float) -> dict[str, Any]:
        return {
            "items": 0,
            "scale": scale,
            "sums": np.zeros((self.levels, self.k + 1, width)),
            "noise": np.zeros((1, width)),
            "from_high": np.zeros((self.levels, 2), np.int64),
        }

    def draws(self, rounds: Ints) -> dict[str, Ints]:
        """One number for each child of each node that begins with the item of the round."""
        begun = sum((rounds - 1) % self.k ** (level + 1) == 0 for level in range(self.levels))
        return {"laplace": self.k * np.asarray(begun, np.int64)}

    def together(self, rounds: int) -> float:
        return Counter.together(self, rounds)  # a node's noise is used before its items come


def add_item(counter: Record, rng: Draws) -> None:
    """Draw the children of the nodes that begin with the next item, and represent the prefix that it ends."""
    begin(counter, rng.laplace)
    counter.items += 1
    represent(counter)


def begin(counter: Record, numbers: Floats) -> None:
    """Draw the children of each node that begins after the current prefix, from the lowest level up."""
    sums, size, drawn = counter.sums, 1, 0
    levels, above, width = sums.shape
    for level in range(levels):
        size *= above - 1
        if counter.items % size:
            return
        for child in range(above - 1):
            for i in range(width):
                sums[level, child + 1, i] = sums[level, child, i] + counter.scale * numbers[drawn + i]
            drawn += width


def represent(counter: Record) -> None:
    """Represent the current prefix by the fewest nodes, and add up their noise.

    low, high: the least numbers of nodes with which the lower and the upper boundary of a level are reached.
    from_high: whether the path to each comes from the upper boundary of the level above.
    """
    sums, from_high, noise = counter.sums, counter.from_high, counter.noise
    levels, k, width = sums.shape[0], sums.shape[1] - 1, sums.shape[2]
    size = 1
    for _ in range(levels - 1):
        size *= k
    low, high = 0, k * levels  # above the highest level there is no upper boundary
    for level in range(levels - 1, -1, -1):
        digit = counter.items // size % k
        up, down = low + digit, high + k - digit
        from_high[level, 0], from_high[level, 1] = down < up, down - 1 < up + 1
        low, high = min(up, down), min(up + 1, down - 1)
        size //= k
    for i in range(width):
        noise[0, i] = 0.0
    at, size = 0, 1  # start at the lower boundary of level 0, which is the prefix itself
    for level in range(levels):
        child = counter.items // size % k + at
        at = int(from_high[level, at])
        for i in range(width):
            noise[0, i] += sums[level, child, i] - at * sums[level, k, i]
        size *= k
