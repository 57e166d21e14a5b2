"""Equal plays of all arms, without privacy: a reference baseline for a fixed budget of T plays.

The arms are played in turn, n = ⌊T/K⌋ times each. The answer is the arm with the largest sum of gains.
"""

import numpy as np

from privbandits_cli.games import best_arm
from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(best_arm.Budgeted):
    """No parameters; the budget is the horizon."""

    display = "Uniform"
    drawn = ()

    def least(self, n_arms: int) -> int:
        return n_arms

    def state(self, setting: Setting) -> Records:
        return record(t=0, rounds=equal(setting), sums=np.zeros(setting.n_arms))


def equal(setting: Setting) -> int:
    """K⌊T/K⌋, the rounds of equal plays."""
    return int(setting.horizon) // setting.n_arms * setting.n_arms


def choose(state: Record, rng: Draws) -> int:
    return int(state.t % len(state.sums))


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    state.t += 1
    state.sums[arm] += gain


def stop(state: Record) -> int:
    return int(np.argmax(state.sums)) if state.t >= state.rounds else -1
