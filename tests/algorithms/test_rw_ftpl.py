"""RW-FTPL: how its noise is calibrated, its exact account, and the law of its leader. Its twin is in test_ftrl.py."""

import math

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.accounting import gaussian
from privbandits_cli.games.linear import Cube, Draws, Setting, Simplex, Sphere
from tests.algorithms.test_algorithms import ready
from tests.conftest import make

EMPTY = np.empty(0)
TWO = Setting(1000, 2, space=Simplex(2))


@pytest.mark.parametrize("space", [Simplex(10), Sphere(10), Cube(10)], ids=str)
@pytest.mark.parametrize("signed", [False, True])
def test_a_report_has_the_epsilon_asked_for_at_every_delta(space, signed):
    """All losses of a user may change: the distance is √N for experts, and 2 in the balls."""
    known = Setting(1000, 10, space=space, signed=signed)
    algorithm = make("rw_ftpl", epsilon=0.5, delta=1e-6).tuned(known)
    width = (2 if signed else 1) * math.sqrt(10) if isinstance(space, Simplex) else 2
    mu = gaussian.mu_of(0.5, 1e-6)
    assert algorithm.scale(known) == pytest.approx(width / mu)
    for delta in (1e-3, 1e-6, 1e-9):
        assert algorithm.epsilon_at(known, delta) == pytest.approx(gaussian.epsilon_of(mu, delta))
    assert algorithm.guarantee(known).status == "exact"


@pytest.mark.parametrize("space", [Simplex(10), Sphere(10), Cube(10)], ids=str)
def test_no_sigma_has_a_smaller_bound_than_the_least_one(space):
    known = Setting(1000, 10, space=space)
    rounds = np.array([2.0, 1000.0])
    algorithm = make("rw_ftpl", epsilon=1e6, delta=1e-6).tuned(known)
    assert algorithm.scale(known) == algorithm.least(known)
    for factor in (0.9, 1.1):
        moved = type(algorithm)(epsilon=1e6, delta=1e-6)
        object.__setattr__(moved, "scale", lambda known, factor=factor: factor * algorithm.least(known))
        assert (moved.regret_bound(rounds, known) > algorithm.regret_bound(rounds, known)).all()


@pytest.mark.usefixtures("by_hand")
def test_the_leader_has_its_law():
    """After t rounds in which expert 2 loses 1, it leads with probability Φ(-t/(σ √(2t)))."""
    n, t, losses = 4000, 4, np.array([0.0, 1.0])
    bound, state = ready("rw_ftpl", TWO, epsilon=1.0, delta=0.1)
    sigma, rng, x, led = state.sigma, np.random.default_rng(1), np.empty(2), 0
    for _ in range(n):
        state.losses[:] = 0.0
        for _ in range(t):
            bound["update"](state, losses, Draws(EMPTY, EMPTY, rng.standard_normal(2)))
        bound["choose"](state, x, Draws(EMPTY, EMPTY, np.zeros(2)))
        led += x[1] == 1.0
    fresh, once = (stats.norm.cdf(-t / (sigma * math.sqrt(2 * steps))) for steps in (t, t**2))
    assert abs(led / n - fresh) < 4 * math.sqrt(fresh * (1 - fresh) / n)
    assert abs(led / n - once) > 4 * math.sqrt(once * (1 - once) / n)  # control: noise drawn once and added t times
