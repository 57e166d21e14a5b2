"""Arms that are drawn on demand: what is played, the law of the game, learners that look at all arms."""

import platform
import re
from typing import Any

import numpy as np
import pytest
from numpy.random import SFC64, Generator
from scipy import stats

from privbandits_cli.games import contextual, ellipsoid, looks, on_demand
from privbandits_cli.games.contextual import Contexts, Setting
from privbandits_cli.games.on_demand import Dealer
from privbandits_cli.numerics.jit import PluginError, bind, record, uncompiled
from privbandits_cli.plugins import loader
from tests.conftest import foe, make
from tests.games.test_contextual import LEARNERS, match
from tests.games.test_lanes import on_every_processor

ADVERSARY = "privbandits_cli.adversaries.sphere_arms"
PLAYERS = ["linucb", "gaussian", "wishart", "local", "plain"]


def crowd_foe(**given):
    return foe("sphere_arms", gap=0.1, drawn="on_demand", **given)


class Table:
    """A crowd, and states in which `optimistic` chooses; beta: β, the factor of |x|."""

    def __init__(self, d, k, lasting=0, beta=1.0):
        known = Contexts(d)
        self.crowd = crowd_foe().crowd(Setting(1000, k, contexts=known), Generator(SFC64(3)), lasting)
        room = ellipsoid.room(known, k) | {"fixed": beta, "sigma": 0.0, "logdet": 0.0, "log_term": 0.0}
        self.states, self.beta = record(theta=np.zeros(d), inverse=np.zeros((d, d)), **room), beta
        self.dealer, steps = Dealer((d, k), self.crowd, np.zeros((0, 0))), on_demand.steps(ADVERSARY)
        self.deal, self.choose, self.everything = (
            bind(loop, "test", str(d), str(k), **steps) for loop in (deal_round, choose_arm, look_at_all)
        )

    def set(self, theta, inverse):
        self.states["theta"], self.states["inverse"] = theta, inverse

    def looked_at(self):
        """How many arms have been drawn in this round."""
        return (self.crowd["seen"][0] == self.crowd["t"][0]).sum()

    def scores(self):
        """The exact scores of all arms, which draws those that are left."""
        self.everything(self.crowd)
        x, theta, inverse = self.crowd["x"][0], self.states["theta"][0], self.states["inverse"][0]
        return x @ theta + self.beta * np.sqrt(np.einsum("ai,ij,aj->a", x, inverse, x))


def rounds_of(table, d, rounds, spread, theta=None):
    """Of rounds in random states: the shortfall of the score chosen, and how many arms the choice has drawn.

    spread: the ratio of the largest to the least eigenvalue of V^-1, at most.
    """
    rng, short, drawn = np.random.default_rng(7), [], []
    for _ in range(rounds):
        basis, _ = np.linalg.qr(rng.standard_normal((d, d)))
        inverse = (basis * spread ** -rng.random(d)) @ basis.T * 10.0 ** rng.uniform(-3, 1)
        table.set(rng.standard_normal(d) * 10.0 ** rng.uniform(-1, 0) if theta is None else theta, inverse)
        table.deal(table.dealer)
        chosen = table.choose(table.states, table.dealer)
        drawn.append(table.looked_at())
        scores = table.scores()
        short.append((scores.max() - scores[chosen]) / max(1.0, abs(scores).max()))
    return np.array(short), np.array(drawn)


deal: Any = None  # filled in
optimistic: Any = None
meet_all: Any = None
look, look_at, scale = looks.look, looks.look_at, looks.scale


def deal_round(dealer):
    deal(dealer, 0)


def choose_arm(states, dealer):
    return optimistic(states[0], dealer)


def look_at_all(records):
    meet_all(records[0])
    for a in range(len(records[0].x)):
        look(records[0], a)


def look_at_some(records, n, inverse):
    scale(records[0], inverse)
    look_at(records[0], n)


@pytest.mark.parametrize(("d", "k"), [(2, 5), (3, 70), (4, 16), (9, 300), (33, 400)])
@pytest.mark.parametrize(("spread", "beta"), [(30.0, 1.0), (1e9, 1e-6), (1e6, 100.0)])
def test_no_arm_that_was_not_drawn_has_a_larger_score(d, k, spread, beta):
    short, drawn = rounds_of(Table(d, k, beta=beta), d, 40, spread)
    assert short.max() < 1e-9
    if k > 50 and spread < 100:
        assert drawn.mean() < 0.6 * k  # bounds rule arms out even where V^-1 is nearly round


def test_a_bound_that_is_too_low_is_found():
    """The control: the eigenvalue of the first round is kept, and half of the later ones are larger."""
    short, _ = rounds_of(Table(9, 300, lasting=1000), 9, 60, 30.0)
    assert short.max() > 1e-3


@pytest.mark.parametrize("way", [0.0, 1.0, -1.0])
def test_an_estimate_along_theta_leaves_the_second_axis_alone(way):
    table = Table(5, 40)
    before = table.crowd["across"].copy()
    short, _ = rounds_of(table, 5, 5, 30.0, theta=way * table.crowd["theta"][0])
    assert short.max() < 1e-9
    np.testing.assert_array_equal(table.crowd["across"], before)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_drawn_arms_have_the_coordinates_that_were_drawn_first(d):
    """|x| = 1, <θ, x> and <θ~, x>, after the second axis was turned to θ~."""
    table = Table(d, 30)
    rounds_of(table, d, 5, 30.0)
    crowd = table.crowd[0]
    np.testing.assert_allclose(np.linalg.norm(crowd.x, axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(crowd.x @ crowd.theta, crowd.first, atol=1e-12)
    np.testing.assert_allclose(crowd.x @ table.states["theta"][0], crowd.along, atol=1e-12)


def test_a_second_choice_in_a_round_is_right_too():
    """Its estimate is another one, which the second axis does not span."""
    table, rng = Table(5, 40), np.random.default_rng(1)
    for _ in range(30):
        table.deal(table.dealer)
        for _ in range(2):
            table.set(rng.standard_normal(5), np.eye(5) * 0.01)
            chosen = table.choose(table.states, table.dealer)
        scores = table.scores()
        assert scores[chosen] >= scores.max() - 1e-9


def test_a_choice_that_is_not_made_in_the_first_round_is_right_too():
    table, rng = Table(5, 40, lasting=16), np.random.default_rng(1)
    for t in range(12):
        table.deal(table.dealer)
        table.set(0.1 * rng.standard_normal(5), np.diag([1.0, 0.1, 0.1, 0.01, 0.01]))
        if t > 2:
            chosen = table.choose(table.states, table.dealer)
            scores = table.scores()
            assert scores[chosen] >= scores.max() - 1e-9


@pytest.mark.parametrize("wrong", [np.nan, 0.0, -1.0])
def test_nothing_is_ruled_out_by_a_matrix_that_is_not_one(wrong):
    table = Table(5, 40)
    table.set(np.ones(5), np.full((5, 5), wrong))
    table.deal(table.dealer)
    table.choose(table.states, table.dealer)
    assert table.looked_at() == 40


@pytest.mark.parametrize("values", [(3, -2, -2, 0.5), (-1, -1, -1, -2), (1e45, 1, -1e45, 1), (3, 2, 2, 0.5)])
def test_a_matrix_that_is_not_positive_definite_rules_no_better_arm_out(values):
    table, rng = Table(4, 40), np.random.default_rng(3)
    for _ in range(60):
        basis, _ = np.linalg.qr(rng.standard_normal((4, 4)))
        inverse, theta = (basis * np.array(values, float)) @ basis.T, rng.standard_normal(4)
        table.set(theta, inverse)
        table.deal(table.dealer)
        chosen = table.choose(table.states, table.dealer)
        table.everything(table.crowd)
        x = table.crowd["x"][0]
        squares = np.einsum("ai,ij,aj->a", x, inverse, x)
        scores = x @ theta + np.sqrt(np.maximum(0.0, squares))
        assert scores[chosen] >= scores.max() - 1e-9 * abs(scores).max()


def test_the_streams_share_no_word_with_the_other_numbers():
    """The streams begin in words of the generator; the words after these are those of the other numbers."""
    crowd = Table(4, 40).crowd[0]
    bits, found = SFC64(), crowd.words.copy()
    state = bits.state
    state["state"]["state"] = found
    bits.state = state
    assert not np.isin(bits.random_raw(200), crowd.streams).any()


def test_linucb_plays_the_best_score_while_a_bound_is_kept():
    """A bound lasts 16 rounds, as V only grows; in each of 200 rounds no other arm has a larger score."""
    d, k = 6, 120
    table, rng, v, u = Table(d, k, lasting=on_demand.LASTING), np.random.default_rng(2), np.eye(d), np.zeros(d)
    for _ in range(200):
        table.set(np.linalg.solve(v, u), np.linalg.inv(v))
        table.deal(table.dealer)
        chosen = table.choose(table.states, table.dealer)
        assert table.looked_at() <= k
        scores = table.scores()
        assert scores[chosen] >= scores.max() - 1e-9
        x = table.crowd["x"][0, chosen]
        v += np.outer(x, x)
        u += x * (x @ table.crowd["theta"][0] + rng.standard_normal())


def test_no_arm_that_was_not_met_has_a_larger_score():
    """In 400 rounds in which V grows as in LinUCB. Some arms are met late, when the best of the others is known."""
    d, k = 20, 400
    table = Table(d, k, lasting=on_demand.LASTING, beta=2.0)
    rng, v, u, left_out, late = np.random.default_rng(2), np.eye(d), np.zeros(d), 0, 0
    for _ in range(400):
        table.set(np.linalg.solve(v, u), np.linalg.inv(v))
        table.deal(table.dealer)
        few = table.crowd["n_met"][0] < k
        chosen = table.choose(table.states, table.dealer)
        left_out += table.crowd["n_met"][0] < k
        late += few and table.crowd["n_met"][0] == k
        scores = table.scores()
        assert scores[chosen] >= scores.max() - 1e-9
        x = table.crowd["x"][0, chosen]
        v += np.outer(x, x)
        u += x * (x @ table.crowd["theta"][0] + rng.standard_normal())
    assert left_out > 100
    assert late > 0


@pytest.mark.parametrize("least", [0.3, 0.5, 0.6])
def test_arms_that_are_met_late_have_the_law_of_those_that_are_met_at_once(least):
    """W, which is uniform, is below the share of the arms that are met first. Control: the law of the late ones."""
    d, k = 20, 400
    table, found, late = Table(d, k), [], []
    crowd = table.crowd[0]
    crowd.low, crowd.high = -0.999, 0.999  # no mean is drawn again
    for _ in range(100):
        crowd.least = least
        table.deal(table.dealer)
        first = np.isin(np.arange(k), crowd.met[: crowd.n_met])
        table.everything(table.crowd)
        w = (1 - crowd.first**2 - crowd.second**2) ** ((d - 2) / 2)
        free = crowd.first != crowd.best  # the mean of one arm is set
        assert w[first & free].max(initial=0.0) <= crowd.share <= w[~first].min()
        assert crowd.share == pytest.approx((1 - least**2) ** ((d - 2) / 2))
        found.append(w[free])
        late.append(w[~first])
    assert stats.kstest(np.concatenate(found), stats.uniform(0, 1).cdf).pvalue > 1e-6
    assert least == 0.6 or stats.kstest(np.concatenate(late), stats.uniform(0, 1).cdf).pvalue < 1e-6


@pytest.mark.parametrize(("d", "n"), [(3, 1), (9, 64), (33, 17), (64, 64)])
def test_bounds_in_single_precision_are_above_the_squares(d, n):
    """They exceed the squares by at most three times the error. Control: without the error, some are below."""
    table, rng = Table(d, 100), np.random.default_rng(4)
    crowd, rough = table.crowd[0], bind(look_at_some, "test", str(d))
    for t in range(1, 30):
        basis, _ = np.linalg.qr(rng.standard_normal((d, d)))
        inverse = (basis * 30.0 ** -rng.random(d)) @ basis.T * 10.0 ** rng.uniform(-3, 1)
        crowd.t, crowd.used, crowd.near[:n] = t, 0, rng.permutation(100)[:n]
        crowd.first[:], crowd.second[:] = rng.uniform(-0.7, 0.7, (2, 100))
        rough(table.crowd, n, inverse)
        table.everything(table.crowd)
        x, bound, error = crowd.x[crowd.near[:n]], crowd.squares[:n], crowd.unit * crowd.error
        exact = np.einsum("ai,ij,aj->a", x, inverse, x)
        np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, atol=1e-12)
        np.testing.assert_allclose(x @ crowd.theta, crowd.first[crowd.near[:n]], atol=1e-12)
        np.testing.assert_allclose(x @ crowd.across, crowd.second[crowd.near[:n]], atol=1e-12)
        assert (exact <= bound).all()
        assert (bound <= exact + 3 * error).all()
        if n > 1:
            assert (bound - error < exact).any()


def test_arms_that_are_drawn_together_have_the_law_of_single_ones():
    """The coordinates beside θ and e of 100 tiles: means 0, squares that add up to the rest, an equal share each."""
    d, n = 6, 64
    table, rough = Table(d, n), bind(look_at_some, "test", str(d))
    crowd, found = table.crowd[0], []
    for t in range(1, 101):
        crowd.t, crowd.used, crowd.near[:] = t, 0, np.arange(n)
        crowd.first[:], crowd.second[:] = 0.6, 0.0
        rough(table.crowd, n, np.eye(d))
        table.everything(table.crowd)
        found.append(crowd.x.copy())
    rest, _ = np.linalg.qr(np.column_stack([crowd.theta, crowd.across, np.eye(d)]))
    z = np.concatenate(found) @ rest[:, 2:d]
    np.testing.assert_allclose((z * z).sum(1), 0.64, atol=1e-12)
    far = -stats.norm.ppf(1e-7) / np.sqrt(len(z))
    assert np.abs(z.mean(0)).max() < far * np.sqrt(0.16)
    share = stats.beta(0.5, (d - 3) / 2)  # of a coordinate's square
    for i in range(d - 2):
        assert stats.kstest(z[:, i] ** 2 / 0.64, share.cdf).pvalue > 1e-6
    assert stats.kstest(z[:, 0] ** 2 / 0.64, stats.beta(0.5, (d - 2) / 2).cdf).pvalue < 1e-6


OWN = """
from privbandits_cli.algorithms import linucb
from privbandits_cli.games import contextual
from privbandits_cli.games.ellipsoid import {imported}

class Parameters(linucb.Parameters):
    {promise}

    def tuned(self, setting):
        return Tuned(**dict(linucb.Parameters.tuned(self, setting)))

class Tuned(linucb.Tuned):
    {promise}

def choose(state, arms, rng):
    return {chosen}

update = linucb.update
"""


@pytest.mark.parametrize(
    ("imported", "promise", "chosen", "expected"),
    [
        ("optimistic", "optimistic = True", "optimistic(state, arms)", None),
        ("optimistic", "pass", "optimistic(state, arms)", None),
        ("beta", "pass", "int(arms[0, 0] > 0)", None),
        ("beta", "optimistic = True", "0", "promises that `choose` itself calls `optimistic(state, arms)`"),
    ],
)
def test_a_file_of_ones_own_promises_how_it_reads_the_arms(tmp_path, imported, promise, chosen, expected):
    """What the built-in class promises does not count for the steps of another file."""
    file = tmp_path / "my_linucb.py"
    file.write_text(OWN.format(imported=imported, promise=promise, chosen=chosen))
    own = loader.module(loader.read(file)).Parameters
    played = match(crowd_foe(), [own()], 40)
    if expected is None:
        found = contextual.play(played, [0])
        assert np.isfinite(found).all() and (found > 0).all()
    else:
        with pytest.raises(PluginError, match=re.escape(expected)):
            contextual.play(played, [0])


@pytest.mark.parametrize(("d", "k"), [(2, 4), (4, 16), (9, 81), (16, 256)])
def test_regrets_have_the_law_of_arms_drawn_ahead(d, k):
    """The means of 600 games of each kind differ by less than five deviations; with other means they differ by more."""

    def played(adversary):
        game = match(adversary, [make("linucb")], 150, k, d)
        found = contextual.play(game, range(600))[0, :, -1]
        return found.mean(), found.var() / len(found)

    (ahead, ahead_error), (demanded, error) = played(foe("sphere_arms", gap=0.1)), played(crowd_foe())
    assert abs(ahead - demanded) < 5 * np.sqrt(ahead_error + error)
    other, other_error = played(crowd_foe(best=0.2))
    assert abs(ahead - other) > 5 * np.sqrt(ahead_error + other_error)


@pytest.mark.parametrize("name", PLAYERS)
def test_a_learner_that_looks_at_all_arms_meets_the_same_law(name, monkeypatch):
    """Its regret in 200 games has the mean of the same learner with few arms drawn."""

    def played():
        game = match(crowd_foe(), [LEARNERS[name]()], 80, 12, 4)
        found = contextual.play(game, range(200))[0, :, -1]
        return found.mean(), found.var() / len(found)

    few, error = played()
    monkeypatch.setattr(type(LEARNERS[name]()), "optimistic", False)
    every, other_error = played()
    assert few != every
    assert abs(few - every) < 5 * np.sqrt(error + other_error)


@pytest.mark.parametrize("block", [1, 7, 64])
def test_blocks_change_no_number(block):
    played = match(crowd_foe(), [LEARNERS[name]() for name in PLAYERS], 100, checkpoints=[9, 50, 100])
    np.testing.assert_array_equal(contextual.play(played, [0, 1], block), contextual.play(played, [0, 1]))


def test_a_learner_is_not_disturbed_by_others():
    both = match(crowd_foe(), [LEARNERS["gaussian"](), LEARNERS["linucb"]()], 60)
    alone = both._replace(algorithms=both.algorithms[1:])
    np.testing.assert_array_equal(contextual.play(both, [1])[1], contextual.play(alone, [1])[0])


@pytest.mark.parametrize("d", [2, 3, 5])
def test_plain_python_plays_the_same_game(d):
    played = match(crowd_foe(), [LEARNERS[name]() for name in PLAYERS], 10, 9, d)
    kept = contextual.play(played, [0])
    with uncompiled():
        np.testing.assert_allclose(contextual.play(played, [0]), kept, atol=1e-9)


PROGRAM = """
import json
from privbandits_cli.games.contextual import play
from tests.games.test_on_demand import small
print(json.dumps(play(small(), [0, 1]).tolist()))
"""


def small():
    return match(crowd_foe(), [LEARNERS["linucb"]()], 300, 70, 9)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="these are names of x86-64 processors")
def test_every_processor_plays_the_same_bytes(tmp_path):
    own = contextual.play(small(), [0, 1])
    for name, found in on_every_processor(PROGRAM, tmp_path):
        assert found == own.tolist(), name
