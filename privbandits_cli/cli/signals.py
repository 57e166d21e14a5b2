"""Ctrl-C and SIGTERM: a run ends at once, with its exit code, and what it has played is kept."""

import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from types import FrameType

from privbandits_cli.cli.app import INTERRUPTED, TERMINATED

GRACE = 3.0  # seconds in which a run ends by itself


class Stopped(KeyboardInterrupt):
    """SIGINT or SIGTERM came."""


class Stop:
    """Signals that end a run.

    They raise Stopped only while the run waits. An exception in the middle of an import or a compilation would be
    swallowed, or leave it half done. A signal at any other time is noted, and the next wait raises it.

    Python notes a signal only between two steps of its own, and a compiled block of a large game takes hours. So a
    thread waits for signals, too. If the run has not ended `GRACE` seconds after one, the thread ends the process.
    """

    def __init__(self) -> None:
        self.number = 0
        self.waiting = False
        self.farewell: Callable[[], None] = lambda: None  # what that thread does before it ends the process

    def __enter__(self) -> "Stop":
        self.before = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        reader, self.writer = os.pipe()
        os.set_blocking(self.writer, False)
        self.wakeup = signal.set_wakeup_fd(self.writer, warn_on_full_buffer=False)
        Thread(target=self._watch, args=(reader,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self.wakeup)
        os.close(self.writer)  # the thread ends
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.number:  # the second signal ends the process at once
            os._exit(self.code)
        self.number = number
        if self.waiting:
            raise Stopped

    def _watch(self, reader: int) -> None:
        """End the process `GRACE` seconds after the first signal, or at the second one; each signal is a byte."""
        with os.fdopen(reader, "rb", buffering=0) as signals:
            while (first := signals.read(1)) and first[0] not in self.before:
                pass
            if not first or (select.select([signals], [], [], GRACE)[0] and not signals.read(1)):
                return
        self.number = first[0]
        try:
            self.farewell()
        finally:
            os._exit(self.code)

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
