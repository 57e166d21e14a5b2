"""Characteristic times against reference values, direct optimisation, and laws."""

import math

import numpy as np
import pytest
from scipy import optimize

from privbandits_cli.identification import costs, times, weights
from tests.best_arm_reference import INSTANCES, TIMES, WEIGHTS


@pytest.mark.parametrize(("name", "epsilon"), TIMES, ids=str)
def test_reference_values_to_four_digits(name, epsilon):
    means, (free, tv, private, _, local, _, bound) = INSTANCES[name], TIMES[name, epsilon]
    assert times.characteristic_time(means) == pytest.approx(free, rel=5e-5)
    assert times.total_variation_time(means) == pytest.approx(tv, rel=5e-5)
    assert times.characteristic_time(means, epsilon) == pytest.approx(private, rel=5e-5)
    assert times.lower_bound(means, epsilon, 0.01) == pytest.approx(bound, rel=5e-5)
    if epsilon < math.inf:
        assert times.local_time(means, epsilon) == pytest.approx(local, rel=5e-5)


@pytest.mark.parametrize(("name", "epsilon"), WEIGHTS, ids=str)
def test_reference_weights(name, epsilon):
    np.testing.assert_allclose(times.optimum(INSTANCES[name], epsilon)[1], WEIGHTS[name, epsilon], rtol=1e-4)


def worst(shares, means, epsilon):
    """The least cost of confusing the best arm, with these shares of the plays: the definition of 1/T."""
    best = int(np.argmax(means))
    others = [a for a in range(len(means)) if a != best]
    return min(costs.private_transport(means[best], means[a], shares[best], shares[a], epsilon) for a in others)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, math.inf])
def test_no_other_weights_are_better(epsilon):
    """The plain twin: direct search over the simplex finds nothing above 1/T*, and comes near it."""
    means = np.array([0.3, 0.75, 0.6])
    found, shares = times.optimum(means, epsilon)
    assert worst(shares, means, epsilon) == pytest.approx(1 / found, rel=1e-8)

    def loss(logits):
        parts = np.exp(logits - logits.max())
        return -worst(parts / parts.sum(), means, epsilon)

    best = min(optimize.minimize(loss, start, method="Nelder-Mead").fun for start in (np.zeros(3), np.log(shares)))
    assert -best <= (1 + 1e-8) / found and -best == pytest.approx(1 / found, rel=1e-3)
    bad = np.full(3, 1 / 3)
    assert worst(bad, means, epsilon) < (1 - 1e-3) / found  # negative control: equal shares are worse here


def test_laws_of_the_times():
    for name, means in INSTANCES.items():
        free, tv, before = times.characteristic_time(means), times.total_variation_time(means), math.inf
        for epsilon in (0.01, 0.1, 0.5, 1.0, 10.0):
            found = times.characteristic_time(means, epsilon)
            assert found <= before * (1 + 1e-9), name
            assert max(free, tv / epsilon) * (1 - 1e-9) <= found <= (free + tv / epsilon) * (1 + 1e-9)
            assert times.lower_bound(means, epsilon, 0.05) >= times.lower_bound_2023(means, epsilon, 0.05) * (1 - 1e-9)
            before = found
        assert times.characteristic_time(means, 1e-7) == pytest.approx(tv / 1e-7, rel=1e-3)  # end of the interval


def test_a_permutation_of_the_arms_permutes_the_weights():
    means, order = np.array(INSTANCES["C2"]), [3, 0, 4, 1, 2]
    own = times.optimum(means, 0.3)[1]
    np.testing.assert_allclose(times.optimum(means[order], 0.3)[1], own[order], rtol=1e-6)
    assert own.sum() == pytest.approx(1)


def test_two_gaussian_arms_and_two_symmetric_coins():
    assert times.gaussian_time([0.7, 0.2]) == pytest.approx(8 / 0.25)  # 8/Δ²
    assert times.total_variation_time([0.6, 0.4]) == pytest.approx(10)
    np.testing.assert_allclose(times.optimum([0.4, 0.6], 0.1)[1], [0.5, 0.5], rtol=1e-6)


def test_instances_without_a_best_arm_are_refused():
    for means in ([0.5, 0.5], [0.2, 0.7, 0.7], [0.5]):
        with pytest.raises(ValueError, match=r"no best arm|two arms"):
            times.characteristic_time(means)


@pytest.mark.parametrize("means", [*INSTANCES.values(), [0.7, 0.699, 0.001], [0.3, 0.9, 0.95]], ids=str)
def test_the_fast_weights_are_the_optimal_ones(means):
    own = np.array(means)
    out = np.empty(len(own))
    weights.fill_weights(own, int(np.argmax(own)), out)
    np.testing.assert_allclose(out, times.optimum(own, math.inf)[1], rtol=2e-5)


def test_arms_at_the_ends_of_the_interval():
    """The times are continuous there. With means 1 and 0 it is 1/ln 2 at equal weights: both meet at ½."""
    assert times.characteristic_time([1.0, 0.0]) == pytest.approx(1 / math.log(2))
    for means in ([0.2, 0.0], [1.0, 0.7, 0.6], [0.3, 0.1, 0.0]):
        inside = np.clip(means, 1e-9, 1 - 1e-9)
        for epsilon in (0.2, 2.0, math.inf):
            found = times.characteristic_time(means, epsilon)
            assert found == pytest.approx(times.characteristic_time(inside, epsilon), rel=1e-5)
