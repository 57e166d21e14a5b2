"""Honaker's estimates from below (2015, "Efficient use of differentially private binary trees").

A node of a binary tree is estimated from its own noisy sum and from the estimates of its two halves, with the weights
that make the variance least: 2^h/(2^(h+1) - 1) at level h, where a noisy sum alone has 1. A prefix is the sum of the
estimates of its nodes. All nodes have noise, also those that no prefix consists of. So item n takes one number for
each node that it ends, which are one more than n has trailing zeros. A prefix reveals less than the nodes. The exact μ
is `accounting.trees.smoothed`.
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
        """The weight of a node's own noise, which is also the variance of its estimate, `[levels]`."""
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
        """One number for each node that item n ends."""
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
    """Estimate the nodes that the next item ends, from the lowest up; the highest is a node of the prefix."""
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
