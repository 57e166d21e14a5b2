"""Audit of reports of one bit, which `rng.uniform` draws: `released` has one value below a chance, another above it.

The chance depends on the gain. It is found by bisection, to the last digit, so no statistics are needed. Game B has
other gains than game A. In each round its uniform number is moved to the side of its own chance on which B reports as
A does.

- Both games must then play the same arms. Otherwise gains act by another way than the reports.
- The cost of a gain is the largest ln p/p', for the chances p and p' of either bit with two gains.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.accounting.rounding import at_least, at_most
from privbandits_cli.audit.target import Target, choose, inside, released, update
from privbandits_cli.audit.twins import carrier, copy
from privbandits_cli.audit.verdict import EXACT, Audit, like_these
from privbandits_cli.games.bandit import Draws, Floats
from privbandits_cli.games.views import Release
from privbandits_cli.numerics.jit import Records, unbound

report: Any = unbound  # these are bound when a loop is compiled
chance: Any = unbound

LONGEST = 2**16  # rounds of a game
OTHERS = 4  # further uniform numbers in every round, at which choices and reports are compared
LAST = 1.0 - 2.0**-53  # the largest uniform number
ROUNDING = 1e-12  # of a chance
LEAST = 2.0**-40  # a smaller chance is not measured

AGREED, ARM, NUMBER, SEVERAL, VALUES, BEFORE = range(6)  # what ends a pair of games
FOUND = {
    NUMBER: "the arm depends on the random number that draws the report of its gain",
    BEFORE: "the chance of a report depends on the gains before it",
    VALUES: "the two values of a report depend on gains",
}
MORE = "a report has more than two values, or is not drawn by `rng.uniform` alone: make its noise of `rng.laplace`"


def report_on_copy(states: Records, game: int, gain: float, u: float, z: float) -> float:
    """What `states[game]` reports of a gain with this number; `states[2]` is scratch space."""
    copy(states, game, 2)
    noisy: float = released(states[2], gain, Draws(u, z))
    return noisy


def chance_of_first(states: Records, game: int, gain: float, z: float) -> float:
    """The least number at which the report of this gain differs from that at 0; 1 if there is none."""
    first, low, high = report(states, game, gain, 0.0, z), 0.0, 1.0
    if report(states, game, gain, LAST, z) == first:
        return 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        if report(states, game, gain, min(middle, LAST), z) == first:
            low = middle
        else:
            high = middle
    return high


def follow(
    states: Records,
    first: Floats,
    second: Floats,
    uniform: Floats,
    laplace: Floats,
    best: int,
    moved: Floats,
    costs: Floats,
    arms: NDArray[np.int64],
) -> tuple[int, int]:
    """Play the games A = `states[0]` and B = `states[1]` with these gains `[rounds]`; `states[2]` is scratch space.

    The arm `best` earns the gains; the others earn 1 minus them. uniform: `[rounds, 1 + OTHERS]`; laplace: numbers that
    both games have in common. Filled in for each round: `moved`, the number of B; `costs`, of a gain, in nats; `arms`,
    those played. Returned: what ended the games, and the rounds before that.
    """
    for t in range(len(first)):
        z = laplace[t]
        for j in range(uniform.shape[1]):
            copy(states, 0, 2)
            arm = choose(states[2], Draws(uniform[t, j], z))
            copy(states, 1, 2)
            if choose(states[2], Draws(uniform[t, j], z)) != arm:
                return ARM, t
            if j > 0 and arm != arms[t]:
                return NUMBER, t
            arms[t] = arm
        gain = first[t] if arm == best else 1.0 - first[t]
        other = second[t] if arm == best else 1.0 - second[t]
        own, theirs, u = chance(states, 0, gain, z), chance(states, 1, other, z), uniform[t, 0]
        ends = report(states, 0, gain, 0.0, z), report(states, 0, gain, LAST, z)
        for j in range(uniform.shape[1]):
            if report(states, 0, gain, uniform[t, j], z) != (ends[0] if uniform[t, j] < own else ends[1]):
                return SEVERAL, t
        others = chance(states, 0, 0.0, z), chance(states, 0, 1.0, z), chance(states, 0, other, z), own
        low, high = min(others), max(others)
        if abs(chance(states, 1, gain, z) - own) > ROUNDING:
            return BEFORE, t
        for game in range(2):
            if report(states, game, other, 0.0, z) != ends[0] or report(states, game, other, LAST, z) != ends[1]:
                return VALUES, t
        with_first = high / max(low, 1.0 - LAST)
        with_last = (1.0 - low) / max(1.0 - high, 1.0 - LAST)
        costs[t] = np.log(max(with_first, with_last))
        moved[t] = theirs * u / own if u < own else 1.0 - (1.0 - theirs) * ((1.0 - u) / (1.0 - own))
        moved[t] = min(moved[t], LAST)
        if report(states, 1, other, moved[t], z) != report(states, 0, gain, u, z):  # rounding at the chance itself
            moved[t] = theirs / 2.0 if u < own else (1.0 + theirs) / 2.0
        choose(states[0], Draws(u, z))
        update(states[0], arm, gain, Draws(u, z))
        choose(states[1], Draws(moved[t], z))
        update(states[1], arm, other, Draws(moved[t], z))
    return AGREED, len(first)


def audit_bits(target: Target[Release]) -> Audit:
    """Whether arms follow from the reports alone, and whether a report reveals more about its gain than ε allows."""
    rounds, n_arms, rng = int(min(target.setting.horizon, LONGEST)), target.setting.n_arms, target.stream("bits")
    loop = target.loop(follow, report=target.call(report_on_copy), chance=_chance(target))
    coins: Floats = rng.integers(0, 2, rounds).astype(float)
    pairs = [(coins, 1.0 - coins, 0), (inside(rng, rounds), inside(rng, rounds), 0)]
    pairs += [(np.ones(rounds), np.zeros(rounds), best) for best in range(min(n_arms, 8))]
    words = f"{target.claim} of each report of one bit, by itself"
    games = f"pairs of games of {rounds:,} rounds with equal reports"
    so_far, worst, at = Audit("VIOLATION", words, "", 2 * rounds * len(pairs), played=games), 0.0, 0
    for first, second, best in pairs:
        uniform, moved, costs = rng.random((rounds, 1 + OTHERS)), np.zeros(rounds), np.zeros(rounds)
        laplace = target.numbers("laplace", rounds)
        states = np.repeat(target.state, 3)
        outcome, t = loop(states, first, second, uniform, laplace, best, moved, costs, np.zeros(rounds, np.int64))
        if outcome == SEVERAL:
            return replace(so_far, verdict="NOT AUDITABLE", found=MORE)
        if outcome == ARM:
            fields = _carrier(target, states, uniform[t], float(laplace[t]))
            found = f"in round {t + 1:,} two games with the same reports play different arms"
            return replace(so_far, found=f"{found}: gains act through {fields}")
        if outcome != AGREED:
            return replace(so_far, found=f"in round {t + 1:,} {FOUND[outcome]}")
        if costs.max() > worst:
            worst, at = float(costs.max()), int(np.argmax(costs)) + 1
    if worst > (1 + EXACT) * target.claim.epsilon:
        return replace(
            so_far, found=f"the gain of round {at:,} costs at least ε = {at_least(worst)}", epsilon_seen=worst
        )
    if worst > -np.log(LEAST):
        found = f"the chance of a bit is below {LEAST:.1g} in round {at:,}, which is not measured"
        return replace(so_far, verdict="NOT AUDITABLE", found=found)
    cost = f"a gain costs at most ε = {at_most(worst)}, exactly: other chances would be found"
    found, later = f"equal reports lead to equal arms; {cost}", like_these(rounds, target.setting.horizon)
    most = (1 + EXACT) * target.claim.epsilon
    return replace(so_far, verdict="CONSISTENT", found=found, epsilon_seen=worst, refutable=most, assumed=later)


def _chance(target: Target[Release]) -> Any:
    return target.call(chance_of_first, report=target.call(report_on_copy))


def _carrier(target: Target[Release], states: Records, uniform: Floats, z: float) -> str:
    """The fields through which B plays another arm than A."""

    def arms(state: Records) -> list[int]:
        return [target.steps["choose"](state.copy()[0], Draws(float(u), z)) for u in uniform]

    right = arms(states[:1])
    return f"{carrier(states[:1], states[1:2], lambda state: arms(state) != right) or 'several fields'} of the state"
