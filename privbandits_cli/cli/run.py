"""`run`: run an experiment, show its progress, write its outputs."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privbandits_cli.analysis.format import counted
from privbandits_cli.cli.app import FAILED, FULL, OK, app, dumps, fail, fitted, refusal, reported
from privbandits_cli.cli.include import announced, debugged
from privbandits_cli.cli.last_words import last_words
from privbandits_cli.cli.options import AsJson, Config, Include, Overrides, Results, Smoke
from privbandits_cli.cli.signals import Stop, Stopped
from privbandits_cli.engine import Engine, EngineError, EngineKind, EngineLost

if TYPE_CHECKING:
    from privbandits_cli.actions.run import Outcome
    from privbandits_cli.engine.play import Failure, Played
    from privbandits_cli.engine.store import Store
    from privbandits_cli.experiment.plan import Plan

MOST_LISTED = 12  # kinds of failure listed at the end of a run
TRIAL_LETTERS = 40  # characters of trial numbers; a longer list is cut


@app.command()
def run(
    config: Config,
    overrides: Overrides = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=0, help="Cores to use; 0 means all.")] = 0,
    engine: Annotated[
        EngineKind, typer.Option(help="threads start fastest; processes survive crashes; dask uses other machines.")
    ] = "threads",
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="TCP://HOST:PORT", help="A Dask scheduler, for --engine dask; all its workers are used."),
    ] = None,
    shard: Annotated[str | None, typer.Option(metavar="I/N", help="Run part I of N, to be merged later.")] = None,
    include: Include = None,
    results: Results = Path("results"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be run, and exit.")] = False,
    smoke: Smoke = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Delete finished trials and start afresh.")] = False,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first trial that fails.")] = False,
    python: Annotated[
        bool, typer.Option("--python", help="Debug your own file uncompiled, on one core: print, breakpoint().")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no table.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run an experiment and write its figure, CSVs and manifest.

    The output goes to results/EXPERIMENT. After an interruption, the same command continues where it stopped:
    finished trials are kept. If you raise `trials` or add an algorithm, only the missing trials are run. Curves that
    another experiment in the same folder has simulated with the same code are copied.

    \b
    Examples:
      privbandits run fig1
      privbandits run fig1 --smoke
      privbandits run fig1 'algorithms[1].epsilon=[0.1, 1]' experiment=mine
      privbandits run fig1 --smoke --include my_bandit.py algorithms+=my_bandit
    """
    from privbandits_cli.actions import run
    from privbandits_cli.cli import terminal
    from privbandits_cli.engine import runner
    from privbandits_cli.engine.store import Store
    from privbandits_cli.experiment.config import load
    from privbandits_cli.experiment.plan import make_plan

    if python and (engine != "threads" or jobs > 1):
        raise fail("--python plays on one core in this process: leave --engine and --jobs out")
    files = ", ".join(map(str, include or ())) or "a file that it includes"
    read = f"{config}: the run was killed, or {files} ended it while it was read"
    with reported(EngineError), Stop() as stop, last_words(read) as say:
        chosen = Engine.parse(engine, scheduler)
        if chosen.address and jobs:
            raise fail("--jobs counts cores of this machine, but --scheduler uses all of its workers: leave --jobs out")
        plan = make_plan(load(config, overrides, smoke, include or (), admit=announced(quiet)), _part(shard))
        store = Store(results / plan.folder)
        say(_if_it_dies(plan, fresh))
        jobs = 1 if python else jobs or runner.cores()
        for line in terminal.remark_lines(plan):
            print(fitted(line), file=sys.stderr)
        with errors_reported(plan, store, stop, say, fresh):
            if dry_run:
                if not fresh:
                    store.open(plan, clean=False)
                facts = run.forecast(plan, store, jobs, stop.wait, fresh=fresh)
                print(dumps(facts)) if as_json else terminal.print_forecast(facts)
                return
            screen = _Screen(plan, store, chosen, fail_fast, quiet, python)
            events = run.Events(screen.opened, stop.wait, screen.playing)
            command = ["privbandits", *sys.argv[1:]]
            outcome = run.run(plan, store, chosen, jobs, command, fresh=fresh, rehearse=not python, events=events)
            raise typer.Exit(show(plan, store, outcome, stop, quiet, as_json))


def same_command(fresh: bool) -> str:
    """What continues a run: with `--fresh` the same command would start afresh."""
    return f"the same command{' without --fresh' * fresh} continues"


def _if_it_dies(plan: "Plan", fresh: bool) -> str:
    """The message if the run dies without one."""
    files = ", ".join(source.path for source in plan.own_files)
    kept = f"finished trials are kept, and {same_command(fresh)}"
    if not files:
        return f"the run was killed; {kept}"
    return f"the run was killed, or {files} ended it; {kept}; --engine processes names the trials that end a process"


def _part(shard: str | None) -> tuple[int, int]:
    """The numbers of `2/4`."""
    if shard is None:
        return 1, 1
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", shard)
    i, n = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= i <= n:
        raise fail(f"--shard {shard}: give a part and the number of parts, 1/4 to 4/4")
    return i, n


@contextmanager
def errors_reported(
    plan: "Plan", store: "Store", stop: Stop, say: Callable[[str], None] = lambda words: None, fresh: bool = False
) -> Iterator[None]:
    """Exit with a message if a run cannot start or continue; `say` takes back the last words if it is stopped.

    fresh: the same command would delete what is kept.
    """
    from privbandits_cli.engine.store import Busy

    def kept() -> str:
        done, trials = store.progress(plan)
        return f"{done}/{trials} trials are kept; {same_command(fresh)} from there"

    def farewell() -> None:
        print(f"\nstopped: {kept()}", file=sys.stderr, flush=True)
        say("")

    stop.farewell = farewell
    try:
        yield
    except Busy as error:
        raise fail(f"{error}; wait until it ends, or choose another folder with --results") from error
    except EngineLost as error:
        print(f"{error}\n{kept()}", file=sys.stderr)
        raise typer.Exit(FAILED) from error
    except OSError as error:
        if error.filename is None and error.errno in FULL:  # standard output
            raise
        error.filename = error.filename or str(store.folder)
        raise fail(refusal(error), *[kept()] * (store.progress(plan)[0] > 0)) from error
    except Stopped:
        farewell()
        os._exit(stop.code)  # threads may still be playing; an orderly exit would wait for them, or crash


@dataclass
class _Screen:
    """What the terminal shows during a run."""

    plan: "Plan"
    store: "Store"
    engine: Engine
    fail_fast: bool
    quiet: bool
    python: bool
    _shown: set[tuple[str, str]] = field(default_factory=set)  # kinds of failures

    def opened(self) -> None:
        warn_of(self.store)
        if self.store.copied and not self.quiet:
            print(copied_line(self.store), file=sys.stderr)
        done, trials = self.store.progress(self.plan)
        for line in () if self.quiet else _replaced(self.plan, self.store, done < trials):
            print(fitted(line), file=sys.stderr)
        if self.engine.address and done < trials and not self.quiet:
            print(f"looking for workers at {self.engine.address}", file=sys.stderr)
        if done < trials and not (self.quiet or self.python):
            from privbandits_cli.cli import terminal

            for line in terminal.alone_lines(self.plan):
                print(fitted(line), file=sys.stderr)

    @contextmanager
    def playing(self) -> "Iterator[Callable[[Played], bool]]":
        from privbandits_cli.cli import terminal

        done, trials = self.store.progress(self.plan)
        quiet = self.quiet or self.python
        with (
            debugged() if self.python else nullcontext(),
            terminal.progress(self.plan.folder, trials, done, quiet) as advance,
        ):

            def watch(played: "Played") -> bool:
                advance(len(played.chunk.keys) * len(played.chunk.trials), played.chunk.rounds)
                new = [failure for failure in played.failures if _kind(failure) not in self._shown]
                self._shown.update(_kind(failure) for failure in new)
                for line in _lines(self.plan, new):
                    print(fitted(line), file=sys.stderr)
                return not (self.fail_fast and played.failures)

            yield watch


def show(plan: "Plan", store: "Store", outcome: "Outcome", stop: Stop, quiet: bool, as_json: bool) -> int:
    """Print what failed, and the result as JSON or as a table; returns the exit code."""
    from privbandits_cli.actions import run
    from privbandits_cli.cli import terminal

    with stop.wait():  # raises a signal that came while the outputs were written
        pass
    if outcome.failures:
        _list(plan, outcome.failures)
    if not outcome.written:
        print("no trial succeeded: nothing to summarise", file=sys.stderr)
    elif as_json:
        print(dumps(run.result(plan, store, outcome.written)))
    elif not quiet and plan.is_part:
        terminal.print_part(plan, *store.progress(plan), store.folder)
    elif not quiet and plan.experiment.keys.game == "best_arm":
        terminal.print_stopping(plan, run.finals(plan, store), store.folder)
    elif not quiet:
        from privbandits_cli.analysis.curves import NothingToDraw
        from privbandits_cli.figures import table

        fewest = min(store.count([curve], plan.span) for curve in plan.curves)
        try:
            terminal.print_result(plan, table.read(store.folder), fewest, store.folder)
        except NothingToDraw:  # a warning has said why
            print(f"{store.folder}/: {', '.join(outcome.written)}")
    return FAILED if outcome.failures else OK


def _replaced(plan: "Plan", store: "Store", played: bool) -> Iterator[str]:
    """What of an earlier run in the same folder is replaced, and what is not; played: whether numbers will change."""
    from privbandits_cli.actions import run

    if n := run.lost(plan, store):
        yield f"note: {store.folder} has results of another config: {counted(n, 'curve')} of its CSVs will be replaced"
    if (n or played) and (store.folder / "report.html").exists():
        yield f"note: {store.folder}/report.html is of an earlier run: `privbandits report {store.folder}` renews it"


def _list(plan: "Plan", failed: "Sequence[Failure]") -> None:
    print(f"\n{counted(len(failed), 'trial')} failed (traces in journal.jsonl):", file=sys.stderr)
    lines = list(_lines(plan, failed, source=True))
    more = [f"and {len(lines) - MOST_LISTED} more kinds"] if len(lines) > MOST_LISTED else []
    for line in lines[:MOST_LISTED] + more:
        print(fitted("  " + line), file=sys.stderr)


def _kind(failure: "Failure") -> tuple[str, str]:
    """The curve and the message without its numbers: failures that agree in these are of one kind."""
    return failure.key, re.sub(r"(?<=[ (])-?\d[\d.,e+-]*", "N", failure.error)


def _lines(plan: "Plan", failures: "Sequence[Failure]", source: bool = False) -> Iterator[str]:
    """A message per kind of failure, taken from its first trial; with `source`, the line of the user's file below."""
    from privbandits_cli.cli.terminal import trials

    alike: dict[tuple[str, str], list[Failure]] = {}
    for failure in failures:
        alike.setdefault(_kind(failure), []).append(failure)
    for same in alike.values():
        first = min(same, key=lambda failure: failure.trial)
        curve = plan.by_key[first.key]
        which = trials(failure.trial for failure in same)
        if len(which) > TRIAL_LETTERS:
            which = f"{which[: which.rindex(',', 0, TRIAL_LETTERS)]}, ..., {len(same)} trials"
        written = first.trace.splitlines()[1:2] if source else []
        yield "\n".join(
            [f"failed: {plan.legends[curve.key]} against {curve.adversary.name}, {which}: {first.error}"]
            + [line for line in written if line.startswith("    ")]
        )


def copied_line(store: "Store") -> str:
    """What a run has copied instead of playing it."""
    first, *others = store.copied
    more = f" and {counted(len(others), 'other experiment')}" if others else ""
    return f"{counted(sum(store.copied.values()), 'trial')} copied from {first}{more}, with the same curves and code"


def warn_of(store: "Store") -> None:
    """Warn of damaged chunk files, and of trials from another version of the code."""
    if store.damaged:
        n = len(store.damaged)
        others = f" and {n - 1} more chunks were" if n > 1 else " was"
        print(fitted(f"{store.damaged[0]}{others} damaged; their trials are run again"), file=sys.stderr)
    if store.other_code:
        curves = counted(len(store.other_code), "curve")
        reason = "are from another version of the code, NumPy or numba; `run --fresh` runs them again"
        print(fitted(f"trials of {curves} {reason}"), file=sys.stderr)
