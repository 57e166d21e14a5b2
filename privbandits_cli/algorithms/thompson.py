"""Thompson sampling (Thompson 1933; Agrawal & Goyal 2012 and 2013): the arm with the largest draw from its posterior.

`prior: beta` starts from a uniform prior on the mean of each arm: the draw is Beta(1 + S, 1 + n - S), where S counts
the ones among n gains. A gain in (0, 1) counts as a one with that probability, by a coin (Agrawal & Goyal 2012,
Algorithm 2). The regret is at most Σ_a Δ_a ln T / kl(μ_a, μ*) + o(ln T) for Bernoulli arms (Kaufmann, Korda & Munos
2012).
`prior: gaussian` draws N(S/(n + 1), 1/(n + 1)), where S is the sum of n gains (Agrawal & Goyal 2013, Algorithm 2).

The Gaussian draws give some privacy. A gain moves the mean of its arm's later draws by at most 1/(n + 1), so each of
them is 1/√(n + 1)-GDP, where n >= 1 because the gain is one of the n. T rounds are therefore √((T - 1)/2)-GDP (our own
derivation; Ou, Avella Medina & Cummings 2024 have O(√T)). At T = 10^6 this protects nobody. No ε is known for Beta
draws.
"""

import math
from typing import Literal

import numpy as np
from pydantic import Field

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Numbers, Setting
from privbandits_cli.numerics.bits import beta, normal, uniform
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(bandit.Algorithm):
    """The prior."""

    drawn = ("bits",)

    prior: Literal["beta", "gaussian"] = Field("beta", description="the law of the draws")

    @property
    def title(self) -> str:
        return "Thompson sampling" if self.prior == "beta" else "Gaussian Thompson sampling"

    def state(self, setting: Setting) -> Records:
        n_arms = setting.n_arms
        return record(gaussian=self.prior == "gaussian", gains=np.zeros(n_arms), plays=np.zeros(n_arms))

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The Gaussian draws are √((T - 1)/2)-GDP."""
        if self.prior == "beta" or not 0 < delta < 1:
            return []
        mu = math.sqrt(max(0.0, setting.horizon - 1) / 2) * sensitivity
        source, view = "T - 1 Gaussian draws after a gain, each 1/√2-GDP", "all draws, and so all arms played"
        return [Guarantee(gaussian.epsilon_of(mu, delta), delta, source, "proved", view=view)]


def choose(state: Record, rng: Numbers) -> int:
    best, arm = -np.inf, 0
    for i in range(len(state.plays)):
        s, n = state.gains[i], state.plays[i]
        if state.gaussian:
            drawn = s / (n + 1.0) + normal(rng.bits, i) / np.sqrt(n + 1.0)
        else:
            drawn = beta(rng.bits, i, 1.0 + s, 1.0 + n - s)
        if drawn > best:
            best, arm = drawn, i
    return arm


def update(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    state.plays[arm] += 1.0
    if state.gaussian:
        state.gains[arm] += gain
    elif uniform(rng.bits, len(state.plays)) < gain:
        state.gains[arm] += 1.0
