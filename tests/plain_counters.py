"""Plain twins of the counters: their noise as a matrix `[prefixes, numbers]`, written from the papers' words.

Columns are the random numbers of a coordinate in the order in which they are drawn, rows the prefixes 1, ..., n.
"""

import itertools
import math
from functools import cache

import numpy as np

from privbandits_cli.mechanisms.blt import Buffered
from privbandits_cli.mechanisms.fresh_top_up import FreshTopUp
from privbandits_cli.mechanisms.honaker import Honaker
from privbandits_cli.mechanisms.k_ary import KAryTree
from privbandits_cli.mechanisms.negative_digits import NegativeDigits
from privbandits_cli.mechanisms.shared_top_up import SharedTopUp
from privbandits_cli.mechanisms.smooth import SmoothTree
from privbandits_cli.mechanisms.square_root import SquareRoot


def matrix(counter):
    """The noise of the prefixes of any counter in units of its scale; top-up noise included if it is linear."""
    return {
        Buffered: buffered,
        FreshTopUp: fresh,
        Honaker: honaker,
        KAryTree: k_ary,
        NegativeDigits: negative_digits,
        SharedTopUp: shared,
        SmoothTree: smooth,
        SquareRoot: square_root,
    }[type(counter)](counter)


def k_ary(counter):
    """Prefix t is made of the largest nodes that fit, from the left; a node's noise is drawn with its last item."""
    out = np.zeros((counter.n, counter.n))
    for t in range(1, counter.n + 1):
        end = 0
        for level in reversed(range(64)):
            while end + counter.k**level <= t:
                end += counter.k**level
                out[t - 1, end - 1] += 1
    return out


def levels_of(n):
    """The levels of a binary tree, and whether prefix t has a node of each, `[prefixes 0 to n, levels]`."""
    levels = max(level for level in range(64) if 2**level <= n) + 1
    return levels, np.array([[t // 2**level % 2 for level in range(levels)] for t in range(n + 1)])


def fresh(counter):
    """Each round has a number for the top-up noise of the prefix before it, and one for a node."""
    nodes, (levels, has) = k_ary(KAryTree(counter.n, "gaussian")), levels_of(counter.n)
    out = np.zeros((counter.n, 2 * counter.n + 1))
    out[:, 1:-1:2] = nodes
    for t in range(1, counter.n + 1):
        out[t - 1, 2 * t] = math.sqrt(levels - has[t].sum())
    return out


def shared(counter):
    """A number for each level, used by the prefixes that have no node there, and one for each node."""
    _, has = levels_of(counter.n)
    return np.hstack([1.0 - has[1:], k_ary(KAryTree(counter.n, "gaussian"))])


def honaker(counter):
    """The least squares estimate of each node of a prefix from the noisy sums of all nodes inside it."""
    places, n = {}, counter.n
    for item in range(1, n + 1):
        for level in range(64):
            if item % 2**level == 0:
                places[item, level] = len(places)
    out = np.zeros((n, len(places)))
    for t in range(1, n + 1):
        end = 0
        for level in reversed(range(64)):
            if end + 2**level <= t:
                inside, weights = estimated(level)
                out[t - 1, [places[end + last, j] for last, j in inside]] += weights
                end += 2**level
    return out


@cache
def estimated(level):
    """The nodes inside a node, by their last item and level, and their weights in the estimate of its sum."""
    size = 2**level
    inside = [(last, j) for last in range(1, size + 1) for j in range(level + 1) if last % 2**j == 0]
    sums = np.array([[float(last - 2**j < item <= last) for item in range(1, size + 1)] for last, j in inside])
    return inside, np.linalg.solve(sums.T @ sums, sums.T).sum(axis=0)


def smooth(counter):
    """Leaf t + 1 of those with w ones selects the left sibling for each of its ones; an empty one has no noise."""
    h, w = counter.levels, counter.ones
    chosen = itertools.combinations(range(h), h - w)  # the places of the zeros, of the smallest code first
    leaves = [tuple(int(place not in zeros) for place in range(h)) for zeros in itertools.islice(chosen, counter.n + 1)]
    assert leaves == sorted(leaves)
    out = np.zeros((counter.n, counter.n))
    for t in range(1, counter.n + 1):
        code = leaves[t]
        for place in range(h):
            if code[place]:
                node = (*code[:place], 0)
                items = [item for item in range(1, t + 1) if leaves[item - 1][: place + 1] == node]
                if items:
                    out[t - 1, items[-1] - 1] = 1
    return out


def negative_digits(counter):
    """Nodes have k children each; a prefix is reached from boundaries of larger nodes by the fewest nodes."""
    n, k, places = counter.n, counter.k, {}
    for item in range(1, n + 1):
        for level in range(counter.levels):
            if (item - 1) % k ** (level + 1) == 0:
                first = (item - 1) // k**level
                places |= {(level, first + child): len(places) + child for child in range(k)}

    @cache
    def reached(level, boundary):
        """The number of nodes, and the nodes with their signs."""
        if level == counter.levels:
            return (0, {}) if boundary == 0 else (math.inf, {})
        found = []
        for above in range((boundary - 1) // k, boundary // k + 2):
            cost, nodes = reached(level + 1, above)
            between = range(*sorted((k * above, boundary)))
            sign = 1 if k * above < boundary else -1
            found.append((cost + len(between), nodes | {(level, node): sign for node in between}))
        return min(found, key=lambda one: one[0])

    out = np.zeros((n, len(places)))
    for t in range(1, n + 1):
        for node, sign in reached(0, t)[1].items():
            out[t - 1, places[node]] = sign
    return out


def square_root(counter):
    """The square root of the lower triangle of ones, coefficient by coefficient: the square of Σ c_k x^k is Σ x^k."""
    c = [1.0]
    while len(c) < counter.n:
        c.append((1 - sum(a * b for a, b in zip(c[1:], reversed(c[1:]), strict=True))) / 2)
    return np.array([[c[t - s] if t >= s else 0.0 for s in range(counter.n)] for t in range(counter.n)])


def buffered(counter):
    """B = A C^-1 with C from the θ and ω of the BLT."""
    return np.tri(counter.n) @ np.linalg.inv(blt_factor(counter))


def blt_factor(counter):
    """C, the Toeplitz matrix with c_0 = 1 and c_k = Σ ω θ^(k-1)."""
    n, blt = counter.n, counter.fitted
    c = [1.0, *(sum(blt.weights() * (1 - blt.rates) ** (k - 1)) for k in range(1, n))]
    return np.array([[c[i - j] if i >= j else 0.0 for j in range(n)] for i in range(n)])
