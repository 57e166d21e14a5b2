"""Laws of sums of independent noise in closed form, and the transformation of noise of such a law to Laplace noise.

If noise has the law in question, `as_laplace` turns it into exactly standard Laplace noise, for samples of any size, so
that `evidence.by_groups` can judge it. Units: the scale λ, or deviation σ, of one node.
"""

import math
from functools import cache

import numpy as np

from privbandits_cli.numerics.types import Floats


@cache
def _tail(nodes: int) -> list[float]:
    """The coefficients of q, where P(Z > z) = q(z) e^-z for the sum Z of this many standard Laplace numbers and z >= 0.

    Z is the difference of two Gamma(nodes) numbers and has a density p(z) e^-z. By parts, q = p + p' + p'' + ...
    """
    k = np.arange(nodes)
    density = np.array([math.comb(2 * nodes - 2 - i, nodes - 1) / math.factorial(i) for i in k])
    density /= 2.0 ** (2 * nodes - 1 - k)
    polynomial = np.polynomial.Polynomial(density)
    return list(sum((polynomial.deriv(int(i)) for i in k[1:]), polynomial).coef)


def log_tail(noise: Floats, nodes: int, gaussian: bool) -> Floats:
    """ln P(Z > |z|), where Z is the noise of a sum of nodes."""
    far = np.abs(noise)
    if gaussian:
        from scipy.special import log_ndtr

        tail: Floats = log_ndtr(-far / math.sqrt(nodes))
    else:
        tail = np.log(np.polynomial.polynomial.polyval(far, _tail(nodes))) - far
    return tail


def as_laplace(noise: Floats, log_tail: Floats) -> Floats:
    """Standard Laplace noise, if `log_tail` is that of the law of the noise."""
    made: Floats = np.sign(noise) * -(math.log(2) + log_tail)
    return made


def whole_as_laplace(noise: Floats, within: Floats, own: Floats) -> Floats:
    """Standard Laplace noise, if P(|k|) = `own` is the law of this noise of whole numbers; within: uniform numbers.

    Within a whole number the tail is uniform; the sign of 0 is that of 2 `within` - 1.
    """
    size, tails = np.abs(noise).astype(np.int64), np.append(np.cumsum(own[::-1])[::-1][1:], 0.0)
    zero = size == 0
    share = np.where(zero, np.abs(2.0 * within - 1.0) / 2.0, within)
    tail = np.maximum(tails[size] + share * own[size], 1e-300)
    return as_laplace(np.where(zero, 2.0 * within - 1.0, noise), np.log(tail))
