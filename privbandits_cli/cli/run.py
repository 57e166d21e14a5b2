"""`privbandits run`: play an experiment, show how far it is, leave its outputs."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from privbandits_cli.cli.app import FAILED, INTERRUPTED, OK, TERMINATED, app, dumps, fail, load_config

if TYPE_CHECKING:
    from privbandits_cli.engine.play import Failure, Played
    from privbandits_cli.engine.store import Store
    from privbandits_cli.experiment.plan import Plan


class Engine(StrEnum):
    """What plays the trials."""

    threads = "threads"
    processes = "processes"


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

    \b
    Examples:
      privbandits run configs/fig1.yaml
      privbandits run configs/fig1.yaml --smoke
      privbandits run configs/fig1.yaml 'algorithms[1].epsilon=[0.1, 1]' experiment=mine
    """
    from privbandits_cli import pipeline, terminal
    from privbandits_cli.engine import runner
    from privbandits_cli.engine.store import Busy, Store
    from privbandits_cli.experiment.plan import make_plan

    with Stop() as stop:
        plan = make_plan(load_config(config, overrides or [], smoke, as_json))
        jobs = jobs or runner.cores()
        store = Store(results / plan.name)
        if dry_run:
            if not fresh:
                store.open(plan, clean=False)
            facts = pipeline.forecast(plan, store, jobs)
            print(dumps(facts)) if as_json else terminal.print_forecast(facts)
            return
        try:
            with store.locked():
                store.open(plan, fresh)
                raise typer.Exit(_run(plan, store, stop, jobs, engine, fail_fast, quiet, as_json))
        except Busy as error:
            raise fail(f"{error}; wait for it, or give --results another folder") from error
        except OSError as error:
            where = error.filename or store.folder
            raise fail(f"{where}: {error.strerror}; what is finished is kept, run again") from error
        except Stopped:
            kept = f"{_kept(plan, store)}/{len(plan.curves) * plan.trials} trials are kept"
            print(f"\nstopped: {kept}; the same command goes on from there", file=sys.stderr, flush=True)
            os._exit(stop.code)  # threads may still be playing; an orderly exit would wait for them, or crash


def _run(
    plan: "Plan", store: "Store", stop: Stop, jobs: int, engine: Engine, fail_fast: bool, quiet: bool, as_json: bool
) -> int:
    """Play what is missing, then write the outputs; the exit code."""
    from privbandits_cli import pipeline, terminal

    _warn_of(store)
    facts = {"command": ["privbandits", *sys.argv[1:]], "engine": engine.value, "jobs": jobs, "started": pipeline.now()}
    total = len(plan.curves) * plan.trials
    before = _kept(plan, store)
    with terminal.progress(plan.name, total, before, quiet) as advance:

        def watch(played: "Played") -> bool:
            advance(len(played.chunk.keys) * len(played.chunk.trials), played.chunk.rounds)
            for failure in played.failures:
                print(_failure_line(plan, failure), file=sys.stderr)
            return not (fail_fast and played.failures)

        failures = pipeline.play(plan, store, jobs, engine.value, watch, stop.wait)
    if _kept(plan, store) == 0:
        print("no trial succeeded: nothing to summarise", file=sys.stderr)
        return FAILED
    played_any = _kept(plan, store) > before or bool(failures)
    written = pipeline.write_outputs(plan, store, failures, facts if played_any else None)
    with stop.wait():  # a signal that came meanwhile
        pass
    _print_failures(plan, failures)
    if as_json:
        print(dumps(pipeline.result(plan, store, written)))
    elif not quiet:
        terminal.print_result(plan, list(pipeline.finals(plan, store)), store.folder)
    return FAILED if failures else OK


def _kept(plan: "Plan", store: "Store") -> int:
    """Trials of the plan that are played, over all curves."""
    return store.count(plan, plan.span)


def _warn_of(store: "Store") -> None:
    for path in store.unreadable:
        print(f"{path} was damaged; its trials are played again", file=sys.stderr)
    if store.other_code:
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
