"""DP Robust Successive Elimination (Tao, Wu, Zhao & Wang 2022, Algorithm 3): noise on the mean of each epoch.

Like `robust_se`, with L/ε in place of L and Lap(2B/(Rε)) on each arm's mean: R = ⌈u^(1/v) 24^((1+v)/v) L /
(ε D^((1+v)/v)) + 1⌉, B = (u R ε/L)^(1/(1+v)), err = u^(1/(1+v)) (L/(R ε))^(v/(1+v)).
Each gain is in one epoch of one arm, so the algorithm is ε-DP (Theorem 3).
"""

from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import Release, noised
from privbandits_cli.games import views
from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.mechanisms.elimination import Truncating, begin, canary, cut, pulled, reaches_a_mean
from privbandits_cli.numerics.jit import Record, Records


class Parameters(Truncating):
    """ε, the moment (v, u), the confidence β, and the scale of the width."""

    read = "paper"
    display = "DP-Robust-SE"
    private = True
    drawn = ("laplace",)

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε")

    def state(self, setting: Setting) -> Records:
        return self.opening(setting, self.epsilon)

    def mechanism(self) -> str:
        return "Laplace noise on the mean of each epoch"

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy("means", canary)

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The bound of Theorem 3; lower bound: the test of the sign of one noisy mean."""
        source, view = "Theorem 3: a gain is in one noisy mean", "all noisy means, and so all arms played"
        state = self.state(setting)[0]
        share = self.share(state.bound, setting, sensitivity) if reaches_a_mean(state, setting) else 0.0
        one, neighbours = Release("laplace", self.epsilon), self.neighbours(setting)
        return noised(one, delta, source, "noisy mean", view, surely=one.part(share), neighbours=neighbours)


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    noise = 2.0 * state.bound / (state.cycles * state.epsilon) * rng.laplace  # Lap(2B/(Rε))
    if state.left > 1 and pulled(state, arm, cut(state, gain), noise):
        begin(state)
