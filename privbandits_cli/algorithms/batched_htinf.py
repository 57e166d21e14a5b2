"""Batched HTINF (Asi, Raman & Talwar 2025): blocks of τ = ⌈1/ε⌉ rounds, noise on their means, HTINF at α = 2.

One arm is played for a block, and HTINF is fed the mean of its losses with Laplace noise of scale 1/(ετ): a gain moves
one mean by at most 1/τ, so that is ε-DP. At ε >= 1 it is noise on every gain. Regret O(√(KT/ε) + 1/ε), below the
√(KT)/ε of noise on every gain as soon as ε < 1.

The wrappers `mini_batch` and `dp_reduction` around `htinf`. Read in an abstract and notes: the regret, τ, the noise, α
and σ = √6, which is the second moment 2 (1 + 2) of loss and noise bounded one by one. Together they have 1 + 2.
"""

import math
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.algorithms import dp_reduction, htinf, mini_batch
from privbandits_cli.algorithms.mini_batch import choose, probabilities, released, update
from privbandits_cli.games import bandit, views
from privbandits_cli.games.bandit import Floats, Setting
from privbandits_cli.numerics.jit import Records

__all__ = ["Parameters", "choose", "probabilities", "released", "update"]


class Parameters(bandit.Algorithm):
    """The privacy asked for, and HTINF's σ."""

    display = "Batched HTINF"
    private = True

    epsilon: Annotated[float, Field(ge=1e-9)] = Field(description="ε; a block has τ = ⌈1/ε⌉ rounds")
    sigma: float = Field(math.sqrt(6), gt=0, description="σ of HTINF, E l² <= σ² of the noisy means; √3 would do")

    @property
    def tau(self) -> int:
        """τ, rounds in a block."""
        return max(1, math.ceil(1 / self.epsilon))

    @property
    def base(self) -> dp_reduction.Parameters:
        """What sees the means: a gain moves them by 1/τ only, so ετ of a mean is ε of a gain."""
        return dp_reduction.Parameters(epsilon=self.epsilon * self.tau, base=htinf.Parameters(sigma=self.sigma))

    def blocks(self) -> mini_batch.Tuned:
        """All of it."""
        return mini_batch.Tuned(tau=self.tau, base=self.base)

    def state(self, setting: Setting) -> Records:
        return self.blocks().state(setting)

    def periods(self) -> dict[str, int]:
        return self.blocks().periods()

    def errors(self, setting: Setting) -> Iterator[str]:
        yield from self.blocks().errors(setting)

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The noise's on the means, which one round changes by at most 1/τ."""
        return self.blocks().bounds(setting, delta, sensitivity)

    def mechanism(self) -> str:
        return self.blocks().mechanism() if self.tau > 1 else self.base.mechanism()

    def view(self, setting: Setting) -> views.View | None:
        return self.blocks().view(setting)

    def caveats(self, setting: Setting) -> list[str]:
        return [
            "HTINF is written from memory, its paper not at hand; the regret bound is derived here, not the paper's.",
        ]

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """Blocks of HTINF under noise of scale 1/(ετ): τ times its bound on t/τ rounds, + t m/τ + τ, for m < τ."""
        return self.blocks().regret_bound(rounds, setting, memory)
