"""The tree mechanism: all prefix sums of a stream from noisy sums of dyadic ranges (Chan, Shi & Song 2011; Dwork,
Naor, Pitassi & Rothblum 2010). Algorithm 2 of Tao et al. 2022 is this mechanism with growing bounds; TreeBasedAgg,
Algorithm 2 of Agarwal & Singh 2017, is this mechanism with top-up noise.

Item n closes one node, which covers the 2^j items up to n, where j is the number of trailing zeros of n in binary. The
ones of n select the nodes whose sum is prefix n. A released prefix is the true prefix plus the noise of those nodes, so
only the noise is stored: `noise[j]` is the total noise of the current nodes of levels j and above. The noise of a node
is drawn once, when the node is closed. This takes `levels + 1` numbers (or vectors), the last of which remains 0, and
one new number for each item.

Each item is in one node of each level. If every node is ε/levels-private, the release is therefore ε-private, where
levels = floor(log2 T) + 1 if prefix T is released, and ceil(log2 T) if T - 1 is the last. Algorithm 2 of Tao et al.
divides by log T, which is less: it states ε but gives ε levels / ln T. If items lie in [-B_n, B_n] and B_n does not
decrease, the node that item n closes has noise of scale 2 B_n levels/ε, because B_n is the largest bound of its items.

Top-up noise gives the noise of every prefix the same law, that of `levels` nodes, by adding the noise of one node for
each zero of n. Algorithm 2 draws it anew for every prefix. Shared top-up noise has the same effect: one node for each
level is drawn once and used whenever that level has no node, and for every n the ones and zeros of n select `levels`
different, independent nodes. Privacy is that of the nodes. Top-up noise is independent of the items, so the released
prefixes are post-processing in both cases; fresh noise hides part of what the nodes reveal, shared noise hides nothing.
The proof of the regret (Theorem 3.4) only uses the law of each prefix's noise; it says that the noises of different
prefixes need not be independent. Sharing saves three quarters of the random numbers.
"""

import math

from privbandits_cli.numerics.types import Floats


def depth(horizon: float) -> int:
    """The number of nodes that contain an item, one for each level: floor(log2 T) + 1 for T = `horizon` >= 1 items."""
    return math.floor(math.log2(horizon)) + 1


def height(horizon: float) -> int:
    """The largest number of nodes containing an item if prefixes 0 to T - 1 are released: ceil(log2 T), at least 1."""
    return max(1, math.ceil(math.log2(horizon)))


def ones(n: int) -> int:
    """The number of ones of n >= 0 in binary, which is the number of nodes of prefix n."""
    count = 0
    while n > 0:
        n &= n - 1
        count += 1
    return count


def trailing_zeros(n: int) -> int:
    """The number of trailing zeros of n >= 1 in binary, which is the level of the node that item n closes."""
    level = 0
    while n & 1 == 0:
        n >>= 1
        level += 1
    return level


def close_node(noise: Floats, n: int, fresh: float) -> float:
    """Close the node of item n >= 1 with this fresh noise, and return the noise of prefix n.

    noise: `[levels + 1]`, zeros before the first item.
    """
    level = trailing_zeros(n)
    total: float = noise[level + 1] + fresh
    for below in range(level + 1):  # the new node replaces those of the levels below
        noise[below] = total
    return total


def close_vector(noise: Floats, shared: Floats, n: int, scale: float, fresh: Floats) -> None:
    """Close the node of item n >= 1 with the noise scale * fresh, `[N]`; `noise[0]` is then that of prefix n.

    noise: `[levels + 1, N]`, row j the noise of levels j and above; only top-up noise before the first item.
    shared: `[levels, N]`, the shared top-up noise of levels without a node; zeros if there is none.
    """
    level, width = trailing_zeros(n), noise.shape[1]
    for i in range(width):
        noise[level, i] = noise[level + 1, i] + scale * fresh[i]
    for below in range(level - 1, -1, -1):
        for i in range(width):
            noise[below, i] = noise[below + 1, i] + shared[below, i]
