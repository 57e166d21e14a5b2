"""A results folder's summary.csv and manifest.json -> its curves with their names, sorted into panels and lines."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from privbandits_cli.analysis.folder import (
    BOOTSTRAP,
    FINAL,
    SUMMARY,
    players_of,
    read_config,
    read_manifest,
    rows_of,
)
from privbandits_cli.analysis.rates import Rate, Theory
from privbandits_cli.experiment.keys import Plot
from privbandits_cli.experiment.names import Name, legends, symbol
from privbandits_cli.experiment.variants import flat

Row = dict[str, str]
Line = tuple[object, ...]  # what the curves of one line have in common


@dataclass(frozen=True)
class Curve:
    """One curve of summary.csv, with its names, in the field's symbols, and swept parameters from the manifest."""

    key: str
    adversary: str  # the names in a config
    algorithm: str
    adversary_title: Name
    label: Name  # as in a legend; the CSV has its own
    panel: str  # a panel of its own beside its adversary's; empty: the adversary's
    apart: Mapping[str, str]  # parameters in which it differs from curves of the same name
    game: Mapping[str, str]  # swept parameters of the adversary and of its setting, as in the CSV
    own: Mapping[str, str]  # swept parameters of the algorithm, as in the CSV
    parameters: Mapping[str, Mapping[str, Any]]  # of both players
    rows: Sequence[Row]  # one for each checkpoint
    theory: Theory | str | None = None  # recorded at the checkpoints, or why there is none; None: not recorded

    @property
    def last(self) -> Row:
        """The row at the horizon."""
        return self.rows[-1]

    @property
    def swept(self) -> dict[str, str]:
        """The swept parameters."""
        return {**self.game, **self.own}

    def line(self, folded: Set[str]) -> Line:
        """What the curves of one line share: the algorithm, its name, the swept values that are not folded."""
        values = (_kept(part, folded) for part in (self.game, self.own, self.apart))
        return (
            self.algorithm,
            self.label.base,
            frozenset(folded & self.swept.keys()),
            *(tuple(part.items()) for part in values),
        )

    def line_name(self, folded: Set[str]) -> Name:
        """The legend of its line: without the guarantee, which varies along a line."""
        own = _kept(self.own, folded) | {name: x for name, x in _kept(self.apart, folded).items() if x}
        notes = {name: f"{symbol(name)} = {value}" for name, value in own.items()}
        if "horizon" in _kept(self.game, folded):
            notes["horizon"] = f"T = {_power(int(self.game['horizon']))}"
        return Name(self.label.base, notes)

    def panel_title(self, folded: Set[str]) -> Name:
        """The title of its panel, without the notes on folded parameters."""
        return self.adversary_title.without(folded).suffixed(self.panel)


def _kept(values: Mapping[str, str], folded: Set[str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if name not in folded}


def _power(n: int) -> str:
    """A number as text; a large power of 2 as such."""
    return f"2^{n.bit_length() - 1}" if n >= 1024 and n & (n - 1) == 0 else str(n)


@dataclass(frozen=True)
class Curves:
    """The curves of a results folder, and what its config says of the figure."""

    folder: Path
    every: list[Curve]
    drawn: list[Curve]  # of curves that differ in `plot.worst` only, the worst; in those of `plot.best`, the best
    plot: Plot
    config: dict[str, Any]  # empty if the folder has none

    def symbol(self, parameter: str) -> str:
        """A parameter as the field writes it; the dimension is d in a contextual game and N in a linear one."""
        letter = "d" if self.config.get("game") == "contextual" else "N"
        return letter if parameter == "dimension" else symbol(parameter)

    def panels(self) -> dict[Name, list[Curve]]:
        """The drawn curves by the title of their panel; a panel needs a curve with the parameter on the x axis."""
        found: dict[Name, list[Curve]] = {}
        for curve in self.drawn:
            found.setdefault(curve.panel_title(self.plot.folded), []).append(curve)
        against = self.plot.against
        return {title: each for title, each in found.items() if not against or any(against in c.swept for c in each)}

    def lines(self, members: Sequence[Curve]) -> list[list[Curve]]:
        """The curves of each line of a panel, in the order of the parameter that the figure is drawn against."""
        against = self.plot.against
        if not against:
            return [[curve] for curve in members]
        found: dict[Line, list[Curve]] = {}
        for curve in members:
            found.setdefault(curve.line(self.plot.folded), []).append(curve)
        return [sorted(line, key=lambda curve: float(curve.swept.get(against, 0))) for line in found.values()]

    def line_name(self, curve: Curve) -> Name:
        """The legend of the line that a curve belongs to; with more notes if other lines would have the same one."""
        against, name = self.plot.against, curve.line_name(self.plot.folded)
        if not against:
            return curve.label
        level = against not in curve.swept
        if level and self._sharing[name, False]:
            has = flat(curve.parameters["algorithm"]).get(against) is not None
            name = curve.label if has else curve.label.noted({against: f"without {self.symbol(against)}"})
        algorithms = self._sharing[curve.line_name(self.plot.folded), level]
        return name.noted({"name": f"name = {curve.algorithm}"}) if len(algorithms) > 1 else name

    @cached_property
    def _sharing(self) -> dict[tuple[str, bool], set[str]]:
        """The algorithms of the lines with the same legend, of which some are level and some are not."""
        found: dict[tuple[str, bool], set[str]] = defaultdict(set)
        for curve in self.drawn:
            found[curve.line_name(self.plot.folded), self.plot.against not in curve.swept].add(curve.algorithm)
        return found


def read(folder: Path, against: str = "") -> Curves:
    """Read a results folder; `against` replaces the config's own swept parameter.

    Raises FileNotFoundError or ValueError with what is wrong. Executes no file of the user's.
    """
    path = folder / "summary.csv"
    rows = list(rows_of(path, SUMMARY))
    if not rows:
        raise ValueError(f"{path} has no rows to draw")
    config = read_config(folder)
    plot = _redirected(Plot.model_validate(config.get("plot", {})), against)
    columns = [name for name in rows[0] if name not in (*SUMMARY, *BOOTSTRAP, *FINAL)]
    further = [name for name in dict.fromkeys((plot.against, plot.worst)) if name and name not in columns]
    every = list(_curves(folder, rows, columns, further))
    for name in further:
        if not any(name in curve.swept for curve in every):
            raise ValueError(f"nothing to draw against: no curve has a parameter '{name}'")
    if against and len({_number(curve, against) for curve in every if against in curve.swept}) < 2:
        raise ValueError(f"nothing to draw against: '{against}' takes only one value")
    drawn = _extreme(every, {*plot.best}, -1.0) if plot.best else every
    return Curves(folder, every, _extreme(drawn, {plot.worst}, 1.0) if plot.worst else drawn, plot, config)


def _redirected(plot: Plot, against: str) -> Plot:
    """The plot against another parameter, without the options that the config sets for its own."""
    if not against or against == plot.against:
        return plot
    kept = {
        "worst": "" if plot.worst == against else plot.worst,
        "best": [x for x in plot.best or () if x != against] or None,
    }
    return plot.model_copy(update={"against": against, "slopes": False, "price": None, **kept})


def _number(curve: Curve, name: str) -> float:
    """The value of a parameter; ValueError if it is not a number."""
    try:
        return float(curve.swept[name])
    except ValueError as error:
        raise ValueError(f"'{name}' is '{curve.swept[name]}' in a curve: an axis needs numbers") from error


def _curves(folder: Path, rows: Sequence[Row], columns: Sequence[str], further: Sequence[str]) -> Iterator[Curve]:
    """The curves in the file's order; `further` parameters count as swept although they have no column."""
    names = read_manifest(folder).get("curves")
    if names is None:
        raise ValueError(f"{folder / 'manifest.json'} does not describe the curves: run the experiment again")
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["curve"], []).append(row)
    if not found.keys() <= names.keys():
        raise ValueError(f"{folder / 'manifest.json'} and summary.csv are of different runs: run the experiment again")
    labels = legends_of(names, list(found))
    for key, own in found.items():
        yield _curve(labels[key], own, names[key], columns, further)


def legends_of(names: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Name]:
    """The legends of curves by their keys; names: `curves` of the manifest."""
    records = [names[key] for key in keys]
    labels = [Name(record["algorithm"]["family"], *record["algorithm"]["notes"]) for record in records]
    promised = [None if record.get("epsilon") is None else (record["epsilon"], record["delta"]) for record in records]
    return dict(zip(keys, legends(labels, promised), strict=True))


def _curve(
    label: Name, rows: Sequence[Row], record: Mapping[str, Any], columns: Sequence[str], further: Sequence[str]
) -> Curve:
    row, parameters = rows[0], players_of(rows[0])
    adversary, algorithm = record["adversary"], record["algorithm"]
    game = {name: row[name] for name in columns if name in adversary["swept"]}
    own = {name: row[name] for name in columns if name in algorithm["swept"]}
    for name in further:
        for values, side in ((own, "algorithm"), (game, "adversary")):
            value = flat(parameters[side]).get(name)
            if value is not None and name not in own:
                values[name] = str(value)
    return Curve(
        key=row["curve"],
        adversary=row["adversary"],
        algorithm=row["algorithm"],
        adversary_title=Name(adversary["title"], *adversary["notes"]).in_symbols(),
        label=label.in_symbols(),
        panel=record["panel"],
        apart={name: _text(value) for name, value in algorithm["apart"].items()},
        game=game,
        own=own,
        parameters=parameters,
        rows=rows,
        theory=_theory(record.get("theory"), len(rows)),
    )


def _theory(record: Any, points: int) -> Theory | str | None:
    """The theory that a run has recorded of a curve."""
    if record is None or isinstance(record, str):
        return record
    bound = None if record["bound"] is None else np.array(record["bound"], float)
    rates = [Rate(rate["name"], np.array(rate["regret"], float), rate["epsilon"]) for rate in record["rates"]]
    found = Theory(bound, tuple(rates))
    known = [rate.regret for rate in found.rates] + ([] if bound is None else [bound])
    if any(len(values) != points for values in known):
        raise ValueError("manifest.json and summary.csv are of different runs: run the experiment again")
    return found


def _text(value: object) -> str:
    """A value as in a legend; a parameter that is left to the tuning has none."""
    return "" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)


def _extreme(curves: Sequence[Curve], parameters: Set[str], sign: float) -> list[Curve]:
    """Of the curves that differ in these parameters only, the one whose mean regret, times the sign, ends highest."""
    found: dict[Line, Curve] = {}
    for curve in curves:
        kin = curve.panel_title(parameters), *curve.line(parameters)
        if kin not in found or sign * float(curve.last["mean"]) > sign * float(found[kin].last["mean"]):
            found[kin] = curve
    return list(found.values())
