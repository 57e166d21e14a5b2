"""Tables with classes: rows of features, each with the class that it belongs to.

CSV, ARFF and Parquet files are read with pyarrow, which reads every number exactly. The columns of a CSV are separated
by commas, semicolons or tabs. A text column becomes a column of 0 and 1 for each of its texts. If half of its texts, or
half of its rows, are numbers, the others are taken for mistakes. With n rows and p features a table takes 8 n p bytes
in each process. While it is read it takes twice that, and from a CSV five times, as pyarrow keeps the texts until it
knows the types. The last four are kept.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.data import text_files
from privbandits_cli.data.files import INDEX, Stamp, check_is_file, index_column, numbering, saved_array, stamp
from privbandits_cli.data.text_files import first_line, format_of, opened, separator, text_of, unknown_format
from privbandits_cli.numerics.text import SPELLED, exact, meant
from privbandits_cli.numerics.types import Floats, Ints

FEW_TEXTS = 20  # that all begin with a number and end in the same word may be names
MOST_TEXTS = 100  # a column with more different texts holds names, not a feature
MOST_CLASSES = 1000
LONG = 60  # characters of a name in a message
READ_AS = f"tables are read from {text_files.READ} files"
AS_THE_FIRST = "a line has as many columns as the first; delete comments, and separators at the ends of lines"
CHOOSE = "name the columns to use, `features: [...]`"
NUMBERS_OR_TEXTS = f"make them numbers or texts, or {CHOOSE}"
PART = 2**16  # rows that are looked at together
ATTRIBUTE = re.compile(r"""@attribute\s+('[^']*'|"[^"]*"|\S+)""", re.IGNORECASE)  # of an ARFF file
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
UNIT = re.compile(rf"(?:{NUMBER.pattern}) ?([^\W\d_]+)")  # 0.86 kg


class Texts(NamedTuple):
    """A column of texts."""

    names: tuple[str, ...]  # the different ones, sorted
    places: Ints  # the place among them of each row's text, [n]


Column = NDArray[Any] | Texts


class Labelled(NamedTuple):
    """A table: rows of features and their classes."""

    rows: Floats  # [n, p]
    names: tuple[str, ...]  # the features' names
    low: Floats  # [p]
    factor: Floats  # [p]: (x - low) factor maps each feature to [0, c], where c makes the longest row a unit vector
    target: str  # the column of the classes
    labels: Ints  # the class of each row, [n]
    classes: tuple[str, ...]  # their names, sorted


def labelled(path: str, target: str | int, features: Sequence[str] | None = None) -> Labelled:
    """The table of a file; `target` names the column of the classes, or counts it, from 1.

    features: the names of the columns to use; default: all others.
    Raises OSError, or ValueError with the place of the error, also if pyarrow is needed and missing.
    """
    check_is_file(path, READ_AS)
    now = stamp(path)
    names = names_of(path, now)
    counted = isinstance(target, int) and 1 <= target <= len(names)
    named = names[target - 1] if isinstance(target, int) and counted else str(target)
    if counted or named not in names:
        check_header(path, names)
    if named not in names:
        raise ValueError(f"{path}: no column is called {named!r}: `target` is one of {', '.join(names)}")
    return _labelled(path, named, None if features is None else tuple(features), now)


@lru_cache(maxsize=4)
def _labelled(path: str, named: str, features: tuple[str, ...] | None, stamp: Stamp) -> Labelled:
    chosen = chosen_of(path, names_of(path, stamp), (named,), features)
    if not chosen:
        raise ValueError(f"{path}: there is no column beside the target {named!r}")
    columns = columns_of(path, {named, *chosen})
    labels, classes = labels_of(path, named, columns.pop(named), "class")
    if features is None:
        check_no_index(path, columns)
    columns = {name: columns[name] for name in chosen}
    return Labelled(*features_of(path, columns, len(labels)), named, labels, classes)


@lru_cache(maxsize=16)
def names_of(path: str, stamp: Stamp) -> tuple[str, ...]:
    """The names of a file's columns, from its head alone."""
    kind = format_of(path)
    if not kind:
        raise unknown_format(path, READ_AS)
    if kind in text_files.TEXTS:
        text_of(path)  # ValueError if it is none
    heads = {"npy": _array, "json": _json_head}
    names = tuple(name.strip() for name in (heads[kind](path) if kind in heads else _arrow(path, _head)))
    if kind == "csv" and len(names) == 1 and re.search(r"\W", names[0]):
        raise ValueError(f"{path}: there is a single column, {names[0][:LONG]!r}: {text_files.SEPARATED}")
    if kind == "csv" and names[-1] == "":
        raise ValueError(f"{path}: the last column has no name: give one, or delete the separator at the ends of lines")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{path}: two columns are called {twice!r}")
    return names


def check_header(path: str, names: Sequence[str]) -> None:
    """Raise ValueError if the first line of a CSV seems to be a row; not needed if a column is known by its name."""
    if format_of(path) == "csv" and any(map(NUMBER.fullmatch, names)):
        what = "the first line has numbers: replace them by the names of the columns"
        raise ValueError(f"{path}: {what}, or, if it is a row, add a line with names above it")


def columns_of(path: str, wanted: Collection[str] | None = None) -> dict[str, Column]:
    """The columns of a file by name: the wanted ones, or all."""
    read = {"npy": _of_array, "json": _of_json}.get(format_of(path), _of_frame)
    return dict(read(path, names_of(path, stamp(path)) if wanted is None else wanted))


def people_of(path: str, column: str, features: Sequence[str] | None) -> Ints:
    """Whose each row is, `[rows]`, numbered; features: those that were chosen. ValueError if this is no such column."""
    check_is_file(path, READ_AS)
    names = names_of(path, stamp(path))
    if column not in names:
        raise ValueError(f"{path}: no column is called {column!r}: `person` is one of {', '.join(names)}")
    if features is None or column in features:
        raise ValueError(f"{path}: column {column!r} says whose a row is, and is a feature, too: {CHOOSE} without it")
    found = columns_of(path, {column})[column]
    return found.places if isinstance(found, Texts) else np.unique(found, return_inverse=True)[1]


def chosen_of(path: str, names: Sequence[str], own: Sequence[str], features: Sequence[str] | None) -> tuple[str, ...]:
    """The names of the columns of features; own: the columns that are none. ValueError if one does not exist."""
    others = tuple(name for name in names if name not in own)
    for name in features or ():
        if name not in others:
            some = ", ".join(map(repr, others)) if others else "no other column"
            raise ValueError(f"{path}: no column of features is called {name!r}: `features` are of {some}")
    return others if features is None else tuple(dict.fromkeys(features))


def check_no_index(path: str, columns: dict[str, Column]) -> None:
    """Raise ValueError if a column that nobody has chosen is an index of the rows."""
    places = {name: place for place, name in enumerate(names_of(path, stamp(path)), 1)}
    for name, column in columns.items():
        known = name.startswith("__index_level_")  # as pandas calls an index in a Parquet file
        if known or (not isinstance(column, Texts) and (name.lower() in INDEX or numbering(column[:, None]))):
            raise ValueError(f"{index_column(path, places[name])}, or {CHOOSE}")


def labels_of(path: str, target: str, column: Column, what: str) -> tuple[Ints, tuple[str, ...]]:
    """The class or action of each row, and their names."""
    if isinstance(column, Texts):
        classes, labels = column
        numbers = _matching(column, NUMBER)
        if 1 < numbers.sum() < len(classes) and _mostly(column, numbers):  # with a single number, all may be names
            raise stray(path, target, column)
    else:
        found, labels = np.unique(column, return_inverse=True)
        classes = tuple(map(str, found))
    if len(classes) < 2:
        raise ValueError(f"{path}: every row has the {what} {classes[0]}: a game needs two or more")
    if len(classes) > MOST_CLASSES:
        raise ValueError(f"{path}: column {target!r} has {len(classes)} different values: each is to name a {what}")
    return labels.astype(np.int64), classes


def features_of(path: str, columns: dict[str, Column], n: int) -> tuple[Floats, tuple[str, ...], Floats, Floats]:
    """The features of all n rows `[n, p]`, their names, and `low` and `factor` of a table.

    The columns are taken out one by one, to save memory.
    """
    names = list[str]()
    for name, column in columns.items():
        if not isinstance(column, Texts):
            names.append(name)
            continue
        numbers = _matching(column, NUMBER)
        if not numbers.all() and _mostly(column, numbers | _matching(column, SPELLED)):
            raise stray(path, name, column)
        if len(column.names) > FEW_TEXTS and len(units := {*map(_unit, column.names)}) == 1 and units != {""}:
            what = f"{path}: row 1 has {column.names[column.places[0]]!r} in column {name!r}"
            raise ValueError(
                f"{what}: write the numbers without {units.pop()!r}, or, if all are names, begin with a letter"
            )
        if len(column.names) > MOST_TEXTS:
            many = f"{len(column.names)} different texts"
            raise ValueError(f"{path}: column {name!r} has {many}: group them, or leave it out: {CHOOSE}")
        names += [f"{name} = {text}" for text in column.names]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{path}: two features are called {twice!r}: rename a column")
    rows, place = np.empty((n, len(names))), 0
    for name in list(columns):
        column = columns.pop(name)
        for i in range(len(column.names) if isinstance(column, Texts) else 1):
            rows[:, place] = column.places == i if isinstance(column, Texts) else column
            place += 1
    return rows, tuple(names), *_scales(path, rows, names)


def _matching(column: Texts, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
    """Which of the different texts are as in the pattern."""
    return np.array([bool(pattern.fullmatch(text)) for text in column.names])


def _unit(text: str) -> str:
    """The unit behind a number; empty if there is none."""
    found = UNIT.fullmatch(text)
    return found[3] if found else ""


def _mostly(column: Texts, some: NDArray[np.bool_]) -> bool:
    """Whether some of the texts are half of all, or in half of the rows."""
    return bool(2 * some.sum() >= len(some) or 2 * some[column.places].sum() >= len(column.places))


def stray(path: str, name: str, column: Texts) -> ValueError:
    """The error of the first text among numbers, which may not become a feature or a class."""
    row = int(np.argmin(_matching(column, NUMBER)[column.places]))
    text = column.names[column.places[row]]
    what = f"{path}: row {row + 1} has {text!r} in column {name!r}"
    if SPELLED.fullmatch(text):
        here = f"; here {value}" if (value := meant(text)) else ""
        how = ", with pandas by `read_csv(..., decimal=',')` or `thousands=','`" if "," in text else ""
        return ValueError(f"{what}: write numbers like 12000 or 0.5, without commas and signs{how}{here}")
    how = "fill in a number, leave the row out, or, if all are names, begin each with a letter"
    return ValueError(f"{what}, where numbers are expected: {how}")


def _scales(path: str, rows: Floats, names: Sequence[str]) -> tuple[Floats, Floats]:
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


def _of_frame(path: str, wanted: Collection[str]) -> Iterator[tuple[str, Column]]:
    """The columns of a CSV or Parquet file by name."""
    for name, column in zip(names_of(path, stamp(path)), _arrow(path, _read), strict=True):
        if not len(column):
            raise ValueError(f"{path}: the file has no row")
        if name in wanted:
            yield name, _of_arrow(path, name, column)


def _of_arrow(path: str, name: str, column: Any) -> Column:
    """The numbers or texts of a column."""
    from pyarrow import string, types

    if column.null_count:
        raise _empty(path, column.is_null().to_pylist().index(True), name)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_string(column.type) or types.is_large_string(column.type):
        coded = column.cast(string()).dictionary_encode().unify_dictionaries().combine_chunks()
        texts = [text.strip() for text in coded.dictionary.to_pylist()]
        names = tuple(sorted({*texts}))
        order = {text: i for i, text in enumerate(names)}
        places = np.array([order[text] for text in texts])[coded.indices.to_numpy()]
        if "" in order:
            raise _empty(path, int(np.argmax(places == order[""])), name)
        return Texts(names, places)
    if types.is_decimal(column.type):
        return _numbers(path, name, np.array(column.to_pylist(), float))
    return _numbers(path, name, column.to_numpy().copy())  # so that all memory of pyarrow can be released


def _numbers(path: str, name: str, column: NDArray[Any]) -> NDArray[Any]:
    """The column; ValueError if it does not hold a finite number in each row."""
    if column.dtype.kind not in "biuf" or column.ndim != 1:
        raise ValueError(f"{path}: column {name!r} holds {column.dtype} values: {NUMBERS_OR_TEXTS}")
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        raise _empty(path, int(np.argmin(np.isfinite(column))), name, "no finite number")
    return column


def _empty(path: str, row: int, name: str, what: str = "no value") -> ValueError:
    """The error that a row, from 0, has no value."""
    missing = {
        "csv": '; NA, null and the like are read as missing, and as texts in quotes, "NA"',
        "arff": "; a ? is a missing value, which a column that is no feature may have: name the others in `features`",
    }
    hint = missing.get(format_of(path), "") if what == "no value" else ""
    return ValueError(f"{path}: row {row + 1} has {what} in column {name!r}: fill it in, or leave the row out{hint}")


def _of_json(path: str, wanted: Collection[str]) -> Iterator[tuple[str, Column]]:
    """The columns of a file with a JSON object on each line, by name."""
    names = names_of(path, stamp(path))
    with opened(path) as file:
        rows = [_json_row(path, number, line) for number, line in enumerate(file, 1) if line.strip()]
    for number, row in enumerate(rows, 1):
        if other := next((name for name in row if name.strip() not in names), None):
            raise ValueError(f"{path}: row {number} has a column {other!r}, which the first row has not")
    for key in rows[0]:
        if (name := key.strip()) in wanted:
            yield name, _of_values(path, name, [row.get(key) for row in rows])


def _json_head(path: str) -> tuple[str, ...]:
    """The names in the first object."""
    line = first_line(path)
    if not line:
        raise ValueError(f"{path}: the file has no row")
    return tuple(_json_row(path, 1, line.encode()))


def _json_row(path: str, number: int, line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line.decode("utf-8-sig"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        how = "with pandas by `to_json(..., orient='records', lines=True)`"
        raise ValueError(f'{path}:{number}: write an object on each line, like {{"x": 0.5, "kind": "a"}}, {how}')
    return found


def _of_values(path: str, name: str, values: Sequence[Any]) -> Column:
    """The numbers or texts of a column of JSON."""
    if None in values:
        raise _empty(path, values.index(None), name)
    if others := [value for value in values if not isinstance(value, str | int | float)]:
        raise ValueError(f"{path}: column {name!r} holds {type(others[0]).__name__} values: {NUMBERS_OR_TEXTS}")
    texts = [isinstance(value, str) for value in values]
    if not any(texts):
        return _numbers(path, name, np.array(values))
    if not all(texts):
        values = [value if text else json.dumps(value) for value, text in zip(values, texts, strict=True)]
    return _of_texts(np.array([value.strip() for value in values], object))


def _of_texts(texts: NDArray[Any]) -> Texts:
    names, places = np.unique(texts, return_inverse=True)
    return Texts(tuple(map(str, names)), places)


def _of_array(path: str, wanted: Collection[str]) -> Iterator[tuple[str, Column]]:
    """The columns of an array by name."""
    for name, column in _array(path).items():
        if name in wanted:
            texts = column.dtype.kind == "U" and column.ndim == 1
            yield name, _of_texts(column) if texts else _numbers(path, name, column)


def _array(path: str) -> dict[str, NDArray[Any]]:
    """The columns of an array by name, in the file; those of an array without names are called 1, 2, ..."""
    found = saved_array(path)
    if found.dtype.names is not None and found.ndim == 1 and len(found):
        return {name: found[name] for name in found.dtype.names}
    if found.ndim != 2 or found.dtype.kind not in "fiub" or not found.size:
        raise ValueError(f"{path}: an array of shape {found.shape}, {found.dtype}: a table is numbers [rows, columns]")
    return {str(i + 1): found[:, i] for i in range(found.shape[1])}


def _arrow(path: str, read: Callable[[str], Iterator[Any]]) -> Iterator[Any]:
    """What pyarrow reads of a CSV or Parquet file; ValueError says what is wrong with it."""
    try:
        import pyarrow as arrow
    except ImportError as error:
        needed = f".{format_of(path)} tables are read with pyarrow, which is missing: pip install pyarrow"
        raise ValueError(f"{path}: {needed}") from error
    try:
        yield from read(path)
    except arrow.ArrowException as error:
        hint = f": {AS_THE_FIRST}" if "Expected" in str(error) else ""
        raise ValueError(f"{path}: {error}{hint}") from error


def _head(path: str) -> Iterator[str]:
    """The names of the columns."""
    from pyarrow import csv, parquet

    if format_of(path) == "parquet":
        yield from parquet.read_schema(path).names
    else:
        with opened(path) as file:
            yield from csv.open_csv(file, **_csv_options(path)).schema.names


def _read(path: str) -> Iterator[Any]:
    """The columns, each freed after it; those of a Parquet file are read one by one."""
    import pyarrow
    from pyarrow import csv, parquet

    if format_of(path) == "parquet":
        with parquet.ParquetFile(path) as file:
            for name in file.schema_arrow.names:
                yield file.read([name]).column(0)
    else:
        with opened(path) as file:
            frame = csv.read_csv(file, **_csv_options(path))
        while frame.num_columns:
            yield frame.column(0)
            frame = frame.remove_column(0)
    pyarrow.default_memory_pool().release_unused()


def write_parquet(path: str, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write named columns of equal length as a Parquet file; a column with texts and numbers becomes one of texts.

    Raises OSError, or ValueError if pyarrow is missing.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ValueError(f"{path}: this needs pyarrow, which is missing: pip install 'privbandits[tables]'") from error
    texts = {name for name, cells in columns.items() if any(isinstance(cell, str) for cell in cells)}
    made = {
        name: [None if cell is None else str(cell) for cell in cells] if name in texts else list(cells)
        for name, cells in columns.items()
    }
    with open(path, "wb") as file:  # of a path that it cannot write pyarrow does not tell the name
        parquet.write_table(pyarrow.table(made), file)


def _csv_options(path: str) -> dict[str, Any]:
    """How pyarrow reads a CSV, or the rows of an ARFF file, which stand in a CSV below names of another form."""
    from pyarrow import csv

    texts = {"strings_can_be_null": True, "quoted_strings_can_be_null": False}
    one = {"use_threads": False}  # by several threads, errors have no row
    if format_of(path) == "arff":
        names, above = _arff_header(path)
        return {
            "read_options": csv.ReadOptions(column_names=names, skip_rows=above, **one),
            "parse_options": csv.ParseOptions(quote_char="'", escape_char="\\"),
            "convert_options": csv.ConvertOptions(null_values=["?"], **texts),
        }
    return {
        "read_options": csv.ReadOptions(**one),
        "parse_options": csv.ParseOptions(delimiter=separator(first_line(path))),
        "convert_options": csv.ConvertOptions(**texts),
    }


def _arff_header(path: str) -> tuple[list[str], int]:
    """The names of the columns of an ARFF file, as OpenML keeps tables, and the number of the line @DATA."""
    names = []
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            text = line.decode("utf-8-sig").strip()
            if found := ATTRIBUTE.match(text):
                names.append(found[1].strip("'\""))
            if text.lower() == "@data":
                return names, number
    raise ValueError(f"{path}: an ARFF table has a line @DATA above its rows")
