"""The bound on the tail of a sum of Laplace numbers."""

import math

import numpy as np
import pytest

from privbandits_cli.accounting.laplace import tail


def _tail(nodes):
    """The coefficients of q, where P(Z > z) = q(z) e^-z for the sum Z of this many standard Laplace numbers and z >= 0.

    Z is the difference of two Gamma(nodes) numbers and has a density p(z) e^-z. By parts, q = p + p' + p'' + ...
    """
    k = np.arange(nodes)
    density = np.array([math.comb(2 * nodes - 2 - i, nodes - 1) / math.factorial(i) for i in k])
    density /= 2.0 ** (2 * nodes - 1 - k)
    polynomial = np.polynomial.Polynomial(density)
    return list(sum((polynomial.deriv(int(i)) for i in k[1:]), polynomial).coef)


def log_tail(noise, nodes):
    """ln P(Z > |z|), where Z is the noise of a sum of nodes."""
    far = np.abs(noise)
    return np.log(np.polynomial.polynomial.polyval(far, _tail(nodes))) - far


@pytest.mark.parametrize("nodes", [1, 4, 20, 27])
@pytest.mark.parametrize("log", [0.5, 10.0, 4 * math.log(1e6)])
def test_a_sum_of_laplace_numbers_exceeds_the_line_with_at_most_its_probability(nodes, log):
    """Against the tail in closed form, for every x; at x = log no other θ has a smaller bound."""
    c, d = tail(nodes, log)
    for x in (0.01, 1.0, log, 100.0):
        assert log_tail(np.array([c + d * x]), nodes)[0] <= -x
    assert log_tail(np.array([0.7 * (c + d * log)]), nodes)[0] > -log or log < 1  # not loose
    theta = np.linspace(0.001, 0.9999, 20_000)
    assert c + d * log <= ((log - nodes * np.log1p(-(theta**2))) / theta).min() + 1e-9


@pytest.mark.parametrize("nodes", [1, 2, 3, 6])
def test_the_tail_of_a_sum_of_nodes_has_the_density_of_the_sum(nodes):
    """Laplace nodes: the derivative of the tail against the Fourier inversion of (1 + s²)^-nodes on a grid."""
    s, z, step = np.linspace(0, 400, 400_001), np.array([0.7, 3.0, 8.0]), 1e-4
    characteristic = (1 + s**2) ** -float(nodes)
    density = np.array([np.trapezoid(characteristic * np.cos(s * at), s) / math.pi for at in z])
    low, high = (np.exp(log_tail(z + move, nodes)) for move in (-step, step))
    np.testing.assert_allclose((low - high) / (2 * step), density, atol=1e-3 if nodes == 1 else 1e-7)
    assert np.exp(log_tail(np.zeros(1), nodes)) == pytest.approx(0.5, abs=1e-12)
