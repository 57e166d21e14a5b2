"""Games of contextual learners that play by a noisy V and u~, in threes, to test that these explain the play.

A and B are two games with different arms and rewards, and with opposite θ. C begins each round as a copy of B whose
release is forced to be that of A. C sees the arms of A, and its random numbers are those of A. If C still behaves
differently, the data of B have acted past the release. So C must play the arm of A and draw the noise of A.

Besides, in each round of A, V and u~ must be the true sums with the noise that the view names. If a release cannot be
forced, the arm of A is computed from V and u~ by the rule of `games.ellipsoid`.
"""

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.audit.target import Target
from privbandits_cli.audit.twins import carrier, copy
from privbandits_cli.audit.verdict import Audit, Verdict
from privbandits_cli.games.contextual import Floats, choose, update
from privbandits_cli.games.ellipsoid import invert, optimistic
from privbandits_cli.games.guards import WrongArm
from privbandits_cli.games.views import Ellipsoid
from privbandits_cli.numerics.jit import PluginError, Record, Records, bind, borrow, borrower, unbound

shift: Any = unbound  # these are bound when a loop is compiled
inverse: Any = unbound
theta: Any = unbound
indefinite: Any = unbound
force: Any = unbound
hold: Any = unbound
released: Any = unbound
drawn_by_choose: Any = unbound
drawn_by_update: Any = unbound

COMPARED = True  # whether A and C must draw the same noise; bound to False where all noise of A is known otherwise
Ints = NDArray[np.int64]

LONGEST = 2**16  # rounds of a game
EARLY = 64  # rounds of as many short games
SETS = 1021  # number of sets of arms; each round shows one of them
ROUNDING = 1e-7  # of V^-1 V
DIGITS = 1e-11  # of sums, to which the same noise is found again
LOST, ARM, NOISE, SUMS, NODE, KEPT, RULE = range(7)
FAULTS = {
    ARM: "with the same V and u~ but other data before, another arm is played",
    NOISE: "the noise depends on the data: with the same random numbers but other data it is different",
    SUMS: "V or u~ is not the sum with the noise of the {}",
    NODE: "a node's noise was drawn anew before the node was complete",
    KEPT: "V is positive definite, but the V before it was used",
    RULE: "the arm played is not the one that V and u~ determine",
}
NO_RULE = (
    "the arm is not that of games.ellipsoid, and V does not follow the noise that the view names: compute V in choose"
)


def symmetric(state: Record, sums: Floats, out: Floats) -> None:
    """out = the V of these sums, `[d, d + 1]`, of which one triangle counts: the symmetric matrix, shifted."""
    for i in range(len(out)):
        for j in range(i):
            out[i, j] = sums[i, j]
            out[j, i] = sums[i, j]
        out[i, i] = sums[i, i] + shift(state)


def strays(state: Record, sums: Floats, v: Floats) -> bool:
    """Whether V^-1 and θ~ are not those of the V and u~ of these sums; v: scratch space."""
    d, inverted, solved = len(sums), inverse(state), theta(state)
    symmetric(state, sums, v)
    size, largest, wrong = 0.0, 0.0, 0
    for i in range(d):
        size += abs(solved[i])
        for j in range(d):
            largest = max(largest, abs(v[i, j]))
    size *= largest
    for i in range(d):
        size += abs(sums[i, d])
    for i in range(d):
        total = -sums[i, d]
        for j in range(d):
            total += v[i, j] * solved[j]
        wrong += not abs(total) <= ROUNDING * size
        for k in range(d):
            total = 0.0
            for j in range(d):
                total += v[i, j] * inverted[j, k]
            wrong += not abs(total - (i == k)) < ROUNDING
    return wrong > 0


def definite(state: Record, sums: Floats, v: Floats) -> bool:
    """Whether the V of these sums is positive definite, beyond rounding; v: scratch space."""
    symmetric(state, sums, v)
    largest = 0.0
    for i in range(len(v)):
        largest = max(largest, abs(v[i, i]))
    for i in range(len(v)):
        v[i, i] -= ROUNDING * largest
    return not np.isnan(invert(v))


def keep(state: Record, out: Floats) -> None:
    """out = [V^-1, θ~], `[d, d + 1]`."""
    for i in range(len(out)):
        for j in range(len(out)):
            out[i, j] = inverse(state)[i, j]
        out[i, len(out)] = theta(state)[i]


def play(
    states: Records,
    rngs: tuple[Generator, Generator, Generator],
    bank: Floats,
    shown: Ints,
    numbers: Floats,
    truth: Floats,
    sums: Floats,
    start: int,
    by_rule: bool,
    observed: Floats,
    played: Ints,
    found: Ints,
    before: Floats,
    noises: Floats,
    work: Floats,
    rows: Floats,
) -> None:
    """Play games from the round `start` on, up to the first fault.

    states: A, B, C and the first state of all; rngs: of A, B and C. shown: the arms of A and B in each round,
    `[games, 2, rounds]`, as places in the bank, `[sets, d, k]`. The reward is ±truth[d] of its `truth[2, d + 1]`, by
    `numbers`, `[games, 2, rounds]`; in some rounds it is a share of that. sums: of A and B before the first round,
    `[2, d, d + 1]`. by_rule: whether the learner claims to play by the rule of `games.ellipsoid`. Filled in:
    `observed[games, drawn, d, d + 1]`, the noise in the order of drawing; `played[games, rounds]`, the arms of A;
    `found`: the fault, its game and round, the number of rounds in which the release of C could not be forced, and the
    arms. The other arrays are scratch space.
    """
    d, k = bank.shape[1], bank.shape[2]
    bank, observed, sums, noises, work = borrow(bank), borrow(observed), borrow(sums), borrow(noises), borrow(work)
    before, rows, found = borrow(before), borrow(rows), borrow(found)
    moved, wanted, old, new, v, arms = work[0], work[1], work[2], work[3], work[4, :, :d], found[4:]
    for game in range(len(observed)):
        if game > 0:
            copy(states, 3, 0)
            copy(states, 3, 1)
            sums[:] = 0.0
        found[1] = game
        drawn = 0
        for i in range(shown.shape[2]):
            t = start + i
            found[2] = i
            for r in range(d):
                for c in range(d + 1):
                    moved[r, c] = sums[0, r, c] - sums[1, r, c]
            copy(states, 1, 2)
            force(states[2], states[0], moved, len(before[0]))
            hold(states[0], before[0])
            hold(states[2], before[1])
            stale, stale_forced = indefinite(states[0]), indefinite(states[2])
            keep(states[0], old)
            for side in range(3):
                arms[side] = choose(states[side], bank[shown[game, side % 2, i]], rngs[side])
                if arms[side] < 0 or arms[side] >= k:
                    raise WrongArm(arms[side], k, t)
            played[game, i] = arms[0]
            released(states[0], sums[0], wanted)
            settled = indefinite(states[0]) == stale
            if settled:
                if strays(states[0], wanted, v):
                    found[0] = SUMS
                    return
            else:
                keep(states[0], new)
                if differ(work[2:], work[3:], 1, 0.0):
                    found[0] = SUMS
                    return
                if definite(states[0], wanted, v):
                    found[0] = KEPT
                    return
            size = 0.0
            for r in range(d):
                for c in range(d + 1):
                    size += abs(wanted[r, c]) + abs(moved[r, c])
            fresh = drawn_by_choose(states[0], before[0], t, observed[game, drawn:])
            again = drawn_by_choose(states[2], before[1], t, noises)
            if fresh < 0:
                found[0] = NODE
                return
            if COMPARED and (again != fresh or differ(observed[game, drawn:], noises, fresh, size)):
                found[0] = NOISE
                return
            drawn += fresh
            same = settled and indefinite(states[2]) == stale_forced and not strays(states[2], wanted, v)
            if not same:
                found[3] += 1
            elif arms[2] != arms[0]:
                found[0] = ARM
                return
            if by_rule and arms[0] != optimistic(states[0], bank[shown[game, 0, i]]):
                if not same:
                    found[0] = RULE
                    return
                by_rule = False  # another rule, which the release explains
            for side in range(2):
                mean = 0.0
                for j in range(d):
                    rows[side, j] = bank[shown[game, side, i], j, arms[side]]
                    mean += truth[side, j] * rows[side, j]
                rows[side, d] = truth[side, d] if mean > numbers[game, side, i] else -truth[side, d]
                if i % 4 == 1:
                    rows[side, d] *= numbers[game, side, i]
                elif i % 16 == 2:
                    rows[side, d] *= np.round(2.0 * numbers[game, side, i]) / 2.0
                for r in range(d):
                    for c in range(d + 1):
                        sums[side, r, c] += rows[side, r] * rows[side, c]
            for side in range(3):
                row = rows[min(side, 1)]
                update(states[side], row[:d], row[d], rngs[side])
            fresh = drawn_by_update(states[0], before[0], rows[0], observed[game, drawn:])
            drawn_by_update(states[2], before[1], rows[1], noises)
            if COMPARED and differ(observed[game, drawn:], noises, fresh, size):
                found[0] = NOISE
                return
            drawn += fresh


def differ(one: Floats, other: Floats, count: int, size: float) -> bool:
    """Whether the first `count` matrices are different beyond the rounding of sums of this size."""
    wrong = 0
    for n in range(count):
        for r in range(one.shape[1]):
            for c in range(one.shape[2]):
                wrong += not abs(one[n, r, c] - other[n, r, c]) <= DIGITS * (size + 100.0 * abs(one[n, r, c]))
    return wrong > 0


class Fault(NamedTuple):
    """The first fault of some games: its kind, the game and the round, from 0, and the field that carried a secret."""

    kind: int
    game: int
    round: int
    field: str = ""

    def words(self, noisy: str) -> str:
        """In words; noisy: what the noise is on."""
        found = f"in round {self.round + 1:,} {FAULTS[self.kind].format(noisy)}"
        return f"{found}: the field `{self.field}` of the state carries them" if self.field else found


class Games(NamedTuple):
    """What games showed: the noise drawn, `[games, drawn, d, d + 1]`; the arms played, `[games, rounds]`.

    shown: the arms' places in the bank, `[games, rounds]`; unforced: in how many rounds the release of C could not be
    forced.
    """

    noise: Floats
    arms: Ints
    shown: Ints
    fault: Fault | None
    unforced: int


class Deal(NamedTuple):
    """What `play` plays with."""

    states: Records
    rngs: tuple[Generator, Generator, Generator]
    bank: Floats
    shown: Ints
    numbers: Floats
    truth: Floats
    sums: Floats
    start: int = 0

    def part(self, rounds: slice) -> "Deal":
        """Some rounds of the first game."""
        return self._replace(shown=self.shown[:1, :, rounds], numbers=self.numbers[:1, :, rounds], start=rounds.start)


@dataclass(frozen=True)
class Trio:
    """The three games of a target.

    knowing: the functions that know how its noise is held, drawn and released; depth: the number of matrices that hold
    it; drawn: how many are drawn in a game of so many rounds. compared: whether A and C must draw the same noise.
    """

    target: Target[Ellipsoid]
    knowing: tuple[Callable[..., Any], ...]
    depth: int
    drawn: Callable[[int], int]
    compared: bool = True

    @cached_property
    def loop(self) -> Callable[..., None]:
        """The compiled `play`."""
        v = self.target.loop(symmetric)
        called: tuple[Callable[..., Any], ...] = (strays, definite, keep, *self.knowing)
        bound = {step.__name__: self.target.loop(step, symmetric=v) for step in called}
        rule = _rule(str(self.target.state.dtype.descr)) if self.by_rule else no_rule
        return self.target.loop(play, optimistic=rule, borrow=borrower(), COMPARED=self.compared, **bound)

    @property
    def by_rule(self) -> bool:
        """Whether the learner may play by the rule of `games.ellipsoid`: its state has what the rule reads."""
        return set(self.target.state.dtype.names or ()) >= READ

    @cached_property
    def arms(self) -> Floats:
        """Sets of arms in the ball, `[sets, d, k]`."""
        known, k = self.target.setting.known(), self.target.setting.n_arms
        rng = self.target.stream("arms")
        arms = rng.standard_normal((SETS, known.dimension, k))
        arms *= known.norm * rng.random((SETS, 1, k)) / np.sqrt((arms**2).sum(axis=1, keepdims=True))
        return arms

    def play(self, name: str, rounds: int, games: int = 1, bank: Floats | None = None) -> Games:
        """Play so many games; bank: of arms, by default random ones."""
        deal = self._dealt(name, rounds, games, self.arms if bank is None else bank)
        noise, arms, (kind, game, t, unforced) = self._run(deal)
        fault = None
        if kind:
            again = self._dealt(name, rounds, games, deal.bank)
            fault = Fault(kind, game, t, self._carrier(again, t) if kind == ARM and game == 0 else "")
        return Games(noise, arms, deal.shown[:, 0], fault, unforced)

    def series(self, words: str, noisy: str, *games: tuple[Any, ...]) -> tuple[list[Games], Audit]:
        """Play these games up to the first fault; the verdict so far, on the claim in words."""
        found: list[Games] = []
        for some in games:
            found.append(self.play(*some))
            fault = found[-1].fault
            if fault is not None:
                cost = sum(one.arms.size for one in found[:-1]) + fault.game * some[1] + fault.round + 1
                words_found = fault.words(noisy)
                verdict: Verdict = "VIOLATION"
                if fault.kind == RULE and fault.round == 0:  # no data yet
                    verdict, words_found = "NOT AUDITABLE", NO_RULE
                return found, Audit(verdict, words, words_found, cost, played=self._words(games))
        unforced, rounds = sum(one.unforced for one in found), sum(one.arms.size for one in found)
        assumed = f"choose reads V and u~ alone, in {unforced:,} of {rounds:,} rounds" if unforced else ""
        return found, Audit("CONSISTENT", words, "", rounds, played=self._words(games), assumed=assumed)

    def _words(self, games: tuple[tuple[Any, ...], ...]) -> str:
        """What is played, in a line."""
        setting = self.target.setting
        counts: dict[int, int] = {}
        for some in games:
            counts[some[1]] = counts.get(some[1], 0) + (some[2] if len(some) > 2 else 1)
        parts = [f"{count:,} of {rounds:,} round{'s' if rounds > 1 else ''}" for rounds, count in counts.items()]
        shape = f"d = {setting.known().dimension}, {setting.n_arms} arms"
        return f"games: {', '.join(parts)}; T = {int(setting.horizon):,}, {shape}"

    def _dealt(self, name: str, rounds: int, games: int, bank: Floats) -> Deal:
        known, rng = self.target.setting.known(), self.target.stream(name)
        truth = np.zeros((2, known.dimension + 1))
        truth[:, :-1] = np.array([[1.0], [-1.0]]) / (known.norm * math.sqrt(known.dimension))
        truth[:, -1] = known.reward if math.isfinite(known.reward) else 1.0
        shown = rng.integers(0, len(bank), (games, 2, rounds))
        numbers = rng.uniform(-1, 1, (games, 2, rounds))
        one, two, three = (self.target.stream(f"noise of {name}") for _ in range(3))
        sums = np.zeros((2, known.dimension, known.dimension + 1))
        return Deal(np.repeat(self.target.state, 4), (one, two, three), bank, shown, numbers, truth, sums)

    def _run(self, deal: Deal) -> tuple[Floats, Ints, list[int]]:
        games, _, rounds = deal.shown.shape
        noise, arms = np.empty((games, self.drawn(rounds), *deal.sums.shape[1:])), np.empty((games, rounds), np.int64)
        found, d = np.zeros(7, np.int64), deal.sums.shape[1]
        before, noises, work = (np.zeros((*count, d, d + 1)) for count in ((2, self.depth), (self.depth,), (5,)))
        try:
            self.loop(*deal, self.by_rule, noise, arms, found, before, noises, work, np.zeros((2, d + 1)))
        except WrongArm as error:
            arm, k, t = error.args
            message = f"choose returned arm {arm} in round {t + 1}; the arms are 0 to {k - 1}"
            raise PluginError(message, getattr(self.target.steps["choose"], "py_func", None)) from None
        return noise, arms, found.tolist()[:4]

    def _carrier(self, deal: Deal, t: int) -> str:
        """The field of B's state that made C play another arm in round t, from 0; "" if it is not one field alone."""
        self._run(deal.part(slice(0, t)))

        def agrees(state: Records) -> bool:
            """Whether C agrees with A if B's state is this one."""
            for theirs in (0, 1):  # the field may itself hold the true sums
                states, sums = deal.states.copy(), deal.sums.copy()
                states[1], sums[1] = state[0], deal.sums[theirs]
                again = deal._replace(states=states, sums=sums, rngs=deepcopy(deal.rngs))
                if self._run(again.part(slice(t, t + 1)))[2][::3] == [LOST, 0]:
                    return True
            return False

        return carrier(deal.states[1:2], deal.states[:1], agrees)


READ = {"theta", "inverse", "scores", "rows", "tiles", "logdet", "log_term", "sigma", "fixed"}  # by `optimistic`


def no_rule(state: Record, arms: Floats) -> int:
    """In place of `optimistic`, where a state does not have its fields."""
    return 0


@cache
def _rule(layout: str) -> Callable[..., Any]:
    return bind(optimistic, "audit", layout)  # compiled on its own: not anew for each loop that calls it
