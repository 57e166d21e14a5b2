"""The library for notebooks: `from privbandits_cli import load, run, summary, plot, guarantee`.

The functions do what the commands do, but return plain data and print nothing.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privbandits_cli.experiment import config
from privbandits_cli.experiment.config import Experiment
from privbandits_cli.experiment.received import Trust

if TYPE_CHECKING:
    from privbandits_cli.figures.plot import Figure

# columns of the CSVs that hold text
TEXT = ("curve", "adversary", "algorithm", "label", "panel", "set", "parameters")


class RunError(Exception):
    """Trials failed; the message has one line for each kind of failure. The other trials are kept."""


def load(
    path: str | Path, *overrides: str, smoke: bool = False, include: str | Path | Sequence[str | Path] = ()
) -> Experiment:
    """Read an experiment: a YAML file, or the name of a shipped config, with `KEY=VALUE` overrides.

    include: files with your own algorithms and adversaries; they are executed, as are those that the config includes.
    Raises ConfigError with all errors at once.
    """
    return config.load(Path(path), list(overrides), smoke, _paths(include))


def _paths(include: str | Path | Sequence[str | Path]) -> tuple[Path, ...]:
    return tuple(map(Path, [include] if isinstance(include, str | Path) else include))


def _loaded(experiment: Experiment | str | Path) -> Experiment:
    return experiment if isinstance(experiment, Experiment) else load(experiment)


def run(
    experiment: Experiment | str | Path,
    results: str | Path = "results",
    jobs: int = 0,
    engine: str = "threads",
    fresh: bool = False,
) -> Path:
    """Run the missing trials of an experiment; returns its results folder, with figure, CSVs and manifest.

    experiment: the result of `load`, or what `load` takes. jobs: 0 for all cores. engine: threads, processes or dask.
    fresh: discard finished trials. Raises RunError if trials fail, ConfigError if a user's file cannot play,
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
        kinds = {f"{plan.legends[failure.key]}: {failure.error}": None for failure in failures}
        raise RunError(f"{len(failures)} trials failed: " + "\n".join(kinds))
    return store.folder


def summary(folder: str | Path, final: bool = False) -> list[dict[str, Any]]:
    """The rows of a results folder's summary.csv, or with `final` of its final.csv, which has a row per trial.

    Numbers are converted, and an empty cell is None. Raises FileNotFoundError if nothing was run.
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
    except ValueError:  # a swept parameter may be a name
        return cell
    return int(cell) if cell.lstrip("-").isdigit() else number


def plot(
    folder: str | Path,
    log: bool = False,
    bounds: bool = False,
    include: str | Path | Sequence[str | Path] = (),
    trust: bool = False,
) -> "Figure":
    """Draw the figure of a results folder from its CSVs; a notebook shows it, `savefig` writes it to a file.

    log: logarithmic axes. bounds: also draw the regret bounds of the theorems. include, trust: execute these files, or
    those that the folder keeps; by default none is executed, and bounds of your own algorithms are those recorded.
    """
    from privbandits_cli.figures import plot as plotting
    from privbandits_cli.figures import table

    trusted = Trust(_paths(include), trust)
    return plotting.figure(table.read(Path(folder), bounds, trust=trusted), log)


def guarantee(experiment: Experiment | str | Path, delta: float | None = None) -> list[dict[str, Any]]:
    """The privacy guarantee of each algorithm of an experiment: algorithm, epsilon, delta, status, source.

    Without a guarantee the values are None. delta: by default that of the algorithm, or T^-2 as in the paper.
    """
    from privbandits_cli.actions.privacy import ledger

    keys = ("epsilon", "delta", "status", "source")
    return [
        {"algorithm": block["algorithm"]} | {key: (block["leading"] or {}).get(key) for key in keys}
        for block in ledger(_loaded(experiment), delta)
    ]
