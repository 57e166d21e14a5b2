"""Counters: mechanisms that release all prefix sums of a stream under continual observation.

E_t measures the noise of a counter. It is the standard deviation of the noise of prefix t when an item changes a sum by
at most 1 and all releases together are 1-GDP (Gaussian noise) or 1-DP (Laplace noise). If an item changes a sum by at
most Δ, the deviation at (ε, δ) is Δ E_t/μ(ε, δ) or Δ E_t/ε. The prefixes are 1, ..., n; a game of T rounds needs
n = T - 1.

Each counter is a class, which computes its noise and its privacy, and two compiled steps in the same file. A counter
stores only noise: prefix t is the true sum plus a linear combination of the random numbers drawn so far.

- `add_item(counter, rng)` turns the noise of a prefix into that of the next one, with the numbers of this round.
- `release(counter, sums, rng)` adds the noise of the current prefix to the true sums.

`counter` is the record that `state` describes. An algorithm's file imports the placeholders `counter_add_item` and
`counter_release`, and gives the counter's module in `built_on`; `games.steps` fills them in.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from privbandits_cli.accounting import gaussian
from privbandits_cli.games.linear import Draws
from privbandits_cli.numerics.jit import Record, unbound
from privbandits_cli.numerics.types import Floats, Ints

Law = Literal["gaussian", "laplace"]

counter_add_item: Any = unbound
counter_release: Any = unbound


@dataclass(frozen=True)
class Noise(ABC):
    """The noise of a counter on the prefixes 1, ..., n >= 1. All its random numbers have the same law.

    The unit of noise is the scale of one number: the deviation σ of a Gaussian one, or the scale λ of a Laplace one.
    """

    title: ClassVar[str]  # the counter's name in words
    laws: ClassVar[tuple[Law, ...]] = ("gaussian", "laplace")
    steady: ClassVar[bool] = False  # the noise of all prefixes has one law, or is Gaussian and never becomes smaller

    n: int
    law: Law

    @property
    def unit(self) -> float:
        """The variance of one number."""
        return 1.0 if self.law == "gaussian" else 2.0

    @abstractmethod
    def sensitivity(self) -> float:
        """μ σ (Gaussian noise) or ε λ (Laplace noise) of all prefixes together, if an item changes by at most 1."""

    def together(self, rounds: int) -> float:
        """The sensitivity if that many items change, each by at most 1: by default as if all moved the same numbers."""
        return rounds * self.sensitivity()

    def growth(self, rounds: int) -> float:
        """`together` over the sensitivity to one item."""
        return self.together(rounds) / self.sensitivity()

    def cost(self, nodes: int) -> float:
        """The sensitivity of a release of all nodes, if an item is in at most `nodes` of them."""
        return math.sqrt(nodes) if self.law == "gaussian" else float(nodes)

    def counted(self) -> float:
        """The sensitivity of a release of all nodes, which is an upper bound on that of the prefixes."""
        return self.sensitivity()

    def scale(
        self, changes: tuple[float, float], epsilon: float, delta: float | None, *, counted: bool = False
    ) -> float:
        """The scale of one number with which all prefixes together are (ε, δ)-private.

        changes: the largest l1 and l2 change of an item. delta: None for Laplace noise. counted: hide all nodes.
        """
        cost = self.counted() if counted else self.sensitivity()
        if delta is None:
            return cost * changes[0] / epsilon
        return cost * changes[1] / gaussian.mu_of(epsilon, delta)

    @abstractmethod
    def variances(self, prefixes: Ints) -> Floats:
        """The variance of the noise of these prefixes, `[prefixes]`."""

    @abstractmethod
    def spread(self) -> tuple[float, float]:
        """The mean and the largest variance of the prefixes 1, ..., n."""

    def errors(self, prefixes: Ints) -> Floats:
        """E_t of these prefixes, `[prefixes]`."""
        return np.asarray(self.sensitivity() * np.sqrt(self.variances(prefixes)), np.float64)

    def rms(self) -> float:
        """The root mean square of E_t over all prefixes."""
        return self.sensitivity() * math.sqrt(self.spread()[0])

    def largest(self) -> float:
        """The largest E_t."""
        return self.sensitivity() * math.sqrt(self.spread()[1])

    def facts(self) -> dict[str, float]:
        """The parameters that were chosen or fitted for n, by name."""
        return {}


@dataclass(frozen=True)
class Counter(Noise):
    """A counter of vectors, whose file has the steps `add_item` and `release`."""

    @classmethod
    def best(cls, n: int, law: Law) -> Self:
        """The counter with the best parameters for n."""
        return cls(n, law)

    @property
    def kind(self) -> Literal["normal", "laplace"]:
        """The name of the random numbers that the counter takes."""
        return "normal" if self.law == "gaussian" else "laplace"

    @abstractmethod
    def state(self, width: int, scale: float) -> dict[str, Any]:
        """The fields of the record `counter` before the first item; width: the number of coordinates."""

    def draws(self, rounds: Ints) -> dict[str, Ints]:
        """How many random numbers of each kind a coordinate takes in each round, `[rounds]`. Round n has item n."""
        return {self.kind: np.ones_like(rounds)}


def close_level(counter: Record, level: int, rng: Draws) -> None:
    """Close a node at this level. It replaces the current nodes of all lower levels.

    The record has `noise[levels, N]`, `scale` and `gaussian`; row j of `noise` is the total noise of the current nodes
    at levels j and above. The noise of the new node takes the last N numbers of the round.
    """
    noise = counter.noise
    numbers = rng.normal if counter.gaussian else rng.laplace
    width = noise.shape[1]
    first = len(numbers) - width
    for i in range(width):
        noise[level, i] += counter.scale * numbers[first + i]
    for below in range(level):
        for i in range(width):
            noise[below, i] = noise[level, i]


def release(counter: Record, sums: Floats, rng: Draws) -> None:
    """Add the noise of the current prefix, which is `noise[0]`."""
    for i in range(len(sums)):
        sums[i] += counter.noise[0, i]
