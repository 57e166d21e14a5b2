"""LDP-UCB for gains in [0, 1] (Ren, Zhou, Liu & Shroff 2020): every gain is reported with noise of its own.

- `report: laplace` (CTL): the report is gain + Lap(1/ε), the index mean + √(2 ln t/n) + √(32 ln t/n)/ε. An arm with
  n <= 4 ln(t + 1) plays takes precedence.
- `report: bernoulli` (CTB): the report is 1 with probability (g e^ε + 1 - g)/(1 + e^ε), else 0. With
  r = (e^ε + 1)/(e^ε - 1), a report x counts as the gain 1/2 + r (x - 1/2), which is unbiased; the index is
  mean + r √(2 ln t/n).
"""

import math
from typing import Literal

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import Release, bit, noised
from privbandits_cli.algorithms.robust_ucb import leader
from privbandits_cli.games import bandit, views
from privbandits_cli.games.bandit import Draws, One, Setting
from privbandits_cli.numerics.arrays import smallest
from privbandits_cli.numerics.jit import Record, Records, record
from privbandits_cli.numerics.logarithm import logarithm


class Parameters(bandit.Algorithm):
    """ε, and the kind of report."""

    read = "paper"
    drawn = ()
    display = "LDP-UCB"
    private = True
    local = True

    epsilon: float = Field(ge=1e-9, le=500, description="ε of each report")
    report: Literal["laplace", "bernoulli"] = Field("laplace", description="how a gain is reported: CTL or CTB")

    def state(self, setting: Setting) -> Records:
        n_arms, laplace = setting.n_arms, self.report == "laplace"
        ratio = 1.0 if laplace else 1 / math.tanh(self.epsilon / 2)
        return record(
            t=1,
            plays=np.zeros(n_arms, np.int64),
            sums=np.zeros(n_arms),
            means=np.full(n_arms, np.inf),  # arms that were never played come first
            roots=np.zeros(n_arms),  # 1/√n
            width=math.sqrt(2) + math.sqrt(32) / self.epsilon if laplace else ratio * math.sqrt(2),
            laplace=int(laplace),
            ratio=ratio,
            scale=1 / self.epsilon,
            due=1.0 if laplace else math.inf,  # the round from which an arm may have too few plays
            forced=0 if laplace else -1,  # the arm with too few plays that is next, or -1
        )

    def draws(self, setting: Setting) -> dict[str, One]:
        return {"laplace" if self.report == "laplace" else "uniform": One()}

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """ε of a report; lower bound: the test of one report."""
        view = "each report, by itself: the privacy is local"
        if self.report == "bernoulli":
            return bit(self.epsilon, sensitivity, delta, "randomised response on each gain", "report", view)
        one = Release("laplace", self.epsilon * sensitivity, fresh=True)
        return noised(one, delta, "Laplace noise of scale 1/ε on each gain", "report", view, surely=one)

    def mechanism(self) -> str:
        return f"Laplace noise of scale {1 / self.epsilon:.4g}" if self.report == "laplace" else "randomised response"

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy("sums") if self.report == "laplace" else views.Release()


def behind(state: Record) -> int:
    """The first arm with n <= 4 ln(t + 1) plays, or -1; the sum of its Laplace noise may be far larger than √n.

    An arm with n plays has enough of them until round e^(n/4) - 1; before round `due` all arms have enough.
    """
    if state.t >= state.due:
        for i in range(len(state.plays)):
            if state.plays[i] <= 4.0 * np.log(state.t + 1):
                return i
        state.due = np.exp(smallest(state.plays) / 4.0) - 2.0
    return -1


def choose(state: Record, rng: Draws) -> int:
    first = leader(state.means, state.roots, state.width * np.sqrt(logarithm(float(state.t))))
    return int(state.forced if state.forced >= 0 else first)


def released(state: Record, gain: float, rng: Draws) -> float:
    """The report of a gain, the only thing that anyone learns of it."""
    one = 0.5 + np.divide(gain - 0.5, state.ratio)  # the probability of a 1
    bit = 0.5 + state.ratio * (0.5 if rng.uniform < one else -0.5)
    report: float = gain + state.scale * rng.laplace if state.laplace > 0 else bit
    return report


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    n = state.plays[arm] + 1
    state.plays[arm] = n
    state.sums[arm] += released(state, gain, rng)
    state.means[arm] = state.sums[arm] / n
    state.roots[arm] = 1.0 / np.sqrt(n)
    state.t += 1
    state.forced = behind(state)
