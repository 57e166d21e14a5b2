"""Table -> Sheet: what a figure shows, as data. The pictures and the interactive report draw the same sheet."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privbandits_cli.accounting.rounding import at_most
from privbandits_cli.analysis.rates import Rate
from privbandits_cli.experiment.names import Name
from privbandits_cli.figures.bulk import gaps
from privbandits_cli.figures.line import Line, lifted, rates_of
from privbandits_cli.figures.scales import Scale, beyond, common
from privbandits_cli.figures.styles import RATES, Stroke, Style, Sweep, styles_of, sweeps
from privbandits_cli.figures.table import UNEVEN, Table
from privbandits_cli.numerics.types import Floats, Ints

EQUAL = 1.1  # ε that differ by at most this factor are equal


@dataclass(frozen=True)
class Path:
    """What theory says beside a line, at values of x of its own; NaN where it says nothing."""

    x: Floats
    regret: Floats
    marked: Ints  # the points of the line that have a marker, in `x`


@dataclass(frozen=True)
class ShownLine:
    """A line as it is drawn."""

    line: Line
    regret: Floats  # the line's, or at some points that of a curve without privacy, which it does not beat
    points: Ints  # those with a marker and a bar
    low: Floats  # the lower ends of the bars, not below the axis
    high: Floats
    breaks: Ints  # the points before which values are left out
    pale: Ints  # the points with pale bars, from the 5 % to the 95 % quantile
    outside: Ints  # the points whose centre is outside the bulk of the trials, which have a ring
    raised: Ints  # the points that are moved up to a curve without privacy, which have a ring
    under: list[tuple[float, str]]  # the bars that end below the axis: x, and the end as text
    over: Floats  # x of the bars that end above the axis
    bound: Path | None

    @property
    def rings(self) -> Ints:
        """The points with a ring."""
        return np.union1d(self.outside, self.raised)

    @property
    def hollow(self) -> Ints:
        """The points with a hollow marker, to which no line leads."""
        return np.zeros(0, int) if self.line.hollow is None else np.flatnonzero(self.line.hollow)

    @property
    def solid(self) -> Floats:
        """The regrets that the line joins; NaN at hollow markers."""
        joined = self.regret.astype(float)
        joined[self.hollow] = np.nan
        return joined

    def pale_ends(self, y: Scale) -> tuple[Floats, Floats]:
        """The ends of the pale bars, not below the axis of regrets."""
        bulk = self.line.bulk
        if bulk is None:
            return np.zeros(0), np.zeros(0)
        return np.maximum(bulk.low[self.pale], y.low), np.maximum(bulk.high[self.pale], y.low)


@dataclass(frozen=True)
class ShownRate:
    """A rate with the first line that it applies to."""

    rate: Rate
    label: str  # of that line
    path: Path


@dataclass(frozen=True)
class Panel:
    """A panel of a figure."""

    x: Scale
    y: Scale
    lines: list[ShownLine]
    rates: list[ShownRate]


@dataclass(frozen=True)
class Sheet:
    """A figure of any size."""

    table: Table  # without the panels that are left out
    hidden: list[str]  # the titles of these
    panels: dict[Name, Panel]
    styles: dict[str, Style]  # of lines, by label
    swept: list[Sweep]  # the algorithms whose shades follow a number
    rates: dict[str, Stroke]  # the strokes of rates, by title
    texts: dict[str, str]  # the labels of lines and the titles of rates, without what all curves share
    shared: list[str]  # that, for the title

    @property
    def notes(self) -> list[str]:
        """What lines, bars and marks show, and which panels are left out."""
        notes = self.table.notes() + self.marks
        if self.hidden:
            notes.append(f"left out, since points differ there by no more than chance: {', '.join(self.hidden)}")
        return notes

    @property
    def marks(self) -> list[str]:
        """What pale bars, rings, gaps and arrows say, and what axes that are not linear show near 0."""
        every = [(shown, panel.y) for panel in self.panels.values() for shown in panel.lines]
        top, centre = self.table.plot.top, self.table.centre
        chance = f"its {centre} is lower by no more than chance"
        said: dict[str, list[Any]] = {
            f"pale: {UNEVEN}": [len(one.pale) for one, _ in every],
            f"ring: the {centre} is outside the 5 % and 95 % quantiles of the trials": [
                len(one.outside) for one, _ in every
            ],
            f"ring on a curve without privacy: a point of a private curve, moved up since {chance}": [
                len(one.raised) for one, _ in every
            ],
            "no line where values in between were left out": [len(one.breaks) for one, _ in every],
            "axis with negative regrets: linear near 0, logarithmic far from it": [y.kind == "asinh" for _, y in every],
            "arrow: the bar ends at this regret, below the axis": [len(one.under) for one, _ in every],
            "regrets of 0 are below the axis": [y.kind == "log" and (one.line.regret <= 0).any() for one, y in every],
            "arrow up: the bar ends above the axis": [len(one.over) for one, _ in every],
            f"regrets above {top or 0:,g} are beyond the axis": [one.line.regret.max() > y.high for one, y in every],
        }
        return [note for note, cases in said.items() if any(cases)]


def sheet(table: Table) -> Sheet:
    """What the figure of a table shows."""
    table, hidden = table.seen()
    lines = list({line.label: line for line in table.lines}.values())
    texts, shared = shared_notes(lines)
    titles = dict.fromkeys(rate.title for line in table.lines for rate in line.rates)
    own = [table.axes(each) for each in table.panels.values()]
    x, y = (common([pair[side] for pair in own]) for side in (0, 1))
    panels = {
        title: _panel(table, each, x or scales[0], y or scales[1])
        for (title, each), scales in zip(table.panels.items(), own, strict=True)
    }
    curves = [line.drawn for line in table.lines]
    return Sheet(
        table=table,
        hidden=hidden,
        panels=panels,
        styles=styles_of(curves),
        swept=sweeps(curves),
        rates={title: RATES[i % len(RATES)] for i, title in enumerate(titles)},
        texts=texts | {title: title for title in titles},
        shared=[text for text in (shared, unequal(lines)) if text],
    )


def _panel(table: Table, lines: Sequence[Line], x: Scale, y: Scale) -> Panel:
    marked = table.marked(lines)
    shown = [
        _shown(line, lines, points, y, broken=table.swept and not line.level)
        for line, points in zip(lines, marked, strict=True)
    ]
    points_of = {line.label: points for line, points in zip(lines, marked, strict=True)}
    rates = [
        ShownRate(rate, line.label, _path(line, rate.regret, rate, points_of[line.label]))
        for line, rate in rates_of(lines)
    ]
    return Panel(x, y, shown, rates)


def _shown(line: Line, lines: Sequence[Line], points: Ints, y: Scale, broken: bool) -> ShownLine:
    regret, at_floor = lifted(line, lines)
    top = line.regret + line.above
    over = [i for i in points if line.above[i] > 0 and line.regret[i] <= y.high < top[i]]
    return ShownLine(
        line=line,
        regret=regret,
        points=points,
        low=np.maximum(line.regret - line.below, y.low)[points],
        high=np.maximum(top, y.low)[points],
        breaks=gaps(line.x) if broken else np.zeros(0, int),
        pale=points[line.wide[points]],
        outside=points[line.outside[points]],
        raised=points[at_floor[points]],
        under=beyond(line, points, y),
        over=line.x[over],
        bound=None if line.bound is None else _path(line, line.bound, None, points),
    )


def _path(line: Line, regret: Floats, rate: Rate | None, points: Ints) -> Path:
    """A bound or a rate of a line, also between its points if it is known there."""
    if line.fine is None:
        return Path(line.x, regret, points)
    x, theory = line.fine
    if rate is None:
        assert theory.bound is not None
        fine = theory.bound
    else:
        fine = next(one.regret for one in theory.rates if one.name == rate.name)
    return Path(x, np.where(fine > 0, fine, np.nan), np.searchsorted(x, line.x[points]))


def shared_notes(lines: Sequence[Line]) -> tuple[dict[str, str], str]:
    """The labels without notes that all lines share, or the guarantee that all private ones share; and these notes.

    If guarantees differ in δ only, the largest δ is an upper bound for all.
    """
    names = [line.label for line in lines]
    found: dict[str, str] = {}
    for key in dict.fromkeys(key for name in names for key in name.notes):
        bearers = [line for line in lines if key != "guarantee" or line.private]
        texts = {line.label.notes.get(key, "") for line in bearers}
        left = {name.without([*found, key]) for name in names}
        if len(bearers) < 2 or "" in texts or len(left) < len(set(names)):
            continue
        promised = [line.guarantee for line in bearers if line.guarantee]
        if key == "guarantee" and len(promised) == len(bearers) and len(texts) > 1:
            known = {at_most(epsilon) for epsilon, _ in promised}
            texts = {f"ε = {epsilon}, δ ≤ {at_most(max(delta for _, delta in promised), 2)}" for epsilon in known}
        if len(texts) == 1:
            found[key] = ("" if len(bearers) == len(lines) else "private curves: ") + texts.pop()
    return {name: name.without(found) for name in names}, ", ".join(found.values())


def unequal(lines: Sequence[Line]) -> str:
    """The range of the ε that labels state, if two names state different ones, by more than `EQUAL`; else empty."""
    stated: dict[str, list[float]] = {}
    for line in lines:
        if line.guarantee and "guarantee" in line.label.notes:
            stated.setdefault(line.label.without(["guarantee", "epsilon"]), []).append(line.guarantee[0])
    least, most = ([end(own) for own in stated.values()] for end in (min, max))
    if all(max(ends) <= EQUAL * min(ends) for ends in (least, most) if ends):
        return ""
    return f"not equally private: ε from {at_most(min(least))} to {at_most(max(most))}"
