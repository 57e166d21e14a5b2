"""How likely a noisy sum of a worse arm overtakes that of the best one, and designs of a fixed number of plays.

The errors of designs follow from it by unions (ours, docs/privacy/best_arm.md).

Units: plays of an arm, users in all. Domain: means in [0, 1], gains in [0, 1], 0 < ε <= infinity, 0 < δ < 1.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from privbandits_cli.identification.costs import noisy_kl
from privbandits_cli.numerics.types import Floats

STEPS = 100
LARGEST = 60.0  # of λ


def log_overtaking(best: float, worse: float, n: float, numbers: float, epsilon: float) -> float:
    """ln p_a(n, j), the least -2j ln(1 - λ²/ε²) + n ln((1 - μ* + μ* e^-λ)(1 - μ_a + μ_a e^λ)) over 0 <= λ < ε.

    p_a bounds the probability that the sum of n gains and j numbers Lap(1/ε) of a worse arm is at least that of the
    best arm (ours, Chernoff's bound). What is minimised is convex in λ.
    """

    def exponent(rate: float) -> float:
        if rate >= epsilon:
            return math.inf
        gains = math.log1p((1 - best) * math.expm1(rate)) - rate + math.log1p(worse * math.expm1(rate))
        return n * gains - 2 * numbers * math.log1p(-((rate / epsilon) ** 2))

    low, high = 0.0, min(epsilon, LARGEST)
    for _ in range(STEPS):
        third = (high - low) / 3
        low, high = (low, high - third) if exponent(low + third) < exponent(high - third) else (low + third, high)
    return min(0.0, exponent(0.5 * (low + high)))


# ------------------------------------------------------------------------------------------ one release


def planning_means(n_arms: int, gap: float, centre: float = 0.5) -> Floats:
    """The instance on which a study is planned: the best arm leads all others by `gap`, around `centre`."""
    means = np.full(n_arms, centre - 0.5 * gap)
    means[0] = centre + 0.5 * gap
    return means


def one_shot_plays(n_arms: int, gap: float, epsilon: float, delta: float, centre: float = 0.5, numbers: int = 1) -> int:
    """The least n with (K - 1) p(n, j) <= δ: plays of each arm, if the arm with the largest noisy sum is the answer.

    numbers: j, the Laplace numbers in each sum. The error is at most δ if the best arm leads by at least `gap`.
    Whatever the means are, an arm that is worse than the best one by `gap` or more is the answer with probability at
    most δ, if centre = ½ (docs/privacy/best_arm.md).
    """
    best, worse = centre + 0.5 * gap, centre - 0.5 * gap
    wanted = math.log(delta / (n_arms - 1))
    return least_plays(lambda n: log_overtaking(best, worse, n, numbers, epsilon) <= wanted)


def least_plays(enough: Callable[[int], bool]) -> int:
    """The least n >= 1 that is enough, if every larger one is, too."""
    high = 1
    while not enough(high):
        high *= 2
    between = range(high // 2 + 1, high)
    return between.start + bisect_left(between, True, key=enough)


def z_test_plays(low: float, high: float, error: float, power: float) -> int:
    """The users of each of two versions in the usual calculators: a two-sided z-test of two rates (Fleiss 1981).

    (z(1 - error/2) √(2p(1 - p)) + z(power) √(p_1(1 - p_1) + p_2(1 - p_2)))²/(p_1 - p_2)², p the mean of both rates. It
    is the normal approximation, without privacy; `one_shot_plays` answers another question.
    """
    quantile, both = NormalDist().inv_cdf, 0.5 * (low + high)
    same, apart = 2 * both * (1 - both), low * (1 - low) + high * (1 - high)
    width = quantile(1 - 0.5 * error) * math.sqrt(same) + quantile(power) * math.sqrt(apart)
    return math.ceil((width / (high - low)) ** 2)


# ------------------------------------------------------------------------------------------ one mean


def one_shot_test(null: float, alternative: float, epsilon: float, delta: float) -> tuple[int, float]:
    """The least n, and a mean x, for a test by one noisy sum: `alternative` if it is above nx, else `null`.

    Each of the two errors has probability at most δ: n D(1 - x, 1 - null) and n D(x, alternative) are at least ln(1/δ),
    with D of `costs.noisy_kl` for one Laplace number (Lemma 1 of docs/privacy/best_arm.md).
    """

    def evidence(n: int) -> tuple[float, float]:
        """The larger one of the least evidences of both errors, and the x that has it."""
        share, low, high = 1 / n if epsilon < math.inf else 0.0, null, alternative
        for _ in range(STEPS):
            x = 0.5 * (low + high)
            errors = divergence(1 - x, 1 - null, share, epsilon), divergence(x, alternative, share, epsilon)
            low, high = (x, high) if errors[0] < errors[1] else (low, x)
        return n * min(errors), x

    n = least_plays(lambda n: evidence(n)[0] >= -math.log(delta))
    return n, evidence(n)[1]


def divergence(x: float, y: float, share: float, epsilon: float) -> float:
    """`costs.noisy_kl`, or kl without privacy, with all digits for means that are close. Domain: 0 < x <= y < 1."""
    if epsilon < math.inf:
        return noisy_kl(x, y, share, epsilon)
    return -x * math.log1p((y - x) / x) - (1 - x) * math.log1p((x - y) / (1 - x))
