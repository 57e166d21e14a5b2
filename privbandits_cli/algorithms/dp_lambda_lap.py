"""DP-Λ-Lap: Laplace noise around any base algorithm Λ (Tossou & Dimitrakakis 2017, section 3.1).

The learner sees g' = g + Lap(1/ε). If g' lies in [-b, b + 1], the base receives (g' + b) / (2b + 1), which lies in
[0, 1]; otherwise the round is ignored. The scaling precedes the update, as in Algorithm 1. Each gain is used once, with
fresh noise, and everything else is post-processing, so the algorithm is ε-DP (Theorem 3.2).
"""

import math
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from privbandits_cli.algorithms.dp_reduction import NoisyGains, released
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.games.parameters import Or, left_out
from privbandits_cli.numerics.jit import Record, Records, record, unbound

base_update: Any = unbound


def corollary_3_2_epsilon(setting: Setting) -> float:
    """ε of EXP3-τ in Corollary 3.2, 28 K ln K + √(112 K ln K ln T), which Figure 1 of the paper uses."""
    k_ln_k = setting.n_arms * math.log(setting.n_arms)
    return 28 * k_ln_k + math.sqrt(112 * k_ln_k * math.log(setting.horizon))


class Parameters(NoisyGains):
    """ε, the acceptance threshold b and the base."""

    read = "paper"
    display = "DP-{base}-Lap"
    theorem = "Theorem 3.2"
    calibrations: ClassVar = {"certified": {"b": "least_bound"}, "paper": {}}

    epsilon: Annotated[float, Field(ge=1e-9), Or(Literal["corollary_3.2"])] = Field(
        description="ε; `corollary_3.2` is the paper's 28 K ln K + √(112 K ln K ln T)"
    )
    b: Annotated[float, Field(ge=0, le=1e12), Or(Literal["least_bound"])] = left_out(
        "accept g' in [-b, b + 1]; default ln T / ε (Corollary 3.1); `least_bound`: Theorem 3.1's best"
    )

    def tuned(self, setting: Setting) -> Self:
        epsilon = corollary_3_2_epsilon(setting) if isinstance(self.epsilon, str) else self.epsilon
        base = self.base.tuned(setting)
        b = self.b
        if b is None:
            b = max(0.0, math.log(setting.horizon) / epsilon)  # blocks may be longer than the game: T < 1
        elif isinstance(b, str):  # least_bound
            # (2b + 1) R + 2TK exp(-εb), Theorem 3.1, is least where exp(-εb) = R/(TKε)
            bound = base.regret_bound(np.array([float(setting.horizon)]), setting)
            least = setting.horizon if bound is None else float(bound[0])
            gained = setting.horizon * setting.n_arms * min(epsilon, 1e200)  # b is 0 for a larger ε
            b = max(0.0, math.log(gained / least) / epsilon)
        return self.replace(epsilon=epsilon, b=float(b), base=base)

    def state(self, setting: Setting) -> Records:
        return record(scale=self.scale(), b=self.b, shrink=1 / (2 * self.b + 1), wrapped=self.base.state(setting))

    def caveats(self, setting: Setting) -> list[str]:
        scale = self.scale()
        return [
            f"The Laplace noise has scale {scale:.4g} on gains in [0, 1], b = {self.b:.4g}"
            + (": hardly any noise." if scale < 0.05 else "."),
            "Corollary 3.1 prints 2b for 2b + 1: at large ε its regret bound is smaller than the base's own.",
        ]

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """Theorem 3.1: the base's bound times 2b + 1 (gains in [-b, b + 1]), + 2TK exp(-εb) + √(32T)/ε.

        Corollary 3.1 prints 2b = 2 ln T/ε for the factor 2b + 1. At ε = 243 its bound is therefore smaller than that of
        EXP3 without noise. We read the text's exp(-eb) as exp(-εb).
        """
        base = self.base.regret_bound(rounds, setting, memory)
        if base is None:
            return None
        epsilon, b = self.epsilon, self.b
        rejected = 0.0 if math.isinf(epsilon) else 2 * rounds * setting.n_arms * math.exp(-epsilon * b)
        return (2 * b + 1) * base + rejected + np.sqrt(32 * rounds) / epsilon


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    noisy = released(state, gain, rng)
    if -state.b <= noisy <= state.b + 1.0:
        base_update(state.wrapped, arm, (noisy + state.b) * state.shrink, rng)
