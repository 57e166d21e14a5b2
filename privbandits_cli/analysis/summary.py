"""Regrets -> summary.csv and final.csv, always in trial order, never in order of arrival."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.analysis import statistics
from privbandits_cli.engine.store import Store
from privbandits_cli.experiment.plan import Curve, Plan

Floats = NDArray[np.float64]

CURVE = ("experiment", "adversary", "algorithm", "label", "parameters")
SUMMARY = (*CURVE, "round", "trials", "regret", "gmd_below", "gmd_above", "mean", "sd", "q05", "q50", "q95")
FINAL = (*CURVE, "trial", "regret")
BOOTSTRAP = ("boot_low", "boot_high")


def swept_columns(plan: Plan) -> list[str]:
    """The swept parameters, in the config's order; they are the last columns of both CSVs."""
    return list(dict.fromkeys(name for curve in plan.curves for name in curve.swept))


def summary_csv(plan: Plan, store: Store) -> str:
    """One row per curve and checkpoint; a curve without a single trial has none."""
    extra = BOOTSTRAP if plan.experiment.keys.summary.bars == "bootstrap" else ()
    return _csv((*SUMMARY, *extra, *swept_columns(plan)), _summary_rows(plan, store))


def final_csv(plan: Plan, store: Store) -> str:
    """One row per curve and trial: the regret at the horizon."""
    return _csv((*FINAL, *swept_columns(plan)), _final_rows(plan, store))


def _summary_rows(plan: Plan, store: Store) -> Iterator[dict[str, Any]]:
    for curve in plan.curves:
        trials, x = store.regrets(curve, plan.trials)
        if len(trials) == 0:
            continue
        columns = summarised(plan, trials, x)
        shared = _shared(plan, curve)
        for i, checkpoint in enumerate(plan.checkpoints.tolist()):
            statistics_ = {name: float(column[i]) for name, column in columns.items()}
            yield shared | {"round": checkpoint, "trials": len(trials)} | statistics_


def summarised(plan: Plan, trials: NDArray[np.int64], x: Floats) -> dict[str, Floats]:
    """The statistics of one curve's regrets `[trials, checkpoints]`, by column of summary.csv."""
    chosen = plan.experiment.keys.summary
    if chosen.centre == "median_of_means":
        centre = statistics.median_of_means(x, statistics.groups_of(trials, plan.trials, chosen.groups))
    else:
        centre = {"mean": statistics.mean, "median": statistics.median}[chosen.centre](x)
    below, above = statistics.split_gini(x, centre)
    columns = {
        "regret": centre,
        "gmd_below": below,
        "gmd_above": above,
        "mean": statistics.mean(x),
        "sd": statistics.sd(x),
        "q05": statistics.quantile(x, 0.05),
        "q50": statistics.quantile(x, 0.5),
        "q95": statistics.quantile(x, 0.95),
    }
    if chosen.bars == "bootstrap":
        interval = statistics.bootstrap_interval(x, plan.experiment.keys.seed)
        columns |= dict(zip(BOOTSTRAP, interval, strict=True))
    return columns


def _final_rows(plan: Plan, store: Store) -> Iterator[dict[str, Any]]:
    for curve in plan.curves:
        shared = _shared(plan, curve)
        for trial, row in zip(*store.regrets(curve, plan.trials), strict=True):
            yield shared | {"trial": int(trial), "regret": float(row[-1])}


def _shared(plan: Plan, curve: Curve) -> dict[str, Any]:
    """The columns that all rows of a curve have in common."""
    parameters = json.dumps(curve.parameters(), separators=(",", ":"), ensure_ascii=False)
    names = (plan.name, curve.adversary.name, curve.algorithm.name, curve.label, parameters)
    return dict(zip(CURVE, names, strict=True)) | dict(curve.swept)


def _csv(columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> str:
    """CSV text; floats in the shortest form that reads back as the same number."""
    out = io.StringIO()
    writer: csv.DictWriter[str] = csv.DictWriter(out, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
