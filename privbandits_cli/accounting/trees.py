"""The exact privacy of trees whose releases do not reveal their nodes, for Gaussian noise of deviation 1 on every node.

All releases are jointly Gaussian. If item i changes by 1, the means of all releases t >= i move by 1, and the releases
are μ-GDP with μ² = a' S^-1 a, where S is their covariance and a = 1{t >= i}; the largest μ over i is the exact one, for
adaptive streams as well (Denisov, McMahan, Rush, Smith & Guha Thakurta 2022).

The recursion runs over the dyadic blocks of releases. All releases of a block share an offset x, the noise of larger
nodes. A block is described by its precision, which is the information of its releases about x, and by two numbers for
each item, the information J_xt and J_tt about x and the move t of the item. An item cannot be the worst case in any
larger block if another one has a smaller J_xt and a larger J_tt, so it is dropped.
"""

import math
from functools import cache

import numpy as np

from privbandits_cli.accounting.digits import height
from privbandits_cli.numerics.types import Floats

MOST = 1000  # items; of more, each counts as if it were in all nodes of the worst one


def held(n: int, k: int, items: int, *, squares: bool) -> float:
    """The sensitivity of the nodes of a k-ary tree on n leaves if `items` leaves change by 1 at most.

    Only nodes that end a prefix have noise: the last one of k siblings has none. With c leaves in a node its sum moves
    by c. squares: the root of the largest sum of the c² over all nodes; otherwise the largest sum of the c. Each array
    has the largest sum for 0, 1, ... leaves of a subtree.
    """
    most, levels = min(items, n), height(n, k)
    if items > MOST:
        return items * (math.sqrt(levels) if squares else levels)
    inside, total = np.zeros(2), np.zeros(1)
    for level in range(levels):
        leaves = np.arange(len(inside), dtype=np.float64)
        node = inside + (leaves**2 if squares else leaves)
        for _ in range(n // k**level % k):
            total = _either(total, node, most)
        for _ in range(k - 1):
            inside = _either(inside, node, most)
    largest = float(total.max())
    return math.sqrt(largest) if squares else largest


def _either(first: Floats, second: Floats, most: int) -> Floats:
    """The largest sums for 0, 1, ..., at most `most` leaves of two subtrees."""
    found = np.full(min(most, len(first) + len(second) - 2) + 1, -math.inf)
    for c, value in enumerate(second[: len(found)]):
        part = first[: len(found) - c] + value
        found[c : c + len(part)] = np.maximum(found[c : c + len(part)], part)
    return found


def _worst(items: Floats) -> Floats:
    """The items `[n, 2]` that may be the worst case: no other one has a smaller J_xt and a larger J_tt."""
    items = items[np.lexsort((-items[:, 1], items[:, 0]))]
    best = np.maximum.accumulate(items[:, 1])
    return np.asarray(items[np.concatenate([[True], items[1:, 1] > best[:-1]])], np.float64)


def _through_node(precision: float) -> float:
    """The precision about the offset when it includes the noise of one more node."""
    return precision / (1 + precision) if precision < math.inf else 1.0


def _items_through_node(items: Floats, precision: float) -> Floats:
    """The items' information when the offset includes the noise of one more node."""
    if precision == math.inf:
        return np.ones_like(items[:1])
    return np.stack([items[:, 0] / (1 + precision), items[:, 1] - items[:, 0] ** 2 / (1 + precision)], axis=1)


@cache
def fresh_top_up(n: int) -> float:
    """μ of the prefixes 1, ..., n of a binary tree with fresh top-up noise (`mechanisms.fresh_top_up`)."""
    levels = n.bit_length()

    @cache
    def precision(level: int, above: int, count: int) -> float:
        """The precision of the first `count` of 2^level prefixes to which `above` larger nodes contribute."""
        if level == 0:
            return 1 / (levels - above) if above < levels else math.inf
        half = 1 << level - 1
        left = precision(level - 1, above, min(count, half))
        return left if count <= half else left + _through_node(precision(level - 1, above + 1, count - half))

    @cache
    def items(level: int, above: int, count: int) -> Floats:
        if level == 0:
            return np.full((1, 2), precision(0, above, 1) if above else 0.0)  # prefix 0 has no item
        half = 1 << level - 1
        left = items(level - 1, above, min(count, half))
        if count <= half:
            return left
        right = precision(level - 1, above + 1, count - half)
        inside = _items_through_node(items(level - 1, above + 1, count - half), right)
        return _worst(np.concatenate([left + _through_node(right), inside]))

    return math.sqrt(float(items(levels, 0, n + 1)[:, 1].max()))


def smoothed(levels: int) -> float:
    """μ of the prefixes 1, ..., 2^levels - 1 of a binary tree with Honaker's estimates (`mechanisms.honaker`).

    A prefix reveals the estimate of its last node, because the rest of the prefix is an earlier prefix. `left` is the
    variance of a node's estimate given the prefixes inside the node. Each item has two numbers: minus the distance by
    which it moves that estimate, given these prefixes, and the information of these prefixes about the item. All n
    with `levels` binary digits have the same μ.
    """
    left, items = 1.0, np.array([[-1.0, 0.0]])
    for level in range(1, levels):
        own = estimate(level)  # the weight of the node's own noise, too
        first = np.stack([np.full(len(items), -own), items[:, 1] + items[:, 0] ** 2 / left], axis=1)
        items = _worst(np.concatenate([first, np.stack([(1 - own) * items[:, 0] - own, items[:, 1]], axis=1)]))
        left = own**2 + (1 - own) ** 2 * left
    return math.sqrt(float((items[:, 1] + items[:, 0] ** 2 / left).max()))


def estimate(level: int) -> float:
    """The variance of Honaker's estimate of a node from its own noise and the estimates of the two nodes below it."""
    return 2.0**level / (2.0 ** (level + 1) - 1)


@cache
def redrawn(n: int) -> float:
    """μ of n + 1 releases 0, ..., n >= 1; the node of level j is drawn anew every 2^j (`mechanisms.matrix_tree`)."""

    @cache
    def precision(level: int, count: int) -> float:
        """The precision about the larger nodes of the first `count` of 2^level releases that share a node."""
        if level == 0:
            return 1.0
        half = 1 << level - 1
        left = precision(level - 1, min(count, half))
        return _through_node(left if count <= half else left + precision(level - 1, count - half))

    @cache
    def items(level: int, count: int, first: bool) -> Floats:
        """The items of these releases; first: release 0 is one of them, which has no item."""
        if level == 0:
            return np.full((1, 2), 0.0 if first else 1.0)
        half = 1 << level - 1
        left, least = items(level - 1, min(count, half), first), precision(level - 1, min(count, half))
        if count <= half:
            return _items_through_node(left, least)
        right = precision(level - 1, count - half)
        both = _worst(np.concatenate([left + right, items(level - 1, count - half, False)]))
        return _items_through_node(both, least + right)

    return math.sqrt(float(items(n.bit_length(), n + 1, True)[:, 1].max()))
