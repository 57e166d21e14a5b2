"""Win rates over results folders: as plain data, as CSVs and as a figure."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from privbandits_cli.analysis import wins
from privbandits_cli.analysis.wins import Best, Rate
from privbandits_cli.experiment.files import write_atomically

NAME = "wins"
FORMATS = ("pdf", "png", "svg")


def found(folders: Sequence[Path]) -> tuple[list[Best], list[Rate]]:
    """Every algorithm at its best in every game, and the rates; ValueError if no two have played the same game."""
    best = wins.best_of(folders)
    rates = wins.rates(best)
    if not rates:
        raise ValueError("no two algorithms have played the same game at the same ε")
    return best, rates


def rows_of_rates(rates: Iterable[Rate]) -> list[dict[str, Any]]:
    """One row for each ordered pair; epsilon: None without privacy."""
    return [vars(rate) | {"epsilon": _finite(rate.epsilon)} for rate in rates]


def rows_of_best(best: Iterable[Best]) -> list[dict[str, Any]]:
    """One row for each algorithm in each game; epsilon: None without privacy."""
    every = [vars(one) | {"epsilon": _finite(one.epsilon)} for one in best]
    return [{name: value for name, value in row.items() if name not in ("regrets", "drawn")} for row in every]


def _finite(epsilon: float) -> float | None:
    return epsilon if epsilon < float("inf") else None


def write(folder: Path, best: Sequence[Best], rates: Sequence[Rate]) -> list[Path]:
    """Write wins.csv, wins_best.csv, which says what was chosen, and the figure; returns the paths."""
    from privbandits_cli.figures import plot
    from privbandits_cli.figures.wins_plot import figure

    paths = [folder / f"{NAME}.csv", folder / f"{NAME}_best.csv"]
    for path, rows in zip(paths, (rows_of_rates(rates), rows_of_best(best)), strict=True):
        text = io.StringIO()
        table = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
        write_atomically(path, text.getvalue().encode())
    return [*paths, *plot.save(figure(rates, min(one.trials for one in best)), folder, NAME, FORMATS)]
