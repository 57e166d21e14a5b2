"""Fully oblivious adversary (Tossou & Dimitrakakis 2017, section 4; Audibert & Bubeck 2010).

In every round each arm draws a number p, uniform in [0.5, 0.5 + 2 spread] for arm 1, the best, and uniform in
[0.5 - spread, 0.5 + spread] for the others, and then its gain from Bern(p). Because p is never observed and never used
again, the gains are independent with means 0.5 + spread and 0.5. They are drawn from this law directly; it is also the
law of the stochastic adversary.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field

from privbandits_cli.adversaries.stochastic import one_better, rows_of
from privbandits_cli.games import bandit


class Parameters(bandit.Adversary):
    """Half the width of p's interval."""

    display = "Fully oblivious"

    spread: float = Field(0.05, ge=0, le=0.25, description="the paper's ε: half the width of p's interval")

    def gains_in_lanes(
        self, setting: bandit.Setting, rngs: Sequence[Generator], rounds: Callable[[], Iterable[range]]
    ) -> Iterator[NDArray[Any]]:
        draw = rows_of(rngs, setting.n_arms, 0.5 + self.spread, 0.5)
        for block in rounds():
            yield draw(len(block))

    def coins(self, setting: bandit.Setting) -> NDArray[Any]:
        return one_better(setting.n_arms, 0.5 + self.spread, 0.5)
