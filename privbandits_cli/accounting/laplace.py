"""Numbers with Laplace noise that one item shifts: bounds on their joint privacy, and the tail of a sum of their noise.

An item shifts a number by s scales of its noise. The loss of the number has a mass at s, a mass at -s, and a density
between them. `_split` moves the density to points such that δ is not understated, and `_merged` such that δ is not
overstated. So the true ε lies between the two results, which differ in the ninth digit.
`docs/privacy/privacy_loss.md` has the proof.

Units: s and ε in nats. Domain: k >= 1, 0 <= s <= 500, 0 < δ < 1; else ValueError.
"""

import math

import numpy as np

from privbandits_cli.accounting.composition import check
from privbandits_cli.accounting.privacy_loss import PrivacyLoss, composed
from privbandits_cli.numerics.types import Floats

POINTS = 2**17  # approximate number of points of a composed law
LARGEST = 64  # the most shifts of different sizes that are composed
STEPS = 2**14  # the width of their grid is their sum divided by STEPS
TILTS = np.geomspace(1e-6, 1e12, 1801)


def bracket(k: int, s: float, delta: float) -> tuple[float, float]:
    """A lower and an upper bound on the least ε at which k numbers that are shifted by s are (ε, δ)-private."""
    check(s, k, delta)
    if s == 0:
        return 0.0, 0.0
    cells = min(4096, max(4, POINTS // k))
    bounds = (k * _log_moment(s) - math.log(delta) - np.log1p(TILTS)) / TILTS - np.log1p(1 / TILTS)  # as in `renyi`
    best = int(np.argmin(bounds))
    if bounds[best] <= 0:
        return 0.0, 0.0
    tilt = float(TILTS[best])
    low, high = (composed([(law, k)], tilt).epsilon(delta) for law in (_merged(s, cells), _split(s, cells)))
    return low, high


def least_delta(shifts: Floats, epsilon: float) -> float:
    """A lower bound on δ at ε for independent Laplace numbers that one item shifts.

    shifts: `[k]`, in scales of the noise. Only the LARGEST largest of them count, rounded down to multiples of one
    width. Fewer and smaller shifts reveal no more.
    """
    own = np.sort(np.abs(shifts))[-LARGEST:]
    total = float(own.sum())
    if total <= epsilon:
        return 0.0
    width = total / STEPS
    cells = np.floor(own / width).astype(int)
    parts = [(_merged(int(n) * width, int(n)), 1) for n in cells[cells > 0]]
    moments = sum(_log_moment(int(n) * width) for n in cells[cells > 0])
    return composed(parts, float(TILTS[np.argmin(moments - TILTS * epsilon)])).delta(epsilon)


def tail(nodes: int, log: float) -> tuple[float, float]:
    """(c, d) such that the sum of `nodes` standard Laplace numbers exceeds c + d x with probability at most e^-x.

    This holds for every x >= 0, by Chernoff's bound P(Z > z) <= e^-θz (1 - θ²)^-nodes. θ is the one for which c + d x
    is least at x = `log` > 0.
    """
    from scipy.optimize import brentq

    def slope(theta: float) -> float:
        rest = (1 - theta) * (1 + theta)
        return nodes * (2 * theta**2 / rest + math.log(rest)) - log

    theta = float(brentq(slope, 0.0, 1 - 1e-12))
    return -nodes * math.log((1 - theta) * (1 + theta)) / theta, 1 / theta


def _cells(s: float, n: int) -> Floats:
    """The mass of a standard Laplace number in each of n equal cells of [0, s], the last cell first."""
    cuts = np.linspace(s, 0, n + 1)[1:]
    masses: Floats = -0.5 * np.exp(-cuts) * np.expm1(-s / n)
    return masses


def _merged(s: float, n: int) -> PrivacyLoss:
    """The loss if only the cell of a number in [0, s] is seen. It is exactly the loss at the middle of the cell."""
    masses = np.zeros(2 * n + 1)
    masses[0], masses[-1], masses[1::2] = 0.5 * np.exp(-s), 0.5, _cells(s, n)
    return PrivacyLoss(np.linspace(-s, s, 2 * n + 1), masses)


def _split(s: float, n: int) -> PrivacyLoss:
    """The loss if a number in [0, s] moves to an end of its cell, such that both laws keep the mass of the cell."""
    masses, cells = np.zeros(n + 1), _cells(s, n)
    masses[0], masses[-1] = 0.5 * np.exp(-s), 0.5
    masses[:-1] += cells / (np.exp(s / n) + 1)
    masses[1:] += cells / (np.exp(-s / n) + 1)
    return PrivacyLoss(np.linspace(-s, s, n + 1), masses)


def _log_moment(s: float) -> Floats:
    """ln E e^(θL) for the loss L of one number, at each θ of TILTS.

    E e^(θL) = e^(θs) (1 + θ + θ e^(-(1 + 2θ)s))/(1 + 2θ).
    """
    theta = TILTS
    rest: Floats = np.log((1 + theta + theta * np.exp(-(1 + 2 * theta) * s)) / (1 + 2 * theta))
    return theta * s + rest
