"""Numbers with Laplace noise that the same item shifts: bounds on their joint privacy loss, and the tail of their sum.

The loss of one number that is shifted by s scales has a mass at s and one at -s, and a density between them. It is
moved to points such that δ is not understated (`_split`) or not overstated (`_merged`): the true δ lies between the
two, which differ in the ninth digit. `docs/privacy/privacy_loss.md` has the proof.

Units: s and ε in nats. Domain: k >= 1, 0 <= s <= 500, 0 < δ < 1; else ValueError.
"""

import math

import numpy as np

from privbandits_cli.accounting.composition import check
from privbandits_cli.accounting.privacy_loss import PrivacyLoss, composed
from privbandits_cli.numerics.types import Floats

POINTS = 2**17  # approximate number of points of a composed law
LARGEST = 64  # shifts of different sizes that are composed, at most
STEPS = 2**14  # of their sum
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
    """A lower bound on δ at ε for independent Laplace numbers that one item moves by `shifts`, `[k]`, in their scales.

    Only the largest LARGEST shifts are used, rounded down to multiples of one width: both reveal no more.
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
    """Half the exponential mass of each of n equal cells of [0, s], the last one first."""
    cuts = np.linspace(s, 0, n + 1)[1:]
    masses: Floats = -0.5 * np.exp(-cuts) * np.expm1(-s / n)
    return masses


def _merged(s: float, n: int) -> PrivacyLoss:
    """The loss if of a number in [0, s] only its cell is seen: the loss of the cell's middle, exactly."""
    masses = np.zeros(2 * n + 1)
    masses[0], masses[-1], masses[1::2] = 0.5 * np.exp(-s), 0.5, _cells(s, n)
    return PrivacyLoss(np.linspace(-s, s, 2 * n + 1), masses)


def _split(s: float, n: int) -> PrivacyLoss:
    """The loss if the numbers of each cell of [0, s] are replaced by its ends, such that both laws keep their mass."""
    masses, cells = np.zeros(n + 1), _cells(s, n)
    masses[0], masses[-1] = 0.5 * np.exp(-s), 0.5
    masses[:-1] += cells / (np.exp(s / n) + 1)
    masses[1:] += cells / (np.exp(-s / n) + 1)
    return PrivacyLoss(np.linspace(-s, s, n + 1), masses)


def _log_moment(s: float) -> Floats:
    """ln E e^(θL) of the loss of one number, for all TILTS θ: e^(θs) (1 + θ + θ e^(-(1 + 2θ)s))/(1 + 2θ)."""
    theta = TILTS
    rest: Floats = np.log((1 + theta + theta * np.exp(-(1 + 2 * theta) * s)) / (1 + 2 * theta))
    return theta * s + rest
