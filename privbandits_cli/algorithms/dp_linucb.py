"""Jointly private LinUCB (Shariff & Sheffet 2018, Algorithm 1 and section 4).

LinUCB on a noisy sum of the matrices [x; y] [x; y]'. Its first d rows and columns are V, its last column is u~. The sum
comes from a tree: every release has the noise of m = 1 + ⌈log2 n⌉ nodes and is shifted by a multiple of the identity.
The arm with the largest <θ~, x> + β |x| in the norm of V^-1 is played; θ~ = V^-1 u~, and β is that of Proposition 4.

The noise is symmetric Gaussian (Proposition 11) or Wishart, with or without shift (Proposition 9). `calibration`
determines its size:

- code, the authors': σ = 4 √m L~² ln(4/δ)/ε. Advanced composition leaves ε' = ε/√(8 m ln((m + 1)/δ)) and
  δ' = δ/(m + 1) for a node, so k = d + 1 + ⌊28 ln(4/δ')/ε'²⌋. α' = α/2N, where N is the least power of two that is at
  least n. The ellipsoid has α/2.
- printed: the same σ; k = d + 1 + ⌈224 m ε^-2 ln(8m/δ) ln(2/δ)⌉; α' = α/2n. The ellipsoid has α. The paper prints
  W(L~ I, k) where its Theorem 8 needs W(L~² I, k).
- exact: the least noise with which m nodes are (ε, δ)-private by the exact distribution of their privacy losses when a
  row is replaced. For Wishart noise this assumes that orthogonal rows are the worst case, which was computed, not
  proved: at ε = 1, δ = 0.1 and 5e7 rounds, k = 40 gives ε = 0.998 numerically, while the proved bound is 2.58.

`rho: VALUE` is the shift that makes ρ_min equal to the value; `shift: rho_min=VALUE` means the same.

If V is not positive definite in a round, which the shift makes very unlikely, V and θ~ of the last round are used.
"""

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from privbandits_cli.accounting import gaussian as gdp
from privbandits_cli.accounting import wishart as losses
from privbandits_cli.accounting.guarantee import Guarantee, Status, wasted_noise
from privbandits_cli.games import contextual, regularisers, views
from privbandits_cli.games.contextual import Floats, Setting
from privbandits_cli.games.ellipsoid import optimistic, room, settle, width
from privbandits_cli.games.parameters import Chance, Size
from privbandits_cli.games.regularisers import Regularisers
from privbandits_cli.mechanisms.matrix_tree import n_levels, nodes, release
from privbandits_cli.numerics.jit import Record, Records, record


def jointly(epsilon: float, delta: float, source: str, status: Status) -> Guarantee:
    """Joint privacy under continual observation (Definition 1)."""
    neighbours = "the arms and the reward of one round replaced"
    view = "all arms played in the rounds after it (joint privacy)"
    return Guarantee(epsilon, delta, source, status, neighbours=neighbours, view=view)


class Parameters(contextual.Algorithm):
    """ε and δ, the noise, and the shift."""

    display = "DP-LinUCB"
    private = True
    calibrations: ClassVar = {"certified": {"calibration": "exact"}, "paper": {"calibration": "printed"}}

    epsilon: float = Field(ge=1e-6, le=1e6, description="ε")
    delta: Chance = Field(description="δ")
    noise: Literal["gaussian", "wishart", "wishart_unshifted"] = Field("gaussian", description="law of a node's noise")
    shift: Literal["paper", "optimal"] = Field(
        "paper",
        description="paper: ρ_min is Υ, or 4 L~² √(mk) D for Wishart noise; optimal: minimises Theorem 5's bound",
    )
    rho: Size | None = Field(None, description="ρ_min, instead of the value that `shift` implies")
    calibration: Literal["code", "printed", "exact"] = Field(
        "exact",
        description="how ε and δ determine the noise: the least that suffices, or the authors' far larger noise",
    )
    alpha: Chance | None = Field(None, description="α, failure probability of the ellipsoid; default 1/T")

    @property
    def wishart(self) -> bool:
        """Whether the noise is Wishart."""
        return self.noise != "gaussian"

    @model_validator(mode="before")
    @classmethod
    def _named_rho_min(cls, given: Any) -> Any:
        """Read `shift: rho_min=VALUE` as `rho: VALUE`; any other text is left to the validation of `shift`."""
        shift = given.get("shift") if isinstance(given, dict) else None
        if isinstance(shift, str) and shift.startswith("rho_min=") and "rho" not in given:
            with suppress(ValueError):
                rho = float(shift.removeprefix("rho_min="))
                if 0 < rho < math.inf:  # for any other number the error is that of `shift`
                    return {name: value for name, value in given.items() if name != "shift"} | {"rho": rho}
        return given

    @field_validator("shift", mode="before")
    @classmethod
    def _known_shift(cls, shift: Any) -> Any:
        """Refuse any other text, with all forms in the message."""
        if shift not in ("paper", "optimal"):
            raise PydanticCustomError(
                "shift", "should be paper, optimal, or rho_min=NUMBER with a positive number and no `rho` beside it"
            )
        return shift

    def errors(self, setting: Setting) -> Iterator[str]:
        if math.isinf(setting.known().reward):
            yield "its noise hides bounded rewards only, and these are unbounded: choose a bounded law of `rewards`"
            return
        if self.rho is not None and self.shift == "optimal":
            yield "rho replaces the shift: leave one of them out"
        if self.noise == "wishart_unshifted" and (self.rho is not None or self.shift == "optimal"):
            yield "wishart_unshifted has no shift: for a shift, set `noise: wishart`"
        elif not list(super().errors(setting)) and not self.tuned(setting).regularisers(setting).rho_min > 0:
            yield "with so few rows of Wishart noise V may not be positive definite: set `noise: wishart`"

    def sigma(self, setting: Setting) -> float:
        """σ of a Gaussian node. Replacing a row changes M by at most √2 L~², in units of √2 σ: a node's μ is L~²/σ."""
        m, square = n_levels(setting.horizon), setting.known().row_norm() ** 2
        if self.calibration == "exact":
            return math.sqrt(m) * square / gdp.mu_of(self.epsilon, self.delta)
        return math.sqrt(16 * m) * square * math.log(4 / self.delta) / self.epsilon

    def rows(self, setting: Setting) -> int:
        """k of a Wishart node."""
        m, d, epsilon, delta = n_levels(setting.horizon), setting.known().dimension, self.epsilon, self.delta
        if self.calibration == "exact":
            return d + math.ceil(losses.freedom(epsilon, delta, m))
        if self.calibration == "printed":
            return d + 1 + math.ceil(224 * m / epsilon**2 * math.log(8 * m / delta) * math.log(2 / delta))
        node, node_delta = epsilon / math.sqrt(8 * m * math.log((m + 1) / delta)), delta / (m + 1)
        return d + 1 + math.floor(28 * math.log(4 / node_delta) / node**2)

    def tuned(self, setting: Setting) -> "Tuned":
        return Tuned(**dict(self) | {"alpha": self.alpha or min(0.5, 1 / setting.horizon)})


class Tuned(Parameters):
    """DP-LinUCB with its α."""

    alpha: float

    def _confidence(self, setting: Setting) -> tuple[float, float]:
        """(α of the ellipsoid, ln α' of a round's regulariser); the ellipsoid and the regularisers share α."""
        printed = self.calibration == "printed"
        union = setting.horizon if printed or self.shift == "optimal" else 2.0 ** (n_levels(setting.horizon) - 1)
        return self.alpha if printed else self.alpha / 2, math.log(self.alpha / 2) - math.log(union)

    def regularisers(self, setting: Setting) -> Regularisers:
        """The regularisers of the tree's noise, with the shift."""
        known, m = setting.known(), n_levels(setting.horizon)
        alpha, log_alpha = self._confidence(setting)
        if self.wishart:
            shifted = self.noise == "wishart" and self.rho is None and self.shift == "paper"
            made = regularisers.wishart(known, self.rows(setting), m, log_alpha, shifted)
        else:
            made = regularisers.gaussian(known, self.sigma(setting), m, log_alpha)
        if self.rho is not None:
            return made.shifted_to(self.rho)
        return regularisers.optimal(known, made, setting.horizon, alpha) if self.shift == "optimal" else made

    def state(self, setting: Setting) -> Records:
        known, made = setting.known(), self.regularisers(setting)
        d, square = known.dimension, known.row_norm() ** 2
        return record(
            t=0,
            indefinite=0,
            gram=np.zeros((d, d + 1)),
            v=np.zeros((d, d)),
            u=np.zeros(d),
            inverse=np.eye(d) / made.rho_min,
            theta=np.zeros(d),
            logdet=d * math.log(made.rho_min),
            shift=made.shift,
            k=float(self.rows(setting)) if self.wishart else 0.0,
            scale=square if self.wishart else self.sigma(setting),
            **nodes(setting.horizon, d),
            **width(known, self._confidence(setting)[0], made.rho_min, made.rho_max, made.gamma),
            **room(known, setting.n_arms),
        )

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The printed bound, and those from the exact privacy losses of m nodes."""
        m, d = n_levels(setting.horizon), setting.known().dimension
        out = []
        if self.calibration != "exact" and delta >= self.delta:
            source = "Theorem 8, advanced composition" if self.wishart else "section 4.2"
            out.append(jointly(self.epsilon, self.delta, source, "paper"))
        if not self.wishart:
            moved = math.sqrt(m) * setting.known().row_norm() ** 2 / self.sigma(setting)
            source = f"Gaussian noise on {m} nodes, exactly"
            return [*out, jointly(gdp.epsilon_of(moved, delta), delta, source, "proved")]
        k = min(self.rows(setting), int(losses.MOST_FREEDOM))  # more rows only add noise
        if delta < losses.LEAST_DELTA or k - d <= 2:
            return out
        proved = losses.epsilon_by_halves(delta, k / 2 - d, m) if k / 2 - d > 2 else math.inf
        if proved < math.inf:
            out.append(jointly(proved, delta, f"Wishart noise on {m} nodes, by halves", "proved"))
        orthogonal = losses.epsilon(delta, float(k - d), m)
        source = f"Wishart noise on {m} nodes, orthogonal rows"
        return [*out, jointly(orthogonal, delta, source, "numeric")]

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats:
        """Theorem 5, with probability 1 - α."""
        made, (alpha, _) = self.regularisers(setting), self._confidence(setting)
        return np.array([regularisers.regret_bound(setting.known(), made, n, alpha) for n in rounds])

    def mechanism(self) -> str:
        return f"a tree, {'Wishart' if self.wishart else 'symmetric Gaussian'} noise on every node"

    def view(self, setting: Setting) -> views.View | None:
        square = setting.known().row_norm() ** 2
        noise = views.Wishart(square, self.rows(setting)) if self.wishart else views.Normal(self.sigma(setting))
        return views.Gram(noise=noise, shift="shift")

    def remarks(self, setting: Setting) -> list[str]:
        promised = self.guarantee(setting)
        if self.calibration == "exact" and promised is not None and promised.epsilon > 1.001 * self.epsilon:
            return [f"ε = {self.epsilon:g} of this Wishart noise is a computation; proved is {promised}"]
        return wasted_noise(self.epsilon, promised)

    def caveats(self, setting: Setting) -> list[str]:
        notes = ["Joint privacy: the arm played in a round may reveal that round's own arms, but no other round's."]
        if self.wishart:
            notes.append("The worst case, two orthogonal rows of full norm, was found by computation, not by proof.")
        return notes + self.remarks(setting)


def choose(state: Record, arms: Floats, rng: Generator) -> int:
    release(state, state.t, rng)
    refresh(state)
    return optimistic(state, arms)


def refresh(state: Record) -> None:
    """Compute V, θ~ and ln det V from this round's release."""
    noise = state.noise[0]
    for i in range(len(state.v)):
        for j in range(i):
            state.v[i, j] = state.gram[i, j] + noise[i, j]
            state.v[j, i] = state.v[i, j]
        state.v[i, i] = state.gram[i, i] + noise[i, i] + state.shift
        state.u[i] = state.gram[i, len(state.v)] + noise[i, len(state.v)]
    settle(state)


def update(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    for i in range(len(x)):
        for j in range(i + 1):
            state.gram[i, j] += x[i] * x[j]
        state.gram[i, len(x)] += x[i] * reward
    state.t += 1
