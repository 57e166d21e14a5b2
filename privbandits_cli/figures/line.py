"""One line of a figure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from privbandits_cli.analysis.rates import Rate, Theory
from privbandits_cli.analysis.statistics import FEWEST_TRIALS
from privbandits_cli.experiment.names import Name
from privbandits_cli.figures.bulk import ALIKE, SURE, VISIBLE, Bulk, Flags
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
    private: bool = True  # whether it has a guarantee of privacy
    by_itself: bool = False  # its regrets are multiples of a bound of its own, so that no other line limits them
    bulk: Bulk | None = None  # where the trials of each point lie
    widened: bool = True  # whether the bars are no quantiles already
    guarantee: tuple[float, float] | None = None  # the certified ε and δ that the label states
    fine: tuple[Floats, Theory] | None = None  # bound and rates at values of x of their own, between the points too
    hollow: Flags | None = None  # the points that stand for nothing counted: hollow markers, without a line
    marked: tuple[tuple[float, float, str], ...] = ()  # texts above points: x, y, text

    @property
    def drawn(self) -> Drawn:
        """What decides its style."""
        return Drawn(self.algorithm, self.label, self.private, self.own)

    @property
    def wide(self) -> Flags:
        """The points at which quantiles are drawn beside the centre, since the trials are uneven."""
        if self.bulk is None or self.level or not self.widened:
            return np.zeros(len(self.x), bool)
        return self.bulk.uneven()

    @property
    def outside(self) -> Flags:
        """The points at which the centre is outside the bulk of its trials."""
        if self.bulk is None or self.level:
            return np.zeros(len(self.x), bool)
        return self.bulk.excludes(self.regret)

    def regret_at(self, x: float) -> float:
        """The regret at a positive x, interpolated linearly between the points on logarithmic axes."""
        return float(np.exp(np.interp(np.log(x), np.log(self.x), np.log(self.regret))))

    def slope_text(self, interval: bool = True) -> str:
        """The slope, with its 95 % interval; empty if the line has none."""
        if self.slope is None:
            return ""
        slope, error = self.slope
        return f"slope {slope:.3f} ± {1.96 * error:.3f}" if interval else f"slope {slope:.3f}"


def levelled(line: Line, ends: Sequence[float]) -> Line:
    """A line of one point, drawn from end to end of its panel, without bars."""
    twice = np.zeros(2, int)
    return replace(
        line,
        x=np.array(ends),
        regret=line.regret[twice],
        below=np.zeros(2),
        above=np.zeros(2),
        bulk=line.bulk and line.bulk.at(twice),
        hollow=None if line.hollow is None else line.hollow[twice],
        marked=tuple((ends[0], y, text) for _, y, text in line.marked),
        level=True,
    )


def rates_of(lines: Sequence[Line]) -> Iterator[tuple[Line, Rate]]:
    """The different rates of lines. Each comes with the first line that it applies to, and is drawn in its colour."""
    drawn = set()
    for line in lines:
        for rate in line.rates:
            if (rate.title, *rate.regret) not in drawn:
                drawn.add((rate.title, *rate.regret))
                yield line, rate


def lifted(line: Line, lines: Sequence[Line]) -> tuple[Floats, Flags]:
    """The regrets of a line as they are drawn, and where they are those of a floor.

    A floor is an algorithm without privacy in the same game. Where the trials of a private algorithm are uneven, its
    centre is not drawn below that of a floor if its mean is not lower by `SURE` standard errors of the difference.
    """
    shown, at_floor = line.regret.copy(), np.zeros(len(line.x), bool)
    if line.bulk is None or not line.private or line.by_itself:
        return shown, at_floor
    for floor in lines:
        if floor.bulk is not None and not floor.private and floor.game == line.game:
            level, mean, error = (
                np.interp(line.x, floor.x, part) for part in (floor.regret, floor.bulk.mean, floor.bulk.error)
            )
            beaten = line.bulk.mean + SURE * np.hypot(line.bulk.error, error) < mean
            held = line.bulk.uneven() & (line.regret < (1 - VISIBLE) * level) & ~beaten & (level > shown)
            shown, at_floor = np.where(held, level, shown), at_floor | held
    return shown, at_floor


def alike(lines: Sequence[Line]) -> bool:
    """Whether chance may be all that several lines show: one level is near the mean of each of their points.

    Near: within `ALIKE` standard errors. Too few trials show nothing, not even that.
    """
    bulks = [line.bulk for line in lines if line.bulk is not None]
    if len(bulks) < max(2, len(lines)) or any((bulk.trials < FEWEST_TRIALS).any() for bulk in bulks):
        return False
    low = max(float((bulk.mean - ALIKE * bulk.error).max()) for bulk in bulks)
    return low <= min(float((bulk.mean + ALIKE * bulk.error).min()) for bulk in bulks)
