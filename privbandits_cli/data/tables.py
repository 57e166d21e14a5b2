"""Tables with classes: rows of features, each with the class that it belongs to.

CSV and Parquet files are read with pyarrow, which reads every number exactly. A text column becomes a column of 0 and
1 for each of its texts. With n rows and p features a table takes 8 n p bytes in each process. While it is read it takes
twice that, and from a CSV five times, as pyarrow keeps the texts until it knows the types. The last four are kept.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.data.files import INDEX, Stamp, check_is_file, index_column, numbering, stamp
from privbandits_cli.numerics.text import exact
from privbandits_cli.numerics.types import Floats, Ints

MOST_TEXTS = 100  # of a column; more of them are names, not features
MOST_CLASSES = 1000
READ_AS = "tables are read from .csv, .parquet or .npy files"
PART = 2**16  # rows that are looked at together


class Texts(NamedTuple):
    """A column of texts."""

    names: tuple[str, ...]  # the different ones, sorted
    places: Ints  # of the text of each row among them, [n]


Column = NDArray[Any] | Texts


class Labelled(NamedTuple):
    """A table: rows of features and their classes."""

    rows: Floats  # [n, p]
    names: tuple[str, ...]  # of the features
    low: Floats  # [p]
    factor: Floats  # [p]: (x - low) factor maps each feature to [0, c], where c makes the longest row a unit vector
    target: str  # the column of the classes
    labels: Ints  # the class of each row, [n]
    classes: tuple[str, ...]  # their names, sorted


def labelled(path: str, target: str | int) -> Labelled:
    """The table of a file; `target` names the column of the classes, or counts it, from 1.

    Raises OSError, or ValueError with the place of the error, also if pyarrow is needed and missing.
    """
    check_is_file(path, READ_AS)
    now = stamp(path)
    names = names_of(path, now)
    named = names[target - 1] if isinstance(target, int) and 1 <= target <= len(names) else str(target)
    if named not in names:
        raise ValueError(f"{path}: no column is called {named!r}: `target` is one of {', '.join(names)}")
    return _labelled(path, named, now)


@lru_cache(maxsize=4)
def _labelled(path: str, named: str, stamp: Stamp) -> Labelled:
    columns = columns_of(path)
    names = list(columns)
    labels, classes = labels_of(path, named, columns.pop(named), "class")
    if not columns:
        raise ValueError(f"{path}: there is no column beside the target {named!r}")
    rows, own = features_of(path, columns, names)
    return Labelled(rows, own, *scales_of(path, rows, own), named, labels, classes)


@lru_cache(maxsize=16)
def names_of(path: str, stamp: Stamp) -> tuple[str, ...]:
    """The names of a file's columns, from its head alone."""
    if path.endswith(".npy"):
        return tuple(_array(path))
    names = tuple(name.strip() for name in _arrow(path, _head))
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{path}: two columns are called {twice!r}")
    if path.endswith(".csv") and any(map(_is_number, names)):
        what = "the first line has numbers: replace them by the names of the columns"
        raise ValueError(f"{path}: {what}, or, if it is a row, add a line with names above it")
    for place, name in enumerate(names, 1):
        if name.startswith("__index_level_"):  # as pandas calls an index in a Parquet file
            raise ValueError(index_column(path, place))
    return names


def columns_of(path: str) -> dict[str, Column]:
    """The columns of a file by name."""
    return _of_array(path) if path.endswith(".npy") else _of_frame(path)


def labels_of(path: str, target: str, column: Column, what: str) -> tuple[Ints, tuple[str, ...]]:
    """The class or action of each row, and their names."""
    if isinstance(column, Texts):
        classes, labels = column
    else:
        found, labels = np.unique(column, return_inverse=True)
        classes = tuple(map(str, found))
    if len(classes) < 2:
        raise ValueError(f"{path}: every row has the {what} {classes[0]}: a game needs two or more")
    if len(classes) > MOST_CLASSES:
        raise ValueError(f"{path}: column {target!r} has {len(classes)} different values: each is to name a {what}")
    return labels.astype(np.int64), classes


def features_of(path: str, columns: dict[str, Column], every: Sequence[str]) -> tuple[Floats, tuple[str, ...]]:
    """The features of all rows `[n, p]`, and their names; the columns are taken out one by one, to save memory.

    every: the names of all columns of the file.
    """
    for name, column in columns.items():
        if not isinstance(column, Texts) and (name.lower() in INDEX or numbering(column[:, None])):
            raise ValueError(index_column(path, every.index(name) + 1))
    names = list[str]()
    for name, column in columns.items():
        if isinstance(column, Texts) and len(column.names) > MOST_TEXTS:
            many = f"{len(column.names)} different texts"
            raise ValueError(f"{path}: column {name!r} has {many}: leave it out, or group them")
        names += [f"{name} = {text}" for text in column.names] if isinstance(column, Texts) else [name]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{path}: two features are called {twice!r}: rename a column")
    first = next(iter(columns.values()))
    rows = np.empty((len(first.places if isinstance(first, Texts) else first), len(names)))
    place = 0
    for name in list(columns):
        column = columns.pop(name)
        if isinstance(column, Texts):
            for i in range(len(column.names)):
                rows[:, place + i] = column.places == i
            place += len(column.names)
        else:
            rows[:, place] = column
            place += 1
    return rows, tuple(names)


def scales_of(path: str, rows: Floats, names: tuple[str, ...]) -> tuple[Floats, Floats]:
    """`low` and `factor` of a table."""
    low, high = rows.min(0), rows.max(0)
    with np.errstate(over="ignore"):
        width = high - low
        factor = np.divide(1.0, width, out=np.zeros_like(low), where=width > 0)
    wrong = ~np.isfinite(width) | ~np.isfinite(factor)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(f"{path}: column {names[i]!r} ranges from {exact(low[i])} to {exact(high[i])}: rescale it")
    parts = (rows[first : first + PART] for first in range(0, len(rows), PART))
    longest = max(float((((part - low) * factor) ** 2).sum(1).max()) for part in parts)
    return low, factor / np.sqrt(longest) if longest > 0 else factor


def _of_frame(path: str) -> dict[str, Column]:
    """The columns of a CSV or Parquet file by name."""
    names, columns = names_of(path, stamp(path)), dict[str, Column]()
    for name, column in zip(names, _arrow(path, _read), strict=True):
        if not len(column):
            raise ValueError(f"{path}: the file has no row")
        columns[name] = _of_arrow(path, name, column)
    return columns


def _of_arrow(path: str, name: str, column: Any) -> Column:
    """The numbers or texts of a column."""
    from pyarrow import string, types

    if column.null_count:
        raise ValueError(_empty(path, column.is_null().to_pylist().index(True), name, "no value"))
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_string(column.type) or types.is_large_string(column.type):
        coded = column.cast(string()).dictionary_encode().unify_dictionaries().combine_chunks()
        texts = [text.strip() for text in coded.dictionary.to_pylist()]
        names = tuple(sorted({*texts}))
        order = {text: i for i, text in enumerate(names)}
        return Texts(names, np.array([order[text] for text in texts])[coded.indices.to_numpy()])
    if types.is_binary(column.type):
        raise ValueError(f"{path}: column {name!r} is no text in UTF-8")
    if types.is_decimal(column.type):
        return _numbers(path, name, np.array(column.to_pylist(), float))
    return _numbers(path, name, column.to_numpy().copy())  # so that all memory of pyarrow can be released


def _numbers(path: str, name: str, column: NDArray[Any]) -> NDArray[Any]:
    """The column; ValueError if it does not hold a finite number in each row."""
    if column.dtype.kind not in "biuf" or column.ndim != 1:
        raise ValueError(f"{path}: column {name!r} holds {column.dtype} values: make them numbers or texts")
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        raise ValueError(_empty(path, int(np.argmin(np.isfinite(column))), name, "no finite number"))
    return column


def _empty(path: str, row: int, name: str, what: str) -> str:
    """The message that a row, from 0, has no value."""
    return f"{path}: row {row + 1} has {what} in column {name!r}: fill it in, or leave the row out"


def _of_array(path: str) -> dict[str, Column]:
    """The columns of an array by name."""
    return {name: _of_field(path, name, column) for name, column in _array(path).items()}


def _array(path: str) -> dict[str, NDArray[Any]]:
    """The columns of an array by name, in the file; those of an array without names are called 1, 2, ..."""
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path}: not an array of numbers: {error}") from error
    if found.dtype.names is not None and found.ndim == 1 and len(found):
        return {name: found[name] for name in found.dtype.names}
    if found.ndim != 2 or found.dtype.kind not in "fiub" or not found.size:
        raise ValueError(f"{path}: an array of shape {found.shape}, {found.dtype}: a table is numbers [rows, columns]")
    return {str(i + 1): found[:, i] for i in range(found.shape[1])}


def _of_field(path: str, name: str, column: NDArray[Any]) -> Column:
    """The numbers or texts of a named column of an array."""
    if column.dtype.kind != "U" or column.ndim != 1:
        return _numbers(path, name, column)
    texts, places = np.unique(column, return_inverse=True)
    return Texts(tuple(map(str, texts)), places)


def _arrow(path: str, read: Callable[[str], Iterator[Any]]) -> Iterator[Any]:
    """What pyarrow reads of a CSV or Parquet file; ValueError says what is wrong with it."""
    kind = Path(path).suffix
    if kind not in (".csv", ".parquet"):
        raise ValueError(f"{path}: {READ_AS}")
    try:
        import pyarrow as arrow
    except ImportError as error:
        needed = "pip install pyarrow"
        raise ValueError(f"{path}: {kind} tables are read with pyarrow, which is missing: {needed}") from error
    try:
        yield from read(path)
    except arrow.ArrowException as error:
        raise ValueError(f"{path}: {error}") from error


def _head(path: str) -> Iterator[str]:
    """The names of the columns."""
    from pyarrow import csv, parquet

    if path.endswith(".parquet"):
        yield from parquet.read_schema(path).names
    else:
        yield from csv.open_csv(path, **_csv_options()).schema.names


def _read(path: str) -> Iterator[Any]:
    """The columns, each freed after it; those of a Parquet file are read one by one."""
    import pyarrow
    from pyarrow import csv, parquet

    if path.endswith(".parquet"):
        with parquet.ParquetFile(path) as file:
            for name in file.schema_arrow.names:
                yield file.read([name]).column(0)
    else:
        frame = csv.read_csv(path, **_csv_options())
        while frame.num_columns:
            yield frame.column(0)
            frame = frame.remove_column(0)
    pyarrow.default_memory_pool().release_unused()


def _csv_options() -> dict[str, Any]:
    from pyarrow import csv

    one = csv.ReadOptions(use_threads=False)  # by several threads, errors have no row
    return {"read_options": one, "convert_options": csv.ConvertOptions(strings_can_be_null=True)}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
