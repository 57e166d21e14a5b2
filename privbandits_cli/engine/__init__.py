"""Running a plan: chunks of trials, the engines that play them, the store that keeps them."""

Engine = str  # threads, processes, dask (workers on this machine), or the address of a Dask scheduler


class EngineError(Exception):
    """An engine cannot start; the message says what to do."""


class EngineLost(EngineError):
    """An engine cannot go on; what it has played is kept."""
