"""The game `bandit`: each round the learner plays one of K arms and sees that arm's gain.

Regret at round t is the gain of the best fixed arm up to t, minus the learner's own gain (Tossou & Dimitrakakis 2017,
section 2.1). Against an adversary with known means it is the pseudo-regret: the sum over rounds of the largest mean
minus the mean of the arm played (Bubeck & Cesa-Bianchi 2012, section 1). The game counts regret itself, from the gains
and the arms.

A game is streamed in blocks of rounds, so that memory does not grow with the horizon, and every algorithm plays a block
while it is in cache. The trials of an algorithm play in lockstep (`games.lockstep`) or one after the other
(`games.rounds`). A lane is the column of a trial in tables of gains and random numbers.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.games import guards, lockstep, players
from privbandits_cli.games.drawing import draw, fill_of, side_by_side
from privbandits_cli.games.lockstep import LANES, MANY, WIDTH
from privbandits_cli.games.match import Match
from privbandits_cli.games.players import Setting, papers_delta
from privbandits_cli.games.rounds import SOME, Draws, Numbers, loop, oracle
from privbandits_cli.games.steps import blocks, composition
from privbandits_cli.numerics.arrays import aligned
from privbandits_cli.numerics.jit import Records, record
from privbandits_cli.numerics.sfc64 import Fill
from privbandits_cli.numerics.streams import stream
from privbandits_cli.numerics.types import Floats

__all__ = ["Adversary", "Algorithm", "Draws", "Floats", "Numbers", "Setting", "papers_delta", "play"]

BLOCK = 16384  # rounds; fewer where there are many arms
BYTES = 2**20  # at most, of a block's gains, and of an algorithm's random numbers of a kind in it


class Adversary(players.Adversary):
    """The source of the gains."""

    game: ClassVar[str] = "bandit"

    def gains(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[NDArray[Any]]:
        """For each block of rounds (counted from 1) yield its gains `[rounds, arms]`, in [0, 1] where `bounded`.

        Draw from `rng` in the order of the rounds, so that no number depends on where a block ends.
        """
        if not self.in_lanes():
            raise NotImplementedError(f"{self.name} has no method `gains`")
        for block in self.gains_in_lanes(setting, [rng], lambda: blocks):
            yield block[:, :, 0]

    @classmethod
    def in_lanes(cls) -> bool:
        """Whether it draws the gains of several trials side by side."""
        return cls.gains_in_lanes is not Adversary.gains_in_lanes

    def gains_in_lanes(
        self, setting: Setting, rngs: Sequence[Generator], rounds: Callable[[], Iterable[range]]
    ) -> Iterator[NDArray[Any]]:
        """For each block of `rounds()` yield the gains `[rounds, arms, lanes]` of trials with these streams.

        A lane has the gains of `gains`, to the bit. An array may be overwritten by the next block.
        """
        room: NDArray[Any] | None = None
        for gains in self.gains_by_lane(setting, rngs, rounds):
            lanes, n, n_arms = gains.shape
            room = aligned((n, n_arms, lanes), gains.dtype) if room is None or len(room) < n else room
            side_by_side(gains.reshape(lanes, -1), room[:n].reshape(-1, lanes))
            yield room[:n]

    def gains_by_lane(
        self, setting: Setting, rngs: Sequence[Generator], rounds: Callable[[], Iterable[range]]
    ) -> Iterator[NDArray[Any]]:
        """The same `[lanes, rounds, arms]`: the gains of each trial in a row."""
        tables = [self.gains(setting, rng, rounds()) for rng in rngs]
        for block in rounds():
            out = np.empty((len(rngs), len(block), setting.n_arms))
            for own, table in zip(out, tables, strict=True):
                np.copyto(own, guards.next_gains(table, self, block, setting.n_arms), casting="safe")
            yield out

    def mean_gains(self, setting: Setting) -> Floats | None:
        """The mean gains `[arms]` if regret is counted on these; None if it is counted on the gains themselves."""
        return None

    def coins(self, setting: Setting) -> Floats | None:
        """The means `[arms]` if all gains are independent Bernoulli numbers with fixed means; None if they are not."""
        return None

    def reaction(self) -> tuple[int, bool]:
        """(m, observed): a gain counts as 0 until its arm has been held for m rounds; m = 0 is oblivious.

        observed: the learner sees this 0, not the gain.
        """
        return 0, True


class Algorithm(players.Algorithm):
    """A learner's parameters, tuning and guarantee; its two steps are functions of the same file.

    `choose(state, rng) -> arm` and `update(state, arm, gain, rng)` are compiled into the game's loop; `rng` holds the
    `Draws` of the round, or its `Numbers`. `probabilities(state, out)`, if defined, fills the distribution of the next
    arm.
    """

    game: ClassVar[str] = "bandit"
    drawn: ClassVar[tuple[str, ...]] = ("uniform",)  # one number in every round, unless `periods` says otherwise

    def periods(self) -> dict[str, int]:
        """The kinds with one number a round, and the period of each: only its first and last round have numbers."""
        return dict.fromkeys(self.drawn, 1)

    def draws(self, setting: Setting) -> dict[str, int]:
        """How many numbers of a kind a round provides, for kinds with several: `rng.normal[0]`, `rng.normal[1]`, ..."""
        base = self._wrapped()
        return base.draws(setting) if isinstance(base, Algorithm) else {}

    def coin_regret_bound(self, rounds: Floats, means: Floats, setting: Setting) -> Floats | None:
        """Bound on the expected regret after `rounds` `[points]` on independent arms of known means; None without one.

        Gains are in [0, 1], those of an arm are independent numbers with its mean, and means is `[arms]`.
        """
        return None


def gaps(means: Floats) -> Floats:
    """How far the mean of each worse arm is below the best one."""
    below: Floats = means.max() - means
    return below[below > 0]


# ------------------------------------------------------------------------------------- playing a match


class Asked(NamedTuple):
    """The random numbers that an algorithm asks for, by kind."""

    periods: dict[str, int]  # of the kinds of which a round has one number
    counts: dict[str, int]  # of the kinds of which it has several

    @property
    def more(self) -> bool:
        """Whether they are `Numbers`, because `Draws` has not all of them."""
        return bool(self.counts) or not self.periods.keys() <= {*Draws._fields}

    def axes(self) -> tuple[tuple[int, ...], ...]:
        """For each kind of `Numbers`, the shape of a round's numbers: () for one."""
        return tuple((self.counts[kind],) if kind in self.counts else () for kind in Numbers._fields)


def asked(algorithm: players.Algorithm, setting: Setting) -> Asked:
    """The random numbers of a tuned algorithm; PluginError where a user's file asks for numbers that do not exist."""
    periods, counts = guards.asked(algorithm, "periods"), guards.asked(algorithm, "draws", setting)
    return Asked({kind: n for kind, n in periods.items() if kind not in counts}, counts)


class Seat(NamedTuple):
    """One algorithm before its game: its loop, first record, names of streams, numbers and files."""

    play_block: Callable[..., None]
    first: Records
    names: tuple[str, str]
    asked: Asked
    modules: tuple[str, ...]  # the files of its steps
    together: bool  # its trials play in lockstep


def play(match: Match, trials: Sequence[int], block: int = BLOCK, lanes: int = LANES) -> Floats:
    """Regrets `[algorithms, trials, checkpoints]`; block and lanes (up to LANES) change only the speed.

    With lanes = 1 each trial is played alone, by the loop for one trial.
    """
    seats = [_sit_down(match, algorithm, lanes > 1) for algorithm in match.algorithms]
    lanes = min(lanes, together(match))
    groups = [trials[first : first + lanes] for first in range(0, len(trials), lanes)]
    return np.concatenate([_play_lanes(match, seats, group, block) for group in groups], axis=1)


def together(match: Match) -> int:
    """The number of trials that play at once."""
    return LANES if match.setting.n_arms <= MANY else SOME


def _sit_down(match: Match, algorithm: players.Algorithm, several: bool) -> Seat:
    assert isinstance(algorithm, Algorithm) and isinstance(match.adversary, Adversary)
    foe = match.adversary
    first = _first_record(algorithm, match.setting, foe.reaction()[0])
    modules, numbers = composition(algorithm), asked(algorithm, match.setting)
    alone = partial(loop, modules, str(first.dtype["state"].descr), numbers.more)
    known = foe.mean_gains(match.setting) is not None
    found = (
        lockstep.NONE
        if not several
        else lockstep.loop(modules, first.dtype, match.setting.n_arms, known, numbers.axes())
    )
    names = algorithm.identity(), foe.identity()
    play_block = alone() if found.play is None else lockstep.Together(found, alone, guards.guarded(modules))
    return Seat(play_block, first, names, numbers, modules, found.play is not None)


def _first_record(algorithm: players.Algorithm, setting: Setting, memory: int = 0) -> Records:
    """A trial before its first round: the player and the learner's state."""
    player = record(arm=0, last=-1, held=memory, gain=0.0, seen=0.0)
    return record(player=player, state=guards.first_state(algorithm, setting))


def alone_because(algorithm: players.Algorithm, setting: Setting) -> str:
    """Why the trials of a tuned algorithm play one after the other, and the line; empty if they play in lockstep."""
    layout, axes = _first_record(algorithm, setting).dtype, asked(algorithm, setting).axes()
    return lockstep.loop(composition(algorithm), layout, setting.n_arms, False, axes).reason


def _sources(seat: Seat, seed: int, trials: Sequence[int]) -> dict[str, Fill]:
    """For each kind of random number that an algorithm uses, a source that serves all trials."""
    made = {}
    for kind in (*seat.asked.periods, *seat.asked.counts):
        rngs = [stream(seed, kind, *seat.names, trial=trial) for trial in trials]
        made[kind] = fill_of(kind, *rngs)
    return made


def _tables(seats: Sequence[Seat], lanes: int, rounds: int) -> list[Numbers]:
    """For each algorithm, tables for the numbers of a block; those of the same kind and count share their memory."""
    none = np.full((rounds, lanes), np.nan)  # for a kind that an algorithm does not draw

    @cache
    def table(kind: str, *count: int) -> NDArray[Any]:
        return aligned((rounds, *count, lanes), np.uint64 if kind == "bits" else np.float64)

    def tables(asked: Asked) -> Numbers:
        made = {kind: table(kind) for kind in asked.periods}
        made |= {kind: table(kind, count) for kind, count in asked.counts.items()}
        return Numbers(*(made.get(kind, none) for kind in Numbers._fields))

    return [tables(seat.asked) for seat in seats]


def _filled(seats: Sequence[Seat], trials: Sequence[int]) -> Sequence[int]:
    """These trials, and copies of the last one that complete a vector, if any algorithm plays vectors."""
    spare = -len(trials) % WIDTH if any(seat.together for seat in seats) else 0
    return [*trials, *[trials[-1]] * spare]


def _play_lanes(match: Match, seats: Sequence[Seat], wanted: Sequence[int], block: int) -> Floats:
    adversary, _, setting, checkpoints, seed = match
    assert isinstance(adversary, Adversary)
    trials = _filled(seats, wanted)
    n_lanes, horizon, foe = len(trials), int(checkpoints[-1]), adversary.identity()
    most = max([1, *(count for seat in seats for count in seat.asked.counts.values())])
    wide = n_lanes * 8 * max(setting.n_arms, most)
    block = min(block, max(1, BYTES // wide), horizon)
    rngs = [stream(seed, "gains", foe, trial=t) for t in trials]
    made = (
        adversary.gains_in_lanes
        if adversary.in_lanes() or any(seat.together for seat in seats)
        else adversary.gains_by_lane
    )
    by_lane = made == adversary.gains_by_lane
    table = made(setting, rngs, lambda: blocks(horizon, block))
    sources = [_sources(seat, seed, trials) for seat in seats]
    places = [np.repeat(seat.first, n_lanes if seat.together else len(wanted)) for seat in seats]
    states = [place["state"][: len(wanted)].view((np.record, place.dtype["state"])) for place in places]
    numbers = _tables(seats, n_lanes, block)
    totals = aligned((n_lanes if by_lane else 1, setting.n_arms, LANES), np.float64)
    totals[:] = 0
    regrets = np.empty((len(seats), n_lanes, len(checkpoints)))
    means = adversary.mean_gains(setting)
    worth = np.empty((0, n_lanes)) if means is None else np.repeat((means - means.max())[:, None], n_lanes, axis=1)
    for rounds in blocks(horizon, block):
        gains = np.ascontiguousarray(next(table), np.float64)
        inside = slice(*np.searchsorted(checkpoints, (rounds.start, rounds.stop)))
        marks = np.append(checkpoints[inside] - rounds.start + 1, len(rounds))
        best, earned = np.zeros((2, n_lanes, len(marks)))
        if means is None:
            parts = [own[:, :, None] for own in gains] if by_lane else [gains]
            for part, sums, most in zip(parts, totals, best if by_lane else [best], strict=True):
                oracle()(part, marks, sums, most.reshape(-1, len(marks)))
        for k, seat in enumerate(seats):
            for kind, fill in sources[k].items():
                draw(rounds, seat.asked.periods.get(kind, 1), fill, getattr(numbers[k], kind))
            given = gains, by_lane, marks, earned, places[k], *numbers[k], worth, *adversary.reaction()
            guards.play_block(seat.play_block, given, seat.modules, rounds, states[k])
            regrets[k, :, inside] = (best - earned)[:, :-1]
    return regrets[:, : len(wanted)]
