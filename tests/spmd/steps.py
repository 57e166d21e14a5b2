"""One step for several trials, alone, as tests play it."""

import numpy as np

from privbandits_cli.games.lockstep import collect, in_words, play_block, spread
from privbandits_cli.numerics.jit import bind
from privbandits_cli.spmd.program import Program, Reading, rounds_of
from privbandits_cli.spmd.source import Step, digest_of
from privbandits_cli.spmd.values import ADDRESS, Record


def together(function, states, differ=True):
    """Play function(state) for the records `[trials]`, in place; whether all is well.

    differ: the records differ before, so each of their fields may.
    """
    layout, width = in_words(states.dtype), len(states)

    def arguments(emitter, words, t, trials, first):
        emitter.learned.differ.update(places(layout) if differ else ())
        return [Record(layout, words, 0)]

    step = Step(function)
    reading = Reading(Program(step, width, (ADDRESS,), arguments))
    if reading.reason is not None:
        raise reading.reason
    digest = digest_of(step, __name__, str(layout), width, differ)
    words = spread(states, layout, width)
    play = bind(play_block, play_rounds=rounds_of(reading, digest, 0))
    well = play(words, np.array([1]), np.empty((width, 1)), ())
    if well:
        collect(words, states, layout)
    return well


def places(layout, start=0):
    """The offsets of all fields."""
    for name in layout.names:
        kind, offset = layout.fields[name][:2]
        yield from places(kind, start + offset) if kind.names else (start + offset,)
