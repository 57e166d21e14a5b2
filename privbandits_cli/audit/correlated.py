"""Audit of noisy prefixes of losses whose noise is correlated, by coupled games; no statistics are needed.

Game B has other losses than game A, and the same random numbers, but its normal numbers are moved round by round until
each prefix of B is the one of A. Three facts follow:

- Both games must play the same points. Otherwise a loss acts past the prefixes.
- The number of each round must move the next prefix, at a rate that depends neither on the losses nor on the noise.
  The number of a round is then hidden from all earlier rounds, and the prefixes are a linear function of all numbers.
- If only one loss differs, the moves are therefore those of the mean of standard normal numbers. Their Euclidean norm
  is the μ of this loss, exactly.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.rounding import at_least, at_most
from privbandits_cli.audit.draws import Marks, assumed, check_view, drawn, numbers_of, played, step_of
from privbandits_cli.audit.prefix_games import TWINS, Bench, Game, bench
from privbandits_cli.audit.prefixes import CLEAR, EXACT, Refuted, Unclear, apart, carrier_of, first_row
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.twins import copy
from privbandits_cli.audit.verdict import Audit, Verdict
from privbandits_cli.games.linear import Draws, Floats, choose, loss_set, update
from privbandits_cli.games.views import Correlated
from privbandits_cli.numerics.jit import Records, unbound

losses: Any = unbound  # these are bound when a loop is compiled
ahead: Any = unbound

RANDOM = 8  # rounds, besides the powers of two, whose loss is replaced alone
CORRECTIONS = 2  # of a number: the first is right if the noise is linear, the second removes rounding


def play_ahead(states: Records, loss: Floats, now: Draws, then: Draws, x: Floats) -> None:
    """Make `states[1]` the state that shows the next prefix, if `states[0]` meets this loss with these numbers."""
    copy(states, 0, 1)
    x[:] = 0.0
    choose(states[1], x, now)
    update(states[1], loss, now)
    x[:] = 0.0
    choose(states[1], x, then)


def measure(
    states: Records, given: Floats, own: Draws, marks: Marks, prefixes: Floats, by: Floats, rates: Floats
) -> None:
    """Fill `rates[round, N]`: how a prefix grows with the number of the round before, moved by `by[round, N]`."""
    x = np.zeros(given.shape[1])
    for t in range(len(given) - 1):
        now, then = numbers_of(own, marks, t), numbers_of(own, marks, t + 1)
        ahead(states, given[t], Draws(now.uniform, now.laplace, now.normal + by[t]), then, x)
        rates[t] = (losses(states[1]) - prefixes[t + 1]) / by[t]
        x[:] = 0.0
        choose(states[0], x, now)
        update(states[0], given[t], now)


def follow(
    states: Records,
    given: Floats,
    moved: Draws,
    marks: Marks,
    wanted: Floats,
    rates: Floats,
    prefixes: Floats,
    points: Floats,
) -> None:
    """Play game B, and move its normal numbers such that its prefixes are those that are `wanted`, `[round, N]`.

    states: B and scratch space; rates: see `measure`. Filled in: `moved.normal`, `prefixes` and `points`.
    """
    x = np.zeros(given.shape[1])
    for t in range(len(given)):
        now = numbers_of(moved, marks, t)
        for _ in range(CORRECTIONS if t + 1 < len(given) else 0):
            ahead(states, given[t], now, numbers_of(moved, marks, t + 1), x)
            seen = losses(states[1])
            for i in range(len(seen)):
                now.normal[i] -= (seen[i] - wanted[t + 1, i]) / rates[t, i]
        choose(states[0], points[t], now)
        prefixes[t] = losses(states[0])
        update(states[0], given[t], now)


def audit_correlated(target: Target[Correlated]) -> Audit:
    """Whether the prefixes reveal more about a loss than (ε, δ) allows, and whether the points reveal any more."""
    check_view(target, "full", gaussian=True)
    table, seen = bench(target, "normal"), None
    taus = canaries(table)
    games = (
        f"pairs of games of {played(target, table.marks)} with equal prefixes, {TWINS} with all losses replaced, "
        f"{len(taus)} with one"
    )

    def verdict(word: Verdict, found: str) -> Audit:
        claimed = f"{target.claim} of all noisy prefixes, Gaussian noise"
        return Audit(word, claimed, found, table.cost, seen, None, games, assumed(target, table.marks))

    try:
        rates = rates_of_noise(table)
        mu, at = largest_move(table, rates, taus)
    except Unclear as reason:
        return verdict("NOT AUDITABLE", str(reason))
    except Refuted as finding:
        return verdict("VIOLATION", str(finding))
    claim = target.claim
    seen = gaussian.epsilon_of(mu, claim.delta)
    allowed = gaussian.mu_of(claim.epsilon, claim.delta)
    if mu > (1 + EXACT) * allowed:
        most = f"μ = {mu:.6g} where {allowed:.6g} is allowed"
        return verdict("VIOLATION", f"the loss of round {at:,} costs ε = {at_least(seen)}, {most}")
    words = f"a loss costs at most ε = {at_most(seen)}, exactly: that of round {at:,}, μ = {mu:.6g}"
    result = verdict("CONSISTENT", f"equal prefixes lead to equal points; {words}")
    return replace(result, refutable=(1 + EXACT) * claim.epsilon)


def canaries(table: Bench) -> list[int]:
    """The rounds, from 0, whose loss is replaced alone; the last loss is in no prefix."""
    powers = 2 ** np.arange(table.rounds.bit_length()) - 1
    some = table.target.stream("canaries").integers(0, table.rounds - 1, RANDOM)
    found = np.unique(np.concatenate([powers, some]))
    return [int(tau) for tau in found if tau < table.rounds - 1]


def rates_of_noise(table: Bench) -> Floats:
    """How each prefix grows with the number of the round before, `[round, N]`, after games with all losses replaced.

    Raises Refuted if a number has no effect, or if its effect depends on the losses or the noise.
    """
    if (np.diff(table.marks[Draws._fields.index("normal")]) != table.given.shape[1]).any():
        raise Unclear("a views.Correlated needs one number of `rng.normal` for each coordinate in every round")
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
            words = "depends on the losses, or is no multiple of `rng.normal`"
            raise Refuted(f"the noise of prefix {changed + 1:,} {words}")
    return rates


def largest_move(table: Bench, rates: Floats, taus: list[int]) -> tuple[float, int]:
    """The largest μ of one loss that is replaced, and its round, from 1."""
    low, high = loss_set(table.target.setting).ends()
    given = table.given.copy()
    given[taus] = low
    one, another = (
        replace(table, given=given, numbers=drawn(table.target, table.marks, name)) for name in ("one", "two")
    )

    def moves(pair: Bench, tau: int) -> Floats:
        other = given.copy()
        other[tau] = high
        return _followed(pair, other, rates, tau).normal - pair.numbers.normal

    norms = {tau: float(np.linalg.norm(moves(one, tau))) for tau in taus}
    worst = max(norms, key=norms.__getitem__)
    difference = moves(one, worst) - moves(another, worst)
    table.cost = one.cost + another.cost - table.cost
    if not np.linalg.norm(difference) <= EXACT * norms[worst]:
        raise Refuted(f"what hides the loss of round {worst + 1:,} depends on the noise, which is then not Gaussian")
    return norms[worst], worst + 1


def _rates(table: Bench, own: Draws, given: Floats, by: Floats) -> Floats:
    """`measure` along this game, `[round - 1, N]`."""
    game, rates = table.play(own, given=given), np.zeros_like(given)
    table.cost += 3 * table.rounds
    loop = table.target.loop(measure, ahead=table.target.call(play_ahead))
    loop(np.repeat(table.target.state, 2), given.copy(), _copy(own), table.marks, game.prefixes, by, rates)
    return rates[:-1]


def _followed(pair: Bench, other: Floats, rates: Floats, start: int) -> Draws:
    """The numbers with which game B, whose losses are `other`, has the prefixes of game A, that of the pair.

    Their losses are equal before round `start`. Raises Refuted if there are none, or if B plays other points.
    """
    rounds, first, moved = range(start, pair.rounds), pair.first, _copy(pair.numbers)
    pair.cost += (1 + 2 * CORRECTIONS) * len(rounds)
    states = np.repeat(pair.play(rounds=range(start)).state, 2)
    prefixes, points = np.empty_like(other[start:]), np.zeros_like(other[start:])
    loop = pair.target.loop(follow, ahead=pair.target.call(play_ahead))
    marks, wanted = tuple(mark[start:] for mark in pair.marks), first.prefixes[start:]
    loop(states, other[start:].copy(), moved, marks, wanted, rates[start:], prefixes, points)
    prefix, point = apart(pair, Game(prefixes, points, states), Game(wanted, first.points[start:], first.state))
    if prefix <= point and prefix < len(rounds):
        words = "is not the sum of the losses and of noise that does not depend on them and is linear in `rng.normal`"
        raise Refuted(f"prefix {start + prefix:,} {words}")
    if point < len(rounds):
        t = start + point
        words = f"in round {t + 1:,}, two games with the same prefixes play different points"
        raise Refuted(f"{words}: {carrier_of(pair, t, moved, other)} carries the losses past the view")
    return moved


def _copy(numbers: Draws) -> Draws:
    return Draws(*(table.copy() for table in numbers))
