"""Audit of the noisy loss that a linear bandit releases, over the whole game, by two games in lockstep.

The twin has another loss in every round. The release is affine in the Laplace numbers of its round. The audit measures
how the release responds to each of them, and moves the twin's number with the largest response so that both games
release the same. They must then play the same points. That move, in units of the number's scale, is the privacy cost of
the round's loss. The noise is one Laplace number, or <Z, x> with N Laplace numbers Z. As the audit dealt these numbers,
and the release is the loss and known multiples of them, nothing is left to be tested by statistics.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from privbandits_cli.accounting.rounding import at_most
from privbandits_cli.audit.draws import ALIKE, Marks, assumed, check_view, drawn, marks_of, numbers_of, played, step_of
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.twins import carrier, copy
from privbandits_cli.audit.verdict import EXACT, Audit
from privbandits_cli.games.linear import Draws, Floats, Sphere, choose, loss_set, update
from privbandits_cli.games.views import NoisyLoss
from privbandits_cli.numerics.jit import Records, unbound

released: Any = unbound  # bound when a loop is compiled

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

    numbers: of both, before the twin's are moved; pair: their states before the last round.
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


def audit_losses(target: Target[NoisyLoss]) -> Audit:
    """Whether the noisy losses reveal more about a loss than ε allows, and whether the points reveal any more."""
    check_view(target, "bandit")
    claim, marks = target.claim, marks_of(target)
    vector, scale = is_vector(target, marks), expected(target, marks)
    law = f"<Z, x> of Laplace noise Z of scale {scale:.4g}" if vector else f"Laplace noise of scale {scale:.4g}"
    twins = played_twins(target, marks)
    games = f"two games of {played(target, marks)}, with other losses in every round and the same releases"
    result = Audit("VIOLATION", f"{claim} of each noisy loss, {law}", "", 2 * len(twins.seen.losses), played=games)
    if _of_other_numbers(target, twins):
        words = "the noise is not made of `rng.laplace`: the audit cannot move it"
        return replace(result, verdict="NOT AUDITABLE", found=words)
    found = finding(target, twins)
    if found:
        return replace(result, found=found)
    most, own = twins.seen.most, hidden(twins.seen)
    spent = float(np.max(2 * most[most > 0] / own[most > 0], initial=0.0))
    found = f"every round has its noise, any less would be found: a loss costs at most ε = {at_most(spent)}"
    least, untested = (1 + EXACT) * claim.epsilon, assumed(target, marks, twins.seen.points[:, 0])
    found = f"{found}; twins play the same points"
    return replace(result, verdict="CONSISTENT", found=found, epsilon_seen=spent, refutable=least, assumed=untested)


def is_vector(target: Target[NoisyLoss], marks: Marks) -> bool:
    """Whether a round has a Laplace number for each coordinate."""
    return int(np.diff(marks[1]).max()) == target.setting.n_arms


def expected(target: Target[NoisyLoss], marks: Marks) -> float:
    """The scale of the Laplace numbers that the claim needs."""
    if is_vector(target, marks):
        return loss_set(target.setting).changes()[0] / target.claim.epsilon
    return 2 * target.setting.decisions().largest_loss() / target.claim.epsilon


def _step(target: Target[NoisyLoss], marks: Marks) -> float:
    return step_of(target.setting.decisions().largest_loss() / expected(target, marks))


def played_twins(target: Target[NoisyLoss], marks: Marks) -> Twins:
    """Twins whose losses are opposite ends in every second round, else random; some are 0."""
    rng = target.stream("losses")
    sides: Floats = rng.uniform(-1, 1, (len(marks[0]) - 1, 2))
    sides[::2] = rng.choice([-1.0, 1.0], (len(sides[::2]), 1)) * [1, -1]
    sides[3::16, 0] = sides[5::16, 1] = 0.0
    return lockstep(target, marks, drawn(target, marks, "first"), sides, np.repeat(target.state, 2))


def lockstep(target: Target[NoisyLoss], marks: Marks, numbers: Draws, sides: Floats, pair: Records) -> Twins:
    """Play on from a pair of states."""
    (rounds, _), n, most = sides.shape, target.setting.n_arms, int(np.diff(marks[1]).max())
    shapes: list[tuple[int, ...]] = [(rounds, 3, n), (rounds, 3), (rounds, 2), (rounds,), (rounds, 2, most)]
    seen, states = Seen(*map(np.zeros, shapes)), np.concatenate([pair, pair, pair[:1]])
    moved = numbers._replace(laplace=numbers.laplace.copy())
    ball, near = isinstance(target.setting.decisions(), Sphere), ALIKE * target.setting.decisions().radius()
    stop = target.loop(observe_losses)(states, sides, ball, near, _step(target, marks), numbers, moved, marks, seen)
    return Twins(marks, numbers, sides, Seen(*(part[: stop + 1] for part in seen)), states[:2], stop == rounds)


def _of_other_numbers(target: Target[NoisyLoss], twins: Twins) -> bool:
    """Whether the release of one loss varies although the algorithm asks for no Laplace numbers."""
    marks, x = twins.marks, twins.seen.points[0, 0]
    if marks[1][-1] > 0:
        return False
    games = (drawn(target, marks, name) for name in ("first", "second"))
    rounds = (numbers_of(game, marks, 0) for game in games)
    first, second = (target.steps["released"](target.state.copy()[0], x, 0.0, rng) for rng in rounds)
    return bool(first != second)


def hidden(seen: Seen) -> Floats:
    """The scale of the number that hides the loss of each round best, `[round]`; the smaller one of both games."""
    scale: Floats = np.abs(seen.response).max(axis=2, initial=0.0).min(axis=1)
    return scale


def needed(target: Target[NoisyLoss], marks: Marks, seen: Seen) -> Floats:
    """The least scale of that number which the claim allows, `[round]`."""
    along = np.abs(seen.points[:, 0]).max(axis=1) if is_vector(target, marks) else np.ones(len(seen.losses))
    scale: Floats = expected(target, marks) * along
    return scale


def finding(target: Target[NoisyLoss], twins: Twins) -> str:
    """The finding that refutes the claim in the earliest round; "" if there is none."""
    rounds = len(twins.seen.losses) - (not twins.alike)  # the releases at different points are not compared
    seen = Seen(*(part[:rounds] for part in twins.seen))
    slack = ROUNDING * float(np.abs(seen.noisy).max(initial=1.0))
    own, least, blur = hidden(seen), needed(target, twins.marks, seen), slack / _step(target, twins.marks)
    places = np.minimum(twins.marks[1][:rounds, None] + np.arange(seen.response.shape[2]), twins.marks[1][-1] - 1)
    noise = (seen.response * twins.numbers.laplace[places][:, None]).sum(axis=2)
    rest = np.abs(seen.noisy[:, :2] - noise - seen.losses).max(axis=1) + np.abs(seen.noisy[:, 2] - seen.noisy[:, 0])
    changed = np.abs(seen.response[:, 0] - seen.response[:, 1]).max(axis=1, initial=0.0)
    findings = {
        "no noise hides the loss of round {:,}": (own <= blur) & (seen.most > 0),
        "the noise of round {:,} depends on the loss": changed > blur,
        "what round {:,} releases is not its loss and a multiple of its random numbers": ~(rest <= slack),
    }
    first = {words: int(np.argmax(wrong)) for words, wrong in findings.items() if wrong.any()}
    if first:
        words = min(first, key=lambda words: first[words])
        return words.format(first[words] + 1)
    spent, allowed = 2 * seen.most / own, 2 * seen.most / least
    dear = own < (1 - EXACT) * least - blur
    if dear.any():
        t = int(np.argmax(np.where(dear, spent, 0.0)))
        cost = f"the loss of round {t + 1:,} costs ε = {spent[t]:.6g} where {allowed[t]:.6g} is allowed"
        return f"{cost}: its noise has {own[t] / least[t]:.6g} of its scale"
    return "" if twins.alike else _past_the_view(target, twins)


def _past_the_view(target: Target[NoisyLoss], twins: Twins) -> str:
    """The finding that the twins play different points in the last round, with the fields that make them differ."""
    last, own, other = len(twins.seen.losses) - 1, twins.pair[:1], twins.pair[1:]
    u, v, w = (mark[last:] for mark in twins.marks)

    def differs(mixed: Records) -> bool:
        pair = np.concatenate([own, mixed])
        return not lockstep(target, (u, v, w), twins.numbers, twins.sides[last : last + 1], pair).alike

    names = carrier(own, other, differs) or "a random number, or several fields,"
    words = f"in round {last + 1:,}, two games with the same releases play different points"
    return f"{words}: {names} carries the losses past the view"
