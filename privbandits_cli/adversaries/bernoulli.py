"""Bernoulli gains with given means, or with those of a named instance: C1 to C4 are those of Sajed & Sheffet 2019.

An arm's gain is 1 if the round's number, uniform on [0, 1), is below the arm's mean. The regret is pseudo-regret.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.games.bandit import Floats, Setting
from privbandits_cli.games.heavy_tails import Stationary


class Parameters(Stationary):
    """The means."""

    display = "Bernoulli"
    binary = True

    def gains(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[NDArray[Any]]:
        means = self.mean_gains(setting)
        for rounds in blocks:
            yield rng.random((len(rounds), 1)) < means

    def coins(self, setting: Setting) -> Floats:
        return self.mean_gains(setting)

    def errors(self, setting: Setting) -> Iterator[str]:
        yield from super().errors(setting)
        if isinstance(self.means, list) and not all(0 <= mean <= 1 for mean in self.means):
            yield "a Bernoulli gain is 0 or 1, so its mean must be in [0, 1]; for other means use student_t"
