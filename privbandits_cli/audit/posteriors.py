"""Audit of noisy numbers of all arms that are drawn anew in every round, of which the largest decides the arm.

In each round an arm's draw is a number of its own plus a scale times `rng.normal[a]`; both may depend on the draws of
arms before it. Both are measured, not assumed. Game B has other gains than game A. In each round the numbers of B are
moved, one after the other, until its draws equal those of A.

- Twins: both games must then play the same arms. Otherwise gains act by another way than the draws.
- Canaries: only one gain differs. The Euclidean norm of the moves is then the μ of this gain in this game, exactly. It
  depends on the arms that are played, so the same gain is changed in several games. A claim is refuted if it costs more
  in each of them.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.rounding import at_least
from privbandits_cli.audit.coupling import LONGEST, RARE, pairs
from privbandits_cli.audit.linear_games import Refuted
from privbandits_cli.audit.target import Target, choose, rare, update, values
from privbandits_cli.audit.twins import AFTER, A, B, copy
from privbandits_cli.audit.verdict import EXACT, Audit, assuming, like_these
from privbandits_cli.games.bandit import Floats, Numbers
from privbandits_cli.games.views import Noisy
from privbandits_cli.numerics.jit import Records, unbound

draw: Any = unbound  # these are bound when a loop is compiled
earn: Any = unbound

REPEATS = 8  # games with the same canary
RANDOM = 4  # random rounds with a canary, besides the first K
WORTH = 0.0, 1.0  # gains of the arm with a canary
ROUNDS = 2**22  # limit on the rounds of all games with canaries, and on rounds times arms of all twins
CLEAR = 1e-9  # draws and scales that differ by this share are different
TRIED: Any = np.int64(3)  # the record of a further try
GAINS = np.unique([*np.linspace(0, 1, 11), *np.linspace(0, 1, 5), *np.linspace(0, 1, 4)])  # gains of a canary in B
NO_CANARY = -1

AGREED, BARE, SCALE, ARM = range(4)  # what ends a pair of games
FOUND = {
    BARE: "a draw is not hidden by its own normal number",
    SCALE: "the scale of a draw's noise depends on gains",
    ARM: "two games with the same draws play other arms: gains act through other fields of the state",
}


def draw_on_copy(states: Records, game: int, normal: Floats) -> int:
    """The arm that `states[game]` plays with these numbers; `states[AFTER]` is the state after its draws."""
    copy(states, game, AFTER)
    arm: int = choose(states[AFTER], Numbers(0.0, 0.0, normal.copy(), 0))
    return arm


def earn_on_copy(states: Records, game: int, arm: int, gain: float, normal: Floats) -> None:
    """`states[AFTER]` becomes `states[game]` after this gain of this arm."""
    copy(states, game, AFTER)
    update(states[AFTER], arm, gain, Numbers(0.0, 0.0, normal.copy(), 0))


def follow(
    states: Records, given: Floats, other: Floats, normal: Floats, canary: int, moves: Floats
) -> tuple[int, int, float]:
    """Play `states[A]` with the gains `given[round, arm]`, and `states[B]` with `other` and numbers that follow it.

    canary: the round in which B earns another gain: the one of GAINS whose effect on the next draw differs most from
    that of the gain of A, if any does. Filled in: `moves[round]`, the sum of the squared moves of its numbers.

    Returned: what ended the games, the number of rounds before that, and a ratio of two differences of effects on the
    next draw: the largest one of any two gains, over that of the canary's gains in A and B.
    """
    n_arms, share, effects = given.shape[1], 1.0, np.zeros(len(GAINS) + 1)
    starts, rates, own, some = np.zeros((2, n_arms)), np.zeros((2, n_arms)), np.zeros((2, n_arms)), np.zeros(n_arms)
    for t in range(len(given)):
        own[0] = normal[t]
        arm = 0
        for game in range(2):
            for a in range(n_arms):
                some[:] = 0.0
                some[:a] = own[game, :a]
                draw(states, game, some)
                starts[game, a] = values(states[AFTER])[a]
                some[a] = 1.0
                draw(states, game, some)
                rates[game, a] = values(states[AFTER])[a] - starts[game, a]
                if game == 1:
                    own[1, a] = own[0, a]
                    if rates[1, a] != 0.0:
                        own[1, a] = (values(states[A])[a] - starts[1, a]) / rates[1, a]
                    moves[t] += (own[1, a] - own[0, a]) ** 2
            if game == 0:
                arm = draw(states, A, own[0])
                copy(states, AFTER, A)
        drawn = values(states[A])
        same = draw(states, B, own[1]) == arm
        copy(states, AFTER, B)
        for a in range(n_arms):
            size = abs(drawn[a]) + abs(starts[0, a]) + abs(starts[1, a]) + abs(rates[0, a])
            if not abs(values(states[B])[a] - drawn[a]) <= CLEAR * size:
                return BARE, t, share
            if not abs(rates[0, a] - rates[1, a]) <= CLEAR * (abs(rates[0, a]) + abs(starts[0, a])):
                return SCALE, t, share
        if not same:
            return ARM, t, share
        gain = other[t, arm] if canary in (NO_CANARY, t) else given[t, arm]
        if t == canary:
            some[:] = 0.0
            for i in range(len(effects)):
                earn(states, A, arm, given[t, arm] if i == len(GAINS) else GAINS[i], some)
                copy(states, AFTER, TRIED)
                draw(states, TRIED, some)
                effects[i] = values(states[AFTER])[arm]
            apart = np.abs(effects[:-1] - effects[-1])
            if apart.max() > 0.0:  # the next draw shows it
                gain, share = GAINS[int(np.argmax(apart))], (effects.max() - effects.min()) / apart.max()
        for game in range(2):
            earn(states, game, arm, given[t, arm] if game == 0 else gain, own[game])
            copy(states, AFTER, game)
    return AGREED, len(given), share


def coupled(target: Target[Noisy], given: Floats, other: Floats, name: str, canary: int = NO_CANARY) -> float:
    """The μ of two games with these gains, `[round, arm]`.

    Raises Refuted if their draws cannot be made equal, or if equal draws lead to different arms. In games without a
    canary, some random numbers are rare.
    """
    rng, moves = target.stream(f"normal, {name}"), np.zeros(len(given))
    normal = rng.standard_normal(given.shape)
    if canary == NO_CANARY:
        normal = np.where(rng.integers(0, RARE, given.shape) == 0, rare("normal", given.shape, rng), normal)
    loop = target.loop(follow, draw=target.call(draw_on_copy), earn=target.call(earn_on_copy))
    outcome, t, share = loop(np.repeat(target.state, 4), given, other, normal, canary, moves)
    if outcome != AGREED:
        raise Refuted(f"in round {t + 1:,} {FOUND[outcome]}")
    return float(share * math.sqrt(moves.sum()))


def cost(target: Target[Noisy], rounds: int, t: int, worth: float) -> float:
    """The least μ of the gain of round t in several games.

    One arm always earns `worth`, all others earn 1 - worth. This is the arm that first pulls play in round t. A worse
    arm is seldom played again, so that its gain costs more.
    """
    n_arms = target.setting.n_arms
    given = np.full((rounds, n_arms), 1 - worth)
    given[:, t % n_arms] = worth
    return min(coupled(target, given, 1 - given, f"{t}, {worth}, {repeat}", t) for repeat in range(REPEATS))


def audit_drawn(target: Target[Noisy]) -> Audit:
    """Whether gains act through the draws alone, and what a gain costs in all of them."""
    claim, setting, rng = target.claim, target.setting, target.stream("gains")
    rounds = min(LONGEST, int(setting.horizon))
    shape = rounds, setting.n_arms
    rows = sorted({*range(min(shape)), *rng.integers(0, rounds, RANDOM).tolist()})
    canaries = [(t, worth) for worth in WORTH for t in rows][: max(1, ROUNDS // (REPEATS * rounds))]
    words, others = f"{claim} of all draws of all arms", "other gains act like those that were played"
    assumed = assuming(others, like_these(rounds, setting.horizon))
    played = f"games of {rounds:,} rounds, with one other gain in {REPEATS} games for each of {len(canaries)}"
    made = pairs(rounds, target)
    tables = [(rng.random(shape), rng.random(shape)), *(pair.tables(setting.n_arms) for pair in made)]
    tables = tables[: max(1, ROUNDS // math.prod(shape))]
    plays = rounds * (len(tables) + len(canaries) * REPEATS)
    so_far = Audit("VIOLATION", words, "", plays, played=played, assumed=assumed)
    try:
        for number, (given, other) in enumerate(tables):
            coupled(target, given, other, f"twins {number}")
        mu, worst = max((cost(target, rounds, t, worth), t) for t, worth in canaries)
    except Refuted as refuted:
        return replace(so_far, found=str(refuted))
    seen, most = gaussian.epsilon_of(mu, claim.delta), (1 + EXACT) * gaussian.mu_of(claim.epsilon, claim.delta)
    if mu > most:
        words = f"the gain of round {worst + 1:,} costs at least ε = {at_least(seen)}"
        return replace(so_far, found=words, epsilon_seen=seen)
    found = f"equal arms follow equal draws; a gain costs at least ε = {at_least(seen)}"
    refutable = gaussian.epsilon_of(most**2 / mu, claim.delta) if mu > 0 else None  # if noise is mu / most as large
    return replace(so_far, verdict="CONSISTENT", found=found, epsilon_seen=seen, refutable=refutable)
