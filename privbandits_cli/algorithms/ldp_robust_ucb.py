"""LDP Robust UCB (Zhou & Zhang 2024): every gain is truncated and noised at its source.

The n-th gain of an arm is reported as x 1{|x| <= B} + Lap(2B/ε) with B = (u ε √(n / ln t⁴))^(1/(1+v)). An arm with
n <= 4 ln(t + 1) plays takes precedence; otherwise the arm with the largest
mean report + 4 u^(1/(1+v)) ((1/ε) √(ln t⁴ / n))^(v/(1+v)) is played.
The paper leaves its constants unspecified. The 4 is ours, from truncated means without privacy. The forced plays follow
Ren et al. 2020: a sum of fewer Laplace numbers exceeds a width of order √n too often. Without corruption, the regret is
O((K ln T / ε²)^(v/(2(1+v))) T^((2+v)/(2(1+v)))), which is optimal under local privacy up to the logarithmic factor.
The T^(1/(1+v)) that Tao et al. 2022 print in Theorem 7 is below the lower bound.

`report: bernoulli` (ours) reports ±cB in place of noise, c = (e^ε + 1)/(e^ε - 1), with the mean x 1{|x| <= B}, for
B = (u √(n / ln t⁴) / c)^(1/(1+v)) and the width 4 u^(1/(1+v)) (c √(ln t⁴ / n))^(v/(1+v)); no plays are forced.

If a share `alpha` of the gains may be outliers, B is at most (u/α)^(1/(1+v)), as in `robust_ucb`. If the reports may be
replaced, after their noise, B is at most (u/(αc))^(1/(1+v)): an outlier then moves a mean by αcB instead of αB. So the
mean is displaced by the orders α^q and (α/ε)^q of Zhou & Zhang, q = v/(1+v); the constants are ours. Laplace reports
withstand no such outlier, as a report may have any size.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import Release, bit, noised
from privbandits_cli.algorithms.ldp_ucb import behind
from privbandits_cli.algorithms.robust_ucb import Optimist, leader
from privbandits_cli.games import views
from privbandits_cli.games.bandit import Draws, One, Setting
from privbandits_cli.games.heavy_tails import Factor, sent
from privbandits_cli.numerics.exponential import exponential
from privbandits_cli.numerics.jit import Record, Records
from privbandits_cli.numerics.logarithm import logarithm


class Parameters(Optimist):
    """ε, the moment (v, u), the kind of report, and the scales of the width and of the truncation."""

    read = "paper"
    display = "LDP-Robust-UCB"
    private = True
    local = True
    drawn = ()

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε of each report")
    report: Literal["laplace", "bernoulli"] = Field("laplace", description="how a truncated gain is reported")
    truncation: Factor = Field(1.0, description="gains are truncated at this multiple of B")
    constants: Factor = Field(1.0, description="c, multiplies the 4 of the width")

    def state(self, setting: Setting) -> Records:
        v, u, laplace = self.v, self.u, self.report == "laplace"
        ratio = 1.0 if laplace else 1 / math.tanh(self.epsilon / 2)
        strength = self.epsilon if laplace else 1 / ratio
        foul = setting.contamination
        return self.optimist(
            setting,
            width=4 * self.constants * u ** (1 / (1 + v)) * strength ** (-v / (1 + v)),
            bound=self.truncation * (u * strength) ** (1 / (1 + v)),
            log=math.sqrt(4 * math.log(2.0)),
            factor=ratio if foul is not None and foul.after else 1.0,
            scale=2 / self.epsilon,
            laplace=int(laplace),
            ratio=ratio,  # c
            outlier=self.outlier(setting),
            powers=np.ones(setting.n_arms),  # √n^q, where n is the next play
            due=1.0 if laplace else math.inf,  # see `ldp_ucb`
            forced=0 if laplace else -1,
        )

    def draws(self, setting: Setting) -> dict[str, One]:
        return {"laplace" if self.report == "laplace" else "uniform": One()}

    def errors(self, setting: Setting) -> Iterator[str]:
        yield from super().errors(setting)
        if self.report == "laplace":
            yield from self.without_cut_reports(setting)
        elif self.epsilon > 500:
            yield "report: bernoulli needs an ε of at most 500: give a smaller one, or set report: laplace"

    def mechanism(self) -> str:
        kind = "Laplace noise" if self.report == "laplace" else "randomised response"
        return f"every gain truncated, then {kind}"

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The bound for a report of a number in [-B, B]; lower bound: the test of one report's sign.

        Replaced gains change nothing of this: each report hides whatever gain it is given.
        """
        view, first = "each report, by itself: the privacy is local", reach(self.state(setting)[0], 1, 1.0)
        if self.report == "bernoulli":
            half = setting.v is None  # gains in [0, 1] move a chance from 1/2 to one end, if B <= 1; else less far
            words = "randomised response on a gain cut to [-B, B]"
            found = bit(self.epsilon, 0.5 if half else 1.0, delta, words, "report", view)
            exact = [bound for bound in found if not (bound.lower and half and first > 1)]
            return [replace(bound, neighbours=self.neighbours(setting)) for bound in exact]
        source = "Laplace noise of scale 2B/ε on a gain cut to [-B, B]"
        share = self.share(first, setting, sensitivity)
        one, neighbours = Release("laplace", self.epsilon, fresh=True), self.neighbours(setting)
        return noised(one, delta, source, "report", view, surely=one.part(share), neighbours=neighbours)

    def view(self, setting: Setting) -> views.View | None:
        if self.report == "laplace":
            return views.Noisy("sums", canary)
        return views.Release() if setting.v is None else views.Release(canary=canary)

    def caveats(self, setting: Setting) -> list[str]:
        return [
            "The width's coefficient 4 and the forced plays are ours: the paper gives rates only."
            if self.report == "laplace"
            else "The bits and the width's coefficient 4 are ours: the paper gives rates only.",
            "The minimax rate of Tao et al. 2022, Theorem 7, contradicts a lower bound (Zhou & Zhang 2024): "
            "expect regret of order T^((2+v)/(2(1+v))), not T^(1/(1+v)).",
        ]


def choose(state: Record, rng: Draws) -> int:
    first = leader(state.means, state.rates, state.width * state.grown)
    return int(state.forced if state.forced >= 0 else first)


def power(x: float, q: float) -> float:
    """`robust_ucb.power` for x >= 1, without a jump and without the C library, so that many trials play it at once."""
    root: float = np.sqrt(x) if q == 0.5 else np.divide(1.0, exponential(-q * logarithm(x)))
    return root


def reach(state: Record, n: int, grown: float) -> float:
    """B for the n-th report of an arm: (u ε √(n / ln t⁴))^(1/(1+v)), as 1/(1+v) = 1 - q; grown: √n^q."""
    bound = state.bound * np.divide(np.sqrt(n), grown) * np.divide(state.grown, state.log)
    kept: float = min(bound, state.limit)
    return kept


def report(state: Record, bound: float, gain: float, rng: Draws) -> float:
    """The report of a gain with this B, the only thing that anyone learns of it."""
    kept, end = gain if abs(gain) <= bound else 0.0, state.ratio * bound
    noisy = kept + state.scale * bound * rng.laplace
    bit = end if rng.uniform < 0.5 + 0.5 * np.divide(kept, end) else -end
    clean = noisy if state.laplace > 0 else bit
    return sent(clean, gain, state.outlier if state.laplace > 0 else end)


def released(state: Record, gain: float, rng: Draws) -> float:
    """The report of the gain of this round's arm, for an audit."""
    arm = choose(state, rng)
    return report(state, reach(state, state.plays[arm] + 1, state.powers[arm]), gain, rng)


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
