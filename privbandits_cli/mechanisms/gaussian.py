"""Symmetric Gaussian noise (Z + Z')/√2 with independent entries N(0, σ²) of Z: variance σ², and 2σ² on the diagonal."""

import math

from numpy.random import Generator

from privbandits_cli.numerics.types import Floats

ROOT_2 = math.sqrt(2)


def gaussian_node(above: Floats, out: Floats, scale: float, rng: Generator) -> None:
    """Set out = above + noise with σ = `scale`, `[d, d + 1]`: the lower triangle and the last column."""
    d = len(out)
    for i in range(d):
        for j in range(i):
            out[i, j] = above[i, j] + scale * rng.standard_normal()
        out[i, i] = above[i, i] + ROOT_2 * scale * rng.standard_normal()
        out[i, d] = above[i, d] + scale * rng.standard_normal()
