"""The same arms in every round, given or drawn: the environment of Chowdhury & Zhou 2022 (their code).

A drawn arm is a unit vector of d - 1 coordinates with a last coordinate 1; the first d arms are the standard basis with
that last coordinate. θ is uniform of norm 1/2 in d - 1 coordinates and 1/2 in the last, so the means lie in [0, 1].
They use 100 arms in dimension 5 and 20 000 rounds. They count the regret on the gains; here it is pseudo-regret.

With `shape: sphere`, arms and θ are uniform on the unit sphere, as arms are in the experiments of Azize & Basu 2023.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.convex.losses import SLACK
from privbandits_cli.games import contextual
from privbandits_cli.games.contextual import Floats, Law, Setting
from privbandits_cli.games.parameters import Size
from privbandits_cli.games.rewards import REWARDS
from privbandits_cli.numerics.text import exact


class Parameters(contextual.Adversary):
    """The arms, θ and the law of rewards."""

    display = "Fixed arms"
    fixed = True

    vectors: list[list[float]] | None = Field(
        None, min_length=2, description="the arms, a list of d numbers each; by default drawn in each trial"
    )
    theta: list[float] | None = Field(None, description="θ, d numbers; given with the arms")
    norm: Size | None = Field(None, description="L, the declared bound on the arms' norms; default the largest")
    theta_norm: Size | None = Field(None, description="S, the declared bound on θ's norm; default the norm of θ")
    rewards: Law = Field("bernoulli", description="the law of the rewards around their means")
    shape: Literal["raised", "sphere"] = Field(
        "raised", description="how arms and θ are drawn: with means in [0, 1], or on the unit sphere"
    )

    def law(self) -> Law:
        return self.rewards

    def _norms(self) -> tuple[Floats, float]:
        """The norms of the arms, and the norm of θ."""
        if self.vectors is None or self.theta is None:
            return (np.array([1.0]), 1.0) if self.shape == "sphere" else (np.array([math.sqrt(2)]), math.sqrt(0.5))
        return np.array([math.hypot(*vector) for vector in self.vectors]), math.hypot(*self.theta)

    def bounds(self, setting: Setting) -> tuple[float, float]:
        norms, theta_norm = self._norms()
        return self.norm or float(norms.max()), self.theta_norm or theta_norm

    def drawn(self, setting: Setting, rng: Generator) -> tuple[Floats, Floats]:
        """The arms `[k, d]` and θ `[d]` of a trial."""
        if self.vectors is not None and self.theta is not None:
            return np.array(self.vectors), np.array(self.theta)
        d = setting.known().dimension
        if self.shape == "sphere":
            rows = rng.standard_normal((setting.n_arms + 1, d))
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            return rows[:-1], rows[-1]
        vectors = np.ones((setting.n_arms, d))
        theta = np.full(d, 0.5)
        if d > 1:
            for rows, length in ((vectors, 1.0), (theta[None], 0.5)):
                rows[:, :-1] = rng.standard_normal((len(rows), d - 1))
                rows[:, :-1] *= length / np.linalg.norm(rows[:, :-1], axis=1, keepdims=True)
            basis = np.eye(d)
            basis[:, -1] = 1.0
            vectors[:d] = basis[: len(vectors)]
        return vectors, theta

    def arms(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[tuple[Floats, Floats]]:
        vectors, theta = self.drawn(setting, rng)
        yield from repeated(vectors, theta, blocks)

    def errors(self, setting: Setting) -> Iterator[str]:
        d, (norms, theta_norm) = setting.known().dimension, self._norms()
        if self.shape == "sphere" and self.vectors is not None:
            yield "shape: sphere draws the arms: leave vectors and theta out"
        elif self.shape == "sphere" and REWARDS[self.rewards].lowest_mean > -1:
            yield f"means on the sphere are negative, too, which {self.rewards} rewards cannot have: set rewards: signs"
        if (self.vectors is None) != (self.theta is None):
            yield "vectors and theta belong together: give both, or neither to have them drawn"
        elif self.vectors is not None and self.theta is not None:
            lengths = [len(self.theta), *map(len, self.vectors)]
            if len(self.vectors) != setting.n_arms:
                yield f"{len(self.vectors)} vectors: set arms: {len(self.vectors)}"
            if any(length != d for length in lengths):
                found = ", ".join(map(str, sorted({*lengths})))
                yield f"vectors and theta need d = {d} numbers each, but have {found}"
            else:
                yield from self._mean_errors(np.array(self.vectors) @ np.array(self.theta))
        if self.norm is not None and norms.max() > self.norm * (1 + SLACK):
            longest = f"arm {norms.argmax() + 1} has norm {exact(norms.max())}"
            yield f"{longest}, above the declared bound norm = {exact(self.norm)}"
        if self.theta_norm is not None and theta_norm > self.theta_norm * (1 + SLACK):
            yield f"θ has norm {exact(theta_norm)}, above the declared bound theta_norm = {exact(self.theta_norm)}"

    def _mean_errors(self, means: Floats) -> Iterator[str]:
        law = REWARDS[self.rewards]
        if means.min() < law.lowest_mean - SLACK or means.max() > law.largest + SLACK:
            found, allowed = f"[{exact(means.min())}, {exact(means.max())}]", f"[{law.lowest_mean:g}, {law.largest:g}]"
            yield f"the means <θ, x> lie in {found}, but those of {self.rewards} rewards must lie in {allowed}"


def repeated(vectors: Floats, theta: Floats, blocks: Iterable[range]) -> Iterator[tuple[Floats, Floats]]:
    """Yield for each block the arms `vectors[k, d]` in every round, with their means."""
    k, d = vectors.shape
    arms, means = np.empty((0, d, k)), np.empty((0, k))
    for rounds in blocks:
        if len(rounds) > len(arms):
            arms = np.repeat(vectors.T[None], len(rounds), axis=0)
            means = np.repeat((vectors @ theta)[None], len(rounds), axis=0)
        yield arms[: len(rounds)], means[: len(rounds)]
