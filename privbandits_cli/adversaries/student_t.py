"""Student's t: gains mean + scale t with `df` degrees of freedom, heavy-tailed on both sides.

E|X|^(1+v) is finite only for df > 1 + v, and is integrated numerically. At mean 0 it is
(scale √df)^(1+v) Γ(1 + v/2) Γ((df - 1 - v)/2) / (√π Γ(df/2)).
"""

from collections.abc import Callable, Iterator
from typing import Self

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.games.bandit import Floats, Setting
from privbandits_cli.games.heavy_tails import HeavyTailed
from privbandits_cli.games.parameters import left_out


class Parameters(HeavyTailed):
    """The means, the scale and the degrees of freedom."""

    display = "Student's t"

    scale: float = Field(1.0, ge=0.01, le=1e6, description="the factor of t")
    df: float = left_out("degrees of freedom, the tail's index; default 2 + v", gt=1, le=1e6)

    def errors(self, setting: Setting) -> Iterator[str]:
        yield from super().errors(setting)
        yield from self._too_heavy("df", self.df)

    def tuned(self, setting: Setting) -> Self:
        return super().tuned(setting).replace(df=self.df or 2 + self.v)

    def location_scale(self, setting: Setting) -> tuple[Floats, Floats]:
        means = self.mean_gains(setting)
        return means, np.full_like(means, self.scale)

    def standard(self, rng: Generator) -> Callable[[int], Floats]:
        return lambda n: rng.standard_t(self.df, n)

    def moments(self, setting: Setting) -> Floats:
        return np.array([self._moment(mean) for mean in self.mean_gains(setting).tolist()])

    def _moment(self, mean: float) -> float:
        from scipy import integrate, stats

        law, order = stats.t(self.df), 1 + self.v

        def both_sides(x: float) -> float:  # |mean + scale t| at t = x and t = -x
            return float((abs(mean + self.scale * x) ** order + abs(mean - self.scale * x) ** order) * law.pdf(x))

        kink = abs(mean) / self.scale
        near = integrate.quad(both_sides, 0, kink + 10, points=[kink], limit=200)[0]
        return float(near + integrate.quad(both_sides, kink + 10, np.inf, limit=200)[0])
