"""What has been played, on disk: chunk files, written whole or not at all, and a journal.

The chunk files are the truth: a trial is done when it stands in a readable one. The journal says when each
was played and what failed.
"""

import fcntl
import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.engine.play import Played
from privbandits_cli.experiment.plan import Curve, Plan
from privbandits_cli.games.bandit import Floats
from privbandits_cli.jit import source_hash


class Busy(Exception):
    """Another process is running in this folder."""


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader, now or after a crash, sees the old content or the new, never a part."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


class Store:
    """The results folder of one experiment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.chunks = folder / "chunks"
        self.unreadable: list[Path] = []  # chunk files found damaged; their trials are played again
        self.other_code: dict[str, set[str]] = {}  # curve key -> hashes of other sources that played some of it
        self._regrets: dict[str, dict[int, Floats]] = {}  # curve key -> trial -> regrets [checkpoints]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for this process; raises Busy when another one does."""
        self.chunks.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                raise Busy(f"process {lock.read().strip() or '?'} is running in {self.folder}") from None
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            yield

    def open(self, plan: Plan, fresh: bool = False, clean: bool = True) -> None:
        """Read what is done of a plan; `fresh` forgets it instead; without `clean` nothing is deleted."""
        for folder in (self.chunks, self.folder) if clean else ():
            for leftover in folder.glob(".*.tmp*"):
                leftover.unlink()
        for file in sorted(self.chunks.glob("*.npz")):
            key = file.stem.rpartition("__")[0].rpartition("__")[2]
            if key not in plan.by_key:
                continue
            if fresh:
                file.unlink()
            else:
                self._read(file, key, clean)

    def _read(self, file: Path, key: str, clean: bool) -> None:
        try:
            with np.load(file, allow_pickle=False) as content:
                trials, regrets = content["trials"], content["regrets"]
                code = str(content["source_hash"])
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile):
            self.unreadable.append(file)
            if clean:
                file.unlink()
            return
        if code != source_hash():
            self.other_code.setdefault(key, set()).add(code)
        self._regrets.setdefault(key, {}).update(zip(trials.tolist(), regrets, strict=True))

    def done(self, curve: Curve) -> set[int]:
        """The trials of a curve that need not be played."""
        return set(self._regrets.get(curve.key, {}))

    def save(self, plan: Plan, played: Played) -> None:
        """Keep what came of a chunk."""
        for key, (trials, regrets) in played.regrets.items():
            curve = plan.by_key[key]
            name = f"{curve.adversary.name}__{curve.algorithm.name}__{key}__{trials[0]:06d}-{trials[-1]:06d}.npz"
            with tempfile.SpooledTemporaryFile(max_size=2**26) as buffer:
                np.savez(buffer, trials=np.array(trials), regrets=regrets, source_hash=np.array(source_hash()))
                buffer.seek(0)
                write_atomically(self.chunks / name, buffer.read())
            self._regrets.setdefault(key, {}).update(zip(trials, regrets, strict=True))

    def note(self, **event: Any) -> None:
        """Append an event to the journal."""
        with (self.folder / "journal.jsonl").open("a", encoding="utf-8") as journal:
            journal.write(json.dumps(event) + "\n")

    def pace(self) -> float | None:
        """Rounds per second and job of the chunks in the journal; None if there are none."""
        try:
            lines = (self.folder / "journal.jsonl").read_bytes().split(b"\n")[:-1]  # the last may be torn
        except FileNotFoundError:
            return None
        events = [event for event in map(json.loads, lines) if event["event"] == "chunk" and event["seconds"]]
        seconds = sum(event["seconds"] for event in events)
        return sum(event["rounds"] for event in events) / seconds if seconds else None

    def regrets(self, curve: Curve, trials: int) -> tuple[NDArray[np.int64], Floats]:
        """The trials below `trials` that are done, in order, and their regrets `[trials, checkpoints]`."""
        rows = self._regrets.get(curve.key, {})
        done = sorted(trial for trial in rows if trial < trials)
        return np.array(done, np.int64), np.array([rows[trial] for trial in done])

    def digest(self, plan: Plan) -> str:
        """sha256 over all regrets of a plan, in the order of curves and trials; independent of the chunks."""
        digest = hashlib.sha256()
        for curve in sorted(plan.curves, key=lambda curve: curve.key):
            trials, regrets = self.regrets(curve, plan.trials)
            digest.update(curve.key.encode() + trials.tobytes() + regrets.tobytes())
        return digest.hexdigest()
