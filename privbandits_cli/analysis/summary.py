"""Regrets -> the CSVs of a results folder, in the order of the trials, whatever the order in which they were played."""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from privbandits_cli.analysis import statistics, stopping
from privbandits_cli.analysis.folder import BOOTSTRAP, CURVE, NAMES, PULLS, STATISTICS, STOPPED, STOPPING
from privbandits_cli.analysis.format import csv_text
from privbandits_cli.analysis.rates import theory
from privbandits_cli.engine.store import Store, Trials
from privbandits_cli.experiment.keys import LEVEL, Summary
from privbandits_cli.experiment.plan import Curve, Plan
from privbandits_cli.games import best_arm
from privbandits_cli.numerics.types import Floats

SPREADS = {"gmd_below", "gmd_above", "sd", *BOOTSTRAP}  # empty for one trial, which has none


def swept_columns(plan: Plan) -> list[str]:
    """The swept parameters in the config's order: the last columns of every CSV."""
    return list(dict.fromkeys(name for curve in plan.curves for name in curve.swept))


def stops(plan: Plan) -> bool:
    """Whether its learners stop: the game is best_arm."""
    return plan.experiment.keys.game == "best_arm"


def played(plan: Plan, store: Store) -> Iterator[tuple[Curve, Trials, Floats]]:
    """Each curve that has trials: the curve, the numbers of the trials, and their regrets `[trials, checkpoints]`."""
    for curve in plan.curves:
        trials, x = store.regrets(curve, plan.trials)
        if len(trials):
            yield curve, trials, x


def tables(plan: Plan, store: Store) -> Iterator[tuple[str, Iterable[str]]]:
    """The name of each CSV, and its text in parts."""
    yield "summary.csv", [summary_csv(plan, store)]
    yield "final.csv", final_csv(plan, store)
    if stops(plan):
        yield "stopping.csv", [stopping_csv(plan, store)]


def summary_csv(plan: Plan, store: Store) -> str:
    """One row for each curve and checkpoint, with the curve's parameters; a curve without trials has no row.

    If the figure is of regrets over their lower bounds, these are a column, from which it can be drawn again.
    """
    chosen, over = plan.experiment.keys.summary, plan.experiment.keys.plot.over
    extra = BOOTSTRAP if chosen.bars == "bootstrap" or chosen.tail else ()
    numbers = STOPPED if stops(plan) else (*filter(None, [over]), *STATISTICS, *extra)
    return _table(plan, ("round", "trials", *numbers), _summary_rows(plan, store))


def stopping_csv(plan: Plan, store: Store) -> str:
    """One row for each curve of the game best_arm: how long it took, and how often it was wrong."""
    found = played(plan, store)
    rows = (_described(plan, curve, trials) | stopping.of_curve(curve, x) for curve, trials, x in found)
    return _table(plan, ("trials", *STOPPING), rows)


def _table(plan: Plan, numbers: Iterable[str], rows: Iterable[dict[str, Any]]) -> str:
    """A CSV with the names of curves, these columns, and the swept parameters."""
    swept = swept_columns(plan)
    names = [name for name in NAMES if name not in swept]
    unit = ("rounds_per_person",) if any(curve.setting.rounds_per_person > 1 for curve in plan.curves) else ()
    columns = ("experiment", *CURVE, *names, *unit, "parameters", *numbers, *swept)
    return csv_text([columns, *([row.get(name, "") for name in columns] for row in rows)])


def final_csv(plan: Plan, store: Store) -> Iterator[str]:
    """One row for each curve and trial, with the regret at the horizon; yielded curve by curve, to save memory.

    In the game best_arm with the time and the answer; it and its regret are empty where the trial reached the horizon.
    """
    swept, columns = swept_columns(plan), (*PULLS, "regret") if stops(plan) else ("regret",)
    names = [name for name in (*CURVE, "panel") if name not in swept]
    yield csv_text([(*names, "trial", *columns, *swept)])
    for curve, trials, x in played(plan, store):
        shared = _shared(plan, curve)
        before, after = [shared[name] for name in names], [shared.get(name, "") for name in swept]
        finals = _answers(best_arm.outcomes(x)) if stops(plan) else x[:, -1:].tolist()
        yield csv_text([*before, trial, *own, *after] for trial, own in zip(trials.tolist(), finals, strict=True))


def _answers(found: best_arm.Outcomes) -> Iterator[list[Any]]:
    for pulls, answer, regret in zip(found.pulls.tolist(), found.answers.tolist(), found.regrets[:, -1], strict=True):
        yield [pulls, answer, float(regret)] if answer >= 0 else [pulls, "", ""]


def _summary_rows(plan: Plan, store: Store) -> Iterator[dict[str, Any]]:
    for curve, trials, x in played(plan, store):
        shared, rounds = _described(plan, curve, trials), curve.checkpoints.tolist()
        if stops(plan):
            rows = stopping.at_checkpoints(curve, best_arm.outcomes(x))
        else:
            columns = summarised(plan, trials, x) | _lower_bound(plan, curve)
            kept = columns.keys() - (SPREADS if len(trials) == 1 else ())
            rows = ({name: float(columns[name][i]) for name in kept} for i in range(len(rounds)))
        for checkpoint, numbers in zip(rounds, rows, strict=True):
            yield shared | {"round": checkpoint} | numbers


def _lower_bound(plan: Plan, curve: Curve) -> dict[str, Floats]:
    """The lower bound on a curve's mean regret at its checkpoints, if the figure divides by it and one is known."""
    over = plan.experiment.keys.plot.over
    if not over:
        return {}
    known = theory(curve.algorithm, curve.adversary, curve.setting, curve.checkpoints.astype(float)).rates
    lower = next((rate.regret for rate in known if rate.asymptotic), None)
    return {} if lower is None else {over: lower}


def _described(plan: Plan, curve: Curve, trials: Trials) -> dict[str, Any]:
    """The columns of a curve's names, with its parameters and the number of its trials."""
    parameters = json.dumps(curve.parameters(), separators=(",", ":"), ensure_ascii=False)
    return _shared(plan, curve) | {"parameters": parameters, "trials": len(trials)}


def summarised(plan: Plan, trials: Trials, x: Floats) -> dict[str, Floats]:
    """The statistics of one curve's regrets `[trials, checkpoints]`, by column of summary.csv."""
    chosen = plan.experiment.keys.summary
    if chosen.centre == "median_of_means":
        centre = statistics.median_of_means(x, trials, plan.trials, chosen.groups)
    else:
        centre = _statistic(chosen)(x, axis=0)
    below, above = statistics.split_gini(x, centre)
    q05, q50, q95 = np.quantile(x, (0.05, 0.5, 0.95), axis=0)
    found = (centre, below, above, x.mean(axis=0), statistics.sd(x), q05, q50, q95)
    columns = dict(zip(STATISTICS, found, strict=True))
    if chosen.bars == "bootstrap" or chosen.tail:
        of = _statistic(chosen) if chosen.tail else np.mean
        interval = statistics.bootstrap_interval(x, plan.experiment.keys.seed, of)
        columns |= dict(zip(BOOTSTRAP, interval, strict=True))
    return columns


def _statistic(chosen: Summary) -> Callable[..., Floats]:
    """The centre as a function of regrets `[trials, checkpoints]`, and of the `axis` of the trials."""
    level = LEVEL if chosen.level is None else chosen.level
    of: dict[str, Callable[..., Floats]] = {
        "mean": np.mean,
        "median": np.median,
        "cvar": partial(statistics.cvar, level=level),
        "quantile": partial(np.quantile, q=level),
    }
    return of[chosen.centre]


def _shared(plan: Plan, curve: Curve) -> dict[str, Any]:
    """The columns that have one value for all rows of a curve."""
    panel = curve.title.without(plan.experiment.keys.plot.folded).in_symbols()
    guarantee = (getattr(curve.guarantee, name, None) for name in ("epsilon", "delta", "status"))
    names = (curve.key, curve.adversary.name, curve.algorithm.name, curve.label, panel, curve.label.base, *guarantee)
    shared = {"experiment": plan.name} | dict(zip((*CURVE, *NAMES), names, strict=True))
    shared["rounds_per_person"] = curve.setting.rounds_per_person
    own = dict.fromkeys(swept_columns(plan), "") | dict(curve.swept)  # a swept parameter may have one of these names
    return shared | own
