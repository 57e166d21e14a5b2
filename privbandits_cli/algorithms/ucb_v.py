"""UCB-V (Audibert, Munos & Szepesvári 2009, section 3): UCB that estimates variances, for gains in [0, 1].

Each arm is played once, then the arm with the largest mean + √(2 V ζ ln t / n) + 3 ζ ln t / n, where n counts its
plays, V is the variance of its gains and t is the round. The proof needs ζ > 1. The paper has ζ = 1.2 (recalled); other
codes have ζ = 1.
"""

import numpy as np
from pydantic import Field

from privbandits_cli.algorithms.dp_ucb import noisy_leader
from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(bandit.Algorithm):
    """The exploration ζ."""

    read = "secondary"
    display = "UCB-V"
    drawn = ()

    zeta: float = Field(1.2, ge=1e-9, le=1e9, description="ζ; the proof needs more than 1")

    def state(self, setting: Setting) -> Records:
        n_arms = setting.n_arms
        return record(
            t=1,
            zeta=self.zeta,
            plays=np.zeros(n_arms, np.int64),
            gains=np.zeros(n_arms),
            squares=np.zeros(n_arms),
            means=np.full(n_arms, np.inf),  # arms that were never played come first
            roots=np.zeros(n_arms),  # √(2 V/n)
            inverses=np.zeros(n_arms),  # 3/n
        )


def choose(state: Record, rng: Draws) -> int:
    width = state.zeta * np.log(state.t)
    return noisy_leader(state.means, state.roots, state.inverses, np.sqrt(width), width)


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    n = state.plays[arm] + 1
    state.plays[arm] = n
    state.gains[arm] += gain
    state.squares[arm] += gain * gain
    mean = state.gains[arm] / n
    state.means[arm] = mean
    state.roots[arm] = np.sqrt(2.0 * max(0.0, state.squares[arm] / n - mean * mean) / n)
    state.inverses[arm] = 3.0 / n
    state.t += 1
