"""Lanes: several trials side by side, so that one instruction of the processor plays a step of eight of them.

LLVM turns a loop over lanes into vector instructions if the same field of neighbouring lanes is in neighbouring words.
So the records of the lanes, one after the other in memory, are spread: `words[word, lane]` holds a word of each record
in a row. `lane_of` shows one lane of these words as a record, so that a step written for a record plays a lane, too.
`column` and `across` show one lane of a matrix or table.

In plain Python records are not spread, and a lane is the record itself.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.numerics.jit import Record, Records, compiled_in

LANES = 32  # a fixed distance between the words of a lane tells the compiler that they do not overlap
LINE = 64  # bytes
COMPILED = "privbandits_cli.numerics.lane_types"
Words = NDArray[np.uint64]


def spread_out(records: Records, wanted: bool) -> tuple[Words, Words]:
    """The memory of records as words `[records, words]`, and room for them, spread; both are empty if not wanted."""
    if not wanted:
        return np.empty((0, 0), np.uint64), np.empty((0, 0), np.uint64)
    rows = records.view(np.uint64).reshape(len(records), -1)
    return rows, aligned((rows.shape[1], LANES), np.uint64)


def aligned(shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
    """An array that begins where a line of the cache does, so that a vector touches one line, not two."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    memory = np.empty(size + LINE, np.uint8)
    first = -memory.ctypes.data % LINE
    made: NDArray[Any] = memory[first : first + size].view(kind).reshape(shape)
    return made


def spreads(layout: np.dtype[Any]) -> bool:
    """Whether each field of a record, and of the records in it, is made of words of eight bytes."""
    if layout.subdtype is not None:
        return spreads(layout.subdtype[0])
    if layout.names is None:
        return layout.itemsize == 8
    return all(spreads(layout[name]) for name in layout.names)


@compiled_in(COMPILED)
def lane_of(records: Records, words: Words, lane: int) -> Record:
    """The record of a lane."""
    return records[lane]


@compiled_in(COMPILED)
def across(table: NDArray[Any], lane: int) -> Any:
    """The entries of a lane in a table `[..., lanes]` that a loop only reads, in a row; or only writes, one a loop."""
    return table.reshape(-1, table.shape[-1])[:, lane]


@compiled_in(COMPILED)
def column(words: NDArray[Any], lane: int) -> Any:
    """The entries of a lane in a matrix `[words, LANES]`."""
    return words[:, lane]


def spread(rows: Words, words: Words) -> None:
    """Copy all records to their lanes."""
    for lane in range(len(rows)):
        put_back(rows, words, lane)


def collect(words: Words, rows: Words, lane: int) -> None:
    """Copy a lane back to its record."""
    for i in range(rows.shape[1]):
        rows[lane, i] = words[i, lane]


def put_back(rows: Words, words: Words, lane: int) -> None:
    """Copy a record to its lane."""
    for i in range(rows.shape[1]):
        words[i, lane] = rows[lane, i]
