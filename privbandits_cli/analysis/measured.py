"""A results folder -> the measured regrets of each planned curve."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from privbandits_cli.analysis.curves import legends_of
from privbandits_cli.analysis.folder import (
    BOOTSTRAP,
    FINAL,
    STATISTICS,
    SUMMARY,
    players_of,
    read_config,
    read_manifest,
    rows_of,
)
from privbandits_cli.experiment.config import Experiment
from privbandits_cli.experiment.consistency import foreign_keys
from privbandits_cli.experiment.names import Name
from privbandits_cli.experiment.plan import Curve
from privbandits_cli.experiment.variants import flat

Identity = tuple[str, ...]
AGAIN = "run the experiment again"

# The keys, besides players and trials, that must be unchanged for the numbers to belong to this experiment.
SAME = ("game", "horizon", "planned_horizon", "arms", "set", "dimension", "feedback", "seed")


@dataclass
class Measured:
    """The measured regrets of one curve."""

    adversary: str
    label: str
    parameters: dict[str, Any]  # of both players, as in summary.csv
    swept: dict[str, str]
    legend: Name | None = None  # as figures show it; None: there is no manifest that has its names
    rounds: dict[int, dict[str, float]] = field(default_factory=dict)  # checkpoint -> numbers in summary.csv
    finals: dict[int, float] = field(default_factory=dict)  # trial -> regret at the horizon

    @property
    def title(self) -> str:
        """Its label and its panel."""
        named = self.parameters.get("adversary", {}).get("label", self.adversary)
        own = self.parameters.get("algorithm", {}).get("panel", "")
        return ", ".join(part for part in (self.legend or self.label, named, own) if part)

    @property
    def family(self) -> str:
        """Its label without notes on parameters."""
        return self.legend.base if self.legend else self.label

    @property
    def game(self) -> str:
        """Curves with equal values have played the same games, trial by trial, if their seeds are equal."""
        met = {name: value for name, value in self.swept.items() if name in ("horizon", "set", "dimension")}
        return json.dumps([self.adversary, self.parameters.get("adversary"), met], sort_keys=True)


def read(folder: Path) -> dict[Identity, Measured]:
    """The curves of a folder's summary.csv and final.csv; FileNotFoundError or ValueError if these cannot be read."""
    found: dict[str, Measured] = {}
    for row in rows_of(folder / "summary.csv", SUMMARY):
        if row["curve"] not in found:
            last = list(row)[list(row).index(STATISTICS[-1]) + 1 :]  # the swept parameters are the last columns
            swept = {name: row[name] for name in last if name not in BOOTSTRAP and row[name]}
            found[row["curve"]] = Measured(row["adversary"], row["label"], players_of(row), swept)
        curve, at = found[row["curve"]], int(row["round"])
        if at in curve.rounds:
            raise ValueError(f"{folder / 'summary.csv'} has round {at} of {row['label']} twice: {AGAIN}")
        numbers = [name for name in ("trials", *STATISTICS, *BOOTSTRAP) if name in row]
        curve.rounds[at] = {name: float(row[name] or "nan") for name in numbers}
    names = read_manifest(folder).get("curves")
    if names is not None and found.keys() <= names.keys():
        for key, legend in legends_of(names, list(found)).items():
            found[key].legend = legend
    for row in rows_of(folder / "final.csv", FINAL):
        if row["curve"] not in found:
            raise ValueError(f"{folder / 'final.csv'} and summary.csv are of different runs: {AGAIN}")
        finals, trial = found[row["curve"]].finals, int(row["trial"])
        if trial in finals:
            raise ValueError(f"{folder / 'final.csv'} has trial {trial} of {row['label']} twice: {AGAIN}")
        finals[trial] = float(row["regret"])
    return {identity(curve): curve for curve in found.values()}


def identity(curve: Measured) -> Identity:
    """What distinguishes a curve within its experiment, and does not depend on the processor's rounding."""
    players = curve.parameters
    names = (curve.adversary, players["adversary"].get("label", ""), players["algorithm"].get("panel", ""), curve.label)
    return (*names, *map("=".join, sorted(curve.swept.items())))


def planned(curve: Curve) -> Measured:
    """A planned curve as the CSVs would describe it, not yet measured."""
    swept = {name: str(value) for name, value in curve.swept.items()}
    return Measured(curve.adversary.name, curve.label, json.loads(json.dumps(curve.parameters())), swept)


def alike(one: object, other: object) -> bool:
    """Whether two parameters are equal, up to the last bits of a number."""
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-9)
    return one == other


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The dotted names of the nested parameters in which two differ."""
    a, b = flat(one), flat(other)
    return sorted(name for name in a.keys() | b.keys() if not alike(a.get(name), b.get(name)))


def foreign(folder: Path, experiment: Experiment) -> str:
    """Why a folder's numbers do not belong to this experiment; empty if they do."""
    try:
        config = read_config(folder)
    except (OSError, ValueError) as error:
        return f"its config.yaml cannot be read: {error}"
    if not config:
        return "it has no config.yaml that says what was played"
    mine = experiment.keys.model_dump(exclude_none=True)
    keys = [key for key in SAME if key not in foreign_keys(experiment.keys)]
    other = [key for key in keys if not alike(config.get(key), mine.get(key))]
    return f"it was played with another {' and '.join(other)}" if other else ""
