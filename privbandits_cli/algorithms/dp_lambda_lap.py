"""DP-Λ-Lap: Laplace noise around any base algorithm Λ (Tossou & Dimitrakakis 2017, section 3.1).

The learner sees g' = g + Lap(1/ε). If g' falls in [-b, b + 1], the base is fed (g' + b) / (2b + 1), which lies
in [0, 1]; otherwise the round is ignored. The scaling comes before the update, as in Algorithm 1.
Each gain is used once, under fresh noise, and all else is post-processing: ε-DP (Theorem 3.2).
"""

import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.jit import Record, Records, record, unbound

base_choose: Any = unbound
base_update: Any = unbound
base_probabilities: Any = unbound


def corollary_3_2_epsilon(setting: Setting) -> float:
    """ε of EXP3-τ in Corollary 3.2, 28 K ln K + √(112 K ln K ln T): the paper's setting in Figure 1."""
    k_ln_k = setting.n_arms * math.log(setting.n_arms)
    return 28 * k_ln_k + math.sqrt(112 * k_ln_k * math.log(setting.horizon))


class Parameters(bandit.Algorithm):
    """The privacy asked for, the acceptance threshold and the base."""

    private = True

    epsilon: Annotated[float, Field(gt=0)] | Literal["corollary_3.2"] = Field(
        description="ε; `corollary_3.2` is the paper's 28 K ln K + √(112 K ln K ln T)"
    )
    b: float | None = Field(None, ge=0, description="accept g' in [-b, b + 1]; default ln T / ε (Corollary 3.1)")
    base: bandit.Algorithm = Field(description="the algorithm Λ that is made private")

    @property
    def title(self) -> str:
        return f"DP-{self.base.title}-Lap"

    def tuned(self, setting: Setting) -> Self:
        epsilon = corollary_3_2_epsilon(setting) if isinstance(self.epsilon, str) else float(self.epsilon)
        b = math.log(setting.horizon) / epsilon if self.b is None else self.b
        return self.model_copy(update={"epsilon": epsilon, "b": b, "base": self.base.tuned(setting)})

    def state(self, setting: Setting) -> Records:
        return record(scale=1 / self._epsilon(), b=self.b, wrapped=self.base.state(setting))

    def draws(self) -> frozenset[str]:
        return self.base.draws() | {"laplace"}

    def faults(self, setting: Setting) -> Iterator[str]:
        if "laplace" in self.base.draws():
            yield f"{self.base.title} draws Laplace noise itself: one layer of noise cannot reuse another's"
        yield from self.base.faults(setting)

    def guarantee(self, setting: Setting) -> Guarantee:
        return Guarantee(self._epsilon(), 0.0, source="Theorem 3.2", status="proved")

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """Theorem 3.1: the base's bound times 2b + 1 (gains in [-b, b + 1]), + 2TK exp(-εb) + √(32T)/ε.

        Corollary 3.1 prints 2b = 2 ln T/ε for the first factor, which drops the 1; so at ε = 243 its bound
        lies below that of EXP3 without noise. Here the factor is 2b + 1. The text's exp(-eb) is exp(-εb).
        """
        base = self.base.regret_bound(rounds, setting, memory)
        if base is None:
            return None
        assert self.b is not None
        epsilon = self._epsilon()
        rejected = 2 * rounds * setting.n_arms * math.exp(-epsilon * self.b) if self.b > 0 else 0.0
        return (2 * self.b + 1) * base + rejected + np.sqrt(32 * rounds) / epsilon

    def _epsilon(self) -> float:
        assert isinstance(self.epsilon, float), "tune the parameters first"
        return self.epsilon


def choose(state: Record, rng: Draws) -> int:
    arm: int = base_choose(state.wrapped, rng)
    return arm


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    noisy = gain + state.scale * rng.laplace
    if -state.b <= noisy <= state.b + 1.0:
        base_update(state.wrapped, arm, (noisy + state.b) / (2.0 * state.b + 1.0), rng)


def probabilities(state: Record, out: Floats) -> None:
    base_probabilities(state.wrapped, out)
