"""UCB1 (Auer, Cesa-Bianchi & Fischer 2002, Figure 1): a reference baseline for stochastic gains.

Each arm is played once, then the arm with the largest mean + √(2 ln t / n), where n counts its plays and t is the
round. The arms are a deterministic function of the gains, so there is no privacy at all.
"""

import numpy as np

from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.numerics.jit import Record, Records, record
from privbandits_cli.numerics.logarithm import logarithm


class Parameters(bandit.Algorithm):
    """No parameters."""

    read = "paper"
    display = "UCB1"
    drawn = ()

    def state(self, setting: Setting) -> Records:
        return record(t=1, plays=np.zeros(setting.n_arms, np.int64), gains=np.zeros(setting.n_arms))

    def instance_regret_bound(self, rounds: Floats, means: Floats, setting: Setting) -> Floats:
        """Theorem 1: 8 Σ_a ln T/Δ_a + (1 + π²/3) Σ_a Δ_a."""
        gaps = bandit.gaps(means)
        bound: Floats = 8 * np.sum(1 / gaps) * np.log(rounds) + (1 + np.pi**2 / 3) * gaps.sum()
        return bound


def choose(state: Record, rng: Draws) -> int:
    best, arm = -np.inf, 0
    log_t = logarithm(float(state.t))
    for i in range(len(state.plays)):
        plays = state.plays[i]
        n = max(1, plays)
        index = np.divide(state.gains[i], n) + np.sqrt(np.divide(2.0 * log_t, n))
        index = index if plays > 0 else np.inf
        best, arm = index if index > best else best, i if index > best else arm
    return arm


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    state.plays[arm] += 1
    state.gains[arm] += gain
    state.t += 1
