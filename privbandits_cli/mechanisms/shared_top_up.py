"""A binary tree with top-up noise that all prefixes share: one node for each level is drawn once.

Prefix n has one node for each 1 among the binary digits of n (`mechanisms.tree`), and the shared node of the level for
each 0. For every n these are m different, independent nodes. So the noise of each prefix has the same law as with fresh
top-up noise, and takes a quarter of the random numbers. The prefixes reveal as much about an item as the nodes, so
μ = √m (Gaussian noise) and ε = m (Laplace noise) are exact.
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
        """The shared nodes in the first round, and one number for each item."""
        return {self.kind: 1 + np.where(rounds == 1, self.levels, 0)}

    def sensitivity(self) -> float:
        return self.counted()


def add_item(counter: Record, rng: Draws) -> None:
    """Close the node of the next item; levels below it have no node, so they get their shared one."""
    counter.items += 1
    close_vector(
        counter.noise, counter.shared, counter.items, counter.scale, rng.normal if counter.gaussian else rng.laplace
    )


def close_vector(noise: Floats, shared: Floats, item: int, scale: float, numbers: Floats) -> None:
    """Close the node of an item >= 1 with the noise scale * the last N numbers; `noise[0]` is then that of the prefix.

    noise: `[levels + 1, N]`, row j the noise of levels j and above; only top-up noise before the first item.
    shared: `[levels, N]`, the shared top-up noise of levels without a node.
    """
    level, width = trailing_zeros(item), noise.shape[1]
    first = len(numbers) - width
    for i in range(width):
        noise[level, i] = noise[level + 1, i] + scale * numbers[first + i]
    for below in range(level - 1, -1, -1):
        for i in range(width):
            noise[below, i] = noise[below + 1, i] + shared[below, i]


def release(counter: Record, sums: Floats, rng: Draws) -> None:
    """Add the noise of the current prefix; the shared nodes are made of the first numbers of the first round."""
    if not counter.begun:
        counter.begun = True
        begin(counter, rng.normal if counter.gaussian else rng.laplace)
    release_nodes(counter, sums, rng)


def begin(counter: Record, numbers: Floats) -> None:
    """The shared nodes of all levels, which are the noise of the empty prefix."""
    levels, n = counter.shared.shape
    for level in range(levels - 1, -1, -1):
        for i in range(n):
            counter.shared[level, i] = counter.scale * numbers[level * n + i]
            counter.noise[level, i] = counter.noise[level + 1, i] + counter.shared[level, i]
