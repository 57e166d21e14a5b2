"""Oblivious adversary (Tossou & Dimitrakakis 2017, section 4).

On every round that is a multiple of `period` it draws a row of gains like the fully oblivious adversary, and repeats
that row until the next multiple. The paper does not specify the rounds before the first multiple; here they repeat a
row that is drawn before the game.
"""

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.adversaries.stochastic import bernoulli, one_better
from privbandits_cli.games import bandit
from privbandits_cli.numerics.types import Blocks, Tables


class Parameters(bandit.Adversary):
    """How long a row of gains is held, and the width of p's interval."""

    display = "Oblivious"

    period: int = Field(200, ge=1, description="rounds between two draws")
    spread: float = Field(0.05, ge=0, le=0.25, description="the paper's ε: half the width of p's interval")

    def gains_in_lanes(self, setting: bandit.Setting, rngs: Sequence[Generator], rounds: Blocks) -> Tables:
        draw = bernoulli(rngs, one_better(setting.n_arms, 0.5 + self.spread, 0.5))
        rows = draw(1).copy()
        held = 0  # rows[0] is the row of the rounds from held * period on
        for block in rounds():
            last = (block.stop - 1) // self.period
            rows = np.concatenate([rows, draw(last - held)])
            edges = np.clip(np.arange(held, last + 2) * self.period, block.start, block.stop)
            yield np.repeat(rows, np.diff(edges), axis=0)
            rows, held = rows[-1:], last
