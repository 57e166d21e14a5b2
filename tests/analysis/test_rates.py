"""Rates that papers state: their orders, their units, what contradicts what, and which of them a figure has."""

import itertools
import math

import numpy as np
import pytest

from privbandits_cli.analysis.rates import least_regret, rates, theory
from privbandits_cli.figures import plot, table
from privbandits_cli.games.bandit import Setting
from privbandits_cli.numerics.streams import stream
from privbandits_cli.report.data import finals
from tests.analysis.test_curves import ran  # noqa: F401
from tests.conftest import foe, make, playing, some
from tests.naive import coin_divergence

pytestmark = pytest.mark.usefixtures("no_figure")

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
horizon: [100, 200]
arms: 5
trials: 4
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


@pytest.mark.parametrize(
    "overrides", some([["horizon=200"], ["plot={against: horizon}"]], ["horizon=200"]), ids=["rounds", "swept"]
)
def test_a_figure_has_what_is_stated_of_its_learners(ran, overrides):  # noqa: F811
    folder = ran(HEAVY, *overrides, plain=True)[2]
    read = table.read(folder, bounds=True)
    pareto, bernoulli = read.panels.values()
    names = [{rate.name for rate in line.rates} for line in pareto]
    assert names == [set(), {FIVE}, {ZHOU, EIGHT, NINE, SEVEN}, set()]  # ε = 2 is beyond the theorems
    titles = ["lower bound without privacy", *(f"lower bound for ε-DP, ε = {x}" for x in (0.5, 0.5, 2))]
    assert [[rate.title for rate in line.rates] for line in bernoulli] == [[title] for title in titles]
    means = foe("bernoulli").mean_gains(Setting(200, 5))
    for line, epsilon in zip(bernoulli, (math.inf, 0.5, 0.5, 2.0), strict=True):
        np.testing.assert_allclose(line.rates[0].regret, least_regret(line.x, means, epsilon))
    drawn = plot.figure(read)
    grey = [sum(drawn_line.get_color() == "#555555" for drawn_line in axis.lines) for axis in drawn.axes[:2]]
    assert grey == [0, 3]  # orders are coloured by learner; both learners with ε = 0.5 share a line
    labels = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert {FIVE, ZHOU, EIGHT, NINE, SEVEN, *titles} <= set(labels) and BOUNDED not in labels
    assert [note.split(":")[0] for note in read.notes()][-2:] == ["lower bounds", "thin"]
    assert not any(line.rates for lines in table.read(folder).panels.values() for line in lines)  # only on request


def test_a_figure_against_epsilon_has_one_lower_bound(ran):  # noqa: F811
    """Its value at each ε, in the figure and in the tables; the level line without privacy has none."""
    text = HEAVY.replace("[{name: pareto, v: 0.5}, bernoulli]", "bernoulli").replace("[100, 200]", "200")
    text = text.replace("epsilon: 0.5", "epsilon: [0.25, 0.5, 4]").replace("epsilon: 2", "epsilon: [0.25, 0.5, 4]")
    folder = ran(text, "plot={against: epsilon, bounds: true}", plain=True)[2]
    read = table.read(folder)
    (lines,) = read.panels.values()
    means = foe("bernoulli").mean_gains(Setting(200, 5))
    wanted = [least_regret(np.array([200.0]), means, epsilon)[0] for epsilon in (0.25, 0.5, 4)]
    assert [[rate.title for rate in line.rates] for line in lines] == [[]] + [["lower bound for ε-DP"]] * 3
    for line in lines[1:]:
        np.testing.assert_allclose(line.rates[0].regret, wanted)
    drawn = plot.figure(read)
    inside = [line for line in drawn.axes[0].lines if line.get_clip_on()]  # beside the frame is its name
    assert sum(line.get_color() == "#555555" for line in inside) == 1
    cells = finals(read)[0].rows["lower bound for ε-DP"]
    assert [cell.regret for cell in cells] == pytest.approx(wanted) and not any(cell.bars for cell in cells)


def test_bernoulli_arms_with_fixed_means_are_named_by_the_adversaries():
    """All others have no fixed means, or other laws. The gains have these means, up to five deviations."""
    setting, found = Setting(1000, 4), {}
    for name in playing("adversaries"):
        found[name] = foe(name).tuned(setting).coins(setting)
    fixed = {name: means.tolist() for name, means in found.items() if means is not None}
    assert fixed["stochastic"] == fixed["fully_oblivious"] == [0.55, 0.5, 0.5, 0.5]
    assert set(fixed) == {"bernoulli", "stochastic", "fully_oblivious"}
    for name in fixed:
        rows = next(foe(name).tuned(setting).gains(setting, stream(2, "gains", trial=0), [range(1, 40_001)]))
        np.testing.assert_allclose(rows.mean(0), fixed[name], atol=5 * 0.5 / 200)


@pytest.mark.parametrize(
    ("name", "own", "wanted"),
    [
        ("ucb1", {}, 8 * (8 + 4) * math.log(1000) + (1 + math.pi**2 / 3) * 0.375),
        ("moss", {}, 49 * math.sqrt(3 * 50_000)),
        ("adap_ucb", {"epsilon": 0.2, "beta": 4.0}, 64 * (8 + 5) * math.log(1000) + 24),
        ("adac_ucb", {"rho": 0.5, "beta": 4.0}, 32 * 12 * math.log(1000) + 16 * math.sqrt(8 * math.log(1000)) + 16),
        ("adac_ucb", {"rho": 0.5}, None),
        ("dp_klucb", {"epsilon": 1.0}, None),
        ("adap_klucb", {"epsilon": 1.0}, None),
    ],
)
def test_finite_bounds_on_coins(name, own, wanted):
    """Gaps of 1/8 and 1/4; against arms that are no coins these theorems say nothing."""
    setting, means, rounds = Setting(50_000, 3), np.array([0.5, 0.375, 0.25]), np.array([10.0, 1000.0])
    algorithm = make(name, **own).tuned(setting)
    found = algorithm.instance_regret_bound(rounds, means, setting)
    assert found is wanted if wanted is None else found[1] == pytest.approx(wanted)
    coins = foe("bernoulli", means=means.tolist())
    drawn = theory(algorithm, coins, setting, rounds).bound
    assert (drawn is None) == (wanted is None)
    assert drawn is None or np.isnan(drawn).tolist() == [True, found[1] > 250], "no regret exceeds 1/4 a round"
    assert theory(algorithm, foe("oblivious").tuned(setting), setting, rounds).bound is None


@pytest.mark.parametrize(
    ("name", "own", "title"),
    [
        ("dp_klucb", {"epsilon": 0.5}, "lower bound for ε-DP, ε = 0.5"),
        ("ldp_ucb", {"epsilon": 0.5}, "lower bound for ε-DP, ε = 0.5"),  # local privacy implies central privacy
        ("adac_ucb", {"rho": 0.5}, "lower bound without privacy"),  # δ > 0
        ("ucb1", {}, "lower bound without privacy"),
    ],
)
def test_the_lower_bound_is_that_of_the_curves_privacy(name, own, title):
    setting = Setting(1000, 5)
    adversary, rounds = foe("bernoulli", means="C2"), np.array([10.0, 1000.0])
    (rate,) = theory(make(name, **own).tuned(setting), adversary, setting, rounds).rates
    assert rate.title == title and rate.asymptotic
    wanted = least_regret(rounds, adversary.mean_gains(setting), 0.5 if "ε-DP" in title else math.inf)
    np.testing.assert_array_equal(rate.regret, wanted)
    equal = foe("bernoulli", means=[0.5] * 5)
    assert theory(make(name, **own).tuned(setting), equal, setting, rounds).rates == ()


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
