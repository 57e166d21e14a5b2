"""Round robin with the stopping rule of DP-TT: what adaptive play has to beat.

The arms are played in turn. When all of them have a new noisy sum, the test of `dp_tt` is made.
"""

from typing import Self

from privbandits_cli.algorithms import dp_tt
from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.mechanisms.growing_sums import gained
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(dp_tt.Testing):
    """ε and the threshold; first phases have ⌈16/ε⌉ plays by default."""

    display = "DP-uniform"

    def tuned(self, setting: Setting) -> Self:
        return self.replace(first=self.first or self.long())

    def state(self, setting: Setting) -> Records:
        return record(**self.testing(setting))


def choose(state: Record, rng: Draws) -> int:
    return int(state.t % len(state.plays))


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    gained(state, arm, gain, rng.laplace)
    if arm < len(state.plays) - 1:
        state.fresh = 0
