"""`privbandits run`: play an experiment, show how far it is, leave its outputs."""

import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privbandits_cli.cli import failures
from privbandits_cli.cli.app import FAILED, INTERRUPTED, OK, TERMINATED, app, dumps, fail, fitted
from privbandits_cli.cli.own import Include, debugged, load_config, own_errors, rehearse

if TYPE_CHECKING:
    from privbandits_cli.engine.play import Failure, Played
    from privbandits_cli.engine.store import Store
    from privbandits_cli.experiment.plan import Plan


TOLD = 12  # lines of failures at a run's end


class Engine(StrEnum):
    """What plays the trials."""

    threads = "threads"
    processes = "processes"
    dask = "dask"


class Stopped(KeyboardInterrupt):
    """SIGINT or SIGTERM came."""


class Stop:
    """Signals that end a run. They raise only where it waits for a result: an exception thrown into an import or
    into the compiler is swallowed there or leaves it half done. Elsewhere a signal is noted, and raised by the
    next wait.
    """

    def __init__(self) -> None:
        self.number = 0
        self.waiting = False

    def __enter__(self) -> "Stop":
        self.before = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.number:  # asked twice: at once, then
            os._exit(self.code)
        self.number = number
        if self.waiting:
            raise Stopped

    @contextmanager
    def wait(self) -> Iterator[None]:
        """Where a signal may raise."""
        self.waiting = True
        try:
            if self.number:
                raise Stopped
            yield
        finally:
            self.waiting = False

    @property
    def code(self) -> int:
        """The exit code of the signal that came."""
        return TERMINATED if self.number == signal.SIGTERM else INTERRUPTED


@app.command()
def run(
    config: Annotated[Path, typer.Argument(help="An experiment, for example configs/fig1.yaml.")],
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Replace keys: trials=48 horizon=2^14.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=0, help="Cores to use; 0 is all of them.")] = 0,
    engine: Annotated[
        Engine, typer.Option(help="Threads start faster; processes survive a crash; dask reaches other machines.")
    ] = Engine.threads,
    scheduler: Annotated[
        str | None, typer.Option(metavar="TCP://HOST:PORT", help="With --engine dask: its workers play, all of them.")
    ] = None,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Play the I-th of N parts, for `privbandits merge`.")
    ] = None,
    include: Include = None,
    results: Annotated[Path, typer.Option(help="Where the results folders are.")] = Path("results"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be played, and stop.")] = False,
    smoke: Annotated[bool, typer.Option("--smoke", help="A small version, in a folder of its own.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget what is already played.")] = False,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first trial that fails.")] = False,
    python: Annotated[
        bool, typer.Option("--python", help="Uncompiled, on one core, to debug an own file: print, breakpoint().")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON on stdout.")] = False,
) -> None:
    """Play an experiment: figure, CSVs, manifest.

    They are left in results/EXPERIMENT. The same command again goes on where the last one stopped: finished
    trials are not played again; raising `trials` or adding an algorithm plays only what is missing.

    \b
    Examples:
      privbandits run configs/fig1.yaml
      privbandits run configs/fig1.yaml --smoke
      privbandits run configs/fig1.yaml 'algorithms[1].epsilon=[0.1, 1]' experiment=mine
      privbandits run fig1 --smoke --include my_bandit.py algorithms+=my_bandit
    """
    from privbandits_cli.actions import run
    from privbandits_cli.cli import terminal
    from privbandits_cli.engine import runner
    from privbandits_cli.engine.store import Store
    from privbandits_cli.experiment.plan import make_plan

    if scheduler and engine != Engine.dask:
        raise fail("--scheduler names a Dask scheduler: add --engine dask")
    if scheduler and jobs:
        raise fail("--jobs counts cores of this machine; with --scheduler its workers play, all of them: leave it out")
    if python and (engine != Engine.threads or jobs > 1):
        raise fail("--python plays on one core in this process: leave --engine and --jobs out")
    place = engine.value if scheduler is None else _address(scheduler)
    with Stop() as stop:
        experiment = load_config(config, overrides or [], smoke, as_json, include)
        with own_errors():
            plan = make_plan(experiment, _part(shard))
        store = Store(results / plan.folder)
        jobs = 1 if python else jobs or runner.cores()
        for line in terminal.remark_lines(plan):
            print(line, file=sys.stderr)
        if dry_run:
            with told(plan, store, stop):
                if not fresh:
                    store.open(plan, clean=False)
                facts = run.forecast(plan, store, jobs)
            print(dumps(facts)) if as_json else terminal.print_forecast(facts)
            return
        with told(plan, store, stop), store.locked():
            store.open(plan, fresh)
            rehearse(plan, store, python)
            with debugged() if python else nullcontext():
                raise typer.Exit(_run(plan, store, stop, jobs, place, fail_fast, quiet or python, as_json))


def _address(scheduler: str) -> str:
    """`host:port` with or without its `tcp://`."""
    found = re.fullmatch(r"(tcp://)?([^\s/:]+|\[[0-9a-fA-F:]+\]):([0-9]{1,5})", scheduler)
    if not found or int(found[3]) > 65535:
        raise fail(f"--scheduler {scheduler}: give tcp://HOST:PORT, as `dask scheduler` prints it")
    return f"tcp://{found[2]}:{found[3]}"


def _part(shard: str | None) -> tuple[int, int]:
    """`2/4` as numbers."""
    if shard is None:
        return 1, 1
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", shard)
    i, n = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= i <= n:
        raise fail(f"--shard {shard}: give a part and the number of parts, 1/4 to 4/4")
    return i, n


@contextmanager
def told(plan: "Plan", store: "Store", stop: Stop) -> Iterator[None]:
    """Leave with what a person should know of a run that cannot start or go on."""
    from privbandits_cli.engine import EngineError, EngineLost
    from privbandits_cli.engine.store import Busy

    def kept() -> str:
        count = f"{store.count(plan.curves, plan.span)}/{len(plan.curves) * len(plan.span)}"
        return f"{count} trials are kept; the same command goes on from there"

    try:
        yield
    except Busy as error:
        raise fail(f"{error}; wait for it, or give --results another folder") from error
    except EngineLost as error:
        print(f"{error}\n{kept()}", file=sys.stderr)
        raise typer.Exit(FAILED) from error
    except EngineError as error:
        raise fail(str(error)) from error
    except OSError as error:
        raise fail(f"{error.filename or store.folder}: {error.strerror}", kept()) from error
    except Stopped:
        print(f"\nstopped: {kept()}", file=sys.stderr, flush=True)
        os._exit(stop.code)  # threads may still be playing; an orderly exit would wait for them, or crash


def _run(
    plan: "Plan", store: "Store", stop: Stop, jobs: int, engine: str, fail_fast: bool, quiet: bool, as_json: bool
) -> int:
    """Play what is missing, then write the outputs; the exit code."""
    from privbandits_cli.actions import run
    from privbandits_cli.cli import terminal

    warn_of(store)
    total, before = len(plan.curves) * len(plan.span), store.count(plan.curves, plan.span)
    facts: dict[str, Any] = {
        "command": ["privbandits", *sys.argv[1:]],
        "engine": engine,
        "jobs": jobs,
        "started": run.now(),
    }
    if "://" in engine and before < total:
        from privbandits_cli.engine import runner

        if not quiet:
            print(f"looking for workers at {engine}", file=sys.stderr)
        facts |= {"engine": "dask", "jobs": runner.survey(engine, stop.wait)}
    with terminal.progress(plan.folder, total, before, quiet) as advance:
        seen: set[tuple[str, str]] = set()

        def watch(played: "Played") -> bool:
            advance(len(played.chunk.keys) * len(played.chunk.trials), played.chunk.rounds)
            new = [failure for failure in played.failures if failures.kind(failure) not in seen]
            seen.update(failures.kind(failure) for failure in new)
            for line in failures.lines(plan, new):
                print(fitted(line), file=sys.stderr)
            return not (fail_fast and played.failures)

        failed = run.play(plan, store, facts["jobs"], engine, watch, stop.wait)
    if failed and store.count(plan.curves, plan.span) == 0:
        _list(plan, failed)
        print("no trial succeeded: nothing to summarise", file=sys.stderr)
        return FAILED
    played_any = store.count(plan.curves, plan.span) > before or bool(failed)
    written = run.write_outputs(plan, store, failed, facts if played_any else None)
    with stop.wait():  # a signal that came meanwhile
        pass
    if failed:
        _list(plan, failed)
    show(plan, store, written, quiet, as_json)
    return FAILED if failed else OK


def _list(plan: "Plan", failed: "Sequence[Failure]") -> None:
    """What failed, at a run's end."""
    print(f"\n{len(failed)} trials failed (traces in journal.jsonl):", file=sys.stderr)
    lines = list(failures.lines(plan, failed, source=True))
    for line in lines[:TOLD] + ([f"and {len(lines) - TOLD} kinds more"] if len(lines) > TOLD else []):
        print(fitted("  " + line), file=sys.stderr)


def show(plan: "Plan", store: "Store", written: list[str], quiet: bool, as_json: bool) -> None:
    """The result, as JSON or as a table."""
    from privbandits_cli.actions import run
    from privbandits_cli.cli import terminal

    if as_json:
        print(dumps(run.result(plan, store, written)))
    elif not quiet and plan.is_part:
        terminal.print_part(plan, store.count(plan.curves, plan.span), store.folder)
    elif not quiet:
        from privbandits_cli.figures import table

        plot = plan.experiment.keys.plot
        swept = table.read(store.folder) if plot.against or plot.worst else None
        if swept and plot.against:
            terminal.print_swept(swept, plan.name, store.folder)
        else:
            terminal.print_result(plan, list(run.finals(plan, store)), store.folder, swept)


def warn_of(store: "Store") -> None:
    """What a person should know of the chunk files."""
    if store.unreadable:
        n = len(store.unreadable)
        others = f" and {n - 1} more chunks were" if n > 1 else " was"
        print(f"{store.unreadable[0]}{others} damaged; their trials are played again", file=sys.stderr)
    if store.other_code:
        print(
            f"{len(store.other_code)} curves hold trials played by other code, NumPy or numba; --fresh plays them anew",
            file=sys.stderr,
        )
