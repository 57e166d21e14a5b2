"""Wishart noise W_p(L~² I, k) on a sum of rows' [x; y] [x; y]', each of norm at most L~: its privacy loss, exactly.

Add or remove a row a = L~ √r u, |u| = 1: all that tells N + a a' from N is the Schur complement 1/(u' N^-1 u), which is
L~² C, C ~ χ² of ν = k - p + 1 degrees of freedom, and L~² (C + r) with the row. So the mechanism is the location
family of χ²_ν, whose density is log-concave for ν >= 2: the best tests are half-lines, and each gains with r. The worst
row has r = 1, and the losses are, with the row and without,

    1/2 - (ν - 2)/2 ln(1 + 1/C),     -1/2 - (ν - 2)/2 ln(1 - 1/C), infinite for C <= 1.

Replace a row by another: of orthogonal ones of norm L~ the loss is -(ν - 2)/2 ln(1 + (W22 - W11 - 1)/det W) of a block
W ~ W_2(I, ν + 1). That no pair of rows is worse was only computed: `numeric`. Proved is this: the noise is the sum of
two of half the rows, one hides that a row is gone, the other that one has come, so that replacing costs no more than
one loss of either kind at k/2.

Losses of nodes add up; their law is convolved on a grid to which losses are rounded up, so that δ is not understated,
but for the rounding of the Fourier transform, about 1e-15. Below δ = 1e-9 nothing is said.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal

import numpy as np

from privbandits_cli.accounting import gaussian
from privbandits_cli.numerics.types import Floats

Change = Literal["add", "remove", "replace"]
Cdf = Callable[[Floats], Floats]

GRID = 2**18
TAIL = 9.0  # standard deviations of the sum that the grid reaches, with room for skewness
MOST_FREEDOM = 1e7  # beyond, the account would take minutes
LEAST_DELTA = 1e-9


def cdf(change: Change, freedom: float) -> Cdf:
    """The distribution function of one node's loss, ν = `freedom` > 2."""
    if not freedom > 2:
        raise ValueError(f"ν = k - d must exceed 2, got {freedom}")
    return _replaced(freedom) if change == "replace" else _shifted(change, freedom)


def _shifted(change: Change, freedom: float) -> Cdf:
    """C against C + 1."""
    from scipy import special

    half = (freedom - 2) / 2

    def added(loss: Floats) -> Floats:  # more of C is more loss; 1/2 is the most
        with np.errstate(divide="ignore", over="ignore"):
            at = np.where(loss < 0.5, 1 / np.expm1(np.maximum(0.5 - loss, 0) / half), np.inf)
        return np.asarray(special.gammainc(freedom / 2, at / 2), np.float64)

    def removed(loss: Floats) -> Floats:  # less of C is more loss; -1/2 is the least
        with np.errstate(divide="ignore", over="ignore"):
            at = np.where(loss > -0.5, -1 / np.expm1(-np.maximum(loss + 0.5, 0) / half), np.inf)
        return np.asarray(special.gammaincc(freedom / 2, at / 2), np.float64)

    return added if change == "add" else removed


def _replaced(freedom: float) -> Cdf:
    """W = T T', x = T11² ~ χ²_{ν+1}, z = T21, y = T22² ~ χ²_ν: x and z by quadrature, y by its distribution.

    It is smooth: between 2049 points it is interpolated.
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
    """What hardly a loss of one node exceeds, ν = `freedom`."""
    return 14 / math.sqrt(freedom) + 60 / freedom


def _moments(law: Cdf, most: float) -> tuple[float, float]:
    """Mean and standard deviation of one loss, from its distribution function on [-most, most]."""
    edges = np.linspace(-most, most, 20_001)
    mass = np.diff(law(edges))
    middle = (edges[1:] + edges[:-1]) / 2
    mean = float(mass @ middle)
    return mean, math.sqrt(float(mass @ (middle - mean) ** 2))


class Losses:
    """The sum of the losses of some nodes, each of a law of its own: a law of losses on a grid, rounded up."""

    def __init__(self, changes: Sequence[Change], freedom: float, nodes: int) -> None:
        """Of `nodes` nodes with ν = `freedom` the losses of each of these changes."""
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
            mass = np.diff(below)  # of the losses in (edge, next edge], rounded up to the next
            mass[0] += below[0]
            transform *= np.fft.rfft(np.asarray(mass, np.float64)) ** nodes
            first += nodes * (start + 1)
            self.infinite += nodes * float(1 - below[-1])
        summed = np.fft.irfft(transform, GRID)
        turn = round((centre - span / 2) / step) - first  # of the cyclic convolution, to the window of the sum
        self.mass = np.maximum(np.roll(summed, -(turn % GRID)), 0)
        self.losses = (first + turn + np.arange(GRID)) * step

    def delta(self, epsilon: float) -> float:
        """δ(ε)."""
        over = self.losses > epsilon
        spent = -np.expm1(epsilon - self.losses[over]) @ self.mass[over]
        return min(1.0, float(spent) + self.infinite)

    def epsilon(self, delta: float) -> float:
        """The least ε of this δ; infinite where none is enough."""
        from scipy import optimize

        if not LEAST_DELTA <= delta < 1:
            raise ValueError(f"delta must lie in [{LEAST_DELTA:g}, 1) for Wishart noise, got {delta}")
        if self.delta(0.0) <= delta:
            return 0.0
        most = float(self.losses[-1])
        if self.delta(most) > delta:
            return math.inf
        return float(optimize.brentq(lambda x: self.delta(x) - delta, 0.0, most, rtol=1e-12))


@cache
def epsilon(delta: float, freedom: float, nodes: int, replace: bool = True) -> float:
    """ε at δ of `nodes` nodes with ν = `freedom`, where one row is replaced (numeric), or added or removed (exact)."""
    kinds: tuple[tuple[Change, ...], ...] = (("replace",),) if replace else (("add",), ("remove",))
    return max(Losses(changes, freedom, nodes).epsilon(delta) for changes in kinds)


@cache
def epsilon_by_halves(delta: float, half_freedom: float, nodes: int) -> float:
    """A bound on ε at δ where one row is replaced, proved; `half_freedom` is ν of half the rows, k/2 - d."""
    return Losses(("add", "remove"), half_freedom, nodes).epsilon(delta)


@cache
def freedom(epsilon_: float, delta: float, nodes: int, replace: bool = True) -> float:
    """The ν at which `nodes` nodes have this ε at δ: what `epsilon` inverts; ValueError beyond about MOST_FREEDOM."""
    from scipy import optimize

    mu = gaussian.mu_of(epsilon_, delta)
    if mu**2 * MOST_FREEDOM < nodes:
        raise ValueError(f"ε = {epsilon_:g} at δ = {delta:g} takes more than {MOST_FREEDOM:.0e} rows of Wishart noise")
    guess = nodes / mu**2 * (1 if replace else 0.5)

    def excess(logarithm: float) -> float:
        return epsilon(delta, math.exp(logarithm), nodes, replace) - epsilon_

    low, high = math.log(max(2.5, guess / 3)), math.log(10 + 3 * guess)
    return math.exp(float(optimize.brentq(excess, low, high, xtol=1e-5)))
