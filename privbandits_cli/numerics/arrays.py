"""Loops that replace NumPy's calls on whole arrays: numba takes seconds to compile their error messages."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.numerics.types import Floats

LINE = 64  # bytes of a line of the cache


def largest(xs: Floats) -> float:
    """The largest of these numbers; NaN if one of them is NaN."""
    most: float = xs[0]
    for i in range(1, len(xs)):
        most = xs[i] if xs[i] > most or xs[i] != xs[i] else most
    return most


def smallest(xs: Floats) -> float:
    """The smallest of these numbers; NaN if one of them is NaN."""
    least: float = xs[0]
    for i in range(1, len(xs)):
        least = xs[i] if xs[i] < least or xs[i] != xs[i] else least
    return least


def copy(source: NDArray[Any], out: NDArray[Any]) -> None:
    """Copy a vector."""
    for i in range(len(source)):
        out[i] = source[i]


def aligned(shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
    """An array that begins where a line of the cache does, so that a vector touches one line, not two."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    memory = np.empty(size + LINE, np.uint8)
    first = -memory.ctypes.data % LINE
    made: NDArray[Any] = memory[first : first + size].view(kind).reshape(shape)
    return made
