"""The commands, as tests call them."""

from typer.testing import CliRunner

from privbandits_cli.cli import app


def call(*words):
    """The output and the exit code of a command line."""
    return CliRunner().invoke(app, [*map(str, words)])
