"""The finished trials on disk: chunk files, each written completely or not at all, and a journal.

The chunk files are authoritative: a trial is done if it is in a chunk file whose checksum is right. The journal records
when each chunk was played and which trials failed. Regrets are read on demand, one curve at a time, so that memory does
not grow with the number of curves.
"""

import errno
import fcntl
import hashlib
import io
import json
import os
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.engine.play import Played
from privbandits_cli.experiment.files import DiskWarning, of_file, write_atomically
from privbandits_cli.experiment.plan import Curve, Plan
from privbandits_cli.experiment.received import INCLUDED, inside
from privbandits_cli.games.steps import composition
from privbandits_cli.numerics.digests import imports, of_modules, sha
from privbandits_cli.numerics.types import Floats
from privbandits_cli.plugins.loader import GAMES
from privbandits_cli.plugins.source import sources

Trials = NDArray[np.int64]
DIGEST = 32  # bytes of SHA-256 at the end of a chunk file, which NumPy ignores


class Busy(Exception):
    """Another process is running in this folder."""


class Damaged(OSError):
    """A chunk file whose checksum is wrong, or that is not as `keep` writes it."""


@cache
def libraries() -> str:
    """The libraries on which numbers depend: NumPy makes the random streams, and numba draws from them."""
    return ", ".join(f"{name} {version(name.lower())}" for name in ("NumPy", "numba"))


def code_here(curve: Curve) -> str:
    """The code that plays a curve here: the digest of its modules, and the libraries on which numbers depend."""
    return f"{_digest(players_of(curve), curve.algorithm.game)} with {libraries()}"


def players_of(curve: Curve) -> tuple[str, ...]:
    """The modules of a curve's algorithm, with what it is built on, and of its adversary."""
    return *composition(curve.algorithm), type(curve.adversary).__module__


def source_hash(plan: Plan) -> str:
    """The digest of all modules that play a plan."""
    games = sorted({(players_of(curve), curve.algorithm.game) for curve in plan.curves})
    return sha(*(_digest(*game) for game in games))[:12]


@cache
def _digest(players: tuple[str, ...], game: str) -> str:
    own = [name for player in players if player in sources for name in imports(sources[player].text.encode())]
    return of_modules([GAMES[game].__name__, *players, *own])[:12]


def read_chunk(path: Path) -> tuple[Trials, Floats, str]:
    """Trials, their regrets `[trials, checkpoints]` and the code that played them. Raises Damaged.

    Behind the regrets are the numbers `extra` of the game.
    """
    if path.is_symlink() or not path.is_file():
        raise Damaged(errno.EIO, "it is not a file", str(path))
    facts = path.stat()
    return _read_chunk(path, facts.st_size, facts.st_mtime_ns)


@lru_cache(maxsize=4096)  # each output of a run reads all chunk files, thousands in a large sweep
def _read_chunk(path: Path, size: int, changed: int) -> tuple[Trials, Floats, str]:
    content = path.read_bytes()
    if hashlib.sha256(content[:-DIGEST]).digest() != content[-DIGEST:]:
        raise Damaged(errno.EIO, "its checksum is wrong", str(path))
    try:
        return _arrays(io.BytesIO(content[:-DIGEST]))
    except Exception as error:  # whatever NumPy raises from bytes that it has not written
        raise Damaged(errno.EIO, f"it holds no trials ({error})", str(path)) from error


def _arrays(content: io.BytesIO) -> tuple[Trials, Floats, str]:
    """Trials, regrets and code; some exception if the arrays are others than those of `keep`."""
    with zipfile.ZipFile(content) as members:
        if any(member.compress_type != zipfile.ZIP_STORED for member in members.infolist()):
            raise ValueError("a compressed array")  # it could expand beyond the memory
    content.seek(0)
    with np.load(content, allow_pickle=False) as arrays:
        code = arrays["code" if "code" in arrays else "source_hash"]  # older files do not name the libraries
        trials, regrets = arrays["trials"], arrays["regrets"]
    kinds = trials.dtype, regrets.dtype, code.dtype.kind
    if kinds != (np.int64, np.float64, "U") or (trials.ndim, regrets.ndim, code.ndim) != (1, 2, 0):
        raise ValueError("arrays of other types or shapes")
    if not len(trials) or len(trials) != len(regrets) or trials[0] < 0 or (np.diff(trials) <= 0).any():
        raise ValueError("trials that are not in order, or not as many as regrets")
    if not np.isfinite(regrets).all():
        raise ValueError("regrets that are not numbers")
    return trials, regrets, str(code)


def chunk_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """The chunk files in this folder, each with the key of its curve."""
    for file in sorted(folder.glob("*.npz")):
        yield file.stem.rpartition("__")[0].rpartition("__")[2], file


class Store:
    """The results folder of one experiment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.chunks = folder / "chunks"
        self.damaged: list[Path] = []  # chunk files; their trials are played again
        self.other_code: dict[str, set[str]] = {}  # curve key -> other code that played some of its trials
        self.copied: dict[str, int] = {}  # trials of other experiments, by their folders
        self._pieces: dict[str, list[tuple[Path, Trials]]] = {}  # curve key -> chunk files with their trials

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Reserve the folder for this process; raises Busy if another process holds it.

        Warns where the file system has no locks, as some of NFS and Lustre: the folder is then not reserved. Raises
        Outside if a file or folder that is written to is a link that leads out of it.
        """
        places = [inside(self.folder, name) for name in ("chunks", "lock", "journal.jsonl", INCLUDED)]
        self.chunks.mkdir(parents=True, exist_ok=True)
        with places[1].open("a+", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                raise Busy(f"process {lock.read().strip() or '?'} is running in {self.folder}") from None
            except OSError as error:
                text = f"{self.folder} cannot be locked ({error.strerror})"
                warnings.warn(f"{text}: start no second run in it before this one ends", DiskWarning, stacklevel=3)
            with of_file(places[1]):
                lock.truncate(0)
                lock.write(str(os.getpid()))
                lock.flush()
            yield

    def open(self, plan: Plan, fresh: bool = False, clean: bool = True, here: bool = False) -> None:
        """Read which trials of a plan are done.

        fresh: delete them instead. clean: delete what is damaged. here: read only what the code here has played.
        """
        for folder in (self.chunks, self.folder) if clean else ():
            for leftover in folder.glob(".*.tmp*"):
                leftover.unlink()
        for key, file in chunk_files(self.chunks):
            if key not in plan.by_key:
                continue
            if fresh:
                file.unlink()
            else:
                self._read(file, plan.by_key[key], clean, here)

    def _read(self, file: Path, curve: Curve, clean: bool, here: bool) -> None:
        try:
            trials, regrets, code = read_chunk(file)
            if regrets.shape[1] != len(curve.checkpoints) + len(GAMES[curve.algorithm.game].Games.extra):
                raise Damaged(errno.EIO, "it has other checkpoints", str(file))
        except Damaged:
            self.damaged.append(file)
            if clean:
                file.unlink()
            return
        other = code != code_here(curve)
        if here and other:
            return
        if other:
            self.other_code.setdefault(curve.key, set()).add(code)
        self._pieces.setdefault(curve.key, []).append((file, trials))

    def done(self, curve: Curve) -> Trials:
        """The trials of a curve that are done, in order."""
        return np.unique(np.concatenate([np.empty(0, np.int64), *(t for _, t in self._pieces.get(curve.key, []))]))

    def count(self, curves: Iterable[Curve], span: range) -> int:
        """The number of trials of this span that are done, summed over the curves."""
        return sum(int(np.isin(span, self.done(curve), assume_unique=True).sum()) for curve in curves)

    def progress(self, plan: Plan) -> tuple[int, int]:
        """How many trials of a plan are done, and how many it has; of a shard, those of its part."""
        return self.count(plan.curves, plan.span), len(plan.curves) * len(plan.span)

    def neighbours(self, plan: Plan) -> Iterator["Store"]:
        """The other experiments beside this one, opened for what this code has played of a plan.

        The key of a curve determines its numbers, so theirs are the numbers that this experiment would play.
        """
        for chunks in sorted(self.folder.parent.glob("*/chunks")):
            folder = chunks.parent
            if folder != self.folder and not (chunks.is_symlink() or folder.is_symlink()):
                other = Store(folder)
                other.open(plan, clean=False, here=True)
                yield other

    def save(self, plan: Plan, played: Played) -> None:
        """Write the results of a chunk."""
        for key, (trials, regrets) in played.regrets.items():
            curve = plan.by_key[key]
            self.keep(curve, np.array(trials), regrets, code_here(curve))

    def keep(self, curve: Curve, trials: Trials, regrets: Floats, code: str) -> None:
        """Write a chunk file: trials of a curve, none of which is done yet, and the code that played them."""
        buffer = io.BytesIO()
        np.savez(buffer, trials=trials, regrets=regrets, code=np.array(code))
        content = buffer.getvalue()
        name = f"{curve.adversary.name}__{curve.algorithm.name}__{curve.key}__{trials[0]:06d}-{trials[-1]:06d}.npz"
        write_atomically(self.chunks / name, content + hashlib.sha256(content).digest())
        self._pieces.setdefault(curve.key, []).append((self.chunks / name, trials))

    def copy(self, plan: Plan, other: "Store") -> int:
        """Keep what another store has of a plan and this one lacks; returns the number of trials."""
        copied = 0
        for curve in plan.curves:
            for trials, regrets, played_by in other.pieces(curve):
                new = np.isin(trials, plan.span) & np.isin(trials, self.done(curve), invert=True)
                if new.any():
                    self.keep(curve, trials[new], regrets[new], played_by)
                    copied += int(new.sum())
        return copied

    def note(self, **event: Any) -> None:
        """Append an event to the journal."""
        path = self.folder / "journal.jsonl"
        with of_file(path), path.open("a", encoding="utf-8") as journal:
            journal.write(json.dumps(event) + "\n")

    def pieces(self, curve: Curve) -> Iterator[tuple[Trials, Floats, str]]:
        """The contents of a curve's chunk files: trials, regrets, code."""
        return (read_chunk(file) for file, _ in self._pieces.get(curve.key, []))

    def regrets(self, curve: Curve, trials: int) -> tuple[Trials, Floats]:
        """The done trials with numbers below `trials`, in order, and their regrets `[trials, checkpoints]`."""
        pieces = list(self.pieces(curve))
        if not pieces:
            return np.empty(0, np.int64), np.empty((0, 0))
        done, rows = np.unique(np.concatenate([piece[0] for piece in pieces]), return_index=True)
        rows = rows[done < trials]
        return done[done < trials], np.concatenate([piece[1] for piece in pieces])[rows]

    def digest(self, plan: Plan) -> str:
        """SHA-256 of all regrets of a plan, in the order of keys and trials; independent of the chunks."""
        digest = hashlib.sha256()
        for curve in sorted(plan.curves, key=lambda curve: curve.key):
            trials, regrets = self.regrets(curve, plan.trials)
            digest.update(curve.key.encode() + trials.tobytes() + regrets.tobytes())
        return digest.hexdigest()
