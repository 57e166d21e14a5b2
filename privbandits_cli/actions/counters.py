"""The noise of the counters at a privacy level: as plain data, as a CSV and as a figure."""

import csv
import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from privbandits_cli.accounting.gaussian import mu_of
from privbandits_cli.accounting.toeplitz import least_rms
from privbandits_cli.experiment.files import write_atomically
from privbandits_cli.mechanisms.blt import Buffered
from privbandits_cli.mechanisms.counter import Law, Noise
from privbandits_cli.mechanisms.fresh_top_up import FreshTopUp
from privbandits_cli.mechanisms.honaker import Honaker
from privbandits_cli.mechanisms.k_ary import KAryTree
from privbandits_cli.mechanisms.matrix_tree import Redrawn
from privbandits_cli.mechanisms.negative_digits import NegativeDigits
from privbandits_cli.mechanisms.shared_top_up import SharedTopUp
from privbandits_cli.mechanisms.smooth import SmoothTree
from privbandits_cli.mechanisms.square_root import SquareRoot

NAME = "counters"
FORMATS = ("pdf", "png", "svg")
AN_OCTAVE = 4  # points of a curve between t and 2t


class Row(NamedTuple):
    """A counter in the table: its name, the law of its noise, how to make it for n prefixes, and its source.

    memory: how many numbers it keeps for each coordinate, up to a factor: "T", "log T", or a number.
    """

    name: str
    law: Law
    make: Callable[[int, Law], Noise]
    memory: str
    source: str

    def counter(self, n: int) -> Noise:
        """The counter for n prefixes."""
        return self.make(n, self.law)


TREE, SMOOTH = "Chan, Shi & Song 2011", "Andersson & Pagh 2023"
COUNTERS = (
    Row("tree, shared top-up", "gaussian", SharedTopUp, "log T", TREE),
    Row("tree, fresh top-up", "gaussian", FreshTopUp, "log T", "Agarwal & Singh 2017"),
    Row("tree, redrawn", "gaussian", Redrawn, "log T", "Shariff & Sheffet 2018"),
    Row("tree", "gaussian", KAryTree, "log T", TREE),
    Row("tree, smoothed", "gaussian", Honaker, "log T", "Honaker 2015"),
    Row("smooth binary", "gaussian", SmoothTree.best, "log T", SMOOTH),
    Row("BLT, 3 buffers", "gaussian", partial(Buffered, buffers=3), "3", "Dvijotham et al. 2024"),
    Row("BLT, 5 buffers", "gaussian", partial(Buffered, buffers=5), "5", "Dvijotham et al. 2024"),
    Row("square root", "gaussian", SquareRoot, "T", "Fichtenberger et al. 2023"),
    Row("tree, top-up", "laplace", FreshTopUp, "log T", "Agarwal & Singh 2017"),
    Row("tree", "laplace", KAryTree, "log T", TREE),
    Row("k-ary tree", "laplace", KAryTree.best, "log T", "Qardaji, Yang & Li 2013"),
    Row("k-ary, negative digits", "laplace", NegativeDigits.best, "log T", "Andersson et al. 2024"),
    Row("smooth, unbalanced", "laplace", SmoothTree.best, "log T", SMOOTH),
)


def counters(horizon: int, epsilon: float, delta: float) -> list[dict[str, Any]]:
    """One row for each counter, sorted by the law of its noise.

    A row has the largest E_t, its root mean square over all prefixes, and the root mean square deviation at (ε, δ). The
    last row is the bound for all factorisations with Gaussian noise. horizon: T >= 2; T - 1 items are summed.
    """
    n = horizon - 1
    private: dict[Law, float] = {"gaussian": mu_of(epsilon, delta), "laplace": epsilon}
    rows = []
    for row in COUNTERS:
        counter = row.counter(n)
        made = {"counter": row.name, "noise": row.law.title(), "memory": row.memory}
        size = {"max": counter.largest(), "rms": counter.rms(), "deviation": counter.rms() / private[row.law]}
        rows.append(made | size | {"source": row.source})
    least = least_rms(n)
    bound = {"max": None, "rms": least, "deviation": least / private["gaussian"]}
    return [*rows, {"counter": "bound", "noise": "Gaussian", "memory": "", **bound, "source": "any factorisation"}]


def draw(horizon: int, folder: Path) -> list[Path]:
    """Write counters.csv, E_t of every counter and its root mean square up to t, and the figure; returns the paths."""
    from privbandits_cli.figures import plot
    from privbandits_cli.figures.counters_plot import Curve, figure

    n = horizon - 1
    t = np.unique(np.append(np.round(2 ** np.arange(0, np.log2(n), 1 / AN_OCTAVE)), n)).astype(np.int64)
    rows: list[tuple[str, ...]] = [("noise", "counter", "t", "E", "rms")]
    found = []
    for row in COUNTERS:
        name, law, errors = row.name, row.law.title(), row.counter(n).errors(np.arange(1, n + 1))
        so_far = np.sqrt(np.cumsum(errors**2) / np.arange(1, n + 1))
        found.append(Curve(name, law, t, so_far[t - 1]))
        points = zip(t, errors[t - 1], so_far[t - 1], strict=True)
        rows += [(law, name, str(one), f"{at:.6g}", f"{mean:.6g}") for one, at, mean in points]
    least = np.array([least_rms(int(one)) for one in t])
    rows += [("Gaussian", "bound", str(one), "", f"{bound:.6g}") for one, bound in zip(t, least, strict=True)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_atomically(folder / f"{NAME}.csv", text.getvalue().encode())
    return [folder / f"{NAME}.csv", *plot.save(figure(found, least), folder, NAME, FORMATS)]
