"""The adaptive tree: which noise is in which prefix, what that costs, and how large it is."""

import math

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.games.steps import composition, steps
from privbandits_cli.mechanisms import arm_trees, tree
from privbandits_cli.numerics.jit import bind, compile_step, unbound
from tests.conftest import make
from tests.naive import Tree, ends

add_item = compile_step(arm_trees.add_item)


def prefixes(fresh, horizon):
    """The noise of each prefix, `[items]`, from that of each item's node."""
    noise, items = np.zeros((1, tree.depth(horizon) + 1)), np.zeros(1, np.int64)
    out = [add_item(noise, items, 0, 2, x) for x in fresh]
    assert noise[0, -1] == 0 and items[0] == len(fresh)
    return np.array(out)


@pytest.mark.parametrize("horizon", [1, 2, 3, 7, 8, 64, 100])
def test_prefixes_are_those_of_algorithm_2_line_by_line(horizon):
    rng = np.random.default_rng(horizon)
    items, fresh = rng.normal(size=horizon), rng.laplace(size=horizon)
    other = Tree()
    wanted = [other.insert(item, noise) for item, noise in zip(items, fresh, strict=True)]
    np.testing.assert_allclose(items.cumsum() + prefixes(fresh, horizon), wanted, atol=1e-12)


def test_a_later_tree_needs_no_new_zeros():
    """Trees of any length one after the other, in the same memory. Control: a last entry that is not 0."""
    rng, noise, wrong = np.random.default_rng(1), np.zeros((1, 9)), 0
    for length in rng.integers(1, 200, 30):
        fresh = rng.normal(size=length)
        items = np.zeros(1, np.int64)
        found = [add_item(noise, items, 0, 2, x) for x in fresh]
        np.testing.assert_array_equal(found, prefixes(fresh, 200))
        wrong += add_item(np.ones((1, 9)), np.zeros(1, np.int64), 0, 2, fresh[0]) != found[0]
    assert wrong == 30


def shares(horizon):
    """`[prefix, node]`: how much of each node's noise is in each prefix, by noises that are 1 for one node."""
    return np.array([prefixes(row, horizon) for row in np.eye(horizon)]).T


def test_each_prefix_has_the_noise_of_its_nodes_exactly_once():
    """So its variance is the sum of theirs, and two prefixes share the noise of their common nodes."""
    found, horizon = shares(64), 64
    for n in range(1, horizon + 1):
        assert np.flatnonzero(found[n - 1]).tolist() == sorted(end - 1 for end in ends(n))
    assert set(np.unique(found)) == {0, 1}
    assert [int(found[n - 1].sum()) for n in (1, 3, 7, 8, 63, 64)] == [1, 2, 3, 1, 6, 1]


def node_sizes(horizon):
    """Node n sums the items from n - 2^j + 1 to n, j its trailing zeros."""
    return [n & -n for n in range(1, horizon + 1)]


@pytest.mark.parametrize("horizon", [1, 2, 3, 4, 31, 32, 33, 200])
def test_an_item_is_in_as_many_nodes_as_there_are_levels_at_most(horizon):
    sizes = node_sizes(horizon)
    nodes = [sum(n - sizes[n - 1] < item <= n for n in range(1, horizon + 1)) for item in range(1, horizon + 1)]
    assert max(nodes) == nodes[0] == tree.depth(horizon)
    assert [tree.trailing_zeros(n) for n in (1, 2, 12, 2**40)] == [0, 1, 2, 40]


@pytest.mark.parametrize("horizon", [2, 1000, 1024, 2**14])
@pytest.mark.parametrize("levels", ["exact", "printed"])
def test_the_epsilon_of_a_tree_is_the_sum_over_an_items_nodes(horizon, levels):
    """Noise 2 B_n levels/ε at node n, B_n growing: an item in [-B_i, B_i] costs Σ 2 B_i / scale over its nodes.

    If the bounds do not grow, this equals the stated ε; if they grow, it is less.
    """
    algorithm = make("dp_robust_ucb", epsilon=0.7, levels=levels).tuned(Setting(horizon, 2))
    setting = Setting(horizon, 2)
    state, sizes = algorithm.state(setting)[0], node_sizes(horizon)

    def cost(item, bound):
        nodes = [n for n in range(1, horizon + 1) if n - sizes[n - 1] < item <= n]
        return sum(2 * bound(item) / (state.scale * bound(n)) for n in nodes)

    promised = algorithm.guarantee(setting).epsilon
    assert cost(1, lambda n: 1.0) == pytest.approx(promised, rel=1e-12)
    assert promised == pytest.approx(0.7 * (1 if levels == "exact" else tree.depth(horizon) / math.log(horizon)))
    grown = [cost(item, lambda n: n**0.5) for item in (1, 2, horizon // 2 + 1)]
    assert max(grown) <= promised and (horizon == 2 or grown[0] < promised)


update = unbound


def noisy_sums(states, numbers, out):
    """Fill `out[state, gains]` with the noisy sums of gains of 0."""
    for i in range(len(states)):
        for n in range(out.shape[1]):
            update(states[i], 0, 0.0, Draws(0.0, numbers[i, n]))
            out[i, n] = states[i].means[0] * (n + 1)


def test_errors_of_prefixes_follow_their_law():
    """DP-Robust-UCB on gains of 0, so n times the mean is noise alone, of variance Σ 2 scale² over the nodes.

    The sd of a sample variance of sums of Laplace numbers is at most √(5/samples) of it: 5 of these are allowed.
    """
    setting, samples = Setting(1000, 2), 4000
    algorithm = make("dp_robust_ucb", epsilon=0.5).tuned(setting)
    numbers, found = np.random.default_rng(5).laplace(size=(samples, 64)), np.empty((samples, 64))
    play = bind(noisy_sums, update=steps(composition(algorithm))["update"])
    play(np.repeat(algorithm.state(setting), samples), numbers, found)
    bounds = np.sqrt(0.5 * np.arange(1, 65) / math.log(1000) ** 1.5)  # B_n at v = 1, u = 1
    scale = 2 * bounds * 10 / 0.5  # of 10 levels
    wanted = shares(64) @ (2 * scale**2)
    tolerance = 5 * math.sqrt(5 / samples)
    np.testing.assert_allclose(found.var(axis=0), wanted, rtol=tolerance)
    assert (
        abs(found.var(axis=0) / (wanted / 10**2 * math.log(1000) ** 2) - 1).min() > tolerance
    )  # control: log for levels
    assert abs(found[:, 62].var() / (2 * scale[62] ** 2) - 1) > tolerance  # control: one fresh noise for the prefix
    together = np.cov(found[:, 61], found[:, 62])[0, 1]  # control: noise redrawn for each query has nothing in common
    assert together > 0.5 * wanted[61]
    assert stats.kstest(found[:, 0] / scale[0], "laplace").pvalue > 1e-4
