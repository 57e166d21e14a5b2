"""One panel of a figure over rounds or against a parameter: its axes, lines, bars, bounds and marks."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.analysis.rates import Rate
from privbandits_cli.figures.bulk import gaps
from privbandits_cli.figures.ends import End
from privbandits_cli.figures.line import Line, lifted, rates_of
from privbandits_cli.figures.mpl import (
    Axes,
    Axis,
    FixedLocator,
    FuncFormatter,
    Line2D,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)
from privbandits_cli.figures.scales import Scale, beyond, number_places, round_values, thousands
from privbandits_cli.figures.table import Table
from privbandits_cli.numerics.types import Floats

Styles = dict[str, dict[str, Any]]

BARS: dict[str, Any] = {"fmt": "none", "elinewidth": 0.6, "capthick": 0.6, "alpha": 0.8}
PALE: dict[str, Any] = {"lw": 3.2, "alpha": 0.22, "zorder": 1.5}
RING: dict[str, Any] = {"marker": "o", "ls": "none", "ms": 6.5, "mfc": "none", "mew": 0.8, "zorder": 5}
NUMBER: dict[str, Any] = {"color": "#333333", "fontsize": 5, "rotation": 90, "va": "bottom"}
ARROW: dict[str, Any] = {"ls": "none", "ms": 5, "clip_on": False, "in_layout": False, "zorder": 4}
DOWN, UP = r"$\downarrow$", r"$\uparrow$"
MINOR = 4.5  # powers of ten: a logarithmic axis of more has no ticks between them
MARK: dict[str, Any] = {
    "xytext": (0, 3), "textcoords": "offset points", "fontsize": 4.5, "ha": "center", "va": "bottom", "in_layout": False,
}  # fmt: skip
HOLLOW: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 0.4, "markersize": 2.5}


def draw(axis: Axes, lines: list[Line], scales: tuple[Scale, Scale], styles: Styles, table: Table) -> list[End]:
    """Draw the lines of a panel; returns the ends of all lines, for labels without text."""
    x, y = scales
    marked = table.marked(lines)
    feet = [(line.free, f"{line.free:.2g}") for line in lines if line.free is not None]
    for line, points in zip(lines, marked, strict=True):
        feet += beyond(line, points, y)
    fit(axis, "x", x)
    fit(axis, "y", y)
    if table.ratio:
        axis.axhline(1.0, color="#555555", lw=0.7)
    ends = []
    for line, points in zip(lines, marked, strict=True):
        style = styles[line.label]
        shown = _line(axis, line, lines, points, style, table.swept)
        ends.append(End(float(line.x[-1]), float(shown[-1]), line.label, style))
        _bars(axis, replace(line, regret=shown), line, points, y, style["color"])
        for at, height, text in line.marked:
            axis.annotate(text, (at, height), **MARK, color=style["color"])
        if line.bound is not None:
            at, bound, every = _between(line, line.bound, None, points)
            axis.plot(at, bound, **style | HOLLOW | {"lw": 0.7, "ls": (0, (1, 1.5)), "markevery": every})
        if line.free is not None:
            down = style | {"lw": 0.8, "ls": (0, (1, 1)), "markevery": [1]}
            axis.plot([line.free] * 2, [y.low, line.regret_at(line.free)], **down)
    points_of = {line.label: points for line, points in zip(lines, marked, strict=True)}
    for line, rate in rates_of(lines):
        at, regret, every = _between(line, rate.regret, rate, points_of[line.label])
        style, own = styles[rate.title], styles[line.label]
        hollow = own | HOLLOW | {"markevery": every} | style | {"color": own["color"]}
        axis.plot(at, regret, **(style if rate.lower else hollow))
        if rate.title not in [end.text for end in ends]:
            ends.append(End(float(at[-1]), float(regret[-1]), rate.title, style))
    _numbers(axis, sorted(feet))
    sloped = [line for line in lines if line.slope is not None and len(table.panels) > 1]
    if sloped:  # below rising lines there is room
        samples = [Line2D([], [], **styles[line.label]) for line in sloped]
        texts = [line.slope_text(interval=False) for line in sloped]
        axis.legend(samples, texts, loc="lower right", fontsize=5, borderpad=0, labelspacing=0.2, handlelength=2.2)
    return ends


def _line(
    axis: Axes, line: Line, lines: Sequence[Line], points: NDArray[np.int64], style: dict[str, Any], swept: bool
) -> Floats:
    """The line with its rings, broken at gaps of a sweep; returns the regrets that are drawn."""
    shown, at_floor = lifted(line, lines)
    solid = shown if line.hollow is None else np.where(line.hollow, np.nan, shown)
    parts = np.split(np.arange(len(line.x)), gaps(line.x) if swept and not line.level else [])
    for k, part in enumerate(parts):
        every = [int(i - part[0]) for i in points if i in part]
        label = line.label if k == 0 else f"_{line.label}"
        axis.plot(line.x[part], solid[part], label=label, markevery=every, **style)
    if line.hollow is not None and line.hollow.any():
        axis.plot(line.x[line.hollow], shown[line.hollow], **style | {"ls": "none", "mfc": "none", "mew": 0.7})
    rings = [i for i in points if at_floor[i] or line.outside[i]]
    axis.plot(line.x[rings], shown[rings], color=style["color"], **RING)
    return shown


def _between(
    line: Line, regret: Floats, rate: Rate | None, points: NDArray[np.int64]
) -> tuple[Floats, Floats, list[int]]:
    """A bound or a rate of a line where it is drawn, also between its points; and the places of these points."""
    if line.fine is None:
        return line.x, regret, points.tolist()
    x, theory = line.fine
    if rate is None:
        assert theory.bound is not None
        fine = theory.bound
    else:
        fine = theory.rates[next(k for k, other in enumerate(line.rates) if other is rate)].regret
    return x, np.where(fine > 0, fine, np.nan), np.searchsorted(x, line.x[points]).tolist()


def _bars(axis: Axes, shown: Line, line: Line, points: NDArray[np.int64], y: Scale, colour: str) -> None:
    """The error bars at these points; what is beyond the axis is cut off, and an arrow says so.

    Quantiles are pale and wide, where a centre alone would mislead.
    """
    ends = np.array([line.regret - line.below, line.regret + line.above])[:, points]
    x, middle = line.x[points], np.maximum(shown.regret[points], y.low)
    low, high = np.maximum(ends, y.low)  # the frame cuts the other end, without a cap
    below, above = np.maximum(middle - low, 0), np.maximum(high - middle, 0)
    axis.errorbar(x, middle, [below, above], ecolor=colour, **BARS)
    wide = [i for i in points if line.wide[i]]
    if wide and line.bulk is not None:
        low, high = np.maximum([line.bulk.low[wide], line.bulk.high[wide]], y.low)
        axis.vlines(line.x[wide], low, high, colors=colour, **PALE)
    cut = [at for at, _ in beyond(line, points, y)]
    axis.plot(cut, [y.low] * len(cut), color=colour, marker=DOWN, **ARROW)
    over = line.x[
        [i for i in points if line.above[i] > 0 and line.regret[i] <= y.high < line.regret[i] + line.above[i]]
    ]
    axis.plot(over, [y.high] * len(over), color=colour, marker=UP, **ARROW)


def _numbers(axis: Axes, feet: Sequence[tuple[float, str]]) -> None:
    """Numbers above the axis at places on it, in increasing order."""
    low = axis.get_ylim()[0]
    to_axes = axis.transData + axis.transAxes.inverted()
    across = [float(to_axes.transform((at, low))[0]) for at, _ in feet]
    for (at, text), (side, level) in zip(feet, number_places(across), strict=True):
        axis.text(at, 0.02 + 0.14 * min(level, 6), text, ha=side, transform=axis.get_xaxis_transform(), **NUMBER)


def fit(axis: Axes, name: Literal["x", "y"], scale: Scale, ticks: int = 5) -> None:
    """Give an axis of a panel its scale, its ends and its ticks; ticks: at most so many on a linear scale."""
    side: Axis = getattr(axis, f"{name}axis")
    getattr(axis, f"set_{name}scale")(scale.kind, **({"linear_width": scale.width} if scale.kind == "asinh" else {}))
    getattr(axis, f"set_{name}lim")(scale.low, scale.high)
    if scale.kind == "asinh":
        side.set_major_locator(FixedLocator(scale.ticks(0.11 if name == "x" else 0.08)))
        side.set_minor_locator(NullLocator())
    elif scale.kind == "log":
        side.set_major_locator(FixedLocator(round_values(scale.low, scale.high, ticks)))
        many = scale.high > 10**MINOR * scale.low
        side.set_minor_locator(NullLocator() if many else LogLocator(subs="auto", numticks=30))
    else:
        side.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10]))
    side.set_major_formatter(FuncFormatter(lambda value, position: thousands(value)))
    side.set_minor_formatter(NullFormatter())
