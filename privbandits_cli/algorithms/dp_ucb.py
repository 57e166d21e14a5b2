"""DP-UCB for gains in [0, 1]: an index on noisy prefix sums of each arm's gains, from a tree or a hybrid of trees.

Each arm is played once, then the arm with the largest Ŝ/n + bonus. The parameter `bonus` selects the variant:

- with_nu (Tossou & Dimitrakakis 2016, Algorithm 1): √(2 ln t/n) + ν/n, where ν is (√8/ε) ln(4t⁴), times 1 + ln n unless
  n is a power of two. without_nu omits ν/n. Ŝ comes from the hybrid mechanism of Chan, Shi & Song 2011: at n = 2^k it
  is the sum of k + 1 noisy blocks, and in between a tree covers the items since. Each of the two has ε/2.
- mishra_thakurta (2015): √(2 ln t/n) + ln² T ln(K T ln T/γ) / (ε n). Ŝ comes from a tree with all of ε. The paper gives
  each of the K trees ε/K, and so has ε/K in the bonus; but a gain enters only one tree, so each tree may have all of ε.
- azize (2024, section 5.1): √(2 ln(2/γ)/n) + √8 ln^1.5 T ln(2/γ) / (ε n). Ŝ comes from a tree with all of ε.
- chernoff, which is ours: √(2 ln t/n) + s (4 ln t - m ln(1 - θ²)) / (θ n), if Ŝ has the noise of at most m nodes of
  scale s. The sampling error exceeds the first term with probability at most t^-4. So does the noise exceed the second
  (Chernoff, for any θ in (0, 1); we take the θ that is best at t = T). Ŝ comes from one tree with all of ε.

If Ŝ comes from one tree, `counter` chooses a tree with less noise: k_ary or smooth (mechanisms/arm_trees.py).
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, Self

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.laplace import tail
from privbandits_cli.accounting.releases import Release, halves, noised
from privbandits_cli.games import bandit, views
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.games.parameters import Chance
from privbandits_cli.mechanisms import arm_trees
from privbandits_cli.mechanisms.arm_trees import Choice, add_item
from privbandits_cli.numerics.jit import Record, Records, record
from privbandits_cli.numerics.logarithm import logarithm

ROOT_8 = math.sqrt(8)
POWERS = {"mishra_thakurta": -4.0, "azize": -2.0}  # of T, the default of γ; Azize 2024 leaves it open


class Parameters(bandit.Algorithm):
    """ε and the bonus."""

    read = "paper"
    display = "DP-UCB"
    private = True
    drawn = ("laplace",)

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε")
    bonus: Literal["with_nu", "without_nu", "mishra_thakurta", "azize", "chernoff"] = Field(
        "with_nu",
        description="the bonus added to the noisy mean, and the mechanism of that mean; `chernoff` fits the "
        "noise of the counter, the others are those of papers",
    )
    counter: Choice = Field("tree", description=arm_trees.CHOICE)
    gamma: Chance | None = Field(None, description="γ of mishra_thakurta, default T^-4, and of azize, default T^-2")

    @property
    def hybrid(self) -> bool:
        """Whether the sums come from the hybrid mechanism."""
        return self.bonus in ("with_nu", "without_nu")

    def tuned(self, setting: Setting) -> Self:
        if self.hybrid:
            return self
        gamma = self._gamma(setting) if self.bonus in POWERS else None
        return self.model_copy(
            update={"gamma": gamma, "counter": arm_trees.resolved(self.counter, int(setting.horizon))}
        )

    def _gamma(self, setting: Setting) -> float:
        return self.gamma or min(0.5, setting.horizon ** POWERS[self.bonus])

    def _tree(self, setting: Setting) -> arm_trees.Tree:
        return arm_trees.chosen(self.counter, int(setting.horizon))

    def _widths(self, setting: Setting) -> tuple[float, float, float, float]:
        """(a, b, c, d) of the bonus √(2 (a + b ln t)/n) + (c + d ln t)/n."""
        horizon, n_arms, log_t = setting.horizon, setting.n_arms, math.log(setting.horizon)
        if self.bonus == "without_nu":
            return 0.0, 1.0, 0.0, 0.0
        if self.bonus == "with_nu":
            return 0.0, 1.0, ROOT_8 * math.log(4) / self.epsilon, 4 * ROOT_8 / self.epsilon
        if self.bonus == "chernoff":
            tree = self._tree(setting)
            c, d = tail(int(tree.spread()[1] / tree.unit), 4 * log_t)  # m is the largest number of nodes of a prefix
            return 0.0, 1.0, self.scale(setting) * c, 4 * self.scale(setting) * d
        gamma = self._gamma(setting)
        if self.bonus == "azize":
            sure = math.log(2 / gamma)
            return sure, 0.0, ROOT_8 * log_t**1.5 * sure / self.epsilon, 0.0
        private = log_t**2 * math.log(n_arms * horizon * log_t / gamma) / self.epsilon
        return 0.0, 1.0, private, 0.0

    def scale(self, setting: Setting) -> float:
        """The scale of a node's noise; in the hybrid, of a block's."""
        return (2 if self.hybrid else self._tree(setting).nodes) / self.epsilon

    def facts(self, setting: Setting) -> dict[str, float]:
        return {"scale": self.scale(setting), **({} if self.hybrid else self._tree(setting).facts())}

    def state(self, setting: Setting) -> Records:
        a, b, c, d = self._widths(setting)
        tree, n_arms = self._tree(setting), setting.n_arms
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
            hybrid=int(self.hybrid),
            grows=int(self.bonus == "with_nu"),
            scale=self.scale(setting),
            noise=np.zeros((n_arms, tree.levels + 1)),
            codes=np.full(n_arms, tree.first),
            k=tree.k,
            blocks=np.zeros(n_arms),  # hybrid: the noise of the blocks up to the last power of two
            level=np.zeros(n_arms, np.int64),  # hybrid: its logarithm
        )

    def errors(self, setting: Setting) -> Iterator[str]:
        if setting.horizon < 2:
            yield "with one round ln T is 0, and so is the bonus for the noise: set a horizon of at least 2"
        yield from arm_trees.errors(self.counter, setting.horizon)
        if self.hybrid and self.counter != "tree":
            one = "set bonus: chernoff, azize or mishra_thakurta, or leave `counter` out"
            yield f"with bonus: {self.bonus} the sums come from hybrid trees, which have no other counter: {one}"

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """ε, because a gain enters one arm's sums only: every level of one tree, or the two halves of the hybrid.

        The first gain of an arm is alone in a node, or in a block. In the hybrid, the third gain of an arm is in the
        first node of a tree, and later in a block with the fourth. One arm may be played in all rounds but K - 1.
        """
        view, plays = "all noisy sums, and so all arms played", max(1, math.floor(setting.horizon) - setting.n_arms + 1)
        if self.hybrid:
            source = "a gain is in one block, ε/2, and one tree over a block, ε/2 of one arm"
            return halves(self.epsilon * sensitivity, delta, source, view, plays >= 4)
        tree = self._tree(setting)
        nodes = Release("laplace", self.epsilon * sensitivity, tree.nodes)
        reached = replace(tree, n=plays).nodes  # the largest number of nodes that contain the first gain
        possibly = Release("laplace", nodes.total * reached / nodes.count, reached)
        first = nodes.part(1 / nodes.count)
        source = "a gain is in one tree of one arm"
        return noised(nodes, delta, source, "node", view, surely=first, possibly=possibly)

    def mechanism(self) -> str:
        trees = "hybrid trees" if self.hybrid else arm_trees.NAMES[self.counter]
        return f"{trees} per arm, Laplace noise on every node"

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy("means")

    def caveats(self, setting: Setting) -> list[str]:
        if self.bonus == "without_nu":
            return [
                "The bonus does not account for the noise: an arm whose first noise is low may never be played again."
            ]
        found = []
        if self.bonus == "mishra_thakurta":
            found.append(
                "The paper divides ε among the K trees; a gain enters only one of them, so here each has all of ε."
            )
        if self.counter != "tree" and self.bonus != "chernoff":
            ratio = arm_trees.ratio(self.counter, int(setting.horizon))
            found.append(
                f"The bonus is the paper's, for a tree with {ratio:.2g} times the noise: `chernoff` is for the counter."
            )
        return found


def noisy_leader(means: Floats, roots: Floats, inverses: Floats, wide: float, far: float) -> int:
    """The first arm with the largest mean + wide root + far inverse: widths for sampling error and for the noise."""
    best, arm = -np.inf, 0
    for i in range(len(means)):
        index = means[i] + wide * roots[i] + far * inverses[i]
        best, arm = index if index > best else best, i if index > best else arm
    return arm


def choose(state: Record, rng: Draws) -> int:
    log_t = logarithm(float(state.t))
    wide = np.sqrt(2.0 * (state.a + state.b * log_t))
    return noisy_leader(state.means, state.roots, state.inverses, wide, state.c + state.d * log_t)


def prefix_noise(state: Record, arm: int, n: int, laplace: float) -> float:
    """The noise of the sum of an arm's first n gains."""
    if not state.hybrid:
        return add_item(state.noise, state.codes, arm, state.k, state.scale * laplace)
    total: float = state.blocks[arm]
    level = state.level[arm]
    if n & (n - 1) == 0:  # a block is full, and a new tree begins
        total += state.scale * laplace
        state.blocks[arm] = total
        state.level[arm] = level + (n > 1)
        state.codes[arm] = 0
    else:  # at most 2^level - 1 items follow the block, so the tree has `level` levels
        total += add_item(state.noise, state.codes, arm, 2, state.scale * level * laplace)
    return total


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    n, total = state.plays[arm] + 1, state.sums[arm] + gain
    state.plays[arm], state.sums[arm] = n, total
    odd = (n & (n - 1)) * state.grows != 0  # not a power of two
    state.means[arm] = np.divide(total + prefix_noise(state, arm, n, rng.laplace), n)
    state.roots[arm] = np.divide(1.0, np.sqrt(n))
    state.inverses[arm] = np.divide(1.0 + logarithm(float(n)) if odd else 1.0, n)
    state.t += 1
