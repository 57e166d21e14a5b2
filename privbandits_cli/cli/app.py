"""The Typer application, and helpers that its commands share."""

import errno
import json
import math
import os
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from privbandits_cli.version import __version__, numba_was_tried, untried

python_warning = warnings.formatwarning
OK, FAILED, USAGE, REFUTED, VIOLATED, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 4, 130, 143


FULL = (errno.ENOSPC, errno.EDQUOT)
REFUSED = (errno.EROFS, errno.EACCES, errno.EPERM)


class Commands(TyperGroup):
    """The commands, with one place for paths at home, and for the errors of configs, users' files and disks."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of a command line, with the home folder for a `~` that the shell has left: `--csv=~/x.csv`."""
        return super().parse_args(ctx, list(map(_at_home, args)))

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with reported(as_json="--json" in ctx.args):
            try:
                return super().invoke(ctx)
            except Exception as error:
                if hasattr(error, "format_message"):
                    _reword(error)
                raise


def _reword(error: Any) -> None:
    """Wrap Typer's message, and say of an unknown option how a command replaces the keys of a config, if it does."""
    unknown = hasattr(error, "possibilities") and not error.possibilities
    if unknown and any("KEY=VALUE" in (known.metavar or "") for known in error.ctx.command.params):
        error.message += ": replace keys of the config by KEY=VALUE without dashes, as in trials=48"
    said = fitted("Error: " + error.format_message().replace("Value error, ", ""))
    error.format_message = lambda: said.removeprefix("Error: ")  # Typer writes it in front


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # with Rich, help would take twice as long
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Reproduce figures of private bandits, first `privbandits run fig1 --smoke`.",
)


def in_one_line(message: Warning | str, category: type[Warning], *place: Any, **line: Any) -> str:
    """A warning of the package without the place in its code, and any other as Python shows it."""
    own = category.__module__.startswith("privbandits_cli")
    return f"warning: {message}\n" if own else python_warning(message, category, *place, **line)


def _at_home(word: str) -> str:
    option, equals, value = word.partition("=")
    if option.startswith("--") and equals:
        return f"{option}={os.path.expanduser(value)}"
    return os.path.expanduser(word)


def fail(*lines: str) -> typer.Exit:
    """Print error messages; the caller raises the returned exit."""
    for line in lines:
        print(fitted(line), file=sys.stderr)
    return typer.Exit(USAGE)


def refusal(error: OSError) -> str:
    """What the disk, or another part of the machine, refuses: `x.png: Read-only file system: choose another place`."""
    hint = "make room" if error.errno in FULL else ""
    if error.errno in REFUSED and error.filename:
        hint = "choose another place, or change its permissions"
    text = f"{error.filename or 'standard output'}: {error.strerror}"
    return text + (f": {hint}" if hint else "")


@contextmanager
def reported(*kinds: type[Exception], as_json: bool = False) -> Iterator[None]:
    """Exit with a message at an error in a user's file or of these kinds, and, without kinds, at errors of a config."""
    try:
        yield
    except Exception as error:
        if hasattr(error, "exit_code") or isinstance(error, BrokenPipeError):  # Typer knows these
            raise
        from privbandits_cli.experiment.config import ConfigError
        from privbandits_cli.plugins import loader, messages

        if isinstance(error, ConfigError) and not kinds:
            if as_json:
                print(dumps({"errors": error.errors}))
            n = len(error.errors)
            raise fail(*error.errors, f"{n} error{'s' if n > 1 else ''}; nothing was run or written") from error
        if messages.place(error) is not None:
            raise fail(messages.message(error)) from error
        named = not kinds or isinstance(error, kinds)
        if isinstance(error, OSError) and named and (error.filename or error.errno in FULL):
            raise fail(refusal(error)) from error
        if isinstance(error, (loader.IncludeError, *kinds)):
            raise fail(str(error.args[0] if isinstance(error, KeyError) else error)) from error
        raise


GLUE = "\ue000"  # a space at which no line breaks, for textwrap and for Rich, until the text is printed


def glued(text: str) -> str:
    """The text with GLUE around the signs of equations and before %: `ε = 1` and `95 %` stay on one line."""
    return re.sub(r"(?<=\d) %", f"{GLUE}%", re.sub(r" ([=≤≥]) ", rf"{GLUE}\1{GLUE}", text))


def fitted(text: str) -> str:
    """A message wrapped to the terminal's width, with indented lines truncated; not wrapped without a terminal.

    Control characters are written out, as a terminal would obey them.
    """
    from privbandits_cli.experiment.received import printable

    text = printable(text)
    if not (sys.stderr.isatty() or "COLUMNS" in os.environ):
        return text
    width = max(40, shutil.get_terminal_size().columns)

    def fit(line: str) -> str:
        if line.startswith("    "):
            return line if len(line) <= width else f"{line[: width - 3]}..."
        return textwrap.fill(glued(line), width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)

    return "\n".join(fit(line) for line in text.split("\n")).replace(GLUE, " ")


def filled(text: str, indent: str = "", further: str | None = None) -> str:
    """A paragraph of results, 80 columns wide; further: the indent of all lines but the first."""
    from privbandits_cli.accounting.rounding import short
    from privbandits_cli.experiment.received import printable

    text = short(printable(text))
    further = indent if further is None else further
    made = textwrap.fill(glued(text), 80, initial_indent=indent, subsequent_indent=further, break_on_hyphens=False)
    return made.replace(GLUE, " ")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"privbandits {__version__}")
        if not numba_was_tried():
            print(untried())
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def dumps(data: object, indent: int | None = None) -> str:
    """JSON, without `indent` on one line; infinities and NaN, which JSON lacks, become text.

    What standard output cannot encode is escaped: halves of characters, and all signs beyond ASCII unless it is UTF-8.
    """
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(_finite(data), ensure_ascii=not unicode, allow_nan=False, indent=indent)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _finite(data: object) -> object:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data
