"""IMED (Honda & Takemura 2015, Algorithm 1): optimal on Bernoulli arms like KL-UCB, but with an explicit index.

Each arm is played once, then the arm with the smallest n kl(mean, best mean) + ln n, where n counts its plays and kl is
the divergence of Bernoulli laws. The regret is at most Σ_a Δ_a ln T / kl(μ_a, μ*) + o(ln T) for Bernoulli arms. The
paper's index for gains in [0, 1] has another divergence. kl is at most as large, and the two agree for gains of 0 and
1. A mean outside [0, 1], which noisy gains may have, counts as the closer end.

SMPyBandits' `IMED` returns the index of the smallest value as the value itself, and so plays every arm equally often.
"""

import numpy as np

from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.numerics.jit import Record, Records, record
from privbandits_cli.numerics.kl import clipped, entropy


class Parameters(bandit.Algorithm):
    """No parameters."""

    read = "paper"
    display = "IMED"
    drawn = ()

    def state(self, setting: Setting) -> Records:
        n_arms = setting.n_arms
        return record(
            t=1,
            plays=np.zeros(n_arms, np.int64),
            gains=np.zeros(n_arms),
            means=np.zeros(n_arms),
            entropies=np.zeros(n_arms),
            logs=np.zeros(n_arms),  # ln n
        )


def choose(state: Record, rng: Draws) -> int:
    if state.t <= len(state.plays):
        return int(state.t - 1)
    top = 0.0
    for i in range(len(state.plays)):
        top = max(top, state.means[i])
    log_top = np.log(top) if top > 0.0 else -np.inf
    log_rest = np.log(1.0 - top) if top < 1.0 else -np.inf
    least, arm = np.inf, 0
    for i in range(len(state.plays)):
        x, index = state.means[i], state.logs[i]
        if x < top:
            index += state.plays[i] * max(0.0, -state.entropies[i] - x * log_top - (1.0 - x) * log_rest)
        if index < least:
            least, arm = index, i
    return arm


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    state.plays[arm] += 1
    state.gains[arm] += gain
    state.means[arm] = clipped(state.gains[arm] / state.plays[arm])
    state.entropies[arm] = entropy(state.means[arm])
    state.logs[arm] = np.log(state.plays[arm])
    state.t += 1
