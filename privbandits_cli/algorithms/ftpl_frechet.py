"""Follow-the-Perturbed-Leader with Fréchet noise (Honda, Ito & Tsuchiya 2023): best of both worlds, anytime.

The arm with the smallest L_i - r_i/η_t is played, where η_t = c/√t and the r_i have the law Fréchet(2):
r = 1/√(-ln U). After arm i is played with loss l = 1 - gain: L_i += l w_i. Here w_i is an unbiased estimate of 1/p_i
by geometric resampling (Neu & Bartók 2016): new perturbations of the same losses are drawn until arm i leads again, and
w_i is the number of draws. So p is never computed. The regret is O(√(KT)) against adversaries and O(Σ_a ln T/Δ_a) on
i.i.d. gains. A round resamples K times on average.

c = 2 is the value in the paper's figures; its proof has c = 0.42. `resamplings` averages several estimates w_i.
"""

from typing import Any

import numpy as np
from pydantic import Field

from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Numbers, Setting
from privbandits_cli.games.parameters import Size
from privbandits_cli.numerics.bits import uniform
from privbandits_cli.numerics.jit import Record, Records, once, record


class Parameters(bandit.Algorithm):
    """c, and the number of resamplings."""

    read = "paper"
    display = "FTPL-Fréchet"
    drawn = ("bits",)

    c: Size = Field(2.0, description="c of η_t = c/√t; 2 in the paper's figures, 0.42 in its proof")
    resamplings: int = Field(1, ge=1, le=1000, description="how many geometric numbers estimate 1/p by their mean")

    def state(self, setting: Setting) -> Records:
        return record(t=1, c=self.c, resamplings=self.resamplings, losses=np.zeros(setting.n_arms))

    def caveats(self, setting: Setting) -> list[str]:
        return ["No privacy is proved: with losses, the difference between two tables is amplified."]


def leader(state: Record, bits: Any, turn: int) -> int:
    """The perturbed leader with the numbers of this turn of the round; turn 0 chooses the arm."""
    inverse, k, least, arm = np.sqrt(state.t) / state.c, len(state.losses), np.inf, 0
    for i in range(k):
        loss = state.losses[i] - inverse / np.sqrt(-np.log(uniform(bits, k * turn + i)))
        if loss < least:
            least, arm = loss, i
    return arm


def choose(state: Record, rng: Numbers) -> int:
    return leader(state, rng.bits, 0)


@once
def resampled(state: Record, bits: Any, arm: int) -> int:
    """The turns until the arm has led `resamplings` times, which estimate 1/p of this arm."""
    turn, found = 0, 0
    while found < state.resamplings:
        turn += 1
        found += leader(state, bits, turn) == arm
    return turn


def update(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    loss = 1.0 - gain
    if loss != 0.0:
        state.losses[arm] += loss * resampled(state, rng.bits, arm) / state.resamplings
    state.t += 1
