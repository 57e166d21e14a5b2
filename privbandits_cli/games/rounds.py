"""The loop of the game `bandit`: rounds of several trials side by side, in one of two ways.

In lanes one after the other (`play_some`), each with the steps `choose` and `update` of its algorithm, a few lanes are
interleaved: a round must wait for the previous round of its trial, and the other lanes hide this latency.

If the files of an algorithm have the step `usual`, or steps that take its place, the states are spread
(`numerics.lanes`), and each loop over the lanes becomes vector instructions (`play_all`).
`usual(state, arm, gain, rng)` is `update` without a branch: it returns False, and has changed nothing, where this gain
needs another path, and then `update` plays this lane. A file may add:

- `jump(state, arm, gain, rng)`, the part of `update` with branches or with addresses that depend on data. It is played
  in one lane after the other, before `usual`, which then is the rest of `update` and always returns True;
- `idle(state)`, the rounds from this one on in which no decision is made, with `stay(state)` and
  `note(state, gain, rng)`, which do in these rounds what `choose` and `update` do, without a branch. They are played
  while all lanes are idle. A file with these three needs no `usual`: then `note` plays a lane that is idle beside
  others that are not, and `update` one that is not;
- `begin(state, rng)`, `refine(state, rng)` and `settle(state, rng)`, which are `choose` in parts: `refine` is repeated
  in all lanes until it is False in each, at most PASSES times. Where it was False, a further call changes nothing. A
  file with these three needs no `usual`: `update` is then played in one lane after the other.

In a user's file these steps count only if they are of the same file as its `choose` and `update`.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.games.guards import WrongArm
from privbandits_cli.games.steps import in_loop
from privbandits_cli.numerics.jit import Record, Records, bind, borrow, compile_step, kept, unbound
from privbandits_cli.numerics.lanes import LANES, Words, across, collect, column, lane_of, put_back, spread
from privbandits_cli.numerics.types import Floats

FEW = 8  # arms: an entry is found among so many by comparisons, without a jump or an address
SOME = 4  # trials that are interleaved where states are not spread
GUARDED = False  # bound to True for a user's file, whose arms are checked
LANED = False  # bound to True for spread states
JUMPS = False  # bound to True for steps with `jump`
IDLES = False  # bound to True for steps with `idle`
REFINES = False  # bound to True for steps with `refine`
PASSES = 100  # of `refine`, at most
KNOWN = False  # bound to True for an adversary whose means count for the regret
ARMS = 0  # bound to the number of arms of spread states
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


choose: Any = unbound
update: Any = unbound
usual: Any = unbound
jump: Any = unbound
idle: Any = unbound
begin: Any = unbound
refine: Any = unbound
stay: Any = unbound
note: Any = unbound
rng_of: Any = unbound
entry: Any = unbound
play_round: Any = unbound
ask: Any = unbound
check: Any = unbound
tell: Any = unbound
rest: Any = unbound
pay: Any = unbound


def seat_of(seats: Records, words: Words, lane: int) -> Record:
    """The record of a lane that is not spread."""
    return seats[lane]


class Table(NamedTuple):
    """What the rounds of a block are played with."""

    gains: Any  # [round, arm, lane], or [lane, round, arm] if by_lane, which spread states do not take
    by_lane: bool
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
    by_lane: bool,
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
        by_lane,
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
    if LANED:
        spread(table.rows, table.words)
    for first in range(0, n, WIDTH):
        t: Any = np.int64(0)  # for a literal 0 a round would be compiled twice
        for i in range(len(marks)):
            while t < marks[i]:
                t = play_round(table, t, marks[i], first)
            for lane in range(first, min(first + WIDTH, n)):
                earned[lane, i] = seat_of(table.seats, table.words, lane).player.gain
    if LANED:
        for lane in range(n):
            collect(table.words, table.rows, lane)


def play_some(table: Table, t: int, end: int, first: int) -> int:
    """Play round t in the lanes from `first` on, one after the other, and return the next round."""
    for k in range(SOME):  # a constant, so that the compiler unrolls the lanes
        lane = first + k
        if lane >= len(table.seats):
            break
        state, player, rng = (
            table.seats[lane].state,
            table.seats[lane].player,
            rng_of(table.uniform, table.laplace, table.normal, table.bits, t, lane),
        )
        arm = choose(state, rng)
        n_arms = table.gains.shape[2 if table.by_lane else 1]
        if GUARDED and (arm < 0 or arm >= n_arms):
            raise WrongArm(arm, n_arms, t)
        player.arm = arm
        pay(table.gains, table.by_lane, table.worth, table.memory, table.observed, player, t, lane)
        update(state, arm, player.seen, rng)
    return t + 1


def play_all(table: Table, t: int, end: int, first: int) -> int:
    """Play round t in all lanes, and return the next round. Each loop over the lanes becomes vector instructions.

    While all lanes are idle, it plays several rounds, but none after `end`.
    """
    n, late = len(table.seats), 0
    if IDLES:
        calm = end - t
        for lane in range(n):
            calm = min(calm, idle(lane_of(table.seats, table.words, lane).state))
        for later in range(t, t + calm):
            for lane in range(n):
                rest(table, later, lane)
            if GUARDED:
                check(table, later)
        if calm > 0:
            return t + calm
    if REFINES:
        for lane in range(n):
            begin(
                lane_of(table.seats, table.words, lane).state,
                rng_of(table.uniform, table.laplace, table.normal, table.bits, t, lane),
            )
        for _ in range(PASSES):
            moved = 0
            for lane in range(n):
                moved += refine(
                    lane_of(table.seats, table.words, lane).state,
                    rng_of(table.uniform, table.laplace, table.normal, table.bits, t, lane),
                )
            if moved == 0:
                break
    for lane in range(n):
        ask(table, t, lane)
    if GUARDED:
        check(table, t)
    if JUMPS:
        for lane in range(n):
            place = lane_of(table.seats, table.words, lane)
            jump(
                place.state,
                place.player.arm,
                place.player.seen,
                rng_of(table.uniform, table.laplace, table.normal, table.bits, t, lane),
            )
    for lane in range(n):
        late += tell(table, t, lane)
    if late < 0:
        for lane in range(n):
            player = lane_of(table.seats, table.words, lane).player
            if player.late:
                collect(table.words, table.rows, lane)
                update(
                    table.seats[lane].state,
                    player.arm,
                    player.seen,
                    rng_of(table.uniform, table.laplace, table.normal, table.bits, t, lane),
                )
                put_back(table.rows, table.words, lane)
    return t + 1


def ask_lane(table: Table, t: int, lane: int) -> None:
    """Let a learner choose its arm, and pay for it."""
    player = lane_of(table.seats, table.words, lane).player
    player.arm = choose(
        lane_of(table.seats, table.words, lane).state,
        rng_of(table.uniform, table.laplace, table.normal, table.bits, t, lane),
    )
    pay(table.gains, table.by_lane, table.worth, table.memory, table.observed, player, t, lane)


def check_arms(table: Table, t: int) -> None:
    """Raise WrongArm if a learner has chosen an arm that does not exist."""
    for lane in range(len(table.seats)):
        arm = lane_of(table.seats, table.words, lane).player.arm
        if arm < 0 or arm >= ARMS:
            raise WrongArm(arm, ARMS, t)


def tell_lane(table: Table, t: int, lane: int) -> int:
    """Show a learner its gain. Return -1 if the gain is not usual, so that `update` has to play this lane, otherwise 0.

    A comparison of vectors gives -1 for true; to make 1 of it takes another instruction.
    """
    player = lane_of(table.seats, table.words, lane).player
    late = (
        0
        if usual(
            lane_of(table.seats, table.words, lane).state,
            player.arm,
            player.seen,
            rng_of(table.uniform, table.laplace, table.normal, table.bits, t, lane),
        )
        else -1
    )
    player.late = late
    return late


def usual_if_idle(state: Record, arm: int, gain: float, rng: Any) -> bool:
    """The `usual` of a file that has none: only idle rounds are usual."""
    if idle(state) > 0:
        note(state, gain, rng)
        return True
    return False


def nothing_left(state: Record, arm: int, gain: float, rng: Any) -> bool:
    """The `usual` of a file that has neither this step nor `idle`: each lane has played `update`."""
    return True


def rest_lane(table: Table, t: int, lane: int) -> None:
    """A round in which the learner is idle."""
    place = lane_of(table.seats, table.words, lane)
    place.player.arm = stay(place.state)
    pay(table.gains, table.by_lane, table.worth, table.memory, table.observed, place.player, t, lane)
    note(place.state, place.player.seen, rng_of(table.uniform, table.laplace, table.normal, table.bits, t, lane))


def pay_player(
    gains: Any, by_lane: bool, worth: Any, memory: int, observed: bool, player: Record, t: int, lane: int
) -> None:
    """Add the gain of the arm to what the player has earned."""
    arm = player.arm
    if LANED:
        gain: float = np.float64(entry(across(gains, lane), t * ARMS, arm))
    else:
        gain = np.float64(gains[lane, t, arm] if by_lane else gains[t, arm, lane])
    player.seen = gain
    if LANED or memory > 0:  # the adversary reacts to switches; the first round has none
        switched = (player.last >= 0) & (player.last != arm)
        held = 0 if switched else player.held + 1
        paid = 0.0 if held < memory else gain
        player.held, player.last = held, arm
        player.seen = paid if observed else gain
        gain = paid
    if KNOWN and (LANED or len(worth) > 0):
        gain = entry(across(worth, lane), 0, arm)
    player.gain += gain


def entry_of(column: Any, first: int, arm: int) -> Any:
    """The entry `column[first + arm]`; in lanes by comparisons, as an address that depends on data prevents vectors."""
    if not LANED:
        return column[first + arm]
    found = column[first]
    for i in range(1, ARMS):
        other = column[first + i]  # a load under a condition prevents them, too
        found = other if arm == i else found
    return found


def draws_of(uniform: Any, laplace: Any, normal: Any, bits: Any, t: int, lane: int) -> Draws:
    """The random numbers of a round."""
    return Draws(across(uniform, lane)[t], across(laplace, lane)[t])


def numbers_of(uniform: Any, laplace: Any, normal: Any, bits: Any, t: int, lane: int) -> Numbers:
    """The random numbers of a round, of every kind."""
    if LANED:
        return Numbers(
            across(uniform, lane)[t], across(laplace, lane)[t], across(normal, lane)[t], across(bits, lane)[t]
        )
    return Numbers(uniform[t, lane], laplace[t, lane], normal[t, lane], bits[t, lane])


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
            best[lane, i] = totals[0, lane]
            for arm in range(1, n_arms):
                best[lane, i] = max(best[lane, i], totals[arm, lane])


# ------------------------------------------------------------------------------------ binding the loop


class Kind(NamedTuple):
    """What a loop is compiled for, beside the steps and the layout of their state; in lanes it depends on more."""

    laned: bool = False  # states are spread
    n_arms: int = 0
    known: bool = True  # the adversary's means count for the regret


@kept
def loop(modules: tuple[str, ...], layout: str, kind: Kind, more: bool) -> Callable[..., None]:
    """The compiled `play_block` of a composition; more: whether its steps take `Numbers`.

    layout: of its state's record; numba confuses records that begin with the same fields.
    """
    return bound(in_loop(modules), kind, more)


def bound(steps: Mapping[str, Any], kind: Kind, more: bool) -> Callable[..., None]:
    """The compiled `play_block` with these steps."""
    names = {**steps, "LANED": kind.laned, "ARMS": kind.n_arms, "KNOWN": kind.known}
    names |= {"WIDTH": LANES if kind.laned else SOME, "seat_of": lane_of if kind.laned else seat_of}
    names |= {
        "JUMPS": kind.laned and "jump" in steps,
        "IDLES": kind.laned and "idle" in steps,
        "REFINES": kind.laned and "refine" in steps,
    }
    if names["REFINES"]:
        names["choose"] = names["settle"]
    names |= shared(kind, more)
    if kind.laned and "usual" not in steps:
        if not names["IDLES"]:
            names |= {"JUMPS": True, "jump": names["update"]}
        names["usual"] = compile_step(usual_if_idle if names["IDLES"] else nothing_left, **names)
    for name, part in PARTS.items():
        names[name] = compile_step(part, **names)
    names["play_round"] = compile_step(play_all if kind.laned else play_some, **names)
    return bind(play_block, **names)


@kept
def shared(kind: Kind, more: bool) -> dict[str, Callable[..., Any]]:
    """What is compiled once for all algorithms."""
    names: dict[str, Any] = {"LANED": kind.laned, "ARMS": kind.n_arms, "KNOWN": kind.known}
    names["entry"] = compile_step(entry_of, **names)
    return {"pay": compile_step(pay_player, **names), "rng_of": compile_step(numbers_of if more else draws_of, **names)}


PARTS: dict[str, Callable[..., Any]] = {"ask": ask_lane, "check": check_arms, "tell": tell_lane, "rest": rest_lane}


@kept
def oracle() -> Callable[..., None]:
    """The compiled loop that finds the best arm."""
    return bind(best_arm_block)
