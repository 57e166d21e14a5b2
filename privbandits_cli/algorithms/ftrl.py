"""Follow-the-Regularised-Leader (Agarwal & Singh 2017, Algorithm 1 without noise).

x_t = argmin over x in X of η <x, L_{t-1}> + R(x), L the sum of all losses so far. Entropic on the simplex.
"""

import math
from typing import Self

import numpy as np
from pydantic import Field

from privbandits_cli.games import linear
from privbandits_cli.games.linear import Draws, Floats, Setting
from privbandits_cli.jit import Record, Records, record


class Parameters(linear.Algorithm):
    """The learning rate."""

    display = "FTRL"

    eta: float | None = Field(None, gt=0, description="η; default √(ln N / T)")

    def tuned(self, setting: Setting) -> Self:
        return self.model_copy(update={"eta": self.eta or math.sqrt(math.log(setting.n_arms) / setting.horizon)})

    def state(self, setting: Setting) -> Records:
        return record(eta=self.eta, losses=np.zeros(setting.n_arms))


def choose(state: Record, x: Floats, rng: Draws) -> None:
    least = state.losses.min()
    total = 0.0
    for i in range(len(x)):
        x[i] = np.exp(-state.eta * (state.losses[i] - least))
        total += x[i]
    for i in range(len(x)):
        x[i] /= total


def update(state: Record, losses: Floats, rng: Draws) -> None:
    state.losses += losses
