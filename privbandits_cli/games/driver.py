"""The driver of all games: groups of trials, blocks of rounds, checkpoints.

A game is streamed in blocks of rounds, so that memory does not grow with the horizon, and every algorithm plays a block
while it is in cache. The trials of a group share a block: its tables are `[round, ..., trial]`. An algorithm plays them
in lockstep (`games.lockstep`), or one trial after the other. Both loops are made of the game's function `play_round`.

A block has marks. A mark is a number of rounds after which the totals of the learners are noted. There is a mark for
each checkpoint in the block, and one for its end.

A game's file supplies `play_round`, `deal`, and two classes: `Games` makes the blocks, and `Seat` is one algorithm,
which plays them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from privbandits_cli.games import guards
from privbandits_cli.games.lockstep import NONE, Loop, Words, collect, place, spread
from privbandits_cli.games.match import Match
from privbandits_cli.games.parameters import Parameters
from privbandits_cli.games.players import Algorithm
from privbandits_cli.games.steps import blocks, composition
from privbandits_cli.numerics.jit import Records, bind, compile_step, unbound
from privbandits_cli.numerics.streams import stream
from privbandits_cli.numerics.types import Floats, Ints


class Games(ABC):
    """The games of a group of trials against one adversary, which every algorithm of a match plays.

    wanted: how many trials, from the first on, have regrets that are wanted. The other trials only complete a vector.
    """

    extra: ClassVar[tuple[str, ...]] = ()  # numbers of a player's record at the end, which follow the regrets
    width: ClassVar[int]  # trials of a vector
    seat: ClassVar[Callable[..., "Seat"]]  # makes an algorithm of these games

    def __init__(self, match: Match, trials: Sequence[int], wanted: int, block: int) -> None:
        self.match, self.trials, self.wanted = match, trials, wanted
        self.horizon, self.block = int(match.checkpoints[-1]), block

    @cached_property
    def size(self) -> int:
        """The number of rounds of a block; the last block may have fewer."""
        return max(1, min(self.block, self.horizon, self.most_rounds()))

    @classmethod
    @abstractmethod
    def loop(cls, match: Match, algorithm: Algorithm, lone: bool = False) -> Loop:
        """The loop in which an algorithm plays this match in lockstep, or the reason why it has none.

        lone: for one trial, without a vector.
        """

    @classmethod
    def together(cls, match: Match) -> int:
        """The trials in a group: one if no algorithm plays in lockstep; else a vector, because fewer take as long."""
        return cls.width if any(cls.loop(match, algorithm).play for algorithm in match.algorithms) else 1

    @abstractmethod
    def most_rounds(self) -> int:
        """The most rounds of a block that stays in cache."""

    @abstractmethod
    def tables(self) -> Iterator[Any]:
        """For each block, yield what all algorithms play with. The next block may overwrite it."""

    def best(self, table: Any, marks: Ints) -> Floats:
        """The total of the best fixed choice after each mark of a block, `[trials, marks]`; 0 if regret needs none."""
        return np.zeros((len(self.trials), len(marks)))

    def regret(self, total: Floats, best: Floats) -> Floats:
        """The regret of a learner with this total, `[trials, marks]`."""
        return total

    def blocks(self) -> Iterator[range]:
        """The rounds of each block."""
        return blocks(self.horizon, self.size)

    def streams(self, kind: str, player: Parameters, trials: Sequence[int] | None = None) -> list[Generator]:
        """For each trial, the random stream of a player's numbers of a kind; its parameters do not matter."""
        return [stream(self.match.seed, kind, player.name, trial=trial) for trial in trials or self.trials]


class Seat(ABC):
    """An algorithm and its trials. The record of a trial has `player`, what the game counts, and `state`."""

    def __init__(self, algorithm: Algorithm, loop: Loop, first: Records, trials: Sequence[int]) -> None:
        self.modules, self.loop = composition(algorithm), loop
        self.records = np.repeat(first, len(trials))
        self.words: Words | None = None  # the records in the form for lockstep; None: `records` holds them

    @abstractmethod
    def given(self, table: Any, rounds: range) -> tuple[Any, ...]:
        """What the rounds of a block read: the table of the games, and the learner's own random numbers."""

    @abstractmethod
    def play_alone(self, given: tuple[Any, ...], marks: Ints, found: Floats) -> None:
        """Play a block, one trial after the other, by a kernel that `loop` makes; fills `found[trial, mark]`."""

    def play(self, table: Any, rounds: range, marks: Ints) -> Floats:
        """Play a block; returns the learners' totals after each mark, `[trials, marks]`."""
        given, found = self.given(table, rounds), np.empty((len(self.records), len(marks)))
        if not self._play_together(given, marks, found):
            with guards.arms_named(self.modules, rounds):
                self.play_alone(given, marks, found)
        if guards.guarded(self.modules):
            guards.check_numbers(self.states(), self.modules, rounds)
        return found

    def _play_together(self, given: tuple[Any, ...], marks: Ints, found: Floats) -> bool:
        """Play a block in lockstep; returns whether it was played.

        If there is no such loop, or if a trial has an error, the records are left as they were before the block.
        """
        if self.loop.play is None:
            return False
        if self.words is None:
            self.words = spread(self.records, self.loop.layout, self.loop.width)
        before = self.words.copy()
        if self.loop.play(self.words, marks, found, given):
            return True
        collect(before, self.records, self.loop.layout)
        self.words = None
        return False

    def over(self) -> bool:
        """Whether no further round changes anything, in any trial."""
        return False

    def states(self) -> Records:
        """The learners' states now, `[trials]`."""
        if self.words is not None:
            collect(self.words, self.records, self.loop.layout)
        states: Records = self.records["state"].view((np.record, self.records.dtype["state"]))
        return states

    def numbers(self, field: str) -> Floats:
        """A field of each player's record now, `[trials]`."""
        if self.words is None:
            found: Floats = self.records["player"][field]
        else:
            found = self.words.view(np.float64)[:, place(self.loop.layout, "player", field)].reshape(-1)
        return found


def play(games: type[Games], match: Match, trials: Sequence[int], block: int, width: int) -> Floats:
    """Regrets `[algorithms, trials, checkpoints]`, and behind them the numbers `extra` of the games.

    block: rounds of a block, at most; width: trials of a group, at most. Both change only the speed. With a width of 1
    each trial is played alone.
    """
    width = min(width, games.together(match)) if len(trials) > 1 else width
    groups = [trials[first : first + width] for first in range(0, len(trials), width)]
    return np.concatenate([_play_group(games, match, group, block, width > 1) for group in groups], axis=1)


def _play_group(games: type[Games], match: Match, wanted: Sequence[int], block: int, several: bool) -> Floats:
    """The regrets of the trials of a group; several: whether they may play in lockstep.

    Copies of the last trial complete a vector, because a whole vector takes no longer than a part of it.
    """
    lone = len(wanted) == 1
    loops = [games.loop(match, algorithm, lone) if several else NONE for algorithm in match.algorithms]
    spare = -len(wanted) % games.width if not lone and any(loop.play for loop in loops) else 0
    trials = [*wanted, *[wanted[-1]] * spare]
    group, checkpoints = games(match, trials, len(wanted), block), match.checkpoints
    seats = [
        group.seat(group, algorithm, loop, trials if loop.play else wanted)
        for algorithm, loop in zip(match.algorithms, loops, strict=True)
    ]
    found, tables = np.empty((len(seats), len(wanted), len(checkpoints) + len(games.extra))), group.tables()
    playing = dict(enumerate(seats))
    for rounds in group.blocks():
        if seats and not playing:
            break
        table = next(tables)
        inside = slice(*np.searchsorted(checkpoints, (rounds.start, rounds.stop)))
        marks = np.append(checkpoints[inside] - rounds.start + 1, len(rounds))
        best = group.best(table, marks)
        for k, seat in [*playing.items()]:
            regrets = group.regret(seat.play(table, rounds, marks), best)[: len(wanted)]
            found[k, :, inside] = regrets[:, :-1]
            if seat.over():
                found[k, :, inside.stop :] = regrets[:, -1:]
                del playing[k]
    for k, seat in enumerate(seats):
        for at, field in enumerate(games.extra, len(checkpoints)):
            found[k, :, at] = seat.numbers(field)[: len(wanted)]
    return found


# ------------------------------------------------------------------------------------ one trial after the other

play_round: Any = unbound
deal: Any = unbound


def play_trial(records: Records, marks: Ints, found: Floats, table: Any) -> None:
    """Play one block of a trial; `found[i]` is the player's total after `marks[i]` rounds. table: what `deal` reads."""
    seat = records[0]
    t: Any = np.int64(0)  # with a literal 0, numba would compile a round twice
    for i in range(len(marks)):
        while t < marks[i]:
            play_round(seat.state, seat.player, *deal(table, t))
            t += 1
        found[i] = seat.player.total


def loop(play_round: Callable[..., None], deal: Callable[..., Any], names: Mapping[str, Any]) -> Callable[..., None]:
    """The compiled `play_trial` of a game; deal: makes the arguments of a round; names: what fills in these two."""
    return bind(play_trial, play_round=compile_step(play_round, **names), deal=compile_step(deal, **names))


def column(table: Floats, trial: int) -> Floats:
    """The numbers of one trial of a table, side by side in memory."""
    return np.ascontiguousarray(table[..., trial])
