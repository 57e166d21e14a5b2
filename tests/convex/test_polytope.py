"""Polytopes: why one cannot be played, and the best fixed point of one that can."""

import math

import numpy as np
import pytest

from tests.naive_scrible import inequalities, least, slab


@pytest.mark.parametrize(
    "a, b, expected",
    [
        ([[1, 0], [-1, 0], [0, 1], [0, -1]], [1, -2, 1, 1], "empty"),
        ([[1, 0], [-1, 0], [0, 1], [0, 0]], [1, 1, 1, -1], "row 4 requires 0 <= -1"),
        ([[1, 0], [-1, 0], [0, 1]], [1, 1, 1], "unbounded along x_2"),
        ([[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1]], [1, 1, 1, 1, math.inf], "row 5 of the polytope has a number"),
        ([[0, 0], [0, 0]], [1, 1], "all rows of a are zero"),
        ([[1, 0], [-1, 0], [0, 1], [0, -1]], [1, 1, 1e-8, 1e-8], "too thin"),
        ([[1, 1], [-1, -1], [1, -1], [-1, 1]], [1, 1, 1e-8, 1e-8], "too thin"),
        ([[1, 0], [-1, 0], [0, 1], [0, -1]], [1, 1, 0, 0], "too thin"),
        ([[1, 0], [-1, 0], [0, 1], [0, -1]], [0, 0, 0, 0], "single point"),
    ],
)
def test_an_unplayable_polytope_reports_why(a, b, expected):
    (message,) = inequalities(a, b).errors()
    assert expected in message


@pytest.mark.parametrize("thickness", [1.0, 1e-3, 1e-6])
def test_the_best_fixed_point_of_a_polytope(thickness):
    space = slab(4, thickness)
    totals = np.random.default_rng(1).standard_normal((20, 4)) * np.array([[1e-3], [1e6]] * 10)
    expected = [least(space, total) for total in totals]
    np.testing.assert_allclose(space.least(totals), expected, rtol=1e-9)
    assert space.radius() >= np.linalg.norm([1, 1, 1, thickness])
    np.testing.assert_allclose(space.box[1], -space.box[0], rtol=1e-9)
    assert space.largest_loss() == pytest.approx(max(-least(space, axis) for axis in np.eye(4)))
