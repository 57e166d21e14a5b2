"""summary.csv -> Table: the lines of each panel, ready to draw.

Everything drawn stands in the CSV; a config beside it adds the title and the error bars' kind.
"""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from privbandits_cli import registry
from privbandits_cli.games.bandit import Adversary, Algorithm, Setting

Floats = NDArray[np.float64]

BARS = {
    "gini": "Gini's mean difference below and above",
    "sd": "one standard deviation",
    "quantiles": "5 % and 95 % quantiles",
    "bootstrap": "95 % bootstrap interval of the mean",
}
CENTRES = {"median_of_means": "median of means", "mean": "mean", "median": "median"}


@dataclass(frozen=True)
class Line:
    """One curve of a panel; all arrays `[checkpoints]`, in rounds."""

    algorithm: str
    label: str
    rounds: Floats
    regret: Floats
    below: Floats  # lengths of the error bars
    above: Floats
    trials: int
    bound: Floats | None


@dataclass(frozen=True)
class Table:
    """A summary.csv with what its config adds."""

    title: str
    panels: dict[str, list[Line]]
    centre: str
    bars: str
    bar_rounds: int
    log: bool
    wanted: int  # trials of a complete curve


def read(folder: Path, bounds: bool = False) -> Table:
    """Read a results folder; raises FileNotFoundError or ValueError with what is wrong."""
    path = folder / "summary.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows or "regret" not in rows[0]:
        raise ValueError(f"{path} has no rows to draw")
    config_path = folder / "config.yaml"
    config = yaml.safe_load(config_path.read_text(encoding="utf-8")) if config_path.exists() else {}
    summary, plot = config.get("summary", {}), config.get("plot", {})
    bars = summary.get("bars", "gini")
    panels: dict[str, list[Line]] = {}
    for curve in _curves(rows):
        parameters = json.loads(curve[0]["parameters"])
        panels.setdefault(_panel_title(parameters["adversary"]), []).append(
            _line(curve, parameters, bars, bounds or plot.get("bounds", False), config)
        )
    return Table(
        title=config.get("title", ""),
        panels=panels,
        centre=CENTRES[summary.get("centre", "median_of_means")],
        bars=BARS[bars],
        bar_rounds=plot.get("bars", 12),
        log=plot.get("log", False),
        wanted=config.get("trials", max(int(row["trials"]) for row in rows)),
    )


def _curves(rows: Sequence[dict[str, str]]) -> Iterator[list[dict[str, str]]]:
    """The rows of each curve, in the file's order."""
    found: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in rows:
        found.setdefault((row["label"], row["parameters"]), []).append(row)
    yield from found.values()


def _panel_title(adversary: Mapping[str, Any]) -> str:
    if "label" in adversary:
        return str(adversary["label"])
    try:
        return registry.find("adversaries", adversary["name"]).display
    except KeyError:
        return str(adversary["name"])


def _line(
    rows: list[dict[str, str]], parameters: dict[str, Any], bars: str, bounds: bool, config: Mapping[str, Any]
) -> Line:
    def column(name: str) -> Floats:
        return np.array([float(row[name]) for row in rows])

    regret, rounds = column("regret"), column("round")
    below, above = {
        "gini": lambda: (column("gmd_below"), column("gmd_above")),
        "sd": lambda: (column("sd"), column("sd")),
        "quantiles": lambda: (regret - column("q05"), column("q95") - regret),
        "bootstrap": lambda: (regret - column("boot_low"), column("boot_high") - regret),
    }[bars]()
    setting = Setting(config.get("horizon", rounds[-1]), config.get("arms", 4))
    return Line(
        algorithm=rows[0]["algorithm"],
        label=rows[0]["label"],
        rounds=rounds,
        regret=regret,
        below=np.maximum(below, 0),
        above=np.maximum(above, 0),
        trials=int(rows[-1]["trials"]),
        bound=_bound(parameters, rounds, setting) if bounds else None,
    )


def _bound(parameters: dict[str, Any], rounds: Floats, setting: Setting) -> Floats | None:
    """The algorithm's regret bound against the adversary's memory, where a theorem speaks."""
    adversary = {k: v for k, v in parameters["adversary"].items() if k != "label"}
    opponent = registry.rebuilt("adversaries", adversary)
    algorithm = registry.rebuilt("algorithms", parameters["algorithm"])
    assert isinstance(opponent, Adversary) and isinstance(algorithm, Algorithm)
    return algorithm.regret_bound(rounds, setting, memory=opponent.reaction()[0])
