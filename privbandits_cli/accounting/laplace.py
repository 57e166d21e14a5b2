"""Bounds on the joint privacy loss of k numbers with Laplace noise, each shifted by s scales by the same item.

The loss L = ln p(x)/p(x - s) of one number is s with probability 1/2, -s with probability e^-s/2, and s - 2x for x in
[0, s], where x has density e^-x/2. Divide [0, s] into n cells. For the lower bound, only the cell of x is observed.
This is post-processing, so it reveals no more; its loss is exactly that of the middle of the cell, so that this law
lies on a grid. For the upper bound, the mass of each point of a cell is moved to the two ends of the cell such that
both laws of x keep their totals. Post-processing can undo this, so it reveals no less. Both laws are composed k times
by FFT. The δ of the true law lies between theirs, and for small cells these differ in the ninth digit.

The mass beyond ε may be 1e-11, below the precision of an FFT, which is 1e-16 of the largest mass. So each law is first
tilted by e^(θL), which brings the mass around ε to the middle.

Units: s and ε in nats. Domain: k >= 1, 0 <= s <= 500, 0 < δ < 1; else ValueError.
"""

import math

import numpy as np

from privbandits_cli.accounting.composition import check, solve
from privbandits_cli.numerics.types import Floats

POINTS = 2**17  # approximate number of grid points of a composed law
LARGEST = 64  # shifts of different sizes that are composed, at most
STEPS = 2**13  # of the grid of their losses, to one side
BLUR = 1e-10  # relative error of the masses of an FFT, with a wide margin


def bracket(k: int, s: float, delta: float) -> tuple[float, float]:
    """A lower and an upper bound on the least ε at which the k releases are (ε, δ)-private."""
    check(s, k, delta)
    if s == 0:
        return 0.0, 0.0
    cells = min(4096, max(4, POINTS // k))
    low, high = (_epsilon(law, k, s, delta) for law in (_merged(s, cells), _split(s, cells)))
    return low, high


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


def least_delta(shifts: Floats, epsilon: float) -> float:
    """A lower bound on δ at ε for independent Laplace numbers that one item moves by `shifts`, `[k]`, in their scales.

    Only the largest LARGEST shifts are used, and each loss is rounded down to a grid: both reveal no more.
    """
    own = np.sort(np.abs(shifts))[-LARGEST:]
    own, total = own[own > 0], np.ones(1)
    if own.sum() <= epsilon:
        return 0.0
    width = float(own.sum()) / STEPS
    for s in own.tolist():
        cells = np.arange(-math.ceil(s / width), math.floor(s / width) + 1) * width  # the lower ends
        below = np.where(cells > -s, 0.5 * np.exp((np.minimum(cells, s) - s) / 2), 0.0)  # P(L < cell)
        law = np.diff(np.append(below, 1.0))
        total = np.convolve(total, law)
    least = -sum(math.ceil(s / width) for s in own.tolist())
    losses = (least + np.arange(len(total))) * width
    return float(np.sum(total * -np.expm1(np.minimum(0.0, epsilon - losses))))


def _cells(s: float, n: int) -> Floats:
    """Half the exponential mass of each of n equal cells of [0, s]."""
    cuts = np.linspace(0, s, n + 1)[:-1]
    masses: Floats = -0.5 * np.exp(-cuts) * np.expm1(-s / n)
    return masses


def _merged(s: float, n: int) -> Floats:
    """Masses at the losses s, s - s/n, s - 2s/n, ..., -s, each cell's mass in its middle."""
    law = np.zeros(2 * n + 1)
    law[0], law[-1], law[1::2] = 0.5, 0.5 * np.exp(-s), _cells(s, n)
    return law


def _split(s: float, n: int) -> Floats:
    """Masses at the losses s, s - 2s/n, ..., -s, each cell's mass at its two ends."""
    law, masses = np.zeros(n + 1), _cells(s, n)
    law[0], law[-1] = 0.5, 0.5 * np.exp(-s)
    law[1:] += masses / (np.exp(s / n) + 1)
    law[:-1] += masses / (np.exp(-s / n) + 1)
    return law


def _epsilon(law: Floats, k: int, s: float, delta: float) -> float:
    """The ε at δ of k losses with this law on an even grid from s down to -s."""
    steps = int(np.ceil(np.log(delta) / np.log(BLUR)))  # an ε accurate to BLUR gives the tilt for the next step
    epsilon = theta = 0.0
    for step in (*range(1, steps + 1), steps):
        loss, mass = _upper_tail(law, k, s, theta)
        spent, target = _delta(loss, mass, 0.0), delta ** (step / steps)
        if spent <= delta:
            return 0.0
        epsilon = solve(lambda x: _delta(loss, mass, x), target, k * s) if spent > target else 0.0  # noqa: B023
        theta = _saddle(k, s, epsilon)
    return epsilon


def _delta(loss: Floats, mass: Floats, epsilon: float) -> float:
    """E(1 - e^(ε - L))_+ for losses in decreasing order."""
    beyond = np.searchsorted(-loss, -epsilon)
    return float(np.sum(mass[:beyond] * -np.expm1(epsilon - loss[:beyond])))


def _upper_tail(law: Floats, k: int, s: float, theta: float) -> tuple[Floats, Floats]:
    """The positive sums of k losses, in decreasing order, and their masses, computed under the tilt θ."""
    from scipy import fft

    tilt = theta * (np.linspace(s, -s, len(law)) - s)
    log_moment = np.log(np.sum(law * np.exp(tilt)))
    size = k * (len(law) - 1) + 1
    padded = fft.next_fast_len(size, real=True)
    together = fft.irfft(fft.rfft(law * np.exp(tilt - log_moment), padded) ** k, padded)[:size]
    totals = np.linspace(k * s, -k * s, size)
    positive = (totals > 0) & (together > 0)
    log_mass = np.log(together[positive]) + k * log_moment - theta * (totals[positive] - k * s)
    return totals[positive], np.exp(np.minimum(log_mass, 0))


def _saddle(k: int, s: float, epsilon: float) -> float:
    """The θ > 0 that minimises k ln E e^(θL) - θε - ln θ(θ + 1), a bound on ln δ up to a constant.

    E e^(θL) = e^(θs) (1 + θ + θ e^(-(1 + 2θ)s))/(1 + 2θ).
    """
    theta = np.geomspace(1e-6, 1e12, 1801)
    log_moment = np.log((1 + theta + theta * np.exp(-(1 + 2 * theta) * s)) / (1 + 2 * theta))
    return float(theta[np.argmin(k * log_moment - theta * (epsilon - k * s) - np.log(theta) - np.log1p(theta))])
