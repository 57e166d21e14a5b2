"""Regrets as multiples: of a floor, the regret without privacy, and where that is free; of a lower bound."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from privbandits_cli.figures.line import Line
from privbandits_cli.numerics.types import Floats


def floor_of(line: Line, lines: Sequence[Line], floor: str) -> Floats | None:
    """The floor's regret at each point of a line `[points]`: the floor is an algorithm in the same game."""
    for other in lines:
        if other.algorithm == floor and other.game == line.game:
            return np.interp(line.x, other.x, other.regret)
    return None


def as_multiples(lines: Sequence[Line], floor: str) -> list[Line]:
    """The lines with their regrets and bars as multiples of the floor's; without the floor itself."""
    out = []
    for line in lines:
        level = floor_of(line, lines, floor)
        if line.algorithm != floor and level is not None:
            out.append(_divided(line, level))
    return out


def over_lower_bounds(lines: Sequence[Line]) -> list[Line]:
    """The lines as multiples of their asymptotic lower bounds, where these are above 0; without those that have none.

    A bound is above 0 from the second round on.
    """
    known = [(line, rate.regret) for line in lines for rate in line.rates if rate.asymptotic]
    return [replace(_divided(line, lower), by_itself=True) for line, lower in known if (lower > 0).any()]


def _divided(line: Line, by: Floats) -> Line:
    """The line with its regrets and bars as multiples of these, where these are not 0."""
    kept = by != 0
    scaled = {name: getattr(line, name)[kept] / by[kept] for name in ("regret", "below", "above")}
    bulk = line.bulk and line.bulk.at(kept).divided(by[kept])
    return replace(line, x=line.x[kept], **scaled, bulk=bulk, bound=None, rates=(), fine=None, slope=None)


def free_from(line: Line, lines: Sequence[Line], floor: str, within: float) -> float | None:
    """The smallest x above which the regret stays below (1 + within) times the floor's; None: nowhere, or everywhere.

    Between two points the logarithm of the ratio is linear in that of x. If the regret is nowhere twice the floor's,
    privacy costs next to nothing at any x, and a crossing would only show the spread of the trials: None.
    """
    level = floor_of(line, lines, floor)
    if level is None or line.algorithm == floor or (line.x <= 0).any() or (level <= 0).any():
        return None
    return None if line.regret.max() < 2 * level.max() else crossing(line.x, line.regret / level / (1 + within))


def crossing(x: Floats, ratio: Floats) -> float | None:
    """The smallest x above which the ratio is at most 1, interpolated as in `free_from`; None if there is none."""
    over = np.log(np.maximum(ratio, 1e-300))
    i = max(np.flatnonzero(over > 0), default=-1)
    if i == len(over) - 1:
        return None
    if i < 0:
        return float(x[0])
    part = over[i] / (over[i] - over[i + 1])
    return float(np.exp((1 - part) * np.log(x[i]) + part * np.log(x[i + 1])))
