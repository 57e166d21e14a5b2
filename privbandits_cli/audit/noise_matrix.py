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

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

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
from privbandits_cli.audit.twins import copy, lent
from privbandits_cli.audit.verdict import EXACT
from privbandits_cli.games.linear import Floats, Ints, loss_set
from privbandits_cli.numerics.jit import Records

CLEAR = 1e3  # a scale can be measured if it is this many times the rounding of a sum
CORRECTIONS = 2  # moves of a twin's numbers: the first is right if the noise is linear, the second removes rounding
REDRAWN = 4  # games with other numbers, to see whether noise enters a sum
ALIKE = 1e-10  # a smaller difference of two matrices, relative to the largest entry, is rounding
RIDGE = 1e-10  # what makes a system regular if several sums have the same noise, relative to the largest entry squared
SOLVED = 3  # how often a system is solved: the first time with the error of RIDGE, which the others remove
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
    states, given, own, table, mark, sums, where = lent((states, given, own, table, mark, sums, where))
    numbers, rounds, effects = lent(entries)
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


@dataclass(frozen=True, eq=False)
class Part:
    """The noise of one coordinate. places: where its numbers are; effects: a sparse matrix `[round, number]`."""

    places: Ints
    effects: Any

    @cached_property
    def scale(self) -> float:
        """The largest effect."""
        return float(abs(self.effects).max())

    @cached_property
    def system(self) -> tuple[Any, Any]:
        """The linear system of `least`, as sparse as the effects, and a solver of the system with RIDGE.

        It is symmetric. Its unknowns are the moves, and a multiplier for each sum.
        """
        from scipy import sparse
        from scipy.sparse.linalg import splu

        matrix, (rounds, n) = self.effects / self.scale, self.effects.shape
        exact = sparse.block_array([[sparse.eye_array(n), matrix.T], [matrix, None]], format="csc")
        ridge = sparse.diags_array(RIDGE * (np.arange(n + rounds) >= n))
        symmetric = {"SymmetricMode": True}
        return exact, splu(exact - ridge, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=symmetric)

    def least(self, moved: Floats) -> tuple[Floats, Floats]:
        """The moves s of the numbers with the least |s|₂ that move the sums by `moved[round]`, and what they leave."""
        (exact, solver), n = self.system, self.effects.shape[1]
        wanted = np.append(np.zeros(n), moved)
        found = np.zeros_like(wanted)
        for _ in range(SOLVED):
            found += solver.solve(wanted - exact @ found)
        moves = found[:n] / self.scale
        return moves, np.abs(self.effects @ moves - moved)

    def like(self, other: "Part") -> bool:
        """Whether two coordinates have the same noise, up to rounding."""
        return bool(abs(self.effects - other.effects).max() <= ALIKE * self.scale)


def measured(table: Bench, patience: int = 0) -> list[Part] | None:
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
    loop, moved = table.target.loop(probe), table.own(own)
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


def of_each(parts: list[Part], cost: Callable[[Part], Floats]) -> Floats:
    """What a change by 1 in each coordinate costs, `[N, loss]`; coordinates with the same noise are computed once."""
    first = cost(parts[0])
    return np.array([first if part is parts[0] or part.like(parts[0]) else cost(part) for part in parts])


# ------------------------------------------------------------------------------------- few rounds


def largest_cost(table: Bench) -> tuple[float, int]:
    """The largest μ of one loss (normal numbers) or its largest ε (Laplace numbers), and its round, from 1.

    Raises Refuted if the sums are not those of the losses and linear noise, if a loss has no noise, or if twins with
    the same sums play other points.
    """
    parts, normal = measured(table), table.kind == "normal"
    assert parts is not None
    costs = of_each(parts, lambda part: _cost_of_each(part, normal))
    norms = [loss_set(table.target.setting).changes(each)[normal] for each in costs.T]
    equal_twins(table, parts)
    worst = int(np.argmax(norms))
    return float(norms[worst]), worst + 1


def equal_twins(table: Bench, parts: list[Part]) -> None:
    """Raise Refuted if twins with the same sums play other points."""
    for other in table.others:
        numbers, missing = table.numbers.copy(), sums_of(table.given) - sums_of(other)
        for _ in range(CORRECTIONS):
            for part, one in zip(parts, missing.T, strict=True):
                table.own(numbers)[part.places] += part.least(one)[0]
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
        parts = measured(last)
    except (Refuted, Unclear):
        return
    if parts is not None and np.isfinite([least_norms(part, sums_ahead(last.rounds)) for part in parts]).all():
        equal_twins(last, parts)


def _cost_of_each(part: Part, normal: bool) -> Floats:
    """The μ or ε of each loss except the last, if the loss changes by 1 in this coordinate."""
    ahead = sums_ahead(part.effects.shape[0])
    moves, rest = (np.transpose(one) for one in zip(*map(part.least, ahead.T), strict=True))
    bare = first_row(~(rest <= EXACT).T)
    if bare < len(ahead.T):
        prefix = bare + 1 + int(np.argmax(rest[bare + 1 :, bare]))
        raise Refuted(f"no noise of its own hides the loss of round {bare + 1:,} in prefix {prefix:,}")
    return np.linalg.norm(moves, axis=0) if normal else np.array([least_sum(part.effects, one) for one in ahead.T])


def sums_ahead(rounds: int) -> Floats:
    """Which sums contain each loss except the last, `[round, loss]`."""
    return np.tri(rounds, k=-1)[:, :-1]


def least_sum(matrix: Any, wanted: Floats) -> float:
    """The least |s|₁ with `matrix` s = `wanted`; the matrix is sparse."""
    from scipy import optimize, sparse

    scale = abs(matrix).max()
    both = sparse.hstack([matrix, -matrix], format="csc") / scale
    equal = optimize.LinearConstraint(both, wanted, wanted)
    return float(optimize.milp(np.ones(both.shape[1]), constraints=equal).fun / scale)


# ------------------------------------------------------------------------------------- long games


def least_cost(table: Bench, taus: list[int], support: Ints) -> tuple[float, int, int] | None:
    """The largest cost of a loss in the rounds `taus`, from 0; the round of this loss; how many first rounds it covers.

    It is exact for normal numbers. For Laplace numbers it is a lower limit for the first of `taus`: the cost in the
    sums `support`. None if the audit does not know the matrix.
    """
    per_round, normal = max(1, int(table.mark()[-1]) // table.rounds), table.kind == "normal"
    table = table.shortened(MOVED // per_round)
    taus, rows = [tau for tau in taus if tau < table.rounds - 1], support[support < table.rounds]
    try:
        parts = measured(table, patience=3)
    except Refuted:  # a number came back to the sums
        parts = None
    if parts is None or not taus:
        return None
    if normal:
        ahead = (np.arange(table.rounds)[:, None] > taus).astype(float)
        costs = of_each(parts, lambda part: least_norms(part, ahead))
    else:
        costs = of_each(parts, lambda part: np.array([least_sum(part.effects[rows], (rows > taus[0]).astype(float))]))
    norms = [loss_set(table.target.setting).changes(each)[normal] for each in costs.T]
    worst = int(np.argmax(norms))
    return float(norms[worst]), taus[worst], table.rounds


def least_norms(part: Part, ahead: Floats) -> Floats:
    """The least |s|₂ for each column of `ahead[round, loss]`, the moves of the sums; infinite if no s makes them."""
    found = (part.least(moved) for moved in ahead.T)
    return np.array([np.linalg.norm(moves) if (rest <= EXACT).all() else np.inf for moves, rest in found])
