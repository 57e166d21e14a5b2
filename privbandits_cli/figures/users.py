"""Users against ε: a line for each design of a study, and a panel for each question."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from privbandits_cli.figures.layout import COLUMN, PAGE
from privbandits_cli.figures.mpl import Axes, LogLocator, NullLocator, styled
from privbandits_cli.figures.plot import Figure, canvas, finish
from privbandits_cli.figures.styles import HUES, MARKERS

BEYOND = 2.5  # times the largest ε: the place of no privacy
BAND = 0.15  # opacity


class Point(NamedTuple):
    """The users of a design at an ε, which is infinite without privacy; high: where a band ends."""

    design: str
    epsilon: float
    users: float
    high: float | None = None


LINES: Mapping[str, Mapping[str, Any]] = {
    "floor": {"label": "impossible below, if it must be sure", "color": "#444444", "ls": (0, (1, 1.5)), "lw": 0.9},
    "one_shot": {"label": "one release", "color": HUES[0], "marker": MARKERS[0]},
    "looks": {"label": "a few looks, at most", "color": HUES[1], "marker": MARKERS[1], "ls": (0, (4, 1.5))},
    "sequential": {"label": "until it is sure, mean to 90 %", "color": HUES[2], "marker": MARKERS[2]},
}


def figure(panels: Mapping[str, Sequence[Point]]) -> Figure:
    """Draw each design over ε, with both axes logarithmic; no privacy is a mark of its own at the right."""
    with styled():
        width = COLUMN if len(panels) == 1 else PAGE
        out, axes = canvas((width, 2.6), 1, len(panels), sharey=True)
        for axis, (title, points) in zip(axes, panels.items(), strict=True):
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.yaxis.set_major_formatter(lambda value, place: f"{value:,.0f}")
            axis.yaxis.set_minor_locator(NullLocator())
            for design, style in LINES.items():
                _line(axis, [point for point in points if point.design == design], style)
            _ticks(axis, sorted({point.epsilon for point in points}))
            axis.set_title(title)
            axis.set_xlabel("ε")
        axes[0].set_ylabel("users")
        handles, labels = axes[0].get_legend_handles_labels()
        out.legend(handles, labels, loc="outside lower center", ncols=2 if len(panels) == 1 else 4)
        finish(out, [], 1, 1)
        return out


def _line(axis: Axes, points: Sequence[Point], style: Mapping[str, Any]) -> None:
    finite = [point for point in points if np.isfinite(point.epsilon)]
    if not finite:
        return
    x, y = [point.epsilon for point in finite], [point.users for point in finite]
    axis.plot(x, y, **style)
    if all(point.high is not None for point in finite):
        axis.fill_between(x, y, [point.high or 0 for point in finite], color=style["color"], alpha=BAND, lw=0)
    for point in (point for point in points if not np.isfinite(point.epsilon)):
        place = BEYOND * max(x)
        axis.plot(
            [place], [point.users], **{"marker": "_", "markeredgewidth": 0.9, **style, "ls": "none", "label": "_"}
        )
        if point.high is not None:
            axis.plot([place, place], [point.users, point.high], color=style["color"], alpha=2 * BAND, lw=2.5)


def _ticks(axis: Axes, epsilons: Sequence[float]) -> None:
    """Numbers at 1, 2 and 5 times powers of ten if they are few, `none` at no privacy."""
    finite = [epsilon for epsilon in epsilons if np.isfinite(epsilon)]
    decades = [epsilon for epsilon in finite if np.isclose(np.log10(epsilon) % 1, 0)]
    names = {mark: f"{mark:g}" for mark in (decades if len(decades) > 1 else finite)}
    if len(finite) < len(epsilons):
        names[BEYOND * finite[-1]] = "none"
    axis.set_xticks([*names], names.values())
    axis.xaxis.set_minor_locator(NullLocator())
