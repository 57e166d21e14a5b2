"""The arguments of a round in lockstep, as values of `privbandits_cli.spmd`: records, tables, random numbers."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from llvmlite import ir

from privbandits_cli.numerics import sfc64
from privbandits_cli.spmd.interpreter import Interpreter
from privbandits_cli.spmd.program import CONDITION, WHOLE, Program
from privbandits_cli.spmd.source import Step
from privbandits_cli.spmd.values import ADDRESS, I64, Array, Fields, Known, Method, Number, Record, axes_of

KINDS = {"uniform": "f", "laplace": "f", "normal": "f", "bits": "u"}  # kinds of random numbers, and their types
WORD = ir.Constant(I64, 8)  # bytes


def seat(emitter: Interpreter, words: Any, layout: Any, first: Any) -> Record:
    """The records of a group of trials, in `[group, word, trial]`."""
    size = ir.Constant(I64, layout.itemsize)
    return Record(layout, emitter.moved(words, emitter.builder.mul(first, size)), 0)


def row(emitter: Interpreter, table: Any, number: Any, shape: tuple[int, ...], trials: Any, first: Any) -> Array:
    """The numbers of a group of trials in row `number` of a table `[row, *shape, trial]`."""
    b = emitter.builder
    place = b.add(b.mul(b.mul(number, ir.Constant(I64, math.prod(shape))), trials), first)
    return Array(emitter.moved(table, b.mul(place, WORD)), 0, "f", b.mul(trials, WORD), axes_of(shape), table=True)


Axes = Sequence[tuple[int, ...]]  # those of a round's numbers, by kind


def drawn(emitter: Interpreter, tables: Sequence[Any], axes: Axes, t: Any, trials: Any, first: Any) -> Fields:
    """The random numbers of a round of the game `bandit`."""

    def given(table: Any, kind: str, shape: tuple[int, ...]) -> Array | Callable[[], Number]:
        """The numbers of a kind, or what loads the only one when a step uses it."""
        own = partial(row, emitter, table, t, shape, trials, first)
        return own()._replace(kind=kind) if shape else lambda: emitter.load(own()._replace(kind=kind))

    return Fields(dict(zip(KINDS, map(given, tables, KINDS.values(), axes), strict=True)))


def bandit(step: Step, width: int, layout: Any, n_arms: int, axes: Axes) -> Program:
    """A round of the game `bandit`; layout: that of a trial's record."""

    def arguments(emitter: Interpreter, words: Any, gains: Any, *others: Any) -> Sequence[Any]:
        *tables, worth, memory, observed, t, trials, first = others
        record = seat(emitter, words, layout, first)
        state, player = emitter.attribute(record, "state"), emitter.attribute(record, "player")
        rng = drawn(emitter, tables, axes, t, trials, first)
        shown = row(emitter, gains, t, (n_arms,), trials, first)
        known = row(emitter, worth, ir.Constant(I64, 0), (n_arms,), trials, first)
        reaction = Number("i", False, memory), Number("b", False, observed)
        return [state, player, rng, shown, known, *reaction, Number("i", False, t)]

    return Program(step, width, (*[ADDRESS] * 7, WHOLE, CONDITION), arguments, trials=int(width == 1))


def best_arm(step: Step, width: int, layout: Any, n_arms: int, axes: Axes) -> Program:
    """A round of the game `best_arm`; layout: that of a trial's record."""

    def arguments(emitter: Interpreter, words: Any, gains: Any, *others: Any) -> Sequence[Any]:
        *tables, regrets, due, t, trials, first = others
        record, b = seat(emitter, words, layout, first), emitter.builder
        state, player = emitter.attribute(record, "state"), emitter.attribute(record, "player")
        rng = drawn(emitter, tables, axes, t, trials, first)
        shown = row(emitter, gains, t, (n_arms,), trials, first)
        known = row(emitter, regrets, ir.Constant(I64, 0), (max(2, n_arms),), trials, first)
        noted = Number("i", False, b.load(b.gep(due, [t], source_etype=I64), typ=I64))
        return [state, player, rng, shown, known, noted, Number("i", False, t)]

    return Program(step, width, (ADDRESS,) * 8, arguments, trials=int(width == 1))


def linear(step: Step, width: int, layout: Any, n: int) -> Program:
    """A round of the game `linear`, for points with n coordinates; layout: that of a trial's record."""

    def arguments(emitter: Interpreter, words: Any, losses: Any, *others: Any) -> Sequence[Any]:
        *tables, points, t, trials, first = others
        b, unit = emitter.builder, emitter.builder.mul(trials, WORD)

        def some(table: Any, ends: Any) -> Array:
            """The numbers of this round."""
            at, end = (b.load(b.gep(ends, [k], source_etype=I64), typ=I64) for k in (t, b.add(t, ir.Constant(I64, 1))))
            start = emitter.moved(table, b.mul(b.add(b.mul(at, trials), first), WORD))
            return Array(start, 0, "f", unit, ((Number("i", False, b.sub(end, at)), 1),), table=True)

        record = seat(emitter, words, layout, first)
        state, player = emitter.attribute(record, "state"), emitter.attribute(record, "player")
        rng = Fields({name: some(tables[k], tables[k + 3]) for k, name in enumerate(("uniform", "laplace", "normal"))})
        suffered = row(emitter, losses, t, (n,), trials, first)
        return [state, player, rng, suffered, row(emitter, points, t, (n,), trials, first)._replace(written=True)]

    return Program(step, width, (ADDRESS,) * 9, arguments, trials=width)


LAYERS = Known(type("Layers", (), sfc64.layers()))  # the layers of the ziggurats
UNIFORM, NORMAL = Step(sfc64.uniform), Step(sfc64.standard_normal)
GAMMA, EXPONENTIAL = Step(sfc64.standard_gamma), Step(sfc64.standard_exponential)
LAPLACE = Step(sfc64.laplace)


def contextual(step: Step, width: int, layout: Any, d: int, k: int) -> Program:
    """A round of the game `contextual` with k arms in d dimensions; layout: that of a trial's record."""

    def arguments(emitter: Interpreter, words: Any, dealt: Any, best: Any, numbers: Any, *place: Any) -> Sequence[Any]:
        record, here = seat(emitter, words, layout, place[-1]), row(emitter, dealt, place[0], (d + 1, k), *place[1:])
        state, player = emitter.attribute(record, "state"), emitter.attribute(record, "player")
        stream = emitter.attribute(player, "words")
        emitter.learned.differ.add(stream.field)  # from the first round on
        rng = Fields(
            {
                "random": Method(UNIFORM, (stream,)),
                "standard_normal": Method(NORMAL, (stream, LAYERS)),
                "standard_gamma": Method(GAMMA, (stream, LAYERS)),
                "standard_exponential": Method(EXPONENTIAL, (stream, LAYERS)),
                "laplace": Method(LAPLACE, (stream,)),
            }
        )
        arms, means = emitter.indexed(here, [slice(d)]), emitter.indexed(here, [Known(d)])
        largest, number = (emitter.load(row(emitter, one, place[0], (), *place[1:])) for one in (best, numbers))
        dealt = Fields({"arms": arms, "means": means, "best": largest})
        return [state, player, rng, dealt, number, Number("i", False, place[0])]

    return Program(step, width, (ADDRESS,) * 4, arguments, trials=width)


def table(step: Step, width: int, layout: Any, shape: tuple[int, ...], kind: str, own: Sequence[str]) -> Program:
    """A row of a table `[row, *shape, trial]`; layout: that of a trial's record; own: its fields that differ."""

    def arguments(emitter: Interpreter, words: Any, out: Any, t: Any, trials: Any, first: Any) -> Sequence[Any]:
        emitter.learned.differ.update(layout.fields[name][1] for name in own)  # from the first row on
        filled = row(emitter, out, t, shape, trials, first)._replace(kind=kind, written=True)
        return [seat(emitter, words, layout, first), LAYERS, filled]

    return Program(step, width, (ADDRESS, ADDRESS), arguments, trials=int(width == 1))
