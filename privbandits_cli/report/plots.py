"""The panels of a report as Plotly figures: plain dictionaries that plotly.js draws in the browser.

Plotly reads a few HTML tags in every text, so `escape` keeps labels and titles as they are written.
"""

import html
import math
from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Any

import numpy as np

from privbandits_cli.analysis.format import amount
from privbandits_cli.experiment.names import Name
from privbandits_cli.figures.distributions import MANY_POINTS, Distribution, Distributions, places
from privbandits_cli.figures.scales import Scale, thousands
from privbandits_cli.figures.shown import Path, Sheet, ShownLine, ShownRate
from privbandits_cli.figures.styles import RATE, Stroke, Style
from privbandits_cli.numerics.types import Floats, Ints
from privbandits_cli.report.data import Cell

Plot = dict[str, Any]

SYMBOLS = {
    "o": "circle", "s": "square", "^": "triangle-up", "D": "diamond",
    "v": "triangle-down", "P": "cross", "X": "x", "*": "star",
    "<": "triangle-left", ">": "triangle-right", "p": "pentagon", "h": "hexagon",
}  # fmt: skip
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
    return _pixels(style.stroke, 1.8)


def _pixels(stroke: Stroke, width: float) -> str:
    return ",".join(f"{width * part:.3g}px" for part in stroke)


def line_plot(title: Name, sheet: Sheet, partial: str) -> Plot:
    """A panel of lines; partial: the watermark of an incomplete experiment."""
    panel, labels = sheet.panels[title], sheet.table.labels()
    x, y = (_axis(scale, label) for scale, label in zip((panel.x, panel.y), labels, strict=True))
    every = np.unique(np.concatenate([shown.line.x for shown in panel.lines]))
    traces: list[Plot] = []
    for shown in panel.lines:
        label = shown.line.label
        traces += _line_traces(shown, sheet.styles[label], _wrapped(sheet.texts[label]), every, panel.y)
    for rate in panel.rates:
        dash = _pixels(sheet.rates[rate.rate.title], 1.0)
        traces += _rate_traces(rate, panel.lines, sheet.styles[rate.label], dash, panel.y)
    x["unifiedhovertitle"] = {"text": f"{escape(labels[0])} %{{x:,~r}}"}
    layout = {"hovermode": "x unified", "height": 300, "xaxis": x, "yaxis": y}
    level = sheet.table.level
    if level is not None:
        ends = {"x0": 0, "x1": 1, "y0": level, "y1": level}
        layout["shapes"] = [{"type": "line", "xref": "paper", **ends, "line": _stroke(INK)}]
    return _plot([title, *sheet.shared], traces, layout, partial)


def _plot(titles: Sequence[str], traces: list[Plot], layout: Plot, partial: str) -> Plot:
    watermark = {
        "text": escape(partial), "xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "showarrow": False,
        "textangle": -25, "opacity": 0.4, "font": {"size": 34, "color": "#b00000"},
    }  # fmt: skip
    common = {
        "title": {"text": "<br>".join(_wrapped(title, TITLE) for title in titles), "font": {"size": 14}},
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


def _line_traces(shown: ShownLine, style: Style, name: str, every: Floats, y: Scale) -> Iterable[Plot]:
    """The line with its bars, rings and bound, and the mark at the point where privacy becomes free.

    every: the values of x in the panel, at all of which a level line can be read; y: the axis of regrets.
    """
    line, ink = shown.line, style.colour
    group = {"type": "scatter", "legendgroup": line.label, "name": name}
    further = group | {"mode": "lines", "hoverinfo": "skip", "showlegend": False}
    if len(shown.pale):
        ends = [_at(y, end) for end in shown.pale_ends(y)]
        x = line.x[shown.pale].tolist()
        yield further | {"x": _strokes(x, x), "y": _strokes(*ends), "line": _stroke(ink, 6), "opacity": 0.22}
    yield group | _with_error_bars(shown, style, every, y)
    if len(shown.rings):
        ring = {"symbol": "circle-open", "color": ink, "size": 13, "opacity": 1, "line": {"width": 1.2}}
        at = {"x": line.x[shown.rings].tolist(), "y": _at(y, shown.regret[shown.rings])}
        yield further | at | {"mode": "markers", "marker": ring}
    if len(shown.hollow):
        at = {"x": line.x[shown.hollow].tolist(), "y": _at(y, shown.regret[shown.hollow])}
        marker = {"symbol": f"{SYMBOLS[style.marker]}-open", "color": ink, "size": 7, "opacity": 1}
        said = [f"0 +{amount(high)}" for high in shown.regret[shown.hollow].tolist()]
        hover = {"customdata": said, "hovertemplate": HOVER, "hoverinfo": None}
        yield further | at | hover | {"mode": "markers", "marker": marker}
    if line.marked:
        places, heights, marks = zip(*line.marked, strict=True)
        at = {"x": list(places), "y": _at(y, np.array(heights)), "text": list(marks)}
        yield further | at | {"mode": "text", "textposition": "top center", "textfont": {"size": 9, "color": ink}}
    if shown.under:
        yield further | _arrows("arrow-down", ink, [x for x, _ in shown.under], y.low) | {
            "mode": "markers+text", "text": [end for _, end in shown.under], "textposition": "top left",
            "textfont": {"size": 9},
        }  # fmt: skip
    if len(shown.over):
        yield further | _arrows("arrow-up", ink, shown.over.tolist(), y.high)
    if shown.bound is not None:
        yield further | _theory(shown.bound, style, y) | {"line": _stroke(ink, 1.1, "dot")}
    if line.free is not None:
        yield further | {
            "mode": "lines+text", "x": [line.free] * 2, "y": [y.low, line.regret_at(line.free)],
            "text": ["", f"{line.free:.2g}"],
            "textposition": "top center", "textfont": {"size": 9}, "line": _stroke(ink, 1, "dot"),
        }  # fmt: skip


def _with_error_bars(shown: ShownLine, style: Style, every: Floats, y: Scale) -> Plot:
    """The line itself, broken where values are left out; the pointer shows the regrets of the CSV."""
    line, points = shown.line, shown.points
    n = len(every) if line.level else len(line.x)
    size, below, above = np.zeros(n), np.full(n, np.nan), np.full(n, np.nan)
    if line.level:
        x, drawn, size[[0, -1]] = every, np.interp(every, line.x, shown.regret), 7
        texts = [_with_bars(line.regret[0], 0.0, 0.0)] * n
    else:
        x, drawn, size[points] = line.x, shown.solid, 7
        at, low, high = (np.array(_at(y, part)) for part in (drawn[points], shown.low, shown.high))
        below[points], above[points] = np.maximum(at - low, 0), np.maximum(high - at, 0)
        texts = [_with_bars(*point) for point in zip(line.regret, line.below, line.above, strict=True)]
    columns = (_parted(each, shown.breaks) for each in (x.tolist(), _at(y, drawn), texts, size.tolist()))
    xs, ys, said, sizes = columns
    return {
        "mode": "lines+markers",
        "x": xs,
        "y": ys,
        "customdata": said,
        "hovertemplate": HOVER,
        "line": _stroke(style.colour, 1.8, dashes(style) or "solid"),
        "marker": {"symbol": SYMBOLS[style.marker], "color": style.colour, "size": sizes, "opacity": 1},
        "error_y": {
            "array": _parted(above.tolist(), shown.breaks), "arrayminus": _parted(below.tolist(), shown.breaks),
            "symmetric": False, "thickness": 0.9, "width": 2,
        },
    }  # fmt: skip


def _parted(values: Sequence[Any], breaks: Ints) -> list[Any]:
    """The values, with a null at each break, over which Plotly draws no line."""
    pieces = np.split(np.arange(len(values)), breaks)
    return [value for piece in pieces for value in (None, *(values[i] for i in piece))][1:]


def _strokes(starts: Sequence[float], ends: Sequence[float]) -> list[float | None]:
    """A coordinate of separate strokes."""
    return [part for start, end in zip(starts, ends, strict=True) for part in (start, end, None)]


def _arrows(symbol: str, ink: str, x: list[float], end: float) -> Plot:
    """Arrows at an end of the axis of regrets, where it cuts bars."""
    marker = {"symbol": symbol, "color": ink, "size": 8}
    return {"mode": "markers", "x": x, "y": [end] * len(x), "cliponaxis": False, "marker": marker}


def _theory(path: Path, style: Style, y: Scale) -> Plot:
    """A line of theory with hollow markers of the curve."""
    marked = np.isin(np.arange(len(path.x)), path.marked)
    marker = {"symbol": f"{SYMBOLS[style.marker]}-open", "color": style.colour, "opacity": 1}
    sized = marker | {"size": np.where(marked, 6, 0).tolist()}
    return {"mode": "lines+markers", "marker": sized, "x": path.x.tolist(), "y": _at(y, path.regret)}


def _wrapped(text: str, letters: int = 28) -> str:
    """A text in lines of so many letters, by default short enough for the smallest panel."""
    return "<br>".join(escape(part) for part in wrap(text, letters))


def _with_bars(regret: float, below: float, above: float) -> str:
    bars = Cell(regret, below, above).bars.items()
    return " ".join([amount(regret), *(sign + length for sign, length in bars)])


def _rate_traces(rate: ShownRate, lines: Sequence[ShownLine], style: Style, dash: str, y: Scale) -> Iterable[Plot]:
    """A rate that theory states: one of an order has the colour and marker of the first algorithm that it applies to.

    The pointer shows it at the points of the line only.
    """
    found = rate.rate
    group = {
        "type": "scatter", "legendgroup": found.title if found.lower else rate.label,
        "name": _wrapped(found.title),
    }  # fmt: skip
    drawn = _theory(rate.path, style, y) | ({"mode": "lines"} if found.lower else {})
    ink = RATE if found.lower else style.colour
    yield group | drawn | {"hoverinfo": "skip", "line": _stroke(ink, 0.9, dash)}
    line = next(shown.line for shown in lines if shown.line.label == rate.label)
    yield group | {
        "mode": "markers", "showlegend": False, "marker": {"size": 0, "color": ink}, "x": line.x.tolist(),
        "y": _at(y, found.regret), "customdata": list(map(amount, found.regret)), "hovertemplate": HOVER,
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
    return _plot([title], traces, layout, partial)


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
