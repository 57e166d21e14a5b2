"""Win rates -> Figure: a matrix for each ε; a row beats a column in so many per cent of the games."""

import math
import textwrap
from collections.abc import Sequence

import numpy as np

from privbandits_cli.analysis.format import counted
from privbandits_cli.analysis.wins import Rate
from privbandits_cli.figures.mpl import Axes, FigureCanvasAgg, styled
from privbandits_cli.figures.plot import COLUMN, Figure, escaped, finish

CELL = 0.36  # inches
NAMES = 0.75  # inches beside a matrix


def level(epsilon: float) -> str:
    """The title of a matrix."""
    return "without privacy" if math.isinf(epsilon) else f"ε = {epsilon:g}"


def figure(rates: Sequence[Rate], trials: int) -> Figure:
    """Draw a matrix for each ε, three beside each other; trials: the fewest of a game."""
    levels = list(dict.fromkeys(rate.epsilon for rate in rates))
    most = max(len({rate.algorithm for rate in rates if rate.epsilon == epsilon}) for epsilon in levels)
    columns = min(3, len(levels))
    rows = math.ceil(len(levels) / columns)
    side = CELL * most + NAMES
    with styled():
        out = Figure(figsize=(max(COLUMN, side * columns), (side + 0.15) * rows + 0.45), layout="constrained")
        FigureCanvasAgg(out)
        axes = list(out.subplots(rows, columns, squeeze=False).flat)
        for axis, epsilon in zip(axes, levels, strict=False):
            _matrix(axis, [rate for rate in rates if rate.epsilon == epsilon])
            axis.set_title(level(epsilon))
        games = max(rate.games for rate in rates)
        note = (
            f"The row loses less than the column in so many per cent of {counted(games, 'game')} (a tie is a half), "
            f"below with 95 % bootstrap intervals over the trials, {trials} or more of each game. Each is at the best "
            "of its grid in each game, chosen by the trials that are reported; this choice is not private."
        )
        out.supxlabel(textwrap.fill(note, int(out.get_figwidth() * 21)), fontsize=5.5)
        finish(out, axes[len(levels) :], 1, 1)
        return out


def _matrix(axis: Axes, rates: Sequence[Rate]) -> None:
    names = list(dict.fromkeys(rate.algorithm for rate in rates))
    values = np.full((len(names), len(names)), np.nan)
    for rate in rates:
        i, j = names.index(rate.algorithm), names.index(rate.opponent)
        values[i, j] = rate.rate
        ink = "white" if abs(rate.rate - 0.5) > 0.35 else "#222222"
        axis.text(j, i - 0.12, f"{100 * rate.rate:.0f}", ha="center", va="center", fontsize=6.5, color=ink)
        ends = f"{100 * rate.low:.0f}–{100 * rate.high:.0f}"
        axis.text(j, i + 0.26, ends, ha="center", va="center", fontsize=4, color=ink)
    axis.imshow(values, cmap="PuOr", vmin=-0.1, vmax=1.1)
    axis.set_xticks(range(len(names)), [escaped(name) for name in names], rotation=40, ha="right", fontsize=5.5)
    axis.set_yticks(range(len(names)), [escaped(name) for name in names], fontsize=5.5)
    axis.tick_params(length=0)
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)
