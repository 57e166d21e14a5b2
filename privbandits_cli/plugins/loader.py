"""A file of the user's own, from `--include` or an installed package's entry point: read, run, named by its content.

The module of such a file carries the hash of its source in its name. So everything that goes by a module's name (the
compiled kernels, the copies that travel to other processes) sees an edit, and two versions can live side by side.
"""

import hashlib
import inspect
import linecache
import re
import sys
import textwrap
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from privbandits_cli.games import arms, contextual, guards, linear, players
from privbandits_cli.games.parameters import Parameters
from privbandits_cli.numerics.jit import ROOM
from privbandits_cli.plugins import lint

STEPS = {  # arguments of choose and update
    "bandit": ("state, rng", "state, arm, gain, rng"),
    "linear": ("state, x, rng", "state, losses, rng"),
    "contextual": ("state, arms, rng", "state, x, reward, rng"),
}
OWN_LOSS = "state, x, loss, rng"  # of update with bandit feedback in the game linear
TABLE = {"bandit": "gains", "linear": "losses", "contextual": "arms"}  # what an adversary's file must define
GAMES = (arms, linear, contextual)
COMPILER = (  # what it says that helps nobody
    (r" Raised from .*", ""),
    (r", defined at .*| for '\$[^']*'", ""),
    (r"No implementation of function .* found for signature:(?: >>>)? ", "there is no "),
    (r"Literal\[(\w+)\]\([^)]*\)|class\((\w+)\)", r"\1\2"),
    (r"<iv=[^>]*>", ""),
    (r"NumPyRandomGeneratorType_(\w+)\(NumPyRandomGeneratorType(?:, )?", r"rng.\1("),
    (r"type NumPyRandomGeneratorType", "rng"),
    (r"there is no setitem\(readonly .*|Cannot modify readonly .*", guards.READ_ONLY),
)
NO_MESSAGE = ("Failed in", "Rejected", "Overload", "During", "- Resolution failure")  # beginnings of its other lines
KNOWN = "Steps are compiled by numba, which knows numbers, tuples and NumPy arrays; --python runs them as they are."
OF_RNG = "Of rng numba knows rng.random(), rng.standard_normal() and rng.integers(0, k), and not all else."


class IncludeError(Exception):
    """A user's file that cannot be used; the message has its place and what to do."""


@dataclass(frozen=True)
class Source:
    """A user's file as it was read."""

    name: str  # of the algorithm or adversary: the file's
    path: str  # as given
    text: str
    code: str  # hash of what it may contain: its text, or all sources of the package it came with
    package: str = ""  # that imports with a leading dot start from
    installed: bool = False  # it came with a package: its name finds it, no copy is kept

    @property
    def module(self) -> str:
        """The name of its module."""
        return f"{ROOM}{self.code}.{self.name}"

    @property
    def sha256(self) -> str:
        """Of the file alone."""
        return hashlib.sha256(self.text.encode()).hexdigest()


_sources: dict[str, Source] = {}  # module -> what it was made from


def read(path: Path) -> Source:
    """A user's file; IncludeError if it cannot be read or its name is no name."""
    if path.suffix != ".py" or not path.stem.isidentifier():
        raise IncludeError(f"{path}: a file is named as what is in it: letters, digits and _, then .py")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        if isinstance(error, FileNotFoundError) and not path.is_absolute():
            reason = f"{reason}; a path is taken from the working directory"
        raise IncludeError(f"{path}: cannot be read: {reason}") from error
    return Source(path.stem, path.as_posix(), text, hashlib.sha256(text.encode()).hexdigest()[:12])


def module(source: Source) -> ModuleType:
    """The module of a file, run once; IncludeError with the file's line if it raises or breaks the contract."""
    if source.module in sys.modules:
        return sys.modules[source.module]
    made = ModuleType(source.module)
    made.__file__, made.__package__ = source.path, source.package
    lines = source.text.splitlines(keepends=True)
    linecache.cache[source.path] = (len(source.text), None, lines, source.path)  # elsewhere the file may not exist
    sys.modules[source.module] = made
    _sources[source.module] = source
    try:
        exec(compile(source.text, source.path, "exec"), made.__dict__)
        _check(source, made)
    except BaseException as error:
        del sys.modules[source.module], _sources[source.module]
        if isinstance(error, IncludeError) or not isinstance(error, Exception):
            raise
        raise IncludeError(_unloadable(source, error)) from error
    return made


def _unloadable(source: Source, error: Exception) -> str:
    if isinstance(error, SyntaxError) and error.filename == source.path:
        return placed(source.path, error.lineno or 1, f"{type(error).__name__}: {error.msg}")
    told = fault_of(error, [source]) or f"{source.path}: {type(error).__name__}: {error}"
    if isinstance(error, ModuleNotFoundError):
        told += "\nAn included file stands alone: what it imports must be installed."
    return told


# --------------------------------------------------------------------------------------- what it must have


def _check(source: Source, made: ModuleType) -> None:
    """The class and the steps that a game needs; IncludeError at the line where something is wrong."""
    model = made.__dict__.get("Parameters")
    if not isinstance(model, type) or not issubclass(model, players.Adversary | players.Algorithm):
        raise IncludeError(
            f"{source.path}: no class Parameters(bandit.Algorithm) or Parameters(bandit.Adversary) in it; "
            "`privbandits new` writes an example"
        )
    game = next((game for game in GAMES if issubclass(model, game.Adversary | game.Algorithm)), None)
    if game is None or model.__module__ != source.module:
        raise IncludeError(f"{source.path}: its class Parameters must be its own, of bandit, linear or contextual")
    table, base = TABLE[model.game], game.Adversary if issubclass(model, players.Adversary) else game.Algorithm
    _check_methods(source, model, base)
    for line, message in lint.errors(source.text, model.game, table * (base is game.Adversary)):
        raise IncludeError(placed(source.path, line, message))
    if issubclass(model, players.Adversary):
        if getattr(model, table) is getattr(game.Adversary, table):
            raise IncludeError(_at(source, model, f"an adversary of the game {model.game} needs a method `{table}`"))
        if issubclass(model, contextual.Adversary) and model.law is contextual.Adversary.law:
            laws = ", ".join(contextual.REWARDS)
            raise IncludeError(_at(source, model, f"it needs a method `law(self)` that returns one of {laws}"))
        return
    if model.state is players.Algorithm.state:
        raise IncludeError(_at(source, model, "its class needs a method `state(self, setting)`"))
    _check_steps(source, made, model)


def _check_steps(source: Source, made: ModuleType, model: type[Parameters]) -> None:
    """The two steps, with the arguments that the game gives them; IncludeError at the first other one."""
    chosen, seen = STEPS[model.game]
    hint = ""
    if issubclass(model, linear.Algorithm):
        if model.feedback not in ("full", "bandit"):
            raise IncludeError(_at(source, model, f'feedback = {model.feedback!r}: make it "full" or "bandit"'))
        seen = OWN_LOSS if model.feedback == "bandit" else seen
        hint = f'; with `feedback = "bandit"` in the class ({OWN_LOSS})' * (model.feedback == "full")
    for name, words in (("choose", chosen), ("update", seen)):
        step = made.__dict__.get(name)
        if not inspect.isfunction(step):
            raise IncludeError(_at(source, model, f"the file needs a function `{name}` beside its class"))
        if len(inspect.signature(step).parameters) != words.count(",") + 1:
            raise IncludeError(_at(source, step, f"`{name}` should take ({words})" + hint * (name == "update")))


def _check_methods(source: Source, model: type, base: type) -> None:
    """The methods that the game calls, with the arguments that it gives them; IncludeError at the first other one."""
    for name, method in vars(model).items():
        stands_for = getattr(base, name, None)
        if not inspect.isfunction(method) or not inspect.isfunction(stands_for) or name.startswith("_"):
            continue
        if not stands_for.__module__.startswith("privbandits_cli."):
            continue
        given = [word for word in inspect.signature(stands_for).parameters.values() if word.default is word.empty]
        try:
            inspect.signature(method).bind(*given)
        except TypeError:
            words = ", ".join(word.name for word in given)
            raise IncludeError(_at(source, method, f"`{name}` should take ({words})")) from None


def printing(player: Parameters) -> Iterator[str]:
    """Prints in the steps of somebody's own files, which compiled would print in every round."""
    for name in modules(player):
        source = _sources[name]
        for line in lint.prints(source.text):
            told = "a step that prints is slow and prints every round of every trial: run it with --python, or drop it"
            yield placed(source.path, line, told)


def _at(source: Source, thing: object, message: str) -> str:
    """The message at the line where a class or function starts."""
    code = getattr(thing, "__code__", None)
    if code is not None:
        return placed(source.path, code.co_firstlineno, message)
    start = f"class {getattr(thing, '__name__', '')}"
    lines = source.text.splitlines()
    return placed(source.path, next((i for i, line in enumerate(lines, 1) if line.startswith(start)), 1), message)


# ------------------------------------------------------------------------------------------ where it went wrong


def placed(path: str, line: int, message: str) -> str:
    """`file:line: message`, and the line."""
    shown = linecache.getline(path, line).strip()
    return f"{path}:{line}: {message}" + (f"\n    {shown}" if shown else "")


def fault_of(error: BaseException, sources: Iterable[Source] | None = None) -> str | None:
    """An exception at the last line of a user's file that it went through; None if it went through none."""
    place = place_of(error, sources)
    return place and placed(*place, named(error))


def place_of(error: BaseException, sources: Iterable[Source] | None = None) -> tuple[str, int] | None:
    """File and line of the last of a user's lines that an exception went through."""
    paths = {source.path for source in (_sources.values() if sources is None else sources)}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in paths]
    return (frames[-1].filename, frames[-1].lineno or 1) if frames else None


def named(error: BaseException) -> str:
    """An exception in a line, with its kind."""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return said.splitlines()[0]


def inner_trace(error: BaseException) -> list[str]:
    """The traceback of an exception from the first line of a user's file on; where there is none, of the game's."""
    frames = traceback.extract_tb(error.__traceback__)
    games, paths = str(Path(players.__file__).parent), {source.path for source in _sources.values()}
    own = [i - 1 for i, frame in enumerate(frames) if frame.filename in paths]
    played = [i for i, frame in enumerate(frames) if frame.filename.startswith(games)]
    first = [*own, *played, 0][0]
    return ["Traceback (from the game's loop on):\n", *traceback.format_list(frames[max(0, first) :])]


def told(error: BaseException) -> str:
    """What a person should know of an exception that a user's file is behind."""
    if isinstance(error, guards.PluginError) and error.function is not None:
        code = error.function.__code__
        return placed(code.co_filename, code.co_firstlineno, str(error))
    if type(error).__module__.startswith("numba."):
        return _uncompilable(str(error))
    place = _stuck(error)
    if place is not None:
        hint = "fill fields in place, `state.sums[:] = ...`, and copy what is shown before you write into it"
        return placed(*place, f"cannot be compiled ({named(error)}): {hint}")
    return fault_of(error) or named(error)


def _stuck(error: BaseException) -> tuple[str, int] | None:
    """The line of a user's file that numba was at when it failed, saying nothing."""
    found, paths = None, {source.path for source in _sources.values()}
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_globals["__name__"].startswith("numba."):
            locs = [getattr(value, "loc", None) for value in frame.f_locals.values()]
            found = next(((loc.filename, loc.line) for loc in locs if loc and loc.filename in paths), found)
    return found


def _uncompilable(text: str) -> str:
    """The compiler's pages in three lines: where, what, and what to do."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    said = [line for line in lines if line and not line.startswith(NO_MESSAGE)]
    message = said[0] if said else "it cannot be compiled"
    if message.startswith(("No implementation of function", "Invalid use of")):
        message += next((f" {line.removeprefix('>>> ')}" for line in said if line.startswith(">>>")), "")
    paths = {Path(source.path).name: source.path for source in _sources.values()}
    found = re.findall(r'File "([^"]+)", line (\d+)', text) + re.findall(r"Raised from (\S+) \((\d+)\)", text)
    hint = OF_RNG if "NumPyRandomGenerator" in message else KNOWN
    for pattern, plain in COMPILER:
        message = re.sub(pattern, plain, message)
    message = textwrap.shorten(message, 160, placeholder=" ...")
    places = [(paths.get(Path(file).name), int(line)) for file, line in found]
    path, line = next(((path, line) for path, line in places if path), (None, 0))
    return f"{placed(path, line, f'cannot be compiled: {message}') if path else message}\n{hint}"


# -------------------------------------------------------------------------------------------- who is included


def is_included(name: str) -> bool:
    """Whether a module is a user's file."""
    return name.startswith(ROOM)


def source_of(name: str) -> Source:
    """What a module was made from."""
    return _sources[name]


def modules(player: Parameters) -> tuple[str, ...]:
    """The user's files that somebody needs to play: its own and those of the bases that it wraps."""
    base = getattr(player, "base", None)
    own = type(player).__module__
    inner = modules(base) if isinstance(base, Parameters) else ()
    return (own, *inner) if is_included(own) else inner
