"""Table -> Figure -> pdf, pgf, png, svg."""

import io
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from privbandits_cli.experiment.errors import suggestion
from privbandits_cli.experiment.files import write_atomically
from privbandits_cli.experiment.names import Name, symbol
from privbandits_cli.figures import ends, layout, panel
from privbandits_cli.figures.mpl import (
    Axes,
    Bbox,
    FigureCanvasAgg,
    FontWarning,
    Legend,
    Line2D,
    LinearSegmentedColormap,
    LogNorm,
    Normalize,
    NullFormatter,
    ScalarMappable,
    glyphs,
    inches,
    styled,
)
from privbandits_cli.figures.mpl import Figure as AnyFigure
from privbandits_cli.figures.panel import Styles
from privbandits_cli.figures.scales import thousands
from privbandits_cli.figures.shown import Sheet, sheet
from privbandits_cli.figures.styles import RATE, Style, Sweep, shade
from privbandits_cli.figures.table import Table
from privbandits_cli.figures.words import escaped, on_lines, wrapped

FORMATS = ("pdf", "png", "svg")  # those of the package's own figures
UNDATED = {"pdf": {"CreationDate": None}, "png": {"Software": None}, "svg": {"Date": None}, "pgf": None}  # metadata
PRINT = 300  # dots per inch in a file
SCREEN = 170.0  # dots per inch in a notebook, where letters of 7 points are then as high as those of the page
PAGE = 900.0  # dots: the width of a notebook's page

TITLE_LETTERS = 24  # letters; if there are several panels, a longer title has its notes on separate lines
LEGEND = 2.9  # inches of a line in a legend below the panels
END, WIDEST = 1.25, 2.6  # inches of a line at the end of a line: at least so much is allowed, and at most
LINE = 0.115  # inches: the height of a line in a legend
SIZE = 6.0  # points of a legend
HANDLE = 0.45  # inches of a sample in a legend, with its space
NOTE = 6.5  # points of the notes
ABOVE = 0.4  # inches of a row above and below its panels
HIGH = 1.3  # inches of a line beside a panel
TITLE = 2.9  # inches of a line above a panel that is a column wide
LEFT = 0.38  # inches left of a panel, at least: its numbers and the name of its axis
MARKER = 3.0  # points: the size of most markers, as in the style of all figures
NARROW = 1.15  # inches: a panel with labels at the ends of its lines is at least as wide
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


def figure(table: Table, log: bool = False, style: str = "") -> Figure:
    """Draw a table: a panel for each adversary, with names at the ends of lines if they fit, else with one legend.

    The legend is in a free cell if it fits there, else below, where it takes at most a fifth of the figure. style: a
    style sheet.
    """
    with styled(table.plot.font, style):
        logged = table.plot.model_copy(update={"log": log or table.plot.log})
        return _laid_out(_named(sheet(replace(table, plot=logged))))


@dataclass(frozen=True)
class Picture:
    """A sheet with the styles of its lines as matplotlib has them, and the names that the picture writes."""

    sheet: Sheet
    styles: Styles  # of lines and rates, by label
    texts: dict[str, str]  # of the lines that no colour bar names, and of the rates
    notes: str
    shared: str


def _named(found: Sheet) -> Picture:
    texts = found.texts
    if len(found.panels) == 1:
        sloped = [line for line in found.table.lines if line.slope is not None]
        texts = texts | {line.label: f"{texts[line.label]}\n{line.slope_text()}" for line in sloped}
    barred = {name for sweep in found.swept for name in sweep.values}
    rates = {title: {"color": RATE, "lw": 0.7, "ls": (0, stroke)} for title, stroke in found.rates.items()}
    return Picture(
        sheet=found,
        styles=line_styles(found.styles) | rates,
        texts={name: text for name, text in texts.items() if name not in barred},
        notes="; ".join(found.notes),
        shared="; ".join(found.shared),
    )


def _laid_out(picture: Picture) -> Figure:
    """The figure in the best layout in which all names fit; if there is none, as high as its legend needs."""
    n, table = len(picture.sheet.table.panels), picture.sheet.table
    for width in layout.widths(n, table.plot.width):
        columns = layout.columns(n, width)
        rows = layout.height(n, width) + LINE * (1 + wrapped(picture.notes, width - 0.2, NOTE).count("\n"))
        rows += LINE * (n > 1 and bool(picture.shared))
        if not picture.texts:  # colour bars name all lines
            return _below(picture, width, rows)
        if n % columns:
            out = _drawn(picture, width, rows, "cell")
        else:
            names = "\n".join(on_lines(text, _beside(width, columns), ends.SIZE) for text in picture.texts.values())
            room = n / columns * (ends.least(names) / layout.NAMES + ABOVE)
            grown = room if rows < room <= layout.MORE * rows else rows
            out = _drawn(picture, width, grown, "ends")
        if out is not None:
            return out
        wide, high = _legend_size(picture, width)
        least = wide * high / width / layout.MOST_SHARE
        if least <= rows + high:
            return _below(picture, width, rows + high)
    return _below(picture, width, least)


def _below(picture: Picture, width: float, high: float) -> Figure:
    out = _drawn(picture, width, high, "below")
    assert out is not None
    return out


def _drawn(picture: Picture, width: float, high: float, place: Literal["ends", "cell", "below"]) -> Figure | None:
    """The figure with the names of its lines in this place; None if they do not fit there.

    high: the height in inches, unless the config gives one.
    """
    table, n = picture.sheet.table, len(picture.sheet.table.panels)
    high = table.plot.height or high
    columns = layout.columns(n, width)
    rows = math.ceil(n / columns)
    beside = _beside(width, columns)
    own = (width - (_aside(picture, beside) if place == "ends" else 0)) / columns - 0.4
    titles = [_title(title, layout.letter(i, n), own) for i, title in enumerate(table.panels)]
    if n == 1 and picture.shared:
        around = min(width - 0.4, own + 2 * LEFT)  # it is centred over the panel, which names may push aside
        titles[0] += f"\n{wrapped(picture.shared, around, 7.5)}"
    out, axes = canvas((width, high), rows, columns)
    found = []
    for i, shown in enumerate(picture.sheet.panels.values()):
        found.append(panel.draw(axes[i], shown, picture.styles, table))
        axes[i].set_title(escaped(titles[i]))
        _outer(axes[i], i, n, columns, picture)
    if picture.shared and n > 1:
        out.suptitle(escaped(wrapped(picture.shared, width - 0.4, 7)), fontsize=7)
    labels, legend = [], None
    if place == "ends":
        labels = _labels(axes, found, columns, picture, beside)
        texts = ("\n".join(end.text for end in each.ends) for each in labels)
        if not labels or max(map(ends.least, texts)) > high / rows - ABOVE:
            return None
    elif picture.texts:
        legend = _legend(out, axes[n] if place == "cell" else None, width / columns, picture)
    for sweep in picture.sheet.swept:
        names = (line.label.base for line in table.lines if line.label in sweep.values)
        colour_bar(out, axes, sweep, next(names))
    if place != "below" or not picture.texts:
        out.supxlabel(escaped(wrapped(picture.notes, width - 0.2, NOTE)), fontsize=NOTE)
    finish(out, axes[n:], table.fewest, table.wanted)
    if place == "ends":
        wide = min(axis.get_window_extent().width for axis in axes[:n]) >= NARROW * out.dpi
        return out if wide and all(ends.settled(out, each) for each in labels) else None
    return out if legend is None or place == "below" or _free(legend, axes[n - 1], axes[n]) else None


def _beside(width: float, columns: int) -> float:
    """The width in inches that names at the ends of lines may take."""
    return min(WIDEST, max(END, 0.38 * width / columns))


def _free(legend: Legend, before: Axes, cell: Axes) -> bool:
    """Whether a legend in a cell is off its panels and inside the figure."""
    box, free, more = extent(legend), cell.get_window_extent(), 0.3 * PRINT
    aside = before.get_window_extent().x1 <= box.x0 and box.x1 <= legend.figure.bbox.x1
    return bool(aside and free.y0 - more <= box.y0 and box.y1 <= free.y1 + more / 2)


def _outer(axis: Axes, i: int, n: int, columns: int, picture: Picture) -> None:
    """Label the axes of the i-th panel if it is an outer one; numbers that all panels share are there only, too."""
    panels = picture.sheet.panels.values()
    same = len({shown.x for shown in panels}) == 1, len({shown.y for shown in panels}) == 1
    x, y = picture.sheet.table.labels()
    if i % columns == 0:
        axis.set_ylabel(escaped(wrapped(y, HIGH, 7)))
    elif same[1]:
        axis.tick_params(axis="y", labelleft=False)
    if i + columns >= n:
        axis.set_xlabel(x)
    elif same[0]:
        axis.tick_params(axis="x", labelbottom=False)


def _labels(
    axes: Sequence[Axes], found: Sequence[list[ends.End]], columns: int, picture: Picture, width: float
) -> list[ends.Labels]:
    """Names at the ends of the lines in the last panel of each row; none if that lacks a line of the row."""
    labels = []
    for first in range(0, len(found), columns):
        row = [[end for end in each if end.text in picture.texts] for each in found[first : first + columns]]
        if {end.text for each in row for end in each} - {end.text for end in row[-1]}:
            return []
        named = [replace(end, text=on_lines(picture.texts[end.text], width, ends.SIZE)) for end in row[-1]]
        if named:  # else a colour bar names all lines of the row
            labels.append(ends.reserve(axes[first + len(row) - 1], named))
    return labels


def _aside(picture: Picture, width: float) -> float:
    """The space in inches that names of at most this width take beside the panels."""
    lines = [line for text in picture.texts.values() for line in on_lines(text, width, ends.SIZE).split("\n")]
    return max(inches(line, ends.SIZE) for line in lines) + ends.ROOM / 72


def extent(legend: Legend) -> Bbox:
    """What the samples and names of a legend take, without its title."""
    parts = [*legend.get_texts(), *legend.legend_handles]
    return Bbox.union([part.get_window_extent() for part in parts if part is not None])


def _legend(out: Figure, cell: Axes | None, width: float, picture: Picture) -> Legend:
    """One legend for all panels: in a cell of this width, or below the panels, with the notes on lines and bars."""
    handles = [Line2D([], [], **picture.styles[name]) for name in picture.texts]
    if cell is not None:
        texts = [on_lines(text, width - HANDLE - 0.1, SIZE) for text in picture.texts.values()]
        legend = cell.legend(handles, texts, loc="center", fontsize=SIZE, borderpad=0)
        legend.set_in_layout(False)
        return legend
    note = escaped(wrapped(picture.notes, out.get_figwidth() - 0.2, NOTE))
    texts = _below_texts(picture, out.get_figwidth())
    columns = len(_columns(texts, out.get_figwidth() - 0.1))
    return out.legend(handles, texts, loc="outside lower center", ncols=columns, title=note, fontsize=SIZE)


def _below_texts(picture: Picture, width: float) -> list[str]:
    return [on_lines(text, min(LEGEND, width - 2 * HANDLE), SIZE) for text in picture.texts.values()]


def _legend_size(picture: Picture, width: float) -> tuple[float, float]:
    """Width and height in inches of the names below the panels of a figure of this width."""
    columns = _columns(_below_texts(picture, width), width - 0.1)
    wide = sum(max(_width(text) for text in column) for column in columns)
    return min(width, wide), LINE * max(sum(1 + text.count("\n") for text in column) for column in columns) + 0.05


def _columns(texts: Sequence[str], width: float) -> list[Sequence[str]]:
    """The texts in as many columns as fit beside each other."""
    for n in range(len(texts), 1, -1):
        columns = [part.tolist() for part in np.array_split(texts, n)]
        if sum(max(map(_width, column)) for column in columns) <= width:
            return columns
    return [texts]


def _width(text: str) -> float:
    """The width of a name in a legend with its sample, in inches."""
    return max(inches(line, SIZE) for line in text.split("\n")) + HANDLE


def colour_bar(out: Figure, axes: Sequence[Axes], sweep: Sweep, name: str) -> None:
    """The scale of the shades of a sweep, beside all panels; name: the algorithm's."""
    norm = (LogNorm if sweep.log else Normalize)(*sweep.ends)
    colours = LinearSegmentedColormap.from_list("", [shade(sweep.colour, k / 20) for k in range(21)])
    text = f"{name}: {symbol(sweep.parameter)}"
    bar = out.colorbar(ScalarMappable(norm, colours), ax=axes, label=escaped(text), aspect=40, pad=0.02)
    bar.ax.yaxis.set_major_formatter(lambda value, place: thousands(value))
    bar.ax.yaxis.set_minor_formatter(NullFormatter())


def canvas(size: tuple[float, float], rows: int, columns: int, **grid: Any) -> tuple[Figure, list[Axes]]:
    """An empty figure of this width and height in inches, and its cells, row by row."""
    out = Figure(figsize=size, dpi=PRINT, layout="constrained")  # letters have the widths of the file
    FigureCanvasAgg(out)
    return out, list(out.subplots(rows, columns, squeeze=False, **grid).flat)


def _title(title: Name, letter: str, width: float) -> str:
    """A panel's title; after a letter, a long one has its notes on lines of their own."""
    return wrapped(letter + (title.lines if letter and len(title) > TITLE_LETTERS else title), width, 7.5)


def line_styles(styles: Mapping[str, Style]) -> Styles:
    """The styles of curves by label, as arguments of a drawn line."""
    return {
        label: {
            "color": style.colour,
            "marker": style.marker,
            "markersize": MARKER * style.size,
            "ls": (0, style.stroke) if style.stroke else "-",
        }
        for label, style in styles.items()
    }


def finish(out: Figure, spare: Iterable[Axes], done: int, wanted: int) -> None:
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


def save(drawn: Figure, folder: Path, name: str, formats: Sequence[str], style: str = "") -> list[Path]:
    """Write the figure, byte for byte the same each time; raises ValueError on an unknown format or pgf without TeX."""
    unknown = [kind for kind in formats if kind not in UNDATED]
    if unknown:
        raise ValueError(f"unknown format '{unknown[0]}'{suggestion(unknown[0], UNDATED)}")
    paths = []
    with styled(style=style):
        for kind in formats:
            paths.append(folder / f"{name}.{kind}")
            content = io.BytesIO()
            try:
                drawn.savefig(content, format=kind, metadata=UNDATED[kind])
            except (OSError, RuntimeError) as error:
                if kind == "pgf":  # matplotlib lets TeX measure its texts
                    raise ValueError(f"pgf needs a TeX system: {error}") from error
                raise
            write_atomically(paths[-1], content.getvalue())
    return paths
