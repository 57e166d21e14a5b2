"""Deterministic adversary (Tossou & Dimitrakakis 2017, section 4).

Arm 1 always gives 0.38, arm 2 gives 1 on even rounds, arm 3 gives 1 on multiples of 3, and all other arms give 0. Arm 2
is the best with 1/2 per round, but arm 1 never gives 0.
"""

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from privbandits_cli.games import bandit
from privbandits_cli.numerics.types import Blocks, Tables


class Parameters(bandit.Adversary):
    """No parameters: every number is the paper's."""

    display = "Deterministic"

    def gains_in_lanes(self, setting: bandit.Setting, rngs: Sequence[Generator], rounds: Blocks) -> Tables:
        pattern = np.zeros((6, setting.n_arms))  # row i: the gains of rounds t with t mod 6 = i
        pattern[:, 0] = 0.38
        pattern[::2, 1] = 1.0
        pattern[::3, 2:3] = 1.0
        pattern = np.repeat(pattern[:, :, None], len(rngs), axis=2)
        repeated = pattern
        for block in rounds():
            first = block.start % 6
            if len(repeated) < first + len(block):
                repeated = np.tile(pattern, (2 + len(block) // 6, 1, 1))
            yield repeated[first : first + len(block)]
