"""AdaC-UCB (Azize & Basu 2023): AdaP-UCB with Gaussian noise, under zero-concentrated differential privacy, ρ-zCDP.

The episodes are those of `adap_ucb`, and only an arm's last episode counts. If it has m gains, then
index = mean + N(0, 1/(2ρ m²)) + √((1/(2m) + 1/(ρ m²)) β ln t). Each gain enters one mean and moves it by at most 1/m,
so the algorithm is ρ-zCDP. It is even √(2ρ)-GDP, which gives the exact ε at each δ. For β > 3 the regret is at most
Σ_a (8 β ln T/Δ_a + 8 √(β ln T/ρ) + 2β/(β - 3)). The paper's experiments have β = 1, which its proof does not cover.
"""

import math
from typing import Any, Self

import numpy as np
from pydantic import Field

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import zcdp
from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Floats, Numbers, Setting
from privbandits_cli.games.parameters import Chance
from privbandits_cli.mechanisms.phased import Phased, begin, end, ended, phases
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(Phased):
    """ρ of zCDP, the δ at which its ε is stated, and β of the confidence width."""

    read = "paper"
    display = "AdaC-UCB"
    drawn = ("normal",)

    rho: float = Field(ge=1e-18, le=1e18, description="ρ")
    delta: Chance | None = Field(None, description="δ at which ε is stated; default T^-2")
    beta: float = Field(1.0, gt=0, le=1e9, description="β; 1 in the paper's experiments, more than 3 in its proof")

    @classmethod
    def for_epsilon(cls, epsilon: float, delta: float, horizon: int, given: dict[str, Any]) -> dict[str, Self]:
        """`certified`: the ρ whose exact ε at δ is `epsilon`; `paper`: the ρ with 1/(2ρ) = 2 ln(1.25/δ)/ε²."""
        rho = {
            "certified": gaussian.mu_of(epsilon, delta) ** 2 / 2,
            "paper": epsilon**2 / (4 * math.log(1.25 / delta)),
        }
        return {choice: cls.model_validate({"rho": own, "delta": delta, **given}) for choice, own in rho.items()}

    def state(self, setting: Setting) -> Records:
        own = phases(setting.n_arms, math.sqrt(1 / (2 * self.rho)))
        return record(beta=self.beta, inverse=1 / self.rho, **own)

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """Phases are disjoint, and the sum of each is noised once. So the release of a gain is √(2ρ)-GDP."""
        view = "all noisy sums, and so all arms played"
        return zcdp(self.rho * sensitivity**2, delta, "one Gaussian number hides a gain", "noisy sum", view)

    def instance_regret_bound(self, rounds: Floats, means: Floats, setting: Setting) -> Floats | None:
        """Σ_a (8 β ln T/Δ_a + 8 √(β ln T/ρ) + 2β/(β - 3)) for β > 3."""
        if self.beta <= 3:
            return None
        gaps, log = bandit.gaps(means), np.log(rounds)
        noise = len(gaps) * (8 * np.sqrt(self.beta * log / self.rho) + 2 * self.beta / (self.beta - 3))
        return 8 * self.beta * np.sum(1 / gaps) * log + noise


def choose(state: Record, rng: Numbers) -> int:
    if state.played == 0:
        wide = np.sqrt(state.beta * np.log(state.t))
        for i in range(len(state.index)):
            if state.plays[i] > 0:
                m = state.counts[i]
                state.index[i] = state.sums[i] / m + wide * np.sqrt((0.5 + state.inverse / m) / m)
        begin(state)
    return int(state.arm)


def update(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    if ended(state, gain):
        end(state, arm, state.scale * rng.normal)
