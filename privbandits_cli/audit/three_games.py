"""Compiled loops that play three games of a contextual learner side by side, up to the first error.

They work on four records: the states of the games A, B and C, and the first state of all three. `ellipsoids` explains
the games and what follows from their results.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.random import Generator

from privbandits_cli.audit.target import Target
from privbandits_cli.audit.twins import copy
from privbandits_cli.games.contextual import Floats, choose, update
from privbandits_cli.games.ellipsoid import invert, optimistic
from privbandits_cli.games.guards import WrongArm
from privbandits_cli.games.views import Ellipsoid
from privbandits_cli.numerics.jit import Record, Records, bind, borrow, borrower, unbound
from privbandits_cli.numerics.types import Ints

shift: Any = unbound  # these are bound when a loop is compiled
inverse: Any = unbound
theta: Any = unbound
indefinite: Any = unbound
force: Any = unbound
hold: Any = unbound
released: Any = unbound
drawn_by_choose: Any = unbound
drawn_by_update: Any = unbound

COMPARED = True  # whether A and C must draw the same noise; bound to False if all noise of A is computed again

ROUNDING = 1e-7  # relative error of V^-1 V that counts as rounding
DIGITS = 1e-11  # relative error of sums that counts as rounding
LOST, ARM, NOISE, SUMS, NODE, KEPT, RULE = range(7)
FAULTS = {
    ARM: "with the same V and u~ but other data before, another arm is played",
    NOISE: "the noise depends on the data: with the same random numbers but other data it is different",
    SUMS: "V or u~ is not the sum with the noise of the {}",
    NODE: "a node's noise was drawn anew before the node was complete",
    KEPT: "V is positive definite, but the V before it was used",
    RULE: "the arm played is not the one that V and u~ determine",
}


def symmetric(state: Record, sums: Floats, out: Floats) -> None:
    """Set out = the V of these sums, `[d, d + 1]`: their lower triangle, mirrored and shifted."""
    for i in range(len(out)):
        for j in range(i):
            out[i, j] = sums[i, j]
            out[j, i] = sums[i, j]
        out[i, i] = sums[i, i] + shift(state)


def strays(state: Record, sums: Floats, v: Floats) -> bool:
    """Whether V^-1 and θ~ do not follow from these sums; v: scratch space."""
    d, inverted, solved = len(sums), inverse(state), theta(state)
    symmetric(state, sums, v)
    size, largest, wrong = 0.0, 0.0, 0
    for i in range(d):
        size += abs(solved[i])
        for j in range(d):
            largest = max(largest, abs(v[i, j]))
    size *= largest
    for i in range(d):
        size += abs(sums[i, d])
    for i in range(d):
        total = -sums[i, d]
        for j in range(d):
            total += v[i, j] * solved[j]
        wrong += not abs(total) <= ROUNDING * size
        for k in range(d):
            total = 0.0
            for j in range(d):
                total += v[i, j] * inverted[j, k]
            wrong += not abs(total - (i == k)) < ROUNDING
    return wrong > 0


def definite(state: Record, sums: Floats, v: Floats) -> bool:
    """Whether the V of these sums is positive definite, beyond rounding; v: scratch space."""
    symmetric(state, sums, v)
    largest = 0.0
    for i in range(len(v)):
        largest = max(largest, abs(v[i, i]))
    for i in range(len(v)):
        v[i, i] -= ROUNDING * largest
    return not np.isnan(invert(v))


def keep(state: Record, out: Floats) -> None:
    """Set out = [V^-1, θ~], `[d, d + 1]`."""
    for i in range(len(out)):
        for j in range(len(out)):
            out[i, j] = inverse(state)[i, j]
        out[i, len(out)] = theta(state)[i]


def play(
    states: Records,
    rngs: tuple[Generator, Generator, Generator],
    bank: Floats,
    shown: Ints,
    numbers: Floats,
    truth: Floats,
    sums: Floats,
    start: int,
    by_rule: bool,
    observed: Floats,
    played: Ints,
    found: Ints,
    before: Floats,
    noises: Floats,
    work: Floats,
    rows: Floats,
) -> None:
    """Play games from the round `start` on, up to the first error.

    states: those of A, B and C, and the first state of all three. rngs: those of A, B and C. shown: the arms of A and B
    in each round, `[games, 2, rounds]`, as places in the bank, `[sets, d, k]`. truth: the θ of A and B, and the size of
    their rewards, `[2, d + 1]`. numbers: they decide the rewards (see `earn`), `[games, 2, rounds]`. sums: those of A
    and B before the first round, `[2, d, d + 1]`. by_rule: whether the learner claims to play by the rule of
    `games.ellipsoid`.

    Filled in: `observed[games, drawn, d, d + 1]`, the noise in the order of drawing; `played[games, rounds]`, the arms
    of A; `found`: the error, its game and round, the number of rounds in which the release of C could not be forced,
    and the arms. The other arrays are scratch space.
    """
    d, k = bank.shape[1], bank.shape[2]
    bank, observed, sums, noises, work = borrow(bank), borrow(observed), borrow(sums), borrow(noises), borrow(work)
    before, rows, found = borrow(before), borrow(rows), borrow(found)
    moved, wanted, old, new, v, arms = work[0], work[1], work[2], work[3], work[4, :, :d], found[4:]
    for game in range(len(observed)):
        if game > 0:
            copy(states, 3, 0)
            copy(states, 3, 1)
            sums[:] = 0.0
        found[1] = game
        drawn = 0
        for i in range(shown.shape[2]):
            t = start + i
            found[2] = i
            for r in range(d):
                for c in range(d + 1):
                    moved[r, c] = sums[0, r, c] - sums[1, r, c]
            copy(states, 1, 2)
            force(states[2], states[0], moved, len(before[0]))
            hold(states[0], before[0])
            hold(states[2], before[1])
            stale, stale_forced = indefinite(states[0]), indefinite(states[2])
            keep(states[0], old)
            for side in range(3):
                arms[side] = choose(states[side], bank[shown[game, side % 2, i]], rngs[side])
                if arms[side] < 0 or arms[side] >= k:
                    raise WrongArm(arms[side], k, t)
            played[game, i] = arms[0]
            released(states[0], sums[0], wanted)
            settled = indefinite(states[0]) == stale
            if settled:
                if strays(states[0], wanted, v):
                    found[0] = SUMS
                    return
            else:
                keep(states[0], new)
                if differ(work[2:], work[3:], 1, 0.0):
                    found[0] = SUMS
                    return
                if definite(states[0], wanted, v):
                    found[0] = KEPT
                    return
            size = 0.0
            for r in range(d):
                for c in range(d + 1):
                    size += abs(wanted[r, c]) + abs(moved[r, c])
            fresh = drawn_by_choose(states[0], before[0], t, observed[game, drawn:])
            again = drawn_by_choose(states[2], before[1], t, noises)
            if fresh < 0:
                found[0] = NODE
                return
            if COMPARED and (again != fresh or differ(observed[game, drawn:], noises, fresh, size)):
                found[0] = NOISE
                return
            drawn += fresh
            same = settled and indefinite(states[2]) == stale_forced and not strays(states[2], wanted, v)
            if not same:
                found[3] += 1
            elif arms[2] != arms[0]:
                found[0] = ARM
                return
            if by_rule and arms[0] != optimistic(states[0], bank[shown[game, 0, i]]):
                if not same:
                    found[0] = RULE
                    return
                by_rule = False  # another rule, which the release explains
            for side in range(2):
                earn(bank[shown[game, side, i]], arms[side], truth[side], numbers[game, side, i], i, rows[side])
                for r in range(d):
                    for c in range(d + 1):
                        sums[side, r, c] += rows[side, r] * rows[side, c]
            for side in range(3):
                row = rows[min(side, 1)]
                update(states[side], row[:d], row[d], rngs[side])
            fresh = drawn_by_update(states[0], before[0], rows[0], observed[game, drawn:])
            drawn_by_update(states[2], before[1], rows[1], noises)
            if COMPARED and differ(observed[game, drawn:], noises, fresh, size):
                found[0] = NOISE
                return
            drawn += fresh


def earn(arms: Floats, arm: int, truth: Floats, number: float, t: int, row: Floats) -> None:
    """Set row = the arm played and its reward, `[d + 1]`.

    The reward is truth[d] if the arm's mean is above the number, else -truth[d]; in some rounds it is a share of that.
    """
    d, mean = len(arms), 0.0
    for j in range(d):
        row[j] = arms[j, arm]
        mean += truth[j] * row[j]
    row[d] = truth[d] if mean > number else -truth[d]
    if t % 4 == 1:
        row[d] *= number
    elif t % 16 == 2:
        row[d] *= np.round(2.0 * number) / 2.0


def differ(one: Floats, other: Floats, count: int, size: float) -> bool:
    """Whether the first `count` matrices differ by more than the rounding of sums of this size."""
    wrong = 0
    for n in range(count):
        for r in range(one.shape[1]):
            for c in range(one.shape[2]):
                wrong += not abs(one[n, r, c] - other[n, r, c]) <= DIGITS * (size + 100.0 * abs(one[n, r, c]))
    return wrong > 0


# by `optimistic`
READ = {"theta", "inverse", "scores", "rows", "tiles", "rough", "logdet", "log_term", "sigma", "fixed"}


def no_rule(state: Record, arms: Floats) -> int:
    """Replace `optimistic` for a state that lacks the fields it reads."""
    return 0


@cache
def _rule() -> Callable[..., Any]:
    return bind(optimistic)  # compiled on its own: not anew for each loop that calls it


def compiled(
    target: Target[Ellipsoid], knowing: tuple[Callable[..., Any], ...], by_rule: bool, compared: bool
) -> Callable[..., None]:
    """`play`, compiled with the steps of a target and with the functions that know its noise."""
    v = target.loop(symmetric)
    called: tuple[Callable[..., Any], ...] = (strays, definite, keep, *knowing)
    bound = {step.__name__: target.loop(step, symmetric=v) for step in called}
    rule = _rule() if by_rule else no_rule
    return target.loop(play, optimistic=rule, borrow=borrower(), COMPARED=compared, **bound)
