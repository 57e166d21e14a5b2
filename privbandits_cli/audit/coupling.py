"""Couplings: two bandit games with different gains whose releases are forced to be equal.

Game B has other gains than game A, and the same random numbers but for one: in each round its Laplace number is moved
until what the view releases equals the release of A. Two facts follow, without a statistical test:

- Both games must play the same arms. Otherwise a gain acts past the view.
- If a release is a true value plus a multiple of the round's Laplace number, and only one gain differs, then the
  density of the releases of A is at most exp Σ|moves| times that of B, and it comes as close to this as one likes. The
  sum is therefore the exact privacy loss ε of this gain.

The game is the configured one, with all its rounds, or its first LONGEST rounds.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.accounting.rounding import at_least, at_most
from privbandits_cli.audit.lockstep import AGREED, ARM, BARE, FOUND, MIXED, Loops, compiled, float_fields
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.twins import carrier
from privbandits_cli.audit.verdict import Audit
from privbandits_cli.games.bandit import Floats
from privbandits_cli.games.views import Kept, Release, Tree
from privbandits_cli.numerics.jit import Records

LONGEST = 2**18  # rounds of a game
CANARIES = 96  # gains whose privacy loss is computed, at most
ROUNDS = 2**24  # of all canaries' games together
DEEP = 0.8  # share of the rounds in which the first arm is the best, so that it is played often
OTHERS = 2  # further uniform numbers for which both games choose, in every round
OTHERS_NOISE = "the noise of what is released is not `rng.laplace` alone, the one number a round that this audit moves"
SLACK = 1e-6  # a smaller relative excess of a privacy loss is rounding


@dataclass(frozen=True)
class Coupling:
    """What coupled games found.

    rounds: of each game; violation: in words, or None; forced: whether every release could be made equal; unknown: why
    nothing follows, in words.
    loss: the largest privacy loss of one gain, in nats, exact; None if a release is not linear in its Laplace number.
    at: the round of that gain; canaries: for how many gains the loss was computed.
    """

    rounds: int
    violation: str | None = None
    forced: bool = True
    loss: float | None = None
    at: int = 0
    canaries: int = 0
    unknown: str = ""

    def games(self) -> str:
        """What was played, in words."""
        return f"pairs of games of {self.rounds:,} rounds with equal releases, {self.canaries:,} with one other gain"


def coupled(target: Target[Kept | Release]) -> Coupling:
    """Play pairs of games with equal releases: all gains different, and then one gain different at a time."""
    rounds, rng, loops = int(min(target.setting.horizon, LONGEST)), target.stream("couple"), compiled(target)
    uniform: Floats = np.stack([target.numbers("uniform", rounds), *rng.random((OTHERS, rounds))], axis=1)
    laplace, inside = target.numbers("laplace", rounds), rng.random((2, rounds))
    coins: Floats = rng.integers(0, 2, rounds).astype(float)
    pairs = (coins, 1.0 - coins), (np.ones(rounds), np.zeros(rounds)), (inside[0], inside[1])
    game, loss, at, most, linear = _Game(target, loops, uniform, laplace), 0.0, 0, 0, True
    for first, second in pairs:
        found = game.play(np.repeat(target.state, 6), first, second, 0)
        if found.outcome != AGREED:
            return game.stopped(found, rounds)
        linear = linear and found.linear
        losses = found.losses(isinstance(target.view, Tree))
        if losses.max() > loss:
            loss, at, most = float(losses.max()), int(np.argmax(losses)) + 1, int(np.argmax(found.costs)) + 1
    allowed = target.claim.epsilon * (1 + SLACK) if target.claim.delta == 0 else math.inf
    canaries = _canaries(rounds, rng) if loss <= allowed else np.empty(0, np.int64)
    gains = (rng.random(rounds) < DEEP).astype(float)
    state, before = np.repeat(target.state, 6), 0
    for t in canaries.tolist():
        loops.advance(state, gains[before:t], uniform[before:t], laplace[before:t])
        before = t
        other = gains.copy()
        other[t] = 1.0 - other[t]
        found = game.play(np.repeat(state[:1], 6), gains, other, t)
        if found.outcome != AGREED:
            return game.stopped(found, rounds)
        linear, own = linear and found.linear, float(np.abs(found.moves).sum())
        if found.linear and own > loss:
            loss, at, most = own, t + 1, t + 1 + int(np.argmax(np.abs(found.moves)))
        if loss > allowed:
            break
    result = Coupling(rounds, None, True, loss if linear else None, at, len(canaries))
    if loss <= allowed:
        return result
    words = (
        f"the gain of round {at:,} costs at least ε = {at_least(loss)}: the release of round {most:,} needs more noise"
    )
    return replace(result, violation=words)


def _canaries(rounds: int, rng: Generator) -> NDArray[np.int64]:
    """The rounds, from 0, whose gain is a canary: the first ones, those around powers of two, and random ones."""
    powers = 2 ** np.arange(int(math.log2(rounds)) + 1)
    some = rng.integers(0, rounds, max(16, min(CANARIES, ROUNDS // rounds)))
    found = np.unique(np.concatenate([np.arange(8), powers - 2, powers - 1, powers, some]))
    return np.asarray(found[(found >= 0) & (found < rounds)], np.int64)


class Played(NamedTuple):
    """A pair of games: what ended it after how many rounds, in which states, and by which uniform number."""

    outcome: int
    rounds: int
    uniform: float
    linear: bool
    states: Records
    moves: Floats
    costs: Floats
    arms: NDArray[np.int64]

    def losses(self, tree: bool) -> Floats:
        """The privacy loss of each round's gain, `[rounds]`, in its own release or, in a tree, in all of its nodes."""
        if not tree:
            return self.costs
        losses = np.zeros(len(self.costs))
        for arm in np.unique(self.arms).tolist():
            own = np.flatnonzero(self.arms == arm)
            n = np.arange(1, len(own) + 1)
            added = np.zeros(len(own) + 1)
            np.add.at(added, n & (n - 1), self.costs[own])  # the node that item n closes begins after this item
            np.add.at(added, n, -self.costs[own])
            losses[own] = np.cumsum(added)[:-1]
        return losses


class _Game(NamedTuple):
    """The pairs of games of one target."""

    target: Target[Kept | Release]
    loops: Loops
    uniform: Floats
    laplace: Floats

    def play(self, states: Records, first: Floats, second: Floats, start: int) -> Played:
        """Play the rounds from `start` on."""
        n = len(self.laplace) - start
        moves, costs, arms = np.zeros(n), np.zeros(n), np.zeros(n, np.int64)
        rest = self.target.view.rounds - 1 if isinstance(self.target.view, Release) else 0
        least = SLACK * min(1.0, self.target.claim.epsilon)
        numbers = self.uniform[start:, : 1 if start else None], self.laplace[start:]
        fields = np.array([*float_fields(states.dtype)], np.int64).reshape(-1, 2)
        words = states.view(np.float64).reshape(6, -1) if len(fields) else np.zeros((6, 0))
        gains = first[start:], second[start:]
        outcome = self.loops.couple(states, words, fields, *gains, *numbers, start, rest, least, moves, costs, arms)
        return Played(outcome[0], outcome[1] + start, outcome[2], outcome[3], states, moves, costs, arms)

    def stopped(self, found: Played, rounds: int) -> Coupling:
        """The violation that ended a pair of games, or that it could not be played on."""
        t, states = found.rounds, found.states
        if found.outcome == MIXED or (
            found.outcome == BARE and self.target.more and self._noise_of_other_numbers(found)
        ):
            return Coupling(rounds, unknown=OTHERS_NOISE)
        if found.outcome != ARM:
            if found.outcome == BARE and self._noise_of_uniform_numbers(found):
                return Coupling(rounds, forced=False)
            return Coupling(rounds, f"in round {t + 1:,} {FOUND[found.outcome]}")
        words = f"in round {t + 1:,} two games with the same releases play different arms"
        right = self._choice(states[3:4], found.uniform, t)
        fields = carrier(states[3:4], states[4:5], lambda state: self._choice(state, found.uniform, t) != right)
        return Coupling(rounds, f"{words}: gains act through {fields or 'several fields'} of the state")

    def _choice(self, state: Records, uniform: float, t: int) -> int:
        return self.loops.choice(np.repeat(state, 6), 0, uniform, self.laplace[t])

    def _arm(self, found: Played) -> int:
        """The arm of the round that ended a pair of games."""
        return int(found.arms[found.rounds - (len(self.laplace) - len(found.arms))])

    def _noise_of_other_numbers(self, found: Played) -> bool:
        """Whether the release moves with any number of its round, from which `choose` may have kept noise."""
        z, arm, seen = self.laplace[found.rounds], self._arm(found), set()
        for uniform in np.linspace(0.01, 0.99, 50).tolist():
            states = found.states.copy()
            if self.loops.choice(states, 4, uniform, z) == arm:
                states[1] = states[2]
                seen.add(self.loops.trial(states, 1, arm, 0.0, uniform, z))
        return len(seen) > 1

    def _noise_of_uniform_numbers(self, found: Played) -> bool:
        """Whether the release that was not forced moves with the uniform number, and never with the Laplace one."""
        t, arm = found.rounds, self._arm(found)
        z = self.laplace[t]

        def release(uniform: float, laplace: float) -> float:
            return self.loops.trial(found.states.copy(), 1, arm, 0.0, uniform, laplace)

        some = np.linspace(0.01, 0.99, 50).tolist()
        still = all(release(u, z) == release(u, z + 1.0) for u in some)
        return still and len({release(u, z) for u in some}) > 1


def after_coupling(law: Callable[[Target[Any]], Audit]) -> Callable[[Target[Any]], Audit]:
    """The audit that plays coupled games, and then the games of the test `law` of the noise."""

    def audited(target: Target[Any]) -> Audit:
        found, claim = coupled(target), f"{target.claim} of {target.claim.view or 'all arms played'}"
        if found.violation:
            return Audit("VIOLATION", claim, found.violation, found.rounds, found.loss, played=found.games())
        if found.unknown:
            return Audit("NOT AUDITABLE", claim, found.unknown, 0)
        result = law(target)
        if result.verdict == "NOT AUDITABLE" and not found.loss:
            return result
        later = [] if target.setting.horizon <= found.rounds else [f"rounds after {found.rounds:,} are like these"]
        played = "; ".join(filter(None, [found.games(), result.played]))
        if not found.forced:
            alone = "choose reads the view alone (no Laplace number of `rng` moves the release, so none can be forced)"
            return replace(result, played=result.played, assumed="; ".join([alone, *later]))
        words = ["equal releases lead to equal arms"]
        if found.loss is None:
            later.append("the noise has the claimed scale wherever the release is not linear in it")
        else:
            words.append(f"a gain costs at most ε = {at_most(found.loss)}, exactly")
            seen = max(found.loss, result.epsilon_seen or 0.0)
            result = replace(result, epsilon_seen=seen, refutable=target.claim.epsilon)
        words.append(result.found)
        return replace(result, found="; ".join(words), played=played, assumed="; ".join(later))

    return audited
