"""LDP Robust Successive Elimination (Tao, Wu, Zhao & Wang 2022, Algorithm 4): noise on every report.

Like `robust_se`, but every gain is reported as x 1{|x| <= B} + Lap(2B/ε), with D = 4^-τ, L = ln(8 |S| τ²/β), threshold
14 err, R = ⌈u^(2/v) 28^(2(1+v)/v) L / (ε² D^(2(1+v)/v)) + L⌉, B = (u √R ε/√L)^(1/(1+v)) and
err = u^(1/(1+v)) (√L / (√R ε))^(v/(1+v)), so that 28 err = D up to rounding.
The paper prints R for √R in err (`err: printed`). Arms would then be dropped at a fraction of the width that the noise
requires. `epochs: 2` has D = 2^-τ.

`alpha` withstands gains that were replaced before the users' noise. A report that is replaced after it may have any
size, and nothing here cuts reports: `ldp_robust_ucb` with bits withstands it.
"""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import Release, noised
from privbandits_cli.games import views
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.games.heavy_tails import sent
from privbandits_cli.mechanisms.elimination import Truncating, begin, canary, cut, pulled
from privbandits_cli.numerics.jit import Record, Records


class Parameters(Truncating):
    """ε, the moment (v, u), the confidence β, how fast the width shrinks, and the scale of the width."""

    read = "paper"
    display = "LDP-Robust-SE"
    private = True
    local = True
    width = 28.0
    power = 2
    pairs = 8.0
    drawn = ("laplace",)

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε of each report")
    err: Literal["corrected", "printed"] = Field("corrected", description="√R, or the printed R, in the width")
    epochs: Literal[4, 2] = Field(4, description="D = 4^-τ or 2^-τ")

    def state(self, setting: Setting) -> Records:
        return self.opening(setting, self.epsilon, float(self.epochs), self.err == "printed")

    def errors(self, setting: Setting) -> Iterator[str]:
        yield from super().errors(setting)
        yield from self.without_cut_reports(setting)

    def mechanism(self) -> str:
        return "every gain truncated, then Laplace noise"

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy(reported, canary)

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The bound of Theorem 6; lower bound: the test of the sign of one report."""
        source = "Theorem 6: Laplace noise of scale 2B/ε on [-B, B]"
        view = "each report, by itself: the privacy is local"
        share = self.share(self.state(setting)[0].bound, setting, sensitivity)
        one, neighbours = Release("laplace", self.epsilon, fresh=True), self.neighbours(setting)
        return noised(one, delta, source, "report", view, surely=one.part(share), neighbours=neighbours)

    def caveats(self, setting: Setting) -> list[str]:
        found = super().caveats(setting)
        if self.err == "printed":
            found.append("The printed err has R for √R: the width is far below the noise, and good arms are dropped.")
        found.append(
            "A lower bound contradicts Theorem 7 (Zhou & Zhang 2024), and Algorithm 4 does not attain its rate: "
            "an arm takes ln T/ε² Δ^(-2(1+v)/v) plays, so the regret is of order T^((2+v)/(2(1+v)))."
        )
        return found


def reported(state: Record) -> Floats:
    """For each arm, the sum of its reports in this epoch plus its last mean, which has the last report of an epoch."""
    values: Floats = state.sums + state.means
    return values


def report(state: Record, gain: float, rng: Draws) -> float:
    """The report of a gain, the only thing that anyone learns of it."""
    noisy: float = cut(state, gain) + 2.0 * state.bound / state.epsilon * rng.laplace
    return sent(noisy, gain, state.outlier)


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    if state.left > 1 and pulled(state, arm, report(state, gain, rng), 0.0):
        begin(state)
