"""Random numbers and gains of several trials at once, as tables `[round, ..., trial]`.

A step fills one row of the table of one trial. The trials run it in lockstep (`games.lockstep`), or one after the
other.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.games import lockstep
from privbandits_cli.games.lockstep import Loop, in_words, spread
from privbandits_cli.numerics.jit import Record, Records, bind, borrower, compile_step, compiled, kept, record, unbound
from privbandits_cli.numerics.sfc64 import (
    Fill,
    Words,
    fraction,
    laplace_of,
    layers,
    ready_word,
    standard_normal,
    streams_of,
    uniform,
    word_of,
    words_of,
)
from privbandits_cli.numerics.types import Floats
from privbandits_cli.spmd.source import Step

WIDTH = 8  # trials of a vector
TILE = 64  # rows that stay in the fastest cache while trial after trial is written into them
Row = Callable[[Any, Any, Any], None]  # step(state, layers of the normal law, row to fill)


# ------------------------------------------------------------------------------------------ the rows of each kind


def uniform_row(state: Record, layers: Record, out: Floats) -> None:
    """A number in [0, 1)."""
    out[0] = uniform(state.words)


def laplace_row(state: Record, layers: Record, out: Floats) -> None:
    """A standard Laplace number."""
    out[0] = laplace_of(word_of(state.words))


def normal_row(state: Record, layers: Record, out: Floats) -> None:
    """A standard normal number."""
    out[0] = standard_normal(state.words, layers)


def bits_row(state: Record, layers: Record, out: Words) -> None:
    """A word of 64 random bits."""
    out[0] = word_of(state.words)


def wide_uniform_row(state: Record, layers: Record, out: Floats) -> None:
    """A number in (0, 1), from 16 streams."""
    out[0] = fraction(ready_word(state))


def wide_laplace_row(state: Record, layers: Record, out: Floats) -> None:
    """A standard Laplace number, from 16 streams."""
    out[0] = laplace_of(ready_word(state))


ROWS: dict[str, Row] = {"uniform": uniform_row, "laplace": laplace_row, "normal": normal_row, "bits": bits_row}
WIDE: dict[str, Row] = {"uniform": wide_uniform_row, "laplace": wide_laplace_row}


def fill_of(kind: str, *rngs: Generator) -> Fill:
    """A source of numbers of a kind, `[n, trials]` or `[n, number, trials]`; each trial has its own stream."""
    return filled(ROWS[kind], [record(**words_of(rng)) for rng in rngs], kind="u" if kind == "bits" else "f")


def wide_fill_of(kind: str, *rngs: Generator) -> Fill:
    """`fill_of` for rounds with many numbers: each trial has 16 streams of uniform or Laplace numbers.

    All streams of a trial advance together, which is twice as fast as one stream. Uniform numbers are in (0, 1).
    """
    if kind not in WIDE:
        return fill_of(kind, *rngs)
    return filled(WIDE[kind], [record(**streams_of(rng)) for rng in rngs], own=("streams",))


# ------------------------------------------------------------------------------------------ the loops


fill_row: Any = unbound
borrow: Any = unbound


def filled(
    step: Row,
    states: Sequence[Records],
    shape: tuple[int, ...] = (1,),
    kind: str = "f",
    own: tuple[str, ...] = ("words",),
) -> Fill:
    """A source of tables `[n, *shape, trials]`, whose rows a step fills.

    states: a record `[1]` of each trial. kind: the type of the numbers, f for floats or u for unsigned integers. own:
    the fields of these records that differ between trials before the first row.
    """
    n, width = len(states), 1 if len(states) == 1 else WIDTH
    loop = _together(step, states[0].dtype, width, shape, kind, own) if n % width == 0 else lockstep.NONE
    if loop.play is None:
        return partial(_one_by_one, _alone(step), states, shape)
    words, play = spread(np.concatenate(states), loop.layout, width), loop.play

    def fill(out: NDArray[Any]) -> None:
        assert out.flags.c_contiguous, "a copy of the table would be filled"
        if not play(words, np.array([out.size // (n * math.prod(shape))]), np.empty((n, 1)), (out,)):
            raise ArithmeticError(f"{step.__name__} fails for one of these trials")

    return fill


def _one_by_one(alone: Callable[..., None], states: Sequence[Records], shape: tuple[int, ...], out: Any) -> None:
    """Fill a table for one trial after the other."""
    assert out.flags.c_contiguous, "a copy of the table would be filled"
    columns, table, one = out.reshape(-1, len(states)), record(**layers()), len(states) == 1
    rows = out.reshape(-1, *shape) if one else np.empty((len(columns) // math.prod(shape), *shape), out.dtype)
    for trial, state in enumerate(states):
        with np.errstate(over="ignore"):  # words wrap around by design
            alone(state, table, rows)
        if not one:
            columns[:, trial] = rows.ravel()


def play_alone(states: Records, layers: Records, rows: NDArray[Any]) -> None:
    """Fill `rows[n, *shape]` of one trial."""
    state, normal, table = borrow(states)[0], borrow(layers)[0], borrow(rows)
    for i in range(len(table)):
        fill_row(state, normal, table[i])


@kept
def _together(step: Row, layout: Any, width: int, shape: tuple[int, ...], kind: str, own: tuple[str, ...]) -> Loop:
    """The loop of a step in lockstep."""
    words, table = in_words(layout), (shape, kind, own)
    program = lambda code: code.table(Step(step), width, words, *table)  # noqa: E731
    return lockstep.bound(Step(step), words, width, program, 0, table)


@kept
def _alone(step: Row) -> Callable[..., None]:
    """The loop of a step for one trial."""
    return bind(play_alone, fill_row=compile_step(step), borrow=borrower())


# ------------------------------------------------------------------------------------------ tables


def side_by_side(rows: NDArray[Any], out: NDArray[Any]) -> None:
    """Copy `rows[trial]`, each the numbers of a trial, into `out[n, trial]`."""
    compiled(turn)(rows, out)


def turn(rows: NDArray[Any], out: NDArray[Any]) -> None:
    """`out[i, trial] = rows[trial, i]`, tile by tile."""
    for first in range(0, len(out), TILE):
        end = min(first + TILE, len(out))
        for trial in range(len(rows)):
            for i in range(first, end):
                out[i, trial] = rows[trial, i]


def draw(rounds: range, period: int, fill: Fill, out: NDArray[Any]) -> None:
    """Numbers `out[round, trial]` for the first and last round of every period; the others are left unchanged.

    With period 1, the table may also be `out[round, number, trial]`.
    """
    if period == 1:
        fill(out[: len(rounds)])
        return
    n, last, first = len(rounds), -rounds.start % period, (1 - rounds.start) % period
    early, late = slice(min(last, first), n, period), slice(max(last, first), n, period)  # they alternate
    numbers = np.empty((len(range(n)[early]) + len(range(n)[late]), *out.shape[1:]), out.dtype)
    fill(numbers)
    out[early], out[late] = numbers[::2], numbers[1::2]
