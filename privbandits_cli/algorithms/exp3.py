"""EXP3 (Auer, Cesa-Bianchi, Freund & Schapire 2003; eq. 2.1 of Tossou & Dimitrakakis 2017).

p_i = (1 - γ) exp(γ/K G_i) / Σ_j exp(γ/K G_j) + γ/K, and after playing arm i with gain g: G_i += g / p_i.
"""

import math
from typing import Self

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.jit import Record, Records, record


class Parameters(bandit.Algorithm):
    """The exploration rate, which is K times the learning rate."""

    display = "EXP3"

    gamma: float | None = Field(None, gt=0, le=1, description="γ; default min(1, √(K ln K / ((e-1) T)))")

    def tuned(self, setting: Setting) -> Self:
        horizon, n_arms = setting
        gamma = self.gamma or min(1.0, math.sqrt(n_arms * math.log(n_arms) / ((math.e - 1) * horizon)))
        return self.model_copy(update={"gamma": gamma})  # Auer et al. 2003, Corollary 3.2, with g = T

    def state(self, setting: Setting) -> Records:
        return record(
            gamma=self.gamma,
            p=0.0,  # of the arm just chosen
            gains=np.zeros(setting.n_arms),  # γ/K G_i
            offset=0.0,
            weights=np.ones(setting.n_arms),  # exp(γ/K G_i - offset)
            total=float(setting.n_arms),  # Σ_j weights
        )

    def guarantee(self, setting: Setting) -> Guarantee:
        """Theorem 3.3, first two terms; its third holds only with some probability, so it is no pure bound."""
        assert self.gamma is not None
        horizon, n_arms = setting
        per_round = min(2.0, math.log((n_arms * (1 - self.gamma) + self.gamma) / self.gamma))
        return Guarantee(horizon * per_round, 0.0, source="Theorem 3.3", status="paper")

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """Auer et al. 2003, Theorem 3.1 with G_max <= t: (e-1) γ t + K ln K / γ; oblivious adversaries."""
        if memory > 0:
            return None
        assert self.gamma is not None
        return (math.e - 1) * self.gamma * rounds + setting.n_arms * math.log(setting.n_arms) / self.gamma


def choose(state: Record, rng: Draws) -> int:
    n_arms = len(state.weights)
    floor = state.gamma / n_arms * state.total
    threshold = rng.uniform * state.total
    reached = 0.0
    arm = 0
    for i in range(n_arms - 1):
        reached += (1.0 - state.gamma) * state.weights[i] + floor  # p_i Σ_j weights, eq. 2.1
        arm += threshold >= reached
    state.p = ((1.0 - state.gamma) * state.weights[arm] + floor) / state.total
    return arm


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    n_arms = len(state.weights)
    state.gains[arm] += state.gamma / n_arms * (gain / state.p)
    if state.gains[arm] - state.offset > 500.0:  # exp overflows at 709
        state.offset = state.gains[arm]
        for i in range(n_arms):
            state.weights[i] = np.exp(state.gains[i] - state.offset)
    else:
        state.weights[arm] = np.exp(state.gains[arm] - state.offset)
    state.total = 0.0
    for i in range(n_arms):
        state.total += state.weights[i]


def probabilities(state: Record, out: Floats) -> None:
    for i in range(len(out)):
        out[i] = (1.0 - state.gamma) * state.weights[i] / state.total + state.gamma / len(out)
