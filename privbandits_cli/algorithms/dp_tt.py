"""DP-TT (Jourdan & Azize 2025): top two on noisy means, with the divergence d_ε of private learning.

An arm's sum is released when its plays have doubled (`mechanisms.growing_sums` with η = 1). Its noisy mean μ~ is S~/N~:
S~ holds all N~ gains of the arm at its last release, and one number Lap(1/ε) of each of its m phases. The leader is the
arm l with the largest noisy mean.
The challenger is the arm a with the least C_ε(l, a) + w ln N_a, where C_ε is the least
N_l d-_ε([μ~_l], y) + N_a d+_ε([μ~_a], y) over y, N are the current plays, and [·] clips to [0, 1]. The leader is played
in half of its turns. After a release, the algorithm stops if for every other arm the evidence at the plays N~ exceeds a
threshold. The arms, τ and the answer are functions of noisy sums in which each gain is once, so they are ε-DP.

The rule of play is the paper's (w = 1, and first phases of one play). We have not read the paper in full: its threshold
was not available to us.

- `threshold: sum` follows the paper's proof: C_(1-η')ε > ln(K m(m + 1)/β) + ln(K m'(m' + 1)/β) + (m + m') h, where η'
  is `eta` and h = -ln(η'(2 - η')).
- `threshold: paired` (ours) pays ln(1/β) once: c + (m + m') h with (1 + c) e^-c = β/((K - 1) m(m + 1) m'(m' + 1)).
- `threshold: chernoff` (ours) is that c alone, for the cost with D of `identification.costs`, which counts the noise.
- `threshold: stylised` is ln((1 + ln t)/β) for C_ε. It gives a τ like that in the paper's figure. It is not proved, and
  errs more often than β.
- `sampling: recommended` (ours) has w = 3, and first phases of ⌈16/ε⌉ plays. If several arms are tied, then with w = 1
  an arm whose first noise is far below 0 may not be played again for a very long time.

The proofs of the first three thresholds are in docs/privacy/best_arm.md; they hold for gains in [0, 1].
"""

import math
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field

from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.games.parameters import left_out
from privbandits_cli.identification.costs import noisy_transport, private_transport, quick_private_transport
from privbandits_cli.identification.thresholds import noise_price, paired, stylised, summed
from privbandits_cli.mechanisms.growing_sums import Summing, gained, growing, starting
from privbandits_cli.mechanisms.top_two import leader_plays, recommend, tracking
from privbandits_cli.numerics.jit import Record, Records, record
from privbandits_cli.numerics.kl import clipped, entropy
from privbandits_cli.numerics.logarithm import logarithm

SUM, PAIRED, CHERNOFF, STYLISED = range(4)
THRESHOLDS = {"sum": SUM, "paired": PAIRED, "chernoff": CHERNOFF, "stylised": STYLISED}
NOISE = 16.0  # ε N of a recommended first phase


class Testing(Summing):
    """ε, the threshold, and the growth of phases."""

    threshold: Literal["sum", "paired", "chernoff", "stylised"] = Field("chernoff", description="the stopping rule")
    growth: float = Field(1.0, gt=0, le=1e6, description="η: an arm's plays grow 1 + η times from release to release")
    first: int = left_out("an arm's first phase has as many plays", ge=1, le=2**40)
    eta: float = Field(0.3, gt=1e-9, lt=1, description="η' of `sum` and `paired`")

    def long(self) -> int:
        """⌈16/ε⌉, the plays of a recommended first phase."""
        return math.ceil(NOISE / self.epsilon)

    def first_phase(self, setting: Setting) -> int:
        """The parameter `first`."""
        return self.first

    def testing(self, setting: Setting) -> dict[str, Any]:
        """The fields of the state for noisy sums and the test."""
        strict = self.threshold in ("sum", "paired")
        return {
            "beta": setting.beta,
            "kind": THRESHOLDS[self.threshold],
            "epsilon": self.epsilon,
            "rate": (1 - self.eta) * self.epsilon if strict else self.epsilon,
            "price": noise_price(self.eta) if strict else 0.0,
            **growing(setting.n_arms, self.epsilon, self.first, self.growth),
        }

    def caveats(self, setting: Setting) -> list[str]:
        if self.threshold != "stylised":
            return []
        return ["The stylised threshold has no proof: the answer is wrong with a probability that may exceed β."]

    def remarks(self, setting: Setting) -> list[str]:
        return self.caveats(setting)


class Parameters(Testing):
    """ε, the threshold, and the rule of play."""

    read = "secondary"
    display = "DP-TT"

    sampling: Literal["published", "recommended"] = Field("recommended", description="the defaults of bonus and first")
    bonus: float = left_out("w, the weight of ln N_a; 1 as published, 3 recommended", ge=0, le=1e6)
    share: float = Field(0.5, gt=0, lt=1, description="the share of its turns in which a leader is played")

    def tuned(self, setting: Setting) -> Self:
        bonus, first = (1.0, 1) if self.sampling == "published" else (3.0, self.long())
        return self.replace(bonus=bonus if self.bonus is None else self.bonus, first=self.first or first)

    def state(self, setting: Setting) -> Records:
        own = self.testing(setting) | tracking(setting.n_arms, self.share)
        return record(bonus=self.bonus, entropies=np.zeros(setting.n_arms), **own)


def choose(state: Record, rng: Draws) -> int:
    first = starting(state)
    if first >= 0:
        return first
    leader = recommend(state)
    if leader_plays(state, leader):
        return leader
    arm, least, up = leader, math.inf, clipped(state.means[leader])
    n, of_up = state.plays[leader], state.entropies[leader]
    for a in range(len(state.plays)):
        if a != leader:
            low, m = clipped(state.means[a]), state.plays[a]
            cost = quick_private_transport(up, low, n, m, of_up, state.entropies[a], state.epsilon)
            cost += state.bonus * logarithm(m)
            if cost < least:
                arm, least = a, cost
    return arm


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    if gained(state, arm, gain, rng.laplace):
        state.entropies[arm] = entropy(clipped(state.means[arm]))


def stop(state: Record) -> int:
    if state.fresh == 0:
        return -1
    best = recommend(state)
    for a in range(len(state.plays)):
        if a != best and not passes(state, best, a):
            return -1
    return best


def passes(state: Record, best: int, a: int) -> bool:
    """Whether the evidence for `best` against arm a exceeds the threshold."""
    n_arms, up, low = len(state.plays), clipped(state.means[best]), clipped(state.means[a])
    n, k, m, j = state.counts[best], state.phases[best], state.counts[a], state.phases[a]
    if state.kind == STYLISED:
        bar = stylised(state.beta, float(state.t))
    elif state.kind == SUM:
        bar = summed(n_arms, state.beta, k, j, state.price)
    else:
        bar = paired(n_arms, state.beta, k, j, state.price)
    if private_transport(up, low, n, m, state.rate) <= bar:
        return False  # also with `chernoff`, whose cost is less
    return state.kind != CHERNOFF or noisy_transport(up, low, n, k, m, j, state.epsilon) > bar
