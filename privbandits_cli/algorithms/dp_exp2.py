"""DP-EXP2 (Agarwal & Singh 2017, Theorem 4.1): EXP2 on gains with Laplace noise of scale λ = 1/ε, and no other change.

`tuning` determines η and γ; logarithms are natural.

`variance`: η = √(ln K / (KT (2λ + ⅔(1 + 2λ²)))), γ = 2ηKλ. A noisy loss has the second moment l² + 2λ². With this γ,
EXP2's bound under noise is γT + ln K / η + ⅔ηKT (1 + 2λ²), and this η minimises it. The regret is at most
2√(KT ln K (2λ + ⅔(1 + 2λ²))): the rare large values of the noise do not cost a factor log T.

`proof`: η = √(ln K / (2KT (1 + 2λ² ln² KT))), γ = min(½, ηK (1 + 4λ ln KT)), which the proof of the theorem needs.

`printed`: as the theorem prints it, with ln for ln² and γ = ηK √(1 + 2λ² ln KT), which is less than its proof needs.

The regret bound here holds for all three, because it only needs γ >= 2ηKλ.
"""

import math
from typing import ClassVar, Literal, Self

from pydantic import Field

from privbandits_cli.algorithms import dp_reduction, exp2
from privbandits_cli.games.bandit import Setting


class Parameters(dp_reduction.Parameters):
    """ε, and how EXP2 is tuned for the noise; EXP2's own parameters are under `base`."""

    read = "paper"
    display = "DP-EXP2"
    calibrations: ClassVar = {"certified": {}, "paper": {"tuning": "printed"}}

    tuning: Literal["variance", "proof", "printed"] = Field(
        "variance",
        description="η and γ from the noise's variance, as the theorem's proof needs, or as printed",
    )
    base: exp2.Parameters = Field(exp2.Parameters(), description="EXP2; η and γ given here override the tuning")

    def tuned(self, setting: Setting) -> Self:
        eta, gamma = self._rates(setting)
        given = {"eta": self.base.eta or eta, "gamma": gamma if self.base.gamma is None else self.base.gamma}
        return self.model_copy(update={"base": self.base.replace(**given)})

    def _rates(self, setting: Setting) -> tuple[float, float]:
        """(η, γ) by `tuning`; for a μ that is not uniform, 1/min μ replaces K where exploration enters."""
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

    def caveats(self, setting: Setting) -> list[str]:
        return [
            *super().caveats(setting),
            "Theorem 4.1 prints ln KT where its proof has ln² KT, in η and in the regret, and a γ that is smaller than "
            "the proof's ηK (1 + 4λ ln KT): `tuning: proof` has the values that the proof needs.",
        ]
