"""DP-KLUCB (Azize, Wu, Honda, Orabona, Ito & Basu 2025): its regret is within a factor α of the lower bound under ε-DP.

Each arm is played once. Then the algorithm plays in phases: it takes the arm with the largest index, and plays it until
the arm has α times as many plays as before. At the end of a phase, its gains and one number Lap(1/ε) are added to the
arm's noisy sum S~. Nothing is forgotten: after m phases S~ holds all N gains and m Laplace numbers. The index is the
largest q with d_ε([S~/N], q) <= ln t / N, where [·] clips to [0, 1] and d_ε is the divergence of numerics/kl.py. Each
gain enters S~ once, with noise, so the algorithm is ε-DP. On Bernoulli arms the regret is at most
α Σ_a Δ_a ln T / d_ε(μ_a, μ*) + o(ln T). An ε-DP algorithm whose regret is of smaller order than any power of T on all
such arms has at least Σ_a Δ_a ln T / d_ε(μ_a, μ*), up to o(ln T). Both bounds are asymptotic.

The index, the divergence and the theorem are from the first author's slides. The slides do not say which α the
experiments had, how phases are rounded, or how long an arm's first phase is. We take α = 2, phases of ⌈αN⌉ - N rounds
and at least one, and a first phase of one round. The other parameters are ours, too:

- `first` makes an arm's first phase ⌈first/ε⌉ rounds long, so that its gains outweigh its noise. The noise on a single
  gain may hide a good arm for a long time, and a trial in which this happens has many times the regret of the others.
- `width: optimal` has a proof at every t. Its index is the smallest q, over all 0 < λ < ε, with
  -λ[S~/N] - ln(1 - q + q e^-λ) = (ln t - m ln(1 - λ²/ε²))/N. At fixed N and m, the index is below μ_a with probability
  at most 1/t. Proof: the index is below μ_a only if S~/N is below a fixed number x. Chernoff's bound on that event, at
  the λ that is best for x, is 1/t, because a Laplace number Z has E exp(-λZ) = 1/(1 - λ²/ε²), and a gain g in [0, 1]
  has e^-λg <= 1 - g + g e^-λ.
- `width: chernoff` is a wider index with the same proof. It bounds the noise in the same way for all λ <= (1 - η)ε, and
  is the largest q with d_(1-η)ε([S~/N], q) <= (ln t + m h)/N, where h = ln 1/(η (2 - η)).
  Both `optimal` and `chernoff` have a finite regret bound of order ln² T (`instance_regret_bound`).
- `memory: last` keeps only the gains and the noise of an arm's last phase; N is then the length of that phase.

If α is near 1, the first phases have few rounds and one Laplace number each, so the noise does not average out.
"""

import math
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.mechanisms.phased import Growing, Limit, Phases, begin, phase, phases, pulls, rates_of
from privbandits_cli.numerics.jit import Record, Records, record
from privbandits_cli.numerics.kl import chernoff_reach, clipped, private_reach

MANY = 1000  # phases of an arm, for which α is so near 1 that the finite bound says nothing


class Parameters(Growing):
    """ε, the growth α of plays, the width of the index, and the phases that it uses."""

    read = "secondary"
    display = "DP-KLUCB"
    calibrations: ClassVar = {"certified": {"width": "optimal", "first": 16.0}, "paper": {}}

    width: Literal["asymptotic", "optimal", "chernoff"] = Field(
        "asymptotic", description="the paper's index, or one of two wider ones with a proof at every t"
    )
    memory: Literal["all", "last"] = Field("all", description="the phases of an arm that its index uses")
    eta: float = Field(0.3, gt=1e-9, lt=1, description="η of `chernoff`")

    def cost(self) -> float:
        """h of `chernoff`."""
        return -math.log(self.eta * (2 - self.eta))

    def state(self, setting: Setting) -> Records:
        sure = self.width == "chernoff"
        return record(
            rate=(1 - self.eta if sure else 1.0) * self.epsilon,  # of the divergence
            cost=self.cost() if sure else 0.0,  # of each Laplace number
            optimal=int(self.width == "optimal"),
            epsilon=self.epsilon,
            **phases(
                setting.n_arms, 1 / self.epsilon, self.alpha, self.first_phase(setting), forget=self.memory == "last"
            ),
        )

    def instance_regret_bound(self, rounds: Floats, means: Floats, setting: Setting) -> Floats | None:
        """A finite bound (ours) for the widths with a proof, on independent gains in [0, 1] with these means.

        A worse arm a has N_m plays after m phases. It begins another one at a round t only if its index is at least μ*
        then, or if that of a best arm is below μ*. In the second case the best arm has N_k plays after k phases, for
        some k, and t > N_m + N_k. For each k this has probability at most 1/(N_m + N_k + 1), as an index grows with t.
        In the first case the index at T is at least μ*, too, which needs a noisy mean of at least some x_m. If x_m > 0,
        Chernoff's bound of that event is e^(-n c), where n gains and m numbers are in the sum and c is the largest
        λ x_m - ln(1 - μ_a + μ_a e^λ) + (m/n) ln(1 - λ²/ε²). The expected plays of a are at most those of its first
        phase, plus the lengths of the others times these probabilities.
        """
        if self.width == "asymptotic":
            return None
        ends = [self.first_phase(setting)]
        while ends[-1] < rounds.max(initial=1.0):
            ends.append(ends[-1] + phase(ends[-1], self.alpha))
            if len(ends) > MANY:
                return None
        plays, one = np.array(ends, float), np.ones(len(ends))
        known = Phases(plays, plays, np.cumsum(one))
        if self.memory == "last":
            known = Phases(plays, np.diff(plays, prepend=0), one)
        rates, cost = rates_of(self.epsilon)
        limit = Limit(rates, cost)
        if self.width == "chernoff":
            limit = Limit((1 - self.eta) * rates, np.full_like(cost, self.cost()))
        best = float(means.max())
        plays_of = [pulls(known, limit, self.epsilon, float(mean), best, rounds) for mean in means]
        bound: Floats = np.minimum((best - means) @ np.array(plays_of), (best - means.min()) * rounds)
        return bound


def choose(state: Record, rng: Draws) -> int:
    if state.played == 0:
        log_t = np.log(state.t)
        for i in range(len(state.index)):
            if state.plays[i] > 0:
                n, m = state.counts[i], state.noises[i]
                x = clipped(state.sums[i] / n)
                if state.optimal:
                    state.index[i] = chernoff_reach(x, log_t / n, m / n, state.epsilon)
                else:
                    state.index[i] = private_reach(x, (log_t + m * state.cost) / n, state.rate)
        begin(state)
    return int(state.arm)
