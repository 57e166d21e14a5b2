"""In how many games an algorithm loses less than another one, each at its best: results/wins.csv and the figure.

wins_best.csv, beside it, says which parameters were chosen. Without folders, the games are those of four tables.

    .venv/bin/python configs/wins.py
    .venv/bin/python configs/wins.py results/oracle_iris results/oracle_wine --out elsewhere

A game is an adversary of a folder, for example a table with classes. In each game and at each ε an algorithm is
represented by those parameters whose mean final regret is the least: the best of the grid that was played. They are
chosen by the trials that are reported, and the choice is not private, so that the regrets are smaller than those of
parameters that are chosen beforehand. a beats b in a game if its regret is smaller by more than rounding; a tie is half
a win. This is the protocol of the repository private-contextual-bandits of alex-rbch (2026).

The interval of a rate is a bootstrap over trials: 2,000 times the trials are drawn again, the same ones for all games
and algorithms, because a trial has the same random numbers in all of them, and the best parameters are chosen anew. So
it says what chance does in these games, and nothing of other games. It rests on the trials that were played: `open`
counts the games that one further trial could turn.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from privbandits_cli.analysis import measured
from privbandits_cli.analysis.estimates import mean, two
from privbandits_cli.analysis.format import counted, csv_text
from privbandits_cli.analysis.measured import Measured
from privbandits_cli.cli.app import fail, filled, reported
from privbandits_cli.cli.terminal import print_table
from privbandits_cli.experiment.files import write_atomically
from privbandits_cli.figures import plot
from privbandits_cli.figures.layout import COLUMN
from privbandits_cli.figures.mpl import Axes, styled
from privbandits_cli.figures.plot import FORMATS, NOTE, Figure, canvas, finish
from privbandits_cli.figures.words import escaped, wrapped
from privbandits_cli.numerics.streams import stream
from privbandits_cli.numerics.types import Floats

TABLES = tuple(Path("results") / f"oracle_{name}" for name in ("iris", "wine", "breast_cancer", "digits"))
CELL = 0.28  # inches
NAMES = 0.62  # inches beside a matrix
DRAWS = 2000
TIE = 1e-12
ENDS = (0.025, 0.975)


@dataclass(frozen=True)
class Best:
    """An algorithm at its best in a game."""

    game: str
    epsilon: float  # infinite without privacy
    algorithm: str  # its label
    regret: float  # the least mean final regret of its curves
    curves: int  # of which the best was chosen
    chosen: str  # the curve with that regret
    trials: int
    regrets: Mapping[int, float]  # of that curve, by trial
    drawn: Floats  # the least mean regret of each bootstrap sample, [draws]


@dataclass(frozen=True)
class Rate:
    """How often an algorithm beats an opponent."""

    epsilon: float
    algorithm: str
    opponent: str
    games: int  # that both have played
    rate: float  # wins and half of the ties, as a part of the games
    low: float
    high: float
    open: int  # games whose winner one further trial, twice as far from the mean as any so far, could change


def best_of(folders: Sequence[Path]) -> list[Best]:
    """Every algorithm at its best in every game, the largest ε first.

    FileNotFoundError or ValueError if a folder has no results, a curve has not played the trials of the others, or two
    folders have the same game.
    """
    found = [best for folder in folders for best in _in_folder(folder)]
    places = [(best.game, best.epsilon, best.algorithm) for best in found]
    twice = next((place for place in places if places.count(place) > 1), None)
    if twice:
        raise ValueError(f"{twice[0]} is in two folders: a game counts once")
    return sorted(found, key=lambda best: -best.epsilon)


def _in_folder(folder: Path) -> Iterator[Best]:
    groups: dict[tuple[str, float, str], list[Measured]] = {}
    every = measured.read(folder).values()
    several = len({curve.game for curve in every}) > 1
    for curve in every:
        epsilon = curve.parameters["algorithm"].get("epsilon")
        game = folder.resolve().name + (f": {curve.parameters['adversary'].get('label') or curve.adversary}" * several)
        groups.setdefault((game, math.inf if epsilon is None else epsilon, curve.legend.base), []).append(curve)
    for (game, epsilon, name), curves in groups.items():
        trials = curves[0].finals.keys()
        other = next((curve for curve in every if curve.finals.keys() != trials), None if trials else curves[0])
        if other:
            raise ValueError(f"{folder}: {other.title} has not played the trials of the others: run it again")
        if len({curve.game for curve in curves}) > 1:
            raise ValueError(
                f"{folder}: {game} is the name of several games: give each adversary a label, and a "
                "horizon or dimension one value"
            )
        regrets = np.array([[curve.finals[trial] for trial in trials] for curve in curves])  # [curves, trials]
        means = regrets.mean(axis=1)
        chosen = curves[int(means.argmin())]
        shares = _shares(len(trials))
        drawn = np.array([(own[:, None] * shares).sum(axis=0) for own in regrets]).min(axis=0)
        yield Best(
            game, epsilon, name, float(means.min()), len(curves), _named(chosen), len(trials), chosen.finals, drawn
        )


def _named(curve: Measured) -> str:
    """The swept parameters of a curve, but for ε."""
    return ", ".join(f"{name} = {value}" for name, value in curve.swept.items() if name != "epsilon")


def _shares(n: int) -> Floats:
    """How often each of n trials is in each bootstrap sample, as a part of n, `[n, draws]`."""
    counts = stream(0, "wins", trial=0).multinomial(n, np.full(n, 1 / n), DRAWS)
    return counts.T / n


def rates(every: Sequence[Best]) -> list[Rate]:
    """The rate of each ordered pair at each ε, of the games that both have played at that ε."""
    out = []
    for epsilon in dict.fromkeys(best.epsilon for best in every):
        level = [best for best in every if best.epsilon == epsilon]
        names = dict.fromkeys(best.algorithm for best in level)
        games = {name: {best.game: best for best in level if best.algorithm == name} for name in names}
        for a in names:
            for b in (name for name in names if name != a):
                both = [(games[a][game], games[b][game]) for game in games[a] if game in games[b]]
                if both:
                    rate = float(np.mean([_won(one.regret, other.regret) for one, other in both]))
                    drawn = np.mean([_won(one.drawn, other.drawn) for one, other in both], axis=0)
                    low, high = np.quantile(drawn, ENDS, method="nearest")
                    unsure = sum(_open(one, other) for one, other in both)
                    out.append(Rate(epsilon, a, b, len(both), rate, float(low), float(high), unsure))
    return out


def _open(one: Best, other: Best) -> bool:
    """Whether one further trial of the chosen curves could change who has less regret."""
    pair = two(mean(one.regrets), mean(other.regrets))
    won = _won(pair.a.value, pair.b.value)
    return any(_won(further.value, 0.0) != won for further in pair.further(1.0))


def _won(one: Floats | float, other: Floats | float) -> Floats:
    """1 where one is smaller, ½ where they are equal, else 0."""
    difference, room = np.subtract(one, other), TIE * np.maximum(1.0, np.abs(other))
    return np.where(difference < -room, 1.0, np.where(difference > room, 0.0, 0.5))


def show(every: Sequence[Rate], best: Sequence[Best]) -> None:
    """Print a matrix for each ε, and what was chosen."""
    for epsilon in dict.fromkeys(rate.epsilon for rate in every):
        own = [rate for rate in every if rate.epsilon == epsilon]
        names = list(dict.fromkeys(rate.algorithm for rate in own))
        cells = {(rate.algorithm, rate.opponent): f"{100 * rate.rate:.0f} %" for rate in own}
        rows = [[f"{i} {a}", *(cells.get((a, b), "–") for b in names)] for i, a in enumerate(names, 1)]
        print_table([level(epsilon), *(f"beats {i}" for i in range(1, len(names) + 1))], rows)
        print()
    games = dict.fromkeys(one.game for one in best)
    unsure, pairs = sum(rate.open for rate in every) // 2, sum(rate.games for rate in every) // 2
    notes = (
        f"{counted(len(games), 'game')} ({'; '.join(games)}). Each algorithm is at the best of its grid in each game, "
        "chosen by the trials that are reported; this choice is not private. A tie is half a win. One further trial, "
        f"twice as far from the mean as any so far, could change the winner of {unsure:,} of {pairs:,} pairs. "
        "The CSVs have the intervals, these numbers and what was chosen."
    )
    print(filled(notes))


def table(rows: Sequence[Best] | Sequence[Rate]) -> str:
    """A CSV of all that does not belong to single trials; ε is empty without privacy."""
    names = [field.name for field in fields(rows[0]) if field.name not in ("regrets", "drawn")]
    made = (vars(row) | {"epsilon": row.epsilon if math.isfinite(row.epsilon) else ""} for row in rows)
    return csv_text([names, *([row[name] for name in names] for row in made)])


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
        out, axes = canvas((max(COLUMN, side * columns), (side + 0.15) * rows + 0.45), rows, columns)
        for axis, epsilon in zip(axes, levels, strict=False):
            _matrix(axis, [rate for rate in rates if rate.epsilon == epsilon])
            axis.set_title(level(epsilon))
        games = max(rate.games for rate in rates)
        note = (
            f"The row loses less than the column in so many per cent of {counted(games, 'game')} (a tie is a half), "
            f"below with 95 % bootstrap intervals over the trials, {trials} or more of each game. Each is at the best "
            "of its grid in each game, chosen by the trials that are reported; this choice is not private."
        )
        out.supxlabel(wrapped(note, out.get_figwidth() - 0.2, NOTE), fontsize=NOTE)
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
        axis.text(j, i + 0.26, ends, ha="center", va="center", fontsize=4.5, color=ink)
    axis.imshow(values, cmap="PuOr", vmin=-0.1, vmax=1.1)
    axis.set_xticks(range(len(names)), [escaped(name) for name in names], rotation=40, ha="right", fontsize=6)
    axis.set_yticks(range(len(names)), [escaped(name) for name in names], fontsize=6)
    axis.tick_params(length=0)
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)


def main(
    folders: Annotated[list[Path] | None, typer.Argument(help="Results folders, each with other games.")] = None,
    out: Annotated[Path, typer.Option(help="A folder to write to.")] = Path("results"),
) -> None:
    """Count in how many games each algorithm loses less than each other one.

    A game is an adversary of a results folder, for example a table with classes.
    """
    if not out.is_dir():
        raise fail(f"{out}: no such folder")
    for folder in folders or TABLES:
        if not (folder / "summary.csv").exists() or not (folder / "final.csv").exists():
            raise fail(f"{folder}: there is no summary.csv with final.csv: give a results folder written by `run`")
    with reported(ValueError, OSError):
        best = best_of(folders or TABLES)
    found = rates(best)
    if not found:
        raise fail("no two algorithms have played the same game at the same ε")
    show(found, best)
    write_atomically(out / "wins.csv", table(found).encode())
    write_atomically(out / "wins_best.csv", table(best).encode())
    plot.save(figure(found, min(one.trials for one in best)), out, "wins", FORMATS)


if __name__ == "__main__":
    typer.run(main)
