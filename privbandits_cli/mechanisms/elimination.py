"""Successive elimination: the arms that remain, S, are played in turn, and those that fall behind leave.

In an epoch each arm of S is played R times, and its mean is that of these R gains alone. At the end of the epoch, the
arms whose mean is more than a threshold below the largest leave S. The last arm is played for ever. An algorithm's
file begins an epoch: it sets R, `cycles`, and the threshold. Its `update` says where the noise is. Without privacy
there is none, `pulled(state, arm, gain, 0.0)`. In the central model the mean of an epoch has noise, `pulled(state, arm,
gain, noise)`. In the local model every report has noise, `pulled(state, arm, report, 0.0)`.
"""

import math
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field

from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Draws, Floats, Setting
from privbandits_cli.games.heavy_tails import Factor, Robust
from privbandits_cli.games.parameters import Chance, left_out
from privbandits_cli.numerics.jit import Record, Records, record


class Eliminating(bandit.Algorithm):
    """A learner that plays the arms of S in turn; `choose` is its step."""


def contest(n_arms: int) -> dict[str, Any]:
    """The fields of a state for `choose` and `pulled`."""
    return {
        "arms": np.arange(n_arms),  # the first `left` are S
        "left": n_arms,
        "place": 0,  # the place of the next arm in `arms`
        "cycle": 0,  # completed plays of each arm in this epoch, ...
        "cycles": 0,  # ... out of R
        "epoch": 0,
        "sums": np.zeros(n_arms),
        "means": np.zeros(n_arms),  # the means of the last complete epoch
        "threshold": 0.0,
    }


def reaches_a_mean(state: Record, setting: Setting) -> bool:
    """Whether the game, whose first state this is, lasts until the first arm has its first mean."""
    return bool((float(state.cycles) - 1) * setting.n_arms + 1 <= math.floor(setting.horizon))


def pulled(state: Record, arm: int, x: float, noise: float) -> bool:
    """Add x to an arm's sum; the epoch's last x gives its mean, with this noise. Returns whether the epoch ends."""
    state.sums[arm] += x
    if state.cycle == state.cycles - 1:
        state.means[arm] = state.sums[arm] / state.cycles + noise
        state.sums[arm] = 0.0
    return turned(state)


def turned(state: Record) -> bool:
    """Pass the turn to the next arm; after the last turn of an epoch, eliminate. Returns whether the epoch ends."""
    state.place += 1
    if state.place < state.left:
        return False
    state.place = 0
    state.cycle += 1
    if state.cycle < state.cycles:
        return False
    state.cycle = 0
    eliminate(state)
    return True


def eliminate(state: Record) -> None:
    """Drop the arms that are too far below the best."""
    best = -np.inf
    for i in range(state.left):
        best = max(best, state.means[state.arms[i]])
    kept = 0
    for i in range(state.left):
        if best - state.means[state.arms[i]] <= state.threshold:
            state.arms[kept] = state.arms[i]
            kept += 1
    state.left = kept


def choose(state: Record, rng: Draws) -> int:
    arm: int = state.arms[state.place]
    return arm


def probabilities(state: Record, out: Floats) -> None:
    out[:] = 0.0
    out[state.arms[state.place]] = 1.0


# ------------------------------------------------------------------------------------- truncated gains


class Truncating(Robust, Eliminating):
    """Algorithms 3 and 4 of Tao et al. 2022, on truncated gains.

    The length of an epoch makes `width` times err equal to D = base^-τ. With m = ε (R/L)^(1/power):
    B = (u m)^(1/(1+v)) and err = u^(1/(1+v)) m^(-v/(1+v)). `power` is 1 in the central model and 2 in the local one,
    where the noise decreases like 1/√R.
    """

    drawn: ClassVar[tuple[str, ...]] = ()
    width: ClassVar[float] = 24.0
    power: ClassVar[int] = 1
    pairs: ClassVar[float] = 4.0  # L = ln(pairs |S| τ²/β)

    beta: Chance = left_out("β, failure probability of the confidence; default 1/T")
    constants: Factor = Field(1.0, description="c, which multiplies the coefficient of the width; 1 as printed")

    def tuned(self, setting: Setting) -> Self:
        return super().tuned(setting).replace(beta=self.beta or min(0.5, 1 / setting.horizon))

    def opening(self, setting: Setting, epsilon: float, base: float = 2.0, printed: bool = False) -> Records:
        """The state before round 1, at the start of the first epoch."""
        v, u, n_arms = self.v, self.u, setting.n_arms
        state = record(
            **contest(n_arms),
            bound=0.0,  # B
            log=0.0,  # L
            u=u,
            q=v / (1 + v),
            width=self.width * self.constants,
            power=self.power,
            pairs=self.pairs,
            beta=self.beta,
            halving=base,  # D = halving^-epoch
            epsilon=epsilon,
            printed=int(printed),
        )
        with np.errstate(over="ignore"):  # an epoch without end is cut to 2^62 rounds
            begin(state[0])
        return state

    def first_epoch(self, setting: Setting) -> float:
        """The number of rounds in the first epoch."""
        return float(self.state(setting)[0].cycles) * setting.n_arms

    def caveats(self, setting: Setting) -> list[str]:
        rounds = self.first_epoch(setting)
        return self.remarks(setting) or [f"The first epoch takes {rounds:,.0f} of {setting.horizon:,.0f} rounds."]

    def remarks(self, setting: Setting) -> list[str]:
        rounds = self.first_epoch(setting)
        if rounds <= setting.horizon:
            return []
        return [
            f"The first epoch would take {rounds:.3g} rounds of {setting.horizon:.3g}: it learns nothing. "
            "A smaller `constants` shortens it."
        ]

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """Theorem 4 with its constants, at its worst gaps, for c >= 1 and ε <= 1.

        An arm with gap Δ leaves S by the end of the first epoch with D < Δ, the τ-th, where τ <= 1 + ln(1/Δ)/ln base
        and D >= min(Δ, 1)/base. Up to rounding, R at least quadruples with each epoch, so the arm leaves after at most
        2R plays. Smaller gaps cost tΔ, for any Δ; no gap exceeds 2 u^(1/(1+v)); the confidence bounds fail with
        probability at most β. By the same proof, Algorithm 4 with √R in err has Δ^(-(2+v)/v) where Theorem 7 prints
        Δ^(-1/v).
        """
        state = self.state(setting)[0]
        if memory > 0 or self.constants < 1 or state.epsilon > 1 or state.printed:
            return None
        v, u = self.v, self.u
        largest, n_arms = 2 * u ** (1 / (1 + v)), setting.n_arms
        gaps = np.geomspace(1e-9, 1.0, 1000)[:, None] * largest
        epochs = 1 - np.log(np.minimum(gaps, 1.0)) / np.log(state.halving)
        log = np.log(state.pairs * n_arms * epochs**2 / state.beta)

        def cost(gap: Floats) -> Floats:
            with np.errstate(over="ignore"):  # an infinite cost leaves the other terms of the minimum
                m = np.float64(u) ** (1 / v) * (state.width * state.halving / np.minimum(gap, 1.0)) ** ((1 + v) / v)
                plays: Floats = 2 * log * (m / state.epsilon) ** state.power
            return gap * plays

        dearest = np.maximum(cost(gaps), cost(np.array(largest)))  # over all gaps >= Δ: it falls until 1, then rises
        rounding = largest * epochs * (2.0 if state.power == 1 else 1 + log)
        bounds = rounds * gaps + n_arms * (dearest + rounding)
        bound: Floats = np.minimum(np.min(bounds, axis=0) + self.beta * rounds * largest, rounds * largest)
        return bound


def begin(state: Record) -> None:
    """Start the next epoch: its length, its truncation, and how far below the best an arm may be."""
    state.epoch += 1
    state.log = np.log(state.pairs * state.left * state.epoch**2 / state.beta)
    m = state.u ** (1.0 / state.q - 1.0) * (state.width * state.halving**state.epoch) ** (1.0 / state.q)
    rest = 1.0 if state.power == 1 else state.log
    state.cycles = int(min(np.ceil(state.log * (m / state.epsilon) ** state.power + rest), 2.0**62))
    m = state.epsilon * (state.cycles / state.log) ** (1.0 / state.power)
    state.bound = (state.u * m) ** (1.0 - state.q)
    if state.printed:  # R in place of √R in the denominator of err
        m = state.epsilon * state.cycles / np.sqrt(state.log)
    state.threshold = 0.5 * state.width * state.u ** (1.0 - state.q) * m**-state.q


def cut(state: Record, gain: float) -> float:
    """The truncated gain x 1{|x| <= B}."""
    return gain if abs(gain) <= state.bound else 0.0


def canary(state: Record) -> tuple[float, float]:
    """No gain changes a sum, or a report, by more than from -B to B."""
    return -state.bound, state.bound
