"""Axes: their scales, their ticks, and the places of error bars and numbers on them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from privbandits_cli.analysis.format import amount
from privbandits_cli.figures.line import Line
from privbandits_cli.numerics.types import Floats, Ints

ScaleKind = Literal["linear", "log", "asinh"]

FLAT = 3.0  # the axis of regrets that differ by less than this factor is linear and starts at 0
NEAR = 0.08  # part of an axis: upright numbers that are closer than this would overlap
MULTIPLES = (1, 2, 5), (1, 3), (1, 1.5, 2, 3, 5, 7), range(1, 10)  # of powers of ten, at ticks
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
FAR = 30.0  # values more than this many times as large as the median need a logarithm


@dataclass(frozen=True)
class Scale:
    """An axis from `low` to `high`; asinh is linear up to about `width` on both sides of 0, and logarithmic beyond."""

    kind: ScaleKind
    low: float
    high: float
    width: float = 1.0

    def __call__(self, values: Floats | float) -> Floats:
        """Places on an axis of kind asinh, from 0 at its low end to 1 at its high end."""
        at, low, high = (np.arcsinh(np.asarray(part, float) / self.width) for part in (values, self.low, self.high))
        return np.asarray(np.clip((at - low) / (high - low), 0, 1))

    def ticks(self, least: float = 0.11) -> list[float]:
        """Round values on an axis of kind asinh, at least so far apart that their labels do not overlap.

        The first is 0; the powers of ten follow from the largest down, then their multiples.
        """
        most = max(-self.low, self.high)
        powers = [10.0**i for i in range(math.floor(math.log10(most)), math.floor(math.log10(self.width)) - 1, -1)]
        kept: list[float] = []
        for x in (0.0, *(sign * m * power for m in (1, 2, 5) for power in powers for sign in (1, -1))):
            if self.low <= x <= self.high and all(abs(self(x) - self(other)) >= least for other in kept):
                kept.append(x)
        return sorted(kept)


def spanning(low: float, high: float, kind: ScaleKind, width: float = 1.0, room: float = 0.03) -> Scale:
    """The axis of a kind that spans low to high, with some room at both ends."""
    if low == high:
        low, high = (low / 2, high * 2) if kind == "log" else (low - 1, high + 1)
    if kind == "log":
        more = (high / low) ** room
        return Scale(kind, low / more, high * more)
    if kind == "asinh":
        ends = np.arcsinh(np.array([low, high]) / width)
        low, high = (np.sinh(ends + np.array([-room, room]) * (ends[1] - ends[0])) * width).tolist()
        return Scale(kind, low, high, width)
    more = room * (high - low)
    return Scale(kind, low - more, high + more)


def fitting(values: Floats) -> Scale:
    """An axis that shows both the bulk of the values and rare extreme ones."""
    low, high = float(values.min()), float(values.max())
    if low > 0:
        return spanning(low, high, "log" if high > FAR / 2 * low else "linear")
    width = float(np.median(np.abs(values[values != 0]))) if values.any() else 1.0
    return spanning(low, high, "asinh" if max(-low, high) > FAR * width else "linear", width)


def wants_logarithm(lines: Sequence[Line]) -> bool:
    """Whether the regrets fit a logarithmic axis, since none is negative, and differ enough to need one."""
    regret = np.concatenate([line.regret for line in lines])
    ends = all((line.regret >= 0).all() and line.regret[-1] > 0 for line in lines)
    return ends and float(regret.max()) > FLAT * float(regret.min())


def number_places(across: Sequence[float]) -> list[tuple[str, int]]:
    """Side and level of upright numbers beside lines at these places of an axis, in increasing order, from 0 to 1.

    A number is to the left of its line. Of numbers that would overlap, the last is to the right of its line and each of
    the others is one level above the one before.
    """
    found: list[tuple[str, int]] = []
    for i, place in enumerate(across):
        after_near = i > 0 and place - across[i - 1] < NEAR
        before_near = i + 1 < len(across) and across[i + 1] - place < NEAR
        if after_near and not before_near:
            found.append(("left", 0))
        else:
            found.append(("right", found[-1][1] + 1 if after_near else 0))
    return found


Log = bool | Literal["x"]  # both axes are logarithmic, or that of x alone


def axes_of(lines: Sequence[Line], log: Log, top: float | None = None) -> tuple[Scale, Scale]:
    """The axes of a panel of lines; that of the regrets is logarithmic only if they differ enough.

    top: the upper end of a linear axis of regrets, if some regrets or bars are larger.

    If bars end below 0 by more than a tenth of the least regret, it is linear around 0 as far as they reach and
    logarithmic beyond, as long as this costs at most half of the powers of ten. Otherwise it does not reach down to
    bars that end below a tenth of the least regret.
    """
    x = np.concatenate([line.x for line in lines])
    regret = np.concatenate([line.regret for line in lines])
    wide = [end[line.wide] for line in lines if line.bulk is not None for end in (line.bulk.low, line.bulk.high)]
    theory = [rate.regret for line in lines for rate in line.rates]
    theory += [np.nan_to_num(line.bound) for line in lines if line.bound is not None]
    low = np.concatenate([*(line.regret - line.below for line in lines), *wide])
    high = float(np.concatenate([regret, *(line.regret + line.above for line in lines), *wide, *theory]).max())
    if log is True and wants_logarithm(lines):
        least, depth = float(regret[regret > 0].min()), -float(low.min())
        reach = 100 if any(line.hollow is not None for line in lines) else 10  # intervals of counts are long
        if least / 10 < depth < math.sqrt(least * high):
            y = spanning(-depth, high, "asinh", depth)
        else:
            low = np.concatenate([low, *theory])
            y = spanning(float(low[low > least / reach].min(initial=least)), high, "log")
    else:
        y = spanning(float(low.min(initial=0.0)), min(high, top or high), "linear")
    if log and x.min() > 0:
        return spanning(float(x.min()), float(x.max()), "log"), y
    return spanning(float(x.min(initial=0.0)), float(x.max()), "linear", room=0.02), y


def round_values(low: float, high: float, most: int) -> list[float]:
    """At most so many ticks of a logarithmic axis, and at least two: powers of ten, or also multiples of these.

    An axis that spans less than a factor of two may have fewer.
    """
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last > first and high > 30 * low:
        step = math.ceil((last - first + 1) / most)
        return [10.0**i for i in range(first, last + 1) if i % step == 0]
    every = [[m * 10.0**i for i in range(first - 1, last + 1) for m in factors] for factors in MULTIPLES]
    inside = [[x for x in values if low <= x <= high] for values in every]
    return next((values for values in inside if 2 <= len(values) <= most), max(inside, key=len)[:most])


def common(scales: Sequence[Scale]) -> Scale | None:
    """One axis for all panels, if that costs none of them more than a third of its length; else None."""
    kinds = {scale.kind for scale in scales}
    if len(kinds) != 1 or "asinh" in kinds:
        return scales[0] if len(set(scales)) == 1 else None
    whole = replace(scales[0], low=min(scale.low for scale in scales), high=max(scale.high for scale in scales))
    lengths = [math.log(scale.high / scale.low) if scale.kind == "log" else scale.high - scale.low for scale in scales]
    longest = math.log(whole.high / whole.low) if whole.kind == "log" else whole.high - whole.low
    return whole if min(lengths) >= longest * 2 / 3 else None


def beyond(line: Line, points: Ints, y: Scale) -> list[tuple[float, str]]:
    """The error bars at these points that end below the axis of regrets, each as its x and its lower end as text."""
    ends = line.regret - line.below
    ends[np.abs(ends) < 1e-9 * line.below] = 0.0  # but for rounding
    return [
        (float(line.x[i]), amount(float(ends[i]), 3).replace("-", "−"))
        for i in points
        if y.kind == "log" and ends[i] < y.low and line.below[i] + line.above[i] > 0
    ]


def thousands(x: float) -> str:
    """`0.01`, `20`, `5k`, `1.5M`, `10⁻⁵`, `2×10⁹`."""
    size = abs(x)
    if size >= 1e9 or 0 < size < 1e-4:
        power = math.floor(math.log10(size) + 1e-9)
        factor = f"{x / 10.0**power:g}×".removeprefix("1×").replace("-1×", "-")
        return factor.replace("-", "−") + "10" + str(power).translate(RAISED)
    text = f"{x / 1e6:g}M" if size >= 1e6 else f"{x / 1000:g}k" if size >= 1000 else f"{x:g}"
    return text.replace("-", "−")


def bar_positions(x: Floats, n: int, k: int, of: int, log: Log) -> Ints:
    """About `n` of the points, evenly spaced on the axis; shifted for each line `k`, so that bars do not overlap."""
    if len(x) <= n or n == 0:
        return np.arange(len(x) if n else 0)
    axis = np.log(x) if log else x
    wanted = axis[0] + (axis[-1] - axis[0]) * (np.arange(n) + (k + 1) / (of + 1)) / n
    return np.unique(np.abs(axis[:, None] - wanted).argmin(axis=0))
