"""EB-TCI (Jourdan, Degenne, Baudry, de Heide & Kaufmann 2022): top two, without privacy.

Each arm is played once. The leader is the arm l with the largest mean. The challenger is the arm a with the least
C(l, a) + ln N_a, where C is the least N_l kl(mean_l, y) + N_a kl(mean_a, y) over y. The leader is played in half of its
turns. The algorithm stops when C(l, a) > ln((K - 1)/β) + ½ ln N_l + ½ ln N_a + 2 ln 2 for every other arm a.

The rule of play is the paper's. This threshold is ours (`identification.thresholds.mixture`), and proved for gains in
[0, 1]; the paper's is larger.
"""

import math
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from privbandits_cli.games import best_arm
from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.games.players import Read
from privbandits_cli.identification.costs import quick_transport
from privbandits_cli.identification.thresholds import mixture
from privbandits_cli.mechanisms.top_two import leader_plays, recommend, tracking
from privbandits_cli.numerics.jit import Record, Records, record
from privbandits_cli.numerics.kl import entropy
from privbandits_cli.numerics.logarithm import logarithm


class Testing(best_arm.Sure):
    """A learner with the test of EB-TCI."""

    drawn: ClassVar[tuple[str, ...]] = ()

    def testing(self, setting: Setting) -> dict[str, Any]:
        """The fields of the state for the test."""
        none = np.zeros(setting.n_arms)
        return {"t": 0, "beta": setting.beta, "plays": none, "gains": none, "means": none, "entropies": none}


class Parameters(Testing):
    """The share of the leader."""

    read: ClassVar[Read | None] = "paper"
    display = "EB-TCI"

    share: float = Field(0.5, gt=0, lt=1, description="the share of its turns in which a leader is played")

    def state(self, setting: Setting) -> Records:
        return record(**self.testing(setting), **tracking(setting.n_arms, self.share))


def choose(state: Record, rng: Draws) -> int:
    if state.t < len(state.plays):
        return int(state.t)
    leader = recommend(state)
    if leader_plays(state, leader):
        return leader
    arm, least = leader, math.inf
    for a in range(len(state.plays)):
        if a != leader:
            cost = evidence(state, leader, a) + logarithm(state.plays[a])
            if cost < least:
                arm, least = a, cost
    return arm


def evidence(state: Record, leader: int, a: int) -> float:
    """C(leader, a)."""
    up, low, n, m = state.means[leader], state.means[a], state.plays[leader], state.plays[a]
    return quick_transport(up, low, n, m, state.entropies[leader], state.entropies[a])


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    learn(state, arm, gain)


def learn(state: Record, arm: int, gain: float) -> None:
    """Count a gain."""
    state.t += 1
    state.plays[arm] += 1.0
    state.gains[arm] += gain
    state.means[arm] = np.divide(state.gains[arm], state.plays[arm])
    state.entropies[arm] = entropy(state.means[arm])


def stop(state: Record) -> int:
    n_arms = len(state.plays)
    if state.t < n_arms:
        return -1
    best = recommend(state)
    for a in range(n_arms):
        if a != best and evidence(state, best, a) <= mixture(n_arms, state.beta, state.plays[best], state.plays[a]):
            return -1
    return best
