"""Running a plan: chunks of trials, the engines that play them, the store that keeps them."""

Engine = str  # threads, processes, dask (workers on this machine), or the address of a Dask scheduler


class EngineError(Exception):
    """An engine cannot start or go on; the message says what to do."""
