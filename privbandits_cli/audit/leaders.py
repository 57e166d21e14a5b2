"""Audit of leaders by report-noisy-max: an expert is chosen because its noisy sum of losses is the least one.

The noisy sums are secret, so an audit sees experts alone. If all numbers of a choice but that of expert i are fixed, i
is chosen on one side of some value of its own number. Bisection finds that value, and so the probability of i, exactly.

- Twins: two games have different losses. Numbers of the second game are moved until both choose the same experts. Both
  must then play the same points.
- Canaries: two games differ in one loss vector. Their probabilities of expert i give the privacy loss. If the sum of
  expert i is far behind, the privacy loss hardly depends on the numbers of the others. The audit computes it for
  several tables of these numbers, and the least result counts: it refutes a smaller claim.
"""

import math
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

from privbandits_cli.accounting.rounding import at_least, at_most
from privbandits_cli.audit.linear_games import (
    TWINS,
    Dealt,
    Refuted,
    Unclear,
    again,
    assumed,
    check_view,
    dealt,
    losses_of,
    played,
    played_on,
    rarely,
)
from privbandits_cli.audit.target import Target, choice, choose
from privbandits_cli.audit.twins import carrier, copy, leak, unequal
from privbandits_cli.audit.verdict import EXACT, Audit
from privbandits_cli.games.linear import Draws, Floats, loss_set
from privbandits_cli.games.views import Leader
from privbandits_cli.numerics.jit import PluginError, Records, unbound

found: Any = unbound  # bound when a loop is compiled

RARELY = 64  # pairs of games with rare numbers have at least so many choices in all; half of these get rare numbers
REPEATS = 8  # tables of the numbers of the other experts
REDRAWN = 64  # tables of all numbers, for a choice that does not depend on its own numbers
BEHIND = 24.0  # rounds by which an expert is behind, over 1/ε
MOST = 8.0  # the largest ε that is audited if noise is made of uniform numbers, which are rounded to 2^-53
GIVEN = "given the numbers of all other experts"
STEPS = 64  # steps of a search: by factors of 2, and then by halving


def chosen(states: Records, own: Floats, uniform: bool) -> int:
    """The expert that `states[0]` chooses with these numbers; `states[1]` is scratch space."""
    copy(states, 0, 1)
    x, none = np.zeros(len(own)), np.zeros(0)
    choose(states[1], x, Draws(own.copy(), none, none) if uniform else Draws(none, own.copy(), none))
    return int(np.argmax(x))


def reached(states: Records, own: Floats, i: int, wanted: bool, uniform: bool) -> float:
    """The least extreme number tried with which expert i is chosen, or is not, as `wanted`; NaN if there is none."""
    moved = own.copy()
    for step in range(STEPS):
        for sign in (-1.0, 1.0):
            moved[i] = 0.5 + sign * (0.5 - 2.0 ** -min(52, step + 2)) if uniform else sign * 2.0 ** (step - 2)
            if (choice(states, moved, uniform) == i) == wanted:
                return float(moved[i])
    return np.nan


def log_chance(states: Records, own: Floats, i: int, uniform: bool) -> float:
    """ln P(`states[0]` chooses expert i), given the numbers of the others."""
    inside, outside = found(states, own, i, True, uniform), found(states, own, i, False, uniform)
    if np.isnan(inside):
        return -np.inf
    if np.isnan(outside):
        return 0.0
    below, moved = inside < outside, own.copy()
    for _ in range(STEPS):
        moved[i] = (inside + outside) / 2.0
        if choice(states, moved, uniform) == i:
            inside = moved[i]
        else:
            outside = moved[i]
    if uniform:
        return math.log(inside if below else 1.0 - inside)
    edge = inside if below else -inside
    return edge - math.log(2.0) if edge < 0.0 else math.log1p(-math.exp(-edge) / 2.0)


class Play(NamedTuple):
    """A game: its state, its losses `[round, N]`, and its numbers."""

    state: Records
    given: Floats
    numbers: Dealt


@dataclass
class Race:
    """The rounds of an audit of leaders.

    kind: the kind of the random numbers; first: the numbers of the first game; starts: the rounds, from 0, in which an
    expert is chosen, and at the end the number of rounds.
    """

    target: Target[Leader]
    kind: str
    first: Dealt
    starts: list[int]

    def __post_init__(self) -> None:
        calls: dict[str, Any] = {"choice": self.target.call(chosen)}
        calls["found"] = self.target.call(reached, **calls)
        self._calls = calls | {"log_chance": self.target.call(log_chance, **calls)}

    @property
    def pairs(self) -> int:
        """How many pairs of games are played; from number TWINS on, half of the choices have rare numbers."""
        return TWINS - 1 + math.ceil(RARELY / len(self.starts))

    def on(self, play: Play, start: int, stop: int) -> tuple[Play, Floats]:
        """The game after these rounds, and its points in them, `[round, N]`."""
        after = played_on(self.target, play.state, play.given[start:stop], play.numbers.since(start))
        return play._replace(state=after.state), after.points

    def chosen(self, state: Records, own: Floats) -> int:
        """The expert that is chosen with these numbers."""
        expert: int = self._calls["choice"](np.repeat(state, 2), own, self.kind == "uniform")
        return expert

    def log_chance(self, state: Records, own: Floats, i: int) -> float:
        """ln P(expert i is chosen), given the numbers of the others."""
        chance: float = self._calls["log_chance"](np.repeat(state, 2), own, i, self.kind == "uniform")
        return chance

    def tables(self, name: str, count: int) -> Floats:
        """`count` tables of the numbers of one choice, `[count, N]`."""
        rng, shape = self.target.stream(name), (count, self.target.setting.n_arms)
        return rng.random(shape) if self.kind == "uniform" else rng.laplace(size=shape)

    def own(self, numbers: Dealt, t: int) -> Floats:
        """The numbers of the choice in round t."""
        mark = numbers.marks()[self.kind]
        table: Floats = getattr(numbers, self.kind)[mark[t] : mark[t + 1]]
        return table

    def force(self, state: Records, numbers: Dealt, t: int, i: int) -> None:
        """Move the number of expert i in round t until it is chosen; Refuted or Unclear if it cannot be."""
        own = self.own(numbers, t)
        if self.chosen(state, own) == i:
            return
        own[i] = self._calls["found"](np.repeat(state, 2), own, i, True, self.kind == "uniform")
        if not math.isnan(own[i]):
            return
        if len({self.chosen(state, other) for other in self.tables("redrawn", REDRAWN)}) == 1:
            raise Refuted(f"in round {t + 1:,} the expert depends on losses, and on no random number of its round")
        raise Unclear(f"number i of `rng.{self.kind}` is not the noise of expert i")


def audit_leaders(target: Target[Leader]) -> Audit:
    """Whether losses act through the choices of experts alone, and what a loss costs in them."""
    check_view(target, "full")
    claim, race = target.claim, _race(target)
    if race.kind == "uniform" and claim.epsilon > MOST:
        return Audit("NOT AUDITABLE", str(claim), f"uniform numbers show no probabilities that take ε > {MOST:g}", 0)
    words = f"{claim} of all experts, which lead by noisy sums"
    rounds = race.starts[-1]
    cost = race.pairs * rounds
    so_far = Audit("VIOLATION", words, "", cost, None, None, played(target, rounds), assumed(target, rounds))
    doubts = []
    try:
        try:
            twins(race)
        except Unclear as unclear:
            doubts.append(unclear)  # a loss may still cost more than the claim
        least, most, worst = largest_cost(race)
    except Refuted as refuted:
        return replace(so_far, found=str(refuted))
    except Unclear as unclear:
        return Audit("NOT AUDITABLE", words, str(unclear), cost)
    if least > (1 + EXACT) * claim.epsilon:
        words = f"the loss of round {worst + 1:,} costs at least ε = {at_least(least)}, {GIVEN}"
        return replace(so_far, found=words, epsilon_seen=least)
    if doubts:
        return Audit("NOT AUDITABLE", words, str(doubts[0]), cost)
    words = f"equal experts follow equal choices; {GIVEN}, a loss costs at least ε = {at_least(least)}"
    words += f", and at most {at_most(most)}"
    refutable = (1 + EXACT) * claim.epsilon**2 / least if least > 0 else None
    return replace(so_far, verdict="CONSISTENT", found=words, epsilon_seen=least, refutable=refutable)


def _race(target: Target[Leader]) -> Race:
    first = dealt(target)
    counts = {kind: np.diff(mark) for kind, mark in first.marks().items()}
    kinds = [kind for kind, count in counts.items() if count.any()]
    own = counts[kinds[0]] if len(kinds) == 1 and kinds[0] != "normal" else np.zeros(0)
    if target.claim.delta > 0 or not own.any() or set(np.unique(own).tolist()) - {0, target.setting.n_arms}:
        needs = "a guarantee with δ = 0, and N numbers `rng.laplace` or `rng.uniform` in each round with a choice"
        raise PluginError(f"view returned a views.Leader, which needs {needs}", type(target.algorithm).view)
    return Race(target, kinds[0], first, [*np.flatnonzero(own).tolist(), len(own)])


def twins(race: Race) -> None:
    """Raise Refuted if a game with other losses and the same choices plays other points."""
    rounds, target = race.starts[-1], race.target
    for twin in range(1, race.pairs + 1):
        pair = losses_of(target, rounds, 0), _other_losses(race, twin)
        numbers = rarely(target, race.first, f"rare {twin}", 0.5) if twin >= TWINS else race.first
        plays = [Play(target.state, given, numbers.copy()) for given in pair]
        for start, stop in pairwise(sorted({0, *race.starts})):
            if start in race.starts:
                leader = race.chosen(plays[0].state, race.own(plays[0].numbers, start))
                race.force(plays[1].state, plays[1].numbers, start, leader)
            ends = [race.on(play, start, stop) for play in plays]
            wrong = np.flatnonzero((ends[0][1] != ends[1][1]).any(axis=1))
            if len(wrong):
                raise Refuted(_unlike(race, plays, start, start + int(wrong[0])))
            plays = [play for play, _ in ends]


def _other_losses(race: Race, twin: int) -> Floats:
    """The losses of a twin.

    Uniform numbers make noise of bounded size, which cannot make any expert lead. So an epoch then has the same losses
    in another order, except for one round.
    """
    others = losses_of(race.target, race.starts[-1], twin)
    if race.kind == "laplace":
        return others
    rng, given = race.target.stream(f"order {twin}"), losses_of(race.target, race.starts[-1], 0)
    for start, stop in pairwise(sorted({0, *race.starts})):
        given[start:stop] = rng.permutation(given[start:stop])
        t = int(rng.integers(start, stop))
        given[t] = others[t]
    return given


def _unlike(race: Race, plays: list[Play], start: int, t: int) -> str:
    """The words on two games that were alike until round `start`, and play other points in round t."""
    own, other = (race.on(play, start, t)[0].state for play in plays)

    def point(state: Records) -> Floats:
        return race.on(plays[0]._replace(state=state), t, t + 1)[1]

    fields = carrier(own, other, lambda state: bool((point(state) != point(own)).any()))
    return leak(t, "choices", "other experts", "losses", fields)


def largest_cost(race: Race) -> tuple[float, float, int]:
    """The largest lower and upper limits on the ε of a canary, and the round of the largest lower limit, from 0."""
    target, rng, (least, most, worst) = race.target, race.target.stream("rounds"), (0.0, 0.0, 0)
    play = Play(target.state, losses_of(target, race.starts[-1], 0), again(target, race.first, "canaries"))
    before, behind = 0, int(min(target.setting.horizon, math.ceil(BEHIND / target.claim.epsilon)))
    for start, stop in pairwise(race.starts[:-1]):
        play, before = race.on(play, before, start)[0], start
        for i, far in product(range(target.setting.n_arms), {0, min(stop - start - 1, behind)}):
            t = int(rng.integers(start + far, stop))
            low, high = _cost(race, _canaries(race, play, range(start, stop), t, i, far), start, i)
            least, worst = max((least, worst), (low, t))
            most = max(most, high)
    return least, most, worst


def _canaries(race: Race, play: Play, epoch: range, t: int, i: int, far: int) -> list[Play]:
    """Two games from the start of an epoch that differ in round t, and the first one again.

    In round t of the first game expert i loses alone; in that of the second one all others lose. The third game is the
    first one with other numbers in later choices. far: the number of rounds before t, in this epoch, in which expert i
    loses alone.
    """
    low, high = loss_set(race.target.setting).ends()
    given = play.given.copy()
    given[epoch.start : epoch.stop] = low
    given[epoch.start : epoch.start + far, i] = high[i]
    own, other = given, given.copy()
    own[t, i], other[t] = high[i], high
    other[t, i] = low[i]
    anew = again(race.target, race.first, "anew")
    race.own(anew, epoch.start)[:] = race.own(play.numbers, epoch.start)
    first, second = (play.numbers.copy() for _ in range(2))
    return [Play(play.state, own, first), Play(play.state, other, second), Play(play.state, own, anew)]


def _cost(race: Race, plays: list[Play], start: int, i: int) -> tuple[float, float]:
    """Lower and upper limits on the ε that a canary costs in the choices of expert i after its epoch."""
    least, most = 0.0, 0.0
    for begin, stop in pairwise(race.starts[race.starts.index(start) : -1]):
        plays = [race.on(play, begin, stop)[0] for play in plays]
        own, other, anew = (play.state for play in plays)
        if not unequal(own, other):
            break
        if unequal(own, anew):
            raise Unclear("the numbers of a choice stay in the state, and the loss is in a later choice, too")
        tables = race.tables(f"others {stop}", REPEATS)
        chances = [(race.log_chance(own, table, i), race.log_chance(other, table, i)) for table in tables]
        costs = [here - there if here != there else 0.0 for here, there in chances]
        least += max(0.0, min(costs), -max(costs))
        most += max(map(abs, costs))
        leader = race.chosen(own, race.own(plays[0].numbers, stop))
        for play in plays[1:]:
            race.force(play.state, play.numbers, stop, leader)
    return least, most
