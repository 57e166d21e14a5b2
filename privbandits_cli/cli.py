"""The commands: the only module that knows the whole chain, and the only one that prints.

Heavy imports happen inside the commands, so that `privbandits --help` answers at once.
"""

import json
import signal
import sys
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from privbandits_cli import __version__

if TYPE_CHECKING:
    from privbandits_cli.engine.play import Failure, Played
    from privbandits_cli.engine.store import Store
    from privbandits_cli.experiment.config import ConfigError, Experiment
    from privbandits_cli.experiment.plan import Plan

OK, FAILED, USAGE, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: Rich alone would take half of its time
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Reproduce the figures of the differentially private bandit literature.

\b
Examples:
  privbandits run configs/fig1.yaml             the paper's figure, full scale
  privbandits run configs/fig1.yaml --smoke     the same in seconds, small
  privbandits run configs/fig1.yaml trials=48 experiment=mine
                                                keys replaced, own folder
  privbandits plot results/fig1 --bounds        with the regret theorems
  privbandits show dp_exp3_lap                  formula, tuning, guarantee

\b
Exit codes: 0 ok, 1 some trials failed, 2 usage or config,
130 interrupted, 143 terminated.""",
)


class Engine(StrEnum):
    """What plays the trials."""

    threads = "threads"
    processes = "processes"


class Kind(StrEnum):
    """What can be listed."""

    algorithms = "algorithms"
    adversaries = "adversaries"
    experiments = "experiments"


class Terminated(KeyboardInterrupt):
    """SIGTERM came."""


def main() -> None:
    """The entry point of the command `privbandits`."""
    app()


def _fail(*lines: str) -> typer.Exit:
    for line in lines:
        print(line, file=sys.stderr)
    return typer.Exit(USAGE)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"privbandits {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    pass


# -------------------------------------------------------------------------------------------------- run


@app.command()
def run(
    config: Annotated[Path, typer.Argument(help="An experiment, for example configs/fig1.yaml.")],
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Replace keys: trials=48 horizon=2^14.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=0, help="Cores to use; 0 is all of them.")] = 0,
    engine: Annotated[Engine, typer.Option(help="Threads start faster; processes survive a crash.")] = Engine.threads,
    results: Annotated[Path, typer.Option(help="Where the results folders are.")] = Path("results"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be played, and stop.")] = False,
    smoke: Annotated[bool, typer.Option("--smoke", help="A small version, in a folder of its own.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget what is already played.")] = False,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first trial that fails.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON on stdout.")] = False,
) -> None:
    """Play an experiment: figure, CSVs, manifest.

    They are left in results/EXPERIMENT. The same command again goes on where the last one stopped: finished
    trials are not played again; raising `trials` or adding an algorithm plays only what is missing.
    """
    from privbandits_cli import pipeline, terminal
    from privbandits_cli.engine import runner
    from privbandits_cli.engine.store import Busy, Store
    from privbandits_cli.experiment.plan import make_plan

    plan = make_plan(_load(config, overrides or [], smoke, as_json))
    jobs = jobs or runner.cores()
    store = Store(results / plan.name)
    if dry_run:
        store.open(plan, clean=False)
        facts = pipeline.forecast(plan, store, jobs)
        print(json.dumps(facts, ensure_ascii=False)) if as_json else terminal.print_forecast(facts)
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        with store.locked():
            store.open(plan, fresh)
            raise typer.Exit(_run(plan, store, jobs, engine, fail_fast, quiet, as_json))
    except Busy as error:
        raise _fail(f"{error}; wait for it, or give --results another folder") from error
    except OSError as error:
        raise _fail(
            f"{error.filename or store.folder}: {error.strerror}; what is finished is kept, run again"
        ) from error


def _load(config: Path, overrides: list[str], smoke: bool, as_json: bool) -> "Experiment":
    from privbandits_cli.experiment.config import ConfigError, load

    try:
        return load(config, overrides, smoke)
    except ConfigError as error:
        raise _refuse(error, as_json) from error


def _refuse(error: "ConfigError", as_json: bool) -> typer.Exit:
    if as_json:
        print(json.dumps({"faults": error.faults}, ensure_ascii=False))
    n = len(error.faults)
    return _fail(*error.faults, f"{n} fault{'s' if n > 1 else ''}; nothing was run or written")


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated


def _run(plan: "Plan", store: "Store", jobs: int, engine: Engine, fail_fast: bool, quiet: bool, as_json: bool) -> int:
    """Play what is missing, then write the outputs; the exit code."""
    from privbandits_cli import pipeline, terminal

    _warn_of(store, quiet)
    facts = {"command": ["privbandits", *sys.argv[1:]], "engine": engine.value, "jobs": jobs, "started": pipeline.now()}
    total = len(plan.curves) * plan.trials
    try:
        with terminal.progress(plan.name, total, _kept(plan, store), quiet) as advance:

            def watch(played: "Played") -> bool:
                advance(len(played.chunk.keys) * len(played.chunk.trials), played.chunk.rounds)
                for failure in played.failures:
                    print(_failure_line(plan, failure), file=sys.stderr)
                return not (fail_fast and played.failures)

            failures = pipeline.play(plan, store, jobs, engine.value, watch)
        if _kept(plan, store) == 0:
            print("no trial succeeded: nothing to summarise", file=sys.stderr)
            return FAILED
        written = pipeline.write_outputs(plan, store, failures, **facts)
    except KeyboardInterrupt as stop:
        kept = _kept(plan, store)
        print(f"\nstopped: {kept}/{total} trials are kept; the same command goes on from there", file=sys.stderr)
        return TERMINATED if isinstance(stop, Terminated) else INTERRUPTED
    _print_failures(plan, failures)
    if as_json:
        print(json.dumps(pipeline.result(plan, store, written), ensure_ascii=False))
    elif not quiet:
        terminal.print_result(plan, list(pipeline.finals(plan, store)), store.folder)
    return FAILED if failures else OK


def _kept(plan: "Plan", store: "Store") -> int:
    """Trials of the plan that are played, over all curves."""
    return sum(sum(trial < plan.trials for trial in store.done(curve)) for curve in plan.curves)


def _warn_of(store: "Store", quiet: bool) -> None:
    for path in store.unreadable:
        print(f"{path} was damaged; its trials are played again", file=sys.stderr)
    if store.other_code and not quiet:
        print(
            f"{len(store.other_code)} curves hold trials played by another version of the code; "
            "--fresh plays them anew",
            file=sys.stderr,
        )


def _failure_line(plan: "Plan", failure: "Failure") -> str:
    curve = plan.by_key[failure.key]
    return f"failed: {curve.label} against {curve.adversary.name}, trial {failure.trial}: {failure.error}"


def _print_failures(plan: "Plan", failures: "list[Failure]") -> None:
    if failures:
        print(f"\n{len(failures)} trials failed (traces in journal.jsonl):", file=sys.stderr)
        for failure in failures:
            print("  " + _failure_line(plan, failure), file=sys.stderr)


# ------------------------------------------------------------------------------------------ other commands


@app.command()
def plot(
    path: Annotated[Path, typer.Argument(help="A results folder, or the folder of them all.")] = Path("results"),
    formats: Annotated[str, typer.Option("--format", help="Which files to write.")] = "pdf,png,svg",
    log: Annotated[bool, typer.Option("--log", help="Logarithmic axes; written as NAME-log.")] = False,
    bounds: Annotated[bool, typer.Option("--bounds", help="Each theorem's regret bound; as NAME-bounds.")] = False,
) -> None:
    """Redraw figures from the CSVs alone."""
    from privbandits_cli.analysis import plot as plotting
    from privbandits_cli.analysis import table

    folders = [path] if (path / "summary.csv").exists() else sorted(p.parent for p in path.glob("*/summary.csv"))
    if not folders:
        raise _fail(f"{path}: no summary.csv here or one folder below; run an experiment first")
    suffix = ("-log" if log else "") + ("-bounds" if bounds else "")
    for folder in folders:
        try:
            drawn = plotting.figure(table.read(folder, bounds), log)
            name = folder.resolve().name + suffix
            for written in plotting.save(drawn, folder, name, [kind.strip() for kind in formats.split(",")]):
                print(written)
        except (ValueError, KeyError, OSError) as error:
            raise _fail(f"{folder}: {error}") from error


@app.command(name="list")
def list_(
    kind: Annotated[Kind, typer.Argument(help="What to list.")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """List algorithms, adversaries or experiments."""
    from privbandits_cli import terminal
    from privbandits_cli.describe import catalogue

    found = catalogue(kind.value)
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
    else:
        rows = [[entry["name"], entry["line"]] for entry in found]
        terminal.stdout().print(terminal.table(["name", ""], rows, text=2))


def _names(incomplete: str) -> list[str]:
    from privbandits_cli import registry

    names = registry.names("algorithms") + registry.names("adversaries")
    return [name for name in names if name.startswith(incomplete)]


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="An algorithm or adversary.", autocompletion=_names)],
    horizon: Annotated[int, typer.Option(min=1, help="T for the tuning and the numbers.")] = 2**18,
    arms: Annotated[int, typer.Option(min=2, help="K for the tuning and the numbers.")] = 4,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show an algorithm or adversary.

    Citation, formula, parameters with the paper's tuning, guarantee and regret bound.
    """
    from privbandits_cli import describe
    from privbandits_cli.games.bandit import Setting

    try:
        facts = describe.facts(name, Setting(horizon, arms))
    except KeyError as error:
        raise _fail(str(error.args[0])) from error
    print(json.dumps(facts, ensure_ascii=False) if as_json else describe.text(facts))


@app.command()
def validate(
    configs: Annotated[list[Path], typer.Argument(help="The configs to check.")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Check configs without running them.

    Every fault at once, with its place and a suggestion.
    """
    from privbandits_cli.experiment.config import ConfigError, load

    faults: dict[str, list[str]] = {}
    for config in configs:
        try:
            load(config)
            load(config, smoke=True)
            faults[str(config)] = []
        except ConfigError as error:
            faults[str(config)] = error.faults
    if as_json:
        print(json.dumps(faults, ensure_ascii=False))
    for config_name, found in faults.items():
        if found:
            print("\n".join(found), file=sys.stderr)
        elif not as_json:
            print(f"{config_name}: ok")
    if any(faults.values()):
        raise typer.Exit(USAGE)


@app.command()
def schema() -> None:
    """Print the JSON schema of experiments."""
    from privbandits_cli.experiment.schema import schema as experiment_schema

    print(json.dumps(experiment_schema(), indent=1, ensure_ascii=False))
