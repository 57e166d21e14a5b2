"""Shares and medians of trials, with intervals that hold for every law: of Clopper & Pearson, and of order statistics.

The trials are independent. An interval of the median is between two of their sorted values: the true median is below
the i-th of n values with the probability that a Binomial(n, 1/2) is less than i.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from privbandits_cli.analysis.estimates import Estimate
from privbandits_cli.analysis.stopping import clopper_pearson


@dataclass(frozen=True)
class Share(Estimate):
    """The share of some trials in all."""

    exact: ClassVar[bool] = True
    count: int = 0

    def sure(self, confidence: float) -> tuple[float, float]:
        """The interval of Clopper & Pearson."""
        return clopper_pearson(self.count, self.trials, confidence)


@dataclass(frozen=True)
class Median(Estimate):
    """The median of some numbers of the trials."""

    exact: ClassVar[bool] = True
    values: tuple[float, ...] = ()  # sorted; infinite in a trial that has not ended

    def sure(self, confidence: float) -> tuple[float, float]:
        """The interval of order statistics; 0 or infinity for too few trials."""
        i = outside(len(self.values), confidence)
        return (self.values[i - 1], self.values[-i]) if i else (0.0, math.inf)


def share(count: int, of: int) -> Share:
    """The share of so many trials."""
    p = count / of
    return Share(p, math.sqrt(p * (1 - p) / of), of, limits=(0.0, 1.0), count=count)


def median(values: Sequence[float]) -> Median:
    """The median, of at least one number."""
    own = tuple(sorted(values))
    known = Median(float(np.median(own)), trials=len(own), values=own)
    low, high = known.sure(0.95)
    return replace(known, error=(high - low) / (2 * 1.96) if math.isfinite(high) else math.inf)


def outside(n: int, confidence: float) -> int:
    """The largest i for which the i-th and the i-th last of n sorted values enclose the median; 0 if there is none."""
    from scipy import special  # slow to import

    tail = (1 - confidence) / 2
    return int(np.sum(special.bdtr(np.arange(n // 2), n, 0.5) <= tail))
