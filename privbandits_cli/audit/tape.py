"""The random numbers of a round of a contextual game, which an audit records, plays again, and moves.

The steps of a learner call the methods of a `Tape` as those of a NumPy generator. A tape draws its numbers from a
generator, and keeps them. Rewound, it gives them again, each with the move that was set for it. A twin has a tape of
the same numbers with moves of its own.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from privbandits_cli.audit.target import TAIL
from privbandits_cli.numerics.jit import Record, once, record
from privbandits_cli.numerics.types import Floats

MOST = 2**14  # numbers of a round, at most
UNIFORM, NORMAL, EXPONENTIAL, LAPLACE, GAMMA = range(5)  # kinds of numbers
NAMES = "random", "standard_normal", "standard_exponential", "laplace", "standard_gamma"
PLACE, KNOWN, WRONG, RARE = range(4)  # parts of `at`: the place of the next number; how many are known; what was wrong;
# whether new numbers are rare
FINE, OTHER, FULL = range(3)  # what may be wrong: another kind of number than before, or more than a tape has room for


class Tape(NamedTuple):
    """The numbers of a round, their kinds, the shapes of gamma numbers, and the moves, `[MOST]`.

    They are fields of records, since compiled calls pass a record faster than arrays. dealt: `numbers`, `kinds`,
    `shapes`; own: `moves` and `at` (see PLACE).
    """

    rng: Generator
    dealt: Record
    own: Record

    def twin(self) -> "Tape":
        """A tape of the same numbers with other moves."""
        return self._replace(own=new_tape(self.rng).own)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """A method of a generator; compiled code has the same ones (`compiled`)."""
        if name not in METHODS:
            raise AttributeError(f"an audit deals no `rng.{name}`: use one of {', '.join(METHODS)}")
        return partial(METHODS[name], self)


def new_tape(rng: Generator) -> Tape:
    """A tape of this generator's numbers."""
    dealt = record(numbers=np.zeros(MOST), kinds=np.zeros(MOST, np.int64), shapes=np.zeros(MOST))
    return Tape(rng, dealt[0], record(moves=np.zeros(MOST), at=np.zeros(4, np.int64))[0])


def rewind(tape: Tape, known: int) -> None:
    """Begin a round, of which so many numbers are known."""
    at = tape.own.at
    at[PLACE], at[KNOWN], at[WRONG] = 0, known, FINE


@once
def draw(tape: Tape, kind: int, shape: float) -> float:
    """The next number, which must be of this kind."""
    dealt, at = tape.dealt, tape.own.at
    j = min(at[PLACE], MOST - 1)
    if at[PLACE] > j:
        at[WRONG] = FULL
    elif j >= at[KNOWN]:
        dealt.numbers[j], dealt.kinds[j], dealt.shapes[j] = fresh(tape.rng, kind, shape), kind, shape
        if at[RARE] > 0:
            dealt.numbers[j] = far(tape.rng, kind, dealt.numbers[j])
        at[KNOWN] = j + 1
    elif dealt.kinds[j] != kind or dealt.shapes[j] != shape:
        at[WRONG] = OTHER
    at[PLACE] += 1
    number: float = dealt.numbers[j] + tape.own.moves[j]
    return number


def far(rng: Generator, kind: int, number: float) -> float:
    """A number at an end of the law of this kind, about as rare as 2^-TAIL at most; a gamma number stays as it is."""
    tail, high = math.pow(0.5, TAIL * rng.random()), rng.random() < 0.5
    if kind == UNIFORM:
        return 1.0 - tail if high else tail
    if kind == EXPONENTIAL:
        return -math.log(tail) if high else tail
    if kind in (NORMAL, LAPLACE):
        size = math.sqrt(-2.0 * math.log(tail)) if kind == NORMAL else -math.log(tail)
        return size if high else -size
    return number


def fresh(rng: Generator, kind: int, shape: float) -> float:
    """A new number of this kind. A compiled tape has the function of one kind alone in its place (`compiled`)."""
    return MADE[kind](rng, kind, shape)


def _uniform(rng: Generator, kind: int, shape: float) -> float:
    return rng.random()


def _normal(rng: Generator, kind: int, shape: float) -> float:
    return rng.standard_normal()


def _exponential(rng: Generator, kind: int, shape: float) -> float:
    return rng.standard_exponential()


def _laplace(rng: Generator, kind: int, shape: float) -> float:
    return rng.laplace(0.0, 1.0)


def _gamma(rng: Generator, kind: int, shape: float) -> float:
    return rng.standard_gamma(shape)


MADE = _uniform, _normal, _exponential, _laplace, _gamma


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


DEALT = {  # the methods of a tape, and the kinds of their numbers
    "random": UNIFORM,
    "standard_normal": NORMAL,
    "normal": NORMAL,
    "uniform": UNIFORM,
    "integers": UNIFORM,
    "standard_exponential": EXPONENTIAL,
    "exponential": EXPONENTIAL,
    "laplace": LAPLACE,
    "standard_gamma": GAMMA,
}
METHODS: dict[str, Callable[..., Any]] = {name: globals()[name] for name in DEALT}
