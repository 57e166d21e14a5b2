"""What is checked of a user's file while it plays; the built-in ones have their tests instead, and pay nothing."""

import functools
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.jit import Records, plain

ROOM = "privbandits_cli.included."  # the modules of users' files


class Fault(Exception):
    """A user's step or table that breaks the game's rules; `function` is whose line it is told at."""

    def __init__(self, message: str, function: Callable[..., Any] | None = None) -> None:
        super().__init__(message)
        self.function = function

    def __reduce__(self) -> Any:  # a function of a user's file may not be known where it travels to
        return type(self), (str(self),)


class NotANumber(Fault):
    """A state that holds NaN."""


class WrongArm(Exception):
    """Raised in a compiled loop: arm, lane, round of the block."""


def guarded(modules: tuple[str, ...]) -> bool:
    """Whether a composition holds a user's file."""
    return any(name.startswith(ROOM) for name in modules)


def play_block(
    kernel: Callable[..., None], table: tuple[Any, ...], modules: tuple[str, ...], rounds: range, states: Records
) -> None:
    """Play a block of the game `bandit` with a user's file; Fault for an arm that there is not, or a NaN."""
    own = import_module(next(name for name in modules if name.startswith(ROOM)))
    try:
        kernel(*table)
    except WrongArm as error:
        arm, _, t = error.args
        said = f"choose returned arm {arm} in round {rounds[t]}; the arms are 0 to {table[0].shape[2] - 1}"
        raise Fault(said, own.choose) from None
    check_states(states, rounds[-1], own.update)


def missing_numbers(state: Any, prefix: str = "state") -> Iterator[str]:
    """The fields of a record that hold what is not a number."""
    for name in state.dtype.names:
        value = state[name]
        if value.dtype.names is not None:
            yield from missing_numbers(value, f"{prefix}.{name}")
        elif value.dtype.kind == "f" and np.isnan(value).any():
            yield f"{prefix}.{name}"


def check_states(states: Records, last: int, update: Callable[..., Any]) -> None:
    """Raise Fault where a state holds NaN after the round `last`."""
    for name in missing_numbers(states):
        raise NotANumber(f"{name} is not a number (NaN) by round {last}", update)


def watched(name: str, step: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """A plain step that says at once what is wrong with what it did; compiled ones are left alone."""
    if not plain() or not original.__module__.startswith(ROOM) or name not in ("choose", "update"):
        return step

    @functools.wraps(step)
    def watching(state: Any, *seen: Any) -> Any:
        found = step(state, *seen)
        if name == "choose" and found is not None and not isinstance(found, int | np.integer):
            raise Fault(f"choose returned {found!r}, a {type(found).__name__}: make it an int", original)
        if name == "update":
            for field in missing_numbers(state):
                raise NotANumber(f"update left NaN in {field}, after arm {seen[0]} with gain {seen[1]}", original)
        return found

    return watching


def next_gains(table: Iterator[NDArray[Any]], adversary: Any, rounds: range, n_arms: int) -> NDArray[Any]:
    """The next block of a user's adversary; Fault where it is none, or holds what is no gain."""
    gains = type(adversary).gains
    try:
        found = np.asarray(next(table))
    except StopIteration:
        raise Fault(
            f"gains yielded no block for rounds from {rounds.start} on: one for each of `blocks`", gains
        ) from None
    if found.shape != (len(rounds), n_arms):
        said = f"gains yielded a block of shape {found.shape}, not {(len(rounds), n_arms)}: rounds, arms"
        raise Fault(said, gains)
    kinds = "b" if adversary.binary else "bf"
    if found.dtype.kind not in kinds:
        raise Fault(f"gains yielded {found.dtype} numbers: make them {'bool' if adversary.binary else 'float'}", gains)
    least, most = (0, 1) if adversary.bounded else (-np.inf, np.inf)
    wrong = ~((found >= least) & (found <= most)) | ~np.isfinite(found)
    if wrong.any():
        t, arm = np.argwhere(wrong)[0]
        said = f"the gain of round {rounds[t]}, arm {arm} is {found[t, arm]:g}"
        hint = f"{said}: outside [0, 1]; rescale it, or say `bounded = False` in the class"
        raise Fault(hint if adversary.bounded else said, gains)
    return found
