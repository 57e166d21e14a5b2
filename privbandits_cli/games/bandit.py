"""The game `bandit`: each round the learner plays one of K arms and sees that arm's gain.

Regret at round t is the gain of the best fixed arm up to t, minus the learner's own gain (Tossou & Dimitrakakis 2017,
section 2.1). Against an adversary with known means it is the pseudo-regret: the sum over rounds of the largest mean
minus the mean of the arm played (Bubeck & Cesa-Bianchi 2012, section 1). The game counts regret itself, from the gains
and the arms.

A game is streamed in blocks of rounds, so that memory does not grow with the horizon, and every algorithm plays a block
while it is in cache. A few trials, the lanes, are interleaved: a round must wait for the previous round of its trial,
and the other lanes hide this latency.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.games import guards, players
from privbandits_cli.games.guards import WrongArm
from privbandits_cli.games.match import Match
from privbandits_cli.games.players import Setting, papers_delta
from privbandits_cli.games.steps import SOURCES, blocks, composition, in_loop
from privbandits_cli.numerics.jit import Records, bind, kept, record, unbound
from privbandits_cli.numerics.sfc64 import Fill
from privbandits_cli.numerics.streams import stream
from privbandits_cli.numerics.types import Floats

__all__ = ["Adversary", "Algorithm", "Draws", "Floats", "Setting", "papers_delta", "play"]

BLOCK = 16384  # rounds; fewer where there are many arms
BYTES = 2**21  # at most, of one trial's block
LANES = 4  # trials side by side
GUARDED = False  # bound to True for a user's file, whose arms are checked
ROWS = 16  # of 0 and 1 that are counted in parallel


class Draws(NamedTuple):
    """The random numbers of one round, each from its own stream."""

    uniform: float  # on [0, 1)
    laplace: float  # standard Laplace


class Adversary(players.Adversary):
    """The source of the gains."""

    game: ClassVar[str] = "bandit"
    binary: ClassVar[bool] = False  # every gain is 0 or 1, so a block takes an eighth of the memory

    def gains(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[NDArray[Any]]:
        """For each block of rounds (counted from 1) yield its gains `[rounds, arms]`, in [0, 1] where `bounded`.

        Draw from `rng` in the order of the rounds, so that no number depends on where a block ends.
        """
        raise NotImplementedError

    def mean_gains(self, setting: Setting) -> Floats | None:
        """The mean gains `[arms]` if regret is counted on these; None if it is counted on the gains themselves."""
        return None

    def reaction(self) -> tuple[int, bool]:
        """(m, observed): a gain counts as 0 until its arm has been held for m rounds; m = 0 is oblivious.

        observed: the learner sees this 0, not the gain.
        """
        return 0, True


class Algorithm(players.Algorithm):
    """A learner's parameters, tuning and guarantee; its two steps are functions of the same file.

    `choose(state, rng) -> arm` and `update(state, arm, gain, rng)` are compiled into the game's loop; `rng` holds the
    `Draws` of the round. `probabilities(state, out)`, if defined, fills the distribution of the next arm.
    """

    game: ClassVar[str] = "bandit"
    drawn: ClassVar[tuple[str, ...]] = ("uniform",)  # in every round, unless `periods` says otherwise

    def periods(self) -> dict[str, int]:
        """The fields of `Draws` that its steps use, with a period: they hold numbers in its first and last round."""
        return dict.fromkeys(self.drawn, 1)


# ---------------------------------------------------------------------------------------------- the loop


choose: Any = unbound
update: Any = unbound


def play_block(
    gains: Floats,
    marks: NDArray[np.int64],
    earned: Floats,
    seated: Records,
    states: Records,
    uniform: Floats,
    laplace: Floats,
    worth: Floats,
    memory: int,
    observed: bool,
) -> None:
    """Play one block `gains[lane, round, arm]`; `earned[lane, i]` is the learner's gain after `marks[i]` rounds.

    worth: what playing an arm counts, `[arms]`; if empty, its gain.
    """
    t = 0
    for i in range(len(marks)):
        while t < marks[i]:
            for lane in range(LANES):  # a constant, so that the compiler unrolls the lanes
                if lane >= len(states):
                    break
                state, player = states[lane], seated[lane]
                rng = Draws(uniform[lane, t], laplace[lane, t])
                arm = choose(state, rng)
                if GUARDED and (arm < 0 or arm >= gains.shape[2]):
                    raise WrongArm(arm, gains.shape[2], t)
                gain: float = np.float64(gains[lane, t, arm])
                seen = gain
                if memory > 0:  # the adversary reacts to switches; the first round has none
                    switched = player.arm >= 0 and player.arm != arm
                    player.held = 0 if switched else player.held + 1
                    player.arm = arm
                    if player.held < memory:
                        gain = 0.0
                        if observed:
                            seen = 0.0
                player.gain += worth[arm] if len(worth) > 0 else gain
                update(state, arm, seen, rng)
            t += 1
        for lane in range(len(states)):
            earned[lane, i] = seated[lane].gain


def best_arm_block(gains: Floats, marks: NDArray[np.int64], totals: Floats, best: Floats) -> None:
    """Add a block to the arms' `totals[lane, arm]`; `best[lane, i]` is the largest after `marks[i]` rounds.

    The sum runs round by round, so that it does not depend on where blocks end.
    """
    t = 0
    for i in range(len(marks)):
        while t < marks[i]:
            for lane in range(len(gains)):
                for arm in range(totals.shape[1]):
                    totals[lane, arm] += gains[lane, t, arm]
            t += 1
        for lane in range(len(gains)):
            best[lane, i] = totals[lane].max()


def best_arm_count(gains: NDArray[np.bool_], marks: NDArray[np.int64], totals: NDArray[np.int64], best: Floats) -> None:
    """`best_arm_block` for gains of 0 or 1, whose sums are exact in any order; `totals[lane, row, arm]`.

    Row r adds up the rounds r, r + rows, ..., so that the compiler sums several rounds as a vector.
    """
    _, rows, n_arms = totals.shape
    for lane in range(len(gains)):
        flat, sums = gains[lane].reshape(-1), totals[lane].reshape(-1)
        t = 0
        for i in range(len(marks)):
            while t < marks[i]:
                some = flat[t * n_arms : min(t + rows, marks[i]) * n_arms]
                for j in range(len(some)):
                    sums[j] += some[j]
                t += rows
            t = marks[i]
            best[lane, i] = totals[lane].sum(axis=0).max()


# ------------------------------------------------------------------------------------ binding the loop


@kept
def loop(modules: tuple[str, ...], layout: str, binary: bool) -> Callable[..., None]:
    """The compiled `play_block` of a composition whose state has this record layout, for gains of this kind."""
    return bind(play_block, *modules, layout, str(binary), **in_loop(modules))


@kept
def oracle(binary: bool) -> Callable[..., None]:
    """The compiled loop that finds the best arm, for gains of this kind."""
    template = best_arm_count if binary else best_arm_block
    return bind(template, template.__name__)


# ------------------------------------------------------------------------------------- playing a match


class Seat(NamedTuple):
    """One algorithm before its game: its loop, first state, record of play, names of streams, draws and files."""

    play_block: Callable[..., None]
    state: Records
    player: Records
    names: tuple[str, str]
    periods: dict[str, int]
    modules: tuple[str, ...]  # the files of its steps


def play(match: Match, trials: Sequence[int], block: int = BLOCK, lanes: int = LANES) -> Floats:
    """Regrets `[algorithms, trials, checkpoints]`; block and lanes (up to LANES) change only the speed."""
    seats = [_sit_down(match, algorithm) for algorithm in match.algorithms]
    groups = [trials[first : first + lanes] for first in range(0, len(trials), lanes)]
    return np.concatenate([_play_lanes(match, seats, group, block) for group in groups], axis=1)


def _sit_down(match: Match, algorithm: players.Algorithm) -> Seat:
    assert isinstance(algorithm, Algorithm) and isinstance(match.adversary, Adversary)
    state = guards.first_state(algorithm, match.setting)
    player = record(arm=-1, held=match.adversary.reaction()[0], gain=0.0)
    modules = composition(algorithm)
    kernel = loop(modules, str(state.dtype.descr), match.adversary.binary)
    names = algorithm.identity(), match.adversary.identity()
    return Seat(kernel, state, player, names, guards.asked(algorithm, Draws._fields), modules)


def _sources(seat: Seat, seed: int, trials: Sequence[int]) -> dict[str, list[Fill]]:
    """The random numbers of an algorithm: by kind, a source for each trial."""
    return {
        kind: [SOURCES[kind](stream(seed, kind, *seat.names, trial=trial)) for trial in trials] for kind in seat.periods
    }


def draw(rounds: range, period: int, sources: Sequence[Fill], out: Floats) -> None:
    """Numbers `out[lane, round]` for the first and last round of every period; the others are left unchanged."""
    if period == 1:
        for lane, fill in enumerate(sources):
            fill(out[lane, : len(rounds)])
        return
    n, last, first = len(rounds), -rounds.start % period, (1 - rounds.start) % period
    early, late = slice(min(last, first), n, period), slice(max(last, first), n, period)  # they alternate
    numbers = np.empty(len(range(n)[early]) + len(range(n)[late]))
    for lane, fill in enumerate(sources):
        fill(numbers)
        out[lane, early], out[lane, late] = numbers[::2], numbers[1::2]


def _play_lanes(match: Match, seats: Sequence[Seat], trials: Sequence[int], block: int) -> Floats:
    adversary, _, setting, checkpoints, seed = match
    assert isinstance(adversary, Adversary)
    n_lanes, horizon, foe = len(trials), int(checkpoints[-1]), adversary.identity()
    kind: Any = np.bool_ if adversary.binary else np.float64
    block = min(block, max(1, BYTES // (setting.n_arms * np.dtype(kind).itemsize)), horizon)
    tables = [adversary.gains(setting, stream(seed, "gains", foe, trial=t), blocks(horizon, block)) for t in trials]
    sources = [_sources(seat, seed, trials) for seat in seats]
    states = [np.repeat(seat.state, n_lanes) for seat in seats]
    seated = [np.repeat(seat.player, n_lanes) for seat in seats]
    gains: NDArray[Any] = np.empty((n_lanes, block, setting.n_arms), kind)
    draws = {kind: np.zeros((n_lanes, block)) for kind in Draws._fields}
    none = np.full((n_lanes, block), np.nan)  # for a kind that an algorithm does not draw
    totals: NDArray[Any] = np.zeros((n_lanes, setting.n_arms))
    if adversary.binary:
        totals = np.zeros((n_lanes, ROWS, setting.n_arms), np.int64)
    regrets = np.empty((len(seats), n_lanes, len(checkpoints)))
    means = adversary.mean_gains(setting)
    worth = np.empty(0) if means is None else means - means.max()
    for rounds in blocks(horizon, block):
        _deal(adversary, tables, rounds, gains)
        inside = slice(*np.searchsorted(checkpoints, (rounds.start, rounds.stop)))
        marks = np.append(checkpoints[inside] - rounds.start + 1, len(rounds))
        best, earned = np.zeros((2, n_lanes, len(marks)))
        if means is None:
            oracle(adversary.binary)(gains, marks, totals, best)
        for k, seat in enumerate(seats):
            for kind, fills in sources[k].items():
                draw(rounds, seat.periods[kind], fills, draws[kind])
            numbers = [draws[kind] if kind in seat.periods else none for kind in Draws._fields]
            table = gains, marks, earned, seated[k], states[k], *numbers, worth, *adversary.reaction()
            guards.play_block(seat.play_block, table, seat.modules, rounds, states[k])
            regrets[k, :, inside] = (best - earned)[:, :-1]
    return regrets


def _deal(adversary: Adversary, tables: Sequence[Iterator[NDArray[Any]]], rounds: range, gains: NDArray[Any]) -> None:
    """Fill `gains[lane, round]` with the next block of each lane's table."""
    for lane, table in enumerate(tables):
        found = guards.next_gains(table, adversary, rounds, gains.shape[2])
        np.copyto(gains[lane, : len(rounds)], found, casting="safe")
