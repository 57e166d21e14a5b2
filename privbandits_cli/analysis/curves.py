"""summary.csv and the config beside it -> the curves of a results folder, sorted into panels."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from privbandits_cli.analysis import sweeps
from privbandits_cli.analysis.summary import BOOTSTRAP, FINAL, SUMMARY
from privbandits_cli.analysis.sweeps import Curve, Row
from privbandits_cli.experiment.config import KEPT
from privbandits_cli.experiment.keys import Plot
from privbandits_cli.plugins.registry import Registry, including

Key = tuple[str, ...]


@dataclass(frozen=True)
class Curves:
    """The curves of an experiment with what its config says of their figure."""

    every: list[Curve]
    drawn: list[Curve]  # of those that differ in `plot.worst` alone the worst
    swept: list[str]
    plot: Plot
    config: dict[str, Any]  # empty where none lies beside the CSV
    registry: Registry  # with the copies of the users' files that played

    @property
    def folded(self) -> set[str]:
        """The swept parameters that no panel or line is named after."""
        return {self.plot.against, self.plot.worst} - {""}

    def panels(self) -> dict[str, list[Curve]]:
        """The curves drawn, by the title of their panel; none of which no curve has the parameter drawn against."""
        found: dict[str, list[Curve]] = {}
        for curve in self.drawn:
            found.setdefault(sweeps.panel(curve[0], self.folded, self.registry), []).append(curve)
        against = self.plot.against
        return {title: curves for title, curves in found.items() if not against or any(c[0][against] for c in curves)}

    def label(self, row: Row) -> str:
        """The name in the legend of the line that a row belongs to."""
        return sweeps.named(row, self.swept, self.folded) if self.plot.against else row["label"]


def read(folder: Path, against: str = "") -> Curves:
    """Read a results folder; `against`, where given, replaces the config's own swept parameter.

    Raises FileNotFoundError or ValueError with what is wrong.
    """
    path = folder / "summary.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        raise ValueError(f"{path} has no rows to draw")
    if not {*SUMMARY} <= rows[0].keys():
        raise ValueError(f"{path} is no table of regrets, or an older version's: run the experiment again")
    config = _config(folder / "config.yaml")
    registry, errors = including(sorted(folder.glob(f"{KEPT}/*.py")))
    if errors:
        raise ValueError(errors[0])
    plot = _aimed(Plot.model_validate(config.get("plot", {})), against)
    swept = [name for name in rows[0] if name not in (*SUMMARY, *BOOTSTRAP, *FINAL)]
    for name in {plot.against, plot.worst} - {"", *swept}:
        sweeps.spell_out(rows, name)
        swept.append(name)
    if against and len({float(row[against]) for row in _numbered(rows, against)}) < 2:
        raise ValueError(f"nothing to draw against: '{against}' takes one value alone")
    every = list(_curves(rows))
    drawn = sweeps.worst(every, plot.worst, swept, registry) if plot.worst else every
    return Curves(every, drawn, swept, plot, config, registry)


def _aimed(plot: Plot, against: str) -> Plot:
    """The plot against another parameter; what its config says of the own one is left out."""
    if not against or against == plot.against:
        return plot
    kept = "" if plot.worst == against else plot.worst
    return plot.model_copy(update={"against": against, "worst": kept, "slopes": False, "price": None})


def _numbered(rows: Sequence[Row], name: str) -> list[Row]:
    """The rows that have this parameter; ValueError where it is no number."""
    found = [row for row in rows if row[name]]
    for row in found:
        try:
            float(row[name])
        except ValueError as error:
            raise ValueError(f"'{name}' is '{row[name]}' in a curve: only numbers stand on an axis") from error
    return found


def _config(path: Path) -> dict[str, Any]:
    """The experiment beside the CSV; empty if there is none."""
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
    except yaml.YAMLError as error:
        raise ValueError(f"{path} is not YAML: {error}") from error
    if not isinstance(config, dict):
        raise ValueError(f"{path} is no config: delete it, or run the experiment again")
    return config


def key(row: Row) -> Key:
    """What tells curves apart, in both CSVs."""
    return row["curve"], row["adversary"], row["label"]


def _curves(rows: Sequence[Row]) -> Iterator[Curve]:
    """The rows of each curve, in the file's order."""
    found: dict[Key, Curve] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    yield from found.values()
