"""The digit sums of 1, ..., n in base k. In a k-ary tree, the digit sum of t is the number of nodes of prefix t.

Digits may also be negative: then nodes to the right of a prefix are subtracted from a larger node. To represent t, a
path goes from the highest level down between boundaries. A boundary of level l is a multiple of k^l: the last one that
is at most t, or the next one. Other boundaries do not reduce the sum of the absolute digits.
"""

import math

import numpy as np

from privbandits_cli.numerics.types import Floats, Ints


def height(n: int, k: int) -> int:
    """The number of digits of n >= 1 in base k."""
    digits = 0
    while n > 0:
        n, digits = n // k, digits + 1
    return digits


def least_sums(t: Ints, k: int, digits: int, signed: bool) -> Floats:
    """The least sum of the absolute values of `digits` digits that represent each t, `[prefixes]`."""
    low, high = np.zeros(len(t)), np.full(len(t), math.inf)
    for level in range(digits - 1, -1, -1):
        digit = t // k**level % k
        low, high = np.minimum(low + digit, high + k - digit), np.minimum(low + digit + 1, high + k - digit - 1)
        high = high if signed else np.full(len(t), math.inf)
    return low


def spread(n: int, k: int, digits: int, signed: bool) -> tuple[float, float]:
    """The mean and the largest of `least_sums` over 1, ..., n.

    The digits are fixed from the highest level down. Numbers whose leading digits are less than those of n are counted
    together if they have the same `high - low`. n itself is followed on its own.
    """
    free: dict[float, tuple[int, float, float]] = {}  # by high - low: the count of numbers, the sum, the largest sum
    low, high = 0.0, math.inf  # those of the leading digits of n
    for level in range(digits - 1, -1, -1):
        found: dict[float, tuple[int, float, float]] = {}
        own = n // k**level % k
        starts = [(gap, held, range(k)) for gap, held in free.items()] + [(high - low, (1, low, low), range(own))]
        for gap, (count, total, largest), allowed in starts:
            for digit in allowed:
                least = min(digit, gap + k - digit)
                key = min(digit + 1, gap + k - digit - 1) - least if signed else math.inf
                many, summed, most = found.get(key, (0, 0.0, 0.0))
                found[key] = (many + count, summed + total + count * least, max(most, largest + least))
        free = found
        least = min(low + own, high + k - own)
        high = min(low + own + 1, high + k - own - 1) if signed else math.inf
        low = least
    mean = (sum(total for _, total, _ in free.values()) + low) / n
    return mean, max([low, *(largest for _, _, largest in free.values())])


def ones(n: int, weights: Floats) -> tuple[float, float]:
    """The mean and the largest, over t = 1, ..., n, of the sum of `weights[levels]` at the ones of t in binary."""
    total, above, largest = 0.0, 0.0, 0.0
    for level in range(len(weights) - 1, -1, -1):
        size = 1 << level
        total += float(weights[level]) * ((n + 1) // (2 * size) * size + max(0, (n + 1) % (2 * size) - size))
        if n & size:
            largest = max(largest, above + float(weights[:level].sum()))
            above += float(weights[level])
    return total / n, max(largest, above)
