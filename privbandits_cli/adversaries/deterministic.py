"""Deterministic adversary (Tossou & Dimitrakakis 2017, section 4).

Arm 1 always gives 0.38, arm 2 gives 1 on even rounds, arm 3 gives 1 on rounds that are multiples of 3, all
others give 0. Arm 2 is best with 1/2 a round, yet arm 1 never disappoints and arm 3 starts later.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.games import bandit


class Parameters(bandit.Adversary):
    """No parameters: every number is the paper's."""

    display = "Deterministic"

    def gains(self, setting: bandit.Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[NDArray[Any]]:
        for rounds in blocks:
            t = np.arange(rounds.start, rounds.stop)
            gains = np.zeros((len(t), setting.n_arms))
            gains[:, 0] = 0.38
            gains[:, 1] = t % 2 == 0
            if setting.n_arms > 2:
                gains[:, 2] = t % 3 == 0
            yield gains
