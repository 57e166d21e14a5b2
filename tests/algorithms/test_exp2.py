"""EXP2: by hand, by exact enumeration, against its twin; its tuning and its distribution mu."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.games.bandit import Draws, Setting, play
from tests.algorithms.test_dp_reduction import PAPER, distribution, lead_to, ready
from tests.conftest import foe, make, match, some
from tests.naive import regrets

MU = [0.4, 0.3, 0.2, 0.1]


@pytest.mark.usefixtures("by_hand")
def test_exp2_by_hand():
    """K = 2, η = 0.5, γ = 0.5, μ = (0.8, 0.2): two rounds worked on paper."""
    bound, state = ready(make("exp2", eta=0.5, gamma=0.5, mu=[0.8, 0.2]), Setting(10, 2))
    np.testing.assert_allclose(distribution(bound, state, 2), [0.65, 0.35], rtol=1e-15)
    assert bound["choose"](state, Draws(0.64, 0)) == 0 and bound["choose"](state, Draws(0.66, 0)) == 1
    bound["update"](state, 1, 0.25, Draws(0, 0))  # l = 0.75, estimate 0.75/0.35
    w = math.exp(-0.5 * 0.75 / 0.35)
    p = [0.5 / (1 + w) + 0.4, 0.5 * w / (1 + w) + 0.1]
    np.testing.assert_allclose(distribution(bound, state, 2), p, rtol=1e-14)
    bound["update"](state, 0, -3.0, Draws(0, 0))  # a noisy gain: l = 4
    v = math.exp(-0.5 * 4 / p[0])
    np.testing.assert_allclose(distribution(bound, state, 2)[0], 0.5 * v / (v + w) + 0.4, rtol=1e-13)


@pytest.mark.usefixtures("by_hand")
def test_exp2s_estimates_are_unbiased_by_exact_enumeration():
    """In rational arithmetic: Σ_i p_i (estimate of arm j after i was played) = l_j, and the second moment is l_j²/p_j.

    The steps themselves are then held to these estimates.
    """
    losses = [Fraction(9, 10), Fraction(1, 10), Fraction(6, 10), Fraction(1)]
    bound, state = ready(make("exp2", eta=0.01, gamma=0.2, mu=MU))
    rng = np.random.default_rng(4)
    for _ in range(300):
        draws = Draws(rng.random(), 0.0)
        bound["update"](state, bound["choose"](state, draws), rng.random(), draws)
    p = [Fraction(float(share)) for share in distribution(bound, state)]
    for j, loss in enumerate(losses):
        estimates = [loss / p[j] if i == j else Fraction(0) for i in range(4)]
        assert sum(p[i] * estimates[i] for i in range(4)) == loss
        assert sum(p[i] * estimates[i] ** 2 for i in range(4)) == loss**2 / p[j]
        fork = state.copy()
        lead_to(bound, fork, j)
        bound["update"](fork, j, float(1 - loss), Draws(0, 0))
        moved = -(fork.gains - state.gains) / state.eta
        np.testing.assert_allclose(moved, [float(estimates[j]) if i == j else 0.0 for i in range(4)], atol=1e-9)


@pytest.mark.parametrize("n_arms", some([2, 8, 9, 17, 100], 2))
def test_exp2_descends_its_tree_for_any_mu(n_arms):
    """As u runs through [0, 1), each arm is selected for an interval of length p_i."""
    rng = np.random.default_rng(n_arms)
    mu = rng.dirichlet(np.ones(n_arms)) * 0.9 + 0.1 / n_arms
    bound, state = ready(make("exp2", eta=0.05, gamma=0.5, mu=mu.tolist()), Setting(10**4, n_arms), plain=False)
    for _ in range(500):
        draws = Draws(rng.random(), 0.0)
        bound["update"](state, bound["choose"](state, draws), rng.random(), draws)
    p, n = distribution(bound, state, n_arms), 20_000
    counts = np.bincount([bound["choose"](state, Draws((i + 0.5) / n, 0.0)) for i in range(n)], minlength=n_arms)
    assert np.abs(counts - n * p).max() <= 2
    assert (p >= 0.5 * mu * (1 - 1e-12)).all() and not np.allclose(p, 1 / n_arms, atol=1e-3)


def test_exp2_with_another_mu_plays_as_its_twin():
    game = match(foe("stochastic"), [make("exp2", mu=MU, gamma=0.3, eta=0.02)], 2000, checkpoints=[10, 2000])
    twin = regrets(game.adversary, game.algorithms[0], game.setting, [10, 2000], game.seed, 0)
    assert play(game, [0])[0, 0].tolist() == twin


def test_exp2s_tuning_minimises_the_bound_of_lemma_4_4():
    """Over all (η, γ) that satisfy its condition; the bound is then 2√(3KT ln K)."""
    exp2, horizon = make("exp2").tuned(PAPER), np.array([2.0**18])
    least = exp2.regret_bound(horizon, PAPER)[0]
    assert least == pytest.approx(2 * math.sqrt(3 * 4 * 2**18 * math.log(4)), rel=1e-12)
    for eta, gamma in itertools.product((0.5, 0.9, 1.1, 2.0), (1.0, 1.1, 2.0)):
        other = make("exp2", eta=exp2.eta * eta, gamma=exp2.gamma * eta * gamma).tuned(PAPER)
        assert other.regret_bound(horizon, PAPER)[0] > least
    outside = make("exp2", eta=exp2.eta, gamma=exp2.gamma * 0.9).tuned(PAPER)
    assert outside.regret_bound(horizon, PAPER) is None  # the condition is not kept
    assert exp2.regret_bound(horizon, PAPER, memory=1) is None


CONFIG = """\
experiment: x
horizon: 100
trials: 24
adversary: stochastic
algorithms:
  - {name: exp2, mu: MU}
"""


@pytest.mark.parametrize(
    ("mu", "message"),
    [
        ("[0.4, 0.3, 0.2]", "x.yaml:6:22: mu should sum to 1, not to 0.9, got [0.4, 0.3, 0.2]"),
        ("[0.5, 0.5]", "x.yaml:6:5: mu has 2 probabilities for 4 arms"),
        ("[0.5, 0.5, 0.0, 0.0]", "x.yaml:6:33: mu[2] should be greater than or equal to 1e-30, got 0.0"),
        ("[1.5, -0.5, 0, 0]", "x.yaml:6:28: mu[1] should be greater than or equal to 1e-30, got -0.5"),
    ],
)
def test_a_mu_that_is_not_a_distribution_is_a_located_error(tmp_path, monkeypatch, mu, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.yaml").write_text(CONFIG.replace("MU", mu))
    with pytest.raises(ConfigError) as error:
        load(type(tmp_path)("x.yaml"))
    assert message in str(error.value)


def test_a_mu_of_thirds_is_accepted():
    shares = make("exp2", mu=[0.3333333, 0.3333333, 0.3333333]).shares(Setting(10, 3))
    np.testing.assert_allclose(shares, 1 / 3, rtol=1e-15)
