"""The Laplace mechanism's noise: an exponential number with a random sign.

NumPy's exponential ziggurat and one bit take a fraction of the time of `Generator.laplace`. The bits come from a
separate stream, lowest bit first, so the numbers do not depend on how they are divided into calls.
"""

import numpy as np
from numpy.random import Generator

from privbandits_cli.numerics.jit import Records, record
from privbandits_cli.numerics.sfc64 import ONE, Fill, fill_exponential, filling, source, word_of, words_of
from privbandits_cli.numerics.types import Floats


def standard_laplace(rng: Generator) -> Fill:
    """A source of standard Laplace noise, density exp(-|x|)/2; each call continues where the last one ended."""
    signs = record(**words_of(rng.spawn(1)[0]), bits=np.uint64(0), left=0)
    return filling(fill_laplace, signs=signs, **source(rng, "exponential"))


def fill_laplace(states: Records, out: Floats) -> None:
    """Standard Laplace numbers, `out[n]`; one word holds the signs of 64 numbers."""
    state = states[0]
    signs, first = state.signs, 0
    while first < len(out):
        if signs.left == 0:
            signs.bits, signs.left = word_of(signs.words), 64
        some = out[first : first + signs.left]
        fill_exponential(state, some)
        for i in range(len(some)):
            some[i] *= 1.0 - 2.0 * np.int64((signs.bits >> np.uint64(i)) & ONE)
        signs.bits >>= np.uint64(len(some))  # a shift by 64 is undefined, but then the word is used up
        signs.left -= len(some)
        first += len(some)
