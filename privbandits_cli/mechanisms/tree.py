"""The tree mechanism: all prefix sums of a stream from noisy sums of dyadic ranges (Chan, Shi & Song 2011; Dwork,
Naor, Pitassi & Rothblum 2010). Algorithm 2 of Tao et al. 2022 is this mechanism with growing bounds.

Item n closes one node, which covers the 2^j items up to n, where j is the number of trailing zeros of n in binary. The
ones of n select the nodes whose sum is prefix n. A released prefix is the true prefix plus the noise of those nodes, so
only the noise is stored, with one new random number for each item (`mechanisms.counter`, `mechanisms.arm_trees`).

Each item is in at most one node of each level. So if every node is (ε/levels)-DP, the release is ε-DP. The number of
levels is floor(log2 T) + 1 if the last prefix released is T, and ceil(log2 T) if it is T - 1. Algorithm 2 of Tao et al.
divides ε by log T, which is less than the number of levels, so that its ε is in fact ε levels / ln T. If items lie in
[-B_n, B_n] and B_n does not decrease, the node that item n closes has noise of scale 2 B_n levels/ε, because B_n is the
largest bound of its items.

`mechanisms.fresh_top_up` and `mechanisms.shared_top_up` also add noise for each zero of n, so that all prefixes have
noise of one law. The nodes of `mechanisms.k_ary` have k children.
"""

import math

import numpy as np

from privbandits_cli.numerics.reals import bits_of

WIDEST = 64  # children of a node, at most


def depth(horizon: float) -> int:
    """The number of levels for T = `horizon` >= 1 items: floor(log2 T) + 1. An item is in at most one node of each."""
    return math.floor(math.log2(horizon)) + 1


def ones(n: int) -> int:
    """The number of ones of n >= 0 in binary, which is the number of nodes of prefix n."""
    count = 0
    while n > 0:
        n &= n - 1
        count += 1
    return count


def trailing_zeros(n: int) -> int:
    """The number of trailing zeros of n >= 1 in binary, which is the level of the node that item n closes."""
    lowest = np.float64(n & -n)
    level: int = (bits_of(lowest) >> 52) - 1023  # its exponent; a loop would end at another time for each n
    return level


def trailing_zeros_in(n: int, k: int) -> int:
    """The number of trailing zeros of n >= 1 in base k."""
    level = 0
    while n % k == 0:
        n //= k
        level += 1
    return level
