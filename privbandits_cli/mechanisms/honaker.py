"""Honaker's estimates from below (2015, "Efficient use of differentially private binary trees").

The estimate of a node combines its own noisy sum with the estimates of its two halves, with the weights that minimise
the variance. At level h this variance is 2^h/(2^(h+1) - 1) times that of a noisy sum. A prefix is the sum of the
estimates of its nodes. Every node has noise, also a right half, which is a node of no prefix. So item n takes one
random number for each node that ends with it: one more than n has trailing zeros. The prefixes reveal less than the
nodes. Their exact μ is `accounting.trees.smoothed`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from privbandits_cli.accounting import digits, trees
from privbandits_cli.games.linear import Draws
from privbandits_cli.mechanisms.counter import Counter, release
from privbandits_cli.mechanisms.tree import trailing_zeros
from privbandits_cli.numerics.jit import Record
from privbandits_cli.numerics.types import Floats, Ints

__all__ = ["Honaker", "add_item", "release"]


@dataclass(frozen=True)
class Honaker(Counter):
    """A binary tree with Gaussian noise and estimates from below."""

    title = "Honaker's tree"
    laws = ("gaussian",)

    def weights(self) -> Floats:
        """The weight of a node's own noisy sum at each level, `[levels]`; it equals the variance of the estimate."""
        return np.array([trees.estimate(level) for level in range(self.n.bit_length())])

    def state(self, width: int, scale: float) -> dict[str, Any]:
        weights = self.weights()
        return {
            "items": 0,
            "scale": scale,
            "weights": weights,
            "noise": np.zeros((len(weights) + 1, width)),
            "left": np.zeros((len(weights), width)),
        }

    def draws(self, rounds: Ints) -> dict[str, Ints]:
        """One number for each node that ends with item n."""
        return {"normal": np.bitwise_count(rounds ^ (rounds - 1)).astype(np.int64)}

    def sensitivity(self) -> float:
        return trees.smoothed(self.n.bit_length())

    def counted(self) -> float:
        return self.cost(self.n.bit_length())

    def variances(self, prefixes: Ints) -> Floats:
        weights = self.weights()
        return np.asarray((prefixes[:, None] >> np.arange(len(weights)) & 1) @ weights, np.float64)

    def spread(self) -> tuple[float, float]:
        return digits.ones(self.n, self.weights())


def add_item(counter: Record, rng: Draws) -> None:
    """Estimate the nodes that end with the next item, from the lowest up. The highest is a node of the prefix."""
    counter.items += 1
    noise, left, weights = counter.noise, counter.left, counter.weights
    level, width = trailing_zeros(counter.items), noise.shape[1]
    first = len(rng.normal) - (level + 1) * width
    for i in range(width):
        estimate = counter.scale * rng.normal[first + i]
        for j in range(1, level + 1):
            own = counter.scale * rng.normal[first + j * width + i]
            estimate = weights[j] * own + (1.0 - weights[j]) * (left[j - 1, i] + estimate)
        left[level, i] = estimate
        noise[level, i] = noise[level + 1, i] + estimate
        for below in range(level):
            noise[below, i] = noise[level, i]
