"""The methods of a tape for compiled code: numba knows a tape as a named tuple of a type of its own."""

from functools import wraps
from typing import Any

from numba import typeof, types
from numba.core.datamodel.models import TupleModel
from numba.extending import overload_method, register_model, typeof_impl

from privbandits_cli.audit.tape import METHODS, Tape
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


for name in METHODS:
    with_method(name)
