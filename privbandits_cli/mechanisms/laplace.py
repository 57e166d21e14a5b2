"""The Laplace mechanism's noise, drawn in bulk."""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray


def fill_standard_laplace(rng: Generator, out: NDArray[np.float64]) -> None:
    """Fill `out` with standard Laplace noise, density exp(-|x|)/2.

    The difference of two independent standard exponentials has that law: its characteristic function is
    1/((1-it)(1+it)) = 1/(1+t^2). NumPy's ziggurat draws two of them in half the time of one
    `Generator.laplace`. The draws of consecutive calls continue each other whatever their sizes.
    """
    pairs = rng.standard_exponential(2 * len(out))
    np.subtract(pairs[0::2], pairs[1::2], out=out)
