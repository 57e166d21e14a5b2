"""An exception that a user's file raised or caused, as a message at the file's line."""

import linecache
import re
import sys
import textwrap
import traceback
from pathlib import Path

from privbandits_cli.games import players
from privbandits_cli.numerics.jit import ROOM, PluginError

Place = tuple[str, int]  # a user's file and a line in it

COMPILED = (
    "Numba compiles the steps. It knows numbers, tuples and NumPy arrays; fill the state in place\n"
    "(`state.sums[:] = ...`), and copy an argument before you write into it. --python compiles nothing."
)


def _paths() -> set[str]:
    """The users' files that are loaded."""
    return {str(module.__file__) for name, module in sys.modules.items() if name.startswith(ROOM)}


def at(path: str, line: int, message: str) -> str:
    """`file:line: message`, and the line itself below."""
    source = linecache.getline(path, line).strip()
    return f"{path}:{line}: {message}" + (f"\n    {source}" if source else "")


def summary(error: BaseException) -> str:
    """An exception in one line: its message, preceded by its type unless it is a PluginError."""
    kind = type(error).__name__
    text = str(error) if isinstance(error, PluginError) else f"{kind}: {error}" if str(error) else kind
    return text.splitlines()[0]


def place(error: BaseException) -> Place | None:
    """The line of a user's file at which an exception happened; None if it touched no such file."""
    if isinstance(error, PluginError) and error.function is not None:
        return error.function.__code__.co_filename, error.function.__code__.co_firstlineno
    paths = _paths()
    if isinstance(error, SyntaxError) and error.filename in paths:
        return str(error.filename), error.lineno or 1
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in paths]
    return (frames[-1].filename, frames[-1].lineno or 1) if frames else None


def message(error: BaseException) -> str:
    """The message for the user about an exception, at the line of their file if that is known."""
    if in_compiler(error):
        found, text = _compiler_place(error), f"cannot be compiled: {_sentence(error)}"
        return f"{at(*found, text) if found else text}\n{COMPILED}"
    found = place(error)
    return at(*found, summary(error)) if found else summary(error)


def in_compiler(error: BaseException) -> bool:
    """Whether an exception was raised while numba compiled: numba's own, or another one inside of it."""
    names = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__)]
    return any(name.startswith("numba.") for name in (type(error).__module__, *names))


def _sentence(error: BaseException) -> str:
    """The first sentence of the compiler's pages, with the call that it could not compile."""
    lines = [" ".join(line.split()) for line in str(error).splitlines()]
    plain = [line for line in lines if line and not line.startswith(("Failed in", "During", "- "))]
    if not type(error).__module__.startswith("numba."):
        return summary(error)
    call = next((line.removeprefix(">>>") for line in plain if line.startswith(">>>")), "")
    return textwrap.shorten(plain[0] + call, 160, placeholder=" ...") if plain else summary(error)


def _compiler_place(error: BaseException) -> Place | None:
    """The line that numba names; where it names none, the last one that it was working on."""
    paths = _paths()
    full = {Path(path).name: path for path in paths}
    for file, line in re.findall(r'File "([^"]+)", line (\d+)', str(error)):
        if Path(file).name in full:
            return full[Path(file).name], int(line)
    found = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        for loc in (getattr(value, "loc", None) for value in frame.f_locals.values()):
            if loc is not None and loc.filename in paths:
                found = loc.filename, loc.line
    return found


def inner_trace(error: BaseException) -> list[str]:
    """The traceback of an exception from the first frame of a game's loop or of a user's file on."""
    frames = traceback.extract_tb(error.__traceback__)
    games, paths = str(Path(players.__file__).parent), _paths()
    starts = (i for i, frame in enumerate(frames) if frame.filename in paths or frame.filename.startswith(games))
    return ["Traceback (from the game's loop on):\n", *traceback.format_list(frames[next(starts, 0) :])]
