"""The random numbers of a round for an algorithm that asks for more than one uniform and one Laplace number.

The audit of a bandit draws one uniform and one Laplace number in each round, and moves the Laplace number alone. If the
view has Gaussian noise, a normal number takes the place of the Laplace number. All other numbers that the algorithm
asks for are computed here from the round's uniform number, so that two games with the same uniform numbers have them in
common. The audit of reports of one bit moves the uniform number. It computes the others from the Laplace number.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from privbandits_cli.audit.target import Steps
from privbandits_cli.games.bandit import Draws, Floats, Numbers, One
from privbandits_cli.numerics.bits import mixed, stream
from privbandits_cli.numerics.bits import normal as normal_number
from privbandits_cli.numerics.bits import uniform as uniform_number
from privbandits_cli.numerics.jit import Record, compile_step, unbound

made: Any = unbound  # these are bound when a step is compiled
step: Any = unbound
numbers: Any = unbound
uniform: Any = unbound
laplace: Any = unbound
normal: Any = unbound
words: Any = unbound
BIT = False
DEALT = False
SPREAD = False
FAR = 2.0**-9  # twice the distance from 0 or 1 of a uniform number that is near them
COUNT = 0
TYPE = np.float64


def laplace_number(word: Any, j: int) -> float:
    """A standard Laplace number."""
    u = uniform_number(word, j)
    return math.log(2.0 * u) if u < 0.5 else -math.log(2.0 * (1.0 - u))


MAKERS: dict[str, Callable[..., Any]] = {
    "uniform": uniform_number,
    "laplace": laplace_number,
    "normal": normal_number,
    "bits": stream,
}


def none(first: float, word: Any) -> float:
    """No number of a kind."""
    return np.nan


def one(first: float, word: Any) -> Any:
    """The only number of a kind: `first` if the audit deals this kind, else one that is made from `word`."""
    return first if DEALT else made(word, 0)


def several(first: float, word: Any) -> Floats:
    """COUNT numbers of a kind, made from `word`; if the audit deals this kind, one of them is `first`.

    It is the first one. If SPREAD, a number near 0 or 1 is each of them at times: all of them may be rare.
    """
    out = np.empty(COUNT, TYPE)
    for j in range(COUNT):
        out[j] = made(word, j)
    if DEALT:
        out[np.int64(word % np.uint64(COUNT)) if SPREAD and abs(2.0 * first - 1.0) > 1.0 - FAR else 0] = first
    return out


def numbers_of(rng: Draws) -> Numbers:
    """All numbers of a round, made from its uniform number and its Laplace number, or the normal one in its place."""
    word = mixed(np.uint64(np.int64((rng.laplace if BIT else rng.uniform) * 2.0**53)))
    return Numbers(
        uniform(rng.uniform, stream(word, 0)),
        laplace(rng.laplace, stream(word, 1)),
        normal(rng.laplace, stream(word, 2)),
        words(0.0, stream(word, 3)),
    )


def choose(state: Record, rng: Draws) -> int:
    """The algorithm's choice."""
    arm: int = step(state, numbers(rng))
    return arm


def update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The algorithm's update."""
    step(state, arm, gain, numbers(rng))


def released(state: Record, gain: float, rng: Draws) -> float:
    """The algorithm's release."""
    noisy: float = step(state, gain, numbers(rng))
    return noisy


def given_more(steps: Steps, asked: Mapping[str, int | One], gaussian: bool = False, bit: bool = False) -> Steps:
    """The steps of an algorithm that takes `Numbers`, as steps that take the `Draws` that an audit deals.

    gaussian: the number in the place of the Laplace number is the normal number; bit: reports have one bit.
    """
    dealt = "uniform", "normal" if gaussian else "laplace"
    made = {kind: _maker(kind, asked.get(kind), kind in dealt, not bit) for kind in Numbers._fields}
    made["words"] = made.pop("bits")
    all_numbers = compile_step(numbers_of, BIT=bit, **made)
    templates = {function.__name__: function for function in (choose, update, released) if function.__name__ in steps}
    taking = {
        name: compile_step(template, step=steps[name], numbers=all_numbers) for name, template in templates.items()
    }
    return steps | taking


def _maker(kind: str, n: int | One | None, dealt: bool, spread: bool) -> Callable[..., Any]:
    """The compiled function that makes n numbers of a kind, one of which may be dealt; spread: not always the first."""
    own = {"made": compile_step(MAKERS[kind]), "DEALT": dealt}
    if n is None:
        return compile_step(none)
    if isinstance(n, One):
        return compile_step(one, **own)
    return compile_step(
        several, COUNT=n, TYPE=np.uint64 if kind == "bits" else np.float64, SPREAD=spread and kind == "uniform", **own
    )
