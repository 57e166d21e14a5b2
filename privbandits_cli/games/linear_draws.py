"""The random numbers of the game `linear`: of each kind as many in a round as an algorithm asks for."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from privbandits_cli.games import drawing
from privbandits_cli.numerics.jit import Record, record
from privbandits_cli.numerics.laplace import laplace_of
from privbandits_cli.numerics.sfc64 import Fill, fraction, ready_word, streams_of
from privbandits_cli.numerics.types import Floats, Ints


class Draws(NamedTuple):
    """The random numbers of one round: of each kind as many as the algorithm's `draws` asks for."""

    uniform: Floats  # on (0, 1)
    laplace: Floats  # standard Laplace
    normal: Floats  # standard normal


def uniform_row(state: Record, layers: Record, out: Floats) -> None:
    """A number in (0, 1)."""
    out[0] = fraction(ready_word(state))


def laplace_row(state: Record, layers: Record, out: Floats) -> None:
    """A standard Laplace number."""
    out[0] = laplace_of(ready_word(state))


WIDE: dict[str, drawing.Row] = {"uniform": uniform_row, "laplace": laplace_row}  # many numbers, of many streams


def fill_of(kind: str, *rngs: Generator) -> Fill:
    """A source of numbers of a kind, `[n, trials]`; each trial has its own stream."""
    if kind not in WIDE:
        return drawing.fill_of(kind, *rngs)
    return drawing.filled(WIDE[kind], [record(**streams_of(rng)) for rng in rngs], own=("streams",))


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
        out = np.empty((end[-1] + 1, *lanes))[:-1]  # lockstep may read the first number of a last round that has none
        if kind not in asked:
            out[:] = np.nan
        elif len(out):
            fill(out)
        numbers.append(out)
        ends.append(end)
    return Draws(*numbers), tuple(ends)
