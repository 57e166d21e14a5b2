"""EXP3-τ (Tossou & Dimitrakakis 2017, section 3.2): the mini-batch loop around EXP3.

τ by Corollary 3.2 or 3.3, regret by Theorem 3.4, privacy by Theorem 3.5.
"""

import math

from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.algorithms import exp3, mini_batch
from privbandits_cli.algorithms.mini_batch import choose, probabilities, update
from privbandits_cli.games.bandit import Setting

__all__ = ["Parameters", "choose", "probabilities", "update"]


class Parameters(mini_batch.Parameters):
    """The length of a block; EXP3's own parameters under `base`."""

    display = "EXP3-τ"
    private = True

    base: exp3.Parameters = Field(exp3.Parameters(), description="EXP3 and its γ")

    def guarantee(self, setting: Setting) -> Guarantee:
        """Theorem 3.5: 4T/τ³ + √(8 ln(1/δ) T/τ³). T/τ³ stands under the root, as Corollary 3.2 needs it."""
        assert isinstance(self.tau, int) and self.delta is not None
        x = setting.horizon / self.tau**3
        epsilon = 4 * x + math.sqrt(8 * math.log(1 / self.delta) * x)
        return Guarantee(epsilon, self.delta, source="Theorem 3.5", status="paper")
