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
  Both `optimal` and `chernoff` have a finite regret bound of order ln² T (`coin_regret_bound`).
- `memory: last` keeps only the gains and the noise of an arm's last phase; N is then the length of that phase.

If α is near 1, the first phases have few rounds and one Laplace number each, so the noise does not average out.
"""

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import Release, noised
from privbandits_cli.games import bandit, phases, views
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.numerics.jit import Record, Records, record
from privbandits_cli.numerics.kl import chernoff_reach, clipped, private_reach

Ratio = Annotated[float, Field(gt=1, le=1e9)]
MANY = 1000  # phases of an arm, for which α is so near 1 that the finite bound says nothing


class Phased(bandit.Algorithm):
    """What DP-KLUCB and DP-IMED share: ε, the lengths of phases, the noisy sums, and the guarantee."""

    private = True
    drawn = ("laplace",)
    made_private_by = "Laplace noise on the sum of each phase"
    observed = views.Noisy("sums")
    general_caveats = ("The test of the noise observes the sum of each arm's first phase.",)
    later = frozenset({"first"})

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε")
    alpha: Ratio = Field(2.0, description="α, by which the plays of an arm grow in a phase")
    first: float = Field(0.0, ge=0, le=1e9, description="an arm's first phase has ⌈first/ε⌉ rounds, at least one")

    def first_phase(self, setting: Setting) -> int:
        """The rounds of an arm's first phase."""
        return max(1, math.ceil(min(self.first / self.epsilon, setting.horizon)))

    def phases(self, setting: Setting, forget: bool = False) -> dict[str, object]:
        """The fields of the state that `begin` and `update` use; forget: a sum holds its arm's last phase only."""
        n_arms, first = setting.n_arms, self.first_phase(setting)
        return {
            "t": 1,
            "arm": 0,
            "first": first,
            "length": first,  # of the phase
            "played": 0,  # rounds of the phase so far
            "total": 0.0,  # of the phase's gains
            "plays": np.zeros(n_arms, np.int64),
            "sums": np.zeros(n_arms),  # S~
            "counts": np.zeros(n_arms),  # N, gains in S~
            "noises": np.zeros(n_arms),  # m, Laplace numbers in S~
            "alpha": self.alpha,
            "epsilon": self.epsilon,
            "scale": 1 / self.epsilon,
            "forget": int(forget),
        }

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """Phases are disjoint, and the sum of each is noised once; lower bound: the test of a noisy sum's sign."""
        source, view = "a gain is in one noisy sum", "all noisy sums, and so all arms played"
        share = float(self.first_phase(setting) <= math.floor(setting.horizon))
        one = Release("laplace", self.epsilon * sensitivity)
        return noised(one, delta, source, "noisy sum", view, surely=one.part(share))


class Parameters(Phased):
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
            **self.phases(setting, forget=self.memory == "last"),
        )

    def coin_regret_bound(self, rounds: Floats, means: Floats, setting: Setting) -> Floats | None:
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
        known = phases.Phases(plays, plays, np.cumsum(one))
        if self.memory == "last":
            known = phases.Phases(plays, np.diff(plays, prepend=0), one)
        rates, cost = phases.rates_of(self.epsilon)
        limit = phases.Limit(rates, cost)
        if self.width == "chernoff":
            limit = phases.Limit((1 - self.eta) * rates, np.full_like(cost, self.cost()))
        best = float(means.max())
        pulls = [phases.pulls(known, limit, self.epsilon, float(mean), best, rounds) for mean in means]
        bound: Floats = np.minimum((best - means) @ np.array(pulls), (best - means.min()) * rounds)
        return bound


def choose(state: Record, rng: Draws) -> int:
    if state.played == 0:
        begin(state, leader(state))
    arm: int = state.arm
    return arm


def leader(state: Record) -> int:
    """The first arm with the largest index."""
    log_t, best, arm = np.log(state.t), -np.inf, 0
    for i in range(len(state.plays)):
        if state.plays[i] == 0:
            return i
        n, m = state.counts[i], state.noises[i]
        x = clipped(state.sums[i] / n)
        if state.optimal:
            index = chernoff_reach(x, log_t / n, m / n, state.epsilon)
        else:
            index = private_reach(x, (log_t + m * state.cost) / n, state.rate)
        if index > best:
            best, arm = index, i
    return arm


def begin(state: Record, arm: int) -> None:
    """Begin a phase of an arm."""
    state.arm = arm
    state.length = phase(state.plays[arm], state.alpha) if state.plays[arm] else state.first


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    state.total += gain
    state.played += 1
    state.t += 1
    if state.played == state.length:
        end(state, arm, rng.laplace)


def phase(plays: int, alpha: float) -> int:
    """The length of the next phase of an arm with so many plays."""
    return max(1, int(min(np.ceil(alpha * plays), 2.0**62)) - plays)


def end(state: Record, arm: int, laplace: float) -> None:
    """Add the gains of the phase and one Laplace number to the arm's sum."""
    if state.forget:
        state.sums[arm] = state.counts[arm] = state.noises[arm] = 0.0
    state.plays[arm] += state.length
    state.sums[arm] += state.total + state.scale * laplace
    state.counts[arm] += state.length
    state.noises[arm] += 1.0
    state.total = 0.0
    state.played = 0


def probabilities(state: Record, out: Floats) -> None:
    out[:] = 0.0
    out[choose(state, Draws(0.0, 0.0))] = 1.0
