"""The game `bandit`: each round the learner plays one of K arms and sees that arm's gain.

Regret at round t is the gain of the best fixed arm up to t, minus the learner's own gain (Tossou & Dimitrakakis 2017,
section 2.1). Against an adversary with known means it is the pseudo-regret: the sum over rounds of the largest mean
minus the mean of the arm played (Bubeck & Cesa-Bianchi 2012, section 1). The game counts regret itself, from the gains
and the arms.

A game is streamed in blocks of rounds, so that memory does not grow with the horizon, and every algorithm plays a block
while it is in cache. Several trials, the lanes, are played side by side: a round must wait for the previous round of
its trial, and the other lanes hide this latency. If an algorithm's files have a step `usual`, the states are spread
(`numerics.lanes`), and one instruction plays several lanes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.games import guards, players
from privbandits_cli.games.drawing import draw, drawing, side_by_side
from privbandits_cli.games.guards import WrongArm
from privbandits_cli.games.match import Match
from privbandits_cli.games.players import Setting, papers_delta
from privbandits_cli.games.steps import SOURCES, blocks, composition, in_loop
from privbandits_cli.numerics.jit import Record, Records, bind, borrow, compile_step, kept, plain, record, unbound
from privbandits_cli.numerics.lanes import (
    LANES,
    Words,
    across,
    aligned,
    collect,
    column,
    lane_of,
    put_back,
    spread,
    spread_out,
    spreads,
)
from privbandits_cli.numerics.sfc64 import Fill
from privbandits_cli.numerics.streams import stream
from privbandits_cli.numerics.types import Floats

__all__ = ["Adversary", "Algorithm", "Draws", "Floats", "Numbers", "Setting", "papers_delta", "play"]

BLOCK = 16384  # rounds; fewer where there are many arms
BYTES = 2**20  # at most, of a block's gains, and of an algorithm's random numbers of a kind in it
FEW = 8  # arms: an entry is found among so many by comparisons, without a jump or an address
SOME = 4  # trials side by side where there are more arms
MORE = False  # bound to True for an algorithm that takes `Numbers`
GUARDED = False  # bound to True for a user's file, whose arms are checked
LANED = False  # bound to True for spread states
IDLES = False  # bound to True for steps with `idle`
REFINES = False  # bound to True for steps with `refine`
PASSES = 100  # of `refine`, at most
REACTS = False  # bound to True for an adversary that reacts to switches
KNOWN = False  # bound to True for an adversary whose means count for the regret
ARMS = 0  # bound to the number of arms
WIDTH = SOME  # bound to the lanes that play a round together


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
        if type(self).gains_in_lanes is Adversary.gains_in_lanes:
            raise NotImplementedError(f"{self.name} has no method `gains`")
        for block in self.gains_in_lanes(setting, [rng], lambda: blocks):
            yield block[:, :, 0]

    def gains_in_lanes(
        self, setting: Setting, rngs: Sequence[Generator], rounds: Callable[[], Iterable[range]]
    ) -> Iterator[NDArray[Any]]:
        """For each block of `rounds()` yield the gains `[rounds, arms, lanes]` of trials with these streams.

        A lane has the gains of `gains`, to the bit. An array may be overwritten by the next block.
        """
        tables = [self.gains(setting, rng, rounds()) for rng in rngs]
        kind = np.bool_ if self.binary else np.float64
        size = max(map(len, rounds())) * setting.n_arms
        rows, room = np.empty((len(rngs), size), kind), aligned((size, len(rngs)), kind)
        for block in rounds():
            for row, table in zip(rows, tables, strict=True):
                found = guards.next_gains(table, self, block, setting.n_arms)
                np.copyto(row[: found.size].reshape(found.shape), found, casting="safe")
            side_by_side(rows[:, : found.size], room[: found.size])
            yield room[: found.size].reshape(len(block), setting.n_arms, len(rngs))

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
usual: Any = unbound
idle: Any = unbound
begin: Any = unbound
refine: Any = unbound
stay: Any = unbound
note: Any = unbound
rng_of: Any = unbound
entry: Any = unbound
play_round: Any = unbound
ask: Any = unbound
tell: Any = unbound
rest: Any = unbound
pay: Any = unbound


def seat_of(seats: Records, words: Words, lane: int) -> Record:
    """The record of a lane that is not spread."""
    return seats[lane]


class Table(NamedTuple):
    """What the rounds of a block are played with."""

    gains: Any  # [round, arm, lane]
    uniform: Any  # random numbers, [round, lane] or [round, lane, number]
    laplace: Any
    normal: Any
    bits: Any
    worth: Any  # what one play of an arm counts for the regret, [arm, lane]; if empty, its gain
    memory: int
    observed: bool
    seats: Any  # a record of each lane: the learner's state, and the player
    rows: Any  # these records as words, [lane, word], if they are to be spread
    words: Any  # and spread, [word, LANES]


def play_block(
    gains: Floats,
    marks: NDArray[np.int64],
    earned: Floats,
    seats: Records,
    uniform: Any,
    laplace: Any,
    normal: Any,
    bits: Any,
    worth: Floats,
    memory: int,
    observed: bool,
    rows: Words,
    words: Words,
) -> None:
    """Play one block; `earned[lane, i]` is the learner's gain after `marks[i]` rounds. Other arguments: see `Table`."""
    table = Table(
        borrow(gains),
        borrow(uniform),
        borrow(laplace),
        borrow(normal),
        borrow(bits),
        borrow(worth),
        memory,
        observed,
        borrow(seats),
        borrow(rows),
        borrow(words),
    )
    n = len(seats)
    spread(table.rows, table.words)
    for first in range(0, n, WIDTH):
        t = 0
        for i in range(len(marks)):
            while t < marks[i]:
                t = play_round(table, t, marks[i], first)
            for lane in range(first, min(first + WIDTH, n)):
                earned[lane, i] = seat_of(table.seats, table.words, lane).player.gain
    for lane in range(len(table.rows)):
        collect(table.words, table.rows, lane)


def play_some(table: Table, t: int, end: int, first: int) -> int:
    """Play round t in the lanes from `first` on, one after the other, and return the next round."""
    for k in range(SOME):  # a constant, so that the compiler unrolls the lanes
        lane = first + k
        if lane >= len(table.seats):
            break
        state, player, rng = table.seats[lane].state, table.seats[lane].player, rng_of(table, t, lane)
        arm = choose(state, rng)
        if GUARDED and (arm < 0 or arm >= ARMS):
            raise WrongArm(arm, ARMS, t)
        player.arm = arm
        pay(table, player, t, lane)
        update(state, arm, player.seen, rng)
    return t + 1


def play_all(table: Table, t: int, end: int, first: int) -> int:
    """Play round t in all lanes, which are spread, and return the next round: each loop becomes vector instructions.

    If the bases of all lanes are idle, it plays all these rounds, up to `end`.
    """
    n, late = len(table.seats), 0
    if IDLES:
        calm = end - t
        for lane in range(n):
            calm = min(calm, idle(lane_of(table.seats, table.words, lane).state))
        for later in range(t, t + calm):
            for lane in range(n):
                rest(table, later, lane)
        if calm > 0:
            return t + calm
    if REFINES:
        for lane in range(n):
            begin(lane_of(table.seats, table.words, lane).state)
        for _ in range(PASSES):
            moved = 0
            for lane in range(n):
                moved += refine(lane_of(table.seats, table.words, lane).state)
            if moved == 0:
                break
    for lane in range(n):
        ask(table, t, lane)
    if GUARDED:
        for lane in range(n):
            arm = lane_of(table.seats, table.words, lane).player.arm
            if arm < 0 or arm >= ARMS:
                raise WrongArm(arm, ARMS, t)
    for lane in range(n):
        late += tell(table, t, lane)
    if late > 0:
        for lane in range(n):
            player = lane_of(table.seats, table.words, lane).player
            if player.late:
                collect(table.words, table.rows, lane)
                update(table.seats[lane].state, player.arm, player.seen, rng_of(table, t, lane))
                put_back(table.rows, table.words, lane)
    return t + 1


def ask_lane(table: Table, t: int, lane: int) -> None:
    """Let a learner choose its arm, and pay for it."""
    player = lane_of(table.seats, table.words, lane).player
    player.arm = choose(lane_of(table.seats, table.words, lane).state, rng_of(table, t, lane))
    pay(table, player, t, lane)


def tell_lane(table: Table, t: int, lane: int) -> int:
    """Let a learner see its gain; 1 if it needs `update`, because this gain is not usual."""
    player = lane_of(table.seats, table.words, lane).player
    late = (
        0
        if usual(lane_of(table.seats, table.words, lane).state, player.arm, player.seen, rng_of(table, t, lane))
        else 1
    )
    player.late = late
    return late


def rest_lane(table: Table, t: int, lane: int) -> None:
    """A round in which the learner's base is idle."""
    place = lane_of(table.seats, table.words, lane)
    place.player.arm = stay(place.state)
    pay(table, place.player, t, lane)
    note(place.state, place.player.seen)


def pay_player(table: Table, player: Record, t: int, lane: int) -> None:
    """Add the gain of the arm to what the player has earned."""
    arm = player.arm
    gain: float = np.float64(entry(across(table.gains, lane), t * ARMS, arm))
    player.seen = gain
    if REACTS:  # the adversary reacts to switches; the first round has none
        switched = (player.last >= 0) & (player.last != arm)
        held = 0 if switched else player.held + 1
        paid = 0.0 if held < table.memory else gain
        player.held, player.last = held, arm
        player.seen = paid if table.observed else gain
        gain = paid
    player.gain += entry(across(table.worth, lane), 0, arm) if KNOWN else gain


def entry_of(column: Any, first: int, arm: int) -> Any:
    """The entry `column[first + arm]`."""
    if ARMS > FEW or not LANED:
        return column[first + arm]
    found = column[first]
    for i in range(1, ARMS):
        other = column[first + i]  # a load under a condition would prevent vectors
        found = other if arm == i else found
    return found


def draws_of(table: Table, t: int, lane: int) -> Draws:
    """The random numbers of a round."""
    return Draws(across(table.uniform, lane)[t], across(table.laplace, lane)[t])


def numbers_of(table: Table, t: int, lane: int) -> Numbers:
    """The random numbers of a round, of every kind."""
    return Numbers(
        borrow(table.uniform)[t, lane],
        borrow(table.laplace)[t, lane],
        borrow(table.normal)[t, lane],
        borrow(table.bits)[t, lane],
    )


def best_arm_block(gains: Floats, marks: NDArray[np.int64], totals: Floats, best: Floats) -> None:
    """Add a block to the arms' `totals[arm, lane]`; `best[lane, i]` is the largest after `marks[i]` rounds.

    The sum runs round by round, so that it does not depend on where blocks end.
    """
    t, (_, n_arms, n) = 0, gains.shape
    for i in range(len(marks)):
        while t < marks[i]:
            for arm in range(n_arms):
                for lane in range(n):
                    column(totals, lane)[arm] += across(gains, lane)[t * n_arms + arm]
            t += 1
        for lane in range(n):
            best[lane, i] = totals[:, lane].max()


def best_arm_count(gains: NDArray[np.uint8], marks: NDArray[np.int64], totals: Floats, best: Floats) -> None:
    """`best_arm_block` for gains of 0 or 1, whose sums are exact in any order: they are counted in bytes first."""
    t, (_, n_arms, n) = 0, gains.shape
    flat_gains, counts = gains.reshape(-1), np.zeros(n_arms * n, np.uint8)
    for i in range(len(marks)):
        while t < marks[i]:
            end = min(t + 255, marks[i])
            counts[:] = 0
            while t < end:
                some = flat_gains[t * n_arms * n : (t + 1) * n_arms * n]
                for j in range(len(counts)):
                    counts[j] += some[j]
                t += 1
            for arm in range(n_arms):
                for lane in range(n):
                    totals[arm, lane] += counts[arm * n + lane]
        for lane in range(n):
            best[lane, i] = totals[:, lane].max()


# ------------------------------------------------------------------------------------ binding the loop


class Kind(NamedTuple):
    """What a loop is compiled for, beside the steps and the layout of their state."""

    n_arms: int
    binary: bool  # gains are 0 or 1
    reacts: bool  # the adversary reacts to switches
    known: bool  # its means count for the regret
    laned: bool  # states are spread


@kept
def loop(modules: tuple[str, ...], layout: str, kind: Kind, more: str = "") -> Callable[..., None]:
    """The compiled `play_block` of a composition whose state has this record layout.

    more: the `Asked.layout` of its random numbers.
    """
    names = in_loop(modules) | {"LANED": kind.laned, "ARMS": kind.n_arms}
    names |= {"REACTS": kind.reacts, "KNOWN": kind.known, "WIDTH": LANES if kind.laned else SOME}
    names["seat_of"] = lane_of if kind.laned else seat_of
    names |= {"IDLES": kind.laned and "idle" in names, "REFINES": kind.laned and "refine" in names}
    if names["REFINES"]:
        names["choose"] = names["settle"]
    names["entry"] = compile_step(entry_of, **names)
    names["rng_of"] = compile_step(numbers_of if more else draws_of, **names)
    names["pay"] = compile_step(pay_player, **names)
    for name, half in HALVES.items():
        names[name] = compile_step(half, **names)
    names["play_round"] = compile_step(play_all if kind.laned else play_some, **names)
    return bind(play_block, *modules, layout, str(kind), more, **names)


HALVES: dict[str, Callable[..., Any]] = {"ask": ask_lane, "tell": tell_lane, "rest": rest_lane}


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
    """One algorithm before its game: its loop, first record, names of streams, numbers and files."""

    play_block: Callable[..., None]
    first: Records
    names: tuple[str, str]
    asked: Asked
    modules: tuple[str, ...]  # the files of its steps
    laned: bool


def play(match: Match, trials: Sequence[int], block: int = BLOCK, lanes: int = LANES) -> Floats:
    """Regrets `[algorithms, trials, checkpoints]`; block and lanes (up to LANES) change only the speed."""
    seats = [_sit_down(match, algorithm) for algorithm in match.algorithms]
    lanes = min(lanes, LANES if match.setting.n_arms <= FEW else SOME)
    groups = [trials[first : first + lanes] for first in range(0, len(trials), lanes)]
    return np.concatenate([_play_lanes(match, seats, group, block) for group in groups], axis=1)


def has_lanes(modules: tuple[str, ...], layout: np.dtype[Any], n_arms: int) -> bool:
    """Whether the files of a composition can play spread states of this layout."""
    return (
        not plain() and n_arms <= FEW and spreads(layout) and all(hasattr(import_module(m), "usual") for m in modules)
    )


def _sit_down(match: Match, algorithm: players.Algorithm) -> Seat:
    assert isinstance(algorithm, Algorithm) and isinstance(match.adversary, Adversary)
    foe, n_arms = match.adversary, match.setting.n_arms
    state = guards.first_state(algorithm, match.setting)
    memory = foe.reaction()[0]
    player = record(arm=0, last=-1, held=memory, gain=0.0, seen=0.0, late=0)
    modules = composition(algorithm)
    numbers = asked(algorithm, match.setting)
    laned = not numbers.layout and has_lanes(modules, state.dtype, n_arms)
    kind = Kind(n_arms, foe.binary, memory > 0, foe.mean_gains(match.setting) is not None, laned)
    kernel = loop(modules, str(state.dtype.descr), kind, numbers.layout)
    names = algorithm.identity(), foe.identity()
    return Seat(kernel, record(player=player, state=state), names, numbers, modules, laned)


def _sources(seat: Seat, seed: int, trials: Sequence[int]) -> dict[str, Fill]:
    """The random numbers of an algorithm: by kind, a source for all trials."""
    return {
        kind: drawing(kind, [stream(seed, kind, *seat.names, trial=trial) for trial in trials])
        for kind in (*seat.asked.periods, *seat.asked.counts)
    }


def _tables(seats: Sequence[Seat], lanes: int, rounds: int) -> list[Numbers]:
    """For each algorithm, tables for the numbers of a block; those of the same kind and count share their memory."""
    none = np.full((rounds, lanes), np.nan)  # for a kind that an algorithm does not draw

    @cache
    def table(kind: str, *count: int) -> NDArray[Any]:
        return aligned((rounds, lanes, *count), np.uint64 if kind == "bits" else np.float64)

    def tables(asked: Asked) -> Numbers:
        made = {kind: table(kind) for kind in asked.periods}
        made |= {kind: table(kind, count) for kind, count in asked.counts.items()}
        return Numbers(*(made.get(kind, none) for kind in Numbers._fields))

    return [tables(seat.asked) for seat in seats]


def _play_lanes(match: Match, seats: Sequence[Seat], trials: Sequence[int], block: int) -> Floats:
    adversary, _, setting, checkpoints, seed = match
    assert isinstance(adversary, Adversary)
    n_lanes, horizon, foe = len(trials), int(checkpoints[-1]), adversary.identity()
    most = max([1, *(count for seat in seats for count in seat.asked.counts.values())])
    wide = n_lanes * max(setting.n_arms * (1 if adversary.binary else 8), 8 * most)
    block = min(block, max(1, BYTES // wide), horizon)
    rngs = [stream(seed, "gains", foe, trial=t) for t in trials]
    table = adversary.gains_in_lanes(setting, rngs, lambda: blocks(horizon, block))
    sources = [_sources(seat, seed, trials) for seat in seats]
    places = [np.repeat(seat.first, n_lanes) for seat in seats]
    memories = [spread_out(place, seat.laned) for seat, place in zip(seats, places, strict=True)]
    numbers = _tables(seats, n_lanes, block)
    totals = aligned((setting.n_arms, LANES), np.int64 if adversary.binary else np.float64)
    totals[:] = 0
    regrets = np.empty((len(seats), n_lanes, len(checkpoints)))
    means = adversary.mean_gains(setting)
    worth = np.empty((0, n_lanes)) if means is None else np.repeat((means - means.max())[:, None], n_lanes, axis=1)
    for rounds in blocks(horizon, block):
        gains = next(table)
        gains = gains.view(np.uint8) if adversary.binary else gains  # vectors of bytes are faster than of bits
        inside = slice(*np.searchsorted(checkpoints, (rounds.start, rounds.stop)))
        marks = np.append(checkpoints[inside] - rounds.start + 1, len(rounds))
        best, earned = np.zeros((2, n_lanes, len(marks)))
        if means is None:
            oracle(adversary.binary)(gains, marks, totals, best)
        for k, seat in enumerate(seats):
            for kind, fill in sources[k].items():
                draw(rounds, seat.asked.periods.get(kind, 1), fill, getattr(numbers[k], kind))
            given = gains, marks, earned, places[k], *numbers[k], worth, *adversary.reaction(), *memories[k]
            guards.play_block(seat.play_block, given, seat.modules, rounds, places[k]["state"])
            regrets[k, :, inside] = (best - earned)[:, :-1]
    return regrets
