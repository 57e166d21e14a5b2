"""The driver of all games: groups of trials, blocks of rounds, checkpoints.

A game is streamed in blocks of rounds, so that memory does not grow with the horizon, and every algorithm plays a block
while it is in cache. The trials of a group share a block: its tables are `[round, ..., trial]`. An algorithm plays them
in lockstep (`games.lockstep`), or one trial after the other, with the same function `play_round` of the game. A game
supplies two classes: `Games`, which makes the blocks, and `Seat`, an algorithm with what it plays them with.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from privbandits_cli.games import guards
from privbandits_cli.games.lockstep import NONE, Loop, Words, collect, place, spread
from privbandits_cli.games.match import Match
from privbandits_cli.games.players import Algorithm
from privbandits_cli.games.steps import blocks, composition
from privbandits_cli.numerics.jit import Records, bind, compile_step, unbound
from privbandits_cli.numerics.streams import stream
from privbandits_cli.numerics.types import Floats, Ints


class Games(ABC):
    """The games of a group of trials: one adversary, the same for every algorithm of a match.

    wanted: the number of trials whose regrets are wanted; those after them only complete a vector.
    """

    width: ClassVar[int]  # trials of a vector
    seat: ClassVar[Callable[..., "Seat"]]

    def __init__(self, match: Match, trials: Sequence[int], wanted: int, block: int) -> None:
        self.match, self.trials, self.wanted = match, trials, wanted
        self.horizon, self.block = int(match.checkpoints[-1]), block

    @cached_property
    def size(self) -> int:
        """The rounds of a block."""
        return max(1, min(self.block, self.horizon, self.most_rounds()))

    @classmethod
    @abstractmethod
    def loop(cls, match: Match, algorithm: Algorithm) -> Loop:
        """The loop of an algorithm in lockstep in this match, or why it has none."""

    @classmethod
    def together(cls, match: Match) -> int:
        """The number of trials that play at once, if any algorithm can; a few take as long as all."""
        return cls.width if any(cls.loop(match, algorithm).play for algorithm in match.algorithms) else 1

    @abstractmethod
    def most_rounds(self) -> int:
        """The rounds of a block that stay in cache."""

    @abstractmethod
    def tables(self) -> Iterator[Any]:
        """For each block, what all algorithms play with; it may be overwritten by the next block."""

    def best(self, table: Any, marks: Ints) -> Floats:
        """The total of the best fixed choice after the marks of a block, `[trials, marks]`; 0 if it does not count."""
        return np.zeros((len(self.trials), len(marks)))

    def regret(self, total: Floats, best: Floats) -> Floats:
        """The regret of a learner with this total, `[trials, marks]`."""
        return total

    def blocks(self) -> Iterator[range]:
        """The rounds of each block."""
        return blocks(self.horizon, self.size)

    def streams(self, kind: str, *names: str, trials: Sequence[int] | None = None) -> list[Any]:
        """A random stream for each trial."""
        return [stream(self.match.seed, kind, *names, trial=trial) for trial in trials or self.trials]


class Seat(ABC):
    """An algorithm in the games of some trials. Each has a record: the player, and the learner's state."""

    def __init__(self, algorithm: Algorithm, loop: Loop, first: Records, trials: Sequence[int]) -> None:
        self.modules, self.loop = composition(algorithm), loop
        self.records = np.repeat(first, len(trials))
        self.words: Words | None = None  # the records between blocks that are played in lockstep

    @abstractmethod
    def given(self, table: Any, rounds: range) -> tuple[Any, ...]:
        """What a block is played with: the games' table, and the learner's own random numbers."""

    @abstractmethod
    def play_alone(self, given: tuple[Any, ...], marks: Ints, found: Floats) -> None:
        """Play a block one trial after the other, by a `loop`."""

    def play(self, table: Any, rounds: range, marks: Ints) -> Floats:
        """Play a block; the learners' totals after the marks, `[trials, marks]`."""
        given, found = self.given(table, rounds), np.empty((len(self.records), len(marks)))
        if not self._play_together(given, marks, found):
            with guards.arms_named(self.modules, rounds):
                self.play_alone(given, marks, found)
        if guards.guarded(self.modules):
            guards.check_numbers(self.states(), self.modules, rounds)
        return found

    def _play_together(self, given: tuple[Any, ...], marks: Ints, found: Floats) -> bool:
        """Play a block in lockstep; False, with the records of before, if there is no such loop, or for an error."""
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

    def states(self) -> Records:
        """The learners' states now, `[trials]`."""
        if self.words is not None:
            collect(self.words, self.records, self.loop.layout)
        states: Records = self.records["state"].view((np.record, self.records.dtype["state"]))
        return states

    def numbers(self, field: str) -> Floats:
        """A number of each player's record now, `[trials]`."""
        if self.words is None:
            found: Floats = self.records["player"][field]
        else:
            found = self.words.view(np.float64)[:, place(self.loop.layout, "player", field)].reshape(-1)
        return found


def play(games: type[Games], match: Match, trials: Sequence[int], block: int, width: int) -> Floats:
    """Regrets `[algorithms, trials, checkpoints]`; block and width (of a group of trials) change only the speed.

    With a width of 1 each trial is played alone.
    """
    width = min(width, games.together(match))
    groups = [trials[first : first + width] for first in range(0, len(trials), width)]
    return np.concatenate([_play_group(games, match, group, block, width > 1) for group in groups], axis=1)


def _play_group(games: type[Games], match: Match, wanted: Sequence[int], block: int, several: bool) -> Floats:
    """The regrets of trials that play at once. Copies of the last one complete a vector, which costs no more."""
    loops = [games.loop(match, algorithm) if several else NONE for algorithm in match.algorithms]
    spare = -len(wanted) % games.width if any(loop.play for loop in loops) else 0
    trials = [*wanted, *[wanted[-1]] * spare]
    group, checkpoints = games(match, trials, len(wanted), block), match.checkpoints
    seats = [
        group.seat(group, algorithm, loop, trials if loop.play else wanted)
        for algorithm, loop in zip(match.algorithms, loops, strict=True)
    ]
    regrets, tables = np.empty((len(seats), len(wanted), len(checkpoints))), group.tables()
    for rounds in group.blocks():
        table = next(tables)
        inside = slice(*np.searchsorted(checkpoints, (rounds.start, rounds.stop)))
        marks = np.append(checkpoints[inside] - rounds.start + 1, len(rounds))
        best = group.best(table, marks)
        for k, seat in enumerate(seats):
            total = seat.play(table, rounds, marks)
            regrets[k, :, inside] = group.regret(total, best)[: len(wanted), :-1]
    return regrets


# ------------------------------------------------------------------------------------ one trial after the other

play_round: Any = unbound
deal: Any = unbound


def play_trial(records: Records, marks: Ints, found: Floats, table: Any) -> None:
    """Play one block of a trial; `found[i]` is the player's total after `marks[i]` rounds. table: what `deal` reads."""
    seat = records[0]
    t: Any = np.int64(0)  # for a literal 0 a round would be compiled twice
    for i in range(len(marks)):
        while t < marks[i]:
            play_round(seat.state, seat.player, *deal(table, t))
            t += 1
        found[i] = seat.player.total


def loop(play_round: Callable[..., None], deal: Callable[..., Any], names: Mapping[str, Any]) -> Callable[..., None]:
    """The compiled `play_trial` of a game; deal: makes what a round is played with; names: what fills in both."""
    return bind(play_trial, play_round=compile_step(play_round, **names), deal=compile_step(deal, **names))


def column(table: Floats, trial: int) -> Floats:
    """The numbers of one trial, side by side."""
    return np.ascontiguousarray(table[..., trial])
