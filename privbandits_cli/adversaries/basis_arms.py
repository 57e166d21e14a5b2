"""The arms are the standard basis: a plain bandit as a contextual game (Shariff & Sheffet 2018, section 1.1).

θ contains the arms' means.
"""

import math
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.adversaries.fixed_arms import repeated
from privbandits_cli.games import contextual
from privbandits_cli.games.contextual import Floats, Law, Setting
from privbandits_cli.games.heavy_tails import Preset, preset
from privbandits_cli.games.rewards import REWARDS


class Parameters(contextual.Adversary):
    """The means and the law of rewards."""

    display = "Basis arms"
    fixed = True
    nonnegative = True

    means: Preset | list[float] = Field("linear", description="mean rewards, one for each arm, or an instance's name")
    rewards: Law = Field("bernoulli", description="the law of the rewards around their means")

    def law(self) -> Law:
        return self.rewards

    def theta(self, setting: Setting) -> Floats:
        """The arms' means."""
        return np.array(self.means) if isinstance(self.means, list) else preset(self.means, setting.n_arms)

    def bounds(self, setting: Setting) -> tuple[float, float]:
        return 1.0, math.sqrt(setting.n_arms)

    def arms(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[tuple[Floats, Floats]]:
        yield from repeated(np.eye(setting.n_arms), self.theta(setting), blocks)

    def errors(self, setting: Setting) -> Iterator[str]:
        d, k, law = setting.known().dimension, setting.n_arms, REWARDS[self.rewards]
        if d != k:
            yield f"the standard basis of dimension {d} has {d} arms, not {k}: set arms: {d}"
        if isinstance(self.means, list) and len(self.means) != k:
            yield f"{len(self.means)} means for {k} arms: list as many, or set arms: {len(self.means)}"
        if isinstance(self.means, list) and not all(max(law.lowest_mean, -1) <= mean <= 1 for mean in self.means):
            yield f"means of {self.rewards} rewards lie in [{max(law.lowest_mean, -1):g}, 1]"
