"""Successive elimination: the arms that remain, S, are played in turn, and those that fall behind leave.

In an epoch each arm of S is played R times, and its mean is the mean of these R gains alone. At the end of the epoch,
the arms whose mean is more than a threshold below the largest mean leave S. The last arm is played for ever.

At the start of an epoch, the algorithm's file sets R (`cycles`) and `threshold`. Its `update` adds the noise. In the
central model, the mean of an epoch has noise: `pulled(state, arm, gain, noise)`. In the local model, every report has
noise: `pulled(state, arm, report, 0.0)`. Without privacy there is no noise: `pulled(state, arm, gain, 0.0)`.
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
    """A learner that plays the arms of S in turn; its step `choose` is in this module."""


def contest(n_arms: int) -> dict[str, Any]:
    """The fields of the state that `choose` and `pulled` use."""
    return {
        "arms": np.arange(n_arms),  # the first `left` are S
        "left": n_arms,
        "place": 0,  # the place of the next arm in `arms`
        "cycle": 0,  # completed plays of every arm of S in this epoch
        "cycles": 0,  # R
        "epoch": 0,
        "sums": np.zeros(n_arms),
        "means": np.zeros(n_arms),  # the means of the last complete epoch
        "threshold": 0.0,
    }


def reaches_a_mean(state: Record, setting: Setting) -> bool:
    """Whether the game lasts until the first arm has its first mean; state: the state before round 1."""
    return bool((float(state.cycles) - 1) * setting.n_arms + 1 <= math.floor(setting.horizon))


def pulled(state: Record, arm: int, x: float, noise: float) -> bool:
    """Add x to an arm's sum. After its last x of an epoch, set its mean, plus noise. Returns whether the epoch ends."""
    state.sums[arm] += x
    if state.cycle == state.cycles - 1:
        state.means[arm] = state.sums[arm] / state.cycles + noise
        state.sums[arm] = 0.0
    return turned(state)


def turned(state: Record) -> bool:
    """Pass the turn to the next arm. After the last turn of an epoch, eliminate. Returns whether the epoch ends."""
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
    """Drop the arms whose mean is more than the threshold below the largest mean."""
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
    return int(state.arms[state.place])


def recommend(state: Record) -> int:
    """The arm of S with the largest mean of the last complete epoch, in the game best_arm."""
    best: int = state.arms[0]
    for i in range(1, state.left):
        if state.means[state.arms[i]] > state.means[best]:
            best = state.arms[i]
    return best


def stop(state: Record) -> int:
    """The last arm of S, in the game best_arm; -1 before."""
    return int(state.arms[0]) if state.left == 1 else -1


# ------------------------------------------------------------------------------------- truncated gains


class Truncating(Robust, Eliminating):
    """Algorithms 3 and 4 of Tao et al. 2022, on truncated gains.

    Epoch τ is so long that `width` times err is D = base^-τ. With m = ε (R/L)^(1/power), the bound of truncation is
    B = (u m)^(1/(1+v)), and err = u^(1/(1+v)) m^(-v/(1+v)). `power` is 1 in the central model and 2 in the local one,
    where the noise decreases like 1/√R. If a share α of the gains may be outliers, B is at most (u/α)^(1/(1+v)), and an
    arm leaves S if it is farther behind by twice the displacement, u^(1/(1+v)) (2 α^(v/(1+v)) + α) (ours).
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
            limit=self.limit(),
            slack=2 * self.displacement(),
            outlier=self.outlier(setting),
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
        with np.errstate(over="ignore"):  # an epoch of infinite length is cut to 2^62 plays of each arm
            begin(state[0])
        return state

    def first_epoch(self, setting: Setting) -> float:
        """The number of rounds in the first epoch."""
        return float(self.state(setting)[0].cycles) * setting.n_arms

    def caveats(self, setting: Setting) -> list[str]:
        rounds = self.first_epoch(setting)
        takes = [f"The first epoch takes {rounds:,.0f} of {setting.horizon:,.0f} rounds."]
        return takes if rounds <= setting.horizon else []  # otherwise `remarks` says so

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

        Let an arm have the gap Δ, and let τ be the first epoch with D < Δ. Then τ <= 1 + ln(1/Δ)/ln base, and
        D >= min(Δ, 1)/base. The arm leaves S by the end of this epoch. Up to rounding, R at least quadruples with each
        epoch, so the arm leaves after at most 2R plays. For any Δ, all arms with smaller gaps cost at most tΔ. No gap
        exceeds 2 u^(1/(1+v)). The confidence bounds fail with probability at most β. By the same proof, Algorithm 4
        with √R in err has Δ^(-(2+v)/v) where Theorem 7 prints Δ^(-1/v).
        """
        state = self.state(setting)[0]
        foul = self.alpha > 0 or setting.contamination is not None
        if memory > 0 or foul or self.constants < 1 or state.epsilon > 1 or state.printed:
            return None
        v, u = self.v, self.u
        largest, n_arms = 2 * u ** (1 / (1 + v)), setting.n_arms
        gaps = np.geomspace(1e-9, 1.0, 1000)[:, None] * largest
        epochs = 1 - np.log(np.minimum(gaps, 1.0)) / np.log(state.halving)
        log = np.log(state.pairs * n_arms * epochs**2 / state.beta)

        def cost(gap: Floats) -> Floats:
            with np.errstate(over="ignore"):  # where the cost is infinite, another gap gives the minimum
                m = np.float64(u) ** (1 / v) * (state.width * state.halving / np.minimum(gap, 1.0)) ** ((1 + v) / v)
                plays: Floats = 2 * log * (m / state.epsilon) ** state.power
            return gap * plays

        # The largest cost of all gaps >= Δ is at one end: the cost falls until the gap is 1, and then rises.
        dearest = np.maximum(cost(gaps), cost(np.array(largest)))
        rounding = largest * epochs * (2.0 if state.power == 1 else 1 + log)
        bounds = rounds * gaps + n_arms * (dearest + rounding)
        bound: Floats = np.minimum(np.min(bounds, axis=0) + self.beta * rounds * largest, rounds * largest)
        return bound


def begin(state: Record) -> None:
    """Start the next epoch: set its length R, its bound of truncation B, and its threshold."""
    state.epoch += 1
    state.log = np.log(state.pairs * state.left * state.epoch**2 / state.beta)
    m = state.u ** (1.0 / state.q - 1.0) * (state.width * state.halving**state.epoch) ** (1.0 / state.q)
    rest = 1.0 if state.power == 1 else state.log
    state.cycles = int(min(np.ceil(state.log * (m / state.epsilon) ** state.power + rest), 2.0**62))
    m = state.epsilon * (state.cycles / state.log) ** (1.0 / state.power)
    state.bound = min((state.u * m) ** (1.0 - state.q), state.limit)
    if state.printed:  # R in place of √R in the denominator of err
        m = state.epsilon * state.cycles / np.sqrt(state.log)
    state.threshold = 0.5 * state.width * state.u ** (1.0 - state.q) * m**-state.q + state.slack


def cut(state: Record, gain: float) -> float:
    """The truncated gain x 1{|x| <= B}."""
    return gain if abs(gain) <= state.bound else 0.0


def canary(state: Record) -> tuple[float, float]:
    """The two gains that differ most in a sum or in a report: -B and B."""
    return -state.bound, state.bound
