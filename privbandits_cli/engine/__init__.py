"""Running a plan: chunks of trials, the engines that play them, the store that keeps them."""

import multiprocessing
import re
from dataclasses import dataclass
from typing import Literal, get_args

EngineKind = Literal["threads", "processes", "dask"]
GUARD = 'put what it does below `if __name__ == "__main__":`, as each Dask worker first runs the script'


class EngineError(Exception):
    """An engine cannot start; the message says what to do."""


class EngineLost(EngineError):
    """An engine cannot continue; what it has played is kept."""


@dataclass(frozen=True)
class Engine:
    """What plays the trials: threads or processes of this machine, or Dask workers."""

    kind: EngineKind = "threads"
    address: str | None = None  # tcp://host:port of a Dask scheduler; None: all workers run on this machine

    @classmethod
    def parse(cls, kind: str, scheduler: str | None = None) -> "Engine":
        """An engine as a user names it; `scheduler` is HOST:PORT, with or without `tcp://`. Raises EngineError."""
        found = next((known for known in get_args(EngineKind) if known == kind), None)
        if found is None:
            raise EngineError(f"unknown engine '{kind}': choose threads, processes or dask")
        if scheduler is None:
            return cls(found)
        if found != "dask":
            raise EngineError("--scheduler names a Dask scheduler: add --engine dask")
        parts = re.fullmatch(r"(?:tcp://)?([^\s/:]+|\[[0-9a-fA-F:]+\]):([0-9]{1,5})", scheduler)
        if not parts or int(parts[2]) > 65535:
            raise EngineError(f"--scheduler {scheduler}: give tcp://HOST:PORT, as `dask scheduler` prints it")
        return cls(found, f"tcp://{parts[1]}:{parts[2]}")

    def check_guarded(self) -> None:
        """Raise EngineError in a Dask worker that runs the script which starts it."""
        if self.kind == "dask" and getattr(multiprocessing.current_process(), "_inheriting", False):
            raise EngineError(f"this script calls `run`: {GUARD}")

    def __str__(self) -> str:
        return self.address or self.kind
