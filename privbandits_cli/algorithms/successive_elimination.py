"""Successive elimination (Even-Dar, Mannor & Mansour 2006), without privacy.

The arms of S are played in turn. After n plays of each, an arm leaves S if its mean is more than 2r below the largest
one, with r = √(ln(4 K n²/β)/(2n)). By Hoeffding's inequality, the sum over arms and n of the probabilities that a mean
is off by more than r is at most β π²/12. The last arm is the answer.
"""

import numpy as np

from privbandits_cli.games import best_arm
from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.mechanisms.elimination import Eliminating, contest, turned
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(Eliminating, best_arm.Sure):
    """No parameters."""

    read = "paper"
    display = "Successive elimination"
    drawn = ()

    def state(self, setting: Setting) -> Records:
        state = record(beta=setting.beta, **contest(setting.n_arms))
        begin(state[0])
        return state


def begin(state: Record) -> None:
    """Start the next turn of all arms of S: the turn n is an epoch with one play of each."""
    state.epoch += 1
    state.cycles = 1
    n = float(state.epoch)
    state.threshold = 2.0 * np.sqrt(np.log(4.0 * len(state.arms) * n * n / state.beta) / (2.0 * n))


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    state.sums[arm] += gain
    state.means[arm] = state.sums[arm] / state.epoch
    if turned(state):
        begin(state)
