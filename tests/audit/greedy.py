"""A private epsilon-greedy: a tree counter for each arm, exploration with a falling probability."""

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.games import bandit, views
from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.mechanisms.arm_trees import add_item
from privbandits_cli.mechanisms.tree import depth
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(bandit.Algorithm):
    """ε, and the amount of exploration."""

    display = "DP-ε-greedy"
    private = True
    drawn = ("uniform", "laplace")

    epsilon: float = Field(1.0, gt=0)
    explore: float = Field(10.0, ge=0)

    def mechanism(self) -> str:
        return "one tree per arm, Laplace noise on every node"

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy("means")

    def state(self, setting: Setting) -> Records:
        levels, k = depth(setting.horizon), setting.n_arms
        return record(
            t=1,
            explore=self.explore * k,
            scale=levels / self.epsilon,
            plays=np.zeros(k, np.int64),
            items=np.zeros(k, np.int64),  # in each tree
            sums=np.zeros(k),
            means=np.zeros(k),
            noise=np.zeros((k, levels + 1)),
        )

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        view = "all noisy sums, and so all arms played"
        return [Guarantee(self.epsilon * sensitivity, 0.0, "a gain is in one tree of one arm", "proved", view=view)]


def choose(state: Record, rng: Draws) -> int:
    k = len(state.means)
    p = min(1.0, state.explore / state.t)
    if rng.uniform < p:
        return min(k - 1, int(rng.uniform / p * k))
    best = 0
    for i in range(k):
        if state.plays[i] == 0:
            return i
        if state.means[i] > state.means[best]:
            best = i
    return best


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    n = state.plays[arm] + 1
    state.plays[arm] = n
    state.sums[arm] += gain
    state.means[arm] = (state.sums[arm] + add_item(state.noise, state.items, arm, 2, state.scale * rng.laplace)) / n
    state.t += 1
