"""Follow-the-Regularised-Leader (Agarwal & Singh 2017, Algorithm 1 without its noise).

x_t = argmin over x in X of η <x, L_{t-1}> + R(x), where L is the sum of the losses. The entropic regulariser, on the
simplex, is R = Σ x_i ln x_i, so that x_i ∝ exp(-η L_i). The Euclidean one is R = |x|², so that x_t is the point of X
closest to -η L / 2, found by scaling on the sphere and by clipping on the cube.
"""

import math
from collections.abc import Iterator
from typing import Literal, Self

import numpy as np

from privbandits_cli.games import linear
from privbandits_cli.games.linear import Cube, Draws, Floats, Setting, Simplex, Sphere
from privbandits_cli.games.parameters import Size, left_out
from privbandits_cli.numerics.exponential import exponential
from privbandits_cli.numerics.jit import Record, Records, record

Regulariser = Literal["entropic", "euclidean"]

ENTROPIC, SIMPLEX, SPHERE, CUBE = 0, 1, 2, 3


class Parameters(linear.Algorithm):
    """The learning rate η and the regulariser."""

    read = "paper"
    display = "FTRL"

    eta: Size = left_out("η; default √(D_R / (G T)), Corollary 3.2")
    regulariser: Regulariser = left_out("default entropic on the simplex, else euclidean")

    def tuned_for(self, setting: Setting, variance: float) -> Self:
        """The parameters tuned for losses that carry fresh noise of this variance in each coordinate."""
        regulariser = self.regulariser or ("entropic" if isinstance(setting.space, Simplex) else "euclidean")
        width, size = geometry(regulariser, setting)
        noise = variance * (1.0 if regulariser == "entropic" else setting.n_arms / 2)
        eta = self.eta or math.sqrt(width / ((size + noise) * setting.horizon))
        return self.replace(eta=eta, regulariser=regulariser)

    def errors(self, setting: Setting) -> Iterator[str]:
        if not isinstance(setting.space, Simplex | Sphere | Cube):
            yield "a polytope needs a projection in every round: use scrible there (feedback: bandit)"
        elif self.regulariser == "entropic" and not isinstance(setting.space, Simplex):
            yield f"the entropic regulariser is for the simplex: on the {setting.space.name} use euclidean"

    def tuned(self, setting: Setting) -> Self:
        return self.tuned_for(setting, 0.0)

    def state(self, setting: Setting) -> Records:
        euclidean = {Simplex: SIMPLEX, Sphere: SPHERE, Cube: CUBE}[type(setting.decisions())]
        kind = ENTROPIC if self.regulariser == "entropic" else euclidean
        return record(kind=kind, eta=self.eta, losses=np.zeros(setting.n_arms))

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats:
        """η G t + D_R / η against every sequence of losses (proof of Theorem 3.4)."""
        width, size = geometry(self.regulariser, setting)
        return self.eta * size * rounds + width / self.eta


def geometry(regulariser: Regulariser, setting: Setting) -> tuple[float, float]:
    """(D_R, G): max R - min R, and the largest |l|*² in the dual norm of R's Hessian.

    Entropic: Σ x_i l_i² <= 1. Euclidean, Hessian 2I: |l|_2²/2. The theorem does not state its η. Ours minimises
    η G T + D_R/η, which is then 2 √(D_R G T); Theorem 3.1 prints half of that.
    """
    n, (_, l2) = setting.n_arms, linear.loss_set(setting).norms()
    if regulariser == "entropic":
        return math.log(n), 1.0
    width = {Simplex: 1 - 1 / n, Sphere: 1.0, Cube: float(n)}[type(setting.decisions())]
    return width, l2**2 / 2


def choose(state: Record, x: Floats, rng: Draws) -> None:
    if state.kind == ENTROPIC:
        soften(state.eta, state.losses, x)
        return
    for i in range(len(x)):
        x[i] = -0.5 * state.eta * state.losses[i]
    if state.kind == SPHERE:
        shrink(x)
    elif state.kind == CUBE:
        for i in range(len(x)):
            x[i] = 1.0 if x[i] > 1.0 else -1.0 if x[i] < -1.0 else x[i]  # NaN stays NaN
    else:
        project(x)


def update(state: Record, losses: Floats, rng: Draws) -> None:
    for i in range(len(state.losses)):
        state.losses[i] += losses[i]


def soften(eta: float, losses: Floats, x: Floats) -> None:
    """x_i ∝ exp(-eta losses_i)."""
    least = losses[0]
    for i in range(1, len(losses)):
        least = losses[i] if losses[i] < least else least
    for i in range(len(x)):  # not len(losses), a constant for the compiler, which would unroll the loop
        x[i] = exponential(eta * (least - losses[i]))
    total = 0.0
    for i in range(len(losses)):
        total += x[i]
    inverse = 1.0 / total
    for i in range(len(losses)):
        x[i] *= inverse


def shrink(x: Floats) -> None:
    """Scale x into the unit ball, in place."""
    squares = 0.0
    for i in range(len(x)):
        squares += x[i] * x[i]
    if squares > 1.0:
        inverse = 1.0 / np.sqrt(squares)
        for i in range(len(x)):
            x[i] *= inverse


def project(x: Floats) -> None:
    """Project x on the simplex, in place (Michelot 1986): max(0, x - threshold), whose sum is 1.

    The coordinates above a threshold that is too low imply the next one. Each pass drops some of them, or is the last.
    """
    largest = x[0]
    for i in range(1, len(x)):
        largest = x[i] if x[i] > largest else largest
    for i in range(len(x)):
        x[i] -= largest
    threshold = -1.0
    for _ in range(len(x)):
        total, count = -1.0, 0.0
        for i in range(len(x)):
            total += x[i] if x[i] > threshold else 0.0
            count += 1.0 if x[i] > threshold else 0.0
        implied = np.divide(total, count)
        if not implied > threshold:
            break
        threshold = implied
    for i in range(len(x)):
        x[i] = 0.0 if x[i] <= threshold else x[i] - threshold  # NaN stays NaN
