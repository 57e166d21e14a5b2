"""Audits of noisy sums of whole numbers mod M: the laws of whole numbers, and noise that cannot be audited."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.accounting import whole
from privbandits_cli.audit import modular_sums
from privbandits_cli.audit.auditor import audit
from privbandits_cli.games.bandit import Setting
from privbandits_cli.games.views import DiscreteLaplace, Skellam
from privbandits_cli.numerics.jit import PluginError
from tests.audit import conforms
from tests.conftest import make

SMALL = Setting(2**10, 4)
LAWS = {
    DiscreteLaplace: lambda spread: stats.dlaplace(1 / spread),
    Skellam: lambda spread: stats.skellam(spread**2 / 2, spread**2 / 2),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("spread", "unit"), [(0.3, 5), (1.0, 2), (0.7, 1000)])
def test_the_masses_are_those_of_the_law(law, spread, unit):
    own, known = whole.masses(law(spread), unit, 3.0), LAWS[law](spread * unit)
    k = np.arange(math.ceil(6 * spread * unit))
    np.testing.assert_allclose(own[k], known.pmf(k), rtol=1e-9)
    assert 2 * own.sum() - own[0] == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("spread", [0.5, 1.5, 200.0])
def test_noise_on_whole_numbers_becomes_laplace_noise(law, spread):
    """Control: the masses of 0.9 of the spread."""
    rng = np.random.default_rng(1)
    noise = LAWS[law](spread).rvs(20_000, random_state=rng).astype(float)
    within, far = rng.random(len(noise)), np.abs(noise).max()
    right, wrong = (whole.masses(law(share * spread), 1.0, far) for share in (1.0, 0.9))
    assert conforms(modular_sums.whole_as_laplace(noise, within, right)) > 1e-3
    assert conforms(modular_sums.whole_as_laplace(noise, within, wrong)) < 1e-6


@pytest.mark.parametrize("law", LAWS)
def test_what_a_gain_costs_is_the_delta_between_two_sums(law):
    """At g = 7: the ε at which Σ max(0, P(k) - e^ε P(k - g)) = δ; discrete Laplace noise needs no δ."""
    k, known, delta = np.arange(-400, 400), LAWS[law](7 * 0.8), 1e-6 if law is Skellam else 0.0
    epsilon = whole.cost(law(0.8), 7.0, delta)

    def found(epsilon):
        return np.maximum(known.pmf(k) - math.exp(epsilon) * known.pmf(k - 7), 0).sum()

    assert found(epsilon * (1 + 1e-9)) <= delta * (1 + 1e-6) + 1e-18 < found(0.99 * epsilon)


@pytest.mark.parametrize(
    ("name", "epsilon", "verdict"),
    [
        ("dist_dp_se", 0.5, "CONSISTENT"),
        pytest.param("dist_rdp_se", 0.5, "CONSISTENT", marks=pytest.mark.slow),
        pytest.param("dist_dp_se", 1e-5, "NOT AUDITABLE", marks=pytest.mark.slow),
    ],
)
def test_noise_that_is_larger_than_the_view_says_is_not_accused(name, epsilon, verdict, monkeypatch):
    """The view and the guarantee are those of ε = 1."""
    algorithm, one = make(name, epsilon=epsilon).tuned(SMALL), make(name, epsilon=1.0).tuned(SMALL)
    view, claim = one.view(SMALL), one.guarantee(SMALL)
    monkeypatch.setattr(type(algorithm), "view", lambda *_: view)
    monkeypatch.setattr(type(algorithm), "guarantee", lambda *_: claim)
    found = audit(algorithm, SMALL)
    assert found.verdict == verdict, found.found


@pytest.mark.parametrize(
    ("name", "own", "verdict"),
    [
        pytest.param("dist_dp_se", {"epsilon": 40.0, "growth": 4}, "CONSISTENT", marks=pytest.mark.slow),
        ("dist_dp_se", {"epsilon": 1e-6}, "NOT AUDITABLE"),
        pytest.param("dist_rdp_se", {"epsilon": 7.3, "s": 100.0}, "CONSISTENT", marks=pytest.mark.slow),
        ("dist_rdp_se", {"epsilon": 60.0}, "NOT AUDITABLE"),
    ],
)
def test_small_and_large_noise_is_not_accused(name, own, verdict):
    found = audit(make(name, **own).tuned(SMALL), SMALL)
    assert found.verdict == verdict, found.found


def test_the_exact_cost_of_skellam_noise_is_below_its_renyi_bound():
    algorithm = make("dist_rdp_se", epsilon=0.5, delta=1e-5).tuned(SMALL)
    found, claim = audit(algorithm, SMALL), algorithm.guarantee(SMALL)
    assert 0.8 * claim.epsilon < found.epsilon_seen < claim.epsilon


def test_a_view_of_skellam_noise_needs_a_delta(monkeypatch):
    algorithm = make("dist_rdp_se", epsilon=1.0).tuned(SMALL)
    pure = replace(algorithm.guarantee(SMALL), delta=0.0)
    monkeypatch.setattr(type(algorithm), "guarantee", lambda *_: pure)
    with pytest.raises(PluginError, match="a guarantee with δ > 0"):
        audit(algorithm, SMALL)
