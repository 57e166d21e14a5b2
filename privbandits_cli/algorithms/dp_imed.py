"""DP-IMED (Azize, Wu, Honda, Orabona, Ito & Basu 2025): the phases and noisy sums of DP-KLUCB with IMED's index.

In the notation of `dp_klucb`, a phase plays the arm with the smallest N d_ε([S~/N], [best S~/N]) + ln N. The
field `index` holds the negative of this number, which takes no equation to solve. The algorithm is ε-DP for the same
reason as DP-KLUCB. The index and the bound on the regret, again α Σ_a Δ_a ln T / d_ε(μ_a, μ*) + o(ln T), are from a
summary of the paper. For the rest see `dp_klucb`.

**Its regret has a low median and a heavy tail.** If the first noise of an arm was low, the arm is played again only
when its index, about εN, is below the leader's index ln N. At ε = 0.1, a wrong arm leads for 10^5 to 10^7 rounds in up
to one trial of eight. A mean over 20 trials says nothing then: look at all trials (`privbandits plot --kind
distribution`). A longer first phase, `first: 16`, makes such trials rare.
"""

import numpy as np

from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.mechanisms.phased import Growing, begin, phases
from privbandits_cli.numerics.jit import Record, Records, record
from privbandits_cli.numerics.kl import clipped, private_kl


class Parameters(Growing):
    """ε, and the growth α of plays."""

    read = "secondary"
    display = "DP-IMED"

    def state(self, setting: Setting) -> Records:
        own = phases(setting.n_arms, 1 / self.epsilon, self.alpha, self.first_phase(setting), forget=False)
        return record(epsilon=self.epsilon, **own)


def choose(state: Record, rng: Draws) -> int:
    if state.played == 0:
        top = 0.0
        for i in range(len(state.index)):
            if state.plays[i] > 0:
                top = max(top, clipped(state.sums[i] / state.counts[i]))
        for i in range(len(state.index)):
            if state.plays[i] > 0:
                n = state.counts[i]
                x = clipped(state.sums[i] / n)
                state.index[i] = -(n * private_kl(x, top, state.epsilon) + np.log(n))
        begin(state)
    return int(state.arm)
