"""What a release costs, from its law, its sensitivity and its count; the algorithms that share a release."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.accounting import gaussian, laplace, whole
from privbandits_cli.accounting.releases import Release, bit, noised
from privbandits_cli.games.bandit import Setting
from privbandits_cli.games.linear import Simplex
from privbandits_cli.games.players import Contexts
from privbandits_cli.mechanisms.arm_trees import level_closed
from privbandits_cli.mechanisms.smooth import next_code
from tests.conftest import make

GAME = Setting(2**12, 4)
HEAVY = Setting(2**12, 4, v=1.0, u=1e-4)  # of such gains an epoch is short
ONE = [  # a gain is in one number with Laplace noise of scale 1/ε
    ("adap_ucb", {}, GAME),
    ("adap_klucb", {}, GAME),
    ("dp_klucb", {}, GAME),
    ("dp_imed", {}, GAME),
    ("lazy_dp_ts", {}, GAME),
    ("dp_se", {"beta": 0.5}, GAME._replace(horizon=2**14)),
    ("dp_tsallis_switch", {}, GAME),
    ("dp_exp2", {}, GAME),
    ("dp_reduction", {}, GAME),
    ("dp_lambda_lap", {}, GAME),
    ("batched_htinf", {"epsilon": 1.0}, GAME),
    ("ldp_ucb", {"report": "laplace"}, GAME),
    ("dp_robust_se", {}, HEAVY),
    ("ldp_robust_se", {"epsilon": 1.0, "epochs": 2}, HEAVY),
    ("ldp_robust_ucb", {}, HEAVY),
]
GROUPS = {
    "one Laplace number": ONE,
    "one Laplace number in ten rounds": [
        ("mini_batch", {"tau": 10, "base": make(name, **given)}, game._replace(horizon=10 * game.horizon))
        for name, given, game in ONE[:5]
    ],
    "two halves": [("dp_ucb", {}, GAME), ("dp_ucb", {"bonus": "without_nu"}, GAME), ("dp_ts", {}, GAME)],
    "a Laplace tree of one arm": [
        ("dp_ucb", {"bonus": bonus}, GAME) for bonus in ("chernoff", "azize", "mishra_thakurta")
    ],
    "Laplace nodes": [
        ("dp_ftrl", {"spare": "none"}, GAME._replace(space=Simplex(4))),
        ("dp_ftrl", {"spare": "none", "base": {"regulariser": "euclidean"}}, GAME._replace(space=Simplex(4))),
    ],
    "a Gaussian number or vector": [
        ("adac_ucb", {"rho": 0.1}, GAME),
        ("adac_oful", {"rho": 0.1}, GAME._replace(contexts=Contexts(3, norm=2.0))),
    ],
    "Gaussian prefixes": [
        ("dp_ftrl", {"nodes": "gaussian", "delta": 1e-6, "counter": counter}, GAME._replace(space=Simplex(4)))
        for counter in ("tree", "honaker", "smooth", "k_ary", "blt", "square_root")
    ],
}


def lines(name, given, game, delta):
    """Of each bound the side, δ, ε in nine digits and status."""
    found = make(name, **given).tuned(game).bounds(game, delta)
    return [(bound.lower, bound.delta, float(f"{bound.epsilon:.9g}"), bound.status) for bound in found]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("group", GROUPS)
def test_identical_releases_have_identical_lines(group, delta):
    gauss = "Gaussian" in group
    if delta == 0 and gauss:
        return
    found = {name: lines(name, given, game, delta) for name, given, game in GROUPS[group]}
    first = next(iter(found.values()))
    assert [name for name, own in found.items() if own != first] == []
    pure = [(lower, at) for lower, at, *_ in first if at == 0]
    assert pure == ([] if gauss else [(False, 0.0), (True, 0.0)])
    concentrated = [False] * (group == "a Gaussian number or vector")
    assert [lower for lower, at, *_ in first if at] == ([*concentrated, False, True] if delta else [])


def test_a_gain_in_a_robust_tree_costs_what_it_costs_in_another_tree():
    """From above. From below only the first node is tested, because later ones have larger noise."""
    trees = [("dp_robust_ucb", {}, HEAVY), ("dp_ucb", {"bonus": "chernoff"}, GAME)]
    robust, plain = ([line for line in lines(*tree, 1e-6) if not line[0] or line[1]] for tree in trees)
    assert robust == plain and len(robust) == 3


def test_one_laplace_number_by_its_densities():
    """δ(ε) by summing max(0, p - e^ε q) over a fine grid."""
    x, width = np.linspace(-60, 60, 1_200_001, retstep=True)
    low, high = Release("laplace", 2.0).bracket(0.01)
    p, q = stats.laplace.pdf(x), stats.laplace.pdf(x, loc=2.0)
    assert low == high and width * np.maximum(0, p - math.exp(low) * q).sum() == pytest.approx(0.01, rel=1e-6)
    assert Release("laplace", 2.0, 2).bracket(0.01) == laplace.bracket(2, 1.0, 0.01)
    assert Release("gaussian", 0.5).bracket(1e-6)[0] == gaussian.epsilon_of(0.5, 1e-6)


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_a_bit_costs_most_at_an_end_of_its_range(share):
    """δ at the stated ε, over all places to which an item may move the chance of a 1, and for both answers."""
    ends = 1 / (1 + math.exp(2.0)), 1 / (1 + math.exp(-2.0))
    p = np.linspace(ends[0], ends[1] - share * (ends[1] - ends[0]), 1001)
    q = p + share * (ends[1] - ends[0])
    proved = [bound for bound in bit(2.0, share, 0.01, "a report is a bit", "report", "a report") if not bound.lower]
    assert [bound.delta for bound in proved] == [0.0, 0.01]
    assert proved[0].epsilon == pytest.approx(np.log(np.maximum(q / p, (1 - p) / (1 - q))).max(), rel=1e-9)
    ratio = math.exp(proved[1].epsilon)
    assert np.maximum(q - ratio * p, 1 - p - ratio * (1 - q)).max() == pytest.approx(0.01, rel=1e-9)
    found = bit(2.0, share, 0.01, "a report is a bit", "report", "a report")
    assert [bound.epsilon for bound in found if bound.lower] == [bound.epsilon for bound in proved]


def test_an_attack_says_no_more_than_what_is_surely_released():
    tree, node = Release("laplace", 1.0, 4), Release("laplace", 0.25)
    found = noised(tree, 0.01, "a gain is in a tree", "node", "all sums", surely=node, possibly=tree)
    assert [(bound.lower, bound.delta) for bound in found] == [(False, 0), (True, 0), (False, 0.01), (True, 0.01)]
    assert found[1].epsilon == 1.0 and found[3].epsilon == pytest.approx(0.25 + 2 * math.log1p(-0.01))
    nothing = noised(tree, 0.01, "a gain is in a tree", "node", "all sums", surely=None)
    assert not any(bound.lower for bound in nothing) and "before the first node" in nothing[0].source


@pytest.mark.parametrize("counter", ["tree", "k_ary", "smooth"])
def test_the_nodes_of_the_first_gain_are_those_that_each_replace_a_whole_prefix(counter):
    """A node contains the first item if it is higher than all before it."""
    tree = make("dp_ucb", bonus="chernoff", counter=counter)._tree(GAME)
    code, levels = tree.first, []
    for _ in range(4000):
        levels.append(level_closed(code, tree.k))
        code = code + 1 if tree.k else next_code(code)
    for items in (1, 2, 3, 4, 15, 16, 17, 1000, 4000):
        assert replace(tree, n=items).nodes == len(np.unique(np.maximum.accumulate(levels[:items])))


def test_hybrid_trees_attain_both_halves_from_the_fourth_gain_on():
    for horizon, wanted in ((6, 0.5), (7, 1.0)):  # four arms, each of which is played once
        _, lower, *_ = make("dp_ucb").tuned(GAME).bounds(GAME._replace(horizon=horizon), 0.0)
        assert lower.lower and lower.epsilon == wanted


@pytest.mark.parametrize("law", [whole.DiscreteLaplace(0.8), whole.Skellam(0.8)])
def test_a_sum_mod_m_by_the_masses_of_scipy(law):
    """At g = 7, mod 60: the masses of all k that are equal mod 60; the whole sum costs as much or more."""
    own = stats.dlaplace(1 / 5.6) if isinstance(law, whole.DiscreteLaplace) else stats.skellam(15.68, 15.68)
    k = np.arange(-3000, 3000)
    seen = np.bincount(k % 60, own.pmf(k))
    epsilon = whole.cost(law, 7.0, 1e-3, modulus=60.0)
    assert np.maximum(seen - math.exp(epsilon) * np.roll(seen, 7), 0).sum() == pytest.approx(1e-3, rel=1e-6)
    assert epsilon <= whole.cost(law, 7.0, 1e-3) * (1 + 1e-9)


def test_skellam_noise_has_its_exact_epsilon_in_the_ledger():
    """s = 10, ε = 1, T = 2^18: the first of 16 sums costs 4.818, the finest one 4.887; the Rényi bound has 5.251."""
    game = Setting(2**18, 4)
    renyi, proved, attack = make("dist_rdp_se", epsilon=1.0).tuned(game).bounds(game, 1e-6)
    assert [float(f"{bound.epsilon:.4g}") for bound in (renyi, proved, attack)] == [5.251, 4.887, 4.818]
    assert attack.lower and attack.status == "exact" and proved.status == "proved"
    coarse, finest = (whole.cost(whole.Skellam(1.0), g, 1e-6) for g in (15.0, 2560.0))
    assert attack.epsilon == pytest.approx(coarse, rel=1e-6) and proved.epsilon == pytest.approx(finest, rel=1e-6)
    short = make("dist_rdp_se", epsilon=1.0).tuned(game).bounds(game._replace(horizon=7), 1e-6)
    assert not any(bound.lower for bound in short)  # the first batch takes eight rounds


@pytest.mark.parametrize(("name", "epsilon"), [("dist_dp_se", 1e9), ("dist_dp_se", 1e-9), ("dist_rdp_se", 1e9)])
def test_sums_of_too_many_whole_numbers_have_no_exact_line(name, epsilon):
    """A gain changes them by 1e9 and more, or their noise reaches as far: no array of that size is made."""
    game = Setting(2**18, 4)
    found = make(name, epsilon=epsilon).tuned(game).bounds(game, 1e-6)
    assert [bound.source for bound in found if "worst of" in bound.source or "mod M" in bound.source] == []
