"""The counters (`mechanisms.counter`) by name, and the one with the least noise for each law of the noise."""

import math
from collections.abc import Iterator
from typing import Literal

from privbandits_cli.mechanisms.blt import Buffered
from privbandits_cli.mechanisms.counter import Counter, Law
from privbandits_cli.mechanisms.fresh_top_up import FreshTopUp
from privbandits_cli.mechanisms.honaker import Honaker
from privbandits_cli.mechanisms.k_ary import KAryTree
from privbandits_cli.mechanisms.negative_digits import NegativeDigits
from privbandits_cli.mechanisms.shared_top_up import SharedTopUp
from privbandits_cli.mechanisms.smooth import MOST_ITEMS, TOO_MANY, SmoothTree
from privbandits_cli.mechanisms.square_root import MOST_ROUNDS, SquareRoot

Name = Literal["tree", "honaker", "smooth", "k_ary", "negative_digits", "square_root", "blt"]
Spare = Literal["fresh", "once", "none"]

TREES: dict[Spare, type[Counter]] = {"fresh": FreshTopUp, "once": SharedTopUp, "none": KAryTree}
OTHERS: dict[Name, type[Counter]] = {
    "honaker": Honaker,
    "smooth": SmoothTree,
    "k_ary": KAryTree,
    "negative_digits": NegativeDigits,
    "square_root": SquareRoot,
    "blt": Buffered,
}


def class_of(name: Name, spare: Spare = "fresh") -> type[Counter]:
    """The class of the counter of this name; spare: the top-up noise of a tree."""
    return TREES[spare] if name == "tree" else OTHERS[name]


def counter(name: Name, n: int, law: Law, spare: Spare = "fresh", buffers: int | None = None) -> Counter:
    """The counter of this name for the prefixes 1, ..., n, with the best parameters; buffers: the number in a BLT."""
    if name == "tree":
        return TREES[spare](n, law)
    return Buffered(n, law, buffers) if buffers else OTHERS[name].best(n, law)


def last_prefix(horizon: float) -> int:
    """The last prefix that is released in a game of `horizon` rounds, T - 1; at least 1."""
    return max(1, math.ceil(horizon) - 1)


def law_errors(name: Name | Literal["auto"], law: Law, spare: Spare, chosen: bool) -> Iterator[str]:
    """The errors of a config: noise that the counter cannot have; chosen: the config may take the other law instead."""
    known = None if name == "auto" else class_of(name)
    if known and law not in known.laws:
        *others, last = with_law(law)
        own, instead = known.laws[0].title(), f"set nodes: {known.laws[0]}, or " if chosen else ""
        yield f"the noise of {known.title} is {own}: {instead}set counter: {', '.join(others)} or {last}"
    if name != "tree" and spare != "fresh":
        yield f"only a tree has top-up noise: leave spare out, or set counter: tree, not {name}"


def errors(name: str, buffers: int | None, horizon: float) -> Iterator[str]:
    """The errors of a config: a parameter that the counter does not have, or too many rounds for it."""
    if name not in ("blt", "auto") and buffers is not None:
        yield f"only a BLT has buffers: leave buffers out, or set counter: blt, not {name}"
    if name == "square_root" and horizon > MOST_ROUNDS:
        yield f"the square root keeps all random numbers, for at most {MOST_ROUNDS:,} rounds: set counter: blt"
    if name == "smooth" and horizon > MOST_ITEMS:
        yield f"{TOO_MANY}: set counter: auto"


def with_law(law: Law) -> list[Name]:
    """The counters whose noise may have this law."""
    names: list[Name] = ["tree", *OTHERS]
    return [name for name in names if law in class_of(name).laws]


def best(n: int, law: Law) -> Name:
    """Among the counters that need little memory, the one with the least root mean square of E_t."""
    if law == "gaussian":
        return "blt"
    names: list[Name] = ["k_ary", "negative_digits"]
    if n <= MOST_ITEMS:
        names.append("smooth")
    return min(names, key=lambda name: counter(name, n, law).rms())
