"""DP-SPRT (Michel, Basu & Kaufmann 2025): a private sequential test of one mean, μ0 against μ1 > μ0.

With one arm (`arms: means`, and one mean in the adversary), the answer is 0 for μ0 and 1 for μ1. With two arms they are
played in turn, and the test is on the numbers (x_1 - x_0 + 1)/2 of each pair of gains, so the answer is the better arm;
if arm 1 leads by Δ, their mean is (1 + Δ)/2. After n numbers in [0, 1] with the sum S, with Z ~ Lap(2/ε), drawn once,
and Y ~ Lap(4/ε), drawn in each round, it is

- μ0 if S + Y <= nμ0 + (n kl(μ0, μ1) - ln(1/(γβ)))/(θ1 - θ0) - 6 ln(n^s ζ(s)/((1 - γ)β))/ε - Z,
- μ1 if S + Y >= nμ1 - (n kl(μ1, μ0) - ln(1/(γα)))/(θ1 - θ0) + 6 ln(n^s ζ(s)/((1 - γ)α))/ε + Z,

where θ is the log odds of μ, γ = max(½, 1 - 1/ε) and s = 1.134. α bounds the probability to say μ1 under μ0, and β that
to say μ0 under μ1. (τ, answer) is ε-DP: if a gain changes by 1, then a shift of Z by 1 and of Y in the last round by 2
leaves both as they are, and the two shifts cost ε/2 each. The noisy sums of the other rounds are not released, so there
is nothing that an audit could observe but τ and the answer. Of two arms (ours), a gain changes S by ½ at most, so that
2ε takes the place of ε in all of the above.
"""

import math
from collections.abc import Iterator
from typing import Self

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.games import best_arm, views
from privbandits_cli.games.bandit import Draws, Numbers, Setting
from privbandits_cli.games.parameters import Chance, left_out
from privbandits_cli.identification.thresholds import zeta
from privbandits_cli.numerics.jit import Record, Records, record
from privbandits_cli.numerics.kl import kl
from privbandits_cli.numerics.types import Floats

POWER = 1.134  # s


class Parameters(best_arm.Sure):
    """ε, the two means, and the probabilities of the two errors."""

    read = "paper"
    display = "DP-SPRT"
    private = True
    drawn = ()
    fewest = 1

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε")
    mu0: float = Field(gt=0, lt=1, description="μ0, the mean under the answer 0")
    mu1: float = Field(gt=0, lt=1, description="μ1 > μ0, the mean under the answer 1")
    beta: Chance = left_out("β, the probability of a wrong answer 0; default 1 - confidence")
    alpha: Chance = left_out("α, the probability of a wrong answer 1; default 1 - confidence")

    def tuned(self, setting: Setting) -> Self:
        return self.replace(alpha=self.alpha or setting.beta, beta=self.beta or setting.beta)

    def draws(self, setting: Setting) -> dict[str, int]:
        """Y of each round, and Z, which is the second number of the first one that is read."""
        return {"laplace": 2}

    def errors(self, setting: Setting) -> Iterator[str]:
        yield from super().errors(setting)
        if self.mu1 <= self.mu0:
            yield f"mu1 = {self.mu1:g} must be above mu0 = {self.mu0:g}"
        if setting.n_arms > 2:
            yield f"this test has one arm or two, not {setting.n_arms}: set arms: 2, or `arms: means` with one mean"

    def state(self, setting: Setting) -> Records:
        mu0, mu1, odds = self.mu0, self.mu1, log_odds(self.mu1) - log_odds(self.mu0)
        epsilon = self.epsilon * setting.n_arms
        gamma = max(0.5, 1 - 1 / epsilon)
        return record(
            arms=setting.n_arms,
            turn=0,  # the arm whose turn it is
            first=0.0,  # the gain of arm 0 in this pair
            n=0,
            total=0.0,
            z=0.0,  # Z
            answer=-1,
            noise=1 / epsilon,
            low=mu0 + kl(mu0, mu1) / odds,  # the slopes and starts of the two lines
            high=mu1 - kl(mu1, mu0) / odds,
            below=math.log(gamma * self.beta) / odds,
            above=-math.log(gamma * self.alpha) / odds,
            rare0=math.log(zeta(POWER) / ((1 - gamma) * self.beta)),
            rare1=math.log(zeta(POWER) / ((1 - gamma) * self.alpha)),
        )

    def regrets(self, means: Floats) -> Floats:
        """Of one mean, how far it is from the mean of a wrong answer; an answer is wrong if the other one holds."""
        if len(means) > 1:
            return super().regrets(means)
        mean = float(means[0])
        return np.array([mean - self.mu0 if mean >= self.mu1 else 0.0, self.mu1 - mean if mean <= self.mu0 else 0.0])

    def mechanism(self) -> str:
        return "Laplace noise on the threshold, and on each test"

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """ε/2 for the shift of Z and ε/2 for that of the last Y."""
        return [Guarantee(self.epsilon * sensitivity, 0.0, "shifts of Z and of the last Y", "proved", view="τ, answer")]

    def view(self, setting: Setting) -> views.View | None:
        return views.Unseen(
            "only τ and the answer are released: an audit would have to count how often each pair of them comes"
        )


def log_odds(mean: float) -> float:
    """θ = ln(μ/(1 - μ))."""
    return math.log(mean) - math.log1p(-mean)


def choose(state: Record, rng: Draws) -> int:
    return int(state.turn)


def update(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    if state.arms == 2:
        state.turn = 1 - arm
        if arm == 0:
            state.first = gain
        else:
            test(state, 0.5 * (gain - state.first + 1.0), rng)
    else:
        test(state, gain, rng)


def test(state: Record, x: float, rng: Numbers) -> None:
    """Take one number, and answer if it decides."""
    state.n += 1
    state.total += x
    if state.n == 1:
        state.z = 2.0 * state.noise * rng.laplace[1]
    seen, growth = state.total + 4.0 * state.noise * rng.laplace[0], POWER * math.log(float(state.n))
    if seen <= state.n * state.low + state.below - 6.0 * state.noise * (growth + state.rare0) - state.z:
        state.answer = 0
    elif seen >= state.n * state.high + state.above + 6.0 * state.noise * (growth + state.rare1) + state.z:
        state.answer = 1


def stop(state: Record) -> int:
    return int(state.answer)
