"""`plot`, `report`, `cite`: figures, pages and references from results folders, without simulation."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from privbandits_cli.analysis.format import counted
from privbandits_cli.cli.app import app, fail, fitted, refusal, reported
from privbandits_cli.cli.options import Claims, Looked, Trusted, check_new

DAMAGED = ValueError, KeyError, TypeError, ArithmeticError, OSError  # what files raise that are not as a run wrote them
Folders = Annotated[
    list[Path] | None, typer.Argument(help="Results folders, or folders of results folders; by default results.")
]


@app.command()
def plot(
    path: Annotated[Path, typer.Argument(help="A results folder, or a folder of results folders.")] = Path("results"),
    kind: Annotated[str, typer.Option(help="regret, distribution, against=PARAMETER or paired.")] = "regret",
    formats: Annotated[
        str, typer.Option("--format", help="pdf, pgf, png, svg: file formats, separated by commas.")
    ] = "pdf,png,svg",
    log: Annotated[bool, typer.Option("--log", help="Logarithmic axes; the file is NAME-log.")] = False,
    bounds: Annotated[
        bool, typer.Option("--bounds", help="Add the theorems' regret bounds; the file is NAME-bounds.")
    ] = False,
    style: Annotated[
        str, typer.Option(help="A style sheet of matplotlib by its name, or a file, after that of all figures.")
    ] = "",
    pair: Annotated[str, typer.Option(help="For paired: two algorithms or labels; the second is subtracted.")] = "",
    include: Looked = None,
    trust: Trusted = False,
) -> None:
    """Draw the figures of results folders from their CSVs.

    No file of the folder is executed, unless --include or --trust says so.

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
      privbandits plot results/fig1 --style paper.mplstyle --format pgf
    """
    from privbandits_cli.experiment.received import Trust, Untrusted, inside, printable
    from privbandits_cli.figures import write

    trusted = Trust(tuple(include or ()), trust)
    with reported(ValueError):
        wanted = write.kind(kind, pair, log, bounds, style)
    errors = []
    for folder in _folders(path):
        try:
            inside(path, folder.relative_to(path).as_posix())
            for written in write.write(folder, wanted, [word.strip() for word in formats.split(",")], trusted):
                print(printable(str(written)))
        except (Untrusted, *DAMAGED) as error:
            errors.append(_wrong(folder, error))
    if errors:
        raise fail(*errors)


def _wrong(folder: Path, error: Exception) -> str:
    """What is wrong with a results folder, or with the place of a file that is written to it."""
    return refusal(error) if isinstance(error, OSError) and error.filename else f"{folder}: {error}"


def _folders(path: Path) -> list[Path]:
    """The results folders at a path."""
    from privbandits_cli.analysis.folder import folders_at

    with reported(ValueError):
        return folders_at(path)


@app.command()
def report(
    paths: Folders = None,
    config: Claims = Path("configs"),
    parquet: Annotated[
        Path | None, typer.Option(metavar="FILE.parquet", help="Write only this: one table of all regrets.")
    ] = None,
    include: Looked = None,
    trust: Trusted = False,
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

    The pages need no network: open them as files. No file of the folders is executed, unless --include or --trust
    says so.

    \b
    Examples:
      privbandits report                 all of results/, and its index
      privbandits report results/fig1    one experiment
      privbandits report results/a other/b
      privbandits report --parquet regrets.parquet
    """
    from privbandits_cli.actions.check import claims_on, unknown
    from privbandits_cli.actions.report import gather, write, write_index
    from privbandits_cli.experiment.config import ConfigError
    from privbandits_cli.experiment.received import Trust, Untrusted, inside, printable

    if parquet is not None:
        if parquet.suffix.lower() not in (".parquet", ".pq"):
            raise fail(f"--parquet {parquet}: a Parquet file ends in .parquet: give it such a name")
        check_new(parquet, "--parquet")
    found, trusted = {path: _folders(path) for path in paths or [Path("results")]}, Trust(tuple(include or ()), trust)
    if parquet is not None:
        _write_parquet([folder for folders in found.values() for folder in folders], parquet)
        return
    errors = []
    for path, folders in found.items():
        every, reports = folders != [path], []
        for folder in folders:
            try:
                inside(path, folder.relative_to(path).as_posix())
                claims = []
                try:
                    claims = claims_on(folder, config, trusted)
                except Untrusted as error:
                    print(fitted(f"no claims about {folder}: {error}"), file=sys.stderr)
                reports.append(gather(folder, claims, trusted))
                print(printable(str(write(folder, reports[-1], every))))
            except (ConfigError, Untrusted, *DAMAGED) as error:
                errors.append(_wrong(folder, error))
        if every and reports:
            print(printable(str(write_index(path, reports))))
        bare = unknown(Path(), [str(folder) for folder in folders], config)
        if bare:
            text = f"no claims: {config} has no config of {', '.join(bare)}; name one by --config"
            print(fitted(text), file=sys.stderr)
    if errors:
        raise fail(*errors)


def _write_parquet(folders: list[Path], file: Path) -> None:
    """Write the rows of the CSVs of these folders as one Parquet file."""
    from privbandits_cli.actions.exports import regrets
    from privbandits_cli.data.tables import write_parquet
    from privbandits_cli.experiment.received import printable

    with reported(*DAMAGED):
        rows = regrets(folders)
        write_parquet(str(file), rows.columns)
    print(printable(f"{file}: {len(rows):,} rows of {counted(len(folders), 'experiment')}"))


@app.command()
def cite(
    paths: Folders = None,
    config: Claims = Path("configs"),
) -> None:
    """Print BibTeX of what results folders used.

    The entries are this package, and the works that the algorithms, the adversaries and the claims cite. A comment
    above each entry says who cites it. What files of your own cite is not known.

    \b
    Examples:
      privbandits cite results/fig1 > fig1.bib
      privbandits cite                            all of results/
    """
    from privbandits_cli.actions import exports

    folders = [folder for path in paths or [Path("results")] for folder in _folders(path)]
    with reported(*DAMAGED):
        print("\n\n".join(exports.cite(folders, config)))
