"""The copy of a record for compiled code: numba compiles an assignment of records byte by byte, which takes seconds."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

WORD = ir.IntType(64)
BYTE = ir.IntType(8)


@intrinsic
def copy(typing: Any, states: Any, source: Any, target: Any) -> tuple[Any, Callable[..., Any]]:
    """`twins.copy`, of a C-contiguous array."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(states)(context, builder, values[0]).data
        start, size = builder.bitcast(data, BYTE.as_pointer()), ir.Constant(WORD, states.dtype.size)
        places = [context.cast(builder, values[i], signature.args[i], types.int64) for i in (1, 2)]
        one, other = (builder.gep(start, [builder.mul(place, size)]) for place in places)
        cgutils.raw_memcpy(builder, other, one, size, 1)  # type: ignore[no-untyped-call]
        return context.get_dummy_value()

    return types.void(states, source, target), build
