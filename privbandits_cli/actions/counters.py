"""The noise of the counters at a privacy level: as plain data, as a CSV and as a figure."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from privbandits_cli.accounting.counters import COUNTERS, rms
from privbandits_cli.accounting.gaussian import mu_of
from privbandits_cli.accounting.toeplitz import least_rms
from privbandits_cli.experiment.files import write_atomically

NAME = "counters"
FORMATS = ("pdf", "png", "svg")
AN_OCTAVE = 4  # points of a curve between t and 2t


def counters(horizon: int, epsilon: float, delta: float) -> list[dict[str, Any]]:
    """One row for each counter, by the law of its noise: E max, E rms, and the deviation at (ε, δ), root mean square.

    The last row is the bound for all factorisations with Gaussian noise. horizon: T >= 2; T - 1 items are summed.
    """
    n = horizon - 1
    private = {"Gaussian": mu_of(epsilon, delta), "Laplace": epsilon}
    rows = []
    for counter in COUNTERS:
        errors = counter.errors(n)
        made = {"counter": counter.name, "noise": counter.law, "memory": counter.memory}
        size = {"max": float(errors.max()), "rms": rms(errors), "deviation": rms(errors) / private[counter.law]}
        rows.append(made | size | {"source": counter.source})
    least = least_rms(n)
    bound = {"max": None, "rms": least, "deviation": least / private["Gaussian"]}
    return [*rows, {"counter": "bound", "noise": "Gaussian", "memory": "", **bound, "source": "any factorisation"}]


def draw(horizon: int, folder: Path) -> list[Path]:
    """Write counters.csv, E_t of every counter and its root mean square up to t, and the figure; returns the paths."""
    from privbandits_cli.figures import plot
    from privbandits_cli.figures.counters_plot import Noise, figure

    n = horizon - 1
    t = np.unique(np.append(np.round(2 ** np.arange(0, np.log2(n), 1 / AN_OCTAVE)), n)).astype(np.int64)
    rows: list[tuple[str, ...]] = [("noise", "counter", "t", "E", "rms")]
    found = []
    for counter in COUNTERS:
        errors = counter.errors(n)
        so_far = np.sqrt(np.cumsum(errors**2) / np.arange(1, n + 1))
        found.append(Noise(counter.name, counter.law, t, so_far[t - 1]))
        points = zip(t, errors[t - 1], so_far[t - 1], strict=True)
        rows += [(counter.law, counter.name, str(one), f"{at:.6g}", f"{mean:.6g}") for one, at, mean in points]
    least = np.array([least_rms(int(one)) for one in t])
    rows += [("Gaussian", "bound", str(one), "", f"{bound:.6g}") for one, bound in zip(t, least, strict=True)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_atomically(folder / f"{NAME}.csv", text.getvalue().encode())
    return [folder / f"{NAME}.csv", *plot.save(figure(found, least), folder, NAME, FORMATS)]
