"""Equal plays of all arms, and one noisy sum of each: ε-DP with a fixed budget of T plays.

The arms are played in turn, n = ⌊T/K⌋ times each. The answer is the arm with the largest noisy sum.

- `noise: laplace` adds Lap(1/ε) to each sum. The sums may be published, too.
- `noise: gumbel` adds Gumbel noise of scale 1/ε, which draws the answer with weight e^(ε sum): the exponential
  mechanism. One gain changes one sum by at most 1, so it is ε-DP with ε where the general proof has ε/2: if the gain of
  an arm of weight w changes, then the probability of this arm changes at most by the factor e^ε, and that of another
  one by W/(W + (e^ε - 1) w) >= e^-ε, where W is the sum of all weights. The sums are secret.

The error is at most Σ_a p_a(n, 1) with Laplace noise (docs/privacy/best_arm.md).
"""

from typing import Literal

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.algorithms import uniform_best_arm
from privbandits_cli.games import views
from privbandits_cli.games.bandit import Draws, One, Setting
from privbandits_cli.mechanisms.growing_sums import SEEN
from privbandits_cli.mechanisms.phased import sums_bounds
from privbandits_cli.numerics.jit import Record, Records, record
from privbandits_cli.numerics.logarithm import logarithm

TINY = 2.0**-54  # in place of a uniform number 0


class Parameters(uniform_best_arm.Parameters):
    """ε, and the law of the noise; the budget is the horizon."""

    display = "DP-uniform, one release"
    private = True

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε")
    noise: Literal["laplace", "gumbel"] = Field("laplace", description="the law of the noise on the sums")

    def draws(self, setting: Setting) -> dict[str, int | One]:
        return {"laplace" if self.noise == "laplace" else "uniform": One()}

    def state(self, setting: Setting) -> Records:
        return record(
            t=0,
            rounds=uniform_best_arm.equal(setting),
            gains=np.zeros(setting.n_arms),
            sums=np.zeros(setting.n_arms),  # the noisy sums, after an arm's last play
            scale=1 / self.epsilon,
            gumbel=int(self.noise == "gumbel"),
        )

    def mechanism(self) -> str:
        return "Laplace noise on each sum" if self.noise == "laplace" else "the exponential mechanism"

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """ε: a gain is in one noisy sum, or changes one weight of the exponential mechanism by e^ε at most."""
        if self.noise == "gumbel":
            total = self.epsilon * sensitivity
            return [
                Guarantee(total, 0.0, "the exponential mechanism: a gain is in one sum", "proved", view="the answer")
            ]
        plays = max(1, int(setting.horizon) // setting.n_arms)
        return sums_bounds(self.epsilon * sensitivity, plays, setting, delta, SEEN)

    def view(self, setting: Setting) -> views.View | None:
        if self.noise == "laplace":
            return views.Noisy("sums")
        return views.Unseen("no audit supports an answer drawn by Gumbel noise: audit `noise: laplace`")


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    state.t += 1
    state.gains[arm] += gain
    if state.t > state.rounds - len(state.sums):  # the last play of the arm
        number = -logarithm(-logarithm(max(rng.uniform, TINY))) if state.gumbel else rng.laplace
        state.sums[arm] = state.gains[arm] + state.scale * number
