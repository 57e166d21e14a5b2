"""Follow-the-Perturbed-Leader with Gaussian noise (Kalai & Vempala 2005; Abernethy, Lee, Sinha & Tewari 2014).

x_t = argmin over x in X of <x, Z + L_{t-1}>, where Z is normal with deviation σ in each coordinate. x_t is one expert,
a unit vector of the sphere, or a corner of the cube. Z is drawn once, before the first round. Against an oblivious
adversary the expected regret is the same as with a new Z in every round, which the analysis assumes, because x_t has
the same law.

The regret is at most Aσ + B t/σ, where (A, B) depends on the set. Aσ, the initial cost of the noise, is the mean of
max <Z, x>. B/σ is half of the largest <l, H l> over losses l, where H is the Hessian of the smoothed maximum
E max <L + Z, x>, which changes slowly because of Z:

- simplex: A = √(2 ln N), B = A w²/4, where w is the width of a loss's range. (Theorem 8 of Abernethy et al. has w = 2.
  The rows of the Hessian sum to 0, so a loss counts from the middle of its range; the absolute values of its entries
  sum to twice its trace, which is at most A/σ.)
- sphere: A = √N, B = 1/(2√N) (their Theorem 11): the smoothed norm has its largest curvature at 0.
- cube: A = N √(2/π), B = √(1/2π): each coordinate is a sphere of its own, and an l1 loss is divided among them.

σ is theirs, √T on the simplex and √(T/2N) on the sphere. On the cube it is |Y|_2 √(T/√N), which Theorem 3.5 of Agarwal
& Singh 2017 has for every set (for the σ of a node; a prefix has √log T times as much).
"""

import math
from collections.abc import Iterator
from typing import Self

import numpy as np

from privbandits_cli.games import linear
from privbandits_cli.games.linear import Cube, Draws, Floats, Ints, Setting, Simplex, Sphere, loss_set
from privbandits_cli.games.parameters import Size, left_out
from privbandits_cli.numerics.jit import Record, Records, record

SIMPLEX, SPHERE, CUBE = 0, 1, 2


class Parameters(linear.Algorithm):
    """The deviation σ of the perturbation."""

    read = "paper"
    display = "FTPL"

    sigma: Size = left_out("σ; default √T on the simplex, √(T/2N), √(T/√N) on the cube")

    def _default(self, setting: Setting) -> float:
        n, horizon = setting.n_arms, setting.horizon
        if isinstance(setting.space, Simplex):
            return math.sqrt(horizon)
        if isinstance(setting.space, Sphere):
            return math.sqrt(horizon / (2 * n))
        return general(setting)

    def errors(self, setting: Setting) -> Iterator[str]:
        if not isinstance(setting.space, Simplex | Sphere | Cube):
            yield "a polytope needs a linear programme in every round: use scrible there (feedback: bandit)"

    def tuned(self, setting: Setting) -> Self:
        return self.replace(sigma=self.sigma or self._default(setting))

    def state(self, setting: Setting) -> Records:
        kind = {Simplex: SIMPLEX, Sphere: SPHERE, Cube: CUBE}[type(setting.decisions())]
        return record(kind=kind, sigma=self.sigma, begun=False, losses=np.zeros(setting.n_arms))

    def draws(self, setting: Setting, rounds: Ints) -> dict[str, Ints]:
        return {"normal": np.where(rounds == 1, setting.n_arms, 0)}

    def regret_bound(self, rounds: Floats, setting: Setting, memory: int = 0) -> Floats:
        return perturbed(self.sigma, rounds, setting)


def general(setting: Setting) -> float:
    """σ of a prefix, |Y|_2 √(T/√N), for any decision set and losses of norm at most |Y|_2 (Theorem 3.5)."""
    return loss_set(setting).norms()[1] * math.sqrt(setting.horizon / math.sqrt(setting.n_arms))


def perturbed(sigma: float, rounds: Floats, setting: Setting) -> Floats:
    """Aσ + B t/σ, against all oblivious sequences of losses."""
    n = setting.n_arms
    if isinstance(setting.space, Simplex):
        root = math.sqrt(2 * math.log(n))
        return root * (sigma + (1.0 if setting.signed else 0.25) * rounds / sigma)
    if isinstance(setting.space, Sphere):
        return sigma * math.sqrt(n) + rounds / (2 * sigma * math.sqrt(n))
    return math.sqrt(2 / math.pi) * (n * sigma + rounds / (2 * sigma))


def choose(state: Record, x: Floats, rng: Draws) -> None:
    if not state.begun:
        state.begun = True
        for i in range(len(x)):
            state.losses[i] = state.sigma * rng.normal[i]
    follow(state.kind, state.losses, x)


def update(state: Record, losses: Floats, rng: Draws) -> None:
    for i in range(len(losses)):
        state.losses[i] += losses[i]


def follow(kind: int, losses: Floats, x: Floats) -> None:
    """x = argmin <losses, x>."""
    if kind == SIMPLEX:
        best = 0
        for i in range(len(x)):
            x[i] = 0.0
            if losses[i] < losses[best]:
                best = i
        x[best] = 1.0
    elif kind == SPHERE:
        squares = 0.0
        for i in range(len(x)):
            squares += losses[i] * losses[i]
        inverse = -1.0 / np.sqrt(squares) if squares > 0.0 else 0.0  # every point is a leader of zeros
        for i in range(len(x)):
            x[i] = inverse * losses[i]
    else:
        for i in range(len(x)):
            x[i] = -1.0 if losses[i] > 0.0 else 1.0
