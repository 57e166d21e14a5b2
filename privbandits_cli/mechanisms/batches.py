"""Contextual learners that play in batches of 1, 2, 4, ... rounds, each by a predictor fitted to the batch before.

A regression oracle (`mechanisms.oracle`) fits the predictor to the records of exactly one batch, the last one, and
releases it. The next batch is played by this predictor, or by all predictors so far, and the first batch uniformly. So
a record acts on later arms through one release alone, and all releases together are as private as one: the ε of a fit
is not divided.
A learner's file has the step `probabilities(state, f, out)` of the predictions f, and `choose` draws an arm with them.

This is the protocol of the experiments of Attias et al. 2026, whose code, private-contextual-bandits, plays 100 tables
with classes. Elsewhere it is called the benchmark.
"""

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.games import contextual, views
from privbandits_cli.games.contextual import Setting
from privbandits_cli.games.parameters import Chance, Size
from privbandits_cli.mechanisms.logistic_oracle import Logistic
from privbandits_cli.mechanisms.oracle import Oracle
from privbandits_cli.mechanisms.quadratic_oracle import Quadratic
from privbandits_cli.numerics.arrays import smallest
from privbandits_cli.numerics.exponential import exponential
from privbandits_cli.numerics.jit import Record, Records, record
from privbandits_cli.numerics.types import Floats

MOST_BYTES = 2**30  # of a batch's records


class Learner(contextual.Algorithm):
    """The oracle with its ε, δ and λ."""

    calibrations: ClassVar = {"certified": {"calibration": "exact"}, "paper": {"calibration": "printed"}}
    oracles: ClassVar[dict[str, type[Oracle]]] = {"quadratic": Quadratic, "logistic": Logistic}

    epsilon: float | None = Field(None, ge=1e-6, le=1e6, description="ε; without it the learner is not private")
    delta: Chance = Field(1e-5, description="δ; the logistic oracle needs none")
    oracle: Literal["quadratic", "logistic"] = Field(
        "quadratic", description="ridge regression with Gaussian noise, or logistic regression with a perturbed loss"
    )
    ridge: float = Field(1e-4, ge=1e-12, le=1e12, description="λ, which a batch's mean loss is regularised with")
    calibration: Literal["exact", "printed"] = Field(
        "exact", description="how ε and δ determine the noise: the least by an exact account, or the published one"
    )

    def fits(self, setting: Setting) -> Oracle:
        """The oracle."""
        printed = self.calibration == "printed"
        return self.oracles[self.oracle].tuned(setting.known(), self.ridge, self.epsilon, self.delta, printed)

    def built_on(self) -> str:
        return self.oracles[self.oracle].__module__

    def promises(self) -> bool:
        return self.epsilon is not None

    def errors(self, setting: Setting) -> Iterator[str]:
        known, records = setting.known(), largest_batch(setting.horizon)
        if math.isinf(known.reward) and (self.epsilon is not None or self.oracle == "logistic"):
            yield "its oracle needs bounded rewards, and these are unbounded: choose a bounded law of `rewards`"
        size = 8 * records * known.dimension
        if self.oracle == "logistic" and size > MOST_BYTES:
            words = f"the logistic oracle keeps a batch of {records:,} records of {known.dimension} numbers"
            yield f"{words}, {size / 2**30:.1f} GiB, and 1 is the most: set `oracle: quadratic`"

    def fields(self, setting: Setting) -> dict[str, Any]:
        """The fields of a state that every such learner has; `began`: the rounds before the batch."""
        known = setting.known()
        oracle = self.fits(setting).state(largest_batch(setting.horizon))
        return {
            "t": 0,
            "batch": 0,
            "began": 0,
            "end": 1,
            "theta": np.zeros(known.dimension),
            "scores": np.zeros(setting.n_arms),
            "chances": np.zeros(setting.n_arms),
            "oracle": record(**oracle),
        }

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The account of one fit; each record is in one."""
        if self.epsilon is None:
            return []
        oracle = self.fits(setting)
        return [
            Guarantee(
                oracle.epsilon(delta),
                0.0 if oracle.pure else delta,
                f"{oracle.source}; each record is in one batch",
                "proved",
                neighbours="the arms and the reward of one round replaced",
                view="all arms played in the rounds after it (joint privacy)",
            )
        ]

    def facts(self, setting: Setting) -> dict[str, float]:
        return self.fits(setting).facts()

    def mechanism(self) -> str:
        return "" if self.epsilon is None else f"a private {self.oracle} oracle, a batch for each predictor"

    def view(self, setting: Setting) -> views.View | None:
        return None if self.epsilon is None else views.Fits(self.fits(setting))

    def caveats(self, setting: Setting) -> list[str]:
        if self.epsilon is None:
            return ["The predictors are functions of the arms and rewards observed: no ε holds at any δ < 1."]
        return ["Joint privacy: the arm played in a round may reveal that round's own arms, but no other round's."]


class ByGap(Learner):
    """γ0 and r of γ = γ0 τ^r: the larger γ, the more rarely an arm of smaller predicted reward is played."""

    gamma: Size = Field(10.0, description="γ0")
    power: float = Field(0.5, ge=0, le=2, description="r")

    def state(self, setting: Setting) -> Records:
        return record(gamma=self.gamma, power=self.power, **self.fields(setting))


class ByLosses(Learner):
    """A learner that plays by predicted losses."""

    def errors(self, setting: Setting) -> Iterator[str]:
        found = list(super().errors(setting))
        if math.isinf(setting.known().reward) and not found:
            yield "its losses need bounded rewards, and these are unbounded: choose a bounded law of `rewards`"
        yield from found

    def fields(self, setting: Setting) -> dict[str, Any]:
        """Those, with what the oracle predicts for the highest reward, and how much less for the lowest one."""
        low, high = self.fits(setting).predictions
        return super().fields(setting) | {"high": high, "span": high - low}


def fits_within(horizon: float) -> int:
    """The number of batches that end within the horizon; longer ones are not fitted."""
    return max(1, math.floor(math.log2(horizon + 1)))


def largest_batch(horizon: float) -> int:
    """The most records of a batch that ends within the horizon."""
    return int(2 ** (fits_within(horizon) - 1))


def ended(state: Record) -> bool:
    """Count the round; returns whether it was the last one of its batch."""
    state.t += 1
    if state.t < state.end:
        return False
    state.batch += 1
    state.began = state.t
    state.end = 2 * state.t + 1
    return True


def drawn_arm(chances: Floats, number: float) -> int:
    """The arm that a uniform number draws with these probabilities."""
    for a in range(len(chances) - 1):
        number -= chances[a]
        if number < 0.0:
            return a
    return len(chances) - 1


def loss(state: Record, f: float) -> float:
    """The loss of a predicted reward: 0 for the highest reward, 1 for the lowest; ridge regression predicts others."""
    found: float = (state.high - f) / state.span
    return found


def softmax(out: Floats) -> None:
    """Replace the penalties z of the arms, `[k]`, with the probabilities proportional to e^-z."""
    least, total = smallest(out), 0.0
    for a in range(len(out)):  # a loop without a sum becomes vector instructions
        out[a] = exponential(least - out[a])
    for a in range(len(out)):
        total += out[a]
    for a in range(len(out)):
        out[a] /= total
