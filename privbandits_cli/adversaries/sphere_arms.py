"""New arms on the unit sphere in each round, one of them best by a gap: the environment of Shariff & Sheffet 2018.

This follows the code of their experiments: θ is uniform on the sphere and drawn once. Every arm is a uniformly random
direction x, conditional on its mean <θ, x> being in [-best, best - gap]. Then one random arm is given the mean `best`.
It has the largest mean of the round, and every other mean is smaller by at least the gap. The paper has k = d² arms.

A direction whose mean is out of range is rotated, in the plane that it spans with θ, to a new mean from the conditional
law, which has density (1 - u²)^((d - 3)/2). Around θ a random direction is uniform, whatever its mean.

The arms of a round are drawn ahead, and all algorithms meet the same, or on demand (`games.on_demand`).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.games import contextual
from privbandits_cli.games.contextual import Floats, Law, Setting
from privbandits_cli.games.drawing import filled, rows_of
from privbandits_cli.games.ellipsoid import FEW
from privbandits_cli.games.on_demand import ArmLaw, direction
from privbandits_cli.numerics.jit import Record, Records, once, record
from privbandits_cli.numerics.sfc64 import Words, fill_normal, uniform, words_of
from privbandits_cli.numerics.text import exact
from privbandits_cli.numerics.types import Blocks, Tables


class Parameters(contextual.Adversary):
    """The gap, the best mean and the law of rewards."""

    display = "Arms on the sphere"

    gap: float = Field(0.0, ge=0, description="Δ, the least difference between the best mean and every other")
    best: float = Field(0.75, gt=0, lt=1, description="the best arm's mean")
    rewards: Literal["signs", "gaussian"] = Field(
        "signs", description="signs: 1 or -1, with the arm's mean; gaussian: the mean and N(0, 1) noise"
    )
    drawn: Literal["ahead", "on_demand"] = Field(
        "ahead",
        description="ahead: whole arms, the same for all algorithms; on_demand: each algorithm has a θ and arms of its "
        "own, and only arms that it may play are drawn, which is far faster for many arms",
    )

    def law(self) -> Law:
        return self.rewards

    def arms(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[tuple[Floats, Floats]]:
        for dealt in self.arms_together(setting, [rng], lambda: blocks):
            yield np.ascontiguousarray(dealt[:, :-1, :, 0]), np.ascontiguousarray(dealt[:, -1, :, 0])

    def arms_together(self, setting: Setting, rngs: Sequence[Generator], rounds: Blocks) -> Tables:
        shape = setting.known().dimension + 1, setting.n_arms
        fill = filled(deal, [self._state(setting, rng) for rng in rngs], shape, own=("words", "theta"))
        yield from map(rows_of(fill, *shape, len(rngs)), map(len, rounds()))

    def _state(self, setting: Setting, rng: Generator) -> Records:
        """The record `[1]` of a trial before its first round."""
        dimension = setting.known().dimension
        law = {"low": -self.best, "high": self.best - self.gap, "best": self.best}
        theta = direction(dimension, rng)
        return record(theta=theta, inverse=np.zeros(setting.n_arms), **law, **words_of(rng))

    def on_demand(self) -> ArmLaw | None:
        return ArmLaw(self.best, -self.best, self.best - self.gap) if self.drawn == "on_demand" else None

    def errors(self, setting: Setting) -> Iterator[str]:
        if setting.known().dimension < 2:
            yield "on a line the only means are 1 and -1: set a dimension of at least 2"
        if self.gap >= 2 * self.best:
            yield f"gap = {exact(self.gap)} leaves no room for other means: take less than {exact(2 * self.best)}"


def deal(state: Record, layers: Record, out: Floats) -> None:
    """The arms of a round, and in the last row their means."""
    theta, words = state.theta, state.words
    x, mean = out[: len(theta)], out[len(theta)]
    for i in range(len(x)):
        fill_normal(words, layers, x[i])
    if len(theta) <= FEW:
        normalise_few(x, mean, theta)
    else:
        normalise(x, mean, theta, state.inverse)
    for a in range(len(mean)):
        if not state.low <= mean[a] <= state.high:
            turn(x, mean, theta, a, redrawn(state.low, state.high, 0.5 * (len(theta) - 3), words))
    turn(x, mean, theta, int(uniform(words) * len(mean)), state.best)


def normalise_few(x: Floats, mean: Floats, theta: Floats) -> None:
    """Normalise every arm of `x[d, k]`, and compute its mean, arm by arm."""
    for a in range(len(mean)):
        square, along = 0.0, 0.0
        for i in range(len(theta)):
            square += x[i, a] * x[i, a]
            along += theta[i] * x[i, a]
        scale = 1.0 / np.sqrt(square)
        for i in range(len(theta)):
            x[i, a] *= scale
        mean[a] = along * scale


def normalise(x: Floats, mean: Floats, theta: Floats, inverse: Floats) -> None:
    """The same, one coordinate after the other, which is faster where there are many."""
    inverse[:] = 0.0
    mean[:] = 0.0
    for i in range(len(theta)):
        for a in range(len(inverse)):
            inverse[a] += x[i, a] * x[i, a]
        for a in range(len(inverse)):
            mean[a] += theta[i] * x[i, a]
    for a in range(len(inverse)):
        inverse[a] = 1.0 / np.sqrt(inverse[a])
        mean[a] *= inverse[a]
    for i in range(len(theta)):
        for a in range(len(inverse)):
            x[i, a] *= inverse[a]


@once
def redrawn(low: float, high: float, power: float, words: Words) -> float:
    """A mean of density (1 - u²)^power on [low, high], by rejection."""
    nearest = 0.0 if low < 0.0 < high else min(abs(low), abs(high))
    widest = max(abs(low), abs(high))
    largest = (1.0 - (nearest if power >= 0 else widest) ** 2) ** power
    while True:
        u = low + (high - low) * uniform(words)
        if uniform(words) * largest < (1.0 - u * u) ** power:
            return u


def turn(x: Floats, mean: Floats, theta: Floats, a: int, new: float) -> None:
    """Rotate arm `a` so that its mean is `new`."""
    rest = 0.0
    for i in range(len(theta)):
        x[i, a] -= mean[a] * theta[i]
        rest += x[i, a] * x[i, a]
    scale = np.sqrt((1.0 - new * new) / rest)
    for i in range(len(theta)):
        x[i, a] = new * theta[i] + scale * x[i, a]
    mean[a] = new
