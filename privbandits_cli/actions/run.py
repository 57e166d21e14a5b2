"""A run, from its plan to its CSVs, figure and manifest, and its result as plain data."""

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import yaml

from privbandits_cli.actions.privacy import ledger
from privbandits_cli.analysis import crate, stopping, summary
from privbandits_cli.analysis.curves import NothingToDraw
from privbandits_cli.analysis.folder import read_manifest
from privbandits_cli.analysis.manifest import manifest, rendered
from privbandits_cli.engine import Engine, rehearsal, runner
from privbandits_cli.engine.play import Failure, Played, estimated
from privbandits_cli.engine.store import Store, Trials
from privbandits_cli.experiment.config import ConfigError
from privbandits_cli.experiment.files import write_atomically
from privbandits_cli.experiment.plan import Curve, Plan
from privbandits_cli.experiment.received import INCLUDED
from privbandits_cli.figures import write
from privbandits_cli.plugins import messages

FIGURES = ("pdf", "png", "svg")
RUN = ("command", "engine", "jobs", "copied", "merged", "started", "ended")  # how trials were run, in the manifest
GIVEN = "experiment.yaml"  # a shard's experiment as given, before its sweeps are expanded, for `merge`


class NotDrawn(UserWarning):
    """Why a run has no figure."""


@dataclass(frozen=True)
class Events:
    """Callbacks of a run; by default they do nothing.

    opened: called once the folder is locked and read, and the experiment is ready to run. wait: entered whenever the
    run waits for something; what it raises ends the run. playing: entered while trials are played; yields a function
    that receives each chunk, and ends the run by returning False.
    """

    opened: Callable[[], None] = lambda: None
    wait: Callable[[], AbstractContextManager[None]] = nullcontext
    playing: Callable[[], AbstractContextManager[Callable[[Played], bool]]] = lambda: nullcontext(lambda played: True)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run."""

    failures: list[Failure]
    written: list[str]  # names of files; none where no trial has succeeded


def run(
    plan: Plan,
    store: Store,
    engine: Engine,
    jobs: int,
    command: list[str],
    *,
    fresh: bool = False,
    rehearse: bool = True,
    events: Events = Events(),
) -> Outcome:
    """Run the missing trials of a plan and write its outputs.

    Trials that other experiments in the same folder have played are copied. fresh: discard finished trials, and copy
    none. rehearse: first run a few rounds with users' files. Raises ConfigError with the errors of users' files, Busy,
    EngineError, and OSError where a file cannot be written.
    """

    def play(missing: int) -> tuple[list[Failure], dict[str, Any]]:
        width = jobs
        if missing and not fresh:
            missing -= _copy_played(plan, store)
        if missing and rehearse and plan.own_files and (errors := rehearsal.errors(plan)):
            raise ConfigError(errors)
        events.opened()
        if missing and engine.address:
            width = runner.survey(engine.address, events.wait)
        with events.playing() as watch:
            failures = _play(plan, store, width, engine, watch, events.wait)
        copied = {"copied": store.copied} if store.copied else {}
        return failures, {"engine": engine.kind, "jobs": width, **copied}

    return complete(plan, store, command, play, fresh)


def complete(
    plan: Plan,
    store: Store,
    command: list[str],
    fill: Callable[[int], tuple[list[Failure], dict[str, Any]]],
    fresh: bool = False,
) -> Outcome:
    """Lock a run's folder, read the finished trials, add the missing ones, write the outputs.

    fill: takes the number of trials that are missing; returns what failed and how it was played, for the manifest.
    """
    started = _now()
    with store.locked():
        store.open(plan, fresh)
        before, wanted = store.progress(plan)
        failures, how = fill(wanted - before)
        after, _ = store.progress(plan)
        if not after and len(plan.span):
            return Outcome(failures, [])
        facts = {"command": command, **how, "started": started}
        written = write_outputs(plan, store, failures, facts if after > before or failures else None)
    return Outcome(failures, written)


def _copy_played(plan: Plan, store: Store) -> int:
    """Copy what other experiments beside this one have played; returns the number of trials."""
    for other in store.neighbours(plan):
        copied = store.copy(plan, other)
        if copied:
            store.copied[other.folder.name] = copied
            store.note(event="copied", at=_now(), source=other.folder.name, trials=copied)
    return sum(store.copied.values())


def _now() -> str:
    """The time, UTC, in seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _play(
    plan: Plan,
    store: Store,
    jobs: int,
    engine: Engine,
    watch: Callable[[Played], bool],
    wait: Callable[[], AbstractContextManager[None]],
) -> list[Failure]:
    """Run the missing trials and store them."""
    chunks = list(plan.chunks(store.done, jobs))
    failures: list[Failure] = []
    if plan.is_part:
        _write_yaml(store.folder / GIVEN, plan.experiment.given)  # now: a shard may be killed
        _keep_included(plan, store)
    if not chunks:
        return failures
    store.note(event="start", at=_now(), jobs=jobs, engine=str(engine), chunks=len(chunks))
    if engine.address is None:  # elsewhere each worker compiles for itself
        runner.warm(chunks, jobs, wait)
    if not plan.is_part:  # loading the plotting code takes a while: do it while kernels play on other cores
        Thread(target=import_module, args=("privbandits_cli.figures.plot",), daemon=True).start()
    results = runner.run(chunks, engine, jobs)
    while True:
        with wait():
            played = next(results, None)
        if played is None:
            return failures
        store.save(plan, played)
        failures.extend(played.failures)
        store.note(
            event="chunk",
            at=_now(),
            seconds=round(played.seconds, 4),
            rounds=played.chunk.rounds,
            keys=played.chunk.keys,
            first=played.chunk.trials[0],
            last=played.chunk.trials[-1],
            failures=[astuple(failure) for failure in played.failures],
        )
        if not watch(played):
            return failures


def _write_yaml(path: Path, content: dict[str, Any]) -> None:
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110)
    write_atomically(path, text.encode())


def _keep_included(plan: Plan, store: Store) -> None:
    """Keep copies of the users' files that play: with them a figure can be redrawn, and a run repeated."""
    for source in (source for source in plan.own_files if not source.installed):
        (store.folder / INCLUDED).mkdir(exist_ok=True)
        write_atomically(store.folder / INCLUDED / f"{source.name}.py", source.text.encode())


def write_outputs(plan: Plan, store: Store, failures: list[Failure], run: dict[str, Any] | None) -> list[str]:
    """Write config.yaml, the CSVs, the manifest, the crate, and the figure if any of its sources changed.

    A shard gets the manifest only: its CSVs and figure could be mistaken for those of the whole experiment.
    run: how trials were run; None if none were, and the manifest then keeps its record of the last run.
    """
    _keep_included(plan, store)
    if plan.is_part:
        i, n = plan.shard
        done, trials = store.progress(plan)
        shard = {"part": f"{i}/{n}", "trials": trials, "done": done}
        _write_manifest(store, _manifest(plan, store, failures, run, shard=shard))
        crate.write(store.folder)
        return [GIVEN, "manifest.json", crate.CRATE]
    _write_yaml(store.folder / "config.yaml", plan.experiment.resolved())
    tables = ["config.yaml"]
    for name, parts in summary.tables(plan, store):
        write_atomically(store.folder / name, (part.encode() for part in parts))
        tables.append(name)
    pictures = [store.folder / f"{plan.name}.{kind}" for kind in FIGURES]
    made = _manifest(plan, store, failures, run, figure_of=_before(store).get("figure_of"))
    _write_manifest(store, made)  # the figure takes the names of its curves from there
    sources = write.sources(store.folder)
    if sources != made["figure_of"] or not all(picture.exists() for picture in pictures):
        from privbandits_cli.figures import plot, table

        try:
            figure = plot.figure(table.read(store.folder))
        except NothingToDraw as reason:
            warnings.warn(f"no figure is drawn: {reason}", NotDrawn, stacklevel=2)
            pictures = []
        else:
            plot.save(figure, store.folder, plan.name, FIGURES)
            _write_manifest(store, made | {"figure_of": sources})
    crate.write(store.folder)
    return [*tables, *(picture.name for picture in pictures), "manifest.json", crate.CRATE]


def _manifest(
    plan: Plan, store: Store, failures: list[Failure], run: dict[str, Any] | None, **further: Any
) -> dict[str, Any]:
    failed = []
    for failure in failures:
        curve = plan.by_key[failure.key]
        names = {"adversary": curve.adversary.name, "label": curve.label}
        failed.append(names | {"trial": failure.trial, "error": failure.error})
    before = {key: value for key, value in _before(store).items() if key in RUN}
    if plan.own_files or plan.experiment.needs_files:  # who reports it later may not have, or not trust, these files
        further["ledger"] = _ledger(plan)
    return manifest(plan, store, failed, **(before if run is None else run | {"ended": _now()}), **further)


def _before(store: Store) -> dict[str, Any]:
    """The manifest of the last run; empty if there is none, or a damaged one, which is then written anew."""
    with suppress(OSError, ValueError):
        return read_manifest(store.folder)
    return {}


def lost(plan: Plan, store: Store) -> int:
    """How many curves the folder's CSVs have that this run will not write: those of another config."""
    return 0 if plan.is_part else len(_before(store).get("curves", {}).keys() - plan.by_key.keys())


def _ledger(plan: Plan) -> list[dict[str, Any]] | str:
    """The privacy ledger, or the error of the user's file that should give it."""
    try:
        return ledger(plan.experiment)
    except Exception as error:  # whatever a user's file raises: what was played is still written
        return messages.message(error).splitlines()[0]


def _write_manifest(store: Store, made: dict[str, Any]) -> None:
    write_atomically(store.folder / "manifest.json", rendered(made).encode())


def result(plan: Plan, store: Store, written: list[str]) -> dict[str, Any]:
    """A run's result as plain data: final regrets, except for a shard, and where the files are."""
    facts = {"experiment": plan.name, "folder": store.folder.as_posix(), "files": written}
    if plan.is_part:
        done, wanted = store.progress(plan)
        return facts | {"trials": wanted, "done": done}
    final = []
    for key, numbers in finals(plan, store).items():
        curve = plan.by_key[key]
        names = {"adversary": curve.adversary.name, "algorithm": curve.algorithm.name, "label": curve.label}
        final.append(names | numbers)
    return facts | {"final": final}


def finals(plan: Plan, store: Store) -> dict[str, dict[str, float | None]]:
    """By its key, each curve that has trials: its final regret, or its cells of stopping.csv, None if empty."""
    found: dict[str, dict[str, float | None]] = {}
    for curve, trials, x in summary.played(plan, store):
        if summary.stops(plan):
            columns = stopping.of_curve(curve, x)
            found[curve.key] = {name: None if value == "" else value for name, value in columns.items()}
        else:
            found[curve.key] = {"regret": float(summary.summarised(plan, trials, x[:, -1:])["regret"][0])}
        found[curve.key]["trials"] = len(trials)
    return found


def forecast(
    plan: Plan,
    store: Store,
    jobs: int,
    wait: Callable[[], AbstractContextManager[None]] = nullcontext,
    *,
    fresh: bool = False,
) -> dict[str, Any]:
    """What a run would do, as plain data; `seconds` is an estimate from `measured` rounds, which are played now.

    Raises ConfigError with the errors of users' files.
    """
    stores = [store] if fresh else [store, *store.neighbours(plan)]

    def done(curve: Curve) -> Trials:
        return np.unique(np.concatenate([one.done(curve) for one in stores]))

    chunks = list(plan.chunks(done, jobs))
    if chunks and plan.own_files and (errors := rehearsal.errors(plan)):
        raise ConfigError(errors)
    seconds, measured = estimated(chunks, wait) if chunks else (0.0, 0)
    return {
        "experiment": plan.name,
        "curves": [
            {
                "adversary": curve.adversary_label or curve.adversary.name,
                "label": plan.legends[curve.key],
                "key": curve.key,
                "done": int(np.isin(plan.span, done(curve)).sum()),
                "trials": len(plan.span),
            }
            for curve in plan.curves
        ],
        "chunks": len(chunks),
        "rounds": sum(chunk.rounds for chunk in chunks),
        "jobs": jobs,
        "seconds": seconds / min(jobs, len(chunks) or 1),
        "measured": measured,
    }
