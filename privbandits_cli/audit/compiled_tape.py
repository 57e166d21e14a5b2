"""The methods of a tape for compiled code: numba knows a tape as a named tuple of a type of its own."""

from functools import wraps
from typing import Any

from numba import typeof, types
from numba.core.datamodel.models import TupleModel
from numba.extending import overload_method, register_model, typeof_impl

from privbandits_cli.audit.tape import METHODS, SIZED, Tape, draw, several
from privbandits_cli.numerics.jit import compile_step


class TapeType(types.NamedTuple):
    """The type of a tape."""


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
    """Let compiled code call this method, for one number or for several: a test of `size` would give both types."""
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
