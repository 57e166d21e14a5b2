"""Lazy-DP-TS (Hu & Hegde 2022, Algorithm 1): Thompson sampling on the noisy mean of each arm's last epoch.

Each arm is played once. In every later round a θ is drawn for each arm from Beta(p O + 1, (1 - p) O + 1), and the arm
with the largest θ is played. Here O counts the gains in the arm's noisy mean, p = [mean + 3 log t/(ε O)], and [·] clips
to [0, 1]. Once an arm has 2O gains since its last release, O doubles. The new mean is that of these 2O gains, with
noise Lap(1/ε) on their sum; older gains are dropped. Each gain enters one noisy sum, so the algorithm is ε-DP. Its
regret is O(Σ_a ln T / min(ε, Δ_a)) on Bernoulli arms. For a gain in (0, 1) the paper tosses a coin with that mean. We
add the gain itself, so that Laplace noise alone hides it.

The paper's log has base 2, but its figures agree better with ln. After 10^5 rounds on C2 at ε = 1 and 0.1 we have 567
and 3,948 with ln, 810 and 5,305 with base 2, and the paper has 490 and 3,850. ln is enough for the proof, which needs
P(Lap(1/ε) < -3 ln t/ε), and this is t^-3 / 2. So ln is the default.
"""

import math
from typing import Literal

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import Release, noised
from privbandits_cli.games import bandit, views
from privbandits_cli.games.bandit import Numbers, Setting
from privbandits_cli.numerics.bits import largest_beta
from privbandits_cli.numerics.jit import Record, Records, record
from privbandits_cli.numerics.kl import clipped
from privbandits_cli.numerics.logarithm import logarithm

BASES = {"e": 1.0, "2": math.log(2)}


class Parameters(bandit.Algorithm):
    """ε, and the base of the logarithm."""

    read = "paper"
    display = "Lazy-DP-TS"
    private = True
    drawn = ("laplace", "bits")

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε")
    log: Literal["e", "2"] = Field("e", description="the base of log t: `e` as in the paper's figures, `2` as printed")

    def state(self, setting: Setting) -> Records:
        n_arms = setting.n_arms
        return record(
            t=1,
            offset=3 / self.epsilon / BASES[self.log],  # times ln t
            scale=1 / self.epsilon,
            sums=np.zeros(n_arms),  # noisy sums of the last epoch
            counts=np.zeros(n_arms, np.int64),  # O
            totals=np.zeros(n_arms),  # sums of the gains since
            plays=np.zeros(n_arms, np.int64),  # the number of these gains
            ones=np.zeros(n_arms),  # p O + 1
            zeros=np.zeros(n_arms),  # (1 - p) O + 1
        )

    def mechanism(self) -> str:
        return "Laplace noise on the sum of each epoch"

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy("sums")

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The epochs of an arm are disjoint, and each is noised once; lower bound: the test of a noisy sum's sign."""
        source, view = "a gain is in one noisy sum", "all noisy sums, and so all arms played"
        one = Release("laplace", self.epsilon * sensitivity)
        return noised(one, delta, source, "noisy sum", view, surely=one)


def choose(state: Record, rng: Numbers) -> int:
    if state.t <= len(state.counts):  # at first each arm in turn
        return int(state.t - 1)
    far = state.offset * logarithm(float(state.t))
    for i in range(len(state.counts)):
        shape(state, i, state.sums[i] + far, state.counts[i])
    return largest_beta(rng.bits, state.ones, state.zeros)


def shape(state: Record, i: int, total: float, n: int) -> None:
    """Set the law of θ of arm i: Beta(p n + 1, (1 - p) n + 1) with p = [total/n]."""
    ones = clipped(np.divide(total, max(n, 1))) * n
    state.ones[i], state.zeros[i] = ones + 1.0, n - ones + 1.0


def update(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    state.t += 1
    state.plays[arm] += 1
    state.totals[arm] += gain
    if state.plays[arm] >= 2 * state.counts[arm]:
        state.sums[arm] = state.totals[arm] + state.scale * rng.laplace
        state.counts[arm] = state.plays[arm]
        state.totals[arm] = 0.0
        state.plays[arm] = 0
