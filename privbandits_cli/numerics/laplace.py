"""The Laplace mechanism's noise: an exponential number with a random sign.

NumPy's exponential ziggurat and one bit take a fraction of the time of `Generator.laplace`. The bits are those of a
stream of its own, the lowest first, so that the numbers do not depend on how they are divided into calls.
"""

import numpy as np
from numpy.random import Generator

from privbandits_cli.numerics.jit import Records, record
from privbandits_cli.numerics.sfc64 import ONE, Fill, fill_exponential, filling, source, word_of, words_of
from privbandits_cli.numerics.types import Floats


def standard_laplace(rng: Generator) -> Fill:
    """A source of standard Laplace noise, density exp(-|x|)/2: each call fills an array, going on from the last."""
    signs = record(**words_of(rng.spawn(1)[0]), bits=np.uint64(0), left=0)
    return filling(fill_laplace, signs=signs, **source(rng, "exponential"))


def fill_laplace(states: Records, out: Floats) -> None:
    """Standard Laplace numbers, `out[n]`; a word has the signs of 64."""
    state = states[0]
    signs, first = state.signs, 0
    while first < len(out):
        if signs.left == 0:
            signs.bits, signs.left = word_of(signs.words), 64
        some = out[first : first + signs.left]
        fill_exponential(state, some)
        for i in range(len(some)):
            some[i] *= 1.0 - 2.0 * np.int64((signs.bits >> np.uint64(i)) & ONE)
        signs.bits >>= np.uint64(len(some))  # by 64 nothing need be left: the word is used up
        signs.left -= len(some)
        first += len(some)
