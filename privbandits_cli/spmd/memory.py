"""Records, arrays and random numbers in memory, and the slots of variables.

The records of `width` trials lie side by side: the first word of each, then the second of each. So a field is a vector
at one address. A field that nothing has made different between trials (`differ`) is read as one number, so a branch on
it is a branch for all.
"""

import ast
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from privbandits_cli.spmd.arithmetic import Arithmetic
from privbandits_cli.spmd.source import BOOL, unsupported
from privbandits_cli.spmd.values import (
    I8,
    I32,
    I64,
    KINDS,
    LLVM,
    Array,
    Fields,
    Known,
    Number,
    Record,
    Several,
    axes_of,
    kind_of,
    wider,
)

FEW = 8  # entries that are found by comparisons, not by addresses
WORD = 8  # bytes


class Learned(NamedTuple):
    """What is known of a step after some readings."""

    slots: dict[Any, Any]  # for each variable that a branch assigns: kind and whether it varies; or a tuple's length
    differ: set[int]  # the offsets of fields that differ between trials
    masked: set[Any]  # loops that trials leave in different turns


class Memory(Arithmetic):
    """Emits loads and stores."""

    def __init__(
        self, context: Any, builder: Any, width: int, dry: bool, learned: Learned, spacing: int | None = None
    ) -> None:
        super().__init__(context, builder, width, dry)
        self.spacing = spacing or width  # words from one word of a trial to the next
        self.learned, self.new = learned, False
        self.rooms: dict[Any, Any] = {}
        self.constants: dict[int, Any] = {}

    # ------------------------------------------------------------------------------------------ places

    def field(self, record: Record, name: str, checked: bool) -> Any:
        """A field of a record: a record or an array, or an array without axes for a number."""
        if name not in record.layout.fields:
            unsupported(f"the record has no field {name}")
        layout, offset = record.layout.fields[name][:2]
        offset += record.offset
        if layout.names is not None:
            return Record(layout, record.base, offset)
        kind = "b" if layout.base.metadata == BOOL else KINDS.get(layout.base)
        if kind is None:
            unsupported(f"the field {name} holds {layout.base}, no words of 64 bits")
        start, unit = offset * self.spacing, WORD * self.spacing
        return Array(record.base, start, kind, unit, axes_of(layout.shape), field=offset, checked=checked)

    def attribute(self, value: Any, name: str, checked: bool = False) -> Any:
        """`value.name`."""
        if isinstance(value, Record):
            found = self.field(value, name, checked)
            return self.load(found) if isinstance(found, Array) and not found.axes else found
        if isinstance(value, Fields):
            if name not in value.values:
                unsupported(f"there is no attribute {name}")
            found = value.values[name]
            return found() if callable(found) else found
        if isinstance(value, Array) and name == "shape":
            return Known(tuple(n for n, _ in value.axes))
        if isinstance(value, Array) and name == "dtype":
            kinds = {own: kind for kind, own in KINDS.items()} | {"b": np.dtype(bool)}
            return Known(kinds[value.kind])
        if isinstance(value, Array) and name == "size" and len(value.axes) == 1:
            return Known(value.length)
        if isinstance(value, Known) and not isinstance(value.py, np.ndarray) and hasattr(value.py, name):
            return Known(getattr(value.py, name))
        unsupported(f"the attribute {name} of this value")

    def indexed(self, array: Array, indices: Sequence[Any]) -> Array:
        """A part of an array; an index may be a slice of known numbers."""
        axes, index, kept = list(array.axes), list(array.indices), []
        for i in indices:
            if not axes:
                unsupported("an index too many")
            n, step = axes.pop(0)
            if isinstance(i, slice) and any(isinstance(end, Number) for end in (i.start, i.stop)):
                first, count = self.between(i, n, array.checked)
                index.append((first, n, step))
                kept.append((count, step))
                continue
            if isinstance(i, slice):
                n = array._replace(axes=((n, step),)).length
                chosen = range(n)[i]
                index.append((Known(chosen.start), n, step))
                kept.append((len(chosen), step * chosen.step))
                continue
            index.append((self.index(i, n, array.checked), n, step))
        return array._replace(axes=(*kept, *axes), indices=tuple(index))

    def index(self, i: Any, n: Any, checked: bool) -> Any:
        """An index of an axis with n entries; a known one out of bounds is a fault, where it is read."""
        if isinstance(i, Known) and isinstance(n, int):
            if kind_of(i.py) != "i" or n == 0:
                unsupported(f"the index {i.py} of an axis with {n} entries")
            self.fault(Known(not -n <= i.py < n))
            return Known(int(i.py) % n)
        if self.number(i).kind not in "iu":  # numba does not compile it, and for NumPy it is no index of one entry
            unsupported("an index that is no whole number")
        return self.within(i, n) if checked else i

    def between(self, part: slice, n: Any, checked: bool) -> tuple[Any, Any]:
        """The first index and the length of a slice whose ends are the same in all trials, but not known."""
        if checked or part.step is not None:
            unsupported("a slice whose ends are not known")
        first = part.start if isinstance(part.start, Number) else Known(part.start or 0)
        last = Known(part.stop) if isinstance(part.stop, int) else part.stop
        return first, self.binary(ast.Sub, n if last is None and isinstance(n, Number) else last or Known(n), first)

    def within(self, i: Any, n: Any) -> Any:
        """An index that counts from the end if it is negative; one out of bounds is a fault, and reads entry 0."""
        i, size = self.cast(i, "i"), n if isinstance(n, Number) else self.number(Known(n))
        i = self.select(self.compare(ast.Lt, i, Known(0)), self.binary(ast.Add, i, size), i)
        beyond = self.negated(self.compare(ast.Lt, self.cast(i, "u"), self.cast(size, "u")))
        self.fault(beyond)
        return self.select(beyond, Known(0), i)

    def entry(self, value: Any, i: Any) -> Any:
        """An entry of an array, or a row of a matrix."""
        if isinstance(value, Array):
            return self.loaded(self.indexed(value, [i]))
        i = self.index(i, value.length, checked=True)
        if isinstance(i, Known):
            return value.entries[i.py]
        found = value.entries[0]
        for k, own in enumerate(value.entries[1:], 1):
            found = self.select(self.compare(ast.Eq, i, Known(k)), own, found)
        return found

    def loaded(self, array: Array) -> Any:
        """An array, or its number if it has no axes."""
        return array if array.axes else self.load(array)

    def address(self, array: Array) -> tuple[Any, list[tuple[Number, int, Any]]]:
        """The address without the indices that vary, and a list of these.

        Each index in the list comes with the length of its axis and its step in bytes.
        """
        address, varying, known = array.base, [], 0
        for i, n, words in array.indices:
            if isinstance(i, Known):
                known += int(i.py) * words
                continue
            i, step = self.cast(i, "i"), self.times(array.unit, words)
            if i.varying:
                varying.append((i, n, step))
            else:
                address = self.moved(address, self.builder.mul(i.ir, self.whole(step)))
        offset = self.times(array.unit, known)
        if isinstance(offset, int):
            return self.moved(address, array.start + offset), varying
        return self.moved(address, offset), varying  # only tables have a unit that is no int; they start at their base

    def whole(self, number: Any) -> Any:
        """An int as a number in LLVM's language."""
        return ir.Constant(I64, number) if isinstance(number, int) else number

    def times(self, number: Any, factor: int) -> Any:
        """A number in LLVM's language, or an int, times an int."""
        if isinstance(number, int) or factor == 0:
            return 0 if factor == 0 else number * factor
        return number if factor == 1 else self.builder.mul(number, self.whole(factor))

    def moved(self, address: Any, by: Any) -> Any:
        """The address so many bytes further."""
        return (
            address if isinstance(by, int) and by == 0 else self.builder.gep(address, [self.whole(by)], source_etype=I8)
        )

    def tag(self, instruction: Any, table: bool) -> None:
        """Say that an instruction touches tables and no records, or the reverse, so that LLVM need not check it."""
        records, tables = self.scopes
        instruction.set_metadata("alias.scope", tables if table else records)
        instruction.set_metadata("noalias", records if table else tables)

    @cached_property
    def scopes(self) -> list[Any]:
        """What LLVM is told that memory belongs to: records, or tables."""
        add = self.builder.module.add_metadata
        domain = add(["privbandits memory"])
        return [add([add([f"privbandits {name}", domain])]) for name in ("records", "tables")]

    # ------------------------------------------------------------------------------------------ loads and stores

    def alike(self, array: Array) -> bool:
        """Whether an array is the same in all trials. If one trial plays alone, each array is."""
        return self.width == 1 or (array.field is not None and array.field not in self.learned.differ)

    def raw(self, array: Array, address: Any) -> Any:
        """What is at an address: a vector, or the number that all trials share."""
        kind = LLVM[array.kind] if self.alike(array) else self.vector(array.kind)
        found = self.builder.load(address, align=WORD, typ=kind)
        self.tag(found, array.table)
        return found

    def load(self, array: Array) -> Number:
        """The number of an array without axes; Unsupported for another."""
        if array.axes:
            unsupported("a whole array where a number is needed")
        if array.kind == "b":
            return self.cast(self.load(array._replace(kind="i")), "b")
        address, varying = self.address(array)
        alike = self.alike(array)
        if not varying:
            return Number(array.kind, not alike, self.raw(array, address))
        if len(varying) == 1 and is_few(varying[0][1]):
            i, n, step = varying[0]
            found = self.spread(Number(array.kind, not alike, self.raw(array, address)))
            for k in range(1, n):
                place = self.moved(address, self.times(step, k))
                other = Number(array.kind, not alike, self.raw(array, place))
                found = self.select(self.compare(ast.Eq, i, Known(k)), other, found)
            return found
        return self.gather(self.addresses(address, varying, apart=not alike), array.kind)

    def addresses(self, address: Any, varying: Iterable[tuple[Number, int, Any]], apart: bool) -> Any:
        """The addresses of each trial; apart: each trial has a word of its own, beside that of its neighbour."""
        b = self.builder
        total = self.spread(Number("i", False, b.ptrtoint(address, I64))).ir
        for i, _, step in varying:
            total = b.add(total, b.mul(i.ir, self.spread(Number("i", False, self.whole(step))).ir))
        if apart:
            total = b.add(total, ir.Constant(self.vector("i"), [WORD * k for k in range(self.width)]))
        return b.inttoptr(total, ir.VectorType(I8.as_pointer(), self.width))

    def gather(self, addresses: Any, kind: str) -> Number:
        """The numbers at these addresses, for the trials of the mask."""
        vector = self.vector(kind)
        return Number(kind, True, self.masked("gather", vector, kind, addresses, after=[ir.Constant(vector, None)]))

    def scatter(self, value: Number, addresses: Any) -> None:
        """Store a vector at these addresses, for the trials of the mask."""
        self.masked("scatter", ir.VoidType(), value.kind, addresses, before=[value.ir])

    def masked(
        self, verb: str, result: Any, kind: str, addresses: Any, before: Sequence[Any] = (), after: Sequence[Any] = ()
    ) -> Any:
        """A masked operation of LLVM; before, after: its arguments before the addresses and after the mask."""
        pointers = self.builder.bitcast(addresses, ir.VectorType(LLVM[kind].as_pointer(), self.width))
        mask = self.full("b", 1) if self.mask.ir is None else self.mask.ir
        name = f"masked.{verb}.v{self.width}{'f64' if kind == 'f' else 'i64'}.v{self.width}p0"
        return self.intrinsic(name, result, *before, pointers, ir.Constant(I32, WORD), mask, *after)

    def store(self, array: Array, value: Any) -> None:
        """Set a number in the trials of the mask; Unsupported for a table."""
        if array.axes or (array.table and not array.written):
            unsupported("an assignment to a whole array or to a table")
        if array.kind == "b":
            self.store(array._replace(kind="i"), self.cast(value, "b"))
            return
        value = self.cast(value, array.kind)
        address, varying = self.address(array)
        some = self.mask.ir is not None or self.spacing > self.width
        if array.field is not None and (value.varying or varying or some) and array.field not in self.learned.differ:
            self.learned.differ.add(array.field)
            self.new = True
        if not varying:
            self.put(array, address, value, self.mask.ir)
            return
        value = self.spread(value)
        if len(varying) == 1 and is_few(varying[0][1]):
            i, n, step = varying[0]
            for k in range(n):
                here = self.both(self.mask.ir, self.compare(ast.Eq, i, Known(k)))
                self.put(array, self.moved(address, self.times(step, k)), value, here)
        else:
            self.scatter(value, self.addresses(address, varying, apart=True))

    def put(self, array: Array, address: Any, value: Number, mask: Any) -> None:
        """Store a number in the trials where a mask holds; the other trials keep what they had."""
        b, vector = self.builder, (value if self.width == 1 and mask is None else self.spread(value)).ir
        if mask is not None:  # without `freeze` LLVM would make a masked store, for which the next load has to wait
            old = self.spread(Number(array.kind, not self.alike(array), self.raw(array, address))).ir
            vector = self.frozen(b.select(mask, vector, old))
        self.tag(b.store(vector, address, align=WORD), array.table)

    def frozen(self, vector: Any) -> Any:
        """The same vector, which LLVM may not look through."""
        block = self.builder.block
        made = ir.instructions.Instruction(block, vector.type, "freeze", (vector,))
        block.instructions.append(made)  # llvmlite has no method for it
        self.builder.position_at_end(block)
        return made

    def constant_entry(self, table: Any, index: Any, checked: bool) -> Any:
        """An entry of a global array."""
        if isinstance(index, Known):
            return Known(table[self.index(index, len(table), checked=True).py])
        kind = KINDS.get(table.dtype)
        if kind is None or table.ndim != 1:
            unsupported("a global array of this kind")
        if self.number(index).kind not in "iu":
            unsupported("an index that is no whole number")
        index = self.within(index, len(table)) if checked else self.cast(index, "i")
        if id(table) not in self.constants:
            data = ir.Constant(ir.ArrayType(LLVM[kind], len(table)), table.tolist())
            self.constants[id(table)] = cgutils.global_constant(self.builder.module, "spmd.table", data)
        b = self.builder
        start = self.constants[id(table)]
        if not index.varying:
            place = b.gep(start, [index.ir], source_etype=I64)
            return Number(kind, False, b.load(place, typ=LLVM[kind]))
        return self.gather(self.addresses(start, [(index, len(table), WORD)], apart=False), kind)

    # ------------------------------------------------------------------------------------------ slots

    def slot(self, key: Any, kind: str, varying: bool) -> Any:
        """The memory of a variable; LLVM makes registers of it."""
        if (key, kind, varying) not in self.rooms:
            made = cgutils.alloca_once(self.builder, self.vector(kind) if varying else LLVM[kind])
            self.rooms[key, kind, varying] = made
        return self.rooms[key, kind, varying]

    def store_slot(self, key: Any, value: Any) -> None:
        """Store a number, or a tuple of numbers, in its slot; other values have none."""
        slots = self.learned.slots
        if isinstance(value, Several):
            if slots.setdefault(key, len(value.items)) != len(value.items):
                unsupported("a variable that holds tuples of different lengths, or a tuple and a number")
            for k, item in enumerate(value.items):
                self.store_slot((*key, k), item)
            return
        if not is_numeric(value):
            return
        value = self.number(value)
        known = slots.get(key, (value.kind, value.varying))
        if isinstance(known, int):
            unsupported("a variable that holds a tuple and a number")
        found = wider(known[0], value.kind), known[1] or value.varying
        if slots.get(key) != found:
            slots[key], self.new = found, True
        value = self.cast(value, found[0])
        value = self.spread(value) if found[1] else value
        self.builder.store(value.ir, self.slot(key, *found))

    def clear_slot(self, key: Any) -> None:
        """Store 0 in the slot of a variable, so that LLVM need not keep its last value."""
        known = self.learned.slots.get(key)
        if isinstance(known, tuple):
            kind, varying = known
            room = self.slot(key, kind, varying)
            self.builder.store(ir.Constant(room.type.pointee, None), room)
        for k in range(known if isinstance(known, int) else 0):
            self.clear_slot((*key, k))

    def load_slot(self, key: Any) -> Any:
        """The number in a slot; None if nothing was ever stored there."""
        known = self.learned.slots.get(key)
        if known is None:
            return None
        if isinstance(known, int):
            return Several(tuple(self.load_slot((*key, k)) for k in range(known)))
        kind, varying = known
        return Number(kind, varying, self.builder.load(self.slot(key, kind, varying)))


def is_number(py: Any) -> bool:
    """Whether a known object is a number."""
    return isinstance(py, bool | int | float | np.number | np.bool_)


def is_few(n: Any) -> bool:
    """Whether an entry among so many is found by comparisons."""
    return isinstance(n, int) and n <= FEW


def is_numeric(value: Any) -> bool:
    """Whether a value is a number, or a tuple of numbers."""
    if isinstance(value, Several):
        return all(map(is_numeric, value.items))
    return isinstance(value, Number) or (isinstance(value, Known) and is_number(value.py))
