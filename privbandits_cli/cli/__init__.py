"""The commands: the only room that knows the whole chain, and with `terminal` the only one that prints.

Heavy imports happen inside the commands, so that `privbandits --help` answers at once.
"""

import gc

from privbandits_cli.cli import check, figures, look, many, new, privacy, run
from privbandits_cli.cli.app import app

ORDER = (
    "run",
    "merge",
    "slurm",
    "plot",
    "report",
    "check",
    "compare",
    "tables",
    "new",
    "list",
    "show",
    "privacy",
    "tune",
    "audit",
    "validate",
    "schema",
)
app.registered_commands.sort(key=lambda command: ORDER.index(command.name or getattr(command.callback, "__name__", "")))

__all__ = ["app", "check", "figures", "look", "main", "many", "new", "privacy", "run"]


def main() -> None:
    """The entry point of the command `privbandits`."""
    gc.set_threshold(100_000)  # imports, loops and figures are many objects and little waste: 0.2 s of search
    app()
