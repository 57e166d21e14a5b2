"""The bound on the tail of a sum of Laplace numbers."""

import math

import numpy as np
import pytest

from privbandits_cli.accounting.laplace import tail
from privbandits_cli.audit.laws import log_tail


@pytest.mark.parametrize("nodes", [1, 4, 20, 27])
@pytest.mark.parametrize("log", [0.5, 10.0, 4 * math.log(1e6)])
def test_a_sum_of_laplace_numbers_exceeds_the_line_with_at_most_its_probability(nodes, log):
    """Against the tail in closed form, for every x; at x = log no other θ has a smaller bound."""
    c, d = tail(nodes, log)
    for x in (0.01, 1.0, log, 100.0):
        assert log_tail(np.array([c + d * x]), nodes, gaussian=False)[0] <= -x
    assert log_tail(np.array([0.7 * (c + d * log)]), nodes, gaussian=False)[0] > -log or log < 1  # not loose
    theta = np.linspace(0.001, 0.9999, 20_000)
    assert c + d * log <= ((log - nodes * np.log1p(-(theta**2))) / theta).min() + 1e-9
