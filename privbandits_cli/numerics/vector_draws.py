"""NumPy's normal and gamma numbers for several trials at once, those of `numerics.sfc64` and of its Generator."""

from typing import Any

import numpy as np

from privbandits_cli.numerics.jit import Record, once
from privbandits_cli.numerics.sfc64 import (
    EIGHT,
    ELEVEN,
    LAYER,
    MANTISSA,
    ONE,
    TWELVE,
    UNIT,
    following,
    normal_of,
    outside,
    uniform,
    word_of,
)
from privbandits_cli.numerics.vectors import WIDTH, column, entries, everywhere, lane, real, where, with_lane

ZERO = np.uint64(0)
SQUEEZE = 0.0331  # of Marsaglia & Tsang 2000


def words_of_all(words: Any) -> Any:
    """The next word of each trial."""
    word, words[0], words[1], words[2], words[3] = following(words[0], words[1], words[2], words[3])
    return word


@once
def normals(words: Any, layers: Record) -> Any:
    """A standard normal number of each trial."""
    word = words_of_all(words)
    layer, size = word & LAYER, (word >> EIGHT >> ONE) & MANTISSA
    x = real(size) * entries(layers.width, layer)
    x = where((word >> EIGHT) & ONE > ZERO, -x, x)
    inside = entries(layers.inside, layer)
    if not everywhere(size < inside):
        for i in range(WIDTH):
            if lane(size, i) >= lane(inside, i):
                x = with_lane(x, i, outside(column(words, i), layers, lane(layer, i), lane(size, i), lane(x, i)))
    return x


@once
def gammas(words: Any, layers: Record, shape: Any) -> Any:
    """A standard gamma number of each trial, of a shape above 1 (Marsaglia & Tsang 2000)."""
    b = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * b)
    x = normals(words, layers)
    v = 1.0 + c * x
    first, second, third, count = words[0], words[1], words[2], words[3]
    word = words_of_all(words)
    u = (2.0 * real(word >> TWELVE) + real((word >> ELEVEN) & ONE)) * UNIT
    cube = v * v * v
    out, usual = b * cube, (v > 0.0) & (u < 1.0 - SQUEEZE * (x * x) * (x * x))
    if not everywhere(usual):
        for i in range(WIDTH):
            if lane(usual, i):
                continue
            own = column(words, i)
            if not lane(v, i) > 0.0:  # then the uniform number has not been drawn
                own[0], own[1], own[2], own[3] = lane(first, i), lane(second, i), lane(third, i), lane(count, i)
            elif accepted(lane(u, i), lane(x, i), lane(cube, i), lane(b, i)):
                continue
            out = with_lane(out, i, gamma(own, layers, lane(b, i), lane(c, i)))
    return out


def accepted(u: float, x: float, cube: float, b: float) -> bool:
    """Whether the exact comparison of densities accepts b v³."""
    found: bool = np.log(u) < 0.5 * x * x + b * (1.0 - cube + np.log(cube))
    return found


def gamma(words: Any, layers: Record, b: float, c: float) -> float:
    """A gamma number of one trial."""
    while True:
        x, layer, size = normal_of(word_of(words), layers)
        if size >= layers.inside[layer]:
            x = outside(words, layers, layer, size, x)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            u = uniform(words)
            if u < 1.0 - SQUEEZE * (x * x) * (x * x) or accepted(u, x, v, b):
                return b * v
