"""The Laplace mechanism's noise: -ln U with a random sign, of one word of 64 random bits.

52 bits of the word are U, and the lowest is the sign. So the largest number is 53 ln 2 = 36.7.
"""

import numpy as np
from numpy.random import Generator

from privbandits_cli.numerics.jit import Records
from privbandits_cli.numerics.logarithm import logarithm
from privbandits_cli.numerics.sfc64 import Fill, fill_words, filling, fraction, sign, words_of
from privbandits_cli.numerics.types import Floats

TOGETHER = 128  # words


def standard_laplace(rng: Generator) -> Fill:
    """A source of standard Laplace noise, density exp(-|x|)/2; each call continues where the last one ended."""
    return filling(fill_laplace, ready=np.zeros(TOGETHER, np.uint64), **words_of(rng))


def fill_laplace(states: Records, out: Floats) -> None:
    """Standard Laplace numbers, `out[n]`."""
    ready = states[0].ready
    for first in range(0, len(out), len(ready)):
        some = out[first : first + len(ready)]
        words = ready[: len(some)]
        fill_words(states, words)
        for i in range(len(some)):
            some[i] = laplace_of(words[i])


def laplace_of(word: np.uint64) -> float:
    """The Laplace number that a word makes."""
    return -sign(word) * logarithm(fraction(word))
