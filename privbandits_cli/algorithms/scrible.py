"""SCRiBLe, bandit linear optimisation over a convex set (Abernethy, Hazan & Rakhlin 2008, Algorithm 1).

x_t = argmin over X of η <x, sum of the estimates> + R(x), where R is a self-concordant barrier of X. The learner plays
x_t plus or minus a half-axis of the Dikin ellipsoid of R at x_t, one of 2N points at random. Its loss gives an unbiased
estimate of the loss vector. The closed forms are in convex/barriers.py.
"""

import math
from collections.abc import Iterator
from typing import ClassVar, Self

from pydantic import Field

from privbandits_cli.convex.barriers import BALL, CUBE, ball, barrier, cube, parameter, polytope
from privbandits_cli.games import linear
from privbandits_cli.games.linear import Draws, Feedback, Floats, Ints, Setting, Simplex
from privbandits_cli.games.parameters import Size, left_out
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(linear.Algorithm):
    """The learning rate η, or its constant."""

    read = "paper"
    feedback: ClassVar[Feedback] = "bandit"
    display = "SCRiBLe"

    eta: Size = left_out("η; default c min(1, √(ν ln T / T)) / (N √(M² + noise variance))")
    constant: float | None = Field(
        None, ge=1e-30, le=1e100, description="c in the default of η: 1/4, or 1/√2 for a private learner"
    )

    def tuned_for(self, setting: Setting, variance: float, constant: float) -> Self:
        """The parameters tuned for losses with noise of this variance, with this default of c."""
        space, n = setting.decisions(), setting.n_arms
        most = math.sqrt(space.largest_loss() ** 2 + variance)
        rate = min(1.0, math.sqrt(parameter(space) * math.log(max(2, setting.horizon)) / setting.horizon))
        eta = self.eta or (self.constant or constant) * rate / (n * most)
        return self.replace(eta=eta)

    def errors(self, setting: Setting) -> Iterator[str]:
        if isinstance(setting.decisions(), Simplex):
            yield (
                "a simplex has no interior, so it has no barrier: use exp2 or exp3 in the game `bandit`, or a set "
                "with an interior (sphere, cube, a polytope)"
            )
        if self.eta is not None and self.constant is not None:
            yield "give eta or constant, not both: constant is a factor of the default eta"

    def tuned(self, setting: Setting) -> Self:
        """η = √(ν ln T) / (4 N √T) for |<l, x>| <= 1 (Abernethy et al. 2008, Theorem 1), over M for |<l, x>| <= M."""
        return self.tuned_for(setting, 0.0, 1 / 4)

    def state(self, setting: Setting) -> Records:
        return record(eta=self.eta, **barrier(setting.decisions()))

    def draws(self, setting: Setting, rounds: Ints) -> dict[str, int]:
        return {"uniform": 1}

    def remarks(self, setting: Setting) -> list[str]:
        step = self.eta * setting.n_arms * setting.decisions().largest_loss()
        if step <= 1:
            return []
        return [f"η N M = {step:.3g}: the theorem requires at most 1/4; above √2 the estimates may grow without bound"]

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats | None:
        """2 η N² M² t + ν ln(1 + √T) / η + 2 M t / √T, for η N M <= 1/4: the proof of Abernethy et al. 2008, Theorem 1.

        The leader moves by at most twice the Newton decrement η N M in each round. The second term is for a comparator
        at distance 1/√T from the boundary, the third for moving the comparator there. At the default η and for
        T > 8 ν ln T, the bound is below the theorem's 16 M N √(ν T ln T).
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
