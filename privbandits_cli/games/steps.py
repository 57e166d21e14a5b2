"""The steps of an algorithm's file, compiled with those of the bases that it wraps."""

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from privbandits_cli.games import guards
from privbandits_cli.games.players import Algorithm
from privbandits_cli.numerics.jit import borrower, cached_per_mode, compile_step, unbound

STEPS = {"choose": "probabilities", "update": "released"}  # each step with the function that describes what it does
STOPPING = "stop", "recommend"  # what the game best_arm asks for beside them
MECHANISMS = "privbandits_cli.mechanisms."
MECHANISM = {"counter": ("add_item", "release"), "oracle": ("learn", "fit", "predict")}  # the steps of each kind


def composition(algorithm: Algorithm) -> tuple[str, ...]:
    """The modules of an algorithm's steps, outermost wrapper first; a mechanism follows the file built on it."""
    base, mechanism = getattr(algorithm, "base", None), algorithm.built_on()
    inner = composition(base) if base is not None else ()
    return (type(algorithm).__module__, *([mechanism] if mechanism else []), *inner)


def plain(module: str) -> dict[str, Callable[..., Any]]:
    """The steps of an algorithm's file by name. Steps that it lacks are those of the class that its class extends.

    `probabilities` and `released` are found likewise, but never beyond the file of the `choose` or `update` that they
    describe. Only files that play the game best_arm have a step `stop`, and some have `recommend`.
    """
    files = [sys.modules[model.__module__] for model in import_module(module).Parameters.__mro__]
    found: dict[str, Callable[..., Any]] = {}
    for step in STOPPING if import_module(module).Parameters.plays("best_arm") else ():
        steps = (getattr(file, step, unbound) for file in files)
        if one := next((one for one in steps if inspect.isfunction(one) and one is not unbound), None):
            found[step] = one
    for step, told in STEPS.items():
        own = files[: 1 + next(i for i, file in enumerate(files) if hasattr(file, step))]
        found[step] = getattr(own[-1], step)
        if teller := next((file for file in own if hasattr(file, told)), None):
            found[told] = getattr(teller, told)
    return found


@cached_per_mode
def steps(modules: tuple[str, ...], **others: Any) -> dict[str, Callable[..., Any]]:
    """The compiled steps of a composition by name; those of a wrapper contain those of its base and mechanism.

    others: compiled functions that replace those of these names in every file.
    """
    names = filled_in(modules, compile_step, partial(steps, **others)) | others
    return {name: guards.watched(name, compile_step(step, **names), step) for name, step in plain(modules[0]).items()}


def filled_in(
    modules: tuple[str, ...], make: Callable[[Any], Any], inner: Callable[[tuple[str, ...]], Mapping[str, Any]]
) -> dict[str, Any]:
    """What fills in the placeholders of the outermost file: the steps of its base and of its mechanism.

    make: makes a step from a function of the mechanism; inner: makes the steps of a base from its modules.
    """
    names: dict[str, Any] = {}
    rest = modules[1:]
    if rest and rest[0].startswith(MECHANISMS):
        found, rest = vars(import_module(rest[0])), rest[1:]
        for kind, own in MECHANISM.items():
            names |= {f"{kind}_{name}": make(found[name]) for name in own if found.keys() >= {*own}}
    return names | {f"base_{name}": step for name, step in (inner(rest) if rest else {}).items()}


def in_loop(modules: tuple[str, ...], **others: Any) -> dict[str, Any]:
    """What fills in the loop of a game: the steps of a composition, and whether a user's file needs checks."""
    return {**steps(modules, **others), "borrow": borrower(), "GUARDED": guards.guarded(modules)}


def blocks(rounds: int, size: int) -> Iterator[range]:
    """The rounds 1..rounds in ranges of `size`."""
    for first in range(1, rounds + 1, size):
        yield range(first, min(first + size, rounds + 1))
