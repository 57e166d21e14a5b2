"""Reports of results folders: a page, tables for a paper, and an index of the pages."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from privbandits_cli.actions.privacy import ledger
from privbandits_cli.analysis import curves
from privbandits_cli.analysis.folder import read_manifest
from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.experiment.files import write_atomically
from privbandits_cli.experiment.received import NOBODY, Trust, Untrusted, inside, printable
from privbandits_cli.figures import distributions
from privbandits_cli.figures.table import table
from privbandits_cli.report.data import ReportData
from privbandits_cli.report.page import index, page
from privbandits_cli.report.plots import script
from privbandits_cli.report.tables import latex, markdown

SCRIPT = "plotly.min.js"


def gather(folder: Path, claims: Sequence[dict[str, Any]] = (), trust: Trust = NOBODY) -> ReportData:
    """The data of the report on a results folder.

    claims: for each its claim, source, verdict, figures, note and epsilon, as text. trust: the users' files that may be
    executed; without it what they are needed for is what the run has recorded.
    Raises FileNotFoundError or ValueError if a file is missing or damaged.
    """
    finals = (folder / "final.csv").exists()
    found = curves.read(folder, finals=finals)
    pairs = None
    if finals:
        with suppress(curves.NothingToDraw):
            pairs = distributions.paired(found)
    path, manifest = inside(folder, "config.yaml"), read_manifest(folder)
    privacy, unknown = _privacy(folder, manifest, trust)
    name = folder.resolve().name
    return ReportData(
        name=name,
        table=table(found, trust=trust),
        distribution=distributions.distribution(found) if finals else None,
        pairs=pairs,
        privacy=privacy,
        unknown=unknown,
        claims=list(claims),
        config=found.config,
        config_text=printable(path.read_text(encoding="utf-8")) if path.exists() else "",
        manifest=manifest,
        picture=f"{name}.png" if (folder / f"{name}.png").exists() else "",
    )


def _privacy(folder: Path, manifest: dict[str, Any], trust: Trust) -> tuple[list[dict[str, Any]], str]:
    """The ledger of an experiment, or why there is none."""
    path, recorded = folder / "config.yaml", manifest.get("ledger")
    if not path.exists():
        return [], "Unknown: there is no config.yaml beside the results."
    if recorded is not None and not trust:
        return ([], f"Unknown: {recorded}") if isinstance(recorded, str) else (recorded, "")
    trust.check(folder)
    try:
        return ledger(load(path, include=trust.include, admit=trust.admit_copies)), ""
    except Untrusted as error:
        return [], f"Unknown: {error}."
    except ConfigError as error:
        return [], f"Unknown: this version of privbandits cannot read the config: {error.errors[0]}"


def write(folder: Path, report: ReportData, listed: bool = False) -> Path:
    """Write report.html, report.md, table.tex and the script of the page; returns the path of the page.

    The pages of a tree of results share one script, one folder up; another page has its own beside it.
    listed: the folder belongs to a tree, whose index is written, too.
    """
    shared = folder.absolute().parent / SCRIPT
    listed = listed or shared.exists()
    place, content = shared if listed else folder / SCRIPT, script().encode()
    if not place.exists() or place.read_bytes() != content:  # several megabytes
        write_atomically(place, content)
    if listed:
        (folder / SCRIPT).unlink(missing_ok=True)
    files = {
        "report.html": page(report, f"../{SCRIPT}" if listed else SCRIPT, listed),
        "report.md": markdown(report),
        "table.tex": latex(report),
    }
    for name, text in files.items():
        write_atomically(folder / name, text.encode())
    return folder / "report.html"


def write_index(results: Path, reports: Sequence[ReportData]) -> Path:
    """Write the index of a folder of results; returns its path."""
    path = results / "index.html"
    write_atomically(path, index(reports).encode())
    return path
