"""`plot`, `report`, `tables`: figures, pages and tables from results folders, without simulation."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from privbandits_cli.cli.app import app, fail, reported
from privbandits_cli.cli.options import Claims

Where = Annotated[Path, typer.Argument(help="A results folder, or a folder of results folders.")]


@app.command()
def plot(
    path: Where = Path("results"),
    kind: Annotated[str, typer.Option(help="regret, distribution, against=PARAMETER or paired.")] = "regret",
    formats: Annotated[str, typer.Option("--format", help="File formats, separated by commas.")] = "pdf,png,svg",
    log: Annotated[bool, typer.Option("--log", help="Logarithmic axes; the file is NAME-log.")] = False,
    bounds: Annotated[
        bool, typer.Option("--bounds", help="Add the theorems' regret bounds; the file is NAME-bounds.")
    ] = False,
    pair: Annotated[str, typer.Option(help="For paired: two algorithms or labels; the second is subtracted.")] = "",
) -> None:
    """Draw the figures of results folders from their CSVs.

    \b
    regret        the figure that the config describes: regret over rounds,
                  or against a swept parameter
    distribution  the final regrets of all trials, as box plots with points
    against=NAME  the final regret against a parameter with several values
    paired        differences of algorithms trial by trial, on the same
                  games; without --pair, of each from the first

    \b
    Examples:
      privbandits plot                              all of results/
      privbandits plot results/fig1 --bounds        fig1-bounds.pdf, ...
      privbandits plot results/fig1 --kind paired --pair exp3_tau,exp3
      privbandits plot results/frontier --kind against=epsilon --format png
    """
    from privbandits_cli.figures import write

    with reported(ValueError):
        wanted = write.kind(kind, pair, log, bounds)
    errors = []
    for folder in _folders(path):
        try:
            for written in write.write(folder, wanted, [word.strip() for word in formats.split(",")]):
                print(written)
        except (ValueError, KeyError, TypeError, OSError) as error:
            errors.append(f"{folder}: {error}")
    if errors:
        raise fail(*errors)


def _folders(path: Path) -> list[Path]:
    """The results folders at a path."""
    folders = [path] if (path / "summary.csv").exists() else sorted(p.parent for p in path.glob("*/summary.csv"))
    if not folders:
        raise fail(f"{path}: no summary.csv here or in a subfolder; run an experiment first")
    return folders


@app.command()
def report(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Results folders, or folders of results folders; by default results.")
    ] = None,
    config: Claims = Path("configs"),
) -> None:
    """Write a report on each results folder.

    \b
    In each results folder:
      report.html      interactive figures, tables, privacy, claims, and the
                       command that runs the experiment again
      report.md        the tables as Markdown
      table.tex        the final regrets as a LaTeX table (booktabs)
    In the folder of all results:
      index.html       links to all reports
      plotly.min.js    the script that draws the figures of the pages; without
                       such a folder it is written beside the page

    The pages need no network: open them as files.

    \b
    Examples:
      privbandits report                 all of results/, and its index
      privbandits report results/fig1    one experiment
      privbandits report results/a other/b
    """
    from privbandits_cli.actions.check import claims_on, unknown
    from privbandits_cli.actions.report import gather, write, write_index
    from privbandits_cli.experiment.config import ConfigError

    found = {path: _folders(path) for path in paths or [Path("results")]}
    errors = []
    for path, folders in found.items():
        every, reports = folders != [path], []
        for folder in folders:
            try:
                reports.append(gather(folder, claims_on(folder, config)))
                print(write(folder, reports[-1], every))
            except (ConfigError, ValueError, KeyError, TypeError, OSError) as error:
                errors.append(f"{folder}: {error}")
        if every and reports:
            print(write_index(path, reports))
        bare = unknown(Path(), [str(folder) for folder in folders], config)
        if bare:
            print(f"no claims: {config} has no config of {', '.join(bare)}; name one by --config", file=sys.stderr)
    if errors:
        raise fail(*errors)


@app.command()
def tables(
    results: Annotated[Path, typer.Argument(help="The folder that contains all results.")] = Path("results"),
) -> None:
    """Compare the rates of Agarwal & Singh 2017 with measured ones.

    Writes the tables to RESULTS/price_tables.md, from the CSVs of the experiments price_*.
    """
    from privbandits_cli.actions.price_tables import price_tables

    try:
        text = price_tables(results)
    except FileNotFoundError as error:
        raise fail(f"{error.filename} is missing: run the experiments price_* first (make figures)") from error
    except (KeyError, ValueError) as error:
        raise fail(f"the CSVs in {results} do not fit the experiments price_*: {error}") from error
    (results / "price_tables.md").write_text(text, encoding="utf-8")
    print(text)
