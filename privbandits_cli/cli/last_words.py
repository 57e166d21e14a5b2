"""What is printed if a run dies without a message: killed, out of memory, or ended by a user's file."""

import faulthandler
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

# The last line that it is given is what it prints when the run is gone; an empty one means that all is well.
WITNESS = "import sys; said = sys.stdin.read().splitlines(); said[-1:] > [''] and print(said[-1], file=sys.stderr)"


@contextmanager
def last_words(first: str) -> Iterator[Callable[[str], None]]:
    """Print `first` if this process dies inside the block; yields a function that replaces the words.

    A small process that outlives this one prints them. After a segmentation fault Python's traceback comes first.
    """
    if not faulthandler.is_enabled():
        faulthandler.enable(2, all_threads=False)
    command = [sys.executable, "-I", "-S", "-c", WITNESS]
    pipe, escaped = subprocess.PIPE, "backslashreplace"
    with subprocess.Popen(command, stdin=pipe, errors=escaped, start_new_session=True) as witness:

        def say(words: str) -> None:
            assert witness.stdin is not None
            with suppress(BrokenPipeError):  # the witness was killed
                witness.stdin.write(words + "\n")
                witness.stdin.flush()

        say(first)
        try:
            yield say
        finally:
            say("")
