"""Panels as SVG for a page: pure functions from lines or strips to text; colours are the page's CSS variables.

Every curve is a group with the number of its label, by which the page's script shows and hides it; what stands under
the pointer is in its attributes, in full precision.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.figures.distributions import Distribution, Distributions, places
from privbandits_cli.figures.line import Line
from privbandits_cli.figures.scales import Scale, axes_of, bar_positions, thousands
from privbandits_cli.figures.styles import Style
from privbandits_cli.numerics.types import Floats

WIDTH, HEIGHT = 360, 250
LEFT, RIGHT, TOP, BOTTOM = 40, 8, 8, 34
ROW = 15  # of a strip
RATES = ("8 2", "8 2 1 2", "3 3", "8 2 1 2 1 2", "3 8")
MARKERS = {
    "o": "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0",
    "s": "M-2.7-2.7h5.4v5.4h-5.4z",
    "^": "M0-3.4L3.2 2.6H-3.2z",
    "D": "M0-3.7L3.7 0 0 3.7-3.7 0z",
    "v": "M0 3.4L3.2-2.6H-3.2z",
    "P": "M-1.2-3.4h2.4v2.2h2.2v2.4h-2.2v2.2h-2.4v-2.2h-2.2v-2.4h2.2z",
    "X": "M-3.4-1.8L-1.8-3.4 0-1.6 1.8-3.4 3.4-1.8 1.6 0 3.4 1.8 1.8 3.4 0 1.6-1.8 3.4-3.4 1.8-1.6 0z",
    "*": "M0-4L1 -1.2 4-1.2 1.6.5 2.5 3.4 0 1.7-2.5 3.4-1.6.5-4-1.2-1-1.2z",
}


def ink(look: Style) -> str:
    """The colour of a look: of the page's palette, faded into white or darkened."""
    towards = "fade" if look.pale >= 0 else "deep"
    return f"color-mix(in srgb, var(--c{look.colour}) {100 - round(100 * abs(look.pale))}%, var(--{towards}))"


def swatch(look: Style) -> str:
    """A piece of a line, for a legend."""
    return (
        f'<svg class="swatch" viewBox="0 0 34 10" width="34" height="10" aria-hidden="true" style="--ink:{ink(look)}">'
        f'<path class="line" d="M1 5H33"{_dashes(look)}/><path class="mark" transform="translate(17 5)" '
        f'd="{MARKERS[look.marker]}"/></svg>'
    )


def _dashes(look: Style) -> str:
    return f' stroke-dasharray="{" ".join(f"{1.8 * part:g}" for part in look.stroke)}"' if look.stroke else ""


class _Frame:
    """Places in a panel, in its own units."""

    def __init__(self, x: Scale, y: Scale) -> None:
        self._x, self._y = x, y

    def x(self, values: Floats | float) -> Floats:
        """From the left."""
        return np.round(LEFT + (WIDTH - LEFT - RIGHT) * self._x(values), 1)

    def y(self, values: Floats | float) -> Floats:
        """From the top."""
        return np.round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * self._y(values), 1)

    def path(self, x: Floats, y: Floats) -> str:
        """A line through points."""
        places = (f"{a:g} {b:g}" for a, b in zip(self.x(x), self.y(y), strict=True))
        return "M" + "L".join(places)

    def grid(self, x_label: str, y_label: str) -> Iterator[str]:
        """Axes, ticks and what stands at them."""
        low = HEIGHT - BOTTOM
        for tick in self._y.ticks():
            at = f"{self.y(tick):g}"
            yield f'<path class="grid" d="M{LEFT} {at}H{WIDTH - RIGHT}"/>'
            yield f'<text class="y" x="{LEFT - 5}" y="{at}" dy=".32em">{thousands(tick)}</text>'
        yield from _below(self._x, LEFT, WIDTH - RIGHT, TOP, low)
        yield f'<path class="axis" d="M{LEFT} {TOP}V{low}H{WIDTH - RIGHT}"/>'
        yield f'<text class="x" x="{(LEFT + WIDTH - RIGHT) / 2:g}" y="{HEIGHT - 3}">{escape(x_label)}</text>'
        yield f'<text class="name" x="{LEFT + 5}" y="{TOP + 5}">{escape(y_label)}</text>'


def _below(scale: Scale, left: float, right: float, top: float, low: float) -> Iterator[str]:
    """The ticks of the lower axis."""
    for tick in scale.ticks():
        at = f"{left + (right - left) * float(scale(tick)):.1f}"
        yield f'<path class="grid" d="M{at} {top}V{low}"/>'
        yield f'<text class="x" x="{at}" y="{low + 14}">{thousands(tick)}</text>'


def lines_panel(
    title: str, lines: Sequence[Line], looks: Mapping[str, Style], numbers: Mapping[str, int], labels: tuple[str, str],
    bars: int, log: bool, partial: str = "",
) -> str:  # fmt: skip
    """A panel of lines.

    looks: by label; numbers: of each label in the page's legend; labels: of the axes; bars: at so many points.
    partial: what is written across the panel of an incomplete experiment.
    """
    x, y = axes_of(lines, log)
    frame = _Frame(x, y)
    parts = [*frame.grid(*labels)]
    rates = list(dict.fromkeys(rate.name for line in lines for rate in line.rates))
    drawn: set[tuple[object, ...]] = set()
    for k, line in enumerate(lines):
        look = looks[line.label]
        marked = bar_positions(line.x, bars, k, len(lines), log)
        inner = [f'<path class="line" d="{_line(frame, line, y)}"{_dashes(look)}/>']
        inner += _bars(frame, line, marked)
        inner += _marks(frame, line, look, marked, y)
        if line.bound is not None:
            inner.append(f'<path class="bound" d="{frame.path(line.x, line.bound)}"/>')
        for rate in line.rates:
            if (rate.name, *rate.regret) not in drawn:  # stated of several algorithms: in the colour of the first
                drawn.add((rate.name, *rate.regret))
                dashes = RATES[rates.index(rate.name) % len(RATES)]
                path = frame.path(line.x, rate.regret)
                inner.append(f'<path class="rate" d="{path}" stroke-dasharray="{dashes}"/>')
        if line.free is not None:
            at = f"{frame.x(line.free):g}"
            inner.append(f'<path class="free" d="M{at} {HEIGHT - BOTTOM}V{TOP + 20}"/>')
            inner.append(f'<text class="free" x="{at}" y="{TOP + 16}">{line.free:.2g}</text>')
        parts.append(_curve(line, numbers[line.label], look, frame, "".join(inner)))
    return _svg(title, "lines", HEIGHT, [*parts, '<path class="guide" d=""/>'], partial, labels[0])


def _line(frame: _Frame, line: Line, y: Scale) -> str:
    """The line's path; where nothing of it is on a logarithmic axis it is broken."""
    seen = line.regret > 0 if y.kind == "log" else np.ones(len(line.x), bool)
    runs = np.split(np.arange(len(line.x)), np.flatnonzero(np.diff(seen)) + 1)
    return "".join(frame.path(line.x[run], line.regret[run]) for run in runs if seen[run[0]])


def _bars(frame: _Frame, line: Line, marked: NDArray[np.int64]) -> Iterator[str]:
    lows, highs = frame.y(line.regret - line.below)[marked], frame.y(line.regret + line.above)[marked]
    path = "".join(
        f"M{x - 2:g} {low:g}h4m-2 0V{high:g}m-2 0h4"
        for x, low, high in zip(frame.x(line.x)[marked], lows, highs, strict=True)
        if low != high
    )
    if path:
        yield f'<path class="bar" d="{path}"/>'


def _marks(frame: _Frame, line: Line, look: Style, marked: NDArray[np.int64], y: Scale) -> Iterator[str]:
    for i in marked:
        if y.kind != "log" or line.regret[i] > 0:
            where = f"{frame.x(line.x[i]):g} {frame.y(line.regret[i]):g}"
            yield f'<path class="mark" transform="translate({where})" d="{MARKERS[look.marker]}"/>'


def _curve(line: Line, number: int, look: Style, frame: _Frame, inner: str) -> str:
    """The group of a curve; data-points: place, x, regret, lengths of the bars, a row for each point."""
    columns = (frame.x(line.x), frame.y(line.regret), line.x, line.regret, line.below, line.above)
    points = json.dumps(np.stack(columns, axis=1).tolist(), separators=(",", ":"))
    return (
        f'<g class="curve" data-curve="{number}" data-label="{escape(line.label)}" data-points="{points}" '
        f'style="--ink:{ink(look)}">{inner}</g>'
    )


def strips_panel(
    title: str, strips: Distributions, looks: Mapping[str, Style], numbers: Mapping[str, int], partial: str = ""
) -> str:
    """A panel of strips, looks and numbers by the labels of lines."""
    members, scale = strips.panels[title], strips.scale(title)
    titles, rows = places(members)
    low = TOP + ROW * (rows[-1] + 1) + 3
    widest = max(len(strip.at) for strip in members)
    left = round(14 + 5.2 * widest) if widest else 8
    parts = list(_below(scale, left, WIDTH - RIGHT, TOP, low))
    parts.append(f'<path class="axis" d="M{left} {low}H{WIDTH - RIGHT}"/>')
    if strips.paired:
        parts.append(f'<path class="zero" d="M{left + (WIDTH - RIGHT - left) * float(scale(0.0)):.1f} {TOP}V{low}"/>')
    for i, (row, strip) in enumerate(zip(rows, members, strict=True)):
        look = looks[strip.line]
        inner = _strip(strip, scale, left, TOP + ROW * (row + 0.5))
        inner = (
            f'<text class="at" x="{left - 6}" y="{TOP + ROW * (row + 0.5):g}" dy=".32em">{escape(strip.at)}</text>'
            if strip.at
            else ""
        ) + inner
        head = titles.get(row - 1) if i == 0 or row - 1 != rows[i - 1] else None
        if head is not None:
            inner = (
                f'<text class="head" x="{left}" y="{TOP + ROW * (row - 0.5):g}" dy=".32em">{escape(head)}</text>'
                + inner
            )
        parts.append(f'<g class="curve strip" data-curve="{numbers[strip.line]}" style="--ink:{ink(look)}">{inner}</g>')
    parts.append(f'<text class="x" x="{(left + WIDTH - RIGHT) / 2:g}" y="{low + 30}">{escape(strips.x_label)}</text>')
    return _svg(title, "strips", low + 36, parts, partial)


def _strip(strip: Distribution, scale: Scale, left: int, middle: float) -> str:
    """Points, and over them the box, or the mean with its interval."""

    def at(values: Floats | float) -> Floats:
        return np.round(left + (WIDTH - RIGHT - left) * scale(values), 1)

    values, beside = strip.points()
    dots = "".join(f"M{x:g} {y:.1f}h0" for x, y in zip(at(values), middle + 0.6 * ROW * beside, strict=True))
    parts = [f'<path class="dots{" many" if len(values) > 200 else ""}" d="{dots}"/>']
    if strip.interval is None:
        a, b, c, d, e = at(np.array(strip.box()))
        up, down = f"{middle - 4.5:g}", f"{middle + 4.5:g}"
        parts.append(
            f'<path class="box" d="M{a:g} {middle:g}H{b:g}M{d:g} {middle:g}H{e:g}M{b:g} {up}H{d:g}V{down}H{b:g}z"/>'
        )
        parts.append(f'<path class="middle" d="M{c:g} {up}V{down}"/>')
    else:
        low, high = at(np.array(strip.interval))
        parts.append(f'<path class="middle" d="M{low:g} {middle:g}H{high:g}"/>')
        parts.append(f'<path class="mean" transform="translate({at(strip.mean):g} {middle:g})" d="{MARKERS["D"]}"/>')
    told = escape(json.dumps(_told(strip), ensure_ascii=False, separators=(",", ":")))
    parts.append(
        f'<rect class="field" x="{left}" y="{middle - ROW / 2:g}" width="{WIDTH - RIGHT - left}" height="{ROW}" '
        f'data-told="{told}"/>'
    )
    return "".join(parts)


def _told(strip: Distribution) -> dict[str, object]:
    """What the page says of a strip under the pointer."""
    title = f"{strip.title}, {strip.at}" if strip.at else strip.title
    if strip.interval is not None:
        return {"title": title, "mean": strip.mean, "95 % interval": strip.interval, "trials": len(strip.values)}
    low, first, middle, third, high = strip.box()
    return {
        "title": title,
        "median": middle,
        "quartiles": [first, third],
        "5 % to 95 %": [low, high],
        "least, most": [float(strip.values.min()), float(strip.values.max())],
        "trials": len(strip.values),
    }


def _svg(title: str, kind: str, height: float, parts: Sequence[str], partial: str, x_label: str = "") -> str:
    where = f"translate({WIDTH / 2:g} {height / 2:g}) rotate(-25)"
    mark = f'<text class="partial" transform="{where}">{escape(partial)}</text>' if partial else ""
    along = f' data-x="{escape(x_label)}"' if x_label else ""
    return (
        f'<svg class="panel {kind}" viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(title)}"{along}>'
        f"{''.join(parts)}{mark}</svg>"
    )


def thumbnail(lines: Sequence[Line], looks: Mapping[str, Style], log: bool) -> str:
    """The lines of a panel without axes, for an index."""
    frame_x, frame_y = axes_of(lines, log)
    frame = _Frame(frame_x, frame_y)
    paths = "".join(
        f'<path class="line" style="--ink:{ink(looks[line.label])}" d="{_line(frame, line, frame_y)}"/>'
        for line in lines
    )
    box = f"{LEFT} 0 {WIDTH - LEFT} {HEIGHT - BOTTOM + 6}"
    return f'<svg class="thumbnail" viewBox="{box}" preserveAspectRatio="none" aria-hidden="true">{paths}</svg>'
