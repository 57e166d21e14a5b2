"""Audit of the noisy loss that a linear bandit releases, over the whole game, by two games in lockstep.

The twin has another loss in every round. The release is linear in the Laplace numbers of its round. The audit measures
how the release responds to each of them, and moves the twin's number with the largest response so that both games
release the same. They must then play the same points. That move for the largest change of a loss is the exact privacy
cost of the round's loss at its point. As the audit dealt these numbers, and the release is the loss and known multiples
of them, nothing is left to be tested by statistics.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from privbandits_cli.accounting.rounding import at_most
from privbandits_cli.audit.linear_games import (
    ALIKE,
    Marks,
    assumed,
    check_view,
    copy_of,
    drawn,
    marks_of,
    numbers_of,
    played,
    step_of,
)
from privbandits_cli.audit.target import Target, choose, released, update
from privbandits_cli.audit.twins import carrier, copy
from privbandits_cli.audit.verdict import EXACT, Audit
from privbandits_cli.games.linear import Draws, Floats, Sphere
from privbandits_cli.games.views import Release
from privbandits_cli.numerics.jit import Records

ROUNDING = 1e-13  # of a release, with a wide margin


class Seen(NamedTuple):
    """The rounds of two games in lockstep; those of the twin before and after its number was moved.

    points, `[round, 3, N]`, and noisy, `[round, 3]`, the releases: of the first game, and twice of the twin; losses,
    `[round, 2]`; most, `[round]`, the largest loss at the point; response, `[round, 2, number]`: by how much a release
    grows if one of the numbers grows by 1.
    """

    points: Floats
    noisy: Floats
    losses: Floats
    most: Floats
    response: Floats


class Twins(NamedTuple):
    """Two games in lockstep; they end with the round in which they play different points, or `alike`.

    marks, numbers, sides: of both, before the twin's numbers are moved; pair: their states before the last round.
    """

    marks: Marks
    numbers: Draws
    sides: Floats
    seen: Seen
    pair: Records
    alike: bool


def observe_losses(
    states: Records,
    sides: Floats,
    ball: bool,
    near: float,
    step: float,
    first: Draws,
    second: Draws,
    marks: Marks,
    seen: Seen,
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
            rng = numbers_of(second, marks, t) if game else numbers_of(first, marks, t)
            x, trial = seen.points[t, turn], rng.laplace.copy()
            copy(states, game, 2 + game)
            choose(states[2 + game], x, rng)
            seen.most[t] = np.sqrt((x * x).sum()) if ball else np.abs(x).max()
            loss = sides[t, game] * seen.most[t]
            seen.losses[t, game] = loss
            for k in range(-1, len(trial) if turn < 2 else 0):
                copy(states, 2 + game, 4)  # so that a stateful release advances once a round
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
    twins = played_twins(target, marks_of(target))
    rounds, claim = len(twins.sides), target.claim
    games = f"two games of {played(target, rounds)}, with other losses in every round and the same releases"
    result = Audit(
        "VIOLATION", f"{claim} of each noisy loss, Laplace noise", "", 2 * len(twins.seen.losses), played=games
    )
    if _of_other_numbers(target, twins):
        words = "the noise is not made of `rng.laplace`: the audit cannot move it"
        return replace(result, verdict="NOT AUDITABLE", found=words)
    found = finding(target, twins)
    if found:
        return replace(result, found=found)
    most, own = twins.seen.most, hidden(twins.seen)
    seen = float(np.max(2 * most[most > 0] / own[most > 0], initial=0.0))
    least, untested = (1 + EXACT) * claim.epsilon, assumed(target, rounds, twins.seen.points)
    found = (
        f"equal releases lead to equal points; a loss costs at most ε = {at_most(min(seen, claim.epsilon))}, exactly"
    )
    return replace(result, verdict="CONSISTENT", found=found, epsilon_seen=seen, refutable=least, assumed=untested)


def played_twins(target: Target[Release], marks: Marks) -> Twins:
    """Twins whose losses are opposite ends in every second round, else random; some are 0."""
    rng = target.stream("losses")
    sides: Floats = rng.uniform(-1, 1, (len(marks[0]) - 1, 2))
    sides[::2] = rng.choice([-1.0, 1.0], (len(sides[::2]), 1)) * [1, -1]
    sides[3::16, 0] = sides[5::16, 1] = 0.0
    return lockstep(target, marks, drawn(target, marks, "first"), sides, np.repeat(target.state, 2))


def lockstep(target: Target[Release], marks: Marks, numbers: Draws, sides: Floats, pair: Records) -> Twins:
    """Play on from a pair of states."""
    (rounds, _), n, most = sides.shape, target.setting.n_arms, int(np.diff(marks[1]).max())
    shapes: list[tuple[int, ...]] = [(rounds, 3, n), (rounds, 3), (rounds, 2), (rounds,), (rounds, 2, most)]
    seen, states, space = (
        Seen(*map(np.zeros, shapes)),
        np.concatenate([pair, pair, pair[:1]]),
        target.setting.decisions(),
    )
    plan = isinstance(space, Sphere), ALIKE * space.radius(), step_of(target.claim.epsilon)
    stop = target.loop(observe_losses)(states, sides, *plan, numbers, copy_of(numbers), marks, seen)
    return Twins(marks, numbers, sides, Seen(*(part[: stop + 1] for part in seen)), states[:2], stop == rounds)


def _of_other_numbers(target: Target[Release], twins: Twins) -> bool:
    """Whether the release of one loss varies although the algorithm asks for no Laplace numbers."""
    marks, x = twins.marks, twins.seen.points[0, 0]
    rounds = (numbers_of(drawn(target, marks, name), marks, 0) for name in ("first", "second"))
    first, second = (target.steps["released"](target.state.copy()[0], x, 0.0, rng) for rng in rounds)
    return bool(marks[1][-1] == 0 and first != second)


def hidden(seen: Seen) -> Floats:
    """The scale of the number that hides the loss of each round best, `[round]`; the smaller one of both games."""
    scale: Floats = np.abs(seen.response).max(axis=2, initial=0.0).min(axis=1)
    return scale


def finding(target: Target[Release], twins: Twins) -> str:
    """The finding that refutes the claim in the earliest round; "" if there is none."""
    rounds, epsilon = len(twins.seen.losses) - (not twins.alike), target.claim.epsilon
    seen = Seen(*(part[:rounds] for part in twins.seen))  # the releases at different points are not compared
    slack = ROUNDING * float(np.abs(seen.noisy).max(initial=1.0))
    own, least, blur = hidden(seen), 2 * seen.most / epsilon, slack / step_of(epsilon)
    places = np.minimum(twins.marks[1][:rounds, None] + np.arange(seen.response.shape[2]), twins.marks[1][-1] - 1)
    noise = (seen.response * twins.numbers.laplace[places][:, None]).sum(axis=2)
    rest = np.abs(seen.noisy[:, :2] - noise - seen.losses).max(axis=1) + np.abs(seen.noisy[:, 2] - seen.noisy[:, 0])
    changed = np.abs(seen.response[:, 0] - seen.response[:, 1]).max(axis=1, initial=0.0)
    findings = {
        "no noise hides the loss of round {:,}": (own <= blur) & (seen.most > 0),
        "the noise of round {:,} depends on the loss": changed > blur,
        "what round {:,} releases is not its loss and a multiple of its random numbers": ~(rest <= slack),
        "the noise of round {:,} has {share:.6g} of the scale that ε takes": own < (1 - EXACT) * least - blur,
    }
    first = {words: int(np.argmax(wrong)) for words, wrong in findings.items() if wrong.any()}
    if first:
        words, t = min(first.items(), key=lambda one: one[1])
        return words.format(t + 1, share=own[t] / least[t] if least[t] else 0.0)
    return "" if twins.alike else _past_the_view(target, twins)


def _past_the_view(target: Target[Release], twins: Twins) -> str:
    """The finding that the twins play different points in the last round, with the fields that make them differ."""
    last, own, other = len(twins.seen.losses) - 1, twins.pair[:1], twins.pair[1:]
    u, v, w = (mark[last:] for mark in twins.marks)

    def differs(mixed: Records) -> bool:
        pair = np.concatenate([own, mixed])
        return not lockstep(target, (u, v, w), twins.numbers, twins.sides[last : last + 1], pair).alike

    names = carrier(own, other, differs) or "a random number, or several fields,"
    words = f"in round {last + 1:,}, two games with the same releases play different points"
    return f"{words}: {names} carries the losses past the view"
