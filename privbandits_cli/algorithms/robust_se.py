"""Robust successive elimination: Algorithm 3 of Tao, Wu, Zhao & Wang 2022 without its noise.

In epoch τ = 1, 2, ... each arm of S is played R times in turn. The arm's mean is that of x 1{|x| <= B} over this epoch
alone. Arms whose mean is more than 12 err below the largest leave S; the last one is played for ever. With D = 2^-τ and
L = ln(4 |S| τ²/β): R = ⌈u^(1/v) 24^((1+v)/v) L / D^((1+v)/v) + 1⌉, B = (u R/L)^(1/(1+v)) and
err = u^(1/(1+v)) (L/R)^(v/(1+v)), so that 24 err = D up to rounding. `constants: c` replaces 24 and 12 by 24c and 12c.
"""

from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.mechanisms.elimination import Truncating, begin, cut, pulled
from privbandits_cli.numerics.jit import Record, Records


class Parameters(Truncating):
    """The moment (v, u), the confidence β, and the scale of the width."""

    read = "paper"
    display = "Robust SE"

    def state(self, setting: Setting) -> Records:
        return self.opening(setting, epsilon=1.0)


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    if state.left > 1 and pulled(state, arm, cut(state, gain), 0.0):
        begin(state)
