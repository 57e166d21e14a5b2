"""Two bandit games in lockstep: the Laplace numbers of the second are moved until both release the same.

These loops are compiled with the steps of a target. They work on six records: the states of games A and B, and scratch
space. `coupling` explains what follows from their results.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.audit.target import Target, canary, choice, choose, released, settled, trial, update, values
from privbandits_cli.audit.twins import AFTER, OLD_A, OLD_B, SPARE, A, B, carrier, copy
from privbandits_cli.games.bandit import Draws, Floats
from privbandits_cli.games.views import Noisy, View
from privbandits_cli.numerics.jit import Records, unbound

observe: Any = unbound  # these are bound when a loop is compiled
stop: Any = unbound
recommend: Any = unbound
answers: Any = unbound
ranges: Any = unbound
reach: Any = unbound
BOUNDED = True  # bound to False for an algorithm whose gains may be outside [0, 1]
MORE = False  # bound to True for a target that asks for more numbers than a uniform and a Laplace number a round
ENDS = False  # bound to True for a target whose game ends with an answer
NAMES = False  # bound to True for a target with a step `recommend`
KEPT = False  # bound to True for a view of the numbers of all arms
LONE = False  # bound to True if every round has a release of its own gain alone

STRAIGHT = 3  # moves of a number to force a release that is linear in it; all but the first remove rounding
ROUNDING = 1e-9  # rounding error of a released value, in scales of its noise
GRAIN = 1e-12  # relative rounding error of one round; a smaller difference of two states is rounding
BITS = 1e-15  # relative rounding error of a release or a gain: its last bits; a release without new noise keeps them
TERMS = 4e-12  # relative rounding error of a release that is a sum of many terms
CLEAR = 1e4  # a scale of noise is measured if it is this many times the rounding of a release
WIDE = 32.0  # width of the Laplace numbers that are tried for a choice: it may not depend on them
POWERS = 31  # powers of two, from 2^-10 on, that are tried in turn as gains of both signs if gains are not bounded

AGREED, ARM, BARE, SCALE, RANGE, OTHER_ARM, NUMBER, MIXED, EARLIER, ANSWER = range(10)  # what ends a pair of games
GOING, ENDED, DIFFERENT = range(3)  # two games after a round
FOUND = {
    BARE: "what is released depends on the gains, and no noise hides it",
    SCALE: "the scale of the noise depends on the gains",
    RANGE: "the range of a gain depends on the gains before it",
    OTHER_ARM: "a gain changes the value of an arm that was not played",
    MIXED: "another random number changes what the release adds to its gain",
    NUMBER: "the arm depends on the random number that hides its gain",
    EARLIER: "what is released of a gain depends on the gains before it",
    ANSWER: "the answer, or a recommendation, depends on the gains by another way than the releases",
}


def observe_release(states: Records, arm: int, gain: float, rng: Draws) -> float:
    """The release of a gain. `states[AFTER]` becomes the state after the round; `states[SPARE]` is scratch space."""
    copy(states, AFTER, SPARE)
    noisy: float = released(states[SPARE], gain, rng)
    update(states[AFTER], arm, gain, rng)
    return noisy


def observe_value(states: Records, arm: int, gain: float, rng: Draws) -> float:
    """The value of the arm after its gain. `states[AFTER]` becomes the state after the round."""
    update(states[AFTER], arm, gain, rng)
    value: float = values(states[AFTER])[arm]
    return value


def values_settled(states: Records) -> bool:
    """Whether all arms have the same values in both games, up to rounding."""
    ours, theirs = values(states[A]), values(states[B])
    for i in range(len(ours)):
        if not (ours[i] == theirs[i] or abs(ours[i] - theirs[i]) <= 1e-7 * max(1.0, abs(ours[i]))):
            return False
    return True


def answers_of(target: Target[View]) -> Callable[..., int]:
    """`compared`, compiled."""
    return target.call(compared, ENDS="stop" in target.steps, NAMES="recommend" in target.steps)


def compared(states: Records, one: int, other: int) -> int:
    """Whether two games go on, have ended with the same answer, or differ in it or in what they would recommend now."""
    own = stop(states[one]) if ENDS else -1
    theirs = stop(states[other]) if ENDS else -1
    if max(own, -1) != max(theirs, -1):
        return DIFFERENT
    if own >= 0:
        return ENDED
    if NAMES and recommend(states[one]) != recommend(states[other]):
        return DIFFERENT
    return GOING


def range_of_canary(states: Records, game: int) -> tuple[float, float]:
    """The range of the next gain of `states[game]`."""
    low, high = canary(states[game])
    return (min(low, 0.0), max(high, 1.0)) if BOUNDED else (low, high)


def round_off(words: Floats, fields: NDArray[np.int64], most: float) -> None:
    """Give B the numbers of A where they differ by rounding, which a long game could amplify.

    A difference is rounding if it is small compared with the number, or with the largest number of its field. This
    largest number is at most `most`, since a larger one is no sum of releases.

    words: the states as floats, `[6, words]`; fields: where each field of floats begins and ends, `[fields, 2]`; most:
    an upper limit on the sum of all that was released so far.
    """
    for k in range(len(fields)):
        ours, theirs = words[0, fields[k, 0] : fields[k, 1]], words[1, fields[k, 0] : fields[k, 1]]
        largest = 0.0
        for i in range(len(ours)):
            if abs(ours[i]) <= most:
                largest = max(largest, abs(ours[i]))
        for i in range(len(ours)):
            if ours[i] != theirs[i] and abs(ours[i] - theirs[i]) <= GRAIN * max(largest, abs(ours[i])):
                theirs[i] = ours[i]


def choose_on_copy(states: Records, game: int, uniform: float, laplace: float) -> int:
    """The arm that `states[game]` chooses; `states[AFTER]` is the state after that choice."""
    copy(states, game, AFTER)
    arm: int = choose(states[AFTER], Draws(uniform, laplace))
    return arm


def observe_on_copy(states: Records, game: int, arm: int, gain: float, uniform: float, laplace: float) -> float:
    """What is released if `states[game]` draws these numbers, plays this arm and sees this gain.

    `states[AFTER]` is the state after that round; `choose` may have kept a number in it.
    """
    copy(states, game, AFTER)
    rng = Draws(uniform, laplace)
    choose(states[AFTER], rng)
    value: float = observe(states, arm, gain, rng)
    return value


def forced(
    states: Records, source: int, arm: int, gain: float, u: float, z: float, wanted: float, gap: float, slope: float
) -> tuple[float, float]:
    """The move of the Laplace number z at which a game releases what is wanted, and the gap that rounding leaves.

    states[source]: the game before the round; gap: what it releases without a move, minus what is wanted; slope: how a
    release grows with the number. If it is not linear in it, a wide gap may be left.
    """
    move = 0.0
    for _ in range(STRAIGHT):
        if slope == 0.0 or abs(gap) <= BITS * abs(wanted):
            break
        move -= gap / slope
        gap = trial(states, source, arm, gain, u, z + move) - wanted
    return move, gap


class Deal(NamedTuple):
    """What two games are dealt.

    first, second: the gains of A and B, `[rounds, columns]`, where 0 and 1 are the ends of the canary's range; columns:
    which column each arm earns, `[arms]`. uniform: the number of each round, and others with which the choices of both
    games are compared, too, `[rounds, ...]`; early: many more of these for the first rounds, `[first rounds, ...]`.
    laplace: the numbers that are moved, `[rounds]`.
    """

    first: Floats
    second: Floats
    columns: NDArray[np.int64]
    uniform: Floats
    early: Floats
    laplace: Floats


class Trace(NamedTuple):
    """What two games leave in each round, `[rounds]`.

    moves: how far the Laplace number of B was moved; costs: how far it would move to hide the whole range of a gain in
    its own release; arms: those that were played; releases: what A released; slopes: by how much this release grows per
    unit of the Laplace number, 0 if this is not known.
    """

    moves: Floats
    costs: Floats
    arms: NDArray[np.int64]
    releases: Floats
    slopes: Floats


def couple(
    states: Records,
    words: Floats,
    fields: NDArray[np.int64],
    deal: Deal,
    start: int,
    rest: int,
    least: float,
    rounding: bool,
    trace: Trace,
) -> tuple[int, int, float, float]:
    """Play the games A and B; the others, of six, are scratch space.

    words, fields: see `round_off`. start: rounds played before; rest: rounds of a block before its last one; least: a
    smaller move is rounding; rounding: whether to `round_off` after each round. Filled in: `trace`.

    Returned: what ended the games, the number of rounds before that, the uniform number of that choice, and the sum of
    the moves that rounding could hide, infinite if it could hide the noise of a release.
    """
    first, second, columns, uniform, early, laplace = deal
    moves, costs, arms, releases, slopes = trace
    most, hidden = 0.0, 0.0
    for t in range(len(laplace)):
        low, high = ranges(states, A)
        lower, upper = ranges(states, B)
        if abs(low - lower) + abs(high - upper) > ROUNDING * (high - low):
            return RANGE, t, 0.0, hidden
        copy(states, A, OLD_A)
        copy(states, B, OLD_B)
        z = laplace[t]
        for j in range(early.shape[1] if t < len(early) else 0):
            if choice(states, OLD_A, early[t, j], z) != choice(states, OLD_B, early[t, j], z):
                return ARM, t, early[t, j], hidden
        for j in range(uniform.shape[1] - 1, -1, -1):
            u, arm = uniform[t, j], choice(states, OLD_A, uniform[t, j], z)
            if choice(states, OLD_B, u, z) != arm:
                return ARM, t, u, hidden
        gain = low + (high - low) * first[t, columns[arm]]
        other = low + (high - low) * second[t, columns[arm]]
        arms[t], moves[t], costs[t], slopes[t] = arm, 0.0, 0.0, 0.0
        own = trial(states, OLD_A, arm, gain, u, z + 1.0)
        further = trial(states, OLD_A, arm, gain, uniform[t, uniform.shape[1] - 1], z) if MORE else 0.0
        wanted = trial(states, OLD_A, arm, gain, u, z)
        releases[t] = wanted
        if MORE and uniform.shape[1] > 1 and own != wanted and further != wanted:
            return MIXED, t, 0.0, hidden
        own -= wanted
        copy(states, AFTER, A)
        slope = trial(states, OLD_B, arm, other, u, z + 1.0)
        moved = reach(states, arm, low, high, gain, other, start + t, u, z)
        again = trial(states, OLD_B, arm, gain, u, z) if LONE else wanted
        before = trial(states, OLD_B, arm, other, u, z)
        copy(states, AFTER, B)
        slope -= before
        most = max(most, abs(low) + abs(high) + abs(wanted) + abs(before))
        if (start + t + 1) % (rest + 1) == 0:
            blurred = TERMS * (abs(wanted) + abs(before)) + BITS * (abs(low) + abs(high) if slope != 0.0 else most)
            slack = ROUNDING * max(abs(own), abs(slope)) + blurred
            if abs(again - wanted) > slack:
                return EARLIER, t, 0.0, hidden
            move, gap = forced(states, OLD_B, arm, other, u, z, wanted, before - wanted, slope)
            if not abs(gap) <= slack:
                return BARE, t, 0.0, hidden
            copy(states, AFTER, B)
            wide = WIDE * (uniform[t, -1] - 0.5)
            if own != 0.0 and (choice(states, OLD_A, u, wide) != arm or choice(states, OLD_B, u, z + move) != arm):
                return NUMBER, t, 0.0, hidden
            blur, error = 4e-15 * (abs(wanted) + abs(before)), least  # blur: rounding of a difference of releases
            if min(abs(own), abs(slope)) <= CLEAR * blur:
                hidden += np.inf if moved != 0.0 else 0.0
            elif abs(slope - own) > 1e-6 * abs(slope) + blur:
                return SCALE, t, 0.0, hidden
            else:
                costs[t], error = max(0.0, moved - blur) / (abs(slope) + blur), slack / abs(slope)
                slopes[t] = own
                hidden += blurred / abs(slope)
            moves[t] = max(0.0, abs(move) - error) if abs(move) > least else 0.0
        if rounding:
            round_off(words, fields, most * (start + t + 1))
        if KEPT and not settled(states):
            return OTHER_ARM, t, 0.0, hidden
        now = answers(states, A, B)
        if now == DIFFERENT:
            return ANSWER, t, 0.0, hidden
        if now == ENDED:
            break
    return AGREED, len(laplace), 0.0, hidden


def follow(states: Records, deal: Deal, start: int, rest: int, trace: Trace, moves: Floats) -> int:
    """Play B on from round `start`. In this round B has another gain than A; later it has the same gains.

    trace: that of A, from `couple`. Filled in: `moves`. Returned: the first round in which B cannot follow A by a
    linear move, or the number of rounds. If there is such a round, `couple` must play both games to find out why.
    """
    first, _, columns, uniform, _, laplace = deal
    _, _, arms, releases, slopes = trace
    for t in range(start, len(laplace)):
        low, high = ranges(states, B)
        u, z, arm, moves[t] = uniform[t, 0], laplace[t], arms[t], 0.0
        share = first[t, columns[arm]]
        gain = low + (high - low) * (share if t > start else 1.0 - share)
        if choice(states, B, u, z) != arm:
            return t
        gap = trial(states, B, arm, gain, u, z) - releases[t]
        if (t + 1) % (rest + 1) == 0 and gap != 0.0:
            size = abs(slopes[t])
            slack = ROUNDING * size + TERMS * (2.0 * abs(releases[t]) + abs(gap)) + BITS * (abs(low) + abs(high))
            move, gap = forced(states, B, arm, gain, u, z, releases[t], gap, slopes[t])
            if not abs(gap) <= slack:
                return t
            moves[t] = max(0.0, abs(move) - slack / size) if move != 0.0 else 0.0
        copy(states, AFTER, B)
        if answers(states, B, B) == ENDED:
            break
    return len(laplace)


def extent(
    states: Records, arm: int, low: float, high: float, gain: float, other: float, t: int, u: float, z: float
) -> float:
    """By how much a release of game B can differ between two gains: in the canary's range, at its ends, or outside."""
    power = 2.0 ** (t % POWERS - 10.0)
    least, most, width = np.inf, -np.inf, high - low
    some = (low, low + 0.25 * width, low + 0.5 * width, low + 0.75 * width, high, gain, other)
    for g in some if BOUNDED else (*some, low - 999.0 * width, high + 999.0 * width, -power, power):
        value = trial(states, OLD_B, arm, g, u, z)
        least, most = min(least, value), max(most, value)
    return most - least


def advance(states: Records, deal: Deal, start: int, end: int, arms: Any) -> None:
    """Play the game A in these rounds, as `couple` plays A, and fill in the arms, `[rounds]`."""
    for t in range(start, end):
        low, high = ranges(states, A)
        u, z = deal.uniform[t, 0], deal.laplace[t]
        arm = choice(states, A, u, z)
        trial(states, A, arm, low + (high - low) * deal.first[t, deal.columns[arm]], u, z)
        copy(states, AFTER, A)
        arms[t] = arm


def float_fields(layout: Any, start: int = 0) -> Iterator[tuple[int, int]]:
    """Where each field of floats begins and ends in a record of this dtype, in numbers of eight bytes."""
    for part, offset in ((own[0], own[1]) for own in layout.fields.values()):
        if part.names is not None:
            yield from float_fields(part, start + offset)
        elif part.base == np.float64:
            yield (start + offset) // 8, (start + offset + part.itemsize) // 8


class Loops(NamedTuple):
    """The compiled loops of a target, and the two calls of its steps on copies."""

    couple: Callable[..., tuple[int, int, float, float]]
    follow: Callable[..., int]
    advance: Callable[..., None]
    choice: Callable[..., int]
    trial: Callable[..., float]

    def arm(self, state: Records, uniform: float, laplace: float) -> int:
        """The arm that a state chooses with these numbers."""
        return self.choice(np.repeat(state, 6), 0, uniform, laplace)

    def carriers(self, own: Records, other: Records, uniform: float, laplace: float) -> str:
        """The fields each of which makes game B, in the state `other`, choose another arm than A with these numbers."""
        right = self.arm(own, uniform, laplace)
        return carrier(own, other, lambda state: self.arm(state, uniform, laplace) != right)


def ranges_of(target: Target[View]) -> Any:
    """The compiled range of the next gain."""
    return target.call(range_of_canary, BOUNDED=target.algorithm.bounded)


def compiled(target: Target[View]) -> Loops:
    """The loops with the steps of a target."""
    kept, bounded = isinstance(target.view, Noisy), target.algorithm.bounded
    watch = target.loop(observe_value if kept else observe_release)
    calls = {
        "ranges": ranges_of(target),
        "choice": target.call(choose_on_copy),
        "trial": target.call(observe_on_copy, observe=watch),
    }
    calls |= {"forced": target.call(forced, **calls), "reach": target.call(extent, BOUNDED=bounded, **calls)}
    calls |= {"answers": answers_of(target), "settled": target.call(values_settled)}
    lone = getattr(target.view, "rounds", 0) == 1
    played = target.loop(couple, **calls, MORE=target.more, LONE=lone, KEPT=kept)
    return Loops(played, target.loop(follow, **calls), target.loop(advance, **calls), calls["choice"], calls["trial"])
