"""Audit of the noisy loss that a linear bandit releases, over the whole game, by pairs of games in lockstep.

The twin has another loss in every round. The release is a function of the loss, plus noise that is linear in the
Laplace numbers of its round. The audit measures how the release responds to each of them, and what it is without noise
for several losses; both must be alike in the two games. It moves the twin's number with the largest response so that
both games release the same. They must then play the same points. The move that hides the largest change of a release
is the exact privacy cost of the round's loss at its point. The audit dealt these numbers itself, so that it needs no
statistics.
"""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from privbandits_cli.audit.excuses import bent, transformed
from privbandits_cli.audit.linear_games import (
    ALIKE,
    RUN,
    Dealt,
    again,
    apart_by_rounding,
    assumed,
    check_view,
    dealt,
    numbers_of,
    played,
    rarely,
    step_of,
)
from privbandits_cli.audit.target import Target, choose, released, update
from privbandits_cli.audit.twins import carrier, copy, leak
from privbandits_cli.audit.verdict import EXACT, Audit, judged
from privbandits_cli.games.linear import Draws, Floats, Sphere
from privbandits_cli.games.views import Release
from privbandits_cli.numerics.jit import Records

ROUNDING = 1e-13  # relative rounding error of a release, with a wide margin
SIDES = (-1.0, -0.5, 0.0, 0.5, 1.0)  # losses, in units of the largest at the point
NUDGE = 1e-9  # relative change of a loss: the noise that hides it then moves by more than rounding

OF_OTHERS = "the noise is not made of `rng.laplace`: the audit cannot move it"
IN_CHOOSE = "the noise of a release is drawn in `choose`: let `released` add `rng.laplace` to the loss"


class Seen(NamedTuple):
    """The rounds of two games in lockstep; those of the twin before and after its number was moved.

    points, `[round, 3, N]`, and noisy, `[round, 3]`, the releases: of the first game, and twice of the twin; most,
    `[round]`, the largest loss at the point; response, `[round, 2, number]`: by how much a release grows if one of the
    numbers grows by 1; bare, `[round, 2, loss]`: the releases without noise, of the losses SIDES and the round's own.
    """

    points: Floats
    noisy: Floats
    most: Floats
    response: Floats
    bare: Floats


class Twins(NamedTuple):
    """Two games in lockstep; they end with the round in which they play different points, or `alike`.

    numbers, sides: the random numbers and the losses of both games, before the numbers of the twin are moved; pair: the
    states of both games before the last round.
    """

    numbers: Dealt
    sides: Floats
    seen: Seen
    pair: Records
    alike: bool
    near: float


def observe_losses(
    states: Records, sides: Floats, ball: bool, near: float, step: float, first: Dealt, second: Dealt, seen: Seen
) -> int:
    """Play on until the points differ by more than `near`; return the number of rounds before that.

    states: of both games, in the end before the round in which they differ, and three of scratch space. sides,
    `[round, 2]`: the losses, in units of the largest that a loss vector can have at the point; ball: whether loss
    vectors are in the Euclidean unit ball, not in the l1 ball; step: by how much a number is moved to see the response.
    first, second: random numbers; the second are moved.
    """
    for t in range(len(sides)):
        for turn in range(3):
            game = min(turn, 1)
            rng = numbers_of(second, t) if game else numbers_of(first, t)
            x, trial = seen.points[t, turn], rng.laplace.copy()
            copy(states, game, 2 + game)
            choose(states[2 + game], x, rng)
            seen.most[t] = np.sqrt((x * x).sum()) if ball else np.abs(x).max()
            loss = sides[t, game] * seen.most[t]
            for k in range(len(SIDES) + 1 if turn < 2 else 0):
                copy(states, 2 + game, 4)  # so that a stateful release advances once a round
                side = SIDES[k] * seen.most[t] if k < len(SIDES) else loss
                seen.bare[t, game, k] = released(states[4], x, side, Draws(rng.uniform, 0.0 * trial, rng.normal))
            for k in range(-1, len(trial) if turn < 2 else 0):
                copy(states, 2 + game, 4)
                if k >= 0:
                    trial[k] += step
                value = released(states[4], x, loss, Draws(rng.uniform, trial, rng.normal))
                if k >= 0:
                    trial[k] = rng.laplace[k]
                    seen.response[t, game, k] = (value - seen.noisy[t, turn]) / step
                else:
                    seen.noisy[t, turn] = value
            if turn == 1 and len(trial) > 0:
                best = np.argmax(np.abs(seen.response[t, 1]))
                if seen.response[t, 1, best] != 0.0:
                    rng.laplace[best] += (seen.noisy[t, 0] - seen.noisy[t, 1]) / seen.response[t, 1, best]
            if turn != 1:
                update(states[2 + game], x, loss, rng)
        for turn in range(1, 3):
            for i in range(seen.points.shape[2]):
                if not abs(seen.points[t, turn, i] - seen.points[t, 0, i]) <= near:
                    return t
        copy(states, 2, 0)
        copy(states, 3, 1)
    return len(sides)


def audit_losses(target: Target[Release]) -> Audit:
    """Whether the noisy losses reveal more about a loss than ε allows, and whether the points reveal any more."""
    check_view(target, "bandit")
    claim, first, seen, cost = target.claim, dealt(target), 0.0, 0
    rounds, pair = first.rounds, np.repeat(target.state, 2)
    tables = first, again(target, first, "second"), rarely(target, first, "twins")
    shape = f"{len(tables)} pairs of games of {played(target, rounds)}"
    games = f"{shape}, with other losses in every round and the same releases"
    result = Audit("VIOLATION", f"{claim} of each noisy loss, Laplace noise", "", 0, played=games)
    near = nearness(target, first)
    for number, numbers in enumerate(tables):
        twins = lockstep(target, numbers, sides_of(target, rounds, number), pair, near)
        cost += 2 * len(twins.seen.noisy)
        result = replace(result, cost=cost)
        found, t = finding(target, twins)
        if found:
            excuse = "" if t is None else excuse_of(target, twins, t)
            return replace(result, verdict="NOT AUDITABLE" if excuse else "VIOLATION", found=excuse or found)
        own, change = hidden(twins.seen), changes(twins.seen)
        seen = max(seen, float(np.max(change[own > 0] / own[own > 0], initial=0.0)))
    result = replace(result, assumed=assumed(target, rounds, twins.seen.points, near))
    return judged(result, claim, min(seen, claim.epsilon), "a loss", ", exactly; equal releases lead to equal points")


def sides_of(target: Target[Release], rounds: int, number: int) -> Floats:
    """The losses of a pair of games, `[round, 2]`, in units of the largest at the point.

    In the first pair they are opposite ends in every second round, else random; some are 0. In each other pair one game
    has the same end in all rounds. The losses of its twin are round numbers and equal for RUN rounds, and random for as
    many.
    """
    rng = target.stream(f"losses {number}" if number else "losses")
    sides: Floats = rng.uniform(-1, 1, (rounds, 2))
    if number:
        sides[:, 0] = 1 - 2 * (number % 2)
        run = np.arange(rounds) // RUN
        sides[:, 1] = np.where(run % 2 == 0, np.trunc(4 * sides[run, 1]) / 4, sides[:, 1])
        return sides
    sides[::2] = rng.choice([-1.0, 1.0], (len(sides[::2]), 1)) * [1, -1]
    sides[3::16, 0] = sides[5::16, 1] = 0.0
    return sides


def nearness(target: Target[Release], numbers: Dealt) -> float:
    """How far equal points may be apart by rounding: measured in two games with nearly the same losses."""
    sides = sides_of(target, numbers.rounds, 0)[:, :1] * [1.0, 1.0 - NUDGE]
    largest = ALIKE * target.setting.decisions().radius()
    points = lockstep(target, numbers, sides, np.repeat(target.state, 2), largest).seen.points
    return apart_by_rounding(target, points[:, 0], points[:, 2])


def lockstep(target: Target[Release], numbers: Dealt, sides: Floats, pair: Records, near: float) -> Twins:
    """Play on from a pair of states; points that differ by more than `near` are different."""
    (rounds, _), n, most = sides.shape, target.setting.n_arms, int(np.diff(numbers.v).max())
    shapes: list[tuple[int, ...]] = [(rounds, 3, n), (rounds, 3), (rounds,), (rounds, 2, most)]
    seen, states = Seen(*map(np.zeros, [*shapes, (rounds, 2, len(SIDES) + 1)])), pair[[0, 1, 0, 1, 0]]
    plan = isinstance(target.setting.decisions(), Sphere), near, step_of(target.claim.epsilon)
    stop = target.loop(observe_losses)(states, sides, *plan, numbers, numbers.copy(), seen)
    return Twins(numbers, sides, Seen(*(part[: stop + 1] for part in seen)), states[:2], stop == rounds, near)


def hidden(seen: Seen) -> Floats:
    """The scale of the number that hides the loss of each round best, `[round]`; the smaller one of both games."""
    scale: Floats = np.abs(seen.response).max(axis=2, initial=0.0).min(axis=1)
    return scale


def changes(seen: Seen) -> Floats:
    """The largest change of each release by another loss, `[round]`."""
    return np.asarray(np.ptp(seen.bare[:, :, : len(SIDES)], axis=2).max(axis=1), np.float64)


def finding(target: Target[Release], twins: Twins) -> tuple[str, int | None]:
    """The finding that refutes the claim in the earliest round, and this round, from 0; "" if there is none.

    The round is None if the points differ.
    """
    rounds, epsilon = len(twins.seen.noisy) - (not twins.alike), target.claim.epsilon
    seen = Seen(*(part[:rounds] for part in twins.seen))  # the releases at different points are not compared
    slack = ROUNDING * float(np.abs(seen.noisy).max(initial=1.0))
    own, least, blur = hidden(seen), changes(seen) / epsilon, slack / step_of(epsilon)
    places = np.minimum(twins.numbers.v[:rounds, None] + np.arange(seen.response.shape[2]), twins.numbers.v[-1] - 1)
    noise = (seen.response * twins.numbers.laplace[places][:, None]).sum(axis=2)
    rest = np.abs(seen.noisy[:, :2] - noise - seen.bare[:, :, -1]).max(axis=1)
    rest = rest + np.abs(seen.noisy[:, 2] - seen.noisy[:, 0]) * (changes(seen) > slack)
    varied = np.abs(seen.response[:, 0] - seen.response[:, 1]).max(axis=1, initial=0.0)
    earlier = np.abs(seen.bare[:, 0, : len(SIDES)] - seen.bare[:, 1, : len(SIDES)]).max(axis=1)
    findings = {
        "no noise hides the loss of round {:,}": (own <= blur) & (changes(seen) > slack),
        "the noise of round {:,} depends on the loss": varied > blur,
        "what round {:,} releases depends on the losses before it": earlier > slack,
        "what round {:,} releases is not its loss and a multiple of its random numbers": ~(rest <= slack),
        "the noise of round {:,} has {share:.6g} of the scale that ε takes": own < (1 - EXACT) * least - blur,
    }
    first = {words: int(np.argmax(wrong)) for words, wrong in findings.items() if wrong.any()}
    if first:
        words, t = min(first.items(), key=lambda one: one[1])
        return words.format(t + 1, share=own[t] / least[t] if least[t] else 0.0), t
    return ("" if twins.alike else _past_the_view(target, twins)), None


def excuse_of(target: Target[Release], twins: Twins, t: int) -> str:
    """What to write, if the finding in round t does not refute the algorithm after all; "" if it does."""
    x, numbers, pair = twins.seen.points[t, 0], numbers_of(twins.numbers, t), np.repeat(target.state, 2)
    state = lockstep(target, twins.numbers, twins.sides[:t], pair, twins.near).pair[:1] if t else target.state

    def release(side: float, rng: Draws, chosen: Draws = numbers) -> float:
        """The release of a loss with these numbers, if `choose` has others of its own."""
        own = state.copy()
        target.steps["choose"](own[0], x.copy(), Draws(*map(np.copy, chosen)))
        return float(target.steps["released"](own[0], x.copy(), side * twins.seen.most[t], Draws(*map(np.copy, rng))))

    z, others = numbers.laplace, numbers_of(again(target, twins.numbers, "third"), t)
    if not len(twins.numbers.laplace) and release(0.0, others) != release(0.0, numbers):
        return OF_OTHERS
    if release(0.0, numbers, numbers._replace(laplace=z + 1.0)) != release(0.0, numbers):
        return IN_CHOOSE

    def with_number(k: int, side: int, number: float) -> float:
        return release(float(side), numbers._replace(laplace=np.where(np.arange(len(z)) == k, number, z)))

    return transformed(target) if any(bent(partial(with_number, k), z[k]) for k in range(len(z))) else ""


def _past_the_view(target: Target[Release], twins: Twins) -> str:
    """The finding that the twins play different points in the last round, with the fields that make them differ."""
    last, own, other = len(twins.seen.noisy) - 1, twins.pair[:1], twins.pair[1:]

    def differs(mixed: Records) -> bool:
        pair, side = np.concatenate([own, mixed]), twins.sides[last : last + 1]
        return not lockstep(target, twins.numbers.since(last), side, pair, twins.near).alike

    return leak(last, "releases", "different points", "losses", carrier(own, other, differs))
