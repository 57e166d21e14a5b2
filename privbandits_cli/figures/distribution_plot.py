"""Distributions -> Figure: a row for each curve, with box and points, or with the mean difference and its interval."""

from privbandits_cli.analysis.format import counted
from privbandits_cli.figures.distributions import MANY_POINTS, Distribution, Distributions, places
from privbandits_cli.figures.layout import COLUMN, PAGE, letter
from privbandits_cli.figures.mpl import Axes, NullLocator, inches, styled
from privbandits_cli.figures.panel import fit
from privbandits_cli.figures.plot import NOTE, TITLE, Figure, canvas, finish
from privbandits_cli.figures.styles import Style, styles_of
from privbandits_cli.figures.words import escaped, wrapped

ROW = 0.125  # inches
DARK = "#222222"
SMALL = 6.0  # points of the names of rows
NAME_WIDTH = 3.2  # inches of a row's name; a longer one is smaller


def figure(drawn: Distributions, style: str = "") -> Figure:
    """Draw distributions: a panel per adversary, two in each row; style: a style sheet."""
    styles = styles_of(drawn.drawn)
    n = len(drawn.panels)
    columns = 1 if n == 1 else 2
    sizes = [places(rows)[1][-1] + 1 for rows in drawn.panels.values()]
    heights = [max(sizes[i : i + columns]) for i in range(0, n, columns)]
    with styled(drawn.font, style):
        width = COLUMN if columns == 1 else PAGE
        size = (width, sum(ROW * height + 0.55 for height in heights) + 0.35)
        out, axes = canvas(size, len(heights), columns, gridspec_kw={"height_ratios": heights})
        for i, title in enumerate(drawn.panels):
            _panel(axes[i], drawn, title, styles)
            axes[i].set_title(escaped(wrapped(letter(i, n) + title, TITLE, 7.5)))
            if i + columns >= n:
                axes[i].set_xlabel(drawn.x_label)
        note = f"{counted(drawn.fewest, 'trial')}; {drawn.note}"
        out.supxlabel(escaped(wrapped(note, width - 0.2, NOTE)), fontsize=NOTE)
        finish(out, axes[n:], drawn.fewest, drawn.wanted)
        return out


def _panel(axis: Axes, drawn: Distributions, title: str, styles: dict[str, Style]) -> None:
    members = drawn.panels[title]
    fit(axis, "x", drawn.scales[title], ticks=6)
    axis.xaxis.set_minor_locator(NullLocator())
    titles, rows = places(members)
    axis.set_ylim(rows[-1] + 0.7, -0.6)
    axis.grid(visible=False, axis="y")
    axis.spines["left"].set_visible(False)
    axis.set_yticks(rows, [one.at for one in members], fontsize=SMALL)
    axis.tick_params(axis="y", length=0)
    for row, text in titles.items():
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
        where = axis.get_yaxis_transform()
        size = SMALL * min(1.0, NAME_WIDTH / inches(text, SMALL))
        axis.text(0.005, row + 0.1, escaped(text), transform=where, fontsize=size, va="center", zorder=5, bbox=box)
    if drawn.paired:
        axis.axvline(0, color="#555555", lw=0.7, zorder=1)
    for row, one in zip(rows, members, strict=True):
        style = styles[one.line]
        values, beside = one.points()
        size = 2.6 if len(values) < MANY_POINTS else 1.8
        axis.plot(
            values, row + 0.7 * beside, style.marker, color=style.colour, ms=size * style.size, alpha=0.6, zorder=2
        )
        if drawn.paired:
            if one.interval:
                axis.plot(one.interval, [row] * 2, color=DARK, lw=1.2, zorder=4)
            axis.plot([one.mean], [row], "D", color=DARK, ms=3.4, mec="white", mew=0.4, zorder=4)
        elif one.boxed:
            _box(axis, one, row)


def _box(axis: Axes, one: Distribution, row: int) -> None:
    low, first, middle, third, high = one.box()
    axis.plot([low, first], [row] * 2, color=DARK, lw=0.6, zorder=3)
    axis.plot([third, high], [row] * 2, color=DARK, lw=0.6, zorder=3)
    corners = [first, third, third, first, first]
    axis.plot(corners, [row - 0.3, row - 0.3, row + 0.3, row + 0.3, row - 0.3], color=DARK, lw=0.6, zorder=3)
    axis.plot([middle] * 2, [row - 0.3, row + 0.3], color=DARK, lw=1.2, zorder=3)
