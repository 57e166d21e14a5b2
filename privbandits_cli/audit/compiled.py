"""Extensions of numba for audits: a fast copy of a record, arrays that are lent, and the methods of a tape.

numba compiles an assignment of records byte by byte, which takes seconds. A tape is a named tuple. Here it gets a numba
type of its own, so that compiled code can call its methods.
"""

from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import Any

from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.core.datamodel.models import TupleModel
from numba.extending import intrinsic, overload_method, register_model, typeof_impl
from numpy.random import default_rng

from privbandits_cli.audit.tape import DEALT, MADE, METHODS, Tape, draw, new_tape, several
from privbandits_cli.numerics.digests import of_modules
from privbandits_cli.numerics.jit import compile_step

CODE = of_modules([__name__])  # a digest of this module and of the methods of a tape


@intrinsic
def copy(typing: Any, states: Any, source: Any, target: Any) -> tuple[Any, Callable[..., Any]]:
    """`twins.copy` for a C-contiguous array."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(states)(context, builder, values[0]).data
        start, size = builder.bitcast(data, ir.IntType(8).as_pointer()), ir.Constant(ir.IntType(64), states.dtype.size)
        places = [context.cast(builder, values[i], signature.args[i], types.int64) for i in (1, 2)]
        one, other = (builder.gep(start, [builder.mul(place, size)]) for place in places)
        cgutils.raw_memcpy(builder, other, one, size, 1)  # type: ignore[no-untyped-call]
        return context.get_dummy_value()

    return types.void(states, source, target), build


@intrinsic
def lent(typing: Any, parts: Any) -> tuple[Any, Callable[..., Any]]:
    """`twins.lent` for arrays, generators, and tuples of them: without an owner, they have no count of references."""

    def ownerless(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        for i, part in enumerate(getattr(kind, "types", ())):  # of a tuple
            value = builder.insert_value(value, ownerless(context, builder, part, builder.extract_value(value, i)), i)
        if isinstance(kind, types.Array | types.NumPyRandomGeneratorType):
            view = context.make_helper(builder, kind, value)
            view.meminfo = view.meminfo.type(None)
            value = view._getvalue()
        return value

    return parts(parts), lambda context, builder, _, values: ownerless(context, builder, parts, values[0])


class TapeType(types.NamedTuple):
    """The type of a tape. Its name has the digest of the methods: numba finds kernels on disk by the names of types."""

    def __init__(self, parts: Sequence[Any], kind: type) -> None:
        super().__init__(parts, kind)  # type: ignore[no-untyped-call]
        self.name = f"{self.name} of {CODE}"


register_model(TapeType)(TupleModel)


@typeof_impl.register(Tape)
def type_of_tape(value: Any, context: Any) -> TapeType:
    """The type of this tape; all tapes have the same one."""
    return _type_of_tapes()


@cache
def _type_of_tapes() -> TapeType:
    return TapeType([typeof(part) for part in new_tape(default_rng(0))], Tape)  # type: ignore[no-untyped-call]


def with_method(name: str, made: Callable[..., float]) -> None:
    """Let compiled code call this method of a tape; made: the function of MADE for numbers of its kind.

    numba compiles a call with a `size` and one without it apart, each without the branch that it does not take.
    """
    own = compile_step(draw, fresh=compile_step(made))
    step: Any = compile_step(METHODS[name], draw=own, several=compile_step(several, draw=own))
    overload_method(TapeType, name)(wraps(step.py_func)(lambda *given, **named: step.py_func))


for name, kind in DEALT.items():
    with_method(name, MADE[kind])
