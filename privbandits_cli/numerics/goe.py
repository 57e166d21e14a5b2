"""The eigenvalues of symmetric Gaussian matrices: independent entries N(0, 1), and N(0, 2) on the diagonal (GOE).

The expected number of eigenvalues above x is the integral of their one-point density R, so it bounds the probability
that the largest one is above x, and is close to it where it is small. For matrices of order d, with y = x/√2 and the
orthonormal Hermite functions φ_j (Mehta 2004, "Random Matrices", section 7.2),

R(x) √2 = Σ_(j<d) φ_j(y)² + √(d/2) φ_(d-1)(y) (½ ∫ φ_d - ∫_y^∞ φ_d) + [d odd] φ_(d-1)(y) / ∫ φ_(d-1).
"""

import math
from functools import cache

import numpy as np

from privbandits_cli.numerics.types import Floats

POINTS = 200  # points of the quadrature
REACH = 14.0  # beyond x, in units of y: the rest of the integral is less than 1e-40 of it


def _hermite(d: int, y: Floats) -> tuple[Floats, Floats]:
    """φ_j(y) and their integrals from y to infinity, j = 0, ..., d, `[d + 1, points]` each."""
    from scipy.special import erfc

    phi, tail = np.empty((2, d + 1, len(y)))
    phi[0] = math.pi**-0.25 * np.exp(-(y**2) / 2)
    phi[1] = math.sqrt(2) * y * phi[0]
    tail[0] = math.pi**-0.25 * math.sqrt(math.pi / 2) * erfc(y / math.sqrt(2))
    tail[1] = math.sqrt(2) * phi[0]
    for j in range(1, d):
        phi[j + 1] = math.sqrt(2 / (j + 1)) * y * phi[j] - math.sqrt(j / (j + 1)) * phi[j - 1]
        tail[j + 1] = math.sqrt(2 / (j + 1)) * phi[j] + math.sqrt(j / (j + 1)) * tail[j - 1]
    return phi, tail


def density(d: int, y: Floats) -> Floats:
    """R(x) √2 at x = √2 y, `[points]`; its integral over y is d."""
    phi, tail = _hermite(d, y)
    whole = 2 * _hermite(d, np.zeros(1))[1][:, 0] * (np.arange(d + 1) % 2 == 0)  # φ_j is odd for odd j
    found = (phi[:d] ** 2).sum(axis=0) + math.sqrt(d / 2) * phi[d - 1] * (whole[d] / 2 - tail[d])
    return np.asarray(found + (phi[d - 1] / whole[d - 1] if d % 2 else 0.0), np.float64)


def expected_above(d: int, x: float) -> float:
    """The expected number of eigenvalues above x."""
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    y = x / math.sqrt(2) + REACH / 2 * (nodes + 1)
    return float(REACH / 2 * weights @ density(d, y))


@cache
def largest(d: int, log_chance: float) -> float:
    """A number that no eigenvalue exceeds in absolute value, except with probability exp(log_chance) < 1."""
    from scipy.optimize import brentq

    def excess(x: float) -> float:
        return math.log(max(math.ulp(0.0), 2 * expected_above(d, x))) - log_chance

    return float(brentq(excess, 0.0, 2 * math.sqrt(d) + 2 * math.sqrt(-log_chance) + 2, xtol=1e-12))
