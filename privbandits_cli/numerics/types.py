"""The types of arrays and of blocks of rounds, for the whole package."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Blocks = Callable[[], Iterable[range]]  # gives the blocks of rounds of a game, from its first round at every call
Tables = Iterator[NDArray[Any]]  # one for each block
