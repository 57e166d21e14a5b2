"""Fully oblivious adversary (Tossou & Dimitrakakis 2017, section 4; Audibert & Bubeck 2010).

In every round each arm draws a number p, uniform in [0.5, 0.5 + 2 spread] for arm 1, the best, and uniform in
[0.5 - spread, 0.5 + spread] for the others, and then its gain from Bern(p). Because p is never observed and never used
again, the gains are independent with means 0.5 + spread and 0.5. They are drawn from this law directly; it is also the
law of the stochastic adversary.
"""

from pydantic import Field

from privbandits_cli.adversaries.stochastic import Coins, one_better
from privbandits_cli.games.bandit import Floats, Setting


class Parameters(Coins):
    """Half the width of p's interval."""

    display = "Fully oblivious"

    spread: float = Field(0.05, ge=0, le=0.25, description="the paper's ε: half the width of p's interval")

    def coins(self, setting: Setting) -> Floats:
        return one_better(setting.n_arms, 0.5 + self.spread, 0.5)
