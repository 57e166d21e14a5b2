"""Gaussian Thompson sampling (Agrawal & Goyal 2013a, Algorithm 2), made private (Ou, Avella Medina & Cummings 2024).

Every arm is played b times. In each later round, θ_a ~ N(S_a/(n_a + 1), c/(n_a + 1)) is drawn for every arm a, where
S_a is the sum of its n_a gains, and the arm with the largest θ is played. With b = 0 and c = 1 this is Thompson
sampling as it was published, whose regret is O(√(KT ln K)) for gains in [0, 1]. More b and more c make it private.

The account is derived by us; the paper has O(√T) for b = 0 and c = 1. All θ are released. A gain moves the mean of its
arm's later θ by at most 1/(n + 1), which is 1/√(c (n + 1)) in units of their deviation, and n >= max(b, 1), because
the gain is one of the n. The first bK rounds draw nothing, and no θ of the round of a gain or before depends on it.
So the game is μ-GDP with μ² = (T - max(bK, 1))/(c (max(b, 1) + 1)). A game comes close to it if its arm is not played
again. The loss is smallest if the arm is played in all later rounds: then the squares are 1/(c (n + 1)) for
n = max(b, 1), max(b, 1) + 1, ..., and every game has at least their sum. An attack that stops observing at this sum
tests the mean of one normal number. This is the lower bound on μ (ours).

`mu` sets c to what μ-GDP takes. Its default of b, (T/K)^(2/3), is ours, too: the first pulls cost at most
K^(1/3) T^(2/3), as those of explore-then-commit, and c is about (T K²)^(1/3)/μ². With b = 0, c would be T/(2μ²), and
10^6 rounds would not be enough to find the best arm.
"""

import math
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from pydantic import Field

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import Release, noised
from privbandits_cli.games import bandit, views
from privbandits_cli.games.bandit import Numbers, Setting
from privbandits_cli.games.parameters import Chance, left_out
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(bandit.Algorithm):
    """The first pulls b, the factor c of the variance, or the μ that sets it, and the δ at which ε is stated."""

    read = "paper"
    display = "Gaussian Thompson sampling"
    private = True
    drawn = ()

    mu: float | None = Field(None, ge=1e-9, le=1e9, description="μ of the whole game; sets c")
    c: float = left_out("factor of the variance; default 1, or what mu takes", ge=1e-30, le=1e40)
    b: int = left_out("first pulls of each arm; default 0, or (T/K)^(2/3) for mu", ge=0, le=10**11)
    delta: Chance | None = Field(None, description="δ at which ε is stated; default T^-2")

    @classmethod
    def for_epsilon(cls, epsilon: float, delta: float, horizon: int, given: dict[str, Any]) -> dict[str, Self]:
        """The μ whose exact ε at δ is `epsilon`."""
        own = {"mu": gaussian.mu_of(epsilon, delta), "delta": delta}
        return {"certified": cls.model_validate(own | given)}

    def tuned(self, setting: Setting) -> Self:
        b, c = self.b, self.c
        if b is None:
            b = 0 if self.mu is None else math.ceil((setting.horizon / setting.n_arms) ** (2 / 3))
        if c is None:
            c = 1.0 if self.mu is None else max(1, draws(setting, b)) * share(b) / self.mu**2
        return self.replace(b=b, c=c)

    def draws(self, setting: Setting) -> dict[str, int]:
        return {"normal": setting.n_arms}

    def mechanism(self) -> str:
        return "the posterior's own Gaussian draws, with a larger variance"

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy("drawn")

    def caveats(self, setting: Setting) -> list[str]:
        return ["The paper's account is O(√T); the exact one is derived in the file of the algorithm."]

    def errors(self, setting: Setting) -> Iterator[str]:
        ready = self.tuned(setting)
        if self.mu is not None and not math.isclose(ready.c, self.model_copy(update={"c": None}).tuned(setting).c):
            yield "mu sets c: give one of them, not both"

    def state(self, setting: Setting) -> Records:
        n_arms = setting.n_arms
        return record(
            c=self.c,
            t=0,
            first=self.b * n_arms,  # rounds without draws
            gains=np.zeros(n_arms),
            plays=np.zeros(n_arms),
            drawn=np.zeros(n_arms),  # θ
        )

    def facts(self, setting: Setting) -> dict[str, float]:
        return {"mu": math.sqrt(draws(setting, self.b) * share(self.b) / self.c)}

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """Draws after a gain, each with the most that it may cost, and with the least that it does cost."""
        count, most = draws(setting, self.b), sensitivity * self.facts(setting)["mu"]
        least = sensitivity * math.sqrt(harmonic(max(self.b, 1) + 1, count) / self.c)
        surely = Release("gaussian", least, count) if count else None  # of an arm that is played on
        source, view = f"a gain moves later draws, {most:.4g}-GDP", "all draws, and so all arms played"
        return noised(Release("gaussian", most, max(1, count)), delta, source, "draw", view, surely=surely)


def draws(setting: Setting, b: int) -> int:
    """The most rounds with draws that a gain may act on: those after the first pulls, and after the gain.

    In a mini-batch T is T/τ, and an incomplete last block has a draw, too.
    """
    return max(0, math.ceil(setting.horizon) - max(b * setting.n_arms, 1))


def share(b: int) -> float:
    """c μ² of one draw, at most."""
    return 1 / (max(b, 1) + 1)


def harmonic(first: int, terms: int) -> float:
    """1/first + 1/(first + 1) + ..., of this many terms."""
    from scipy.special import digamma

    return float(digamma(first + terms) - digamma(first))


def choose(state: Record, rng: Numbers) -> int:
    k = len(state.plays)
    if state.t < state.first:
        return int(state.t % k)
    for i in range(k):
        n = state.plays[i] + 1.0
        state.drawn[i] = state.gains[i] / n + np.sqrt(state.c / n) * rng.normal[i]
    return int(np.argmax(state.drawn))


def update(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    state.t += 1
    state.plays[arm] += 1.0
    state.gains[arm] += gain
