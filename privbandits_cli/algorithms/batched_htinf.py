"""Batched HTINF (Asi, Raman & Talwar 2025): HTINF at α = 2 on noisy means of blocks of τ = ⌈1/ε⌉ rounds.

One arm is played throughout a block. HTINF then receives the mean of the block's losses with Laplace noise of scale
1/(ετ). A gain changes one mean by at most 1/τ, so the algorithm is ε-DP. At ε >= 1 blocks have one round, and every
gain gets its own noise. The regret is O(√(KT/ε) + 1/ε), which is below the √(KT)/ε of noise on every gain once ε < 1.

This file combines the wrappers `mini_batch` and `dp_reduction` around `htinf`. The regret, τ, the noise, α and σ = √6
come from an abstract and notes. σ² = 6 is the second moment 2 (1 + 2) when loss and noise are bounded separately;
bounded together they have 1 + 2.
"""

import math
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.algorithms import dp_reduction, htinf, mini_batch
from privbandits_cli.algorithms.mini_batch import choose, probabilities, released, update
from privbandits_cli.games import bandit, views
from privbandits_cli.games.bandit import Floats, One, Setting
from privbandits_cli.games.parameters import Size
from privbandits_cli.numerics.jit import Records

__all__ = ["Parameters", "choose", "probabilities", "released", "update"]


class Parameters(bandit.Algorithm):
    """ε, and HTINF's σ."""

    read = "secondary"
    display = "Batched HTINF"
    private = True
    drawn = ()

    epsilon: Annotated[float, Field(ge=1e-9)] = Field(description="ε; a block has τ = ⌈1/ε⌉ rounds")
    sigma: Size = Field(math.sqrt(6), description="σ of HTINF, E l² <= σ² for the noisy means; √3 would suffice")

    @property
    def tau(self) -> int:
        """τ, rounds in a block."""
        return max(1, math.ceil(1 / self.epsilon))

    @property
    def base(self) -> dp_reduction.Parameters:
        """The learner on the means. A gain changes a mean by at most 1/τ, so noise for ετ per mean gives ε per gain."""
        return dp_reduction.Parameters(epsilon=self.epsilon * self.tau, base=htinf.Parameters(sigma=self.sigma))

    def blocks(self) -> mini_batch.Parameters:
        """The composition of the wrappers and HTINF."""
        return mini_batch.Parameters(tau=self.tau, base=self.base)

    def state(self, setting: Setting) -> Records:
        return self.blocks().state(setting)

    def draws(self, setting: Setting) -> dict[str, int | One]:
        return self.blocks().draws(setting)

    def caveats(self, setting: Setting) -> list[str]:
        return ["HTINF is written from memory, without its paper; the regret bound is our own derivation."]

    def errors(self, setting: Setting) -> Iterator[str]:
        yield from self.blocks().errors(setting)

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The bounds for the noise on the means; one round changes a mean by at most 1/τ."""
        return self.blocks().bounds(setting, delta, sensitivity)

    def mechanism(self) -> str:
        return self.blocks().mechanism() if self.tau > 1 else self.base.mechanism()

    def view(self, setting: Setting) -> views.View | None:
        return self.blocks().view(setting)

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """τ times HTINF's bound on t/τ rounds under noise of scale 1/(ετ), + t m/τ + τ, for m < τ."""
        return self.blocks().regret_bound(rounds, setting, memory)
