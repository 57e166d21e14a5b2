"""DP-IMED (Azize, Wu, Honda, Orabona, Ito & Basu 2025): the phases and noisy sums of DP-KLUCB with IMED's index.

In the notation of `dp_klucb`, a phase plays the arm with the smallest N d_ε([S~/N], [best S~/N]) + ln N. No equation
has to be solved for this index. The algorithm is ε-DP for the same reason as DP-KLUCB. We have its index and the bound
on its regret, again α Σ_a Δ_a ln T / d_ε(μ_a, μ*) + o(ln T), from a summary of the paper. For the rest see `dp_klucb`.

**Its regret has a low median and a heavy tail.** If the first noise of an arm was low, the arm is played again only
when its index, about εN, is below the leader's index ln N. At ε = 0.1, a wrong arm leads for 10^5 to 10^7 rounds in up
to one trial of eight. A mean over 20 trials says nothing then: look at all trials (`privbandits plot --kind
distribution`). A longer first phase, `first: 16`, makes such trials rare.
"""

import numpy as np

from privbandits_cli.algorithms.dp_klucb import Phased, begin, update
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.numerics.jit import Record, Records, record
from privbandits_cli.numerics.kl import clipped, private_kl

__all__ = ["Parameters", "choose", "probabilities", "update"]


class Parameters(Phased):
    """ε, and the growth α of plays."""

    read = "secondary"
    display = "DP-IMED"

    def state(self, setting: Setting) -> Records:
        return record(**self.phases(setting))


def choose(state: Record, rng: Draws) -> int:
    if state.played == 0:
        begin(state, leader(state))
    arm: int = state.arm
    return arm


def leader(state: Record) -> int:
    """The first arm with the smallest index."""
    top, least, arm = 0.0, np.inf, 0
    for i in range(len(state.plays)):
        if state.plays[i] == 0:
            return i
        top = max(top, clipped(state.sums[i] / state.counts[i]))
    for i in range(len(state.plays)):
        n = state.counts[i]
        index = n * private_kl(clipped(state.sums[i] / n), top, state.epsilon) + np.log(n)
        if index < least:
            least, arm = index, i
    return arm


def probabilities(state: Record, out: Floats) -> None:
    out[:] = 0.0
    out[choose(state, Draws(0.0, 0.0))] = 1.0
