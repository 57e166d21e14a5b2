"""EXP3.P (Auer, Cesa-Bianchi, Freund & Schapire 2003; Bubeck & Cesa-Bianchi 2012, Figure 3.1), for gains in [0, 1].

p_i = (1 - γ) exp(η G_i) / Σ_j exp(η G_j) + γ/K. After arm a is played with gain g: G_i += (g 1{i = a} + β) / p_i for
every arm i. The bias β makes G_i an upper confidence bound, so that the regret is small with high probability. The
learning rate is η = 0.95 √(ln K/(KT)), and the exploration γ = 1.05 √(K ln K/T). With `delta: δ`, β = √(ln(K/δ)/(KT)),
and the regret exceeds 5.15 √(KT ln(K/δ)) with probability at most δ. By default β = √(ln K/(KT)), and the mean regret
is at most 5.15 √(KT ln K) + √(KT/ln K). (Theorems 3.3 and 3.4 of Bubeck & Cesa-Bianchi 2012, recalled.)
"""

import math
from typing import Self

import numpy as np
from pydantic import Field

from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.games.parameters import Chance, Share, Size, left_out
from privbandits_cli.numerics.arrays import copy
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(bandit.Algorithm):
    """The bias β, the learning rate η, and the exploration γ."""

    read = "secondary"
    display = "EXP3.P"

    delta: Chance | None = Field(None, description="δ of the default β; left out, β is that for the mean regret")
    beta: Size = left_out("β; default √(ln(K/δ)/(KT)), or √(ln K/(KT)) without δ")
    eta: Size = left_out("η; default 0.95 √(ln K/(KT))")
    gamma: Share = left_out("γ; default 1.05 √(K ln K/T), at most 1/2")

    def tuned(self, setting: Setting) -> Self:
        horizon, k = setting.horizon, setting.n_arms
        sure = math.log(k) - (0.0 if self.delta is None else math.log(self.delta))
        return self.replace(
            beta=self.beta or math.sqrt(sure / (k * horizon)),
            eta=self.eta or 0.95 * math.sqrt(math.log(k) / (k * horizon)),
            gamma=self.gamma or min(0.5, 1.05 * math.sqrt(k * math.log(k) / horizon)),
        )

    def state(self, setting: Setting) -> Records:
        n_arms = setting.n_arms
        uniform = np.full(n_arms, 1 / n_arms)
        return record(beta=self.beta, eta=self.eta, gamma=self.gamma, gains=np.zeros(n_arms), p=uniform)

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """(βK + γ + (1 + β) ηK) t + (1 + ln K)/β + ln K/η, if (1 + β) Kη <= γ <= 1/2; recalled.

        The proof is that of Theorem 3.3 of Bubeck & Cesa-Bianchi 2012, with ln(K/δ)/β averaged over δ.
        """
        beta, eta, gamma, k = self.beta, self.eta, self.gamma, setting.n_arms
        if memory > 0 or gamma > 0.5 or (1 + beta) * k * eta > gamma:
            return None
        return (beta * k + gamma + (1 + beta) * eta * k) * rounds + (1 + math.log(k)) / beta + math.log(k) / eta


def drawn(p: Floats, uniform: float) -> int:
    """The first arm whose cumulative probability exceeds the uniform number."""
    reached, arm = 0.0, 0
    for i in range(len(p) - 1):
        reached += p[i]
        arm += uniform >= reached
    return arm


def choose(state: Record, rng: Draws) -> int:
    return drawn(state.p, rng.uniform)


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    k = len(state.p)
    top = -np.inf
    for i in range(k):
        state.gains[i] += (state.beta + (gain if i == arm else 0.0)) / state.p[i]
        top = max(top, state.gains[i])
    total = 0.0
    for i in range(k):
        state.p[i] = np.exp(state.eta * (state.gains[i] - top))
        total += state.p[i]
    for i in range(k):
        state.p[i] = (1.0 - state.gamma) * state.p[i] / total + state.gamma / k


def probabilities(state: Record, out: Floats) -> None:
    copy(state.p, out)
