"""The random numbers of the game `linear`: of each kind as many in a round as an algorithm asks for."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from privbandits_cli.games.steps import SOURCES
from privbandits_cli.numerics import vector_fills
from privbandits_cli.numerics.laplace import laplace_of
from privbandits_cli.numerics.sfc64 import Fill, fraction, wide
from privbandits_cli.numerics.types import Floats, Ints


class Draws(NamedTuple):
    """The random numbers of one round: of each kind as many as the algorithm's `draws` asks for."""

    uniform: Floats  # on (0, 1)
    laplace: Floats  # standard Laplace
    normal: Floats  # standard normal


ALONE: dict[str, Callable[[Generator], Fill]] = {  # a round takes many numbers, which many streams of a trial make
    "uniform": partial(wide, fraction),
    "laplace": partial(wide, laplace_of),
    "normal": SOURCES["normal"],
}


IN_LANES: dict[str, Callable[[Sequence[Generator]], Fill]] = {  # those of WIDTH trials, `[n, WIDTH]`
    "uniform": partial(vector_fills.wide, fraction),
    "laplace": partial(vector_fills.wide, laplace_of),
    "normal": vector_fills.normals,
}


def drawn(
    fills: Mapping[str, Fill], asked: Mapping[str, Ints], n: int, unasked: int = 0, lanes: tuple[int, ...] = ()
) -> tuple[Draws, tuple[Ints, ...]]:
    """The numbers of n rounds, `[number, *lanes]`, and for each kind where those of each round begin, `[n + 1]`.

    asked: how many numbers of a kind each round takes. unasked: how many NaN it gets of another kind.
    """
    numbers, ends = [], []
    for kind, fill in fills.items():
        end = np.zeros(n + 1, np.int64)
        if kind in asked or unasked:
            end[1:] = asked.get(kind, unasked)
            np.cumsum(end, out=end)
        out = np.empty((end[-1], *lanes))
        if kind not in asked:
            out[:] = np.nan
        elif len(out):
            fill(out)
        numbers.append(out)
        ends.append(end)
    return Draws(*numbers), tuple(ends)
