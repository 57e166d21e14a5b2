"""What has been played, on disk: chunk files, written whole or not at all, and a journal.

The chunk files are the truth: a trial is done when it stands in one whose checksum is right. The journal says when
each was played and what failed. Regrets are read when they are asked for, a curve at a time: memory does not grow with
the number of curves.
"""

import errno
import fcntl
import hashlib
import io
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.engine.play import Played
from privbandits_cli.experiment.plan import Curve, Plan
from privbandits_cli.numerics.jit import source_hash
from privbandits_cli.numerics.types import Floats

Trials = NDArray[np.int64]
DIGEST = 32  # bytes of sha256 that end a chunk file; NumPy reads the file all the same


class Busy(Exception):
    """Another process is running in this folder."""


class Damaged(OSError):
    """A chunk file that is not what was written."""


def write_atomically(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file so that a reader, now or after a crash, sees the old content or the new, never a part."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@cache
def libraries() -> str:
    """Those that decide numbers beside our sources: streams are NumPy's, what draws from them is numba's."""
    return ", ".join(f"{name} {version(name.lower())}" for name in ("NumPy", "numba"))


def code_here() -> str:
    """What trials are played by here: hash of the sources, and the libraries that decide numbers."""
    return f"{source_hash()} with {libraries()}"


def read_chunk(path: Path) -> tuple[Trials, Floats, str]:
    """Trials, their regrets `[trials, checkpoints]` and the code that played them, as `code_here` says; or Damaged."""
    facts = path.stat()
    return _read_chunk(path, facts.st_size, facts.st_mtime_ns)


@lru_cache(maxsize=512)  # each output of a run reads them all
def _read_chunk(path: Path, size: int, changed: int) -> tuple[Trials, Floats, str]:
    content = path.read_bytes()
    if hashlib.sha256(content[:-DIGEST]).digest() != content[-DIGEST:]:
        raise Damaged(errno.EIO, "its checksum is wrong", str(path))
    with np.load(io.BytesIO(content[:-DIGEST]), allow_pickle=False) as arrays:
        code = arrays["code" if "code" in arrays else "source_hash"]  # before libraries were noted beside it
        return arrays["trials"], arrays["regrets"], str(code)


class Store:
    """The results folder of one experiment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.chunks = folder / "chunks"
        self.unreadable: list[Path] = []  # chunk files found damaged; their trials are played again
        self.other_code: dict[str, set[str]] = {}  # curve key -> other code that played some of it
        self.played_by: set[str] = set()  # the code of all that was read
        self._pieces: dict[str, list[tuple[Path, Trials]]] = {}  # curve key -> chunk files and the trials in them

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
            trials, _, code = read_chunk(file)
        except Damaged:
            self.unreadable.append(file)
            if clean:
                file.unlink()
            return
        self.played_by.add(code)
        if code != code_here():
            self.other_code.setdefault(key, set()).add(code)
        self._pieces.setdefault(key, []).append((file, trials))

    def done(self, curve: Curve) -> Trials:
        """The trials of a curve that need not be played, in order."""
        return np.unique(np.concatenate([np.empty(0, np.int64), *(t for _, t in self._pieces.get(curve.key, []))]))

    def count(self, curves: Iterable[Curve], span: range) -> int:
        """How many trials of this span are done, over all these curves."""
        return sum(int(np.isin(span, self.done(curve), assume_unique=True).sum()) for curve in curves)

    def save(self, plan: Plan, played: Played) -> None:
        """Keep what came of a chunk."""
        for key, (trials, regrets) in played.regrets.items():
            self.keep(plan.by_key[key], np.array(trials), regrets, code_here())

    def keep(self, curve: Curve, trials: Trials, regrets: Floats, code: str) -> None:
        """Write a chunk file: trials of a curve, none of which is done, as played by these sources."""
        buffer = io.BytesIO()
        np.savez(buffer, trials=trials, regrets=regrets, code=np.array(code))
        content = buffer.getvalue()
        name = f"{curve.adversary.name}__{curve.algorithm.name}__{curve.key}__{trials[0]:06d}-{trials[-1]:06d}.npz"
        write_atomically(self.chunks / name, content + hashlib.sha256(content).digest())
        self._pieces.setdefault(curve.key, []).append((self.chunks / name, trials))

    def note(self, **event: Any) -> None:
        """Append an event to the journal."""
        with (self.folder / "journal.jsonl").open("a", encoding="utf-8") as journal:
            journal.write(json.dumps(event) + "\n")

    def pace(self) -> float | None:
        """Rounds per second and job of the chunks in the journal; None if there are none."""
        rounds, seconds = 0, 0.0
        for event in self._events():
            if event.get("event") == "chunk" and event["seconds"]:
                rounds, seconds = rounds + event["rounds"], seconds + event["seconds"]
        return rounds / seconds if seconds else None

    def _events(self) -> Iterator[dict[str, Any]]:
        """The journal; lines that a crash or a full disk has torn are passed over."""
        path = self.folder / "journal.jsonl"
        for line in path.read_bytes().splitlines() if path.exists() else []:
            with suppress(ValueError):
                yield json.loads(line)

    def pieces(self, curve: Curve) -> Iterator[tuple[Trials, Floats, str]]:
        """What the chunk files of a curve hold."""
        return (read_chunk(file) for file, _ in self._pieces.get(curve.key, []))

    def regrets(self, curve: Curve, trials: int) -> tuple[Trials, Floats]:
        """The trials below `trials` that are done, in order, and their regrets `[trials, checkpoints]`."""
        pieces = list(self.pieces(curve))
        if not pieces:
            return np.empty(0, np.int64), np.empty((0, 0))
        done, rows = np.unique(np.concatenate([piece[0] for piece in pieces]), return_index=True)
        rows = rows[done < trials]
        return done[done < trials], np.concatenate([piece[1] for piece in pieces])[rows]

    def digest(self, plan: Plan) -> str:
        """sha256 over all regrets of a plan, in the order of curves and trials; independent of the chunks."""
        digest = hashlib.sha256()
        for curve in sorted(plan.curves, key=lambda curve: curve.key):
            trials, regrets = self.regrets(curve, plan.trials)
            digest.update(curve.key.encode() + trials.tobytes() + regrets.tobytes())
        return digest.hexdigest()
