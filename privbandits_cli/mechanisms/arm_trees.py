"""A tree for each arm, binary, k-ary or smooth, that sums the arm's gains with one new number for each gain.

They differ only in the level of the node that an item closes. The code of the item gives this level: its leaf in a
smooth tree, or the number of items before it. The best tree minimises the largest deviation of a prefix, not the mean
one, because a confidence bound must hold for every prefix.
"""

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.mechanisms.smooth import MOST_ITEMS, TOO_MANY, Smooth, closed_level, next_code
from privbandits_cli.mechanisms.tree import KAry, close_level, trailing_zeros, trailing_zeros_in
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
    """The error of a counter that cannot sum so many gains."""
    if choice == "smooth" and horizon > MOST_ITEMS:
        yield f"{TOO_MANY}: set counter: auto"


def resolved(choice: Choice, items: int) -> Kind:
    """The kind chosen; `auto` is the one whose best tree for so many items has the smallest deviation."""
    if choice != "auto":
        return choice
    kinds = [kind for kind in BEST if kind != "smooth" or items <= MOST_ITEMS]
    return min(kinds, key=lambda kind: BEST[kind](items).deviation(items))


def chosen(choice: Choice, items: int) -> Counter:
    """The best tree of the kind chosen for so many items of an arm."""
    return BEST[resolved(choice, items)](items)


def ratio(choice: Choice, items: int) -> float:
    """The deviation of the binary tree divided by that of the chosen counter."""
    return BEST["tree"](items).deviation(items) / chosen(choice, items).deviation(items)


def level_closed(code: int, k: int) -> int:
    """The level of the node that the item after this code closes; k: that of the counter."""
    if k == 0:
        return closed_level(code)
    return trailing_zeros(code + 1) if k == 2 else trailing_zeros_in(code + 1, k)


def add_item(noise: Floats, codes: NDArray[np.int64], arm: int, k: int, fresh: float) -> float:
    """Add an item to an arm's sum with this fresh noise, and return the noise of the sum.

    noise: `[arms, levels]`, zeros before the first item; codes: `[arms]`, `counter.first` before it; k: `counter.k`.
    """
    code = codes[arm]
    codes[arm] = next_code(code) if k == 0 else code + 1
    return close_level(noise[arm], level_closed(code, k), fresh)
