"""A stochastically constrained adversary (Zimmert & Seldin 2021, section 6; Honda, Ito & Tsuchiya 2023, section 6).

Arm 1 is better by Δ in every round, but the level of all arms alternates between two kinds of turns. In the first kind
the loss of arm 1 is a Bernoulli number with mean 1 - Δ, and that of every other arm is 1. In the second kind the loss
of arm 1 is 0, and that of every other arm is a Bernoulli number with mean Δ. Turn n = 0, 1, ... has ⌈1.6^n⌉ rounds; the
rounding is ours. An index that trusts an arm's mean over all rounds is misled, because different arms are played in
different turns.

The gap does not change, so the regret is pseudo-regret: Δ for each round in which another arm is played.
"""

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.adversaries.stochastic import bernoulli, one_better
from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Floats, Setting
from privbandits_cli.numerics.types import Blocks, Tables

LAST_ROUNDS = np.cumsum(np.ceil(1.6 ** np.arange(100.0)))  # each turn's; the longest game has 2^62 rounds


class Parameters(bandit.Adversary):
    """The gap Δ."""

    display = "Constrained"
    stationary = False

    gap: float = Field(0.125, gt=0, le=1, description="Δ, by which arm 1 is better than every other arm")

    def mean_gains(self, setting: Setting) -> Floats:
        """The means, averaged over the two kinds of turns."""
        return one_better(setting.n_arms, (1 + self.gap) / 2, (1 - self.gap) / 2)

    def gains_in_lanes(self, setting: Setting, rngs: Sequence[Generator], rounds: Blocks) -> Tables:
        draw = bernoulli(rngs, np.full(setting.n_arms, self.gap))
        for block in rounds():
            rows = draw(len(block))
            first, last = np.searchsorted(LAST_ROUNDS, (block.start, block.stop - 1))
            ends = (LAST_ROUNDS[first:last] - block.start + 1).astype(int)
            for turn, part in enumerate(np.split(rows, ends), first):
                if turn % 2 == 0:
                    part[:, 1:] = 0.0
                else:
                    np.subtract(1.0, part, out=part)
                    part[:, 0] = 1.0
            yield rows
