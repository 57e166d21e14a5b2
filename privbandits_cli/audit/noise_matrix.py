"""The noise of noisy sums as a matrix: by how much each random number enters each sum, and what a loss costs.

The audit moves each random number alone and plays on. The sums must be those of the losses plus B z, where the matrix B
depends neither on the losses nor on the numbers z. A change of one loss by 1 moves all later sums by 1. A move of the
numbers by s hides this if B s is 1 in these sums and 0 in the earlier ones.

- Normal numbers: the least |s|₂ is exactly the μ of this loss.
- Laplace numbers: the least |s|₁ is exactly its ε at δ = 0. No likelihood ratio is larger, and by the duality of linear
  programmes there is a direction in which it comes as close as one likes.

A random number may be drawn before the loss that it hides, and a round may draw several of them or none. In a game of
few rounds the audit measures the whole matrix, and computes the cost of every loss. In a long game it measures the
entries that are not 0, if each random number leaves the sums again, as in a tree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from privbandits_cli.audit.linear_games import (
    NOT_LINEAR,
    Bench,
    Dealt,
    Refuted,
    Unclear,
    again,
    copied,
    first_row,
    step_of,
)
from privbandits_cli.audit.target import choose, update, values
from privbandits_cli.audit.twins import copy
from privbandits_cli.audit.verdict import EXACT
from privbandits_cli.games.linear import Floats, Ints, loss_set
from privbandits_cli.numerics.jit import Records

CLEAR = 1e3  # a scale can be measured if it is this many times the rounding of a sum
CORRECTIONS = 2  # moves of a twin's numbers: the first is right if the noise is linear, the second removes rounding
REDRAWN = 4  # games with other numbers, to see whether noise enters a sum
ALIKE = 1e-10  # relative difference of the effects of numbers that is rounding
TINY = 1e-14  # relative size of a number that is as good as 0 in equations
ENTRIES = 2**22  # entries of the matrix of a long game, at most
MOVED = 2**21  # numbers of a long game that are moved alone, at most


def probe(
    states: Records,
    given: Floats,
    own: Dealt,
    table: Floats,
    mark: Ints,
    sums: Floats,
    by: float,
    least: float,
    patience: int,
    entries: tuple[Ints, Ints, Floats],
    where: Ints,
) -> int:
    """Fill `entries` with (number, round, by how much the sum grows per unit of the number); return how many there are.

    where: the coordinate on which each number acts, -1 if it has no effect, -2 if it acts on several. table: the
    numbers of `own` that are moved by `by`, one at a time; mark: where those of each round begin. sums: those of the
    game without a move. least: a smaller effect is rounding. states: the game's first state and scratch space.

    patience: 0 to measure all entries. Otherwise the entries are those of the first coordinate alone, and a number is
    no longer followed once it has been without effect for `patience` times as many rounds as it acted before. Numbers
    of the first round are always followed.
    """
    numbers, rounds, effects = entries
    x, found = np.zeros(given.shape[1]), 0
    for t in range(len(given)):
        for k in range(mark[t], mark[t + 1]):
            kept, last, later = table[k], t + 1, t
            table[k] = kept + by
            copy(states, 0, 1)
            while later < len(given) and (patience == 0 or where[k] < 1):
                if patience * t > 0 and later - last > patience * (last - t):
                    break
                now = copied(own, later)
                x[:] = 0.0
                choose(states[1], x, now)
                moved = values(states[1])
                for i in range(len(moved)):
                    effect = (moved[i] - sums[later, i]) / by
                    if abs(effect) > least:
                        where[k] = i if where[k] == -1 or where[k] == i else -2
                        last = max(last, later)
                        if patience > 0 and i > 0:
                            break
                        if found == len(numbers):
                            return found + 1
                        numbers[found], rounds[found], effects[found] = k, later, effect
                        found += 1
                update(states[1], given[later], now)
                later += 1
            table[k] = kept
        now = copied(own, t)
        x[:] = 0.0
        choose(states[0], x, now)
        update(states[0], given[t], now)
    return found


class Cost(NamedTuple):
    """The largest μ or ε of a loss, at least and at most, and the round of the loss, from 1.

    rounds: the first ones, of which `least` is the cost.
    """

    least: float
    most: float
    round: int
    rounds: int


@dataclass(frozen=True, eq=False)
class Part:
    """The noise of one coordinate. places: where its numbers are; effects: a sparse matrix `[round, number]`."""

    places: Ints
    effects: Any

    def moves(self, wanted: Floats) -> Floats:
        """The least moves of the numbers, by |s|₂, that move the sums as `wanted[round, loss]`, if any do."""
        none = np.zeros((self.effects.shape[1], wanted.shape[1]))
        found: Floats = self._solver.solve(np.vstack([none, wanted]))[: len(none)]
        return found

    @cached_property
    def _solver(self) -> Any:
        """The factors of the equations s + B'y = 0 and B s = `wanted`; TINY is for sums without noise of their own."""
        from scipy import sparse
        from scipy.sparse.linalg import splu

        rounds, n = self.effects.shape
        slack = TINY * (abs(self.effects).max() ** 2 or 1.0) * sparse.eye_array(rounds)
        both = [[sparse.eye_array(n), self.effects.T], [self.effects, -slack]]
        return splu(sparse.block_array(both).tocsc(), permc_spec="MMD_AT_PLUS_A")

    def like(self, other: "Part") -> bool:
        """Whether two coordinates have the same noise, up to rounding."""
        return bool(abs(self.effects - other.effects).max() <= ALIKE * abs(self.effects).max())


def noise_of(table: Bench, patience: int = 0) -> list[Part] | None:
    """The noise of each coordinate; None if the matrix has too many entries. patience: see `probe`.

    If the entries are those of the first coordinate, other coordinates have the same, which games with other numbers
    confirm. Raises Refuted if the sums are not those of the losses and linear noise.
    """
    from scipy import sparse

    own, slack, by = table.numbers.copy(), table.slack(table.first), step_of(float(np.abs(table.first.sums).max()))
    count = int(table.mark()[-1])
    room = ENTRIES if patience else count * table.rounds
    entries = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room)
    where, states = np.full(count, -1), np.repeat(table.target.state, 2)
    loop, moved = table.target.compiled(probe), table.own(own)
    plan = table.mark(), table.first.sums, by, 2 * slack / by, patience
    found = loop(states, table.given.copy(), own, moved, *plan, entries, where)
    if found > room:
        return None
    table.cost += found
    numbers, rounds, effects = (part[:found] for part in entries)
    if (where == -2).any():
        raise Unclear(f"a number of `rng.{table.kind}` acts on several coordinates: give each coordinate its own")
    largest = np.abs(effects).max(initial=0.0)
    if 0 < largest <= CLEAR * slack:
        raise Unclear(f"noise of {largest:.2g} is lost in the rounding of sums of losses")
    parts: list[Part] = []
    for i in range(table.given.shape[1]):
        held, places = where[numbers] == (0 if patience else i), np.flatnonzero(where == i)
        if not len(places):
            raise Refuted("no noise of its own hides the loss of round 1 in prefix 1")
        columns = np.searchsorted(places if i == 0 or not patience else parts[0].places, numbers[held])
        shape = table.rounds, len(places)
        if patience and i and len(places) != len(parts[0].places):
            return None
        parts.append(Part(places, sparse.csr_array((effects[held], (rounds[held], columns)), shape)))
    for number, other in enumerate(table.others):
        _check(table, parts, other, again(table.target, table.numbers, f"other {number}"), by)
    return parts


def _check(table: Bench, parts: list[Part], other: Floats, numbers: Dealt, by: float) -> None:
    """Raise Refuted if the sums of the game with these losses and numbers are not the sums with this noise."""
    kept = numbers.having(table.kind, table.own(table.numbers))  # the same numbers of other kinds in both games
    before, found = table.play(kept), table.play(numbers, other)
    moves = table.own(numbers) - table.own(kept)
    noise = np.transpose([part.effects @ moves[part.places] for part in parts])
    slack = table.slack(before, found, given=other) * (1 + 2 * np.abs(moves).sum() / by)
    wrong = first_row(~(np.abs(found.sums - before.sums - sums_of(other) + sums_of(table.given) - noise) <= slack))
    if wrong < table.rounds:
        raise Refuted(f"prefix {table.start + wrong:,} {NOT_LINEAR.format(table.kind)}")


def odd_rounds(table: Bench, other: Floats) -> Ints:
    """The rounds, counted from 0, whose loss is not what the next sum grows by, given the random numbers.

    They are found in games with the same numbers and other losses.
    """
    sums = table.play(given=other).sums - table.first.sums
    grown = np.diff(sums, axis=0) - (other - table.given)[:-1]
    return np.flatnonzero((~(np.abs(grown) <= 2 * table.slack(table.first, given=other))).any(axis=1))


def sums_of(given: Floats) -> Floats:
    """The sum of the losses before each round, `[round, N]`."""
    return np.cumsum(given, axis=0) - given


def costs(table: Bench, parts: list[Part], taus: Sequence[int], sums: Any = slice(None)) -> Floats:
    """The μ of the losses of these rounds, from 0, by normal numbers, or their ε in these sums by Laplace numbers.

    Raises Refuted if a loss has no noise.
    """
    rounds, normal = np.arange(table.rounds)[sums], table.kind == "normal"
    ahead = (rounds[:, None] > taus).astype(float)  # the sums that contain a loss

    def cost(part: Part) -> Floats:
        own = Part(part.places, part.effects[sums])
        moves = own.moves(ahead)
        rest = np.abs(own.effects @ moves - ahead) * ahead
        bare = first_row(~(rest <= EXACT).T)
        if bare < len(taus):
            loss, prefix = taus[bare] + 1, rounds[np.argmax(rest[:, bare])]
            raise Refuted(f"no noise of its own hides the loss of round {loss:,} in prefix {prefix:,}")
        if normal:
            return np.asarray(np.linalg.norm(moves, axis=0))
        return np.array([least_sum(own.effects.toarray(), one) for one in ahead.T])

    first = cost(parts[0])
    each = np.array([first if part is parts[0] or part.like(parts[0]) else cost(part) for part in parts])
    return np.array([loss_set(table.target.setting).changes(one)[normal] for one in each.T])


def least_sum(matrix: Floats, wanted: Floats) -> float:
    """The least |s|₁ with `matrix` s = `wanted`."""
    from scipy import optimize, sparse

    scale = np.abs(matrix).max()
    both = sparse.csc_array(np.hstack([matrix, -matrix]) / scale)
    equal = optimize.LinearConstraint(both, wanted, wanted)
    return float(optimize.milp(np.ones(both.shape[1]), constraints=equal).fun / scale)


# ------------------------------------------------------------------------------------- few rounds


def largest_cost(table: Bench) -> Cost:
    """The largest μ of one loss (normal numbers) or its largest ε (Laplace numbers), exactly.

    Raises Refuted if the sums are not those of the losses and linear noise, if a loss has no noise, or if twins with
    the same sums play other points.
    """
    parts = noise_of(table)
    assert parts is not None
    found = costs(table, parts, range(table.rounds - 1))
    equal_twins(table, parts)
    most, worst = float(found.max()), int(np.argmax(found))
    return Cost(most, most, worst + 1, table.rounds)


def equal_twins(table: Bench, parts: list[Part]) -> None:
    """Raise Refuted if twins with the same sums play other points."""
    for other in table.others:
        numbers, missing = table.numbers.copy(), sums_of(table.given) - sums_of(other)
        for _ in range(CORRECTIONS):
            for part, one in zip(parts, missing.T, strict=True):
                table.own(numbers)[part.places] += part.moves(one[:, None])[:, 0]
            twin = table.play(numbers, other)
            missing = table.first.sums - twin.sums
        table.compare(twin, numbers, other)


def like_the_first(table: Bench, few: int) -> None:
    """Raise Refuted if later rounds of this game are not like the first `few`, as far as this can be seen.

    Every loss must be part of the next sum once, and noise must enter with it. In the last rounds, twins with the same
    sums must play the same points; if earlier numbers hide these losses, this cannot be seen.
    """
    for other in table.others:
        odd = odd_rounds(table, other)
        if len(odd):
            raise Refuted(f"prefix {odd[0] + 1:,} {NOT_LINEAR.format(table.kind)}")
    redrawn = [again(table.target, table.numbers, f"redrawn {k}") for k in range(REDRAWN)]
    tables = [table.numbers.having(table.kind, table.own(numbers)) for numbers in redrawn]
    noise = np.array([table.play(numbers).sums for numbers in tables]) - table.first.sums
    before, after = noise[:, :-1], noise[:, 1:]
    share = (before * after).sum(axis=0) / np.maximum((before**2).sum(axis=0), table.slack(table.first) ** 2)
    silent = first_row(np.abs(after - share * before).max(axis=0) <= CLEAR * table.slack(table.first))
    if silent < table.rounds - 1:
        raise Refuted(f"no noise of its own hides the loss of round {silent + 1:,} in prefix {silent + 1:,}")
    last = table.part(range(table.rounds - few, table.rounds))
    try:
        parts = noise_of(last)
    except (Refuted, Unclear):
        return
    ahead = np.tri(last.rounds, k=-1)[:, :-1]
    if parts is not None and all(abs(part.effects @ part.moves(ahead) - ahead).max() <= EXACT for part in parts):
        equal_twins(last, parts)


# ------------------------------------------------------------------------------------- long games


def least_cost(table: Bench, taus: list[int], support: Ints, most: float) -> Cost | None:
    """The largest cost of a loss in the rounds `taus`, from 0; None if the audit does not know the matrix.

    It is exact for normal numbers. For Laplace numbers it is a lower limit for the first of `taus`: the cost in the
    sums `support`. most: an upper limit on the cost in the whole game.
    """
    per_round, rounds = max(1, int(table.mark()[-1]) // table.rounds), table.rounds
    table = table.shortened(MOVED // per_round)
    taus, rows = [tau for tau in taus if tau < table.rounds - 1], support[support < table.rounds]
    try:
        parts = noise_of(table, patience=3)
    except Refuted:  # a number came back to the sums
        parts = None
    if parts is None or not taus:
        return None
    normal = table.kind == "normal"
    found = costs(table, parts, taus) if normal else costs(table, parts, taus[:1], rows)
    least, worst = float(found.max()), int(np.argmax(found))
    return Cost(least, least if normal and table.rounds == rounds else most, taus[worst] + 1, table.rounds)
