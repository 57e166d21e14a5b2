"""The tree mechanism: all prefix sums of a stream from noisy sums of dyadic ranges (Chan, Shi & Song 2011; Dwork,
Naor, Pitassi & Rothblum 2010). Algorithm 2 of Tao et al. 2022 is this one with bounds that grow; TreeBasedAgg,
Algorithm 2 of Agarwal & Singh 2017, is this one with top-up noise.

Item n closes one node, that of the 2^j items up to n, j the trailing zeros of n; the prefix n is the sum of the nodes
that the ones of n name. A released prefix is then the true prefix plus the noise of those nodes, so the noise alone is
kept: `noise[j]` is what the current nodes of the levels from j up have, and a node's own is drawn once, when it is
closed. That is `levels + 1` numbers (or vectors), the last of which stays 0, and one fresh one an item.

An item is in one node of each level, so with every node ε/levels-private the whole is ε-private, where levels =
floor(log2 T) + 1 if the prefix T is released, and ceil(log2 T) if T - 1 is the last. Algorithm 2 of Tao et al. divides
by log T, which is less: it promises ε and gives ε levels / ln T. Where items lie in [-B_n, B_n], B_n not falling, the
node that item n closes has noise of scale 2 B_n levels/ε: it covers the largest of its items.

Top-up noise makes the noise of every prefix one and the same law, that of `levels` nodes: for each zero of n as much
noise again as a node has. Drawn anew for every prefix it is Algorithm 2's. But one spare node for each level, drawn
once and used wherever that level has no node, does as well: whatever n, its ones and zeros name `levels` different
nodes and spares, all independent. Privacy is that of the nodes: spares are independent of the items, so the released
prefixes are post-processing either way; fresh ones hide some of what the nodes show, one a level none of it. The proof
of the regret (Theorem 3.4) asks for the law of each prefix's noise by itself; that noises of different prefixes need
not be independent it says. This saves three quarters of the numbers.
"""

import math

from privbandits_cli.numerics.types import Floats


def depth(horizon: float) -> int:
    """The levels, which are the nodes that an item is in: floor(log2 T) + 1 for `horizon` = T >= 1 items."""
    return math.floor(math.log2(horizon)) + 1


def height(horizon: float) -> int:
    """The nodes that an item is in, at most, where the prefixes 0 to T - 1 are released: ceil(log2 T), at least 1."""
    return max(1, math.ceil(math.log2(horizon)))


def ones(n: int) -> int:
    """Of n >= 0 in binary: the nodes that make up prefix n."""
    count = 0
    while n > 0:
        n &= n - 1
        count += 1
    return count


def trailing_zeros(n: int) -> int:
    """Of n >= 1 in binary: the level of the node that item n closes."""
    level = 0
    while n & 1 == 0:
        n >>= 1
        level += 1
    return level


def close_node(noise: Floats, n: int, fresh: float) -> float:
    """Item n >= 1 closes its node with this fresh noise; returns the noise of prefix n.

    noise: `[levels + 1]`, zeros before the first item; compiled into the steps that call it.
    """
    level = trailing_zeros(n)
    total: float = noise[level + 1] + fresh
    for below in range(level + 1):  # of these levels no node but the new one is left
        noise[below] = total
    return total


def close_vector(noise: Floats, spare: Floats, n: int, scale: float, fresh: Floats) -> None:
    """Item n >= 1 closes its node with the noise scale * fresh, `[N]`; `noise[0]` is then that of prefix n.

    noise: `[levels + 1, N]`, in each row what the levels from there up have; spares alone before the first item.
    spare: `[levels, N]`, of a level without a node; zeros where there is none.
    """
    level, width = trailing_zeros(n), noise.shape[1]
    for i in range(width):
        noise[level, i] = noise[level + 1, i] + scale * fresh[i]
    for below in range(level - 1, -1, -1):
        for i in range(width):
            noise[below, i] = noise[below + 1, i] + spare[below, i]
