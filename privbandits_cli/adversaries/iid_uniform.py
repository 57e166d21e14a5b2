"""Losses that are independent and uniform on the loss set (a null case for Agarwal & Singh 2017).

No decision is better than another in expectation, so all learners have the same cost, and noise costs nothing.
"""

from collections.abc import Iterable, Iterator

from numpy.random import Generator

from privbandits_cli.games import linear
from privbandits_cli.games.linear import Floats, Setting, loss_set


class Parameters(linear.Adversary):
    """No parameters."""

    display = "Uniform losses"

    def losses(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[Floats]:
        draw = loss_set(setting).uniform(rng)
        for rounds in blocks:
            yield draw(len(rounds))
