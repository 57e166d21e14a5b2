"""What a report contains, as data: the experiment, its final regrets, and how numbers are written."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from privbandits_cli.analysis.format import amount, counted, parameter
from privbandits_cli.experiment.config import shipped
from privbandits_cli.figures.distributions import Distributions
from privbandits_cli.figures.line import Line
from privbandits_cli.figures.table import Table


@dataclass(frozen=True)
class ReportData:
    """The contents of a results folder, ready for a page or a paper."""

    name: str
    table: Table
    distribution: Distributions | None  # None: the final regrets of the trials are not kept
    pairs: Distributions | None  # None: no two algorithms play the same game
    privacy: list[dict[str, Any]]  # the blocks of the ledger
    unknown: str  # why there is no ledger
    claims: list[dict[str, Any]]  # claim, source, verdict, figures, note, epsilon
    config: dict[str, Any]
    config_text: str
    manifest: dict[str, Any]  # empty: there is none
    picture: str = ""  # the file of the figure; empty: there is none

    @property
    def title(self) -> str:
        """The experiment's title, or its name."""
        return str(self.config.get("title") or self.name)

    @property
    def partial(self) -> str:
        """`PARTIAL 3/16` for an incomplete experiment, otherwise empty."""
        trials = self.manifest.get("trials", {})
        if self.table.fewest < self.table.wanted:
            return f"PARTIAL {self.table.fewest}/{self.table.wanted}"
        if self.manifest.get("complete", True):
            return ""
        return f"PARTIAL {trials.get('done', '?')}/{trials.get('wanted', '?')}"  # whole curves are missing

    @property
    def command(self) -> str:
        """The command that runs the experiment again: the original one without execution options, or its config's."""
        words = self.manifest.get("command", [])
        config = next((word for word in words[2:] if word.endswith(".yaml") or word in shipped()), None)
        if words[1:2] != ["run"] or config is None:
            return shlex.join(["privbandits", "run", f"{self.name}/config.yaml"])
        kept = [word for word in words[2:] if "=" in word and not word.startswith("-")]
        kept += ["--smoke"] if "--smoke" in words else []
        kept += [part for name, file in pairwise(words) if name == "--include" for part in (name, file)]
        return shlex.join(["privbandits", "run", config, *kept])

    @property
    def finals_head(self) -> str:
        """The heading of the tables of numbers."""
        return "Answers" if self.table.quantity else "Final regret"

    @property
    def final_title(self) -> str:
        """`Regret after 1,000 rounds`, with the floor and the swept parameter; or the quantity of the game best_arm."""
        horizon, table = self.config.get("horizon"), self.table
        if table.quantity:
            against = f" against {table.x_label}" if table.swept else ": see the figure, which is drawn over rounds"
            return table.quantity.capitalize() + against
        after = f" after {counted(horizon, 'round')}" if isinstance(horizon, int) else ""
        over = f", as multiples of {table.unit}" if table.ratio else ""
        against = f" against {table.x_label}" if table.swept else ""
        return f"{table.regret.capitalize()}{after}{over}{against}"


@dataclass(frozen=True)
class Cell:
    """A final regret with the lengths of its error bar."""

    regret: float
    below: float
    above: float

    @property
    def bars(self) -> dict[str, str]:
        """The lengths of the error bar below (−) and above (+) as text, if they are longer than rounding errors."""
        least = 1e-9 * max(1.0, abs(self.regret))
        return {sign: amount(x) for sign, x in (("−", self.below), ("+", self.above)) if x > least}


@dataclass(frozen=True)
class Finals:
    """A table of final regrets; rows by the label of the line, None where a line has no value."""

    corner: str
    heads: list[str]
    rows: dict[str, list[Cell | None]]


def finals(table: Table) -> list[Finals]:
    """One table with a column per panel; for a swept parameter one table per panel, with a column per value.

    Lower bounds that the figure shows are rows below the algorithms. Over rounds, there is no table of the game
    best_arm: it has stopping.csv.
    """
    if table.quantity and not table.swept:
        return []
    lower = {title: _lower_bounds(lines) for title, lines in table.panels.items()}
    known = {title: _cells(lines) | lower[title] for title, lines in table.panels.items()}
    if not table.swept:
        labels = dict.fromkeys([line.label for line in table.lines] + [name for own in lower.values() for name in own])
        last = {title: {label: cells[max(cells)] for label, cells in own.items()} for title, own in known.items()}
        return [Finals("", list(known), {label: [own.get(label) for own in last.values()] for label in labels})]
    out = []
    for title, own in known.items():
        values = sorted({x for cells in own.values() for x in cells})
        rows = {label: [cells.get(x) for x in values] for label, cells in own.items()}
        out.append(Finals(title, [parameter(x) for x in values], rows))
    return out


def _cells(lines: Sequence[Line]) -> dict[str, dict[float, Cell]]:
    """The regrets of a panel by the label of the line and x; a level line has one value at each x of the panel."""
    every = [float(x) for line in lines for x in line.x]
    found: dict[str, dict[float, Cell]] = {}
    for line in lines:
        columns = (part.tolist() for part in (line.x, line.regret, line.below, line.above))
        cells = {x: Cell(*rest) for x, *rest in zip(*columns, strict=True)}
        if line.hollow is not None:
            cells |= {x: Cell(0.0, 0.0, cells[x].regret) for x in line.x[line.hollow].tolist()}
        found[line.label] = dict.fromkeys(every, next(iter(cells.values()))) if line.level else cells
    return found


def _lower_bounds(lines: Sequence[Line]) -> dict[str, dict[float, Cell]]:
    """The lower bounds of a panel by their names and x; if two algorithms with one name differ, the one that holds."""
    found: dict[str, dict[float, Cell]] = {}
    for line in lines:
        for rate in line.rates:
            if rate.lower:
                cells = found.setdefault(rate.title, {})
                for x, regret in zip(line.x.tolist(), rate.regret.tolist(), strict=True):
                    cells[x] = Cell(min(regret, cells[x].regret) if x in cells else regret, 0.0, 0.0)
    return found


def number(value: Any) -> str:
    """A value of a config: integers with separators, lists with commas."""
    if isinstance(value, list):
        return ", ".join(map(number, value))
    return f"{value:,}" if isinstance(value, int) and value >= 1000 else str(value)
