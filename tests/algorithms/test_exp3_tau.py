"""EXP3-τ: block lengths that are certified for an ε."""

import numpy as np
import pytest

from privbandits_cli.games.bandit import Setting
from tests.accounting.test_composition import K, T
from tests.conftest import make


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 4.0, 20.0, 300.0])
@pytest.mark.parametrize(("horizon", "n_arms", "delta"), [(T, K, 1e-6), (64_750, 6, 2e-4)])
def test_certified_tau_has_the_least_bound_of_those_that_fit(epsilon, horizon, n_arms, delta):
    setting, end = Setting(horizon, n_arms), np.array([float(horizon)])
    found = make("exp3_tau", tau="certified", epsilon=epsilon, delta=delta).tuned(setting)
    assert found.guarantee(setting).epsilon <= epsilon
    least = found.regret_bound(end, setting, memory=1)[0]
    for tau in {2, 5, 10, 19, 31, 60, 111, 300, found.tau - 1, found.tau + 1}:
        other = make("exp3_tau", tau=max(2, tau), delta=delta).tuned(setting)
        fits = other.guarantee(setting).epsilon <= epsilon
        assert not fits or other.regret_bound(end, setting, memory=1)[0] >= least - 1e-9, tau


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 4.0, 20.0, 300.0])
@pytest.mark.parametrize(("horizon", "n_arms", "delta"), [(T, K, 1e-6), (64_750, 6, 2e-4)])
def test_the_shortest_certified_blocks_are_the_shortest(epsilon, horizon, n_arms, delta):
    setting, end = Setting(horizon, n_arms), np.array([float(horizon)])
    found = make("exp3_tau", tau="shortest", epsilon=epsilon, delta=delta).tuned(setting)
    assert found.guarantee(setting).epsilon <= epsilon
    if found.tau > 1:
        shorter = make("exp3_tau", tau=found.tau - 1, delta=delta).tuned(setting)
        assert shorter.guarantee(setting).epsilon > epsilon
    other = make("exp3_tau", tau="certified", epsilon=epsilon, delta=delta).tuned(setting)
    assert found.tau <= other.tau and found.regret_bound(end, setting)[0] <= other.regret_bound(end, setting)[0]


@pytest.mark.parametrize(("n_arms", "horizon", "epsilon", "delta"), [(16, 1010, 2.53, 0.01), (16, 1872, 4.249, 1e-12)])
def test_certified_tau_where_longer_blocks_can_cost_more(n_arms, horizon, epsilon, delta):
    """Short games of many arms, in which Lemma B fails blocks of middle lengths: against all lengths."""
    setting, end = Setting(horizon, n_arms), np.array([float(horizon)])
    games = [make("exp3_tau", tau=tau, delta=delta).tuned(setting) for tau in range(2, 200)]
    costs = [game.guarantee(setting).epsilon for game in games]
    assert max(np.diff(costs)) > 0
    fits = [game for game, cost in zip(games, costs, strict=True) if cost <= epsilon]
    best = min(fits, key=lambda game: game.regret_bound(end, setting, memory=1)[0])
    assert make("exp3_tau", tau="certified", epsilon=epsilon, delta=delta).tuned(setting).tau == best.tau


def test_blocks_that_no_length_makes_private_are_refused():
    setting = Setting(1000, 4)
    for base, message in (
        (make("dp_exp3_lap", epsilon=1.0), "no block length"),
        (make("tsallis_inf"), "nothing is proved"),
    ):
        (error,) = make("mini_batch", tau="shortest", epsilon=1e-6, base=base).errors(setting)
        assert message in error
