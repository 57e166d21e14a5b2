"""Users' files in commands: they join the registry, and are debugged."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from privbandits_cli.cli.app import fail, fitted

if TYPE_CHECKING:
    from privbandits_cli.experiment.received import Admit
    from privbandits_cli.plugins.registry import Registry


def registry_with(files: list[Path] | None) -> "Registry":
    """The registry with these files; exits with their errors."""
    from privbandits_cli.plugins.registry import including

    registry, errors = including(files or ())
    if errors:
        raise fail(*errors)
    return registry


def announced(quiet: bool = False) -> "Admit":
    """Lets a config's files be executed, after a line on stderr that names them; each line once."""
    said: set[str] = set()

    def admit(config: str, files: Sequence[Path], *, executed: bool) -> None:
        line = f"executing {', '.join(map(str, files))}, which {config} includes"
        if executed and not quiet and line not in said:
            print(fitted(line), file=sys.stderr)
            said.add(line)

    return admit


@contextmanager
def debugged() -> Iterator[None]:
    """Play in plain Python; an exception is shown with its traceback from the game's loop on."""
    from privbandits_cli.numerics.jit import without_jit
    from privbandits_cli.plugins import messages

    try:
        with without_jit():
            yield
    except BaseException as error:
        if isinstance(error, typer.Exit) or not messages.of_a_file(error):
            raise
        print("".join(messages.inner_trace(error)), file=sys.stderr, end="")
        raise fail(messages.message(error)) from error
