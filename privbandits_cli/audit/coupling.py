"""Couplings: two bandit games with different gains whose releases are forced to be equal.

Game B has other gains than game A. Its random numbers are those of A, except for one: in each round the Laplace number
of B is moved until B releases the same as A. Two facts follow, without a statistical test:

- Both games must play the same arms. Otherwise a gain acts by another way than the view.
- If a release is a true value plus a multiple of the round's Laplace number, and only one gain differs, then the
  density of the releases of A is at most exp Σ|moves| times that of B, and it comes as close to this as one likes. So
  Σ|moves| is the exact privacy loss ε of this gain. If the numbers are normal, the releases are those of Gaussian
  mechanisms. The cost of the gain is then the ε of μ² = Σ moves² at the δ of the claim.

The releases of A and B are equal but for the rounding of floating-point numbers, which may decide a near tie. So if an
arm differs, A is played again with noise that differs by far more than rounding does. If these games have other arms,
too, A and B are played again, and after each round B gets the numbers of A that differ by rounding (`round_off`).

The game is the configured one, with all its rounds or its first LONGEST rounds.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.laplace import least_delta
from privbandits_cli.accounting.rounding import at_least, at_most
from privbandits_cli.audit import lockstep
from privbandits_cli.audit.bits import audit_bits
from privbandits_cli.audit.lockstep import AGREED, ARM, BARE, CLIPPED, FOUND, MIXED, Loops, compiled, float_fields
from privbandits_cli.audit.target import Target, inside
from privbandits_cli.audit.twins import carrier
from privbandits_cli.audit.verdict import Audit, claimed, like_these
from privbandits_cli.games.bandit import Floats
from privbandits_cli.games.views import Noisy, Release
from privbandits_cli.numerics.jit import Records

LONGEST = 2**18  # rounds of a game
CANARIES = 96  # gains whose privacy loss is computed, at most
ROUNDS = 2**24  # of all canaries' games together
ARMS = 8  # each of which, at most, is the best in a pair of games
DEEP = 0.8  # share of the rounds in which the first arm is the best, so that it is played often
OTHERS = 2  # further uniform numbers for which both games choose, in every round
EARLY = 2**10  # first rounds, in which a learner explores most
MANY = 64  # further uniform numbers of these rounds
CUT = (
    "what the view names is clipped to a range: let it name the numbers before they are clipped, and clip them in "
    "`choose`, which costs no privacy"
)
OTHERS_NOISE = "the noise of what is released is not `rng.{}` alone, the one number a round that this audit moves"
ALONE = "what hides a gain by itself, as `local` says of it, stays in all that is released later"
UNMOVED = "no gain changes what the view names: let it name numbers that every gain changes"
UNIFORM = "no `rng.{0}` moves what the view names, whose noise is made of `rng.uniform`: make it of `rng.{0}`"
CURVED = (
    "what the view names is not a true value plus a multiple of `rng.{}`, or rounding hides that multiple: its cost "
    "cannot be computed"
)
WEAKEST = 4  # releases with the least noise, whose gains are canaries
WEAKER = 1e-4  # an arm whose gains cost more by this share has canaries of its own
SLACK = 1e-6  # a smaller relative excess of a privacy loss is rounding
ROUNDED_OFF = 1e-11  # a smaller move of a Laplace number may be the rounding of a sum of thousands of them
HIDDEN = 0.1  # share of ε, or of a LITTLE one, that rounding may hide
LITTLE = 1e-4
NUDGE = 1e-8  # of a Laplace number, which is far more than the rounding of a release
NUDGED = 4  # games with such noise
ROUNDED = f"numbers of a field that differ by less than {lockstep.ROUNDING:g} of its largest one differ by rounding"


class Spent(NamedTuple):
    """The cost of a gain in nats, the round of the gain, and the round of the release that contributes most to it.

    excess: the cost in words if the claim does not allow it, else ""; again: the round of another release that reveals
    the gain, 0 if there is none.
    """

    loss: float = 0.0
    gain: int = 0
    release: int = 0
    excess: str = ""
    again: int = 0


class Coupling(NamedTuple):
    """The result of coupled games.

    rounds: the number of rounds of each game. violation: the violation in words, or "". loss: the largest privacy loss
    of one gain, in nats, exact. canaries: the number of gains whose loss was computed. unknown: in words, why the games
    decide nothing, or "". assumed: in words, what some of these games took for granted. uniform: whether the number
    `rng.uniform` moves what is released, and the number that was to be moved does not.
    """

    rounds: int
    violation: str = ""
    loss: float = 0.0
    canaries: int = 0
    unknown: str = ""
    assumed: str = ""
    uniform: bool = False

    def games(self) -> str:
        """The games that were played, in words."""
        alone = f", {self.canaries:,} with one other gain" if self.canaries else ""
        return f"pairs of games of {self.rounds:,} rounds with equal releases{alone}"


def coupled(target: Target[Noisy | Release]) -> Coupling:
    """Play pairs of games with equal releases: all gains different, and then one gain different at a time."""
    rounds, rng = int(min(target.setting.horizon, LONGEST)), target.stream("couple")
    uniform: Floats = np.stack([target.numbers("uniform", rounds), *rng.random((OTHERS, rounds))], axis=1)
    early: Floats = (np.arange(MANY) + rng.random((min(EARLY, rounds), MANY))) / MANY
    game = _Game(target, compiled(target), uniform, early, target.numbers(target.noise, rounds))
    canaries: list[int] = []
    linear, worst, rounded, alone = True, Spent(), False, target.algorithm.local

    def games() -> Iterator[tuple[Played, Spent]]:
        known = 0.0  # the largest cost of a gain in its own release, so far
        for first, second, best in _pairs(rounds, target):
            found, spent = game.all_different(first, second, best)
            yield found, spent
            cost = float(found.costs[found.arms == best].max(initial=0.0))
            if cost > (1 + WEAKER) * known:
                chosen = _weakest(found, best) if known else _canaries(found, rng)
                known = cost
            else:
                chosen = _few(found, best)
            canaries.extend(chosen)
            yield from game.one_different(first, best, chosen)

    for found, spent in games():
        if found.outcome != AGREED:
            return game.stopped(found, rounds)
        linear, worst, rounded = linear and found.linear, max(worst, spent), rounded or found.rounded
        linear &= found.hidden <= HIDDEN * max(target.claim.epsilon, LITTLE)
        if spent.excess:
            cost = f"the gain of round {spent.gain:,} costs at least {spent.excess}"
            words = f"{cost}: the release of round {spent.release:,} needs more noise"
            return Coupling(rounds, words, spent.loss)
        if spent.again and (alone or isinstance(target.view, Release)):
            words = f"the gain of round {spent.gain:,} needs other noise in round {spent.again:,}, too: {ALONE}"
            return Coupling(rounds, words, spent.loss)
    if not linear:
        return Coupling(rounds, unknown=CURVED.format(target.noise))
    every = len(set(canaries)) == rounds
    others = "" if every else f"gains cost at most what the {len(canaries):,} cost that were changed alone"
    assumed = "; ".join(filter(None, [others, rounded * ROUNDED]))
    return Coupling(rounds, "", worst.loss, len(canaries), "" if worst.loss else UNMOVED, assumed)


class Played(NamedTuple):
    """A pair of games: what ended it after how many rounds, in which states, and by which uniform number.

    rounded: whether B got the numbers of A that differ by rounding. hidden: the moves that rounding could hide.
    """

    outcome: int
    rounds: int
    uniform: float
    linear: bool
    states: Records
    moves: Floats
    costs: Floats
    arms: NDArray[np.int64]
    rounded: bool
    hidden: float


def _pairs(rounds: int, target: Target[Noisy | Release]) -> list[tuple[Floats, Floats, int]]:
    """Pairs of games whose gains all differ, and the arm that earns these gains; the other arms earn 1 minus them.

    The gains of the first game are those around the canaries.
    """
    rng = target.stream("pairs")
    deep, coins = (rng.random(rounds) < DEEP).astype(float), rng.integers(0, 2, rounds).astype(float)
    ends = [(np.ones(rounds), np.zeros(rounds), best) for best in range(min(ARMS, target.setting.n_arms))]
    return [(deep, 1.0 - deep, 0), (coins, 1.0 - coins, 0), (inside(rng, rounds), inside(rng, rounds), 0), *ends]


def _canaries(found: Played, rng: Generator) -> list[int]:
    """The rounds, counted from 0, whose gain is a canary, given a game without them.

    They are the first rounds, those around powers of two, random ones, and those around releases with the least noise.
    In a binary tree, a gain is in many nodes if the number of earlier plays of its arm is a multiple of a large power
    of two.
    """
    rounds = len(found.costs)
    powers = 2 ** np.arange(int(math.log2(rounds)) + 1)
    some = rng.integers(0, rounds, max(16, min(CANARIES, ROUNDS // rounds)))
    kept = [*range(8), *(powers - 2), *(powers - 1), *powers, *some, *_weakest(found)]
    return sorted({int(t) for t in kept if 0 <= t < rounds})


def _few(found: Played, best: int) -> list[int]:
    """The rounds of four gains of an arm: the first one, those after a half and after most plays, and the last one."""
    own = np.flatnonzero(found.arms == best)
    return sorted({int(own[i]) for i in (0, len(own) // 2, len(own) * 3 // 4, len(own) - 1)}) if len(own) else []


def _weakest(found: Played, best: int | None = None) -> list[int]:
    """The rounds of gains that the least noise hides, of one arm or of all: see `_canaries`."""
    costs, kept = np.where((found.arms == best) | (best is None), found.costs, 0.0), set[int]()
    costly = np.flatnonzero(costs >= (1 - SLACK) * costs.max())
    for t in [*costly[: WEAKEST // 2], *costly[-WEAKEST // 2 :]]:
        own = np.flatnonzero(found.arms == found.arms[t])
        sizes = 2 ** np.arange(len(own).bit_length())
        starts = np.searchsorted(own, t) // sizes * sizes
        kept |= set(own[np.minimum([*starts, *(starts + sizes)], len(own) - 1)].tolist())
    return sorted(kept)


class _Game(NamedTuple):
    """The pairs of games of one target."""

    target: Target[Noisy | Release]
    loops: Loops
    uniform: Floats
    early: Floats
    laplace: Floats

    def play(self, state: Records, first: Floats, second: Floats, start: int, best: int = 0) -> Played:
        """Play the rounds from `start` on. The arm `best` earns the gains; the other arms earn 1 minus them."""
        found = self._played(state, first, second, start, best, False)
        secret = found.outcome == ARM and not self._near_tie(state, first, start, best, found)
        return found if found.outcome == AGREED or secret else self._played(state, first, second, start, best, True)

    def _played(self, state: Records, first: Floats, second: Floats, start: int, best: int, rounding: bool) -> Played:
        n, states = len(self.laplace) - start, np.repeat(state, 6)
        moves, costs, arms = np.zeros(n), np.zeros(n), np.zeros(n, np.int64)
        rest = self.target.view.rounds - 1 if isinstance(self.target.view, Release) else 0
        least = SLACK * min(1.0, self.target.claim.epsilon)
        uniform, early = (self.uniform[start:, :1], self.early[:0]) if start else (self.uniform, self.early)
        fields = np.array([*float_fields(states.dtype)], np.int64).reshape(-1, 2)
        words = states.view(np.float64).reshape(6, -1) if len(fields) else np.zeros((6, 0))
        gains, kinds = (first[start:], second[start:]), (self.target.algorithm.bounded, best, rounding)
        plan = start, rest, least, *kinds
        outcome = self.loops.couple(
            states, words, fields, *gains, uniform, early, self.laplace[start:], *plan, moves, costs, arms
        )
        end, t, number, linear, hidden = outcome
        return Played(end, t + start, number, linear, states, moves, costs, arms, rounding, hidden)

    def _near_tie(self, state: Records, first: Floats, start: int, best: int, found: Played) -> bool:
        """Whether noise that differs by little more than rounding also leads to other arms."""
        t, rng = found.rounds, self.target.stream("nudges")
        n, z = t - start, self.laplace[start:t]
        size = NUDGE * (1.0 + np.abs(z) + found.moves[:n] + found.costs[:n])
        right = self._choice(found.states[3:4], found.uniform, t)
        for _ in range(NUDGED):
            states, arms = np.repeat(state, 6), np.zeros(n, np.int64)
            moved = z + size * rng.uniform(-1, 1, n)
            self.loops.advance(states, first[start:t], self.uniform[start:t], moved, best, arms)
            if not np.array_equal(arms, found.arms[:n]) or self._choice(states[:1], found.uniform, t) != right:
                return True
        return False

    def all_different(self, first: Floats, second: Floats, best: int) -> tuple[Played, Spent]:
        """A pair of games in which all gains differ, with the largest cost of a gain in its own release.

        At δ > 0, it may cost as much as a single Laplace number may at this δ.
        """
        epsilon, delta = self.target.claim.epsilon * (1 + SLACK), self.target.claim.delta
        found = self.play(self.target.state, first, second, 0, best)
        at = int(np.argmax(found.costs))
        loss, allowed = float(found.costs[at]), epsilon - 2 * math.log1p(-delta)
        if self.target.gaussian:
            loss, allowed = gaussian.epsilon_of(loss, delta), epsilon
        return found, Spent(loss, at + 1, at + 1, "" if loss <= allowed else f"ε = {at_least(loss)}")

    def one_different(self, gains: Floats, best: int, canaries: Sequence[int]) -> Iterator[tuple[Played, Spent]]:
        """Games in which only the gain of one round differs, each with the cost of this gain."""
        claim, state, before = self.target.claim, np.repeat(self.target.state, 6), 0
        for t in canaries:
            arms = np.zeros(t - before, np.int64)
            self.loops.advance(state, gains[before:t], self.uniform[before:t], self.laplace[before:t], best, arms)
            before = t
            other = gains.copy()
            other[t] = 1.0 - other[t]
            found = self.play(state[:1], gains, other, t, best)
            moves = found.moves
            if found.costs[0] > (1 + WEAKER) * moves[0] > 0.0:  # the range of gains is wider than that of the canary
                moves = moves * found.costs[0] / moves[0]
            loss = float(moves.sum()) if found.linear else 0.0
            if self.target.gaussian:
                loss = gaussian.epsilon_of(math.hypot(*moves[moves > 0]), claim.delta) if found.linear else 0.0
            excess = "" if loss <= claim.epsilon * (1 + SLACK) else f"ε = {at_least(loss)}"
            if excess and claim.delta > 0 and not self.target.gaussian:
                delta = least_delta(moves, claim.epsilon)
                excess = "" if delta <= claim.delta * (1 + SLACK) else f"δ = {at_least(delta)} at {claim}"
            again = max((t + 1 + np.flatnonzero(moves > ROUNDED_OFF)[1:2]).tolist(), default=0)
            yield found, Spent(loss, t + 1, t + 1 + int(np.argmax(moves)), excess, again)

    def stopped(self, found: Played, rounds: int) -> Coupling:
        """The violation, or the obstacle, that ended a pair of games."""
        t, states = found.rounds, found.states
        if found.outcome == MIXED or (
            found.outcome == BARE and self.target.more and self._noise_of_other_numbers(found)
        ):
            return Coupling(rounds, unknown=OTHERS_NOISE.format(self.target.noise))
        if found.outcome == CLIPPED:
            return Coupling(rounds, unknown=CUT)
        if found.outcome != ARM:
            if found.outcome == BARE and self._noise_of_uniform_numbers(found):
                return Coupling(rounds, unknown=UNIFORM.format(self.target.noise), uniform=True)
            return Coupling(rounds, f"in round {t + 1:,} {FOUND[found.outcome]}")
        words = f"in round {t + 1:,} two games with the same releases play different arms"
        right = self._choice(states[3:4], found.uniform, t)
        fields = carrier(states[3:4], states[4:5], lambda state: self._choice(state, found.uniform, t) != right)
        return Coupling(rounds, f"{words}: gains act through {fields or 'several fields'} of the state")

    def _choice(self, state: Records, uniform: float, t: int) -> int:
        return self.loops.choice(np.repeat(state, 6), 0, uniform, self.laplace[t])

    def _arm(self, found: Played) -> int:
        """The arm played in the round that ended a pair of games."""
        return int(found.arms[found.rounds - (len(self.laplace) - len(found.arms))])

    def _noise_of_other_numbers(self, found: Played) -> bool:
        """Whether the release depends on any number of its round, as when `choose` keeps noise in the state."""
        z, arm, seen = self.laplace[found.rounds], self._arm(found), set()
        for uniform in np.linspace(0.01, 0.99, 50).tolist():
            if self.loops.choice(found.states.copy(), 4, uniform, z) == arm:
                seen.add(self.loops.trial(found.states.copy(), 4, arm, 0.0, uniform, z))
        return len(seen) > 1

    def _noise_of_uniform_numbers(self, found: Played) -> bool:
        """Whether the release that could not be forced depends on the uniform number, and not on the Laplace number."""
        t, arm = found.rounds, self._arm(found)
        z = self.laplace[t]

        def release(uniform: float, laplace: float) -> float:
            return self.loops.trial(found.states.copy(), 4, arm, 0.0, uniform, laplace)

        some = np.linspace(0.01, 0.99, 50).tolist()
        still = all(release(u, z) == release(u, z + 1.0) for u in some)
        return still and len({release(u, z) for u in some}) > 1


def audit_noise(target: Target[Any]) -> Audit:
    """Whether arms follow from the releases alone, and whether these reveal more about a gain than (ε, δ) allows."""
    found, claim = coupled(target), claimed(target)
    if found.violation:
        return Audit("VIOLATION", claim, found.violation, found.rounds, found.loss, played=found.games())
    if found.uniform and isinstance(target.view, Release):
        return audit_bits(target)
    if found.unknown:
        return Audit("NOT AUDITABLE", claim, found.unknown, 0)
    most = f"no arm after arm {ARMS} is ever the best one" if target.setting.n_arms > ARMS else ""
    later = "; ".join(filter(None, [like_these(found.rounds, target.setting.horizon), most, found.assumed]))
    at = " at δ = 0" if target.claim.delta > 0 and not target.gaussian else ""
    cost = f"a gain costs at most ε = {at_most(found.loss)}{at}, exactly: less noise would be found"
    words, games = f"equal releases lead to equal arms; {cost}", found.games()
    return Audit("CONSISTENT", claim, words, found.rounds, found.loss, target.claim.epsilon, games, later)
