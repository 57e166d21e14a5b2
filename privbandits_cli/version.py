"""The version of the package, and the versions of numba that were tried with it."""

from functools import cache
from importlib.metadata import version

__version__ = "2.0.0"
TRIED = (0, 62), (0, 68)  # the first and the last version of numba


def untried() -> str:
    """What to say of a version of numba that was not tried."""
    first, last = ("{}.{}".format(*one) for one in TRIED)
    return f"numba {version('numba')} was not tried ({first} to {last} were): trials play in the slower way"


@cache
def numba_was_tried() -> bool:
    """Whether kernels use numba's insides, which may differ in a version that was not tried."""
    major, minor = version("numba").split(".")[:2]
    return TRIED[0] <= (int(major), int(minor)) <= TRIED[1]
