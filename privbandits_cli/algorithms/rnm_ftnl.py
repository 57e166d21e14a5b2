"""RNM-FTNL (Hu, Huang & Mehta 2021): follow the leader chosen by Report-Noisy-Max, for experts with i.i.d. losses.

Epoch r = 0, 1, ... has 2^r rounds. At its start, noise is added to each expert's sum of losses in the previous epoch.
The expert with the least noisy sum is played in the whole epoch. Older losses are forgotten. The regret is
O(ln N/Δ_min) plus a price of privacy with the factor 1/ε, and in the worst case O(√(T ln N) + ln N ln T/ε).

We had a description in words (Hu & Mehta 2024), whose noise is Lap(1/ε). If one round's loss vector is replaced, two
sums may move by 1 in opposite directions, so that noise is only 2ε-DP. The default is therefore Lap(2/ε). Each loss is
in the sum of one epoch, so the algorithm is ε-DP. `gumbel` has Gumbel noise of scale 2/ε. It plays expert i with
probability ∝ exp(-ε S_i/2), which is the exponential mechanism. `printed` has Lap(1/ε) and states 2ε.

Only the experts that are played are private. The noisy sums are not released; their release would cost Nε/2.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.games import linear, views
from privbandits_cli.games.linear import Draws, Floats, Ints, Setting, Simplex
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(linear.Algorithm):
    """ε, and the law of the noise."""

    read = "secondary"
    display = "RNM-FTNL"
    private = True

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε")
    noise: Literal["laplace", "gumbel", "printed"] = Field(
        "laplace", description="Lap(2/ε), Gumbel noise of scale 2/ε, or the printed Lap(1/ε), which is 2ε-DP"
    )

    def scale(self, setting: Setting) -> float:
        """The scale of the noise; signed losses have twice the range."""
        return (1 if self.noise == "printed" else 2) * setting.largest_regret() / self.epsilon

    def state(self, setting: Setting) -> Records:
        gumbel = self.noise == "gumbel"
        return record(t=1, expert=0, gumbel=gumbel, scale=self.scale(setting), losses=np.zeros(setting.n_arms))

    def draws(self, setting: Setting, rounds: Ints) -> dict[str, Ints]:
        """A number for each expert at the start of an epoch."""
        kind = "uniform" if self.noise == "gumbel" else "laplace"
        return {kind: np.where(rounds & (rounds - 1) == 0, setting.n_arms, 0)}

    def mechanism(self) -> str:
        return "noise on the sums of each epoch, of which the leader alone is released"

    def view(self, setting: Setting) -> views.View | None:
        return views.Leader()

    def errors(self, setting: Setting) -> Iterator[str]:
        if not isinstance(setting.space, Simplex):
            yield "it plays experts: set `set: simplex`"

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """Epochs are disjoint, and a loss moves each sum of its epoch by at most the range of a loss.

        `accounting.releases` has no such release: no noisy number is seen, only which of them is the least.
        """
        epsilon = (2 if self.noise == "printed" else 1) * self.epsilon * sensitivity
        neighbours, source = "the loss vector of one round replaced", "a loss is in one noisy choice of the leader"
        return [Guarantee(epsilon, 0.0, source, "proved", neighbours=neighbours, view="all experts")]

    def facts(self, setting: Setting) -> dict[str, float]:
        return {"scale": self.scale(setting)}


def choose(state: Record, x: Floats, rng: Draws) -> None:
    if state.t & (state.t - 1) == 0:  # an epoch begins
        for i in range(len(x)):
            noise = np.log(-np.log(rng.uniform[i])) if state.gumbel else rng.laplace[i]
            state.losses[i] += state.scale * noise
        state.expert = np.argmin(state.losses)
        state.losses[:] = 0.0
    for i in range(len(x)):
        x[i] = 0.0
    x[state.expert] = 1.0


def update(state: Record, losses: Floats, rng: Draws) -> None:
    state.t += 1
    for i in range(len(losses)):
        state.losses[i] += losses[i]
