"""The game `linear`: each round the learner plays a point x of a convex set and suffers <l, x>.

With full information it then sees the loss vector l, with bandit feedback only <l, x>. Regret after t rounds is the
learner's loss minus that of the best fixed point (Agarwal & Singh 2017, section 2). The game counts regret itself, from
the losses and the points.

A bandit adversary with gains in [0, 1] also serves as an adversary of experts, whose losses are 1 - gain. Only its
table of gains is read; reactions to switches of an arm do not apply.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import Generator

from privbandits_cli.convex.losses import LossSet
from privbandits_cli.convex.spaces import Cube, Simplex, Sphere
from privbandits_cli.games import guards, linear_lockstep, lockstep, players
from privbandits_cli.games.bandit import Adversary as BanditAdversary
from privbandits_cli.games.drawing import WIDTH, side_by_side
from privbandits_cli.games.linear_draws import Draws, drawn, fill_of
from privbandits_cli.games.match import Match
from privbandits_cli.games.players import Setting, papers_delta
from privbandits_cli.games.steps import blocks, composition, in_loop
from privbandits_cli.numerics.arrays import copy
from privbandits_cli.numerics.jit import (
    Record,
    Records,
    bind,
    borrow,
    compile_step,
    interpreted,
    kept,
    record,
    unbound,
)
from privbandits_cli.numerics.streams import stream
from privbandits_cli.numerics.types import Floats, Ints

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
BYTES = 2**20  # at most, of the losses of a trial in a block, and of the random numbers of an algorithm
STATES = 2**22  # bytes at most, of the states of an algorithm in WIDTH trials that play at once
KEPT = 2**28  # the same, of all algorithms that play these trials one by one
GUARDED = False  # bound to True for a user's file, whose points are kept and checked


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
    feedback: ClassVar[Feedback] = "full"

    def draws(self, setting: Setting, rounds: Ints) -> dict[str, Ints]:
        """How many numbers of each kind its steps use in each of these rounds, `[rounds]`."""
        return {}


def loss_set(setting: Setting) -> LossSet:
    """The losses that may occur in this setting."""
    return setting.decisions().losses(setting.signed)


# ---------------------------------------------------------------------------------------------- the loop


choose: Any = unbound
update: Any = unbound
feed: Any = unbound  # `full` or `bandit`


def full(state: Record, x: Floats, losses: Floats, loss: float, rng: Draws) -> None:
    """Full information: the learner sees the loss vector."""
    update(state, losses, rng)


def bandit(state: Record, x: Floats, losses: Floats, loss: float, rng: Draws) -> None:
    """Bandit feedback: the learner sees the loss of its own point."""
    update(state, x, loss, rng)


def play_block(
    losses: Floats,
    marks: Ints,
    suffered: Floats,
    player: Records,
    states: Records,
    x: Floats,
    numbers: Draws,
    ends: tuple[Ints, Ints, Ints],
    points: Floats,
) -> None:
    """Play one block `losses[round, N]`; `suffered[i]` is the learner's loss after `marks[i]` rounds.

    numbers: of each kind, those of all rounds in order; a round's numbers end at `ends[kind][round + 1]`.
    points: filled with the points played, `[round, N]`, if these are checked.
    """
    state = states[0]
    losses, x = borrow(losses), borrow(x)
    numbers = Draws(borrow(numbers.uniform), borrow(numbers.laplace), borrow(numbers.normal))
    u, v, w = ends
    t = 0
    for i in range(len(marks)):
        while t < marks[i]:
            rng = Draws(
                numbers.uniform[u[t] : u[t + 1]], numbers.laplace[v[t] : v[t + 1]], numbers.normal[w[t] : w[t + 1]]
            )
            choose(state, x, rng)
            if GUARDED:
                copy(x, points[t])
            loss = 0.0
            for j in range(len(x)):
                loss += losses[t, j] * x[j]
            player[0].loss += loss
            feed(state, x, losses[t], loss, rng)
            t += 1
        suffered[i] = player[0].loss


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


@kept
def loop(modules: tuple[str, ...], layout: str, feedback: Feedback) -> Callable[..., None]:
    """The compiled `play_block` of a composition whose state has this record layout."""
    names = in_loop(modules)
    names["feed"] = compile_step({"full": full, "bandit": bandit}[feedback], update=names["update"])
    return bind(play_block, **names)


@kept
def adder() -> Callable[..., None]:
    """The compiled `add_up`."""
    return bind(add_up)


# ------------------------------------------------------------------------------------- playing a match


def play(match: Match, trials: Sequence[int], block: int = BLOCK, width: int = WIDTH) -> Floats:
    """Regrets `[algorithms, trials, checkpoints]`; block and width (up to WIDTH) change only the speed."""
    width = min(width, together(match))
    groups = [trials[first : first + width] for first in range(0, len(trials), width)]
    return np.concatenate([_play_group(match, group, block, width > 1) for group in groups], axis=1)


def together(match: Match) -> int:
    """The trials that play at once, if any algorithm can; a few take as long as all."""
    alone = [algorithm for algorithm in match.algorithms if not in_lockstep(match, algorithm)]
    kept = sum(_bytes(algorithm, match.setting) for algorithm in alone)
    return WIDTH if len(alone) < len(match.algorithms) and kept <= KEPT else 1


def in_lockstep(match: Match, algorithm: players.Algorithm) -> bool:
    """Whether an algorithm can play WIDTH trials of this match at once, with at most STATES bytes of states."""
    if interpreted() or guards.is_own(match.adversary):  # whose trials may share what they draw from
        return False
    return _bytes(algorithm, match.setting) <= STATES and _loop(algorithm, match.setting).play is not None


def alone_because(algorithm: players.Algorithm, setting: Setting) -> str:
    """Why the trials of a tuned algorithm play one after the other, and the line; empty if they play in lockstep."""
    return _loop(algorithm, setting).reason


def _loop(algorithm: players.Algorithm, setting: Setting) -> lockstep.Loop:
    assert isinstance(algorithm, Algorithm)
    layout, full = _first_record(algorithm, setting).dtype, algorithm.feedback == "full"
    return linear_lockstep.loop(composition(algorithm), layout, setting.n_arms, full)


def _first_record(algorithm: players.Algorithm, setting: Setting) -> Records:
    """A trial before its first round: the player and the learner's state."""
    return record(player=record(loss=0.0, x=np.zeros(setting.n_arms)), state=guards.first_state(algorithm, setting))


def _bytes(algorithm: players.Algorithm, setting: Setting) -> int:
    """The bytes of the states of an algorithm in WIDTH trials."""
    return WIDTH * guards.first_state(algorithm, setting).nbytes


class _Seat:
    """One algorithm in its game: loop, state and random numbers."""

    def __init__(self, match: Match, algorithm: players.Algorithm, trial: int) -> None:
        assert isinstance(algorithm, Algorithm)
        self.algorithm, self.setting = algorithm, match.setting
        self.states = guards.first_state(algorithm, match.setting)
        self.modules = composition(algorithm)
        self.kernel = loop(self.modules, str(self.states.dtype.descr), algorithm.feedback)
        self.player = record(loss=0.0)
        self.x = np.zeros(match.setting.n_arms)
        names = algorithm.identity(), match.adversary.identity()
        self.fills = {kind: fill_of(kind, stream(match.seed, kind, *names, trial=trial)) for kind in Draws._fields}

    def play(self, losses: Floats, rounds: range, marks: Ints) -> Floats:
        """Its total loss after the marks, `[marks]`."""
        suffered, own = np.empty(len(marks)), guards.guarded(self.modules)
        asked = guards.asked(self.algorithm, "draws", self.setting, np.arange(rounds.start, rounds.stop))
        drawn_now = drawn(self.fills, asked, len(rounds), unasked=own)  # NaN where a user's file asks for none
        points = np.empty((len(rounds) * own, len(self.x)))
        losses = guards.shown(losses, self.modules)
        table = losses, marks, suffered, self.player, self.states, self.x, *drawn_now, points
        guards.play_block(self.kernel, table, self.modules, rounds, self.states)
        guards.check_points(points, self.setting.decisions(), rounds, self.modules)
        return suffered


class _Seats:
    """One algorithm in the games of WIDTH trials, which it plays at once."""

    def __init__(self, match: Match, algorithm: players.Algorithm, trials: Sequence[int]) -> None:
        assert isinstance(algorithm, Algorithm)
        self.algorithm, self.setting, self.modules = algorithm, match.setting, composition(algorithm)
        self.seats = np.repeat(_first_record(algorithm, match.setting), WIDTH)
        self.loop = _loop(algorithm, match.setting)
        names = algorithm.identity(), match.adversary.identity()
        streams = {kind: [stream(match.seed, kind, *names, trial=trial) for trial in trials] for kind in Draws._fields}
        self.fills = {kind: fill_of(kind, *rngs) for kind, rngs in streams.items()}

    def play(self, losses: Floats, rounds: range, marks: Ints) -> Floats:
        """Their total losses after the marks, `[WIDTH, marks]`; losses: `[round, N, WIDTH]`."""
        suffered, own = np.empty((WIDTH, len(marks))), guards.guarded(self.modules)
        asked = guards.asked(self.algorithm, "draws", self.setting, np.arange(rounds.start, rounds.stop))
        numbers, ends = drawn(self.fills, asked, len(rounds), unasked=own, lanes=(WIDTH,))
        words, points = (
            lockstep.spread(self.seats, self.loop.layout, WIDTH),
            np.empty((len(rounds) * own, losses.shape[1], WIDTH)),
        )
        assert self.loop.play is not None
        if self.loop.play(words, marks, suffered, (losses, *numbers, *ends, points)):
            lockstep.collect(words, self.seats, self.loop.layout)
            for i in range(WIDTH * own):
                guards.check_numbers(self.seats["state"][i], self.modules, rounds)
                guards.check_points(points[:, :, i], self.setting.decisions(), rounds, self.modules)
        else:
            self._play_alone(suffered, losses, rounds, marks, numbers, ends, points)
        return suffered

    def _play_alone(
        self,
        suffered: Floats,
        losses: Floats,
        rounds: range,
        marks: Ints,
        numbers: Draws,
        ends: tuple[Ints, ...],
        room: Floats,
    ) -> None:
        """Play the block one trial after the other, because one of them has an error, which this raises."""
        state = self.seats.dtype["state"]
        kernel = loop(self.modules, str(state.descr), self.algorithm.feedback)
        for i in range(WIDTH):
            seat = self.seats[i : i + 1]
            player, states = seat["player"].copy(), seat["state"].copy().view((np.record, state))
            x, own = player["x"][0].copy(), Draws(*(np.ascontiguousarray(table[:, i]) for table in numbers))
            shown = guards.shown(np.ascontiguousarray(losses[:, :, i]), self.modules)
            one, points = record(loss=player["loss"][0]), np.ascontiguousarray(room[:, :, i])
            table = shown, marks, suffered[i], one, states, x, own, ends, points
            guards.play_block(kernel, table, self.modules, rounds, states)
            guards.check_points(points, self.setting.decisions(), rounds, self.modules)
            seat["state"], seat["player"]["x"], seat["player"]["loss"] = states, x, one["loss"]


class _Table:
    """The losses of a trial, and the least loss of a fixed point."""

    def __init__(self, match: Match, trial: int, horizon: int, block: int) -> None:
        adversary, _, setting, _, seed = match
        self.adversary, self.space, self.allowed = adversary, setting.decisions(), loss_set(setting)
        rng = stream(seed, "gains", adversary.identity(), trial=trial)
        self.blocks = _losses(adversary, setting, rng, horizon, block)
        self.total = np.zeros(setting.n_arms)

    def next(self, rounds: range, marks: Ints) -> tuple[Floats, Floats]:
        """The losses of a block, `[rounds, N]`, and the least loss after each mark but the last, `[marks - 1]`."""
        losses = next(self.blocks)
        violation = self.allowed.violation(losses, rounds)
        if violation is not None:
            raise ValueError(f"{self.adversary.name}: {violation}")
        totals = np.empty((len(marks), len(self.total)))
        adder()(losses, marks, self.total, totals)
        return losses, self.space.least(totals[:-1]) if len(totals) > 1 else np.empty(0)


def _play_group(match: Match, trials: Sequence[int], block: int, several: bool) -> Floats:
    """Regrets `[algorithms, trials, checkpoints]` of up to WIDTH trials.

    Algorithms that play in lockstep play these trials at once, and the others play them one by one. To complete a
    vector, the first trial is played again.
    """
    horizon, checkpoints = int(match.checkpoints[-1]), match.checkpoints
    spare = WIDTH - len(trials)
    lanes = [*trials, *[trials[0]] * spare]
    seats = [
        _Seats(match, algorithm, lanes)
        if several and in_lockstep(match, algorithm)
        else [_Seat(match, algorithm, trial) for trial in trials]
        for algorithm in match.algorithms
    ]
    block = max(1, min(block, horizon, BYTES // (8 * _width(match))))
    tables = [_Table(match, trial, horizon, block) for trial in trials]
    regrets = np.empty((len(seats), len(trials), len(checkpoints)))
    for rounds in blocks(horizon, block):
        inside = slice(*np.searchsorted(checkpoints, (rounds.start, rounds.stop)))
        marks = np.append(checkpoints[inside] - rounds.start + 1, len(rounds))
        losses, best = zip(*(table.next(rounds, marks) for table in tables), strict=True)
        if several:
            wide = np.empty((len(rounds), match.setting.n_arms, WIDTH))
            side_by_side(np.stack([*losses, *[losses[0]] * spare]).reshape(WIDTH, -1), wide.reshape(-1, WIDTH))
        for k, seat in enumerate(seats):
            if isinstance(seat, _Seats):
                suffered = seat.play(wide, rounds, marks)[: len(trials)]
            else:
                suffered = np.stack([one.play(table, rounds, marks) for one, table in zip(seat, losses, strict=True)])
            regrets[k, :, inside] = suffered[:, :-1] - np.stack(best)
    return regrets


def _width(match: Match) -> int:
    """The largest count of numbers in a round, on average: of losses, or of an algorithm's random numbers."""
    rounds, most = np.arange(1, 65), match.setting.n_arms
    for algorithm in match.algorithms:
        assert isinstance(algorithm, Algorithm)
        asked = guards.asked(algorithm, "draws", match.setting, rounds).values()
        most = max([most, *(int(np.sum(counts)) // len(rounds) for counts in asked)])
    return most


def _losses(adversary: Any, setting: Setting, rng: Generator, horizon: int, block: int) -> Iterator[Floats]:
    """The adversary's losses, block by block; for a bandit adversary, 1 - gain."""
    if isinstance(adversary, BanditAdversary):
        table = adversary.gains(setting, rng, blocks(horizon, block))
        for rounds in blocks(horizon, block):
            yield 1.0 - guards.next_gains(table, adversary, rounds, setting.n_arms)
    else:
        table = adversary.losses(setting, rng, blocks(horizon, block))
        for rounds in blocks(horizon, block):
            losses = guards.next_losses(table, adversary, rounds, loss_set(setting))
            yield np.ascontiguousarray(losses, np.float64)
