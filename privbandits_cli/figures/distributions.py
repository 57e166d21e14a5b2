"""Distributions of final regrets, or of their differences from those of another curve, trial by trial.

The curves of the functions here are those that are read with their final regrets.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from privbandits_cli.analysis import statistics
from privbandits_cli.analysis.curves import Curves, NothingToDraw, kept
from privbandits_cli.analysis.format import parameter
from privbandits_cli.analysis.measured import Measured
from privbandits_cli.experiment.errors import suggestion
from privbandits_cli.experiment.names import Name
from privbandits_cli.figures.scales import Scale, fitting
from privbandits_cli.figures.styles import Drawn
from privbandits_cli.figures.table import counts_of
from privbandits_cli.numerics.types import Floats

MOST_POINTS = 800  # with more trials, only the outermost ones and evenly spaced ranks are drawn
OUTERMOST = 100
MANY_POINTS = 200  # from this number on, points are drawn smaller


@dataclass(frozen=True)
class Distribution:
    """A row of a figure: one number for each trial."""

    line: str  # the label of its line in the figure over rounds
    title: str  # its name in this figure
    at: str  # the value of the swept parameter, if the figure is drawn against one
    values: Floats  # in the order of the trials
    interval: tuple[float, float] | None = None  # 95 %, of the mean of differences; None also for too few trials

    @property
    def mean(self) -> float:
        """The mean over trials."""
        return float(self.values.mean())

    @property
    def boxed(self) -> bool:
        """Whether there are enough trials for a box with whiskers."""
        return len(self.values) >= statistics.FEWEST_TRIALS

    def box(self) -> tuple[float, ...]:
        """The quantiles 5, 25, 50, 75 and 95 %."""
        return tuple(np.quantile(self.values, (0.05, 0.25, 0.5, 0.75, 0.95)).tolist())

    def points(self) -> tuple[Floats, Floats]:
        """The values that are drawn, and the distance of each from the middle of the row, from -1/2 to 1/2."""
        n = len(self.values)
        ranks = np.argsort(self.values, kind="stable")
        if n > MOST_POINTS:
            middle = np.linspace(OUTERMOST, n - 1 - OUTERMOST, MOST_POINTS - 2 * OUTERMOST).astype(np.int64)
            ranks = np.concatenate([ranks[:OUTERMOST], ranks[middle], ranks[-OUTERMOST:]])
        beside = np.modf(ranks * 0.6180339887498949)[0] - 0.5  # multiples of the golden ratio keep neighbours apart
        return self.values[ranks], np.asarray(beside)


@dataclass(frozen=True)
class Distributions:
    """A figure of distributions: panels by title."""

    panels: dict[str, list[Distribution]]
    scales: dict[str, Scale]  # of the panels; for differences they include 0
    x_label: str
    note: str
    paired: bool
    fewest: int  # trials of the row that has the fewest
    wanted: int
    drawn: list[Drawn]  # every line of the figure over rounds, whose styles are used
    font: str | None = None  # whose signs are taken first


def places(rows: Sequence[Distribution]) -> tuple[dict[int, str], list[int]]:
    """The places of titles, one for consecutive rows that share it, and those of the rows, counted from the top."""
    titles: dict[int, str] = {}
    found = []
    place = 0
    for i, row in enumerate(rows):
        if i == 0 or not row.at or row.title != rows[i - 1].title:
            titles[place] = row.title
            place += 1
        found.append(place)
        place += 1
    return titles, found


def distribution(curves: Curves) -> Distributions:
    """The distribution of final regrets, or of times, a row for each curve of the figure."""
    panels: dict[str, list[Distribution]] = {
        title: [_row(curves, curve, _values(curves, curve, curve.finals), curves.line_name(curve)) for curve in ordered]
        for title, ordered in _ordered(curves)
    }
    note = "points: trials; box: quartiles and median; whiskers: 5 % and 95 % quantiles"
    if curves.timed and any(np.isnan(list(curve.finals.values())).any() for curve in curves.drawn):
        note += "; a trial without an answer is at the cap"
    return _figure(curves, panels, _counts(curves) or "final regret", note, paired=False)


def paired(curves: Curves, pair: tuple[str, str] | None = None) -> Distributions:
    """Differences of final regrets, or of times, between curves in the same trials of the same games.

    pair: two curves, each by the name of its algorithm or by its label; by default every curve and the first algorithm
    of its game. Raises NothingToDraw if no two curves share a game.
    """
    panels: dict[str, list[Distribution]] = {}
    games: dict[str, list[Measured]] = {}
    for curve in curves.every:
        games.setdefault(curve.game, []).append(curve)
    for title, ordered in _ordered(curves):
        for curve in ordered:
            base = _base(curves, curve, games[curve.game], pair)
            if base is not None:
                trials = sorted(curve.finals.keys() & base.finals.keys())
                if trials:
                    name = f"{curves.line_name(curve)} − {curves.line_name(base)}"
                    apart = _values(curves, curve, trials) - _values(curves, base, trials)
                    row = _row(curves, curve, apart, name, interval=True)
                    panels.setdefault(title, []).append(row)
    if not panels:
        raise NothingToDraw(_no_pair(curves, pair))
    less = "fewer plays" if curves.timed else "less regret"
    note = f"below 0: {less}; points: trials; diamond: mean, with its 95 % bootstrap interval"
    label = f"difference of {_counts(curves) or 'final regrets'}, trial by trial"
    return _figure(curves, panels, label, note, paired=True)


def pair_of(curves: Curves, text: str) -> tuple[str, str]:
    """The names in `A,B`; labels may contain commas, so the text is divided where both sides are known names."""
    known = {name for curve in curves.every for name in _names(curves, curve)}
    cuts = [(text[:i].strip(), text[i + 1 :].strip()) for i, letter in enumerate(text) if letter == ","]
    return next((two for two in cuts if known.issuperset(two)), cuts[0])


def _names(curves: Curves, curve: Measured) -> tuple[str, ...]:
    """The names by which a user can refer to a curve: its algorithm, its label with and without notes, its line."""
    return curve.algorithm, curve.legend.base, curve.legend, curve.label, curves.line_name(curve)


def _no_pair(curves: Curves, pair: tuple[str, str] | None) -> str:
    if pair is None:
        return "nothing to pair: no two algorithms play the same game"
    known = {name for curve in curves.every for name in _names(curves, curve)}
    shown = dict.fromkeys(name for curve in curves.every for name in _names(curves, curve)[:2])
    for name in pair:
        if name not in known:
            return f"no algorithm or curve '{name}'{suggestion(name, shown)}"
    return f"'{pair[0]}' and '{pair[1]}' have no game in common"


def _figure(
    curves: Curves, panels: dict[str, list[Distribution]], x_label: str, note: str, paired: bool
) -> Distributions:
    sizes = [len(row.values) for rows in panels.values() for row in rows]
    if min(sizes) < statistics.FEWEST_TRIALS:
        note += f" (drawn for at least {statistics.FEWEST_TRIALS} trials)"
    if curves.plot.best:
        note += f"; each at the best {', '.join(map(curves.symbol, curves.plot.best))} of its grid"
    if curves.plot.worst:
        note += f"; each curve at the {curves.symbol(curves.plot.worst)} with its largest mean regret"
    if max(sizes) > MOST_POINTS:
        note += f"; for more than {MOST_POINTS} trials, the outermost {OUTERMOST} at each end and evenly spaced ranks"
        note += " between"
    zero = [np.zeros(1)] if paired else []
    scales = {title: fitting(np.concatenate([*(row.values for row in rows), *zero])) for title, rows in panels.items()}
    if any(scale.kind == "asinh" for scale in scales.values()):
        note += "; axis: linear near 0, logarithmic far from it"
    folded = curves.plot.folded
    drawn = [
        Drawn(curve.algorithm, curves.line_name(curve), curve.private, kept(curve.own, folded))
        for curve in curves.drawn
    ]
    return Distributions(panels, scales, x_label, note, paired, min(sizes), curves.wanted, drawn, curves.plot.font)


def _counts(curves: Curves) -> str:
    if curves.timed:
        return "plays until the answer"
    return counts_of(curve.adversary for curve in curves.every)


def _ordered(curves: Curves) -> Iterator[tuple[Name, list[Measured]]]:
    """The curves of each panel, line by line."""
    for title, members in curves.panels().items():
        yield title, [curve for line in curves.lines(members) for curve in line]


def _values(curves: Curves, curve: Measured, trials: Iterable[int]) -> Floats:
    """The regret of each of these trials, or its time."""
    known = curve.pulls if curves.timed else curve.finals
    return np.array([known[trial] for trial in trials], float)


def _row(curves: Curves, curve: Measured, values: Floats, title: str, interval: bool = False) -> Distribution:
    against = curves.plot.against
    at = ""
    if against in curve.swept:  # `ε = 0.1`, `T = 1,024`
        at = f"{curves.symbol(against)} = {parameter(float(curve.swept[against]))}"
    ends = None
    if interval and len(values) >= statistics.FEWEST_TRIALS:
        low, high = statistics.bootstrap_interval(values[:, None], int(curves.config.get("seed", 0)))
        ends = float(low[0]), float(high[0])
    return Distribution(curves.line_name(curve), title, at, values, ends)


def _base(curves: Curves, curve: Measured, met: Sequence[Measured], pair: tuple[str, str] | None) -> Measured | None:
    """The curve of the same game to compare with, if possible with equal swept values; None if there is none."""
    if pair is None:
        bases = [other for other in met if _kin(other) == _kin(met[0])]
        if _kin(curve) == _kin(met[0]):
            return None
    else:
        if pair[0] not in _names(curves, curve):
            return None
        bases = [other for other in met if pair[1] in _names(curves, other)]
    bases = [other for other in bases if other.key != curve.key]
    alike = [other for other in bases if other.own == curve.own]
    return next(iter(alike or bases), None)


def _kin(curve: Measured) -> tuple[str, str]:
    return curve.algorithm, curve.legend.base
