"""AdaP-TT (Azize, Jourdan, Al Marjani & Basu 2023): top two on the noisy mean of an arm's last phase.

An arm's phase ends when its plays have doubled, and its noisy mean μ~ is that of the phase's N~ = 1, 1, 2, 4, ... gains
with Lap(1/(ε N~)), clipped to [0, 1]. The leader is the arm with the largest μ~ + √(k/N~) + k/(ε N~), where k counts
its phases. The challenger is the arm a with the least W = 2 g²/(1/N_l + 1/N_a), where g = (μ~_l - μ~_a)+ and N are the
current plays; in a tie, the first. The leader is played in half of its turns. The answer is the arm with the largest
μ~. The algorithm stops when W at the plays N~ exceeds `identification.thresholds.adap_tt` for every other arm
(Algorithm 10 of Azize 2024). Each gain is in one noisy sum, so the arms, τ and the answer are ε-DP.

Clipping is ours. It keeps both proofs, as a mean clipped to [0, 1] is not farther from the true one. Without it, an arm
whose first noise is far below 0 may not be played again for a very long time if other arms are tied. The thesis does
not say what the mean of the first phase is; we release the first gain with Lap(1/ε).
"""

import math
from typing import ClassVar

from pydantic import Field

from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.identification.thresholds import adap_tt, adap_tt_star
from privbandits_cli.mechanisms.growing_sums import Summing, gained, growing, starting
from privbandits_cli.mechanisms.top_two import leader_plays, recommend, tracking
from privbandits_cli.numerics.jit import Record, Records, record
from privbandits_cli.numerics.kl import clipped


class Parameters(Summing):
    """ε, and the share of the leader."""

    read = "paper"
    display = "AdaP-TT"
    star: ClassVar[bool] = False  # whether it is AdaP-TT*

    share: float = Field(0.5, gt=0, lt=1, description="the share of its turns in which a leader is played")

    def state(self, setting: Setting) -> Records:
        own = growing(setting.n_arms, self.epsilon, forget=True)
        star = int(self.star)
        return record(beta=setting.beta, epsilon=self.epsilon, star=star, **own, **tracking(setting.n_arms, self.share))


def choose(state: Record, rng: Draws) -> int:
    first = starting(state)
    if first >= 0:
        return first
    leader, most = 0, -math.inf
    for a in range(len(state.plays)):
        n, k = state.counts[a], state.phases[a]
        index = clipped(state.means[a]) + math.sqrt(k / n) + k / (state.epsilon * n)
        if index > most:
            leader, most = a, index
    if leader_plays(state, leader):
        return leader
    arm, least = leader, math.inf
    for a in range(len(state.plays)):
        if a != leader:
            cost = evidence(state, lead(state, leader, a), state.plays[leader], state.plays[a])
            if cost < least:
                arm, least = a, cost
    return arm


def lead(state: Record, a: int, b: int) -> float:
    """g, by how much the clipped noisy mean of arm a exceeds that of arm b; at least 0."""
    return max(0.0, clipped(state.means[a]) - clipped(state.means[b]))


def evidence(state: Record, gap: float, n: float, m: float) -> float:
    """W, with g min(3ε, g) in place of g² for AdaP-TT*."""
    other = min(3.0 * state.epsilon, gap) if state.star else gap
    return 2.0 * gap * other / (1.0 / n + 1.0 / m)


def bar(state: Record, gap: float, n: float, k: float, m: float, j: float) -> float:
    """The threshold for two arms with these plays and phases in their means, which differ by `gap`."""
    if state.star:
        return adap_tt_star(len(state.plays), state.beta, state.epsilon, gap, n, k, m, j)
    return adap_tt(len(state.plays), state.beta, state.epsilon, n, k, m, j)


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    gained(state, arm, gain, rng.laplace)


def stop(state: Record) -> int:
    if state.fresh == 0:
        return -1
    best = recommend(state)
    for a in range(len(state.plays)):
        if a != best:
            n, k, m, j = state.counts[best], state.phases[best], state.counts[a], state.phases[a]
            gap = lead(state, best, a)
            if evidence(state, gap, n, m) <= bar(state, gap, n, k, m, j):
                return -1
    return best
