"""Linear Thompson sampling (Agrawal & Goyal 2013b).

V = ρI + Σ x x', θ^ = V^-1 Σ x y. Each round draws θ~ ~ N(θ^, v² V^-1) and plays the arm with the largest <θ~, x>.

The paper has ρ = 1 and v = R √(9 d ln(t/α)), where the noise of a reward is R-sub-Gaussian and α is its δ, the
probability with which its bound on regret may fail. It assumes that arms and θ have norm at most 1. We know the paper
by restatements: some have the horizon in place of t, and so a larger v; the version of the proceedings has
v = R √(24 d ln(1/δ)/ε) with one more parameter, ε in (0, 1). The default α = 1/T is ours, as in `linucb`.

The bound on regret needs a large v. In practice v is about 1: with v = R, θ~ is a draw from the posterior of normal
rewards of deviation R and of the prior N(0, R²/ρ I).

V is kept as its Cholesky factor, V = F' F with F upper triangular, and Σ x y as c = F'^-1 Σ x y. Then θ^ = F^-1 c, and
θ~ = F^-1 (c + v z) with d standard normal numbers z has the right law. A round appends the row [x', y] to [F, c] and
rotates it to zero.
"""

from typing import Self

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.games import contextual
from privbandits_cli.games.contextual import Floats, Setting
from privbandits_cli.games.ellipsoid import rotate
from privbandits_cli.games.parameters import Chance, Size, left_out
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(contextual.Algorithm):
    """The regulariser ρ, and v or the α that determines it."""

    read = "secondary"
    display = "LinTS"

    rho: Size = Field(1.0, description="ρ")
    v: Size | None = Field(None, description="v, in place of R √(9 d ln(t/α)); 1 is usual in practice")
    alpha: Chance = left_out("α, failure probability of the bound on regret; default 1/T")

    def tuned(self, setting: Setting) -> Self:
        return self.replace(alpha=self.alpha or min(0.5, 1 / setting.horizon))

    def state(self, setting: Setting) -> Records:
        known = setting.known()
        d, slope = known.dimension, 9 * known.dimension * known.sigma**2 if self.v is None else 0.0
        return record(
            t=1,
            slope=slope,  # v² = first + slope ln t
            first=self.v**2 if self.v is not None else -slope * np.log(self.alpha),
            factor=np.sqrt(self.rho) * np.eye(d, d + 1),  # [F, c]
            row=np.zeros(d + 1),
            theta=np.zeros(d),  # θ~
        )

    def caveats(self, setting: Setting) -> list[str]:
        return ["The draws explore, and are not meant to hide rewards: no bound on ε is proved here."]


def choose(state: Record, arms: Floats, rng: Generator) -> int:
    factor, theta = state.factor, state.theta
    d, v = len(theta), np.sqrt(state.first + state.slope * np.log(state.t))
    for i in range(d):
        theta[i] = factor[i, d] + v * rng.standard_normal()
    for i in range(d - 1, -1, -1):
        for j in range(i + 1, d):
            theta[i] -= factor[i, j] * theta[j]
        theta[i] /= factor[i, i]
    best, top = 0, -np.inf
    for a in range(arms.shape[1]):
        mean = 0.0
        for i in range(d):
            mean += theta[i] * arms[i, a]
        if mean > top:
            best, top = a, mean
    return best


def update(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    for i in range(len(x)):
        state.row[i] = x[i]
    state.row[len(x)] = reward
    rotate(state.row, state.factor)
    state.t += 1
