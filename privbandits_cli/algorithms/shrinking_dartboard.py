"""Private Shrinking Dartboard (Asi, Feldman, Koren & Talwar 2023, Algorithm 1): experts that rarely change.

The weights are w^t_i = (1 - η)^(L_i), where L is the sum of the losses so far. The expert is kept with probability 1 -
p times the fraction of its weight that remained in the last round. Otherwise a new one is drawn from w^t, unless 4Tp
draws have been made. Apart from that limit the law of the expert is w^t in every round, so the regret is that of
multiplicative weights. A loss affects only the few later draws and the decision to keep the expert right after it,
which p randomises.

Tuned for ε: p = 1/√T, η = pε/20. For (ε, δ): p = (T ln(1/δ))^(-1/3), η = pε0/20, where ε0 is the smaller of ε/2 and
ln^(1/3)(1/δ) T^(-1/6) √(ln N). η is at most 1/2, the largest value that the regret proof covers.
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, Self

import numpy as np
from pydantic import Field

from privbandits_cli.accounting.dartboard import Dartboard
from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.games import linear, views
from privbandits_cli.games.linear import Draws, Floats, Ints, Setting, Simplex
from privbandits_cli.games.parameters import Chance
from privbandits_cli.numerics.arrays import smallest
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(linear.Algorithm):
    """ε and δ."""

    read = "paper"
    display = "Shrinking Dartboard"
    private = True

    epsilon: float = Field(ge=1e-9, description="ε")
    delta: Chance | None = Field(None, description="δ of the approximate tuning; default: the pure tuning")

    def rates(self, setting: Setting) -> tuple[float, float]:
        """The learning rate η and the probability p of a new draw."""
        horizon, epsilon, p = setting.horizon, self.epsilon, setting.horizon**-0.5
        if self.delta is not None:
            log = -math.log(self.delta)
            p = min(1.0, (horizon * log) ** (-1 / 3))
            epsilon = min(epsilon / 2, log ** (1 / 3) * horizon ** (-1 / 6) * math.sqrt(math.log(setting.n_arms)))
        return min(0.5, p * epsilon / 20), p

    def view(self, setting: Setting) -> views.Arms:
        eta, p = self.rates(setting)
        return views.Arms(Dartboard(eta, p, math.ceil(4 * setting.horizon * p)))

    def state(self, setting: Setting) -> Records:
        eta, p = self.rates(setting)
        return record(
            begun=False,
            expert=0,
            last=0.0,
            decay=math.log1p(-eta),
            calm=1 - p,
            draws_left=math.ceil(4 * setting.horizon * p),
            losses=np.zeros(setting.n_arms),
        )

    def draws(self, setting: Setting, rounds: Ints) -> dict[str, int]:
        """One number decides whether to keep the expert, the other draws the next one."""
        return {"uniform": 2}

    def mechanism(self) -> str:
        return "few changes of the expert, blurred"

    def errors(self, setting: Setting) -> Iterator[str]:
        if not isinstance(setting.space, Simplex):
            yield "it draws experts: set `set: simplex`"
        elif setting.signed:
            yield "its weights need losses in [0, 1]: use an adversary whose losses are not negative"

    def stated_delta(self, setting: Setting) -> float:
        """The parameter δ; without one 0, as the tuning has none."""
        return self.delta or 0.0

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        (eta, p), horizon = self.rates(setting), setting.horizon
        known = partial(
            Guarantee, status="paper", neighbours="the loss vector of one round replaced", view="all experts"
        )
        bounds = [known(eta / p + 16 * horizon * p * eta, 0.0, "Asi et al. 2023, Algorithm 1, pure")]
        if delta > 0:
            spread = 20 * eta * math.sqrt(-horizon * p * math.log(delta))
            epsilon = 5 * eta / p + 100 * horizon * p * eta**2 + spread
            bounds.append(known(epsilon, delta, "Asi et al. 2023, Algorithm 1, approximate"))
        return bounds

    @classmethod
    def for_epsilon(cls, epsilon: float, delta: float, horizon: int, given: dict[str, Any]) -> dict[str, Self]:
        pure = cls.model_validate({"epsilon": epsilon, **given})
        return {"paper": pure, "approximate": pure.model_copy(update={"delta": delta})}

    def caveats(self, setting: Setting) -> list[str]:
        eta, p = self.rates(setting)
        return [
            f"η = {eta:.3g}, p = {p:.3g}; the guarantees are the paper's, for oblivious adversaries: "
            "an adaptive one makes the regret linear at ε <= 1/10."
        ]

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """ηt + ln N/η + 2T e^(-Tp/3); the last term is for running out of draws."""
        (eta, p), horizon = self.rates(setting), setting.horizon
        return eta * rounds + math.log(setting.n_arms) / eta + 2 * horizon * math.exp(-horizon * p / 3)


def choose(state: Record, x: Floats, rng: Draws) -> None:
    if not state.begun:
        state.begun = True
        throw(state, rng.uniform[1])
    elif rng.uniform[0] >= state.calm * np.exp(state.decay * state.last) and state.draws_left > 0:
        state.draws_left -= 1
        throw(state, rng.uniform[1])
    for i in range(len(x)):
        x[i] = 0.0
    x[state.expert] = 1.0


def throw(state: Record, uniform: float) -> None:
    """Draw an expert with the weights exp(decay L_i) by inversion of the uniform number."""
    least = smallest(state.losses)
    total = 0.0
    for i in range(len(state.losses)):
        total += np.exp(state.decay * (state.losses[i] - least))
    threshold, reached, expert = uniform * total, 0.0, 0
    for i in range(len(state.losses) - 1):
        reached += np.exp(state.decay * (state.losses[i] - least))
        expert += threshold >= reached
    state.expert = expert


def update(state: Record, losses: Floats, rng: Draws) -> None:
    state.last = losses[state.expert]
    for i in range(len(state.losses)):
        state.losses[i] += losses[i]
