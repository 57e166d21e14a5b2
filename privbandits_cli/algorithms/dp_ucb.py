"""DP-UCB for gains in [0, 1]: an index on noisy prefix sums of each arm's gains, from a tree or a hybrid of trees.

Each arm is played once, then the arm with the largest Ŝ/n + bonus. The parameter `bonus` selects the variant:

- with_nu (Tossou & Dimitrakakis 2016, Algorithm 1): √(2 ln t/n) + ν/n, where ν is (√8/ε) ln(4t⁴), times 1 + ln n unless
  n is a power of two. without_nu omits ν/n. Ŝ comes from the hybrid mechanism of Chan, Shi & Song 2011: at n = 2^k it
  is the sum of k + 1 noisy blocks, and in between a tree covers the items since. Each of the two has ε/2.
- mishra_thakurta (2015): √(2 ln t/n) + ln² T ln(K T ln T/γ) / (ε n). Ŝ comes from a tree with all of ε. The paper gives
  each of the K trees ε/K, and so has ε/K in the bonus; but a gain enters only one tree, so each tree may have all of ε.
- azize (2024, section 5.1): √(2 ln(2/γ)/n) + √8 ln^1.5 T ln(2/γ) / (ε n). Ŝ comes from a tree with all of ε.
"""

import math
from collections.abc import Iterator
from typing import Literal, Self

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.games import bandit, views
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.games.parameters import Chance
from privbandits_cli.mechanisms.tree import close_node, depth
from privbandits_cli.numerics.jit import Record, Records, record

ROOT_8 = math.sqrt(8)


class Parameters(bandit.Algorithm):
    """ε and the bonus."""

    display = "DP-UCB"
    private = True
    drawn = ("laplace",)

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε")
    bonus: Literal["with_nu", "without_nu", "mishra_thakurta", "azize"] = Field(
        "with_nu", description="the bonus added to the noisy mean, and the mechanism of that mean"
    )
    gamma: Chance | None = Field(None, description="γ of mishra_thakurta, default T^-4, and of azize, default T^-2")

    @property
    def hybrid(self) -> bool:
        """Whether the sums come from the hybrid mechanism."""
        return self.bonus in ("with_nu", "without_nu")

    def tuned(self, setting: Setting) -> Self:
        return self if self.hybrid else self.model_copy(update={"gamma": self._gamma(setting)})

    def _gamma(self, setting: Setting) -> float:
        power = -4.0 if self.bonus == "mishra_thakurta" else -2.0  # Azize 2024 leaves γ open
        return self.gamma or min(0.5, setting.horizon**power)

    def _widths(self, setting: Setting) -> tuple[float, float, float, float]:
        """(a, b, c, d) of the bonus √(2 (a + b ln t)/n) + (c + d ln t)/n."""
        horizon, n_arms, log_t = setting.horizon, setting.n_arms, math.log(setting.horizon)
        if self.bonus == "without_nu":
            return 0.0, 1.0, 0.0, 0.0
        if self.bonus == "with_nu":
            return 0.0, 1.0, ROOT_8 * math.log(4) / self.epsilon, 4 * ROOT_8 / self.epsilon
        gamma = self._gamma(setting)
        if self.bonus == "azize":
            sure = math.log(2 / gamma)
            return sure, 0.0, ROOT_8 * log_t**1.5 * sure / self.epsilon, 0.0
        private = log_t**2 * math.log(n_arms * horizon * log_t / gamma) / self.epsilon
        return 0.0, 1.0, private, 0.0

    def state(self, setting: Setting) -> Records:
        a, b, c, d = self._widths(setting)
        levels, n_arms = depth(setting.horizon), setting.n_arms
        return record(
            t=1,
            plays=np.zeros(n_arms, np.int64),
            sums=np.zeros(n_arms),
            means=np.full(n_arms, np.inf),  # arms that were never played come first
            roots=np.zeros(n_arms),  # 1/√n
            inverses=np.zeros(n_arms),  # 1/n, for `with_nu` times 1 + ln n between powers of two
            a=a,
            b=b,
            c=c,
            d=d,
            hybrid=self.hybrid,
            grows=self.bonus == "with_nu",
            scale=2 / self.epsilon if self.hybrid else levels / self.epsilon,
            noise=np.zeros((n_arms, levels + 1)),
            blocks=np.zeros(n_arms),  # hybrid: the noise of the blocks up to the last power of two
            level=np.zeros(n_arms, np.int64),  # hybrid: its logarithm
        )

    def errors(self, setting: Setting) -> Iterator[str]:
        if setting.horizon < 2:
            yield "with one round ln T is 0, and so is the bonus for the noise: set a horizon of at least 2"

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """ε, because a gain enters one arm's sums only: every level of one tree, or the two halves of the hybrid."""
        source = (
            "a gain is in one block, ε/2, and one tree over a block, ε/2" if self.hybrid else "a gain is in one tree"
        )
        view = "all noisy sums, and so all arms played"
        return [Guarantee(self.epsilon * sensitivity, 0.0, f"{source} of one arm", "proved", view=view)]

    def mechanism(self) -> str:
        return f"{'hybrid trees' if self.hybrid else 'one tree'} per arm, Laplace noise on every node"

    def view(self, setting: Setting) -> views.View | None:
        return None if self.hybrid else views.Tree("means")

    def caveats(self, setting: Setting) -> list[str]:
        if self.bonus == "without_nu":
            return [
                "The bonus does not account for the noise: an arm whose first noise is low may never be played again."
            ]
        if self.bonus == "mishra_thakurta":
            return ["The paper divides ε among the K trees; a gain enters only one of them, so here each has all of ε."]
        return []


def noisy_leader(means: Floats, roots: Floats, inverses: Floats, wide: float, far: float) -> int:
    """The first arm with the largest mean + wide root + far inverse: widths for sampling error and for the noise."""
    best, arm = -np.inf, 0
    for i in range(len(means)):
        index = means[i] + wide * roots[i] + far * inverses[i]
        if index > best:
            best, arm = index, i
    return arm


def choose(state: Record, rng: Draws) -> int:
    log_t = np.log(state.t)
    wide = np.sqrt(2.0 * (state.a + state.b * log_t))
    return noisy_leader(state.means, state.roots, state.inverses, wide, state.c + state.d * log_t)


def prefix_noise(state: Record, arm: int, n: int, laplace: float) -> float:
    """The noise of the sum of an arm's first n gains."""
    if not state.hybrid:
        return close_node(state.noise[arm], n, state.scale * laplace)
    total: float = state.blocks[arm]
    if n & (n - 1) == 0:  # a block is full, and a new tree begins
        total += state.scale * laplace
        state.blocks[arm] = total
        state.noise[arm, :] = 0.0
        state.level[arm] += n > 1
    else:
        level = state.level[arm]  # at most 2^level - 1 items follow the block, so the tree has `level` levels
        total += close_node(state.noise[arm], n - (1 << level), state.scale * level * laplace)
    return total


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    n = state.plays[arm] + 1
    state.plays[arm] = n
    state.sums[arm] += gain
    state.means[arm] = (state.sums[arm] + prefix_noise(state, arm, n, rng.laplace)) / n
    state.roots[arm] = 1.0 / np.sqrt(n)
    state.inverses[arm] = (1.0 + np.log(n)) / n if state.grows and n & (n - 1) != 0 else 1.0 / n
    state.t += 1


def probabilities(state: Record, out: Floats) -> None:
    out[:] = 0.0
    out[choose(state, Draws(0.0, 0.0))] = 1.0
