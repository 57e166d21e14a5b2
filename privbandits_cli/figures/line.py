"""One line of a figure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from privbandits_cli.analysis.rates import Rate
from privbandits_cli.experiment.names import Name
from privbandits_cli.figures.styles import Drawn
from privbandits_cli.numerics.types import Floats


@dataclass(frozen=True)
class Line:
    """One line of a panel; all arrays `[points]`, regrets in rounds."""

    algorithm: str
    label: Name
    x: Floats  # the checkpoints, or the values of a swept parameter
    regret: Floats
    below: Floats  # lengths of the error bars
    above: Floats
    trials: int
    bound: Floats | None  # on the regret, by a theorem; NaN where no algorithm can exceed it
    rates: tuple[Rate, ...] = ()  # lower and upper bounds on the regret of every learner that is as private as this one
    slope: tuple[float, float] | None = None  # of log mean regret over log x, and its standard error
    adversary: str = ""
    game: Mapping[str, str] = field(default_factory=dict)  # swept values of the game that all points share
    own: Mapping[str, str] = field(default_factory=dict)  # swept values of the algorithm that all points share
    parameters: Mapping[str, Any] = field(default_factory=dict)  # of the algorithm, at the first point
    free: float | None = None  # the x from which on the regret is within a given part of the floor's
    level: bool = False  # the algorithm lacks the parameter on the axis: one value from end to end
    untold: str = ""  # why bound and rates are not known although they are wanted
    worst: tuple[float, ...] = ()  # the value of the parameter `plot.worst` at each point
    private: bool = True  # whether it has a guarantee of privacy

    @property
    def drawn(self) -> Drawn:
        """What decides its style."""
        return Drawn(self.algorithm, self.label, self.private, self.own)

    def regret_at(self, x: float) -> float:
        """The regret at a positive x, interpolated linearly between the points on logarithmic axes."""
        return float(np.exp(np.interp(np.log(x), np.log(self.x), np.log(self.regret))))

    def slope_text(self, interval: bool = True) -> str:
        """The slope, with its 95 % interval; empty if the line has none."""
        if self.slope is None:
            return ""
        slope, error = self.slope
        return f"slope {slope:.3f} ± {1.96 * error:.3f}" if interval else f"slope {slope:.3f}"


def rates_of(lines: Sequence[Line]) -> Iterator[tuple[Line, Rate]]:
    """The different rates of lines. Each comes with the first line that it applies to, and is drawn in its colour."""
    drawn = set()
    for line in lines:
        for rate in line.rates:
            if (rate.title, *rate.regret) not in drawn:
                drawn.add((rate.title, *rate.regret))
                yield line, rate
