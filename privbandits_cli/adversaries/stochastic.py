"""Stochastic adversary (Tossou & Dimitrakakis 2017, section 4).

The gains of arm 1 are drawn i.i.d. from Bern(0.55), those of all other arms from Bern(0.5).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field

from privbandits_cli.games import bandit

Gains = NDArray[np.bool_]


def bernoulli(rng: Generator, means: NDArray[np.float64]) -> Callable[[int], Gains]:
    """A source of rows of gains, independent and Bern(means[arm]): each call draws `[n, arms]`, going on from the last.

    16 bits decide a gain, four of them to a random word, unless they equal those of the mean; then a uniform
    number from a stream of its own is held against the rest of the mean, so that the law is exact.
    """
    last = rng.spawn(1)[0]
    n_arms = len(means)
    first = np.minimum(np.floor(65536 * means), 65535).astype(np.uint16)
    rest = 65536 * means - first
    words = -(-n_arms // 4)  # a round
    repeated = first[None]

    def rows(n: int) -> Gains:
        nonlocal repeated
        if len(repeated) < n:  # whole arrays are compared many times as fast as rows with one row
            repeated = np.tile(first, (n, 1))
        numbers = rng.bit_generator.random_raw(n * words).astype("<u8", copy=False).view("<u2")
        numbers = numbers.reshape(n, 4 * words)[:, :n_arms]
        gains: Gains = numbers < repeated[:n]
        for tie in np.flatnonzero(numbers == repeated[:n]):
            gains.reshape(-1)[tie] = last.random() < rest[tie % n_arms]
        return gains

    return rows


class Parameters(bandit.Adversary):
    """The two means."""

    display = "Stochastic"
    binary = True

    best: float = Field(0.55, ge=0, le=1, description="mean gain of arm 1")
    others: float = Field(0.5, ge=0, le=1, description="mean gain of every other arm")

    def gains(self, setting: bandit.Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[NDArray[Any]]:
        means = np.full(setting.n_arms, self.others)
        means[0] = self.best
        draw = bernoulli(rng, means)
        for rounds in blocks:
            yield draw(len(rounds))
