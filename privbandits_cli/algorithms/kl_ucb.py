"""KL-UCB (Garivier & Cappé 2011, Algorithm 1): optimal on Bernoulli arms, for gains in [0, 1], without privacy.

Each arm is played once, then the arm with the largest index: the largest q with n kl(mean, q) <= ln t + c ln ln t,
where n counts its plays, t is the round and kl(x, y) = x ln(x/y) + (1 - x) ln((1 - x)/(1 - y)). The proof has c = 3,
and the paper recommends c = 0 in practice. The regret is at most Σ_a Δ_a ln T / kl(μ_a, μ*) + o(ln T), which no
algorithm improves on for Bernoulli arms (Lai & Robbins 1985).

Few arms need their index solved: if n kl(mean, q) > ln t + c ln ln t, the arm's index is below q. In most rounds a bar
that is a little below the largest index found last is below the index of the last arm, and above those of all others.
Then the same arm is played again, and no index is solved. A mean outside [0, 1], which noisy gains may have, counts as
the closer end.
"""

import numpy as np
from pydantic import Field

from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.numerics.jit import Record, Records, once, record
from privbandits_cli.numerics.kl import clipped, reach_of
from privbandits_cli.numerics.logarithm import logarithm

SLACK = 1e-9  # an index that is nearer to another one, or to the bar, is solved
HUGE = 1e280  # in place of infinity, of which 0 times is no number
MARGIN = 4.0  # over n: how far the bar is set below the largest index


class Parameters(bandit.Algorithm):
    """The exploration c."""

    read = "paper"
    display = "KL-UCB"
    drawn = ()

    c: float = Field(0.0, ge=0, le=1e9, description="c of ln t + c ln ln t; 3 in the proof")

    def state(self, setting: Setting) -> Records:
        n_arms = setting.n_arms
        return record(
            t=1,
            c=self.c,
            last=0,  # the arm of the last round
            bar=0.0,  # -ln(1 - q) of a q that the index of the last arm is likely to exceed alone
            q=0.0,
            log_q=-HUGE,
            plays=np.zeros(n_arms, np.int64),
            gains=np.zeros(n_arms),
            means=np.zeros(n_arms),
            entropies=np.zeros(n_arms),
        )


def choose(state: Record, rng: Draws) -> int:
    if state.t <= len(state.plays):  # at first each arm in turn
        return int(state.t - 1)
    cost = logarithm(float(state.t))
    cost += state.c * logarithm(max(1.0, cost))
    if clear(state, cost):
        return int(state.last)
    return search(state, cost)


def clear(state: Record, cost: float) -> bool:
    """Whether the last arm's index is above the bar and all others are below it; cost: ln t + c ln ln t."""
    sure = True
    for i in range(len(state.plays)):
        below, found = state.means[i] < state.q, beaten(state, i)
        last = (not below) | (found < cost * (1.0 - SLACK))
        other = below & (found > cost * (1.0 + SLACK))
        sure = sure & (last if i == state.last else other)
    return sure


@once
def search(state: Record, cost: float) -> int:
    """The arm with the largest index; sets the bar."""
    arm: int = state.last
    best = reach_of(state.means[arm], state.entropies[arm], cost / state.plays[arm])
    set_bar(state, best)
    for i in range(len(state.plays)):
        x = state.means[i]
        if i != arm and (x >= state.q or beaten(state, i) <= cost * (1.0 + SLACK)):
            own = reach_of(x, state.entropies[i], cost / state.plays[i])
            if own > best or (own == best and i < arm):
                arm, best = i, own
                set_bar(state, best)
    set_bar(state, max(0.0, best - MARGIN / state.plays[arm]))
    return arm


def set_bar(state: Record, bar: float) -> None:
    """Set the bar -ln(1 - q), q and ln q."""
    state.bar, state.q = min(bar, HUGE), -np.expm1(-bar)
    state.log_q = np.log(state.q) if state.q > 0.0 else -HUGE


def beaten(state: Record, i: int) -> float:
    """n kl(mean, q) of an arm whose mean is below q."""
    x = state.means[i]
    found: float = state.plays[i] * ((1.0 - x) * state.bar - x * state.log_q - state.entropies[i])
    return found


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    n, total = state.plays[arm] + 1, state.gains[arm] + gain
    state.plays[arm], state.gains[arm] = n, total
    state.means[arm] = mean = clipped(np.divide(total, n))
    state.entropies[arm] = entropy_of(mean)
    state.last = arm
    state.t += 1


def entropy_of(p: float) -> float:
    """The entropy of a coin, in nats."""
    return -p * logarithm(p) - (1.0 - p) * logarithm(1.0 - p) if 0.0 < p < 1.0 else 0.0
