"""HTINF: its limit without large losses, its threshold, its equation and its bound."""

import math

import numpy as np
import pytest

from privbandits_cli.algorithms.htinf import THETA
from privbandits_cli.games.bandit import Draws, Setting
from tests.algorithms.test_dp_reduction import distribution, lead_to, ready
from tests.conftest import make
from tests.naive import tsallis_by_bisection


@pytest.mark.usefixtures("by_hand")
def test_htinf_without_large_losses_is_tsallis_inf(shared_streams):
    """σ = 1 and no skipped round: once Θ√(t p) >= 1, no loss in [0, 1] is skipped at p >= 1/4."""
    bound, state = ready(make("htinf"))
    plain_bound, plain = ready(make("tsallis_inf"))
    for start in (state, plain):
        start.t = 10**6
    rng = np.random.default_rng(0)
    for _ in range(500):
        draws, gain = Draws(rng.random(), 0.0), rng.random()
        arm = bound["choose"](state, draws)
        assert plain_bound["choose"](plain, draws) == arm
        bound["update"](state, arm, gain, draws)
        plain_bound["update"](plain, arm, gain, draws)
        assert state.losses.tolist() == plain.losses.tolist()


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("loss", [-1.0, 1.0])
def test_htinf_skips_at_its_threshold_and_at_most_doubles(loss):
    """Just below it the loss counts, and (p_i)^(3/2) of the arm alone at most doubles; just above it is skipped."""
    t, sigma = 400, math.sqrt(6)
    for share, counts in ((0.999, True), (1.001, False)):
        bound, state = ready(make("htinf", sigma=sigma))
        state.t = t
        lead_to(bound, state, 2)
        bound["choose"](state, Draws(0.6, 0.0))
        p = state.p[2]
        size = share * THETA * sigma * math.sqrt(t * p)
        bound["update"](state, 2, 1 - loss * size, Draws(0, 0))
        assert state.losses[2] == pytest.approx(loss * size / p if counts else 0.0)
        assert state.t == t + 1
        root = 1 / (1 / math.sqrt(p) + loss * share * THETA / math.sqrt(p))  # of the step without the sum being 1
        assert (root / math.sqrt(p)) ** 3 <= 2 * (1 + 1e-12) or share > 1
    doubled = (1 - THETA) ** -3
    assert doubled == pytest.approx(2)


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("seed", range(5))
def test_htinf_solves_its_equation(seed):
    rng = np.random.default_rng(seed)
    bound, state = ready(make("htinf", sigma=2.0))
    state.losses[:], state.t = rng.normal(scale=10.0 ** rng.integers(-2, 6), size=4), int(10 ** rng.uniform(0, 8))
    wanted = tsallis_by_bisection(state.losses.tolist(), 1 / math.sqrt(state.t))
    np.testing.assert_allclose(distribution(bound, state), wanted, rtol=1e-9)


@pytest.mark.parametrize(("sigma", "scale", "wanted"), [(1.0, 0.0, 15.6947), (2.0, 0.0, 10.8473), (1.0, 0.5, 22.5420)])
def test_the_bound_of_htinf_by_hand(sigma, scale, wanted):
    """(2σ + (4 + 2/Θ) s²/σ) √(Kt), Θ = 1 - 2^(-1/3) = 0.2063: the bracket, as 4 + 2/Θ = 13.6947 and s² = 1 + 2λ²."""
    found = make("htinf", sigma=sigma).noisy_regret_bound(np.array([25.0]), Setting(100, 4), scale)[0]
    assert found == pytest.approx(10 * wanted, rel=1e-5)
