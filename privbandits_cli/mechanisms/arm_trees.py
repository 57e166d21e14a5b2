"""Binary, k-ary and smooth trees that sum the gains of one arm, with one new random number for each gain.

The three trees differ only in the level of the node that an item closes. This level follows from the code of the item,
which is the code of its leaf in a smooth tree, and the number of items before it in the other two. The best tree
minimises the largest deviation of a prefix, not the mean one, because a confidence bound must hold for every prefix.
"""

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.mechanisms.smooth import MOST_ITEMS, TOO_MANY, Smooth, closed_level, next_code
from privbandits_cli.mechanisms.tree import KAry, trailing_zeros, trailing_zeros_in
from privbandits_cli.numerics.types import Floats

Counter = KAry | Smooth
Kind = Literal["tree", "k_ary", "smooth"]
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
BEST: dict[Kind, Callable[[int], Counter]] = {
    "tree": lambda items: KAry.of(2, items),
    "k_ary": KAry.best,
    "smooth": Smooth.best,
}


def errors(choice: Choice, horizon: float) -> Iterator[str]:
    """An error if the counter cannot sum `horizon` gains."""
    if choice == "smooth" and horizon > MOST_ITEMS:
        yield f"{TOO_MANY}: set counter: auto"


def resolved(choice: Choice, items: int) -> Kind:
    """The kind of tree; `auto` takes the kind whose best tree for `items` gains has the smallest deviation."""
    if choice != "auto":
        return choice
    kinds = [kind for kind in BEST if kind != "smooth" or items <= MOST_ITEMS]
    return min(kinds, key=lambda kind: BEST[kind](items).deviation(items))


def chosen(choice: Choice, items: int) -> Counter:
    """The best tree of this kind for `items` gains of an arm."""
    return BEST[resolved(choice, items)](items)


def ratio(choice: Choice, items: int) -> float:
    """The deviation of the binary tree divided by that of the chosen counter."""
    return BEST["tree"](items).deviation(items) / chosen(choice, items).deviation(items)


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

    noise: `[arms, levels + 1]`, zeros before the first item; see `mechanisms.tree`. codes: `[arms]`, the code of each
    arm's next item, at first `counter.first`. k: `counter.k`.
    """
    own, code = noise[arm], codes[arm]
    level = level_closed(code, k)
    following = next_code(code) if k == 0 else code + 1
    codes[arm] = following
    total: float = own[level_before(following, level, k, len(own) - 1)] + fresh
    own[level] = total
    return total
