"""LinUCB (Abbasi-Yadkori, Pál & Szepesvári 2011; Shariff & Sheffet 2018, Algorithm 1 with a constant regulariser ρI).

V = ρI + Σ x x', u = Σ x y, θ^ = V^-1 u. The arm with the largest <θ^, x> + β |x| in the norm of V^-1 is played, where
β = σ √(2 ln(2/α) + ln(det V/ρ^d)) + S √ρ (Proposition 4).

Rank-one updates (Sherman & Morrison 1950) keep V^-1, θ^ and ln det V. Every 1024 rounds they are computed from V, which
discards the accumulated rounding errors.
"""

from typing import Self

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.games import contextual
from privbandits_cli.games.contextual import Floats, Setting
from privbandits_cli.games.ellipsoid import copy, invert, multiply, optimistic, room, width
from privbandits_cli.games.parameters import Chance, Size, left_out
from privbandits_cli.numerics.jit import Record, Records, record

RENEWAL = 1024  # rounds


class Parameters(contextual.Algorithm):
    """The regulariser ρ, and the ellipsoid's α."""

    read = "paper"
    display = "LinUCB"
    optimistic = True
    growing = True

    rho: Size = Field(1.0, description="ρ")
    alpha: Chance = left_out("α, failure probability of the ellipsoid; default 1/T")

    def tuned(self, setting: Setting) -> Self:
        return self.replace(alpha=self.alpha or min(0.5, 1 / setting.horizon))

    def state(self, setting: Setting) -> Records:
        known = setting.known()
        v = self.rho * np.eye(known.dimension)
        return record(
            t=0,
            v=v,
            u=np.zeros(known.dimension),
            inverse=np.linalg.inv(v),
            theta=np.zeros(known.dimension),
            logdet=known.dimension * np.log(self.rho),
            step=np.zeros(known.dimension),
            **width(known, self.alpha, self.rho, self.rho, 0.0),
            **room(known, setting.n_arms),
        )

    def caveats(self, setting: Setting) -> list[str]:
        return ["The arms played are a function of the arms and rewards observed: no ε holds at any δ < 1."]


def choose(state: Record, arms: Floats, rng: Generator) -> int:
    return optimistic(state, arms)


def update(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    for i in range(len(x)):
        for j in range(len(x)):
            state.v[i, j] += x[i] * x[j]
        state.u[i] += x[i] * reward
    state.t += 1
    if state.t % RENEWAL == 0:
        copy(state.v, state.inverse)
        state.logdet = invert(state.inverse)
        multiply(state.inverse, state.u, state.theta)
    else:
        follow(state, x, reward)


def follow(state: Record, x: Floats, reward: float) -> None:
    """The rank-one updates: V^-1 x =: s, V^-1 - s s'/(1 + <s, x>), θ^ + s (y - <θ^, x>)/(1 + <s, x>)."""
    step = state.step
    multiply(state.inverse, x, step)
    grown, residual = 1.0, reward
    for i in range(len(x)):
        grown += step[i] * x[i]
        residual -= state.theta[i] * x[i]
    for i in range(len(x)):
        scaled = step[i] / grown
        for j in range(len(x)):
            state.inverse[i, j] -= scaled * step[j]
        state.theta[i] += scaled * residual
    state.logdet += np.log(grown)
