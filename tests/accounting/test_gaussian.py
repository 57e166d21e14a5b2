"""Gaussian privacy: golden numbers, the definition by quadrature, a second opinion, errors."""

import math

import pytest
from scipy import integrate, stats

from privbandits_cli.accounting import gaussian


def test_a_tree_of_19_levels_has_the_epsilon_of_the_notes():
    """Noise of 16.261 times the sensitivity in each of the 19 nodes of an item: ε = 1 at δ = 1e-5."""
    assert gaussian.epsilon_of(math.sqrt(19) / 16.261, 1e-5) == pytest.approx(1.0, abs=1e-4)
    assert math.sqrt(19) / gaussian.mu_of(1.0, 1e-5) == pytest.approx(16.261, abs=1e-3)


def test_one_standard_deviation():
    """At μ = 1: δ(0) = 2Φ(1/2) - 1, and δ(1) = Φ(-1/2) - e Φ(-3/2)."""
    assert gaussian.delta_of(1.0, 0.0) == pytest.approx(2 * stats.norm.cdf(0.5) - 1, rel=1e-12)
    assert gaussian.delta_of(1.0, 1.0) == pytest.approx(0.30853753872 - math.e * 0.06680720126, abs=1e-10)


@pytest.mark.parametrize(("mu", "epsilon"), [(0.1, 0.0), (0.2, 0.8), (1.0, 3.0), (3.0, 2.0), (8.0, 60.0)])
def test_the_definition_by_quadrature(mu, epsilon):
    """δ = ∫ (p - e^ε q)_+ of normal densities p around μ and q around 0, which is positive from ε/μ + μ/2 up."""
    start = epsilon / mu + mu / 2

    def excess(x):
        return stats.norm.pdf(x, mu) - math.exp(epsilon) * stats.norm.pdf(x)

    found, _ = integrate.quad(excess, start, max(start, mu) + 12, epsabs=0, epsrel=1e-10, limit=400)
    assert gaussian.delta_of(mu, epsilon) == pytest.approx(found, rel=1e-7)


@pytest.mark.parametrize("mu", [1e-3, 0.05, 1.0, 20.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01])
def test_the_three_are_inverse_to_each_other(mu, delta):
    epsilon = gaussian.epsilon_of(mu, delta)
    if epsilon == 0:
        assert gaussian.delta_of(mu, 0.0) <= delta
        return
    assert gaussian.delta_of(mu, epsilon) == pytest.approx(delta, rel=1e-8)
    assert gaussian.mu_of(epsilon, delta) == pytest.approx(mu, rel=1e-8)


@pytest.mark.parametrize(("mu", "delta"), [(0.1, 1e-5), (0.5, 1e-6), (2.0, 1e-4)])
def test_dp_accounting_agrees(mu, delta):
    from dp_accounting.pld import privacy_loss_distribution

    pld = privacy_loss_distribution.from_gaussian_mechanism(1 / mu, value_discretization_interval=1e-4)
    assert gaussian.epsilon_of(mu, delta) == pytest.approx(pld.get_epsilon_for_delta(delta), rel=1e-3)


def test_the_renyi_account_of_the_same_tree_is_larger():
    """dp-accounting's Rényi accountant for 19 Gaussian releases at δ = 1e-5 gives 1.09; the exact value is 1."""
    from dp_accounting import dp_event
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant()
    accountant.compose(dp_event.GaussianDpEvent(16.261), 19)
    assert accountant.get_epsilon(1e-5) == pytest.approx(1.0926, abs=2e-3)


def test_ends_of_the_domain():
    assert gaussian.delta_of(0.0, 0.0) == gaussian.delta_of(1.0, math.inf) == 0
    assert gaussian.epsilon_of(0.0, 1e-6) == 0
    assert gaussian.mu_of(math.inf, 1e-6) == math.inf
    assert gaussian.mu_of(0.0, 0.5) == pytest.approx(2 * stats.norm.ppf(0.75))
    assert gaussian.delta_of(100.0, 10.0) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gaussian.delta_of(-1.0, 1.0), "mu must be"),
        (lambda: gaussian.delta_of(math.inf, 1.0), "mu must be"),
        (lambda: gaussian.delta_of(math.nan, 1.0), "mu must be"),
        (lambda: gaussian.delta_of(1.0, -1.0), "epsilon must not be negative"),
        (lambda: gaussian.epsilon_of(1.0, 0.0), "delta must lie in"),
        (lambda: gaussian.epsilon_of(1.0, 1.0), "delta must lie in"),
        (lambda: gaussian.mu_of(-1.0, 0.1), "epsilon must not be negative"),
        (lambda: gaussian.mu_of(1.0, 1.5), "delta must lie in"),
    ],
)
def test_arguments_outside_the_domain_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
