"""A results folder -> tables for notebooks: its CSVs and every trial's curve, with labels and guarantees."""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import product
from pathlib import Path
from typing import Any, overload

import numpy as np

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.analysis.folder import CURVE, FINAL, NAMES, PULLS, SUMMARY, SUMMARY_STOPPED, read_config, rows_of
from privbandits_cli.analysis.measured import AGAIN, Measured, curves_of
from privbandits_cli.analysis.rates import Theory
from privbandits_cli.analysis.theories import Game, theory_of
from privbandits_cli.engine.store import chunk_files, read_chunk
from privbandits_cli.experiment import settings
from privbandits_cli.experiment.keys import Plot
from privbandits_cli.experiment.plan import Plan
from privbandits_cli.experiment.received import NOBODY, inside
from privbandits_cli.games.best_arm import NONE
from privbandits_cli.games.players import Setting
from privbandits_cli.plugins.registry import Registry

TEXT = {"set", "parameters"}  # columns of text, which may look like a number


class Rows(Sequence[dict[str, Any]]):
    """A table of named columns of equal length; as a sequence it holds one dict for each row."""

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self.columns = dict(columns)

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> "Rows":
        """The table with these rows; what a row lacks is None."""
        names = dict.fromkeys(name for row in rows for name in row)
        return cls({name: [row.get(name) for row in rows] for name in names})

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame; ModuleNotFoundError if pandas is not installed."""
        try:
            import pandas
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("to_pandas() needs pandas: pip install pandas") from error
        return pandas.DataFrame(self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @overload
    def __getitem__(self, at: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, at: slice) -> "Rows": ...
    def __getitem__(self, at: int | slice) -> "dict[str, Any] | Rows":
        found = {name: column[at] for name, column in self.columns.items()}
        return Rows(found) if isinstance(at, slice) else found

    def __repr__(self) -> str:
        return f"<{len(self):,} rows; columns: {', '.join(self.columns)}>"


def summary(folder: Path, final: bool = False) -> Rows:
    """The rows of summary.csv, or of final.csv, with the names and the guarantees of the curves.

    Raises FileNotFoundError if nothing was run, ValueError if a file is damaged.
    """
    curves = {curve.key: curve for curve in curves_of(folder, finals=False, named=True)}
    config = read_config(folder)
    folded = Plot.model_validate(config.get("plot", {})).folded
    rows = []
    columns = (FINAL,) if final else (SUMMARY, SUMMARY_STOPPED)
    for row in rows_of(folder / ("final.csv" if final else "summary.csv"), *columns):
        if row["curve"] not in curves:
            raise ValueError(f"{folder / 'final.csv'} and summary.csv are of different runs: {AGAIN}")
        rows.append(_row(row, curves[row["curve"]], folded))
    if not final:
        lower = _lower_bounds(curves.values(), config)
        for made in rows:
            made["lower_bound"] = lower.get((made["curve"], made["round"]))
    return Rows.of(rows)


def _lower_bounds(curves: Iterable[Measured], config: Mapping[str, Any]) -> dict[tuple[str, int], float]:
    """By curve and round the lower bound on the mean regret, where one is known; no file of a user is executed."""
    game = Game(config, Registry(), NOBODY)
    lower: dict[tuple[str, int], float] = {}
    for curve in curves if config.get("game", "bandit") == "bandit" else ():
        known = theory_of(curve, np.array([*curve.rounds], float), game)
        for rate in known.rates if isinstance(known, Theory) else ():
            if rate.asymptotic:
                lower |= dict(zip(product([curve.key], curve.rounds), rate.regret.tolist(), strict=True))
    return lower


def _row(row: Mapping[str, str], curve: Measured, folded: Set[str]) -> dict[str, Any]:
    """A row of a CSV, its numbers converted, with its curve's names as figures show them and its guarantee."""
    names = {name: cell for name, cell in row.items() if name in ("experiment", *CURVE)}
    label, panel = str(curve.legend.in_symbols()), str(curve.panel_title(folded))
    shown = {"label": label, "panel": panel, "family": curve.legend.base}
    known = {*names, *NAMES} - curve.swept.keys()
    numbers = {name: _value(name, cell) for name, cell in row.items() if name not in known}
    return {**names, **shown, **_certified(curve.record), **numbers}


def guarantees(plan: Plan, delta: float | None = None) -> Rows:
    """A row for each tuned algorithm of a plan in each of its settings; delta: as for `Algorithm.guarantee`."""
    found: dict[tuple[str, Setting], Guarantee | None] = {}
    rows = {}
    for curve in plan.curves:
        at = curve.algorithm.identity(), curve.setting
        if at not in found:
            found[at] = curve.algorithm.promise(curve.setting, delta)
        swept = settings.swept(plan.experiment.keys, curve.setting) | dict(curve.own)
        row = {
            "algorithm": curve.algorithm.name,
            "label": str(plan.legends[curve.key].in_symbols()),
            **_certified(vars(found[at]) if found[at] else {}),
            "source": getattr(found[at], "source", None),
            **{name: _value(name, str(value)) for name, value in swept.items()},
        }
        rows[tuple(row.items())] = row
    return Rows.of(list(rows.values()))


def _certified(guarantee: Mapping[str, Any]) -> dict[str, Any]:
    """A guarantee in the columns of every table; None where there is none."""
    keys = {"certified_epsilon": "epsilon", "certified_delta": "delta", "status": "status"}
    return {column: guarantee.get(key) for column, key in keys.items()}


def _value(name: str, cell: str) -> str | int | float | None:
    if cell == "":
        return None
    if name in TEXT:
        return cell
    try:
        number = float(cell)
    except ValueError:  # a swept parameter may be a name
        return cell
    return int(cell) if cell.lstrip("-").isdigit() else number


def trials(folder: Path) -> Rows:
    """The regret of every trial at every checkpoint: the rows of final.csv, repeated for each round.

    Raises FileNotFoundError if the folder keeps no chunks, ValueError if they are not those of its CSVs.
    """
    chunks = list(chunk_files(inside(folder, "chunks")))
    if not chunks:
        raise FileNotFoundError(
            f"{folder} keeps no chunks of trials: run its experiment again. summary(folder, final=True) needs none: it "
            "has the final regret of each trial"
        )
    rounds = {curve.key: list(curve.rounds) for curve in curves_of(folder, finals=False)}
    finals: dict[str, list[dict[str, Any]]] = {}
    for row in summary(folder, final=True):
        finals.setdefault(row["curve"], []).append(row)
    columns: dict[str, list[Any]] = {}
    for key, rows in finals.items():
        played = _played([file for name, file in chunks if name == key])
        for row in rows:
            ends = [row.pop(name) for name in PULLS if name in row] or [row["regret"]]
            found, n = played.get(row["trial"], []), len(rounds[key])
            regrets, last = found[:n], found[n : n + 1] or found[n - 1 : n]
            if len(regrets) != n or last != ends[:1]:
                raise ValueError(f"{folder / 'chunks'} and its CSVs are of different runs: {AGAIN}")
            del row["regret"]
            shown = [None if one == NONE else one for one in regrets] if len(ends) > 1 else regrets
            own = {"trial": row.pop("trial"), "round": rounds[key], "regret": shown}
            for name, value in (row | own).items():
                columns.setdefault(name, []).extend(value if isinstance(value, list) else [value] * len(regrets))
    return Rows(columns)


def _played(files: Sequence[Path]) -> dict[int, list[float]]:
    """The regrets at the checkpoints by trial."""
    pieces = [read_chunk(file)[:2] for file in files]
    return {trial: row for trials, x in pieces for trial, row in zip(trials.tolist(), x.tolist(), strict=True)}
