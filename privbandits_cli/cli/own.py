"""What the commands share about files of the user's own: the option, their errors, their debugging."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privbandits_cli.cli.app import fail, refuse

if TYPE_CHECKING:
    from privbandits_cli.engine.store import Store
    from privbandits_cli.experiment.config import Experiment
    from privbandits_cli.experiment.plan import Plan
    from privbandits_cli.plugins.registry import Registry

Include = Annotated[
    list[Path] | None, typer.Option(metavar="FILE.py", help="One's own algorithm or adversary; may be repeated.")
]


def load_config(
    config: Path, overrides: list[str], smoke: bool, as_json: bool, include: list[Path] | None = None
) -> "Experiment":
    """Read a config or leave with its errors."""
    from privbandits_cli.experiment.config import ConfigError, load

    try:
        with own_errors():
            return load(config, overrides, smoke, include or ())
    except ConfigError as error:
        raise refuse(error, as_json) from error


def registry_with(files: list[Path] | None) -> "Registry":
    """The registry with these files, or leave with their errors."""
    from privbandits_cli.plugins.registry import including

    registry, errors = including(files or ())
    if errors:
        raise fail(*errors)
    return registry


@contextmanager
def own_errors() -> Iterator[None]:
    """Leave with the line of a user's file that raised, not with a traceback through ours."""
    from privbandits_cli.plugins import loader, messages

    try:
        yield
    except loader.IncludeError as error:
        raise fail(str(error)) from error
    except Exception as error:
        if messages.place(error) is None:
            raise
        raise fail(messages.message(error)) from error


def rehearse(plan: "Plan", store: "Store | None" = None, python: bool = False) -> None:
    """Leave with the errors of users' files that are still to play, before anything is played."""
    if not plan.own_files or (store and store.count(plan.curves, plan.span) == len(plan.curves) * len(plan.span)):
        return
    from privbandits_cli.engine import rehearsal

    errors = [] if python else rehearsal.errors(plan)
    if errors:
        n = len(errors)
        raise fail(*errors, f"{n} error{'s' if n > 1 else ''}; nothing was run or written")


@contextmanager
def debugged() -> Iterator[None]:
    """Plain Python; what a user's file raises is shown as Python shows it, from the game's loop on."""
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
