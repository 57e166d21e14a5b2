"""The library for notebooks: `from privbandits_cli import load, run, summary, plot, guarantee`.

What the commands do, with plain data in place of printed text. Nothing is printed.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privbandits_cli.experiment import config
from privbandits_cli.experiment.config import Experiment

if TYPE_CHECKING:
    from privbandits_cli.figures.plot import Figure

# columns of the CSVs that are no numbers
TEXT = ("curve", "adversary", "algorithm", "label", "panel", "set", "parameters")


class RunError(Exception):
    """Trials that failed; the message has the first of each kind. What was played is kept."""


def load(
    path: str | Path, *overrides: str, smoke: bool = False, include: str | Path | Sequence[str | Path] = ()
) -> Experiment:
    """An experiment: a YAML file, or the name of a shipped config, with `KEY=VALUE` overrides.

    include: files of one's own algorithms and adversaries. Raises ConfigError with every fault.
    """
    files = [include] if isinstance(include, str | Path) else include
    return config.load(Path(path), list(overrides), smoke, [Path(file) for file in files])


def _loaded(experiment: Experiment | str | Path) -> Experiment:
    return experiment if isinstance(experiment, Experiment) else load(experiment)


def run(
    experiment: Experiment | str | Path,
    results: str | Path = "results",
    jobs: int = 0,
    engine: str = "threads",
    fresh: bool = False,
) -> Path:
    """Play what is missing of an experiment; returns its results folder, with figure, CSVs and manifest.

    experiment: the result of `load`, or what `load` takes. jobs: 0 for all cores. engine: threads, processes or dask.
    fresh: forget what has been played. Raises RunError if trials fail, ConfigError if a user's file cannot play,
    EngineError if an engine cannot start, Busy if another process is running in the folder.
    """
    from privbandits_cli.actions.run import run
    from privbandits_cli.engine import Engine, runner
    from privbandits_cli.engine.store import Store
    from privbandits_cli.experiment.plan import make_plan

    chosen = Engine.parse(engine)
    plan = make_plan(_loaded(experiment))
    store = Store(Path(results) / plan.folder)
    failures = run(plan, store, chosen, jobs or runner.cores(), ["privbandits_cli.run"], fresh=fresh).failures
    if failures:
        kinds = {f"{plan.by_key[failure.key].label}: {failure.error}": None for failure in failures}
        raise RunError(f"{len(failures)} trials failed: " + "\n".join(kinds))
    return store.folder


def summary(folder: str | Path, final: bool = False) -> list[dict[str, Any]]:
    """The rows of a results folder's summary.csv, numbers as numbers; of final.csv, a row a trial, with `final`.

    An empty cell is None. Raises FileNotFoundError where nothing was run.
    """
    path = Path(folder) / ("final.csv" if final else "summary.csv")
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _value(name, cell) for name, cell in row.items()} for row in csv.DictReader(file)]


def _value(name: str, cell: str) -> str | int | float | None:
    if cell == "":
        return None
    if name in TEXT:
        return cell
    try:
        number = float(cell)
    except ValueError:  # what is swept may be a name
        return cell
    return int(cell) if cell.lstrip("-").isdigit() else number


def plot(folder: str | Path, log: bool = False, bounds: bool = False) -> "Figure":
    """The figure of a results folder, drawn from its CSVs; a notebook shows it, `savefig` keeps it.

    log: logarithmic axes. bounds: the regret theorems, too.
    """
    from privbandits_cli.figures import plot as plotting
    from privbandits_cli.figures import table

    return plotting.figure(table.read(Path(folder), bounds), log)


def guarantee(experiment: Experiment | str | Path, delta: float | None = None) -> list[dict[str, Any]]:
    """What each algorithm of an experiment promises: algorithm, epsilon, delta, status, source; None for no promise.

    delta: at which; by default T^-2, the paper's.
    """
    from privbandits_cli.actions.privacy import ledger

    keys = ("epsilon", "delta", "status", "source")
    return [
        {"algorithm": block["algorithm"]} | {key: (block["leading"] or {}).get(key) for key in keys}
        for block in ledger(_loaded(experiment), delta)
    ]
