"""Dist-DP-SE (Chowdhury & Zhou 2023): successive elimination with a server that sees noisy sums only.

In batch b = 1, 2, ... each arm of S is played l = 2^b times, in turn. Each gain x belongs to a user, who rounds g x
at random to a whole number, adds noise, and takes the result mod M. Secure aggregation reveals only the sum y of these
messages mod M. The server subtracts M if y > l g + τ; the mean of the batch is y/(l g). An arm leaves S if its mean is
more than 2w below the largest. With L = ln(2 |S| b²/p), w = √((L + ln 2)/(2l)) + (σ √L + h L)/l.

Here g = ⌈ε √l⌉, τ = ⌈(g/ε) ln 2T⌉, M = l g + 2τ + 1, σ = √2/ε and h = 1/ε. A user's noise is the difference of two
numbers of the law Pólya(1/l, e^(-ε/g)). The noise of l users is exactly a discrete Laplace number, P(k) ∝ e^(-ε|k|/g),
and we draw it at once. It exceeds τ, so that the server is wrong by M, with probability at most 1/T. A gain changes
one sum by at most g, so the sums are ε-DP. Sums are whole numbers, exact up to 2^53.

The width is that of the authors' code. That code has faults, which are not repeated. (1) Its Pólya sampler has the
scale (1 - q)/q, q = e^(-ε/g), in place of q/(1 - q), so that its runs have next to no noise. (2) Its baseline DP-SE
adds one Laplace number to the sums of all arms, which cancels when they are compared. (3) Its batches have 4^b plays,
the text's 2^b: `growth: 4` is the code. It also puts p in the place of 1/T in τ. That the arms take turns, as in
`dp_se`, is ours.
"""

import math
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.algorithms.robust_se import choose, contest, probabilities, turned
from privbandits_cli.games import bandit, views
from privbandits_cli.games.bandit import Numbers, Setting
from privbandits_cli.games.parameters import Chance
from privbandits_cli.numerics.bits import uniform
from privbandits_cli.numerics.jit import Record, Records, record

__all__ = ["Parameters", "choose", "probabilities", "update"]

SEEN = "all sums that the server sees, and so all arms played"


class Distributed(bandit.Algorithm):
    """What the algorithms with a distributed noise share: ε, the confidence p, and the growth of batches."""

    private = True

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε")
    p: Chance | None = Field(None, description="p, failure probability of the confidence; default 1/T")
    growth: Literal[2, 4] = Field(2, description="a batch has growth^b plays of an arm: 2 in the paper, 4 in its code")

    def tuned(self, setting: Setting) -> Self:
        return self.tuned_class()(**dict(self) | {"p": self.p or min(0.5, 1 / setting.horizon)})


class Batches(Distributed):
    """The same algorithm when p is a number."""

    p: float

    def batches(
        self, setting: Setting, finest: float, sigma: float, h: float, far: float, further: float = 0.0
    ) -> Records:
        """The state before the first batch, where g = ⌈finest √l⌉ and τ = ⌈far g/ε + further⌉."""
        state = record(
            **contest(setting.n_arms),
            growth=float(self.growth),
            p=self.p,
            epsilon=self.epsilon,
            finest=finest,
            sigma=sigma,
            h=h,
            far=far,
            further=further,
            g=0.0,
            tau=0.0,
            scale=0.0,  # g/ε
            modulus=0.0,  # M
            seen=np.zeros(setting.n_arms),  # the last sum mod M of each arm
        )
        begin(state[0])
        return state

    def share(self, finest: float, sensitivity: float) -> float:
        """The largest part of g by which a change of a gain by `sensitivity` can change a sum, over all batches."""
        grids = [float(math.ceil(finest * math.sqrt(self.growth**b))) for b in range(1, 64)]
        return max(math.ceil(g * sensitivity) / g for g in grids)


class Parameters(Distributed):
    """ε, the confidence p, and the growth of batches."""

    display = "Dist-DP-SE"
    drawn = ("laplace", "bits")
    made_private_by = "discrete Laplace noise on the sum of each batch, drawn by its users"

    def view(self, setting: Setting) -> views.ModularSum:
        return views.ModularSum("seen", "modulus", views.DiscreteLaplace(1 / self.epsilon))


class Tuned(Batches, Parameters):
    """Dist-DP-SE with its p."""

    def state(self, setting: Setting) -> Records:
        log = math.log(2 * setting.horizon)
        return self.batches(setting, self.epsilon, math.sqrt(2) / self.epsilon, 1 / self.epsilon, log)

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """Batches and arms are disjoint; a gain moves one sum by at most g, and the noise has scale g/ε."""
        spent = self.epsilon * self.share(self.epsilon, sensitivity)
        return [Guarantee(spent, 0.0, "a gain is in one noisy sum", "proved", view=SEEN)]


def begin(state: Record) -> None:
    """Start the next batch: its length, its grid, the range of its noise, and how far below the best an arm may be."""
    state.epoch += 1
    plays = min(state.growth**state.epoch, 2.0**62)
    state.cycles = int(plays)
    state.g = np.ceil(state.finest * np.sqrt(plays))
    state.scale = state.g / state.epsilon
    state.tau = np.ceil(state.far * state.scale + state.further)
    state.modulus = plays * state.g + 2.0 * state.tau + 1.0
    log = np.log(2.0 * state.left * state.epoch**2 / state.p)
    noise = (state.sigma * np.sqrt(log) + state.h * log) / plays
    state.threshold = 2.0 * (np.sqrt((log + np.log(2.0)) / (2.0 * plays)) + noise)


def encode(state: Record, arm: int, gain: float, bits: Any) -> bool:
    """Add the rounded gain to the sum of its arm; returns whether it is the last of the batch."""
    scaled = state.g * gain
    whole = np.floor(scaled)
    state.sums[arm] += whole + 1.0 if uniform(bits, 0) < scaled - whole else whole
    last: bool = state.cycle == state.cycles - 1
    return last


def decode(state: Record, arm: int, noise: float) -> None:
    """What the server makes of the sum mod M, to which the users have added this noise."""
    y = (state.sums[arm] + noise) % state.modulus
    state.seen[arm] = y
    if y > state.cycles * state.g + state.tau:
        y -= state.modulus
    state.means[arm] = y / (state.cycles * state.g)
    state.sums[arm] = 0.0


def discrete(laplace: float, scale: float) -> float:
    """The number k of the law P(k) ∝ e^(-|k|/scale) at the quantile of a standard Laplace number.

    With q = e^(-1/scale), |k| >= n > 0 has the probability 2 q^n/(1 + q), and |laplace| > x has e^-x.
    """
    k: float = np.floor(scale * (abs(laplace) - np.log1p(0.5 * np.expm1(-1.0 / scale))))
    return k if laplace > 0.0 else -k


def update(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    if state.left == 1:
        return
    if encode(state, arm, gain, rng.bits):
        decode(state, arm, discrete(rng.laplace, state.scale))
    if turned(state):
        begin(state)
