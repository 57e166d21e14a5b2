"""A results folder -> its report: a page, and what a paper needs; many folders -> an index of their pages."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from privbandits_cli.actions.privacy import ledger
from privbandits_cli.analysis import curves
from privbandits_cli.engine.store import write_atomically
from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.figures import distributions
from privbandits_cli.figures.table import table
from privbandits_cli.report.data import Findings
from privbandits_cli.report.latex import pgfplots, table_tex
from privbandits_cli.report.markdown import markdown
from privbandits_cli.report.page import index, page


def gather(folder: Path, claims: Sequence[dict[str, Any]] = ()) -> Findings:
    """All that a report tells of a results folder.

    claims: claim, source, verdict, figures, note and epsilon of each, as text.
    Raises FileNotFoundError or ValueError with what is wrong.
    """
    found = curves.read(folder)
    distribution = pairs = None
    if (folder / "final.csv").exists():
        samples = distributions.samples(folder, found)
        distribution = distributions.distribution(found, samples)
        try:
            pairs = distributions.paired(found, samples)
        except distributions.Unpaired:
            pairs = None
    privacy, unknown = _privacy(folder / "config.yaml")
    path = folder / "config.yaml"
    return Findings(
        name=folder.resolve().name,
        table=table(found),
        distribution=distribution,
        pairs=pairs,
        privacy=privacy,
        unknown=unknown,
        claims=list(claims),
        config=found.config,
        config_text=path.read_text(encoding="utf-8") if path.exists() else "",
        manifest=_manifest(folder / "manifest.json"),
    )


def _privacy(path: Path) -> tuple[list[dict[str, Any]], str]:
    """The ledger of an experiment, or why it cannot be told."""
    if not path.exists():
        return [], "Unknown: no config.yaml lies beside the results."
    try:
        return ledger(load(path)), ""
    except ConfigError as error:
        return [], f"Unknown: this version of privbandits cannot read the config: {error.errors[0]}"


def _manifest(path: Path) -> dict[str, Any]:
    """The manifest; empty where there is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: run the experiment again ({error})") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} is no manifest: run the experiment again")
    return found


def write(folder: Path, found: Findings, listed: bool = False) -> list[Path]:
    """report.html, report.md, table.tex, figure.tex and the points that it draws, a file a panel.

    listed: whether an index is written one folder up, to which the page links.
    """
    files = {
        "report.html": page(found, listed or (folder.resolve().parent / "index.html").exists()),
        "report.md": markdown(found),
        "table.tex": table_tex(found),
        **pgfplots(found),
    }
    for stale in folder.glob("figure-*.dat"):
        if stale.name not in files:
            stale.unlink()
    for name, text in files.items():
        write_atomically(folder / name, text.encode())
    return [folder / name for name in files]


def write_index(results: Path, reports: Sequence[Findings]) -> Path:
    """The index of a folder of results."""
    path = results / "index.html"
    write_atomically(path, index(reports).encode())
    return path
