"""HTINF at α = 2 (Huang, Dai & Huang 2022): Tsallis-INF for losses of any size and sign with E l² <= σ².

p = argmin_w <w, L> - 2σ√t Σ_i √w_i over the simplex, which is the step of Tsallis-INF with η = 2 / (σ√t). After arm i
is played with loss l = 1 - gain: L_i += l / p_i, unless |l| > Θσ√t √p_i, Θ = 1 - 2^(-1/3); then the round is skipped.

The algorithm and Θ are written from memory, without access to the paper. We derived the purpose of Θ ourselves: if only
L_i changes, √p_i grows by a factor of at most 1 / (1 - Θ), so p_i^(3/2), which governs the stability term, at most
doubles. `noisy_regret_bound` has the bound that follows.
"""

import numpy as np
from pydantic import Field

from privbandits_cli.algorithms.tsallis_inf import choose, probabilities
from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.games.parameters import Size
from privbandits_cli.numerics.jit import Record, Records, record

__all__ = ["THETA", "Parameters", "choose", "probabilities", "update"]

THETA = 1 - 2 ** (-1 / 3)


class Parameters(bandit.Algorithm):
    """The size σ of the losses."""

    read = "secondary"
    display = "HTINF"

    sigma: Size = Field(1.0, description="σ, E l² <= σ² for the losses; 1 for gains in [0, 1]")

    def state(self, setting: Setting) -> Records:
        uniform = np.full(setting.n_arms, 1 / setting.n_arms)
        return record(t=1, x=0.0, sigma=self.sigma, losses=np.zeros(setting.n_arms), p=uniform)

    def caveats(self, setting: Setting) -> list[str]:
        return ["No privacy is proved: with losses, the difference between two tables is amplified."]

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """√(Kt) (2σ + (4 + 2/Θ) / σ) for losses in [0, 1] and oblivious adversaries; derived as with noise."""
        return self.noisy_regret_bound(rounds, setting, 0.0) if memory == 0 else None

    def noisy_regret_bound(self, rounds: Floats, setting: Setting, scale: float) -> Floats | None:
        """√(Kt) (2σ + (4 + 2/Θ) s²/σ) for losses in [0, 1] under noise of scale λ, s² = 1 + 2λ²; our own derivation.

        Penalty: 2σ√t (√K - 1). Stability: Σ_t η_t Σ_i p_i 2p_i^(3/2) s²/p_i² with η_t = 1/(σ√t), because p_i^(3/2) at
        most doubles. Skipped losses: Σ_t Σ_i p_i s²/(Θσ√(t p_i)) for the arms played, and at least 0 for the best arm,
        because the noise is symmetric and the loss is not negative.
        """
        square = 1 + 2 * scale**2
        return np.sqrt(setting.n_arms * rounds) * (2 * self.sigma + (4 + 2 / THETA) * square / self.sigma)


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    loss, p = 1.0 - gain, state.p[arm]
    if abs(loss) <= THETA * state.sigma * np.sqrt(state.t * p):
        state.losses[arm] += loss / p
    state.t += 1
