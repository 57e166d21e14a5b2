"""The views of `numerics.lanes` for numba: a pointer to a lane's first word, with fixed distances between its words.

Loads and stores say whether they touch the words of the lanes or a table, so that LLVM need not check at run time that
these do not overlap; the check would take longer than a loop over the lanes.
"""

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import (
    intrinsic,
    models,
    overload,
    register_model,
)

from privbandits_cli.numerics.lanes import LANES

WORD = ir.IntType(64)
BYTE = ir.IntType(8)


class Column(types.Type):
    """Numbers of one lane, `length` many if that is known; those of a table are `stride` apart, which is not."""

    def __init__(self, dtype: Any, length: int | None, table: bool = False) -> None:
        self.dtype, self.length, self.table = dtype, length, table
        super().__init__(f"Column({dtype}, {length}, {table})")


@register_model(Column)
class ColumnModel(models.StructModel):
    """A pointer, and the distance of two numbers in bytes."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("start", types.CPointer(types.uint8)), ("stride", types.int64)])


def _pack(context: Any, builder: Any, kind: Column, start: Any, stride: Any) -> Any:
    made = cgutils.create_struct_proxy(kind)(context, builder)
    made.start, made.stride = start, stride
    return made._getvalue()


def _element(context: Any, builder: Any, kind: Column, value: Any, index: Any) -> Any:
    """The address of a number."""
    found = cgutils.create_struct_proxy(kind)(context, builder, value=value)
    return builder.gep(found.start, [builder.mul(index, found.stride)])


def _scoped(builder: Any, instruction: Any, table: bool) -> None:
    """Say that a load or store touches tables, and no words of lanes; or the reverse."""
    module = builder.module
    domain = module.add_metadata(["privbandits lanes"])
    words, tables = (module.add_metadata([f"privbandits {name}", domain]) for name in ("words", "tables"))
    instruction.set_metadata("alias.scope", module.add_metadata([tables if table else words]))
    instruction.set_metadata("noalias", module.add_metadata([words if table else tables]))


def _size(kind: Any) -> int:
    return 1 if kind == types.boolean else int(kind.bitwidth) // 8


def _load(context: Any, builder: Any, kind: Any, address: Any, table: bool) -> Any:
    stored = context.data_model_manager[kind].get_data_type()
    loaded = builder.load(builder.bitcast(address, stored.as_pointer()))
    loaded.align = _size(kind)
    _scoped(builder, loaded, table)
    return context.data_model_manager[kind].from_data(builder, loaded)


def _store(context: Any, builder: Any, kind: Any, address: Any, value: Any, table: bool) -> None:
    model = context.data_model_manager[kind]
    stored = builder.store(model.as_data(builder, value), builder.bitcast(address, model.get_data_type().as_pointer()))
    stored.align = _size(kind)
    _scoped(builder, stored, table)


@intrinsic
def _get_item(typing: Any, column: Any, index: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        at = context.cast(builder, values[1], signature.args[1], types.int64)
        address = _element(context, builder, column, values[0], at)
        return _load(context, builder, column.dtype, address, column.table)

    return column.dtype(column, index), build


@intrinsic
def _set_item(typing: Any, column: Any, index: Any, value: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        at = context.cast(builder, values[1], signature.args[1], types.int64)
        address = _element(context, builder, column, values[0], at)
        number = context.cast(builder, values[2], signature.args[2], column.dtype)
        _store(context, builder, column.dtype, address, number, column.table)
        return context.get_dummy_value()

    return types.void(column, index, value), build


@overload(operator.getitem, strict=False)
def _getitem(column: Any, index: Any) -> Callable[..., Any] | None:
    return (lambda column, index: _get_item(column, index)) if isinstance(column, Column) else None


@overload(operator.setitem, strict=False)
def _setitem(column: Any, index: Any, value: Any) -> Callable[..., Any] | None:
    return (lambda column, index, value: _set_item(column, index, value)) if isinstance(column, Column) else None


@overload(len, strict=False)
def _len(column: Any) -> Callable[..., Any] | None:
    if not isinstance(column, Column) or column.length is None:
        return None
    length = column.length
    return lambda column: length


def _start(context: Any, builder: Any, array: Any, value: Any, lane: Any) -> Any:
    """The address of a lane's first number in a C-contiguous array `[..., lanes]`."""
    data = context.make_array(array)(context, builder, value).data
    size = ir.Constant(WORD, _size(array.dtype))
    return builder.gep(builder.bitcast(data, BYTE.as_pointer()), [builder.mul(lane, size)])


@intrinsic
def column(typing: Any, words: Any, lane: Any) -> Any:
    """`numerics.lanes.column`."""
    made = Column(words.dtype, None)

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        at = context.cast(builder, values[1], signature.args[1], types.int64)
        start = _start(context, builder, words, values[0], at)
        return _pack(context, builder, made, start, ir.Constant(WORD, 8 * LANES))

    return made(words, lane), build


@intrinsic
def across(typing: Any, table: Any, lane: Any) -> Any:
    """`numerics.lanes.across`."""
    made = Column(table.dtype, None, True)

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        at = context.cast(builder, values[1], signature.args[1], types.int64)
        array = context.make_array(table)(context, builder, values[0])
        lanes = cgutils.unpack_tuple(builder, array.shape, table.ndim)[-1]
        stride = builder.mul(lanes, ir.Constant(WORD, _size(table.dtype)))
        return _pack(context, builder, made, _start(context, builder, table, values[0], at), stride)

    return made(table, lane), build
