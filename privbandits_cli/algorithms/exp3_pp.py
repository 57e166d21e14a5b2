"""EXP3++ (Seldin & Slivkins 2014, Algorithm 1): EXP3 with logarithmic regret on i.i.d. gains as well; anytime.

p_i = (1 - Σ_j ε_j) exp(-η_t L_i) / Σ_j exp(-η_t L_j) + ε_i. After arm i is played with loss l = 1 - gain:
L_i += l / p_i. The learning rate is η_t = ½ √(ln K/(tK)). The exploration of arm i is ε_i = min(1/(2K), η_t, ξ_i),
where ξ_i = ln(t D_i²)/(32 t D_i²) and D_i = min(1, (L_i - min L)/t) estimates its gap. These are the constants of the
paper's experiments.

ln(x)/x grows until x = e. Where t D_i² < e, which the paper leaves open, we take the largest value, ξ_i = 1/(32 e).
SMPyBandits' `Exp3PlusPlus` has the gap estimate of Seldin & Lugosi 2017.
"""

import math

import numpy as np

from privbandits_cli.algorithms.exp3_p import choose, probabilities
from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.numerics.arrays import smallest
from privbandits_cli.numerics.jit import Record, Records, record

__all__ = ["Parameters", "choose", "probabilities", "update"]


class Parameters(bandit.Algorithm):
    """No parameters."""

    read = "paper"
    display = "EXP3++"

    def state(self, setting: Setting) -> Records:
        n_arms = setting.n_arms
        uniform = np.full(n_arms, 1 / n_arms)
        return record(
            t=1, root=0.5 * math.sqrt(math.log(n_arms) / n_arms), losses=np.zeros(n_arms), p=uniform, extra=uniform
        )

    def caveats(self, setting: Setting) -> list[str]:
        return ["No privacy is proved: with losses, the difference between two tables is amplified."]

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """4 √(K t ln K) against oblivious adversaries, for any ξ (Theorem 1)."""
        return 4 * np.sqrt(setting.n_arms * rounds * math.log(setting.n_arms)) if memory == 0 else None


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    k = len(state.p)
    state.losses[arm] += (1.0 - gain) / state.p[arm]
    state.t += 1
    least, eta = smallest(state.losses), state.root / np.sqrt(state.t)
    total, explored = 0.0, 0.0
    for i in range(k):
        behind = state.losses[i] - least
        state.p[i] = np.exp(-eta * behind)
        total += state.p[i]
        gap = min(1.0, behind / state.t)
        x = max(math.e, state.t * gap * gap)
        state.extra[i] = min(0.5 / k, eta, np.log(x) / (32.0 * x))
        explored += state.extra[i]
    for i in range(k):
        state.p[i] = (1.0 - explored) * state.p[i] / total + state.extra[i]
