"""The loop of the game `bandit` for many trials in lockstep: they play each round together (`privbandits_cli.spmd`).

A round is written for one trial (`play_round`). Where it would raise an error in any trial, nothing of the block
counts: the loop for one trial plays the block again (`games.rounds`), and raises it.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.games.guards import WrongArm, guarded
from privbandits_cli.games.steps import MECHANISM, MECHANISMS
from privbandits_cli.numerics.arrays import aligned
from privbandits_cli.numerics.jit import Records, bind, interpreted, is_kept, kept, unbound
from privbandits_cli.numerics.types import Floats
from privbandits_cli.spmd.source import BOOL, Step, Unsupported, digest_of
from privbandits_cli.version import numba_was_tried

LANES = 32  # trials that play a block of rounds one group after the other, with the same gains in cache
WIDTH = 16  # trials of a vector
MANY = 4096  # arms: with more, the states of some trials may take a gigabyte
Words = NDArray[np.uint64]

choose: Any = unbound
update: Any = unbound
play_rounds: Any = unbound
KNOWN = GUARDED = False
ARMS = 0


def play_round(state: Any, player: Any, rng: Any, gains: Any, worth: Any, memory: int, observed: bool) -> None:
    """A round of one trial. Other arguments: see `games.rounds.Table`."""
    arm = choose(state, rng)
    if GUARDED and (arm < 0 or arm >= ARMS):
        raise WrongArm(arm)
    paid = seen = gains[arm]
    if memory > 0:  # the adversary reacts to switches; the first round has none
        switched = (player.last >= 0) & (player.last != arm)
        held = 0 if switched else player.held + 1
        paid = 0.0 if held < memory else paid
        player.held, player.last = held, arm
        seen = paid if observed else seen
    player.gain += worth[arm] if KNOWN else paid
    update(state, arm, seen, rng)


def play_block(words: Words, marks: NDArray[np.int64], found: Floats, inputs: tuple[Any, ...]) -> bool:
    """Play one block; returns whether all is well. `found[trial, i]` is a number of the record after `marks[i]` rounds.

    words: the records of the trials, `[group, word, width]`. inputs: what the rounds are given beside.
    """
    well: bool = play_rounds(words, marks, found, inputs)
    return well


# ------------------------------------------------------------------------------------------ records as words


def in_words(layout: Any) -> Any:
    """The layout of a record in words of 64 bits; a field of other numbers is left out, as no step can use it."""
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
    """The reverse."""
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
    """The plain steps of a composition, outermost file first; those of a wrapper know those of its base."""
    module, rest = import_module(modules[0]), modules[1:]
    names: dict[str, Step] = {}
    if rest and rest[0].startswith(MECHANISMS):
        found = vars(import_module(rest[0]))
        for kind, own in MECHANISM.items():
            names |= {f"{kind}_{name}": Step(found[name]) for name in own if found.keys() >= {*own}}
        rest = rest[1:]
    if rest:
        names |= {f"base_{name}": step for name, step in steps(rest).items()}
    return {name: Step(getattr(module, name), names) for name in ("choose", "update")}


class Together:
    """Plays the blocks of a game as `games.rounds.play_block` does: in lockstep, or, if a trial has an error, alone.

    The records stay words from block to block. shown: they are written into `seats` after each.
    """

    def __init__(self, loop: "Loop", alone: Callable[[], Callable[..., None]], shown: bool) -> None:
        self.loop, self.alone, self.shown = loop, alone, shown
        self.seats: Records | None = None
        self.words: Words | None = None

    def __call__(
        self,
        gains: Floats,
        by_lane: bool,
        marks: NDArray[np.int64],
        earned: Floats,
        seats: Records,
        *others: Any,
    ) -> None:
        assert self.loop.play is not None
        if self.words is None or self.seats is not seats:
            self.words, self.seats = spread(seats, self.loop.layout, WIDTH), seats
        before = self.words.copy()
        if not self.loop.play(self.words, marks, earned, (gains, *others)):
            collect(before, seats, self.loop.layout)
            self.words = None
            self.alone()(gains, by_lane, marks, earned, seats, *others)
        elif self.shown:
            collect(self.words, seats, self.loop.layout)


class Loop(NamedTuple):
    """The compiled `play_block` of a composition, or the reason why it has none; layout: of its records in words."""

    play: Callable[..., bool] | None
    reason: str = ""
    layout: Any = None


NONE = Loop(None)


@kept
def loop(
    modules: tuple[str, ...], layout: Any, n_arms: int, known: bool, axes: tuple[tuple[int, ...], ...] = ((),) * 4
) -> Loop:
    """The loop of a composition with records of this layout; axes: of the numbers of a round, by kind."""
    if n_arms > MANY:
        return Loop(None, f"there are more than {MANY:,} arms")
    step = Step(play_round, {**steps(modules), "KNOWN": known, "GUARDED": guarded(modules), "ARMS": n_arms})
    words = in_words(layout)
    program = lambda code: code.bandit(step, WIDTH, words, n_arms, axes)  # noqa: E731
    return bound(step, words, program, place(words, "player", "gain"), axes)


def place(layout: Any, *names: str) -> int:
    """The word of a number of a record."""
    at = 0
    for name in names:
        layout, offset = layout.fields[name][:2]
        at += offset
    return at // 8


def bound(step: Step, layout: Any, program: Callable[[Any], Any], found: int, *about: Any) -> Loop:
    """The compiled `play_block` of a step; layout: of the records, in words; found: the word that it records.

    program: makes the step's `Program` by `games.round_code`; about: on what else it depends.
    """
    if interpreted():
        return Loop(None, "nothing is compiled")
    if not numba_was_tried():
        return Loop(None, "this version of numba was not tried")
    from privbandits_cli.games import round_code
    from privbandits_cli.spmd.program import Reading, rounds_of

    try:
        digest = digest_of(step, round_code.__name__, str(layout), found, *about)
    except Unsupported as reason:
        return Loop(None, str(reason))
    reading = Reading(program(round_code))
    made = bind(play_block, play_rounds=rounds_of(reading, digest, found))
    if not is_kept(made) and reading.reason is not None:
        return Loop(None, str(reading.reason))
    return Loop(made, "", layout)
