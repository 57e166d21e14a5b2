"""Wishart noise W_{d+1}(σ² I, k), the Gram matrix of k rows from N(0, σ² I), without drawing the rows.

By Bartlett 1933 it is σ² A A', where A is lower triangular with A_ij ~ N(0, 1) below the diagonal and A_ii² ~ χ² with
k - i degrees of freedom, i from 0. k must be larger than d but need not be an integer. The cost is O(d³) for every k.
"""

import numpy as np
from numpy.random import Generator

from privbandits_cli.numerics.types import Floats


def wishart_node(above: Floats, out: Floats, factor: Floats, scale: float, rows: float, rng: Generator) -> None:
    """Set out = above + noise with σ² = `scale` and k = `rows`, `[d, d + 1]`: the lower triangle and the last column.

    factor: scratch space for A, `[d + 1, d]`, without the last column of A, which only affects the corner.
    """
    d = len(out)
    for i in range(d + 1):
        for j in range(min(i, d)):
            factor[i, j] = rng.standard_normal()
        if i < d:
            factor[i, i] = np.sqrt(2.0 * rng.standard_gamma(0.5 * (rows - i)))
    for i in range(d):
        for j in range(i + 1):
            total = 0.0
            for c in range(j + 1):
                total += factor[i, c] * factor[j, c]
            out[i, j] = above[i, j] + scale * total
        total = 0.0
        for c in range(i + 1):
            total += factor[i, c] * factor[d, c]
        out[i, d] = above[i, d] + scale * total
