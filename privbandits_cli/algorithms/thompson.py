"""Thompson sampling (Thompson 1933; Agrawal & Goyal 2012): the arm with the largest draw from its posterior.

The prior on the mean of each arm is uniform: the draw is Beta(1 + S, 1 + n - S), where S counts the ones among n
gains. A gain in (0, 1) counts as a one with that probability, by a coin (Agrawal & Goyal 2012, Algorithm 2). The regret
is at most Σ_a Δ_a ln T / kl(μ_a, μ*) + o(ln T) for Bernoulli arms (Kaufmann, Korda & Munos 2012). No ε is known for
Beta draws; `gaussian_ts` has Gaussian ones.
"""

from typing import Literal

import numpy as np
from pydantic import Field

from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Numbers, Setting
from privbandits_cli.numerics.bits import largest_beta, uniform
from privbandits_cli.numerics.jit import Record, Records, record

__all__ = ["Parameters", "choose", "update"]


class Parameters(bandit.Algorithm):
    """The prior, which is part of the names in results."""

    read = "paper"
    display = "Thompson sampling"
    drawn = ("bits",)

    prior: Literal["beta"] = Field("beta", description="the law of the draws")

    def state(self, setting: Setting) -> Records:
        n_arms = setting.n_arms
        return record(
            gains=np.zeros(n_arms),  # S
            plays=np.zeros(n_arms),  # n
            ones=np.zeros(n_arms),  # 1 + S
            zeros=np.zeros(n_arms),  # 1 + n - S
        )


def choose(state: Record, rng: Numbers) -> int:
    for i in range(len(state.plays)):
        s, n = state.gains[i], state.plays[i]
        state.ones[i], state.zeros[i] = 1.0 + s, 1.0 + n - s
    return largest_beta(rng.bits, state.ones, state.zeros)


def update(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    state.plays[arm] += 1.0
    if uniform(rng.bits, len(state.plays)) < gain:
        state.gains[arm] += 1.0
