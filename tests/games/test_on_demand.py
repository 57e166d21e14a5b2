"""Arms that are drawn on demand: what is played, the law of the game, learners that look at all arms."""

import platform
from typing import Any

import numpy as np
import pytest
from numpy.random import SFC64, Generator

from privbandits_cli.games import contextual, ellipsoid, on_demand
from privbandits_cli.games.contextual import Contexts, Setting
from privbandits_cli.games.on_demand import Crowd
from privbandits_cli.numerics.jit import bind, record, uncompiled
from tests.conftest import foe, make
from tests.games.test_contextual import LEARNERS, match
from tests.games.test_lanes import on_every_processor

ADVERSARY = "privbandits_cli.adversaries.sphere_arms"
PLAYERS = ["linucb", "gaussian", "wishart", "local", "plain"]


def crowd_foe(**given):
    return foe("sphere_arms", gap=0.1, drawn="on_demand", **given)


def rounds_of(d, k, rounds, spread, lasting=1):
    """What is chosen in random states, the exact scores of all arms, `[rounds, k]`, and how many the choice has drawn.

    spread: the ratio of the largest to the least eigenvalue of V^-1.
    """
    setting, rng = Setting(1000, k, contexts=Contexts(d)), np.random.default_rng(7)
    adversary, known = crowd_foe(), Contexts(d)
    records = adversary.crowd(setting, Generator(SFC64(3)), lasting)
    dealer, steps = Crowd((d, k), records, np.zeros((0, 0))), on_demand.steps(ADVERSARY)
    play = bind(play_round, "test", str(d), str(k), deal=steps["deal"], optimistic=steps["optimistic"])
    room = ellipsoid.room(known, k) | {"fixed": 1.0, "sigma": 0.0, "logdet": 0.0, "log_term": 0.0}
    states = record(theta=np.zeros(d), inverse=np.zeros((d, d)), **room)
    everything = bind(look_at_all, "test", str(d), str(k))
    chosen, scores, drawn = np.empty(rounds, int), np.empty((rounds, k)), np.empty(rounds, int)
    for t in range(rounds):
        basis, _ = np.linalg.qr(rng.standard_normal((d, d)))
        inverse = (basis * spread ** -rng.random(d)) @ basis.T * 10.0 ** rng.uniform(-3, 1)
        theta = rng.standard_normal(d) * 10.0 ** rng.uniform(-1, 0)
        states["inverse"], states["theta"] = inverse, theta
        chosen[t] = play(states, dealer)
        drawn[t] = (records["seen"][0] == records["t"][0]).sum()
        everything(records)
        x = records["x"][0]
        scores[t] = x @ theta + np.sqrt(np.einsum("ai,ij,aj->a", x, inverse, x))
    return chosen, scores, drawn


deal: Any = None  # filled in
optimistic: Any = None
look = on_demand.look


def play_round(states, dealer):
    deal(dealer, 0)
    return optimistic(states[0], dealer)


def look_at_all(records):
    for a in range(len(records[0].x)):
        look(records[0], a)


@pytest.mark.parametrize(("d", "k"), [(2, 5), (3, 70), (4, 16), (9, 300), (33, 400)])
def test_no_arm_that_was_not_drawn_has_a_larger_score(d, k):
    chosen, scores, drawn = rounds_of(d, k, 60, 30.0)
    np.testing.assert_allclose(scores[np.arange(60), chosen], scores.max(axis=1), rtol=1e-9)
    assert k < 50 or drawn.mean() < 0.8 * k  # most arms were ruled out


def test_a_bound_that_is_too_low_is_found():
    """The control: the eigenvalue of the first round is kept, and half of the later ones are larger."""
    chosen, scores, _ = rounds_of(9, 300, 60, 30.0, lasting=1000)
    assert (scores[np.arange(60), chosen] < 0.999 * scores.max(axis=1)).any()


@pytest.mark.parametrize(("d", "k"), [(2, 4), (4, 16), (9, 81)])
def test_regrets_have_the_law_of_arms_drawn_ahead(d, k):
    """The means of 300 games of each kind differ by less than five deviations; with other means they differ by more."""

    def played(adversary):
        game = match(adversary, [make("linucb")], 150, k, d)
        found = contextual.play(game, range(300))[0, :, -1]
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
    played = match(crowd_foe(), [LEARNERS[name]() for name in PLAYERS], 25, 9, d)
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
    return match(crowd_foe(), [LEARNERS["linucb"](), LEARNERS["gaussian"]()], 300, 70, 9)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="these are names of x86-64 processors")
def test_every_processor_plays_the_same_bytes(tmp_path):
    own = contextual.play(small(), [0, 1])
    for name, found in on_every_processor(PROGRAM, tmp_path):
        assert found == own.tolist(), name
