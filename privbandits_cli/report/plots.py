"""The panels of a report as Plotly figures: plain dictionaries that plotly.js draws in the browser.

Plotly reads a few HTML tags in every text, so `escape` keeps labels and titles as they are written.
"""

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.analysis.format import amount
from privbandits_cli.figures.distributions import Distribution, Distributions, places
from privbandits_cli.figures.line import Line, rates_of
from privbandits_cli.figures.scales import Scale, beyond, thousands
from privbandits_cli.figures.styles import Style
from privbandits_cli.figures.table import Table
from privbandits_cli.numerics.types import Floats
from privbandits_cli.report.data import Cell

Plot = dict[str, Any]

SYMBOLS = {
    "o": "circle", "s": "square", "^": "triangle-up", "D": "diamond",
    "v": "triangle-down", "P": "cross", "X": "x", "*": "star",
    "<": "triangle-left", ">": "triangle-right", "p": "pentagon", "h": "hexagon",
}  # fmt: skip
RATES = ("8px,2px", "8px,2px,1px,2px", "3px,3px", "8px,2px,1px,2px,1px,2px", "3px,8px")
MANY_POINTS = 200  # from this number on, points are drawn smaller
HOVER = "%{fullData.name}<br>%{customdata}<extra></extra>"
ROW = 17  # pixels of a row of a distribution
WIDEST = 54  # letters in a line of its title
TITLE, SIDE = 84, 44  # letters in a line of the title of a saved picture, and of an axis, as long as a panel is high
# The strokes of a box with whiskers: (which of the five quantiles, height in rows); None lifts the pen.
BOX = (
    (0, 0), (1, 0), (None, 0), (1, -0.35), (1, 0.35), (3, 0.35), (3, -0.35), (1, -0.35), (None, 0),
    (2, -0.35), (2, 0.35), (None, 0), (3, 0), (4, 0), (None, 0),
)  # fmt: skip
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif'
# A row without grid.
BLANK: Plot = {
    "type": "rect", "layer": "between", "xref": "paper", "x0": 0, "x1": 1, "fillcolor": "white", "line": {"width": 0},
}  # fmt: skip
INK, GRID = "#222222", "#e4e6e8"


def script() -> str:
    """The JavaScript that draws the figures."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def as_json(plot: Plot) -> str:
    """A figure for a `<script>` element: NaN becomes null, and `<`, `>` and `/` are escaped."""
    from plotly.io import to_json

    return str(to_json(plot, validate=False))


def escape(text: str) -> str:
    """A text that Plotly shows unchanged; it does not know the entities of quotation marks."""
    return html.escape(text, quote=False)


def dashes(style: Style) -> str:
    """The dashes of a curve in pixels, as Plotly and SVG read them; empty: solid."""
    return ",".join(f"{1.8 * part:.3g}px" for part in style.stroke)


def line_plot(title: str, lines: list[Line], table: Table, style_of: dict[str, Style], partial: str) -> Plot:
    """A panel of lines.

    style_of: the style of a line by its label; partial: the watermark of an incomplete experiment.
    """
    scales = table.axes(lines)
    x, y = (_axis(scale, label) for scale, label in zip(scales, table.labels(), strict=True))
    every = np.unique(np.concatenate([line.x for line in lines]))
    traces: list[Plot] = []
    none = np.zeros(len(every))
    lines = [  # of a level line a value at each x, so that hovering shows it
        replace(line, x=every, regret=none + line.regret[0], below=none, above=none) if line.level else line
        for line in lines
    ]
    for line, marked in zip(lines, table.marked(lines), strict=True):
        traces += _line_traces(line, style_of[line.label], marked, scales[1])
    traces += _rates(lines, style_of, scales[1])
    x["unifiedhovertitle"] = {"text": f"{escape(table.labels()[0])} %{{x:,~r}}"}
    layout = {"hovermode": "x unified", "height": 300, "xaxis": x, "yaxis": y}
    if table.ratio:
        layout["shapes"] = [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": _stroke(INK)}]
    return _plot(title, traces, layout, partial)


def _plot(title: str, traces: list[Plot], layout: Plot, partial: str) -> Plot:
    watermark = {
        "text": escape(partial), "xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "showarrow": False,
        "textangle": -25, "opacity": 0.4, "font": {"size": 34, "color": "#b00000"},
    }  # fmt: skip
    common = {
        "title": {"text": _wrapped(title, TITLE), "font": {"size": 14}},
        "font": {"size": 11, "color": INK, "family": FONT},
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "legend": {"orientation": "h", "y": -0.2},
        "hoverlabel": {"namelength": -1, "align": "left", "font": {"size": 10}},
        "annotations": [watermark] if partial else [],
    }
    return {"data": traces, "layout": common | layout}


def _axis(scale: Scale, title: str) -> Plot:
    """An axis; Plotly has no asinh axis, so `_at` maps its values to a linear axis from 0 to 1."""
    axis = {
        "title": {"text": _wrapped(title, SIDE), "standoff": 6}, "automargin": True, "gridcolor": GRID,
        "zeroline": False, "showline": True, "linecolor": "#888888",
    }  # fmt: skip
    if scale.kind == "asinh":
        ticks = scale.ticks()
        text = [thousands(tick) for tick in ticks]
        return axis | {"range": [0, 1], "tickvals": _at(scale, np.array(ticks)), "ticktext": text}
    ends = [scale.low, scale.high]
    if scale.kind == "log":  # Plotly's own number of ticks is too large for two powers of ten
        ends = np.log10(ends).tolist()
        axis["nticks"] = max(2, math.ceil(ends[1] - ends[0]))
    return axis | {"type": scale.kind, "range": ends, "tickformat": ",~r"}


def _at(scale: Scale, values: Floats) -> list[float]:
    found: list[float] = (scale(values) if scale.kind == "asinh" else values).tolist()
    return found


def _stroke(ink: str, width: float = 1, dash: str = "solid") -> Plot:
    return {"color": ink, "width": width, "dash": dash}


def _line_traces(line: Line, style: Style, marked: NDArray[np.int64], y: Scale) -> Iterable[Plot]:
    """The line with its error bars, its bound, and the mark at the point where privacy becomes free.

    marked: the points that have a marker and an error bar; y: the axis of regrets, where an arrow ends what it cuts.
    """
    ink = style.colour
    group = {"type": "scatter", "legendgroup": line.label, "name": _wrapped(line.label)}
    shown = np.isin(np.arange(len(line.x)), marked)
    below, above = line.below, line.above
    if y.kind == "asinh":
        below, above = y(line.regret) - y(line.regret - below), y(line.regret + above) - y(line.regret)
    yield group | {
        "mode": "lines+markers",
        "x": line.x.tolist(),
        "y": _at(y, line.regret),
        "customdata": [_with_bars(*point) for point in zip(line.regret, line.below, line.above, strict=True)],
        "hovertemplate": HOVER,
        "line": _stroke(ink, 1.8, dashes(style) or "solid"),
        "marker": {"symbol": SYMBOLS[style.marker], "color": ink, "size": np.where(shown, 7, 0).tolist(), "opacity": 1},
        "error_y": {
            "array": np.where(shown, above, np.nan).tolist(), "symmetric": False,
            "arrayminus": np.where(shown, below, np.nan).tolist(), "thickness": 0.9, "width": 2,
        },
    }  # fmt: skip
    further = group | {"mode": "lines", "hoverinfo": "skip", "showlegend": False}
    cut = beyond(line, marked, y)
    if cut:
        yield further | {
            "mode": "markers+text", "x": [x for x, _ in cut], "y": [y.low] * len(cut), "cliponaxis": False,
            "text": [end for _, end in cut], "textposition": "top left",
            "textfont": {"size": 9}, "marker": {"symbol": "arrow-down", "color": ink, "size": 8},
        }  # fmt: skip
    if line.bound is not None:
        at = {"x": line.x.tolist(), "y": _at(y, line.bound)}
        yield further | at | _hollow(style, shown) | {"line": _stroke(ink, 1.1, "dot")}
    if line.free is not None:
        yield further | {
            "mode": "lines+text", "x": [line.free] * 2, "y": [y.low, line.regret_at(line.free)],
            "text": ["", f"{line.free:.2g}"],
            "textposition": "top center", "textfont": {"size": 9}, "line": _stroke(ink, 1, "dot"),
        }  # fmt: skip


def _hollow(style: Style, shown: NDArray[np.bool_]) -> Plot:
    """Hollow markers of a curve at these points, for what theory says of it."""
    marker = {"symbol": f"{SYMBOLS[style.marker]}-open", "color": style.colour, "opacity": 1}
    return {"mode": "lines+markers", "marker": marker | {"size": np.where(shown, 6, 0).tolist()}}


def _wrapped(text: str, letters: int = 28) -> str:
    """A text in lines of so many letters, by default short enough for the smallest panel."""
    return "<br>".join(escape(part) for part in wrap(text, letters))


def _with_bars(regret: float, below: float, above: float) -> str:
    bars = Cell(regret, below, above).bars.items()
    return " ".join([amount(regret), *(sign + length for sign, length in bars)])


def _rates(lines: Sequence[Line], style_of: dict[str, Style], y: Scale) -> Iterable[Plot]:
    """Rates that theory states: one of an order has the colour and marker of the first algorithm that it applies to."""
    names = list(dict.fromkeys(rate.title for line in lines for rate in line.rates))
    for line, rate in rates_of(lines):
        dash, style = RATES[names.index(rate.title) % len(RATES)], style_of[line.label]
        ink = INK if rate.lower else style.colour
        ends = _hollow(style, np.isin(line.x, line.x[[0, -1]]))
        yield ({"mode": "lines"} if rate.lower else ends) | {
            "type": "scatter", "legendgroup": rate.title if rate.lower else line.label,
            "name": _wrapped(rate.title), "x": line.x.tolist(), "y": _at(y, rate.regret),
            "customdata": list(map(amount, rate.regret)), "hovertemplate": HOVER, "line": _stroke(ink, 0.9, dash),
        }  # fmt: skip


def distribution_plot(title: str, figure: Distributions, style_of: dict[str, Style], partial: str) -> Plot:
    """A panel of distributions, a row each: the trials, and over them the box, or the mean with its interval."""
    rows, scale = figure.panels[title], figure.scales[title]
    titles, heights = _heights(rows)
    traces: list[Plot] = []
    for label in dict.fromkeys(row.line for row in rows):
        own = [(height, row) for height, row in zip(heights, rows, strict=True) if row.line == label]
        headed = {height: titles[height] for height, _ in own if height in titles}
        traces += _distribution_traces(own, headed, scale, style_of[label], figure.paired)
    zero = _at(scale, np.zeros(1)) * 2
    layout = {
        "height": ROW * (heights[-1] + 2) + 60,
        "xaxis": _axis(scale, figure.x_label),
        "yaxis": {
            "range": [heights[-1] + 0.8, -0.7], "tickvals": heights, "ticktext": [escape(row.at) for row in rows],
            "automargin": True, "showgrid": False, "zeroline": False, "tickfont": {"size": 9.5},
        },
        "shapes": [  # no line of the grid is drawn through a title, nor the zero of differences
            *(BLANK | {"y0": height - len(lines) - 0.5, "y1": height - 0.5} for height, lines in titles.items()),
            *(
                {"type": "line", "layer": "between", "line": _stroke("#555555"), "x0": zero[0], "x1": zero[1]}
                | {"y0": height - 0.5, "y1": height + 0.5}
                for height in heights
                if figure.paired
            ),
        ],
    }  # fmt: skip
    return _plot(title, traces, layout, partial)


def _heights(rows: Sequence[Distribution]) -> tuple[dict[int, list[str]], list[int]]:
    """The lines of each title by the height of the row below it, and the heights of all rows, from the top."""
    titles, found = places(rows)
    lines = {place + 1: wrap(text, WIDEST) or [""] for place, text in titles.items()}
    more = [sum(len(each) - 1 for below, each in lines.items() if below <= place) for place in found]
    heights = [place + extra for place, extra in zip(found, more, strict=True)]
    return {height: lines[place] for place, height in zip(found, heights, strict=True) if place in lines}, heights


def _distribution_traces(
    own: Sequence[tuple[int, Distribution]],
    titles: dict[int, list[str]],
    scale: Scale,
    style: Style,
    paired: bool,
) -> Iterable[Plot]:
    """The distributions of one line, each with its height in the panel; titles: by the height below."""
    group = {"type": "scatter", "legendgroup": own[0][1].line, "showlegend": False, "hoverinfo": "skip"}
    left = scale.low + 1e-9 * (scale.high - scale.low)  # rounding could put the end itself outside of the axis
    yield group | {
        "mode": "text", "cliponaxis": False, "textposition": "middle right", "textfont": {"size": 10},
        "x": _at(scale, np.full(len(titles), left)),
        "y": [height - (len(lines) + 1) / 2 for height, lines in titles.items()],
        "text": ["<br>".join(map(escape, lines)) for lines in titles.values()],
    }  # fmt: skip
    for height, row in own:
        values, beside = row.points()
        yield group | {
            "mode": "markers", "x": _at(scale, values), "y": (height + 0.6 * beside).round(2).tolist(),
            "marker": {
                "symbol": SYMBOLS[style.marker], "color": style.colour, "size": 4 if len(values) < MANY_POINTS else 3,
                "opacity": 0.45,
            },
            "hoverinfo": "text", "hovertext": _summary(row, paired),
        }  # fmt: skip
        if paired:
            low, high = row.interval or (row.mean, row.mean)
            yield group | {
                "mode": "lines+markers", "x": _at(scale, np.array([low, row.mean, high])), "y": [height] * 3,
                "line": _stroke(INK, 2), "marker": {"symbol": "diamond", "size": [0, 7, 0], "opacity": 1},
            }  # fmt: skip
        elif row.boxed:
            ends = _at(scale, np.array(row.box()))
            x = [None if i is None else ends[i] for i, _ in BOX]
            yield group | {"mode": "lines", "x": x, "y": [height + up for _, up in BOX], "line": _stroke(INK, 1.1)}


def _summary(row: Distribution, paired: bool) -> str:
    """The text at the pointer."""
    low, first, middle, third, high = row.box()
    facts: dict[str, Sequence[float]] = {"mean": [row.mean]} if paired else {"median": [middle]}
    if paired and row.interval:
        facts["95 % interval"] = row.interval
    if not paired and row.boxed:
        facts |= {"quartiles": [first, third], "5 % to 95 %": [low, high]}
    if not paired:
        facts["range"] = float(row.values.min()), float(row.values.max())
    text = [f"{name}: {' to '.join(map(amount, values))}" for name, values in facts.items()]
    title = _wrapped(", ".join(filter(None, (row.title, row.at))))
    return "<br>".join([f"<b>{title}</b>", *text, f"trials: {len(row.values)}"])
