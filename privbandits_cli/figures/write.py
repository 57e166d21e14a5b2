"""A results folder -> a figure of any kind."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from privbandits_cli.analysis.folder import read_manifest
from privbandits_cli.experiment.errors import suggestion
from privbandits_cli.experiment.received import NOBODY, Trust, Untrusted, copies

if TYPE_CHECKING:
    from privbandits_cli.figures.plot import Figure

PACKAGE = Path(__file__).parent.parent
QUANTITIES = ("pulls", "wrong")  # of the game best_arm
KINDS = ("regret", "distribution", "against", "paired", *QUANTITIES)


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure with its options."""

    name: str
    parameter: str  # of against
    pair: str  # of paired: two names
    log: bool
    bounds: bool
    style: str  # a style sheet of matplotlib by its name, or a file

    @property
    def suffix(self) -> str:
        """The end of the names of its files."""
        words = [self.name, self.parameter, *map(str.strip, self.pair.split(","))] if self.name != "regret" else []
        words += ["log"] * self.log + ["bounds"] * self.bounds
        return "".join(f"-{re.sub(r'[^A-Za-z0-9_.]+', '_', word)}" for word in words if word)


def kind(text: str, pair: str = "", log: bool = False, bounds: bool = False, style: str = "") -> FigureKind:
    """The kind that `distribution`, `against=epsilon`, ... name; ValueError if the options do not go together."""
    name, _, parameter = text.partition("=")
    if name not in KINDS:
        raise ValueError(f"unknown kind '{name}'{suggestion(name, KINDS)}")
    if (name == "against") != bool(parameter):
        raise ValueError("against needs a parameter, as in against=epsilon; the other kinds take none")
    if pair and name != "paired":
        raise ValueError("--pair goes with --kind paired")
    if (log or bounds) and name in ("distribution", "paired"):
        raise ValueError(f"--log and --bounds cannot be used with --kind {name}, which chooses its axes itself")
    if pair and not all(word.strip() for word in pair.rpartition(",")[::2]):
        raise ValueError("--pair takes two names, as in --pair exp3_tau,exp3")
    return FigureKind(name, parameter, pair, log, bounds, style)


def drawn(folder: Path, wanted: FigureKind, trust: Trust = NOBODY) -> "Figure":
    """Draw a figure. Raises FileNotFoundError or ValueError with what is wrong.

    trust: the users' files that may be executed. Untrusted if a bound that is wanted needs another one.
    """
    from privbandits_cli.analysis import curves
    from privbandits_cli.figures import distribution_plot, distributions, plot, table

    if wanted.name not in ("distribution", "paired"):
        quantity = wanted.name if wanted.name in QUANTITIES else ""
        read = table.read(folder, wanted.bounds, wanted.parameter, trust, quantity)
        untold = [f"{line.label.base}: {line.untold}" for line in read.lines if line.untold]
        if untold and wanted.bounds:
            raise Untrusted(f"no bound of {untold[0]}")
        return plot.figure(read, wanted.log, wanted.style)
    found = curves.read(folder, finals=True)
    if wanted.name == "distribution":
        return distribution_plot.figure(distributions.distribution(found), wanted.style)
    two = distributions.pair_of(found, wanted.pair) if wanted.pair else None
    return distribution_plot.figure(distributions.paired(found, two), wanted.style)


def write(folder: Path, wanted: FigureKind, formats: Sequence[str], trust: Trust = NOBODY) -> list[Path]:
    """Draw and save a figure, as `drawn` does, and describe it in the folder's crate; returns the paths."""
    from privbandits_cli.analysis import crate
    from privbandits_cli.figures import plot

    paths = plot.save(
        drawn(folder, wanted, trust), folder, folder.resolve().name + wanted.suffix, formats, wanted.style
    )
    if (folder / crate.CRATE).exists():
        crate.write(folder)
    return paths


def sources(folder: Path) -> str:
    """A hash of what a figure is made from: its data, names and config, users' files, matplotlib and this package.

    A run draws its figure again only if this has changed.
    """
    names = read_manifest(folder).get("curves")
    digest = hashlib.sha256(json.dumps([version("matplotlib"), names]).encode())
    code = (file for kind in ("py", "mplstyle") for file in sorted(PACKAGE.rglob(f"*.{kind}")))
    for file in (*(folder / name for name in ("summary.csv", "final.csv", "config.yaml")), *copies(folder), *code):
        digest.update(file.read_bytes())
    return digest.hexdigest()
