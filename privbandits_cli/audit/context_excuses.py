"""Excuses: why a contextual game that seems to violate a claim decides nothing, and what to write so that it does.

The audit moves numbers of one kind that are drawn in the round of a release. An honest learner may hide its records by
other noise. In the round at fault, that noise must be there, in each number of the release that no moved number enters.
"""

from typing import Any, NamedTuple

import numpy as np

from privbandits_cli.audit import context_loops as loops
from privbandits_cli.audit.context_loops import Now
from privbandits_cli.audit.tape import KNOWN, LAPLACE, NAMES, NORMAL, UNIFORM, new_tape, rewind
from privbandits_cli.numerics.jit import Records
from privbandits_cli.numerics.types import Floats, Ints

Games = Any  # `contexts.Games`, and `contexts.Played`: that module imports this one
Played = Any

OTHER = "the noise of what is released is made of `rng.{}`: make it of `rng.{}`{}"
PURE = {NORMAL: "", LAPLACE: ", or claim a δ > 0 for normal noise"}
KEPT = (
    "the noise of a release is an `rng.{}` of an earlier round: draw it in the round in which the release changes, in "
    "`choose` or in the `update` before it"
)
ROUNDS = 64  # before the fault, in which earlier noise is searched
LATER = 16  # rounds from the fault on, whose releases need it
RELEASES = 4  # without noise of their own, each of which has a number of its own from before
TRIES = 4  # other numbers of a round


class Round(NamedTuple):
    """A round of game A that can be played again: the state and the record before it, its numbers, and the release."""

    state: Records
    row: Floats
    numbers: Floats
    kinds: Ints
    release: Floats


def of(games: Games, played: Played) -> str:
    """What to write, if these games do not refute the algorithm after all; "" if they do."""
    end, t = int(played.found[loops.END]), int(played.found[loops.ROUND])
    if end not in (loops.BARE, loops.HIDDEN) or played.counter["k"]:
        return ""
    bare = bare_numbers(games, played)
    other = other_kind(games, played, bare)
    if other >= 0:
        return OTHER.format(NAMES[other], NAMES[games.kind], PURE[games.kind])
    return KEPT.format(NAMES[games.kind]) if is_kept(games, played, bare, t) else ""


def bare_numbers(games: Games, played: Played) -> list[int]:
    """The numbers of the release that no moved number enters, in which the twin at fault differs from A."""
    states, tape, right, seen = played.states, played.other, np.zeros(games.size), np.zeros(games.size)
    now, twin = now_of(played, right), loops.TWINS + int(played.found[loops.TWIN])
    loops.still(tape)
    games.bench.again(states, loops.BEFORE, now, right)
    games.bench.again(states, twin, now._replace(row=played.row()), seen)
    noisy = {int(c) for c in played.effects.enters[: tape.at[KNOWN]] if c >= 0}
    return [c for c in range(games.size) if c not in noisy and not abs(right[c] - seen[c]) <= near(right)]


def near(right: Floats) -> float:
    """How far numbers of such a release may differ by rounding."""
    return loops.CLEAR * loops.DIGITS * (1.0 + float(np.abs(right).max()))


def now_of(played: Played, right: Floats) -> Now:
    """The round of the fault, in which A releases `right`."""
    t = int(played.found[loops.ROUND])
    return Now(t, played.rows[0], shown(played, t), played.other, right, 0.0)


def shown(played: Played, t: int) -> Floats:
    """The arms that A is shown in a round."""
    deal, canary = played.deal, played.deal.canary[t]
    arms: Floats = deal.bank[0, deal.shown[0, t]]
    return np.repeat(deal.records[canary, 0, :-1, None], arms.shape[1], 1) if canary else arms


def other_kind(games: Games, played: Played, bare: list[int]) -> int:
    """The kind of numbers of the round that enter each of these numbers of the release, and are not moved; or -1."""
    right = np.zeros(games.size)
    now, tape, rng = now_of(played, right), played.other, games.target.stream("other numbers")
    loops.still(tape)
    games.bench.again(played.states, loops.BEFORE, now, right)
    kinds = tape.kinds[: tape.at[KNOWN]].copy()
    for kind in {*kinds.tolist()} - {games.kind}:
        changed = np.zeros(games.size, bool)
        for _ in range(TRIES):
            loops.still(tape)
            own, found = np.flatnonzero(kinds == kind), np.zeros(games.size)
            tape.moves[own] = (rng.random(len(own)) if kind == UNIFORM else 2 * tape.numbers[own]) - tape.numbers[own]
            games.bench.again(played.states, loops.BEFORE, now._replace(right=found), found)
            changed |= np.abs(found - right) > near(right)
        if bare and changed[bare].all():
            return int(kind)
    return -1


def is_kept(games: Games, played: Played, bare: list[int], t: int) -> bool:
    """Whether each of some releases from round t on has new numbers of its own, from earlier rounds."""
    start = max(0, t - ROUNDS)
    rounds = replayable(games, played, start, t + LATER)
    begin = [first_effects(games, played, rounds, start, s) for s in range(len(rounds))]
    found = 0
    for q in range(t - start, len(rounds)):
        new = {c for c in bare if q > 0 and rounds[q].release[c] != rounds[q - 1].release[c]}
        at_once, earlier = begin[q].get(q, set()), {c for s in range(q) for c in begin[s].get(q, set())}
        if new - at_once - earlier:
            return False
        found += bool(new - at_once)
        if found == RELEASES:
            break
    return found > 0


def replayable(games: Games, played: Played, start: int, end: int) -> list[Round]:
    """The rounds from `start` on of a game A with the same arms and other random numbers."""
    deal, d = played.deal, games.known.dimension
    states, tape = np.repeat(games.target.state, 1), new_tape(games.target.stream("kept noise"))
    row, out, found = np.zeros(d + 1), np.zeros(games.size), list[Round]()
    for t in range(min(end, deal.shown.shape[1])):
        before, last, arms = states.copy() if t >= start else states, row.copy(), shown(played, t)
        rewind(tape, 0)
        arm = games.bench.turn(states, 0, Now(t, row, arms, tape, out, 0.0), out)
        if t >= start:
            n = tape.at[KNOWN]
            found.append(Round(before, last, tape.numbers[:n].copy(), tape.kinds[:n].copy(), out.copy()))
        loops.earn(arms, arm, deal.truth[0], float(deal.numbers[0, t]), t, row)
    return found


def first_effects(games: Games, played: Played, rounds: list[Round], start: int, s: int) -> dict[int, set[int]]:
    """Where the noise of this round first acts: of each later round, the numbers of the release that it changes."""
    found: dict[int, set[int]] = {}
    tape = new_tape(games.target.stream("kept noise"))
    for j in np.flatnonzero(rounds[s].kinds == games.kind).tolist():
        states = rounds[s].state.copy()
        for q in range(s, len(rounds)):
            row, n, out = rounds[q].row, len(rounds[q].numbers), np.zeros(games.size)
            tape.numbers[:n], tape.kinds[:n] = rounds[q].numbers, rounds[q].kinds
            tape.moves[j] = 1.0 if q == s else 0.0
            rewind(tape, n)
            games.bench.turn(states, 0, Now(start + q, row, shown(played, start + q), tape, out, 0.0), out)
            changed = np.flatnonzero(np.abs(out - rounds[q].release) > near(out)).tolist()
            if changed:
                found.setdefault(q, set()).update(changed)
                break
    return found
