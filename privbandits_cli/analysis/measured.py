"""A results folder -> its curves as they were measured: the one reader of summary.csv, final.csv and their names."""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from privbandits_cli.analysis.folder import (
    BOOTSTRAP,
    FINAL,
    STATISTICS,
    STOPPED,
    SUMMARY,
    SUMMARY_STOPPED,
    players_of,
    read_config,
    read_manifest,
    rows_of,
)
from privbandits_cli.experiment.config import Experiment
from privbandits_cli.experiment.consistency import GAME, SWEEPABLE, foreign_keys
from privbandits_cli.experiment.names import Name, legends
from privbandits_cli.experiment.plan import Curve
from privbandits_cli.experiment.variants import flat

Identity = tuple[str, ...]
AGAIN = "run the experiment again"


@dataclass(frozen=True)
class Measured:
    """One curve of a results folder: its players, its names, its regrets."""

    key: str
    adversary: str  # the names in a config
    algorithm: str
    label: str  # as in the CSVs
    legend: Name  # as in a figure; the label, if the manifest does not describe the curve
    parameters: Mapping[str, Mapping[str, Any]]  # of both players
    of_game: dict[str, str]  # swept parameters of the adversary and of its setting, as in the CSVs
    own: dict[str, str]  # those of the algorithm; all, if the manifest does not describe the curve
    record: Mapping[str, Any] = field(default_factory=dict)  # the manifest's description of the curve, or nothing
    rounds: Mapping[int, Mapping[str, float]] = field(default_factory=dict)  # checkpoint -> numbers in summary.csv
    finals: Mapping[int, float] = field(default_factory=dict)  # trial -> regret at the horizon, if they are read
    pulls: Mapping[int, int] = field(default_factory=dict)  # trial -> its time in the game best_arm, likewise
    people: int = 1  # the most rounds of the person whose ε the guarantee has

    @property
    def swept(self) -> dict[str, str]:
        """The swept parameters."""
        return {**self.of_game, **self.own}

    @property
    def private(self) -> bool:
        """Whether the manifest has a guarantee of its privacy."""
        return self.record.get("epsilon") is not None

    @property
    def last(self) -> Mapping[str, float]:
        """The numbers at the horizon."""
        return self.rounds[max(self.rounds)]

    @property
    def title(self) -> str:
        """Its legend and its panel, as in messages."""
        named = self.parameters["adversary"].get("label", self.adversary)
        own = self.parameters["algorithm"].get("panel", "")
        return ", ".join(part for part in (self.legend, named, own) if part)

    def panel_title(self, folded: Collection[str]) -> Name:
        """The title of its panel in a figure, without the notes on folded parameters."""
        adversary = self.record["adversary"]
        return Name(adversary["title"], *adversary["notes"]).in_symbols().without(folded).suffixed(self.record["panel"])

    @property
    def game(self) -> str:
        """Curves with equal values have played the same games, trial by trial, if their seeds are equal."""
        met = {name: value for name, value in self.swept.items() if name in SWEEPABLE}
        return json.dumps([self.adversary, self.parameters["adversary"], met], sort_keys=True)


def read(folder: Path) -> dict[Identity, Measured]:
    """All curves of a folder with their final regrets; FileNotFoundError or ValueError if these cannot be read."""
    return {identity(curve): curve for curve in curves_of(folder)}


def curves_of(folder: Path, finals: bool = True, named: bool = False) -> list[Measured]:
    """The curves of summary.csv; finals: with the regrets in final.csv; named: the manifest must describe them.

    FileNotFoundError or ValueError with what is wrong.
    """
    first: dict[str, dict[str, str]] = {}
    rounds: dict[str, dict[int, dict[str, float]]] = {}
    for row in rows_of(folder / "summary.csv", SUMMARY, SUMMARY_STOPPED):
        first.setdefault(row["curve"], row)
        numbers, at = rounds.setdefault(row["curve"], {}), int(row["round"])
        if at in numbers:
            raise ValueError(f"{folder / 'summary.csv'} has round {at} of {row['label']} twice: {AGAIN}")
        numbers[at] = {k: float(row[k] or "nan") for k in ("trials", *STATISTICS, *BOOTSTRAP, *STOPPED) if k in row}
    records = _records(folder, first, named)
    shown = _legends([records[key] for key in first]) if records else [Name(row["label"]) for row in first.values()]
    names = {key: row["label"] for key, row in first.items()}
    regrets, pulls = _finals(folder, names) if finals else ({}, {})
    found = []
    for (key, row), legend in zip(first.items(), shown, strict=True):
        ends = STOPPED if STOPPED[0] in row else STATISTICS
        last = list(row)[list(row).index(ends[-1]) + 1 :]  # the swept parameters are the last columns
        own = {name: row[name] for name in last if name not in BOOTSTRAP and row[name]}
        of_game = {name: own.pop(name) for name in records[key]["adversary"]["swept"] if name in own} if records else {}
        players = row["adversary"], row["algorithm"], row["label"], legend, players_of(row), of_game, own
        known = rounds[key], regrets.get(key, {}), pulls.get(key, {}), int(row.get("rounds_per_person", 1))
        found.append(Measured(key, *players, records.get(key, {}), *known))
    return found


def _records(folder: Path, keys: Collection[str], needed: bool) -> Mapping[str, Any]:
    """The manifest's descriptions of curves by their keys; empty if it does not describe all of these."""
    found: Mapping[str, Any] | None = read_manifest(folder).get("curves")
    if found is not None and found.keys() >= set(keys):
        return found
    if needed:
        what = "does not describe the curves" if found is None else "and summary.csv are of different runs"
        raise ValueError(f"{folder / 'manifest.json'} {what}: {AGAIN}")
    return {}


def _legends(records: Sequence[Mapping[str, Any]]) -> list[Name]:
    labels = [Name(record["algorithm"]["family"], *record["algorithm"]["notes"]) for record in records]
    promised = [None if record.get("epsilon") is None else (record["epsilon"], record["delta"]) for record in records]
    return legends(labels, promised)


def _finals(folder: Path, labels: Mapping[str, str]) -> tuple[dict[str, dict[int, float]], dict[str, dict[int, int]]]:
    """The regrets in final.csv by curve and trial, NaN without an answer, and the times in the game best_arm.

    labels: those of the curves of summary.csv, by their keys.
    """
    found: dict[str, dict[int, float]] = {key: {} for key in labels}
    pulls: dict[str, dict[int, int]] = {key: {} for key in labels}
    for row in rows_of(folder / "final.csv", FINAL):
        key, trial = row["curve"], int(row["trial"])
        if labels.get(key) != row["label"]:
            raise ValueError(f"{folder / 'final.csv'} and summary.csv are of different runs: {AGAIN}")
        if trial in found[key]:
            raise ValueError(f"{folder / 'final.csv'} has trial {trial} of {row['label']} twice: {AGAIN}")
        found[key][trial] = float(row["regret"] or "nan")
        if "pulls" in row:
            pulls[key][trial] = int(row["pulls"])
    return found, pulls


def identity(curve: Measured) -> Identity:
    """What distinguishes a curve within its experiment, and does not depend on the processor's rounding."""
    players = curve.parameters
    names = (curve.adversary, players["adversary"].get("label", ""), players["algorithm"].get("panel", ""), curve.label)
    return (*names, *map("=".join, sorted(curve.swept.items())))


def planned(curve: Curve) -> Measured:
    """A planned curve as the CSVs would describe it, not yet measured."""
    of_game, own = ({name: str(value) for name, value in part.items()} for part in (curve.game, curve.own))
    players = curve.adversary.name, curve.algorithm.name
    parameters = json.loads(json.dumps(curve.parameters()))
    return Measured(curve.key, *players, curve.label, curve.label, parameters, of_game, own)


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
    keys = [key for key in (*GAME, "seed") if key not in foreign_keys(experiment.keys)]  # players are compared later
    other = [key for key in keys if not alike(config.get(key), mine.get(key))]
    return f"it was played with another {' and '.join(other)}" if other else ""
