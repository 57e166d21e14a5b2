"""Strips -> Figure: a row per curve with box and points, or with the mean difference and its interval."""

import textwrap

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from privbandits_cli.figures.distributions import Strip, Strips, places
from privbandits_cli.figures.plot import COLUMN, STYLE, watermark
from privbandits_cli.figures.scales import Scale, thousands
from privbandits_cli.figures.styles import looks

ROW = 0.125  # inches
DARK = "#222222"
MANY = 200  # points, of which each is drawn smaller


def figure(strips: Strips) -> Figure:
    """Draw a figure of strips: a panel per adversary, two beside each other."""
    colours = {label: look.mixed() for label, look in looks(strips.named).items()}
    n = len(strips.panels)
    columns = 1 if n == 1 else 2
    titles = list(strips.panels)
    heights = [max(_rows(strips, title) for title in titles[i : i + columns]) for i in range(0, n, columns)]
    with matplotlib.rc_context(fname=STYLE):
        size = (COLUMN * columns, sum(ROW * height + 0.55 for height in heights) + 0.35)
        out = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(out)
        cells = out.subplots(len(heights), columns, squeeze=False, gridspec_kw={"height_ratios": heights})
        axes = list(cells.flat)
        for i, title in enumerate(titles):
            scale = strips.scale(title)
            _panel(axes[i], strips.panels[title], colours, scale, strips.paired)
            plain = title.replace("$", r"\$")
            axes[i].set_title(f"({chr(97 + i)}) {plain}" if 1 < n <= 26 else plain)
            if i + columns >= n:
                axes[i].set_xlabel(strips.x_label)
        for spare in axes[n:]:
            spare.axis("off")
        note = textwrap.fill(f"{strips.fewest} trials; {strips.note}", 84 * columns)
        out.supxlabel(note, fontsize=5.5)
        watermark(out, strips.fewest, strips.wanted)
        out.draw_without_rendering()
        out.set_layout_engine("none")
        return out


def _rows(strips: Strips, title: str) -> int:
    return places(strips.panels[title])[1][-1] + 1


def _panel(
    axis: Axes, strips: list[Strip], colours: dict[str, tuple[float, float, float]], scale: Scale, paired: bool
) -> None:
    _axis(axis, scale)
    titles, rows = places(strips)
    axis.set_ylim(rows[-1] + 0.7, -0.6)
    axis.grid(visible=False, axis="y")
    axis.spines["left"].set_visible(False)
    axis.set_yticks(rows, [strip.at for strip in strips], fontsize=5)
    axis.tick_params(axis="y", length=0)
    for row, title in titles.items():
        plain = title.replace("$", r"\$")
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
        where = axis.get_yaxis_transform()
        axis.text(0.005, row + 0.1, plain, transform=where, fontsize=5.5, va="center", zorder=5, bbox=box)
    if paired:
        axis.axvline(0, color="#555555", lw=0.7, zorder=1)
    for row, strip in zip(rows, strips, strict=True):
        colour = colours[strip.line]
        values, beside = strip.points()
        axis.plot(
            values,
            row + 0.7 * beside,
            ".",
            color=colour,
            ms=2.6 if len(values) < MANY else 1.8,
            mew=0,
            alpha=0.6,
            zorder=2,
        )
        if strip.interval is None:
            _box(axis, strip, row)
        else:
            axis.plot(strip.interval, [row] * 2, color=DARK, lw=1.2, zorder=4)
            axis.plot([strip.mean], [row], "D", color=DARK, ms=2.6, mew=0, zorder=4)


def _box(axis: Axes, strip: Strip, row: int) -> None:
    low, first, middle, third, high = strip.box()
    axis.plot([low, first], [row] * 2, color=DARK, lw=0.6, zorder=3)
    axis.plot([third, high], [row] * 2, color=DARK, lw=0.6, zorder=3)
    corners = [first, third, third, first, first]
    axis.plot(corners, [row - 0.3, row - 0.3, row + 0.3, row + 0.3, row - 0.3], color=DARK, lw=0.6, zorder=3)
    axis.plot([middle] * 2, [row - 0.3, row + 0.3], color=DARK, lw=1.2, zorder=3)


def _axis(axis: Axes, scale: Scale) -> None:
    """The scale with its own ticks: those of the page."""
    axis.set_xscale(scale.kind, **({"linear_width": scale.width} if scale.kind == "asinh" else {}))
    axis.set_xlim(scale.low, scale.high)
    axis.xaxis.set_major_locator(FixedLocator(scale.ticks()))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, position: thousands(x)))
