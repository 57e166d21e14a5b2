"""KL-UCB, IMED, Thompson sampling, MOSS, UCB-V, EXP3-IX, EXP3.P and EXP3++: laws, limits and short games by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.algorithms import kl_ucb
from privbandits_cli.games.bandit import Draws, Numbers, Setting, play
from tests.algorithms.test_algorithms import distribution, ready
from tests.conftest import foe, make, match, some
from tests.naive import coin_divergence

TWO = Setting(1000, 2)


def after(name, history, setting=TWO, **own):
    """The steps and the state after these arms and gains."""
    bound, state = ready(name, setting, **own)
    for arm, gain in history:
        bound["choose"](state, Draws(0.0, 0.0))
        bound["update"](state, arm, gain, Draws(0.0, 0.0))
    return bound, state


HISTORY = [(0, 1.0), (1, 0.0), (0, 0.0), (1, 1.0), (0, 1.0), (0, 1.0)]  # means 3/4 of 4 and 1/2 of 2


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize(
    ("name", "own", "indices"),
    [
        ("moss", {}, [0.75 + math.sqrt(math.log(125) / 4), 0.5 + math.sqrt(math.log(250) / 2)]),
        (
            "ucb_v",
            {"zeta": 0.5},
            [
                0.75 + math.sqrt(2 * 3 / 16 * 0.5 * math.log(7) / 4) + 1.5 * math.log(7) / 4,
                0.5 + math.sqrt(2 / 4 * 0.5 * math.log(7) / 2) + 1.5 * math.log(7) / 2,
            ],
        ),
        ("imed", {}, [-math.log(4), -2 * coin_divergence(0.5, 0.75) - math.log(2)]),
    ],
)
def test_indices_by_hand(name, own, indices):
    bound, state = after(name, HISTORY, **own)
    assert bound["choose"](state, Draws(0, 0)) == int(np.argmax(indices))
    if name == "moss":
        np.testing.assert_allclose(state.indices, indices, rtol=1e-12)


@pytest.mark.parametrize("name", some(["kl_ucb", "imed"], "imed"))
def test_they_lose_about_what_the_lower_bound_says(name):
    """Σ Δ ln T / kl(μ, μ*) on C2 at T = 10^5 is 80; an optimal algorithm is below twice, a wrong one is not."""
    game = match(foe("bernoulli", means="C2"), [make(name), make("ucb1")], 100_000, 5)
    mu = game.adversary.mean_gains(game.setting)
    bound = sum((mu.max() - x) * math.log(1e5) / coin_divergence(x, mu.max()) for x in mu if x < mu.max())
    own, ucb1 = play(game, range(16))[:, :, 0].mean(1)
    assert 0.3 * bound < own < 2 * bound < ucb1


def test_kl_ucb_explores_more_with_c():
    game = match(foe("bernoulli", means="C2"), [make("kl_ucb"), make("kl_ucb", c=3.0)], 10_000, 5)
    practice, proof = play(game, range(8))[:, :, 0].mean(1)
    assert proof > 1.2 * practice


def kl_ucb_arms(gains, c=0.0):
    """The arms of KL-UCB on `gains[round, arm]`, in plain Python."""
    state, arms = (
        make("kl_ucb", c=c).tuned(Setting(len(gains), gains.shape[1])).state(Setting(1, gains.shape[1]))[0],
        [],
    )
    for row in gains:
        arms.append(kl_ucb.choose(state, Draws(0, 0)))
        kl_ucb.update(state, arms[-1], row[arms[-1]], Draws(0, 0))
    return arms


@pytest.mark.parametrize("n", some([500, 1500, 3000], 500))
@pytest.mark.parametrize("c", some([0.0, 3.0], 0.0))
@pytest.mark.parametrize("kind", ["coins", "fractions", "outside", "best is sure"])
def test_the_bar_of_kl_ucb_changes_no_arm(kind, c, n, monkeypatch):
    """The bar decides most rounds. The control is a bar that ignores the other arms: it changes arms."""
    rng = np.random.default_rng(6)
    gains = {
        "coins": (rng.random((n, 4)) < [0.8, 0.7, 0.75, 0.1]) * 1.0,
        "fractions": rng.random((n, 4)) * [0.9, 0.3, 0.5, 0.1],
        "outside": rng.normal([0.2, 0.1, 0.9, -0.5], 1.0, (n, 4)),
        "best is sure": (rng.random((n, 4)) < [1.0, 0.9, 0.5, 0.0]) * 1.0,
    }[kind]
    clear, decided = kl_ucb.clear, []

    def counting(state, cost):
        decided.append(clear(state, cost))
        return decided[-1]

    monkeypatch.setattr(kl_ucb, "clear", counting)
    arms = kl_ucb_arms(gains, c)
    monkeypatch.setattr(kl_ucb, "clear", lambda state, cost: False)
    assert arms == kl_ucb_arms(gains, c)
    if kind == "best is sure":  # other arms without a loss share its infinite index
        return
    assert np.mean(decided[n // 2 :]) > (0.5 if c == 0 or n == 3000 else 0.25)  # the larger c, the later
    monkeypatch.setattr(kl_ucb, "clear", lambda state, cost: state.t > 50 and state.means[state.last] > 0.3)
    assert arms != kl_ucb_arms(gains, c)


def counted(sums, plays, n=40_000):
    """How often each arm is drawn from posteriors of these sums and plays."""
    bound, state = ready("thompson", Setting(100, 3), plain=False)
    state.gains[:], state.plays[:] = sums, plays
    words = np.random.default_rng(4).integers(2**64, size=n, dtype=np.uint64)
    arms = [bound["choose"](state, Numbers(0.0, 0.0, 0.0, word)) for word in words]
    return np.bincount(arms, minlength=3)


@pytest.mark.slow
def test_thompson_draws_arms_by_the_probability_that_they_are_best():
    sums, plays = [3.0, 10.0, 0.0], [5.0, 30.0, 1.0]
    laws = [stats.beta(1 + s, 1 + n - s) for s, n in zip(sums, plays, strict=True)]
    x = np.linspace(0, 1, 400_001)
    p = [np.sum(own.pdf(x) * np.prod([other.cdf(x) for other in laws if other is not own], axis=0)) for own in laws]
    found = counted(sums, plays)
    assert stats.chisquare(found, np.array(p) / sum(p) * found.sum()).pvalue > 1e-6
    assert stats.chisquare(found, np.roll(p, 1) / sum(p) * found.sum()).pvalue < 1e-12


@pytest.mark.usefixtures("by_hand")
def test_thompson_counts_a_gain_as_one_by_a_coin():
    bound, state = ready("thompson", Setting(100, 3))
    words = np.random.default_rng(5).integers(2**64, size=20_000, dtype=np.uint64)
    for word in words:
        bound["update"](state, 0, 0.3, Numbers(0.0, 0.0, 0.0, word))
    assert stats.binomtest(int(state.gains[0]), 20_000, 0.3).pvalue > 1e-6


@pytest.mark.usefixtures("by_hand")
def test_the_estimates_of_exp3_ix_are_too_low_by_gamma():
    bound, state = after("exp3_ix", HISTORY, eta=0.1, gamma=0.05)
    p = distribution(bound, state, 2)
    before = state.gains.copy()
    bound["update"](state, 0, 0.4, Draws(0, 0))
    assert state.gains[0] - before[0] == pytest.approx(-0.1 * 0.6 / (p[0] + 0.05)) and state.gains[1] == before[1]


@pytest.mark.usefixtures("by_hand")
def test_exp3_p_adds_its_bias_to_every_arm():
    bound, state = after("exp3_p", HISTORY, beta=0.02, eta=0.1, gamma=0.1)
    p, before = distribution(bound, state, 2), state.gains.copy()
    assert p.min() >= 0.05
    bound["update"](state, 0, 0.4, Draws(0, 0))
    np.testing.assert_allclose(state.gains - before, [0.42 / p[0], 0.02 / p[1]], rtol=1e-12)


def test_the_bound_of_exp3_p_is_the_papers_at_its_parameters():
    setting = Setting(10**6, 8)
    algorithm = make("exp3_p").tuned(setting)
    k, t = 8, 1e6
    printed = 5.15 * math.sqrt(k * t * math.log(k)) + math.sqrt(k * t / math.log(k))
    found = algorithm.regret_bound(np.array([t]), setting)[0]
    assert 0.9 * printed < found < printed
    sure = make("exp3_p", delta=1e-3).tuned(setting)
    assert sure.beta == pytest.approx(math.sqrt(math.log(8000) / (8 * 10**6)))
    assert make("exp3_p", gamma=1e-6).tuned(setting).regret_bound(np.ones(1), setting) is None


@pytest.mark.usefixtures("by_hand")
def test_exp3_pp_explores_less_where_the_gap_is_clear():
    """After 3000 rounds with a gap of 1 the worse arm is explored with ln(x)/(32 x), not with η."""
    bound, state = ready("exp3_pp", Setting(1000, 2))
    rng = np.random.default_rng(6)
    for u in rng.random(3000):
        arm = bound["choose"](state, Draws(u, 0.0))
        bound["update"](state, arm, 1.0 - arm, Draws(u, 0.0))
    x = 3001 * min(1, state.losses[1] / 3001) ** 2
    assert x > math.e and state.extra[1] == pytest.approx(math.log(x) / (32 * x))
    assert state.extra[0] == pytest.approx(min(0.25, state.root / math.sqrt(3001), 1 / (32 * math.e)))
