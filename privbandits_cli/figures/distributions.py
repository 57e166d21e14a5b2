"""final.csv -> strips: the final regrets of a curve, trial by trial, or their differences from those of another."""

import csv
import json
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.analysis import statistics, sweeps
from privbandits_cli.analysis.curves import Curves, Key, key
from privbandits_cli.analysis.sweeps import Row
from privbandits_cli.figures.scales import Scale, fitting
from privbandits_cli.numerics.types import Floats

MOST = 800  # points of a strip; of more trials the outermost and evenly spaced ranks
OUTERMOST = 100
SYMBOLS = {"epsilon": "ε", "horizon": "T"}


class Unpaired(ValueError):
    """Nothing can be paired."""


@dataclass(frozen=True)
class Sample:
    """The final regrets of a curve, `[trials]`, with the trial of each."""

    row: Row  # the last of the curve in summary.csv
    trials: NDArray[np.int64]
    regret: Floats


@dataclass(frozen=True)
class Strip:
    """A row of a figure: one number a trial."""

    algorithm: str
    line: str  # the label of its line in the figure over rounds
    title: str  # what it is called here
    at: str  # the value of the swept parameter, if the figure is drawn against one
    values: Floats  # in the order of the trials
    interval: tuple[float, float] | None = None  # 95 %, of the mean

    @property
    def mean(self) -> float:
        """The mean over trials."""
        return float(self.values.mean())

    def box(self) -> tuple[float, float, float, float, float]:
        """The quantiles 5, 25, 50, 75 and 95 %."""
        q = np.quantile(self.values, (0.05, 0.25, 0.5, 0.75, 0.95)).tolist()
        return q[0], q[1], q[2], q[3], q[4]

    def points(self) -> tuple[Floats, Floats]:
        """The values that are drawn, and how far beside the middle each stands, from -1/2 to 1/2."""
        n = len(self.values)
        ranks = np.argsort(self.values, kind="stable")
        if n > MOST:
            middle = np.linspace(OUTERMOST, n - 1 - OUTERMOST, MOST - 2 * OUTERMOST).astype(np.int64)
            ranks = np.concatenate([ranks[:OUTERMOST], ranks[middle], ranks[-OUTERMOST:]])
        beside = np.modf(ranks * 0.6180339887498949)[0] - 0.5  # of the golden ratio: neighbours stand apart
        return self.values[ranks], np.asarray(beside)


@dataclass(frozen=True)
class Strips:
    """A figure of strips: panels by title."""

    panels: dict[str, list[Strip]]
    x_label: str
    note: str
    paired: bool
    fewest: int  # trials of the strip that has least
    wanted: int
    named: list[tuple[str, str]]  # (algorithm, label) of every line of the figure over rounds: the looks are its

    def scale(self, title: str) -> Scale:
        """The axis of a panel."""
        return _scale(self.panels[title], self.paired)


def _scale(strips: Sequence[Strip], paired: bool) -> Scale:
    """The axis for all values of a panel; of differences 0 is on it."""
    zero = [np.zeros(1)] if paired else []
    return fitting(np.concatenate([*(strip.values for strip in strips), *zero]))


def places(strips: Sequence[Strip]) -> tuple[dict[int, str], list[int]]:
    """The rows of a panel from its top: titles by row, one for all strips in turn that share it; the strips' rows."""
    titles: dict[int, str] = {}
    rows = []
    row = 0
    for i, strip in enumerate(strips):
        if i == 0 or not strip.at or strip.title != strips[i - 1].title:
            titles[row] = strip.title
            row += 1
        rows.append(row)
        row += 1
    return titles, rows


def samples(folder: Path, curves: Curves) -> dict[Key, Sample]:
    """The final regrets of all curves, by what tells these apart; raises FileNotFoundError or ValueError."""
    path = folder / "final.csv"
    found: dict[Key, tuple[array[int], array[float]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            trials, regrets = found.setdefault(key(row), (array("q"), array("d")))
            trials.append(int(row["trial"]))
            regrets.append(float(row["regret"]))
    rows = {key(curve[-1]): curve[-1] for curve in curves.every}
    if found.keys() != rows.keys():
        raise ValueError(f"{path} and summary.csv are of different runs: run the experiment again")
    return {
        name: Sample(rows[name], np.array(trials, np.int64), np.array(regrets))
        for name, (trials, regrets) in found.items()
    }


def distribution(curves: Curves, found: dict[Key, Sample]) -> Strips:
    """The distribution of final regrets, a strip per curve drawn."""
    panels = {
        title: [_strip(curves, row, found[key(row)].regret, curves.label(row)) for row in _ordered(curves, title)]
        for title in curves.panels()
    }
    note = "box: quartiles and median; whiskers: 5 % and 95 % quantiles; points: trials"
    return _figure(curves, panels, "final regret", note, paired=False)


def paired(curves: Curves, found: dict[Key, Sample], pair: tuple[str, str] | None = None) -> Strips:
    """Differences of final regrets between curves in the same trials of the same games.

    pair: the two, each the name of an algorithm or the label of a curve; else every curve against the first
    algorithm of its game. Raises Unpaired where no two meet.
    """
    panels: dict[str, list[Strip]] = {}
    games: dict[tuple[str, ...], list[Row]] = {}
    for curve in curves.every:
        games.setdefault(_game(curves, curve[-1]), []).append(curve[-1])
    for title in curves.panels():
        for row in _ordered(curves, title):
            base = _base(curves, row, games[_game(curves, row)], pair)
            if base is not None:
                one, other = found[key(row)], found[key(base)]
                _, left, right = np.intersect1d(one.trials, other.trials, assume_unique=True, return_indices=True)
                if len(left):
                    name = f"{curves.label(row)} − {curves.label(base)}"
                    strip = _strip(curves, row, one.regret[left] - other.regret[right], name, interval=True)
                    panels.setdefault(title, []).append(strip)
    if not panels:
        raise Unpaired(_no_pair(curves, pair))
    note = "below 0: less regret; diamond: mean, with its 95 % bootstrap interval; points: trials"
    return _figure(curves, panels, "difference of final regrets, trial by trial", note, paired=True)


def pair_of(curves: Curves, text: str) -> tuple[str, str]:
    """The names in `A,B`; labels may have commas of their own, so it is cut where both sides are known."""
    known = {name for curve in curves.every for name in _names(curves, curve[-1])}
    cuts = [(text[:i].strip(), text[i + 1 :].strip()) for i, letter in enumerate(text) if letter == ","]
    return next((two for two in cuts if known.issuperset(two)), cuts[0])


def _names(curves: Curves, row: Row) -> tuple[str, ...]:
    """What a curve may be called: its algorithm, its label with or without the notes, its line's."""
    return row["algorithm"], row["label"].partition(" (")[0], row["label"], curves.label(row)


def _no_pair(curves: Curves, pair: tuple[str, str] | None) -> str:
    if pair is None:
        return "nothing to pair: no two algorithms meet the same game"
    known = {name for curve in curves.every for name in _names(curves, curve[-1])}
    told = dict.fromkeys(name for curve in curves.every for name in _names(curves, curve[-1])[:2])
    for name in pair:
        if name not in known:
            return f"no algorithm or curve '{name}' (known: {', '.join(told)})"
    return f"'{pair[0]}' and '{pair[1]}' meet in no game"


def _figure(curves: Curves, panels: dict[str, list[Strip]], x_label: str, note: str, paired: bool) -> Strips:
    sizes = [len(strip.values) for strips in panels.values() for strip in strips]
    wanted = max(int(row["trials"]) for curve in curves.every for row in curve)
    if curves.plot.worst:
        note += f"; each curve at the {curves.plot.worst} of its largest mean regret"
    if max(sizes) > MOST:
        note += f"; of more than {MOST} trials the outermost {OUTERMOST} at each end, and every so many between"
    if any(_scale(strips, paired).kind == "asinh" for strips in panels.values()):
        note += "; axis: linear near 0, logarithmic far from it"
    named = [(curve[0]["algorithm"], curves.label(curve[-1])) for curve in curves.drawn]
    return Strips(panels, x_label, note, paired, min(sizes), curves.config.get("trials", wanted), named)


def _ordered(curves: Curves, title: str) -> Iterator[Row]:
    """The last rows of a panel's curves; of a line, in the order of the parameter that is drawn against."""
    members = curves.panels()[title]
    if not curves.plot.against:
        yield from (curve[-1] for curve in members)
        return
    for rows in sweeps.joined(members, curves.plot.against, curves.swept, curves.folded):
        yield from rows


def _strip(curves: Curves, row: Row, values: Floats, title: str, interval: bool = False) -> Strip:
    against = curves.plot.against
    at = _value(against, float(row[against])) if against and row[against] else ""
    ends = None
    if interval:
        low, high = statistics.bootstrap_interval(values[:, None], int(curves.config.get("seed", 0)))
        ends = float(low[0]), float(high[0])
    return Strip(row["algorithm"], curves.label(row), title, at, values, ends)


def _value(name: str, x: float) -> str:
    """`ε = 0.1`, `T = 1,024`."""
    return f"{SYMBOLS.get(name, name)} = {f'{x:,.0f}' if x >= 1000 else f'{x:g}'}"


def _base(curves: Curves, row: Row, met: Sequence[Row], pair: tuple[str, str] | None) -> Row | None:
    """The curve that a curve is compared with, of those that met the same game; None where there is none."""
    if pair is None:
        bases = [other for other in met if _kin(other) == _kin(met[0])]
        if _kin(row) == _kin(met[0]):
            return None
    else:
        if pair[0] not in _names(curves, row):
            return None
        bases = [other for other in met if pair[1] in _names(curves, other)]
    bases = [other for other in bases if key(other) != key(row)]
    alike = [other for other in bases if _swept(curves, other) == _swept(curves, row)]
    return next(iter(alike or bases), None)


def _kin(row: Row) -> tuple[str, str]:
    return row["algorithm"], row["label"].partition(" (")[0]


def _game(curves: Curves, row: Row) -> tuple[str, ...]:
    """What all that met the same game have in common."""
    parameters = json.loads(row["parameters"])
    told = json.dumps(parameters["adversary"], sort_keys=True)
    return row["adversary"], told, *_swept(curves, row, own=False)


def _swept(curves: Curves, row: Row, own: bool = True) -> tuple[str, ...]:
    """What is swept of the algorithm, or else of the game."""
    algorithm = json.loads(row["parameters"])["algorithm"]
    return tuple(row[name] for name in curves.swept if row[name] and (name.partition(".")[0] in algorithm) == own)
