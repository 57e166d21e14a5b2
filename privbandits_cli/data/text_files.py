"""Text files of a user's own data: their formats, their encoding, and what separates their columns."""

import csv
import gzip
import zlib
from pathlib import Path
from typing import BinaryIO, cast

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arff": "arff",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npy": "npy",
}
GZIP = ("csv", "json")  # these may also end in .gz
TEXTS = (*GZIP, "arff")
READ = ".csv, .tsv, .jsonl (these three also with .gz), .arff, .parquet or .npy"
SEPARATED = "columns are separated by commas, semicolons or tabs that are not in quotes"
STARTS = {  # the first bytes of files that are not UTF-8 text
    b"\xff\xfe": "UTF-16, as Excel and PowerShell write it",
    b"\xfe\xff": "UTF-16",
    b"PK\x03\x04": "a zip archive, as .xlsx files are",
    b"\x1f\x8b": "compressed by gzip, whose files end in .gz",
}


def format_of(path: str) -> str:
    """`csv`, `json` (one object a line), `arff`, `parquet` or `npy`, by the end of a file's name; else empty."""
    name = Path(path).name.lower()
    found = FORMATS.get(Path(name.removesuffix(".gz")).suffix, "")
    return "" if name.endswith(".gz") and found not in GZIP else found


def unknown_format(path: str, read_as: str) -> ValueError:
    """The error that a file is in no format that is read."""
    how = "rename it if it is one of these, or save it as one, with pandas by `to_csv(..., index=False)`"
    return ValueError(f"{path}: {read_as}: {how}")


def opened(path: str) -> BinaryIO:
    """The bytes of a text file, decompressed."""
    return cast(BinaryIO, gzip.open(path, "rb")) if path.lower().endswith(".gz") else open(path, "rb")


def text_of(path: str) -> str:
    """The text of a file; ValueError with the first wrong line unless it is in UTF-8."""
    try:
        with opened(path) as file:
            content = file.read()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path}: not a whole file that gzip made: {error}") from error
    if what := next((what for start, what in STARTS.items() if content.startswith(start)), None):
        raise _no_text(path, what)
    if b"\0" in content:
        line = 1 + content[: content.index(0)].count(b"\n")
        raise _no_text(path, f"line {line} has a zero byte, as UTF-16 has")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + error.object[: error.start].count(b"\n")
        raise _no_text(path, f"line {line} has the byte 0x{error.object[error.start]:02x}, as in Latin-1") from error


def _no_text(path: str, why: str) -> ValueError:
    how = "with pandas by `read_csv(..., encoding=...)` and `to_csv(..., index=False)`"
    return ValueError(f"{path}: it is not UTF-8 text ({why}): save it as UTF-8, {how}")


def lines_of(path: str) -> list[str]:
    """The lines of a text file, without empty ones at the end; ValueError unless they are in UTF-8."""
    lines = text_of(path).splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def first_line(path: str) -> str:
    """The first line of a text file in UTF-8 that is not empty."""
    with opened(path) as file:
        return next((text for line in file if (text := line.decode("utf-8-sig").strip("\r\n")).strip()), "")


def separator(line: str) -> str:
    """What separates the columns of a first line: a tab, a semicolon, or else a comma; not where it is quoted."""
    unquoted = "".join(line.split('"')[::2])
    return next((mark for mark in "\t;" if mark in unquoted), ",")


def cells(line: str, separator: str) -> list[str]:
    """The cells of a line of a CSV, without quotes."""
    return next(csv.reader([line], delimiter=separator), [""])
