"""Table -> Figure -> pdf, png, svg."""

import io
import math
import re
import textwrap
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.experiment.errors import suggestion
from privbandits_cli.experiment.files import write_atomically
from privbandits_cli.experiment.names import Name, symbol
from privbandits_cli.figures.line import Line, rates_of
from privbandits_cli.figures.mpl import (
    Axes,
    Axis,
    FigureCanvasAgg,
    FixedLocator,
    FontWarning,
    FuncFormatter,
    Line2D,
    LinearSegmentedColormap,
    LogLocator,
    LogNorm,
    MaxNLocator,
    Normalize,
    NullFormatter,
    NullLocator,
    ScalarMappable,
    glyphs,
    inches,
    styled,
)
from privbandits_cli.figures.mpl import Figure as AnyFigure
from privbandits_cli.figures.scales import Scale, beyond, number_places, thousands
from privbandits_cli.figures.styles import Drawn, Sweep, shade, styles_of, sweeps
from privbandits_cli.figures.table import Table

FORMATS = ("pdf", "png", "svg")
COLUMN = 3.5  # inches: one column of a two-column paper
PRINT = 300  # dots per inch in a file
SCREEN = 170.0  # dots per inch in a notebook, where letters of 7 points are then as high as those of the page
PAGE = 900.0  # dots: the width of a notebook's page

RATES = ((0, (8, 2)), (0, (8, 2, 1, 2)), (0, (3, 3)), (0, (8, 2, 1, 2, 1, 2)), (0, (3, 8)))  # none dotted
TITLE_LETTERS = 24  # letters; if there are several panels, a longer title has its notes on separate lines
LEGEND, CELL = 2.9, 1.3  # inches of a line in a legend below the panels, and in a free cell
TITLE, HIGH = 2.9, 1.3  # inches of a line above a panel that is a column wide, and beside a panel
CELL_LINES = 9  # the most lines of a legend in a free cell
PAIR_LETTERS = 54  # two labels with at most so many letters together fit beside each other
MARKER = 3.0  # points: the size of most markers, as in the style of all figures
BARS: dict[str, Any] = {"fmt": "none", "elinewidth": 0.6, "capthick": 0.6, "alpha": 0.8}
NUMBER: dict[str, Any] = {"color": "#333333", "fontsize": 5, "rotation": 90, "va": "bottom"}
ARROW: dict[str, Any] = {
    "marker": r"$\downarrow$",
    "ls": "none",
    "ms": 5,
    "clip_on": False,
    "in_layout": False,
    "zorder": 4,
}
HOLLOW: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 0.4, "markersize": 2.5}
WATERMARK: dict[str, Any] = {"rotation": 30, "fontsize": 26, "color": "#b00000", "alpha": 0.35, "zorder": 10}


class Figure(AnyFigure):
    """A figure that a notebook displays in a readable size."""

    def on_screen(self) -> "Figure":
        """The figure at the resolution of a screen. Call it after the layout, which the resolution would change."""
        self.set_dpi(min(SCREEN, PAGE / self.get_figwidth()))
        return self

    def savefig(self, fname: Any, **options: Any) -> None:
        """Write it to a file as the commands do: by default 300 dots per inch, whatever the resolution on screen."""
        with glyphs():  # `finish` has told what the font lacks
            super().savefig(fname, **{"dpi": PRINT, **options})

    def _repr_png_(self) -> bytes:
        """The picture that IPython shows."""
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=self.get_dpi(), facecolor="white")
        return content.getvalue()


def figure(table: Table, log: bool = False) -> Figure:
    """Draw a table: a panel for each adversary, and one legend, in a free cell if it fits there, else below."""
    table = replace(table, log=log or table.log)
    n = len(table.panels)
    styles = line_styles(table.drawn()) | _rate_styles(table)
    swept = sweeps(table.drawn())
    listed = {name: style for name, style in styles.items() if not any(name in sweep.values for sweep in swept)}
    n_columns = 1 if n == 1 else 2
    n_rows = math.ceil(n / n_columns)
    with styled(table.font):
        in_cell = n % 2 == 1 and n > 1 and len(listed) <= 4 and _lines(_legend_texts(table, listed, True)) <= CELL_LINES
        texts = _legend_texts(table, listed, broken=in_cell)
        titles = [_title(title, i if 1 < n <= 26 else None, TITLE / n_columns) for i, title in enumerate(table.panels)]
        height = (2.3 if n == 1 else 1.42 * n_rows) + 0.12 * sum(max(0, _lines([text]) - 2) for text in titles)
        legend_height = 0 if in_cell else 0.17 * math.ceil(_lines(texts) / _columns(texts)) + 0.5
        out, axes = canvas((COLUMN, height + legend_height), n_rows, n_columns)
        for i, lines in enumerate(table.panels.values()):
            _panel(axes[i], lines, styles, table)
            axes[i].set_title(escaped(titles[i]))
            if i % n_columns == 0:
                axes[i].set_ylabel(escaped(wrapped(table.labels()[1], HIGH, 7)))
            if i + n_columns >= n:
                axes[i].set_xlabel(table.labels()[0])
        _legend(out, axes[n] if in_cell else None, [Line2D([], [], **style) for style in listed.values()], texts, table)
        names: dict[str, str] = {line.label: line.label.base for lines in table.panels.values() for line in lines}
        for sweep in swept:
            colour_bar(out, axes, sweep, names[next(iter(sweep.values))])
        finish(out, axes[n:], table.fewest, table.wanted)
        return out


def colour_bar(out: AnyFigure, axes: Sequence[Axes], sweep: Sweep, name: str) -> None:
    """The scale of the shades of a sweep, beside all panels; name: the algorithm's."""
    norm = (LogNorm if sweep.log else Normalize)(*sweep.ends)
    colours = LinearSegmentedColormap.from_list("", [shade(sweep.colour, k / 20) for k in range(21)])
    text = f"{name}: {symbol(sweep.parameter)}"
    bar = out.colorbar(ScalarMappable(norm, colours), ax=axes, label=escaped(text), aspect=40, pad=0.02)
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, position: thousands(value)))
    bar.ax.yaxis.set_minor_formatter(NullFormatter())


def canvas(size: tuple[float, float], rows: int, columns: int, **grid: Any) -> tuple[Figure, list[Axes]]:
    """An empty figure of this width and height in inches, and its cells, row by row."""
    out = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(out)
    return out, list(out.subplots(rows, columns, squeeze=False, **grid).flat)


def _title(title: Name, place: int | None, width: float) -> str:
    """A panel's title, with a letter if it has a place among others; a long one has its notes on lines of their own."""
    if place is None:
        return wrapped(title, width, 7.5)
    return wrapped(f"({chr(97 + place)}) " + (title.lines if len(title) > TITLE_LETTERS else title), width, 7.5)


def _lines(texts: Iterable[str]) -> int:
    """The number of lines of all texts."""
    return sum(1 + text.count("\n") for text in texts)


def wrapped(text: str, width: float, size: float) -> str:
    """The text on lines of at most this width in inches, in a size in points; a word that is longer is parted."""
    lines = [""]
    for part in re.findall(r"\n|[^\s]+|[^\S\n]+", text):
        if part == "\n":
            lines.append("")
        elif inches(lines[-1] + part, size) <= width:
            lines[-1] += part
        else:
            lines.append("")
            for sign in part if inches(part, size) > width else [part]:
                if inches(lines[-1] + sign, size) > width:
                    lines.append("")
                lines[-1] += sign
    return "\n".join(line.strip() for line in lines if line.strip())


def escaped(text: str) -> str:
    """The text with escaped dollar signs, between which matplotlib would read a formula."""
    return text.replace("$", r"\$")


def line_styles(curves: Iterable[Drawn]) -> dict[str, dict[str, Any]]:
    """The styles of curves by label, as arguments of a drawn line."""
    return {
        label: {
            "color": style.colour,
            "marker": style.marker,
            "markersize": MARKER * style.size,
            "ls": (0, style.stroke) if style.stroke else "-",
        }
        for label, style in styles_of(curves).items()
    }


def _rate_styles(table: Table) -> dict[str, dict[str, Any]]:
    """The lines of rates by name; in a panel those of one order have the colour of an algorithm to which they apply."""
    every = [line for lines in table.panels.values() for line in lines]
    names = dict.fromkeys(rate.title for line in every for rate in line.rates)
    return {name: {"color": "#555555", "lw": 0.7, "ls": RATES[i % len(RATES)]} for i, name in enumerate(names)}


def _legend_texts(table: Table, styles: Iterable[str], broken: bool) -> list[str]:
    """The texts of the legend; with slopes if there is one panel. broken: notes are on lines of their own."""
    lines: dict[str, Line] = {line.label: line for members in table.panels.values() for line in members}
    texts = []
    for name in styles:
        line = lines.get(name)
        text = name if line is None or not broken else line.label.lines
        slope = line.slope_text() if line and len(table.panels) == 1 else ""
        texts.append(escaped(wrapped(f"{text}: {slope}" if slope else text, CELL if broken else LEGEND, 6.5)))
    return texts


def _panel(axis: Axes, lines: list[Line], styles: dict[str, dict[str, Any]], table: Table) -> None:
    x, y = table.axes(lines)
    marked = table.marked(lines)
    feet = [(line.free, f"{line.free:.2g}") for line in lines if line.free is not None]
    for line, points in zip(lines, marked, strict=True):
        feet += beyond(line, points, y)
    fit(axis, "x", x)
    fit(axis, "y", y)
    if table.ratio:
        axis.axhline(1.0, color="#555555", lw=0.7)
    for line, points in zip(lines, marked, strict=True):
        style = styles[line.label]
        axis.plot(line.x, line.regret, label=line.label, markevery=list(points), **style)
        _bars(axis, line, points, y, style["color"])
        if line.bound is not None:
            bound = style | HOLLOW | {"lw": 0.7, "ls": (0, (1, 1.5)), "markevery": list(points)}
            axis.plot(line.x, line.bound, **bound)
        if line.free is not None:
            down = style | {"lw": 0.8, "ls": (0, (1, 1)), "markevery": [1]}
            axis.plot([line.free] * 2, [y.low, line.regret_at(line.free)], **down)
    points_of = {line.label: list(points) for line, points in zip(lines, marked, strict=True)}
    for line, rate in rates_of(lines):
        style = styles[line.label]
        own = style | HOLLOW | {"markevery": points_of[line.label]} | styles[rate.title] | {"color": style["color"]}
        axis.plot(line.x, rate.regret, **(styles[rate.title] if rate.asymptotic else own))
    _numbers(axis, sorted(feet))
    sloped = [line for line in lines if line.slope is not None and len(table.panels) > 1]
    if sloped:  # below rising lines there is room
        samples = [Line2D([], [], **styles[line.label]) for line in sloped]
        texts = [line.slope_text(interval=False) for line in sloped]
        axis.legend(samples, texts, loc="lower right", fontsize=5, borderpad=0, labelspacing=0.2, handlelength=2.2)


def _bars(axis: Axes, line: Line, points: NDArray[np.int64], y: Scale, colour: str) -> None:
    """The error bars at these points; what is below the axis is cut off, and an arrow says so."""
    x, regret, below, above = (part[points] for part in (line.x, line.regret, line.below, line.above))
    low, middle, high = (np.maximum(part, y.low) for part in (regret - below, regret, regret + above))
    axis.errorbar(x, middle, [middle - low, high - middle], ecolor=colour, **BARS)
    cut = [at for at, _ in beyond(line, points, y)]
    axis.plot(cut, [y.low] * len(cut), color=colour, **ARROW)


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
        powers = math.floor(math.log10(scale.high)) - math.ceil(math.log10(scale.low)) + 1
        apart = powers > 1 and scale.high > 30 * scale.low  # else there is room for ticks between powers of ten
        side.set_major_locator(LogLocator(subs=(1.0,) if apart else (1.0, 2.0, 5.0)))
    else:
        side.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10]))
    side.set_major_formatter(FuncFormatter(lambda value, position: thousands(value)))
    side.set_minor_formatter(NullFormatter())


def _legend(out: Figure, cell: Axes | None, handles: list[Line2D], texts: list[str], table: Table) -> None:
    """One legend for all panels, with what the lines and bars show."""
    notes = table.notes() + table.axes_notes()
    if cell is not None:
        note = "\n".join(textwrap.fill(note, 26) for note in notes)
        cell.legend(handles, texts, loc="center", title=note)
    else:
        note = textwrap.fill("; ".join(notes), 84)
        out.legend(handles, texts, loc="outside lower center", ncols=_columns(texts), title=note)


def _columns(texts: Sequence[str]) -> int:
    """The columns of a legend that fit beside each other: two, or one."""
    middle = math.ceil(len(texts) / 2)
    halves = texts[:middle], texts[middle:]
    letters = sum(max(map(len, half), default=0) for half in halves)
    width = sum(max((inches(text, 6.5) for text in half), default=0.0) for half in halves)
    return 2 if letters <= PAIR_LETTERS and width <= LEGEND else 1


def finish(out: AnyFigure, spare: Iterable[Axes], done: int, wanted: int) -> None:
    """Blank the spare cells, mark an incomplete figure across its face, and lay it out once, for all formats.

    Warns of signs that the font lacks.
    """
    for cell in spare:
        cell.axis("off")
    if done < wanted:
        out.text(0.5, 0.5, f"PARTIAL {done}/{wanted}", ha="center", va="center", **WATERMARK)
    with glyphs() as lacking:
        out.draw_without_rendering()
    if lacking:
        text = f"the font has no {' '.join(sorted(lacking))}: give one that has them, by its name, as `font` of `plot`"
        warnings.warn(text, FontWarning, stacklevel=3)
    out.set_layout_engine("none")


def save(drawn: AnyFigure, folder: Path, name: str, formats: Sequence[str]) -> list[Path]:
    """Write the figure, byte for byte the same each time; raises ValueError on an unknown format."""
    unknown = [kind for kind in formats if kind not in FORMATS]
    if unknown:
        raise ValueError(f"unknown format '{unknown[0]}'{suggestion(unknown[0], FORMATS)}")
    paths = []
    undated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}
    with styled():
        for kind in formats:
            paths.append(folder / f"{name}.{kind}")
            content = io.BytesIO()
            drawn.savefig(content, format=kind, metadata=undated[kind])
            write_atomically(paths[-1], content.getvalue())
    return paths
