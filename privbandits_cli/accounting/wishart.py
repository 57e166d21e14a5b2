"""The privacy loss of Wishart noise W_p(L~² I, k) on a sum of [x; y] [x; y]' over rows of norm at most L~.

Let one row a = L~ √r u with |u| = 1 be added or removed. All that distinguishes N + a a' from N is the Schur complement
1/(u' N^-1 u). It is L~² C without the row, where C ~ χ² with ν = k - p + 1 degrees of freedom, and L~² (C + r) with it.
So the mechanism is the location family of χ²_ν. Its density is log-concave for ν >= 2: the best tests are half-lines,
and the power of each grows with r. The worst row has r = 1. With it and without it, the losses are

    1/2 - (ν - 2)/2 ln(1 + 1/C),     -1/2 - (ν - 2)/2 ln(1 - 1/C), infinite for C <= 1.

Let a row be replaced by another. For orthogonal rows of norm L~ the loss is -(ν - 2)/2 ln(1 + (W22 - W11 - 1)/det W)
with a 2 x 2 block W ~ W_2(I, ν + 1). The row of zeros is a row, too, so to replace may mean to remove or to add. With
few rows of noise or a small δ, to remove is worse than orthogonal rows; the worst of the three counts. That no other
pair of rows is worse was computed for pairs on a grid of norms and angles, not proved; its status is `numeric`. The
following is proved. The noise is the sum of two independent parts with half the rows each, of which one hides that a
row was removed and the other that one was added. So replacing costs at most one loss of each kind at k/2.

The losses of several nodes add up. Their law is convolved on a grid to which losses are rounded up, so that δ is not
understated, except for the rounding errors of the Fourier transform of about 1e-15. δ below 1e-9 is refused.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal

import numpy as np

from privbandits_cli.accounting import gaussian
from privbandits_cli.numerics.text import exact
from privbandits_cli.numerics.types import Floats

Change = Literal["add", "remove", "replace"]
Cdf = Callable[[Floats], Floats]

GRID = 2**18
TAIL = 9.0  # standard deviations of the sum that the grid covers, with a margin for skewness
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


def _moments(law: Cdf, most: float) -> tuple[float, float]:
    """The mean and standard deviation of one loss, from its distribution function on [-most, most]."""
    edges = np.linspace(-most, most, 20_001)
    mass = np.diff(law(edges))
    middle = (edges[1:] + edges[:-1]) / 2
    mean = float(mass @ middle)
    return mean, math.sqrt(float(mass @ (middle - mean) ** 2))


class Losses:
    """The law of the sum of the losses of several nodes, on a grid to which losses are rounded up."""

    def __init__(self, changes: Sequence[Change], freedom: float, nodes: int) -> None:
        """The losses of each of these changes at each of `nodes` nodes with ν = `freedom`."""
        laws = [cdf(change, freedom) for change in changes]
        moments = [_moments(law, reach(freedom)) for law in laws]
        centre = nodes * sum(mean for mean, _ in moments)
        spread = math.sqrt(nodes * sum(sd**2 for _, sd in moments))
        span = 2 * (TAIL * spread + 6 * max(sd for _, sd in moments))
        step = span / GRID
        transform, self.infinite, first = np.ones(GRID // 2 + 1, np.complex128), 0.0, 0
        for law, (mean, _) in zip(laws, moments, strict=True):
            start = math.floor((mean - span / 2) / step)
            edges: Floats = (start + np.arange(GRID + 1, dtype=np.float64)) * step
            below = law(edges)
            mass = np.diff(below)  # the losses in (edge, next edge], rounded up to the next edge
            mass[0] += below[0]
            transform *= np.fft.rfft(np.asarray(mass, np.float64)) ** nodes
            first += nodes * (start + 1)
            self.infinite += nodes * float(1 - below[-1])
        summed = np.fft.irfft(transform, GRID)
        turn = round((centre - span / 2) / step) - first  # rotates the cyclic convolution to the window of the sum
        self.mass = np.maximum(np.roll(summed, -(turn % GRID)), 0)
        self.losses = (first + turn + np.arange(GRID)) * step

    def delta(self, epsilon: float) -> float:
        """δ(ε)."""
        over = self.losses > epsilon
        spent = -np.expm1(epsilon - self.losses[over]) @ self.mass[over]
        return min(1.0, float(spent) + self.infinite)

    def epsilon(self, delta: float) -> float:
        """The least ε at this δ, infinite if there is none."""
        from scipy import optimize

        if not LEAST_DELTA <= delta < 1:
            raise ValueError(f"delta must lie in [{exact(LEAST_DELTA)}, 1) for Wishart noise, got {delta}")
        if self.delta(0.0) <= delta:
            return 0.0
        most = float(self.losses[-1])
        if self.delta(most) > delta:
            return math.inf
        return float(optimize.brentq(lambda x: self.delta(x) - delta, 0.0, most, rtol=1e-12))


def epsilon(delta: float, freedom: float, nodes: int, replace: bool = True) -> float:
    """The ε at δ of `nodes` nodes with ν = `freedom`, if a row is replaced (numeric), or added or removed (exact)."""
    return max(_epsilon(change, delta, freedom, nodes) for change in _changes(replace))


def _changes(replace: bool) -> tuple[Change, ...]:
    """The changes of which the worst counts, the one that is so most often first."""
    return ("replace", "remove", "add") if replace else ("remove", "add")


@cache
def _epsilon(change: Change, delta: float, freedom: float, nodes: int) -> float:
    return Losses((change,), freedom, nodes).epsilon(delta)


@cache
def epsilon_by_halves(delta: float, half_freedom: float, nodes: int) -> float:
    """The proved bound on ε at δ if a row is replaced; `half_freedom` is ν of half the rows, k/2 - d."""
    return Losses(("add", "remove"), half_freedom, nodes).epsilon(delta)


@cache
def freedom(epsilon_: float, delta: float, nodes: int, replace: bool = True) -> float:
    """The ν at which `nodes` nodes have this ε at δ, the inverse of `epsilon`; ValueError above about MOST_FREEDOM."""
    from scipy import optimize

    mu = gaussian.mu_of(epsilon_, delta)
    if mu**2 * MOST_FREEDOM < nodes:
        what = f"ε = {exact(epsilon_)} at δ = {exact(delta)}"
        raise ValueError(f"{what} takes more than {MOST_FREEDOM:.0e} rows of Wishart noise")
    guess = nodes / mu**2 * (1 if replace else 0.5)
    low, high = math.log(max(2.5, guess / 3)), math.log(10 + 3 * guess)
    found = 0.0
    for change in _changes(replace):

        def excess(logarithm: float, change: Change = change) -> float:  # δ(ε) takes less time than ε(δ)
            needed = Losses((change,), math.exp(logarithm), nodes).delta(epsilon_)
            return math.log(max(needed, LEAST_DELTA**2) / delta)

        if not found or excess(math.log(found)) > 0:  # each δ falls in ν, so the largest ν is that of their maximum
            found = math.exp(float(optimize.brentq(excess, low, high, xtol=1e-5)))
    return found
