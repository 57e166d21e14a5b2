"""The Laplace mechanism's noise: -ln U with a random sign, of one word of 64 random bits.

52 bits of the word are U, and the lowest is the sign. So the largest number is 53 ln 2 = 36.7.
"""

import numpy as np

from privbandits_cli.numerics.logarithm import logarithm
from privbandits_cli.numerics.sfc64 import fraction, sign


def laplace_of(word: np.uint64) -> float:
    """The Laplace number that a word makes, of density exp(-|x|)/2."""
    return -sign(word) * logarithm(fraction(word))
