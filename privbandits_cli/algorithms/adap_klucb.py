"""AdaP-KLUCB (Azize & Basu 2022): AdaP-UCB with the index of KL-UCB on noisy means with a bonus.

Episodes, noise and privacy are those of `adap_ucb`, and only an arm's last episode counts. If it has m gains, let
x = [mean + Lap(1/(ε m)) + β ln t/(ε m)], where [·] clips to [0, 1]. The index is the largest q with
kl(x, q) <= β ln t / m. The algorithm is ε-DP. With β > 3 its regret is of the order of
Σ_a Δ_a ln T / min(kl(μ_a, μ*), ε Δ_a).
"""

import numpy as np

from privbandits_cli.algorithms import adap_ucb
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.mechanisms.phased import begin
from privbandits_cli.numerics.jit import Record
from privbandits_cli.numerics.kl import clipped, reach


class Parameters(adap_ucb.Parameters):
    """ε, and β of the confidence width."""

    read = "paper"
    display = "AdaP-KLUCB"

    def instance_regret_bound(self, rounds: Floats, means: Floats, setting: Setting) -> None:
        """The theorem has an order only."""


def choose(state: Record, rng: Draws) -> int:
    if state.played == 0:
        width = state.beta * np.log(state.t)
        for i in range(len(state.index)):
            if state.plays[i] > 0:
                m = state.counts[i]
                inverse = 1.0 / m
                x = clipped(state.sums[i] / m + state.scale * width * inverse)
                state.index[i] = reach(x, width * inverse)
        begin(state)
    return int(state.arm)
