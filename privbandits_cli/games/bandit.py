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
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.games import guards, players
from privbandits_cli.games.guards import WrongArm
from privbandits_cli.games.match import Match
from privbandits_cli.games.players import Setting, papers_delta
from privbandits_cli.games.steps import SOURCES, blocks, composition, in_loop
from privbandits_cli.numerics.jit import Records, bind, borrow, kept, record, unbound
from privbandits_cli.numerics.sfc64 import Fill
from privbandits_cli.numerics.streams import stream
from privbandits_cli.numerics.types import Floats

__all__ = ["Adversary", "Algorithm", "Draws", "Floats", "Numbers", "Setting", "papers_delta", "play"]

BLOCK = 16384  # rounds; fewer where there are many arms
BYTES = 2**21  # at most, of one trial's block, and of an algorithm's random numbers of a kind in it
LANES = 4  # trials side by side
MORE = False  # bound to True for an algorithm that takes `Numbers`
GUARDED = False  # bound to True for a user's file, whose arms are checked
ROWS = 16  # rows of 0 and 1 that are counted in parallel


class Draws(NamedTuple):
    """The random numbers of one round, each from its own stream."""

    uniform: float  # on [0, 1)
    laplace: float  # standard Laplace


class Numbers(NamedTuple):
    """The random numbers of one round for an algorithm that asks for other kinds than `Draws` has, or for several.

    One number of a kind in `drawn`, an array of a kind in `draws`, NaN of all others.
    """

    uniform: Any  # on [0, 1)
    laplace: Any  # standard Laplace
    normal: Any  # standard normal
    bits: Any  # 64 random bits, an unsigned integer, of which `numerics.bits` makes other random numbers


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


# ---------------------------------------------------------------------------------------------- the loop


choose: Any = unbound
update: Any = unbound


def play_block(
    gains: Floats,
    marks: NDArray[np.int64],
    earned: Floats,
    seated: Records,
    states: Records,
    uniform: Any,
    laplace: Any,
    normal: Any,
    bits: Any,
    worth: Floats,
    memory: int,
    observed: bool,
) -> None:
    """Play one block `gains[lane, round, arm]`; `earned[lane, i]` is the learner's gain after `marks[i]` rounds.

    uniform, laplace, normal, bits: random numbers, `[lane, round]` or `[lane, round, number]`.
    worth: what one play of an arm counts for the regret, `[arms]`; if empty, its gain.
    """
    t = 0
    for i in range(len(marks)):
        while t < marks[i]:
            for lane in range(LANES):  # a constant, so that the compiler unrolls the lanes
                if lane >= len(states):
                    break
                state, player = states[lane], seated[lane]
                if MORE:
                    rng: Any = Numbers(
                        borrow(uniform)[lane, t],
                        borrow(laplace)[lane, t],
                        borrow(normal)[lane, t],
                        borrow(bits)[lane, t],
                    )
                else:
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
def loop(modules: tuple[str, ...], layout: str, binary: bool, more: str = "") -> Callable[..., None]:
    """The compiled `play_block` of a composition whose state has this record layout, for gains of this kind.

    more: the `Asked.layout` of its random numbers.
    """
    return bind(play_block, *modules, layout, str(binary), more, MORE=bool(more), **in_loop(modules))


@kept
def oracle(binary: bool) -> Callable[..., None]:
    """The compiled loop that finds the best arm, for gains of this kind."""
    template = best_arm_count if binary else best_arm_block
    return bind(template, template.__name__)


# ------------------------------------------------------------------------------------- playing a match


class Asked(NamedTuple):
    """The random numbers that an algorithm asks for, by kind."""

    periods: dict[str, int]  # of the kinds of which a round has one number
    counts: dict[str, int]  # of the kinds of which it has several

    @property
    def layout(self) -> str:
        """The kinds of its `Numbers`, in words; empty if `Draws` has all of them."""
        if not self.counts and self.periods.keys() <= {*Draws._fields}:
            return ""
        return ", ".join([*self.periods, *(f"{kind}[]" for kind in self.counts)])


def asked(algorithm: players.Algorithm, setting: Setting) -> Asked:
    """The random numbers of a tuned algorithm; PluginError where a user's file asks for numbers that do not exist."""
    periods, counts = guards.asked(algorithm, "periods"), guards.asked(algorithm, "draws", setting)
    return Asked({kind: n for kind, n in periods.items() if kind not in counts}, counts)


class Seat(NamedTuple):
    """One algorithm before its game: its loop, first state, record of play, names of streams, numbers and files."""

    play_block: Callable[..., None]
    state: Records
    player: Records
    names: tuple[str, str]
    asked: Asked
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
    numbers = asked(algorithm, match.setting)
    kernel = loop(modules, str(state.dtype.descr), match.adversary.binary, numbers.layout)
    names = algorithm.identity(), match.adversary.identity()
    return Seat(kernel, state, player, names, numbers, modules)


def _sources(seat: Seat, seed: int, trials: Sequence[int]) -> dict[str, list[Fill]]:
    """The random numbers of an algorithm: by kind, a source for each trial."""
    return {
        kind: [SOURCES[kind](stream(seed, kind, *seat.names, trial=trial)) for trial in trials]
        for kind in (*seat.asked.periods, *seat.asked.counts)
    }


def _tables(seats: Sequence[Seat], lanes: int, rounds: int) -> list[Numbers]:
    """For each algorithm, tables for the numbers of a block; those of the same kind and count share their memory."""
    none = np.full((lanes, rounds), np.nan)  # for a kind that an algorithm does not draw

    @cache
    def table(kind: str, *count: int) -> NDArray[Any]:
        return np.zeros((lanes, rounds, *count), np.uint64 if kind == "bits" else np.float64)

    def tables(asked: Asked) -> Numbers:
        made = {kind: table(kind) for kind in asked.periods}
        made |= {kind: table(kind, count) for kind, count in asked.counts.items()}
        return Numbers(*(made.get(kind, none) for kind in Numbers._fields))

    return [tables(seat.asked) for seat in seats]


def draw(rounds: range, period: int, sources: Sequence[Fill], out: NDArray[Any]) -> None:
    """Numbers `out[lane, round]` for the first and last round of every period; the others are left unchanged.

    With period 1 it may also be `out[lane, round, number]`.
    """
    if period == 1:
        for lane, fill in enumerate(sources):
            fill(out[lane, : len(rounds)].reshape(-1))
        return
    n, last, first = len(rounds), -rounds.start % period, (1 - rounds.start) % period
    early, late = slice(min(last, first), n, period), slice(max(last, first), n, period)  # they alternate
    numbers = np.empty(len(range(n)[early]) + len(range(n)[late]), out.dtype)
    for lane, fill in enumerate(sources):
        fill(numbers)
        out[lane, early], out[lane, late] = numbers[::2], numbers[1::2]


def _play_lanes(match: Match, seats: Sequence[Seat], trials: Sequence[int], block: int) -> Floats:
    adversary, _, setting, checkpoints, seed = match
    assert isinstance(adversary, Adversary)
    n_lanes, horizon, foe = len(trials), int(checkpoints[-1]), adversary.identity()
    kind: Any = np.bool_ if adversary.binary else np.float64
    most = max([1, *(count for seat in seats for count in seat.asked.counts.values())])
    block = min(block, max(1, BYTES // max(setting.n_arms * np.dtype(kind).itemsize, 8 * most)), horizon)
    tables = [adversary.gains(setting, stream(seed, "gains", foe, trial=t), blocks(horizon, block)) for t in trials]
    sources = [_sources(seat, seed, trials) for seat in seats]
    states = [np.repeat(seat.state, n_lanes) for seat in seats]
    seated = [np.repeat(seat.player, n_lanes) for seat in seats]
    gains: NDArray[Any] = np.empty((n_lanes, block, setting.n_arms), kind)
    numbers = _tables(seats, n_lanes, block)
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
                draw(rounds, seat.asked.periods.get(kind, 1), fills, getattr(numbers[k], kind))
            table = gains, marks, earned, seated[k], states[k], *numbers[k], worth, *adversary.reaction()
            guards.play_block(seat.play_block, table, seat.modules, rounds, states[k])
            regrets[k, :, inside] = (best - earned)[:, :-1]
    return regrets


def _deal(adversary: Adversary, tables: Sequence[Iterator[NDArray[Any]]], rounds: range, gains: NDArray[Any]) -> None:
    """Fill `gains[lane, round]` with the next block of each lane's table."""
    for lane, table in enumerate(tables):
        found = guards.next_gains(table, adversary, rounds, gains.shape[2])
        np.copyto(gains[lane, : len(rounds)], found, casting="safe")
