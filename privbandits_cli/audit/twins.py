"""Twins: two plays whose private data differ while all that they release is equal; they must play alike.

If they do not, some field of the state carried the secret past the release. `carrier` finds it by exchange: a field of
one twin is put into a copy of the other, which then plays.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.numerics.jit import Records, compiled_in

T = TypeVar("T")
# The records of a pair of games, and scratch space: the state after a round, those before it, and one more. They are
# NumPy's numbers, because numba compiles a function anew for each `int` that it is called with.
A, B, AFTER, OLD_A, OLD_B, SPARE = cast("Any", map(np.int64, range(6)))


@compiled_in("privbandits_cli.audit.compiled")
def copy(states: Records, source: int, target: int) -> None:
    """Copy a state over another one."""
    states[target] = states[source]


@compiled_in("privbandits_cli.audit.compiled")
def lent(parts: T) -> T:
    """The same array, or the same tuple of arrays. Compiled, no references to them are counted: none may outlive it.

    To count them, in each call of a step, may take longer than the steps themselves.
    """
    return parts


def carrier(first: Records, second: Records, differs: Callable[[Records], bool]) -> str:
    """The fields that make the twins play differently, by their dotted names; "" if no field does so alone.

    differs: whether a copy of the first twin's state, in which one field is the second twin's, plays differently.
    """

    def hybrid(name: str) -> Records:
        mixed = first.copy()
        dict(fields(mixed))[name][...] = dict(fields(second))[name]
        return mixed

    def carries(name: str) -> bool:
        try:
            return differs(hybrid(name))
        except (ArithmeticError, LookupError, ValueError):  # no play leads to this state, and steps may fail in it
            return False

    return ", ".join(filter(carries, unequal(first, second)))


def leak(t: int, alike: str, plays: str, data: str, fields: str) -> str:
    """The finding, in words, that twins release the same but play differently in round t, counted from 0.

    alike: what is the same; plays: what differs; data: what must have acted; fields: see `carrier`.
    """
    act = f"{data} act through {fields or 'several fields, or a random number in a field,'} of the state"
    return f"in round {t + 1:,}, two games with the same {alike} play {plays}: {act}"


def unequal(first: Records, second: Records) -> list[str]:
    """The dotted names of the fields in which two states differ; fields that are themselves records are left out."""
    both = zip(fields(first), fields(second), strict=True)
    return [name for (name, own), (_, other) in both if own.dtype.names is None and own.tobytes() != other.tobytes()]


def fields(state: Records, outer: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """Each field with its dotted name; after a field that is a record come the fields of this record."""
    for name in state.dtype.names or ():
        yield outer + name, state[name]
        yield from fields(state[name], f"{outer}{name}.")
