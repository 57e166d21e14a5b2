"""Compiled loops that play coupled games of a contextual learner; `contexts` explains what follows from their results.

They work on an array of states: that of the game A, its copy from before the round (BEFORE), scratch space (SPARE),
then those of the twins, and those of the layers. A release is a list of C numbers: row by row the lower triangle of V,
each row before its number of u~; or u~ alone.
"""

from typing import Any, NamedTuple

import numpy as np

from privbandits_cli.audit.tape import FINE, GAMMA, KNOWN, LAPLACE, PLACE, RARE, WRONG, Tape, rewind
from privbandits_cli.audit.twins import copy, lent
from privbandits_cli.games.contextual import choose, update
from privbandits_cli.games.guards import WrongArm
from privbandits_cli.mechanisms.matrix_tree import redraw
from privbandits_cli.numerics.jit import Record, Records, unbound
from privbandits_cli.numerics.types import Floats, Ints

values: Any = unbound  # these are bound when a loop is compiled
flat: Any = unbound
turn: Any = unbound

DIGITS = 1e-12  # relative error of releases that counts as rounding
WISHART_DIGITS = 1e-9  # the same with Wishart noise, which is computed from its factor
CLEAR = 1e3  # an effect of a number is measured if it is this many times the rounding of a release
STEP = 1 / 16  # by which the numbers of a layer are moved
SAME = 1e-6  # relative difference of the effects of a number in two games that counts as rounding
SEEN = 1e-10  # if a smaller share of the variance of a release's noise than this is new, it is rounding
TRIES, NUDGE = 8, 1e3  # how often noise is varied to find a near tie, and by how many times the rounding
places: Any = np.arange(4)  # as NumPy's numbers: numba compiles a function anew for each `int` that it is called with
A, BEFORE, SPARE, TWINS = places  # the places of the states: the twins begin at TWINS, and the layers follow them
AGREED, ARM, DRAWS, BARE, SCALE, CURVED, SEVERAL, OWN, WILD, LONG, LAW, HIDDEN, FREE, GAMMAS = range(14)
END, ROUND, TWIN, MANY, TIES, UNFORCED, FULL, FOUND = range(8)
# `found`: what ended the games (AGREED, ...), its round and its twin; whether a number of a release has several fresh
# ones; the rounds with near ties, and those in which a twin could not be forced; whether there was no place for layers


class Now(NamedTuple):
    """A round: its number, the record before it, its arms, its numbers, what A releases, and the rounding of that."""

    t: int
    row: Floats
    arms: Floats
    tape: Tape
    right: Floats
    slack: float


class Effects(NamedTuple):
    """Which number of a release each number of a round enters, -1 if none, and with which factor, `[MOST]`.

    kind: the kind of the numbers that are noise, normal or Laplace; known: how many numbers were measured, `[1]`;
    enters: as `where`, for this round, and -1 for numbers of other kinds; ranks: see `grow`; jitter: probes; sizes: the
    sum of the squared factors of the new noise in each number of each release, 0 if it has none, `[rounds, C]`.
    """

    kind: int
    where: Ints
    factor: Floats
    known: Ints
    enters: Ints
    ranks: Ints
    jitter: Floats
    sizes: Floats


class Layers(NamedTuple):
    """The numbers that still act on a release, in layers: at most one number for each number of the release.

    alive: whether a place has a layer, `[places]`; now: with which factors they act on this release, `[places, C]`;
    spread: their covariance given all releases, `[C, places, places]`; shift: by how much their mean moves if a twin's
    record replaces that of A, `[C, places, twins]`. No places: no layers. places: scratch space, `[places]`; gaps: by
    how much the twins' releases differ from that of A, `[twins, C]`.
    """

    alive: Ints
    places: Ints
    now: Floats
    spread: Floats
    shift: Floats
    gaps: Floats


class Deal(NamedTuple):
    """What happens in the games.

    bank: sets of arms for A and for the twins, `[2, sets, d, k]`; shown: the set of each round, `[2, rounds]`; public:
    whether twins have the arms of A; fixed: whether all rounds have the same arms; numbers: they decide rewards
    (`earn`), `[2, rounds]`; truth: θ, the best and the worst reward, of A and of the first twin, `[2, d + 2]`; starts:
    the round in which the record of a twin differs from that of A, `[twins]`, -1 for the first twin, whose records all
    differ; canary: the twin that starts in a round, or 0, `[rounds]`; records: those of A and of a twin in the round in
    which the twin starts, `[twins, 2, d + 1]`; if all rounds have the same arms, the arm of both is the one that A
    plays.
    """

    bank: Floats
    shown: Ints
    public: bool
    fixed: bool
    numbers: Floats
    truth: Floats
    starts: Ints
    canary: Ints
    records: Floats


def flat_matrix(state: Record, out: Floats) -> None:
    """out = the release, from `[d, d + 1]`."""
    noisy, place = values(state), 0
    for i in range(noisy.shape[0]):
        for j in range(i + 1):
            out[place + j] = noisy[i, j]
        out[place + i + 1] = noisy[i, noisy.shape[0]]
        place += i + 2


def flat_vector(state: Record, out: Floats) -> None:
    """out = the release, from `[d]`."""
    noisy = values(state)
    for i in range(len(out)):
        out[i] = noisy[i]


def one_turn(states: Records, i: int, now: Now, out: Floats) -> int:
    """End the round before, if there was one, and choose an arm; out = what is then released."""
    if now.t > 0:
        update(states[i], now.row[:-1], now.row[-1], now.tape)
    arm: int = choose(states[i], now.arms, now.tape)
    flat(states[i], out)
    return arm


def again(states: Records, source: int, now: Now, out: Floats) -> int:
    """`one_turn` of a copy of a state, with the numbers that are known and the moves of the tape.

    If it draws more numbers than are known, because its releases are others, the tape forgets them.
    """
    known = now.tape.own.at[KNOWN]
    copy(states, source, SPARE)
    rewind(now.tape, known)
    arm: int = turn(states, SPARE, now, out)
    now.tape.own.at[KNOWN] = known
    return arm


def still(tape: Tape) -> None:
    """Set all moves to 0."""
    for j in range(tape.own.at[KNOWN]):
        tape.own.moves[j] = 0.0


def apart(one: Floats, other: Floats, slack: float) -> int:
    """In how many numbers two releases differ by more than this; those that are not finite differ."""
    wrong = 0
    for c in range(len(one)):
        wrong += not abs(one[c] - other[c]) <= slack
    return wrong


def measure(states: Records, now: Now, effects: Effects, found: Floats) -> bool:
    """Move each number of A's round that is noise alone by 1; returns whether each enters one number of the release."""
    tape, single = now.tape, True
    still(tape)
    for j in range(tape.own.at[KNOWN]):
        effects.where[j] = -1
        if tape.dealt.kinds[j] == effects.kind:
            tape.own.moves[j] = 1.0
            again(states, BEFORE, now, found)
            tape.own.moves[j] = 0.0
            for c in range(len(found)):
                if abs(found[c] - now.right[c]) > CLEAR * now.slack:
                    single &= effects.where[j] == -1
                    effects.where[j], effects.factor[j] = c, found[c] - now.right[c]
    effects.known[0] = tape.own.at[KNOWN]
    return single


def gauge(states: Records, now: Now, effects: Effects) -> int:
    """Move all numbers of A's round to check their known effects; if they fail, measure anew. Return the fault."""
    tape, found, wanted = now.tape, np.zeros(len(now.right)), np.zeros(len(now.right))
    for attempt in range(2):
        if attempt == 1 and not measure(states, now, effects, found):
            return SEVERAL
        if effects.known[0] < tape.own.at[KNOWN]:
            continue
        for c in range(len(wanted)):
            wanted[c] = now.right[c]
        for j in range(tape.own.at[KNOWN]):
            noise = tape.dealt.kinds[j] == effects.kind
            effects.enters[j] = effects.where[j] if noise else -1
            tape.own.moves[j] = effects.jitter[(j + 7 * now.t) % len(effects.jitter)] if noise else 0.0
            if effects.enters[j] >= 0:
                wanted[effects.enters[j]] += effects.factor[j] * tape.own.moves[j]
        again(states, BEFORE, now, found)
        if apart(found, wanted, CLEAR * now.slack) == 0:
            return AGREED
    return CURVED


def follow(states: Records, i: int, now: Now, effects: Effects, moved: Floats) -> int:
    """Move the numbers of a twin until it releases what A does; return its arm, or minus the fault.

    moved: the squares of the moves, or the sizes of those of Laplace numbers, are added to it, `[C]`. SPARE becomes the
    twin's next state.
    """
    tape, size = now.tape, len(now.right)
    count, found, power, largest, longest = tape.own.at[KNOWN], np.zeros(size), np.zeros(size), 0.0, 0.0
    still(tape)
    for j in range(count):
        if effects.enters[j] >= 0:
            power[effects.enters[j]] += effects.factor[j] ** 2
    for attempt in range(4):
        arm = again(states, i, now, found)
        drawn = tape.own.at[WRONG] == FINE and tape.own.at[PLACE] == count
        same = apart(found, now.right, now.slack) == 0
        if not drawn and (same or attempt > 0):  # before its move, a twin may draw others for its other release
            return -DRAWS
        if attempt > 0 and apart(found, now.right, SAME * largest + now.slack * (1.0 + longest)) > 0:
            return -SCALE
        if same:
            for j in range(count):
                if effects.enters[j] >= 0:
                    move = abs(tape.own.moves[j])
                    moved[effects.enters[j]] += move if effects.kind == LAPLACE else move**2
            return arm
        for c in range(size):
            gap = abs(now.right[c] - found[c])
            if power[c] == 0.0 and not gap <= now.slack:
                return -BARE
            if attempt == 0 and power[c] > 0.0:
                largest, longest = max(largest, gap), max(longest, gap / np.sqrt(power[c]))
        for j in range(count):
            c = effects.enters[j]
            if c >= 0:
                tape.own.moves[j] += (now.right[c] - found[c]) * effects.factor[j] / power[c]
    return -SCALE


def tied(states: Records, now: Now, arm: int, effects: Effects, found: Floats) -> bool:
    """Whether noise that differs by little more than rounding leads A to another arm."""
    for attempt in range(TRIES):
        for j in range(now.tape.own.at[KNOWN]):
            size = NUDGE * now.slack / abs(effects.factor[j]) if effects.enters[j] >= 0 else 0.0
            now.tape.own.moves[j] = size * effects.jitter[(j + 11 * attempt + now.t) % len(effects.jitter)]
        if again(states, BEFORE, now, found) != arm:
            return True
    return False


def settled(words: Ints, one: int, other: int) -> bool:
    """Whether two states are the same."""
    different = 0
    for i in range(words.shape[1]):
        different += words[one, i] != words[other, i]
    return different == 0


def grow(states: Records, words: Ints, first: int, now: Now, ranks: Ints, layers: Layers) -> bool:
    """Play on the games of the layers, and add layers for the new numbers, one for each rank.

    first: the place of the first of these games among the states. ranks: which of the new numbers that enter the same
    number of the release it is, `[MOST]`. Returns whether there was room.
    """
    tape, found, newest = now.tape, np.zeros(len(now.right)), -1
    for j in range(tape.own.at[KNOWN]):
        newest = max(newest, ranks[j])
    for rank in range(-1, newest + 1):  # the layers so far, and then the new ones
        for j in range(tape.own.at[KNOWN]):
            tape.own.moves[j] = STEP if 0 <= rank == ranks[j] else 0.0
        room = rank < 0
        for place in range(len(layers.alive)):
            if (layers.alive[place] == 0) != (rank >= 0) or (rank >= 0 and room):
                continue
            room = True
            if rank >= 0:
                copy(states, BEFORE, first + place)
                for c in range(len(found)):
                    for one in range(len(layers.alive)):
                        layers.spread[c, place, one] = layers.spread[c, one, place] = one == place
                    for twin in range(layers.shift.shape[2]):
                        layers.shift[c, place, twin] = 0.0
            rewind(tape, tape.own.at[KNOWN])
            turn(states, first + place, now, found)
            for c in range(len(found)):
                layers.now[place, c] = (found[c] - now.right[c]) / STEP
            gone = rank < 0 and apart(found, now.right, now.slack) == 0 and settled(words, first + place, A)
            layers.alive[place] = 0 if gone else 1
        if not room:
            return False
    return True


def observe(layers: Layers, moved: Floats, slack: float) -> bool:
    """Add the information of a release, by Kalman's filter; returns whether noise hides all records.

    moved: the information of all releases so far about each twin's record, by number of the release, `[twins, C]`.
    """
    alive, places, now, spread, shift, gaps = layers
    along, count, hidden = np.zeros(len(alive)), 0, 0
    for place in range(len(alive)):
        if alive[place]:
            places[count] = place
            count += 1
    for c in range(now.shape[1]):
        new, all_of_it = 0.0, 0.0
        for a in range(count):
            along[a] = 0.0
            for b in range(count):
                along[a] += spread[c, places[a], places[b]] * now[places[b], c]
            new += now[places[a], c] * along[a]
            all_of_it += now[places[a], c] ** 2
        fresh = new > SEEN * all_of_it
        for twin in range(1, len(gaps)):
            surprise = gaps[twin, c]
            for a in range(count):
                surprise -= now[places[a], c] * shift[c, places[a], twin]
            hidden += not fresh and abs(surprise) > CLEAR * slack
            if fresh:
                moved[twin, c] += surprise**2 / new
                for a in range(count):
                    shift[c, places[a], twin] += along[a] * surprise / new
        for a in range(count if fresh else 0):
            for b in range(count):
                spread[c, places[a], places[b]] -= along[a] * along[b] / new
    return hidden == 0


class Played(NamedTuple):
    """The arguments and the results of `play`.

    words: the states as whole numbers, `[states, words]`; tape: that of A; other: the tape of the twins, with the same
    numbers; counter: it makes Wishart noise; moved: the squares of the moves that hide the record of each twin, or with
    layers the information about it, `[twins, C]`; found: see END; rows: the last records of A and of the first twin,
    zeros at first, `[2, d + 1]`; alike: scratch space for arms that are all the same, `[2, d, k]`; every: one round in
    so many has rare numbers.
    """

    states: Records
    words: Ints
    tape: Tape
    other: Tape
    deal: Deal
    effects: Effects
    layers: Layers
    counter: Records
    moved: Floats
    found: Ints
    rows: Floats
    alike: Floats
    every: int


def play(games: Played) -> None:
    """Play A and its twins up to the first fault. Filled in: `moved`, `effects.sizes`, and `found`."""
    states, words, tape, other, deal, effects, layers, counter, moved, found, rows, alike, every = lent(games)
    bank, shown, public, fixed, numbers, truth, starts, canary, records = deal
    n, d, k, size, layered = len(starts), bank.shape[2], bank.shape[3], moved.shape[1], len(layers.alive) > 0
    gaps, ranks = layers.gaps, effects.ranks
    right, seen, sums, times = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)
    largest, wishart = 0.0, False
    for t in range(shown.shape[1]):
        found[ROUND], found[TWIN], started = t, 0, canary[t]
        copy(states, A, BEFORE)
        for side in range(2):
            for i in range(d):
                for a in range(k):
                    alike[side, i, a] = records[started, side, i]
        arms = alike[0] if started > 0 and not fixed else bank[0, shown[0, t]]
        rewind(tape, 0)
        tape.own.at[RARE] = (t + 1) % every == 0
        arm = turn(states, A, Now(t, rows[0], arms, tape, right, 0.0), right)
        count = tape.own.at[PLACE]
        rewind(other, count)
        if arm < 0 or arm >= k:
            raise WrongArm(arm, k, t + 0)
        if tape.own.at[WRONG] != FINE or apart(right, right, 0.0) > 0:
            found[END] = LONG if tape.own.at[WRONG] != FINE else WILD
            return
        for c in range(size):
            largest, times[c] = max(largest, abs(right[c])), 0.0
        for j in range(count if t == 0 else 0):
            wishart |= tape.dealt.kinds[j] == GAMMA
        now = Now(t, rows[0], arms, other, right, (WISHART_DIGITS if wishart else DIGITS) * largest)
        found[END] = conforms(now, sums, counter) if wishart else gauge(states, now, effects)
        if found[END] != AGREED:
            return
        for j in range(count):
            ranks[j] = -1
            if not wishart and effects.enters[j] >= 0:
                ranks[j] = times[effects.enters[j]]
                times[effects.enters[j]] += 1.0
                found[MANY] |= ranks[j] > 0
                effects.sizes[t, effects.enters[j]] += effects.factor[j] ** 2
        own, mine = arms if public else bank[1, shown[1, t]], arm
        for i in range(1 if wishart else n):
            if t <= starts[i]:
                continue
            found[TWIN], row = i, rows[1] if i == 0 else records[i, 1] if t == starts[i] + 1 else rows[0]
            twin = Now(t, row, arms, other, right, now.slack)
            if wishart:
                played = follow_wishart(states, twin, counter)
            elif i == 0 or not layered:
                played = follow(states, TWINS + i, twin, effects, moved[i])
            else:
                still(other)
                again(states, TWINS + i, twin, seen)
                played = arm
                for c in range(size):
                    gaps[i, c] = seen[c] - right[c]
            found[UNFORCED] += played == -FREE
            if played < 0 and played != -FREE:
                found[END] = -played
                return
            if played >= 0 and played != arm and started == 0:  # equal arms may be told apart by rounding
                if wishart or not tied(states, now, arm, effects, seen):
                    found[END] = ARM
                    return
                found[TIES] += 1
            if i > 0:
                copy(states, SPARE, TWINS + i)
                continue
            rewind(other, count)
            mine = turn(states, TWINS, Now(t, row, own, other, right, 0.0), seen)
            if played >= 0 and apart(seen, right, 2.0 * now.slack) > 0:
                found[END] = OWN
                return
            rewind(other, count)
        if layered:
            found[FULL] = not grow(states, words, TWINS + n, now, ranks, layers)
            if found[FULL] == 0 and not observe(layers, moved, now.slack):
                found[END] = HIDDEN
            if found[FULL] or found[END] != AGREED:
                return
        if started > 0 and not wishart:
            still(other)
            again(states, BEFORE, Now(t, rows[0], arms if public else alike[1], other, right, 0.0), seen)
            copy(states, SPARE, TWINS + started)
            if apart(seen, right, now.slack) > 0:
                found[END] = OWN
                return
        earn(own, mine, truth[1], numbers[1, t], t, rows[1])
        earn(arms, arm, truth[0], numbers[0, t], t, rows[0])
        for i in range(d if fixed and started > 0 else 0):
            records[started, 0, i] = records[started, 1, i] = rows[0, i]
        for i in range(d + 1 if started > 0 else 0):
            rows[0, i] = records[started, 0, i]


def earn(arms: Floats, arm: int, truth: Floats, number: float, t: int, row: Floats) -> None:
    """Set row = the arm played and its reward, `[d + 1]`.

    The reward is truth[d] if the arm's mean is above the number, else truth[d + 1], the least reward of the game. The
    number -1 makes the reward good, and the number 1 makes it bad. With other numbers, the reward is between these two
    in some rounds.
    """
    d, mean, share = len(arms), 0.0, 1.0
    for j in range(d):
        row[j] = arms[j, arm]
        mean += truth[j] * row[j]
    if t % 4 == 1 and abs(number) < 1.0:
        share = number
    elif t % 16 == 2 and abs(number) < 1.0:
        share = np.floor(2.0 * number + 0.5) / 2.0
    half = 0.5 * (truth[d] - truth[d + 1])
    row[d] = truth[d] - half + (half if mean > number else -half) * share


# ------------------------------------------------------------------------------------------------ Wishart noise


def unprepared(*_: Any) -> int:
    """Take the place of both functions below in the loops for learners without gamma numbers, which need neither."""
    return GAMMAS


def conforms(now: Now, sums: Floats, counter: Records) -> int:
    """Whether the release is the true sums, which are kept in `sums`, with the noise of `mechanisms.matrix_tree`.

    A counter of the right scale makes this noise from the same numbers. Its number of rows is read from the gamma
    numbers of the first node.
    """
    d, tape = len(now.row) - 1, now.tape
    for j in range(tape.own.at[KNOWN] - 1 if now.t == 0 else -1, -1, -1):
        if tape.dealt.kinds[j] == GAMMA:
            counter[0].k = 2.0 * tape.dealt.shapes[j]
    still(tape)
    counter[0].items = now.t
    redraw(counter[0], tape)  # type: ignore[arg-type]
    noise, wrong, place = counter[0].noise[0], 0, 0
    for i in range(d):
        for c in range(i + 2):
            j = c if c <= i else d
            sums[place + c] += now.row[i] * now.row[j]
            wrong += not abs(sums[place + c] + noise[i, j] - now.right[place + c]) <= now.slack
        place += i + 2
    return AGREED if wrong == 0 and tape.own.at[WRONG] == FINE else LAW


def follow_wishart(states: Records, now: Now, counter: Records) -> int:
    """Make the first twin release what A does, by another lowest node; return its arm, or minus the fault.

    The node is the last one drawn. A number on the diagonal of Bartlett's factor is the root of twice a gamma number.
    The corner of the matrix, which belongs to y², is in no release.
    """
    tape, d = now.tape, len(now.row) - 1
    found, node, leaf = np.zeros(len(now.right)), np.zeros((d + 1, d)), np.zeros((d, d + 1))
    count, scale, noise, start = tape.own.at[KNOWN], counter[0].scale, counter[0].noise, 0
    for j in range(count):
        start = j - d * (d + 1) // 2 + 1 if tape.dealt.kinds[j] == GAMMA else start
    still(tape)
    for _ in range(2):
        arm = again(states, TWINS, now, found)
        if tape.own.at[WRONG] != FINE or tape.own.at[PLACE] != count:
            return -DRAWS
        if apart(found, now.right, now.slack) == 0:
            return arm
        place, positive = 0, True
        for i in range(d):
            for c in range(i + 2):
                j = c if c <= i else d
                leaf[i, j] = (noise[0, i, j] - noise[1, i, j] + now.right[place + c] - found[place + c]) / scale
            place += i + 2
        place = start
        for i in range(d + 1):  # Cholesky's factor; its last row belongs to the last column
            for j in range(min(i + 1, d)):
                total = leaf[i, j] if i < d else leaf[j, d]
                for c in range(j):
                    total -= node[i, c] * node[j, c]
                positive &= i != j or total > 0.0
                node[i, j] = np.sqrt(abs(total)) if i == j else total / node[j, j]
                tape.own.moves[place] = (0.5 * abs(total) if i == j else node[i, j]) - tape.dealt.numbers[place]
                place += 1
        if not positive:
            still(tape)
            again(states, TWINS, now, found)
            return -FREE
    return -SCALE
