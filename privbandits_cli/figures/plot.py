"""Table -> Figure -> pdf, png, svg: the only module that imports matplotlib."""

import io
import math
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Figure  # `api.py` names its type
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from privbandits_cli.experiment.files import write_atomically
from privbandits_cli.figures.line import Line
from privbandits_cli.figures.scales import bar_positions, number_places, thousands, wants_logarithm
from privbandits_cli.figures.styles import styles_of
from privbandits_cli.figures.table import Table

STYLE = Path(__file__).with_name("privbandits.mplstyle")
FORMATS = ("pdf", "png", "svg")
COLUMN = 3.5  # inches: one column of a two-column paper

RATES = ((0, (8, 2)), (0, (8, 2, 1, 2)), (0, (3, 3)), (0, (8, 2, 1, 2, 1, 2)), (0, (3, 8)))  # none dotted
BROAD = 24  # letters: of two longer titles beside each other, the notes are on lines of their own
WIDE = 32  # letters: two longer labels do not fit beside each other
BARS: dict[str, Any] = {"fmt": "none", "elinewidth": 0.6, "capthick": 0.6, "alpha": 0.8}
NUMBER: dict[str, Any] = {"color": "#333333", "fontsize": 5, "rotation": 90, "va": "bottom"}
WATERMARK: dict[str, Any] = {"rotation": 30, "fontsize": 26, "color": "#b00000", "alpha": 0.35, "zorder": 10}


def figure(table: Table, log: bool = False) -> Figure:
    """Draw a table: a panel for each adversary, and one legend, in a free cell if it fits there, else below."""
    log = log or table.log
    n = len(table.panels)
    styles = line_styles(table.named()) | _rate_styles(table)
    in_cell = n % 2 == 1 and n > 1 and len(styles) <= 4
    texts = _legend_texts(table, styles, broken=in_cell)
    n_columns = 1 if n == 1 else 2
    n_rows = math.ceil(n / n_columns)
    rows = len(texts) if max(map(len, texts)) > WIDE else math.ceil(len(texts) / 2)
    legend_height = 0 if in_cell else 0.17 * rows + 0.5
    with matplotlib.rc_context(fname=STYLE):
        height = (2.3 if n == 1 else 1.42 * n_rows) + legend_height
        out = Figure(figsize=(COLUMN, height), layout="constrained")
        FigureCanvasAgg(out)
        axes = list(out.subplots(n_rows, n_columns, squeeze=False).flat)
        for i, (title, lines) in enumerate(table.panels.items()):
            _panel(axes[i], lines, styles, table, log)
            letter = f"({chr(97 + i)}) " if 1 < n <= 26 else ""
            axes[i].set_title(letter + escaped(title.lines if letter and len(title) > BROAD else title))
            if i % n_columns == 0:
                axes[i].set_ylabel(table.labels()[1])
            if i + n_columns >= n:
                axes[i].set_xlabel(table.labels()[0])
        _legend(out, axes[n] if in_cell else None, [Line2D([], [], **style) for style in styles.values()], texts, table)
        finish(out, axes[n:], table.fewest, table.wanted)
        return out


def escaped(text: str) -> str:
    """The text with escaped dollar signs, between which matplotlib would read a formula."""
    return text.replace("$", r"\$")


def line_styles(curves: Iterable[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """The styles of curves (algorithm, label) by label, as arguments of a drawn line."""
    return {
        label: {"color": style.mixed(), "marker": style.marker, "ls": (0, style.stroke) if style.stroke else "-"}
        for label, style in styles_of(curves).items()
    }


def _rate_styles(table: Table) -> dict[str, dict[str, Any]]:
    """The lines of rates by name; in a panel each has the colour of the algorithms to which it applies."""
    every = [line for lines in table.panels.values() for line in lines]
    names = dict.fromkeys(rate.name for line in every for rate in line.rates)
    return {name: {"color": "#555555", "lw": 0.7, "ls": RATES[i % len(RATES)]} for i, name in enumerate(names)}


def _legend_texts(table: Table, styles: Iterable[str], broken: bool) -> list[str]:
    """The texts of the legend; with slopes if there is one panel. broken: notes are on lines of their own."""
    lines: dict[str, Line] = {line.label: line for members in table.panels.values() for line in members}
    texts = []
    for name in styles:
        line = lines.get(name)
        text = name if line is None or not broken else line.label.lines
        slope = line.slope_text() if line and len(table.panels) == 1 else ""
        texts.append(escaped(f"{text}: {slope}" if slope else text))
    return texts


def _panel(axis: Axes, lines: list[Line], styles: dict[str, dict[str, Any]], table: Table, log: bool) -> None:
    for k, line in enumerate(lines):
        style = styles[line.label]
        marked = bar_positions(line.x, table.bar_rounds, k, len(lines), log)
        axis.plot(line.x, line.regret, label=line.label, markevery=list(marked), **style)
        if len(marked):
            spread = np.array([line.below[marked], line.above[marked]])
            axis.errorbar(line.x[marked], line.regret[marked], spread, ecolor=style["color"], **BARS)
        if line.bound is not None:
            axis.plot(line.x, line.bound, color=style["color"], lw=0.7, ls=(0, (1, 1.5)))
    if table.ratio:
        axis.axhline(1.0, color="#555555", lw=0.7)
    drawn = set()
    for line in lines:
        for rate in line.rates:
            if (rate.name, *rate.regret) not in drawn:  # once, in the colour of the first algorithm
                drawn.add((rate.name, *rate.regret))
                axis.plot(line.x, rate.regret, **styles[rate.name] | {"color": styles[line.label]["color"]})
    _scales(axis, lines, log)
    sloped = [line for line in lines if line.slope is not None and len(table.panels) > 1]
    for k, line in enumerate(reversed(sloped)):  # below rising lines there is room
        at, text = (0.97, 0.04 + 0.1 * k), line.slope_text(interval=False)
        axis.text(*at, text, color=styles[line.label]["color"], fontsize=5, ha="right", transform=axis.transAxes)
    _mark_free(axis, lines, styles)


def _mark_free(axis: Axes, lines: list[Line], styles: dict[str, dict[str, Any]]) -> None:
    """A line down to the axis from the point where privacy becomes free, with its x; called once the scales are set."""
    marked = sorted(((line.free, line) for line in lines if line.free is not None), key=lambda pair: pair[0])
    low, high = axis.get_ylim()
    low = low / 2.5 if marked and axis.get_yscale() == "log" else low  # room for the numbers
    axis.set_ylim(low, high)
    to_axes = axis.transData + axis.transAxes.inverted()
    across = [float(to_axes.transform((free, low))[0]) for free, _ in marked]
    for (free, line), (side, level) in zip(marked, number_places(across), strict=True):
        colour = styles[line.label]["color"]
        height = float(np.exp(np.interp(np.log(free), np.log(line.x), np.log(line.regret))))
        axis.plot([free] * 2, [low, height], color=colour, lw=0.8, ls=(0, (1, 1)))
        where = axis.get_xaxis_transform()
        axis.text(free, 0.02 + 0.14 * level, f"{free:.2g}", ha=side, transform=where, **NUMBER)


def _scales(axis: Axes, lines: list[Line], log: bool) -> None:
    """Scales and ticks; the axis of regrets is logarithmic only if they differ enough."""
    if log:
        axis.set_xscale("log")
    else:
        axis.set_xlim(0, max(line.x[-1] for line in lines) * 1.02)
    if not (log and wants_logarithm(lines)) and all((line.regret - line.below > 0).all() for line in lines):
        axis.set_ylim(bottom=-0.03 * axis.get_ylim()[1])  # from 0, with room for the markers there
    if log and wants_logarithm(lines):
        axis.set_yscale("log", nonpositive="mask")  # a regret of 0 has no place there
    for side, scale in ((axis.xaxis, axis.get_xscale()), (axis.yaxis, axis.get_yscale())):
        side.set_major_locator(LogLocator(subs=(1.0,)) if scale == "log" else MaxNLocator(4))
        side.set_major_formatter(FuncFormatter(lambda x, position: thousands(x)))
        side.set_minor_formatter(NullFormatter())
    low, high = axis.get_xlim()
    if axis.get_xscale() == "log" and math.floor(math.log10(high)) <= math.ceil(math.log10(low)):  # one power of ten
        axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    low, high = axis.get_ylim()
    if axis.get_yscale() == "log" and high < 30 * low:  # less than two powers of ten: ticks between them
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))


def _legend(out: Figure, cell: Axes | None, handles: list[Line2D], texts: list[str], table: Table) -> None:
    """One legend for all panels, with what the lines and bars show."""
    notes = table.notes()
    if cell is not None:
        note = "\n".join(textwrap.fill(note, 26) for note in notes)
        cell.legend(handles, texts, loc="center", title=note, handlelength=2.6)
    else:
        columns = 2 if max(map(len, texts)) <= WIDE else 1
        note = textwrap.fill("; ".join(notes), 84)
        out.legend(handles, texts, loc="outside lower center", ncols=columns, title=note)


def finish(out: Figure, spare: Iterable[Axes], done: int, wanted: int) -> None:
    """Blank the spare cells, mark an incomplete figure across its face, and lay it out once, for all formats."""
    for cell in spare:
        cell.axis("off")
    if done < wanted:
        out.text(0.5, 0.5, f"PARTIAL {done}/{wanted}", ha="center", va="center", **WATERMARK)
    out.draw_without_rendering()
    out.set_layout_engine("none")


def save(drawn: Figure, folder: Path, name: str, formats: Sequence[str]) -> list[Path]:
    """Write the figure, byte for byte the same each time; raises ValueError on an unknown format."""
    unknown = [kind for kind in formats if kind not in FORMATS]
    if unknown:
        raise ValueError(f"unknown format {unknown[0]!r} (known: {', '.join(FORMATS)})")
    paths = []
    undated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}
    with matplotlib.rc_context(fname=STYLE):
        for kind in formats:
            paths.append(folder / f"{name}.{kind}")
            content = io.BytesIO()
            drawn.savefig(content, format=kind, metadata=undated[kind])
            write_atomically(paths[-1], content.getvalue())
    return paths
