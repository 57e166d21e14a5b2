"""The auditor of the game `linear`: the laws that it rests on, what it catches, and whom it leaves alone."""

import math

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.audit import evidence, laws
from privbandits_cli.games.linear import Cube, Polytope, Simplex, Sphere

# ---------------------------------------------------------------------------------------------- laws


@pytest.mark.parametrize("space", [Simplex(3), Sphere(1), Sphere(4), Cube(3), Polytope(2)], ids=str)
@pytest.mark.parametrize("signed", [False, True])
def test_the_ends_of_a_loss_set_are_as_far_apart_as_it_says(space, signed):
    losses = space.losses(signed)
    low, high = losses.ends()
    assert losses.admits(np.array([low, high]))
    distances = np.abs(high - low).sum(), np.linalg.norm(high - low)
    assert distances == pytest.approx(losses.changes(), rel=1e-12)


@pytest.mark.parametrize("nodes", [1, 2, 3, 6])
def test_the_density_of_a_sum_of_nodes_is_the_fold_of_one(nodes):
    """Laplace nodes by Fourier inversion of (1 + s²)^-nodes on a grid; the tail is the density's integral."""
    s, z = np.linspace(0, 400, 400_001), np.array([0.0, 0.7, 3.0, 8.0])
    characteristic = (1 + s**2) ** -float(nodes)
    density = np.array([np.trapezoid(characteristic * np.cos(s * at), s) / math.pi for at in z])
    np.testing.assert_allclose(np.exp(laws.log_density(z, nodes, False)), density, atol=1e-3 if nodes == 1 else 1e-8)
    fine = np.linspace(0, 60, 600_001)
    tail = np.trapezoid(np.exp(laws.log_density(fine, nodes, False)), fine)
    assert tail == pytest.approx(0.5, abs=1e-8)
    step = np.diff(np.exp(laws.log_tail(fine, nodes, False))) / np.diff(fine)
    middle = (fine[1:] + fine[:-1]) / 2
    np.testing.assert_allclose(-step, np.exp(laws.log_density(middle, nodes, False)), atol=1e-8)


@pytest.mark.parametrize("nodes", [1, 2, 5])
@pytest.mark.parametrize("gaussian", [False, True])
def test_noise_of_its_law_becomes_laplace_noise(nodes, gaussian):
    """p-values are uniform if the law is right (the count below 0.05: the 1e-6 quantile), and see 5 % too little."""
    rng = np.random.default_rng(nodes)
    draw = rng.standard_normal if gaussian else lambda size: rng.laplace(size=size)

    def p(n, factor=1.0):
        noise = factor * draw((n, nodes)).sum(axis=1)
        return evidence.conformance(laws.as_laplace(noise, laws.log_tail(noise, nodes, gaussian)), 1.0)

    assert sum(p(500) < 0.05 for _ in range(400)) <= stats.binom.ppf(1 - 1e-6, 400, 0.05)
    assert p(20_000, 0.95) < 1e-4
    other = math.sqrt(nodes) * (rng.laplace(size=100_000) / math.sqrt(2) if gaussian else rng.normal(size=100_000))
    noise = other * (1.0 if gaussian else math.sqrt(2))  # the right deviation, another shape
    assert evidence.conformance(laws.as_laplace(noise, laws.log_tail(noise, nodes, gaussian)), 1.0) < 1e-6


@pytest.mark.parametrize("n", [1, 2, 4, 10])
def test_noise_along_a_point_becomes_laplace_noise(n):
    rng = np.random.default_rng(n)
    points = rng.normal(size=(20_000, n))
    points[:100, 1:] = 0.0  # an axis
    noise = (rng.laplace(size=points.shape) * points).sum(axis=1)
    tail = laws.log_tail_of_point(noise, points)
    known = ~np.isnan(tail)
    assert known.mean() > 0.95
    assert evidence.conformance(laws.as_laplace(noise, tail)[known], 1.0) > 1e-3
    along = laws.log_tail_of_point(noise, np.ascontiguousarray(points[:, ::-1]) * 1.05)
    assert evidence.conformance(laws.as_laplace(noise, along)[~np.isnan(along)], 1.0) < 1e-4


def test_where_digits_cancel_no_tail_is_given():
    points = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-9], [0.0, 0.0], [1.0, 0.5]])
    assert list(np.isnan(laws.log_tail_of_point(np.ones(4), points))) == [True, True, True, False]
