"""Private sequential halving (ours, after Karnin, Koren & Somekh 2013): ε-DP with a fixed budget of T plays.

There are L = ⌈log2 K⌉ phases. In a phase with s arms, each is played ⌊T/(s L)⌋ times, its gains and one number Lap(1/ε)
make its noisy sum, and the ⌈s/2⌉ arms with the largest sums stay. The last arm is the answer. Each gain is in one noisy
number that is released, so the arms and the answer are ε-DP.

- `memory: last` forgets the earlier phases, so that each phase is independent of those before.
- `memory: all` adds each phase to the arm's sum, with its noise. In practice it is better.

docs/privacy/best_arm.md bounds the error of both.
"""

import math
from typing import Literal

import numpy as np
from pydantic import Field

from privbandits_cli.games import best_arm
from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.mechanisms.growing_sums import SEEN
from privbandits_cli.mechanisms.phased import Pure
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(Pure, best_arm.Budgeted):
    """ε, and the phases that a sum holds; the budget is the horizon."""

    display = "DP-halving"
    seen = SEEN

    memory: Literal["last", "all"] = Field("all", description="the phases of an arm that its sum holds")

    def least(self, n_arms: int) -> int:
        return n_arms * phases(n_arms)

    def state(self, setting: Setting) -> Records:
        n_arms = setting.n_arms
        state = record(
            arms=np.arange(n_arms),  # the first `left` are in the game
            left=n_arms,
            place=0,  # the place of the next arm in `arms`
            cycle=0,  # complete turns of this phase
            cycles=0,  # plays of each arm in this phase
            share=int(setting.horizon) // phases(n_arms) if n_arms > 1 else 0,  # rounds of a phase, at most
            sums=np.zeros(n_arms),
            fresh=np.zeros(n_arms),  # the gains of this phase
            scale=1 / self.epsilon,
            forget=int(self.memory == "last"),
        )
        begin(state[0])
        return state

    def first_phase(self, setting: Setting) -> int:
        """The plays of each arm in the first phase."""
        return int(self.state(setting)[0].cycles)


def phases(n_arms: int) -> int:
    """L = ⌈log2 K⌉."""
    return math.ceil(math.log2(n_arms))


def begin(state: Record) -> None:
    """Start a phase: an equal share of the budget, in equal plays of its arms."""
    state.cycles = state.share // state.left
    state.cycle = 0


def choose(state: Record, rng: Draws) -> int:
    return int(state.arms[state.place])


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    state.fresh[arm] += gain
    if state.cycle == state.cycles - 1:
        old = 0.0 if state.forget else state.sums[arm]
        state.sums[arm] = old + state.fresh[arm] + state.scale * rng.laplace
        state.fresh[arm] = 0.0
    state.place += 1
    if state.place == state.left:
        state.place = 0
        state.cycle += 1
        if state.cycle == state.cycles:
            halve(state)
            begin(state)


def halve(state: Record) -> None:
    """Keep the ⌈s/2⌉ arms with the largest sums, in the order of their sums."""
    kept = (state.left + 1) // 2
    for i in range(kept):
        best = i
        for j in range(i + 1, state.left):
            if state.sums[state.arms[j]] > state.sums[state.arms[best]]:
                best = j
        arm = state.arms[best]
        state.arms[best] = state.arms[i]
        state.arms[i] = arm
    state.left = kept


def stop(state: Record) -> int:
    return recommend(state) if state.left == 1 else -1


def recommend(state: Record) -> int:
    """The arm with the largest sum at the end of the last phase."""
    return int(state.arms[0])
