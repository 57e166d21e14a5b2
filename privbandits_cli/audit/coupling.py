"""Couplings: two bandit games with different gains whose releases are forced to be equal.

Game B has other gains than game A. Its random numbers are those of A, except for one: in each round the Laplace number
of B is moved until B releases the same as A. Two facts follow, without a statistical test:

- Both games must play the same arms. Otherwise a gain acts by another way than the view.
- If a release is a true value plus a multiple of the round's Laplace number, and only one gain differs, then the
  density of the releases of A is at most exp Σ|moves| times that of B, and it comes as close to this as one likes. So
  Σ|moves| is the exact privacy loss ε of this gain. If the numbers are normal, the releases are those of Gaussian
  mechanisms. The cost of the gain is then the ε of μ² = Σ moves² at the δ of the claim.

First all gains differ, in pairs of games with several tables of gains (`pairs`). Each pair has random numbers of its
own. Then one gain differs at a time: every gain if the game has at most EVERY rounds, else those that
`noisy_gains._canaries` selects.

The releases of A and B are equal but for the rounding of floating-point numbers, which may decide a near tie. So if an
arm differs, A is played again with noise that differs by far more than rounding does. If these games have other arms,
too, A and B are played again, and after each round B gets the numbers of A that differ by rounding (`round_off`).
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.laplace import least_delta
from privbandits_cli.accounting.rounding import at_least
from privbandits_cli.audit import lockstep
from privbandits_cli.audit.lockstep import AGREED, ARM, FOUND, Deal, Loops, Trace, float_fields
from privbandits_cli.audit.target import Target, inside, rare
from privbandits_cli.audit.twins import leak
from privbandits_cli.games.bandit import Floats
from privbandits_cli.games.views import Noisy, Release
from privbandits_cli.numerics.jit import Records

LONGEST = 2**18  # rounds of a game
CANARIES = 96  # random gains that are changed alone in a longer game, at most
ARMS = 8  # arms that are each the best one in a pair of games, at most
ENDS = 0.9, 0.1  # means of the best arm and of the worst one, if each arm is worse than the one before it
DEEP = 0.8  # share of the rounds in which the first arm is the best, so that it is played often
EARLY = 2**10  # first rounds, in which a learner explores most
MANY = 64  # further uniform numbers of these rounds, for which both games choose
RARE = 16  # one round in so many has a rare number, in the pairs of games RARELY
RARELY = 1, 2  # the gains of the first of these are 0 and 1, those of the second one are between them
RUN = 64  # rounds with the same gains
ALONE = "what hides a gain by itself, as `local` says of it, stays in all that is released later"
WEAKER = 1e-4  # an arm whose gains cost more by this share has canaries of its own
SLACK = 1e-6  # a smaller relative excess of a privacy loss is rounding
ROUNDED_OFF = 1e-11  # a smaller move of a Laplace number may be the rounding of a sum of thousands of them
NUDGE = 1e-8  # relative change of a Laplace number: far more than the rounding of a release
NUDGED = 32  # games with such noise: all of them have the same arms by chance with probability 2^-32 at most

EVERY = 2**12  # rounds of a game, at most, in which every gain is changed alone


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


class Pair(NamedTuple):
    """The gains of games A and B, `[rounds, columns]`, where 0 and 1 are the ends of the canary's range.

    best: the arm that earns the second of two columns; the others earn the first one. If every arm has a column of its
    own, the best one is 0.
    """

    first: Floats
    second: Floats
    best: int = 0

    def columns(self, n_arms: int) -> NDArray[np.int64]:
        """Which column each arm earns."""
        arms = np.arange(n_arms)
        return (arms == self.best).astype(np.int64) if self.first.shape[1] == 2 else arms

    def tables(self, n_arms: int) -> tuple[Floats, Floats]:
        """The gains of A and of B, `[rounds, arms]`."""
        own = self.columns(n_arms)
        return np.take(self.first, own, axis=1), np.take(self.second, own, axis=1)


class Played(NamedTuple):
    """A pair of games: what ended it after how many rounds, in which states, and by which uniform number.

    rounded: whether B got the numbers of A that differ by rounding. hidden: the moves that rounding could hide,
    infinite if it could hide the noise of a release.
    """

    outcome: int
    rounds: int
    uniform: float
    states: Records
    trace: Trace
    rounded: bool
    hidden: float


def pairs(rounds: int, target: Target[Noisy | Release]) -> list[Pair]:
    """Pairs of games whose gains all differ. Where only one gain differs, game A is that of one of these pairs.

    The tables of A, in this order: one arm is the best one in most rounds; one arm is the best one in random rounds;
    all gains are random; one arm is the best one in all rounds, a table for each of the first ARMS; one arm is the best
    one until half of the game is over, and then the worst one; all arms earn alike, another gain after each RUN of
    rounds; all arms earn alike, the same gain in all rounds; each arm is worse than the one before it.
    """
    rng = target.stream("pairs")
    deep, coins = (rng.random(rounds) < DEEP).astype(float), rng.integers(0, 2, rounds).astype(float)
    some, others = inside(rng, rounds), inside(rng, rounds)
    runs = np.repeat(rng.integers(0, 11, rounds // RUN + 1) / 10.0, RUN)[:rounds]
    falling = (np.arange(rounds) < rounds / 2).astype(float)

    def against(own: Floats, other: Floats, best: int = 0) -> Pair:
        """The gains of the best arm and of the others, against their complements."""
        table = np.stack([np.broadcast_to(other, rounds), own], axis=1)
        return Pair(table, 1.0 - table, best)

    def alike(own: Floats, other: Floats) -> Pair:
        return Pair(np.stack([own, own], axis=1), np.stack([other, other], axis=1))

    made = [against(deep, 1.0 - deep), against(coins, 1.0 - coins)]
    made += [Pair(np.stack([1.0 - some, some], axis=1), np.stack([1.0 - others, others], axis=1))]
    made += [against(np.ones(rounds), np.zeros(rounds), best) for best in range(min(ARMS, target.setting.n_arms))]
    flat = [alike(np.full(rounds, gain), np.full(rounds, 1.0 - gain)) for gain in (0.0, 0.1, 1.0)]
    made += [against(falling, np.full(rounds, other)) for other in (0.6, 0.7, 0.8)]
    ladder = (rng.random((rounds, 1)) < np.linspace(*ENDS, max(3, target.setting.n_arms))).astype(float)
    return [*made, alike(runs, (runs + 0.5) % 1.0), *flat, Pair(ladder, 1.0 - ladder)]


def game_of(target: Target[Noisy | Release], loops: Loops, pair: Pair, number: int, rounds: int) -> "Game":
    """A pair of games with random numbers of its own; some are rare in the pairs RARELY."""
    rng, noise = target.stream(f"couple {number}"), target.numbers(target.noise, rounds, number)
    numbers = target.numbers("uniform", rounds, number), rng.random(rounds), rare("uniform", rounds, rng)
    uniform, early = np.stack(numbers, axis=1), (np.arange(MANY) + rng.random((min(EARLY, rounds), MANY))) / MANY
    if number in RARELY:
        far = rng.permutation(np.arange(rounds) % RARE == 0)
        noise, uniform[far, 0] = np.where(far, rare(target.noise, rounds, rng), noise), uniform[far, 2]
    return Game(target, loops, Deal(*pair[:2], pair.columns(target.setting.n_arms), uniform, early, noise))


class Game(NamedTuple):
    """A pair of games of one target."""

    target: Target[Noisy | Release]
    loops: Loops
    deal: Deal

    def play(self, state: Records, second: Floats, start: int) -> Played:
        """Play the rounds from `start` on, in which B has these gains."""
        found = self._played(state, second, start, False)
        secret = found.outcome == ARM and not self._near_tie(state, start, found)
        return found if found.outcome == AGREED or secret else self._played(state, second, start, True)

    def _played(self, state: Records, second: Floats, start: int, rounding: bool) -> Played:
        own, n, states = self.deal, len(self.deal.laplace) - start, np.repeat(state, 6)
        trace = Trace(np.zeros(n), np.zeros(n), np.zeros(n, np.int64), np.zeros(n), np.zeros(n))
        uniform, early = (own.uniform[start:, :1], own.early[:0]) if start else (own.uniform, own.early)
        deal = Deal(own.first[start:], second[start:], own.columns, uniform, early, own.laplace[start:])
        fields = np.array([*float_fields(states.dtype)], np.int64).reshape(-1, 2)
        words = states.view(np.float64).reshape(6, -1) if len(fields) else np.zeros((6, 0))
        plan = start, self.rest(), SLACK * min(1.0, self.target.claim.epsilon), rounding
        end, t, number, hidden = self.loops.couple(states, words, fields, deal, *plan, trace)
        return Played(end, t + start, number, states, trace, rounding, hidden)

    def rest(self) -> int:
        """The rounds of a block before its last one."""
        return self.target.view.rounds - 1 if isinstance(self.target.view, Release) else 0

    def _near_tie(self, state: Records, start: int, found: Played) -> bool:
        """Whether A plays other arms if its noise differs by little, but by more than rounding."""
        t, rng = found.rounds, self.target.stream("nudges")
        n, z, size = t - start, self.deal.laplace.copy(), np.zeros(t)
        size[start:] = NUDGE * (1.0 + np.abs(z[start:t]) + found.trace.moves[:n] + found.trace.costs[:n])
        right = self.choice(found.states[3:4], found.uniform, t)
        for _ in range(NUDGED):
            states, z[:t] = np.repeat(state, 6), self.deal.laplace[:t] + size * rng.uniform(-1, 1, t)
            arms = self.advance(states, start, t, z)
            if not np.array_equal(arms, found.trace.arms[:n]) or self.choice(states[:1], found.uniform, t) != right:
                return True
        return False

    def advance(self, states: Records, start: int, end: int, laplace: Floats | None = None) -> NDArray[np.int64]:
        """Play A = `states[0]` from one round to another; the arms."""
        arms, deal = np.zeros(end, np.int64), self.deal if laplace is None else self.deal._replace(laplace=laplace)
        self.loops.advance(states, deal, start, end, arms)
        return arms[start:]

    def choice(self, state: Records, uniform: float, t: int) -> int:
        """The arm that a state chooses in round t."""
        return self.loops.arm(state, uniform, self.deal.laplace[t])

    def all_different(self) -> tuple[Played, Spent]:
        """A pair of games in which all gains differ, with the largest cost of a gain in its own release.

        At δ > 0, the cost may exceed ε: one Laplace number satisfies (ε, δ) up to a cost of ε - 2 ln(1 - δ).
        """
        epsilon, delta = self.target.claim.epsilon * (1 + SLACK), self.target.claim.delta
        found = self.play(self.target.state, self.deal.second, 0)
        at = int(np.argmax(found.trace.costs))
        loss, allowed = float(found.trace.costs[at]), epsilon - 2 * math.log1p(-delta)
        if self.target.gaussian:
            loss, allowed = gaussian.epsilon_of(loss, delta), epsilon
        return found, Spent(loss, at + 1, at + 1, "" if loss <= allowed else f"ε = {at_least(loss)}")

    def one_different(self, known: Played, canaries: Sequence[int]) -> Iterator[tuple[Played, Spent]]:
        """Games in which only the gain of one round differs, each with the cost of this gain.

        known: the pair in which all gains differ. If B cannot follow A by linear moves (`lockstep.follow`), both games
        are played in full, for at most CANARIES gains.
        """
        state, before, full = np.repeat(self.target.state, 6), 0, 0
        moves = np.zeros(len(self.deal.laplace))
        for t in canaries:
            self.advance(state, before, t)
            before, states = t, np.repeat(state[:1], 6)
            if self.loops.follow(states, self.deal, t, self.rest(), known.trace, moves) == len(moves):
                found = known._replace(trace=known.trace._replace(moves=moves[t:], costs=known.trace.costs[t:]))
            elif full < CANARIES:
                other, full = self.deal.first.copy(), full + 1
                other[t] = 1.0 - other[t]
                found = self.play(state[:1], other, t)
            else:
                continue
            yield found, self._spent(found, t)

    def _spent(self, found: Played, t: int) -> Spent:
        """The cost of the gain of round t, in a pair of games in which it alone differs."""
        claim, (moves, costs, *_) = self.target.claim, found.trace
        if costs[0] > (1 + WEAKER) * moves[0] > 0.0:  # the range of gains is wider than that of the canary
            moves = moves * costs[0] / (moves[0] + lockstep.ROUNDING)  # the moves for the wider range, rounded down
        loss = float(moves.sum()) if found.hidden < math.inf else 0.0
        if self.target.gaussian:
            loss = gaussian.epsilon_of(math.hypot(*moves[moves > 0]), claim.delta) if loss else 0.0
        excess = "" if loss <= claim.epsilon * (1 + SLACK) else f"ε = {at_least(loss)}"
        if excess and claim.delta > 0 and not self.target.gaussian:
            delta = least_delta(moves, claim.epsilon)
            excess = "" if delta <= claim.delta * (1 + SLACK) else f"δ = {at_least(delta)} at {claim}"
        again = max((t + 1 + np.flatnonzero(moves > ROUNDED_OFF)[1:2]).tolist(), default=0)
        return Spent(loss, t + 1, t + 1 + int(np.argmax(moves)), excess, again)

    def violation(self, found: Played, spent: Spent, local: bool) -> str:
        """What a pair of games violates, in words; "" if nothing. local: a gain may act on one release only."""
        if found.outcome == ARM:
            return leak(found.rounds, "releases", "different arms", "gains", self.carriers(found))
        if found.outcome != AGREED:
            return f"in round {found.rounds + 1:,} {FOUND[found.outcome]}"
        if spent.excess:
            cost = f"the gain of round {spent.gain:,} costs at least {spent.excess}"
            return f"{cost}: the release of round {spent.release:,} needs more noise"
        if spent.again and local:
            return f"the gain of round {spent.gain:,} needs other noise in round {spent.again:,}, too: {ALONE}"
        return ""

    def carriers(self, found: Played) -> str:
        """The fields of the state each of which makes B play another arm than A."""
        own, other = found.states[3:4], found.states[4:5]
        return self.loops.carriers(own, other, found.uniform, self.deal.laplace[found.rounds])
