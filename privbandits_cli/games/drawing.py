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
from privbandits_cli.numerics.arrays import aligned
from privbandits_cli.numerics.jit import (
    Record,
    Records,
    bind,
    borrower,
    cached_per_mode,
    compile_step,
    compiled,
    record,
    unbound,
)
from privbandits_cli.numerics.sfc64 import (
    TOGETHER,
    Fill,
    Words,
    advance,
    fill_normal,
    fill_words,
    fraction,
    laplace_of,
    layers,
    streams_of,
    uniform_of,
    words_of,
)
from privbandits_cli.numerics.types import Floats
from privbandits_cli.spmd.source import Step

WIDTH = 8  # trials of a vector
SOME = 32  # words of a stream that are drawn in registers before they become numbers
Row = Callable[[Any, Any, Any], None]  # step(state, layers of the normal law, row to fill)


# ------------------------------------------------------------------------------------------ numbers of each kind


def uniforms(state: Record, layers: Record, out: Floats) -> None:
    """Numbers in [0, 1)."""
    fill_words(state.words, state.ready)
    for i in range(len(out)):
        out[i] = uniform_of(state.ready[i])


def laplaces(state: Record, layers: Record, out: Floats) -> None:
    """Standard Laplace numbers."""
    fill_words(state.words, state.ready)
    for i in range(len(out)):
        out[i] = laplace_of(state.ready[i])


def normals(state: Record, layers: Record, out: Floats) -> None:
    """Standard normal numbers."""
    fill_normal(state.words, layers, out)


def bits(state: Record, layers: Record, out: Words) -> None:
    """Words of 64 random bits."""
    fill_words(state.words, out)


def wide_uniforms(state: Record, layers: Record, out: Floats) -> None:
    """Numbers in (0, 1), eight of each of 16 streams."""
    advance(state)
    for i in range(len(out)):
        out[i] = fraction(state.ready[i])


def wide_laplaces(state: Record, layers: Record, out: Floats) -> None:
    """Standard Laplace numbers, eight of each of 16 streams."""
    advance(state)
    for i in range(len(out)):
        out[i] = laplace_of(state.ready[i])


NUMBERS: dict[str, Row] = {"uniform": uniforms, "laplace": laplaces, "normal": normals, "bits": bits}
WIDE: dict[str, Row] = {"uniform": wide_uniforms, "laplace": wide_laplaces}


def fill_of(kind: str, *rngs: Generator) -> Fill:
    """A source of numbers of a kind, `[n, trials]` or `[n, number, trials]`; each trial has its own stream."""
    states = [record(**words_of(rng), ready=np.zeros(SOME, np.uint64)) for rng in rngs]
    return cut(filled(NUMBERS[kind], states, (SOME,), kind="u" if kind == "bits" else "f"), SOME, len(rngs))


def wide_fill_of(kind: str, *rngs: Generator) -> Fill:
    """`fill_of` for rounds with many numbers: each trial has 16 streams of uniform or Laplace numbers.

    All streams of a trial advance together, which is twice as fast as one stream. Uniform numbers are in (0, 1).
    """
    if kind not in WIDE:
        return fill_of(kind, *rngs)
    states = [record(**streams_of(rng)) for rng in rngs]
    return cut(filled(WIDE[kind], states, (TOGETHER,), own=("streams",)), TOGETHER, len(rngs))


def cut(fill: Fill, block: int, trials: int) -> Fill:
    """A source of any number of rows `[n, trials]`, made of a source of whole blocks. Rows left over are given next."""
    left: NDArray[Any] = np.empty((0, trials))

    def filled(out: NDArray[Any]) -> None:
        nonlocal left
        assert out.flags.c_contiguous, "a copy of the table would be filled"
        rows = out.reshape(-1, trials)
        begun = min(len(left), len(rows))
        whole = begun + (len(rows) - begun) // block * block
        rows[:begun], left = left[:begun], left[begun:]
        if whole > begun:
            fill(rows[begun:whole])
        if whole < len(rows):
            left = np.empty((block, trials), out.dtype)
            fill(left)
            rows[whole:], left = left[: len(rows) - whole], left[len(rows) - whole :]

    return filled


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


@cached_per_mode
def _together(step: Row, layout: Any, width: int, shape: tuple[int, ...], kind: str, own: tuple[str, ...]) -> Loop:
    """The loop of a step in lockstep."""
    words, table = in_words(layout), (shape, kind, own)
    program = lambda code: code.table(Step(step), width, words, *table)  # noqa: E731
    return lockstep.bound(Step(step), words, width, program, 0, table)


@cached_per_mode
def _alone(step: Row) -> Callable[..., None]:
    """The loop of a step for one trial."""
    return bind(play_alone, fill_row=compile_step(step), borrow=borrower())


# ------------------------------------------------------------------------------------------ tables


def rows_of(fill: Fill, *shape: int) -> Callable[[int], NDArray[Any]]:
    """A function that draws the next n rows of a source, `[n, *shape]`, into memory that its next call reuses.

    New memory for each block would take longer than the numbers.
    """
    room = aligned((0, *shape), np.float64)

    def rows(n: int) -> NDArray[Any]:
        nonlocal room
        room = room if n <= len(room) else aligned((n, *shape), np.float64)
        fill(room[:n])
        return room[:n]

    return rows


def side_by_side(rows: NDArray[Any], out: NDArray[Any]) -> None:
    """Copy `rows[trial]`, each the numbers of a trial, into `out[n, trial]`."""
    compiled(turn)(rows, out)


def turn(rows: NDArray[Any], out: NDArray[Any]) -> None:
    """`out[i, trial] = rows[trial, i]`."""
    for i in range(len(out)):
        for trial in range(len(rows)):
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
