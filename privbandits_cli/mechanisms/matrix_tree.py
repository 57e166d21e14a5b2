"""The tree mechanism for sums of matrices [x; y] [x; y]', with constant noise (Shariff & Sheffet 2018, section 4).

The sum of the first t data is released with the noise of m = 1 + ⌈log2 n⌉ nodes at every t = 0, ..., n - 1, one of each
level: that of level j is drawn anew when 2^j divides t. The authors call that pan-private. So the noise has one law in
every round, and a new round changes it in trailing_zeros(t) + 1 levels only.

Releases are private as a tree's are: the rounds t >= s in which datum s is summed are a union of dyadic ranges, at most
one of each level, and in each of these a node of that range, and no other release, may hide it. There are m - 1 of
them at most, as the top level's is drawn before any datum. The paper counts m, and so do the accounts here: where they
say ε = 1 at m = 27, Gaussian noise has 0.97 (δ = 0.1) or 0.98 (δ = 1e-5).

Of a symmetric matrix of order d + 1 are kept the rows i < d: the columns j <= i, and in the last column that of y. The
corner is never used. `noise[j]` is the sum of the nodes of the levels from j up; `noise[m]` stays 0.
"""

import math

import numpy as np
from numpy.random import Generator

from privbandits_cli.mechanisms.gaussian import gaussian_node
from privbandits_cli.mechanisms.tree import trailing_zeros
from privbandits_cli.mechanisms.wishart import wishart_node
from privbandits_cli.numerics.jit import Record
from privbandits_cli.numerics.types import Floats


def n_levels(horizon: float) -> int:
    """m = 1 + ⌈log2 n⌉, the nodes whose noise a release carries."""
    return 1 + math.ceil(math.log2(horizon))


def nodes(horizon: float, dimension: int) -> dict[str, Floats]:
    """Fields of a state: the noise of the levels, and a Wishart node's factor. It needs `scale` and `k`, too."""
    levels = n_levels(horizon)
    return {
        "noise": np.zeros((levels + 1, dimension, dimension + 1)),
        "factor": np.zeros((dimension + 1, dimension)),
    }


def release(state: Record, t: int, rng: Generator) -> None:
    """`noise[0]` becomes that of the release after t data: once at the start, then for t = 1, 2, ..."""
    noise = state.noise
    level = len(noise) - 2 if t == 0 else trailing_zeros(t)
    for j in range(level, -1, -1):
        if state.k > 0:
            wishart_node(noise[j + 1], noise[j], state.factor, state.scale, state.k, rng)
        else:
            gaussian_node(noise[j + 1], noise[j], state.scale, rng)
