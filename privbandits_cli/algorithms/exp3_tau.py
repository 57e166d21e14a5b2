"""EXP3-τ (Tossou & Dimitrakakis 2017, section 3.2): the mini-batch loop around EXP3.

Corollary 3.2 or 3.3 gives τ, Theorem 3.4 the regret, and Theorem 3.5 the privacy.
"""

import math
from collections.abc import Iterator

from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.algorithms import exp3, mini_batch
from privbandits_cli.algorithms.dp_lambda_lap import corollary_3_2_epsilon
from privbandits_cli.algorithms.mini_batch import corollary_3_2, corollary_3_3_printed
from privbandits_cli.games.bandit import Setting


class Parameters(mini_batch.Parameters):
    """The length of a block; EXP3's own parameters are under `base`."""

    read = "paper"
    display = "EXP3-τ"
    private = True

    base: exp3.Parameters = Field(exp3.Parameters(), description="EXP3 and its γ")

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The paper's printed bounds, then EXP3's bounds for averages."""
        return [*self._printed(setting, delta), *super().bounds(setting, delta, sensitivity)]

    def _printed(self, setting: Setting, delta: float) -> Iterator[Guarantee]:
        """Theorem 3.5 for every τ; the corollaries for the τ that they name, whether a rule or the user chose it."""
        yield Guarantee(theorem_3_5(setting, self.tau, delta), delta, "Theorem 3.5", "paper")
        if self.tau == corollary_3_2(setting) and math.isclose(delta, setting.horizon**-2.0):
            yield Guarantee(corollary_3_2_epsilon(setting), delta, "Corollary 3.2, τ not rounded", "paper")
        if self.epsilon is None or self.delta != delta:
            return
        if self.tau == corollary_3_3_printed(self.epsilon, delta, setting):
            yield Guarantee(self.epsilon, delta, "Corollary 3.3, as printed", "paper")

    def caveats(self, setting: Setting) -> list[str]:
        return [
            f"τ = {self.tau}; the paper's rules are rounded up, because rounding down costs privacy.",
            "The proof of Theorem 3.5 prints 2T/τ for the loss per draw 2/τ, and ε0 for e^ε0 - 1; as an upper bound "
            "the theorem holds. Corollary 3.3's printed τ does not reach its ε under Theorem 3.5.",
        ]


def theorem_3_5(setting: Setting, tau: int, delta: float) -> float:
    """4T/τ³ + √(8 ln(1/δ) T/τ³): the paper's ε of EXP3-τ at δ, in nats."""
    x = setting.horizon / tau**3
    return 4 * x + math.sqrt(-8 * math.log(delta) * x)
