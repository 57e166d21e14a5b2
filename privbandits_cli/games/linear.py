"""The game `linear`: each round the learner plays a point x of a convex set and suffers <l, x>.

With full information it then sees the loss vector l, with bandit feedback only <l, x>. Regret after t rounds is the
learner's loss minus that of the best fixed point (Agarwal & Singh 2017, section 2), or of the best sequence of experts
with S switches. The game counts regret itself, from the losses and the points.

A bandit adversary with gains in [0, 1] also serves as an adversary of experts, whose losses are 1 - gain. Only its
table of gains is read; reactions to switches of an arm do not apply.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.random import Generator

from privbandits_cli.convex.losses import LossSet
from privbandits_cli.convex.spaces import Cube, Simplex, Sphere
from privbandits_cli.games import driver, guards, lockstep, players
from privbandits_cli.games.bandit import Adversary as BanditAdversary
from privbandits_cli.games.bandit import best_sequences
from privbandits_cli.games.drawing import WIDTH, side_by_side, wide_fill_of
from privbandits_cli.games.driver import column
from privbandits_cli.games.lockstep import NONE, Loop
from privbandits_cli.games.match import Match
from privbandits_cli.games.players import Setting, papers_delta
from privbandits_cli.games.steps import composition, in_loop
from privbandits_cli.numerics.arrays import copy
from privbandits_cli.numerics.jit import Record, Records, borrow, cached_per_mode, compiled, record, unbound
from privbandits_cli.numerics.sfc64 import Fill
from privbandits_cli.numerics.types import Blocks, Floats, Ints

__all__ = [
    "Adversary",
    "Algorithm",
    "Cube",
    "Draws",
    "Floats",
    "Ints",
    "Setting",
    "Simplex",
    "Sphere",
    "papers_delta",
    "play",
]

Feedback = Literal["full", "bandit"]

BLOCK = 4096  # rounds, at most
BYTES = 2**20  # bytes at most, of the losses of a block in one trial, and of its random numbers of one kind
STATES = 2**22  # bytes at most, of the states of an algorithm in WIDTH trials that play at once
STATES_ALONE = 2**28  # bytes at most, of the states of all algorithms that play these trials one after the other


class Draws(NamedTuple):
    """The random numbers of one round: of each kind as many as the algorithm's `draws` asks for."""

    uniform: Floats  # on (0, 1)
    laplace: Floats  # standard Laplace
    normal: Floats  # standard normal


class Adversary(players.Adversary):
    """The source of the losses."""

    game: ClassVar[str] = "linear"
    signed: ClassVar[bool] = False  # its losses of experts are in [-1, 1], not in [0, 1]

    def losses(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[Floats]:
        """For each block of rounds (counted from 1) yield its losses `[rounds, N]`, in the setting's loss set.

        Draw from `rng` in the order of the rounds, so that no number depends on where a block ends.
        """
        raise NotImplementedError

    def revealed(self, setting: Setting) -> Setting:
        return setting._replace(signed=self.signed)


class Algorithm(players.Algorithm):
    """A learner's parameters, tuning and guarantee; its two steps are functions of the same file.

    `choose(state, x, rng)` fills the point to play; `update(state, losses, rng)` sees the loss vector; with bandit
    feedback, `update(state, x, loss, rng)` sees the loss of the point. `rng` holds the `Draws` of the round.
    """

    game: ClassVar[str] = "linear"
    feedback: ClassVar[Feedback] = "full"  # what `update` sees: the loss vector, or with "bandit" the loss of its point

    def draws(self, setting: Setting, rounds: Ints) -> Mapping[str, int | Ints]:
        """How many numbers of each kind its steps use in a round, or in each of these rounds, `[rounds]`."""
        return {}


def loss_set(setting: Setting) -> LossSet:
    """The losses that may occur in this setting."""
    return setting.decisions().losses(setting.signed)


# ---------------------------------------------------------------------------------------------- the loop


class Table(NamedTuple):
    """What one trial reads to play a block.

    For a group of trials, all arrays but the ends have the trials as an additional last axis. The random numbers of a
    kind are in the order of the rounds; those of round t are `[ends[t] : ends[t + 1]]`.
    """

    losses: Floats  # [round, N]
    uniform: Floats
    laplace: Floats
    normal: Floats
    uniform_ends: Ints
    laplace_ends: Ints
    normal_ends: Ints
    points: Floats  # receives the points played, [round, N], if these are checked


choose: Any = unbound
update: Any = unbound
FULL = False  # bound to True for full information
GUARDED = False  # bound to True for a user's file, whose points are kept and checked


def play_round(state: Record, player: Record, rng: Draws, losses: Floats, point: Floats) -> None:
    """Play a round of one trial; point: receives the point played, if this is checked."""
    choose(state, player.x, rng)
    loss = 0.0
    for j in range(len(losses)):
        loss += losses[j] * player.x[j]
        if GUARDED:
            point[j] = player.x[j]
    player.total += loss
    if FULL:
        update(state, losses, rng)
    else:
        update(state, player.x, loss, rng)


def deal(table: Table, t: int) -> tuple[Draws, Floats, Floats]:
    """The arguments of `play_round` in round t, if trials are played one after the other."""
    rng = Draws(
        borrow(table.uniform)[table.uniform_ends[t] : table.uniform_ends[t + 1]],
        borrow(table.laplace)[table.laplace_ends[t] : table.laplace_ends[t + 1]],
        borrow(table.normal)[table.normal_ends[t] : table.normal_ends[t + 1]],
    )
    return rng, borrow(table.losses)[t], borrow(table.points)[t if GUARDED else 0]


@cached_per_mode
def loop(modules: tuple[str, ...], layout: Any, feedback: Feedback) -> Callable[..., None]:
    """The loop of a composition for one trial; layout: that of its record."""
    return driver.loop(play_round, deal, in_loop(modules) | {"FULL": feedback == "full"})


def add_up(losses: Floats, marks: Ints, total: Floats, totals: Floats) -> None:
    """Add a block to the `total` losses `[N]`; `totals[i]` are those after `marks[i]` rounds.

    The sum runs round by round, so that it does not depend on where blocks end.
    """
    t = 0
    for i in range(len(marks)):
        while t < marks[i]:
            for j in range(len(total)):
                total[j] += losses[t, j]
            t += 1
        copy(total, totals[i])


# ------------------------------------------------------------------------------------- playing a match


def play(match: Match, trials: Sequence[int], block: int = BLOCK, width: int = WIDTH) -> Floats:
    """Regrets `[algorithms, trials, checkpoints]`; block and width (up to WIDTH) change only the speed."""
    return driver.play(Games, match, trials, block, width)


def _first_record(algorithm: players.Algorithm, setting: Setting) -> Records:
    """A trial before its first round: the player and the learner's state."""
    return record(player=record(total=0.0, x=np.zeros(setting.n_arms)), state=guards.first_state(algorithm, setting))


def _bytes(algorithm: players.Algorithm, setting: Setting) -> int:
    """The bytes of the states of an algorithm in WIDTH trials."""
    return WIDTH * guards.first_state(algorithm, setting).nbytes


class Losses(NamedTuple):
    """The losses of a block."""

    rows: Sequence[Floats]  # for each trial whose regret is wanted, [round, N]
    wide: Floats  # for all trials, [round, N, trial]


def drawn(
    fills: Mapping[str, Fill], asked: Mapping[str, int | Ints], n: int, trials: int, unasked: int
) -> tuple[Draws, tuple[Ints, ...]]:
    """The numbers of n rounds by kind, `[number, trial]`, and where those of each round begin and end, `[n + 1]`.

    asked: how many numbers of a kind each round takes. unasked: how many NaN each round gets of every other kind.
    """
    numbers, ends = [], []
    for kind, fill in fills.items():
        end = np.zeros(n + 1, np.int64)
        if kind in asked or unasked:
            end[1:] = asked.get(kind, unasked)
            np.cumsum(end, out=end)
        out = np.empty((end[-1] + 1, trials))[:-1]  # if the last round has no number, lockstep may still read its first
        if kind not in asked:
            out[:] = np.nan
        elif len(out):
            fill(out)
        numbers.append(out)
        ends.append(end)
    return Draws(*numbers), tuple(ends)


class Seat(driver.Seat):
    """An algorithm in the games of some trials, with a source for each kind of its random numbers."""

    def __init__(self, games: "Games", algorithm: players.Algorithm, loop: Loop, trials: Sequence[int]) -> None:
        assert isinstance(algorithm, Algorithm)
        self.algorithm, self.setting = algorithm, games.setting
        super().__init__(algorithm, loop, _first_record(algorithm, games.setting), trials)
        streams = {kind: games.streams(kind, algorithm, trials=trials) for kind in Draws._fields}
        self.fills = {kind: wide_fill_of(kind, *rngs) for kind, rngs in streams.items()}

    def given(self, table: Losses, rounds: range) -> tuple[Any, ...]:
        n, own = len(self.records), guards.guarded(self.modules)
        asked = guards.random_needs(self.algorithm, self.setting, np.arange(rounds.start, rounds.stop))
        numbers, ends = drawn(self.fills, asked, len(rounds), n, unasked=own)  # NaN where a user's file asks for none
        self.points = np.empty((len(rounds) if own else 1, self.setting.n_arms, n))
        return table.wide, *numbers, *ends, self.points

    def play_alone(self, given: tuple[Any, ...], marks: Ints, found: Floats) -> None:
        kernel = loop(self.modules, self.records.dtype, self.algorithm.feedback)
        (losses, *numbers), ends, points = given[:4], given[4:-1], given[-1]
        for i in range(len(self.records)):
            seen, own = guards.protected(column(losses, i), self.modules), column(points, i)
            table = Table._make((seen, *(column(one, i) for one in numbers), *ends, own))
            kernel(self.records[i : i + 1], marks, found[i], table)
            points[:, :, i] = own

    def play(self, table: Losses, rounds: range, marks: Ints) -> Floats:
        found = super().play(table, rounds, marks)
        for i in range(len(self.records)) if guards.guarded(self.modules) else ():
            guards.check_points(self.points[:, :, i], self.setting.decisions(), rounds, self.modules)
        return found


class Games(driver.Games):
    """The games of a group of trials."""

    width, seat = WIDTH, Seat

    def __init__(self, match: Match, trials: Sequence[int], wanted: int, block: int) -> None:
        super().__init__(match, trials, wanted, block)
        self.setting, n = match.setting, match.setting.n_arms
        self.sums = np.zeros((wanted, n))
        self.gains = np.zeros((wanted, 1 + self.setting.switches, n, 1))  # of sequences of experts, whose gain is -loss

    @classmethod
    def loop(cls, match: Match, algorithm: players.Algorithm, lone: bool = False) -> Loop:
        # trials of a user's adversary may share a source of losses, so they play alone
        return NONE if guards.is_own(match.adversary) else cls.form(algorithm, match.setting, lone)

    @staticmethod
    def form(algorithm: players.Algorithm, setting: Setting, lone: bool = False) -> Loop:
        """The loop of a tuned algorithm in lockstep, or the reason why it has none; lone: for one trial."""
        assert isinstance(algorithm, Algorithm)
        if _bytes(algorithm, setting) > STATES:
            return Loop(None, "the states take too much memory")
        layout, full = _first_record(algorithm, setting).dtype, algorithm.feedback == "full"
        width = 1 if lone else WIDTH
        return lockstep.loop(play_round, "linear", composition(algorithm), layout, width, setting.n_arms, FULL=full)

    @classmethod
    def together(cls, match: Match) -> int:
        alone = [algorithm for algorithm in match.algorithms if not cls.loop(match, algorithm).play]
        kept = sum(_bytes(algorithm, match.setting) for algorithm in alone)
        return super().together(match) if kept <= STATES_ALONE else 1

    def most_rounds(self) -> int:
        """As many rounds as fit into BYTES, if each has the mean count of losses, or of random numbers of a kind."""
        rounds, most = np.arange(1, 65), self.match.setting.n_arms
        for algorithm in self.match.algorithms:
            asked = guards.random_needs(algorithm, self.match.setting, rounds).values()
            most = max([most, *(int(np.sum(counts + 0 * rounds)) // len(rounds) for counts in asked)])
        return BYTES // (8 * most)

    def tables(self) -> Iterator[Losses]:
        adversary, allowed, spare = self.match.adversary, loss_set(self.setting), len(self.trials) - self.wanted
        rngs = self.streams("losses", adversary, trials=self.trials[: self.wanted])
        sources = [_losses(adversary, self.setting, rng, self.blocks) for rng in rngs]
        for rounds in self.blocks():
            rows = [next(source) for source in sources]
            for losses in rows:
                violation = allowed.violation(losses, rounds)
                if violation is not None:
                    raise ValueError(f"{adversary.name}: {violation}")
            wide, n = rows[0][:, :, None], len(self.trials)
            if n > 1:
                wide = np.empty((*rows[0].shape, n))
                side_by_side(np.stack([*rows, *[rows[-1]] * spare]).reshape(n, -1), wide.reshape(-1, n))
            yield Losses(rows, wide)

    def best(self, table: Losses, marks: Ints) -> Floats:
        space, best = self.setting.decisions(), np.zeros((self.wanted, len(marks)))
        if self.setting.switches:
            for i, losses in enumerate(table.rows):
                compiled(best_sequences)(-losses[:, :, None], marks, self.gains[i], best[i : i + 1])
            return -best
        for own, losses, total in zip(best, table.rows, self.sums, strict=True):
            totals = np.empty((len(marks), len(total)))
            compiled(add_up)(losses, marks, total, totals)
            if len(marks) > 1:
                own[:-1] = space.least(totals[:-1])
        return best

    def regret(self, total: Floats, best: Floats) -> Floats:
        return total[: len(best)] - best


def _losses(adversary: Any, setting: Setting, rng: Generator, blocks: Blocks) -> Iterator[Floats]:
    """The adversary's losses, block by block; for a bandit adversary, 1 - gain."""
    if isinstance(adversary, BanditAdversary):
        table = adversary.gains(setting, rng, blocks())
        for rounds in blocks():
            yield 1.0 - guards.next_gains(table, adversary, rounds, setting.n_arms)
    else:
        table = adversary.losses(setting, rng, blocks())
        for rounds in blocks():
            losses = guards.next_losses(table, adversary, rounds, loss_set(setting))
            yield np.ascontiguousarray(losses, np.float64)
