"""Bernoulli gains with means of one's own, or those of an instance: C1 to C4 are those of Sajed & Sheffet 2019.

An arm gives 1 where the round's number, uniform on [0, 1), lies below its mean. Regret is counted on the means.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.games.bandit import Setting
from privbandits_cli.games.heavy_tails import Stationary


class Parameters(Stationary):
    """The means."""

    display = "Bernoulli"
    binary = True

    def gains(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[NDArray[Any]]:
        means = self.mean_gains(setting)
        for rounds in blocks:
            yield rng.random((len(rounds), 1)) < means

    def errors(self, setting: Setting) -> Iterator[str]:
        yield from super().errors(setting)
        if isinstance(self.means, list) and not all(0 <= mean <= 1 for mean in self.means):
            yield "a Bernoulli gain is 0 or 1, so its mean lies in [0, 1]; other means fit student_t"
