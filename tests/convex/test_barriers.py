"""Barriers: the gradient of the twin by finite differences, and the parameter nu."""

import numpy as np
import pytest

from privbandits_cli.convex.barriers import parameter
from tests.algorithms.test_scrible import SETS, named
from tests.naive_scrible import gradient, hessian, leader, value


@pytest.mark.parametrize("space", SETS, ids=named)
def test_the_gradient_of_the_twin_is_that_of_its_barrier(space):
    """The twin itself, by finite differences; and the parameter nu bounds g' H^-1 g, for polytopes in the limit."""
    x = leader(space, 0.1, np.full(space.dimension, 5.0))
    g, h = gradient(space, x), hessian(space, x)
    for axis in np.linalg.inv(np.linalg.cholesky(h)):
        ahead, behind = (value(space, x + s * 1e-4 * axis) for s in (1, -1))
        assert (ahead - behind) / 2e-4 == pytest.approx(g @ axis, abs=1e-5 * (1 + abs(g @ axis)))
    assert g @ np.linalg.solve(h, g) <= parameter(space) * (1 + 1e-9)
