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
from privbandits_cli.numerics.jit import Records, record
from privbandits_cli.numerics.sfc64 import ONE, filling, following, uniform, words_of

Gains = NDArray[np.bool_]
SIXTEEN, NEXT = np.uint64(2**16 - 1), np.uint64(16)  # bits


def bernoulli(rng: Generator, means: NDArray[np.float64]) -> Callable[[int], Gains]:
    """A source of independent gains from Bern(means[arm]): each call draws the next n rows, `[n, arms]`.

    16 bits decide a gain, so a random word serves four. If they equal the first 16 bits of the mean, a uniform number
    from a separate stream is compared with the rest of the mean, so that the law is exact.
    """
    first = np.minimum(np.floor(65536 * means), 65535)
    last = record(**words_of(rng.spawn(1)[0]))
    fill = filling(fill_rows, last=last, first=first.astype(np.uint64), rest=65536 * means - first, **words_of(rng))

    def rows(n: int) -> Gains:
        gains = np.empty((n, len(means)), np.bool_)
        fill(gains)
        return gains

    return rows


def fill_rows(states: Records, gains: Gains) -> None:
    """Fill rows of gains `[n, arms]`."""
    state = states[0]
    words, first = state.words, state.first
    a, b, c, n = words[0], words[1], words[2], words[3]
    for t in range(len(gains)):
        bits = ONE
        for arm in range(len(first)):
            if arm % 4 == 0:
                bits, a, b, c, n = following(a, b, c, n)
            number = bits & SIXTEEN
            bits >>= NEXT
            gain = number < first[arm]
            if number == first[arm]:
                gain = uniform(state.last.words) < state.rest[arm]
            gains[t, arm] = gain
    words[0], words[1], words[2], words[3] = a, b, c, n


def rows_of(rng: Generator, n_arms: int, best: float, others: float) -> Callable[[int], Gains]:
    """The same source, where arm 1 has the mean `best` and every other arm the mean `others`."""
    return bernoulli(rng, one_better(n_arms, best, others))


def one_better(n_arms: int, best: float, others: float) -> NDArray[np.float64]:
    """The means `[arms]` of these arms."""
    means = np.full(n_arms, others)
    means[0] = best
    return means


class Parameters(bandit.Adversary):
    """The two means."""

    display = "Stochastic"
    binary = True

    best: float = Field(0.55, ge=0, le=1, description="mean gain of arm 1")
    others: float = Field(0.5, ge=0, le=1, description="mean gain of all other arms")

    def gains(self, setting: bandit.Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[NDArray[Any]]:
        draw = rows_of(rng, setting.n_arms, self.best, self.others)
        for rounds in blocks:
            yield draw(len(rounds))

    def coins(self, setting: bandit.Setting) -> NDArray[np.float64]:
        return one_better(setting.n_arms, self.best, self.others)
