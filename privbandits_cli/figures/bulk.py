"""Where the trials of a line lie, and where its centre alone would mislead."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.analysis.statistics import FEWEST_TRIALS
from privbandits_cli.numerics.types import Floats, Ints

Flags = NDArray[np.bool_]

VISIBLE = 0.05  # a deviation below this part of the median cannot be seen
HEAVY = 0.4  # deviation by distance of the 5 and 95 % quantiles: 0.30 for a normal law, 0.5 for two equal groups
LOPSIDED = 4.0  # distances of both quantiles from the median, the longer by the shorter: 3.6 for an exponential law
OUTSIDE = 0.01  # a centre this part of itself beyond a quantile is outside
SURE = 1.96  # standard errors of a difference by which a mean is lower
ALIKE = 3.0  # standard errors around each mean: points are alike if these intervals share a value
GAP = 4.0  # a step this many times as long as the median step is a gap


class Bulk(NamedTuple):
    """Mean, standard deviation, quantiles and number of the trials at each point of a line `[points]`."""

    mean: Floats
    sd: Floats
    low: Floats  # the 5 % quantile
    middle: Floats
    high: Floats  # the 95 % quantile
    trials: Floats

    @property
    def error(self) -> Floats:
        """The standard error of the mean."""
        return self.sd / np.sqrt(self.trials)

    def uneven(self) -> Flags:
        """Where trials are heavy-tailed, lopsided or in groups; nowhere for too few trials to tell."""
        up, down, band = self.high - self.middle, self.middle - self.low, self.high - self.low
        lopsided = np.maximum(up, down) > LOPSIDED * np.minimum(up, down)
        seen = self.sd > VISIBLE * np.abs(self.middle)
        return seen & (lopsided | (self.sd > HEAVY * band)) & (self.trials >= FEWEST_TRIALS)

    def excludes(self, centre: Floats) -> Flags:
        """Where a centre is outside the 5 to 95 % quantiles of the trials."""
        room = OUTSIDE * np.abs(centre)
        return ((centre < self.low - room) | (centre > self.high + room)) & (self.trials >= FEWEST_TRIALS)

    def divided(self, by: Floats) -> "Bulk":
        """The regrets as multiples of others."""
        return Bulk(*(part / by for part in self))._replace(trials=self.trials)

    def at(self, points: NDArray[Any]) -> "Bulk":
        """The points at these indices, which may repeat, or where these flags are True."""
        return Bulk(*(part[points] for part in self))


def gaps(x: Floats) -> Ints:
    """The points of a sweep before which values are left out: the step there is a gap on both kinds of axis."""
    steps = [np.diff(x)] + ([np.diff(np.log(x))] if len(x) and x.min() > 0 else [])
    long = [step > GAP * np.median(step) for step in steps if len(step)]
    return 1 + np.flatnonzero(np.logical_and.reduce(long)) if long else np.zeros(0, int)
