"""AdaP-UCB (Azize & Basu 2022): episodes that double, and forget.

The arm with the largest index is played as often as it was before, once if never, and then known by the mean of this
episode alone, of m gains, with Laplace noise of scale 1/(ε m): index = mean + √(β ln t / (2m)) + β ln t / (ε m), β > 3.
Each arm's first episode has one round. A gain enters one mean, so that is ε-DP; the regret is at most
Σ_a 16 β ln T / min(Δ_a, ε) + 3 β/(β - 3) (Theorem 5.3 of Azize 2024).
The paper writes N/2 for m, N the plays so far; for an arm played once m is 1 here, its one gain's sensitivity.
"""

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.algorithms.dp_ucb import noisy_leader
from privbandits_cli.games import bandit, views
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(bandit.Algorithm):
    """The privacy, and the confidence."""

    display = "AdaP-UCB"
    private = True

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε")
    beta: float = Field(3.1, gt=3, description="β; the paper's experiments have 3.1")

    def state(self, setting: Setting) -> Records:
        n_arms = setting.n_arms
        return record(
            t=1,
            arm=0,
            left=0,  # rounds of the episode to come
            total=0.0,
            plays=np.zeros(n_arms, np.int64),
            means=np.full(n_arms, np.inf),  # an arm that was not played comes first
            roots=np.zeros(n_arms),  # 1/√m
            inverses=np.zeros(n_arms),  # 1/m
            beta=self.beta,
            scale=1 / self.epsilon,
        )

    def periods(self) -> dict[str, int]:
        return {"laplace": 1}

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """Theorem 5.2 of Azize 2024: the means of disjoint episodes, each noised once."""
        source, view = "a gain enters the mean of one episode", "all noisy means, and so all arms played"
        return [Guarantee(self.epsilon * sensitivity, 0.0, source, "proved", view=view)]

    def mechanism(self) -> str:
        return "Laplace noise on the mean of each episode"

    def view(self, setting: Setting) -> views.View | None:
        return views.Mean("means")

    def caveats(self, setting: Setting) -> list[str]:
        return ["An audit watches the mean of an arm's first episode, of one gain, and of no longer one."]


def choose(state: Record, rng: Draws) -> int:
    if state.left == 0:
        width = state.beta * np.log(state.t)
        state.arm = noisy_leader(state.means, state.roots, state.inverses, np.sqrt(0.5 * width), state.scale * width)
    arm: int = state.arm
    return arm


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    if state.left == 0:  # an episode begins
        state.left = max(1, state.plays[arm])
        state.total = 0.0
    state.total += gain
    state.left -= 1
    state.t += 1
    if state.left == 0:
        m = max(1, state.plays[arm])
        state.plays[arm] += m
        state.means[arm] = (state.total + state.scale * rng.laplace) / m
        state.roots[arm] = 1.0 / np.sqrt(m)
        state.inverses[arm] = 1.0 / m


def probabilities(state: Record, out: Floats) -> None:
    out[:] = 0.0
    out[choose(state, Draws(0.0, 0.0))] = 1.0
