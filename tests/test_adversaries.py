"""Contracts that every adversary keeps, and the law of each, with negative controls."""

import math

import numpy as np
import pytest
from conftest import foe
from naive import bernoulli, gain_table, walk
from scipy import stats

from privbandits_cli import registry
from privbandits_cli.adversaries import stochastic
from privbandits_cli.games.bandit import Setting, blocks
from privbandits_cli.streams import stream

NAMES = registry.names("adversaries")


def table(name, horizon=2000, n_arms=4, trial=0, seed=1, **parameters):
    setting = Setting(horizon, n_arms)
    return gain_table(foe(name, **parameters).tuned(setting), setting, seed, trial)


# ------------------------------------------------------------------------------------------- contracts


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_arms", [2, 3, 7])
def test_gains_lie_in_the_unit_interval(name, n_arms):
    gains = table(name, n_arms=n_arms)
    assert gains.shape == (2000, n_arms)
    assert gains.min() >= 0 and gains.max() <= 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1, 7, 64, 999, 2000])
def test_gains_do_not_depend_on_where_blocks_end(name, size):
    setting = Setting(2000, 4)
    adversary = foe(name).tuned(setting)
    rng = stream(1, "gains", adversary.identity(), trial=0)
    parts = list(adversary.gains(setting, rng, blocks(2000, size)))
    np.testing.assert_array_equal(np.concatenate(parts).astype(float), table(name))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "deterministic"])
def test_trials_are_different_games(name):
    games = {table(name, horizon=4000, trial=trial).tobytes() for trial in range(100)}
    assert len(games) == 100


# ------------------------------------------------------------------------------------------------ laws


def test_deterministic_by_hand():
    gains = table("deterministic", horizon=6)
    assert gains[:, 0].tolist() == [0.38] * 6
    assert gains[:, 1].tolist() == [0, 1, 0, 1, 0, 1]
    assert gains[:, 2].tolist() == [0, 0, 1, 0, 0, 1]
    assert gains[:, 3].tolist() == [0] * 6


def test_deterministic_best_arm_earns_half_of_the_papers_horizon():
    assert table("deterministic", horizon=2**18).sum(axis=0).max() == 131072


def binomial_p(ones, n, p):
    return stats.binomtest(int(ones), n, p).pvalue


@pytest.mark.parametrize(("name", "best"), [("stochastic", 0.55), ("fully_oblivious", 0.55)])
def test_bernoulli_adversaries_have_their_means(name, best):
    n = 100_000
    ones = table(name, horizon=n).sum(axis=0)
    assert binomial_p(ones[0], n, best) > 1e-5
    assert all(binomial_p(one, n, 0.5) > 1e-5 for one in ones[1:])
    assert binomial_p(ones[0], n, best + 0.01) < 1e-5  # negative control


@pytest.mark.parametrize("n_arms", [2, 4, 7])
def test_bernoulli_rows_are_their_twin(n_arms):
    means = np.array([0.55, 1.0, 0.0, 3.5 / 65536, 0.3, 0.5, 2 / 3])[:n_arms]
    draw = stochastic.bernoulli(stream(3, "rows", trial=0), means)
    found = np.concatenate([draw(1), draw(30_000), draw(10_000)])
    assert found.tolist() == bernoulli(stream(3, "rows", trial=0), means.tolist(), 40_001)


def test_bernoulli_is_exact_beyond_its_sixteen_bits():
    """A mean of 0.7/65536: every 1 comes from a tie, and those alone have the right frequency."""
    n = 2**22
    draw = stochastic.bernoulli(stream(4, "rows", trial=0), np.full(4, 0.7 / 65536))
    ones = sum(int(draw(2**16).sum()) for _ in range(n // 4 // 2**16))
    assert binomial_p(ones, n, 0.7 / 65536) > 1e-5
    assert binomial_p(n / 65536, n, 0.7 / 65536) < 1e-2  # negative control: every tie a 1
    always, never = np.array([1.0, 1.0]), np.array([0.0, 0.0])
    assert stochastic.bernoulli(stream(4, "rows", trial=0), always)(2**18).all()
    assert not stochastic.bernoulli(stream(4, "rows", trial=0), never)(2**18).any()


@pytest.mark.parametrize("name", ["stochastic", "fully_oblivious"])
def test_bernoulli_adversaries_are_independent_over_rounds_and_arms(name):
    n = 100_000
    gains = table(name, horizon=n)
    for a, b in ((gains[:-1, 0], gains[1:, 0]), (gains[:, 0], gains[:, 1]), (gains[:-1, 2], gains[1:, 3])):
        assert abs(np.corrcoef(a, b)[0, 1]) < 5 / math.sqrt(n)
    held = table("oblivious", horizon=n)[:, 0]
    assert np.corrcoef(held[:-1], held[1:])[0, 1] > 0.9  # negative control: the oblivious adversary holds


def test_fully_oblivious_draws_p_from_its_interval():
    """With spread 0.25 the best arm's p is uniform on [0.5, 1]: its gains have mean 0.75."""
    n = 100_000
    ones = table("fully_oblivious", horizon=n, spread=0.25).sum(axis=0)
    assert binomial_p(ones[0], n, 0.75) > 1e-5
    assert binomial_p(ones[1], n, 0.5) > 1e-5


def test_oblivious_changes_on_multiples_of_200_only():
    gains = table("oblivious", horizon=100_000)
    changed = np.flatnonzero((gains[1:] != gains[:-1]).any(axis=1)) + 2  # rounds counted from 1
    assert (changed % 200 == 0).all()
    assert len(changed) > 0.8 * (100_000 // 200)  # rows of four fair bits repeat with probability about 1/16
    rows = gains[199::200]
    assert binomial_p(rows[:, 0].sum(), len(rows), 0.55) > 1e-5
    assert binomial_p(rows[:, 1].sum(), len(rows), 0.5) > 1e-5


def increments(gains, gap):
    """ξ_t recovered from the gains of an arm that is not the best: W_t = 1/2 - gain."""
    best = gains.mean(axis=0).argmax()
    w = np.concatenate([[0.0], 0.5 - gains[:, (best + 1) % gains.shape[1]]])
    t = np.arange(1, len(w))
    return w[1:] - w[t & (t - 1)], best


def test_switching_costs_walks_over_its_parents():
    n, setting = 2**14, Setting(2**14, 4)
    tuned = foe("switching_costs").tuned(setting)
    assert tuned.sigma == pytest.approx(1 / (9 * 14))
    assert tuned.gap == pytest.approx(4 ** (1 / 3) * n ** (-1 / 3) / (9 * 14))
    gains = table("switching_costs", horizon=n)
    steps, best = increments(gains, tuned.gap)
    assert stats.kstest(steps / tuned.sigma, "norm").pvalue > 1e-4
    np.testing.assert_allclose(gains[:, best], gains[:, (best + 1) % 4] + tuned.gap, atol=1e-12)
    np.testing.assert_array_equal(gains[:, (best + 1) % 4], gains[:, (best + 2) % 4])
    w = np.concatenate([[0.0], 0.5 - gains[:, (best + 1) % 4]])
    plain = np.diff(w)  # negative control: as a simple random walk the steps are far from N(0, σ²)
    assert stats.kstest(plain / tuned.sigma, "norm").pvalue < 1e-10


def test_switching_costs_constants_at_the_papers_horizon():
    tuned = foe("switching_costs").tuned(Setting(2**18, 4))
    assert tuned.sigma == pytest.approx(0.00617, abs=5e-6)
    assert tuned.gap * 2**18 == pytest.approx(40.1, abs=0.05)
    gains = table("switching_costs", horizon=2**18)
    assert gains.min() > 0 and gains.max() < 1  # clipping never acts


def test_the_walk_equals_its_definition():
    from privbandits_cli.adversaries.switching_costs import compiled_walk

    steps = 0.02 * np.random.default_rng(0).standard_normal(300)
    wanted = [[0.5 - w + 0.0, 0.5 - w + 0.1] for w in walk(steps.tolist())]
    for cuts in ([], [100], [1, 2, 3, 64, 65, 127, 130, 256], range(300)):
        gains, nodes = np.empty((300, 2)), np.zeros(64)
        for part in np.split(np.arange(300), cuts):
            if len(part):
                compiled_walk()(nodes, part[0] + 1, steps[part], np.array([0.0, 0.1]), gains[part[0] : part[-1] + 1])
        assert gains.tolist() == wanted


def test_the_best_arm_of_switching_costs_is_uniform():
    counts = np.zeros(4)
    for trial in range(400):
        counts[table("switching_costs", horizon=64, trial=trial).sum(axis=0).argmax()] += 1
    assert stats.chisquare(counts).pvalue > 1e-4
    assert stats.chisquare([400, 0, 0, 0]).pvalue < 1e-10
