"""Lanes: several trials side by side, so that one instruction of the processor draws numbers of eight of them.

LLVM turns a loop over lanes into vector instructions if neighbouring lanes have neighbouring words. `column` and
`across` show one lane of a matrix or table.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.numerics.jit import compiled_in

LANES = 32  # a fixed distance between the words of a lane tells the compiler that they do not overlap
LINE = 64  # bytes
COMPILED = "privbandits_cli.numerics.lane_types"
Words = NDArray[np.uint64]


def aligned(shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
    """An array that begins where a line of the cache does, so that a vector touches one line, not two."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    memory = np.empty(size + LINE, np.uint8)
    first = -memory.ctypes.data % LINE
    made: NDArray[Any] = memory[first : first + size].view(kind).reshape(shape)
    return made


@compiled_in(COMPILED)
def across(table: NDArray[Any], lane: int) -> Any:
    """The entries of a lane in a table `[..., lanes]` that a loop only reads, in a row; or only writes, one a loop."""
    return table.reshape(-1, table.shape[-1])[:, lane]


@compiled_in(COMPILED)
def column(words: NDArray[Any], lane: int) -> Any:
    """The entries of a lane in a matrix `[words, LANES]`."""
    return words[:, lane]
