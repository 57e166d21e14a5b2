"""How often the intervals of `privbandits evaluate` hold the truth: results/ope.csv, and the figure as PDF, PNG, SVG.

Logs of 50 to 2,000 rows are simulated in two worlds, 1,000 of each length. This takes half a minute.

    .venv/bin/python configs/ope.py

Contexts are uniform in [-1, 1]², and rewards are 0 or 1. In the first world the mean reward of each of three actions is
linear in the context, so that the linear model is right. In the second one it is a step, and the model is wrong. The
policy plays action 0 where x1 > 0 and action 1 elsewhere, and with probability 1/5 a uniform action; the log is that of
another policy. All true values are exact.
"""

import math
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from scipy.stats import binomtest

from privbandits_cli.actions.logs import ESTIMATORS
from privbandits_cli.analysis.format import csv_text
from privbandits_cli.analysis.simulated_logs import World, linear_world, logged, softmax
from privbandits_cli.cli import terminal
from privbandits_cli.cli.app import fail, filled
from privbandits_cli.experiment.files import write_atomically
from privbandits_cli.figures import plot
from privbandits_cli.figures.layout import PAGE
from privbandits_cli.figures.mpl import FixedLocator, NullLocator, styled
from privbandits_cli.figures.plot import FORMATS, Figure, canvas, finish
from privbandits_cli.figures.styles import HUES, MARKERS, STROKES
from privbandits_cli.numerics.streams import stream
from privbandits_cli.numerics.types import Floats

LOGS, SEED = 1000, 1  # simulated logs of each length
SIZES = (50, 100, 200, 500, 1000, 2000)
CONFIDENCE = 0.95
LOWEST = 0.6  # coverage at the lower end of the axis
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


def measured(case: Case, size: int, logs: int) -> list[Row]:
    """The coverage of each estimator in a world, on so many logs of `size` rows."""
    found: dict[str, list[list[float]]] = {name: [] for name in ESTIMATORS}  # value and ends, less the truth
    for trial in range(logs):
        world = case.world(size, SEED, trial)
        log = logged(world, softmax(world.means, 0.2, 0.2), SEED, trial)
        policy = target(log.features)
        for name, estimator in ESTIMATORS.items():
            try:
                one = estimator(log, policy, confidence=CONFIDENCE)
            except ValueError:  # an action has too few rows for the model; `logs` counts the others
                continue
            found[name].append([end - case.truth for end in (one.value, one.low, one.high)])
    return [_row(case.title, name, size, np.array(every)) for name, every in found.items() if every]


def _row(world: str, estimator: str, rows: int, every: Floats) -> Row:
    errors, lower, upper = every.T
    held, n = int(((lower <= 0) & (upper >= 0)).sum()), len(errors)
    low, high = binomtest(held, n).proportion_ci()
    return Row(world, estimator, rows, n, held / n, low, high, float(errors.mean()), float((upper - lower).mean()))


def show(rows: Sequence[Row]) -> None:
    """Print the coverage of intervals, a table for each world."""
    for world in dict.fromkeys(row.world for row in rows):
        found = {(row.estimator, row.rows): f"{100 * row.coverage:.1f} %" for row in rows if row.world == world}
        cells = [[f"{size:,}", *(found.get((name, size), "–") for name in ESTIMATORS)] for size in SIZES]
        terminal.print_table([world, *(terminal.ESTIMATORS[name] for name in ESTIMATORS)], cells)
        print()
    logs = max(row.logs for row in rows)
    error = 100 * 1.96 * math.sqrt(0.95 * 0.05 / logs)
    notes = (
        f"Rows of a log, and the share of {logs:,} logs (those with an estimate) whose 95 % interval holds the truth. "
        f"Chance moves a share of 95 % by up to {error:.1f} points (with probability 95 %)."
    )
    print(filled(notes))


def write(rows: Sequence[Row], folder: Path) -> None:
    """Write ope.csv and the figure."""
    cells = ([*row[:4], *(f"{value:.6g}" for value in row[4:])] for row in rows)
    write_atomically(folder / "ope.csv", csv_text([Row._fields, *cells]).encode())
    plot.save(figure(rows), folder, "ope", FORMATS)


def figure(rows: Sequence[Row]) -> Figure:
    """Draw the coverage of 95 % intervals; coverages below the axis are marked at its lower end."""
    worlds = list(dict.fromkeys(row.world for row in rows))
    with styled():
        out, axes = canvas((PAGE, 2.7), 1, len(worlds), sharey=True)
        for axis, world in zip(axes, worlds, strict=True):
            axis.axhline(CONFIDENCE, color="#444444", lw=0.8, ls=(0, (1, 1.5)))
            for i, estimator in enumerate(ESTIMATORS):
                own = [row for row in rows if (row.world, row.estimator) == (world, estimator)]
                sizes, coverage, low, high = np.array([(o.rows, o.coverage, o.low, o.high) for o in own], float).T
                style: dict[str, Any] = {"color": HUES[i], "marker": MARKERS[i], "ls": (0, STROKES[i] or None)}
                apart = sizes * 1.03 ** (i - 1.5)  # so that bars stand beside each other
                shown = np.maximum(coverage, LOWEST)
                bars = np.array([shown - np.maximum(low, LOWEST), np.maximum(high, LOWEST) - shown])
                name = terminal.ESTIMATORS[estimator]
                axis.errorbar(apart, shown, bars, label=name, elinewidth=0.6, capsize=1.5, **style)
                for x, value in zip(apart, coverage, strict=True):
                    if value < LOWEST:
                        axis.text(x, LOWEST + 0.008, f"{100 * value:.0f} %", ha="center", va="bottom", fontsize=6)
            axis.set_xscale("log")
            axis.xaxis.set_major_locator(FixedLocator(sorted({row.rows for row in rows})))
            axis.xaxis.set_minor_locator(NullLocator())
            axis.xaxis.set_major_formatter(lambda value, position: f"{value:,.0f}")
            axis.set_title(world)
            axis.set_xlabel("rows of the log")
        axes[0].set_ylim(LOWEST, 1.0)
        axes[0].set_ylabel("coverage of 95 % intervals")
        handles, labels = axes[0].get_legend_handles_labels()
        title = f"{max(row.logs for row in rows):,} simulated logs; bars: 95 % intervals of the coverage"
        out.legend(handles, labels, loc="outside lower center", ncols=4, title=title)
        finish(out, [], 1, 1)
        return out


def main(results: Annotated[Path, typer.Argument(help="A folder to write to.")] = Path("results")) -> None:
    """Show how often the intervals of `privbandits evaluate` hold the true value, on simulated logs."""
    if not results.is_dir():
        raise fail(f"{results}: no such folder")
    cases = list(product(CASES, SIZES))
    bar = track(cases, "simulating logs", console=Console(stderr=True))
    rows = [row for case, size in bar for row in measured(case, size, LOGS)]
    show(rows)
    write(rows, results)


if __name__ == "__main__":
    typer.run(main)
