"""The files of a results folder as its readers find them: the rows of the CSVs, the config and the manifest.

A folder may come from anybody. Its files are read as data, checked, and stripped of control characters; a file that is
a link out of the folder is not read.
"""

import csv
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from privbandits_cli.accounting.guarantee import Status
from privbandits_cli.experiment.document import parse
from privbandits_cli.experiment.errors import translated
from privbandits_cli.experiment.keys import Keys
from privbandits_cli.experiment.received import inside, printable

CURVE = ("curve", "adversary", "algorithm", "label")  # `curve`: the key in the plan
# The title of its panel in the figure, its legend without notes, its guarantee. Older CSVs lack them.
NAMES = ("panel", "family", "certified_epsilon", "certified_delta", "status")
IDENTITY = ("experiment", *CURVE, "parameters", "trials")
STATISTICS = ("regret", "gmd_below", "gmd_above", "mean", "sd", "q05", "q50", "q95")
SUMMARY = (*IDENTITY, "round", *STATISTICS)
FINAL = (*CURVE, "trial", "regret")
BOOTSTRAP = ("boot_low", "boot_high")
# In the game best_arm: the numbers of a checkpoint, of a trial, and of a curve in stopping.csv.
ERRORS = ("wrong", "wrong_low", "wrong_high")
STOPPED = ("stopped", *ERRORS, "regret")
PULLS = ("pulls", "answer")
TIMES = ("pulls_mean", "pulls_error", "pulls_q10", "pulls_median", "pulls_q90", "pulls_q99")
STOPPING = ("capped", *TIMES, *ERRORS, "lower_2023", "lower_2025")
SUMMARY_STOPPED = (*IDENTITY, "round", *STOPPED)
TABLES = ("summary.csv", "final.csv", "stopping.csv")  # the last one in the game best_arm only
UNNAMED = {"experiment": "unnamed", "horizon": 1, "trials": 1, "adversary": None, "algorithms": None}
Number = float | Literal["inf"]  # the text in JSON, which has no infinity


class _Part(BaseModel):
    """A part of the manifest, as far as it is read."""

    model_config = ConfigDict(strict=True)


class _Adversary(_Part):
    title: str
    notes: list[dict[str, str]]
    swept: dict[str, Any]


class _Algorithm(_Part):
    family: str
    notes: list[dict[str, str]]
    swept: dict[str, Any]
    apart: dict[str, Any]


class _Rate(_Part):
    name: str
    regret: list[float]
    epsilon: float | None


class _Theory(_Part):
    bound: list[float] | None
    rates: list[_Rate]


class _Curve(_Part):
    adversary: _Adversary
    algorithm: _Algorithm
    panel: str
    epsilon: float | None = None
    delta: float | None = None
    theory: _Theory | str | None = None


class Bound(_Part, json_schema_extra={"additionalProperties": False}):
    """A bound on ε."""

    epsilon: Number = Field(description="in nats")
    delta: float = Field(ge=0, lt=1)
    source: str = Field(description="the theorem, or whose derivation it is")
    status: Status = Field(description="paper: as printed; proved; exact: the value itself; numeric: computed only")
    lower: bool = Field(description="an attack: no smaller ε is true")
    neighbours: str = Field(description="which inputs are indistinguishable")
    unit: str = Field(description="what one unit of the input is")
    view: str = Field(description="what the observer sees")


class Block(_Part, json_schema_extra={"additionalProperties": False}):
    """The privacy of one algorithm, as `privbandits privacy CONFIG --json` prints it."""

    algorithm: str = Field(description="its name, with what distinguishes it from others of the experiment")
    delta: float = Field(description="the δ of `upper` and `lower`")
    leading: Bound | None = Field(description="the bound to quote; null: none is proved")
    mechanism: str = Field(description="the noise, in words")
    upper: Number | None = Field(description="the true ε at `delta` is at most this")
    lower: Number | None = Field(description="and at least this")
    facts: dict[str, Number] = Field(description="numbers that the parameters imply")
    bounds: list[Bound] = Field(description="all that is known")
    notes: list[str] = Field(description="corrections to the paper, and cautions")


class _Git(_Part):
    commit: str
    dirty: bool


class _Included(_Part):
    name: str
    sha256: str


class _Manifest(_Part):
    complete: bool = True
    command: list[str] = []
    config: dict[str, Any] = {}
    curves: dict[str, _Curve] | None = None
    ended: str | None = None
    engine: str = ""
    figure_of: str | None = None
    git: _Git | None = None
    included: list[_Included] = []
    jobs: int = 0
    ledger: list[Block] | str | None = None
    machine: dict[str, str] = {}
    note: str = ""
    sha256: dict[str, str] = {}
    started: str | None = None
    trials: dict[str, int] = {}
    versions: dict[str, str] = {}


class _Players(_Part):
    adversary: dict[str, Any]
    algorithm: dict[str, Any]


def folders_at(path: Path) -> list[Path]:
    """The results folder at a path, or those in it; ValueError if there is none."""
    found = [path] if (path / "summary.csv").exists() else sorted(file.parent for file in path.glob("*/summary.csv"))
    if not found:
        raise ValueError(f"{path}: no summary.csv here or in a subfolder; run an experiment first")
    return found


def rows_of(path: Path, *tables: Iterable[str]) -> Iterator[dict[str, str]]:
    """The rows of a CSV; ValueError if it has the columns of none of these tables, or a row more or fewer cells."""
    with inside(path.parent, path.name).open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(map(printable, file))
        try:
            if not any({*columns} <= {*(reader.fieldnames or ())} for columns in tables):
                raise ValueError(
                    f"{path} is no table of regrets, or is from an older version: run the experiment again"
                )
            for row in reader:
                if None in row or None in row.values():
                    raise ValueError(f"{path}:{reader.line_num}: this row has more or fewer cells than the first one")
                yield row
        except csv.Error as error:
            raise ValueError(f"{path}:{reader.line_num}: {error}") from error


def players_of(row: dict[str, str]) -> dict[str, dict[str, Any]]:
    """The parameters of both players in a row of summary.csv; ValueError if the cell is no such thing."""
    try:
        found: dict[str, dict[str, Any]] = json.loads(row["parameters"])
        _Players.model_validate(found)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the cell `parameters` of curve {row['curve']} does not describe two players") from error
    return found


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file of a results folder; empty if there is none. ValueError with its first error."""
    if not inside(path.parent, path.name).exists():
        return {}
    document = parse(path.read_text(encoding="utf-8"), str(path))
    if document.errors:
        raise ValueError(document.render(document.errors[0]))
    found: dict[str, Any] = document.data
    if not found:
        raise ValueError(f"{path} is no config: delete it, or run the experiment again")
    return found


def read_config(folder: Path) -> dict[str, Any]:
    """The experiment in config.yaml; empty if there is none. ValueError if a key has no valid value."""
    found = read_yaml(folder / "config.yaml")
    try:
        Keys.model_validate(UNNAMED | {key: value for key, value in found.items() if key in Keys.model_fields})
    except ValidationError as error:
        first = next(translated(error, Keys, found, ()))
        raise ValueError(f"{folder / 'config.yaml'}: {first.message}") from error
    return found


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest in this folder; empty if there is none. ValueError if it is none."""
    path = inside(folder, "manifest.json")
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        _Manifest.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        what = printable(f"{place}: {first['msg']}")
        raise ValueError(f"{path} is not a manifest: run the experiment again ({what})") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: run the experiment again ({error})") from error
    manifest: dict[str, Any] = _shown(found)
    return manifest


def _shown(data: Any) -> Any:
    """JSON with the control characters of its texts written out."""
    if isinstance(data, dict):
        return {printable(key): _shown(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_shown(value) for value in data]
    return printable(data) if isinstance(data, str) else data


def file_sha256(path: Path) -> str:
    """The digest of a file, which may be larger than memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
