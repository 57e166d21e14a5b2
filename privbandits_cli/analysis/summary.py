"""Regrets -> summary.csv and final.csv, in the order of the trials, whatever the order in which they were played."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.analysis import statistics
from privbandits_cli.analysis.folder import BOOTSTRAP, CURVE, NAMES, STATISTICS
from privbandits_cli.analysis.format import csv_text
from privbandits_cli.engine.store import Store
from privbandits_cli.experiment.plan import Curve, Plan
from privbandits_cli.numerics.types import Floats


def swept_columns(plan: Plan) -> list[str]:
    """The swept parameters in the config's order: the last columns of both CSVs."""
    return list(dict.fromkeys(name for curve in plan.curves for name in curve.swept))


def summary_csv(plan: Plan, store: Store) -> str:
    """One row for each curve and checkpoint, with the curve's parameters; a curve without trials has no row."""
    extra = BOOTSTRAP if plan.experiment.keys.summary.bars == "bootstrap" else ()
    swept, counts = swept_columns(plan), ("parameters", "round", "trials")
    names = [name for name in NAMES if name not in swept]
    columns = ("experiment", *CURVE, *names, *counts, *STATISTICS, *extra, *swept)
    return csv_text([columns, *([row.get(name, "") for name in columns] for row in _summary_rows(plan, store))])


def final_csv(plan: Plan, store: Store) -> Iterator[str]:
    """One row for each curve and trial, with the regret at the horizon; yielded curve by curve, to save memory."""
    swept = swept_columns(plan)
    names = [name for name in (*CURVE, "panel") if name not in swept]
    yield csv_text([(*names, "trial", "regret", *swept)])
    for curve in plan.curves:
        trials, x = store.regrets(curve, plan.trials)
        if len(trials):
            shared = _shared(plan, curve)
            before, after = [shared[name] for name in names], [shared.get(name, "") for name in swept]
            finals = zip(trials.tolist(), x[:, -1].tolist(), strict=True)
            yield csv_text([*before, trial, regret, *after] for trial, regret in finals)


def _summary_rows(plan: Plan, store: Store) -> Iterator[dict[str, Any]]:
    for curve in plan.curves:
        trials, x = store.regrets(curve, plan.trials)
        if len(trials) == 0:
            continue
        columns = summarised(plan, trials, x)
        parameters = json.dumps(curve.parameters(), separators=(",", ":"), ensure_ascii=False)
        shared = _shared(plan, curve) | {"parameters": parameters, "trials": len(trials)}
        for i, checkpoint in enumerate(curve.checkpoints.tolist()):
            yield shared | {"round": checkpoint} | {name: float(column[i]) for name, column in columns.items()}


def summarised(plan: Plan, trials: NDArray[np.int64], x: Floats) -> dict[str, Floats]:
    """The statistics of one curve's regrets `[trials, checkpoints]`, by column of summary.csv."""
    chosen = plan.experiment.keys.summary
    if chosen.centre == "median_of_means":
        centre = statistics.median_of_means(x, statistics.groups_of(trials, plan.trials, chosen.groups))
    else:
        centre = {"mean": statistics.mean, "median": statistics.median}[chosen.centre](x)
    below, above = statistics.split_gini(x, centre)
    q05, q50, q95 = statistics.quantiles(x, 0.05, 0.5, 0.95)
    found = (centre, below, above, statistics.mean(x), statistics.sd(x), q05, q50, q95)
    columns = dict(zip(STATISTICS, found, strict=True))
    if chosen.bars == "bootstrap":
        interval = statistics.bootstrap_interval(x, plan.experiment.keys.seed)
        columns |= dict(zip(BOOTSTRAP, interval, strict=True))
    return columns


def _shared(plan: Plan, curve: Curve) -> dict[str, Any]:
    """The columns that have one value for all rows of a curve."""
    panel = curve.title.without(plan.experiment.keys.plot.folded).in_symbols()
    promised = plan.guarantees[curve.key]
    guarantee = (getattr(promised, name, None) for name in ("epsilon", "delta", "status"))
    names = (curve.key, curve.adversary.name, curve.algorithm.name, curve.label, panel, curve.label.base, *guarantee)
    shared = {"experiment": plan.name} | dict(zip((*CURVE, *NAMES), names, strict=True))
    own = dict.fromkeys(swept_columns(plan), "") | dict(curve.swept)  # a swept parameter may have one of these names
    return shared | own
