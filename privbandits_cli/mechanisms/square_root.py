"""The square root of the matrix of prefix sums, exactly (Henzinger, Upadhyay & Upadhyay 2023; Fichtenberger,
Henzinger & Upadhyay 2022).

The matrix A of prefix sums is C C, where C is the Toeplitz matrix with c_k = (2k choose k)/4^k. The noise of prefix t
is σ (C z)_t, where z are standard normal numbers. All prefixes together are C (C l + σ z) for the items l. So they are
exactly μ-GDP with μ = |c| Δ/σ if an item changes by Δ. Their noise is close to the least possible. But round t uses
all t N numbers drawn so far, which suits checks and short games only. A BLT (`mechanisms.blt`) has nearly the same
noise in constant memory.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from privbandits_cli.accounting import toeplitz
from privbandits_cli.games.linear import Draws
from privbandits_cli.mechanisms.counter import Counter, release
from privbandits_cli.numerics.jit import Record
from privbandits_cli.numerics.types import Floats, Ints

__all__ = ["SquareRoot", "add_item", "release"]

MOST_ROUNDS = 2**14  # a game of this length with ten coordinates takes two seconds; the time grows as T²


@dataclass(frozen=True)
class SquareRoot(Counter):
    """The square root of the matrix of prefix sums, with Gaussian noise."""

    title = "the square root"
    laws = ("gaussian",)
    steady = True

    def squares(self) -> Floats:
        """The variance of each prefix, c_0² + ... + c_(t-1)², `[n]`."""
        return np.cumsum(toeplitz.square_root(self.n) ** 2)

    def state(self, width: int, scale: float) -> dict[str, Any]:
        if self.n >= MOST_ROUNDS:
            raise ValueError(f"the square root keeps all its random numbers, for at most {MOST_ROUNDS:,} rounds")
        return {
            "items": 0,
            "scale": scale,
            "coefficients": toeplitz.square_root(self.n),
            "numbers": np.zeros((self.n, width)),
            "noise": np.zeros((1, width)),
        }

    def sensitivity(self) -> float:
        return math.sqrt(float(self.squares()[-1]))

    def together(self, rounds: int) -> float:
        return toeplitz.together(toeplitz.square_root(self.n), rounds)

    def variances(self, prefixes: Ints) -> Floats:
        return self.squares()[prefixes - 1]

    def spread(self) -> tuple[float, float]:
        squares = self.squares()
        return float(squares.mean()), float(squares[-1])


def add_item(counter: Record, rng: Draws) -> None:
    """Store the numbers of the next item, and add up all numbers so far with their weights."""
    numbers, noise, last = counter.numbers, counter.noise, counter.items
    width = noise.shape[1]
    first = len(rng.normal) - width
    for i in range(width):
        numbers[last, i] = counter.scale * rng.normal[first + i]
        noise[0, i] = 0.0
    for s in range(last + 1):
        weight = counter.coefficients[last - s]
        for i in range(width):
            noise[0, i] += weight * numbers[s, i]
    counter.items += 1
