"""privbandits: the figures of the differentially private bandit literature, reproduced.

For notebooks: `load`, `run`, `summary`, `trials`, `plot`, `guarantee`, `evaluate`, `plan` and `simulate_log`
(`api.py`), imported when they are asked for.
"""

from typing import TYPE_CHECKING, Any

from privbandits_cli.version import __version__

if TYPE_CHECKING:
    from privbandits_cli.api import evaluate, guarantee, load, plan, plot, run, simulate_log, summary, trials

__all__ = ["__version__", "evaluate", "guarantee", "load", "plan", "plot", "run", "simulate_log", "summary", "trials"]


def __getattr__(name: str) -> Any:
    """PEP 562: `import privbandits_cli` alone stays light."""
    if name not in __all__:
        raise AttributeError(f"module 'privbandits_cli' has no attribute '{name}'")
    from privbandits_cli import api

    return getattr(api, name)


def __dir__() -> list[str]:
    """The names that a completion offers, although most are not imported yet."""
    return sorted({*globals(), *__all__} - {"TYPE_CHECKING", "Any"})
