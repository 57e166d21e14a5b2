"""DP Robust UCB (Tao, Wu, Zhao & Wang 2022, Algorithms 1 and 2): a tree of truncated gains for each arm.

The n-th gain of an arm enters the arm's tree as x 1{|x| <= B_n}, where B_n = (ε u n / ln^1.5 T)^(1/(1+v)). The nodes of
the tree have Laplace noise of scale 2 B_n levels/ε. Each arm is played once, then the arm with the largest
Ŝ/n + 18 u^(1/(1+v)) (ln(2 t⁴) ln^(1.5+1/v) T / (n ε))^(v/(1+v)). Logarithms are natural.

`counter` chooses a tree with less noise, k_ary or smooth (mechanisms/arm_trees.py). The number of levels is then
replaced by the largest number of nodes that contain one gain. The bonus remains the paper's. With `alpha`, B_n is at
most (u/α)^(1/(1+v)), as in `robust_ucb`.
"""

import math
from collections.abc import Iterator
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import Release, noised
from privbandits_cli.algorithms.robust_ucb import Optimist, leader, power
from privbandits_cli.games import views
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.games.heavy_tails import Factor
from privbandits_cli.mechanisms import arm_trees
from privbandits_cli.mechanisms.arm_trees import Choice, add_item
from privbandits_cli.numerics.jit import Record, Records


class Parameters(Optimist):
    """ε, the moment (v, u), and the scale of the width."""

    read = "paper"
    display = "DP-Robust-UCB"
    private = True
    drawn = ("laplace",)
    calibrations: ClassVar = {"certified": {}, "paper": {"levels": "printed"}}

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε")
    levels: Literal["exact", "printed"] = Field(
        "exact", description="the divisor of ε: floor(log2 T) + 1, the levels of a tree, or the printed ln T"
    )
    constants: Factor = Field(1.0, description="c, which multiplies the 18 of the width")
    counter: Choice = Field("tree", description=arm_trees.CHOICE)

    def tuned(self, setting: Setting) -> Self:
        made = super().tuned(setting)
        return made.model_copy(update={"counter": arm_trees.resolved(self.counter, int(setting.horizon))})

    def tree(self, setting: Setting) -> arm_trees.Tree:
        """The counter of an arm."""
        return arm_trees.chosen(self.counter, int(setting.horizon))

    def divisor(self, setting: Setting) -> float:
        """The divisor of ε for a node. Algorithm 2, line 2, has log T, but an item is in a node of every level."""
        return self.tree(setting).nodes if self.levels == "exact" else math.log(setting.horizon)

    def mechanism(self) -> str:
        return "a tree an arm of truncated gains, Laplace noise on every node"

    def errors(self, setting: Setting) -> Iterator[str]:
        if setting.horizon < 2:
            yield "with one round log T is 0, and it is a divisor: set a horizon of at least 2"
        if self.levels == "printed" and self.counter != "tree":
            yield "the printed ln T stands for the levels of a tree: leave `counter` out, or set levels: exact"
        yield from arm_trees.errors(self.counter, setting.horizon)
        yield from super().errors(setting)

    def state(self, setting: Setting) -> Records:
        v, u = self.v, self.u
        log_t, tree = math.log(setting.horizon), self.tree(setting)
        return self.optimist(
            setting,
            width=18 * self.constants * u ** (1 / (1 + v)) * (log_t ** (1.5 + 1 / v) / self.epsilon) ** (v / (1 + v)),
            bound=(self.epsilon * u / log_t**1.5) ** (1 / (1 + v)),
            log=math.log(2.0),
            scale=2 * self.divisor(setting) / self.epsilon,
            noise=np.zeros((setting.n_arms, tree.levels + 1)),
            codes=np.full(setting.n_arms, tree.first),
            k=tree.k,
        )

    def facts(self, setting: Setting) -> dict[str, float]:
        return self.tree(setting).facts()

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """Theorem 1 with the actual number of levels; truncation bounds the effect of a gain, whatever its size.

        Lower bounds: the test of an arm's first gain, which is a node. Later nodes have larger noise.
        """
        levels, view = self.tree(setting).nodes, "all noisy sums, and so all arms played"
        all_nodes = Release("laplace", self.epsilon * levels / self.divisor(setting), levels)
        first = all_nodes.part(self.share(self.state(setting)[0].bound, setting, sensitivity) / levels)
        source, neighbours = f"Theorem 1: a gain is in {levels} nodes of one arm's tree", self.neighbours(setting)
        found = noised(all_nodes, delta, source, "node", view, surely=first, neighbours=neighbours)
        if self.levels == "printed":
            printed = "Theorem 1, ε/log T a node as printed"
            found.append(Guarantee(self.epsilon, 0.0, printed, "paper", view=view, neighbours=neighbours))
        return found

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy("means", canary)

    def caveats(self, setting: Setting) -> list[str]:
        state, rounds = self.state(setting)[0], math.log(2) + 4 * math.log(setting.horizon)
        with np.errstate(over="ignore"):
            plays = float(min(rounds * state.width ** (1 / state.q), 1e300))
        found = [f"The bonus of an arm falls to 1 after {plays:.3g} plays{' or more' * (plays == 1e300)}."]
        if self.counter != "tree":
            ratio = arm_trees.ratio(self.counter, int(setting.horizon))
            wide = f"The bonus is the paper's, for a tree with {ratio:.2g} times the noise"
            found.append(f"{wide}: smaller `constants` suffice.")
        if self.levels == "printed":
            found.append("Algorithm 2 divides ε by log T for floor(log2 T) + 1 levels, which exceeds the stated ε.")
        if setting.v is None:
            found.append("The adversary states no moment: gains are taken to lie in [0, 1], with v = u = 1 by default.")
        return found

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """Theorem 2 at its worst gaps, for c >= 1 and ε <= 1, with the constants of Lemma 2.

        An arm with a gap above Δ is played until twice its bonus is below the gap, A/K Δ^-((1+v)/v) times, and then
        1 + π²/3 times in expectation; gaps below Δ cost tΔ. Hence t Δ + A Δ^(-1/v) for any Δ. No gap exceeds
        2 u^(1/(1+v)).
        """
        foul = self.alpha > 0 or setting.contamination is not None
        if memory > 0 or foul or self.constants < 1 or self.epsilon > 1:
            return None
        v, u = self.v, self.u
        state = self.state(setting)[0]
        largest = 2 * u ** (1 / (1 + v))
        with np.errstate(over="ignore"):  # then the second term of the minimum is the smaller one
            a = setting.n_arms * (2 * state.width) ** (1 / state.q) * (math.log(2) + 4 * np.log(rounds))
        gap = (a / (v * rounds)) ** (v / (1 + v))
        late = setting.n_arms * (1 + math.pi**2 / 3) * largest
        bound: Floats = np.minimum((1 + v) * rounds * gap + late, rounds * largest)
        return bound


def canary(state: Record) -> tuple[float, float]:
    """(-B, B): the contribution of the next gain to a sum lies between these."""
    n = state.plays[leader(state.means, state.rates, state.width * state.grown)] + 1
    bound = min(state.bound * (n / power(n, state.q)), state.limit)
    return -bound, bound


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    n = state.plays[arm] + 1
    grown = power(n, state.q)
    bound = min(state.bound * (n / grown), state.limit)  # B_n, as 1/(1+v) = 1 - q
    state.plays[arm] = n
    if abs(gain) <= bound:
        state.sums[arm] += gain
    noise = add_item(state.noise, state.codes, arm, state.k, state.scale * bound * rng.laplace)
    state.means[arm] = (state.sums[arm] + noise) / n
    state.rates[arm] = 1.0 / grown
    state.t += 1
    state.log = np.log(2.0) + 4.0 * np.log(state.t)  # ln 2t⁴
    state.grown = power(state.log, state.q)
