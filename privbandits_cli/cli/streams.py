"""Standard output and error: signs that their encodings lack, and disks that are full."""

import codecs
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from privbandits_cli.cli.app import FAILED, fail, refusal
from privbandits_cli.experiment.names import latin

SPELT = {
    "≤": "<=", "≥": ">=", "∞": "inf", "√": "sqrt ", "×": "x", "−": "-", "–": "-", "—": "-", "·": "*", "→": "->",
    "±": "+-", "²": "^2", "³": "^3", "½": "1/2", "‖": "||", "Σ": "sum ", "’": "'", "…": "...",
}  # fmt: skip


def spelt(error: UnicodeError) -> tuple[str, int]:
    """Signs that an encoding lacks, in letters that it has: `epsilon` for ε, `<=` for ≤, `e` for é, else `?`."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(map(_ascii, error.object[error.start : error.end])), error.end


def _ascii(sign: str) -> str:
    text = SPELT.get(sign) or latin(sign)
    return text if text.isascii() else "?"


@contextmanager
def printing() -> Iterator[None]:
    """Print any sign in any encoding; exit 2 with one line if standard output cannot be written."""
    codecs.register_error("spelt", spelt)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="spelt")
    try:
        yield
    finally:
        try:
            if sys.stdout is not None:  # it is None if it was closed before the start
                sys.stdout.flush()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left would fail again at the end
            code = FAILED if error.errno == errno.EPIPE else fail(refusal(error)).exit_code
            raise SystemExit(code) from None
