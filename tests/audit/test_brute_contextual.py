"""Exact losses of audits of tiny contextual games, against brute force: the whole matrix of noise, and all answers."""

import itertools
import math

import numpy as np
import pytest

from privbandits_cli.accounting import gaussian
from privbandits_cli.audit.answers import law
from privbandits_cli.audit.auditor import audit
from privbandits_cli.games.players import Contexts, Setting
from privbandits_cli.games.steps import composition, steps
from privbandits_cli.games.views import read
from tests.conftest import first, make, some

pytestmark = pytest.mark.usefixtures("plainly")

PRIVATE = {"epsilon": 1.0, "delta": 0.1}


class Numbers:
    """A generator of given normal numbers, in their order."""

    def __init__(self, numbers):
        self.left = [*numbers]

    def standard_normal(self):
        return self.left.pop(0)


def releases(algorithm, setting, rows, arms, numbers):
    """What is released in each round if these rows are seen, in one list; and how many numbers are left."""
    bound, state, rng, out = steps(composition(algorithm)), algorithm.state(setting), Numbers(numbers), []
    for row in rows:
        bound["choose"](state[0], arms, rng)
        noisy = np.array(read(state[0], algorithm.view(setting).values))
        out += (
            noisy[np.tril_indices(len(noisy))].tolist() + noisy[:, -1].tolist() if noisy.ndim == 2 else noisy.tolist()
        )
        bound["update"](state[0], row[:-1], row[-1], rng)
    return np.array(out), len(rng.left)


def brute(algorithm, setting, pairs):
    """The largest μ of one record, by the least norm of moves of all numbers of the game that hide it."""
    d, rounds, rng = setting.known().dimension, int(setting.horizon), np.random.default_rng(1)
    arms, rows = rng.standard_normal((d, setting.n_arms)) / 4, rng.standard_normal((rounds, d + 1)) / 4
    numbers = rng.standard_normal(500)

    def seen(rows, numbers=numbers):
        return releases(algorithm, setting, rows, arms, numbers)[0]

    right, count = seen(rows), len(numbers) - releases(algorithm, setting, rows, arms, numbers)[1]
    matrix = np.stack([seen(rows, numbers + unit) - right for unit in np.eye(len(numbers))[:count]], axis=1)
    inverse, worst = np.linalg.pinv(matrix, rcond=1e-10), 0.0
    for t, pair in itertools.product(range(rounds), pairs):
        one, other = rows.copy(), rows.copy()
        one[t], other[t] = pair
        apart = seen(one) - seen(other)
        moves = inverse @ apart
        np.testing.assert_allclose(matrix @ moves, apart, atol=1e-9)
        worst = max(worst, float(np.linalg.norm(moves)))
    return worst


def unit(angle, reward):
    return np.array([math.cos(angle), math.sin(angle), reward])


@pytest.mark.parametrize(
    ("name", "own", "horizon"),
    first(
        2,
        [
            ("dp_linucb", PRIVATE, 4),
            ("ldp_linucb", PRIVATE, 4),
            ("dp_linucb", PRIVATE, 7),
            ("dp_linucb", PRIVATE | {"counter": "blt"}, 4),
            ("dp_linucb", PRIVATE | {"counter": "tree"}, 5),
            ("dp_linucb", PRIVATE | {"counter": "honaker"}, 5),
        ],
    ),
)
def test_the_cost_of_a_record_is_that_of_brute_force(name, own, horizon):
    """The worst rows are orthogonal; of reports, those of cosine 1/2 that differ in no product of two coordinates."""
    setting = Setting(horizon, 3, contexts=Contexts(2))
    algorithm = make(name, **own).tuned(setting)
    pairs = [(unit(0.3, 1.0), unit(0.3 + math.acos(cosine), -1.0)) for cosine in (0.0, 0.25, 0.5, 1.0)]
    pairs.append((unit(math.pi / 12, 1.0), unit(5 * math.pi / 12, -1.0)))
    mu = brute(algorithm, setting, pairs)
    found = audit(algorithm, setting, budget=2**9)
    assert found.epsilon_seen == pytest.approx(gaussian.epsilon_of(mu, 0.1), rel=1e-6), found.found


def test_the_cost_of_a_reward_is_that_of_brute_force():
    setting = Setting(3, 2, contexts=Contexts(1))
    algorithm = make("adac_oful", rho=0.5, delta=0.01, regulariser=1e-3).tuned(setting)
    mu = brute(algorithm, setting, [(np.array([1.0, 1.0]), np.array([1.0, -1.0]))])
    found = audit(algorithm, setting, budget=2**9)
    assert found.epsilon_seen == pytest.approx(gaussian.epsilon_of(mu, 0.01), rel=1e-6), found.found


def test_the_law_of_answers_is_that_of_all_pairs_of_numbers():
    """Arm 0 with probability 0.3, else one of the other four, or arm 4 wherever both numbers are large."""

    def answer(numbers):
        first, second = [*numbers, 0.0, 0.0][:2]
        if first < 0.3:
            return 0, 1
        return 1 + int(4 * second) if first < 0.9 else 4, 2

    def run(tries):
        arms, counts = zip(*map(answer, tries), strict=True)
        return np.array(arms), np.array(counts)

    found = law(run, 5)
    np.testing.assert_allclose(found, [0.3, 0.15, 0.15, 0.15, 0.25], atol=1e-12)
    grid = (np.arange(200) + 0.5) / 200
    by_hand = np.bincount([answer(pair)[0] for pair in itertools.product(grid, grid)], minlength=5) / 200**2
    np.testing.assert_allclose(found, by_hand, atol=1e-12)


@pytest.mark.parametrize("horizon", some([2, 4], 2))
def test_the_cost_of_an_answer_is_that_of_randomised_response(horizon):
    setting = Setting(horizon, 3, contexts=Contexts(1))
    base = make("dp_linucb", **PRIVATE)
    found = audit(make("plain_dp_linucb", epsilon=0.7, base=base).tuned(setting), setting, budget=2**9)
    assert found.verdict == "CONSISTENT" and found.epsilon_seen == pytest.approx(0.7, rel=1e-9), found.found
