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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.laplace import least_delta
from privbandits_cli.accounting.rounding import at_least, at_most
from privbandits_cli.audit import lockstep
from privbandits_cli.audit.lockstep import AGREED, ARM, BARE, CLIPPED, FOUND, MIXED, Loops, compiled, float_fields
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.twins import carrier
from privbandits_cli.audit.verdict import Audit, claimed, like_these
from privbandits_cli.games.bandit import Floats
from privbandits_cli.games.players import Setting
from privbandits_cli.games.views import Kept, Release, Report, Tree
from privbandits_cli.mechanisms.arm_trees import Counter, chosen
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
ALONE = (
    "what hides a gain by itself stays in all that is released later; sums whose noise changes are a `views.Tree` or a "
    "`views.Mean`"
)
SLACK = 1e-6  # a smaller relative excess of a privacy loss is rounding
ROUNDED_OFF = 1e-11  # a smaller move of a Laplace number may be the rounding of a sum of thousands of them
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


@dataclass(frozen=True)
class Coupling:
    """The result of coupled games.

    rounds: the number of rounds of each game. violation: the violation in words, or None. forced: whether every release
    could be made equal. unknown: in words, why the games decide nothing. loss: the largest privacy loss of one gain, in
    nats, exact; None if a release is not linear in its Laplace number. at: the round of that gain. canaries: the number
    of gains whose loss was computed. assumed: in words, what some of these games took for granted.
    """

    rounds: int
    violation: str | None = None
    forced: bool = True
    loss: float | None = None
    at: int = 0
    canaries: int = 0
    unknown: str = ""
    assumed: str = ""

    def games(self) -> str:
        """The games that were played, in words."""
        return f"pairs of games of {self.rounds:,} rounds with equal releases, {self.canaries:,} with one other gain"


def coupled(target: Target[Kept | Release]) -> Coupling:
    """Play pairs of games with equal releases: all gains different, and then one gain different at a time."""
    rounds, rng = int(min(target.setting.horizon, LONGEST)), target.stream("couple")
    uniform: Floats = np.stack([target.numbers("uniform", rounds), *rng.random((OTHERS, rounds))], axis=1)
    early: Floats = (np.arange(MANY) + rng.random((min(EARLY, rounds), MANY))) / MANY
    game = _Game(target, compiled(target), uniform, early, target.numbers(target.noise, rounds))
    pairs, canaries = _pairs(rounds, target.setting.n_arms, rng), _canaries(rounds, rng)
    gains = (rng.random(rounds) < DEEP).astype(float)
    linear, worst, rounded, several = True, Spent(), False, False
    for found, spent in chain(game.all_different(pairs), game.one_different(gains, canaries)):
        if found.outcome != AGREED:
            return game.stopped(found, rounds)
        linear, worst, rounded = linear and found.linear, max(worst, spent), rounded or found.rounded
        several |= spent.again > 0
        if spent.excess:
            cost = f"the gain of round {spent.gain:,} costs at least {spent.excess}"
            words = f"{cost}: the release of round {spent.release:,} needs more noise"
            return Coupling(rounds, words, True, spent.loss, spent.gain)
        if spent.again and isinstance(target.view, Release | Report):
            words = f"the gain of round {spent.gain:,} needs other noise in round {spent.again:,}, too: {ALONE}"
            return Coupling(rounds, words, True, spent.loss, spent.gain)
    each = isinstance(target.view, Tree) and target.claim.delta == 0  # whether the loss of each gain was computed
    others = (
        f"gains cost at most what the {len(canaries):,} cost that were changed alone" if several and not each else ""
    )
    loss, assumed = worst.loss if linear else None, "; ".join(filter(None, [others, rounded * ROUNDED]))
    return Coupling(rounds, None, True, loss, worst.gain, len(canaries), assumed=assumed)


def _pairs(rounds: int, n_arms: int, rng: Generator) -> list[tuple[Floats, Floats, int]]:
    """Pairs of games whose gains all differ, and the arm that earns these gains; the other arms earn 1 minus them."""
    inside: Floats = rng.random((2, rounds))
    coins: Floats = rng.integers(0, 2, rounds).astype(float)
    for step, grid in enumerate((2, 4, 10)):  # 0.5 and other round numbers are gains, too
        inside[:, step::6] = np.round(grid * inside[:, step::6]) / grid
    ends = [(np.ones(rounds), np.zeros(rounds), best) for best in range(min(ARMS, n_arms))]
    return [(coins, 1.0 - coins, 0), (inside[0], inside[1], 0), *ends]


def _canaries(rounds: int, rng: Generator) -> NDArray[np.int64]:
    """The rounds, counted from 0, whose gain is a canary: the first ones, those around powers of two, random ones."""
    powers = 2 ** np.arange(int(math.log2(rounds)) + 1)
    some = rng.integers(0, rounds, max(16, min(CANARIES, ROUNDS // rounds)))
    found = np.unique(np.concatenate([np.arange(8), powers - 2, powers - 1, powers, some]))
    return np.asarray(found[(found >= 0) & (found < rounds)], np.int64)


class Played(NamedTuple):
    """A pair of games: what ended it after how many rounds, in which states, and by which uniform number.

    rounded: whether B got the numbers of A that differ by rounding.
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

    def losses(self, tree: Counter | None) -> Floats:
        """The privacy loss of each round's gain, `[rounds]`: that of its release or, in a tree, of all its nodes."""
        if tree is None:
            return self.costs
        losses = np.zeros(len(self.costs))
        for arm in np.unique(self.arms).tolist():
            own = np.flatnonzero(self.arms == arm)
            added = np.zeros(len(own) + 1)
            np.add.at(added, begins(tree.levels(len(own))), self.costs[own])
            added[1:] -= self.costs[own]
            losses[own] = np.cumsum(added)[:-1]
        return losses


def begins(levels: NDArray[np.int8]) -> NDArray[np.int64]:
    """The number of items before the node of each item, `[items]`; the last of them closed a node at least as high."""
    found = np.zeros(len(levels), np.int64)
    for level in np.unique(levels).tolist():
        high = np.flatnonzero(levels >= level)
        before = np.concatenate([[0], high[:-1] + 1])
        own = levels[high] == level
        found[high[own]] = before[own]
    return found


def tree_of(view: Tree, setting: Setting) -> Counter:
    """The tree that an arm's sums come from."""
    counter: Counter = view.counter or chosen("tree", int(setting.horizon))
    return counter


class _Game(NamedTuple):
    """The pairs of games of one target."""

    target: Target[Kept | Release]
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
        return Played(outcome[0], outcome[1] + start, outcome[2], outcome[3], states, moves, costs, arms, rounding)

    def _near_tie(self, state: Records, first: Floats, start: int, best: int, found: Played) -> bool:
        """Whether noise that differs by little more than rounding also leads to other arms."""
        t, rng = found.rounds, self.target.stream("nudges")
        n, z = t - start, self.laplace[start:t]
        size = NUDGE * (1.0 + np.abs(z) + np.abs(found.moves[:n]) + found.costs[:n])
        right = self._choice(found.states[3:4], found.uniform, t)
        for _ in range(NUDGED):
            states, arms = np.repeat(state, 6), np.zeros(n, np.int64)
            moved = z + size * rng.uniform(-1, 1, n)
            self.loops.advance(states, first[start:t], self.uniform[start:t], moved, best, arms)
            if not np.array_equal(arms, found.arms[:n]) or self._choice(states[:1], found.uniform, t) != right:
                return True
        return False

    def all_different(self, pairs: Sequence[tuple[Floats, Floats, int]]) -> Iterator[tuple[Played, Spent]]:
        """Games in which all gains differ, each with the largest cost of a gain.

        At δ = 0, a gain costs the loss of its release or, in a tree, of all its nodes. At δ > 0, only its own release
        is judged, by the most that one Laplace number may cost.
        """
        epsilon, delta, view = self.target.claim.epsilon * (1 + SLACK), self.target.claim.delta, self.target.view
        tree = tree_of(view, self.target.setting) if isinstance(view, Tree) and delta == 0 else None
        for first, second, best in pairs:
            found = self.play(self.target.state, first, second, 0, best)
            losses = found.losses(tree)
            gain, release = int(np.argmax(losses)), int(np.argmax(found.costs))
            loss, allowed = float(losses[gain]), epsilon - 2 * math.log1p(-delta)
            if self.target.gaussian:
                loss, allowed = gaussian.epsilon_of(loss, delta), epsilon
            excess = "" if loss <= allowed else f"ε = {at_least(loss)}"
            yield found, Spent(loss, gain + 1, release + 1, excess)

    def one_different(self, gains: Floats, canaries: NDArray[np.int64]) -> Iterator[tuple[Played, Spent]]:
        """Games in which only the gain of one round differs, each with the cost of this gain."""
        claim, state, before = self.target.claim, np.repeat(self.target.state, 6), 0
        for t in canaries.tolist():
            arms = np.zeros(t - before, np.int64)
            self.loops.advance(state, gains[before:t], self.uniform[before:t], self.laplace[before:t], 0, arms)
            before = t
            other = gains.copy()
            other[t] = 1.0 - other[t]
            found = self.play(state[:1], gains, other, t)
            moves = np.abs(found.moves)
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
                return Coupling(rounds, forced=False)
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


def after_coupling(law: Callable[[Target[Any], bool], Audit]) -> Callable[[Target[Any]], Audit]:
    """The audit that plays coupled games, and then the games of the test `law` of the noise."""

    def audited(target: Target[Any]) -> Audit:
        found, claim = coupled(target), claimed(target)
        if found.violation:
            return Audit("VIOLATION", claim, found.violation, found.rounds, found.loss, played=found.games())
        if found.unknown:
            return Audit("NOT AUDITABLE", claim, found.unknown, 0)
        result = law(target, found.loss is not None and (target.claim.delta == 0 or target.gaussian))
        if result.verdict == "NOT AUDITABLE" and not found.loss:
            return result
        most = f"no arm after arm {ARMS} is ever the best one" if target.setting.n_arms > ARMS else ""
        known = result.assumed, like_these(found.rounds, target.setting.horizon), most, found.assumed
        later = [*filter(None, known)]
        played = "; ".join(filter(None, [found.games(), result.played]))
        if not found.forced:
            alone = f"choose reads the view alone (no `rng.{target.noise}` moves the release, so none can be forced)"
            return replace(result, played=result.played, assumed="; ".join([alone, *later]))
        words = ["equal releases lead to equal arms"]
        if found.loss is None:
            later.append("the noise has the claimed scale wherever the release is not linear in it")
        else:
            at = " at δ = 0" if target.claim.delta > 0 and not target.gaussian else ""
            words.append(f"a gain costs at most ε = {at_most(found.loss)}{at}, exactly: less noise would be found")
            seen = max(found.loss, result.epsilon_seen or 0.0)
            result = replace(result, epsilon_seen=seen, refutable=target.claim.epsilon)
        words.append(result.found)
        return replace(result, found="; ".join(words), played=played, assumed="; ".join(later))

    return audited
