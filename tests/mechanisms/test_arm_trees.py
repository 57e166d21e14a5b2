"""Counters that sum by nodes: which nodes a prefix has and an item is in, against trees that are written out."""

import math
from itertools import combinations, product

import numpy as np
import pytest

from privbandits_cli.mechanisms import arm_trees
from privbandits_cli.mechanisms.arm_trees import best, chosen, resolved
from privbandits_cli.mechanisms.k_ary import KAryTree
from privbandits_cli.mechanisms.smooth import HIGHEST, MOST_ITEMS, SmoothTree, closed_level, next_code
from privbandits_cli.mechanisms.tree import trailing_zeros_in
from privbandits_cli.numerics.jit import bind, compile_step, unbound
from tests.conftest import some

add_item = compile_step(arm_trees.add_item)
ITEMS = [1, 2, 3, 15, 16, 17, 100, 777, 5000]
KINDS = ["tree", "k_ary", "smooth"]


def full(k, levels):
    """A k-ary tree with as many items as it can have."""
    return KAryTree(k**levels - 1, "laplace", k)


def full_smooth(levels, ones):
    """A smooth tree with as many items as it can have, or 5,000."""
    return SmoothTree(min(5000, math.comb(levels, ones) - 1), "laplace", ones)


SOME = [KAryTree(5000, "laplace", k) for k in (2, 3, 10, 17, 64)]
SOME += [full_smooth(*shape) for shape in ((15, 6), (18, 14), (16, 3))]


def closed_by(height, codes, k):
    """The level of the node that the next item closes: only its entry changes."""
    noise = np.zeros((1, height + 1))
    assert add_item(noise, codes, 0, k, 1.0) == 1.0
    (level,) = np.flatnonzero(noise)
    return int(level)


def written_out(counter):
    """The tree written out: for each prefix the nodes that it sums, `(path of the node, its items)`.

    A node is the path to it. The leaves that are used have items 1, 2, ... in their order; prefix n goes down to leaf
    n + 1 and takes every sibling to the left of its path.
    """
    if isinstance(counter, KAryTree):
        leaves = list(product(range(counter.k), repeat=counter.levels))
    else:
        turns = combinations(range(counter.levels), counter.ones)
        leaves = sorted(tuple(int(i in ones) for i in range(counter.levels)) for ones in turns)
    under = {}
    for item, leaf in enumerate(leaves, start=1):
        for depth in range(1, len(leaf) + 1):
            under.setdefault(leaf[:depth], []).append(item)
    for leaf in leaves[1:]:
        left = [(*leaf[:i], child) for i in range(len(leaf)) for child in range(leaf[i])]
        yield [(path, under[path]) for path in left if path in under]


def nodes(counter):
    """The number of nodes of each prefix."""
    return (counter.variances(np.arange(1, counter.n + 1)) / counter.unit).astype(int)


def shares(counter):
    """`[prefix, item]`: whether the noise of the item's node is in the prefix, by noises of distinct powers of two."""
    items, k = counter.n, counter.k
    found, codes = np.zeros((1, counter.levels + 1)), np.full(1, counter.first)
    kept = np.zeros((items, items), np.int64)
    for start in range(0, items, 50):  # 50 bits of a float are exact
        found[:], codes[:] = 0.0, counter.first
        for n in range(items):
            fresh = 2.0 ** (n - start) if start <= n < start + 50 else 0.0
            total = int(add_item(found, codes, 0, k, fresh))
            kept[n, start : start + 50] = [total >> bit & 1 for bit in range(min(50, items - start))]
    return kept


@pytest.mark.parametrize(
    "counter", [full(2, 6), full(3, 4), full(5, 3), *(full_smooth(*shape) for shape in ((8, 4), (9, 7), (9, 2)))]
)
def test_each_prefix_has_the_noise_of_its_nodes_exactly_once(counter):
    """The node that an item closes is the one that ends with it."""
    prefixes = list(written_out(counter))
    found = shares(counter)
    drawn = {}
    for n, taken in enumerate(prefixes, start=1):
        covered = sorted(item for _, items in taken for item in items)
        assert covered == list(range(1, n + 1))  # the disjoint union of its nodes
        assert np.flatnonzero(found[n - 1]).tolist() == sorted(items[-1] - 1 for _, items in taken)
        for path, items in taken:
            assert drawn.setdefault(items[-1], path) == path  # one node for each item, with one number
    assert sorted(drawn) == list(range(1, len(prefixes) + 1))
    assert nodes(counter).tolist() == [len(taken) for taken in prefixes]


@pytest.mark.parametrize("counter", SOME, ids=str)
def test_an_item_is_in_as_many_nodes_as_declared_at_most(counter):
    """The levels of the nodes are those that the compiled step closes."""
    items, codes = counter.n, np.full(1, counter.first)
    closed = [closed_by(counter.levels, codes, counter.k) for _ in range(items)]
    assert max(closed) == counter.levels - 1
    begin, last = np.zeros(items, np.int64), {}  # where each node begins, from the last node of each level
    inside = np.zeros(items + 1, np.int64)
    count = np.zeros(items, np.int64)
    current = []  # the nodes of the prefix, by level
    for n, level in enumerate(closed):
        begin[n] = max((last[higher] for higher in last if higher >= level), default=-1) + 1
        last[level] = n
        inside[begin[n]] += 1
        inside[n + 1] -= 1
        current = [node for node in current if node >= level] + [level]
        count[n] = len(current)
    assert np.cumsum(inside)[:-1].max() == counter.nodes == counter.sensitivity()
    np.testing.assert_array_equal(count, nodes(counter))
    assert 2 * count.max() == counter.spread()[1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("items", ITEMS)
def test_the_best_tree_is_the_smallest_that_is_large_enough(kind, items):
    found = best(kind, items)
    assert nodes(found).max() == found.spread()[1] / 2
    assert found.largest() == pytest.approx(found.nodes * math.sqrt(2 * nodes(found).max()))
    if kind == "k_ary":
        others = [KAryTree(items, "laplace", k) for k in range(2, 65)]
    else:
        shapes = [w for w in range(1, 40) if math.comb(62, w) > items]
        others = [SmoothTree(items, "laplace", w) for w in shapes] if kind == "smooth" else []
    assert all(found.largest() <= other.largest() + 1e-12 for other in others)
    assert chosen(kind, items) == found


@pytest.mark.parametrize(
    ("items", "k_ary", "smooth", "wanted"),
    [(2**16 - 1, (16, 4), (26, 21), (43.8, 32.4)), (2**10 - 1, (11, 3), None, (22.05, 17.5))],
)
def test_deviations_are_those_of_independent_computations(items, k_ary, smooth, wanted):
    tree, other = best("k_ary", items), best("smooth", items)
    assert (tree.k, tree.levels) == k_ary and smooth in (None, (other.levels, other.ones))
    np.testing.assert_allclose([tree.largest(), other.largest()], wanted, atol=0.051)
    assert best("tree", items).largest() == pytest.approx(items.bit_length() * math.sqrt(2 * items.bit_length()))


def test_no_tree_has_less_noise_than_a_smooth_one_with_as_many_items():
    """A tree whose items are in a nodes, and whose prefixes have b, has at most C(a + b, a) - 1 items."""
    for items in (10, 1000, 65535):
        for k in range(2, 65):
            tree = KAryTree(items, "laplace", k)
            assert math.comb(tree.nodes + int(tree.spread()[1] / 2), tree.nodes) > items
        found = {kind: best(kind, items).largest() for kind in KINDS}
        assert found["smooth"] <= found["k_ary"] <= found["tree"] and found[resolved("auto", items)] == found["smooth"]


@pytest.mark.parametrize("items", [10**9, 2**40, 2**50, 10**17])
def test_codes_of_long_games_fit_64_bits(items):
    """The compiled steps agree with Python's integers of any size, from random leaves to the last one."""
    counter, rng = best("smooth", items), np.random.default_rng(items % 1000)
    height, ones = counter.levels, counter.ones
    assert height <= HIGHEST and math.comb(height, ones) > items
    last = ((1 << ones) - 1) << (height - ones)
    randoms = [sum(1 << int(bit) for bit in rng.choice(height, ones, replace=False)) for _ in range(200)]
    codes = np.zeros(1, np.int64)
    for code in randoms:
        if code == last:
            continue
        codes[0] = code
        level = closed_by(height, codes, 0)
        following = code + 1
        while following.bit_count() != ones:  # by carries: the lowest one moves up, or joins the ones above it
            following += following & -following if following.bit_count() > ones else 1 << _gap(following, ones)
        assert codes[0] == following == next_code(code) and level == closed_level(code)
        assert following >> level & 1 and not code >> level & 1 and following >> level + 1 == code >> level + 1
    tree = KAryTree(items, "laplace", 7)
    for n in [7 ** (tree.levels - 1), 7**10 * 3, 7**10 + 7, *rng.integers(1, items, 200).tolist()]:
        digits = np.base_repr(n, 7)
        assert trailing_zeros_in(n, 7) == len(digits) - len(digits.rstrip("0")) < tree.levels


def _gap(code, ones):
    """The lowest 0: the number grows least by setting it."""
    return next(bit for bit in range(64) if not code >> bit & 1)


def test_too_many_items_for_a_smooth_tree():
    found = best("smooth", MOST_ITEMS)
    assert math.comb(found.levels, found.ones) > MOST_ITEMS
    with pytest.raises(ValueError, match="a smooth tree has at most"):
        best("smooth", MOST_ITEMS + 1)


next_prefix = unbound


def noises(fresh, noise, codes, k, out):
    """Fill `out[game, prefix]` from the numbers `fresh[game, item]`."""
    for i in range(len(fresh)):
        noise[:], codes[:] = 0.0, codes[1]
        for n in range(fresh.shape[1]):
            out[i, n] = next_prefix(noise, codes, 0, k, fresh[i, n])


@pytest.mark.parametrize("kind", some(KINDS, "smooth"))
def test_the_noise_of_prefixes_has_the_variance_of_their_nodes(kind):
    """Prefixes of 60 items, 40,000 times: covariances within 6 errors, which fresh noise for each prefix is not."""
    items, draws, rng = 60, 40_000, np.random.default_rng(3)
    counter = best(kind, items)
    fresh, made = rng.laplace(size=(draws, items)), np.empty((draws, items))
    noise, codes = np.zeros((1, counter.levels + 1)), np.full(2, counter.first)  # codes[1] remains the first code
    bind(noises, next_prefix=add_item)(fresh, noise, codes, counter.k, made)
    taken = shares(counter)
    wanted = 2.0 * taken @ taken.T
    np.testing.assert_array_equal(np.diag(wanted), 2 * nodes(counter))
    error = np.sqrt((np.outer(np.diag(wanted), np.diag(wanted)) * 4 + wanted**2) / draws)
    assert np.abs((np.cov(made.T) - wanted) / error).max() < 6
    assert np.abs((np.cov(made.T) - np.diag(np.diag(wanted))) / error).max() > 50
