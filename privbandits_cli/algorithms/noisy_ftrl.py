"""FTRL on losses with independent Laplace noise: the simplest private learner.

It observes l_t + Z_t, where Z_t has scale λ = max |l - l'|_1 / ε in every coordinate. Each loss is used once, with
fresh noise, and everything else is post-processing: the algorithm is locally ε-private for the replacement of a loss.
A prefix has the noise of t losses here. In a tree it has that of m = ⌈log2 T⌉ nodes, each with m times the scale, so
the deviation here is √(t/m³) times as large.
"""

import math
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import vectors
from privbandits_cli.algorithms import ftrl
from privbandits_cli.convex.losses import UnitCube
from privbandits_cli.games import linear, views
from privbandits_cli.games.linear import Draws, Floats, Ints, Setting, loss_set
from privbandits_cli.numerics.jit import Record, Records, record, unbound

base_choose: Any = unbound
base_update: Any = unbound


class Parameters(linear.Algorithm):
    """ε and the choice of the learning rate; FTRL's own parameters are under `base`."""

    display = "Noisy FTRL"
    private = True
    local = True

    epsilon: float = Field(ge=1e-9, description="ε; the noise has scale |l - l'|_1 / ε")
    rate: Literal["own", "non_private"] = Field(
        "own", description="η from the second moment of the noisy losses, or FTRL's η as if there were no noise"
    )
    base: ftrl.Parameters = Field(ftrl.Parameters(), description="FTRL; an η given here overrides the rate")

    def scale(self, setting: Setting) -> float:
        """λ of the noise in each coordinate."""
        return loss_set(setting).changes()[0] / self.epsilon

    def tuned(self, setting: Setting) -> Self:
        variance = 2 * self.scale(setting) ** 2 if self.rate == "own" else 0.0
        return self.replace(base=self.base.tuned_for(setting, variance))

    def state(self, setting: Setting) -> Records:
        noisy = np.zeros(setting.n_arms)
        return record(scale=self.scale(setting), noisy=noisy, wrapped=self.base.state(setting))

    def draws(self, setting: Setting, rounds: Ints) -> dict[str, int]:
        return {"laplace": setting.n_arms}

    def mechanism(self) -> str:
        return "Laplace noise on each loss vector"

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy("wrapped.losses")

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The bounds for one noisy vector."""
        losses, scale = loss_set(setting), self.scale(setting) / sensitivity
        return vectors(1, scale, losses.changes(), isinstance(losses, UnitCube), delta, "all noisy losses", fresh=True)

    def facts(self, setting: Setting) -> dict[str, float]:
        return {"scale": self.scale(setting), **super().facts(setting)}

    def caveats(self, setting: Setting) -> list[str]:
        deviation = self.scale(setting) * math.sqrt(2 * setting.horizon)
        return [
            f"The noise in each coordinate of the sum of all losses has standard deviation {deviation:.4g} = "
            f"{self.base.eta * deviation:.3g}/η."
        ]

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """FTRL's bound plus the effect of the noise in each round; None if ηλ >= 1, where the moments do not exist.

        Euclidean: the noise adds ηNλ² to the mean of η |l + Z|²/2. Entropic, with w_i ∝ exp(-η L~_i): by Jensen's
        inequality, the change of -ln Σ w in a round is bounded by that for l alone and -ln E e^(-ηZ) = ln(1 - η²λ²),
        both divided by η.
        """
        eta, scale = self.base.eta, self.scale(setting)
        base = self.base.regret_bound(rounds, setting)
        if self.base.regulariser == "euclidean":
            return base + rounds * eta * setting.n_arms * scale**2
        return base - rounds * math.log1p(-((eta * scale) ** 2)) / eta if eta * scale < 1 else None


def choose(state: Record, x: Floats, rng: Draws) -> None:
    base_choose(state.wrapped, x, rng)


def update(state: Record, losses: Floats, rng: Draws) -> None:
    for i in range(len(losses)):
        state.noisy[i] = losses[i] + state.scale * rng.laplace[i]
    base_update(state.wrapped, state.noisy, rng)
