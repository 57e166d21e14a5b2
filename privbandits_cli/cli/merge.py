"""`merge`: join the shards of an experiment."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from privbandits_cli.cli.app import FAILED, OK, app, reported
from privbandits_cli.cli.options import AsJson, Looked, Results, Trusted
from privbandits_cli.cli.run import errors_reported, show, warn_of
from privbandits_cli.cli.signals import Stop


@app.command()
def merge(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR", help="The results folders of the shards.")],
    results: Results = Path("results"),
    include: Looked = None,
    trust: Trusted = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no table.")] = False,
    as_json: AsJson = False,
) -> None:
    """Merge shards into the results of the whole experiment.

    Writes results/EXPERIMENT as one run would have. Missing trials are listed, and the exit code is then 1. Shards
    may overlap, and may be merged again. Shards of your own algorithms need --include or --trust, as merging
    executes their files.

    \b
    Examples:
      privbandits run fig1 --shard 1/2
      privbandits run fig1 --shard 2/2
      privbandits merge results/fig1-shard-*-of-2
    """
    from privbandits_cli.actions import merge
    from privbandits_cli.cli import terminal
    from privbandits_cli.engine.store import Store
    from privbandits_cli.experiment.received import Trust

    with reported(merge.MergeError), Stop() as stop:
        plan = merge.plan_of(folders, Trust(tuple(include or ()), trust))
        store = Store(results / plan.folder)
        with errors_reported(plan, store, stop):
            outcome = merge.merge(plan, store, folders, ["privbandits", *sys.argv[1:]])
            warn_of(store)
            if outcome.written:
                show(plan, store, outcome, stop, quiet, as_json)
    lacking = merge.missing(plan, store)
    for line in terminal.missing_lines(plan, lacking):
        print(line, file=sys.stderr)
    raise typer.Exit(FAILED if lacking else OK)
