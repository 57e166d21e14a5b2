"""Dist-DP-SE (Chowdhury & Zhou 2023): successive elimination by a server that sees only noisy sums.

S is the set of arms that remain. In batch b = 1, 2, ... each of them is played l = 2^b times, in turn. Each gain x
belongs to a user, who rounds g x at random to a whole number, adds noise, and sends the result mod M. Secure
aggregation reveals only the sum y of these messages mod M. The server subtracts M if y > l g + τ. The mean of the batch
is y/(l g). An arm leaves S if its mean is more than 2w below the largest, where
w = √((L + ln 2)/(2l)) + (σ √L + h L)/l and L = ln(2 |S| b²/p).

Here g = ⌈ε √l⌉, τ = ⌈(g/ε) ln 2T⌉, M = l g + 2τ + 1, σ = √2/ε and h = 1/ε. A user's noise is the difference of two
Pólya(1/l, e^(-ε/g)) numbers. The noise of l users is exactly one discrete Laplace number, P(k) ∝ e^(-ε|k|/g), and we
draw that number. It exceeds τ with probability at most 1/T, and only then may the server's sum be wrong, by M. A gain
changes one sum by at most g, so the sums are ε-DP. Sums are whole numbers, exact up to 2^53.

The width w is that of the authors' code. The code has errors, which are not repeated here. (1) Its Pólya sampler has
the scale (1 - q)/q, q = e^(-ε/g), in place of q/(1 - q), so that its runs have next to no noise. (2) Its baseline DP-SE
adds one Laplace number to the sums of all arms, and this number cancels when they are compared. (3) Its batches have
4^b plays where the paper has 2^b; `growth: 4` is the code's. (4) Its τ has p in place of 1/T. We let the arms take
turns, as in `dp_se`.
"""

import math
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import summed
from privbandits_cli.accounting.whole import DiscreteLaplace
from privbandits_cli.games import views
from privbandits_cli.games.bandit import Numbers, Setting
from privbandits_cli.games.parameters import Chance, left_out
from privbandits_cli.mechanisms.elimination import Eliminating, contest, turned
from privbandits_cli.numerics.bits import uniform
from privbandits_cli.numerics.jit import Record, Records, record

SEEN = "all sums that the server sees, and so all arms played"


class Distributed(Eliminating):
    """What the algorithms with distributed noise share: ε, the failure probability p, and the growth of batches."""

    private = True
    distributed = True

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε")
    p: Chance = left_out("p, failure probability of the confidence; default 1/T")
    growth: Literal[2, 4] = Field(2, description="a batch has growth^b plays of an arm: 2 in the paper, 4 in its code")

    def tuned(self, setting: Setting) -> Self:
        return self.replace(p=self.p or min(0.5, 1 / setting.horizon))

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

    def sums(self, setting: Setting, finest: float, sensitivity: float) -> list[tuple[float, float]]:
        """g and the largest change of a sum, in each batch that this game may end; a gain changes by `sensitivity`.

        At least two arms play a batch. Of a game that ends none, those of the first.
        """
        found: list[tuple[float, float]] = []
        rounds = 0.0
        while not found or rounds + 2 * self.growth ** (len(found) + 1) <= setting.horizon:
            g = float(math.ceil(finest * math.sqrt(self.growth ** (len(found) + 1))))
            found.append((g, float(math.ceil(g * sensitivity))))
            rounds += 2 * self.growth ** len(found)
        return found

    def first(self, setting: Setting, sensitivity: float) -> tuple[float, float, float] | None:
        """g, the change and M of an arm's first sum; None if the game ends before it, or the change may be rounded."""
        state = self.state(setting)[0]
        g, change = float(state.g), float(state.g) * sensitivity
        ends = setting.n_arms > 1 and state.cycles * setting.n_arms <= setting.horizon
        return (g, change, float(state.modulus)) if ends and change == math.floor(change) else None


class Parameters(Distributed):
    """ε, the failure probability p, and the growth of batches."""

    read = "paper"
    display = "Dist-DP-SE"
    drawn = ("laplace", "bits")

    def view(self, setting: Setting) -> views.Noisy:
        return views.Noisy("seen", modulus="modulus", noise=DiscreteLaplace(1 / self.epsilon))

    def state(self, setting: Setting) -> Records:
        log = math.log(2 * setting.horizon)
        return self.batches(setting, self.epsilon, math.sqrt(2) / self.epsilon, 1 / self.epsilon, log)

    def mechanism(self) -> str:
        return "discrete Laplace noise on the sum of each batch, drawn by its users"

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """Batches and arms are disjoint: a gain moves one sum, by at most g, and the noise of a sum has scale g/ε."""
        sums, first = self.sums(setting, self.epsilon, sensitivity), self.first(setting, sensitivity)
        return summed(DiscreteLaplace(1 / self.epsilon), sums, first, delta, "a gain is in one noisy sum", SEEN)


def begin(state: Record) -> None:
    """Start the next batch: set its length, g, τ, and the distance 2w at which an arm leaves."""
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
    """Add the rounded gain to the sum of its arm. Returns whether the gain is the arm's last one in the batch."""
    state.sums[arm] += rounded(state.g * gain, bits)
    return bool(state.cycle == state.cycles - 1)


def rounded(x: float, bits: Any) -> float:
    """x, rounded at random to a whole number with the mean x; x itself if it is whole, as for gains of 0 and 1."""
    whole: float = np.floor(x)
    if whole == x:
        return x
    return whole + 1.0 if uniform(bits, 0) < x - whole else whole


def decode(state: Record, arm: int, noise: float) -> None:
    """The server turns the sum mod M into the mean of the batch; noise: that of all users of the batch."""
    y = (state.sums[arm] + noise) % state.modulus
    state.seen[arm] = y
    if y > state.cycles * state.g + state.tau:
        y -= state.modulus
    state.means[arm] = y / (state.cycles * state.g)
    state.sums[arm] = 0.0


def discrete(laplace: float, scale: float) -> float:
    """The discrete Laplace number, P(k) ∝ e^(-|k|/scale), with the same quantile as this standard Laplace number.

    With q = e^(-1/scale), P(|k| >= n) = 2 q^n/(1 + q) for n > 0, and P(|laplace| > x) = e^-x.
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
