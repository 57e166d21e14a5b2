"""A limit on the time that judging a config may take: some tunings take minutes, or would take days."""

import signal
from types import FrameType


class OutOfTime(BaseException):  # not an Exception, so that no tuning takes it for one of its own
    """The time is over."""


class Patience:
    """Seconds of computing that are left: `with patience:` counts, and raises OutOfTime when none are left.

    It is for the main thread. Time in which the process waits does not count, so that a busy machine changes nothing.
    """

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    def __enter__(self) -> None:
        if not self.left:
            raise OutOfTime
        self._before = signal.signal(signal.SIGVTALRM, _raise)
        signal.setitimer(signal.ITIMER_VIRTUAL, self.left)

    def __exit__(self, *raised: object) -> None:
        self.left = signal.setitimer(signal.ITIMER_VIRTUAL, 0)[0]
        signal.signal(signal.SIGVTALRM, self._before)


def _raise(number: int, frame: FrameType | None) -> None:
    raise OutOfTime
