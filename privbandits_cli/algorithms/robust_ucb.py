"""Robust UCB with the truncated mean (Bubeck, Cesa-Bianchi & Lugosi 2013): heavy tails without privacy.

Each arm is played once, then the arm with the largest mean + 4 u^(1/(1+v)) (ln t² / n)^(v/(1+v)). The n-th gain of an
arm enters the mean as 0 if its absolute value exceeds (u n / ln t²)^(1/(1+v)).
The paper's truncated mean at confidence t^-2 truncates all gains of an arm anew with the t of every round. Here a gain
is truncated once, with the t at which it was observed, so that a running sum suffices. That t is smaller, so slightly
less is truncated.

If a share `alpha` of the gains may be outliers, no gain above (u/α)^(1/(1+v)) is kept. The index needs no further term:
how far outliers may move a mean is bounded by one number for all arms, which changes no choice.
"""

import numpy as np
from pydantic import Field

from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.games.heavy_tails import Factor, Robust
from privbandits_cli.numerics.jit import Record, Records, record


class Optimist(Robust):
    """A learner with the index mean + width log^q n^-q, q = v/(1+v); its step `choose` is in this file."""

    def optimist(
        self, setting: Setting, width: float, bound: float, log: float, factor: float = 1.0, **own: object
    ) -> Records:
        """The state before round 1.

        own: further fields. bound: the bound of truncation, without the factor that depends on n and t. log: the
        logarithm in the width. Where it is ln t², it begins with t = 2, because ln 1 = 0 would be a divisor. factor:
        that of `limit`.
        """
        n_arms, q = setting.n_arms, self.v / (1 + self.v)
        return record(
            t=1,
            plays=np.zeros(n_arms, np.int64),
            sums=np.zeros(n_arms),
            means=np.full(n_arms, np.inf),  # arms that were never played come first
            rates=np.zeros(n_arms),  # n^-q
            q=q,
            width=width,
            bound=bound,
            limit=self.limit(factor),
            log=log,
            grown=log**q,
            **own,
        )


class Parameters(Optimist):
    """The moment (v, u), and the scale of the width."""

    read = "paper"
    display = "Robust UCB"
    drawn = ()

    constants: Factor = Field(1.0, description="c, multiplies the 4 of the width")

    def state(self, setting: Setting) -> Records:
        v, u = self.v, self.u
        return self.optimist(
            setting,
            width=4 * self.constants * u ** (1 / (1 + v)),
            bound=u ** (1 / (1 + v)),
            log=2 * np.log(2.0),
        )


def leader(means: Floats, rates: Floats, width: float) -> int:
    """The first arm with the largest mean + width rate."""
    best, arm = -np.inf, 0
    for i in range(len(means)):
        index = means[i] + width * rates[i]
        if index > best:
            best, arm = index, i
    return arm


def choose(state: Record, rng: Draws) -> int:
    return leader(state.means, state.rates, state.width * state.grown)


def power(x: float, q: float) -> float:
    """x^q for x > 0. For v = 1 the square root is much faster, and exp(q ln x) is slightly faster than the power."""
    root: float = np.sqrt(x) if q == 0.5 else np.exp(q * np.log(x))
    return root


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    n = state.plays[arm] + 1
    grown = power(n, state.q)
    bound = state.bound * (n / grown) * (state.grown / state.log)  # (u n / ln t²)^(1/(1+v)), as 1/(1+v) = 1 - q
    bound = min(bound, state.limit)
    state.plays[arm] = n
    if abs(gain) <= bound:
        state.sums[arm] += gain
    state.means[arm] = state.sums[arm] / n
    state.rates[arm] = 1.0 / grown
    state.t += 1
    state.log = 2.0 * np.log(state.t)
    state.grown = power(state.log, state.q)
