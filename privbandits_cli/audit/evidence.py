"""The test of noise whose law is known: numbers that should be independent standard Laplace noise, in groups.

It is valid at the level of the audit. None of its parts depends on the last bits of a float.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.numerics.types import Floats

FEWEST = 1024  # numbers, at least, of a test of all of them


@dataclass(frozen=True)
class Conformance:
    """How noise compares with its law.

    p: the p-value of noise that is too small, or not of this law, over all tests (Bonferroni); where: the group of
    numbers that has it; more: the p-value of noise that is only too large, which wastes accuracy, not privacy.
    share: noise of this share of its scale, in the group `weakest`, would have been detected with probability 0.95.
    """

    p: float
    where: str = ""
    more: float = 1.0
    share: float | None = None
    weakest: str = ""


def by_groups(
    noise: Floats,
    groups: Mapping[str, NDArray[np.bool_]],
    level: float,
    coins: Floats | None = None,
    width: float = 1e-12,
    arms: NDArray[np.int64] | None = None,
) -> Conformance:
    """Test numbers as independent standard Laplace noise, altogether and in groups.

    noise: `[n]`, in the order of the rounds; groups: which numbers belong to each; level: of the test that follows,
    for `share`; coins: `[n]`, 0 or 1, which of two data each number hides; width: a smaller difference of two
    numbers is rounding; arms: `[n]`, the arm played with each number.

    Size, in every group: Σ|noise| has the law Gamma(n). Shape: the Kolmogorov-Smirnov test. Freshness: the number of
    pairs with noise that is equal up to rounding. Independence: the correlation of the ranks of neighbours. Data: the
    share of Σ|noise| that one side of the coin has is Beta(n₁, n₀). Arms: the noise that comes with each is symmetric.
    """
    from scipy import stats

    everywhere = np.ones(len(noise), bool)
    parts = {"": everywhere} | {name: members for name, members in groups.items() if members.any()}
    sizes = {name: (int(own.sum()), float(np.abs(noise[own]).sum())) for name, own in parts.items()}
    less = {name: float(stats.gamma.cdf(total, n)) for name, (n, total) in sizes.items()}
    more = {name: float(stats.gamma.sf(total, n)) for name, (n, total) in sizes.items()}
    tests = len(parts) + 5  # and five of all numbers together
    larger = min(1.0, tests * min(more.values()))
    scale = max(1.0, sizes[""][1] / len(noise)) if larger < level else 1.0  # the shape of larger noise is its own
    whole = [_shape(noise / scale), _freshness(noise / scale, width), _independence(noise), _data(noise, coins)]
    whole.append(_arms(noise, arms))
    where = min(less, key=lambda name: less[name])
    p = min(less[where], *whole)
    if p < less[where]:
        where = ""
    shares = {name: _share(n, level / tests) for name, (n, _) in sizes.items()}
    weakest = min(shares, key=lambda name: shares[name])
    return Conformance(min(1.0, tests * p), where, larger, shares[weakest], weakest)


def _share(n: int, level: float) -> float:
    """The share of its scale at which the size of n Laplace numbers is found too small with probability 0.95."""
    from scipy import stats

    return float(stats.gamma.ppf(level, n) / stats.gamma.ppf(0.95, n))


def _shape(noise: Floats) -> float:
    from scipy import stats

    return float(stats.kstest(noise, stats.laplace.cdf).pvalue)


def _freshness(noise: Floats, width: float) -> float:
    from scipy import stats

    equal = int(np.sum(np.diff(np.sort(noise)) < width))
    expected = len(noise) ** 2 * width / 4  # ∫ density² = 1/4
    return float(stats.poisson.sf(equal - 1, expected)) if equal else 1.0


def _independence(noise: Floats) -> float:
    """The p-value of the correlation of neighbours' ranks, on [-1/2, 1/2], by the normal limit."""
    from scipy import stats

    if len(noise) < 1024:  # too few for the normal limit
        return 1.0
    ranks = stats.laplace.cdf(noise) - 0.5
    products = 12 * ranks[1:] * ranks[:-1]  # mean 0, variance 1, uncorrelated
    return float(2 * stats.norm.sf(abs(products.sum()) / math.sqrt(len(products))))


def _data(noise: Floats, coins: Floats | None) -> float:
    from scipy import stats

    if coins is None or not 0 < coins.sum() < len(coins):
        return 1.0
    ones, size = int(coins.sum()), np.abs(noise)
    law = stats.beta(ones, len(coins) - ones)
    share = float(size[coins > 0].sum() / size.sum()) if size.any() else 0.0
    return 2 * min(float(law.cdf(share)), float(law.sf(share)))


def _arms(noise: Floats, arms: NDArray[np.int64] | None) -> float:
    """The p-value of the ranks of the noise that comes with each arm, by the bound of self-normalised sums."""
    from scipy import stats

    if arms is None:
        return 1.0
    ranks, n = stats.laplace.cdf(noise) - 0.5, int(arms.max()) + 1
    sums, squares = np.bincount(arms, ranks, n), np.bincount(arms, ranks**2, n)
    bounds = 2 * np.exp(-(sums**2) / (2 * np.maximum(squares, 1e-300)))
    return min(1.0, n * float(bounds.min()))


def whole_as_laplace(noise: Floats, within: Floats, own: Floats) -> Floats:
    """Standard Laplace noise, if P(|k|) = `own` is the law of this noise of whole numbers; within: uniform numbers.

    Within a whole number the tail is uniform; the sign of 0 is that of 2 `within` - 1.
    """
    size, tails = np.abs(noise).astype(np.int64), np.append(np.cumsum(own[::-1])[::-1][1:], 0.0)
    zero = size == 0
    share = np.where(zero, np.abs(2.0 * within - 1.0) / 2.0, within)
    tail = np.maximum(tails[size] + share * own[size], 1e-300)
    made: Floats = np.sign(np.where(zero, 2.0 * within - 1.0, noise)) * -np.log(2.0 * tail)
    return made
