"""Noisy sums of arms that are released when an arm's plays have grown by a factor.

An arm's first sum is released after `first` plays, and its next one when its plays have grown 1 + η times. A release
adds the gains since the last one, and one number Lap(1/ε), to the arm's sum. Arms grow side by side, whichever is
played. Each gain enters one release, so all of them together are ε-DP.
"""

from typing import Any

import numpy as np

from privbandits_cli.games.best_arm import Sure
from privbandits_cli.mechanisms.phased import Pure
from privbandits_cli.numerics.jit import Record

SEEN = "all noisy sums, and so all arms played, when it stops, and the answer"


class Summing(Pure, Sure):
    """A learner of the game best_arm whose gains act through noisy sums alone, each with one number Lap(1/ε)."""

    seen = SEEN


def growing(n_arms: int, epsilon: float, first: int = 1, growth: float = 1.0, forget: bool = False) -> dict[str, Any]:
    """The fields of the state; forget: whether a sum holds the gains of its last phase alone."""
    return {
        "t": 0,  # rounds played
        "first": first,
        "growth": 1.0 + growth,
        "scale": 1.0 / epsilon,
        "forget": int(forget),
        "fresh": 0,  # whether the last round had a release, and every arm has a sum
        "plays": np.zeros(n_arms),  # N
        "pending": np.zeros(n_arms),  # gains since the last release
        "due": np.full(n_arms, float(first)),  # plays at which the next release is due
        "sums": np.zeros(n_arms),  # S~
        "counts": np.zeros(n_arms),  # N~, the plays in a sum
        "phases": np.zeros(n_arms),  # k, the releases so far
        "means": np.zeros(n_arms),  # S~/N~, not clipped
        "ends": np.zeros(n_arms),  # the plays at the last release
    }


def starting(state: Record) -> int:
    """The arm whose first phase is played in this round, or -1 if all arms have a sum."""
    arm: int = state.t // state.first
    return arm if arm < len(state.plays) else -1


def gained(state: Record, arm: int, gain: float, number: float) -> bool:
    """Count a gain; number: a standard Laplace number, which is used in a release. Returns whether there was one."""
    state.t += 1
    state.plays[arm] += 1.0
    state.pending[arm] += gain
    state.fresh = 0
    if state.plays[arm] < state.due[arm]:
        return False
    old = 0.0 if state.forget else state.sums[arm]
    start = state.ends[arm] if state.forget else 0.0
    state.sums[arm] = old + state.pending[arm] + state.scale * number
    state.counts[arm] = state.plays[arm] - start
    state.means[arm] = state.sums[arm] / state.counts[arm]
    state.phases[arm] += 1.0
    state.ends[arm] = state.plays[arm]
    state.due[arm] *= state.growth
    state.pending[arm] = 0.0
    state.fresh = 1 if state.t >= state.first * len(state.plays) else 0
    return True
