"""The values that a step computes with, while it is read: known, the same in all trials, or different."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from privbandits_cli.spmd.source import unsupported

ADDRESS = ir.PointerType()
F64, I64, I32, I8, I1 = ir.DoubleType(), ir.IntType(64), ir.IntType(32), ir.IntType(8), ir.IntType(1)
LLVM = {"f": F64, "i": I64, "u": I64, "b": I1}  # kinds: float, int, unsigned int, bool
KINDS: Mapping[Any, str] = {np.dtype(np.float64): "f", np.dtype(np.int64): "i", np.dtype(np.uint64): "u"}
LONGEST = 128  # entries of an array that an expression names as a whole; each has code of its own
ORDER = "biuf"  # a variable that holds two kinds has the later one


class Known(NamedTuple):
    """A Python object that is known before anything is played."""

    py: Any


class Number(NamedTuple):
    """A number in LLVM's language; varying: a vector, with an entry for each trial."""

    kind: str
    varying: bool
    ir: Any


class Several(NamedTuple):
    """A tuple of values."""

    items: tuple[Any, ...]


class Fields(NamedTuple):
    """Values by attribute, such as the random numbers of a round; a function computes one when it is asked for."""

    values: Mapping[str, Any]


class Record(NamedTuple):
    """A record: its layout, the address of its first word, and its offset from there in bytes of one trial."""

    layout: Any
    base: Any
    offset: int


class Array(NamedTuple):
    """An array in memory, or a part of one: its axes that are left, and the indices so far.

    A word of the array is `width` numbers side by side, one for each trial. unit: bytes from one word to the next.
    """

    base: Any
    start: int  # bytes from there
    kind: str
    unit: Any  # an int, or a number in LLVM's language
    axes: tuple[tuple[Any, int], ...]  # (entries, an int or a `Number`; words from one to the next)
    indices: tuple[tuple[Any, int, int], ...] = ()  # (index, entries of its axis, words from one to the next)
    table: bool = False  # read only, and apart from all records
    written: bool = False  # a table that the game, not a step, writes
    field: int | None = None  # the offset in its record, by which it is known
    checked: bool = False  # an index out of bounds is a fault, and a negative one counts from the end

    @property
    def length(self) -> int:
        """The entries of the first axis; Unsupported if they are not known."""
        n = self.axes[0][0]
        if not isinstance(n, int):
            unsupported("an operation on an array whose length is not known")
        if n > LONGEST:
            unsupported(f"an operation on a whole array of {n} entries, more than {LONGEST}: write a loop")
        return int(n)


class Method(NamedTuple):
    """A step whose first arguments are given."""

    step: Any
    first: tuple[Any, ...]


class Lazy(NamedTuple):
    """An array that an expression made. It has entries, but no place in memory."""

    entries: tuple[Any, ...]

    @property
    def length(self) -> int:
        """The number of entries."""
        return len(self.entries)


def axes_of(shape: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The axes of a contiguous array."""
    return tuple((n, math.prod(shape[k + 1 :])) for k, n in enumerate(shape))


def kind_of(py: Any) -> str:
    """The kind of a known number; Unsupported for another object."""
    if isinstance(py, bool | np.bool_):
        return "b"
    if isinstance(py, np.uint64):
        return "u"
    if isinstance(py, int | np.int64) and -(2**63) <= py < 2**63:
        return "i"
    if isinstance(py, float | np.float64):
        return "f"
    unsupported(f"{py!r:.40} is no number of 64 bits")


def is_constant(value: Number) -> bool:
    """Whether a number is a constant of LLVM's language."""
    return isinstance(value.ir, ir.Constant) and value.ir.constant is not ir.Undefined


def wider(one: str, other: str) -> str:
    """The kind of a variable that holds both kinds; Unsupported for signed and unsigned numbers."""
    if {one, other} == {"i", "u"}:
        unsupported("signed and unsigned whole numbers meet: write np.uint64(...)")
    return max(one, other, key=ORDER.index)


def same(one: Any, other: Any) -> bool:
    """Whether two known objects are the same, to the bit."""
    if isinstance(one, float) and isinstance(other, float):
        return one.hex() == other.hex()
    return one is other or (type(one) is type(other) and isinstance(one, int | str) and one == other)
