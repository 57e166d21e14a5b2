"""What privacy costs: regrets as multiples of a floor, the regret without privacy, and from where on it is free."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.analysis.line import Line

Floats = NDArray[np.float64]


def floor_of(line: Line, lines: Sequence[Line], floor: str) -> Floats | None:
    """The floor's regret at each point of a line: of the algorithm of that name in the same game, `[points]`."""
    for other in lines:
        if other.algorithm == floor and other.game == line.game:
            return np.interp(line.x, other.x, other.regret)
    return None


def as_multiples(lines: Sequence[Line], floor: str) -> list[Line]:
    """The lines with their regrets, and bars, as multiples of the floor's; without the floor itself."""
    out = []
    for line in lines:
        level = floor_of(line, lines, floor)
        if line.algorithm != floor and level is not None:
            scaled = {name: getattr(line, name) / level for name in ("regret", "below", "above")}
            out.append(replace(line, **scaled, bound=None, rates=(), slope=None))
    return out


def free_from(line: Line, lines: Sequence[Line], floor: str, within: float) -> float | None:
    """The least x from which on the regret stays below (1 + within) times the floor's; None: nowhere, or everywhere.

    Between two points the logarithm of the ratio is linear in that of x. Where the regret is nowhere twice the floor's,
    privacy costs next to nothing at any x, and what crosses the line is the trials' own spread: None.
    """
    level = floor_of(line, lines, floor)
    if level is None or line.algorithm == floor or (line.x <= 0).any() or (level <= 0).any():
        return None
    over = np.log(np.maximum(line.regret / level, 1e-300)) - np.log1p(within)
    above = np.flatnonzero(over > 0)
    if line.regret.max() < 2 * level.max() or above[-1] == len(over) - 1:
        return None
    i = int(above[-1])
    part = over[i] / (over[i] - over[i + 1])
    return float(np.exp((1 - part) * np.log(line.x[i]) + part * np.log(line.x[i + 1])))
