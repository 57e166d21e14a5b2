"""Tests for audits, valid at level alpha for every score, because they only use the counts of an event.

A claim states that P(X in S) <= e^ε P(Y in S) + δ for every event S, where X and Y are what is observed under two
neighbouring inputs. Any event is valid if it is chosen on data that the test does not use; a poor choice costs power,
never validity. The events are half-lines of a score. None depends on the last bits of a float.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.numerics.types import Floats

Test = Literal["bets", "counts"]

ENOUGH = 32  # numbers, at least, in a group whose scale is tested
FEWEST = 1024  # numbers, at least, of a test of all of them
FIRST = 6  # the first window ends with round 2^FIRST
LARGEST = 50.0  # no count can reach this ε: a run would need e^50 rounds


@dataclass(frozen=True)
class Event:
    """`score > threshold` if `above`, else `score < threshold`; X is the second world if `swapped`, else the first."""

    threshold: float
    above: bool
    swapped: bool

    def hits(self, x: Floats, y: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which scores of the two worlds lie in the event; the world in which it should be likelier comes first."""
        first, second = (y, x) if self.swapped else (x, y)
        if self.above:
            return first > self.threshold, second > self.threshold
        return first < self.threshold, second < self.threshold


def best_event(x: Floats, y: Floats, epsilon: float, delta: float) -> Event:
    """The half-line on which a bet grows fastest on these scores, among 64 quantiles, both sides and directions."""
    pooled = np.unique(np.quantile(np.concatenate([x, y]), np.linspace(0, 1, 64)))
    between = (pooled[1:] + pooled[:-1]) / 2 if len(pooled) > 1 else pooled
    odds = math.exp(min(epsilon, LARGEST))

    def growth(event: Event) -> float:
        """The mean over the standard deviation of a bet's gain, regularised."""
        p, q = (float(hits.mean()) for hits in event.hits(x, y))
        return (p - odds * q - delta) / math.sqrt(p + odds**2 * q + 1e-9)

    events = product(between.tolist(), (True, False), (False, True))
    return max((Event(*event) for event in events), key=growth)


def bet(x_hits: NDArray[np.bool_], y_hits: NDArray[np.bool_], epsilon: float, delta: float, alpha: float) -> int | None:
    """The number of pairs after which a bet against the claim reaches 1/α; None if it never does.

    Wealth Π (1 + λ_i Z_i) with Z = 1{X in S} - e^ε 1{Y in S} - δ and λ_i from the pairs before i, in
    [0, 1/(e^ε + δ)). Under the claim the wealth is a supermartingale, so it ever reaches 1/α with probability at most α
    (Ville). λ is the mean over the mean square of the past, which is growth-rate optimal.
    """
    if epsilon > LARGEST:
        return None
    z = x_hits - math.exp(epsilon) * y_hits - delta
    most = 0.5 / (math.exp(epsilon) + delta)
    before = np.arange(len(z))
    mean = np.concatenate([[0.0], np.cumsum(z)[:-1]]) / (before + 1)
    square = (np.concatenate([[0.0], np.cumsum(z**2)[:-1]]) + 1.0) / (before + 1)
    wealth = np.cumsum(np.log1p(np.clip(mean / square, 0.0, most) * z))
    reached = np.flatnonzero(wealth >= math.log(1 / alpha))
    return int(reached[0]) + 1 if len(reached) else None


def clopper_pearson(hits: int, n: int, alpha: float) -> tuple[float, float]:
    """The lower and the upper confidence limit of a probability, each wrong with probability at most α."""
    from scipy import stats

    low = float(stats.beta.ppf(alpha, hits, n - hits + 1)) if hits else 0.0
    high = float(stats.beta.ppf(1 - alpha, hits + 1, n - hits)) if hits < n else 1.0
    return low, high


def epsilon_from_counts(x_hits: Any, y_hits: Any, delta: float, alpha: float) -> float:
    """A lower limit on ε at δ, wrong with probability at most α: ln((p_low - δ)/q_high), α/2 for each side."""
    low, _ = clopper_pearson(int(np.sum(x_hits)), len(x_hits), alpha / 2)
    _, high = clopper_pearson(int(np.sum(y_hits)), len(y_hits), alpha / 2)
    return max(0.0, math.log(max(low - delta, 1e-300) / high))


def counts(
    x_hits: NDArray[np.bool_], y_hits: NDArray[np.bool_], epsilon: float, delta: float, alpha: float
) -> int | None:
    """The number of pairs if the limits of their counts refute the claim at level α; else None."""
    return len(x_hits) if epsilon_from_counts(x_hits, y_hits, delta, alpha) > epsilon else None


def refutable(n: int, p: float, epsilon: float, delta: float, alpha: float) -> float | None:
    """The least true ε at which a bet over n pairs is expected to refute the claim (ε, δ); None if there is none.

    p: probability of the event in its likelier world. In the other world it is (p - δ) e^-ε', where ε' is the true ε.
    """
    from scipy import optimize

    def growth(true: float) -> float:
        q = max(0.0, p - delta) * math.exp(-true)
        mean = p - math.exp(epsilon) * q - delta
        square = p + math.exp(2 * epsilon) * q
        stake = min(max(0.0, mean) / square, 0.5 / (math.exp(epsilon) + delta))
        outcomes = ((p, q), (p, 1 - q), (1 - p, q), (1 - p, 1 - q))
        gains = (1 - math.exp(epsilon) - delta, 1 - delta, -math.exp(epsilon) - delta, -delta)
        grown = sum(a * b * math.log1p(stake * z) for (a, b), z in zip(outcomes, gains, strict=True))
        return n * grown - math.log(1 / alpha)

    most = LARGEST
    if epsilon >= most or p <= delta or growth(most) < 0:
        return None
    return float(optimize.brentq(growth, epsilon, most))


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


def windows(rounds: NDArray[np.int64]) -> dict[str, NDArray[np.bool_]]:
    """Which of `rounds[n]`, from 1 on, lie in each window between two powers of two; the first window is longer."""
    power = np.maximum(np.frexp(rounds - 1)[1], FIRST)
    return {
        f"rounds {2 ** (k - 1) + 1 if k > FIRST else 1:,} to {2**k:,}": power == k for k in np.unique(power).tolist()
    }


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
