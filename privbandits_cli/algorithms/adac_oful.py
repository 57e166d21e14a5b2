"""AdaC-OFUL (Azize & Basu 2023): optimism with public arms, so that only sums of rewards need Gaussian noise.

V = λI + Σ x x'. When det V is more than 1 + C times what it was at the last refresh, the sum of x y since then, with
noise N(0, σ² I), is added to u~, and θ~ = V^-1 u~. Until the next refresh the arm with the largest <θ~, x> + β |x| in
the norm of this V^-1 is played (Abbasi-Yadkori, Pál & Szepesvári 2011, section 5.1).

Privacy (ours, as is all that follows): the arms of all rounds are public, and the reward of one round is replaced. Arms
played and refreshes are functions of public arms and of the noisy sums before. A reward is in one noisy sum, and moves
it by at most 2 L B, for arms of norm at most L and rewards in [-B, B]. So all noisy sums together are as private as
one Gaussian vector, and σ = 2 L B/√(2ρ) gives ρ-zCDP. For L = B = 1 this is the paper's σ² = 2/ρ. It is even
√(2ρ)-GDP, which gives the exact ε at each δ. Rewards with noise N(0, 1), as in the paper's experiments, are unbounded,
and then no ρ holds.

β: at refresh l, θ~ - θ = V^-1 (Σ x η - λ θ + Z) with the noise η of the rewards and Z ~ N(0, l σ² I). Let each bound
below fail with probability α/2. In the norm of V, the first part has at most R √(2 ln(2/α) + ln(det V/λ^d)) at all
times, the second S √λ, and Z at most |Z|/√λ_min(V). V depends on earlier noise, so Z given V is not Gaussian, but this
holds for every V. There are at most m = min(T, d ln(1 + T L²/(dλ))/ln(1 + C)) refreshes, because tr V <= dλ + T L². So
|Z| <= σ √l r at all of them, for the r that the norm of a standard normal vector exceeds with probability α/(2m).

The paper's last term has a known lower bound on the eigenvalues of the arms' covariance in place of λ_min(V). V is
public, so its own smallest eigenvalue costs no privacy. λ = 0.1 and C = 1 are those of the paper's experiments, whose α
is 0.001.
"""

import math
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import zcdp
from privbandits_cli.games import contextual, views
from privbandits_cli.games.contextual import Floats, Setting
from privbandits_cli.games.ellipsoid import invert, largest_eigenvalue, multiply, optimistic, room, rotate, width
from privbandits_cli.games.parameters import Chance, Size, left_out
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(contextual.Algorithm):
    """ρ of zCDP, the δ at which its ε is stated, and λ, C and α of the ellipsoid."""

    read = "paper"
    display = "AdaC-OFUL"
    optimistic = True
    growing = True
    private = True
    public_arms = True

    rho: float = Field(ge=1e-12, le=1e12, description="ρ of zCDP")
    delta: Chance | None = Field(None, description="δ at which ε is stated; default T^-2")
    regulariser: Size = Field(0.1, description="λ")
    growth: Size = Field(1.0, description="C: θ~ is refreshed when det V has grown to more than 1 + C times")
    alpha: Chance = left_out("α, failure probability of the ellipsoid; default 1/T")

    @classmethod
    def for_epsilon(cls, epsilon: float, delta: float, horizon: int, given: dict[str, Any]) -> dict[str, Self]:
        """The ρ whose exact ε at δ is `epsilon`."""
        own = {"rho": gaussian.mu_of(epsilon, delta) ** 2 / 2, "delta": delta}
        return {"certified": cls.model_validate(own | given)}

    def errors(self, setting: Setting) -> Iterator[str]:
        if math.isinf(setting.known().reward):
            yield "its noise hides bounded rewards only, and these are unbounded: choose a bounded law of `rewards`"

    def tuned(self, setting: Setting) -> Self:
        return self.replace(alpha=self.alpha or min(0.5, 1 / setting.horizon))

    def sigma(self, setting: Setting) -> float:
        """σ of the noise on a sum of rewards."""
        known = setting.known()
        return 2 * known.norm * known.reward / math.sqrt(2 * self.rho)

    def radius(self, setting: Setting) -> float:
        """r: a standard normal vector is that long, in one of the refreshes, with probability at most α/2."""
        from scipy import stats

        known, per_round = setting.known(), math.log1p(self.growth)
        d, largest = known.dimension, setting.horizon * known.norm**2
        refreshes = min(setting.horizon, max(1.0, d * math.log1p(largest / (d * self.regulariser)) / per_round))
        return float(stats.chi.isf(self.alpha / (2 * refreshes), d))

    def facts(self, setting: Setting) -> dict[str, float]:
        return {"sigma": self.sigma(setting)}

    def state(self, setting: Setting) -> Records:
        known, least = setting.known(), self.regulariser
        d = known.dimension
        constants = width(known, self.alpha, least, least, 0.0)
        return record(
            refreshes=0,
            grown=1.0,  # det V over what it was at the last refresh
            most=1 + self.growth,
            deviation=self.sigma(setting),
            radius=self.radius(setting),
            drift=constants["fixed"],  # S √λ
            factor=math.sqrt(least) * np.eye(d),  # V = F' F
            row=np.zeros(d),
            recent=np.zeros(d),  # Σ x y since the last refresh
            u=np.zeros(d),
            inverse=np.eye(d) / least,
            theta=np.zeros(d),
            logdet=d * math.log(least),
            work=np.zeros((2, d, d)),
            **constants,
            **room(known, setting.n_arms),
        )

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """A reward is in one sum, which is noised once. If all rewards are at least 0, a sum moves by half as much."""
        known, rho = setting.known(), self.rho * sensitivity**2
        low = 0.0 if known.nonnegative else -known.reward
        neighbours = f"the reward of one round replaced, in [{low:.4g}, {known.reward:.4g}]"
        share = (0.5 if known.nonnegative else 1.0) if self.refreshes(setting) else 0.0
        source, view = "one Gaussian vector hides a reward", "all noisy sums, and so all arms played"
        return zcdp(rho, delta, source, "noisy sum", view, share=share, neighbours=neighbours)

    def refreshes(self, setting: Setting) -> bool:
        """Whether a sum is noised in this game if d orthogonal arms of norm L take turns."""
        known = setting.known()
        turns, more = divmod(math.floor(setting.horizon), known.dimension)
        once = math.log1p((turns + 1) * known.norm**2 / self.regulariser)
        logdet = more * once + (known.dimension - more) * math.log1p(turns * known.norm**2 / self.regulariser)
        return logdet > math.log1p(self.growth)

    def caveats(self, setting: Setting) -> list[str]:
        return ["The arms of all rounds are public, also those that were not played: only rewards are private."]

    def mechanism(self) -> str:
        return "Gaussian noise on the rewards' sum of each phase"

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy("u", public=True)


def choose(state: Record, arms: Floats, rng: Generator) -> int:
    return optimistic(state, arms)


def update(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    for i in range(len(x)):
        state.row[i] = x[i]
        state.recent[i] += x[i] * reward
    state.grown *= rotate(state.row, state.factor)
    if state.grown > state.most:
        refresh(state, rng)


def refresh(state: Record, rng: Generator) -> None:
    """u~, and what follows from it and V."""
    d, factor, inverse = len(state.u), state.factor, state.inverse
    for i in range(d):
        state.u[i] += state.recent[i] + state.deviation * rng.standard_normal()
        state.recent[i] = 0.0
        for j in range(d):
            inverse[i, j] = 0.0
            for k in range(min(i, j) + 1):
                inverse[i, j] += factor[k, i] * factor[k, j]
    state.logdet = invert(inverse)
    multiply(inverse, state.u, state.theta)
    state.refreshes += 1
    state.grown = 1.0
    eigenvalue = largest_eigenvalue(inverse, state.work[0], state.work[1])  # 1/λ_min(V)
    state.fixed = state.drift + state.deviation * state.radius * np.sqrt(state.refreshes * eigenvalue)
