"""What a report tells of an experiment, as data; its final table, in numbers and as text."""

import shlex
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from privbandits_cli.experiment import shipped
from privbandits_cli.figures.distributions import Distributions
from privbandits_cli.figures.table import Table


@dataclass(frozen=True)
class Findings:
    """What a results folder says, ready for a page or a paper."""

    name: str
    table: Table
    distribution: Distributions | None  # None where no trial's final regret is kept
    pairs: Distributions | None  # None where no two algorithms meet
    privacy: list[dict[str, Any]]  # the ledger's blocks
    unknown: str  # why there are none
    claims: list[dict[str, Any]]  # claim, source, verdict, figures, note, epsilon
    config: dict[str, Any]
    config_text: str
    manifest: dict[str, Any]  # empty where there is none

    @property
    def title(self) -> str:
        """The experiment's title, or its name."""
        return str(self.config.get("title") or self.name)

    @property
    def partial(self) -> str:
        """`PARTIAL 3/16` of an incomplete experiment, else nothing."""
        trials = self.manifest.get("trials", {})
        if self.table.fewest < self.table.wanted:
            return f"PARTIAL {self.table.fewest}/{self.table.wanted}"
        if self.manifest.get("complete", True):
            return ""
        return f"PARTIAL {trials.get('done', '?')}/{trials.get('wanted', '?')}"  # whole curves are missing

    @property
    def command(self) -> str:
        """What plays the experiment again: of the command that was given what says which, not how; or its config."""
        words = self.manifest.get("command", [])
        config = next((word for word in words[2:] if word.endswith(".yaml") or word in shipped.names()), None)
        if words[1:2] != ["run"] or config is None:
            return f"privbandits run {self.name}/config.yaml"
        kept = [word for word in words[2:] if "=" in word and not word.startswith("-")]
        kept += ["--smoke"] if "--smoke" in words else []
        kept += [part for name, file in pairwise(words) if name == "--include" for part in (name, file)]
        return shlex.join(["privbandits", "run", config, *kept])


@dataclass(frozen=True)
class Cell:
    """A final regret with the lengths of its error bar."""

    regret: float
    below: float
    above: float

    @property
    def spread(self) -> bool:
        """Whether the error bar is longer than rounding errors are."""
        return max(self.below, self.above) > 1e-9 * max(1.0, abs(self.regret))


@dataclass(frozen=True)
class Finals:
    """A table of final regrets: rows by the label of a line."""

    corner: str
    heads: list[str]
    rows: dict[str, list[Cell | None]]


def finals(table: Table) -> list[Finals]:
    """Over rounds one table with a column per panel; against a parameter one per panel, a column per value."""
    panels = table.panels
    if table.x_label == "round":
        labels = dict.fromkeys(line.label for lines in panels.values() for line in lines)
        last = {
            (title, line.label): Cell(*(float(part[-1]) for part in (line.regret, line.below, line.above)))
            for title, lines in panels.items()
            for line in lines
        }
        return [Finals("", list(panels), {label: [last.get((title, label)) for title in panels] for label in labels})]
    out = []
    for title, lines in panels.items():
        values = sorted({float(x) for line in lines for x in line.x})
        rows: dict[str, list[Cell | None]] = {}
        for line in lines:
            columns = (line.x, line.regret, line.below, line.above)
            found = {x: Cell(*rest) for x, *rest in zip(*(part.tolist() for part in columns), strict=True)}
            rows[line.label] = [found.get(values[0] if line.level else x) for x in values]
        out.append(Finals(title, [value(x) for x in values], rows))
    return out


def final_title(table: Table, config: dict[str, Any]) -> str:
    """`Regret after 1,000 rounds`, and what stands for the trials."""
    horizon = config.get("horizon")
    after = f" after {horizon:,} rounds" if isinstance(horizon, int) else ""
    over = f", as multiples of {table.floor}'s" if table.ratio else ""
    against = "" if table.x_label == "round" else f" against {table.labels()[0]}"
    return f"Regret{after}{over}{against}"


def value(x: float) -> str:
    """A value of a swept parameter."""
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:g}"


def amount(regret: float) -> str:
    """A regret in four digits or whole rounds."""
    return f"{regret:,.0f}" if abs(regret) >= 1000 else f"{regret:.4g}"


def loss(epsilon: float | None) -> str:
    """An epsilon, as `privbandits privacy` prints it."""
    return "–" if epsilon is None else f"{epsilon:.4g}" if epsilon < 1e4 else f"{epsilon:,.0f}"
