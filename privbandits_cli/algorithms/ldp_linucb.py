"""LDP-LinUCB (Zheng, Cai, Huang, Li & Wang 2020, Algorithm 2, after their code): every round's report is private.

A round reports x x' + B and x y + ξ, where B is symmetric with entries N(0, σ²), ξ ~ N(0, σ² I), and
σ = 6 √(2 ln(2.5/δ))/ε. The learner sums the reports: V_t = Σ (x x' + B) + 2 Υ_t I with Υ_t = σ √t (4 √d + 2 ln(2T/α)),
θ~ = V^-1 Σ (x y + ξ). It plays the arm with the largest <θ~, x> + β_t |x| in the norm of V^-1, where
β_t = 2σ √(d ln T) + (√(3 Υ_t) + σ √(d t/Υ_t)) d ln T.

With calibration `exact`, σ is the least that is (ε, δ)-private. For |x| <= 1 and |y| <= 1, replacing a round changes
its report by at most √4.5 in units of σ: for unit arms at the angle φ and rewards 1 and -1, the square of the change is
at most 2 sin² φ + 2 + 2 cos φ. If V is not positive definite, the last V that was positive definite is used.
"""

import math
from collections.abc import Iterator
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.accounting import gaussian as gdp
from privbandits_cli.accounting.guarantee import Guarantee, wasted_noise
from privbandits_cli.accounting.releases import Release, noised
from privbandits_cli.convex.losses import SLACK
from privbandits_cli.games import contextual, views
from privbandits_cli.games.contextual import Floats, Setting
from privbandits_cli.games.ellipsoid import optimistic, room, settle
from privbandits_cli.games.parameters import Chance, left_out
from privbandits_cli.numerics.jit import Record, Records, record
from privbandits_cli.numerics.text import exact

SENSITIVITY = math.sqrt(4.5)


class Parameters(contextual.Algorithm):
    """ε and δ of a report, and the ellipsoid's α."""

    read = "paper"
    display = "LDP-LinUCB"
    optimistic = True
    private = True
    local = True
    calibrations: ClassVar = {"certified": {"calibration": "exact"}, "paper": {"calibration": "printed"}}

    epsilon: float = Field(ge=1e-6, le=1e6, description="ε")
    delta: Chance = Field(description="δ")
    calibration: Literal["printed", "exact"] = Field(
        "exact", description="how ε and δ determine the noise: the least that suffices, or the paper's larger noise"
    )
    alpha: Chance = left_out("α, failure probability of the ellipsoid; default 1/T")

    def sigma(self) -> float:
        """σ of the noise on a report."""
        if self.calibration == "exact":
            return SENSITIVITY / gdp.mu_of(self.epsilon, self.delta)
        return 6 * math.sqrt(2 * math.log(2.5 / self.delta)) / self.epsilon

    def errors(self, setting: Setting) -> Iterator[str]:
        known = setting.known()
        if max(known.norm, known.reward) > 1 + SLACK:
            yield f"arms and rewards must have norm at most 1; here L = {exact(known.norm)}, B = {exact(known.reward)}"

    def tuned(self, setting: Setting) -> Self:
        return self.replace(alpha=self.alpha or min(0.5, 1 / setting.horizon))

    def growth(self, setting: Setting) -> float:
        """Υ_t/√t."""
        d = setting.known().dimension
        return self.sigma() * (4 * math.sqrt(d) + 2 * math.log(2 * setting.horizon / self.alpha))

    def facts(self, setting: Setting) -> dict[str, float]:
        """σ of a report, and the regularisers of the last round: eigenvalues Υ to 3 Υ, and 2 Υ the shift."""
        d, upsilon = setting.known().dimension, self.growth(setting) * math.sqrt(setting.horizon)
        gamma = self.sigma() * math.sqrt(d * setting.horizon / upsilon)
        last = {"rho_min": upsilon, "rho_max": 3 * upsilon, "gamma": gamma, "shift": 2 * upsilon}
        return {"sigma": self.sigma(), **last}

    def state(self, setting: Setting) -> Records:
        d, log_t = setting.known().dimension, math.log(max(2.0, setting.horizon))
        return record(
            t=1,
            indefinite=0.0,
            sigma_noise=self.sigma(),
            growth=self.growth(setting),
            log_t=log_t,
            reports=np.zeros((d, d + 1)),
            v=np.zeros((d, d)),
            u=np.zeros(d),
            inverse=np.eye(d),
            theta=np.zeros(d),
            logdet=0.0,
            log_term=0.0,
            sigma=0.0,
            fixed=0.0,
            **room(setting.known(), setting.n_arms),
        )

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The printed bound, and that for Gaussian noise and the sensitivity of a report.

        Attack: the arm has norm L, and the reward is B in place of -B, or of 0 if no reward is below 0.
        """
        seen, view = setting.known(), "the round's report, and so all later arms"
        low = 0.0 if seen.nonnegative else -seen.reward
        neighbours = f"the arms and the reward of one round replaced, rewards in [{low:.4g}, {seen.reward:.4g}]"
        one = Release("gaussian", SENSITIVITY / self.sigma(), fresh=True)
        by_reward = one.part(seen.norm * (seen.reward - low) / SENSITIVITY)
        found = noised(one, delta, "Gaussian noise, exactly", "report", view, surely=by_reward, neighbours=neighbours)
        if delta >= self.delta:
            source = "Zheng et al. 2020"
            found.append(Guarantee(self.epsilon, self.delta, source, "paper", view=view, neighbours=neighbours))
        return found

    def remarks(self, setting: Setting) -> list[str]:
        return wasted_noise(self.epsilon, self.guarantee(setting))

    def mechanism(self) -> str:
        return f"Gaussian noise of σ = {self.sigma():.4g} on every report"

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy("reports")


def choose(state: Record, arms: Floats, rng: Generator) -> int:
    d, t = len(state.v), state.t
    upsilon = state.growth * np.sqrt(t)
    for i in range(d):
        for j in range(i):
            state.v[i, j] = state.reports[i, j]
            state.v[j, i] = state.reports[i, j]
        state.v[i, i] = state.reports[i, i] + 2.0 * upsilon
        state.u[i] = state.reports[i, d]
    settle(state)
    drift = np.sqrt(3.0 * upsilon) + state.sigma_noise * np.sqrt(d * t / upsilon)
    state.fixed = 2.0 * state.sigma_noise * np.sqrt(d * state.log_t) + drift * d * state.log_t
    return optimistic(state, arms)


def update(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    for i in range(len(x)):
        for j in range(i + 1):
            state.reports[i, j] += x[i] * x[j] + state.sigma_noise * rng.standard_normal()
        state.reports[i, len(x)] += x[i] * reward + state.sigma_noise * rng.standard_normal()
    state.t += 1
