"""Exact privacy losses of tiny games of two arms, by brute force over all they can release, and those of audits.

Nothing here uses the code of audits. What is released determines the arms, so a game is a law of sequences of releases.
Its density follows from the steps of the algorithm: a release is solved for the number that leads to it. The loss is
the largest log-ratio of the densities of two games that differ in one gain, over all gains 0 and 1 and over releases
so large that each number has any sign.
"""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from privbandits_cli.accounting import gaussian
from privbandits_cli.audit.auditor import audit
from privbandits_cli.games.bandit import Draws, Numbers, Setting
from privbandits_cli.games.steps import composition, steps
from tests.conftest import first, make, some

pytestmark = pytest.mark.usefixtures("plainly")
ARMS = 2
ROUNDING = 1e-6  # of a loss
UNIFORM = np.random.default_rng(1).random(4)


def tables(rounds):
    """All gains of the arms played, and the round that differs."""
    return itertools.product(itertools.product((0.0, 1.0), repeat=rounds), range(rounds))


def other(gains, t):
    """The gains of the other game."""
    return tuple(1.0 - gain if s == t else gain for s, gain in enumerate(gains))


class Game:
    """The steps of an algorithm with Laplace or normal noise, and what it releases in a round."""

    def __init__(self, name, rounds, **own):
        self.setting = Setting(rounds, ARMS)
        self.algorithm = make(name, **own).tuned(self.setting)
        self.steps, self.view = steps(composition(self.algorithm)), self.algorithm.view(self.setting)

    def played(self, state, u, z, gain):
        """The state after a round, and the release."""
        after = state.copy()
        rng = Numbers(u, np.nan, z, 0) if "normal" in self.algorithm.drawn else Draws(u, z)
        arm = self.steps["choose"](after[0], rng)
        if "released" in self.steps:
            release = self.steps["released"](after.copy()[0], gain, rng)
        self.steps["update"](after[0], arm, gain, rng)
        return after, release if "released" in self.steps else float(after[0][self.view.values][arm])

    def numbers(self, gains, releases):
        """The random numbers that lead to these releases; rounds without noise have none."""
        state, found = self.algorithm.state(self.setting), []
        for u, gain, release in zip(UNIFORM, gains, releases, strict=False):
            start, slope = (self.played(state, u, z, gain)[1] for z in (0.0, 1.0))
            z = (release - start) / (slope - start) if slope != start else 0.0
            found.append(z)
            state = self.played(state, u, z, gain)[0]
        return np.array(found)


def moves(game, rounds):
    """By how much the numbers differ that lead two neighbouring games to the same releases, and those numbers."""
    for signs in itertools.product((-1.0, 1.0), repeat=rounds):
        releases = [sign * 100.0 * 8.0**t for t, sign in enumerate(signs)]
        numbers = {gains: game.numbers(gains, releases) for gains in itertools.product((0.0, 1.0), repeat=rounds)}
        for gains, t in tables(rounds):
            yield numbers[gains], numbers[other(gains, t)]


@pytest.mark.parametrize(
    ("name", "own", "rounds"),
    first(
        1,
        [
            ("ldp_ucb", {}, 3),
            ("dp_ucb", {}, 4),
            ("dp_exp3_lap", {}, 3),
            ("dp_ucb", {"bonus": "chernoff", "counter": "tree"}, 4),
            ("dp_ucb", {"bonus": "chernoff", "counter": "k_ary"}, 4),
            ("adap_ucb", {}, 4),
        ],
    ),
)
def test_the_loss_of_laplace_noise_is_that_of_all_releases(name, own, rounds):
    game = Game(name, rounds, epsilon=1.0, **own)
    loss = max(float((np.abs(b) - np.abs(a)).sum()) for a, b in moves(game, rounds))
    found = audit(game.algorithm, game.setting)
    assert found.verdict == "CONSISTENT" and found.epsilon_seen == pytest.approx(loss, rel=ROUNDING)


def test_the_loss_of_gaussian_noise_is_that_of_all_releases():
    game = Game("adac_ucb", 4, rho=0.125, delta=1e-5)
    mu = max(float(np.linalg.norm(b - a)) for a, b in moves(game, 4))
    delta = game.algorithm.guarantee(game.setting).delta
    epsilon = optimize.brentq(lambda e: gaussian_delta(mu, e) - delta, 0.0, 20.0, xtol=1e-12)
    assert audit(game.algorithm, game.setting).epsilon_seen == pytest.approx(epsilon, rel=ROUNDING)


def gaussian_delta(mu, epsilon):
    """The hockey-stick divergence of N(μ, 1) and N(0, 1), by quadrature from where the density is the larger one."""

    def excess(x):
        return stats.norm.pdf(x - mu) - math.exp(epsilon) * stats.norm.pdf(x)

    low = epsilon / mu + mu / 2
    return integrate.quad(excess, low, low + 40.0, epsabs=1e-14, epsrel=1e-10, points=[max(low, mu)])[0]


def test_the_loss_of_bits_is_that_of_all_reports():
    game = Game("ldp_ucb", 3, epsilon=1.0, report="bernoulli")
    start = game.algorithm.state(game.setting)

    def chance(state, gain):
        """The number below which a report is a 1."""
        return optimize.bisect(lambda u: game.played(state, u, 0.0, gain)[1] - 0.5, 0.0, 1.0, xtol=1e-15)

    @cache
    def log_law(gains, bits):
        state, total = start, 0.0
        for gain, bit in zip(gains, bits, strict=True):
            one = chance(state, gain)
            total += math.log(one if bit else 1.0 - one)
            state = game.played(state, one / 2 if bit else (1.0 + one) / 2, 0.0, gain)[0]
        return total

    reports = list(itertools.product((False, True), repeat=3))
    loss = max(log_law(gains, bits) - log_law(other(gains, t), bits) for gains, t in tables(3) for bits in reports)
    assert sum(math.exp(log_law((0.0, 1.0, 0.0), bits)) for bits in reports) == pytest.approx(1.0, abs=1e-12)
    found = audit(game.algorithm, game.setting)
    assert found.verdict == "CONSISTENT" and found.epsilon_seen == pytest.approx(loss, rel=ROUNDING)


@pytest.mark.parametrize("gamma", some([0.1, 0.5], 0.5))
def test_the_loss_of_the_arms_of_exp3_is_at_most_that_of_all_arms(gamma):
    """An audit has the loss for the arms of its games. Lemma A bounds that of all arms by 1 for each later draw."""
    rounds = 4
    game = Game("exp3", rounds, gamma=gamma)

    def log_law(gains, arms):
        state, total = game.algorithm.state(game.setting), 0.0
        for gain, arm in zip(gains, arms, strict=True):
            p = np.empty(ARMS)
            game.steps["probabilities"](state[0], p)
            game.steps["update"](state[0], arm, gain, Draws(0.0, 0.0))
            total += math.log(p[arm])
        return total

    arms = list(itertools.product(range(ARMS), repeat=rounds))
    loss = max(log_law(gains, own) - log_law(other(gains, t), own) for gains, t in tables(rounds) for own in arms)
    assert sum(math.exp(log_law((0.0, 1.0, 1.0, 0.0), own)) for own in arms) == pytest.approx(1.0, abs=1e-12)
    found = audit(game.algorithm, game.setting)
    assert found.verdict == "CONSISTENT" and 0.0 < found.epsilon_seen <= loss * (1 + ROUNDING) <= rounds - 1


def test_the_loss_of_draws_is_that_of_the_one_draw_after_a_gain():
    """With two rounds, the gain of the first one moves one later draw, by the same number of deviations in any game."""
    game = Game("gaussian_ts", 2, b=0, c=1.0, delta=1e-3)

    def drawn(state, number):
        after = state.copy()
        arm = game.steps["choose"](after[0], Numbers(np.nan, np.nan, np.full(ARMS, number), 0))
        return after, arm, after[0]["drawn"].copy()

    mus = []
    for number in (-1.0, 1.0):
        first, arm, _ = drawn(game.algorithm.state(game.setting), number)
        means, deviations = [], []
        for gain in (0.0, 1.0):
            state = first.copy()
            game.steps["update"](state[0], arm, gain, Numbers(np.nan, np.nan, np.full(ARMS, number), 0))
            zero, one = (drawn(state, z)[2] for z in (0.0, 1.0))
            means.append(zero)
            deviations.append(one - zero)
        assert deviations[0] == pytest.approx(deviations[1])
        mus.append(float(np.linalg.norm((means[1] - means[0]) / deviations[0])))
    assert mus[0] == pytest.approx(mus[1])
    epsilon = optimize.brentq(lambda e: gaussian_delta(mus[0], e) - 1e-3, 0.0, 20.0, xtol=1e-12)
    assert epsilon == pytest.approx(gaussian.epsilon_of(mus[0], 1e-3), rel=1e-6)
    assert audit(game.algorithm, game.setting).epsilon_seen == pytest.approx(epsilon, rel=ROUNDING)
