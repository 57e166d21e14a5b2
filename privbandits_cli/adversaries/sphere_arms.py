"""New arms on the unit sphere in each round, one of them best by a gap: the environment of Shariff & Sheffet 2018.

This follows the code of their experiments: θ is uniform on the sphere and drawn once. Every arm is a uniformly random
direction x, conditional on its mean <θ, x> being in [-best, best - gap]. Then one random arm is given the mean `best`.
It has the largest mean of the round, and every other mean is smaller by at least the gap. The paper has k = d² arms.

A direction whose mean is out of range is rotated, in the plane that it spans with θ, to a new mean from the conditional
law, which has density (1 - u²)^((d - 3)/2). Around θ a random direction is uniform, whatever its mean.

The arms of a round are drawn ahead, and all algorithms meet the same, or on demand (`games.on_demand`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.games import contextual
from privbandits_cli.games.contextual import Floats, Law, Setting
from privbandits_cli.games.dealt import new_rounds
from privbandits_cli.games.on_demand import Crowd, direction
from privbandits_cli.numerics.jit import Records, bind, kept, record
from privbandits_cli.numerics.sfc64 import Words, fill_normal, layers, source, uniform
from privbandits_cli.numerics.text import exact
from privbandits_cli.numerics.vector_fills import words_of_trials
from privbandits_cli.numerics.vectors import WIDTH, column, everywhere, generators, lane, vectors_of, widely

FEW = 8  # coordinates: the compiler unrolls loops over up to this many


class Parameters(contextual.Adversary):
    """The gap, the best mean and the law of rewards."""

    display = "Arms on the sphere"
    later = frozenset({"drawn"})

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
        dimension, k = setting.known().dimension, setting.n_arms
        theta = direction(dimension, rng)
        room = record(theta=theta, inverse=np.zeros(k), **source(rng))
        kernel = filler()
        arms, means = np.empty((0, dimension, k)), np.empty((0, k))
        for rounds in blocks:
            if len(rounds) > len(arms):
                arms, means = np.empty((len(rounds), dimension, k)), np.empty((len(rounds), k))
            n = len(rounds)
            with np.errstate(over="ignore"):  # words wrap around by design
                kernel(arms[:n], means[:n], room, -self.best, self.best - self.gap, self.best)
            yield arms[:n], means[:n]

    def arms_together(
        self, setting: Setting, rngs: Sequence[Generator], rounds: Callable[[], Iterable[range]]
    ) -> Iterator[Records]:
        dimension, k = setting.known().dimension, setting.n_arms
        if dimension > FEW:
            yield from super().arms_together(setting, rngs, rounds)
            return
        room = widely(record(theta=np.zeros(dimension)))
        for i, rng in enumerate(rngs):
            room["theta"][0, :, i] = direction(dimension, rng)
        words, ziggurat, kernel = words_of_trials(rngs), record(**layers()), filler_together()
        out = new_rounds(dimension, k, 0)
        for block in rounds():
            out = out if len(block) <= len(out) else new_rounds(dimension, k, len(block))
            with np.errstate(over="ignore"):  # words wrap around by design
                kernel(out[: len(block)], room, words, ziggurat, -self.best, self.best - self.gap, self.best)
            yield out[: len(block)]

    def on_demand(self) -> Crowd | None:
        return Crowd(self.best, -self.best, self.best - self.gap) if self.drawn == "on_demand" else None

    def errors(self, setting: Setting) -> Iterator[str]:
        if setting.known().dimension < 2:
            yield "on a line the only means are 1 and -1: set a dimension of at least 2"
        if self.gap >= 2 * self.best:
            yield f"gap = {exact(self.gap)} leaves no room for other means: take less than {exact(2 * self.best)}"


def fill(arms: Floats, means: Floats, rooms: Records, low: float, high: float, best: float) -> None:
    """Fill `arms[rounds, d, k]` and `means[rounds, k]` with random arms and their means."""
    room = rooms[0]
    theta, inverse, words = room.theta, room.inverse, room.words
    for t in range(len(arms)):
        x, mean = arms[t], means[t]
        fill_normal(room, x)
        if len(theta) <= FEW:
            normalise_few(x, mean, theta, len(inverse))
        else:
            normalise(x, mean, theta, inverse)
        for a in range(len(inverse)):
            if not low <= mean[a] <= high:
                turn(x, mean, theta, a, redrawn(low, high, 0.5 * (len(theta) - 3), words))
        turn(x, mean, theta, int(uniform(words) * len(inverse)), best)


def fill_together(
    rounds: Records, rooms: Records, trials: Records, layers: Records, low: float, high: float, best: float
) -> None:
    """`fill` for vectors of trials."""
    rng, thetas, words = generators(vectors_of(trials, 0), layers[0]), rooms[0].theta, vectors_of(trials, 0).words
    for t in range(len(rounds)):
        dealt, here = vectors_of(rounds, t), rounds[t]
        x, mean, theta = dealt.arms, dealt.means, vectors_of(rooms, 0).theta
        for i in range(len(theta)):
            for a in range(len(mean)):
                x[i, a] = rng.standard_normal()
        normalise_few(x, mean, theta, len(mean))
        for a in range(len(mean)):
            inside = (mean[a] >= low) & (mean[a] <= high)
            if not everywhere(inside):
                for k in range(WIDTH):
                    if not lane(inside, k):
                        new = redrawn(low, high, 0.5 * (len(theta) - 3), column(words, k))
                        turn(here.arms[:, :, k], here.means[:, k], thetas[:, k], a, new)
        for k in range(WIDTH):
            a = int(uniform(column(words, k)) * len(mean))
            turn(here.arms[:, :, k], here.means[:, k], thetas[:, k], a, best)
        dealt.best = best


def normalise_few(x: Floats, mean: Floats, theta: Floats, k: int) -> None:
    """Normalise every arm of `x[d, k]`, and compute its mean, arm by arm."""
    for a in range(k):
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


@kept
def filler() -> Callable[..., None]:
    """The compiled `fill`."""
    return bind(fill)


@kept
def filler_together() -> Callable[..., None]:
    """The compiled `fill_together`."""
    return bind(fill_together)
