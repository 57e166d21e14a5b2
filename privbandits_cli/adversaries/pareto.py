"""Pareto gains (Zhou & Zhang 2024, appendix A.2; Bubeck, Cesa-Bianchi & Lugosi 2013).

The density is s m^s / x^(s+1) for x >= m, with shape s and m = mean (s - 1)/s, which gives the required mean. Then
E X^(1+v) = s m^(1+v) / (s - 1 - v), which is finite only for s > 1 + v. At the default s = 2 + v the variance is
finite, too; for s near 1 + v it is not.
"""

from collections.abc import Callable, Iterator
from typing import Self

import numpy as np
from numpy.random import Generator

from privbandits_cli.games.bandit import Floats, Setting
from privbandits_cli.games.heavy_tails import HeavyTailed
from privbandits_cli.games.parameters import left_out


class Parameters(HeavyTailed):
    """The means and the shape."""

    display = "Pareto"

    shape: float = left_out("s, the tail's index; default 2 + v", gt=1, le=1e6)

    def errors(self, setting: Setting) -> Iterator[str]:
        yield from super().errors(setting)
        yield from self._too_heavy("shape", self.shape)
        if isinstance(self.means, list) and min(self.means, default=1.0) <= 0:
            yield "Pareto gains are positive, so their means must be positive: for other means use student_t"

    def tuned(self, setting: Setting) -> Self:
        return super().tuned(setting).replace(shape=self.shape or 2 + self.v)

    def location_scale(self, setting: Setting) -> tuple[Floats, Floats]:
        means = self.mean_gains(setting)
        return np.zeros_like(means), means * (self.shape - 1) / self.shape

    def standard(self, rng: Generator) -> Callable[[int], Floats]:
        return lambda n: np.exp(rng.standard_exponential(n) / self.shape)

    def moments(self, setting: Setting) -> Floats:
        scale: Floats = self.location_scale(setting)[1]
        order = 1 + self.v
        return self.shape * scale**order / (self.shape - order)
