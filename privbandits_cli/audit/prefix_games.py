"""Whole games of a leader on noisy prefixes, with losses and random numbers that an audit chooses.

With full information these determine the game, so a change of a number shows its effect.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from privbandits_cli.audit.draws import ROUNDS, Marks, drawn, marks_of, numbers_of
from privbandits_cli.audit.target import Target
from privbandits_cli.games.linear import Draws, Floats, Ints, choose, loss_set, update
from privbandits_cli.numerics.jit import Records, unbound

losses: Any = unbound  # bound when a loop is compiled

TWINS = 6  # games with other losses
LEAN = 0.25  # of half of the losses of a game, towards one coordinate
ROUNDING = 8 * float(np.finfo(float).eps)  # of one addition, with a margin


def observe_prefixes(
    states: Records, given: Floats, own: Draws, fed: Draws, marks: Marks, prefixes: Floats, points: Floats
) -> None:
    """Play on against `given[round, N]`; fill `prefixes[round, N]`, what the base plays by, and `points[round, N]`.

    own, fed: the random numbers of `choose` and of `update`, by kind; marks: by kind, where those of a round begin.
    """
    for t in range(len(given)):
        choose(states[0], points[t], numbers_of(own, marks, t))
        prefixes[t] = losses(states[0])
        update(states[0], given[t], numbers_of(fed, marks, t))


class Game(NamedTuple):
    """The prefixes and points of a game, `[round, N]`, and its last state."""

    prefixes: Floats
    points: Floats
    state: Records


@dataclass
class Bench:
    """The first rounds of a game, or all, and its variants.

    kind: of the numbers that the noise of the nodes is made of; numbers: those of all rounds by kind, which `marks`
    divide; given: the losses, `[round, N]`; cost: the rounds of all games so far.
    """

    target: Target[Any]  # with noisy prefixes as its view
    kind: str
    marks: Marks
    numbers: Draws
    given: Floats
    cost: int = 0

    @property
    def rounds(self) -> int:
        """The number of rounds of a game."""
        return len(self.given)

    @property
    def others(self) -> Iterator[Floats]:
        """The losses of twins."""
        return (losses_of(self.target, self.rounds, number) for number in range(1, TWINS + 1))

    @cached_property
    def first(self) -> Game:
        """The game as it is."""
        return self.play()

    def play(
        self,
        own: Draws | None = None,
        fed: Draws | None = None,
        given: Floats | None = None,
        rounds: range | None = None,
        state: Records | None = None,
    ) -> Game:
        """Play these rounds, counted from 0, with the numbers `own`, or with `fed` in `update`."""
        rounds = range(self.rounds) if rounds is None else rounds
        self.cost += len(rounds)
        state = (self.target.state if state is None else state).copy()
        given = (self.given if given is None else given)[rounds.start : rounds.stop].copy()  # a step might write there
        chosen = Draws(*(table.copy() for table in own or self.numbers))
        updated = chosen if fed is None else chosen._replace(laplace=fed.laplace.copy(), normal=fed.normal.copy())
        marks = tuple(mark[rounds.start :] for mark in self.marks)
        prefixes, points = np.empty_like(given), np.zeros_like(given)
        self.target.loop(observe_prefixes)(state, given, chosen, updated, marks, prefixes, points)
        return Game(prefixes, points, state)

    def cut(self, rounds: range) -> "Bench":
        """These rounds alone, from the state that the game has before them."""
        before = replace(self.target, state=self.play(rounds=range(rounds.start)).state)
        ends = [(mark[rounds.start], mark[rounds.stop]) for mark in self.marks]
        u, v, w = (mark[rounds.start : rounds.stop + 1] - mark[rounds.start] for mark in self.marks)
        numbers = Draws(*(table[slice(*end)] for table, end in zip(self.numbers, ends, strict=True)))
        return Bench(before, self.kind, (u, v, w), numbers, self.given[rounds.start : rounds.stop])

    def nudged(self, where: Ints, by: Floats, in_choose: bool) -> Game:
        """The game with the numbers at `where` moved for `choose` alone, or for `update` alone."""
        moved = self.moved(where, by)
        return self.play(*((moved, self.numbers) if in_choose else (self.numbers, moved)))

    def moved(self, where: Ints, by: Floats) -> Draws:
        """The numbers, with those at `where` moved; -1 is nowhere."""
        table = self.own(self.numbers).copy()
        table[where[where >= 0]] += by[where >= 0]
        return self.numbers._replace(**{self.kind: table})

    def with_nodes(self, others: Draws, where: Ints) -> Draws:
        """Other numbers, except at `where`."""
        at = where[where >= 0]
        self.own(others)[at] = self.own(self.numbers)[at]
        return others

    def own(self, numbers: Draws) -> Floats:
        """The numbers of the kind that the noise is made of."""
        table: Floats = getattr(numbers, self.kind)
        return table

    def mark(self) -> Ints:
        """Where the numbers of this kind of each round begin, and where the last round's end, `[rounds + 1]`."""
        return self.marks[Draws._fields.index(self.kind)]

    def slack(self, *games: Game) -> float:
        """How far equal prefixes may differ by rounding."""
        return ROUNDING * math.sqrt(self.rounds) * max(float(np.abs(game.prefixes).max()) for game in games)


def bench(target: Target[Any], kind: str, most: int = ROUNDS) -> Bench:
    """The games of an audit, of at most this many rounds; PluginError if the view does not fit the algorithm."""
    marks = marks_of(target, most)
    return Bench(target, kind, marks, drawn(target, marks, "first"), losses_of(target, len(marks[0]) - 1, 0))


def losses_of(target: Target[Any], rounds: int, number: int) -> Floats:
    """A table of losses, `[round, N]`; two of them differ in most rounds and lean towards different coordinates.

    Some losses are 0, or an end of the loss set, for noise that depends on the losses; those of later tables are round
    numbers, for a step that waits for one.
    """
    allowed, n, t = loss_set(target.setting), target.setting.n_arms, np.arange(rounds)
    lean = np.zeros((rounds, n))
    lean[t, (np.frexp(t + 1)[1] - number) % n] = LEAN  # towards another coordinate in each doubling of the rounds
    name = ("losses", "other losses")[number] if number < 2 else f"other losses {number}"
    uniform, leaning = target.stream(name).spawn(2)
    table = allowed.uniform(uniform)(rounds)
    table[t % 2 == 0] = allowed.leaning(leaning)(lean)[t % 2 == 0]
    if number > 1:
        grid = (2, 4, 10)[number % 3]
        table = np.trunc(grid * table) / grid
    ends = {5: 0.0, 7: -1, 11: 1} if number else {3: 0.0, 7: 1, 11: -1}
    for phase, end in ends.items():
        table[t % 16 == phase] = {0.0: np.zeros(n), -1: allowed.ends()[0], 1: allowed.ends()[1]}[end]
    return table
