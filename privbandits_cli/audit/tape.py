"""The random numbers of a round of a contextual game, which an audit records, plays again, and moves.

The steps of a learner call the methods of a `Tape` as those of a NumPy generator. A tape draws its numbers from a
generator, and keeps them. Rewound, it gives them again, each with the move that was set for it. A twin has a tape of
the same numbers with moves of its own.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from privbandits_cli.numerics.jit import once
from privbandits_cli.numerics.types import Floats, Ints

MOST = 2**14  # numbers of a round, at most
UNIFORM, NORMAL, EXPONENTIAL, LAPLACE, GAMMA = range(5)  # kinds of numbers
NAMES = "random", "standard_normal", "standard_exponential", "laplace", "standard_gamma"
PLACE, KNOWN, WRONG = range(3)  # parts of `at`: the place of the next number; how many are known; what was wrong
FINE, OTHER, FULL = range(3)  # what may be wrong: another kind of number than before, or more than a tape has room for


class Tape(NamedTuple):
    """The numbers of a round, their kinds, the shapes of gamma numbers, and the moves, `[MOST]`; `at`: see PLACE."""

    rng: Generator
    numbers: Floats
    kinds: Ints
    shapes: Floats
    moves: Floats
    at: Ints

    def twin(self) -> "Tape":
        """A tape of the same numbers with other moves."""
        return self._replace(moves=np.zeros(MOST), at=np.zeros(3, np.int64))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """A method of a generator; compiled code has the same ones (`compiled`)."""
        if name not in METHODS:
            raise AttributeError(f"an audit deals no `rng.{name}`: use one of {', '.join(METHODS)}")
        return partial(METHODS[name], self)


def new_tape(rng: Generator) -> Tape:
    """A tape of this generator's numbers."""
    kinds, at = np.zeros(MOST, np.int64), np.zeros(3, np.int64)
    return Tape(rng, np.zeros(MOST), kinds, np.zeros(MOST), np.zeros(MOST), at)


def rewind(tape: Tape, known: int) -> None:
    """Begin a round, of which so many numbers are known."""
    tape.at[PLACE], tape.at[KNOWN], tape.at[WRONG] = 0, known, FINE


@once
def draw(tape: Tape, kind: int, shape: float) -> float:
    """The next number, which must be of this kind."""
    j = min(tape.at[PLACE], len(tape.numbers) - 1)
    if tape.at[PLACE] > j:
        tape.at[WRONG] = FULL
    elif j >= tape.at[KNOWN]:
        tape.numbers[j], tape.kinds[j], tape.shapes[j] = fresh(tape.rng, kind, shape), kind, shape
        tape.at[KNOWN] = j + 1
    elif tape.kinds[j] != kind or tape.shapes[j] != shape:
        tape.at[WRONG] = OTHER
    tape.at[PLACE] += 1
    number: float = tape.numbers[j] + tape.moves[j]
    return number


@once
def fresh(rng: Generator, kind: int, shape: float) -> float:
    """A new number of this kind."""
    if kind == UNIFORM:
        return rng.random()
    if kind == NORMAL:
        return rng.standard_normal()
    if kind == EXPONENTIAL:
        return rng.standard_exponential()
    if kind == LAPLACE:
        return rng.laplace(0.0, 1.0)
    return rng.standard_gamma(shape)


def random(self: Tape, size: int | None = None) -> Any:
    """One uniform number, or several."""
    return draw(self, UNIFORM, 0.0) if size is None else several(self, UNIFORM, size)


def standard_normal(self: Tape, size: int | None = None) -> Any:
    """One normal number, or several."""
    return draw(self, NORMAL, 0.0) if size is None else several(self, NORMAL, size)


def several(tape: Tape, kind: int, size: int) -> Floats:
    """The next numbers, `[size]`."""
    out = np.empty(size)
    for j in range(size):
        out[j] = draw(tape, kind, 0.0)
    return out


def normal(self: Tape, loc: float = 0.0, scale: float = 1.0) -> float:
    """A normal number of this mean and deviation."""
    return loc + scale * draw(self, NORMAL, 0.0)


def uniform(self: Tape, low: float = 0.0, high: float = 1.0) -> float:
    """A uniform number between these."""
    return low + (high - low) * draw(self, UNIFORM, 0.0)


def integers(self: Tape, low: int, high: int) -> int:
    """A whole number that is at least `low` and below `high`."""
    return low + int((high - low) * draw(self, UNIFORM, 0.0))


def standard_exponential(self: Tape) -> float:
    """An exponential number of mean 1."""
    return draw(self, EXPONENTIAL, 0.0)


def exponential(self: Tape, scale: float = 1.0) -> float:
    """An exponential number of this mean."""
    return scale * draw(self, EXPONENTIAL, 0.0)


def laplace(self: Tape, loc: float = 0.0, scale: float = 1.0) -> float:
    """A Laplace number of this mean and scale."""
    return loc + scale * draw(self, LAPLACE, 0.0)


def standard_gamma(self: Tape, shape: float) -> float:
    """A gamma number of this shape."""
    return draw(self, GAMMA, shape)


DEALT = random, standard_normal, normal, uniform, integers, standard_exponential, exponential, laplace, standard_gamma
SIZED = {"random": UNIFORM, "standard_normal": NORMAL}  # the methods that also give several numbers, and their kinds
METHODS: dict[str, Callable[..., Any]] = {function.__name__: function for function in DEALT}
