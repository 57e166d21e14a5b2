"""FTRL and FTPL, private and not: twins, points of the set, the law of released prefixes, guarantees, regret bounds."""

import math

import numpy as np
import pytest
from conftest import foe, make
from naive_linear import learner, regrets
from scipy import optimize

from privbandits_cli.accounting import gaussian
from privbandits_cli.games import linear
from privbandits_cli.games.linear import Cube, Draws, Polytope, Setting, Simplex, Sphere
from privbandits_cli.games.match import Match
from privbandits_cli.games.steps import composition, steps
from privbandits_cli.mechanisms import tree

HOMES = [Simplex(2), Simplex(5), Sphere(1), Sphere(4), Cube(1), Cube(3)]
EUCLIDEAN = {"base": {"regulariser": "euclidean"}}
GAUSSIAN = {"nodes": "gaussian", "delta": 1e-6}
LAWS = [
    (nodes, spare, {"spare": spare, **({} if nodes == "laplace" else GAUSSIAN)})
    for nodes in ("laplace", "gaussian")
    for spare in ("fresh", "once")
]
PLAYERS = [
    ("ftrl", {}),
    ("ftrl", {"regulariser": "euclidean"}),
    *[("dp_ftrl", parameters) for _, _, parameters in LAWS],
    ("dp_ftrl", {"epsilon": 3.0, "calibration": "printed", **EUCLIDEAN}),
    ("noisy_ftrl", {}),
    ("noisy_ftrl", {"rate": "non_private", **EUCLIDEAN}),
    ("ftpl", {}),
    ("dp_ftpl", {}),
    ("dp_ftpl", {"spare": "once", "sigma": "printed"}),
]


def setting(space, horizon=1000, signed=False):
    return Setting(horizon, space.dimension, space=space, signed=signed)


def ready(name, space, horizon=1000, **parameters):
    """The steps of a tuned algorithm and its first state."""
    told = setting(space, horizon)
    algorithm = make(name, **parameters).tuned(told)
    return algorithm, steps(composition(algorithm)), algorithm.state(told)[0]


def game(algorithm, space, horizon, checkpoints, adversary=None, seed=11):
    told = setting(space, horizon)
    return Match(adversary or foe("gap"), [algorithm.tuned(told)], told, np.array(checkpoints), seed)


# ---------------------------------------------------------------------------------------------- twins


@pytest.mark.parametrize("space", HOMES, ids=str)
@pytest.mark.parametrize(("name", "parameters"), PLAYERS, ids=str)
def test_the_twin_plays_the_same_game(name, parameters, space):
    for horizon, checkpoints in ((64, [1, 2, 33, 64]), (77, [77])):
        match = game(make(name, **parameters), space, horizon, checkpoints)
        found = linear.play(match, trials=[2])[0, 0]
        np.testing.assert_array_equal(found, regrets(match, trial=2))


@pytest.mark.parametrize("horizon", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("name", "parameters"), PLAYERS, ids=str)
def test_the_shortest_games(name, parameters, horizon):
    match = game(make(name, **parameters), Simplex(2), horizon, range(1, horizon + 1))
    found = linear.play(match, trials=[0])[0, 0]
    np.testing.assert_array_equal(found, regrets(match, trial=0))
