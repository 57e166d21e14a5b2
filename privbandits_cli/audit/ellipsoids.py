"""Three games of a contextual learner that plays by a noisy V and u~, to test that these determine its play.

A and B are two games with different arms and rewards, and with opposite θ. C begins each round as a copy of B whose
release is forced to be that of A. C sees the arms of A, and its random numbers are those of A. If C still behaves
differently, the data of B have acted past the release. So C must play the arm of A and draw the noise of A.

Also, in each round of A, V and u~ must be the true sums with the noise that the view names. If a release cannot be
forced, A must play the arm that follows from V and u~ by the rule of `games.ellipsoid`.
"""

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from privbandits_cli.audit.target import Target
from privbandits_cli.audit.three_games import ARM, FAULTS, LOST, READ, RULE, compiled
from privbandits_cli.audit.twins import carrier
from privbandits_cli.audit.verdict import Audit, Verdict, like_these
from privbandits_cli.games.contextual import Floats
from privbandits_cli.games.guards import WrongArm
from privbandits_cli.games.views import Ellipsoid
from privbandits_cli.numerics.jit import PluginError, Records
from privbandits_cli.numerics.types import Ints

LONGEST = 2**16  # rounds of a game
NUMBERS = 2**21  # of the noise of all its rounds, if each draws one matrix
EARLY = 64  # rounds of as many short games
SETS = 1021  # number of sets of arms; each round shows one of them
NO_RULE = (
    "the arm is not that of games.ellipsoid, and V does not follow the noise that the view names: compute V in choose"
)


def longest(target: Target[Any], budget: int) -> int:
    """The rounds of a long game: all of the configured ones, or as many as the budget and the memory allow."""
    d = target.setting.known().dimension
    return int(min(target.setting.horizon, LONGEST, budget, NUMBERS // (d * (d + 1))))


class Fault(NamedTuple):
    """The first fault of some games: its kind, the game and the round, from 0, and the field that carried a secret."""

    kind: int
    game: int
    round: int
    field: str = ""

    def words(self, noisy: str) -> str:
        """The fault in words; noisy: what the noise is on."""
        found = f"in round {self.round + 1:,} {FAULTS[self.kind].format(noisy)}"
        return f"{found}: the field `{self.field}` of the state carries them" if self.field else found


class Games(NamedTuple):
    """The noise drawn in some games, `[games, drawn, d, d + 1]`, and the arms played, `[games, rounds]`.

    shown: the arms' places in the bank, `[games, rounds]`; unforced: in how many rounds the release of C could not be
    forced.
    """

    noise: Floats
    arms: Ints
    shown: Ints
    fault: Fault | None
    unforced: int


class Deal(NamedTuple):
    """The first arguments of `play`."""

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
        return compiled(self.target, self.knowing, self.by_rule, self.compared)

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
        alone = f"choose reads V and u~ alone, in {unforced:,} of {rounds:,} rounds" if unforced else ""
        later = like_these(max(some[1] for some in games), self.target.setting.horizon)
        assumed = "; ".join(filter(None, [alone, later]))
        return found, Audit("CONSISTENT", words, "", rounds, played=self._words(games), assumed=assumed)

    def _words(self, games: tuple[tuple[Any, ...], ...]) -> str:
        """The games played, in a line."""
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
