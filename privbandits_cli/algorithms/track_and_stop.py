"""Track-and-Stop with direct tracking (Garivier & Kaufmann 2016), without privacy.

After t rounds, an arm with N_a < √t - K/2 is played, the least played first. Otherwise the arm with the largest
t w_a - N_a is played, where w are the optimal weights for the means so far. The algorithm stops like `eb_tci`.

The weights are computed again when t has grown by a fiftieth, for means clipped to [0.001, 0.999]; this is ours. While
several arms have the largest mean, there are no optimal weights, and the least played arm is played.
"""

import math

import numpy as np

from privbandits_cli.algorithms import eb_tci
from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.identification.weights import fill_weights
from privbandits_cli.mechanisms.top_two import recommend
from privbandits_cli.numerics.jit import Record, Records, record

EDGE = 1e-3
PAUSE = 50  # the weights are kept while t grows by 1/PAUSE


class Parameters(eb_tci.Testing):
    """No parameters."""

    read = "paper"
    display = "Track-and-Stop"

    def state(self, setting: Setting) -> Records:
        n_arms = setting.n_arms
        return record(
            due=0,  # the round from which the weights are computed again
            clear=0,  # whether one arm has the largest mean
            clipped=np.zeros(n_arms),
            weights=np.zeros(n_arms),
            **self.testing(setting),
        )


def choose(state: Record, rng: Draws) -> int:
    n_arms = len(state.plays)
    if state.t < n_arms:
        return int(state.t)
    least = int(np.argmin(state.plays))
    if state.plays[least] < math.sqrt(state.t) - 0.5 * n_arms:
        return least
    if state.t >= state.due:
        weigh(state)
    if state.clear == 0:
        return least
    arm, most = 0, -math.inf
    for a in range(n_arms):
        behind = state.t * state.weights[a] - state.plays[a]
        if behind > most:
            arm, most = a, behind
    return arm


def weigh(state: Record) -> None:
    """Compute the optimal weights for the means so far."""
    best, tied = recommend(state), 0
    for a in range(len(state.plays)):
        state.clipped[a] = min(1.0 - EDGE, max(EDGE, state.means[a]))
    for a in range(len(state.plays)):
        tied += 1 if state.clipped[a] >= state.clipped[best] else 0
    state.clear = 1 if tied == 1 else 0
    if tied == 1:
        fill_weights(state.clipped, best, state.weights)
    state.due = state.t + max(1, state.t // PAUSE)
