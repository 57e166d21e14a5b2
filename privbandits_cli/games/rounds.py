"""The loop of the game `bandit` for one trial after the other: their steps are `choose` and `update` of the algorithm.

A few trials are interleaved: a round must wait for the previous round of its trial, and the others hide this latency.
It plays what the loop for many trials (`games.lockstep`) does not, and is what that loop is compared with.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.games.guards import WrongArm
from privbandits_cli.games.steps import in_loop
from privbandits_cli.numerics.jit import Record, Records, bind, borrow, compile_step, kept, unbound
from privbandits_cli.numerics.types import Floats

SOME = 4  # trials that are interleaved
GUARDED = False  # bound to True for a user's file, whose arms are checked


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
rng_of: Any = unbound
play_round: Any = unbound
pay: Any = unbound


class Table(NamedTuple):
    """What the rounds of a block are played with."""

    gains: Any  # [round, arm, trial], or [trial, round, arm] if by_lane
    by_lane: bool
    uniform: Any  # random numbers, [round, lane] or [round, number, lane]
    laplace: Any
    normal: Any
    bits: Any
    worth: Any  # what one play of an arm counts for the regret, [arm, lane]; if empty, its gain
    memory: int
    observed: bool
    seats: Any  # a record of each lane: the learner's state, and the player


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
    )
    n = len(seats)
    for first in range(0, n, SOME):
        t: Any = np.int64(0)  # for a literal 0 a round would be compiled twice
        for i in range(len(marks)):
            while t < marks[i]:
                play_round(table, t, first)
                t += 1
            for lane in range(first, min(first + SOME, n)):
                earned[lane, i] = table.seats[lane].player.gain


def play_some(table: Table, t: int, first: int) -> None:
    """Play round t in the lanes from `first` on, one after the other."""
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


def pay_player(
    gains: Any, by_lane: bool, worth: Any, memory: int, observed: bool, player: Record, t: int, lane: int
) -> None:
    """Add the gain of the arm to what the player has earned."""
    arm = player.arm
    gain: float = np.float64(gains[lane, t, arm] if by_lane else gains[t, arm, lane])
    player.seen = gain
    if memory > 0:  # the adversary reacts to switches; the first round has none
        switched = (player.last >= 0) & (player.last != arm)
        held = 0 if switched else player.held + 1
        paid = 0.0 if held < memory else gain
        player.held, player.last = held, arm
        player.seen = paid if observed else gain
        gain = paid
    if len(worth) > 0:
        gain = worth[arm, lane]
    player.gain += gain


def draws_of(uniform: Any, laplace: Any, normal: Any, bits: Any, t: int, lane: int) -> Draws:
    """The random numbers of a round."""
    return Draws(uniform[t, lane], laplace[t, lane])


def numbers_of(uniform: Any, laplace: Any, normal: Any, bits: Any, t: int, lane: int) -> Numbers:
    """The random numbers of a round, of every kind."""
    return Numbers(
        numbers_in(uniform, t, lane),
        numbers_in(laplace, t, lane),
        numbers_in(normal, t, lane),
        numbers_in(bits, t, lane),
    )


def numbers_in(table: Any, t: int, lane: int) -> Any:
    """The number of a round, or the array of its numbers."""
    return table[t, lane] if table.ndim == 2 else table[t, :, lane]


def best_arm_block(gains: Floats, marks: NDArray[np.int64], totals: Floats, best: Floats) -> None:
    """Add a block to the arms' `totals[arm, lane]`; `best[lane, i]` is the largest after `marks[i]` rounds.

    The sum runs round by round, so that it does not depend on where blocks end.
    """
    t, (_, n_arms, n) = 0, gains.shape
    for i in range(len(marks)):
        while t < marks[i]:
            for arm in range(n_arms):
                for lane in range(n):
                    totals[arm, lane] += gains[t, arm, lane]
            t += 1
        for lane in range(n):
            best[lane, i] = totals[0, lane]
            for arm in range(1, n_arms):
                best[lane, i] = max(best[lane, i], totals[arm, lane])


# ------------------------------------------------------------------------------------ binding the loop


@kept
def loop(modules: tuple[str, ...], layout: str, more: bool) -> Callable[..., None]:
    """The compiled `play_block` of a composition; more: whether its steps take `Numbers`.

    layout: of its state's record; numba confuses records that begin with the same fields.
    """
    return bound(in_loop(modules), more)


def bound(steps: Mapping[str, Any], more: bool) -> Callable[..., None]:
    """The compiled `play_block` with these steps."""
    names = dict(steps)
    names |= {"pay": compile_step(pay_player), "rng_of": compile_step(numbers_of if more else draws_of)}
    return bind(play_block, **names, play_round=compile_step(play_some, **names))


@kept
def oracle() -> Callable[..., None]:
    """The compiled loop that finds the best arm."""
    return bind(best_arm_block)
