"""Audit of the first noisy prefixes of losses by the whole matrix of their noise; no statistics are needed.

The audit moves each random number alone, which shows how the number enters every prefix. The prefixes must be the sums
of the losses plus B z, where the matrix B depends neither on the losses nor on the numbers z. A change of one loss by 1
moves all later prefixes by 1. A move of the numbers by s hides this if B s is 1 in these prefixes and 0 in the earlier
ones.

- Normal numbers: the least |s|₂ is exactly the μ of this loss.
- Laplace numbers: the least |s|₁ is exactly its ε at δ = 0. No likelihood ratio is larger, and by the duality of linear
  programmes there is a direction in which it comes as close as one likes.

A number may be drawn before the loss that it hides, and a round may have any number of them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from privbandits_cli.audit.draws import Marks, copied, drawn, step_of
from privbandits_cli.audit.prefix_games import Bench
from privbandits_cli.audit.prefixes import CLEAR, Refuted, Unclear, apart, carrier_of, first_row
from privbandits_cli.audit.twins import copy
from privbandits_cli.audit.verdict import EXACT
from privbandits_cli.games.linear import Draws, Floats, Ints, choose, loss_set, update
from privbandits_cli.numerics.jit import Records, unbound

losses: Any = unbound  # bound when a loop is compiled

FIRST = 256  # rounds of a game
CORRECTIONS = 2  # moves of a twin's numbers: the first is right if the noise is linear, the second removes rounding
NOT_LINEAR = "is not the sum of the losses and of noise that does not depend on them and is linear in `rng.{}`"
RANK = 1e-10  # smaller singular values of the matrix, relative to the largest, are rounding


def probe(
    states: Records,
    given: Floats,
    own: Draws,
    marks: Marks,
    table: Floats,
    mark: Ints,
    prefixes: Floats,
    by: float,
    least: float,
    effects: Floats,
    where: Ints,
) -> None:
    """Fill `effects[number, round]`, by how much each prefix grows per unit of a number, and `where[number]`.

    where: the coordinate on which a number acts, -1 if it has no effect, -2 if it acts on several. table: the numbers
    of `own` that are moved by `by`, one at a time; mark: where those of each round begin. prefixes: those of the game
    without a move. least: a smaller effect is rounding. states: the game's first state and scratch space.
    """
    x = np.zeros(given.shape[1])
    for t in range(len(given)):
        for k in range(mark[t], mark[t + 1]):
            kept = table[k]
            table[k] = kept + by
            copy(states, 0, 1)
            for later in range(t, len(given)):
                now = copied(own, marks, later)
                x[:] = 0.0
                choose(states[1], x, now)
                moved = losses(states[1])
                for i in range(len(moved)):
                    effect = (moved[i] - prefixes[later, i]) / by
                    if abs(effect) > least:
                        if where[k] == -1:
                            where[k] = i
                        if where[k] != i:
                            where[k] = -2
                        effects[k, later] = effect
                update(states[1], given[later], now)
            table[k] = kept
        now = copied(own, marks, t)
        x[:] = 0.0
        choose(states[0], x, now)
        update(states[0], given[t], now)


@dataclass(frozen=True)
class Part:
    """The noise of one coordinate.

    places: where its numbers are; matrix: how they enter each prefix, `[round, number]`; inverse: its pseudo-inverse.
    """

    places: Ints
    matrix: Floats
    inverse: Floats


def largest_cost(table: Bench) -> tuple[float, int]:
    """The largest μ of one loss (normal numbers) or its largest ε (Laplace numbers), and its round, from 1.

    Raises Refuted if the prefixes are not the sums and linear noise, if a loss has no noise, or if twins with the same
    prefixes play other points.
    """
    broken = first_row(~np.isfinite(table.first.prefixes))
    if broken < table.rounds:
        raise Refuted(f"prefix {broken:,} is not a finite number: its noise has no law")
    by = step_of(float(np.abs(table.first.prefixes).max()))
    parts = measured(table, by)
    for number, other in enumerate(table.others):
        linear(table, parts, other, drawn(table.target, table.marks, f"other {number}"), by)
    normal, costs = table.kind == "normal", [cost_of_each(parts[0], table.kind == "normal")]
    for part in parts[1:]:
        costs.append(costs[0] if alike(part, parts[0]) else cost_of_each(part, normal))
    norms = [loss_set(table.target.setting).changes(each)[normal] for each in np.transpose(costs)]
    for other in table.others:
        explained(table, parts, other)
    worst = int(np.argmax(norms))
    return float(norms[worst]), worst + 1


def measured(table: Bench, by: float) -> list[Part]:
    """The noise of each coordinate, measured by moving one number at a time by this step."""
    own, slack, rounds = Draws(*(numbers.copy() for numbers in table.numbers)), table.slack(table.first), table.rounds
    moved = table.own(own)
    effects, where = np.zeros((len(moved), rounds)), np.full(len(moved), -1)
    table.cost += int(np.diff(table.mark()) @ (rounds - np.arange(rounds)))
    states, prefixes = np.repeat(table.target.state, 2), table.first.prefixes
    loop, least = table.target.loop(probe), 2 * slack / by
    loop(states, table.given.copy(), own, table.marks, moved, table.mark(), prefixes, by, least, effects, where)
    if (where == -2).any():
        raise Unclear(f"a number of `rng.{table.kind}` acts on several coordinates: give each coordinate its own")
    largest = np.abs(effects).max(initial=0.0)
    if 0 < largest <= CLEAR * slack:
        raise Unclear(f"noise of {largest:.2g} is lost in the rounding of sums of losses")
    parts = []
    for i in range(table.given.shape[1]):
        places = np.flatnonzero(where == i)
        matrix = effects[places].T
        if not len(places):
            raise Refuted("no noise of its own hides the loss of round 1 in prefix 1")
        parts.append(Part(places, matrix, np.asarray(np.linalg.pinv(matrix, rcond=RANK), np.float64)))
    return parts


def linear(table: Bench, parts: list[Part], other: Floats, numbers: Draws, by: float) -> None:
    """Raise Refuted if the prefixes of the game with these losses and numbers are not the sums with this noise."""
    found, moves = table.play(numbers, given=other), table.own(numbers) - table.own(table.numbers)
    wanted = table.first.prefixes + sums(other) - sums(table.given)
    for i, part in enumerate(parts):
        wanted[:, i] += part.matrix @ moves[part.places]
    slack = table.slack(table.first, found) * (1 + 2 * np.abs(moves).sum() / by)
    wrong = first_row(~(np.abs(found.prefixes - wanted) <= slack))
    if wrong < table.rounds:
        raise Refuted(f"prefix {wrong:,} {NOT_LINEAR.format(table.kind)}")


def alike(part: Part, other: Part) -> bool:
    """Whether two coordinates have the same noise, up to rounding."""
    same, size = part.matrix.shape == other.matrix.shape, RANK * np.abs(part.matrix).max()
    return same and bool((np.abs(part.matrix - other.matrix) <= size).all())


def cost_of_each(part: Part, gaussian: bool) -> Floats:
    """The μ or ε of each loss except the last, if the loss changes by 1 in this coordinate."""
    ahead = np.tri(len(part.matrix), k=-1)[:, :-1]  # the prefixes that contain a loss
    moves = part.inverse @ ahead
    rest = np.abs(part.matrix @ moves - ahead)
    bare = first_row(~(rest <= EXACT).T)
    if bare < len(ahead.T):
        prefix = bare + 1 + int(np.argmax(rest[bare + 1 :, bare]))
        raise Refuted(f"no noise of its own hides the loss of round {bare + 1:,} in prefix {prefix:,}")
    return np.linalg.norm(moves, axis=0) if gaussian else np.array([least_sum(part.matrix, one) for one in ahead.T])


def least_sum(matrix: Floats, wanted: Floats) -> float:
    """The least |s|₁ with `matrix` s = `wanted`."""
    from scipy import optimize, sparse

    scale = np.abs(matrix).max()
    both = sparse.csc_array(np.hstack([matrix, -matrix]) / scale)
    equal = optimize.LinearConstraint(both, wanted, wanted)
    return float(optimize.milp(np.ones(both.shape[1]), constraints=equal).fun / scale)


def explained(table: Bench, parts: list[Part], other: Floats) -> None:
    """Play a twin with other losses, and with numbers for the same prefixes; raise Refuted if its points differ."""
    numbers = Draws(*(kept.copy() for kept in table.numbers))
    missing = sums(table.given) - sums(other)
    for _ in range(CORRECTIONS):
        for i, part in enumerate(parts):
            table.own(numbers)[part.places] += part.inverse @ missing[:, i]
        twin = table.play(numbers, given=other)
        missing = table.first.prefixes - twin.prefixes
    prefix, point = apart(table, table.first, twin)
    if point < min(prefix, table.rounds):
        words = f"in round {point + 1:,}, two games with the same prefixes play different points"
        raise Refuted(f"{words}: {carrier_of(table, point, numbers, other)} carries the losses past the view")
    if prefix < table.rounds:
        raise Refuted(f"prefix {prefix:,} is not the sum of the losses and of noise that does not depend on them")


def sums(given: Floats) -> Floats:
    """The sum of the losses before each round, `[round, N]`."""
    return np.cumsum(given, axis=0) - given
