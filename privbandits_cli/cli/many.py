"""`merge` and `slurm`: an experiment on many machines."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from privbandits_cli.cli.app import FAILED, OK, app, fail
from privbandits_cli.cli.own import Include, load_config
from privbandits_cli.cli.run import Stop, show, told, warn_of


@app.command()
def merge(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR", help="The results folders of the shards.")],
    results: Annotated[Path, typer.Option(help="Where the results folders are.")] = Path("results"),
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No table.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON on stdout.")] = False,
) -> None:
    """Join shards: the figure, CSVs and manifest of the whole.

    They are left in results/EXPERIMENT, as by one run. What is missing is told, and exits 1. Merging again, or
    shards that overlap, does no harm.

    \b
    Examples:
      privbandits run configs/fig1.yaml --shard 1/2
      privbandits run configs/fig1.yaml --shard 2/2
      privbandits merge results/fig1-shard-*-of-2
    """
    from privbandits_cli.actions import merge, run
    from privbandits_cli.cli import terminal
    from privbandits_cli.engine.store import Store
    from privbandits_cli.experiment.config import ConfigError

    with Stop() as stop:
        try:
            plan = merge.plan_of(folders)
        except (merge.MergeError, ConfigError) as error:
            raise fail(str(error)) from error
        store = Store(results / plan.folder)
        merged = [folder.as_posix() for folder in folders]
        facts = {"command": ["privbandits", *sys.argv[1:]], "merged": merged, "started": run.now()}
        with told(plan, store, stop), store.locked():
            store.open(plan)
            before = store.count(plan.curves, plan.span)
            try:
                merge.gather(plan, store, folders)
            except merge.MergeError as error:
                raise fail(str(error)) from error
            warn_of(store)
            after = store.count(plan.curves, plan.span)
            if after:
                written = run.write_outputs(plan, store, [], facts if after > before else None)
                with stop.wait():
                    show(plan, store, written, quiet, as_json)
            lacking = merge.missing(plan, store)
            for line in terminal.missing_lines(plan, lacking):
                print(line, file=sys.stderr)
        raise typer.Exit(FAILED if lacking else OK)


@app.command()
def slurm(
    config: Annotated[Path, typer.Argument(help="An experiment, for example configs/fig1.yaml.")],
    overrides: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Replace keys.")] = None,
    smoke: Annotated[bool, typer.Option("--smoke", help="A small version.")] = False,
    include: Include = None,
) -> None:
    """Print a script that plays an experiment on a Slurm cluster.

    Run on the login node it submits an array of shards and the job that merges them, or with the word `dask` one
    job of a Dask scheduler, its workers and the client. How many, how large and how long stands on top.

    \b
    Examples:
      privbandits slurm configs/fig1.yaml > fig1.sh
      bash fig1.sh
      bash fig1.sh dask
    """
    name = load_config(config, overrides or [], smoke, False, include).keys.experiment
    words = [config.as_posix(), *(overrides or []), *(["--smoke"] if smoke else [])]
    words += [word for file in include or () for word in ("--include", file.as_posix())]
    script = Path(__file__).with_name("slurm.sh").read_text(encoding="utf-8")
    print(script.replace("@NAME@", name).replace("@WORDS@", shlex.join(words)), end="")
