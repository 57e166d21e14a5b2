"""Means over trials with their errors; differences and ratios of two means, paired if the game is shared; slopes.

Inference is on the mean of the regret over trials, by Student's t; a slope has the degrees of freedom of one point.
Student's t is no proof: a sample says little about a law with a heavy tail. So there are two more intervals. `further`
is Student's after one more trial, twice as far from the mean as any so far. `sure` holds for every law between known
limits: with a confidence of 1 - α the distribution function is nowhere further than √(ln(2/α)/2n) from that of the
sample (Dvoretzky, Kiefer & Wolfowitz 1956, Massart 1990), so the mean is between those of the two extreme laws
(Anderson 1969).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from privbandits_cli.numerics.types import Floats

How = Literal["alone", "paired", "Welch", "unpaired"]


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error; the error of an exact number is 0."""

    value: float
    error: float = 0.0
    trials: int = 0  # the number of trials; 0 if the number is exact
    game: str = ""  # the game of its regrets
    regrets: Mapping[int, float] = field(default_factory=dict)  # trial -> regret; empty if only the mean is known
    limits: tuple[float, float] = (-math.inf, math.inf)  # between which every regret lies
    remark: str = ""  # for a reader, after the value


def mean(game: str, regrets: Mapping[int, float], limits: tuple[float, float] = (-math.inf, math.inf)) -> Estimate:
    """The mean over trials of the regrets in a game; the error of a single trial is infinite."""
    x = np.array(list(regrets.values()))
    error = float(x.std(ddof=1) / math.sqrt(len(x))) if len(x) > 1 else math.inf
    return Estimate(float(x.mean()), error, len(x), game, regrets, limits)


def within(x: Floats, limits: tuple[float, float], confidence: float) -> tuple[float, float]:
    """An interval for the mean of any law between these limits, from independent numbers `[trials]`."""
    share = min(1.0, math.sqrt(math.log(2 / (1 - confidence)) / (2 * len(x))))  # of the law that may be elsewhere
    own, steps = np.sort(x), np.arange(len(x) + 1) / len(x)
    above = float(np.diff(np.maximum(steps - share, 0.0)) @ own)  # the lowest share is at the upper limit instead
    below = float(np.diff(np.minimum(steps + share, 1.0)) @ own)
    return below + share * limits[0], above + share * limits[1]


@dataclass(frozen=True)
class Two:
    """Two estimates with the covariance of their errors."""

    a: Estimate
    b: Estimate
    covariance: float  # of the two values
    how: How

    @property
    def trials(self) -> int:
        """Trials of the estimate that has fewer; 0 if both are exact."""
        return min((one.trials for one in (self.a, self.b) if one.trials), default=0)

    def error(self, factor: float) -> float:
        """Standard error of a - factor x b."""
        square = self.a.error**2 - 2 * factor * self.covariance + (factor * self.b.error) ** 2
        return math.sqrt(max(0.0, square))

    def degrees(self, factor: float) -> float:
        """Degrees of freedom of that error; for independent means those of Welch and Satterthwaite."""
        parts = [(one.error * size, one.trials - 1) for one, size in ((self.a, 1.0), (self.b, factor)) if one.trials]
        if self.how == "paired" or self.how == "unpaired" or len(parts) < 2:
            return float(min((n for _, n in parts), default=math.inf))
        total = sum(error**2 for error, _ in parts)
        below = sum(error**4 / n for error, n in parts if n)
        return total**2 / below if 0 < below < math.inf else float(min(n for _, n in parts))

    def interval(self, factor: float, confidence: float) -> tuple[float, float]:
        """Interval of a - factor x b."""
        centre = self.a.value - factor * self.b.value
        half = self.half(factor, confidence)
        return centre - half, centre + half

    def half(self, factor: float, confidence: float) -> float:
        """Half the length of that interval."""
        error = self.error(factor)
        return error * quantile(self.degrees(factor), confidence) if error else 0.0

    def further(self, factor: float, confidence: float) -> list[tuple[float, float]]:
        """Such intervals after one more trial on either side, or of either sample; none if trials are not known."""
        found = []
        for x, limits, rest in self._samples(factor):
            far = 2 * float(np.abs(x - x.mean()).max())
            for extreme in (max(limits[0], float(x.mean()) - far), min(limits[1], float(x.mean()) + far)):
                own = mean("", dict(enumerate([*x.tolist(), extreme])))
                error, degrees = math.hypot(own.error, rest.error), min(own.trials, rest.trials or own.trials) - 1
                half = error * quantile(degrees, confidence)
                found.append((own.value + rest.value - half, own.value + rest.value + half))
        return found

    def sure(self, factor: float, confidence: float) -> tuple[float, float]:
        """Interval of a - factor x b for regrets of any law between their limits; for two samples, joint."""
        samples = self._samples(factor)
        each = [within(x, limits, 1 - (1 - confidence) / len(samples)) for x, limits, _ in samples]
        known = 0.0 if len(samples) != 1 else samples[0][2].value
        return sum(low for low, _ in each) + known, sum(high for _, high in each) + known

    def _samples(self, factor: float) -> list[tuple[Floats, tuple[float, float], Estimate]]:
        """The independent numbers of which a - factor x b is the mean or the sum of means, their limits, the rest."""
        sides = [(self.a, 1.0), (self.b, -factor)]
        parts = [
            (size * np.array(list(one.regrets.values())), _scaled(one.limits, size), size * one.value, size * one.error)
            for one, size in sides
        ]
        if self.how == "paired":
            regrets = [np.array([one.regrets[trial] for trial in self.a.regrets]) for one, _ in sides]
            limits = (parts[0][1][0] + parts[1][1][0], parts[0][1][1] + parts[1][1][1])
            return [(regrets[0] - factor * regrets[1], limits, Estimate(0.0))]
        others = [Estimate(part[2], abs(part[3]), one.trials) for part, (one, _) in zip(parts, sides, strict=True)]
        known = zip(parts, reversed(others), sides, strict=True)
        return [(x, limits, rest) for (x, limits, _, _), rest, (_, size) in known if len(x) > 1 and size]

    def ratio(self, confidence: float) -> tuple[float, float] | None:
        """Interval of a / b (Fieller 1954): all factors f for which 0 is in that of a - f x b; None if unbounded."""
        a, b = self.a.value, self.b.value
        t = quantile(self.degrees(a / b), confidence) if b else math.inf
        lead = b**2 - (t * self.b.error) ** 2 if self.b.error else b**2
        if not lead > 0 or b <= 0 or not math.isfinite(self.a.error):
            return None
        middle = a * b - t**2 * self.covariance
        root = math.sqrt(max(0.0, middle**2 - lead * (a**2 - (t * self.a.error) ** 2)))
        return (middle - root) / lead, (middle + root) / lead

    def deciding(self, factor: float, confidence: float) -> float:
        """The approximate number of trials that would distinguish a from factor x b, if the estimates are right."""
        apart = abs(self.a.value - factor * self.b.value)
        return self.trials * (self.half(factor, confidence) / apart) ** 2 if apart else math.inf


def _scaled(limits: tuple[float, float], size: float) -> tuple[float, float]:
    """The limits of `size` times a number."""
    low, high = (size * limit if size else 0.0 for limit in limits)
    return min(low, high), max(low, high)


def two(a: Estimate, b: Estimate) -> Two:
    """Two estimates with their covariance.

    Regrets of the same trials of the same game are paired; those of different games are independent; if the regrets of
    single trials are unknown, the covariance is the worst possible one.
    """
    if not (a.trials and b.trials) or not math.isfinite(a.error + b.error):
        return Two(a, b, 0.0, "alone")
    if a.regrets and b.regrets and a.game != b.game:
        return Two(a, b, 0.0, "Welch")
    if a.regrets and a.regrets.keys() == b.regrets.keys():
        x, y = (np.array([one.regrets[trial] for trial in a.regrets]) for one in (a, b))
        return Two(a, b, float(np.cov(x, y)[0, 1]) / a.trials, "paired")
    return Two(a, b, -a.error * b.error, "unpaired")


def quantile(degrees: float, confidence: float) -> float:
    """The quantile of Student's t, normal for infinite degrees, for a two-sided interval of this confidence."""
    from scipy.special import ndtri, stdtrit

    upper = (1 + confidence) / 2
    return float(ndtri(upper) if math.isinf(degrees) else stdtrit(degrees, upper)) if degrees > 0 else math.inf


def slope(x: Floats, mean: Floats, error: Floats, together: bool = False) -> tuple[float, float]:
    """Slope of log mean over log x by least squares, and its standard error; all arrays `[points]`, positive.

    error: standard errors of independent means; to first order, log mean has the error error / mean.
    together: the means are over the same trials; their errors are added, as in the worst case.
    """
    centred = np.log(x) - np.log(x).mean()
    weights = centred / np.sum(centred**2)
    parts = np.abs(weights) * error / mean
    return float(weights @ np.log(mean)), float(parts.sum() if together else np.sqrt(np.sum(parts**2)))
