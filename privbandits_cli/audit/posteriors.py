"""Audit of noisy numbers of all arms that are drawn anew in every round, of which the largest decides the arm.

In each round an arm's draw is a number of its own plus a scale times `rng.normal[a]`. Both are measured, not assumed.
Game B has other gains than game A. In each round the numbers of B are moved until its draws equal those of A.

- Twins: both games must then play the same arms. Otherwise gains act by another way than the draws.
- Canaries: only one gain differs. The Euclidean norm of the moves is then the μ of this gain in this game, exactly. It
  depends on the arms that are played, so the same gain is changed in several games. A claim is refuted if it costs more
  in each of them.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.rounding import at_least
from privbandits_cli.audit.coupling import LONGEST
from privbandits_cli.audit.prefixes import Refuted
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.twins import copy
from privbandits_cli.audit.verdict import EXACT, Audit, like_these
from privbandits_cli.games.bandit import Floats, Numbers
from privbandits_cli.games.rounds import choose, update
from privbandits_cli.games.views import Noisy
from privbandits_cli.numerics.jit import Records, unbound

values: Any = unbound  # bound when a loop is compiled

REPEATS = 8  # games with the same canary
RANDOM = 4  # random rounds with a canary, besides the first K
WORTH = 0.0, 1.0  # of the arm with a canary
ROUNDS = 2**22  # of all games with canaries; long games have fewer of them
CLEAR = 1e-9  # draws and scales that differ by this share are different


def follow(states: Records, given: Floats, other: Floats, normal: Floats, moves: Floats, wrong: Floats) -> None:
    """Play `states[0]` with the gains `given[round, arm]`, and `states[1]` with `other` and numbers that follow it.

    moves[round]: the sum of the squares by which numbers are moved. wrong: the first round in which the games cannot be
    made alike, from 0, and why: 0 a draw without its own number, 1 a scale that gains change, 2 another arm.
    """
    n_arms = given.shape[1]
    none = np.zeros(n_arms)
    starts, rates, theirs, one = np.zeros((2, n_arms)), np.zeros((2, n_arms)), np.zeros(n_arms), np.zeros(n_arms)
    for t in range(len(given)):
        for game in range(2):
            copy(states, game, 2)
            choose(states[2], Numbers(0.0, 0.0, none.copy(), 0))
            starts[game] = values(states[2])
            for a in range(n_arms):
                one[:] = 0.0
                one[a] = 1.0
                copy(states, game, 2)
                choose(states[2], Numbers(0.0, 0.0, one, 0))
                rates[game, a] = values(states[2])[a] - starts[game, a]
        arm = choose(states[0], Numbers(0.0, 0.0, normal[t].copy(), 0))
        drawn = values(states[0])
        for a in range(n_arms):
            theirs[a] = normal[t, a]
            if rates[1, a] != 0.0:
                theirs[a] += (drawn[a] - starts[1, a]) / rates[1, a] - normal[t, a]
            moves[t] += (theirs[a] - normal[t, a]) ** 2
        same = choose(states[1], Numbers(0.0, 0.0, theirs.copy(), 0)) == arm
        wrong[0] = t
        for a in range(n_arms):
            size = abs(drawn[a]) + abs(starts[0, a]) + abs(starts[1, a]) + abs(rates[0, a])
            if not abs(values(states[1])[a] - drawn[a]) <= CLEAR * size:
                wrong[1] = 0.0
                return
            if not abs(rates[0, a] - rates[1, a]) <= CLEAR * (abs(rates[0, a]) + abs(starts[0, a])):
                wrong[1] = 1.0
                return
        if not same:
            wrong[1] = 2.0
            return
        update(states[0], arm, given[t, arm], Numbers(0.0, 0.0, normal[t].copy(), 0))
        update(states[1], arm, other[t, arm], Numbers(0.0, 0.0, theirs.copy(), 0))
    wrong[0] = -1.0


REASONS = (
    "a draw is not hidden by its own normal number",
    "the scale of a draw's noise depends on gains",
    "two games with the same draws play other arms: gains act through other fields of the state",
)


@dataclass
class Draws:
    """The games of an audit of draws."""

    target: Target[Noisy]
    rounds: int

    def __post_init__(self) -> None:
        self._follow = self.target.loop(follow)

    def coupled(self, given: Floats, other: Floats, name: str) -> float:
        """μ of two games with these gains `[round, arm]`; Refuted if their draws cannot be made alike."""
        moves, wrong = np.zeros(self.rounds), np.zeros(2)
        normal = self.target.stream(f"normal, {name}").standard_normal(given.shape)
        self._follow(np.repeat(self.target.state, 3), given, other, normal, moves, wrong)
        if wrong[0] >= 0:
            raise Refuted(f"in round {int(wrong[0]) + 1:,} {REASONS[int(wrong[1])]}")
        return float(np.sqrt(moves.sum()))

    def cost(self, t: int, worth: float) -> float:
        """The least μ, over several games, of the gain of round t. One arm always has this gain, the others 1 - worth.

        In first pulls it is the arm of round t. A worse arm is seldom played again, so that its gain costs more.
        """
        arm = t % self.target.setting.n_arms
        given = np.full((self.rounds, self.target.setting.n_arms), 1 - worth)
        given[:, arm] = worth
        other = given.copy()
        other[t] = 1 - given[t]
        return min(self.coupled(given, other, f"{t}, {worth}, {repeat}") for repeat in range(REPEATS))


def audit_drawn(target: Target[Noisy]) -> Audit:
    """Whether gains act through the draws alone, and what a gain costs in all of them."""
    claim, setting, rng = target.claim, target.setting, target.stream("gains")
    games = Draws(target, min(LONGEST, int(setting.horizon)))
    shape = games.rounds, setting.n_arms
    rows = sorted({*range(min(shape)), *rng.integers(0, games.rounds, RANDOM).tolist()})
    canaries = [(t, worth) for worth in WORTH for t in rows][: max(1, ROUNDS // (REPEATS * games.rounds))]
    words, others = f"{claim} of all draws of all arms", "other gains act like those that were played"
    assumed = "; ".join(filter(None, [others, like_these(games.rounds, setting.horizon)]))
    played = f"games of {games.rounds:,} rounds, with one other gain in {REPEATS} games for each of {len(canaries)}"
    cost = games.rounds * (1 + len(canaries) * REPEATS)
    so_far = Audit("VIOLATION", words, "", cost, played=played, assumed=assumed)
    try:
        games.coupled(rng.random(shape), rng.random(shape), "twins")
        mu, worst = max((games.cost(t, worth), t) for t, worth in canaries)
    except Refuted as refuted:
        return replace(so_far, found=str(refuted))
    seen, most = gaussian.epsilon_of(mu, claim.delta), (1 + EXACT) * gaussian.mu_of(claim.epsilon, claim.delta)
    if mu > most:
        words = f"the gain of round {worst + 1:,} costs at least ε = {at_least(seen)}"
        return replace(so_far, found=words, epsilon_seen=seen)
    found = f"equal arms follow equal draws; a gain costs at least ε = {at_least(seen)}"
    refutable = gaussian.epsilon_of(most**2 / mu, claim.delta) if mu > 0 else None  # of noise that is too small
    return replace(so_far, verdict="CONSISTENT", found=found, epsilon_seen=seen, refutable=refutable)
