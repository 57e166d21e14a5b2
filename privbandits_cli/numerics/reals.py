"""The bits of floating-point numbers."""

from typing import Any

import numpy as np


def bits_of(x: Any) -> Any:
    """The bits of a floating-point number, as a whole number."""
    return np.float64(x).view(np.int64)


def number_of(bits: Any) -> Any:
    """The floating-point number with these bits."""
    return np.uint64(bits).view(np.float64)
