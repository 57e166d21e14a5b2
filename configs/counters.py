"""The noise of fourteen counters at equal privacy: results/counters.csv, and the figure as PDF, PNG and SVG.

A counter releases all prefix sums of a stream whose items change by at most 1. The table on the terminal has the
standard deviation of the noise of a prefix, and what each counter needs to remember. Nothing is simulated.

    .venv/bin/python configs/counters.py
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from privbandits_cli.accounting.gaussian import mu_of
from privbandits_cli.accounting.toeplitz import least_rms
from privbandits_cli.analysis.format import amount, csv_text
from privbandits_cli.cli.app import fail, filled
from privbandits_cli.cli.terminal import print_table
from privbandits_cli.experiment.files import write_atomically
from privbandits_cli.figures import plot
from privbandits_cli.figures.layout import PAGE
from privbandits_cli.figures.mpl import styled
from privbandits_cli.figures.plot import FORMATS, Figure, canvas, finish
from privbandits_cli.figures.styles import HUES, MARKERS, STROKES
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
from privbandits_cli.numerics.types import Floats

HORIZON = 2**16  # T; the counters sum T - 1 items
EPSILON, DELTA = 1.0, 1e-6  # Laplace noise has δ = 0
AN_OCTAVE = 4  # points of a curve between t and 2t
BOUND: dict[str, Any] = {"color": "#444444", "ls": (0, (1, 1.5)), "lw": 0.9}


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


class Curve(NamedTuple):
    """The noise of a counter, as the E_t of its prefixes t: at most, and as root mean squares."""

    row: Row
    largest: float
    rms: float
    errors: Floats  # E_t at the points t of the curve
    so_far: Floats  # the root mean square of E up to these t


def points(n: int) -> NDArray[np.int64]:
    """The prefixes of 1 to n at which the curves have points."""
    return np.unique(np.append(np.round(2 ** np.arange(0, np.log2(n), 1 / AN_OCTAVE)), n)).astype(np.int64)


def curves(n: int) -> list[Curve]:
    """The noise of each counter for n prefixes."""
    found, at = [], points(n) - 1
    for row in COUNTERS:
        counter, every = row.counter(n), np.arange(1, n + 1)
        errors = counter.errors(every)
        so_far = np.sqrt(np.cumsum(errors**2) / every)
        found.append(Curve(row, counter.largest(), counter.rms(), errors[at], so_far[at]))
    return found


def show(found: Sequence[Curve], n: int) -> None:
    """Print a table for each law of the noise."""
    levels: dict[Law, float] = {"gaussian": mu_of(EPSILON, DELTA), "laplace": EPSILON}
    for law, level in levels.items():
        own = [one for one in found if one.row.law == law]
        sizes = [(one.row.name, one.row.source, one.row.memory, one.largest, one.rms) for one in own]
        bound = [("bound", "any factorisation", "", None, least_rms(n))] if law == "gaussian" else []
        rows = [[*words, *map(amount, (largest, rms, rms / level))] for *words, largest, rms in [*sizes, *bound]]
        print_table([f"{law.title()} noise", "source", "memory", "E max", "E rms", "deviation"], rows, text=2)
        print()
    notes = (
        f"deviation: of the noise of a prefix, as its root mean square over all prefixes, at ε = {EPSILON:g} and "
        f"δ = {DELTA:g} (Laplace: 0). E: the same times ε (Laplace) or times μ(ε, δ) (Gaussian). memory: numbers kept "
        "for each coordinate, up to a factor. bound: no factorisation has less Gaussian noise."
    )
    print(filled(notes))


def write(found: Sequence[Curve], n: int, folder: Path) -> None:
    """Write E_t of every counter and its root mean square up to t, and the figure."""
    t = points(n)
    least = np.array([least_rms(int(one)) for one in t])
    rows: list[tuple[object, ...]] = [("noise", "counter", "t", "E", "rms")]
    for one in found:
        lines = zip(t, one.errors, one.so_far, strict=True)
        rows += [(one.row.law.title(), one.row.name, at, f"{e:.6g}", f"{rms:.6g}") for at, e, rms in lines]
    rows += [("Gaussian", "bound", at, "", f"{bound:.6g}") for at, bound in zip(t, least, strict=True)]
    write_atomically(folder / "counters.csv", csv_text(rows).encode())
    plot.save(figure(found, t, least), folder, "counters", FORMATS)


def figure(found: Sequence[Curve], t: NDArray[np.int64], least: Floats) -> Figure:
    """Draw the root mean square of E over the first t prefixes; least: the bound for Gaussian noise, `[points]`."""
    laws = list(dict.fromkeys(one.row.law for one in found))
    with styled():
        out, axes = canvas((PAGE, 3.3), 1, len(laws))
        for axis, law in zip(axes, laws, strict=True):
            for i, one in enumerate(one for one in found if one.row.law == law):
                style: dict[str, Any] = {
                    "color": HUES[i % len(HUES)],
                    "marker": MARKERS[i],
                    "ls": (0, STROKES[i] or None),
                }
                label = f"{one.row.name} ({one.so_far[-1]:.3g})"
                axis.plot(t, one.so_far, markevery=(i % 4, 8), label=label, lw=0.9, **style)
            if law == "gaussian":
                axis.plot(t, least, label=f"bound ({least[-1]:.3g})", **BOUND)
            axis.set_xscale("log", base=2)
            axis.set_ylim(0)
            axis.set_title(f"{law.title()} noise")
            axis.set_xlabel("t")
            axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, fontsize=6)
        axes[0].set_ylabel("E, root mean square over the first t prefixes")
        finish(out, [], 1, 1)
        return out


def main(results: Annotated[Path, typer.Argument(help="A folder to write to.")] = Path("results")) -> None:
    """Compare the noise of mechanisms that sum a stream privately."""
    if not results.is_dir():
        raise fail(f"{results}: no such folder")
    n = HORIZON - 1
    found = curves(n)
    show(found, n)
    write(found, n, results)


if __name__ == "__main__":
    typer.run(main)
