"""A binary tree with top-up noise that all prefixes share: the noise of one more node at each level, drawn once.

Prefix n is the sum of one node for each 1 among the binary digits of n (`mechanisms.tree`). For each 0 it gets the
shared noise of that level. For every n these are m independent nodes. So the noise of each prefix has the same law as
with fresh top-up noise, and takes a quarter of the random numbers; the proof of the regret (Agarwal & Singh 2017,
Theorem 3.4) uses this law alone. The prefixes 0, ..., n reveal as much about an item as the nodes, so μ = √m (Gaussian
noise) and ε = m (Laplace noise) are exact. The empty prefix is one of them, because it reveals the sum of the shared
noise; without it both are upper bounds.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from privbandits_cli.games.linear import Draws
from privbandits_cli.mechanisms.counter import release as release_nodes
from privbandits_cli.mechanisms.fresh_top_up import ToppedUp
from privbandits_cli.mechanisms.tree import trailing_zeros
from privbandits_cli.numerics.jit import Record
from privbandits_cli.numerics.types import Floats, Ints


@dataclass(frozen=True)
class SharedTopUp(ToppedUp):
    """A binary tree with shared top-up noise."""

    def state(self, width: int, scale: float) -> dict[str, Any]:
        return {
            "items": 0,
            "begun": False,
            "gaussian": self.law == "gaussian",
            "scale": scale,
            "noise": np.zeros((self.levels + 1, width)),
            "shared": np.zeros((self.levels, width)),
        }

    def draws(self, rounds: Ints) -> dict[str, Ints]:
        """One number for each item, and in the first round one more for each level."""
        return {self.kind: 1 + np.where(rounds == 1, self.levels, 0)}

    def sensitivity(self) -> float:
        return self.counted()


def add_item(counter: Record, rng: Draws) -> None:
    """Close the node that ends with the next item. The levels below have no node then, and get their shared noise.

    Row j of `noise[levels + 1, N]` sums the noise of levels j and above: on each level that of the current node, or the
    shared noise. The noise of the new node takes the last N numbers of the round.
    """
    counter.items += 1
    noise, shared, numbers = counter.noise, counter.shared, rng.normal if counter.gaussian else rng.laplace
    level, width = trailing_zeros(counter.items), noise.shape[1]
    first = len(numbers) - width
    for i in range(width):
        noise[level, i] = noise[level + 1, i] + counter.scale * numbers[first + i]
    for below in range(level - 1, -1, -1):
        for i in range(width):
            noise[below, i] = noise[below + 1, i] + shared[below, i]


def release(counter: Record, sums: Floats, rng: Draws) -> None:
    """Add the noise of the current prefix. The first numbers of the first round are the shared noise."""
    if not counter.begun:
        counter.begun = True
        begin(counter, rng.normal if counter.gaussian else rng.laplace)
    release_nodes(counter, sums, rng)


def begin(counter: Record, numbers: Floats) -> None:
    """Set the shared noise of all levels. Its sum is the noise of the empty prefix."""
    levels, n = counter.shared.shape
    for level in range(levels - 1, -1, -1):
        for i in range(n):
            counter.shared[level, i] = counter.scale * numbers[level * n + i]
            counter.noise[level, i] = counter.noise[level + 1, i] + counter.shared[level, i]
