"""NumPy's own random numbers, drawn inside of a compiled loop in half the time of calls to its Generator.

SFC64 (Doty-Humphrey 2010) keeps four words, here in the loop's registers; the ziggurat (Marsaglia & Tsang 2000) makes
of one word a standard normal number, in 1.2 % of cases of more. Bit for bit `Generator.standard_normal` and `.random`
of the same stream: a test compares them. What a record needs is `source(rng)`; rng itself stays where it was.
"""

from typing import Any

import numpy as np
from numpy.random import SFC64, Generator

from privbandits_cli.games.players import Floats
from privbandits_cli.jit import Record

Words = tuple[Any, Any, Any, Any]  # of SFC64: three that are mixed and a counter

ONE, EIGHT, THREE, ELEVEN = np.uint64(1), np.uint64(8), np.uint64(3), np.uint64(11)
LEFT, RIGHT = np.uint64(24), np.uint64(40)  # a rotation
LAYER = np.uint64(255)  # 256 layers of the ziggurat
MANTISSA = np.uint64(2**52 - 1)
TAIL, OVER_TAIL = 3.6541528853610087963519472518, 0.27366123732975827203338247596  # where the layers end
UNIT = 2.0**-53


def source(rng: Generator) -> dict[str, Any]:
    """Fields of a record from which these functions draw what rng would: its words, and the ziggurat's layers."""
    from numba.np.random import _constants

    assert isinstance(rng.bit_generator, SFC64)
    return {
        "words": rng.bit_generator.state["state"]["state"].copy(),
        "width": _constants.wi_double,
        "inside": _constants.ki_double,
        "height": _constants.fi_double,
    }


def following(a: Any, b: Any, c: Any, n: Any) -> tuple[Any, Any, Any, Any, Any]:
    """SFC64: its next word, and what it keeps."""
    word = a + b + n
    return word, b ^ (b >> ELEVEN), c + (c << THREE), ((c << LEFT) | (c >> RIGHT)) + word, n + ONE


def uniform(state: Record) -> float:
    """A number in [0, 1)."""
    words = state.words
    word, words[0], words[1], words[2], words[3] = following(words[0], words[1], words[2], words[3])
    number: float = (word >> ELEVEN) * UNIT
    return number


def fill_normal(state: Record, out: Floats) -> None:
    """Standard normal numbers in the rows of `out`, one after the other."""
    words = state.words
    a, b, c, n = words[0], words[1], words[2], words[3]
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            word, a, b, c, n = following(a, b, c, n)
            layer, size = word & LAYER, (word >> EIGHT >> ONE) & MANTISSA
            x = size * state.width[layer]
            if (word >> EIGHT) & ONE:
                x = -x
            if size >= state.inside[layer]:
                words[0], words[1], words[2], words[3] = a, b, c, n
                x = outside(state, layer, size, x)
                a, b, c, n = words[0], words[1], words[2], words[3]
            out[i, j] = x
    words[0], words[1], words[2], words[3] = a, b, c, n


def outside(state: Record, layer: Any, size: Any, x: float) -> float:
    """What becomes of x, which need not lie under the curve: of its wedge, of the tail, or of a new word."""
    while True:
        if layer == 0:
            along = -OVER_TAIL * np.log1p(-uniform(state))
            while -2.0 * np.log1p(-uniform(state)) <= along * along:
                along = -OVER_TAIL * np.log1p(-uniform(state))
            end: float = -(TAIL + along) if (size >> EIGHT) & ONE else TAIL + along
            return end
        high, low = state.height[layer - ONE], state.height[layer]
        if (high - low) * uniform(state) + low < np.exp(-0.5 * x * x):
            return x
        words = state.words
        word, words[0], words[1], words[2], words[3] = following(words[0], words[1], words[2], words[3])
        layer, size = word & LAYER, (word >> EIGHT >> ONE) & MANTISSA
        x = size * state.width[layer]
        if (word >> EIGHT) & ONE:
            x = -x
        if size < state.inside[layer]:
            return x
