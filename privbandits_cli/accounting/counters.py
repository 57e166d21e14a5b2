"""Counters: mechanisms that release all prefix sums of a stream under continual observation, and their noise.

A counter's noise is measured by E_t, the standard deviation of the noise of prefix t if every release together is
1-GDP (Gaussian noise) or 1-private (Laplace noise) and an item changes a sum by at most 1. At (ε, δ) the deviation is
E_t/μ(ε, δ) or E_t/ε, times the size of the change. The prefixes are 1, ..., n; a game of T rounds needs n = T - 1.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from privbandits_cli.accounting import toeplitz, trees
from privbandits_cli.numerics.types import Floats

Law = Literal["Gaussian", "Laplace"]

WIDEST = 64  # children of a node of a k-ary tree, and height of a smooth tree, at most


@dataclass(frozen=True)
class Counter:
    """A mechanism: its name, the law of its noise, E_t for n prefixes, `[n]`, and its source.

    memory: how many numbers it keeps for each coordinate, up to a factor: "T", "log T", or a number.
    """

    name: str
    law: Law
    errors: Callable[[int], Floats]
    memory: str
    source: str


def levels(n: int) -> int:
    """The number of nodes of a binary tree that contain an item, ⌊log2 n⌋ + 1."""
    return n.bit_length()


def _ones(n: int) -> Floats:
    """The number of nodes of each prefix of a binary tree."""
    return np.bitwise_count(np.arange(1, n + 1)).astype(np.float64)


def tree(n: int) -> Floats:
    """Each prefix has the noise of its nodes alone."""
    return np.sqrt(levels(n) * _ones(n))


def topped_up(n: int) -> Floats:
    """Top-up noise that all prefixes share: the releases reveal the nodes."""
    return np.full(n, float(levels(n)))


def freshly_topped_up(n: int) -> Floats:
    """Fresh top-up noise, which hides part of the nodes."""
    m = levels(n)
    return np.full(n, trees.fresh_top_up(m) * math.sqrt(m))


def redrawn(n: int) -> Floats:
    """The tree of Shariff & Sheffet, one level more, which also releases the empty prefix."""
    m = 1 + levels(n)
    return np.full(n, trees.redrawn(m) * math.sqrt(m))


def honaker(n: int) -> Floats:
    """Each node is estimated from all nodes below it: variance 2^h/(2^(h+1) - 1) on level h."""
    t, variance = np.arange(1, n + 1), np.zeros(n)
    for level in range(levels(n)):
        variance += (t >> level & 1) * 2.0**level / (2.0 ** (level + 1) - 1)
    return np.asarray(np.sqrt(levels(n) * variance), np.float64)


def smooth(n: int) -> Floats:
    """Only leaves with as many left as right turns are used, so that each prefix has h/2 nodes, each item h/2."""
    h = next(h for h in range(2, 2 * WIDEST, 2) if math.comb(h, h // 2) > n)
    return np.full(n, h / 2)


def square_root(n: int) -> Floats:
    """The square root of the matrix of prefix sums."""
    squares = np.cumsum(toeplitz.square_root(n) ** 2)
    return np.asarray(np.sqrt(squares[-1] * squares), np.float64)


def blt(buffers: int) -> Callable[[int], Floats]:
    """A BLT with this many buffers, fitted to n."""

    def errors(n: int) -> Floats:
        made = toeplitz.fitted(n, buffers)
        return np.asarray(made.sensitivity(n) * np.sqrt(np.cumsum(made.coefficients(n) ** 2)), np.float64)

    return errors


def laplace_tree(n: int) -> Floats:
    """Each prefix has the noise of its nodes alone, of scale m/ε."""
    return levels(n) * np.sqrt(2 * _ones(n))


def laplace_topped_up(n: int) -> Floats:
    """Every prefix has the noise of m nodes."""
    return np.full(n, levels(n) * math.sqrt(2 * levels(n)))


def k_ary(n: int) -> Floats:
    """A tree with k children a node: prefix t has as many nodes as the sum of its digits. The best k."""
    return _best([_k_ary(n, k) for k in range(2, WIDEST + 1)])


def _k_ary(n: int, k: int) -> Floats:
    rest, digits, height = np.arange(1, n + 1), np.zeros(n), 0
    while rest[-1]:
        digits, rest, height = digits + rest % k, rest // k, height + 1
    return height * np.sqrt(2 * digits)


def negative_digits(n: int) -> Floats:
    """A k-ary tree whose digits lie between -k/2 and k/2: nodes to the right of a prefix are subtracted. The best k."""
    return _best([_negative_digits(n, k) for k in range(3, WIDEST + 1)])


def _negative_digits(n: int, k: int) -> Floats:
    """`size[l][x]`: the least sum of the absolute values of l digits that represent x, infinite if there are none."""
    height, reach = 0, 0
    while reach < n:
        reach, height = k * reach + k // 2, height + 1
    size = np.full(n // k**height + 3, math.inf)
    size[0] = 0.0
    for level in range(height - 1, -1, -1):
        x = np.arange(n // k**level + 3 if level else n + 1)
        digit, above = x % k, x // k
        low = np.where(digit <= k // 2, digit + size[above], math.inf)
        high = np.where(k - digit <= k // 2, k - digit + size[above + 1], math.inf)
        size = np.minimum(low, high)
    return np.asarray(height * np.sqrt(2 * size[1:]), np.float64)


def unbalanced(n: int) -> Floats:
    """Leaves at height h with w left turns: each prefix has w nodes, each item is in h - w. The best h and w."""
    found = [(h - w) * math.sqrt(2 * w) for h in range(2, WIDEST + 1) for w in range(1, h) if math.comb(h, w) > n]
    return np.full(n, min(found))


def _best(found: list[Floats]) -> Floats:
    return min(found, key=lambda errors: float(errors.max()))


def rms(errors: Floats) -> float:
    """The root mean square of E_t over the prefixes."""
    return math.sqrt(float(np.mean(errors**2)))


SMOOTH = "Andersson & Pagh 2023"
COUNTERS = (
    Counter("tree, shared top-up", "Gaussian", topped_up, "log T", "Chan, Shi & Song 2011"),
    Counter("tree, fresh top-up", "Gaussian", freshly_topped_up, "log T", "Agarwal & Singh 2017"),
    Counter("tree, redrawn", "Gaussian", redrawn, "log T", "Shariff & Sheffet 2018"),
    Counter("tree", "Gaussian", tree, "log T", "Chan, Shi & Song 2011"),
    Counter("tree, smoothed", "Gaussian", honaker, "log T", "Honaker 2015"),
    Counter("smooth binary", "Gaussian", smooth, "log T", SMOOTH),
    Counter("BLT, 3 buffers", "Gaussian", blt(3), "3", "Dvijotham et al. 2024"),
    Counter("BLT, 5 buffers", "Gaussian", blt(5), "5", "Dvijotham et al. 2024"),
    Counter("square root", "Gaussian", square_root, "T", "Fichtenberger et al. 2023"),
    Counter("tree, top-up", "Laplace", laplace_topped_up, "log T", "Agarwal & Singh 2017"),
    Counter("tree", "Laplace", laplace_tree, "log T", "Chan, Shi & Song 2011"),
    Counter("k-ary tree", "Laplace", k_ary, "log T", "Qardaji, Yang & Li 2013"),
    Counter("k-ary, negative digits", "Laplace", negative_digits, "log T", "Andersson et al. 2024"),
    Counter("smooth, unbalanced", "Laplace", unbalanced, "log T", SMOOTH),
)
