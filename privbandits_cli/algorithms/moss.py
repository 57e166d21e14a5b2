"""MOSS (Audibert & Bubeck 2009, Figure 1): UCB whose worst-case regret has the optimal order √(KT); T must be known.

Each arm is played once, then the arm with the largest mean + √(max(0, ln(T/(K n)))/n), where n counts its plays. On
i.i.d. gains in [0, 1] the regret at T is at most 49 √(KT), whatever the means are (recalled). SMPyBandits' `MOSS` has
the round t in place of T, which is an anytime variant.
"""

import math

import numpy as np

from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(bandit.Algorithm):
    """No parameters."""

    read = "secondary"
    display = "MOSS"
    drawn = ()

    def state(self, setting: Setting) -> Records:
        n_arms = setting.n_arms
        return record(
            share=setting.horizon / n_arms,  # T/K
            plays=np.zeros(n_arms, np.int64),
            gains=np.zeros(n_arms),
            indices=np.full(n_arms, np.inf),  # arms that were never played come first
        )

    def instance_regret_bound(self, rounds: Floats, means: Floats, setting: Setting) -> Floats:
        """49 √(KT), for all rounds up to the horizon T (recalled)."""
        return np.full(len(rounds), 49 * math.sqrt(setting.n_arms * setting.horizon))


def choose(state: Record, rng: Draws) -> int:
    return int(np.argmax(state.indices))


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    n = state.plays[arm] + 1
    state.plays[arm] = n
    state.gains[arm] += gain
    state.indices[arm] = state.gains[arm] / n + np.sqrt(max(0.0, np.log(state.share / n)) / n)
