"""DP-EXP2 (Agarwal & Singh 2017, Theorem 4.1): Laplace noise of scale λ = 1/ε, and nothing else, before EXP2.

η and γ by `tuning`, logarithms natural:

`variance`: η = √(ln K / (KT (2λ + ⅔(1 + 2λ²)))), γ = 2ηKλ. A noisy loss has the second moment l² + 2λ², and with
this γ that is all that EXP2's bound under noise counts, γT + ln K / η + ⅔ηKT (1 + 2λ²); this η makes it least. The
regret is at most 2√(KT ln K (2λ + ⅔(1 + 2λ²))): no log T is paid for noise that is rarely large.

`proof`: η = √(ln K / (2KT (1 + 2λ² ln² KT))), γ = min(½, ηK (1 + 4λ ln KT)), what the proof of the theorem needs.

`printed`: the theorem's own, ln for ln² and γ = ηK √(1 + 2λ² ln KT), which is less than its proof needs.

All three have a bound on their regret here: that under noise asks for γ >= 2ηKλ only.
"""

import math
from typing import Any, Literal, Self

from pydantic import Field

from privbandits_cli.algorithms import dp_reduction, exp2
from privbandits_cli.algorithms.dp_reduction import choose, probabilities, released, update
from privbandits_cli.games.bandit import Setting

__all__ = ["Parameters", "choose", "probabilities", "released", "update"]


class Parameters(dp_reduction.Parameters):
    """The privacy asked for, and how EXP2 is tuned for its noise; EXP2's own parameters under `base`."""

    display = "DP-EXP2"

    tuning: Literal["variance", "proof", "printed"] = Field(
        "variance", description="η and γ by the noise's variance, by what the theorem's proof needs, or as printed"
    )
    base: exp2.Parameters = Field(exp2.Parameters(), description="EXP2; η and γ given here go before the tuning")

    def tuned(self, setting: Setting) -> Self:
        eta, gamma = self._rates(setting)
        given = {"eta": self.base.eta or eta, "gamma": gamma if self.base.gamma is None else self.base.gamma}
        return self.model_copy(update={"base": exp2.Tuned(**dict(self.base) | given)})

    def _rates(self, setting: Setting) -> tuple[float, float]:
        """(η, γ) by the tuning; with another μ than the uniform one 1/min μ stands for K where arms are explored."""
        scale = self.scale()
        horizon, n_arms = setting.horizon, setting.n_arms
        log_k, log_kt = math.log(n_arms), math.log(n_arms * horizon)
        explored = 1 / float(self.base.shares(setting).min())
        if self.tuning == "variance":
            eta = math.sqrt(log_k / (horizon * (2 * scale * explored + 2 / 3 * n_arms * (1 + 2 * scale**2))))
            return eta, min(1.0, 2 * eta * scale * explored)
        if self.tuning == "proof":
            eta = math.sqrt(log_k / (2 * n_arms * horizon * (1 + 2 * (scale * log_kt) ** 2)))
            return eta, min(0.5, eta * explored * (1 + 4 * scale * log_kt))
        noisy = 1 + 2 * scale**2 * log_kt
        eta = math.sqrt(log_k / (2 * n_arms * horizon * noisy))
        return eta, min(1.0, eta * explored * math.sqrt(noisy))

    @classmethod
    def for_epsilon(cls, epsilon: float, delta: float, given: dict[str, Any]) -> dict[str, Self]:
        return {"certified": cls(epsilon=epsilon, **given), "paper": cls(epsilon=epsilon, tuning="printed", **given)}

    def caveats(self, setting: Setting) -> list[str]:
        return [
            *super().caveats(setting),
            "Theorem 4.1 prints ln KT where its proof has ln² KT, in η and in the regret, and a γ that does not reach "
            "the proof's ηK (1 + 4λ ln KT): `tuning: proof` is what was proved.",
        ]
