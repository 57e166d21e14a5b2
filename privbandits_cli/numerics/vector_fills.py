"""Tables of random numbers of several trials, `[n, WIDTH]`: each trial has those of `numerics.sfc64`, to the bit."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from privbandits_cli.numerics.jit import Records, bind, compile_step, kept, record, unbound
from privbandits_cli.numerics.lanes import aligned
from privbandits_cli.numerics.sfc64 import Fill, fill_widely, layers, room_of, words_of
from privbandits_cli.numerics.types import Floats
from privbandits_cli.numerics.vectors import WIDE, generators, rows_of, vectors_of, widened

fill: Any = unbound  # `fill_widely`, with what a word makes


def joined(records: Sequence[Records]) -> Records:
    """Join the records `[1]` of WIDTH trials into one record `[1]`. Their fields are numbers and arrays."""
    out = aligned((1,), widened(records[0].dtype))
    for name in out.dtype.names or ():
        fields = [one[name][0] for one in records]
        out[name][0] = np.stack(fields, axis=-1) if out.dtype[name].base in WIDE else fields[0]
    return out


def words_of_trials(rngs: Sequence[Generator]) -> Records:
    """The words of the generators of WIDTH trials."""
    return joined([record(**words_of(rng)) for rng in rngs])


def wide(made: Callable[[np.uint64], Any], rngs: Sequence[Generator]) -> Fill:
    """A source of numbers each of which is made of one word, from 16 streams of each trial (`sfc64.wide`)."""
    kernel, states = _widely(made), joined([room_of(rng) for rng in rngs])
    return lambda out: kernel(states, out)


def normals(rngs: Sequence[Generator]) -> Fill:
    """A source of standard normal numbers, from one stream of each trial."""
    kernel, words, table = _normally(), words_of_trials(rngs), record(**layers())
    return lambda out: kernel(words, table, out)


@kept
def _widely(made: Callable[[np.uint64], Any]) -> Callable[..., None]:
    step = compile_step(fill_widely, made=compile_step(made))
    return bind(fill_table, fill=step)


@kept
def _normally() -> Callable[..., None]:
    return bind(fill_normal)


def fill_table(states: Records, out: Floats) -> None:
    """Numbers `out[n, WIDTH]`. Each is made of one random word of its trial."""
    fill(vectors_of(states, 0), rows_of(out))


def fill_normal(words: Records, layers: Records, out: Floats) -> None:
    """Standard normal numbers `out[n, WIDTH]`."""
    rng, rows = generators(vectors_of(words, 0), layers[0]), rows_of(out)
    for i in range(len(rows)):
        rows[i] = rng.standard_normal()
