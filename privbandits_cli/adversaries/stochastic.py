"""Stochastic adversary (Tossou & Dimitrakakis 2017, section 4).

The gains of arm 1 are drawn i.i.d. from Bern(0.55), those of all other arms from Bern(0.5).
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Floats
from privbandits_cli.games.drawing import filled, rows_of
from privbandits_cli.numerics.jit import Record, record
from privbandits_cli.numerics.sfc64 import uniform, word_of, words_of
from privbandits_cli.numerics.types import Blocks, Tables

SIXTEEN = np.uint64(2**16 - 1)  # bits


def bernoulli(rngs: Sequence[Generator], means: Floats) -> Callable[[int], Floats]:
    """A source of independent gains from Bern(means[arm]): each call draws the next n rows, `[n, arms, lanes]`.

    The next call may overwrite them.

    16 bits decide a gain, so a random word serves four. If they equal the first 16 bits of the mean, a uniform number
    from a separate stream is compared with the rest of the mean, so that the law is exact.
    """
    first = np.minimum(np.floor(65536 * means), 65535)
    law = {"first": first.astype(np.uint64), "rest": 65536 * means - first}
    states = [record(**words_of(rng), last=words_of(rng.spawn(1)[0])["words"], **law) for rng in rngs]
    return rows_of(filled(gains_row, states, (len(means),), own=("words", "last")), len(means), len(rngs))


def gains_row(state: Record, layers: Record, out: Floats) -> None:
    """The gains of a round."""
    words, firsts, word = state.words, state.first, np.uint64(0)
    for arm in range(len(out)):
        word = word_of(words) if arm % 4 == 0 else word >> np.uint64(16)
        part, first = word & SIXTEEN, firsts[arm]
        out[arm] = 1.0 if part < first else 0.0
        if part == first:
            out[arm] = 1.0 if uniform(state.last) < state.rest[arm] else 0.0


def one_better(n_arms: int, best: float, others: float) -> Floats:
    """The means `[arms]`, where arm 1 has the mean `best` and every other arm the mean `others`."""
    means = np.full(n_arms, others)
    means[0] = best
    return means


class Coins(bandit.Adversary):
    """An adversary whose gains are all independent Bernoulli numbers."""

    def gains_in_lanes(self, setting: bandit.Setting, rngs: Sequence[Generator], rounds: Blocks) -> Tables:
        draw = bernoulli(rngs, self.coins(setting))
        for block in rounds():
            yield draw(len(block))

    def coins(self, setting: bandit.Setting) -> Floats:
        raise NotImplementedError


class Parameters(Coins):
    """The two means."""

    display = "Stochastic"

    best: float = Field(0.55, ge=0, le=1, description="mean gain of arm 1")
    others: float = Field(0.5, ge=0, le=1, description="mean gain of all other arms")

    def coins(self, setting: bandit.Setting) -> Floats:
        return one_better(setting.n_arms, self.best, self.others)
