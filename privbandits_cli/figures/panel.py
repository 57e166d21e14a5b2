"""One panel of a figure over rounds or against a parameter: its axes, lines, bars, bounds and marks."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from privbandits_cli.figures.ends import End
from privbandits_cli.figures.line import Line
from privbandits_cli.figures.mpl import (
    Axes,
    FixedLocator,
    Line2D,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)
from privbandits_cli.figures.scales import Scale, number_places, round_values, thousands
from privbandits_cli.figures.shown import Panel, ShownLine
from privbandits_cli.figures.table import Table

Styles = dict[str, dict[str, Any]]

BARS: dict[str, Any] = {"fmt": "none", "elinewidth": 0.6, "capthick": 0.6, "alpha": 0.8}
PALE: dict[str, Any] = {"lw": 3.2, "alpha": 0.22, "zorder": 1.5}
RING: dict[str, Any] = {"marker": "o", "ls": "none", "ms": 6.5, "mfc": "none", "mew": 0.8, "zorder": 5}
NUMBER: dict[str, Any] = {"color": "#333333", "fontsize": 6, "rotation": 90, "va": "bottom"}
ARROW: dict[str, Any] = {"ls": "none", "ms": 5, "clip_on": False, "in_layout": False, "zorder": 4}
DOWN, UP = r"$\downarrow$", r"$\uparrow$"
MANY = 8  # lines: more are thin
MINOR = 4.5  # powers of ten: a logarithmic axis of more has no ticks between them
MARK: dict[str, Any] = {"textcoords": "offset points", "fontsize": 6, "va": "bottom", "in_layout": False}
ABOVE, TALL, LETTER = 3.0, 8.5, 3.8  # of a mark, in points: above its point, the room of a line, and that of a letter
HOLLOW: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 0.4, "markersize": 2.5}


def draw(axis: Axes, shown: Panel, styles: Styles, table: Table) -> list[End]:
    """Draw the lines of a panel; returns the ends of all lines, for labels without text."""
    lines = [each.line for each in shown.lines]
    fit(axis, "x", shown.x)
    fit(axis, "y", shown.y)
    if table.level is not None:
        axis.axhline(table.level, color="#555555", lw=0.7)
    ends: list[End] = []
    many = {"lw": 0.8} if len(lines) > MANY else {}
    for each in shown.lines:
        line, style = each.line, styles[each.line.label] | many
        _line(axis, each, style)
        ends.append(End(float(line.x[-1]), float(each.regret[-1]), line.label, style))
        _bars(axis, each, shown.y, style["color"])
        if each.bound is not None:
            dotted = style | HOLLOW | {"lw": 0.7, "ls": (0, (1, 1.5)), "markevery": each.bound.marked.tolist()}
            axis.plot(each.bound.x, each.bound.regret, **dotted)
        if line.free is not None:
            down = style | {"lw": 0.8, "ls": (0, (1, 1)), "markevery": [1]}
            axis.plot([line.free] * 2, [shown.y.low, line.regret_at(line.free)], **down)
    for found in shown.rates:
        rate, path, style, own = found.rate, found.path, styles[found.rate.title], styles[found.label]
        hollow = own | HOLLOW | {"markevery": path.marked.tolist()} | style | {"color": own["color"]}
        axis.plot(path.x, path.regret, **(style if rate.lower else hollow))
        if rate.title not in [end.text for end in ends]:
            ends.append(End(float(path.x[-1]), float(path.regret[-1]), rate.title, style))
    _marks(axis, lines, styles)
    feet = [(line.free, f"{line.free:.2g}") for line in lines if line.free is not None]
    _numbers(axis, sorted(feet + [foot for each in shown.lines for foot in each.under]))
    sloped = [line for line in lines if line.slope is not None and len(table.panels) > 1]
    if sloped:  # below rising lines there is room
        samples = [Line2D([], [], **styles[line.label]) for line in sloped]
        texts = [line.slope_text(interval=False) for line in sloped]
        axis.legend(samples, texts, loc="lower right", fontsize=6, borderpad=0, labelspacing=0.2, handlelength=2.2)
    return ends


def _line(axis: Axes, shown: ShownLine, style: dict[str, Any]) -> None:
    """The line with its rings, broken at gaps of a sweep."""
    line = shown.line
    for k, part in enumerate(np.split(np.arange(len(line.x)), shown.breaks)):
        every = [int(i - part[0]) for i in shown.points if i in part]
        label = line.label if k == 0 else f"_{line.label}"
        axis.plot(line.x[part], shown.solid[part], label=label, markevery=every, **style)
    empty = style | {"ls": "none", "markerfacecolor": "none", "markeredgewidth": 0.7}
    axis.plot(line.x[shown.hollow], shown.regret[shown.hollow], **empty)
    axis.plot(line.x[shown.rings], shown.regret[shown.rings], color=style["color"], **RING)


def _bars(axis: Axes, shown: ShownLine, y: Scale, colour: str) -> None:
    """The error bars; what is beyond the axis is cut off, and an arrow says so.

    Quantiles are pale and wide, where a centre alone would mislead.
    """
    x, middle = shown.line.x[shown.points], np.maximum(shown.regret[shown.points], y.low)
    below, above = np.maximum(middle - shown.low, 0), np.maximum(shown.high - middle, 0)
    axis.errorbar(x, middle, [below, above], ecolor=colour, **BARS)  # the frame cuts the upper end, without a cap
    if len(shown.pale):
        axis.vlines(shown.line.x[shown.pale], *shown.pale_ends(y), colors=colour, **PALE)
    axis.plot([at for at, _ in shown.under], [y.low] * len(shown.under), color=colour, marker=DOWN, **ARROW)
    axis.plot(shown.over, [y.high] * len(shown.over), color=colour, marker=UP, **ARROW)


def _marks(axis: Axes, lines: Sequence[Line], styles: Styles) -> None:
    """Write each mark above its point. A mark that would cover another one moves up."""
    start, to_points = min(float(line.x[0]) for line in lines), 72 / axis.figure.dpi
    every = [
        (*(to_points * axis.transData.transform((at, y))).tolist(), at, y, text, line)
        for line in lines
        for at, y, text in line.marked
    ]
    tops: list[tuple[float, float]] = []  # places of the marks so far, in points
    for across, up, at, y, text, line in sorted(every, key=lambda mark: mark[1]):
        least = max([up + ABOVE, *(top for x, top in tops if abs(x - across) < len(text) * LETTER)])
        tops.append((across, least + TALL))
        side = "left" if at <= start else "center"  # beside the axis there are its numbers
        axis.annotate(text, (at, y), (0, least - up), **MARK, ha=side, color=styles[line.label]["color"])


def _numbers(axis: Axes, feet: Sequence[tuple[float, str]]) -> None:
    """Numbers above the axis at places on it, in increasing order."""
    low = axis.get_ylim()[0]
    to_axes = axis.transData + axis.transAxes.inverted()
    across = [float(to_axes.transform((at, low))[0]) for at, _ in feet]
    for (at, text), (side, level) in zip(feet, number_places(across), strict=True):
        axis.text(at, 0.02 + 0.14 * min(level, 6), text, ha=side, transform=axis.get_xaxis_transform(), **NUMBER)


def fit(axis: Axes, name: Literal["x", "y"], scale: Scale, ticks: int = 5) -> None:
    """Give an axis of a panel its scale, its ends and its ticks; ticks: at most so many on a linear scale."""
    side = axis.xaxis if name == "x" else axis.yaxis
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
    side.set_major_formatter(lambda value, place: thousands(value))
    side.set_minor_formatter(NullFormatter())
