"""Stochastic adversary (Tossou & Dimitrakakis 2017, section 4).

The gains of arm 1 are drawn i.i.d. from Bern(0.55), those of all other arms from Bern(0.5).
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field

from privbandits_cli.games import bandit


class Parameters(bandit.Adversary):
    """The two means."""

    display = "Stochastic"

    best: float = Field(0.55, ge=0, le=1, description="mean gain of arm 1")
    others: float = Field(0.5, ge=0, le=1, description="mean gain of every other arm")

    def gains(self, setting: bandit.Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[NDArray[Any]]:
        means = np.full(setting.n_arms, self.others)
        means[0] = self.best
        for rounds in blocks:
            yield rng.random((len(rounds), setting.n_arms)) < means
