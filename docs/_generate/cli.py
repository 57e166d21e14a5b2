"""The command line as a Click command, for sphinx-click."""

from typer.main import get_command

from privbandits_cli.cli import app

command = get_command(app)
