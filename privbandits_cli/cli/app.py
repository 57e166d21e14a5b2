"""The Typer application, and what its commands share."""

import json
import math
import os
import shutil
import sys
import textwrap
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from privbandits_cli.version import __version__

if TYPE_CHECKING:
    from privbandits_cli.experiment.config import ConfigError

OK, FAILED, USAGE, REFUTED, VIOLATED, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 4, 130, 143


class SpaceName(StrEnum):
    """The decision sets of a linear game that have a name."""

    simplex = "simplex"
    sphere = "sphere"
    cube = "cube"


app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: Rich alone would take half of its time
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Reproduce the figures of the differentially private bandit literature.

\b
Examples:
  privbandits run configs/fig1.yaml             the paper's figure, full scale
  privbandits run configs/fig1.yaml --smoke     the same in seconds, small
  privbandits run configs/fig1.yaml trials=48 experiment=mine
                                                keys replaced, own folder
  privbandits plot results/fig1 --bounds        with the regret theorems
  privbandits report                            a page for each of results/
  privbandits show dp_exp3_lap                  formula, tuning, guarantee
  privbandits privacy configs/fig1.yaml         what its privacy costs
  privbandits check results/fig1                what the paper says of it

\b
Exit codes: 0 ok, 1 trials failed or are missing, 2 usage or config,
3 a claim failed or results differ, 4 an audit found a violation,
130 interrupted, 143 terminated.""",
)


def fail(*lines: str) -> typer.Exit:
    """Print the complaint; raise what is returned."""
    for line in lines:
        print(fitted(line), file=sys.stderr)
    return typer.Exit(USAGE)


def fitted(text: str) -> str:
    """A complaint in the width of the terminal; elsewhere as it is, a line each. Of indented lines the end is cut."""
    if not (sys.stderr.isatty() or "COLUMNS" in os.environ):
        return text
    width = max(40, shutil.get_terminal_size().columns)

    def fit(line: str) -> str:
        if line.startswith("    "):
            return line if len(line) <= width else f"{line[: width - 3]}..."
        return textwrap.fill(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)

    return "\n".join(fit(line) for line in text.split("\n"))


def _version(wanted: bool) -> None:
    if wanted:
        print(f"privbandits {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    pass


def refuse(error: "ConfigError", as_json: bool) -> typer.Exit:
    """Print a config's errors; raise what is returned."""
    if as_json:
        print(dumps({"errors": error.errors}))
    n = len(error.errors)
    return fail(*error.errors, f"{n} error{'s' if n > 1 else ''}; nothing was run or written")


def rounds(given: str) -> int:
    """A horizon as a config writes it: `65536`, `2^16`, `1e5`."""
    from privbandits_cli.experiment.document import yaml_value

    value = yaml_value(str(given))
    if type(value) is not int or value < 1:
        raise typer.BadParameter(f"{given} is no number of rounds: give one like 65536 or 2^16")
    return value


Horizon = Annotated[int, typer.Option("--horizon", parser=rounds, metavar="T", help="Rounds: 65536, 2^16.")]


def complete_name(incomplete: str) -> list[str]:
    """Shell completion of algorithms and adversaries."""
    from privbandits_cli.plugins.registry import Registry

    names = Registry().names("algorithms") + Registry().names("adversaries")
    return [name for name in names if name.startswith(incomplete)]


def dumps(data: object) -> str:
    """JSON on one line; what JSON has no number for becomes text."""
    return json.dumps(_sayable(data), ensure_ascii=False, allow_nan=False)


def _sayable(data: object) -> object:
    if isinstance(data, dict):
        return {key: _sayable(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_sayable(value) for value in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data
