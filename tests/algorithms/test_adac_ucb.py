"""AdaC-UCB: its noise and index by hand, and ρ-zCDP in the ledger."""

import math

import numpy as np
import pytest

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.composition import concentrated, renyi
from privbandits_cli.games.bandit import Numbers, Setting, play
from tests.algorithms.test_algorithms import ready
from tests.conftest import foe, make, match

TWO = Setting(10**6, 2)


@pytest.mark.usefixtures("by_hand")
def test_an_episode_by_hand():
    """ρ = 2: the deviation of a sum's noise is 1/2; arm 0 has episodes of 1 and 1 rounds."""
    bound, state = ready("adac_ucb", TWO, rho=2.0, beta=3.5)
    for gain, normal in ((1.0, 0.4), (0.0, -0.2), (0.5, 1.0)):
        arm = bound["choose"](state, Numbers(0.0, 0.0, normal, 0))
        bound["update"](state, arm, gain, Numbers(0.0, 0.0, normal, 0))
    np.testing.assert_allclose(state.sums / state.counts, [1.0, -0.1], rtol=1e-12)  # 0.5 + 1/2 replaced 1 + 0.2
    bound["choose"](state, Numbers(0.0, 0.0, 0.0, 0))
    width = math.sqrt((1 / 2 + 1 / 2) * 3.5 * math.log(4))
    np.testing.assert_allclose(state.index, [1.0 + width, -0.1 + width], rtol=1e-12)
    assert state.plays.tolist() == [2, 1]


def test_the_ledger_converts_rho():
    """ρ = 1/8 is μ = 1/2: the exact ε is that of one Gaussian number, below both conversions of zCDP."""
    algorithm = make("adac_ucb", rho=0.125).tuned(TWO)
    converted, exact, attack = algorithm.bounds(TWO, 1e-6)
    assert converted.epsilon == concentrated(0.125, 1e-6) == 0.125 + 2 * math.sqrt(0.125 * math.log(1e6))
    assert exact.epsilon == attack.epsilon == gaussian.epsilon_of(0.5, 1e-6)
    assert exact.epsilon < renyi(lambda alpha: 0.125 * alpha, 1e-6) < converted.epsilon
    assert attack.lower and not exact.lower
    halved = algorithm.bounds(TWO, 1e-6, sensitivity=0.5)
    assert halved[1].epsilon == gaussian.epsilon_of(0.25, 1e-6)


def test_tuning_reaches_epsilon_exactly_and_the_printed_rule_wastes_noise():
    found = type(make("adac_ucb")).for_epsilon(1.0, 1e-5, 10**6, {})
    spent = {choice: one.tuned(TWO).guarantee(TWO, 1e-5).epsilon for choice, one in found.items()}
    assert spent["certified"] == pytest.approx(1.0, rel=1e-6)
    assert spent["paper"] < 0.95 and found["paper"].rho == pytest.approx(1 / (4 * math.log(1.25e5)))


@pytest.mark.slow
def test_noise_has_its_price():
    """C2, T = 10^6: a tenth of ρ costs more than the sampling error of 24 trials."""
    game = match(foe("bernoulli", means="C2"), [make("adac_ucb", rho=rho) for rho in (1.0, 1e-3)], 10**6, 5)
    much, little = play(game, range(24))[:, :, 0].mean(1)
    assert 200 < much < 500 and little > 2 * much
