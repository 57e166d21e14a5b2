"""EXP3-IX (Neu 2015, Algorithm 1): EXP3 on losses with implicit exploration, whose regret has light tails.

p_i = exp(-η L_i) / Σ_j exp(-η L_j). After arm i is played with loss l = 1 - gain: L_i += l / (p_i + γ). Here
η = √(2 ln K/(KT)) and γ = η/2. The γ in the denominator takes the place of uniform exploration: it keeps the estimates
small.
"""

import math
from typing import Self

from privbandits_cli.algorithms import exp2
from privbandits_cli.algorithms.exp2 import choose, multiply, probabilities
from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.games.parameters import Size, left_out
from privbandits_cli.numerics.jit import Record, Records, record

__all__ = ["Parameters", "choose", "probabilities", "update"]


class Parameters(bandit.Algorithm):
    """The learning rate η, and γ of the estimates."""

    read = "paper"
    display = "EXP3-IX"

    eta: Size = left_out("η; default √(2 ln K/(KT))")
    gamma: Size = left_out("γ; default η/2")

    def tuned(self, setting: Setting) -> Self:
        eta = self.eta or math.sqrt(2 * math.log(setting.n_arms) / (setting.n_arms * setting.horizon))
        return self.replace(eta=eta, gamma=self.gamma or max(1e-100, eta / 2))

    def state(self, setting: Setting) -> Records:
        weights = exp2.Parameters(eta=self.eta, gamma=0.0).state(setting)[0]
        return record(implicit=self.gamma, **{name: weights[name] for name in weights.dtype.names})

    def caveats(self, setting: Setting) -> list[str]:
        return ["No privacy is proved: with losses, the difference between two tables is amplified."]

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """ln K/η + (η/2 + γ) K t in expectation, for oblivious adversaries; our own reading of Neu's proof.

        Σ_i p_i l_i² p_i/(p_i + γ)² is at most K in each round. Averaged over p, the estimates are too small by
        γ Σ_i p_i l_i/(p_i + γ) <= γK in expectation. No estimate is too large in expectation.
        """
        if memory > 0:
            return None
        n_arms = setting.n_arms
        return math.log(n_arms) / self.eta + (self.eta / 2 + self.gamma) * n_arms * rounds


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    p = state.weights[arm] / state.sums[1]
    multiply(state, arm, -state.eta * (1.0 - gain) / (p + state.implicit))
