"""Batched HTINF: its batches, their noise and what they are worth."""

import math

import pytest

from privbandits_cli.games.bandit import Draws, One, Setting, play, random_needs
from tests.algorithms.test_dp_reduction import PAPER, ready
from tests.conftest import foe, make, match


@pytest.mark.parametrize(("epsilon", "tau"), [(0.1, 10), (0.3, 4), (0.5, 2), (1.0, 1), (8.0, 1)])
def test_batches_and_their_noise(epsilon, tau):
    """τ = ⌈1/ε⌉; a gain changes a mean by 1/τ, under noise of scale 1/(ετ): exactly ε for a gain."""
    algorithm = make("batched_htinf", epsilon=epsilon).tuned(PAPER)
    state = algorithm.state(PAPER)[0]
    assert (algorithm.tau, state.tau) == (tau, tau)
    assert random_needs(algorithm, PAPER) == {"uniform": One(tau), "laplace": One(tau)}
    assert state.wrapped.scale == pytest.approx(1 / (epsilon * tau)) and state.wrapped.scale <= 1
    promised = algorithm.guarantee(PAPER)
    assert promised.epsilon == pytest.approx(epsilon) and promised.delta == 0 and promised.status == "proved"
    attack = next(bound for bound in algorithm.bounds(PAPER, 1e-9) if bound.lower)
    assert attack.epsilon == pytest.approx(epsilon, abs=1e-8)


def test_a_batch_longer_than_the_game_is_an_error():
    assert "does not fit" in next(make("batched_htinf", epsilon=0.001).errors(Setting(500, 4)))


@pytest.mark.usefixtures("by_hand")
def test_batched_htinf_feeds_noisy_means_by_hand():
    """ε = 0.4: three rounds, the mean of their gains, and the last round's noise over ετ = 1.2."""
    bound, state = ready(make("batched_htinf", epsilon=0.4, sigma=100.0))
    for gain, noise in ((1.0, 5.0), (0.0, 5.0), (0.5, -2.0)):
        arm = bound["choose"](state, Draws(0.1, 0))
        assert bound["released"](state.copy(), gain, Draws(0, 1.2)) == pytest.approx((state.gain + gain) / 3 + 1)
        bound["update"](state, arm, gain, Draws(0.1, noise))
    assert state.wrapped.wrapped.losses[0] == pytest.approx((1 - (0.5 - 2.0 / 1.2)) / 0.25)


def test_regret_of_batches_falls_below_noise_on_every_gain():
    """ε = 0.1, where the theorems put √(KT/ε) against √(KT)/ε."""
    lineup = [make("batched_htinf", epsilon=0.1), make("dp_exp2", epsilon=0.1)]
    regret = play(match(foe("stochastic", best=0.7, others=0.3), lineup, 2**15), range(16))[:, :, 0]
    batched, every = regret.mean(1)
    assert batched + 5 * math.sqrt(regret.var(1, ddof=1).sum() / 16) < every
