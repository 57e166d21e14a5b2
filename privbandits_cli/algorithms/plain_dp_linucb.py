"""A contextual learner with plain differential privacy, which also protects the arms of the current round (Claim 13).

Claim 13 of Shariff & Sheffet 2018: for ε < ln 2 and δ < 1/4 any such learner has regret Ω(n), because the arm that it
plays can hardly depend on the available arms. This learner applies randomised response to the arm of a base, which
is private in later rounds: with probability e^ε/(e^ε + k - 1) it plays the base's arm, otherwise each of the other arms
with equal probability. At ε = 0 it ignores the base. The round's own arms cost ε, and their effect on later rounds
costs what the base costs; basic composition adds the two.
"""

import math
from dataclasses import replace
from typing import Any, Self

from numpy.random import Generator
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.algorithms import dp_linucb
from privbandits_cli.games import contextual, views
from privbandits_cli.games.contextual import Floats, Setting
from privbandits_cli.numerics.jit import Record, Records, record, unbound

base_choose: Any = unbound
base_update: Any = unbound


class Parameters(contextual.Algorithm):
    """ε for the current round, and the base that learns."""

    read = "paper"
    display = "Plain DP-LinUCB"
    optimistic = True
    private = True

    epsilon: float = Field(ge=0, le=700, description="ε for the current round's arms")
    base: contextual.Algorithm = Field(
        dp_linucb.Parameters(epsilon=1.0, delta=0.1), description="the learner, private in later rounds"
    )

    def state(self, setting: Setting) -> Records:
        followed = 1 / (1 + (setting.n_arms - 1) * math.exp(-self.epsilon))
        return record(followed=followed, wrapped=self.base.state(setting))

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """The base's bounds plus ε, for an observer of all arms played."""
        found = []
        for bound in self.base.bounds(setting, delta):
            if not bound.lower:
                total, source = bound.epsilon + self.epsilon, f"randomised response and {bound.source}"
                found.append(replace(bound, epsilon=total, source=source, view="all arms played", spent=None))
        return found

    def stated_delta(self, setting: Setting) -> float:
        return self.base.stated_delta(setting)

    @classmethod
    def for_epsilon(cls, epsilon: float, delta: float, horizon: int, given: dict[str, Any]) -> dict[str, Self]:
        """Half of ε for the current round's arms, half for the base."""
        made = (
            {"certified": given["base"]} if given else dp_linucb.Parameters.for_epsilon(epsilon / 2, delta, horizon, {})
        )
        return {choice: cls(epsilon=epsilon / 2, base=base) for choice, base in made.items()}

    def mechanism(self) -> str:
        return f"randomised response, and {self.base.mechanism() or 'nothing for later rounds'}"

    def view(self, setting: Setting) -> views.View | None:
        return views.Answer(self.epsilon, self.base)


def choose(state: Record, arms: Floats, rng: Generator) -> int:
    arm: int = base_choose(state.wrapped, arms, rng)
    k = arms.shape[1]
    if rng.random() < state.followed:
        return arm
    other = int(rng.random() * (k - 1))
    return other + 1 if other >= arm else other


def update(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    base_update(state.wrapped, x, reward, rng)
