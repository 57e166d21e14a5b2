"""Audit of noisy sums of losses: losses must act on the points of a linear learner by these sums alone.

The noise must be linear in the numbers of `rng.laplace` or `rng.normal`. The audit moves these numbers, and so finds
when they enter a sum and how long they stay. Game B has other losses than game A and the same random numbers. In each
round of a long game the audit moves N numbers of B, one for each coordinate, that first enter the next sum, until this
sum equals that of A. If a sum has no such numbers, it must be equal without a move, as within a batch.

- Both games must play the same points. Otherwise a loss acts by another way than the sums.
- These numbers must move the next sum, at a rate that depends neither on the losses nor on other numbers.
- If only one loss differs, these moves hide it. Their Euclidean norm is the μ of this loss if the numbers are normal.
  The sum of their absolute values is its ε at δ = 0 if they are Laplace numbers. If no other numbers enter the sums,
  no other moves hide it, and this is exact; else it is an upper limit, and the matrix of the noise
  (`audit/noise_matrix.py`) tells more. It also serves for short games, and where a round has no such numbers.
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.rounding import at_least, at_most
from privbandits_cli.audit import sum_excuses
from privbandits_cli.audit.linear_games import (
    ROUNDING,
    Bench,
    Dealt,
    Game,
    Refuted,
    Unclear,
    again,
    assumed,
    check_view,
    copied,
    dealt,
    first_row,
    losses_of,
    played,
    put,
    step_of,
)
from privbandits_cli.audit.noise_matrix import CLEAR, CORRECTIONS, largest_cost, least_cost, like_the_first, odd_rounds
from privbandits_cli.audit.target import Target, choose, update, values
from privbandits_cli.audit.twins import copy, lent
from privbandits_cli.audit.verdict import EXACT, Audit, judged
from privbandits_cli.games.linear import Draws, Floats, Ints, loss_set
from privbandits_cli.games.views import Noisy
from privbandits_cli.numerics.jit import Records, unbound

ACROSS = "a loss in one coordinate acts on the sums of others: add the losses coordinate by coordinate"

ahead: Any = unbound  # bound when a loop is compiled

FIRST = 256  # rounds of a game whose whole matrix is measured
BYTES = 2**30  # a game with more rounds copies at most so many bytes of states
RANDOM = 8  # random rounds whose loss is replaced alone
ORDINARY = 16  # less than one loss in so many acts in another way than most


def play_ahead(
    states: Records, loss: Floats, now: Draws, then: Draws, x: Floats, seen: Floats, scratch: Floats
) -> None:
    """Set `states[1]` to what follows `states[0]` after this loss, when it shows the next sum.

    x, seen: filled with the point and the sum before.
    """
    copy(states, 0, 1)
    x[:] = 0.0
    choose(states[1], x, now)
    put(values(states[1]), seen)
    update(states[1], loss, now)
    scratch[:] = 0.0
    choose(states[1], scratch, then)


class Hiding(NamedTuple):
    """The N consecutive numbers that hide the loss of each round but the last.

    where: the place of the first of these N numbers, -1 if there are none; rates: by how much the next sum grows per
    unit of each, `[round, N]`, 0 if there are none.
    """

    where: Ints
    rates: Floats

    def since(self, t: int) -> "Hiding":
        """The numbers that hide the losses from round t on."""
        return Hiding(self.where[t:], self.rates[t:])

    def least(self) -> Floats:
        """The least rate of each round, `[round]`; infinite where there are no such numbers."""
        return np.where(self.where < 0, np.inf, np.abs(self.rates).min(axis=1))

    def unlike(self, other: "Hiding", slack: float) -> int:
        """The first round, from 0, whose numbers have other places or other rates; else how many rounds there are."""
        wrong = ~(np.abs(other.rates - self.rates) <= EXACT * np.abs(self.rates) + 4 * slack)
        return first_row(wrong | (other.where != self.where)[:, None])

    def lost(self, other: "Hiding", clear: float) -> int:
        """The first round with a clear rate of which the other game has less than half; else how many there are."""
        return first_row((np.abs(self.rates) > clear) & (np.abs(other.rates) < np.abs(self.rates) / 2))


def measure(
    states: Records,
    given: Floats,
    own: Dealt,
    table: Floats,
    mark: Ints,
    game: Game,
    by: Floats,
    slack: float,
    near: float,
    hiding: Hiding,
) -> int:
    """Find the numbers that hide the loss of each round, and fill in `hiding`.

    They are numbers of the round, if its own sum does not contain them yet, or numbers of the next round. The last N
    numbers of a round are tried first, then the N before these.

    table: the numbers of `own` that are moved, by `by[round, N]`; mark: where those of each round begin. game: the game
    without a move; slack, near: smaller differences of its sums, and of its points, are rounding. Returned: the first
    round whose point depends on the numbers, or the number of rounds.
    """
    states, given, own, table, mark, by = lent((states, given, own, table, mark, by))
    (sums, points, _), (where, rates) = lent((game, hiding))
    n = given.shape[1]
    x, seen, kept, scratch = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    for t in range(len(given) - 1):
        where[t] = -1
        for turn in range(t, t + 2):
            for group in range(1, (mark[turn + 1] - mark[turn]) // n + 1):
                if where[t] < 0:
                    at = mark[turn + 1] - group * n
                    for i in range(n):
                        kept[i] = table[at + i]
                        table[at + i] += by[t, i]
                    ahead(states, given[t], copied(own, t), copied(own, t + 1), x, seen, scratch)
                    put(kept, table[at : at + n])
                    put(values(states[1]), rates[t])
                    enter, same = True, True  # each number the next sum, and none this sum; the same point
                    for i in range(n):
                        rates[t, i] = (rates[t, i] - sums[t + 1, i]) / by[t, i]
                        enter &= abs(rates[t, i] * by[t, i]) > slack and abs(seen[i] - sums[t, i]) <= slack
                        same &= abs(x[i] - points[t, i]) <= near
                    if enter:
                        where[t] = at
                        if turn == t and not same:
                            return t
        now = copied(own, t)
        x[:] = 0.0
        choose(states[0], x, now)
        update(states[0], given[t], now)
    return len(given)


def follow(
    states: Records, given: Floats, moved: Dealt, table: Floats, hiding: Hiding, wanted: Floats, twin: Game
) -> None:
    """Play game B, and move its numbers so that its sums are `wanted`, `[round, N]`, where a round has such numbers.

    states: B and scratch space; table: the numbers of `moved` that are moved. Filled in: `moved`, and the sums and
    points of the twin.
    """
    states, given, moved, table, wanted = lent((states, given, moved, table, wanted))
    (sums, points, _), (where, rates) = lent((twin, hiding))
    n = given.shape[1]
    x, seen, scratch = np.zeros(n), np.zeros(n), np.zeros(n)
    for t in range(len(given)):
        for _ in range(CORRECTIONS if t + 1 < len(given) and where[t] >= 0 else 0):
            ahead(states, given[t], copied(moved, t), copied(moved, t + 1), x, seen, scratch)
            reached, far = values(states[1]), False
            for i in range(n):
                far |= abs(reached[i] - wanted[t + 1, i]) > ROUNDING * abs(wanted[t + 1, i])
                table[where[t] + i] -= (reached[i] - wanted[t + 1, i]) / rates[t, i]
            if not far:
                break
        now = copied(moved, t)
        choose(states[0], points[t], now)
        put(values(states[0]), sums[t])
        update(states[0], given[t], now)


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
    game = made_of(target)
    table = game.shortened(max(FIRST, BYTES // target.state.nbytes))
    normal = table.kind == "normal"
    try:
        others = table.acts(*(kind for kind in Draws._fields if kind != table.kind))
        if others and not table.acts(table.kind):
            raise Unclear(f"the noise is not made of `rng.{table.kind}`: the audit cannot move it")
        broken = first_row(~np.isfinite(table.first.sums))
        if broken < table.rounds:
            raise Refuted(f"prefix {broken:,} is not a finite number: its noise has no law")
        whole = hidden_alone(table.shortened(FIRST + 1))
        table = table if whole else table.shortened(FIRST)
        allowed = gaussian.mu_of(target.claim.epsilon, target.claim.delta) if normal else target.claim.epsilon
        if whole:
            found = cost_of_long(table, allowed)
            if table.rounds < game.rounds:
                last = game.part(range(game.rounds - table.rounds, game.rounds))
                rates_of_noise(last, last.others)
        else:
            size, worst = largest_cost(table)
            found = Cost(size, size, worst, table.rounds)
            if table.rounds < game.rounds:
                like_the_first(game, table.rounds)
    except Unclear as reason:
        return replace(_so_far(table), found=str(reason))
    except Refuted as finding:
        excuse = sum_excuses.of(*finding.at) if finding.at else ""
        return replace(_so_far(table), verdict="NOT AUDITABLE" if excuse else "VIOLATION", found=excuse or str(finding))
    return verdict_on(table, found, allowed, others)


def verdict_on(table: Bench, found: Cost, allowed: float, others: bool) -> Audit:
    """The verdict on this cost; others: whether numbers of other kinds enter the sums, too."""
    claim, normal, so_far = table.target.claim, table.kind == "normal", _so_far(table)
    least, most = (gaussian.epsilon_of(size, claim.delta) if normal else size for size in found[:2])
    if found.least > (1 + EXACT) * allowed:
        if normal and others:
            excuse = f"given the numbers of other kinds, which are noise, too, a loss costs ε = {at_least(least)}"
        elif not normal and claim.delta > 0:
            excuse = f"a loss costs ε = {at_least(least)} at δ = 0; its cost at δ is not computed"
        elif not (excuse := sum_excuses.of(table, found.round - 1)):
            return judged(so_far, claim, found.least, normal=normal, worst=f"the loss of round {found.round:,}")
        return replace(so_far, found=excuse)
    loss, later = "equal sums lead to equal points; a loss", ""
    if found.most > (1 + EXACT) * allowed:
        later = f"losses cost no more than those of the first {found.rounds:,} rounds; "
        cost = f"at least ε = {at_least(least)}, and at most ε = {at_most(most)} if all numbers but N a round are known"
        words, most = f"{loss} costs {cost}", (1 + EXACT) * claim.epsilon
        so_far = replace(so_far, verdict="CONSISTENT", found=words, epsilon_seen=least, refutable=most)
    else:
        law = f", exactly: that of round {found.round:,}" if found.least == found.most else ""
        so_far = judged(so_far, claim, found.most, loss, law, normal)
    return replace(so_far, assumed=later + assumed(table.target, table.rounds, table.first.points, table.near))


def _so_far(table: Bench) -> Audit:
    law = "Gaussian" if table.kind == "normal" else "Laplace"
    games = f"pairs of games of {played(table.target, table.rounds)} with equal sums"
    return Audit("NOT AUDITABLE", f"{table.target.claim} of all noisy sums, {law} noise", "", table.cost, played=games)


def made_of(target: Target[Noisy]) -> Bench:
    """The games of an audit. The noise is made of normal numbers if there are any, and no Laplace numbers."""
    numbers = dealt(target)
    kind = "normal" if len(numbers.normal) and not len(numbers.laplace) else "laplace"
    pure = kind == "normal" and target.claim.delta == 0
    wrong = "has Gaussian noise: it needs a guarantee with δ > 0" * pure
    if target.view.noise is not None:
        wrong = "is of whole numbers mod M, as only bandits have: leave out `modulus` and `noise`"
    check_view(target, "full", wrong)
    return Bench(target, kind, numbers, losses_of(target, numbers.rounds, 0))


# ------------------------------------------------------------------------------------- long games


def cost_of_long(table: Bench, allowed: float) -> Cost:
    """The cost of a loss in a whole game; raise Refuted if the numbers of a round do not hide its loss."""
    hiding, special = rates_of_noise(table, table.others), special_losses(table)
    worst = _cost(table, hiding, allowed, special)
    for path, other in table.paths:
        found = rates_of_noise(path, [other])
        if hiding.unlike(found, path.slack(path.first)) < path.rounds - 1:
            worst = max(worst, _cost(path, found, allowed, special), key=lambda cost: (cost.least, cost.most))
        table.cost += path.cost
    return worst


def special_losses(table: Bench) -> list[int] | None:
    """The rounds, from 0, of some losses that act in another way than others, which enter the next sum once.

    None if most losses act in another way.
    """
    found = set[int]()
    for other in table.others:
        odd = odd_rounds(table, other)
        if len(odd) > table.rounds / ORDINARY:
            return None
        found |= {_culprit(table, other, int(t)) for t in odd[[0, -1]]} if len(odd) else set()
    return sorted(found - {table.rounds - 1})


def _culprit(table: Bench, other: Floats, t: int) -> int:
    """A round whose loss makes the sum after round t another one than that of the losses and the noise."""
    first, last, own = 0, t + 1, table.part(range(min(t + 2, table.rounds)))
    while last - first > 1:
        middle, mixed = (first + last) // 2, own.given.copy()
        mixed[middle:last] = other[middle:last]
        first, last = (middle, last) if t in odd_rounds(own, mixed) else (first, middle)
    return first


def _cost(table: Bench, hiding: Hiding, allowed: float, special: list[int] | None) -> Cost:
    """The cost of a loss in games like this one."""
    taus = sorted({*canaries(table, hiding), *(special or [])})
    most, tau, support = largest_move(table, hiding, taus)
    others = table.acts(table.kind, kept=hiding.where[hiding.where >= 0])
    if special is None:
        check_coordinates(table, hiding, taus[-1], math.inf if others else allowed)
    if not others:
        return Cost(most, most, tau + 1, table.rounds)
    if most <= (1 + EXACT) * allowed:
        return Cost(0.0, most, tau + 1, table.rounds)
    if special == [] and table.rounds <= FIRST:  # the matrix of all losses, each of which enters the next sum once
        size, worst = largest_cost(table)
        return Cost(size, size, worst, table.rounds)
    known = least_cost(table, [tau, *taus], support)
    if known is None:
        first = table.shortened(FIRST)
        return Cost(largest_cost(first)[0], most, tau + 1, FIRST)
    least, worst, rounds = known
    exact = rounds == table.rounds and table.kind == "normal"
    return Cost(least, least if exact else most, worst + 1, rounds)


def canaries(table: Bench, hiding: Hiding) -> list[int]:
    """The rounds, counted from 0, whose loss is replaced alone, without the last one, whose loss is in no sum.

    They are the rounds around powers of two, and random ones. If the rate of the noise varies, the round with the least
    rate is one of them, and so are the rounds at which a node of a tree that contains this round may begin. So is the
    round at which the node with the least rate of each level begins.
    """
    powers = 2 ** np.arange(table.rounds.bit_length())
    some = table.target.stream("canaries").integers(0, table.rounds - 1, RANDOM)
    least, known = hiding.least(), hiding.where >= 0
    varies = least.min() < (1 - EXACT) * least[known].max(initial=0.0)
    weakest = int(np.argmin(least)) // powers * powers if varies else powers
    starts, ended = list[int](), np.arange(1, table.rounds)
    for size in powers if varies else ():
        closed = np.where((ended & -ended == size) & known, least, np.inf)
        starts.append(int(np.argmin(closed)) + 1 - int(size))
    found = np.unique(np.concatenate([powers - 1, powers, some, weakest, np.maximum(starts, 0)])).astype(np.int64)
    return [int(tau) for tau in found if tau < table.rounds - 1]


def measured(table: Bench, own: Dealt | None = None, given: Floats | None = None) -> Hiding:
    """The numbers that hide losses in the game with these numbers and losses."""
    own, given = (own or table.numbers).copy(), (table.given if given is None else given).copy()
    game = table.play(own, given)
    size = step_of(float(np.abs(game.sums).max()))
    by = size * table.target.stream("signs").choice([-1.0, 1.0], given.shape)
    hiding = Hiding(np.full(len(given) - 1, -1), np.zeros_like(given[1:]))
    loop, states = table.target.loop(measure, ahead=table.target.call(play_ahead)), np.repeat(table.target.state, 2)
    plan = table.mark(), game, by, table.slack(game, given=given), table.near
    twice = table.start + loop(states, given, own, table.own(own), *plan, hiding) + 1
    if twice <= table.start + len(given):
        raise Refuted(f"in round {twice:,} the point depends on a random number that hides losses later")
    table.cost += 3 * len(given)
    hiding.rates[hiding.where < 0] = 0.0
    return hiding


def hidden_alone(table: Bench) -> bool:
    """Whether the sums of a twin can be made equal by numbers that first enter the next sum."""
    hiding, other = measured(table), next(table.others)
    prefix, point = table.apart(table.first, moved_along(table, other, hiding)[1], other)
    return point < prefix or prefix == table.rounds or bool(hiding.where[prefix - 1] >= 0)


def rates_of_noise(table: Bench, others: Iterable[Floats]) -> Hiding:
    """The numbers that hide losses, which must be the same at the same rates in games with all losses replaced.

    Raises Refuted if a loss acts on a sum without such numbers, or if their effect depends on the losses or on other
    numbers.
    """
    hiding, slack = measured(table), table.slack(table.first)
    least = float(hiding.least().min())
    if not least > CLEAR * slack:
        clipped = hiding.lost(measured(table, again(table.target, table.numbers, "anew")), CLEAR * slack)
        if clipped < table.rounds - 1:
            raise Refuted(f"the noise of prefix {table.start + clipped + 1:,} is no multiple of `rng.{table.kind}`")
        raise Unclear(f"noise of {least:.2g} is lost in the rounding of sums of losses")
    for number, other in enumerate(others):
        moved = followed(table, other, hiding)
        anew = again(table.target, table.numbers, f"other {number}").having(table.kind, table.own(moved))
        changed = hiding.unlike(measured(table, anew, other), slack)
        if changed < table.rounds - 1:
            words = f"depends on the losses, or is no multiple of `rng.{table.kind}`"
            raise Refuted(f"the noise of prefix {table.start + changed + 1:,} {words}", (table, changed))
    return hiding


def followed(table: Bench, other: Floats, hiding: Hiding, start: int = 0) -> Dealt:
    """The numbers with which game B, whose losses are `other`, has the same sums as game A.

    Their losses are equal before round `start`. Raises Refuted if no numbers do this, or if B plays other points.
    """
    moved, twin = moved_along(table, other, hiding, start)
    sums, points, state = table.first
    prefix, point = table.apart(Game(sums[start:], points[start:], state), twin, other)
    last = start + prefix - 1
    if prefix <= point and last + 1 < table.rounds and hiding.where[last] < 0:
        if table.mark()[last] == table.mark()[last + 2]:
            raise Unclear(f"no numbers are drawn in round {table.start + last + 1:,} or the next one to hide its loss")
        raise Refuted(f"no noise of its own hides the loss of round {table.start + last + 1:,}", (table, last))
    table.compare(twin, moved, other, start)
    return moved


def moved_along(table: Bench, other: Floats, hiding: Hiding, start: int = 0) -> tuple[Dealt, Game]:
    """The numbers of game B, moved in each round so that its next sum is that of A; its sums and its points."""
    moved, states, given = table.numbers.copy(), np.repeat(table.play(rounds=range(start)).state, 2), other[start:]
    table.cost += (1 + 2 * CORRECTIONS) * len(given)
    twin, later = Game(np.empty_like(given), np.zeros_like(given), states), hiding.since(start)
    loop = table.target.loop(follow, ahead=table.target.call(play_ahead))
    loop(states, given.copy(), moved.since(start), table.own(moved), later, table.first.sums[start:], twin)
    return moved, twin


def largest_move(table: Bench, hiding: Hiding, taus: list[int]) -> tuple[float, int, Ints]:
    """The largest norm of the moves that hide one loss, μ or ε; the round of this loss; the sums around its moves."""
    losses, normal = loss_set(table.target.setting), table.kind == "normal"
    low, high = ends_of(table)
    given = table.given.copy()
    given[taus] = low
    tables = (again(table.target, table.numbers, name) for name in ("one", "two"))
    one, another = (replace(table, given=given, numbers=numbers) for numbers in tables)

    def cost(moved: Floats) -> float:
        return losses.changes(np.linalg.norm(moved, ord=2 if normal else 1, axis=0))[normal]

    def moves(pair: Bench, tau: int) -> Floats:
        """How far the numbers move per unit of the change of the loss, a change of every coordinate."""
        return np.asarray(moves_of(pair, hiding, tau, high) / (high - low), np.float64)

    costs = {tau: cost(moves(one, tau)) for tau in taus}
    worst = max(costs, key=costs.__getitem__)
    found = moves(one, worst)
    table.cost += one.cost + another.cost
    if not cost(found - moves(another, worst)) <= EXACT * costs[worst]:
        law = "Gaussian" if normal else "Laplace noise"
        words = (
            f"what hides the loss of round {table.start + worst + 1:,} depends on the noise, which is then not {law}"
        )
        raise Refuted(words, (one, worst))
    near = np.flatnonzero((np.abs(found) > EXACT * np.abs(found).max()).any(axis=1))[: FIRST // 2]
    return costs[worst], worst, np.unique([0, *near, *(near + 1)])


def ends_of(table: Bench) -> tuple[Floats, Floats]:
    """Two losses that differ in every coordinate."""
    low, high = loss_set(table.target.setting).ends()
    if (low != high).all():
        return low, high
    return np.full(len(low), -1.0 / len(low)), np.full(len(low), 1.0 / len(low))


def moves_of(table: Bench, hiding: Hiding, tau: int, loss: Floats) -> Floats:
    """How far the numbers of each round and coordinate move to hide this loss in round tau, `[round, N]`."""
    other, known = table.given.copy(), hiding.where >= 0
    other[tau] = loss
    moved = table.own(followed(table, other, hiding, tau)) - table.own(table.numbers)
    places = np.where(known, hiding.where, 0)[:, None] + np.arange(len(loss))
    return np.asarray(known[:, None] * moved[places], np.float64)


def check_coordinates(table: Bench, hiding: Hiding, tau: int, allowed: float) -> None:
    """Raise Refuted or Unclear if a loss in one coordinate acts on the sums of others.

    Then the moves for a change of all coordinates do not tell what another change costs. allowed: what the moves for
    one coordinate may cost, infinite if other numbers hide a loss, too.
    """
    low, high = ends_of(table)
    given = table.given.copy()
    given[tau] = low
    own = replace(table, given=given)
    together, normal = moves_of(own, hiding, tau, high), table.kind == "normal"
    for i in range(len(low)):
        alone = np.where(np.arange(len(low)) == i, high, low)
        found = moves_of(own, hiding, tau, alone)
        least = float(np.linalg.norm(found.ravel(), ord=2 if normal else 1))
        if least > (1 + EXACT) * allowed:
            size = f"{'μ' if normal else 'ε'} = {at_least(least)}"
            raise Refuted(f"the loss of round {table.start + tau + 1:,} costs {size}, where {allowed:.6g} is allowed")
        found[:, i] -= together[:, i]
        if np.abs(found).max() > EXACT * max(least, float(np.abs(together).max())):
            raise Unclear(ACROSS)
