"""Numbers in LLVM's language: every operation as numba has it for one trial, to the last bit.

No operation is contracted or reordered. Functions without vector instructions, such as the logarithm, are called for
one trial after the other, in numba's own version of them.

Trials outside the mask hold any number, even poison. So a condition is joined to the mask by `select`, not by `and`.
"""

import ast
import functools
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from privbandits_cli.spmd.source import unsupported
from privbandits_cli.spmd.values import (
    I1,
    I32,
    I64,
    LLVM,
    ORDER,
    Array,
    Known,
    Lazy,
    Number,
    Several,
    is_constant,
    kind_of,
    same,
    wider,
)

NUMBA = {"f": types.float64, "i": types.int64, "u": types.uint64, "b": types.boolean}
CASTS = {"if": "sitofp", "uf": "uitofp", "bf": "uitofp", "bi": "zext", "bu": "zext", "fi": "fptosi", "fu": "fptoui"}
TO_PYTHON: Mapping[str, Callable[[Any], Any]] = {"f": float, "b": int, "i": int, "u": int}
MOST = 64  # the largest exponent of a power that is made of products


class Operation(NamedTuple):
    """A binary operation: in Python, and the instructions for floats and for whole numbers, if there is one."""

    python: Callable[[Any, Any], Any]
    floats: str = ""
    wholes: str = ""


OPERATIONS: Mapping[type[ast.operator], Operation] = {
    ast.Add: Operation(operator.add, "fadd", "add"),
    ast.Sub: Operation(operator.sub, "fsub", "sub"),
    ast.Mult: Operation(operator.mul, "fmul", "mul"),
    ast.Div: Operation(operator.truediv, "fdiv"),
    ast.BitAnd: Operation(operator.and_, wholes="and_"),
    ast.BitOr: Operation(operator.or_, wholes="or_"),
    ast.BitXor: Operation(operator.xor, wholes="xor"),
    ast.LShift: Operation(operator.lshift, wholes="shl"),
    ast.RShift: Operation(operator.rshift, wholes="ashr"),
    ast.FloorDiv: Operation(operator.floordiv),
    ast.Mod: Operation(operator.mod),
    ast.Pow: Operation(operator.pow),
}
SIGNS: Mapping[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
}


class Mask(NamedTuple):
    """The trials that take part (None: all), and the number of the region of code in which they take part."""

    ir: Any
    region: int


@functools.cache
def equal(kind: str, width: int, number: Any, text: str) -> Any:
    """A vector of equal numbers; text: tells 0.0 from -0.0."""
    return ir.Constant(ir.VectorType(LLVM[kind], width), [number] * width)


def builder_of(function: ir.Function) -> ir.IRBuilder:
    """A builder in the second block of a new function; variables are made in the first."""
    builder = ir.IRBuilder(function.append_basic_block())
    start = function.append_basic_block()
    builder.branch(start)
    builder.position_at_end(start)
    return builder


class Arithmetic:
    """Emits operations on numbers of `width` trials. dry: the code serves only to learn, and is never run."""

    def __init__(self, context: Any, builder: Any, width: int, dry: bool) -> None:
        self.context, self.builder, self.width, self.dry = context, builder, width, dry
        self.mask, self.regions = Mask(None, 0), 0
        self.faulty = cgutils.alloca_once_value(builder, self.full("b", 0))  # trials with an error, played again alone

    # ------------------------------------------------------------------------------------------ masks

    def region(self, mask: Any) -> Mask:
        """A mask of a new region."""
        self.regions += 1
        return Mask(mask, self.regions)

    @contextmanager
    def under(self, mask: Mask) -> Iterator[None]:
        """Emit code for the trials of another mask."""
        before, self.mask = self.mask, mask
        yield
        self.mask = before

    def both(self, mask: Any, condition: Any) -> Any:
        """The trials of a mask in which a condition holds."""
        vector = self.spread(condition).ir
        return vector if mask is None else self.builder.select(mask, vector, self.full("b", 0))

    def some(self, mask: Any) -> Any:
        """Whether a mask has any trial."""
        word = ir.IntType(self.width)
        return self.builder.icmp_unsigned("!=", self.builder.bitcast(mask, word), ir.Constant(word, 0))

    def lowest(self, value: Number) -> Number:
        """The least whole number of the trials of the mask."""
        b, highest = self.builder, self.full("i", 2**63 - 1)
        vector = value.ir if self.mask.ir is None else b.select(self.mask.ir, value.ir, highest)
        return Number("i", False, self.intrinsic(f"vector.reduce.smin.v{self.width}i64", I64, vector))

    def fault(self, condition: Any) -> None:
        """Note the trials in which a condition holds: the loop for one trial raises their error."""
        condition = self.truth(condition)
        if isinstance(condition, Known) and not condition.py:
            return
        wrong = self.both(self.mask.ir, condition)
        self.builder.store(self.builder.or_(self.builder.load(self.faulty), wrong), self.faulty)

    def intrinsic(self, name: str, result: Any, *arguments: Any) -> Any:
        """Call an operation of LLVM that has no method in llvmlite; result: its type."""
        declared = ir.FunctionType(result, [argument.type for argument in arguments])
        function = cgutils.get_or_insert_function(self.builder.module, declared, f"llvm.{name}")
        return self.builder.call(function, arguments)

    # ------------------------------------------------------------------------------------------ kinds

    def vector(self, kind: str) -> Any:
        """The type of a vector."""
        return ir.VectorType(LLVM[kind], self.width)

    def full(self, kind: str, number: Any) -> Any:
        """A vector of equal numbers."""
        return equal(kind, self.width, number, repr(number))

    def undefined(self, kind: str, varying: bool) -> Number:
        """Any number of a kind."""
        return Number(kind, varying, ir.Constant(self.vector(kind) if varying else LLVM[kind], ir.Undefined))

    def number(self, value: Any) -> Number:
        """A value as a number; Unsupported if it is none."""
        if isinstance(value, Known):
            kind = kind_of(value.py)
            return Number(kind, False, ir.Constant(LLVM[kind], TO_PYTHON[kind](value.py)))
        if isinstance(value, Number):
            return value
        unsupported("a whole array, a tuple or a record where a number is needed")

    def spread(self, value: Any) -> Number:
        """A number as a vector."""
        one = self.number(value)
        if one.varying:
            return one
        if is_constant(one):
            return Number(one.kind, True, self.full(one.kind, one.ir.constant))
        nothing = ir.Constant(self.vector(one.kind), ir.Undefined)
        first = self.builder.insert_element(nothing, one.ir, ir.Constant(I32, 0))
        everywhere = ir.Constant(ir.VectorType(I32, self.width), None)
        return Number(one.kind, True, self.builder.shuffle_vector(first, nothing, everywhere))

    def cast(self, value: Any, kind: str) -> Number:
        """A number as one of another kind."""
        one, b = self.number(value), self.builder
        if one.kind == kind:
            return one
        if is_constant(one) and not one.varying:
            py = one.ir.constant
            if one.kind == "f" and kind in "iu" and not abs(py) < 2**63:
                unsupported(f"{py} as a whole number")
            return Number(kind, False, ir.Constant(LLVM[kind], int(bool(py)) if kind == "b" else TO_PYTHON[kind](py)))
        if kind == "b":
            return self.number(self.compare(ast.NotEq, one, Known(0)))
        if one.kind in "iu" and kind in "iu":
            return one._replace(kind=kind)
        wanted = self.vector(kind) if one.varying else LLVM[kind]
        return Number(kind, one.varying, getattr(b, CASTS[one.kind + kind])(one.ir, wanted))

    def unified(self, *values: Any, least: str = "b") -> list[Number]:
        """Numbers of one kind, at least this one, which are all vectors if one is."""
        numbers = [self.number(value) for value in values]
        kind = functools.reduce(wider, (value.kind for value in numbers))
        kind = max(kind, least, key=ORDER.index)
        numbers = [self.cast(value, kind) for value in numbers]
        return [self.spread(value) for value in numbers] if any(one.varying for one in numbers) else numbers

    # ------------------------------------------------------------------------------------------ conditions

    def truth(self, value: Any) -> Any:
        """A value as a condition."""
        return Known(bool(value.py)) if isinstance(value, Known) else self.cast(value, "b")

    def negated(self, value: Any) -> Any:
        """`not value`."""
        value = self.truth(value)
        if isinstance(value, Known):
            return Known(not value.py)
        one = self.full("b", 1) if value.varying else ir.Constant(I1, 1)
        return Number("b", value.varying, self.builder.xor(value.ir, one))

    def conjunction(self, one: Any, other: Any) -> Any:
        """`one and other`; the second may be poison where the first does not hold."""
        one, other = self.truth(one), self.truth(other)
        if isinstance(one, Known):
            return other if one.py else one
        return self.select(one, other, Known(False))

    def select(self, condition: Any, one: Any, other: Any) -> Any:
        """`one if condition else other`, both of which are computed; Unsupported for arrays."""
        if isinstance(condition, Known):
            return one if condition.py else other
        if isinstance(one, Several) and isinstance(other, Several) and len(one.items) == len(other.items):
            pairs = zip(one.items, other.items, strict=True)
            return Several(tuple(self.select(condition, first, second) for first, second in pairs))
        if isinstance(one, Known) and isinstance(other, Known) and same(one.py, other.py):
            return one
        if isinstance(one, Array) and isinstance(other, Array):
            if one.field is not None and one._replace(base=None) == other._replace(base=None):
                return one  # the same part of the state
            if not condition.varying:
                return self.either(condition, one, other)
        one, other = self.unified(one, other)
        if condition.varying:
            one, other = self.spread(one), self.spread(other)
        return Number(one.kind, one.varying, self.builder.select(condition.ir, one.ir, other.ir))

    def either(self, condition: Number, one: Array, other: Array) -> Array:
        """One of two tables, or of two lengths of the same part of the state."""
        plain = [array._replace(base=None, axes=()) for array in (one, other)]
        shared = one.field is not None or (one.table and not one.indices)
        if plain[0] != plain[1] or not shared or [step for _, step in one.axes] != [step for _, step in other.axes]:
            unsupported("one of two arrays of the state")
        axes = [
            (n if n == m else self.select(condition, Known(n) if isinstance(n, int) else n, m), step)
            for (n, step), (m, _) in zip(one.axes, other.axes, strict=True)
        ]
        base = one.base if one.field is not None else self.builder.select(condition.ir, one.base, other.base)
        return one._replace(base=base, axes=tuple(axes))

    def compare(self, sign: type[ast.cmpop], left: Any, right: Any) -> Any:
        """A comparison."""
        if sign not in SIGNS:
            unsupported(f"the comparison `{sign.__name__}`")
        symbol, python = SIGNS[sign]
        if isinstance(left, Known) and isinstance(right, Known):
            return Known(bool(python(left.py, right.py)))
        left, right = self.unsigned(left, right), self.unsigned(right, left)
        left, right = self.unified(left, right)
        b = self.builder
        if left.kind == "f":
            made = (b.fcmp_unordered if symbol == "!=" else b.fcmp_ordered)(symbol, left.ir, right.ir)
        else:
            made = (b.icmp_signed if left.kind == "i" else b.icmp_unsigned)(symbol, left.ir, right.ir)
        return Number("b", left.varying, made)

    def unsigned(self, value: Any, other: Any) -> Any:
        """A known whole number, 0 or above, in the form in which it is compared with an unsigned one."""
        beside = isinstance(other, Number) and other.kind == "u" and isinstance(value, Known)
        return Known(np.uint64(value.py)) if beside and kind_of(value.py) == "i" and value.py >= 0 else value

    # ------------------------------------------------------------------------------------------ operations

    def binary(self, op: type[ast.operator], left: Any, right: Any) -> Any:
        """An operation on two numbers, or on arrays entry by entry."""
        if op not in OPERATIONS:
            unsupported(f"the operation `{op.__name__}`")
        python, floats, wholes = OPERATIONS[op]
        if isinstance(left, Array | Lazy) or isinstance(right, Array | Lazy):
            if op is ast.Div:
                return self.quotient(left, right)  # a division of arrays by 0 raises no error
            return self.elementwise(lambda x, y: self.binary(op, x, y), left, right)
        if isinstance(left, Known) and isinstance(right, Known):
            return self.folded(python, left.py, right.py)
        if op is ast.Pow:
            return self.power(left, right)
        if op is ast.Div:
            left, right = self.unified(left, right, least="f")
            self.fault(self.compare(ast.Eq, right, Known(0.0)))
            return self.quotient(left, right)
        bits = op in (ast.BitAnd, ast.BitOr, ast.BitXor)
        left, right = self.unified(left, right, least="b" if bits else "i")
        if op in (ast.FloorDiv, ast.Mod):
            self.fault(self.compare(ast.Eq, right, Known(0)))
            if left.kind == "f":  # numba would raise an error for all trials
                return self.one_by_one(
                    python, [left, self.select(self.compare(ast.Eq, right, Known(0)), Known(1.0), right)]
                )
            return self.divided(op, left, right)
        name = floats if left.kind == "f" else "lshr" if op is ast.RShift and left.kind == "u" else wholes
        if not name:
            unsupported(f"`{op.__name__}` of floating-point numbers")
        return Number(left.kind, left.varying, getattr(self.builder, name)(left.ir, right.ir))

    def quotient(self, left: Any, right: Any) -> Any:
        """`np.divide`: a division by 0 gives an infinite number or NaN."""
        if isinstance(left, Array | Lazy) or isinstance(right, Array | Lazy):
            return self.elementwise(self.quotient, left, right)
        left, right = self.unified(left, right, least="f")
        return Number("f", left.varying, self.builder.fdiv(left.ir, right.ir))

    def folded(self, python: Callable[..., Any], *values: Any) -> Known:
        """An operation on known numbers."""
        if len(values) > 1 and {kind_of(value) for value in values} >= {"u", "i"}:
            unsupported("signed and unsigned whole numbers meet: write np.uint64(...)")
        plain = [value.item() if isinstance(value, np.float64 | np.int64) else value for value in values]
        try:  # Python's numbers raise an error for a division by 0, NumPy's do not
            with np.errstate(all="ignore"):
                return Known(python(*plain))
        except (ArithmeticError, TypeError, ValueError) as error:
            unsupported(str(error))

    def divided(self, op: type[ast.operator], left: Number, right: Number) -> Number:
        """Python's // and % of whole numbers; trials outside the mask, and those that divide by 0, divide by 1."""
        b, one = self.builder, Known(np.uint64(1) if left.kind == "u" else 1)
        if not is_constant(right):
            zero = self.compare(ast.Eq, right, Known(0))
            right = self.select(zero, one, right)
            if right.varying and self.mask.ir is not None:
                right = self.select(Number("b", True, self.mask.ir), right, one)
            left, right = self.unified(left, right)
        if left.kind == "u":
            return Number("u", left.varying, (b.udiv if op is ast.FloorDiv else b.urem)(left.ir, right.ir))
        quotient = b.sdiv(left.ir, right.ir)
        rest = b.sub(left.ir, b.mul(quotient, right.ir))
        none = ir.Constant(left.ir.type, None)
        off = b.and_(b.icmp_signed("!=", rest, none), b.icmp_signed("<", b.xor(rest, right.ir), none))
        if op is ast.FloorDiv:
            return Number("i", left.varying, b.sub(quotient, b.zext(off, left.ir.type)))
        return Number("i", left.varying, b.add(rest, b.select(off, right.ir, none)))

    def power(self, left: Any, right: Any) -> Any:
        """A power: products for a known integer exponent, as in numba; else computed for one trial after the other."""
        if isinstance(right, Known) and kind_of(right.py) == "i":
            if not 0 <= right.py <= MOST:
                unsupported(f"the exponent {right.py}")
            value, result, exponent = self.number(left), None, int(right.py)
            while exponent:
                if exponent & 1:
                    result = value if result is None else self.binary(ast.Mult, result, value)
                exponent >>= 1
                value = self.binary(ast.Mult, value, value) if exponent else value
            return Known(1.0 if value.kind == "f" else 1) if result is None else result
        left, right = self.number(left), self.number(right)
        kinds = {"b": "i"}.get(left.kind, left.kind), {"b": "i"}.get(right.kind, right.kind)
        if "u" in kinds:
            unsupported("a power of unsigned numbers")
        if right.kind == "i":
            wrong = self.conjunction(self.compare(ast.Eq, left, Known(0)), self.compare(ast.Lt, right, Known(0)))
            self.fault(wrong)
            left = self.number(self.select(wrong, Known(1), left))
        return self.one_by_one(operator.pow, [left, right], "ff" if kinds == ("i", "f") else "".join(kinds))

    def minus(self, value: Any) -> Any:
        """`-value`."""
        if isinstance(value, Array | Lazy):
            return self.elementwise(self.minus, value)
        if isinstance(value, Known):
            return self.folded(operator.neg, value.py)
        if value.kind == "f":
            return Number("f", value.varying, self.builder.fneg(value.ir))
        if value.kind == "u":
            unsupported("minus an unsigned number")
        value = self.cast(value, "i")
        return Number("i", value.varying, self.builder.neg(value.ir))

    def least(self, sign: type[ast.cmpop], values: Sequence[Any]) -> Any:
        """Python's `min` (sign `Lt`) or `max`: a later value counts if it is strictly better."""
        if len(values) < 2:
            unsupported("`min` or `max` of one value")
        found = values[0]
        for value in values[1:]:
            if isinstance(found, Known) and isinstance(value, Known) and type(found.py) is type(value.py):
                found = value if SIGNS[sign][1](value.py, found.py) else found
                continue
            found, value = self.unified(found, value)
            found = self.select(self.compare(sign, value, found), value, found)
        return found

    def extremum(self, sign: type[ast.cmpop], one: Any, other: Any) -> Any:
        """`np.minimum` (sign `LtE`) or `np.maximum` of two numbers, NaN if one is NaN."""
        if isinstance(one, Array | Lazy) or isinstance(other, Array | Lazy):
            return self.elementwise(lambda x, y: self.extremum(sign, x, y), one, other)
        one, other = self.unified(one, other)
        first = self.compare(sign, one, other)
        if one.kind == "f":
            first = self.select(
                self.missing(one), Known(True), self.conjunction(self.negated(self.missing(other)), first)
            )
        return self.select(first, one, other)

    def missing(self, value: Any) -> Any:
        """`np.isnan`."""
        value = self.cast(value, "f")
        return Number("b", value.varying, self.builder.fcmp_unordered("uno", value.ir, value.ir))

    def rounded(self, name: str, value: Any) -> Any:
        """`sqrt`, `floor`, `ceil` or `fabs` by an instruction."""
        if isinstance(value, Array | Lazy):
            return self.elementwise(lambda x: self.rounded(name, x), value)
        value = self.number(value)
        if name == "fabs" and value.kind != "f":
            value = self.cast(value, "i") if value.kind == "b" else value
            return (
                value
                if value.kind == "u"
                else self.select(self.compare(ast.Lt, value, Known(0)), self.minus(value), value)
            )
        value = self.cast(value, "f")
        suffix = f"v{self.width}f64" if value.varying else "f64"
        return Number("f", value.varying, self.intrinsic(f"{name}.{suffix}", value.ir.type, value.ir))

    def reinterpreted(self, value: Any, kind: str) -> Number:
        """The bits of a number as a number of another kind."""
        value = self.number(value)
        wanted = self.vector(kind) if value.varying else LLVM[kind]
        return Number(kind, value.varying, self.builder.bitcast(value.ir, wanted))

    def elementwise(self, function: Callable[..., Any], *values: Any) -> Lazy:
        """A function of the entries of arrays of one length."""
        arrays = [value for value in values if isinstance(value, Array | Lazy)]
        lengths = {value.length for value in arrays}
        if len(lengths) != 1 or any(isinstance(value, Array) and len(value.axes) != 1 for value in arrays):
            unsupported("arrays of different lengths, or matrices, in one expression")

        def entry(i: int) -> Any:
            own = (self.entry(value, Known(i)) if isinstance(value, Array | Lazy) else value for value in values)
            return function(*own)

        return Lazy(tuple(map(entry, range(lengths.pop()))))

    def entry(self, value: Any, i: Any) -> Any:
        """An entry of an array."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------ one by one

    def one_by_one(self, function: Callable[..., Any], values: Sequence[Any], kinds: str = "f") -> Any:
        """A function that numba knows, of numbers of these kinds, for the trials of the mask one after the other.

        The result has the kind of the first number.
        """
        if any(isinstance(value, Array | Lazy) for value in values):
            return self.elementwise(lambda *own: self.one_by_one(function, own, kinds), *values)
        kinds = kinds * len(values) if len(kinds) == 1 else kinds
        numbers = [self.cast(value, kind) for value, kind in zip(values, kinds, strict=True)]
        signature = NUMBA[kinds[0]](*(NUMBA[kind] for kind in kinds))

        def call(given: Sequence[Any]) -> Any:
            return self.context.get_function(function, signature)(self.builder, given)

        return self.each(kinds[0], numbers, call)

    def each(self, kind: str, values: Sequence[Number], call: Callable[[Sequence[Any]], Any]) -> Number:
        """What `call` makes of the numbers of each trial of the mask."""
        varying, b = any(value.varying for value in values), self.builder
        if self.dry:
            return self.undefined(kind, varying)
        if not varying:
            return Number(kind, False, call([value.ir for value in values]))
        rooms = [self.room(self.spread(value)) for value in values]
        out = cgutils.alloca_once(b, self.vector("i" if kind == "b" else kind))  # a vector of bools has no addresses
        word = ir.IntType(self.width)
        left = cgutils.alloca_once(b, word)
        b.store(ir.Constant(word, -1) if self.mask.ir is None else b.bitcast(self.mask.ir, word), left)
        test, body, after = (b.append_basic_block(name) for name in ("trial", "trial.body", "trial.after"))
        b.branch(test)
        b.position_at_end(test)
        bits = b.load(left)
        b.cbranch(b.icmp_unsigned("!=", bits, ir.Constant(word, 0)), body, after)
        b.position_at_end(body)
        b.store(b.and_(bits, b.sub(bits, ir.Constant(word, 1))), left)
        place = b.zext(b.cttz(bits, ir.Constant(I1, 1)), I64)
        given = [b.load(b.gep(room, [place])) for room in rooms]
        made = call([b.trunc(one, I1) if value.kind == "b" else one for one, value in zip(given, values, strict=True)])
        made = b.zext(made, I64) if kind == "b" else made
        b.store(made, b.gep(b.bitcast(out, made.type.as_pointer()), [place]))
        b.branch(test)
        b.position_at_end(after)
        found = b.load(out)
        return Number(kind, True, b.trunc(found, self.vector(kind)) if kind == "b" else found)

    def room(self, value: Number) -> Any:
        """A vector in memory, as an array of its entries; a bool takes a whole word."""
        vector = self.builder.zext(value.ir, self.vector("i")) if value.kind == "b" else value.ir
        room = cgutils.alloca_once(self.builder, vector.type)
        self.builder.store(vector, room)
        return self.builder.bitcast(room, vector.type.element.as_pointer())


MATHS: frozenset[Any] = frozenset(
    {np.exp, np.log, np.log1p, np.expm1, np.log2, np.sin, np.cos, math.exp, math.log, math.log1p, math.expm1}
    | {math.lgamma, math.log2, math.sin, math.cos}
)  # functions of one float, which numba computes for one trial
