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


def by_groups(noise: Floats, groups: Mapping[str, NDArray[np.bool_]], level: float) -> Conformance:
    """Test numbers as independent standard Laplace noise, altogether and in groups.

    noise: `[n]`, numbers of one release next to each other; groups: which numbers belong to each; level: of the test
    that follows, for `share`.

    Size and shape, in every group: Σ|noise| has the law Gamma(n); the Kolmogorov-Smirnov test. Independence: the
    correlation of the ranks of neighbours, which noise has that numbers of one release have in common.
    """
    from scipy import stats

    parts = {"": noise} | {name: noise[members] for name, members in groups.items() if members.any()}
    sizes = {name: (len(own), float(np.abs(own).sum())) for name, own in parts.items()}
    tests = 2 * len(parts) + 1
    larger = min(1.0, tests * min(float(stats.gamma.sf(total, n)) for n, total in sizes.values()))
    scale = max(1.0, sizes[""][1] / len(noise)) if larger < level else 1.0  # the shape of larger noise is its own
    found = {
        name: min(float(stats.gamma.cdf(total, n)), float(stats.kstest(parts[name] / scale, stats.laplace.cdf).pvalue))
        for name, (n, total) in sizes.items()
    }
    found[""] = min(found[""], _independence(noise))
    where = min(found, key=lambda name: found[name])
    shares = {name: _share(n, level / tests) for name, (n, _) in sizes.items()}
    weakest = min(shares, key=lambda name: shares[name])
    return Conformance(min(1.0, tests * found[where]), where, larger, shares[weakest], weakest)


def _share(n: int, level: float) -> float:
    """The share of its scale at which the size of n Laplace numbers is found too small with probability 0.95."""
    from scipy import stats

    return float(stats.gamma.ppf(level, n) / stats.gamma.ppf(0.95, n))


def _independence(noise: Floats) -> float:
    """The p-value of the correlation of neighbours' ranks, on [-1/2, 1/2], by the normal limit."""
    from scipy import stats

    if len(noise) < FEWEST:  # too few for the normal limit
        return 1.0
    ranks = stats.laplace.cdf(noise) - 0.5
    products = 12 * ranks[1:] * ranks[:-1]  # mean 0, variance 1, uncorrelated
    return float(2 * stats.norm.sf(abs(products.sum()) / math.sqrt(len(products))))


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
