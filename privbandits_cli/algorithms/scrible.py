"""SCRiBLe, bandit linear optimisation over a convex set (Abernethy, Hazan & Rakhlin, COLT 2008, Algorithm 1; 2012).

x_t = argmin over X of η <x, sum of the estimates> + R(x), R a self-concordant barrier of X. It plays x_t plus or minus
a half-axis of the Dikin ellipsoid of R there, one of 2N points at random, and from its loss estimates the loss vector
without bias: see games/barriers.py, where the closed forms are.
"""

import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from pydantic import Field

from privbandits_cli.convex.barriers import BALL, CUBE, ball, barrier, cube, parameter, polytope
from privbandits_cli.games import linear
from privbandits_cli.games.linear import Draws, Feedback, Floats, Ints, Setting, Simplex
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(linear.Algorithm):
    """The learning rate, or its constant."""

    feedback: ClassVar[Feedback] = "bandit"
    display = "SCRiBLe"

    eta: float | None = Field(None, gt=0, description="η; default c min(1, √(ν ln T / T)) / (N √(M² + noise variance))")
    constant: float | None = Field(None, gt=0, description="c of that default: 1/4; of a private one 1/√2")

    def tuned_for(self, setting: Setting, variance: float, constant: float) -> "Tuned":
        """The same for losses under noise of this variance, with this default of c."""
        space, n = setting.decisions(), setting.n_arms
        most = math.sqrt(space.largest_loss() ** 2 + variance)
        rate = min(1.0, math.sqrt(parameter(space) * math.log(max(2, setting.horizon)) / setting.horizon))
        eta = self.eta or (self.constant or constant) * rate / (n * most)
        return Tuned(eta=eta, constant=self.constant)

    def errors(self, setting: Setting) -> Iterator[str]:
        if isinstance(setting.decisions(), Simplex):
            yield (
                "a simplex has no inside, so it has no barrier: take exp2 or exp3 in the game `bandit`, or a set "
                "with an inside (sphere, cube, a polytope)"
            )
        if self.eta is not None and self.constant is not None:
            yield "give eta or constant, not both: constant is that of the default of eta"

    def tuned(self, setting: Setting) -> "Tuned":
        """η = √(ν ln T) / (4 N √T) for |<l, x>| <= 1 (Abernethy et al. 2008, Theorem 1), over M where that is M."""
        return self.tuned_for(setting, 0.0, 1 / 4)


class Tuned(Parameters):
    """SCRiBLe with its η."""

    eta: float

    def state(self, setting: Setting) -> Records:
        return record(eta=self.eta, **barrier(setting.decisions()))

    def draws(self, setting: Setting, rounds: Ints) -> dict[str, Ints]:
        return {"uniform": np.ones_like(rounds)}

    def remarks(self, setting: Setting) -> list[str]:
        step = self.eta * setting.n_arms * setting.decisions().largest_loss()
        if step <= 1:
            return []
        return [f"η N M = {step:.3g}: the theorem has at most 1/4, and above √2 the estimates may grow without end"]

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """2 η N² M² t + ν ln(1 + √T) / η + 2 M t / √T, for η N M <= 1/4: the proof of Abernethy et al. 2008, Theorem 1.

        The leader moves by at most twice Newton's decrement η N M in each round; a comparator that is 1/√T away
        from the border pays the second term, and to get there the third. At the default η and for T > 8 ν ln T, this
        lies below the theorem's 16 M N √(ν T ln T).
        """
        space, horizon = setting.decisions(), setting.horizon
        moved = self.eta * setting.n_arms * space.largest_loss()
        if moved > 1 / 4 or memory > 0:
            return None
        border = parameter(space) * math.log1p(math.sqrt(horizon)) / self.eta
        return 2 * moved**2 / self.eta * rounds + border + 2 * space.largest_loss() * rounds / math.sqrt(horizon)


def choose(state: Record, x: Floats, rng: Draws) -> None:
    drawn = int(2 * len(x) * rng.uniform[0])
    axis, sign = drawn // 2, 1.0 - 2.0 * (drawn % 2)
    if state.kind == BALL:
        ball(state.eta, state.losses, axis, sign, x, state.slope)
    elif state.kind == CUBE:
        cube(state.eta, state.losses, axis, sign, x, state.slope)
    else:
        polytope(state, axis, sign, x)


def update(state: Record, x: Floats, loss: float, rng: Draws) -> None:
    for i in range(len(x)):
        state.losses[i] += loss * state.slope[i]
