"""Rates that papers state: their orders, their units, what contradicts what, and which of them a figure has."""

import itertools
import math

import numpy as np
import pytest

from privbandits_cli.analysis.rates import least_regret, rates
from privbandits_cli.figures import plot, table
from privbandits_cli.games.bandit import Setting
from tests.analysis.test_curves import ran  # noqa: F401
from tests.conftest import foe
from tests.naive import coin_divergence

MEANS = np.array([0.9, 0.7, 0.5, 0.3, 0.1])
ZHOU, EIGHT, NINE, SEVEN = (
    "lower order: Zhou & Zhang 2024",
    "lower order, loose: Tao et al., Theorem 8",
    "lower order, loose: Tao et al., Theorem 9",
    "upper order, contradicted: Tao et al., Theorem 7",
)
FIVE, BOUNDED = "lower order: Tao et al., Theorem 5", "lower: Shariff & Sheffet 2018, Cor. 15"


def stated(rounds, v=None, u=None, epsilon=1.0, local=False, means=MEANS):
    """Name -> regret after each of these rounds."""
    rounds = np.atleast_1d(np.array(rounds, float))
    return {r.name: r.regret for r in rates(rounds, Setting(rounds[-1], len(means), v, u), means, epsilon, local)}


def test_numbers_by_hand():
    assert stated(1e7, epsilon=0.5)[BOUNDED] == pytest.approx(4 * math.log(1e7) / 100)
    assert stated(1e7, epsilon=0.5, means=np.array([0.9, 0.9, 0.1]))[BOUNDED] == pytest.approx(math.log(1e7) / 100)
    assert stated(1e6, 1.0, 1.0, 0.5)[FIVE] == pytest.approx(
        2 * math.log(1e6) * (1 / 0.2 + 1 / 0.4 + 1 / 0.6 + 1 / 0.8)
    )
    found = stated(1e4, 1.0, 1.0, 0.5, local=True)
    assert found[NINE] == pytest.approx(math.sqrt(5 / 0.25 * 1e4))
    assert found[ZHOU] == pytest.approx(20**0.25 * 1e4**0.75)
    assert found[EIGHT] == pytest.approx(4 * math.log(1e4) * (1 / 0.2 + 1 / 0.4 + 1 / 0.6 + 1 / 0.8))
    assert found[SEVEN] == pytest.approx(math.sqrt(20 * math.log(1e4) * 1e4))


@pytest.mark.parametrize(("v", "local"), list(itertools.product([0.3, 0.9, 1.0], [False, True])))
def test_gains_in_other_units_have_regret_in_other_units(v, local):
    """s X has the moment s^(1+v) u and gaps sΔ; Theorem 7, as it is printed, has another power of u."""
    s, u = 3.0, 1.7
    one, other = stated(1e6, v, u, local=local), stated(1e6, v, s ** (1 + v) * u, local=local, means=s * MEANS)
    for name, regret in one.items():
        assert (other[name] == pytest.approx(s * regret)) == (name != SEVEN), name


@pytest.mark.parametrize("v", [0.5, 0.9, 1.0])
def test_a_lower_bound_that_is_above_an_upper_one(v):
    """Zhou & Zhang's is above Theorem 9, hence loose, and passes Theorem 7, hence contradicted."""
    found = stated([1e3, 1e6, 1e15], v, 1.0, 0.5, local=True)
    assert (found[ZHOU] > found[NINE]).all()
    assert found[ZHOU][-1] > 10 * found[SEVEN][-1]
    assert np.log(found[ZHOU][2] / found[ZHOU][1]) / np.log(1e9) == pytest.approx((2 + v) / (2 * (1 + v)))


def test_nothing_is_stated_where_no_theorem_speaks():
    assert not stated(1e6, 0.5, 1.0, epsilon=1.5) and not stated(1e6, 0.5, 1.0, epsilon=1.5, local=True)
    assert list(stated(1e6, epsilon=1.5)) == [BOUNDED]  # any ε


HEAVY = """\
experiment: rates
horizon: [1000, 2000]
arms: 5
trials: 8
seed: 3
checkpoints: 3
adversary: [{name: pareto, v: 0.5}, bernoulli]
algorithms:
  - uniform
  - {name: dp_robust_se, constants: 0.05, epsilon: 0.5}
  - {name: ldp_robust_se, constants: 0.03, epsilon: 0.5}
  - {name: ldp_robust_ucb, constants: 0.3, epsilon: 2}
summary: {centre: mean, bars: sd}
"""


@pytest.mark.parametrize("overrides", [["horizon=2000"], ["plot={against: horizon}"]], ids=["rounds", "swept"])
def test_a_figure_has_what_is_stated_of_its_learners(ran, overrides):  # noqa: F811
    folder = ran(HEAVY, *overrides)[2]
    read = table.read(folder, bounds=True)
    pareto, bernoulli = read.panels.values()
    names = [{rate.name for rate in line.rates} for line in pareto]
    assert names == [set(), {FIVE}, {ZHOU, EIGHT, NINE, SEVEN}, set()]  # ε = 2 is beyond the theorems
    assert [[rate.name for rate in line.rates] for line in bernoulli] == [[], [BOUNDED], [BOUNDED], [BOUNDED]]
    line = bernoulli[1]
    np.testing.assert_allclose(line.rates[0].regret, 4 * np.log(line.x) / (200 * 0.5))
    drawn = plot.figure(read)
    assert sum(drawn_line.get_color() == "#555555" for drawn_line in drawn.axes[0].lines) == 0  # coloured by learner
    labels = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert {FIVE, ZHOU, EIGHT, NINE, SEVEN, BOUNDED} <= set(labels)
    assert not any(line.rates for lines in table.read(folder).panels.values() for line in lines)  # only on request


@pytest.mark.parametrize(
    ("means", "epsilon", "horizon", "known"),
    [("C2", 0.1, 1e7, 672), ("C2", 1.0, 1e7, 124), ("C1", 0.1, 1e6, 682), ("C1", 1.0, 1e6, 431), ("C2", 0.1, 1e6, 575)],
)
def test_the_lower_bound_of_private_learners(means, epsilon, horizon, known):
    """Reference values, in whole numbers."""
    adversary = foe("bernoulli", means=means)
    mu = adversary.mean_gains(Setting(horizon, 5))
    assert least_regret(np.array([horizon]), mu, epsilon)[0] == pytest.approx(known, abs=1)


def test_the_lower_bound_is_that_of_lai_and_robbins_without_privacy():
    mu = np.array([0.3, 0.75, 0.5, 0.75])  # two best arms
    wanted = sum((0.75 - x) / coin_divergence(x, 0.75) for x in (0.3, 0.5)) * np.log([10.0, 1000.0])
    np.testing.assert_allclose(least_regret(np.array([10.0, 1000.0]), mu), wanted, rtol=1e-12)
    np.testing.assert_allclose(least_regret(np.array([10.0, 1000.0]), mu, 100.0), wanted, rtol=1e-12)
    small = least_regret(np.array([1000.0]), mu, 1e-4)[0]
    assert small == pytest.approx(2 * np.log(1000) / 1e-4, rel=1e-3)  # ln t/ε for each worse arm
    assert least_regret(np.ones(1), np.array([0.5, 1.0])) == least_regret(np.ones(1), np.ones(3), 1.0) == 0
