"""LDP Robust UCB (Zhou & Zhang 2024, without corruption): every gain is truncated and noised at its source.

The n-th gain of an arm is reported as x 1{|x| <= B} + Lap(2B/ε) with B = (u ε √(n / ln t⁴))^(1/(1+v)). An arm with
n <= 4 ln(t + 1) plays takes precedence; otherwise the arm with the largest
mean report + 4 u^(1/(1+v)) ((1/ε) √(ln t⁴ / n))^(v/(1+v)) is played.
The paper leaves its constants unspecified. The 4 is ours, from truncated means without privacy. The forced plays follow
Ren et al. 2020: a sum of fewer Laplace numbers exceeds a width of order √n too often. The regret is
O((K ln T / ε²)^(v/(2(1+v))) T^((2+v)/(2(1+v)))), which is optimal under local privacy up to the logarithmic factor.
The T^(1/(1+v)) that Tao et al. 2022 print in Theorem 7 is below the lower bound.
"""

import math

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import Release, noised
from privbandits_cli.algorithms.ldp_ucb import behind
from privbandits_cli.algorithms.robust_ucb import Optimist, leader
from privbandits_cli.games import views
from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.games.heavy_tails import Factor
from privbandits_cli.numerics.exponential import exponential
from privbandits_cli.numerics.jit import Record, Records
from privbandits_cli.numerics.logarithm import logarithm


class Parameters(Optimist):
    """ε, the moment (v, u), and the scales of the width and of the truncation."""

    read = "paper"
    display = "LDP-Robust-UCB"
    private = True
    local = True
    drawn = ("laplace",)

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε of each report")
    truncation: Factor = Field(1.0, description="gains are truncated at this multiple of B")
    constants: Factor = Field(1.0, description="c, multiplies the 4 of the width")

    def state(self, setting: Setting) -> Records:
        v, u = self.v, self.u
        return self.optimist(
            setting,
            width=4 * self.constants * u ** (1 / (1 + v)) * self.epsilon ** (-v / (1 + v)),
            bound=self.truncation * (u * self.epsilon) ** (1 / (1 + v)),
            log=math.sqrt(4 * math.log(2.0)),
            scale=2 / self.epsilon,
            powers=np.ones(setting.n_arms),  # √n^q, where n is the next play
            due=1.0,
            forced=0,
        )

    def mechanism(self) -> str:
        return "every gain truncated, then Laplace noise"

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The bound for Laplace noise on a number in [-B, B]; lower bound: the test of one report's sign."""
        source = "Laplace noise of scale 2B/ε on a gain cut to [-B, B]"
        view = "each report, by itself: the privacy is local"
        share = self.share(reach(self.state(setting)[0], 1, 1.0), setting, sensitivity)
        one, neighbours = Release("laplace", self.epsilon, fresh=True), self.neighbours(setting)
        return noised(one, delta, source, "report", view, surely=one.part(share), neighbours=neighbours)

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy("sums", canary)

    def caveats(self, setting: Setting) -> list[str]:
        return [
            "The width's coefficient 4 and the forced plays are ours: the paper gives rates only.",
            "The minimax rate of Tao et al. 2022, Theorem 7, contradicts a lower bound (Zhou & Zhang 2024): "
            "expect regret of order T^((2+v)/(2(1+v))), not T^(1/(1+v)).",
        ]


def choose(state: Record, rng: Draws) -> int:
    first = leader(state.means, state.rates, state.width * state.grown)
    arm: int = state.forced if state.forced >= 0 else first
    return arm


def power(x: float, q: float) -> float:
    """`robust_ucb.power` for x >= 1, without a jump and without the C library, so that many trials play it at once."""
    root: float = np.sqrt(x) if q == 0.5 else np.divide(1.0, exponential(-q * logarithm(x)))
    return root


def reach(state: Record, n: int, grown: float) -> float:
    """B for the n-th report of an arm: (u ε √(n / ln t⁴))^(1/(1+v)), as 1/(1+v) = 1 - q; grown: √n^q."""
    bound: float = state.bound * np.divide(np.sqrt(n), grown) * np.divide(state.grown, state.log)
    return bound


def report(state: Record, bound: float, gain: float, rng: Draws) -> float:
    """The report of a gain with this B, the only thing that anyone learns of it."""
    noisy: float = (gain if abs(gain) <= bound else 0.0) + state.scale * bound * rng.laplace
    return noisy


def canary(state: Record) -> tuple[float, float]:
    """(-B, B): the contribution of a gain to the next report lies between these."""
    arm = choose(state, Draws(0.0, 0.0))
    bound = reach(state, state.plays[arm] + 1, state.powers[arm])
    return -bound, bound


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    n = state.plays[arm] + 1
    state.plays[arm] = n
    state.sums[arm] += report(state, reach(state, n, state.powers[arm]), gain, rng)
    state.means[arm] = state.sums[arm] / n
    state.rates[arm] = 1.0 / state.powers[arm]
    state.powers[arm] = power(np.sqrt(n + 1), state.q)
    state.t += 1
    state.log = np.sqrt(4.0 * logarithm(float(state.t)))  # √ln t⁴
    state.grown = power(state.log, state.q)
    state.forced = behind(state)
