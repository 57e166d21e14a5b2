"""Lognormal gains: a tail that is lighter than any power and heavier than an exponential.

X = mean exp(σ Z - σ²/2) with Z standard normal, so that E X is the given mean and, for every v,
E X^(1+v) = mean^(1+v) exp(σ² v (1 + v)/2).
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.games.bandit import Floats, Setting
from privbandits_cli.games.heavy_tails import HeavyTailed


class Parameters(HeavyTailed):
    """The means and the spread of the logarithm."""

    display = "Lognormal"

    sigma: float = Field(1.0, gt=0, le=10, description="σ, the standard deviation of the logarithm of a gain")

    def location_scale(self, setting: Setting) -> tuple[Floats, Floats]:
        means = self.mean_gains(setting)
        return np.zeros_like(means), means * np.exp(-(self.sigma**2) / 2)

    def standard(self, rng: Generator) -> Callable[[int], Floats]:
        return lambda n: np.exp(self.sigma * rng.standard_normal(n))

    def moments(self, setting: Setting) -> Floats:
        moments: Floats = self.mean_gains(setting) ** (1 + self.v) * np.exp(self.sigma**2 * self.v * (1 + self.v) / 2)
        return moments

    def errors(self, setting: Setting) -> Iterator[str]:
        yield from super().errors(setting)
        if isinstance(self.means, list) and min(self.means, default=1.0) <= 0:
            yield "lognormal gains are positive, so their means must be positive: for other means use student_t"
