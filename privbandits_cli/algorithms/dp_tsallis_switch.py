"""DP-Tsallis-Switch: Tsallis-Switch on block losses with Laplace noise. The private version is ours.

The loss of block n is Σ_t (1 - gain_t) + Lap(1/ε). Each gain is in one block, so the algorithm is ε-DP. Blocks and
steps are those of `tsallis_switch`. The learning rate is η_n = 2 √(2/(n ((a_n + 1)² + 2/ε²))), because the mean square
of a noisy block loss is at most (a_n + 1)² + 2/ε². No bound on the regret is proved: a noisy loss may be negative and
has no bound.
"""

import math

from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import Release, noised
from privbandits_cli.algorithms import tsallis_switch
from privbandits_cli.algorithms.tsallis_switch import end, ends
from privbandits_cli.games import views
from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.numerics.jit import Record, Records


class Parameters(tsallis_switch.Blocks):
    """ε and λ."""

    read = "secondary"
    display = "DP-Tsallis-Switch"
    private = True
    drawn = ("uniform", "laplace")

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε")

    def state(self, setting: Setting) -> Records:
        return self.first(setting, scale=1 / self.epsilon)

    def mechanism(self) -> str:
        return "Laplace noise on the loss of each block"

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy("losses")

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """Blocks are disjoint, and the loss of each is noised once; lower bound: the test of a noisy loss's sign."""
        source, view = "a gain is in one noisy block loss", "all noisy block losses, and so all arms played"
        share = float(self.state(setting)[0].length <= math.floor(setting.horizon))
        one = Release("laplace", self.epsilon * sensitivity)
        return noised(one, delta, source, "noisy block loss", view, surely=one.part(share))


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    if ends(state, gain):
        end(state, arm, state.scale * rng.laplace)
