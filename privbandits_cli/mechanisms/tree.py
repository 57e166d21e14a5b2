"""The tree mechanism: all prefix sums of a stream from noisy sums of dyadic ranges (Chan, Shi & Song 2011; Dwork,
Naor, Pitassi & Rothblum 2010). Algorithm 2 of Tao et al. 2022 is this one with bounds that grow.

Item n closes one node, that of the 2^j items up to n, j the trailing zeros of n; the prefix n is the sum of the nodes
that the ones of n name. A released prefix is then the true prefix plus the noise of those nodes, so the noise alone is
kept: `noise[j]` is what the current nodes of the levels from j up have, and a node's own is drawn once, when it is
closed. That is `levels + 1` numbers, the last of which stays 0, and one fresh number an item.

An item is in one node of each level, so with every node ε/levels-private the whole is ε-private, where levels =
floor(log2 T) + 1. Algorithm 2 divides by log T, which is less: it promises ε and gives ε levels / ln T.
Where items lie in [-B_n, B_n], B_n not falling, the node that item n closes has noise of scale 2 B_n levels/ε: it
covers the largest of its items.
"""

import math

import numpy as np
from numpy.typing import NDArray


def depth(horizon: float) -> int:
    """The levels, which are the nodes that an item is in: floor(log2 T) + 1 for `horizon` = T >= 1 items."""
    return math.floor(math.log2(horizon)) + 1


def trailing_zeros(n: int) -> int:
    """Of n >= 1 in binary: the level of the node that item n closes."""
    level = 0
    while n & 1 == 0:
        n >>= 1
        level += 1
    return level


def close_node(noise: NDArray[np.float64], n: int, fresh: float) -> float:
    """Item n >= 1 closes its node with this fresh noise; returns the noise of prefix n.

    noise: `[levels + 1]`, zeros before the first item; compiled into the steps that call it.
    """
    level = trailing_zeros(n)
    total: float = noise[level + 1] + fresh
    for below in range(level + 1):  # of these levels no node but the new one is left
        noise[below] = total
    return total
