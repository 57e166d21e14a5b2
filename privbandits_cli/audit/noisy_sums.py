"""Audit of noisy sums of losses, the only path by which losses act on the points of a linear learner.

The noise must be linear in the numbers of `rng.laplace` or `rng.normal`; when they enter and how long they stay is
found by moving them. Game B has other losses than game A and the same random numbers. In each round of a long game the
audit moves N numbers of B, one for each coordinate, that first enter the next sum, until this sum equals that of A.

- Both games must play the same points. Otherwise a loss acts by another way than the sums.
- These numbers must move the next sum, at a rate that depends neither on the losses nor on other numbers.
- If only one loss differs, these moves hide it. Their Euclidean norm is the μ of this loss if the numbers are normal.
  The sum of their absolute values is its ε at δ = 0 if they are Laplace numbers. If no other numbers enter the sums,
  no other moves hide it, and this is exact; else it is an upper limit, and the matrix of the noise
  (`audit/noise_matrix.py`) tells more. It also serves for short games, and where a round has no such numbers.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.rounding import at_least, at_most
from privbandits_cli.audit.linear_games import (
    ALIKE,
    ROUNDING,
    ROUNDS,
    Bench,
    Game,
    Marks,
    Refuted,
    Unclear,
    assumed,
    bench,
    check_view,
    copied,
    copy_of,
    drawn,
    first_row,
    marks_of,
    played,
    step_of,
)
from privbandits_cli.audit.noise_matrix import CLEAR, CORRECTIONS, largest_cost, least_cost
from privbandits_cli.audit.target import Target, choose, update, values
from privbandits_cli.audit.twins import copy
from privbandits_cli.audit.verdict import EXACT, Audit, Verdict
from privbandits_cli.games.linear import Draws, Floats, Ints, loss_set
from privbandits_cli.games.views import Noisy
from privbandits_cli.numerics.jit import Records, unbound

ahead: Any = unbound  # bound when a loop is compiled

FIRST = 256  # rounds of a game whose whole matrix is measured
BYTES = 2**30  # a game with more rounds copies at most so many bytes of states
RANDOM = 8  # random rounds whose loss is replaced alone


def play_ahead(
    states: Records, loss: Floats, now: Draws, then: Draws, x: Floats, seen: Floats, scratch: Floats
) -> None:
    """Set `states[1]` to what follows `states[0]` after this loss, when it shows the next sum.

    x, seen: filled with the point and the sum before.
    """
    copy(states, 0, 1)
    x[:] = 0.0
    choose(states[1], x, now)
    seen[:] = values(states[1])
    update(states[1], loss, now)
    scratch[:] = 0.0
    choose(states[1], scratch, then)


def measure(
    states: Records,
    given: Floats,
    own: Draws,
    marks: Marks,
    table: Floats,
    mark: Ints,
    sums: Floats,
    points: Floats,
    by: Floats,
    slack: float,
    near: float,
    where: Ints,
    rates: Floats,
) -> int:
    """Find the N numbers that hide the loss of each round; fill `where[round]`, their begin, and `rates[round, N]`.

    They are N numbers in a row, of the round, if its sum does not have them yet, or of the next one. The last N of a
    round are tried first, then the N before these.

    where: -1 if there are none. rates: by how much the next sum grows per unit of each. table: the numbers of `own`
    that are moved, by `by[round, N]`; mark: where those of each round begin. sums, points: those of the game without a
    move; slack, near: smaller differences of them are rounding. Return the first round whose point depends on them.
    """
    n = given.shape[1]
    x, seen, kept, scratch = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    for t in range(len(given) - 1):
        where[t] = -1
        for turn in range(t, t + 2):
            for group in range(1, (mark[turn + 1] - mark[turn]) // n + 1):
                if where[t] < 0:
                    at = mark[turn + 1] - group * n
                    kept[:] = table[at : at + n]
                    table[at : at + n] += by[t]
                    ahead(states, given[t], copied(own, marks, t), copied(own, marks, t + 1), x, seen, scratch)
                    table[at : at + n] = kept
                    rates[t] = (values(states[1]) - sums[t + 1]) / by[t]
                    if np.abs(rates[t] * by[t]).min() > slack and np.abs(seen - sums[t]).max() <= slack:
                        where[t] = at
                        if turn == t and not np.abs(x - points[t]).max() <= near:
                            return t
        now = copied(own, marks, t)
        x[:] = 0.0
        choose(states[0], x, now)
        update(states[0], given[t], now)
    return len(given)


def follow(
    states: Records,
    given: Floats,
    moved: Draws,
    marks: Marks,
    table: Floats,
    where: Ints,
    wanted: Floats,
    rates: Floats,
    sums: Floats,
    points: Floats,
) -> None:
    """Play game B, and move its numbers so that its sums are `wanted`, `[round, N]`.

    states: B and scratch space; table, where, rates: see `measure`. Filled in: `moved`, `sums` and `points`.
    """
    n = given.shape[1]
    x, seen, scratch = np.zeros(n), np.zeros(n), np.zeros(n)
    for t in range(len(given)):
        for _ in range(CORRECTIONS if t + 1 < len(given) else 0):
            ahead(states, given[t], copied(moved, marks, t), copied(moved, marks, t + 1), x, seen, scratch)
            reached, far = values(states[1]), False
            for i in range(n):
                far |= abs(reached[i] - wanted[t + 1, i]) > ROUNDING * abs(wanted[t + 1, i])
                table[where[t] + i] -= (reached[i] - wanted[t + 1, i]) / rates[t, i]
            if not far:
                break
        now = copied(moved, marks, t)
        choose(states[0], points[t], now)
        sums[t] = values(states[0])
        update(states[0], given[t], now)


class Hiding(NamedTuple):
    """The numbers that hide the loss of each round but the last, see `measure`."""

    where: Ints
    rates: Floats


class Cost(NamedTuple):
    """The largest μ or ε of a loss, at least and at most, and the round of the loss, from 1.

    rounds: the first ones, of which `least` is the cost.
    """

    least: float
    most: float
    round: int
    rounds: int


def audit_prefixes(target: Target[Noisy]) -> Audit:
    """Audit whether the noisy sums reveal more about a loss than (ε, δ) allows, and whether the points reveal more."""
    table = made_of(target, max(FIRST, min(ROUNDS, BYTES // target.state.nbytes)))
    normal = table.kind == "normal"
    try:
        others = table.acts(*(kind for kind in Draws._fields if kind != table.kind))
        if others and not table.acts(table.kind):
            raise Unclear(f"the noise is not made of `rng.{table.kind}`: the audit cannot move it")
        table.check_finite()
        whole = bare(measured(table.shortened(FIRST + 1))) == FIRST
        table = table if whole else table.shortened(FIRST)
        allowed = gaussian.mu_of(target.claim.epsilon, target.claim.delta) if normal else target.claim.epsilon
        if whole:
            found = cost_of_long(table, allowed)
        else:
            size, worst = largest_cost(table)
            found = Cost(size, size, worst, table.rounds)
    except Unclear as reason:
        return _result(table, "NOT AUDITABLE", str(reason))
    except Refuted as finding:
        return _result(table, "VIOLATION", str(finding))
    return judged(table, found, allowed, others)


def judged(table: Bench, found: Cost, allowed: float, others: bool) -> Audit:
    """The verdict on this cost; others: whether numbers of other kinds enter the sums, too."""
    claim, normal = table.target.claim, table.kind == "normal"
    least, most = (gaussian.epsilon_of(size, claim.delta) if normal else size for size in found[:2])
    if found.least > (1 + EXACT) * allowed:
        if normal and others:
            words = f"given the numbers of other kinds, which are noise, too, a loss costs ε = {at_least(least)}"
            return _result(table, "NOT AUDITABLE", words)
        if not normal and claim.delta > 0:
            words = f"a loss costs ε = {at_least(least)} at δ = 0; its cost at δ is not computed"
            return _result(table, "NOT AUDITABLE", words)
        size = f"μ = {found.least:.6g} where" * normal or "where"
        words = f"the loss of round {found.round:,} costs ε = {at_least(least)}, {size} {allowed:.6g} is allowed"
        return _result(table, "VIOLATION", words, least)
    cost, later = f"at most ε = {at_most(min(most, claim.epsilon))}", ""
    if found.most > (1 + EXACT) * allowed:
        cost = f"at least ε = {at_least(least)}, and at most ε = {at_most(most)} if all numbers but N a round are known"
        later = f"losses cost no more than those of the first {found.rounds:,} rounds"
        most = least
    elif found.least == found.most:
        cost += f", exactly: that of round {found.round:,}" + f", μ = {found.most:.6g}" * normal
    seen = min(most, claim.epsilon)  # measured to EXACT
    result = _result(table, "CONSISTENT", f"equal sums lead to equal points; a loss costs {cost}", seen)
    words = "; ".join(filter(None, [later, assumed(table.target, table.rounds, table.first.points)]))
    return replace(result, refutable=(1 + EXACT) * claim.epsilon, assumed=words)


def _result(table: Bench, verdict: Verdict, found: str, seen: float | None = None) -> Audit:
    law = "Gaussian" if table.kind == "normal" else "Laplace"
    games = f"pairs of games of {played(table.target, table.rounds)} with equal sums"
    return Audit(verdict, f"{table.target.claim} of all noisy sums, {law} noise", found, table.cost, seen, None, games)


def made_of(target: Target[Noisy], most: int) -> Bench:
    """The games of an audit. The noise is made of normal numbers if there are any, and no Laplace numbers."""
    asked = {kind for kind, mark in zip(Draws._fields, marks_of(target), strict=True) if mark[-1]}
    kind = "normal" if asked & {"normal", "laplace"} == {"normal"} else "laplace"
    pure = kind == "normal" and target.claim.delta == 0
    wrong = "has Gaussian noise: it needs a guarantee with δ > 0" * pure
    if target.view.noise is not None:
        wrong = "is of whole numbers mod M, as only bandits have: leave out `modulus` and `noise`"
    check_view(target, "full", wrong)
    return bench(target, kind, most)


# ------------------------------------------------------------------------------------- long games


def cost_of_long(table: Bench, allowed: float) -> Cost:
    """The cost of a loss in a whole game; raise Refuted if the numbers of a round do not hide its loss."""
    hiding = rates_of_noise(table)
    taus = canaries(table, hiding)
    most, tau, support = largest_move(table, hiding, taus)
    if not table.acts(table.kind, kept=hiding.where):
        return Cost(most, most, tau + 1, table.rounds)
    if most <= (1 + EXACT) * allowed:
        return Cost(0.0, most, tau + 1, table.rounds)
    known = least_cost(table, [tau, *taus], support)
    if known is None:
        first = table.shortened(FIRST)
        return Cost(largest_cost(first)[0], most, tau + 1, FIRST)
    least, worst, rounds = known
    exact = rounds == table.rounds and table.kind == "normal"
    return Cost(least, least if exact else most, worst + 1, rounds)


def canaries(table: Bench, hiding: Hiding) -> list[int]:
    """The rounds, counted from 0, whose loss is replaced alone, without the last one, whose loss is in no sum.

    They are those around powers of two, random ones, and, if noise varies, the round with the least of it, with those
    from which on it may be in a node of a tree.
    """
    powers = 2 ** np.arange(table.rounds.bit_length())
    some = table.target.stream("canaries").integers(0, table.rounds - 1, RANDOM)
    least = np.abs(hiding.rates).min(axis=1)
    weakest = int(np.argmin(least)) // powers * powers if least.min() < (1 - EXACT) * least.max() else powers
    found = np.unique(np.concatenate([powers - 1, powers, some, weakest]))
    return [int(tau) for tau in found if tau < table.rounds - 1]


def measured(table: Bench, own: Draws | None = None, given: Floats | None = None) -> Hiding:
    """The numbers that hide losses in the game with these numbers and losses."""
    own, given = copy_of(own or table.numbers), (table.given if given is None else given).copy()
    game = table.play(own, given)
    size = step_of(float(np.abs(game.sums).max()))
    by = size * table.target.stream("signs").choice([-1.0, 1.0], given.shape)
    where, rates = np.full(len(given), -1), np.zeros_like(given)
    loop, states = table.target.loop(measure, ahead=table.target.call(play_ahead)), np.repeat(table.target.state, 2)
    plan = (
        table.mark(),
        game.sums,
        game.points,
        by,
        table.slack(game),
        ALIKE * table.target.setting.decisions().radius(),
    )
    twice = loop(states, given, own, table.marks, table.own(own), *plan, where, rates)
    if twice < len(given):
        raise Refuted(f"in round {twice + 1:,} the point depends on a random number that hides losses later")
    table.cost += 3 * len(given)
    return Hiding(where[:-1], rates[:-1])


def bare(hiding: Hiding) -> int:
    """The first round, counted from 0, whose loss no number of its own hides; the last round if there is none."""
    return first_row(hiding.where[:, None] < 0)


def rates_of_noise(table: Bench) -> Hiding:
    """The numbers that hide losses, which must be the same at the same rates in games with all losses replaced.

    Raises Refuted if there are none, or if their effect depends on the losses or on other numbers.
    """
    hiding, slack = measured(table), table.slack(table.first)
    silent = bare(hiding)
    if silent < table.rounds - 1:
        if table.mark()[silent] == table.mark()[silent + 2]:
            raise Unclear(f"no numbers are drawn in round {silent + 1:,} or the next one to hide its loss")
        raise Refuted(f"no noise of its own hides the loss of round {silent + 1:,}")
    if not np.abs(hiding.rates).min() > CLEAR * slack:
        raise Unclear(f"noise of {np.abs(hiding.rates).min():.2g} is lost in the rounding of sums of losses")
    for number, other in enumerate(table.others):
        moved = followed(table, other, hiding)
        anew = drawn(table.target, table.marks, f"other {number}")._replace(**{table.kind: table.own(moved)})
        again = measured(table, anew, other)
        wrong = ~(np.abs(again.rates - hiding.rates) <= EXACT * np.abs(hiding.rates) + 4 * slack)
        changed = first_row(wrong | (again.where != hiding.where)[:, None])
        if changed < table.rounds - 1:
            words = f"depends on the losses, or is no multiple of `rng.{table.kind}`"
            raise Refuted(f"the noise of prefix {changed + 1:,} {words}")
    return hiding


def followed(table: Bench, other: Floats, hiding: Hiding, start: int = 0) -> Draws:
    """The numbers with which game B, whose losses are `other`, has the same sums as game A.

    Their losses are equal before round `start`. Raises Refuted if no numbers do this, or if B plays other points.
    """
    moved, states = copy_of(table.numbers), np.repeat(table.play(rounds=range(start)).state, 2)
    table.cost += (1 + 2 * CORRECTIONS) * (table.rounds - start)
    sums, points = np.empty_like(other[start:]), np.zeros_like(other[start:])
    loop = table.target.loop(follow, ahead=table.target.call(play_ahead))
    marks, wanted = tuple(mark[start:] for mark in table.marks), table.first.sums[start:]
    plan = table.own(moved), hiding.where[start:], wanted, hiding.rates[start:]
    loop(states, other[start:].copy(), moved, marks, *plan, sums, points)
    table.compare(Game(sums, points, states), moved, other, start)
    return moved


def largest_move(table: Bench, hiding: Hiding, taus: list[int]) -> tuple[float, int, Ints]:
    """The largest norm of the moves that hide one loss, μ or ε, and its round; and around which sums they are."""
    losses, normal = loss_set(table.target.setting), table.kind == "normal"
    low, high = losses.ends()
    if not (low != high).all():  # a change of every coordinate shows the moves in every coordinate
        low, high = (np.full(len(low), end / len(low)) for end in (-1.0, 1.0))
    given = table.given.copy()
    given[taus] = low
    tables = (drawn(table.target, table.marks, name) for name in ("one", "two"))
    one, another = (replace(table, given=given, numbers=numbers) for numbers in tables)
    places = hiding.where[:, None] + np.arange(given.shape[1])

    def moves(pair: Bench, tau: int) -> Floats:
        """How far the numbers of each round and coordinate move, `[round, N]`, per unit of the change of the loss."""
        other = given.copy()
        other[tau] = high
        moved = pair.own(followed(pair, other, hiding, tau)) - pair.own(pair.numbers)
        return np.asarray(moved[places] / (high - low), np.float64)

    def cost(moved: Floats) -> float:
        return losses.changes(np.linalg.norm(moved, ord=2 if normal else 1, axis=0))[normal]

    costs = {tau: cost(moves(one, tau)) for tau in taus}
    worst = max(costs, key=costs.__getitem__)
    found = moves(one, worst)
    table.cost += one.cost + another.cost
    if not cost(found - moves(another, worst)) <= EXACT * costs[worst]:
        law = "Gaussian" if normal else "Laplace noise"
        raise Refuted(f"what hides the loss of round {worst + 1:,} depends on the noise, which is then not {law}")
    near = np.flatnonzero((np.abs(found) > EXACT * np.abs(found).max()).any(axis=1))[: FIRST // 2]
    return costs[worst], worst, np.unique([0, *near, *(near + 1)])
