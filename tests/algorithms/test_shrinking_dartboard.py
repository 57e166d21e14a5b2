"""The Private Shrinking Dartboard: its twin, its law, its privacy by enumeration, its tunings."""

import math
from itertools import product

import numpy as np
import pytest

from privbandits_cli.games import linear
from privbandits_cli.games.linear import Cube, Draws, Setting, Simplex
from privbandits_cli.games.match import Match
from privbandits_cli.games.steps import composition, steps
from tests.conftest import foe, make, some
from tests.naive_linear import regrets

EMPTY = np.empty(0)


def setting(n, horizon, signed=False):
    return Setting(horizon, n, space=Simplex(n), signed=signed)


@pytest.mark.parametrize("parameters", [{}, {"epsilon": 400.0}, {"epsilon": 400.0, "delta": 1e-3}], ids=str)
@pytest.mark.parametrize("size", some([(2, 1), (2, 64), (5, 300)], (5, 300)), ids=str)
def test_the_twin_plays_the_same_game(parameters, size):
    n, horizon = size
    known = setting(n, horizon)
    algorithm = make("shrinking_dartboard", **parameters).tuned(known)
    match = Match(foe("gap", gap=0.3), [algorithm], known, np.array([horizon]), 3)
    found = linear.play(match, trials=range(4))[0, :, 0]
    np.testing.assert_array_equal(found, [regrets(match, trial)[0] for trial in range(4)])


@pytest.mark.parametrize("case", some([(2000, 32), (4000, 64)], (2000, 32)), ids=str)
def test_experts_follow_the_weights_and_change_rarely(case):
    """At η = 1/2 and p = 1/8 from thousands of games: the law in round 20 is w's, to six standard errors."""
    (games, horizon), known = case, setting(3, 64)
    algorithm = make("shrinking_dartboard", epsilon=1000.0).tuned(known)
    assert algorithm.rates(known) == (0.5, 0.125)
    bound, rng, x = steps(composition(algorithm)), np.random.default_rng(2), np.empty(3)
    losses = np.array([0.1, 0.2, 0.05]) * np.ones((horizon, 1))
    played = np.empty((games, horizon), int)
    for game in played:
        state = algorithm.state(known)[0]
        for t in range(horizon):
            bound["choose"](state, x, Draws(rng.random(2), EMPTY, EMPTY))
            game[t] = x.argmax()
            bound["update"](state, losses[t], Draws(EMPTY, EMPTY, EMPTY))
    weights = 0.5 ** (19 * losses[0])
    wanted, tolerance = weights / weights.sum(), 6 * math.sqrt(0.25 / games)
    np.testing.assert_allclose(np.bincount(played[:, 19]) / games, wanted, atol=tolerance)
    assert abs(wanted - 1 / 3).max() > tolerance  # control: of no weights at all
    changes = (np.diff(played) != 0).sum(axis=1)
    assert changes.max() <= 32 and 3 / 64 < changes.mean() / horizon < 0.125 + 0.1


def law(losses, eta, p, limit):
    """The probability of every sequence of experts, by enumeration of the twin; the number of draws is not observed."""
    horizon, n = losses.shape
    weights = (1 - eta) ** np.vstack([np.zeros(n), losses.cumsum(axis=0)[:-1]])
    found = {}
    for path in product(range(n), repeat=horizon):
        ways = np.zeros(limit + 1)
        ways[0] = 1 / n
        for t in range(1, horizon):
            old, new = path[t - 1], path[t]
            kept = (1 - p) * weights[t, old] / weights[t - 1, old]
            stays = ways * kept * (new == old)
            stays[limit] = ways[limit] * (new == old)
            stays[1:] += ways[:-1] * (1 - kept) * weights[t, new] / weights[t].sum()
            ways = stays
        found[path] = ways.sum()
    return found


@pytest.mark.parametrize(("n", "horizon", "p"), [(2, 5, 0.5), (3, 4, 0.4), (2, 6, 0.2)])
def test_likelihood_ratios_stay_below_the_papers_epsilon(n, horizon, p):
    """All tables of 0 and 1 losses, with one round replaced. The largest ratio is a tenth to a half of the bound."""
    eta, rng = 0.02, np.random.default_rng(7)
    promised = eta / p + 16 * horizon * p * eta
    limit, worst = math.ceil(4 * horizon * p), 0.0
    for _ in range(40):
        losses = rng.integers(0, 2, size=(horizon, n)).astype(float)
        other = losses.copy()
        other[rng.integers(horizon)] = rng.integers(0, 2, size=n)
        one, two = law(losses, eta, p, limit), law(other, eta, p, limit)
        assert sum(one.values()) == pytest.approx(1)
        worst = max(worst, *(abs(math.log(one[path] / two[path])) for path in one))
    assert promised / 20 < worst <= promised


def test_the_expert_is_drawn_anew_four_times_as_often_as_expected_and_no_more():
    """The limit is ⌈4Tp⌉, as the guarantee of the approximate tuning assumes."""
    known = setting(3, 1000)
    algorithm = make("shrinking_dartboard", epsilon=1.0).tuned(known)
    _, p = algorithm.rates(known)
    assert algorithm.state(known)[0].draws_left == math.ceil(4 * 1000 * p)
    assert 4 * 1000 * p > 8  # so that a limit of 3Tp or 5Tp is another


def test_the_tunings_reach_their_targets():
    for horizon, epsilon in ((2**10, 0.1), (2**16, 1.0)):
        known = setting(10, horizon)
        pure = make("shrinking_dartboard", epsilon=epsilon).tuned(known)
        assert pure.guarantee(known).epsilon == pytest.approx(0.85 * epsilon) and pure.guarantee(known).delta == 0
        approximate = make("shrinking_dartboard", epsilon=epsilon, delta=1e-6).tuned(known)
        assert approximate.guarantee(known).epsilon <= epsilon
        assert approximate.guarantee(known).status == "paper"
    assert len(pure.bounds(known, 1e-6)) == 2 and len(pure.bounds(known, 0.0)) == 1


def test_regret_stays_below_its_bound():
    known, checkpoints = setting(4, 2000), np.array([500, 2000])
    algorithm = make("shrinking_dartboard", epsilon=40.0).tuned(known)
    for adversary in (foe("gap", gap=0.1), foe("alternating")):
        match = Match(adversary, [algorithm], known, checkpoints, 3)
        found = linear.play(match, trials=range(48))[0]
        error = found.std(axis=0) / math.sqrt(48)
        assert (found.mean(axis=0) - 4 * error <= algorithm.regret_bound(checkpoints, known)).all()


def test_unsupported_settings_are_reported():
    player = make("shrinking_dartboard")
    (error,) = player.errors(Setting(100, 2, space=Cube(2)))
    assert "it draws experts" in error
    (error,) = player.errors(setting(2, 100, signed=True))
    assert "losses in [0, 1]" in error
    assert not list(player.errors(setting(2, 100)))
