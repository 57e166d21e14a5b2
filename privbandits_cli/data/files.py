"""Adversaries that play a file. Its content counts, not its place or name: it is known by its sha256."""

import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Self
from zipfile import BadZipFile

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr, field_validator

from privbandits_cli.games import contextual, players
from privbandits_cli.games.contextual import Law, Setting
from privbandits_cli.numerics.types import Ints

INDEX = ("", "index", "unnamed: 0")  # names of pandas's index column
SEEN = 65536  # rows in which a column is recognised as an index
INVERSION = 1e-9  # seconds, times d³: measured at d from 80 to 2400 on a core of 2026
SLOW = 1.0  # seconds of inversions in a round, from which a run is warned of
SHIPPED = Path(__file__).parent / "shipped"
Stamp = tuple[int, int]


class PlaysFile(players.Adversary):
    """An adversary that plays a file."""

    path: str = Field(description="the file, relative to the working directory")
    sha256: str | None = Field(None, description="sha256 of the file; default: that of the current file")
    _folder: Path = PrivateAttr(default_factory=Path.cwd)

    @field_validator("path")
    @classmethod
    def _at_home(cls, path: str) -> str:
        return os.path.expanduser(path)

    def identity(self) -> str:
        """Name and parameters without the path: the content of the file counts, not its location."""
        return json.dumps({k: v for k, v in self.described().items() if k != "path"}, sort_keys=True)

    @property
    def file(self) -> str:
        """The file of `path`: a table of the package if `path` is its name."""
        return str(SHIPPED / f"{self.path}.npy") if self.path in shipped() else self.path

    def tuned(self, setting: Setting) -> Self:
        return self.model_copy(update={"sha256": digest(self.file, stamp(self.file))})

    def reads(self) -> tuple[str, ...]:
        return () if self.path in shipped() else (self.path,)

    def path_here(self) -> str:
        """The path of the file from here: a worker may run in another folder, or on another machine.

        Raises ValueError if the file has changed since the run began.
        """
        there = self._folder / self.file
        path = str(there) if Path.cwd() != self._folder and there.exists() else self.file
        if digest(path, stamp(path)) != self.sha256:
            raise ValueError(f"{self.path} has changed since the run began")
        return path

    def errors(self, setting: Setting) -> Iterator[str]:
        try:
            found = list(self.file_errors(setting))
        except OSError as error:
            reason = error.strerror or error
            found = [f"{self.path}: cannot be read: {reason}; paths are relative to the working directory"]
        except ValueError as error:
            found = [str(error)]
        yield from found

    def file_errors(self, setting: Setting) -> Iterator[str]:
        """The errors in the file and in its fit to the game; raises OSError or ValueError if it cannot be read."""
        raise NotImplementedError

    def other_file(self) -> str | None:
        """The error that the file is not the one of the config's sha256."""
        sha256 = digest(self.file, stamp(self.file))
        if self.sha256 in (None, sha256):
            return None
        return f"{self.path} is not the file that was played: its sha256 is {sha256[:12]}..., not {self.sha256}"


class PlaysRows(PlaysFile):
    """An adversary that plays the rows of a file, one a round."""

    order: Literal["file", "shuffled"] = Field(
        "file", description="the order of the rows; `shuffled` is a new order in each trial"
    )
    repeat: bool = Field(False, description="start again from the first row if the horizon is longer than the file")

    def places(self, n: int, rng: Generator, blocks: Iterable[range]) -> Iterator[slice | Ints]:
        """The rows of n that are played in each block of rounds (counted from 1)."""
        order = np.empty(0, np.int64)
        for rounds in blocks:
            if self.order == "shuffled":
                while len(order) < len(rounds):  # the rest of this pass over the file is too short
                    order = np.append(order, rng.permutation(n))
                some, order = order[: len(rounds)], order[len(rounds) :]
                yield some
            elif (first := (rounds.start - 1) % n) + len(rounds) <= n:
                yield slice(first, first + len(rounds))
            else:
                yield np.arange(rounds.start - 1, rounds.stop - 1) % n

    def unplayable(self, n: int, setting: Setting) -> Iterator[str]:
        """The errors that the file, of n rows, is not the one of the config's sha256, or is too short."""
        if other := self.other_file():
            yield other
        elif n < setting.horizon and not self.repeat:
            rows = "row" if n == 1 else "rows"
            yield f"{self.path} has {n} {rows} for {setting.horizon} rounds: set `horizon: {n}`, or `repeat: true`"


class PlaysActions(PlaysFile, contextual.Adversary):
    """An adversary that plays a file with K classes or actions and p features x, scaled into the unit ball.

    The arm of action a is e_a ⊗ z with z = (1, x)/√2, so a linear learner has a separate model for each action.
    """

    linear = False
    nonnegative = True

    def law(self) -> Law:
        return "certain"

    def bounds(self, setting: Setting) -> tuple[float, float]:
        """Bounds on the norms of the arms and of θ. The θ that gives every arm the mean 1 has the norm √(2K)."""
        return 1.0, math.sqrt(2 * setting.n_arms)

    def sizes(self) -> dict[str, int]:
        """The keys of an experiment that follow from the file, with their values, and the longest horizon.

        Raises OSError or ValueError if the file cannot be read.
        """
        raise NotImplementedError

    def rounds_per_person(self, column: str, setting: Setting) -> int:
        """The most rounds in which a trial may play rows with one value of a column; ValueError says what is wrong."""
        raise NotImplementedError

    def shown(self, setting: Setting) -> int:
        """The rows that a learner is shown in a round, on average."""
        return 1

    def remarks(self, setting: Setting) -> list[str]:
        """That private LinUCB, which inverts V for every row that it is shown, takes seconds for each round."""
        d, rows = setting.known().dimension, self.shown(setting)
        seconds = rows * INVERSION * d**3
        if seconds < SLOW:
            return []
        each = f"{rows} d x d matrices" if rows > 1 else "a d x d matrix"
        long = f"d = {d}: private LinUCB inverts {each} in a round, which takes about {seconds:,.0f} s"
        return [f"{self.path}: {long}: name fewer `features`, as d = {setting.n_arms} x (1 + features)"]

    def size_errors(self, setting: Setting, k: int, p: int, actions: str) -> Iterator[str]:
        """An error if the game lacks the numbers of arms and coordinates that the file's actions need."""
        if (setting.n_arms, setting.known().dimension) != (k, k * (p + 1)):
            what = f"{self.path} has {k} {actions} and {p} features"
            yield f"{what}: set `arms: {k}` and `dimension: {k * (p + 1)}`, which is {k} x (1 + {p})"


def shipped() -> tuple[str, ...]:
    """The names of the tables of the package."""
    return tuple(sorted(file.stem for file in SHIPPED.glob("*.npy")))


def stamp(path: str) -> Stamp:
    """Size and time of the last change, by which a change of content is detected."""
    facts = Path(path).stat()
    return facts.st_size, facts.st_mtime_ns


@lru_cache(maxsize=16)
def digest(path: str, stamp: Stamp) -> str:
    """The sha256 of the file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def saved_array(path: str) -> NDArray[Any]:
    """The array in a .npy file, which is not copied into memory; ValueError says what to save instead."""
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, BadZipFile):
        found = None
    if isinstance(found, np.ndarray):
        return found
    how = f"save one by `np.save({Path(path).name!r}, np.array(rows, float))`, and a table with texts as .csv"
    raise ValueError(f"{path}: not an array of numbers, or not all of it: {how}")


def check_is_file(path: str, what: str) -> None:
    """Raise ValueError for a folder, a pipe or a device."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{path}: a folder, a pipe or a device: {what}")


def index_column(path: str, column: int) -> str:
    """The message that a column (from 1) is an index of the rows."""
    return f"{path}: column {column} is an index of the rows: leave it out, with pandas by `to_csv(..., index=False)`"


def numbering(rows: NDArray[np.float64]) -> int | None:
    """The first column (from 1) that numbers the rows, from 0 or 1 on; three rows or more, as numbers may be 0, 1."""
    top = rows[:SEEN] - np.arange(min(len(rows), SEEN))[:, None]
    found = np.flatnonzero((top == 0).all(axis=0) | (top == 1).all(axis=0))
    return int(found[0]) + 1 if len(found) and len(top) > 2 else None
