"""The random numbers and gains of several trials side by side: tables `[round, lane]` and `[round, arm, lane]`."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.games.steps import SOURCES
from privbandits_cli.numerics.jit import bind, kept
from privbandits_cli.numerics.lanes import LANES, across, aligned, column, views
from privbandits_cli.numerics.sfc64 import Fill, uniform, word_of, wrapping, words_of

TILE = 64  # rows that stay in the fastest cache while lane after lane is written into them


def drawing(kind: str, rngs: Sequence[Generator]) -> Fill:
    """A source of random numbers of a kind: fills `[n, lanes]` or `[n, lanes, number]`, each lane from its own rng."""
    fills = IN_LANES.get(kind)
    if fills is not None and len(rngs) <= LANES:
        words = aligned((4, LANES), np.uint64)
        words[:, : len(rngs)] = np.transpose([words_of(rng)["words"] for rng in rngs])
        kernel = filler(kind)
        return wrapping(lambda out: kernel(words, out))
    sources = [SOURCES[kind](rng) for rng in rngs]

    def fill(out: NDArray[Any]) -> None:
        rows = np.empty((len(rngs), out.size // len(rngs)), out.dtype)
        for source, row in zip(sources, rows, strict=True):
            source(row)
        side_by_side(rows, out)

    return fill


def side_by_side(rows: NDArray[Any], out: NDArray[Any]) -> None:
    """Copy `rows[lane]`, each the numbers of a lane, into `out[n, lane]` or `out[n, lane, number]`."""
    if out.ndim > 2:
        out[:] = rows.reshape(out.shape[1], len(out), -1).swapaxes(0, 1)
    else:
        turner()(rows, out)


def turn(rows: NDArray[Any], out: NDArray[Any]) -> None:
    """`out[i, lane] = rows[lane, i]`, tile by tile."""
    for first in range(0, len(out), TILE):
        end = min(first + TILE, len(out))
        for lane in range(len(rows)):
            for i in range(first, end):
                out[i, lane] = rows[lane, i]


def fill_uniform(words: NDArray[np.uint64], out: NDArray[Any]) -> None:
    """Numbers in [0, 1), `out[n, lanes]`."""
    for i in range(len(out)):
        for lane in range(out.shape[1]):
            across(out, lane)[i] = uniform(column(words, lane))


def fill_words(words: NDArray[np.uint64], out: NDArray[Any]) -> None:
    """Words of 64 random bits, `out[n, lanes]`."""
    for i in range(len(out)):
        for lane in range(out.shape[1]):
            across(out, lane)[i] = word_of(column(words, lane))


IN_LANES: dict[str, Callable[..., None]] = {"uniform": fill_uniform, "bits": fill_words}


@kept
def filler(kind: str) -> Callable[..., None]:
    """The compiled loop that draws numbers of this kind in lanes."""
    return bind(IN_LANES[kind], "lanes", kind, **views())


@kept
def turner() -> Callable[..., None]:
    """The compiled `turn`."""
    return bind(turn, "turn")


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
