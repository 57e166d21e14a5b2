"""Random numbers and gains of several trials at once, as tables `[round, lane]` and `[round, arm, lane]`."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.games.steps import SOURCES
from privbandits_cli.numerics.jit import Records, bind, kept, record
from privbandits_cli.numerics.lanes import LANES, across, aligned, column
from privbandits_cli.numerics.laplace import laplace_of
from privbandits_cli.numerics.sfc64 import (
    Fill,
    Words,
    layers,
    normal_of,
    outside,
    uniform,
    word_of,
    words_of,
    wrapping,
)
from privbandits_cli.numerics.types import Floats

TILE = 64  # rows that stay in the fastest cache while lane after lane is written into them


def several(kind: str, rngs: Sequence[Generator]) -> Fill:
    """A source of several numbers of a kind in each round, `[n, lanes, number]`; each lane has its own stream."""
    sources = [SOURCES[kind](rng) for rng in rngs]

    def fill(out: NDArray[Any]) -> None:
        rows = np.empty((len(rngs), out.size // len(rngs)), out.dtype)
        for source, row in zip(sources, rows, strict=True):
            source(row)
        out[:] = rows.reshape(out.shape[1], len(out), -1).swapaxes(0, 1)

    return fill


def words_in_lanes(rngs: Sequence[Generator]) -> Words:
    """The SFC64 states of these streams, `[word, LANES]`, and a fifth row with room for the next word."""
    words = aligned((5, LANES), np.uint64)
    words[:] = 0
    words[:4, : len(rngs)] = np.transpose([words_of(rng)["words"] for rng in rngs])
    return words


def uniforms(rngs: Sequence[Generator]) -> Fill:
    """A source of numbers in [0, 1), `[n, lanes]`."""
    words, kernel = words_in_lanes(rngs), filler(fill_uniform)
    return wrapping(lambda out: kernel(words, out))


def bits(rngs: Sequence[Generator]) -> Fill:
    """A source of words of 64 random bits, `[n, lanes]`."""
    words, kernel = words_in_lanes(rngs), filler(fill_bits)
    return wrapping(lambda out: kernel(words, out))


def normals(rngs: Sequence[Generator]) -> Fill:
    """A source of standard normal numbers, `[n, lanes]`."""
    words, table, kernel = words_in_lanes(rngs), record(**layers()), filler(fill_normal)
    return wrapping(lambda out: kernel(words, table, out))


def laplaces(rngs: Sequence[Generator]) -> Fill:
    """A source of standard Laplace numbers, `[n, lanes]`, those of `numerics.laplace`."""
    words, kernel = words_in_lanes(rngs), filler(fill_laplace)
    return wrapping(lambda out: kernel(words, out))


SIDE_BY_SIDE: dict[str, Callable[[Sequence[Generator]], Fill]] = {
    "uniform": uniforms,
    "laplace": laplaces,
    "normal": normals,
    "bits": bits,
}


@kept
def filler(fill: Callable[..., None]) -> Callable[..., None]:
    """The compiled loop that draws numbers in lanes."""
    return bind(fill)


def side_by_side(rows: NDArray[Any], out: NDArray[Any]) -> None:
    """Copy `rows[lane]`, each the numbers of a lane, into `out[n, lane]`."""
    turner()(rows, out)


def turn(rows: NDArray[Any], out: NDArray[Any]) -> None:
    """`out[i, lane] = rows[lane, i]`, tile by tile."""
    for first in range(0, len(out), TILE):
        end = min(first + TILE, len(out))
        for lane in range(len(rows)):
            for i in range(first, end):
                out[i, lane] = rows[lane, i]


def fill_uniform(words: Words, out: Floats) -> None:
    """Numbers in [0, 1), `out[n, lanes]`."""
    for i in range(len(out)):
        for lane in range(out.shape[1]):
            across(out, lane)[i] = uniform(column(words, lane))


def fill_bits(words: Words, out: Words) -> None:
    """Words of 64 random bits, `out[n, lanes]`."""
    for i in range(len(out)):
        for lane in range(out.shape[1]):
            across(out, lane)[i] = word_of(column(words, lane))


def draw_words(words: Words, n: int) -> None:
    """The next word of n lanes, in the fifth row."""
    for lane in range(n):
        own = column(words, lane)
        own[4] = word_of(own)


def fill_normal(words: Words, layers: Records, out: Floats) -> None:
    """Standard normal numbers, `out[n, lanes]`."""
    table = layers[0]
    for i in range(len(out)):
        draw_words(words, out.shape[1])
        for lane in range(out.shape[1]):
            own = column(words, lane)
            x, layer, size = normal_of(own[4], table)
            if size >= table.inside[layer]:
                x = outside(own, table, layer, size, x)
            across(out, lane)[i] = x


def fill_laplace(words: Words, out: Floats) -> None:
    """Standard Laplace numbers, `out[n, lanes]`."""
    for i in range(len(out)):
        for lane in range(out.shape[1]):
            across(out, lane)[i] = laplace_of(word_of(column(words, lane)))


@kept
def turner() -> Callable[..., None]:
    """The compiled `turn`."""
    return bind(turn)


def draw(rounds: range, period: int, fill: Fill, out: NDArray[Any]) -> None:
    """Numbers `out[round, lane]` for the first and last round of every period; the others are left unchanged.

    With period 1 it may also be `out[round, lane, number]`.
    """
    if period == 1:
        fill(out[: len(rounds)])
        return
    n, last, first = len(rounds), -rounds.start % period, (1 - rounds.start) % period
    early, late = slice(min(last, first), n, period), slice(max(last, first), n, period)  # they alternate
    numbers = np.empty((len(range(n)[early]) + len(range(n)[late]), *out.shape[1:]), out.dtype)
    fill(numbers)
    out[early], out[late] = numbers[::2], numbers[1::2]
