"""The tree mechanism for sums of matrices [x; y] [x; y]', with noise of one law (Shariff & Sheffet 2018, section 4).

The sum of the first t data is released at every t = 0, ..., n - 1 with the noise of m = 1 + ⌈log2 n⌉ nodes, one for
each level. The node of level j is drawn anew when 2^j divides t. The authors call this pan-private. The noise has the
same law in every round, and a new round changes it in trailing_zeros(t) + 1 levels only.

The releases are as private as those of a tree. The rounds t >= s, whose sums contain datum s, are a union of dyadic
ranges with at most one of each level. Within each range, the node of that range hides the datum, and no other release
uses it. There are at most m - 1 such nodes, because the top level is drawn before any datum. The paper counts m, and so
do the accounts here: where they state ε = 1 at m = 27, Gaussian noise has 0.97 (δ = 0.1) or 0.98 (δ = 1e-5).

Only the rows i < d of a symmetric matrix of order d + 1 are stored: the columns j <= i, and the last column, which
has y. The corner is never used. `noise[j]` is the sum of the nodes of levels j and above; `noise[m]` remains 0.
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
    """m = 1 + ⌈log2 n⌉, the number of nodes that contribute noise to a release."""
    return 1 + math.ceil(math.log2(horizon))


def nodes(horizon: float, dimension: int) -> dict[str, Floats]:
    """Fields of a state: the noise of the levels, and a Wishart node's factor. The state also needs `scale` and `k`."""
    levels = n_levels(horizon)
    return {
        "noise": np.zeros((levels + 1, dimension, dimension + 1)),
        "factor": np.zeros((dimension + 1, dimension)),
    }


def release(state: Record, t: int, rng: Generator) -> None:
    """Set `noise[0]` to the noise of the release after t data; to be called for t = 0, 1, 2, ... in turn."""
    noise = state.noise
    level = len(noise) - 2 if t == 0 else trailing_zeros(t)
    for j in range(level, -1, -1):
        if state.k > 0:
            wishart_node(noise[j + 1], noise[j], state.factor, state.scale, state.k, rng)
        else:
            gaussian_node(noise[j + 1], noise[j], state.scale, rng)
