"""privbandits: the figures of the differentially private bandit literature, reproduced.

For notebooks: `load`, `run`, `summary`, `trials`, `plot` and `guarantee` (`api.py`), imported when they are asked for.
"""

from typing import TYPE_CHECKING, Any

from privbandits_cli.version import __version__

if TYPE_CHECKING:
    from privbandits_cli.api import guarantee, load, plot, run, summary, trials

__all__ = ["__version__", "guarantee", "load", "plot", "run", "summary", "trials"]


def __getattr__(name: str) -> Any:
    """PEP 562: `import privbandits_cli` alone stays light."""
    if name not in __all__:
        raise AttributeError(f"module 'privbandits_cli' has no attribute '{name}'")
    from privbandits_cli import api

    return getattr(api, name)


def __dir__() -> list[str]:
    """The names that a completion offers, although most are not imported yet."""
    return sorted({*globals(), *__all__} - {"TYPE_CHECKING", "Any"})
