"""Characteristic times of best-arm identification, and lower bounds on the expected number of plays.

An instance is a list of means of Bernoulli arms with one best arm. With weights w of the plays, the cost of confusing
the best arm with arm a is C(μ*, μ_a; w*, w_a), and 1/T* is the largest min over a of this cost, over all weights
(Garivier & Kaufmann 2016). T*_KL has the cost without privacy, T*_ε that of `private_transport` (Jourdan & Azize 2025).

At the optimum all costs are equal. For a level y let r_a(y) be the weight at which C(μ*, μ_a; 1, r_a) = y. Then 1/T* is
the largest y/(1 + Σ r_a(y)), which has one maximum, as Σ r_a is convex. Costs saturate, so that it may be at the end.

Units: plays. Domain: means in [0, 1], 0 < ε <= infinity, 0 < δ < 1; ValueError for ties at the top or one arm only.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from privbandits_cli.identification.costs import d_minus, private_transport
from privbandits_cli.numerics.jit import compiled
from privbandits_cli.numerics.types import Floats

GOLDEN = 0.5 * (math.sqrt(5) - 1)
STEPS = 90  # of a search; the interval is multiplied by GOLDEN or ½ in each
END = 1 - 1e-12  # where a cost is taken to be saturated
WIDEST = 60.0  # the largest |ln r| of a ratio r of weights
HALVINGS = 60

Ratios = Callable[[float], Floats]  # r_a(y) of the worse arms at a level y


def split(means: Sequence[float] | Floats) -> tuple[int, float, Floats]:
    """The best arm, its mean, and the means of the others."""
    found = np.asarray(means, float)
    if len(found) < 2:
        raise ValueError("best-arm identification needs at least two arms")
    best = int(np.argmax(found))
    others = np.delete(found, best)
    if others.max() >= found[best]:
        raise ValueError(f"two arms have the largest mean, {found[best]:.6g}: there is no best arm")
    return best, float(found[best]), others


def fill_ratios(top: float, others: Floats, level: float, epsilon: float, out: Floats) -> None:
    """Set `out[a]` to the r at which the cost of arm a is `level`, by bisection of ln r."""
    for a in range(len(others)):
        low, high = -WIDEST, WIDEST
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if private_transport(top, others[a], 1.0, math.exp(middle), epsilon) < level:
                low = middle
            else:
                high = middle
        out[a] = math.exp(high)


def private_ratios(top: float, others: Floats, epsilon: float) -> tuple[Ratios, float]:
    """r_a(y) for the cost with ε, and the level at which the first of them is infinite, or e^WIDEST."""

    def ratios(level: float) -> Floats:
        out = np.empty(len(others))
        compiled(fill_ratios)(top, others, level, epsilon, out)
        return out

    ends = [(d_minus(top, low, epsilon), private_transport(top, low, 1.0, math.exp(WIDEST), epsilon)) for low in others]
    return ratios, min(map(min, ends))


def gaussian_ratios(top: float, others: Floats) -> tuple[Ratios, float]:
    """The same for Gaussian arms with variance 1: C = (μ* - μ_a)² w* w_a / (2 (w* + w_a))."""
    limits = 0.5 * (top - others) ** 2
    return lambda level: level / (limits - level), float(limits.min())


def largest_level(ratios: Ratios, end: float) -> tuple[float, Floats]:
    """The level y < end at which y/(1 + Σ r_a(y)) is largest, and the ratios there."""

    def value(level: float) -> float:
        return float(level / (1 + ratios(level).sum()))

    low, high = 0.0, end
    for _ in range(STEPS):
        third = GOLDEN * (high - low)
        if value(high - third) < value(low + third):
            low = high - third
        else:
            high = low + third
    level = max(0.5 * (low + high), end * END, key=value)
    return level, ratios(level)


def optimum(means: Sequence[float] | Floats, epsilon: float) -> tuple[float, Floats]:
    """T*_ε and the weights `[arms]` that attain it; ε = infinity is T*_KL."""
    best, top, others = split(means)
    level, found = largest_level(*private_ratios(top, others, epsilon))
    weights = np.insert(found, best, 1.0) / (1 + found.sum())
    return float(1 / (level * weights[best])), weights


def characteristic_time(means: Sequence[float] | Floats, epsilon: float = math.inf) -> float:
    """T*_ε; T*_KL for ε = infinity."""
    return optimum(means, epsilon)[0]


def total_variation_time(means: Sequence[float] | Floats) -> float:
    """T*_TV = 1/Δmin + Σ 1/Δ_a, whose cost is min(w*, w_a) Δ_a (Azize et al. 2023; closed form for Bernoulli arms)."""
    _, top, others = split(means)
    return float(1 / (top - others).min() + np.sum(1 / (top - others)))


def gaussian_time(means: Sequence[float] | Floats) -> float:
    """T*_G, the characteristic time of Gaussian arms with variance 1."""
    _, top, others = split(means)
    level, ratios = largest_level(*gaussian_ratios(top, others))
    return float((1 + ratios.sum()) / level)


def local_time(means: Sequence[float] | Floats, epsilon: float) -> float:
    """The factor of the lower bound with local ε: max(T*_KL, T*_G/(2c)), c = min(4, e^2ε)(e^ε - 1)² (slides)."""
    c = min(4.0, math.exp(2 * min(epsilon, 1.0))) * math.expm1(min(epsilon, 300.0)) ** 2
    return max(characteristic_time(means), gaussian_time(means) / (2 * c))


# ------------------------------------------------------------------------------------------ bounds on E τ


def binary_kl(delta: float) -> float:
    """kl(δ, 1 - δ)."""
    return (1 - 2 * delta) * (math.log1p(-delta) - math.log(delta))


def lower_bound(means: Sequence[float] | Floats, epsilon: float, delta: float) -> float:
    """E τ of every δ-correct ε-DP algorithm is at least max(T*_KL kl(δ, 1 - δ), T*_ε ln(1/(3δ)))."""
    without = characteristic_time(means) * binary_kl(delta)
    return max(without, characteristic_time(means, epsilon) * -math.log(3 * delta))


def lower_bound_2023(means: Sequence[float] | Floats, epsilon: float, delta: float) -> float:
    """The older bound max(T*_KL, T*_TV/ε) ln(1/(3δ)) (Azize et al. 2023, without the 6 by Azize 2024)."""
    return max(characteristic_time(means), total_variation_time(means) / epsilon) * -math.log(3 * delta)


def local_lower_bound(means: Sequence[float] | Floats, epsilon: float, delta: float) -> float:
    """E τ with ε-local privacy is at least `local_time` times ln(1/(2.4 δ))."""
    return local_time(means, epsilon) * -math.log(2.4 * delta)
