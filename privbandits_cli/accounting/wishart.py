"""The privacy loss of Wishart noise W_p(L~² I, k) on a sum of [x; y] [x; y]' over rows of norm at most L~.

Let ν = k - p + 1 and C ~ χ²_ν. A row of norm L~ that is added has the first loss, one that is removed the second:

    1/2 - (ν - 2)/2 ln(1 + 1/C),     -1/2 - (ν - 2)/2 ln(1 - 1/C), infinite for C <= 1.

If a row is replaced, the worst loss of some pairs of rows is computed. That no other pair is worse is not proved. It is
proved that replacing a row costs at most one loss of each kind at k/2 (`docs/privacy/privacy_loss.md`).

δ below 1e-9 is refused, because the masses have an error of about 1e-16.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal

import numpy as np

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.privacy_loss import PrivacyLoss, composed
from privbandits_cli.numerics.text import exact
from privbandits_cli.numerics.types import Floats

Change = Literal["add", "remove", "replace"]
CHANGES: tuple[Change, ...] = ("replace", "remove", "add")  # of which the worst counts, the likeliest first
Cdf = Callable[[Floats], Floats]

GRID = 2**18
TAIL = 9.0  # GRID points reach so many standard deviations of the sum to each side, and a margin for skewness
MOST_FREEDOM = 1e7  # beyond this, the computation would take minutes
LEAST_DELTA = 1e-9


def cdf(change: Change, freedom: float) -> Cdf:
    """The distribution function of the loss of one node, ν = `freedom` > 2."""
    if not freedom > 2:
        raise ValueError(f"ν = k - d must exceed 2, got {freedom}")
    return _replaced(freedom) if change == "replace" else _shifted(change, freedom)


def _shifted(change: Change, freedom: float) -> Cdf:
    """C against C + 1: a row is added or removed."""
    from scipy import special

    half = (freedom - 2) / 2
    sign, tail = (1.0, special.gammainc) if change == "add" else (-1.0, special.gammaincc)

    def law(loss: Floats) -> Floats:  # it increases in C to 1/2 if a row is added, and falls to -1/2 if one is removed
        room = np.maximum(0.5 - sign * loss, 0)
        with np.errstate(divide="ignore", over="ignore"):
            at = np.where(room > 0, sign / np.expm1(sign * room / half), np.inf)
        return np.asarray(tail(freedom / 2, at / 2), np.float64)

    return law


def _replaced(freedom: float) -> Cdf:
    """Orthogonal rows: W = T T' with x = T11² ~ χ²_{ν+1}, z = T21, y = T22² ~ χ²_ν.

    x and z are integrated by quadrature, y by its distribution function. The result is smooth, so it is interpolated
    between 2049 points.
    """
    from scipy import interpolate, special, stats

    points, weights = np.polynomial.legendre.leggauss(48)
    spread = math.sqrt(2 * (freedom + 1))
    low, high = max(0.0, freedom + 1 - 10 * spread), freedom + 1 + 14 * spread
    x = (low + high) / 2 + (high - low) / 2 * points
    x_weights = weights * stats.chi2.pdf(x, freedom + 1)
    z, z_weights = np.polynomial.hermite_e.hermegauss(16)
    ends = np.linspace(-reach(freedom), reach(freedom), 2049)
    slope = np.exp(-2 / (freedom - 2) * ends)[:, None] - 1 - 1 / x  # = (z² - x - 1)/(x y)
    total = np.zeros(len(ends))
    for z2, z_weight in zip(z[z > 0] ** 2, z_weights[z > 0] / z_weights[z > 0].sum(), strict=True):
        y = np.where(slope < 0, (z2 - x - 1) / (x * np.where(slope < 0, slope, -1)), np.inf)
        total += z_weight * (special.gammaincc(freedom / 2, np.maximum(y, 0) / 2) @ (x_weights / x_weights.sum()))
    between = interpolate.PchipInterpolator(ends, np.maximum.accumulate(total))

    def law(loss: Floats) -> Floats:
        below: Floats = np.clip(between(np.clip(loss, ends[0], ends[-1])), 0, 1)
        return below

    return law


def reach(freedom: float) -> float:
    """A bound that the loss of one node exceeds with negligible probability, ν = `freedom`."""
    return 14 / math.sqrt(freedom) + 60 / freedom


def _deviation(law: Cdf, most: float) -> float:
    """The standard deviation of one loss, from its distribution function on [-most, most]."""
    edges = np.linspace(-most, most, 20_001)
    mass = np.diff(law(edges))
    middle = (edges[1:] + edges[:-1]) / 2
    return math.sqrt(float(mass @ (middle - float(mass @ middle)) ** 2))


def losses(changes: Sequence[Change], freedom: float, nodes: int) -> PrivacyLoss:
    """The law of the sum of losses, one for each change at each of `nodes` nodes with ν = `freedom`, rounded up."""
    laws = [cdf(change, freedom) for change in changes]
    deviations = [_deviation(law, reach(freedom)) for law in laws]
    spread = math.sqrt(nodes * sum(sd**2 for sd in deviations))
    step = 2 * (TAIL * spread + 6 * max(deviations)) / GRID
    last = math.ceil(reach(freedom) / step)
    edges: Floats = np.arange(-last, last + 1, dtype=np.float64) * step
    return composed([(PrivacyLoss.rounded_up(law, edges), nodes) for law in laws])


def epsilon(delta: float, freedom: float, nodes: int) -> float:
    """The ε at δ of `nodes` nodes with ν = `freedom`, if a row is replaced (numeric), removed or added (exact)."""
    return max(_epsilon((change,), delta, freedom, nodes) for change in CHANGES)


def epsilon_by_halves(delta: float, half_freedom: float, nodes: int) -> float:
    """The proved bound on ε at δ if a row is replaced; `half_freedom` is ν of half the rows, k/2 - d."""
    return _epsilon(("add", "remove"), delta, half_freedom, nodes)


@cache
def _epsilon(changes: tuple[Change, ...], delta: float, freedom: float, nodes: int) -> float:
    if not LEAST_DELTA <= delta < 1:
        raise ValueError(f"delta must lie in [{exact(LEAST_DELTA)}, 1) for Wishart noise, got {delta}")
    return losses(changes, freedom, nodes).epsilon(delta)


@cache
def freedom(epsilon_: float, delta: float, nodes: int) -> float:
    """The ν at which `nodes` nodes have this ε at δ, the inverse of `epsilon`; ValueError above about MOST_FREEDOM."""
    from scipy import optimize

    mu = gaussian.mu_of(epsilon_, delta)
    if mu**2 * MOST_FREEDOM < nodes:
        what = f"ε = {exact(epsilon_)} at δ = {exact(delta)}"
        raise ValueError(f"{what} takes more than {MOST_FREEDOM:.0e} rows of Wishart noise")
    guess = nodes / mu**2
    low, high = math.log(max(2.5, guess / 3)), math.log(10 + 3 * guess)
    found = 0.0
    for change in CHANGES:

        def excess(logarithm: float, change: Change = change) -> float:  # δ(ε) takes less time than ε(δ)
            needed = losses((change,), math.exp(logarithm), nodes).delta(epsilon_)
            return math.log(max(needed, LEAST_DELTA**2) / delta)

        if not found or excess(math.log(found)) > 0:  # each δ falls in ν, so the largest ν is that of their maximum
            found = math.exp(float(optimize.brentq(excess, low, high, xtol=1e-5)))
    return found
