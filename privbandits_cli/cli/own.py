"""What the commands share about users' files: the option --include, error messages, debugging."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privbandits_cli.cli.app import fail, refuse

if TYPE_CHECKING:
    from privbandits_cli.experiment.config import Experiment
    from privbandits_cli.plugins.registry import Registry

Include = Annotated[
    list[Path] | None, typer.Option(metavar="FILE.py", help="Your own algorithm or adversary; may be repeated.")
]


def load_config(
    config: Path, overrides: list[str], smoke: bool, as_json: bool, include: list[Path] | None = None
) -> "Experiment":
    """Read a config, or exit with its errors."""
    from privbandits_cli.experiment.config import ConfigError, load

    try:
        with own_errors():
            return load(config, overrides, smoke, include or ())
    except ConfigError as error:
        raise refuse(error, as_json) from error


def registry_with(files: list[Path] | None) -> "Registry":
    """The registry with these files; exits with their errors."""
    from privbandits_cli.plugins.registry import including

    registry, errors = including(files or ())
    if errors:
        raise fail(*errors)
    return registry


@contextmanager
def own_errors() -> Iterator[None]:
    """Exit with a message at the line of the user's file that raised, without a traceback."""
    from privbandits_cli.plugins import loader, messages

    try:
        yield
    except loader.IncludeError as error:
        raise fail(str(error)) from error
    except Exception as error:
        if messages.place(error) is None:
            raise
        raise fail(messages.message(error)) from error


@contextmanager
def debugged() -> Iterator[None]:
    """Play in plain Python; an exception is shown with its traceback from the game's loop on."""
    from privbandits_cli.numerics.jit import uncompiled
    from privbandits_cli.plugins import messages

    try:
        with uncompiled():
            yield
    except (typer.Exit, KeyboardInterrupt):
        raise
    except Exception as error:
        print("".join(messages.inner_trace(error)), file=sys.stderr, end="")
        raise fail(messages.message(error)) from error
