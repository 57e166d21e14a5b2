"""Losses that alternate between the two ends of the loss set: Follow-the-Leader fails on them (Shalev-Shwartz 2011,
section 2.2).

The first loss is half as large, so that the current leader always suffers the next loss. A learner that is stable, by
a regulariser or by noise, has almost no regret.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.random import Generator

from privbandits_cli.games import linear
from privbandits_cli.games.linear import Floats, Setting, loss_set


class Parameters(linear.Adversary):
    """No parameters."""

    display = "Alternating"

    def losses(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[Floats]:
        ends = loss_set(setting)
        for rounds in blocks:
            t = np.arange(rounds.start, rounds.stop)
            swing = np.where(t % 2 == 0, -1.0, 1.0)
            yield ends.swinging(np.where(t == 1, 0.5, swing))
