"""Games of a linear learner whose losses and random numbers an audit chooses: whole games, or their first rounds.

Losses and numbers determine a game, so a change of a number shows its effect.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.audit.target import Target, choose, rare, update, values
from privbandits_cli.audit.twins import carrier, leak, lent
from privbandits_cli.audit.verdict import assuming, like_these
from privbandits_cli.games import guards
from privbandits_cli.games.drawing import fill_of
from privbandits_cli.games.linear import BLOCK, Draws, Floats, Ints, loss_set
from privbandits_cli.games.steps import blocks
from privbandits_cli.games.views import Noisy
from privbandits_cli.numerics.jit import PluginError, Records

ROUNDS = 2**16  # rounds of a game, at most
ALIKE = 1e-6  # points that are farther apart, in units of the set's radius, are different
LEAST = 1e-12  # points that are less far apart, in the same units, are the same
WIDER = 64  # how far points may be apart by rounding, over how far a nudge of the losses moves them
ROUNDING = 8 * float(np.finfo(float).eps)  # relative rounding error of one addition, with a margin
TWINS = 6  # games with other losses
LEAN = 0.25  # how far half of the losses of a game lean towards one coordinate
OTHER_LOSSES = "other losses are treated like those that were played"
RUN = 32  # rounds with the same loss, in the last table
RARE = 64  # one round in so many has rare numbers, in games that have some
SUMS = False  # bound to True for a view that names the noisy sums


class Refuted(Exception):
    """A finding that refutes the claim; `at` is the game and the round, from 0, whose next sum is at fault, if any."""

    def __init__(self, words: str, at: "tuple[Bench, int] | None" = None) -> None:
        super().__init__(words)
        self.at = at


class Unclear(Exception):
    """A reason why an algorithm cannot be audited."""


def check_view(target: Target[Any], feedback: str, wrong: str = "") -> None:
    """Raise PluginError if the view does not fit the algorithm's feedback or its guarantee; wrong: another reason."""
    if target.algorithm.feedback != feedback:
        right = "a views.Release()" if feedback == "full" else "a views.Noisy(values)"
        wrong = f'needs `feedback = "{feedback}"`: return {right}'
    elif target.claim.epsilon == 0:
        wrong = "has noise, but the guarantee is ε = 0, which no noise has"
    if wrong:
        view = type(target.view).__name__
        raise PluginError(f"view returned a views.{view}, which {wrong}", type(target.algorithm).view)


# ------------------------------------------------------------------------------------- random numbers


class Dealt(NamedTuple):
    """The random numbers of all rounds, by kind.

    u, v, w: where the uniform, the Laplace and the normal numbers of each round begin, `[rounds + 1]`.
    """

    uniform: Floats
    laplace: Floats
    normal: Floats
    u: Ints
    v: Ints
    w: Ints

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        return len(self.u) - 1

    def marks(self) -> dict[str, Ints]:
        """Where the numbers of each round begin, and where the last round's end, by kind."""
        return dict(zip(Draws._fields, self[3:], strict=True))

    def having(self, kind: str, table: Floats) -> "Dealt":
        """The same numbers, but with this table of one kind."""
        return self._replace(**{kind: table})  # type: ignore[arg-type]

    def copy(self) -> "Dealt":
        """The same numbers in tables of their own."""
        return Dealt(*Draws(*(table.copy() for table in self[:3])), *self[3:])

    def since(self, t: int) -> "Dealt":
        """The same tables, with round t as the first one."""
        return self._replace(u=self.u[t:], v=self.v[t:], w=self.w[t:])

    def part(self, rounds: range) -> "Dealt":
        """The numbers of these rounds alone."""
        cuts = [mark[rounds.start : rounds.stop + 1] for mark in self[3:]]
        tables = (table[cut[0] : cut[-1]] for table, cut in zip(self[:3], cuts, strict=True))
        return Dealt(*Draws(*tables), *(cut - cut[0] for cut in cuts))


def dealt(target: Target[Any]) -> Dealt:
    """The random numbers of the first game; the file says how many, for blocks of rounds, as in a run."""
    parts: dict[str, list[Ints]] = {kind: [] for kind in Draws._fields}
    for block in blocks(min(ROUNDS, int(target.setting.horizon)), BLOCK):
        asked = guards.random_needs(target.algorithm, target.setting, np.arange(block.start, block.stop))
        for kind, counts in parts.items():
            counts.append(np.broadcast_to(asked.get(kind, 0), len(block)))
    marks = [np.append(0, np.cumsum(np.concatenate(counts))) for counts in parts.values()]
    return again(target, Dealt(*Draws(*(np.empty(int(mark[-1])) for mark in marks)), *marks), "first")


def again(target: Target[Any], numbers: Dealt, game: str) -> Dealt:
    """As many new random numbers as these, from streams that `game` names."""
    tables = [np.empty(len(table)) for table in numbers[:3]]
    for kind, table in zip(Draws._fields, tables, strict=True):
        fill_of(kind, target.stream(f"{kind}, {game}"))(table)
    return Dealt(*Draws(*tables), *numbers[3:])


def numbers_of(own: Dealt, t: int) -> Draws:
    """The numbers of one round, parts of the tables of all rounds."""
    u, v, w = own.u, own.v, own.w
    return Draws(own.uniform[u[t] : u[t + 1]], own.laplace[v[t] : v[t + 1]], own.normal[w[t] : w[t + 1]])


def copied(own: Dealt, t: int) -> Draws:
    """The numbers of one round, in arrays of their own that a step may write into."""
    now = numbers_of(own, t)
    return Draws(now.uniform.copy(), now.laplace.copy(), now.normal.copy())


def put(numbers: Floats, place: Floats) -> None:
    """Copy numbers to a place. Compiled, an assignment to a slice takes a second, for the words of its error."""
    for i in range(len(place)):
        place[i] = numbers[i]


def rarely(target: Target[Any], numbers: Dealt, game: str, share: float = 1 / RARE) -> Dealt:
    """As many new random numbers as these; in this share of the rounds they are `rare`."""
    numbers, rng = again(target, numbers, game), target.stream(f"rare, {game}")
    far = rng.random(numbers.rounds) < share
    for (kind, mark), table in zip(numbers.marks().items(), numbers, strict=False):
        at = np.repeat(far, np.diff(mark))
        table[at] = rare(kind, int(at.sum()), rng)
    return numbers


def step_of(ratio: float) -> float:
    """The power of 2 by which a number is moved to measure its effect: about as far as losses move a release.

    ratio: the size of a release in units of the noise. A step of 1 would be lost in the rounding of little noise.
    """
    return float(2.0 ** max(0, math.ceil(math.log2(max(ratio, 1.0)))))


def losses_of(target: Target[Any], rounds: int, number: int) -> Floats:
    """A table of losses, `[round, N]`; two of them differ in most rounds and lean towards different coordinates.

    Some losses are 0 or at an end of the loss set: they reveal noise that depends on the losses. From the second table
    on, some losses are at one end but for one coordinate, which is at the other end: they reveal a step that waits for
    such a loss. From the third table on, losses are round numbers. In the last table, they are equal for RUN rounds.
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
    low, high = allowed.ends()
    alone = np.eye(n)[t // 16 % n] * (high - low)
    ends = {5: 0 * alone, 7: low, 11: high, 13: low + alone, 15: high - alone}
    for phase, end in (ends if number else {3: 0 * alone, 7: high, 11: low}).items():
        table[t % 16 == phase] = np.broadcast_to(end, table.shape)[t % 16 == phase]
    return table[t // RUN] if number == TWINS else table


# ------------------------------------------------------------------------------------- words


def played(target: Target[Any], rounds: int) -> str:
    """The numbers of rounds and coordinates that are played, in words."""
    horizon = int(target.setting.horizon)
    first = f"{rounds:,}" if rounds == horizon else f"the first {rounds:,} of {horizon:,}"
    return f"{first} rounds, N = {target.setting.n_arms}"


def assumed(target: Target[Any], rounds: int, points: Floats | None = None, near: float = 0.0) -> str:
    """The assumptions that are not tested, in words; points: those of a game, if they were compared up to `near`."""
    size = near / target.setting.decisions().radius()
    between = points is not None and bool((points != np.round(points)).any())  # not vertices
    digits = f"points that differ by less than {size:.1g} of the radius differ by rounding"
    return assuming(OTHER_LOSSES, like_these(rounds, target.setting.horizon), digits * between)


def apart_by_rounding(target: Target[Any], points: Floats, nudged: Floats) -> float:
    """How far equal points may be apart, given those of a game and of one that differs by a little more than
    rounding.
    """
    radius = target.setting.decisions().radius()
    return min(ALIKE * radius, LEAST * radius + WIDER * float(np.abs(points - nudged).max(initial=0.0)))


# ------------------------------------------------------------------------------------- games with full information


def observe_sums(states: Records, given: Floats, own: Dealt, sums: Floats, points: Floats) -> None:
    """Play on against `given[round, N]`; fill `points[round, N]` and, if SUMS, the sums by which they are chosen."""
    states, given, own, sums, points = lent((states, given, own, sums, points))
    for t in range(len(given)):
        now = numbers_of(own, t)
        choose(states[0], points[t], now)
        if SUMS:
            put(values(states[0]), sums[t])
        update(states[0], given[t], now)


class Game(NamedTuple):
    """The noisy sums of a game, if its view names them, and its points, `[round, N]`, and its last state."""

    sums: Floats
    points: Floats
    state: Records


def played_on(target: Target[Any], state: Records, given: Floats, numbers: Dealt) -> Game:
    """The game from this state on, with these losses and numbers. They stay as they are, whatever a step writes."""
    state, given, own = state.copy(), given.copy(), numbers.copy()
    sums, points = np.zeros_like(given), np.zeros_like(given)
    target.loop(observe_sums, SUMS=isinstance(target.view, Noisy))(state, given, own, sums, points)
    return Game(sums, points, state)


@dataclass
class Bench:
    """A game and its variants.

    kind: the kind of the numbers that make the noise; given: the losses, `[round, N]`; start: how many rounds come
    before the first one; cost: the rounds of all games that were played so far.
    """

    target: Target[Any]  # with noisy sums as its view
    kind: str
    numbers: Dealt
    given: Floats
    start: int = 0
    cost: int = 0

    @property
    def rounds(self) -> int:
        """The number of rounds of a game."""
        return len(self.given)

    @property
    def others(self) -> Iterator[Floats]:
        """The losses of twins."""
        return (losses_of(self.target, self.rounds, number) for number in range(1, TWINS + 1))

    @property
    def paths(self) -> "list[tuple[Bench, Floats]]":
        """Games whose sums go elsewhere, each with the losses of a twin.

        In the first two games all losses are at one end of the loss set. In the third one losses are equal for RUN
        rounds. In the first one and in the third one some numbers are rare: the losses of the first twin are no round
        numbers, and those of the third one are. In the fourth one each coordinate loses more than the one before it.
        """
        allowed = loss_set(self.target.setting)
        tables = [np.broadcast_to(end, self.given.shape).copy() for end in allowed.ends()]
        tables.append(losses_of(self.target, self.rounds, TWINS))
        steps = np.arange(n := self.given.shape[1])[::-1] / (n * max(1, n - 1))
        tables.append(allowed.leaning(self.target.stream("ladder"))(np.tile(steps, (self.rounds, 1))))
        draw = rarely, again, rarely, again
        return [
            (
                replace(self, numbers=draw[k](self.target, self.numbers, f"path {k}"), given=tables[k], cost=0),
                losses_of(self.target, self.rounds, k + 1),
            )
            for k in range(len(tables))
        ]

    @cached_property
    def first(self) -> Game:
        """The game as it is."""
        return self.play()

    @cached_property
    def near(self) -> float:
        """How far equal points may be apart by rounding."""
        signs = self.target.stream("nudge").choice([-1.0, 1.0], self.given.shape)
        nudged = self.play(given=self.given + self.slack(self.first) * signs)
        return apart_by_rounding(self.target, self.first.points, nudged.points)

    def play(
        self,
        own: Dealt | None = None,
        given: Floats | None = None,
        rounds: range | None = None,
        state: Records | None = None,
    ) -> Game:
        """Play these rounds, counted from 0."""
        rounds = range(self.rounds) if rounds is None else rounds
        self.cost += len(rounds)
        given = (self.given if given is None else given)[rounds.start : rounds.stop]
        numbers = (own or self.numbers).since(rounds.start)
        return played_on(self.target, self.target.state if state is None else state, given, numbers)

    def shortened(self, rounds: int) -> "Bench":
        """The first rounds alone."""
        return self.part(range(min(rounds, self.rounds)))

    def part(self, rounds: range) -> "Bench":
        """These rounds alone, counted from 0, from the state before them."""
        state = self.play(rounds=range(rounds.start)).state if rounds.start else self.target.state
        given = self.given[rounds.start : rounds.stop]
        target, start = replace(self.target, state=state), self.start + rounds.start
        return replace(self, target=target, numbers=self.numbers.part(rounds), given=given, start=start)

    def own(self, numbers: Dealt) -> Floats:
        """The numbers of the kind that the noise is made of."""
        table: Floats = getattr(numbers, self.kind)
        return table

    def mark(self) -> Ints:
        """Where the numbers of this kind of each round begin, and where the last round's end, `[rounds + 1]`."""
        return self.numbers.marks()[self.kind]

    def acts(self, *kinds: str, kept: Ints | None = None) -> bool:
        """Whether other random numbers of these kinds lead to other sums.

        kept: places of numbers of `kind`; N numbers from each of these places on stay as they are.
        """
        anew = again(self.target, self.numbers, "anew")
        if kept is not None:
            places = kept[:, None] + np.arange(self.given.shape[1])
            self.own(anew)[places] = self.own(self.numbers)[places]
        other = self.play(self.numbers._replace(**{kind: getattr(anew, kind) for kind in kinds}))
        return not np.array_equal(other.sums, self.first.sums, equal_nan=True)

    def slack(self, *games: Game, given: Floats | None = None) -> float:
        """How far equal sums may differ by rounding; given: other losses that a game has.

        Noise may cancel a sum of losses, so that the result is small. It is then no less rounded.
        """
        added = [np.cumsum(losses, axis=0) for losses in (self.given, given) if losses is not None]
        largest = max(float(np.abs(table).max()) for table in (*added, *(game.sums for game in games)))
        return ROUNDING * math.sqrt(self.rounds) * largest

    def apart(self, game: Game, other: Game, given: Floats | None = None) -> tuple[int, int]:
        """The first rounds, from 0, in which two games have other sums, and other points; given: as for `slack`."""
        sums = ~(np.abs(game.sums - other.sums) <= self.slack(game, other, given=given))
        return first_row(sums), first_row(~(np.abs(game.points - other.points) <= self.near))

    def compare(self, twin: Game, numbers: Dealt, given: Floats, start: int = 0) -> None:
        """Raise Refuted if the twin with these numbers and losses, from round `start`, has other sums or points."""
        sums, points, state = self.first
        prefix, point = (start + t for t in self.apart(Game(sums[start:], points[start:], state), twin, given))
        if point < prefix:
            fields = self._carrier(point, numbers, given)
            raise Refuted(leak(self.start + point, "prefixes", "different points", "losses", fields))
        if prefix < self.rounds:
            at = (self, prefix - 1) if prefix else None
            raise Refuted(f"prefix {self.start + prefix:,} {NOT_LINEAR.format(self.kind)}", at)

    def _carrier(self, t: int, numbers: Dealt, given: Floats) -> str:
        """The fields of the state that make the twin with these numbers and losses play differently in this round."""
        own, other = (self.play(table, losses, range(t)).state for table, losses in ((None, None), (numbers, given)))

        def first_apart(mixed: Records) -> tuple[int, int]:
            game, right = (self.play(rounds=range(t, t + 1), state=state) for state in (mixed, own))
            return self.apart(game, right)

        past = carrier(own, other, lambda mixed: first_apart(mixed) == (1, 0))  # the same prefix, another point
        return past or carrier(own, other, lambda mixed: first_apart(mixed)[1] == 0)


NOT_LINEAR = "is not the sum of the losses and of noise that does not depend on them and is linear in `rng.{}`"


def first_row(wrong: NDArray[np.bool_]) -> int:
    """The first row of `wrong[round, N]` with a True; the number of rows if there is none."""
    rows = np.flatnonzero(wrong.any(axis=1))
    return int(rows[0]) if len(rows) else len(wrong)
