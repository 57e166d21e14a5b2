"""Ctrl-C and SIGTERM: a run ends at once, with its exit code, and what it has played is kept."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from privbandits_cli.cli.app import INTERRUPTED, TERMINATED


class Stopped(KeyboardInterrupt):
    """SIGINT or SIGTERM came."""


class Stop:
    """Signals that end a run.

    They raise Stopped only while the run waits. An exception in the middle of an import or a compilation would be
    swallowed, or leave it half done. A signal at any other time is noted, and the next wait raises it.
    """

    def __init__(self) -> None:
        self.number = 0
        self.waiting = False

    def __enter__(self) -> "Stop":
        self.before = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.number:  # the second signal ends the process at once
            os._exit(self.code)
        self.number = number
        if self.waiting:
            raise Stopped

    @contextmanager
    def wait(self) -> Iterator[None]:
        """Inside this block a signal raises Stopped; so does one that was received earlier."""
        self.waiting = True
        try:
            if self.number:
                raise Stopped
            yield
        finally:
            self.waiting = False

    @property
    def code(self) -> int:
        """The exit code of the signal that came."""
        return TERMINATED if self.number == signal.SIGTERM else INTERRUPTED
