"""Vectors: the same number of several trials, so that a step of an algorithm plays eight of them at once.

A step is written for one trial. Compiled for vectors, each of its floating-point variables is a vector, with a lane for
each trial, and each operation is one of the processor's vector instructions. Whole numbers (rounds, levels, sizes) are
the same in all lanes, so that loops and branches on them are, too. A step may not branch on a floating-point number:
`where` selects by lane, and `everywhere` asks all lanes. A lane gets the numbers of its trial to the last bit. An index
counts from the front of an array. A division by 0 gives an infinite number; use `np.divide`, which for one trial does
the same.

`widened` gives the layout of records whose floating-point fields have a lane for each trial as their last axis.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.numerics.jit import Record, Records, compiled_in
from privbandits_cli.numerics.lanes import aligned

WIDTH = 8  # lanes: a cache line of double precision
COMPILED = "privbandits_cli.numerics.vector_types"
WIDE = (np.float64, np.uint64)  # kinds of fields that differ between trials


def widened(layout: np.dtype[Any]) -> np.dtype[Any]:
    """The layout of a record for WIDTH trials; fields in single precision, which no vector step uses, are left out."""
    if layout.names is None:
        base, shape = layout.base, layout.shape
        return np.dtype((base, (*shape, WIDTH))) if base in WIDE else layout
    fields = [(name, widened(layout[name])) for name in layout.names if layout[name].base != np.float32]
    vectors_first = sorted(fields, key=lambda field: (field[1].base not in WIDE, field[1].names is None))
    return np.dtype((np.record, np.dtype(vectors_first, align=True)))


def widely(records: Records) -> Records:
    """A record `[1]` for WIDTH trials, each of which has the state of this record `[1]`."""
    out = aligned((1,), widened(records.dtype))
    _spread(records[0], out[0])
    return out


def _spread(one: Any, wide: Any) -> None:
    for name in wide.dtype.names:
        if wide.dtype[name].names is not None:
            _spread(one[name], wide[name])
        elif wide.dtype[name].base in WIDE:
            wide[name][...] = np.asarray(one[name])[..., None]
        else:
            wide[name] = one[name]


@compiled_in(COMPILED)
def where(condition: Any, one: Any, other: Any) -> Any:
    """`one` where the condition holds, else `other`; both are computed."""
    return one if condition else other


@compiled_in(COMPILED)
def everywhere(condition: Any) -> bool:
    """Whether the condition holds for all trials."""
    return bool(condition)


@compiled_in(COMPILED)
def bits_of(x: Any) -> Any:
    """The bits of a floating-point number, as a whole number."""
    return np.float64(x).view(np.int64)


@compiled_in(COMPILED)
def number_of(bits: Any) -> Any:
    """The floating-point number with these bits."""
    return np.uint64(bits).view(np.float64)


ONLY = "vectors exist in compiled code only"


@compiled_in(COMPILED)
def vectors_of(records: Records, i: int) -> Record:
    """A record for WIDTH trials as the state of a step: its floating-point fields are vectors."""
    raise NotImplementedError(ONLY)


@compiled_in(COMPILED)
def rows_of(table: NDArray[Any]) -> Any:
    """The rows of a table `[n, WIDTH]` as vectors."""
    raise NotImplementedError(ONLY)


@compiled_in(COMPILED)
def lane(vector: Any, i: int) -> Any:
    """The number of a lane."""
    raise NotImplementedError(ONLY)


@compiled_in(COMPILED)
def with_lane(vector: Any, i: int, number: Any) -> Any:
    """The vector with another number in a lane."""
    raise NotImplementedError(ONLY)


@compiled_in(COMPILED)
def column(rows: Any, i: int) -> Any:
    """The numbers of a lane in an array of vectors."""
    raise NotImplementedError(ONLY)


@compiled_in(COMPILED)
def entries(table: NDArray[Any], index: Any) -> Any:
    """The entries of a table at a vector of places."""
    raise NotImplementedError(ONLY)


@compiled_in(COMPILED)
def real(whole: Any) -> Any:
    """Whole numbers below 2^52 as floating-point numbers."""
    raise NotImplementedError(ONLY)


@compiled_in(COMPILED)
def generators(words: Record, layers: Record) -> Any:
    """The generators of WIDTH trials, with NumPy's methods `standard_normal` and `standard_gamma`."""
    raise NotImplementedError(ONLY)
