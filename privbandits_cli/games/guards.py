"""What is checked of a user's file while it plays; the built-in ones have their tests instead, and pay nothing.

Of an algorithm its state, its draws, and each step: what it chooses, that it leaves no NaN, and that it writes into
nothing that other algorithms see, too. Of an adversary every block that it yields.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.convex.losses import SLACK, LossSet
from privbandits_cli.convex.spaces import Space
from privbandits_cli.games.players import Contexts, Setting
from privbandits_cli.numerics.jit import ROOM, Records, plain
from privbandits_cli.numerics.types import Floats

Ints = NDArray[np.int64]

OUTSIDE = 1e-6  # of a set's radius, by which a point may lie outside it
READ_ONLY = "what a step is shown is read-only: copy it, and write into the copy"
REAL = np.bool_, np.integer, np.floating


class PluginError(Exception):
    """A user's step or table that breaks the game's rules; `function` is whose line it is told at."""

    def __init__(self, message: str, function: Callable[..., Any] | None = None) -> None:
        super().__init__(message)
        self.function = function

    def __reduce__(self) -> Any:  # a function of a user's file may not be known where it travels to
        return type(self), (str(self),)


class NotANumber(PluginError):
    """A state or a point that holds NaN."""


class WrongArm(Exception):
    """Raised in a compiled loop: arm, number of arms, round of the block."""


def guarded(modules: tuple[str, ...]) -> bool:
    """Whether a composition holds a user's file."""
    return any(name.startswith(ROOM) for name in modules)


def is_own(player: Any) -> bool:
    """Whether somebody's class stands in a user's file."""
    return guarded((type(player).__module__,))


# ------------------------------------------------------------------------------------------ a user's algorithm


def first_state(algorithm: Any, setting: Setting) -> Records:
    """The state of an algorithm before the first round; PluginError where a user's is no record."""
    state: Records = algorithm.state(setting)
    if is_own(algorithm) and not (isinstance(state, np.ndarray) and state.shape == (1,) and state.dtype.names):
        said = f"state returned {_kind(state)}: return a `record(...)`, as made by privbandits_cli.numerics.jit"
        raise PluginError(said, type(algorithm).state)
    return state


def draws_of(algorithm: Any, setting: Setting, rounds: Ints, kinds: tuple[str, ...]) -> dict[str, Ints]:
    """How many random numbers of each kind an algorithm of the game `linear` wants in each round, `[rounds]`."""
    asked: dict[str, Ints] = algorithm.draws(setting, rounds)
    if not is_own(algorithm):
        return asked
    for kind, counts in _asked(type(algorithm).draws, asked, kinds):
        if np.shape(counts) != rounds.shape or np.asarray(counts).dtype.kind not in "iu" or np.min(counts) < 0:
            said = f"draws asks for {_kind(counts)} of {kind}: an int >= 0 for each of `rounds`, [rounds]"
            raise PluginError(said, type(algorithm).draws)
    return {kind: np.asarray(counts) for kind, counts in asked.items()}


def periods_of(algorithm: Any, kinds: tuple[str, ...]) -> dict[str, int]:
    """Every how many rounds an algorithm of the game `bandit` wants a random number of each kind."""
    asked: dict[str, int] = algorithm.periods()
    for kind, period in _asked(type(algorithm).periods, asked, kinds) if is_own(algorithm) else ():
        if not isinstance(period, int) or period < 1:
            said = f"periods asks for {kind} every {_kind(period)} rounds: an int from 1 up, 1 for every round"
            raise PluginError(said, type(algorithm).periods)
    return asked


def _asked(method: Callable[..., Any], asked: Any, kinds: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """The numbers that a user's `draws` or `periods` returned for each kind; PluginError for another type or kind."""
    name = method.__name__
    if not isinstance(asked, dict):
        raise PluginError(f'{name} returned {_kind(asked)}: return a dict, as {{"{kinds[0]}": numbers}}', method)
    for kind, numbers in asked.items():
        if kind not in kinds:
            raise PluginError(f"{name} asks for {kind!r}: there are {', '.join(kinds)}", method)
        yield kind, numbers


def shown(array: Floats, modules: tuple[str, ...]) -> Floats:
    """What the steps of a composition are shown and others are, too: read-only for those of a user."""
    if not guarded(modules):
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def play_block(
    kernel: Callable[..., None], table: tuple[Any, ...], modules: tuple[str, ...], rounds: range, states: Records
) -> None:
    """Play a block; with a user's file, PluginError for an arm that there is not, or a NaN."""
    if not guarded(modules):
        return kernel(*table)
    own = _own(modules)
    try:
        kernel(*table)
    except WrongArm as error:
        arm, n_arms, t = error.args
        said = f"choose returned arm {arm} in round {rounds[t]}; the arms are 0 to {n_arms - 1}"
        raise PluginError(said, own.choose) from None
    check_states(states, rounds[-1], own.update)


def _own(modules: tuple[str, ...]) -> Any:
    """The outermost user's file of a composition."""
    return import_module(next(name for name in modules if name.startswith(ROOM)))


def missing_numbers(state: Any, prefix: str = "state") -> Iterator[str]:
    """The fields of a record that hold what is not a number."""
    for name in state.dtype.names:
        value = state[name]
        if value.dtype.names is not None:
            yield from missing_numbers(value, f"{prefix}.{name}")
        elif value.dtype.kind == "f" and np.isnan(value).any():
            yield f"{prefix}.{name}"


def check_states(states: Records, last: int, update: Callable[..., Any]) -> None:
    """Raise PluginError where a state holds NaN after the round `last`."""
    for name in missing_numbers(states):
        raise NotANumber(f"{name} is not a number (NaN) by round {last}", update)


def check_points(points: Floats, space: Space, rounds: range, modules: tuple[str, ...]) -> None:
    """Raise PluginError where one of the `points[rounds, N]` that a user's file chose lies outside the set."""
    if not guarded(modules):
        return
    wrong = ~(space.excess(points) <= OUTSIDE * space.radius())
    if wrong.any():
        t, choose = int(np.argmax(wrong)), _own(modules).choose
        if np.isnan(points[t]).any():
            raise NotANumber(f"choose gave a point with NaN in round {rounds[t]}", choose)
        said = f"choose gave a point outside {space} in round {rounds[t]}: {space.flaw(points[t])}"
        raise PluginError(said if points[t].any() else f"{said}; fill x in place: `x[:] = ...`", choose)


def watched(name: str, step: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """A plain step that says at once what is wrong with what it did; compiled ones are left alone."""
    if not plain() or not original.__module__.startswith(ROOM) or name not in ("choose", "update"):
        return step
    check = _check_update if name == "update" else _CHOICES[import_module(original.__module__).Parameters.game]

    @functools.wraps(step)
    def watching(state: Any, *seen: Any) -> Any:
        try:
            found = step(state, *seen)
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise ValueError(READ_ONLY).with_traceback(error.__traceback__) from None
        check(original, state, seen, found)
        return found

    return watching


def _check_arm(choose: Callable[..., Any], _: Any, __: Any, found: Any) -> None:
    if found is not None and (isinstance(found, bool) or not isinstance(found, int | np.integer)):
        raise PluginError(f"choose returned {found!r}, a {type(found).__name__}: make it an int", choose)


def _check_point(choose: Callable[..., Any], _: Any, seen: Any, found: Any) -> None:
    if found is not None:
        raise PluginError(f"choose returned {_kind(found)}: fill x in place, `x[:] = ...`, and return nothing", choose)
    if np.isnan(seen[0]).any():
        raise NotANumber("choose left NaN in x", choose)


_CHOICES = {"bandit": _check_arm, "linear": _check_point, "contextual": _check_arm}


def _check_update(update: Callable[..., Any], state: Any, seen: Any, _: Any) -> None:
    for field in missing_numbers(state):
        words = list(inspect.signature(update).parameters)[1:-1]
        with np.printoptions(precision=3, threshold=6, edgeitems=2):
            values = [str(value) if np.ndim(value) else f"{value:.6g}" for value in seen[: len(words)]]
        after = ", ".join(f"{word} = {value}" for word, value in zip(words, values, strict=True))
        raise NotANumber(f"update left NaN in {field}, after {after}", update)


def _kind(thing: Any) -> str:
    """What somebody gave, in a word or two."""
    if isinstance(thing, int | float | str | None):
        return repr(thing)
    array = isinstance(thing, np.ndarray)
    return f"{thing.dtype} numbers of shape {thing.shape}" if array else f"a {type(thing).__name__}"


# ------------------------------------------------------------------------------------------ a user's adversary


def next_gains(table: Iterator[Any], adversary: Any, rounds: range, n_arms: int) -> NDArray[Any]:
    """The next block of gains; of a user's adversary, PluginError where it is none, or holds what is no gain."""
    if not is_own(adversary):
        return next(table)
    gains = type(adversary).gains
    kinds = (np.bool_,) if adversary.binary else (np.bool_, np.floating)
    found = _block(_next(table, rounds, gains), {"rounds": len(rounds), "arms": n_arms}, kinds, gains)
    least, most = (0, 1) if adversary.bounded else (-np.inf, np.inf)
    wrong = ~((found >= least) & (found <= most)) | ~np.isfinite(found)
    if wrong.any():
        t, arm = np.argwhere(wrong)[0]
        said = f"the gain of round {rounds[t]}, arm {arm} is {found[t, arm]:g}"
        hint = f"{said}: outside [0, 1]; rescale it, or say `bounded = False` in the class"
        raise PluginError(hint if adversary.bounded else said, gains)
    return found


def next_losses(table: Iterator[Any], adversary: Any, rounds: range, allowed: LossSet) -> Floats:
    """The next block of losses; of a user's adversary, PluginError where it is none or holds no loss of this set."""
    if not is_own(adversary):
        return next(table)
    losses = type(adversary).losses
    shape = {"rounds": len(rounds), "coordinates": allowed.dimension}
    found = np.asarray(_block(_next(table, rounds, losses), shape, REAL, losses), np.float64)
    said = allowed.flaw(found, rounds)
    if said is not None:
        raise PluginError(f"{said}: rescale the losses", losses)
    return found


def next_arms(
    table: Iterator[Any], adversary: Any, rounds: range, n_arms: int, known: Contexts, lowest: float
) -> tuple[Floats, Floats]:
    """The next arms and means; of a user's adversary, PluginError where they are none or exceed its own bounds.

    lowest: of a mean, as the law of its rewards has it.
    """
    if not is_own(adversary):
        arms, means = next(table)
        return arms, means
    method, n = type(adversary).arms, len(rounds)
    found = _next(table, rounds, method)
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise PluginError(f"arms yielded {_kind(found)}: yield two arrays, the arms and their means", method)
    kinds = np.bool_, np.integer, np.float64  # a float32 of norm 1 may have another as a float64
    arms = _block(found[0], {"rounds": n, "d": known.dimension, "k": n_arms}, kinds, method)
    arms = np.ascontiguousarray(arms, np.float64)
    means = np.ascontiguousarray(_block(found[1], {"rounds": n, "k": n_arms}, kinds, method), np.float64)
    norms = np.sqrt(np.einsum("tdk,tdk->tk", arms, arms))
    most = known.norm * known.theta_norm
    least, most = max(lowest, -most), min(known.reward, most)
    wide, far = ~(norms <= known.norm * (1 + SLACK)), ~((means >= least - SLACK) & (means <= most + SLACK))
    for wrong, word, values, limit in (
        (wide, "norm", norms, f"over L = {known.norm:g}, by `bounds`"),
        (far, "mean", means, f"outside [{least:g}, {most:g}], by `law` and `bounds`"),
    ):
        if wrong.any():
            t, arm = np.argwhere(wrong)[0]
            raise PluginError(f"the {word} of round {rounds[t]}, arm {arm} is {values[t, arm]:.10g}: {limit}", method)
    return arms, means


def _next(table: Iterator[Any], rounds: range, method: Callable[..., Any]) -> Any:
    """What a table yields for these rounds; PluginError where it has ended."""
    try:
        return next(table)
    except StopIteration:
        said = f"{method.__name__} yielded no block for rounds from {rounds.start} on: one for each of `blocks`"
        raise PluginError(said, method) from None


def _block(found: Any, shape: dict[str, int], kinds: tuple[type, ...], method: Callable[..., Any]) -> NDArray[Any]:
    """A table's block as an array; PluginError if it has another shape, or numbers of another kind."""
    array, (words, sizes) = np.asarray(found), zip(*shape.items(), strict=True)
    if array.shape != sizes:
        raise PluginError(
            f"{method.__name__} yielded a block of shape {array.shape}, not {sizes}: {', '.join(words)}", method
        )
    if not any(np.issubdtype(array.dtype, kind) for kind in kinds):
        make = "bool" if kinds == (np.bool_,) else "float64"
        raise PluginError(f"{method.__name__} yielded {array.dtype} numbers: make them {make}", method)
    return array
