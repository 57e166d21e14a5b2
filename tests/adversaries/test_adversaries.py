"""Contracts that every adversary keeps, and the law of each, with negative controls."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.adversaries import stochastic, switching_costs
from privbandits_cli.games.bandit import Setting, play
from privbandits_cli.games.players import Contamination
from privbandits_cli.games.steps import blocks
from privbandits_cli.numerics.jit import compiled
from privbandits_cli.numerics.streams import stream
from tests.conftest import foe, make, match, playing, some
from tests.naive import bernoulli, gain_table, walk

NAMES = playing("adversaries")


def table(name, horizon=2000, n_arms=4, trial=0, seed=1, **parameters):
    setting = Setting(horizon, n_arms)
    return gain_table(foe(name, **parameters).tuned(setting), setting, seed, trial)


# ------------------------------------------------------------------------------------------- contracts


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_arms", some([2, 3, 7], 3))
def test_bounded_adversaries_have_gains_in_the_unit_interval(name, n_arms):
    gains = table(name, n_arms=n_arms)
    assert gains.shape == (2000, n_arms)
    assert np.isfinite(gains).all()
    assert (gains.min() >= 0 and gains.max() <= 1) == foe(name).bounded


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", some([1, 7, 64, 999, 2000], 7))
def test_gains_do_not_depend_on_where_blocks_end(name, size):
    setting = Setting(2000, 4)
    adversary = foe(name).tuned(setting)
    rng = stream(1, "gains", adversary.name, trial=0)
    parts = list(adversary.gains(setting, rng, blocks(2000, size)))
    np.testing.assert_array_equal(np.concatenate(parts).astype(float), table(name))


@pytest.mark.parametrize("name", NAMES)
def test_trials_are_different_games_unless_no_random_number_is_drawn(name):
    games = {table(name, horizon=4000, trial=trial).tobytes() for trial in range(100)}
    assert len(games) == (1 if name == "deterministic" else 100)


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
    draw = stochastic.bernoulli([stream(3, "rows", trial=0)], means)
    found = np.concatenate([draw(n).copy() for n in (1, 30_000, 10_000)])  # a call may overwrite the last rows
    assert found[:, :, 0].tolist() == bernoulli(stream(3, "rows", trial=0), means.tolist(), 40_001)


def test_bernoulli_is_exact_beyond_its_sixteen_bits():
    """A mean of 0.7/65536: every 1 comes from a tie, so the frequency of ones tests the ties alone."""
    n = 2**22
    draw = stochastic.bernoulli([stream(4, "rows", trial=0)], np.full(4, 0.7 / 65536))
    ones = sum(int(draw(2**16).sum()) for _ in range(n // 4 // 2**16))
    assert binomial_p(ones, n, 0.7 / 65536) > 1e-5
    assert binomial_p(n / 65536, n, 0.7 / 65536) < 1e-2  # negative control: every tie a 1
    always, never = np.array([1.0, 1.0]), np.array([0.0, 0.0])
    assert stochastic.bernoulli([stream(4, "rows", trial=0)], always)(2**18).all()
    assert not stochastic.bernoulli([stream(4, "rows", trial=0)], never)(2**18).any()


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
    fill = compiled(switching_costs.walk)
    steps = 0.02 * np.random.default_rng(0).standard_normal((300, 3))
    advantage = np.array([[0.0, 0.1, 0.0], [0.1, 0.0, 0.1]])
    walks = np.array([walk(own.tolist()) for own in steps.T])
    wanted = (0.5 - walks.T[:, None] + advantage).tolist()
    for cuts in ([], [100], [1, 2, 3, 64, 65, 127, 130, 256], range(300)):
        gains, nodes = np.empty((300, 2, 3)), np.zeros((64, 3))
        for part in np.split(np.arange(300), cuts):
            if len(part):
                fill(nodes, part[0] + 1, steps[part], advantage, gains[part[0] : part[-1] + 1])
        assert gains.tolist() == wanted


def test_the_best_arm_of_switching_costs_is_uniform():
    counts = np.zeros(4)
    for trial in range(400):
        counts[table("switching_costs", horizon=64, trial=trial).sum(axis=0).argmax()] += 1
    assert stats.chisquare(counts).pvalue > 1e-4
    assert stats.chisquare([400, 0, 0, 0]).pvalue < 1e-10


# ------------------------------------------------------------------------------------ means and moments


def test_turns_of_the_constrained_adversary():
    """Turns of 1, 2, 3, 5, 7, 11, 17 and 27 rounds: in every second one arm 1 always gains, else no other arm does."""
    gains, ends = table("constrained", horizon=73), np.cumsum([0, 1, 2, 3, 5, 7, 11, 17, 27])
    for n, (first, last) in enumerate(pairwise(ends)):
        turn = gains[first:last]
        assert turn[:, 0].all() if n % 2 else not turn[:, 1:].any()
        assert last - first == math.ceil(1.6**n)


@pytest.mark.parametrize("gap", [0.125, 0.4])
def test_the_constrained_adversary_has_its_gap_in_both_kinds_of_turns(gap):
    gains = table("constrained", horizon=100_000, gap=gap)
    turn = np.searchsorted(np.cumsum(np.ceil(1.6 ** np.arange(30))), np.arange(1, 100_001)) % 2
    low, high = gains[turn == 0], gains[turn == 1]
    assert low[:, 1:].sum() == 0 and high[:, 0].all()
    assert binomial_p(low[:, 0].sum(), len(low), gap) > 1e-5
    assert all(binomial_p(ones, len(high), 1 - gap) > 1e-5 for ones in high[:, 1:].sum(axis=0))
    assert binomial_p(low[:, 0].sum(), len(low), gap + 0.02) < 1e-5  # negative control
    means = foe("constrained", gap=gap).mean_gains(Setting(10, 4))
    assert means[0] - means[1:] == pytest.approx([gap] * 3)


@pytest.mark.slow
def test_the_constrained_adversary_misleads_thompson_sampling_and_not_tsallis_inf():
    """K = 8 and Δ = 0.125; on i.i.d. gains with this gap Thompson sampling has the smaller regret."""
    lineup = [make("thompson"), make("tsallis_inf")]
    misled, robust = play(match(foe("constrained"), lineup, 2**17, 8), range(16))[:, :, 0]
    assert misled.mean() > 3 * robust.mean() and np.median(misled) > np.median(robust)
    easy, other = play(match(foe("bernoulli", means=[0.5625] + 7 * [0.4375]), lineup, 2**17, 8), range(16))[:, :, 0]
    assert easy.mean() < other.mean()


HEAVY = {"pareto": "shape", "student_t": "df", "lognormal": None}


def instance(name, n_arms=5, **parameters):
    """A tuned adversary and the setting that it reveals."""
    adversary = foe(name, **parameters).tuned(Setting(1000, n_arms))
    return adversary, adversary.revealed(Setting(1000, n_arms))


def law(adversary, mean):
    """An arm's law by SciPy, from the adversary's definition."""
    if adversary.name == "pareto":
        return stats.pareto(adversary.shape, scale=mean * (adversary.shape - 1) / adversary.shape)
    if adversary.name == "student_t":
        return stats.t(adversary.df, loc=mean, scale=adversary.scale)
    return stats.lognorm(adversary.sigma, scale=mean * math.exp(-(adversary.sigma**2) / 2))


@pytest.mark.parametrize("name", HEAVY)
def test_heavy_tailed_gains_follow_their_law(name):
    """For every arm; negative control: the law of another v, mean or spread is rejected."""
    adversary, setting = instance(name, v=0.5)
    gains = gain_table(adversary, setting._replace(horizon=20_000), 3, 0)
    for arm, mean in enumerate(adversary.mean_gains(setting)):
        assert law(adversary, mean).mean() == pytest.approx(mean, rel=1e-9)
        assert stats.kstest(gains[:, arm], law(adversary, mean).cdf).pvalue > 1e-4
        assert stats.kstest(gains[:, arm], law(adversary, mean + 0.1).cdf).pvalue < 1e-6
    other = {"pareto": {"v": 0.8}, "student_t": {"df": 8.0}, "lognormal": {"sigma": 0.9}}[name]
    assert stats.kstest(gains[:, 0], law(instance(name, **other)[0], 0.9).cdf).pvalue < 1e-6


@pytest.mark.parametrize("name", HEAVY)
@pytest.mark.parametrize("order", ["before", "after"])
def test_a_share_of_the_gains_is_replaced_and_the_others_are_those_of_the_clean_game(name, order):
    """n = 20,000 rounds: the share is within five standard errors of α, and α/2 is not."""
    alpha, n = 0.1, 20_000
    adversary, setting = instance(
        name, v=0.5, contamination=alpha, order=order, outlier=7.0, means=[0.3, 0.9, 0.1, 0.9]
    )
    assert setting.contamination == Contamination(alpha, 7.0, order == "after")
    clean, known = instance(name, v=0.5, means=[0.3, 0.9, 0.1, 0.9])
    assert known == setting._replace(contamination=None)  # v and u are those of the clean gains
    rounds = [range(1, n // 3), range(n // 3, n + 1)]
    draws = (one.gains(known, np.random.default_rng(3), rounds) for one in (adversary, clean))
    foul, whole = (np.concatenate([block.copy() for block in blocks]) for blocks in draws)
    size = math.inf if order == "after" else 7.0
    hit = (foul == [size, -size, size, -size]).all(axis=1)  # against the best arms, for the others
    assert np.array_equal(foul[~hit], whole[~hit])
    error = math.sqrt(alpha * (1 - alpha) / n)
    assert abs(hit.mean() - alpha) < 5 * error < abs(hit.mean() - alpha / 2)
    assert abs((hit[1:] & hit[:-1]).mean() - alpha**2) < 5 * alpha * math.sqrt(3 / n)  # pairs of rounds overlap


@pytest.mark.slow
def test_the_default_outlier_is_the_largest_gain_that_a_learner_keeps():
    """There α outliers move a mean as far as cutting may, αB = u B^-v, to the last bit for the learner's own B."""
    for name in HEAVY:
        adversary, setting = instance(name, v=0.5, contamination=0.05)
        size = adversary.replaced(setting).outlier
        assert 0.05 * size == pytest.approx(setting.u * size**-0.5, rel=1e-12)
        robust = make("robust_se", alpha="known").tuned(setting)
        assert robust.alpha == 0.05 and robust.limit() == size
        assert robust.limit(3.0) == pytest.approx(size * 3 ** (-1 / 1.5))  # reports that reach three times as far
        assert make("robust_se", alpha="known").tuned(setting._replace(contamination=None)).alpha == 0.0


@pytest.mark.parametrize("name", HEAVY)
@pytest.mark.parametrize("v", some([0.1, 0.5, 0.9, 1.0], 0.1))
@pytest.mark.parametrize("above", some([None, 0.25], None))
def test_u_is_the_moment_of_the_law(name, v, above):
    """Against ∫ (1 + v) x^(1+v) P(|X| > x) dy, x = e^y, for a tail of index 2 + v, or 1.25 + v.

    Beyond the ends of y there is less than 1e-7 of it, and the steps err by less than 1e-6.
    """
    own = {HEAVY[name]: 1 + v + above} if above and HEAVY[name] else {}
    adversary, setting = instance(name, v=v, **own)
    y = np.linspace(-180, 80 if above and HEAVY[name] else 30, 100_001)
    best = law(adversary, 0.9)
    found = np.trapezoid((1 + v) * np.exp((1 + v) * y) * (best.sf(np.exp(y)) + best.cdf(-np.exp(y))), y)
    assert setting.v == v
    assert found == pytest.approx(setting.u, rel=1e-5)
    assert found != pytest.approx(instance(name, v=v, means=[0.88] * 5, **own)[1].u, rel=1e-5)  # negative control


@pytest.mark.parametrize("name", [*HEAVY, "bernoulli"])
def test_the_arms_have_their_means(name):
    """Sample means against the standard error; those of the arms' neighbours are outside."""
    adversary, setting = instance(name)
    if name == "student_t":
        adversary = adversary.model_copy(update={"df": 8.0})
    gains = gain_table(adversary, setting._replace(horizon=200_000), 3, 0)
    error = gains.std(axis=0) / math.sqrt(len(gains))
    distance = np.abs(gains.mean(axis=0) - adversary.mean_gains(setting)) / error
    assert (distance < 5).all()
    assert (np.abs(gains.mean(axis=0) - adversary.mean_gains(setting)[::-1]) / error)[[0, 1, 3, 4]].min() > 5


@pytest.mark.parametrize(
    ("means", "wanted"),
    [
        ("linear", [0.9, 0.7, 0.5, 0.3, 0.1]),
        ("convex", [0.9, 0.55, 0.3, 0.15, 0.1]),
        ("concave", [0.9, 0.85, 0.7, 0.45, 0.1]),
        ("zhou", [0.9, 0.45, 0.3, 0.225, 0.18]),
        ("C1", [0.75, 0.7, 0.7, 0.7, 0.7]),
        ("C2", [0.75, 0.625, 0.5, 0.375, 0.25]),
        ("C3", [0.75, 0.53125, 0.375, 0.28125, 0.25]),
        ("C4", [0.75, 0.71875, 0.625, 0.46875, 0.25]),
        ([0.2, 0.4, 0.1, 0.3, 0.5], [0.2, 0.4, 0.1, 0.3, 0.5]),
    ],
)
def test_the_presets_are_the_papers(means, wanted):
    for name in (*HEAVY, "bernoulli"):
        np.testing.assert_allclose(instance(name, means=means)[0].mean_gains(Setting(1, 5)), wanted, rtol=1e-12)


def test_a_gap_lies_below_the_best_arm():
    np.testing.assert_allclose(
        instance("pareto", gap=0.3)[0].mean_gains(Setting(1, 4)), [0.9, 0.6, 0.6, 0.6], rtol=1e-12
    )


@pytest.mark.parametrize(
    ("name", "own", "words"),
    [
        ("pareto", {"v": 0.5, "shape": 1.5}, "set shape above it, or v below 0.5"),
        ("student_t", {"v": 1.0, "df": 2.0}, "set df above it, or v below 1"),
        ("pareto", {"outlier": 3.0}, "set `contamination` above 0, or leave `outlier` and `order` out"),
        ("lognormal", {"order": "after"}, "set `contamination` above 0"),
        ("pareto", {"means": [0.9, 0.0, 0.1, 0.2, 0.3]}, "use student_t"),
        ("lognormal", {"means": [0.9, -1.0, 0.1, 0.2, 0.3]}, "use student_t"),
        ("bernoulli", {"means": [0.9, 1.2, 0.1, 0.2, 0.3]}, "in [0, 1]"),
        ("bernoulli", {"means": [0.9, 0.1]}, "set arms: 2"),
        ("pareto", {"means": "convex", "gap": 0.1}, "give one of them"),
    ],
)
def test_errors_of_invalid_instances_suggest_a_fix(name, own, words):
    (found,) = foe(name, **own).errors(Setting(1000, 5))
    assert words in found
