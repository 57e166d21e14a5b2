"""CTB-TT (Azize, Jourdan, Al Marjani & Basu 2024; from slides): top two with local privacy, on randomised bits.

A user with the gain x reports 1 with probability (x (e^ε - 1) + 1)/(e^ε + 1), else 0. The mean report grows with the
mean gain, so EB-TCI on the reports finds the best arm, with its threshold. The slides have Gaussian costs on debiased
means instead. Each report is ε-DP by itself, and all else follows from the reports.
"""

import math

from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import bit
from privbandits_cli.algorithms import eb_tci
from privbandits_cli.algorithms.eb_tci import learn
from privbandits_cli.games import views
from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.mechanisms.top_two import tracking
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(eb_tci.Parameters):
    """ε of each report, and the share of the leader."""

    read = "secondary"
    display = "CTB-TT"
    private = True
    local = True
    drawn = ("uniform",)

    epsilon: float = Field(ge=1e-9, le=500, description="ε of each report")

    def state(self, setting: Setting) -> Records:
        own = self.testing(setting) | tracking(setting.n_arms, self.share)
        return record(flip=math.exp(-self.epsilon), **own)

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """ε of a report; lower bound: the test of one report."""
        view = "each report, by itself: the privacy is local"
        return bit(self.epsilon, sensitivity, delta, "randomised response on each gain", "report", view)

    def mechanism(self) -> str:
        return "randomised response"

    def view(self, setting: Setting) -> views.View | None:
        return views.Release()


def released(state: Record, gain: float, rng: Draws) -> float:
    """The report of a gain, the only thing that anyone learns of it."""
    chance = (gain * (1.0 - state.flip) + state.flip) / (1.0 + state.flip)
    return 1.0 if rng.uniform < chance else 0.0


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    learn(state, arm, released(state, gain, rng))
