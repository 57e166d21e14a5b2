"""Counters that sum by nodes: which nodes a prefix has and an item is in, against trees that are written out."""

import math
from itertools import combinations, product

import numpy as np
import pytest

from privbandits_cli.mechanisms import arm_trees
from privbandits_cli.mechanisms.arm_trees import BEST, chosen, resolved
from privbandits_cli.mechanisms.k_ary import KAryTree
from privbandits_cli.mechanisms.smooth import HIGHEST, MOST_ITEMS, Smooth, SmoothTree, closed_level, next_code
from privbandits_cli.mechanisms.tree import KAry, trailing_zeros_in
from privbandits_cli.numerics.jit import bind, compile_step, unbound
from tests.conftest import some

add_item = compile_step(arm_trees.add_item)
ITEMS = [1, 2, 3, 15, 16, 17, 100, 777, 5000]
SOME = [KAry.of(k, 5000) for k in (2, 3, 10, 17, 64)] + [Smooth(15, 6), Smooth(18, 14), Smooth(16, 3)]


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
    if isinstance(counter, KAry):
        leaves = list(product(range(counter.k), repeat=counter.height))
    else:
        turns = combinations(range(counter.height), counter.ones)
        leaves = sorted(tuple(int(i in ones) for i in range(counter.height)) for ones in turns)
    under = {}
    for item, leaf in enumerate(leaves, start=1):
        for depth in range(1, len(leaf) + 1):
            under.setdefault(leaf[:depth], []).append(item)
    for leaf in leaves[1:]:
        left = [(*leaf[:i], child) for i in range(len(leaf)) for child in range(leaf[i])]
        yield [(path, under[path]) for path in left if path in under]


def nodes(counter, items):
    """The number of nodes of each prefix, as the counter for vectors of the same shape has it."""
    if isinstance(counter, KAry):
        whole = KAryTree(items, "gaussian", counter.k)
    else:
        whole = SmoothTree(items, "gaussian", counter.ones)
    return whole.variances(np.arange(1, items + 1)).astype(int)


def shares(counter, items):
    """`[prefix, item]`: whether the noise of the item's node is in the prefix, by noises of distinct powers of two."""
    found, codes, k = np.zeros((1, counter.height + 1)), np.full(1, counter.first), counter.k
    kept = np.zeros((items, items), np.int64)
    for start in range(0, items, 50):  # 50 bits of a float are exact
        found[:], codes[:] = 0.0, counter.first
        for n in range(items):
            fresh = 2.0 ** (n - start) if start <= n < start + 50 else 0.0
            total = int(add_item(found, codes, 0, k, fresh))
            kept[n, start : start + 50] = [total >> bit & 1 for bit in range(min(50, items - start))]
    return kept


@pytest.mark.parametrize("counter", [KAry(2, 6), KAry(3, 4), KAry(5, 3), Smooth(8, 4), Smooth(9, 7), Smooth(9, 2)])
def test_each_prefix_has_the_noise_of_its_nodes_exactly_once(counter):
    """The node that an item closes is the one that ends with it."""
    prefixes = list(written_out(counter))
    found = shares(counter, len(prefixes))
    drawn = {}
    for n, taken in enumerate(prefixes, start=1):
        covered = sorted(item for _, items in taken for item in items)
        assert covered == list(range(1, n + 1))  # the disjoint union of its nodes
        assert np.flatnonzero(found[n - 1]).tolist() == sorted(items[-1] - 1 for _, items in taken)
        for path, items in taken:
            assert drawn.setdefault(items[-1], path) == path  # one node for each item, with one number
    assert sorted(drawn) == list(range(1, len(prefixes) + 1))
    assert nodes(counter, len(prefixes)).tolist() == [len(taken) for taken in prefixes]


@pytest.mark.parametrize("counter", SOME, ids=str)
def test_an_item_is_in_as_many_nodes_as_declared_at_most(counter):
    """For up to 5,000 items; the levels of the compiled step, those of the table, and those of the written tree."""
    items = 5000 if isinstance(counter, KAry) else min(5000, math.comb(counter.height, counter.ones) - 1)
    levels = counter.levels(items)
    closed, codes = [], np.full(1, counter.first)
    for level in levels.tolist():
        closed.append(closed_by(counter.height, codes, counter.k))
        assert closed[-1] == level < counter.height
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
    assert np.cumsum(inside)[:-1].max() <= counter.sensitivity
    np.testing.assert_array_equal(count, nodes(counter, items))
    assert count.max() == counter.most(items)


@pytest.mark.parametrize("kind", BEST)
@pytest.mark.parametrize("items", ITEMS)
def test_the_best_tree_is_the_smallest_that_is_large_enough(kind, items):
    found = BEST[kind](items)
    levels = found.levels(items)
    assert len(levels) == items and levels.max() == found.height - 1
    assert nodes(found, items).max() == found.most(items)
    assert found.deviation(items) == pytest.approx(found.sensitivity * math.sqrt(2 * found.most(items)))
    if kind == "k_ary":
        others = [KAry.of(k, items) for k in range(2, 65)]
    else:
        pairs = [(h, w) for h in range(2, 40) for w in range(1, h) if math.comb(h, w) > items]
        others = [Smooth(*pair) for pair in pairs] if kind == "smooth" else []
    assert all(found.deviation(items) <= other.deviation(items) + 1e-12 for other in others)
    assert chosen(kind, items) == found


@pytest.mark.parametrize(
    ("items", "k_ary", "smooth", "wanted"),
    [(2**16 - 1, KAry(16, 4), Smooth(26, 21), (43.8, 32.4)), (2**10 - 1, KAry(11, 3), None, (22.05, 17.5))],
)
def test_deviations_are_those_of_independent_computations(items, k_ary, smooth, wanted):
    assert BEST["k_ary"](items) == k_ary and smooth in (None, BEST["smooth"](items))
    found = [BEST[kind](items).deviation(items) for kind in ("k_ary", "smooth")]
    np.testing.assert_allclose(found, wanted, atol=0.051)
    assert BEST["tree"](items).deviation(items) == pytest.approx(items.bit_length() * math.sqrt(2 * items.bit_length()))


def test_no_tree_has_less_noise_than_a_smooth_one_with_as_many_items():
    """A tree whose items are in a nodes, and whose prefixes have b, has at most C(a + b, a) - 1 items."""
    for items in (10, 1000, 65535):
        for k in range(2, 65):
            tree = KAry.of(k, items)
            assert math.comb(tree.sensitivity + tree.most(items), tree.sensitivity) > items
        found = {kind: made(items).deviation(items) for kind, made in BEST.items()}
        assert found["smooth"] <= found["k_ary"] <= found["tree"] and found[resolved("auto", items)] == found["smooth"]


@pytest.mark.parametrize("items", [10**9, 2**40, 2**50, 10**17])
def test_codes_of_long_games_fit_64_bits(items):
    """The compiled steps agree with Python's integers of any size, from random leaves to the last one."""
    counter, rng = Smooth.best(items), np.random.default_rng(items % 1000)
    height, ones = counter.height, counter.ones
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
    tree = KAry.of(7, items)
    for n in [7 ** (tree.height - 1), 7**10 * 3, 7**10 + 7, *rng.integers(1, items, 200).tolist()]:
        digits = np.base_repr(n, 7)
        assert trailing_zeros_in(n, 7) == len(digits) - len(digits.rstrip("0")) < tree.height


def _gap(code, ones):
    """The lowest 0: the number grows least by setting it."""
    return next(bit for bit in range(64) if not code >> bit & 1)


def test_too_many_items_for_a_smooth_tree():
    assert math.comb(Smooth.best(MOST_ITEMS).height, Smooth.best(MOST_ITEMS).ones) > MOST_ITEMS
    with pytest.raises(ValueError, match="a smooth tree has at most"):
        Smooth.best(MOST_ITEMS + 1)


next_prefix = unbound


def noises(fresh, noise, codes, k, out):
    """Fill `out[game, prefix]` from the numbers `fresh[game, item]`."""
    for i in range(len(fresh)):
        noise[:], codes[:] = 0.0, codes[1]
        for n in range(fresh.shape[1]):
            out[i, n] = next_prefix(noise, codes, 0, k, fresh[i, n])


@pytest.mark.parametrize("kind", some(BEST, "smooth"))
def test_the_noise_of_prefixes_has_the_variance_of_their_nodes(kind):
    """Prefixes of 60 items, 40,000 times: covariances within 6 errors, which fresh noise for each prefix is not."""
    items, draws, rng = 60, 40_000, np.random.default_rng(3)
    counter = BEST[kind](items)
    fresh, made = rng.laplace(size=(draws, items)), np.empty((draws, items))
    noise, codes = np.zeros((1, counter.height + 1)), np.full(2, counter.first)  # the second stays the first code
    bind(noises, next_prefix=add_item)(fresh, noise, codes, counter.k, made)
    taken = shares(counter, items)
    wanted = 2.0 * taken @ taken.T
    np.testing.assert_array_equal(np.diag(wanted), 2 * nodes(counter, items))
    error = np.sqrt((np.outer(np.diag(wanted), np.diag(wanted)) * 4 + wanted**2) / draws)
    assert np.abs((np.cov(made.T) - wanted) / error).max() < 6
    assert np.abs((np.cov(made.T) - np.diag(np.diag(wanted))) / error).max() > 50
