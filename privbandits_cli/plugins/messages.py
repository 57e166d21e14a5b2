"""An exception that a user's file raised or caused, as a message at the file's line."""

import inspect
import linecache
import re
import textwrap
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from privbandits_cli.games import players
from privbandits_cli.numerics.jit import PluginError
from privbandits_cli.plugins.source import Source, sources


class Place(NamedTuple):
    """A line of a user's file."""

    path: str
    line: int
    text: str


COMPILED = (
    "Numba compiles the steps. It knows numbers, tuples and NumPy arrays; fill the state in place\n"
    "(`state.sums[:] = ...`), and copy an argument before you write into it. --python compiles nothing."
)


def place_in(source: Source, line: int) -> Place:
    """A line of a file as it was when it was read."""
    return Place(source.path, line, "".join(source.text.splitlines()[line - 1 : line]).strip())


def at(place: Place, message: str) -> str:
    """`file:line: message`, and the line itself below."""
    return f"{place.path}:{place.line}: {message}" + (f"\n    {place.text}" if place.text else "")


def summary(error: BaseException) -> str:
    """An exception in one line: its message, preceded by its type unless it is a PluginError."""
    kind = type(error).__name__
    text = str(error) if isinstance(error, PluginError) else f"{kind}: {error}" if str(error) else kind
    return text.splitlines()[0]


def of_a_file(error: BaseException) -> bool:
    """Whether this may be the error of a user's file, as all are but Ctrl-C."""
    return isinstance(error, Exception | SystemExit)


def place(error: BaseException) -> Place | None:
    """The line of a user's file at which an exception happened; None if it touched no such file."""
    if isinstance(error, PluginError) and error.function is not None:
        source = sources.get(error.function.__module__)
        if source is not None:
            source.fill_linecache()
        path, line = inspect.getsourcefile(error.function) or "", inspect.getsourcelines(error.function)[1]
        return place_in(source, line) if source else Place(path, line, linecache.getline(path, line).strip())
    if isinstance(error, SyntaxError):
        loaded = [source for source in sources.values() if source.path == error.filename]
        if loaded:  # the last one is being loaded
            return place_in(loaded[-1], error.lineno or 1)
    found = [place_in(source, line) for source, line in _frames(error) if source]
    return found[-1] if found else None


def _frames(error: BaseException) -> Iterator[tuple[Source | None, int]]:
    """The user's file, if any, and the line of each frame of a traceback, which then shows the file as it was read."""
    for frame, line in traceback.walk_tb(error.__traceback__):
        source = sources.get(frame.f_globals.get("__name__", ""))
        inside = source is not None and source.path == frame.f_code.co_filename
        if source is not None and inside:
            source.fill_linecache()
        yield source if inside else None, line


def message(error: BaseException, playing: Sequence[Source] = ()) -> str:
    """The message for the user about an exception, at the line of their file if that is known.

    playing: the users' files that play, if known: the compiler's errors name a path only.
    """
    if in_compiler(error):
        found, text = _compiler_place(error, playing or [*sources.values()]), f"cannot be compiled: {_sentence(error)}"
        return f"{at(found, text) if found else text}\n{COMPILED}"
    found = place(error)
    return at(found, summary(error)) if found else summary(error)


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
    ours = re.match(
        r"Unknown attribute '(\w+)' of type Module\(<module '(privbandits_cli[\w.]*)'", plain[0] if plain else ""
    )
    if ours:
        return f"a compiled step cannot look {ours[1]} up in a module: write `from {ours[2]} import {ours[1]}`"
    call = next((line.removeprefix(">>>") for line in plain if line.startswith(">>>")), "")
    return textwrap.shorten(plain[0] + call, 160, placeholder=" ...") if plain else summary(error)


def _compiler_place(error: BaseException, playing: Sequence[Source]) -> Place | None:
    """The line that numba names; where it names none, the last one that it was working on."""
    by_name = {Path(source.path).name: source for source in playing}
    by_path = {source.path: source for source in playing}
    for file, line in re.findall(r'File "([^"]+)", line (\d+)', str(error)):
        if Path(file).name in by_name:
            return place_in(by_name[Path(file).name], int(line))
    found = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        for loc in (getattr(value, "loc", None) for value in frame.f_locals.values()):
            if loc is not None and loc.filename in by_path:
                found = place_in(by_path[loc.filename], loc.line)
    return found


def inner_trace(error: BaseException) -> list[str]:
    """The traceback of an exception from the first frame of a game's loop or of a user's file on."""
    owners = [source for source, _ in _frames(error)]
    frames, games = traceback.extract_tb(error.__traceback__), str(Path(players.__file__).parent)
    starts = (i for i, frame in enumerate(frames) if owners[i] or frame.filename.startswith(games))
    return ["Traceback (from the game's loop on):\n", *traceback.format_list(frames[next(starts, 0) :])]
