"""Extensions of numba for audits: a fast copy of a record, and the methods of a tape.

numba compiles an assignment of records byte by byte, which takes seconds. A tape is a named tuple. Here it gets a numba
type of its own, so that compiled code can call its methods.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.core.datamodel.models import TupleModel
from numba.extending import intrinsic, overload_method, register_model, typeof_impl

from privbandits_cli.audit.tape import METHODS, SIZED, Tape, draw, several
from privbandits_cli.numerics.digests import of_modules
from privbandits_cli.numerics.jit import compile_step

WORD = ir.IntType(64)
BYTE = ir.IntType(8)
CODE = of_modules([__name__])  # a digest of this module and of the methods of a tape


@intrinsic
def copy(typing: Any, states: Any, source: Any, target: Any) -> tuple[Any, Callable[..., Any]]:
    """`twins.copy` for a C-contiguous array."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(states)(context, builder, values[0]).data
        start, size = builder.bitcast(data, BYTE.as_pointer()), ir.Constant(WORD, states.dtype.size)
        places = [context.cast(builder, values[i], signature.args[i], types.int64) for i in (1, 2)]
        one, other = (builder.gep(start, [builder.mul(place, size)]) for place in places)
        cgutils.raw_memcpy(builder, other, one, size, 1)  # type: ignore[no-untyped-call]
        return context.get_dummy_value()

    return types.void(states, source, target), build


class TapeType(types.NamedTuple):
    """The type of a tape. Its name has the digest of the methods: numba finds kernels on disk by the names of types."""

    def __init__(self, parts: Sequence[Any], kind: type) -> None:
        super().__init__(parts, kind)  # type: ignore[no-untyped-call]
        self.name = f"{self.name} of {CODE}"


register_model(TapeType)(TupleModel)


@typeof_impl.register(Tape)
def type_of_tape(value: Tape, context: Any) -> TapeType:
    """The type of this tape."""
    return TapeType([typeof(part) for part in value], Tape)  # type: ignore[no-untyped-call]


def with_method(name: str) -> None:
    """Let compiled code call this method of a tape."""
    step: Any = compile_step(METHODS[name])
    made = step.py_func
    overload_method(TapeType, name)(wraps(made)(lambda *given, **named: made))


def with_size(name: str, kind: int) -> None:
    """Let compiled code call this method, for one number or for several.

    The type of `size` selects one of two functions, since one compiled function cannot return both numbers and arrays.
    """
    one_of, several_of = compile_step(draw), compile_step(several)

    def one(self: Any, size: Any = None) -> Any:
        return one_of(self, kind, 0.0)

    def some(self: Any, size: Any = None) -> Any:
        return several_of(self, kind, size)

    def chosen(self: Any, size: Any = None) -> Any:
        return some if isinstance(size, types.Integer) else one

    overload_method(TapeType, name)(chosen)


for name in METHODS:
    if name in SIZED:
        with_size(name, SIZED[name])
    else:
        with_method(name)
