"""Replay: recorded gains, one row per round, one column per arm.

The file is a CSV (optionally with a header line), separated by commas, semicolons or tabs, a table of JSON lines or
Parquet, or a `.npy` array `[rows, arms]`; its path is relative to the working directory. Gains lie in [0, 1], or in the
range `scale`, which is mapped to [0, 1]. With `order: file`, all trials play the same game and differ only in the
algorithms' random numbers. `order: shuffled` plays the rows in a new order in each trial. A `.npy` file is read during
the game (shuffling takes 8 bytes for each row and trial); any other is kept in memory. The file's sha256 represents its
content in a curve's key. If a config gives a sha256, a file with different content is refused. The same gains as .csv
and as .npy have different sha256 values, hence different random streams and numbers.

Every round needs the gain of every arm. A log of the arms that were played, with their rewards, does not have the
gains of the other arms and is refused, as is a column that numbers the rows. A first line 0,1,... has the names that
pandas gives to columns without names. It is refused if its numbers are also among those of the rows.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field

from privbandits_cli.data.files import (
    INDEX,
    PlaysRows,
    Stamp,
    check_is_file,
    index_column,
    numbering,
    saved_array,
    stamp,
)
from privbandits_cli.data.logs import NAMES
from privbandits_cli.data.tables import Texts, columns_of
from privbandits_cli.data.text_files import READ, SEPARATED, cells, format_of, lines_of, separator, unknown_format
from privbandits_cli.games import bandit
from privbandits_cli.games.bandit import Floats, Setting
from privbandits_cli.numerics.text import exact, meant, number_of

ROWS = 65536  # rows that are checked together
READ_AS = f"gains are read from {READ} files"
# Names of columns, in lower case, of a log of the arms that were played, and of what is no gain.
LOGGED = {"item_id", "position", "gain", "loss", "policy"}
LOGGED |= {name for names in NAMES.values() for name in names if len(name) > 1}  # a, r and p may be names of arms
BESIDE = ("context", "round", "step", "time", "timestamp", "date", "datetime", "user", "user_id")


class Parameters(PlaysRows, bandit.Adversary):
    """The file, and how its rows become rounds."""

    display = "Replay"

    path: str = Field(
        description="the file, such as a .csv or .npy one, relative to the working directory; one row per round, one "
        "column per arm"
    )
    scale: list[float] | None = Field(
        None, min_length=2, max_length=2, description="[low, high]: the values that are mapped to the gains 0 and 1"
    )

    def gains(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[Floats]:
        rows = table(self.path_here())
        for places in self.places(len(rows), rng, blocks):
            yield self._scaled(np.asarray(rows[places], np.float64))

    def _scaled(self, gains: Floats) -> Floats:
        if self.scale is None:
            return gains
        low, high = self.scale
        return (gains - low) / (high - low)

    def file_errors(self, setting: Setting) -> Iterator[str]:
        if self.scale is not None and not self.scale[0] < self.scale[1]:
            yield f"scale is [low, high] with low < high, got {self.scale}"
            return
        rows = table(self.path)
        n_arms, index, unplayable = rows.shape[1], numbering(rows), list(self.unplayable(len(rows), setting))
        if index is not None:
            yield index_column(self.path, index)
        elif n_arms != setting.n_arms:
            size = "arms" if setting.space is None else "dimension"
            yield f"{self.path} has {n_arms} columns: if each has the gains of one arm, set `{size}: {n_arms}`"
        else:
            yield from unplayable or self._values(rows)

    def _values(self, rows: NDArray[np.float64]) -> Iterator[str]:
        """The error for the first value that is not a valid gain."""
        low, high = self.scale or (0.0, 1.0)
        found = _extremes(self.path, stamp(self.path), low, high)
        if found is None:
            return
        row, column, value, least, most = found
        what = f"{_place(self.path, row)} column {column} is {exact(value)}"
        if np.isnan(value):
            yield f"{what}: every round needs a gain for every arm"
        elif np.isfinite([least, most]).all():
            hint = f"if all numbers are gains, `scale: [{exact(least)}, {exact(most)}]` covers them"
            if row == 1 and format_of(self.path) == "csv" and not _lines(self.path)[1]:
                hint += "; if the first line has the names of arms, begin each with a letter"
            yield f"{what}, outside [{exact(low)}, {exact(high)}]: {hint}"
        else:
            yield f"{what}: gains must be finite"


@lru_cache(maxsize=16)
def _extremes(path: str, stamp: Stamp, low: float, high: float) -> tuple[int, int, float, float, float] | None:
    """Row and column (from 1) of the first value outside [low, high], that value, and the file's least and largest."""
    rows, first = table(path), None
    least, most = np.inf, -np.inf
    for start in range(0, len(rows), ROWS):
        part = np.asarray(rows[start : start + ROWS], np.float64)
        wrong = ~((part >= low) & (part <= high))
        if wrong.any():
            row, column = np.argwhere(wrong)[0].tolist()
            first = first or (start + row + 1, column + 1, float(part[row, column]))
        least = float(np.fmin(least, np.fmin.reduce(part, axis=None)))
        most = float(np.fmax(most, np.fmax.reduce(part, axis=None)))
    return None if first is None else (*first, least, most)


def table(path: str) -> NDArray[np.float64]:
    """The rows of a file `[rows, arms]`; raises OSError, or ValueError with the place of the error."""
    check_is_file(path, READ_AS)
    return _table(path, stamp(path))


@lru_cache(maxsize=4)
def _table(path: str, stamp: Stamp) -> NDArray[np.float64]:
    kind = format_of(path)
    if not kind:
        raise unknown_format(path, READ_AS)
    if kind == "npy":
        rows = saved_array(path)
        if rows.ndim != 2 or rows.dtype.kind not in "fiub" or not len(rows):
            raise ValueError(f"{path}: an array of shape {rows.shape}, {rows.dtype}: gains are numbers [rows, arms]")
        return rows
    if kind != "csv":
        return _of_columns(path)
    lines, named = _lines(path)
    if not lines[named:]:
        where = f"below the names on line {len(lines)}, write" if lines else "it is empty: write"
        raise ValueError(f"{path}: the file has no row of gains: {where} a line for each round")
    mark = separator(lines[0])
    if no_arms := _no_arms(path, _names(lines[0])) if named else None:
        raise ValueError(no_arms)
    try:
        rows = np.loadtxt(lines[named:], delimiter=mark, ndmin=2, comments=None, quotechar='"')
    except ValueError as error:
        raise ValueError(_misread(path, lines, named, mark) or f"{path}: {error}") from error
    return rows


def _of_columns(path: str) -> NDArray[np.float64]:
    """The rows of a Parquet file, or of one with a JSON object on each line."""
    columns = columns_of(path)
    if no_arms := _no_arms(path, [name.lower() for name in columns]):
        raise ValueError(no_arms)
    for name, column in columns.items():
        if isinstance(column, Texts):
            raise ValueError(f"{path}: column {name!r} has texts, like {column.names[0]!r}: gains are numbers")
    return np.column_stack(
        [np.asarray(column, np.float64) for column in columns.values() if isinstance(column, np.ndarray)]
    )


def _no_arms(path: str, names: Sequence[str]) -> str | None:
    """Why columns of these names, as in a header line in lower case, are not the gains of arms."""
    beside = [name for name in names if name in BESIDE]
    if beside and len(names) - len(beside) > 1 and not LOGGED & {*names}:
        return f"{path}: column {' and column '.join(map(repr, beside))} has no gains of an arm: leave it out"
    logged = [name for name in names if name in LOGGED or name in BESIDE]
    roles = [role for role, known in NAMES.items() if any(name in known for name in logged)]
    if {"action", "reward"} <= {*roles}:
        return (
            f"{path} is a log of decisions, by its columns {', '.join(logged)}, but every round needs the gain of "
            "every arm: with features and propensities, play `game: contextual` with `adversary: {name: log, "
            "path: ...}`; without them, estimate the mean reward of each arm and play `{name: bernoulli, means: [...]}`"
        )
    if logged:
        return (
            f"{path} is a log of the arms that were played, by its columns {', '.join(logged)}, but every "
            "round needs the gain of every arm: estimate the mean reward of each arm and play `{name: bernoulli, "
            "means: [...]}`, or write one column of gains for each arm, named after it"
        )
    index = [name.startswith("__index_level_") or (not place and name in INDEX) for place, name in enumerate(names)]
    return index_column(path, index.index(True) + 1) if any(index) else None


def _lines(path: str) -> tuple[list[str], bool]:
    """The lines of a CSV, and whether the first one has the arms' names.

    Raises ValueError if that cannot be told.
    """
    lines = lines_of(path)
    names = _names(lines[0]) if lines else []
    index = bool(names) and names[0] in (*INDEX, *BESIDE)
    by_pandas = index and names[1:] == [*map(str, range(len(names) - 1))]  # an index, and columns without names
    named = bool(names) and (by_pandas or not any(map(_is_number, names)))
    if named or len(names) < 2 or {*map(_number, names)} != {*range(len(names))}:
        return lines, named
    mark, counted = separator(lines[0]), names == [*map(str, range(len(names)))]
    rows = ({cell.strip() for cell in cells(line, mark)} for line in lines[1:] if line.strip())
    alike = any(max(names, key=float) in row for row in rows)
    if alike and not all(map(str.isdecimal, names)):
        return lines, False  # gains of 0.0 and 1.0
    maybe = not counted and (len(names) == 2 or not all(map(str.isdecimal, names)))  # 1,0 or 0.0,1.0 above decimals
    if (alike or maybe) and '"' not in lines[0]:
        what = "the first line has 0, 1, ...: gains, or names, as pandas writes them"
        raise ValueError(f"{path}: {what}? Write names that begin with a letter above it, or in place of it")
    return lines, True


def _names(line: str) -> list[str]:
    """The names in a header line, in lower case and without quotes."""
    return [cell.strip(" \"'").lower() for cell in cells(line, separator(line))]


def _place(path: str, row: int) -> str:
    """The location of a row (from 1); in a CSV it is the line number, counting the header and empty lines."""
    if format_of(path) != "csv":
        return f"{path}: row {row},"
    lines, named = _lines(path)
    return f"{path}:{[i for i, line in enumerate(lines[named:], named + 1) if line.strip()][row - 1]}:"


def _misread(path: str, lines: list[str], named: bool, mark: str) -> str | None:
    """The error for the first line of a CSV that is not a row of numbers as long as the first row."""
    if not lines[0].strip():  # it hides the names and the separator
        return f"{path}:1: the first line is empty: delete it"
    rows = [(number, cells(line, mark)) for number, line in enumerate(lines, 1) if number > named and line.strip()]
    width = len(rows[0][1])
    no_names = named and len(cells(lines[0], mark)) != width
    for number, row in [(1, [lines[0]])] * no_names + rows:
        if row[0].lstrip().startswith("#"):
            return f"{path}:{number}: comments are not read: delete this line"
    for number, row in rows:
        if not row[-1].strip():
            return f"{path}:{number}: the line ends with {mark!r}: delete it, or write the number that is missing"
        if len(row) != width:
            return f"{path}:{number}: {len(row)} columns, where the first row has {width}"
        for column, cell in enumerate(row, 1):
            if not _is_number(cell):
                return f"{path}:{number}: column {column} is {cell.strip()!r}, not a number: {_instead(cell.strip())}"
    return None


def _instead(cell: str) -> str:
    """What to write in place of a cell that is no number."""
    if value := meant(cell):
        return f"write numbers like 0.5 or 12000, without commas and signs; here {value}"
    several = all(map(_is_number, re.split(r"[^-+.\w]+", cell)))
    return SEPARATED if several else "every round needs a gain for every arm"


def _is_number(cell: str) -> bool:
    return _number(cell) is not None


def _number(cell: str) -> float | None:
    """The number that a cell writes, if it does."""
    return number_of(cell.replace("_", " _"))  # NumPy reads no 1_000
