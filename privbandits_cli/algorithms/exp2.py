"""EXP2 with exploration μ (Bubeck, Cesa-Bianchi & Kakade 2012; Algorithm 5 of Agarwal & Singh 2017), over arms.

p_i = (1 - γ) q_i + γ μ_i. After arm i is played with loss l = 1 - gain, q_i is multiplied by exp(-η l / p_i), and q is
normalised. Over arms, the paper's estimate P⁺ e_i e_iᵀ l is the loss divided by its probability.
"""

import math
from collections.abc import Iterator
from typing import Self

import numpy as np
from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from privbandits_cli.algorithms.exp3 import LARGE, NEAR, NOTHING, SMALL, SPAN, add_up, descend, restart
from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.games.parameters import Share, Size, left_out
from privbandits_cli.numerics.arrays import largest
from privbandits_cli.numerics.exponential import small_exponential
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(bandit.Algorithm):
    """The learning rate η, the amount γ of exploration, and its distribution μ."""

    read = "paper"
    display = "EXP2"

    eta: Size = left_out("η; default √(ln K / (3KT)), which minimises Lemma 4.4")
    gamma: float = left_out("γ; default η / min μ, Lemma 4.4's condition; at most 1", ge=0, le=1)
    mu: list[Share] | None = Field(
        None, description="μ, a positive probability for each arm, because each must be explored; default 1/K"
    )

    @field_validator("mu")
    @classmethod
    def _distribution(cls, mu: list[float] | None) -> list[float] | None:
        """Refuse a list that does not sum to 1."""
        if mu is not None and abs(sum(mu) - 1) > 1e-6:
            raise PydanticCustomError("mu", "should sum to 1, not to {total}", {"total": f"{sum(mu):.9g}"})
        return mu

    def errors(self, setting: Setting) -> Iterator[str]:
        if self.mu is not None and len(self.mu) != setting.n_arms:
            yield f"mu has {len(self.mu)} probabilities for {setting.n_arms} arms: list one for each, or leave it out"

    def shares(self, setting: Setting) -> Floats:
        """μ `[arms]`."""
        mu = np.full(setting.n_arms, 1.0) if self.mu is None else np.array(self.mu)
        return np.asarray(mu / mu.sum())

    def tuned(self, setting: Setting) -> Self:
        horizon, n_arms = setting.horizon, setting.n_arms
        # With γ = ηK Lemma 4.4 is 3ηKT + ln K / η, as in Bubeck et al. 2012; this η minimises it
        eta = self.eta or math.sqrt(math.log(n_arms) / (3 * n_arms * horizon))
        gamma = min(1.0, eta / float(self.shares(setting).min())) if self.gamma is None else self.gamma
        return self.replace(eta=eta, gamma=gamma)

    def state(self, setting: Setting) -> Records:
        n_arms = setting.n_arms
        blocks = 1 << (math.ceil(n_arms / SPAN) - 1).bit_length()  # a power of two
        ends = [SPAN * block for block in range(blocks)]
        mu, sums = np.zeros(2 * blocks), np.zeros(2 * blocks)
        mu[blocks:] = [self.shares(setting)[end : end + SPAN].sum() for end in ends]
        sums[blocks:] = np.clip(n_arms - np.array(ends), 0, SPAN)
        add_up(mu)
        add_up(sums)
        return record(
            eta=self.eta,
            gamma=self.gamma,
            mu=self.shares(setting),
            gains=np.zeros(n_arms),  # -η times the estimated losses
            offset=0.0,
            weights=np.ones(n_arms),  # exp(gains - offset): q_i times their sum
            arms=mu,  # per node of EXP3's tree over blocks of arms: the sum of μ below it, ...
            sums=sums,  # ... and that of the weights
            least=n_arms / WORN,  # a smaller sum of all weights has lost too many digits
        )

    def caveats(self, setting: Setting) -> list[str]:
        return ["No privacy is proved: Lemma A needs gains; with losses, differences between tables are amplified."]

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """Lemma 4.4, 2γt + ln K / η + ηKt, if η <= γ min μ ensures its condition η/p_i <= 1."""
        eta, gamma = self.eta, self.gamma
        if memory > 0 or eta > gamma * self.shares(setting).min() * (1 + 1e-12):
            return None
        return 2 * gamma * rounds + math.log(setting.n_arms) / eta + eta * setting.n_arms * rounds

    def noisy_regret_bound(self, rounds: Floats, setting: Setting, scale: float) -> Floats | None:
        """γt + ln K / η + ⅔ηKt (1 + 2λ²) where losses carry Laplace noise of scale λ <= γ min μ / (2η).

        Lemma 4.4 needs bounded noise. But the mean of exp(-η(l + Z)/p) is exp(-ηl/p) / (1 - a²) with a = ηλ/p, and
        for a <= ½ at most 1 - ηl/p + ⅔(η/p)² (1 + 2λ²). So the noise need not be truncated, and there is no log T.
        """
        eta, gamma = self.eta, self.gamma
        if 2 * eta * scale > gamma * self.shares(setting).min() * (1 + 1e-12):
            return None
        variance = 2 / 3 * eta * setting.n_arms * (1 + 2 * scale**2)
        return (gamma + variance) * rounds + math.log(setting.n_arms) / eta


def choose(state: Record, rng: Draws) -> int:
    total = state.sums[1]
    floor = state.gamma * total
    arm, end, threshold = descend(state, rng.uniform * total, floor)
    reached = NOTHING
    for i in range(arm, end - 1):
        reached += (1.0 - state.gamma) * state.weights[i] + floor * state.mu[i]  # p_i Σ_j weights
        arm = i + 1 if threshold >= reached else arm  # `reached` only grows
    return min(arm, len(state.weights) - 1)  # rounding may lead past the last block


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    total, weight = state.sums[1], state.weights[arm]
    mass = (1.0 - state.gamma) * weight + state.gamma * total * state.mu[arm]  # p_i Σ_j weights
    multiply(state, arm, -state.eta * (1.0 - gain) * total / mass)


def multiply(state: Record, arm: int, step: float) -> None:
    """Multiply a weight by e^step; step may have any size and sign, as gains may be noisy."""
    weight = state.weights[arm]
    state.gains[arm] += step
    if abs(step) < NEAR and weight > SMALL:
        put(state, arm, weight * small_exponential(step))
    else:
        put(state, arm, np.exp(min(state.gains[arm] - state.offset, 600.0)))  # exp overflows at 709
    if not state.least <= state.sums[1] <= LARGE:
        restart(state, largest(state.gains))
        state.least = state.sums[1] / WORN
    elif state.sums[1] > WORN * state.least:
        state.least = state.sums[1] / WORN


WORN = 16.0  # the weights are recomputed when their sum has fallen by this factor


def put(state: Record, arm: int, weight: float) -> None:
    """Set a weight, and add the difference to all sums that contain it."""
    change = weight - state.weights[arm]
    state.weights[arm] = weight
    node = len(state.sums) // 2 + arm // SPAN
    while node > 0:
        state.sums[node] += change
        node //= 2


def probabilities(state: Record, out: Floats) -> None:
    for i in range(len(out)):
        out[i] = (1.0 - state.gamma) * state.weights[i] / state.sums[1] + state.gamma * state.mu[i]
