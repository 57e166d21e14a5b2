"""Stochastic adversary (Tossou & Dimitrakakis 2017, section 4).

The gains of arm 1 are drawn i.i.d. from Bern(0.55), those of all other arms from Bern(0.5).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field

from privbandits_cli.games import bandit
from privbandits_cli.games.drawing import filler, words_in_lanes
from privbandits_cli.numerics.lanes import across, aligned, column
from privbandits_cli.numerics.sfc64 import Words, uniform, word_of, wrapping

Gains = NDArray[np.bool_]
SIXTEEN = np.uint64(2**16 - 1)  # bits
ONES, HIGHEST = np.uint64(0x0001000100010001), np.uint64(0x8000800080008000)  # of four parts


def bernoulli(rngs: Sequence[Generator], means: NDArray[np.float64]) -> Callable[[int], Gains]:
    """A source of independent gains from Bern(means[arm]): each call draws the next n rows, `[n, arms, lanes]`.

    16 bits decide a gain, so a random word serves four. If they equal the first 16 bits of the mean, a uniform number
    from a separate stream is compared with the rest of the mean, so that the law is exact.
    """
    first = np.minimum(np.floor(65536 * means), 65535)
    bounds = np.zeros((len(means) + 3) // 4 * 4, np.uint16)
    bounds[: len(means)] = first
    words, last = words_in_lanes(rngs), words_in_lanes([rng.spawn(1)[0] for rng in rngs])
    fours, rest, kernel = bounds.astype("<u2").view("<u8"), 65536 * means - first, filler(fill_rows)

    def rows(n: int) -> Gains:
        gains = aligned((n, len(means), len(rngs)), np.bool_)
        wrapping(lambda out: kernel(words, last, fours, rest, out))(gains)
        return gains

    return rows


def fill_rows(words: Words, last: Words, fours: Words, rest: NDArray[np.float64], gains: Gains) -> None:
    """Fill rows of gains `[n, arms, lanes]`; a word of `fours` has the first 16 bits of four means."""
    _, n_arms, n = gains.shape
    for t in range(len(gains)):
        for i in range(len(fours)):
            ties = draw_and_compare(words, n, fours[i])
            for arm in range(4 * i, min(4 * i + 4, n_arms)):
                shift = np.uint64(16 * (arm - 4 * i))
                bound = (fours[i] >> shift) & SIXTEEN
                for lane in range(n):
                    across(gains, lane)[t * n_arms + arm] = (column(words, lane)[4] >> shift) & SIXTEEN < bound
                if ties:
                    for lane in range(n):
                        if (column(words, lane)[4] >> shift) & SIXTEEN == bound:
                            gains[t, arm, lane] = uniform(column(last, lane)) < rest[arm]


def draw_and_compare(words: Words, n: int, four: Any) -> Any:
    """`draw_words`; not 0 if a word equals `four` in one of its four parts, of which the lowest is found by borrowing.

    A part that is 0 borrows in a subtraction of 1, and so its highest bit is set, which it was not before.
    """
    ties = np.uint64(0)
    for lane in range(n):
        own = column(words, lane)
        word = word_of(own)
        own[4] = word
        apart = word ^ four
        ties |= (apart - ONES) & ~apart & HIGHEST
    return ties


def rows_of(rngs: Sequence[Generator], n_arms: int, best: float, others: float) -> Callable[[int], Gains]:
    """The same source, where arm 1 has the mean `best` and every other arm the mean `others`."""
    return bernoulli(rngs, one_better(n_arms, best, others))


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

    def gains_in_lanes(
        self, setting: bandit.Setting, rngs: Sequence[Generator], rounds: Callable[[], Iterable[range]]
    ) -> Iterator[NDArray[Any]]:
        draw = rows_of(rngs, setting.n_arms, self.best, self.others)
        for block in rounds():
            yield draw(len(block))

    def coins(self, setting: bandit.Setting) -> NDArray[np.float64]:
        return one_better(setting.n_arms, self.best, self.others)
