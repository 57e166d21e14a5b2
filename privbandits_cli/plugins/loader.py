"""A user's own file, from `--include` or from an installed package's entry point: read, run, and checked.

The module made from such a file carries the hashes of its path and its source in its name. Whatever depends on a
module's name (the compiled kernels, the copies sent to other processes) therefore sees an edit, and two versions can
live side by side.
"""

import hashlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from privbandits_cli.games import bandit, best_arm, contextual, linear, players
from privbandits_cli.games.contract import CONTRACTS
from privbandits_cli.games.guards import MAKERS
from privbandits_cli.games.parameters import Parameters
from privbandits_cli.numerics.jit import is_users
from privbandits_cli.plugins import lint, messages
from privbandits_cli.plugins.source import Source, sources

GAMES = {"bandit": bandit, "linear": linear, "contextual": contextual, "best_arm": best_arm}


class IncludeError(Exception):
    """A user's file that cannot be used; the message has its place and what to do."""


def read(path: Path) -> Source:
    """A user's file; IncludeError if it cannot be read or its name is no Python name."""
    if path.suffix != ".py" or not path.stem.isidentifier():
        raise IncludeError(f"{path}: the file name must be a Python name (letters, digits and _) followed by .py")
    if os.path.exists(path) and not path.is_file():  # unlike Path.exists, it takes a name of any length
        raise IncludeError(f"{path}: cannot be read: it is a folder, a pipe or a device, not a file")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        if isinstance(error, FileNotFoundError) and not path.is_absolute():
            reason = f"{reason}; paths are relative to the working directory"
        raise IncludeError(f"{path}: cannot be read: {reason}") from error
    return Source(path.stem, path.as_posix(), text, hashlib.sha256(text.encode()).hexdigest()[:12])


def module(source: Source, check: Callable[[Source, ModuleType], None] | None = None) -> ModuleType:
    """The module of a file, run once; IncludeError with the file's line if it raises or cannot play.

    check: refuses a file that is no player; by default it is one.
    """
    if source.module in sys.modules:
        return sys.modules[source.module]
    made = ModuleType(source.module)
    made.__file__, made.__package__ = source.path, source.package
    source.fill_linecache()
    sys.modules[source.module], sources[source.module] = made, source
    try:
        code = compile(source.text, source.path, "exec")
        for line, message in lint.retired(source.text):
            raise _refused(source, line, message)
        exec(code, made.__dict__)
        (check or _check)(source, made)
    except BaseException as error:
        text = messages.message(error)
        del sys.modules[source.module], sources[source.module]
        if isinstance(error, IncludeError) or not messages.of_a_file(error):
            raise
        if isinstance(error, ModuleNotFoundError):
            text += "\nAn included file is run by itself: every module that it imports must be installed."
        raise IncludeError(text if source.path in text else f"{source.path}: {text}") from error
    return made


def policy(path: Path) -> Callable[..., Any]:
    """The function `probabilities(features, actions)` of a file, which is run; IncludeError if it has none."""
    made: Callable[..., Any] = module(read(path), _check_policy).probabilities
    return made


def _check_policy(source: Source, made: ModuleType) -> None:
    function = made.__dict__.get("probabilities")
    if not inspect.isfunction(function):
        raise IncludeError(f"{source.path}: a policy needs a function `probabilities(features, actions)`")
    _check_words(source, function, ["features", "actions"])


def _refused(source: Source, thing: Callable[..., Any] | int, message: str) -> IncludeError:
    """The error of a function, a class or a line of a file."""
    line = thing if isinstance(thing, int) else inspect.getsourcelines(thing)[1]
    return IncludeError(messages.at(messages.place_in(source, line), message))


def _check_words(source: Source, function: Callable[..., Any], words: Sequence[str]) -> None:
    """Refuse a function that does not take these arguments, with and without those that have a default."""
    try:
        for given in (words, [word for word in words if "=" not in word]):
            inspect.signature(function).bind(*given)
    except TypeError:
        raise _refused(source, function, f"`{function.__name__}` should take ({', '.join(words)})") from None


def _check(source: Source, made: ModuleType) -> None:
    """Refuse a file without the class, methods and steps that its game calls, or in which `lint` finds a mistake."""

    refuse = partial(_refused, source)
    takes = partial(_check_words, source)
    model = made.__dict__.get("Parameters")
    bases = [base for game in GAMES.values() for base in (game.Adversary, game.Algorithm)]
    fitting = [base for base in bases if isinstance(model, type) and issubclass(model, base)]
    base = fitting[-1] if fitting else None  # the game best_arm, whose algorithms extend those of bandit, comes last
    if base is None or not isinstance(model, type) or model.__module__ != source.module:
        raise IncludeError(
            f"{source.path}: no class Parameters(bandit.Algorithm) or Parameters(bandit.Adversary), or of linear, "
            "contextual or best_arm, is defined in it; `privbandits new` writes an example"
        )
    game, contract = str(base.game), CONTRACTS[base.game]
    needed = ("state",) if issubclass(base, players.Algorithm) else (contract.rounds, *contract.others)
    for name in needed:
        if getattr(model, name) in (None, getattr(base, name)):
            raise refuse(model, f"the class needs a method `{name}`")
    if contract.asking is None and "draws" in vars(model):
        raise refuse(vars(model)["draws"], f"the game {game} has no method `draws`: {contract.numbers}")
    for name, method in vars(model).items():
        given = getattr(base, name, None)
        if inspect.isfunction(method) and inspect.isfunction(given) and given.__module__.startswith("privbandits_cli."):
            asked = inspect.signature(given).parameters.values()
            takes(method, [str(word.replace(annotation=word.empty)) for word in asked])
    drawn, kinds = vars(model).get("drawn", ()), contract.kinds
    fits = isinstance(drawn, tuple) and {*drawn} <= {*kinds} and len({*drawn}) == len(drawn)
    if hasattr(base, "drawn") and not fits:
        several = "a method `draws(self, setting)` asks for several numbers of a kind, {'normal': 4}"
        raise refuse(model, f"drawn is {drawn!r}: make it a tuple with some of {kinds}, each once; {several}")
    for line, name in lint.unseeded(source.text, made):
        bits = issubclass(base, players.Algorithm) and "bits" in contract.kinds
        others = f"; {MAKERS} makes Beta and other numbers of `rng.bits`" if bits else ""
        raise refuse(line, f"{name} draws other numbers in every run: draw from the argument `rng`{others}")
    if issubclass(base, players.Adversary):
        return
    feedback = getattr(model, "feedback", "full")
    if feedback not in (*contract.update,):
        words = " or ".join(f'"{one}"' for one in contract.update)
        raise refuse(model, f"feedback is {feedback!r}: make it {words}")
    wanted = {"choose": contract.choose, "update": contract.update[feedback]} | (
        {"stop": "state"} if contract.stops else {}
    )
    for name, words in wanted.items():
        if not inspect.isfunction(made.__dict__.get(name)):
            written = [ready.__module__ for ready in model.__mro__[1:] if hasattr(sys.modules[ready.__module__], name)]
            ready = f": the class that it extends has one, `from {written[0]} import {name}`" if written else ""
            raise refuse(model, f"the file needs a function `{name}` outside the class{ready}")
        takes(made.__dict__[name], words.split(", "))
    if contract.stops and inspect.isfunction(recommend := made.__dict__.get("recommend")):
        takes(recommend, ["state"])
    for name in ("choose", "stop", "recommend") if contract.returns_arm else ():
        step = made.__dict__.get(name)
        if inspect.isfunction(step) and step.__module__ == source.module and (name == "choose" or contract.stops):
            for line in lint.unreturned(step):
                raise refuse(line, f"`{name}` ends here without an arm: return an int")


def modules(player: Parameters) -> tuple[str, ...]:
    """The users' files that a player needs: its own and those of the bases that it wraps."""
    base = getattr(player, "base", None)
    own = type(player).__module__
    inner = modules(base) if isinstance(base, Parameters) else ()
    return (own, *inner) if is_users(own) else inner


def sources_of(players: Iterable[Parameters]) -> list[Source]:
    """The users' files that these players need, each once."""
    return [sources[name] for name in dict.fromkeys(name for player in players for name in modules(player))]
