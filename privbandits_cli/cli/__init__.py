"""The commands, in the order in which `--help` lists them.

Only this room imports from all others, and only this room prints. Heavy imports happen inside the commands, so that
`privbandits --help` answers at once.
"""

import gc
import warnings

# isort: off
from privbandits_cli.cli.app import app, in_one_line
from privbandits_cli.cli import run, merge, slurm  # --help lists them in the order of these imports
from privbandits_cli.cli import figures, check, logs, plan
from privbandits_cli.cli import new, show, privacy, validate

from privbandits_cli.cli.streams import printing

# isort: on

__all__ = [
    "app", "check", "figures", "logs", "main", "merge", "new", "plan", "privacy", "run", "show", "slurm", "validate",
]  # fmt: skip


def main() -> None:
    """The entry point of the command `privbandits`."""
    gc.set_threshold(100_000)  # imports, loops and figures make many objects and little garbage: saves 0.2 s
    warnings.formatwarning = in_one_line
    with printing():
        app()
