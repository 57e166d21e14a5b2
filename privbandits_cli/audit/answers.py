"""Audit of the arms that are played, for learners that also hide the set of arms of each round (`views.Answer`).

A game is played on a tape. In some rounds the audit lets the learner choose again from the same state: among the arms
of the round, and among other sets of arms, in each of which one arm is long and all others are 0. The choice also
depends on the uniform numbers that `choose` draws last. The audit tries these numbers by bisection, one after the
other, and so finds the probability of each arm exactly. An arm has one probability for each set. The logarithm of the
largest ratio of two of them is the privacy loss of the round's own arms. The audit of the base, within the same
learner, covers what later arms reveal about a round.

In every round the learner also chooses three times among the arms of the round: with the uniform number 0, and with
numbers just below and just above the one at which the arm of the first round changes. If the arm of another round
changes at another number, the audit tries this round, too.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from privbandits_cli.accounting.rounding import pair
from privbandits_cli.audit.context_loops import Deal, Now, earn, turn
from privbandits_cli.audit.contexts import Games
from privbandits_cli.audit.tape import KNOWN, PLACE, UNIFORM, Tape, new_tape, rewind
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.twins import copy, lent
from privbandits_cli.audit.verdict import Audit, judged
from privbandits_cli.games.views import Answer
from privbandits_cli.numerics.jit import Records
from privbandits_cli.numerics.types import Floats, Ints

EACH, RANDOM = 16, 8  # how many first and random rounds are tried; rounds at powers of two are tried, too
GRID = 16  # numbers for each arm that are tried before bisection
HALVINGS = 44
LATER = 0.125, 0.5, 0.875  # values of the next number; two numbers are alike if all of these lead to the same arms
DEEP = 3  # uniform numbers that decide an arm, at most
EDGE = 1e-6  # by how much a number is below or above the one at which an arm changes
ODD = 16  # rounds that are tried because their arm changes at another number, at most

places: Any = np.arange(3)  # of the states, as NumPy's numbers: see `context_loops`
GAME, KEPT, TRIED = places

Run = Callable[[Floats], tuple[Ints, Ints]]


def answer(states: Records, now: Now, first: int, given: Floats, arms: Ints, counts: Ints, out: Floats) -> None:
    """Let the learner choose from `states[KEPT]` once for each try.

    arms, counts: filled with the arm of each try, and with how many uniform numbers it took; given: the uniform numbers
    from the place `first` of the tape on, `[tries, numbers]`.
    """
    for i in range(len(given)):
        for j in range(given.shape[1]):
            now.tape.dealt.numbers[first + j], now.tape.dealt.kinds[first + j] = given[i, j], UNIFORM
        copy(states, KEPT, TRIED)
        rewind(now.tape, first + given.shape[1])
        arms[i] = turn(states, TRIED, now, out)
        counts[i] = now.tape.own.at[PLACE] - first


def latest(tape: Tape) -> int:
    """The place on the tape from which on all numbers of the round are uniform."""
    first = tape.own.at[KNOWN]
    while first > 0 and tape.dealt.kinds[first - 1] == UNIFORM:
        first -= 1
    return int(first)


def advance(
    states: Records, deal: Deal, tape: Tape, row: Floats, rounds: tuple[int, int], given: Floats, odd: Ints, out: Floats
) -> None:
    """Play the game `states[GAME]` in these rounds. `states[KEPT]` becomes the state before the last of them.

    row: the last record of the game; given: the uniform numbers of three more choices in each round, or none. Filled
    in: `odd[round]`, 0 if the first two of these choices have the same arm and the third one has another, else 1.
    """
    states, deal, tape, row, given, odd, out = lent((states, deal, tape, row, given, odd, out))
    arms, counts = np.zeros(len(given), np.int64), np.zeros(len(given), np.int64)
    for t in range(rounds[0], rounds[1]):
        shown = deal.bank[0, deal.shown[0, t]]
        copy(states, GAME, KEPT)
        rewind(tape, 0)
        now = Now(t, row, shown, tape, out, 0.0)
        arm = turn(states, GAME, now, out)
        if len(given) > 0:
            answer(states, now, latest(tape), given, arms, counts, out)
            odd[t] = arms[1] != arms[0] or arms[2] == arms[0]
        earn(shown, arm, deal.truth[0], deal.numbers[0, t], t, row)


def law(run: Run, k: int, given: tuple[float, ...] = ()) -> Floats:
    """The probabilities of the k arms, `[k]`, given the first uniform numbers.

    run: the arms for some first numbers `[tries, numbers]`, and how many numbers they took.
    """
    out, (arms, counts) = np.zeros(k), run(np.array([given]))
    if counts[0] <= len(given) or len(given) == DEEP:
        out[arms[0]] = 1.0
        return out

    def outcomes(numbers: Floats) -> Ints:
        tries = np.column_stack([np.tile(given, (len(numbers), 1)), numbers])
        arms, counts = run(tries)
        found = np.repeat(arms[:, None], 1 + len(LATER), axis=1)
        if (more := counts > tries.shape[1]).any():
            after = np.column_stack([np.tile(tries, (len(LATER), 1)), np.repeat(LATER, len(numbers))])
            found[more, 0], found[more, 1:] = -1, run(after)[0].reshape(len(LATER), -1).T[more]
        return found

    grid = np.append(np.arange(GRID * k) / (GRID * k), np.nextafter(1.0, 0.0))
    kinds = outcomes(grid)
    ends = np.flatnonzero((kinds[1:] != kinds[:-1]).any(axis=1))
    low, high = grid[ends], grid[ends + 1]
    for _ in range(HALVINGS if len(ends) else 0):
        middle = (low + high) / 2
        same = (outcomes(middle) == kinds[ends]).all(axis=1)
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    cuts = [0.0, *high.tolist(), 1.0]
    for begin, end in pairwise(cuts):
        out += (end - begin) * law(run, k, (*given, (begin + end) / 2))
    return out


def tried(rounds: int, rng: np.random.Generator) -> list[int]:
    """The rounds, from 0, in which arms are chosen again."""
    powers = [2**i for i in range(rounds.bit_length())]
    some = rng.integers(0, rounds, RANDOM).tolist()
    return sorted(t for t in {*range(EACH), *powers, *(n - 1 for n in powers), *some, rounds - 1} if t < rounds)


def first_cut(run: Run) -> float:
    """The uniform number at which the arm first changes, by bisection; 1 if it does not."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        ends = run(np.array([[low, 0.5, 0.5], [middle, 0.5, 0.5]]))[0]
        low, high = (middle, high) if ends[0] == ends[1] else (low, middle)
    return high


def audit_answers(target: Target[Answer], games: Games) -> Audit:
    """Whether the arm played reveals more about its own round's arms than ε allows; games: those of its base."""
    epsilon, rounds, known, k = target.view.epsilon, games.longest, games.known, target.setting.n_arms
    deal, found = games.dealt("answers", rounds), np.zeros(games.size)
    steps = {"turn": games.bench.turn, "answer": target.call(answer, turn=games.bench.turn)}
    ahead, none, odd = target.loop(advance, **steps), np.zeros((0, DEEP)), np.zeros(rounds, np.int64)
    direction = target.stream("directions").standard_normal(known.dimension)
    sets = np.zeros((3, known.dimension, k))
    for i, share in enumerate((1.0, 1.0, -1.0)):
        sets[i, :, i % 2] = share * known.norm * direction / np.linalg.norm(direction)

    def begun() -> tuple[Records, Tape, Floats]:
        """The game before its first round."""
        return np.repeat(target.state, 3), new_tape(target.stream("noise of answers")), np.zeros(known.dimension + 1)

    def runs(t: int, states: Records, tape: Tape, row: Floats) -> list[Run]:
        """Choose in round t, after the rounds before it, among the arms of each set; `states[0]` plays the round."""
        before = row.copy()
        ahead(states, deal, tape, row, (t, t + 1), none, odd, found)
        first = latest(tape)

        def run(given: Floats, arms: Floats) -> tuple[Ints, Ints]:
            chosen, counts = np.zeros((2, len(given)), np.int64)
            steps["answer"](states, Now(t, before, arms, tape, found, 0.0), first, given, chosen, counts, found)
            return chosen, counts

        return [partial(run, arms=arms) for arms in (*sets, deal.bank[0, deal.shown[0, t]])]

    if (cut := first_cut(runs(0, *begun())[-1])) < 1.0 - EDGE:
        given = np.full((3, DEEP), 0.5)
        given[:, 0] = 0.0, cut - EDGE, cut + EDGE
        states, tape, row = begun()
        ahead(states, deal, tape, row, (0, rounds), given, odd, found)
    states, tape, row = begun()
    worst, at, last, chosen = 0.0, 0, 0, tried(rounds, target.stream("tried"))
    for t in sorted({*chosen, *np.flatnonzero(odd)[:ODD].tolist()}):
        ahead(states, deal, tape, row, (last, t), none, odd, found)
        laws, last = [law(run, k) for run in runs(t, states, tape, row)], t + 1
        with np.errstate(divide="ignore", invalid="ignore"):
            cost = float(np.nanmax(np.log(np.max(laws, axis=0) / np.min(laws, axis=0))))
        worst, at = (cost, t + 1) if cost > worst else (worst, at)
    words, shape = f"{pair(epsilon, 0.0)} of the arm of a round", f"answers: in {len(chosen)} of {rounds:,} rounds"
    assumed = f"arms are hidden in other rounds as in the {len(chosen)} tried"
    so_far = Audit("CONSISTENT", words, "", rounds, played=shape, assumed=assumed)
    claim, arm = replace(target.claim, epsilon=epsilon, delta=0.0), f"the arm of round {at:,}"
    return judged(so_far, claim, worst, "the arm of a round", worst=arm)
