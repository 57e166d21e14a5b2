"""Dist-RDP-SE (Chowdhury & Zhou 2023): Dist-DP-SE with Skellam noise, under Rényi differential privacy.

The algorithm is `dist_dp_se` with g = ⌈s ε √l⌉, τ = ⌈(2g/ε) √(ln 2T) + √2 ln 2T⌉, σ = 2/ε + √2/(s ε) and h = 1/(s ε).
A user's noise is a Skellam number, the difference of two Poisson numbers, with variance g²/(l ε²). The noise of l users
is exactly one Skellam number with variance g²/ε², and we draw that number.

A gain changes one sum by at most g. By Agarwal, Kairouz & Liu 2021, Skellam noise of variance V on whole numbers that
change by at most Δ has a Rényi divergence of at most αΔ²/(2V) + min{((2α - 1)Δ² + 6Δ)/(4V²), 3Δ/(2V)} at each whole
α >= 2. At Δ = g, V = g²/ε² and g >= s ε, this is at most αε²/2 + min{(2α - 1)ε²/(4s²) + 3ε/(2s³), 3ε/(2s)}, which we
convert to (ε, δ). The parameter ε is therefore not the ε of differential privacy. For large s, the noise is like
Gaussian noise that gives ε-GDP.
"""

import math
from typing import Any, Self

import numpy as np
from pydantic import Field

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.composition import renyi
from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import summed
from privbandits_cli.accounting.whole import Skellam
from privbandits_cli.algorithms.dist_dp_se import SEEN, Distributed, begin, decode, encode
from privbandits_cli.games import views
from privbandits_cli.games.bandit import Floats, Numbers, Setting
from privbandits_cli.games.parameters import Chance
from privbandits_cli.mechanisms.elimination import turned
from privbandits_cli.numerics.bits import skellam
from privbandits_cli.numerics.jit import Record, Records


class Parameters(Distributed):
    """ε of the noise, s of the grid, the δ of the guarantee, the failure probability p, and the growth of batches."""

    read = "paper"
    display = "Dist-RDP-SE"
    drawn = ("bits",)

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε of the noise, whose variance is g²/ε²")
    delta: Chance | None = Field(None, description="δ at which the ε of the guarantee is stated; default T^-2")
    s: float = Field(10.0, ge=1, le=1e4, description="s, how much finer the grid is; 10 or 100 in the code")

    def view(self, setting: Setting) -> views.Noisy:
        return views.Noisy("seen", modulus="modulus", noise=Skellam(1 / self.epsilon))

    @classmethod
    def for_epsilon(cls, epsilon: float, delta: float, horizon: int, given: dict[str, Any]) -> dict[str, Self]:
        """`certified`: the ε of Gaussian noise, if the sums of the game then cost at most `epsilon`, else by Rényi."""
        from scipy.optimize import brentq

        setting, least, most = Setting(horizon, 2), 1e-9, min(1e9, gaussian.mu_of(epsilon, delta))
        found = cls.model_validate({"epsilon": most, "delta": delta, **given})
        promised = found.tuned(setting).guarantee(setting, delta)
        if promised is not None and promised.epsilon <= epsilon:
            return {"certified": found}

        def excess(own: float) -> float:
            return spent(own, found.s, delta) - epsilon

        if excess(least) > 0:
            return {}
        own = float(brentq(excess, least, most, xtol=1e-15, rtol=1e-12))
        return {"certified": found.model_copy(update={"epsilon": own})}

    def state(self, setting: Setting) -> Records:
        log, s = math.log(2 * setting.horizon), self.s
        sigma, h = (2 + math.sqrt(2) / s) / self.epsilon, 1 / (s * self.epsilon)
        return self.batches(setting, s * self.epsilon, sigma, h, 2 * math.sqrt(log), math.sqrt(2) * log)

    def mechanism(self) -> str:
        return "Skellam noise on the sum of each batch, drawn by its users"

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """Batches and arms are disjoint: a gain moves one sum, by at most g. Nothing is known at δ = 0."""
        if not 0 < delta < 1:
            return []
        sums, first = self.sums(setting, self.s * self.epsilon, sensitivity), self.first(setting, sensitivity)
        own = spent(self.epsilon, self.s, delta, max(change / g for g, change in sums))
        return [
            Guarantee(own, delta, "Rényi divergence of Skellam noise, converted", "proved", view=SEEN),
            *summed(Skellam(1 / self.epsilon), sums, first, delta, "a gain is in one noisy sum", SEEN),
        ]


def divergence(alpha: Floats, epsilon: float, s: float, share: float = 1.0) -> Floats:
    """A bound on the Rényi divergence of order α >= 1 of sums that differ by at most `share` times g.

    The theorem is for whole orders. The divergence grows with its order, so that of the next whole order is a bound.

    One copy of the paper in circulation has 3ε²/(2s) as the second term of the minimum. The theorem on Skellam noise
    gives 3Δ/(2V) = 3ε²/(2g), which is at most 3ε/(2s) because g >= s ε.
    """
    order = np.maximum(2.0, np.ceil(alpha))
    change = share * epsilon
    fine = (2 * order - 1) * change**2 / (4 * s**2) + 3 * change / (2 * s**3)
    bound: Floats = order * change**2 / 2 + np.minimum(fine, 3 * change / (2 * s))
    return bound


def spent(epsilon: float, s: float, delta: float, share: float = 1.0) -> float:
    """The ε of differential privacy at δ; epsilon: that of the noise."""
    return renyi(lambda alpha: divergence(alpha, epsilon, s, share), delta)


def update(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    if state.left == 1:
        return
    if encode(state, arm, gain, rng.bits):
        decode(state, arm, skellam(rng.bits, 1, state.scale * state.scale))
    if turned(state):
        begin(state)
