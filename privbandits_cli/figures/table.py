"""summary.csv -> Table: the lines of each panel, ready to draw.

Everything drawn stands in the CSV; a config beside it adds the title and the error bars' kind.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from privbandits_cli.analysis import curves, sweeps
from privbandits_cli.analysis.curves import Curves
from privbandits_cli.analysis.rates import Rate, rates
from privbandits_cli.analysis.sweeps import Curve, Row
from privbandits_cli.experiment.keys import Keys, Plot, Price
from privbandits_cli.experiment.settings import settings
from privbandits_cli.figures import prices
from privbandits_cli.figures.line import Line
from privbandits_cli.games import arms
from privbandits_cli.games.players import Adversary, Algorithm
from privbandits_cli.numerics.types import Floats
from privbandits_cli.plugins.registry import Registry

BARS = {
    "gini": "Gini's mean difference below and above",
    "sd": "one standard deviation",
    "quantiles": "5 % and 95 % quantiles",
    "bootstrap": "95 % bootstrap interval of the mean",
}
X_LABELS = {"blur": "η × deviation of the noise"}
CENTRES = {"median_of_means": "median of means", "mean": "mean", "median": "median"}


GAME = (
    "game",
    "arms",
    "set",
    "dimension",
    "feedback",
    "planned_horizon",
)  # the keys of a config that say what theory speaks of
UNNAMED = {"experiment": "unnamed", "trials": 1, "adversary": None, "algorithms": None}


class Game(NamedTuple):
    """What theory is asked about: a config's keys of the game, and where its players' names are found."""

    keys: dict[str, Any]
    registry: Registry


@dataclass(frozen=True)
class Table:
    """A summary.csv with what its config adds."""

    title: str
    panels: dict[str, list[Line]]
    x_label: str
    centre: str
    bars: str
    bar_rounds: int
    log: bool
    wanted: int  # trials of a complete curve
    price: Price | None = None  # where regrets are compared with that of a floor
    floor: str = ""  # the name of the floor in a figure

    @property
    def fewest(self) -> int:
        """Trials of the line that has least."""
        return min(line.trials for lines in self.panels.values() for line in lines)

    def labels(self) -> tuple[str, str]:
        """What stands at the axes."""
        regret = "regret" if self.x_label == "round" else "final regret"
        return X_LABELS.get(self.x_label, self.x_label), f"{regret} / {self.floor}'s" if self.ratio else regret

    def notes(self) -> list[str]:
        """What the lines and bars of the figure are."""
        every = [line for lines in self.panels.values() for line in lines]
        notes = [f"{self.centre} of {self.fewest} trials", f"bars: {self.bars}"]
        if any(line.bound is not None for line in every):
            notes.append("dotted: the theorem's bound")
        if any(line.free is not None for line in every):
            notes.append(f"dotted down: from there on within {self.free:.0%} of {self.floor}")
        if any(line.rates for line in every):
            notes.append("thin: of every learner as private; orders are drawn with constant 1")
        return notes

    def named(self) -> list[tuple[str, str]]:
        """(algorithm, label) of each line."""
        return [(line.algorithm, line.label) for lines in self.panels.values() for line in lines]

    @property
    def ratio(self) -> bool:
        """Whether regrets are multiples of the floor's."""
        return self.price is not None and self.price.ratio

    @property
    def free(self) -> float:
        """What part more than the floor's counts as free."""
        return self.price.free if self.price else 0.0


def read(folder: Path, bounds: bool = False, against: str = "") -> Table:
    """Read a results folder; `against`, where given, is the swept parameter on the axis.

    Raises FileNotFoundError or ValueError with what is wrong.
    """
    return table(curves.read(folder, against), bounds)


def table(found: Curves, bounds: bool = False) -> Table:
    """The lines of the curves."""
    config, plot, swept = found.config, found.plot, found.swept
    summary = config.get("summary", {})
    bars, against = summary.get("bars", "gini"), plot.against
    game = {key: config[key] for key in GAME if key in config}
    theory = Game(game, found.registry) if bounds or plot.bounds else None
    lines = {
        title: _swept_lines(members, plot, swept, bars, theory)
        if against
        else [_line(curve, "round", bars, theory) for curve in members]
        for title, members in found.panels().items()
    }
    if len(lines) == 1:  # a legend has room for one panel's slopes
        lines = {title: [_titled(line) for line in members] for title, members in lines.items()}
    if plot.price:
        lines = {title: _priced(members, plot.price) for title, members in lines.items()}
    return Table(
        title=config.get("title", ""),
        panels=lines,
        x_label=against or "round",
        centre=CENTRES[summary.get("centre", "median_of_means")],
        bars=BARS[bars],
        bar_rounds=plot.bars,
        log=plot.log,
        wanted=config.get("trials", max(int(row["trials"]) for curve in found.every for row in curve)),
        price=plot.price,
        floor=found.registry.find("algorithms", plot.price.floor).display if plot.price else "",
    )


def _priced(lines: list[Line], price: Price) -> list[Line]:
    """The lines with where privacy is free, and as multiples of the floor where that is asked for."""
    lines = [replace(line, free=prices.free_from(line, lines, price.floor, price.free)) for line in lines]
    return prices.as_multiples(lines, price.floor) if price.ratio else lines


def _swept_lines(members: list[Curve], plot: Plot, swept: Sequence[str], bars: str, game: Game | None) -> list[Line]:
    """Regret at the horizon against a swept parameter; an algorithm without that parameter is a level line."""
    against, worst = plot.against, plot.worst
    folded = {against, worst} - {""}
    found = sweeps.joined(members, against, swept, folded)
    values = [float(row[against]) for rows in found for row in rows if row[against]]
    lines = []
    for rows in found:
        line = replace(_line(rows, against, bars, None), label=sweeps.named(rows[0], swept, folded))
        line = replace(line, game=sweeps.game(rows[0], swept, folded))
        if worst and rows[0][worst]:  # not of an adversary without that parameter
            line = replace(line, worst=tuple(float(row[worst]) for row in rows))
        if not rows[0][against]:  # drawn from end to end, without bars
            none = np.zeros(2)
            level = np.repeat(line.regret[:1], 2)
            ends = np.array([min(values), max(values)])
            line = replace(line, x=ends, regret=level, below=none, above=none, level=True)
        elif game is not None:
            line = _with_theory(line, rows, game)
        if plot.slopes and rows[0][against] and len(rows) > 1:
            line = _with_slope(line, rows)
        lines.append(line)
    return lines


def _with_slope(line: Line, rows: Curve) -> Line:
    """The line with the slope of its means on logarithmic axes."""
    mean, sd, n = (np.array([float(row[name]) for row in rows]) for name in ("mean", "sd", "trials"))
    if (mean <= 0).any():
        return line
    slope, error = sweeps.slope(line.x, mean, sd / np.sqrt(n))
    return replace(line, slope=(slope, error))


def _titled(line: Line) -> Line:
    """The line with its slope in its label, if it has one."""
    return replace(line, label=f"{line.label}: {line.slope_text()}") if line.slope else line


def _with_theory(line: Line, rows: Curve, game: Game) -> Line:
    """The line with what is stated of each of its points, where that is stated of all of them."""
    points = [_theory(row, np.array([float(row["round"])]), game) for row in rows]
    bounds = [bound for bound, _ in points if bound is not None]
    named = [{rate.name: rate.regret for rate in found} for _, found in points]
    common = [name for name in named[0] if all(name in other for other in named)]
    return replace(
        line,
        bound=np.concatenate(bounds) if len(bounds) == len(rows) else None,
        rates=tuple(Rate(name, np.concatenate([found[name] for found in named])) for name in common),
    )


def _line(rows: Curve, x: str, bars: str, game: Game | None) -> Line:
    """One line from its rows; with the keys of its game, what theory says of it, too."""

    def column(name: str) -> Floats:
        return np.array([float(row[name] or "nan") for row in rows])

    regret = column("regret")
    below, above = {
        "gini": lambda: (column("gmd_below"), column("gmd_above")),
        "sd": lambda: (column("sd"), column("sd")),
        "quantiles": lambda: (regret - column("q05"), column("q95") - regret),
        "bootstrap": lambda: (regret - column("boot_low"), column("boot_high") - regret),
    }[bars]()
    bound, stated = (None, ()) if game is None else _theory(rows[0], column(x), game)
    return Line(
        algorithm=rows[0]["algorithm"],
        label=rows[0]["label"],
        x=column(x),
        regret=regret,
        below=np.maximum(below, 0),
        above=np.maximum(above, 0),
        trials=min(int(row["trials"]) for row in rows),
        bound=bound,
        rates=stated,
    )


def _theory(row: Row, rounds: Floats, game: Game) -> tuple[Floats | None, tuple[Rate, ...]]:
    """The algorithm's regret bound against the adversary's memory, where a theorem speaks, and rates of its problem."""
    parameters = json.loads(row["parameters"])
    parameters["adversary"].pop("label", None)
    parameters["algorithm"].pop("panel", None)
    opponent = game.registry.rebuilt("adversaries", {"name": row["adversary"]} | parameters["adversary"])
    algorithm = game.registry.rebuilt("algorithms", {"name": row["algorithm"]} | parameters["algorithm"])
    assert isinstance(opponent, Adversary) and isinstance(algorithm, Algorithm)
    swept: dict[str, Any] = {"dimension": int(row["dimension"])} if row.get("dimension") else {}
    swept |= {"set": row["set"]} if row.get("set") else {}
    keys = Keys.model_validate(UNNAMED | game.keys | swept | {"horizon": max(1, int(rounds[-1]))})
    setting = opponent.revealed(settings(keys)[0])
    if not isinstance(opponent, arms.Adversary):
        return algorithm.regret_bound(rounds, setting), ()
    bound = algorithm.regret_bound(rounds, setting, memory=opponent.reaction()[0])
    means, promised = opponent.mean_gains(setting), algorithm.guarantee(setting)
    if means is None or not algorithm.promises() or promised is None or promised.delta > 0:
        return bound, ()
    return bound, tuple(rates(rounds, setting, means, promised.epsilon, algorithm.local))
