"""Audit of reports of one bit: `released` has one value if `rng.uniform` is below a chance, and another one above it.

The chance depends on the gain. The audit finds it by bisection, to the last digit, so no statistics are needed. Gains
lie in the canary's range; of a learner whose gains may have any size, the audit also tries larger ones. Game B has
other gains than game A. In each round the audit moves the uniform number of B to the side of B's own chance on which B
reports as A does.

- Both games must then play the same arms. Otherwise gains act by another way than the reports.
- The cost of a gain is the largest ln p/p', for the chances p and p' of either bit with two gains.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from privbandits_cli.audit import lockstep
from privbandits_cli.audit.coupling import ARMS, game_of, pairs
from privbandits_cli.audit.lockstep import DIFFERENT, ENDED, POWERS, Deal, answers_of, compiled, ranges_of
from privbandits_cli.audit.target import Target, choice, trial
from privbandits_cli.audit.twins import AFTER, A, B, copy, leak
from privbandits_cli.audit.verdict import EXACT, Audit, judged, like_these
from privbandits_cli.games.bandit import Floats
from privbandits_cli.games.views import Release, unit
from privbandits_cli.numerics.jit import Records, unbound

chance: Any = unbound  # these are bound when a loop is compiled
ranges: Any = unbound
answers: Any = unbound
WIDE = False  # whether gains may lie outside the canary's range

LONGEST = 2**16  # rounds of a game
LAST = 1.0 - 2.0**-53  # the largest uniform number
ROUNDING = 1e-12  # rounding error of a chance
LEAST = 2.0**-40  # a smaller chance is not measured

AGREED, ARM, NUMBER, SEVERAL, VALUES, BEFORE, ANSWERS = range(7)  # what ends a pair of games
FOUND = {
    NUMBER: "the arm depends on the random number that draws the report of its gain",
    BEFORE: "the chance of a report depends on the gains before it",
    ANSWERS: lockstep.FOUND[lockstep.ANSWER],
    VALUES: "the two values of a report depend on gains",
}
MORE = "a report has more than two values, or is not drawn by `rng.uniform` alone: make its noise of `rng.laplace`"


def chance_of_first(states: Records, game: int, arm: int, gain: float, z: float) -> float:
    """The least uniform number with which the report of this gain is another one than with 0; 1 if there is none."""
    first, low, high = trial(states, game, arm, gain, 0.0, z), 0.0, 1.0
    if trial(states, game, arm, gain, LAST, z) == first:
        return 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        if trial(states, game, arm, gain, min(middle, LAST), z) == first:
            low = middle
        else:
            high = middle
    return high


def follow(states: Records, deal: Deal, costs: Floats) -> tuple[int, int, float]:
    """Play the games A and B; the others, of six, are scratch space.

    Filled in: `costs[round]`, the privacy loss of a gain in its report, in nats. Returned: what ended the games, the
    rounds before that, and the uniform number of that choice. The Laplace numbers are not moved.
    """
    first, second, columns, uniform, _, laplace = deal
    for t in range(len(first)):
        z, u = laplace[t], uniform[t, 0]
        arm = choice(states, A, u, z)
        for j in range(uniform.shape[1]):
            again = choice(states, A, uniform[t, j], z)
            if choice(states, B, uniform[t, j], z) != again:
                return ARM, t, uniform[t, j]
            if again != arm:
                return NUMBER, t, u
        low, high = ranges(states, A)
        gain = low + (high - low) * first[t, columns[arm]]
        other = low + (high - low) * second[t, columns[arm]]
        own, theirs = chance(states, A, arm, gain, z), chance(states, B, arm, other, z)
        ends = trial(states, A, arm, gain, 0.0, z), trial(states, A, arm, gain, LAST, z)
        for j in range(uniform.shape[1]):
            if trial(states, A, arm, gain, uniform[t, j], z) != (ends[0] if uniform[t, j] < own else ends[1]):
                return SEVERAL, t, u
        others = chance(states, A, arm, low, z), chance(states, A, arm, high, z), chance(states, A, arm, other, z), own
        least, most = min(others), max(others)
        if WIDE:
            power, width = 2.0 ** (t % POWERS - 10.0), high - low
            for g in (0.0, low - 999.0 * width, high + 999.0 * width, -power, power):
                found = chance(states, A, arm, g, z)
                least, most = min(least, found), max(most, found)
        if abs(chance(states, B, arm, gain, z) - own) > ROUNDING:
            return BEFORE, t, u
        for game in range(2):
            values = trial(states, game, arm, other, 0.0, z), trial(states, game, arm, other, LAST, z)
            if values != ends:
                return VALUES, t, u
        with_first = most / max(least, 1.0 - LAST)
        with_last = (1.0 - least) / max(1.0 - most, 1.0 - LAST)
        costs[t] = np.log(max(with_first, with_last))
        moved = min(theirs * u / own if u < own else 1.0 - (1.0 - theirs) * ((1.0 - u) / (1.0 - own)), LAST)
        reported = trial(states, A, arm, gain, u, z)
        copy(states, AFTER, A)
        if trial(states, B, arm, other, moved, z) != reported:  # rounding at the chance itself
            trial(states, B, arm, other, theirs / 2.0 if u < own else (1.0 + theirs) / 2.0, z)
        copy(states, AFTER, B)
        now = answers(states, A, B)
        if now == DIFFERENT:
            return ANSWERS, t, 0.0
        if now == ENDED:
            break
    return AGREED, len(first), 0.0


def audit_bits(target: Target[Release]) -> Audit:
    """Whether arms follow from the reports alone, and whether a report reveals more about its gain than ε allows."""
    rounds, loops = int(min(target.setting.horizon, LONGEST)), compiled(target)
    steps = {"choice": loops.choice, "trial": loops.trial}
    calls = {"chance": target.call(chance_of_first, **steps), "ranges": ranges_of(target)}
    wide = not target.algorithm.bounded and target.view.canary is not unit
    loop = target.loop(follow, **steps, **calls, answers=answers_of(target), WIDE=wide)
    made = pairs(rounds, target)[: 3 + min(ARMS, target.setting.n_arms)]
    games = f"pairs of games of {rounds:,} rounds with equal reports"
    words, later = f"{target.claim} of each report of one bit, by itself", like_these(rounds, target.setting.horizon)
    so_far = Audit("VIOLATION", words, "", 2 * rounds * len(made), played=games, assumed=later)
    worst, at = 0.0, 0
    for number, pair in enumerate(made):
        game = game_of(target, loops, pair, number, rounds)
        states, costs = np.repeat(target.state, 6), np.zeros(rounds)
        outcome, t, u = loop(states, game.deal, costs)
        if outcome == SEVERAL:
            return replace(so_far, verdict="NOT AUDITABLE", found=MORE)
        if outcome == ARM:
            fields = loops.carriers(states[:1], states[1:2], u, game.deal.laplace[t])
            return replace(so_far, found=leak(t, "reports", "different arms", "gains", fields))
        if outcome != AGREED:
            return replace(so_far, found=f"in round {t + 1:,} {FOUND[outcome]}")
        if costs.max() > worst:
            worst, at = float(costs.max()), int(np.argmax(costs)) + 1
    if target.claim.epsilon * (1 + EXACT) >= worst > -np.log(LEAST):
        found = f"the chance of a bit is below {LEAST:.1g} in round {at:,}, which is not measured"
        return replace(so_far, verdict="NOT AUDITABLE", found=found)
    law, gain = ", exactly: other chances would be found; equal reports lead to equal arms", f"the gain of round {at:,}"
    return judged(so_far, target.claim, worst, "a gain", law, worst=gain)
