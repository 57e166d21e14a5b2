"""Bernoulli gains with given means, or with those of a named instance: C1 to C4 are those of Sajed & Sheffet 2019.

An arm's gain is 1 if the round's number, uniform on [0, 1), is below the arm's mean. The regret is pseudo-regret.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.games.bandit import Floats, Setting
from privbandits_cli.games.drawing import uniforms
from privbandits_cli.games.heavy_tails import Stationary
from privbandits_cli.numerics.lanes import aligned


class Parameters(Stationary):
    """The means."""

    display = "Bernoulli"
    binary = True

    def gains_in_lanes(
        self, setting: Setting, rngs: Sequence[Generator], rounds: Callable[[], Iterable[range]]
    ) -> Iterator[NDArray[Any]]:
        means, draw = self.mean_gains(setting), uniforms(rngs)
        for block in rounds():
            numbers = np.empty((len(block), len(rngs)))
            draw(numbers)
            gains = aligned((len(block), len(means), len(rngs)), np.bool_)
            yield np.less(numbers[:, None], means[:, None], out=gains)

    def coins(self, setting: Setting) -> Floats:
        return self.mean_gains(setting)

    def errors(self, setting: Setting) -> Iterator[str]:
        yield from super().errors(setting)
        if isinstance(self.means, list) and not all(0 <= mean <= 1 for mean in self.means):
            yield "a Bernoulli gain is 0 or 1, so its mean must be in [0, 1]; for other means use student_t"
