"""Audit of noisy prefixes of losses whose noise is a linear function of the random numbers; no statistics are needed.

There are two methods. This file couples long games as a whole, if every round has one random number for each
coordinate, which first enters the next prefix. (The first round may have another N numbers before these, which prefix 0
reveals.) The matrix of the noise (`audit/noise_matrix.py`) serves for short games, and for the first rounds of games
with other noise.

Game B has other losses than game A and the same random numbers. The audit moves the numbers of B's noise, round by
round, until each prefix of B equals that of A. Three facts follow:

- Both games must play the same points. Otherwise a loss acts by another way than the prefixes.
- The number of each round must move the next prefix, at a rate that depends neither on the losses nor on the noise.
  Then no earlier round uses the number, and the prefixes are a linear function of all numbers.
- If only one loss differs, these moves are what hides it. Their Euclidean norm is exactly the μ of this loss if the
  numbers are normal. The sum of their absolute values is exactly its ε at δ = 0 if they are Laplace numbers.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.rounding import at_least, at_most
from privbandits_cli.audit.draws import ROUNDS, Marks, assumed, check_view, copied, drawn, played, step_of
from privbandits_cli.audit.noise_matrix import FIRST, NOT_LINEAR, largest_cost
from privbandits_cli.audit.prefix_games import TWINS, Bench, Game, bench
from privbandits_cli.audit.prefixes import CLEAR, Refuted, Unclear, apart, carrier_of, first_row
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.twins import copy
from privbandits_cli.audit.verdict import EXACT, Audit, Verdict
from privbandits_cli.games.linear import Draws, Floats, Ints, choose, loss_set, update
from privbandits_cli.games.views import Correlated
from privbandits_cli.numerics.jit import Records, unbound

losses: Any = unbound  # these are bound when a loop is compiled
ahead: Any = unbound

BYTES = 2**30  # a game with more than FIRST rounds copies at most so many bytes of states
RANDOM = 8  # random rounds whose loss is replaced alone, besides the powers of two
CORRECTIONS = 2  # moves of each number: the first is right if the noise is linear, the second removes rounding


def play_ahead(states: Records, loss: Floats, now: Draws, then: Draws, x: Floats) -> None:
    """Set `states[1]` to the state that follows `states[0]` after this loss. It shows the next prefix."""
    copy(states, 0, 1)
    x[:] = 0.0
    choose(states[1], x, now)
    update(states[1], loss, now)
    x[:] = 0.0
    choose(states[1], x, then)


def measure(
    states: Records,
    given: Floats,
    own: Draws,
    marks: Marks,
    table: Floats,
    place: Ints,
    prefixes: Floats,
    by: Floats,
    rates: Floats,
) -> None:
    """Fill `rates[round, N]`: by how much each prefix grows per unit of the number of the round before.

    by: how far each number is moved, `[round, N]`. table: the numbers of `own` of which the noise consists. place:
    where the N numbers of each round begin.
    """
    n = given.shape[1]
    x, kept = np.zeros(n), np.zeros(n)
    for t in range(len(given) - 1):
        numbers = table[place[t] : place[t] + n]
        kept[:] = numbers
        numbers += by[t]
        ahead(states, given[t], copied(own, marks, t), copied(own, marks, t + 1), x)
        numbers[:] = kept
        rates[t] = (losses(states[1]) - prefixes[t + 1]) / by[t]
        now = copied(own, marks, t)
        x[:] = 0.0
        choose(states[0], x, now)
        update(states[0], given[t], now)


def follow(
    states: Records,
    given: Floats,
    moved: Draws,
    marks: Marks,
    table: Floats,
    place: Ints,
    wanted: Floats,
    rates: Floats,
    prefixes: Floats,
    points: Floats,
) -> None:
    """Play game B, and move its numbers so that its prefixes are `wanted`, `[round, N]`.

    states: B and scratch space; table, place, rates: see `measure`. Filled in: `moved`, `prefixes` and `points`.
    """
    x = np.zeros(given.shape[1])
    for t in range(len(given)):
        for _ in range(CORRECTIONS if t + 1 < len(given) else 0):
            ahead(states, given[t], copied(moved, marks, t), copied(moved, marks, t + 1), x)
            seen = losses(states[1])
            for i in range(len(seen)):
                table[place[t] + i] -= (seen[i] - wanted[t + 1, i]) / rates[t, i]
        now = copied(moved, marks, t)
        choose(states[0], points[t], now)
        prefixes[t] = losses(states[0])
        update(states[0], given[t], now)


def audit_correlated(target: Target[Correlated]) -> Audit:
    """Audit whether the prefixes reveal more about a loss than (ε, δ) allows, and whether the points reveal more."""
    normal, claim = target.view.gaussian, target.claim
    check_view(target, "full", normal)
    rounds = max(FIRST, min(ROUNDS, BYTES // target.state.nbytes))
    table, seen = bench(target, "normal" if normal else "laplace", rounds), None
    whole = table.rounds > FIRST and one_number(table)
    if not whole:
        table = bench(target, table.kind, FIRST)
    taus = canaries(table) if whole else list(range(table.rounds - 1))
    games = (
        f"pairs of games of {played(target, table.marks)} with equal prefixes, {TWINS} with all losses replaced, "
        f"{len(taus)} with one"
    )

    def verdict(word: Verdict, found: str) -> Audit:
        claimed = f"{claim} of all noisy prefixes, {'Gaussian' if normal else 'Laplace'} noise"
        return Audit(
            word, claimed, found, table.cost, seen, None, games, assumed(target, table.marks, table.first.points)
        )

    try:
        size, at = largest_move(table, rates_of_noise(table), taus) if whole else largest_cost(table)
    except Unclear as reason:
        return verdict("NOT AUDITABLE", str(reason))
    except Refuted as finding:
        return verdict("VIOLATION", str(finding))
    seen = gaussian.epsilon_of(size, claim.delta) if normal else size
    allowed = gaussian.mu_of(claim.epsilon, claim.delta) if normal else claim.epsilon
    if size > (1 + EXACT) * allowed:
        if not normal and claim.delta > 0:
            return verdict(
                "NOT AUDITABLE", f"a loss costs ε = {at_least(seen)} at δ = 0; its cost at δ is not computed"
            )
        most = f"μ = {size:.6g} where {allowed:.6g} is allowed" if normal else f"where {allowed:.6g} is allowed"
        return verdict("VIOLATION", f"the loss of round {at:,} costs ε = {at_least(seen)}, {most}")
    seen = min(seen, claim.epsilon)  # measured to EXACT
    words = f"a loss costs at most ε = {at_most(seen)}, exactly: that of round {at:,}" + f", μ = {size:.6g}" * normal
    result = verdict("CONSISTENT", f"equal prefixes lead to equal points; {words}")
    return replace(result, refutable=(1 + EXACT) * claim.epsilon)


def one_number(table: Bench) -> bool:
    """Whether each round has N numbers. The first round may have N more before them, which prefix 0 reveals.

    The last N numbers of the first round must enter prefix 1, and not prefix 0.
    """
    n, (first, *later) = table.given.shape[1], np.diff(table.mark())
    if first not in (n, 2 * n) or any(count != n for count in later):
        return False
    entered = []
    for begin in range(0, first, n):
        size = step_of(float(np.abs(table.first.prefixes[:2]).max()))
        moved = table.moved(np.arange(begin, begin + n), np.full(n, size))
        games = [table.play(own, rounds=range(2)) for own in (None, moved)]
        entered.append(np.abs(games[1].prefixes - games[0].prefixes) > table.slack(*games))
    revealed = all(before[0].all() for before in entered[:-1])
    return revealed and not entered[-1][0].any() and bool(entered[-1][1].all())


def places(table: Bench) -> Ints:
    """Where the last N numbers of each round begin, `[round]`."""
    return np.asarray(table.mark()[1:] - table.given.shape[1], np.int64)


def canaries(table: Bench) -> list[int]:
    """The rounds, counted from 0, whose loss is replaced alone, without the last one, whose loss is in no prefix."""
    powers = 2 ** np.arange(table.rounds.bit_length()) - 1
    some = table.target.stream("canaries").integers(0, table.rounds - 1, RANDOM)
    found = np.unique(np.concatenate([powers, some]))
    return [int(tau) for tau in found if tau < table.rounds - 1]


def rates_of_noise(table: Bench) -> Floats:
    """By how much each prefix grows per unit of the number of the round before, `[round, N]`.

    The rates must be the same in games with all losses replaced.

    Raises Refuted if a number has no effect, or if its effect depends on the losses or the noise.
    """
    broken = first_row(~np.isfinite(table.first.prefixes))
    if broken < table.rounds:
        raise Refuted(f"prefix {broken:,} is not a finite number: its noise has no law")
    size, slack = step_of(float(np.abs(table.first.prefixes).max())), table.slack(table.first)
    by = size * table.target.stream("signs").choice([-1.0, 1.0], table.given.shape)
    rates = _rates(table, table.numbers, table.given, by)
    silent = first_row(np.abs(rates) <= slack / size)
    if silent < len(rates):
        raise Refuted(f"no noise of its own hides the loss of round {silent + 1:,}")
    if not np.abs(rates).min() > CLEAR * slack:
        raise Unclear(f"noise of {np.abs(rates).min():.2g} is lost in the rounding of sums of losses")
    for other in table.others:
        moved = _followed(table, other, rates, 0)
        again = _rates(table, moved, other, by)
        changed = first_row(~(np.abs(again - rates) <= EXACT * np.abs(rates) + 4 * slack))
        if changed < len(rates):
            words = f"depends on the losses, or is no multiple of `rng.{table.kind}`"
            raise Refuted(f"the noise of prefix {changed + 1:,} {words}")
    return rates


def largest_move(table: Bench, rates: Floats, taus: list[int]) -> tuple[float, int]:
    """The largest μ of one loss (normal numbers) or its largest ε (Laplace numbers), and its round, from 1."""
    losses, normal = loss_set(table.target.setting), table.kind == "normal"
    low, high = losses.ends()
    if not (low != high).all():  # a change of every coordinate shows the moves in every coordinate
        low, high = (np.full(len(low), end / len(low)) for end in (-1.0, 1.0))
    given = table.given.copy()
    given[taus] = low
    one, another = (
        replace(table, given=given, numbers=drawn(table.target, table.marks, name)) for name in ("one", "two")
    )

    def moves(pair: Bench, tau: int) -> Floats:
        """How far the numbers of each coordinate move, `[number, N]`, per unit of the change of the loss."""
        other = given.copy()
        other[tau] = high
        moved = pair.own(_followed(pair, other, rates, tau)) - pair.own(pair.numbers)
        return moved[-given.size :].reshape(given.shape) / (high - low)

    def cost(moved: Floats) -> float:
        return losses.changes(np.linalg.norm(moved, ord=2 if normal else 1, axis=0))[normal]

    costs = {tau: cost(moves(one, tau)) for tau in taus}
    worst = max(costs, key=costs.__getitem__)
    difference = moves(one, worst) - moves(another, worst)
    table.cost = one.cost + another.cost - table.cost
    if not cost(difference) <= EXACT * costs[worst]:
        law = "Gaussian" if normal else "Laplace noise"
        raise Refuted(f"what hides the loss of round {worst + 1:,} depends on the noise, which is then not {law}")
    return costs[worst], worst + 1


def _rates(table: Bench, own: Draws, given: Floats, by: Floats) -> Floats:
    """The rates in the game with these numbers and losses, `[round - 1, N]`."""
    game, rates, kept = table.play(own, given=given), np.zeros_like(given), _copy(own)
    table.cost += 3 * table.rounds
    loop, states = table.target.loop(measure, ahead=table.target.call(play_ahead)), np.repeat(table.target.state, 2)
    loop(states, given.copy(), kept, table.marks, table.own(kept), places(table), game.prefixes, by, rates)
    return rates[:-1]


def _followed(pair: Bench, other: Floats, rates: Floats, start: int) -> Draws:
    """The numbers with which game B, whose losses are `other`, has the same prefixes as game A.

    Their losses are equal before round `start`. Raises Refuted if no numbers do this, or if B plays other points.
    """
    rounds, first, moved = range(start, pair.rounds), pair.first, _copy(pair.numbers)
    pair.cost += (1 + 2 * CORRECTIONS) * len(rounds)
    states = np.repeat(pair.play(rounds=range(start)).state, 2)
    prefixes, points = np.empty_like(other[start:]), np.zeros_like(other[start:])
    loop = pair.target.loop(follow, ahead=pair.target.call(play_ahead))
    marks, wanted = tuple(mark[start:] for mark in pair.marks), first.prefixes[start:]
    table, place = pair.own(moved), places(pair)[start:]
    loop(states, other[start:].copy(), moved, marks, table, place, wanted, rates[start:], prefixes, points)
    prefix, point = apart(pair, Game(prefixes, points, states), Game(wanted, first.points[start:], first.state))
    if prefix <= point and prefix < len(rounds):
        raise Refuted(f"prefix {start + prefix:,} {NOT_LINEAR.format(pair.kind)}")
    if point < len(rounds):
        t = start + point
        words = f"in round {t + 1:,}, two games with the same prefixes play different points"
        raise Refuted(f"{words}: {carrier_of(pair, t, moved, other)} carries the losses past the view")
    return moved


def _copy(numbers: Draws) -> Draws:
    return Draws(*(table.copy() for table in numbers))
