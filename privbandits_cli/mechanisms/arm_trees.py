"""Binary, k-ary and smooth trees that sum the gains of one arm, with one new random number for each gain.

The three trees differ only in the level of the node that an item closes. This level follows from the code of the item.
In a smooth tree, it is the code of the item's leaf; in the other two trees, it is the number of items before the item.
The best tree minimises the largest deviation of a prefix, not the mean deviation, because a confidence bound must hold
for every prefix.

`noise[arm, j]` is the noise of the prefix that ended with the last node of level j. When a node closes, its own
noise is added to the entry of the node before it in the prefix, or to 0 if it is the first node. So the time of an item
does not depend on its level, and a new tree may begin with the noise of an old one in its entries. The loops of the
counters of vectors (`mechanisms.counter`) would be slower here: in trials in lockstep, the arms are at different items,
and a loop lasts until it has ended in every trial.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.mechanisms.counter import Counter
from privbandits_cli.mechanisms.k_ary import KAryTree
from privbandits_cli.mechanisms.smooth import MOST_ITEMS, TOO_MANY, SmoothTree, closed_level, next_code
from privbandits_cli.mechanisms.tree import trailing_zeros, trailing_zeros_in
from privbandits_cli.numerics.types import Floats

Tree = KAryTree | SmoothTree
TreeKind = Literal["tree", "k_ary", "smooth"]
Choice = Literal["tree", "k_ary", "smooth", "auto"]

CHOICE = (
    "the tree that sums an arm's gains: binary, the best k-ary, the best smooth one; auto: that with the least noise"
)
NAMES: dict[Choice, str] = {
    "tree": "one tree",
    "k_ary": "one k-ary tree",
    "smooth": "one smooth tree",
    "auto": "the best tree",
}


def errors(choice: Choice, horizon: float) -> Iterator[str]:
    """An error if the counter cannot sum `horizon` gains."""
    if choice == "smooth" and horizon > MOST_ITEMS:
        yield f"{TOO_MANY}: set counter: auto"


def best(kind: TreeKind, items: int) -> Tree:
    """The tree of this kind with the smallest deviation for `items` gains of an arm."""
    if kind == "smooth":
        return SmoothTree.best(items, "laplace", Counter.largest)
    return KAryTree.best(items, "laplace", Counter.largest) if kind == "k_ary" else KAryTree(items, "laplace")


def resolved(choice: Choice, items: int) -> TreeKind:
    """The kind of tree; `auto` takes the kind whose best tree for `items` gains has the smallest deviation."""
    if choice != "auto":
        return choice
    kinds: tuple[TreeKind, ...] = ("tree", "k_ary", "smooth") if items <= MOST_ITEMS else ("tree", "k_ary")
    return min(kinds, key=lambda kind: best(kind, items).largest())


def chosen(choice: Choice, items: int) -> Tree:
    """The best tree of this kind for `items` gains of an arm."""
    return best(resolved(choice, items), items)


def ratio(choice: Choice, items: int) -> float:
    """The deviation of the binary tree divided by that of the chosen one."""
    return best("tree", items).largest() / chosen(choice, items).largest()


def level_closed(code: int, k: int) -> int:
    """The level of the node that an item with this code closes; k: the base of the tree, 0 for a smooth tree."""
    if k == 0:
        return closed_level(code)
    return trailing_zeros(code + 1) if k == 2 else trailing_zeros_in(code + 1, k)


def level_before(following: int, level: int, k: int, none: int) -> int:
    """The level of the node before that which has just closed at this level; `none` if the prefix has only that one.

    following: the code of the next item.
    """
    if k == 0:
        higher = following >> (level + 1)
        return level + 1 + trailing_zeros(higher) if higher > 0 else none
    rest = following & (following - 1) if k == 2 else following - k**level  # the items of the other nodes
    return level_closed(rest - 1, k) if rest > 0 else none


def add_item(noise: Floats, codes: NDArray[np.int64], arm: int, k: int, fresh: float) -> float:
    """Add an item and its `fresh` noise to an arm's tree, and return the noise of the arm's sum.

    noise: `[arms, levels + 1]`, at first zeros; the last column remains 0. codes: `[arms]`, the code of each arm's next
    item, at first `tree.first`. In a binary or k-ary tree, it is the number of the arm's items so far. k: `tree.k`.
    """
    own, code = noise[arm], codes[arm]
    level = level_closed(code, k)
    following = next_code(code) if k == 0 else code + 1
    codes[arm] = following
    total: float = own[level_before(following, level, k, len(own) - 1)] + fresh
    own[level] = total
    return total
