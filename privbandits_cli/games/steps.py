"""The steps of an algorithm's file, compiled with those of the bases that it wraps."""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from privbandits_cli.games import guards
from privbandits_cli.games.players import Algorithm, Setting
from privbandits_cli.numerics.jit import borrower, compile_step, kept

STEPS = ("choose", "update", "probabilities", "released")
MECHANISMS = "privbandits_cli.mechanisms."
MECHANISM = {"counter": ("add_item", "release"), "oracle": ("learn", "fit", "predict")}  # the steps of each kind


def composition(algorithm: Algorithm) -> tuple[str, ...]:
    """The modules of an algorithm's steps, outermost wrapper first; a mechanism's follows that which is built on it."""
    base, mechanism = getattr(algorithm, "base", None), algorithm.built_on()
    inner = composition(base) if base is not None else ()
    return (type(algorithm).__module__, *([mechanism] if mechanism else []), *inner)


@kept
def steps(modules: tuple[str, ...], **others: Any) -> dict[str, Callable[..., Any]]:
    """The compiled steps of a composition by name; those of a wrapper contain those of its base and mechanism.

    others: compiled functions that replace those of these names in every file.
    """
    module, names = import_module(modules[0]), filled_in(modules, **others) | others
    plain = {name: getattr(module, name) for name in STEPS if hasattr(module, name)}
    return {name: guards.watched(name, compile_step(step, **names), step) for name, step in plain.items()}


def filled_in(modules: tuple[str, ...], **others: Any) -> dict[str, Callable[..., Any]]:
    """What fills in the placeholders of the outermost file: the compiled steps of its base and of its mechanism."""
    rest, names = modules[1:], {}
    if rest and rest[0].startswith(MECHANISMS):
        names, rest = mechanism(rest[0]), rest[1:]
    base = steps(rest, **others) if rest else {}
    return names | {f"base_{name}": step for name, step in base.items()}


def mechanism(module: str) -> dict[str, Callable[..., Any]]:
    """The compiled steps of a counter or of an oracle, by the names of the placeholders that they fill in."""
    found = vars(import_module(module))
    return {
        f"{kind}_{name}": compile_step(found[name])
        for kind, names in MECHANISM.items()
        for name in names
        if found.keys() >= set(names)
    }


def in_loop(modules: tuple[str, ...], **others: Any) -> dict[str, Any]:
    """What fills in the loop of a game: the steps of a composition, and whether a user's file needs checks."""
    return {**steps(modules, **others), "borrow": borrower(), "GUARDED": guards.guarded(modules)}


def blocks(rounds: int, size: int) -> Iterator[range]:
    """The rounds 1..rounds in ranges of `size`."""
    for first in range(1, rounds + 1, size):
        yield range(first, min(first + size, rounds + 1))


def alone_because(algorithm: Algorithm, setting: Setting) -> str:
    """Why the trials of a tuned algorithm play one after the other, and the line; empty if they play in lockstep."""
    found: str = import_module(f"privbandits_cli.games.{algorithm.game}").alone_because(algorithm, setting)
    return found
