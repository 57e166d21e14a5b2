"""AdaC-GOPE (Azize & Basu 2023): Phased GOPE with ρ-zCDP, for arms that are public and stay the same.

Phase l plays each arm ⌈c π⌉ times by the G-optimal design π (`mechanisms.phased_design`), with β = 2^-l, α' = α/(K l (l
+ 1)), c = 8 g σ²/β² ln(4/α') + (g w/β) √(2 f/ρ), and f = r + 2 √(r ln(2/α')) + 2 ln(2/α'). The estimate is θ~ = θ^ +
V^-1/2 N(0, s² I). Arms whose estimate is more than 2 β below the largest leave.

Here w is the most by which two rewards differ, 2 in the paper, where σ = 1; r is the dimension of the arms' span, and g
<= 1.01 r the value of the design, both d in the paper. G² is the largest x' V^-1 x of an arm of the phase. Replacing a
reward moves V^-1/2 Σ x y by at most w G, so s = w G/√(2ρ) gives ρ-zCDP for a phase, and each reward is in one phase.
The paper has d/c in place of G², which is no smaller. All releases together are as private as one Gaussian vector,
which makes them √(2ρ)-GDP (ours).

V^-1/2 is Cholesky's factor C of V^-1 = C C', so the release is C' Σ x y + N(0, s² I), and θ~ is C times that.
"""

import math
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import zcdp
from privbandits_cli.games import views
from privbandits_cli.games.contextual import Floats, Setting
from privbandits_cli.games.parameters import Chance
from privbandits_cli.mechanisms.phased_design import (
    CLOSE,
    Designed,
    allot,
    contest,
    design,
    eliminate,
    logarithm_of,
    total,
    width_of,
)
from privbandits_cli.numerics.jit import Record, Records, once, record


class Parameters(Designed):
    """ρ of zCDP, the δ at which its ε is stated, and the failure probability."""

    read = "paper"
    display = "AdaC-GOPE"
    private = True

    rho: float = Field(ge=1e-12, le=1e12, description="ρ of zCDP")
    delta: Chance | None = Field(None, description="δ at which ε is stated; default T^-2")

    @classmethod
    def for_epsilon(cls, epsilon: float, delta: float, horizon: int, given: dict[str, Any]) -> dict[str, Self]:
        """The ρ whose exact ε at δ is `epsilon`."""
        own = {"rho": gaussian.mu_of(epsilon, delta) ** 2 / 2, "delta": delta}
        return {"certified": cls.model_validate(own | given)}

    def deviation(self, setting: Setting) -> float:
        """w/√(2ρ), the deviation of the noise for G = 1."""
        return width_of(setting.known()) / math.sqrt(2 * self.rho)

    def length(self, setting: Setting, phase: int, dimension: float, support: float) -> float:
        """c, for a design of value 1.01 d; by `length`."""
        value, log = (1 + CLOSE) * dimension, logarithm_of(setting.n_arms, phase, self.alpha)
        return length(2.0**-phase, value, dimension, log, setting.known().sigma ** 2, self.deviation(setting))

    def facts(self, setting: Setting) -> dict[str, float]:
        return {"deviation": self.deviation(setting)}

    def state(self, setting: Setting) -> Records:
        known = setting.known()
        d = known.dimension
        return record(
            variance=known.sigma**2,
            deviation=self.deviation(setting),
            alpha=self.alpha,
            factor=np.zeros((d, d)),  # C
            noisy=np.zeros(d),  # C' Σ x y with its noise, of the last phase
            reach=0.0,  # G
            **contest(known, setting.n_arms),
        )

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """A reward is in one vector, which is noised once; the attack is a reward at the ends of its range."""
        source, view = "one Gaussian vector hides a reward", "all noisy vectors, and so all arms played"
        share, neighbours = float(self.releases(setting)), self.neighbours(setting)
        rho = self.rho * sensitivity**2
        return zcdp(rho, delta, source, "noisy vector", view, share=share, neighbours=neighbours)

    def mechanism(self) -> str:
        return "Gaussian noise on the estimate of each phase"

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy("noisy", public=True, fixed=True)


def length(beta: float, value: float, rank: float, log: float, variance: float, deviation: float) -> float:
    """c; log: ln(1/α')."""
    f = rank + 2.0 * np.sqrt(rank * (log + np.log(2.0))) + 2.0 * (log + np.log(2.0))
    private = 2.0 * value * deviation * np.sqrt(f) / beta
    c: float = 8.0 * value * variance * (log + np.log(4.0)) / (beta * beta) + private
    return c


def choose(state: Record, arms: Floats, rng: Generator) -> int:
    if state.rounds == 0:
        if state.phase > 0:
            whiten(state)
            for i in range(state.rank):
                state.noisy[i] += state.deviation * state.reach * rng.standard_normal()
            settle_theta(state)
            eliminate(state)
        value = design(state, arms)
        log = logarithm_of(len(state.arms), state.phase, state.alpha)
        allot(state, length(state.beta, value, float(state.rank), log, state.variance, state.deviation))
        set_reach(state)
    return int(state.arm)


@once
def set_reach(state: Record) -> bool:
    """G and C for the plays of the phase."""
    square, c = 0.0, state.factor
    for n in range(state.left):
        a = state.arms[n]
        square = max(square, state.squares[a]) if state.counts[a] > 0 else square
    state.reach = np.sqrt(square)
    for i in range(state.rank):
        for j in range(i + 1):
            rest = state.inverse[i, j]
            for k in range(j):
                rest -= c[i, k] * c[j, k]
            c[i, j] = np.sqrt(rest) if i == j else rest / c[j, j]
    return True


@once
def whiten(state: Record) -> bool:
    """`noisy` = C' Σ x y, without its noise."""
    total(state, state.sums)
    for i in range(len(state.noisy)):
        state.noisy[i] = 0.0
    for i in range(state.rank):
        for j in range(i, state.rank):
            state.noisy[i] += state.factor[j, i] * state.step[j]
    return True


@once
def settle_theta(state: Record) -> bool:
    """θ~ = C times the release."""
    for i in range(state.rank):
        state.theta[i] = 0.0
        for j in range(i + 1):
            state.theta[i] += state.factor[i, j] * state.noisy[j]
    return True
