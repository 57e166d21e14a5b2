"""How often the intervals of off-policy estimates hold the truth, on simulated logs: as plain data, CSV and figure.

Contexts are uniform in [-1, 1]², and rewards are 0 or 1. In the first world the mean reward of each of three actions is
linear in the context, so that the linear model is right. In the second one it is a step, and the model is wrong. The
policy plays action 0 where x1 > 0 and action 1 elsewhere, and with probability 1/5 a uniform action; the log is that of
another policy. All true values are exact.
"""

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import beta

from privbandits_cli.actions.logs import ESTIMATORS
from privbandits_cli.analysis.simulated_logs import World, linear_world, logged, softmax
from privbandits_cli.experiment.files import write_atomically
from privbandits_cli.numerics.streams import stream
from privbandits_cli.numerics.types import Floats

NAME = "ope"
FORMATS = ("pdf", "png", "svg")
SIZES = (50, 100, 200, 500, 1000, 2000)
CONFIDENCE = 0.95
THETA = np.array([[0.5, 0.2, -0.1], [0.45, -0.2, 0.2], [0.4, 0.1, 0.15]])
STEP = 0.3


class Case(NamedTuple):
    """A world, and the true value of the policy in it."""

    title: str
    world: Callable[[int, int, int], World]  # of rows, seed, trial
    truth: float


class Row(NamedTuple):
    """How an estimator does on logs of one length."""

    world: str
    estimator: str
    rows: int
    logs: int  # that had an estimate
    coverage: float  # the share of these whose interval held the truth
    low: float  # Clopper-Pearson interval of the coverage
    high: float
    bias: float  # mean error of the value
    length: float  # mean length of the intervals


def linear(rows: int, seed: int, trial: int) -> World:
    """The world in which the linear model is right."""
    return linear_world(THETA, rows, seed, trial, "bernoulli")


def stepped(rows: int, seed: int, trial: int) -> World:
    """The world in which it is wrong: actions 0 and 1 have the means ½ ± STEP by the sign of x1, action 2 has ½."""
    x: Floats = stream(seed, "off-policy contexts", trial=trial).uniform(-1.0, 1.0, (rows, 2))
    side = STEP * np.where(x[:, 0] > 0, 1.0, -1.0)
    return World(x, 0.5 + np.column_stack([side, -side, np.zeros(rows)]), "bernoulli")


def target(x: Floats) -> Floats:
    """The policy that is evaluated, `[n, 3]`; contexts `[n, 2]`."""
    return 0.8 * np.eye(3)[np.where(x[:, 0] > 0, 0, 1)] + 0.2 / 3


CASES = (
    # E[x1 | x1 > 0] = ½; a uniform action has the mean of the three intercepts, 0.45
    Case("linear rewards: the model is right", linear, 0.2 * 0.45 + 0.8 * (0.5 * (0.5 + 0.1) + 0.5 * (0.45 + 0.1))),
    Case("step rewards: the model is wrong", stepped, 0.2 * 0.5 + 0.8 * (0.5 + STEP)),
)


def total(logs: int, sizes: Sequence[int] = SIZES) -> int:
    """The number of logs that `measured` simulates."""
    return logs * len(CASES) * len(sizes)


def measured(logs: int, seed: int, sizes: Sequence[int] = SIZES, advance: Callable[[], object] = str) -> list[Row]:
    """The coverage of each estimator in each world, for each length of the logs; `advance` is called after each log."""
    rows = []
    for case in CASES:
        for size in sizes:
            found: dict[str, list[list[float]]] = {name: [] for name in ESTIMATORS}  # value and ends, less the truth
            for trial in range(logs):
                world = case.world(size, seed, trial)
                log = logged(world, softmax(world.means, 0.2, 0.2), seed, trial)
                policy = target(log.features)
                for name, estimator in ESTIMATORS.items():
                    try:
                        one = estimator(log, policy, confidence=CONFIDENCE)
                    except ValueError:  # an action has too few rows for the model; `logs` counts the others
                        continue
                    found[name].append([end - case.truth for end in (one.value, one.low, one.high)])
                advance()
            rows += [_row(case.title, name, size, np.array(every)) for name, every in found.items() if every]
    return rows


def _row(world: str, estimator: str, rows: int, every: Floats) -> Row:
    errors, lower, upper = every.T
    held, n = int(((lower <= 0) & (upper >= 0)).sum()), len(errors)
    low = float(beta.ppf(0.025, held, n - held + 1)) if held else 0.0
    high = float(beta.ppf(0.975, held + 1, n - held)) if held < n else 1.0
    return Row(world, estimator, rows, n, held / n, low, high, float(errors.mean()), float((upper - lower).mean()))


def write(folder: Path, rows: Sequence[Row]) -> list[Path]:
    """Write ope.csv and the figure; returns the paths."""
    from privbandits_cli.figures import plot
    from privbandits_cli.figures.coverage_plot import figure

    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(Row._fields)
    table.writerows([*row[:4], *(f"{value:.6g}" for value in row[4:])] for row in rows)
    write_atomically(folder / f"{NAME}.csv", text.getvalue().encode())
    lines = [(row.world, row.estimator, row.rows, row.coverage, row.low, row.high) for row in rows]
    return [folder / f"{NAME}.csv", *plot.save(figure(lines, max(row.logs for row in rows)), folder, NAME, FORMATS)]
