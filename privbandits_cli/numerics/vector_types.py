"""The vectors of `numerics.vectors` for numba: LLVM's vector types, and records and arrays of them in memory.

LLVM splits a vector into as many instructions as the processor needs. No operation is contracted or reordered.
"""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typeconv.castgraph import Conversion
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature
from numba.extending import (
    intrinsic,
    lower_builtin,
    lower_cast,
    lower_getattr_generic,
    lower_setattr_generic,
    make_attribute_wrapper,
    models,
    overload,
    overload_attribute,
    overload_method,
    register_model,
)
from numba.np.numpy_support import from_dtype

from privbandits_cli.numerics import vector_draws
from privbandits_cli.numerics.jit import compile_step
from privbandits_cli.numerics.lane_types import Column
from privbandits_cli.numerics.vectors import WIDE, WIDTH

INDEX = ir.IntType(64)
BYTE = ir.IntType(8)
KINDS = {types.float64: ir.DoubleType(), types.int64: INDEX, types.uint64: INDEX, types.boolean: ir.IntType(1)}
WIDENED = [from_dtype(np.dtype(kind)) for kind in WIDE]
SIZE = 8 * WIDTH  # bytes of a vector in memory
EXPONENT = 0x433 << 52  # of 2^52, whose last place is 1


class Vector(types.Type):
    """WIDTH numbers of a kind."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        super().__init__(f"Vector({kind})")

    def unify(self, typingctx: Any, other: Any) -> Any:
        """A number and a vector are a vector."""
        return self if isinstance(other, types.Number) else None

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        """Every number is a vector of equal ones."""
        return Conversion.safe if isinstance(other, types.Number | types.Boolean) else None


class Vectors(types.Type):
    """A record for WIDTH trials."""

    def __init__(self, record: Any) -> None:
        self.record = record
        super().__init__(f"Vectors({record})")


class Rows(types.Type):
    """An array of vectors; the length of its first axis is part of the value, the others of the type."""

    def __init__(self, kind: Any, rest: tuple[int, ...]) -> None:
        self.kind, self.rest = kind, rest
        self.stride = SIZE * math.prod(rest)
        super().__init__(f"Rows({kind}, {rest})")


@register_model(Vector)
class VectorModel(models.PrimitiveModel):
    """LLVM's vector."""

    def __init__(self, manager: Any, vector: Vector) -> None:
        super().__init__(manager, vector, ir.VectorType(KINDS[vector.kind], WIDTH))


@register_model(Vectors)
class VectorsModel(models.PrimitiveModel):
    """A pointer."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, BYTE.as_pointer())


@register_model(Rows)
class RowsModel(models.StructModel):
    """A pointer, and the length."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("start", types.CPointer(types.uint8)), ("length", types.int64)])


# ---------------------------------------------------------------------------------------------- arithmetic

FLOAT, WORD, WHOLE, MASK = types.float64, types.uint64, types.int64, types.boolean
BINARY: dict[str, dict[Any, str]] = {
    "add": {FLOAT: "fadd", WORD: "add", WHOLE: "add"},
    "sub": {FLOAT: "fsub", WORD: "sub", WHOLE: "sub"},
    "mul": {FLOAT: "fmul"},
    "truediv": {FLOAT: "fdiv"},  # a division by 0 is infinite, and raises nothing
    "xor": {WORD: "xor"},
    "or_": {WORD: "or_", MASK: "or_"},
    "and_": {WORD: "and_", MASK: "and_", WHOLE: "and_"},
    "lshift": {WORD: "shl", WHOLE: "shl"},
    "rshift": {WORD: "lshr", WHOLE: "ashr"},
}
COMPARISONS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}


@lower_cast(types.Number, Vector)
@lower_cast(types.Boolean, Vector)
def _broadcast(context: Any, builder: Any, given: Any, wanted: Vector, value: Any) -> Any:
    number = context.cast(builder, value, given, wanted.kind)
    nothing = ir.Constant(ir.VectorType(KINDS[wanted.kind], WIDTH), ir.Undefined)
    first = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), None))


def _kind(*given: Any) -> Any:
    """The kind of the vectors among these types; None if there is none, or if they differ."""
    kinds = {one.kind for one in given if isinstance(one, Vector)}
    return kinds.pop() if len(kinds) == 1 else None


def _define(key: Any, builders: dict[Any, Callable[..., Any]], result: Any = None) -> None:
    """Define an operator on two vectors of the same kind. A number is first broadcast to a vector."""

    class Operation(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            kind = _kind(*args)
            if len(args) == 2 and kind in builders:
                return signature(Vector(result or kind), Vector(kind), Vector(kind))
            return None

    infer_global(key)(type(f"Operation_{key.__name__}", (Operation,), {"key": key}))
    for kind, build in builders.items():

        def lower(context: Any, builder: Any, signature: Any, values: Any, build: Any = build) -> Any:
            return build(builder, *values)

        lower_builtin(key, Vector(kind), Vector(kind))(lower)


def _register() -> None:
    for name, kinds in BINARY.items():
        found = {kind: getattr(ir.IRBuilder, made) for kind, made in kinds.items()}
        _define(getattr(operator, name), found)
        _define(getattr(operator, f"i{name.rstrip('_')}"), found)
    for name, sign in COMPARISONS.items():
        _define(
            getattr(operator, name),
            {
                FLOAT: lambda builder, x, y, sign=sign: builder.fcmp_ordered(sign, x, y),
                WORD: lambda builder, x, y, sign=sign: builder.icmp_unsigned(sign, x, y),
            },
            MASK,
        )


_register()


@intrinsic
def _negated(typing: Any, x: Any) -> Any:
    return x(x), lambda context, builder, signature, values: builder.fneg(values[0])


@overload(operator.neg, strict=False)
def _neg(x: Any) -> Any:
    return (lambda x: _negated(x)) if isinstance(x, Vector) else None


@overload(np.divide, strict=False)
def _divide(x: Any, y: Any) -> Any:
    return (lambda x, y: x / y) if _kind(x, y) == FLOAT else None


@intrinsic
def _root(typing: Any, x: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = values[0].type
        root = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind]), f"llvm.sqrt.v{WIDTH}f64")
        return builder.call(root, values)

    return x(x), build


@overload(np.sqrt, strict=False)
def _sqrt(x: Any) -> Any:
    return (lambda x: _root(x)) if isinstance(x, Vector) else None


@overload(np.log, strict=False)
def _log(x: Any) -> Any:
    if not isinstance(x, Vector):
        return None

    def by_lane(x: Any) -> Any:
        for i in range(WIDTH):
            x = with_lane(x, i, np.log(lane(x, i)))
        return x

    return by_lane


@overload(np.isnan, strict=False)
def _isnan(x: Any) -> Any:
    return (lambda x: _differs(x)) if isinstance(x, Vector) else None


@intrinsic
def _differs(typing: Any, x: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fcmp_unordered("uno", values[0], values[0])

    return Vector(MASK)(x), build


@intrinsic
def where(typing: Any, condition: Any, one: Any, other: Any) -> Any:
    """`numerics.vectors.where`, of vectors or of numbers."""
    if isinstance(condition, Vector):
        kind = _kind(one, other) or typing.unify_types(one, other)
        kind = WHOLE if isinstance(kind, types.Integer) and kind != WORD else kind
        result = Vector(kind)
    else:
        condition = MASK
        result = typing.unify_types(one, other)

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.select(*values)

    return signature(result, condition, result, result), build


@intrinsic
def everywhere(typing: Any, condition: Any) -> Any:
    """`numerics.vectors.everywhere`."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        if not isinstance(condition, Vector):
            return values[0]
        bits = builder.bitcast(values[0], ir.IntType(WIDTH))
        return builder.icmp_unsigned("==", bits, ir.Constant(ir.IntType(WIDTH), -1))

    return MASK(condition), build


def _same_bits(given: Any, kind: Any, result: Any) -> Any:
    """The bits of a number or vector, read as another kind."""
    several = isinstance(given, Vector)

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.bitcast(values[0], context.get_value_type(signature.return_type))

    return (Vector(result)(Vector(kind)) if several else result(kind)), build


@intrinsic
def bits_of(typing: Any, x: Any) -> Any:
    """`numerics.vectors.bits_of`."""
    return _same_bits(x, FLOAT, WHOLE)


@intrinsic
def number_of(typing: Any, bits: Any) -> Any:
    """`numerics.vectors.number_of`."""
    kind = bits.kind if isinstance(bits, Vector) else bits
    return _same_bits(bits, WORD if kind == WORD else WHOLE, FLOAT)


@intrinsic
def lane(typing: Any, vector: Any, i: Any) -> Any:
    """`numerics.vectors.lane`."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.extract_element(*values)

    return signature(vector.kind, vector, WHOLE), build


@intrinsic
def with_lane(typing: Any, vector: Any, i: Any, number: Any) -> Any:
    """`numerics.vectors.with_lane`."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.insert_element(values[0], values[2], values[1])

    return signature(vector, vector, WHOLE, vector.kind), build


# ---------------------------------------------------------------------------------------------- in memory


def _load(builder: Any, kind: Any, address: Any) -> Any:
    vector = ir.VectorType(KINDS[kind], WIDTH)
    loaded = builder.load(builder.bitcast(address, vector.as_pointer()))
    loaded.align = 8
    return loaded


def _store(builder: Any, value: Any, address: Any) -> None:
    stored = builder.store(value, builder.bitcast(address, value.type.as_pointer()))
    stored.align = 8


def _rows(context: Any, builder: Any, kind: Rows, start: Any, length: Any) -> Any:
    made = cgutils.create_struct_proxy(kind)(context, builder)
    made.start, made.length = start, length
    return made._getvalue()


@infer_getattr
class FieldsOfVectors(AttributeTemplate):
    """The types of the fields of a record for several trials."""

    key = Vectors

    def generic_resolve(self, vectors: Vectors, name: str) -> Any:  # type: ignore[override]
        """A record, a whole number, a vector, or an array of vectors."""
        kind = vectors.record.typeof(name)
        if isinstance(kind, types.Record):
            return Vectors(kind)
        if isinstance(kind, types.NestedArray) and kind.dtype in WIDENED:
            rest = kind.shape[1:-1]
            return Rows(kind.dtype, rest) if kind.ndim > 1 else Vector(kind.dtype)
        return kind


def _field(builder: Any, vectors: Vectors, value: Any, name: str) -> Any:
    return builder.gep(value, [ir.Constant(INDEX, vectors.record.offset(name))])


@lower_getattr_generic(Vectors)
def _get_field(context: Any, builder: Any, vectors: Vectors, value: Any, name: str) -> Any:
    kind = FieldsOfVectors(context.typing_context).generic_resolve(vectors, name)
    address = _field(builder, vectors, value, name)
    if isinstance(kind, Vectors):
        return address
    if isinstance(kind, Vector):
        return _load(builder, kind.kind, address)
    if isinstance(kind, Rows):
        return _rows(context, builder, kind, address, ir.Constant(INDEX, vectors.record.typeof(name).shape[0]))
    return _whole(context, builder, vectors, value, name)


def _whole(context: Any, builder: Any, vectors: Vectors, value: Any, name: str) -> Any:
    """A whole number of a record, or an array of them."""
    record = builder.bitcast(value, context.get_value_type(vectors.record))
    return context.get_getattr(vectors.record, name)(context, builder, vectors.record, record, name)


@lower_setattr_generic(Vectors)
def _set_field(context: Any, builder: Any, signature: Any, values: Any, name: str) -> None:
    vectors, given = signature.args
    kind = FieldsOfVectors(context.typing_context).generic_resolve(vectors, name)
    number, address = context.cast(builder, values[1], given, kind), _field(builder, vectors, values[0], name)
    if isinstance(kind, Vector):
        _store(builder, number, address)
    else:
        builder.store(number, builder.bitcast(address, number.type.as_pointer()))


def _place(context: Any, builder: Any, rows: Rows, value: Any, index: Any, values: Any) -> Any:
    """The address of an entry or row."""
    address = cgutils.create_struct_proxy(rows)(context, builder, value=value).start
    several = isinstance(index, types.BaseTuple)
    kinds, indices = (list(index), cgutils.unpack_tuple(builder, values)) if several else ([index], [values])
    for axis, (kind, at) in enumerate(zip(kinds, indices, strict=True)):
        stride = SIZE * math.prod(rows.rest[axis:])
        at = context.cast(builder, at, kind, types.int64)
        address = builder.gep(address, [builder.mul(at, ir.Constant(INDEX, stride))])
    return address


@intrinsic
def _get_item(typing: Any, rows: Any, index: Any) -> Any:
    axes = len(index) if isinstance(index, types.BaseTuple) else 1
    left = rows.rest[axes - 1 :]
    result: Any = Rows(rows.kind, left[1:]) if left else Vector(rows.kind)

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _place(context, builder, rows, values[0], index, values[1])
        if left:
            return _rows(context, builder, result, address, ir.Constant(INDEX, left[0]))
        return _load(builder, rows.kind, address)

    return result(rows, index), build


@intrinsic
def _set_item(typing: Any, rows: Any, index: Any, value: Any) -> Any:
    wanted = Vector(rows.kind)

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _place(context, builder, rows, values[0], index, values[1])
        _store(builder, values[2], address)
        return context.get_dummy_value()

    return signature(types.void, rows, index, wanted), build


@intrinsic
def _part(typing: Any, rows: Any, first: Any, length: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        start = _place(context, builder, rows, values[0], WHOLE, values[1])
        return _rows(context, builder, rows, start, values[2])

    return signature(rows, rows, WHOLE, WHOLE), build


@overload(operator.getitem, strict=False)
def _getitem(rows: Any, index: Any) -> Callable[..., Any] | None:
    if not isinstance(rows, Rows):
        return None
    if isinstance(index, types.SliceType):
        return lambda rows, index: _part(rows, index.start, max(0, min(index.stop, len(rows)) - index.start))
    return lambda rows, index: _get_item(rows, index)


@overload(operator.setitem, strict=False)
def _setitem(rows: Any, index: Any, value: Any) -> Callable[..., Any] | None:
    return (lambda rows, index, value: _set_item(rows, index, value)) if isinstance(rows, Rows) else None


@intrinsic
def _length(typing: Any, rows: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return cgutils.create_struct_proxy(rows)(context, builder, value=values[0]).length

    return WHOLE(rows), build


@overload(len, strict=False)
def _len(rows: Any) -> Callable[..., Any] | None:
    return (lambda rows: _length(rows)) if isinstance(rows, Rows) else None


@overload_attribute(Rows, "shape", strict=False)
def _shape(rows: Any) -> Callable[..., Any]:
    rest = rows.rest
    return lambda rows: (len(rows), *rest) if rest else (len(rows),)


@intrinsic
def vectors_of(typing: Any, records: Any, i: Any) -> Any:
    """`numerics.vectors.vectors_of`."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(records)(context, builder, values[0]).data
        stride = ir.Constant(INDEX, records.dtype.size)
        return builder.gep(builder.bitcast(data, BYTE.as_pointer()), [builder.mul(values[1], stride)])

    return signature(Vectors(records.dtype), records, WHOLE), build


@intrinsic
def rows_of(typing: Any, table: Any) -> Any:
    """`numerics.vectors.rows_of`."""
    found = Rows(table.dtype, ())

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        array = context.make_array(table)(context, builder, values[0])
        length = cgutils.unpack_tuple(builder, array.shape)[0]
        return _rows(context, builder, found, builder.bitcast(array.data, BYTE.as_pointer()), length)

    return found(table), build


@intrinsic
def column(typing: Any, rows: Any, i: Any) -> Any:
    """`numerics.vectors.column`."""
    found = Column(rows.kind, None)

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        start = cgutils.create_struct_proxy(rows)(context, builder, value=values[0]).start
        made = cgutils.create_struct_proxy(found)(context, builder)
        made.start = builder.gep(start, [builder.mul(values[1], ir.Constant(INDEX, 8))])
        made.stride = ir.Constant(INDEX, rows.stride)
        return made._getvalue()

    return signature(found, rows, WHOLE), build


@intrinsic
def entries(typing: Any, table: Any, index: Any) -> Any:
    """`numerics.vectors.entries`."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(table)(context, builder, values[0]).data
        out = ir.Constant(ir.VectorType(KINDS[table.dtype], WIDTH), ir.Undefined)
        for i in range(WIDTH):
            at = ir.Constant(ir.IntType(32), i)
            number = builder.load(builder.gep(data, [builder.extract_element(values[1], at)]))
            out = builder.insert_element(out, number, at)
        return out

    return Vector(table.dtype)(table, index), build


@intrinsic
def real(typing: Any, whole: Any) -> Any:
    """`numerics.vectors.real`."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = ir.VectorType(ir.DoubleType(), WIDTH)
        exponent = context.cast(builder, ir.Constant(INDEX, EXPONENT), WORD, whole)
        number = builder.bitcast(builder.or_(values[0], exponent), kind)
        base = context.cast(builder, ir.Constant(ir.DoubleType(), 2.0**52), FLOAT, Vector(FLOAT))
        return builder.fsub(number, base)

    return Vector(FLOAT)(whole), build


# ---------------------------------------------------------------------------------------------- random numbers


class Generators(types.Type):
    """The generators of WIDTH trials: their words, and the layers of the ziggurat."""

    def __init__(self, words: Vectors, layers: Any) -> None:
        self.words, self.layers = words, layers
        super().__init__(f"Generators({words}, {layers})")


@register_model(Generators)
class GeneratorsModel(models.StructModel):
    """Two pointers."""

    def __init__(self, manager: Any, kind: Generators) -> None:
        super().__init__(manager, kind, [("words", kind.words), ("layers", kind.layers)])


make_attribute_wrapper(Generators, "words", "words")
make_attribute_wrapper(Generators, "layers", "layers")


@intrinsic
def generators(typing: Any, words: Any, layers: Any) -> Any:
    """`numerics.vectors.generators`."""
    kind = Generators(words, layers)

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        made = cgutils.create_struct_proxy(kind)(context, builder)
        made.words, made.layers = values
        return made._getvalue()

    return kind(words, layers), build


@overload_method(Generators, "standard_normal", strict=False)
def _standard_normal(rng: Any) -> Any:
    draw = compile_step(vector_draws.normals)
    return lambda rng: draw(rng.words.words, rng.layers)


@overload_method(Generators, "standard_gamma", strict=False)
def _standard_gamma(rng: Any, shape: Any) -> Any:
    draw = compile_step(vector_draws.gammas)
    return lambda rng, shape: draw(rng.words.words, rng.layers, shape)
