"""The trials of a game in lockstep: they play each round together (`privbandits_cli.spmd`).

A round is written for one trial (`play_round` of each game). If it would raise an error in any trial, nothing of the
block counts: the loop for one trial plays the block again (`games.driver`), and raises the error.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.games.guards import guarded
from privbandits_cli.games.steps import STEPS, STOPPING, filled_in, plain
from privbandits_cli.numerics.arrays import aligned
from privbandits_cli.numerics.jit import Quick, Records, bind, cached_per_mode, is_kept, jit_off, unbound
from privbandits_cli.numerics.types import Floats
from privbandits_cli.spmd.source import BOOL, Step, Unsupported, digest_of
from privbandits_cli.version import numba_was_tried

LANES = 32  # trials of `bandit` that play together: the processor works on some while others wait for a result
TOTAL = ("player", "total")  # the field of a record that is noted at marks
Words = NDArray[np.uint64]

play_rounds: Any = unbound


def play_block(words: Words, marks: NDArray[np.int64], found: Floats, inputs: tuple[Any, ...]) -> bool:
    """Play one block; returns False if a trial has an error.

    words: the records of the trials, `[group, word, width]`. `found[trial, i]` becomes a number of the trial's record
    after `marks[i]` rounds. inputs: the tables and numbers that the rounds read.
    """
    well: bool = play_rounds(words, marks, found, inputs)
    return well


# ------------------------------------------------------------------------------------------ records as words


def in_words(layout: Any) -> Any:
    """The layout of a record in words of 64 bits. A bool takes a whole word.

    Fields with numbers of other sizes are left out, because no step can use them.
    """
    if layout.names is None:
        kind = np.dtype(np.int64, metadata=BOOL) if layout.base == np.bool_ else layout.base
        return np.dtype((kind, layout.shape)) if kind.itemsize == 8 else None
    fields = [(name, kind) for name in layout.names if (kind := in_words(layout[name])) is not None]
    return np.dtype((np.record, np.dtype(fields, align=True)))


def spread(seats: Records, layout: Any, width: int) -> Words:
    """The records of the trials side by side, `[group, word, width]`."""
    rows = np.empty(len(seats), layout)
    _copy(seats, rows, layout)
    words = aligned((len(seats) // width, layout.itemsize // 8, width), np.uint64)
    words[:] = rows.view(np.uint64).reshape(words.shape[0], width, -1).swapaxes(1, 2)
    return words


def collect(words: Words, seats: Records, layout: Any) -> None:
    """The reverse of `spread`: copy `words` to the records."""
    rows = np.ascontiguousarray(words.swapaxes(1, 2)).view(layout).reshape(-1)
    _copy(rows, seats, layout)


def _copy(source: Records, out: Records, layout: Any) -> None:
    """Copy the fields of a layout."""
    for name in layout.names:
        if layout[name].names is None:
            out[name] = source[name]
        else:
            _copy(source[name], out[name], layout[name])


# ------------------------------------------------------------------------------------------ binding


def steps(modules: tuple[str, ...]) -> dict[str, Step]:
    """The plain steps of a composition by name; those of a wrapper can call those of its base."""
    file, names = plain(modules[0]), filled_in(modules, Step, steps)
    return {name: Step(file[name], names) for name in (*STEPS, *STOPPING) if name in file}


class Loop(NamedTuple):
    """The compiled `play_block` of a composition, or the reason why it has none."""

    play: Callable[..., bool] | None
    reason: str = ""
    layout: Any = None  # the layout of the records, in words
    width: int = 0  # trials of a vector


NONE = Loop(None)


@cached_per_mode
def loop(
    play_round: Callable[..., None],
    game: str,
    modules: tuple[str, ...],
    layout: Any,
    width: int,
    *shape: Any,
    quick: bool = False,
    **names: Any,
) -> Loop:
    """The loop of a composition with records of this layout.

    game: the name of the function of `games.round_code` that makes the arguments of `play_round`; shape: its last
    arguments. quick: whether to compile at LLVM's first level. names: what else fills in `play_round`.
    """
    step, words = Step(play_round, {**steps(modules), "GUARDED": guarded(modules), **names}), in_words(layout)
    program = lambda code: getattr(code, game)(step, width, words, *shape)  # noqa: E731
    found = bound(step, words, width, program, place(words, *TOTAL), shape)
    return found._replace(play=Quick(found.play)) if found.play and quick else found


def place(layout: Any, *names: str) -> int:
    """The place of a field in a record, counted in words."""
    at = 0
    for name in names:
        layout, offset = layout.fields[name][:2]
        at += offset
    return at // 8


def bound(step: Step, layout: Any, width: int, program: Callable[[Any], Any], found: int, *about: Any) -> Loop:
    """The compiled `play_block` of a step, or the reason why there is none.

    layout: that of the records, in words. program: makes the step's `Program` by `games.round_code`. found: the place
    of the number that is noted at marks. about: what else the code depends on.
    """
    if jit_off():
        return Loop(None, "nothing is compiled")
    if not numba_was_tried():
        return Loop(None, "this version of numba was not tried")
    from privbandits_cli.games import round_code
    from privbandits_cli.spmd.program import Reading, rounds_of

    try:
        digest = digest_of(step, round_code.__name__, str(layout), width, found, *about)
    except Unsupported as reason:
        return Loop(None, str(reason))
    reading = Reading(program(round_code))
    made = bind(play_block, play_rounds=rounds_of(reading, digest, found))
    if not is_kept(made) and reading.reason is not None:
        return Loop(None, str(reading.reason))
    return Loop(made, "", layout, width)
