"""Tsallis-Switch and its private version: blocks by hand, estimates, limits, the regret bound, what switches cost."""

import math

import numpy as np
import pytest

from privbandits_cli.games.bandit import Draws, Setting, play
from tests.algorithms.test_algorithms import distribution, ready
from tests.conftest import foe, make, match
from tests.naive import tsallis_by_bisection

SETTING = Setting(10**4, 4)
BOTH = ("tsallis_switch", "dp_tsallis_switch")


def lengths(cost, n_arms, horizon):
    """B_n of the blocks that begin in a game."""
    n = np.arange(1, horizon + 1)
    blocks = np.maximum(np.ceil(1.5 * cost * np.sqrt(n / n_arms)), 1)
    return blocks[: int(np.searchsorted(np.cumsum(blocks), horizon)) + 1]


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("name", BOTH)
def test_blocks_by_hand(name):
    """a_n = 3/4 √n for λ = 1 and four arms: 0.75, 1.06, ..., 1.98, 2.12; an arm is kept until the block ends."""
    bound, state = ready(name)
    rng, blocks, arms = np.random.default_rng(1), [], []
    for _ in range(17):
        before = int(state.n)
        arm = bound["choose"](state, Draws(rng.random(), 0.0))
        if state.played == 0:
            arms.append(arm)
            blocks.append(0)
        blocks[-1] += 1
        assert arm == arms[-1]
        bound["update"](state, arm, rng.random(), Draws(0.0, 0.0))
        assert state.n == before + (state.played == 0)
    assert blocks == [1, 2, 2, 2, 2, 2, 2, 3, 1] and len(set(arms)) > 1
    assert lengths(1, 4, 17).tolist() == [1, 2, 2, 2, 2, 2, 2, 3, 3]


@pytest.mark.usefixtures("by_hand")
def test_the_noisy_loss_of_a_block_by_hand():
    """ε = 2: block 2 has the losses 1 and 1/4, and the noise of its last round over ε."""
    bound, state = ready("dp_tsallis_switch", epsilon=2.0)
    bound["update"](state, bound["choose"](state, Draws(0.0, 0.0)), 1.0, Draws(0.0, 0.0))
    for gain, noise in ((0.0, 7.0), (0.75, -3.0)):
        arm = bound["choose"](state, Draws(0.6, 0.0))
        before = state.losses[arm]
        bound["update"](state, arm, gain, Draws(0.6, noise))
    assert state.losses[arm] - before == pytest.approx((1.25 - 1.5) / state.p[arm])


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("name", BOTH)
def test_the_estimate_of_a_block_is_unbiased(name):
    """Σ_i p_i (estimate of arm j after a block of arm i) is the loss of j in the block: exact, no sampling."""
    gains = np.array([[0.1, 0.9, 0.4, 0.0], [1.0, 0.2, 0.3, 0.6]])
    bound, state = ready(name)
    state.losses[:] = [0.0, 1.0, 0.3, 2.0]
    state.n, state.length = 2, 2
    p, expected = distribution(bound, state), np.zeros(4)
    for arm in range(4):
        fork = state.copy()
        for row in gains:
            assert bound["choose"](fork, Draws(p[:arm].sum() + p[arm] / 2, 0.0)) == arm
            bound["update"](fork, arm, row[arm], Draws(0.0, 0.0))
        expected += p[arm] * (fork.losses - state.losses)
    np.testing.assert_allclose(expected, (1 - gains).sum(0), rtol=1e-9)


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize(("name", "square"), [("tsallis_switch", 0.0), ("dp_tsallis_switch", 2 / 0.5**2)])
def test_the_learning_rate_is_that_of_the_size_of_a_block(name, square):
    """In block 9, a = 3/4 √9: p by bisection at η = 2 √(2/(9 ((a + 1)² + 2/ε²))), and not at that of another block."""
    bound, state = ready(name, **({"epsilon": 0.5} if square else {}))
    for _ in range(16):
        bound["update"](state, bound["choose"](state, Draws(0.3, 0.0)), 0.5, Draws(0.0, 0.0))
    assert state.n == 9 and state.played == 0
    etas = [2 * math.sqrt(2 / (n * ((0.75 * math.sqrt(n) + 1) ** 2 + square))) for n in (9, 10)]
    right, wrong = (tsallis_by_bisection(state.losses.tolist(), eta) for eta in etas)
    np.testing.assert_allclose(distribution(bound, state), right, rtol=1e-9)
    assert np.abs(distribution(bound, state) - wrong).max() > 1e-3  # negative control


def test_without_noise_it_plays_as_the_public_one(shared_streams):
    """At ε = 10^9 and the same uniform numbers; at ε = 1 not. In longer games the rest of the noise is amplified."""
    lineup = [make("tsallis_switch"), *(make("dp_tsallis_switch", epsilon=epsilon) for epsilon in (1e9, 1.0))]
    public, quiet, private = play(match(foe("stochastic"), lineup, 500), range(4))
    assert np.array_equal(public, quiet) and not np.array_equal(public, private)


@pytest.mark.parametrize("n_arms", [2, 4, 50])
@pytest.mark.parametrize("cost", [0.01, 1.0, 8.0])
@pytest.mark.parametrize("horizon", [10, 1000, 10**5])
def test_the_bound_covers_the_sums_of_its_proof(n_arms, cost, horizon):
    """Stability, penalty and one payment for each block, summed over the blocks that there are."""
    blocks = lengths(cost, n_arms, horizon)
    n = np.arange(1, len(blocks) + 1)
    eta = 2 / (1.5 * cost * np.sqrt(n / n_arms) + 1) * np.sqrt(2 / n)
    proved = np.sum(eta / 2 * blocks**2) * math.sqrt(n_arms) + 4 * (math.sqrt(n_arms) - 1) / eta[-1] + len(blocks)
    setting = Setting(horizon, n_arms)
    (bound,) = make("tsallis_switch", cost=cost).regret_bound(np.array([float(horizon)]), setting, memory=1)
    assert proved <= bound
    assert proved > bound / 2 or cost > 1 or horizon == 10  # negative control: half of the bound would be wrong


def test_the_bound_has_the_constant_of_the_paper():
    """5.25 (λK)^(1/3) T^(2/3) for λ = 1, of which √(KT) is a small part at last."""
    horizon = 1e15
    (bound,) = make("tsallis_switch").regret_bound(np.array([horizon]), Setting(horizon, 4), memory=1)
    assert 5.24 < bound / (4 ** (1 / 3) * horizon ** (2 / 3)) < 5.26


def test_switches_cost_less_than_those_of_tsallis_inf():
    """A learner that does not see what switches cost: at most one is paid for each block."""
    game = match(foe("switching_costs", penalty_observed=False), [make("tsallis_switch"), make("tsallis_inf")], 2**15)
    blocks, rounds = play(game, range(8))[:, :, 0]
    (bound,) = game.algorithms[0].regret_bound(np.array([2.0**15]), game.setting, memory=1)
    assert blocks.max() < bound and blocks.mean() < rounds.mean() / 2


def test_the_regret_against_observed_switching_costs_is_below_the_bound():
    checkpoints = [100, 1000, 10_000]
    game = match(foe("switching_costs"), [make("tsallis_switch")], 10_000, checkpoints=checkpoints)
    x = play(game, range(24))[0]
    bound = game.algorithms[0].regret_bound(np.array(checkpoints, float), game.setting, memory=1)
    assert (x.mean(0) + 5 * x.std(0, ddof=1) / math.sqrt(24) < bound).all()


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_both_bounds_are_epsilon(epsilon):
    algorithm = make("dp_tsallis_switch", epsilon=epsilon).tuned(SETTING)
    upper, lower = (next(b for b in algorithm.bounds(SETTING, 1e-9) if b.lower == low) for low in (False, True))
    assert upper.epsilon == pytest.approx(epsilon) and upper.delta == 0 and upper.status == "proved"
    assert lower.epsilon == pytest.approx(epsilon, abs=1e-7)
    assert algorithm.regret_bound(np.ones(1), SETTING) is None


def test_privacy_is_nearly_free_at_epsilon_one():
    """Blocks grow, their noise does not: at ε = 1 the private one pays at most a third more, and at ε = 0.01 twice."""
    lineup = [make("tsallis_switch"), *(make("dp_tsallis_switch", epsilon=epsilon) for epsilon in (1.0, 0.01))]
    public, private, strict = play(match(foe("stochastic", best=0.7, others=0.3), lineup, 2**15), range(32))[:, :, 0]
    assert private.mean() < 4 / 3 * public.mean() and strict.mean() > 2 * public.mean()
