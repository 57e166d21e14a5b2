"""The game `bandit`: each round the learner plays one of K arms and sees that arm's gain.

Regret at round t is the gain of the best fixed arm up to t, minus the learner's own gain (Tossou & Dimitrakakis 2017,
section 2.1). If the setting has S switches, it is the dynamic regret: the best sequence of arms that changes its arm at
most S times takes the place of the best arm (Asi, Raman & Saha 2025). Against an adversary with known means it is the
pseudo-regret: the sum over rounds of the largest mean minus the mean of the arm played (Bubeck & Cesa-Bianchi 2012,
section 1). The game counts regret itself, from the gains and the arms.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.games import driver, guards, lockstep, players
from privbandits_cli.games.contract import One
from privbandits_cli.games.drawing import draw, fill_of, side_by_side
from privbandits_cli.games.driver import column
from privbandits_cli.games.guards import WrongArm
from privbandits_cli.games.lockstep import LANES, Loop
from privbandits_cli.games.match import Match
from privbandits_cli.games.players import Setting, papers_delta
from privbandits_cli.games.steps import composition, in_loop
from privbandits_cli.numerics.arrays import aligned
from privbandits_cli.numerics.jit import Record, Records, borrow, cached_per_mode, compiled, record, unbound
from privbandits_cli.numerics.types import Blocks, Floats, Ints, Tables

__all__ = ["Adversary", "Algorithm", "Draws", "Floats", "Numbers", "One", "Setting", "papers_delta", "play"]

BLOCK = 16384  # rounds, at most; fewer if there are many arms
BYTES = 2**20  # at most, of a block's gains, and of an algorithm's random numbers of a kind in it, ...
LEAST = 32  # ... but no fewer rounds, because all states are copied at the start of a block
MANY = 4096  # with more arms, trials play alone, because states in a group could take a gigabyte


class Draws(NamedTuple):
    """The random numbers of one round, each from its own stream."""

    uniform: float  # on [0, 1)
    laplace: float  # standard Laplace


class Numbers(NamedTuple):
    """The random numbers of one round for an algorithm that asks for other kinds than `Draws` has, or for several.

    A kind for which it asks has one number, or an array if `draws` returns a count; all other kinds have NaN.
    """

    uniform: Any  # on [0, 1)
    laplace: Any  # standard Laplace
    normal: Any  # standard normal
    bits: Any  # 64 random bits, an unsigned integer, of which `numerics.bits` makes other random numbers


class Adversary(players.Adversary):
    """The source of the gains."""

    game: ClassVar[str] = "bandit"
    stationary: ClassVar[bool] = True  # whether `mean_gains`, if it is known, is the mean in every round

    def gains(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[NDArray[Any]]:
        """For each block of rounds (counted from 1) yield its gains `[rounds, arms]`, in [0, 1] where `bounded`.

        Draw from `rng` in the order of the rounds, so that no number depends on where a block ends.
        """
        if type(self).gains_in_lanes is Adversary.gains_in_lanes:
            raise NotImplementedError(f"{self.name} has no method `gains`")
        for block in self.gains_in_lanes(setting, [rng], lambda: blocks):
            yield block[:, :, 0].copy()

    def gains_in_lanes(self, setting: Setting, rngs: Sequence[Generator], rounds: Blocks) -> Tables:
        """For each block of `rounds()` yield the gains of several trials, `[rounds, arms, lanes]`.

        Each trial is a lane, and has one of the streams. Its gains are bit for bit those that `gains` draws from this
        stream. The next block may overwrite an array.
        """
        tables, out = [self.gains(setting, rng, rounds()) for rng in rngs], np.empty(0)
        for block in rounds():
            if len(out) != len(block):
                out = aligned((len(block), setting.n_arms, len(rngs)), np.float64)
                rows = np.empty((len(rngs), len(block), setting.n_arms))
            for own, table in zip(rows, tables, strict=True):
                np.copyto(own, guards.next_gains(table, self, block, setting.n_arms), casting="safe")
            side_by_side(rows.reshape(len(rngs), -1), out.reshape(-1, len(rngs)))
            yield out

    def mean_gains(self, setting: Setting) -> Floats | None:
        """The mean gains `[arms]` if regret is counted on these; None if it is counted on the gains themselves."""
        return None

    def coins(self, setting: Setting) -> Floats | None:
        """The means `[arms]` if all gains are independent Bernoulli numbers with fixed means; None if they are not."""
        return None

    def reaction(self) -> tuple[int, bool]:
        """(m, observed): a gain counts as 0 until its arm has been held for m rounds; m = 0 is oblivious.

        observed: the learner sees this 0, not the gain.
        """
        return 0, True


class Algorithm(players.Algorithm):
    """A learner's parameters, tuning and guarantee; its two steps are functions of the same file.

    `choose(state, rng) -> arm` and `update(state, arm, gain, rng)` are compiled into the game's loop; `rng` holds the
    `Draws` of the round, or its `Numbers`. `probabilities(state, out)`, if defined, fills the distribution of the next
    arm.
    """

    game: ClassVar[str] = "bandit"
    drawn: ClassVar[tuple[str, ...]] = ("uniform",)  # the kinds of random numbers of which a round has one

    def draws(self, setting: Setting) -> Mapping[str, int | One]:
        """The kinds of which a round has several random numbers, `rng.normal[0]`, `rng.normal[1]`, ..., and how many.

        `One` in place of a count asks for one, like `drawn`. By default every round has what the base asks for.
        """
        base = self._wrapped()
        found = random_needs(base, setting) if isinstance(base, Algorithm) else {}
        return {kind: One() if isinstance(n, One) else n for kind, n in found.items()}

    def caveats(self, setting: Setting) -> list[str]:
        public = "It draws no random numbers: unless its arms ignore the gains, no ε holds at any δ < 1."
        return [] if random_needs(self, setting) else [public]

    def instance_regret_bound(self, rounds: Floats, means: Floats, setting: Setting) -> Floats | None:
        """A bound `[points]` on the expected regret after `rounds` if the means of the arms are known, or None.

        means: those of the arms, `[arms]`. All gains are independent and in [0, 1]; the gains of an arm have its mean.
        """
        return None

    def noisy_regret_bound(self, rounds: Floats, setting: Setting, scale: float) -> Floats | None:
        """A bound on the expected regret, against oblivious adversaries, if gains carry Laplace noise of this scale."""
        return None


def gaps(means: Floats) -> Floats:
    """How far the mean of each worse arm is below the best one."""
    below: Floats = means.max() - means
    return below[below > 0]


# ------------------------------------------------------------------------------------- playing a match


def random_needs(algorithm: players.Algorithm, setting: Setting) -> dict[str, int | One]:
    """The random numbers of a tuned algorithm, by kind; PluginError where a user's file asks for unknown ones."""
    assert isinstance(algorithm, Algorithm)
    return dict.fromkeys(algorithm.drawn, One()) | guards.random_needs(algorithm, setting)


def ones(wanted: Mapping[str, int | One]) -> set[str]:
    """The kinds of which a round has one random number, not an array."""
    return {kind for kind, n in wanted.items() if isinstance(n, One)}


def axis(n: int | One) -> tuple[int, ...]:
    """The shape of a round's numbers of a kind: () for one."""
    return () if isinstance(n, One) else (n,)


class Table(NamedTuple):
    """What one trial reads to play a block. For a group, each array has the trials as an additional last axis."""

    gains: Any  # [round, arm]
    uniform: Any  # random numbers, [round] or [round, number]
    laplace: Any
    normal: Any
    bits: Any
    worth: Any  # what a play of an arm adds to the total, [arm]; empty if its gain is added
    memory: int  # see `Adversary.reaction`
    observed: bool


choose: Any = unbound
update: Any = unbound
KNOWN = False  # bound to True if `worth` counts
GUARDED = False  # bound to True for a user's file, whose arms are checked


def play_round(
    state: Record, player: Record, rng: Any, gains: Floats, worth: Floats, memory: int, observed: bool, t: int
) -> None:
    """Round t of a block in one trial; gains: one for each arm. `Table` explains the other arguments."""
    arm = choose(state, rng)
    if GUARDED and (arm < 0 or arm >= len(gains)):
        raise WrongArm(arm, len(gains), t)
    paid = seen = gains[arm]
    if memory > 0:  # the adversary reacts to switches; the first round has none
        switched = (player.last >= 0) & (player.last != arm)
        held = 0 if switched else player.held + 1
        paid = 0.0 if held < memory else paid
        player.held, player.last = held, arm
        seen = paid if observed else seen
    player.total += worth[arm] if KNOWN else paid
    update(state, arm, seen, rng)


def deal(table: Table, t: int) -> tuple[Any, ...]:
    """The arguments of `play_round` in round t, if trials are played one after the other."""
    uniform, laplace, normal, bits = table.uniform, table.laplace, table.normal, table.bits
    rng = Numbers(borrow(uniform)[t], borrow(laplace)[t], borrow(normal)[t], borrow(bits)[t])
    return rng, borrow(table.gains)[t], borrow(table.worth), table.memory, table.observed, t


@cached_per_mode
def loop(modules: tuple[str, ...], layout: Any, known: bool) -> Callable[..., None]:
    """The loop of a composition for one trial; layout: that of its record; known: whether `worth` counts."""
    return driver.loop(play_round, deal, in_loop(modules) | {"KNOWN": known})


def best_sequences(gains: Floats, marks: Ints, totals: Floats, best: Floats) -> None:
    """Add a block to `totals[s, arm, lane]`, those of the best sequence of arms that ends in `arm` after s switches.

    It has s switches at most; without a switch it is the arm itself. `best[lane, i]` is the largest total after
    `marks[i]` rounds. The sum runs round by round, so that it does not depend on where blocks end.
    """
    t, (_, n_arms, n), switches = 0, gains.shape, len(totals) - 1
    for i in range(len(marks)):
        while t < marks[i]:
            for s in range(switches, 0, -1):  # the totals with s - 1 switches are still those before this round
                for lane in range(n):
                    elsewhere = totals[s - 1, 0, lane]
                    for arm in range(1, n_arms):
                        elsewhere = max(elsewhere, totals[s - 1, arm, lane])
                    for arm in range(n_arms):
                        totals[s, arm, lane] = max(totals[s, arm, lane], elsewhere) + gains[t, arm, lane]
            for arm in range(n_arms):
                for lane in range(n):
                    totals[0, arm, lane] += gains[t, arm, lane]
            t += 1
        for lane in range(n):
            best[lane, i] = totals[switches, 0, lane]
            for arm in range(1, n_arms):
                best[lane, i] = max(best[lane, i], totals[switches, arm, lane])


class Seat(driver.Seat):
    """An algorithm in the games of some trials, with a source for each kind of its random numbers."""

    def __init__(self, games: "Games", algorithm: players.Algorithm, loop: Loop, trials: Sequence[int]) -> None:
        setting, self.asked = games.match.setting, random_needs(algorithm, games.match.setting)
        memory, observed = games.adversary.reaction()
        super().__init__(algorithm, loop, games.first(algorithm, setting, memory), trials)
        self.sources = {kind: fill_of(kind, *games.streams(kind, algorithm)) for kind in self.asked}
        rooms = {kind: games.room(kind, *axis(n)) for kind, n in self.asked.items()}
        self.rooms = Numbers(*(rooms.get(kind, games.nothing) for kind in Numbers._fields))
        self.others, self.known = (games.worth, memory, observed), games.means is not None

    def given(self, table: Floats, rounds: range) -> tuple[Any, ...]:
        for kind, n in self.asked.items():
            period = n.period if isinstance(n, One) else 1
            draw(rounds, period, self.sources[kind], getattr(self.rooms, kind))
        return table, *self.rooms, *self.others

    def play_alone(self, given: tuple[Any, ...], marks: Ints, found: Floats) -> None:
        kernel, (*tables, memory, observed) = loop(self.modules, self.records.dtype, self.known), given
        for i in range(len(self.records)):
            own = Table._make((*(column(table, i) for table in tables), memory, observed))
            kernel(self.records[i : i + 1], marks, found[i], own)


class Games(driver.Games):
    """The games of a group of trials."""

    width = LANES
    seat: ClassVar[Callable[..., driver.Seat]] = Seat

    def __init__(self, match: Match, trials: Sequence[int], wanted: int, block: int) -> None:
        super().__init__(match, trials, wanted, block)
        adversary, shape = match.adversary, (self.size, len(trials))
        assert isinstance(adversary, Adversary)
        self.adversary, self.means = adversary, adversary.mean_gains(match.setting)
        self.totals = aligned((1 + match.setting.switches, match.setting.n_arms, LANES), np.float64)
        self.totals[:] = 0
        below = np.empty(0) if self.means is None else self.means - self.means.max()
        self.worth = np.repeat(below[:, None], len(trials), axis=1)
        nothing = np.full(shape, np.nan)

        @cache
        def room(kind: str, *count: int) -> NDArray[Any]:
            """Memory for the numbers of a kind. Algorithms that use the same count of them in a round share it."""
            return aligned((self.size, *count, len(trials)), np.uint64 if kind == "bits" else np.float64)

        self.room, self.nothing = room, nothing

    @classmethod
    def loop(cls, match: Match, algorithm: players.Algorithm, lone: bool = False) -> Loop:
        assert isinstance(match.adversary, Adversary)
        known = match.adversary.mean_gains(match.setting) is not None
        return cls.form(algorithm, match.setting, lone, known)

    @classmethod
    def form(cls, algorithm: players.Algorithm, setting: Setting, lone: bool = False, known: bool = False) -> Loop:
        """The loop of a tuned algorithm in lockstep, or the reason why it has none; lone: for one trial."""
        if setting.n_arms > MANY:
            return Loop(None, f"there are more than {MANY:,} arms")
        layout, wanted = cls.first(algorithm, setting).dtype, random_needs(algorithm, setting)
        axes = tuple(axis(wanted.get(kind, One())) for kind in Numbers._fields)
        return cls.in_lockstep(composition(algorithm), layout, 1 if lone else cls.width, setting.n_arms, axes, known)

    @staticmethod
    def in_lockstep(modules: tuple[str, ...], layout: Any, width: int, n_arms: int, axes: Any, known: bool) -> Loop:
        """The loop of a composition; layout: that of its record; axes: those of a round's numbers, by kind."""
        return lockstep.loop(play_round, "bandit", modules, layout, width, n_arms, axes, KNOWN=known)

    @staticmethod
    def first(algorithm: players.Algorithm, setting: Setting, memory: int = 0) -> Records:
        """A trial before its first round: the player and the learner's state."""
        player = record(last=-1, held=memory, total=0.0)
        return record(player=player, state=guards.first_state(algorithm, setting))

    @classmethod
    def together(cls, match: Match) -> int:
        return LANES if match.setting.n_arms <= MANY else 1

    def most_rounds(self) -> int:
        setting = self.match.setting
        wanted = [n for algorithm in self.match.algorithms for n in random_needs(algorithm, setting).values()]
        most = max([setting.n_arms, *(n for n in wanted if not isinstance(n, One))])
        return max(LEAST, BYTES // (8 * len(self.trials) * most))

    def tables(self) -> Iterator[Floats]:
        rngs = self.streams("gains", self.adversary)
        for gains in self.adversary.gains_in_lanes(self.match.setting, rngs, self.blocks):
            yield np.ascontiguousarray(gains, np.float64)

    def best(self, table: Floats, marks: Ints) -> Floats:
        best = np.zeros((len(self.trials), len(marks)))
        if self.means is None:
            compiled(best_sequences)(table, marks, self.totals, best)
        return best

    def regret(self, total: Floats, best: Floats) -> Floats:
        return best[: len(total)] - total


def play(match: Match, trials: Sequence[int], block: int = BLOCK, width: int = LANES) -> Floats:
    """Regrets `[algorithms, trials, checkpoints]`; block and width (up to LANES) change only the speed."""
    return driver.play(Games, match, trials, block, width)
