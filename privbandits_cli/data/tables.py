"""Tables with classes: rows of features, each with the class that it belongs to.

CSV and Parquet files are read with pyarrow, which reads every number exactly. A text column becomes a column of 0 and
1 for each of its texts.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.data.files import INDEX, Stamp, check_is_file, index_column, numbering, stamp
from privbandits_cli.numerics.types import Floats, Ints

MOST_TEXTS = 100  # of a column; more of them are names, not features
MOST_CLASSES = 1000
READ_AS = "tables are read from .csv, .parquet or .npy files"
PART = 2**16  # rows that are looked at together


class Labelled(NamedTuple):
    """A table: rows of features and their classes."""

    rows: Floats  # [n, p]
    names: tuple[str, ...]  # of the features
    labels: Ints  # the class of each row, [n]
    classes: tuple[str, ...]  # their names
    low: Floats  # [p]
    factor: Floats  # [p]: (x - low) factor maps each feature to [0, c], where c makes the longest row a unit vector


def labelled(path: str, target: str | int) -> Labelled:
    """The table of a file; `target` names the column of the classes, or counts it, from 1.

    Raises OSError, or ValueError with the place of the error, also if pyarrow is needed and missing.
    """
    check_is_file(path, READ_AS)
    return _labelled(path, target, stamp(path))


@lru_cache(maxsize=4)
def _labelled(path: str, target: str | int, stamp: Stamp) -> Labelled:
    columns = _columns(path)
    names = list(columns)
    if isinstance(target, int) and 1 <= target <= len(names):
        target = names[target - 1]
    if target not in columns:
        raise ValueError(f"{path}: no column is called {target!r}: `target` is one of {', '.join(names)}")
    found, labels = np.unique(columns.pop(target), return_inverse=True)
    if len(found) < 2:
        raise ValueError(f"{path}: every row has the class {found[0]}: a game needs two classes or more")
    if len(found) > MOST_CLASSES:
        raise ValueError(f"{path}: the target {target!r} has {len(found)} different values: each is to name a class")
    if not columns:
        raise ValueError(f"{path}: there is no column beside the target {target!r}")
    rows, own = _features(path, columns)
    return Labelled(rows, own, labels.astype(np.int64), tuple(map(str, found)), *_scales(rows))


def _scales(rows: Floats) -> tuple[Floats, Floats]:
    """`low` and `factor` of a table."""
    low, high = rows.min(0), rows.max(0)
    factor = np.divide(1.0, high - low, out=np.zeros_like(low), where=high > low)
    parts = (rows[first : first + PART] for first in range(0, len(rows), PART))
    longest = max(float((((part - low) * factor) ** 2).sum(1).max()) for part in parts)
    return low, factor / np.sqrt(longest) if longest > 0 else factor


def _features(path: str, columns: dict[str, NDArray[Any]]) -> tuple[Floats, tuple[str, ...]]:
    """The features of all rows `[n, p]`, and their names."""
    features = dict[str, NDArray[Any]]()
    for name, column in columns.items():
        if column.dtype.kind != "U":
            features[name] = column
            continue
        texts, places = np.unique(column, return_inverse=True)
        if len(texts) > MOST_TEXTS:
            raise ValueError(f"{path}: column {name!r} has {len(texts)} different texts: leave it out, or group them")
        features |= {f"{name} = {text}": places == i for i, text in enumerate(texts)}
    rows = np.empty((len(column), len(features)))
    for i, feature in enumerate(features.values()):
        rows[:, i] = feature
    return rows, tuple(features)


def _columns(path: str) -> dict[str, NDArray[Any]]:
    """The columns of a file by name, numbers or texts; those of an array without names are called 1, 2, ..."""
    columns = _of_array(path) if path.endswith(".npy") else _of_frame(path)
    for name, column in columns.items():
        if column.dtype.kind == "f" and not np.isfinite(column).all():
            raise ValueError(_empty(path, int(np.argmin(np.isfinite(column))), name, "no finite number"))
        if column.dtype.kind not in "biufU":
            raise ValueError(f"{path}: column {name!r} holds {column.dtype} values: make them numbers or texts")
    return columns


def _of_frame(path: str) -> dict[str, NDArray[Any]]:
    frame = _frame(path)
    names = [name.strip() for name in frame.column_names]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{path}: two columns are called {twice!r}")
    if path.endswith(".csv") and all(map(_is_number, names)):
        raise ValueError(f"{path}: the first line has numbers, not the names of the columns: add a line with names")
    if not frame.num_rows:
        raise ValueError(f"{path}: the file has no row")
    columns = {name: _of_arrow(path, name, frame.column(i)) for i, name in enumerate(names)}
    for i, (name, column) in enumerate(columns.items(), 1):
        if name.lower() in INDEX or (column.dtype.kind in "iu" and numbering(column[:, None])):
            raise ValueError(index_column(path, i))
    return columns


def _of_arrow(path: str, name: str, column: Any) -> NDArray[Any]:
    """The numbers or texts of a column."""
    from pyarrow import string, types

    if column.null_count:
        raise ValueError(_empty(path, column.is_null().to_pylist().index(True), name, "no value"))
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_string(column.type) or types.is_large_string(column.type):
        texts: NDArray[Any] = np.char.strip(column.cast(string()).to_numpy().astype(str))
        return texts
    if types.is_binary(column.type):
        raise ValueError(f"{path}: column {name!r} is no text in UTF-8")
    if types.is_decimal(column.type):
        return np.array(column.to_pylist(), float)
    found: NDArray[Any] = column.to_numpy()
    return found


def _empty(path: str, row: int, name: str, what: str) -> str:
    """The message that a row, from 0, has no value."""
    return f"{path}: row {row + 1} has {what} in column {name!r}: fill it in, or leave the row out"


def _of_array(path: str) -> dict[str, NDArray[Any]]:
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{path}: not an array of numbers: {error}") from error
    if found.dtype.names is not None and found.ndim == 1 and len(found):
        return {name: found[name] for name in found.dtype.names}
    if found.ndim != 2 or found.dtype.kind not in "fiub" or not len(found):
        raise ValueError(f"{path}: an array of shape {found.shape}, {found.dtype}: a table is numbers [rows, columns]")
    return {str(i + 1): found[:, i] for i in range(found.shape[1])}


def _frame(path: str) -> Any:
    """The pyarrow table of a file."""
    kind = Path(path).suffix
    if kind not in (".csv", ".parquet"):
        raise ValueError(f"{path}: {READ_AS}")
    try:
        import pyarrow as arrow
        from pyarrow import csv, parquet
    except ImportError as error:
        needed = "pip install 'privbandits[tables]'"
        raise ValueError(f"{path}: {kind} tables are read with pyarrow, which is missing: {needed}") from error
    try:
        if kind == ".parquet":
            return parquet.read_table(path)
        one = csv.ReadOptions(use_threads=False)  # by several threads, errors have no row
        return csv.read_csv(path, one, convert_options=csv.ConvertOptions(strings_can_be_null=True))
    except arrow.ArrowException as error:
        raise ValueError(f"{path}: {error}") from error


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
