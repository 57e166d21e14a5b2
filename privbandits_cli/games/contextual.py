"""The game `contextual`: each round k arms in R^d arrive, the learner plays one, x, and sees a reward.

The mean of the reward is <θ, x> with a hidden θ, the same in every round. The regret is the pseudo-regret: the sum over
rounds of the largest mean minus the mean of the arm played (Shariff & Sheffet 2018, section 1.1). The game counts it
itself, from the means and the arms. The noise of the reward is drawn once a round, so that all algorithms play the same
game. Where arms are drawn on demand, each algorithm has a θ and arms of its own (`games.on_demand`). On a log, each
algorithm has its own place in the log, and the rewards take the place of the means (`games.logged`).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator

from privbandits_cli.convex.losses import SLACK
from privbandits_cli.games import driver, ellipsoid, guards, lockstep, logged, on_demand, players
from privbandits_cli.games.drawing import WIDTH, fill_of, side_by_side
from privbandits_cli.games.driver import column
from privbandits_cli.games.guards import WrongArm
from privbandits_cli.games.lockstep import NONE, Loop
from privbandits_cli.games.logged import Events, Exhausted
from privbandits_cli.games.match import Match
from privbandits_cli.games.on_demand import ArmLaw, LazyArms, new_crowd
from privbandits_cli.games.players import Contexts, Setting
from privbandits_cli.games.rewards import REWARDS, Law, reward
from privbandits_cli.games.steps import composition, in_loop
from privbandits_cli.numerics.arrays import aligned
from privbandits_cli.numerics.jit import (
    PluginError,
    Record,
    Records,
    borrow,
    cached_per_mode,
    compiled,
    record,
    unbound,
)
from privbandits_cli.numerics.sfc64 import words_of
from privbandits_cli.numerics.text import exact
from privbandits_cli.numerics.types import Blocks, Floats, Ints, Tables

__all__ = ["Adversary", "Algorithm", "Contexts", "Floats", "Law", "Setting", "play"]

BLOCK = 4096  # rounds, at most
BYTES = 2**20, 2**22  # at most, of a block's arms: of one trial, and of WIDTH trials, whose calls take longer
STATES = 2**22, 2**18  # bytes at most, of the states of WIDTH trials: with up to FEW coordinates, and with more
ARMS = 2**18  # bytes at most, of the arms of a round in WIDTH trials with more than FEW coordinates


def largest(means: Floats) -> Floats:
    """The largest of `means[round, k, trial]` in each round, `[round, trial]`."""
    best: Floats = aligned((len(means), means.shape[2]), np.float64)
    compiled(fill_largest)(means, best)
    return best


def fill_largest(means: Floats, best: Floats) -> None:
    """Fill `best`; on rows this short NumPy takes eight times as long."""
    for t in range(len(means)):
        for trial in range(means.shape[2]):
            best[t, trial] = means[t, 0, trial]
        for a in range(1, means.shape[1]):
            for trial in range(means.shape[2]):
                best[t, trial] = max(best[t, trial], means[t, a, trial])


class Adversary(players.Adversary):
    """The source of the arms, and the law of the rewards."""

    game: ClassVar[str] = "contextual"
    linear: ClassVar[bool] = True  # the mean of an arm x is <θ, x>; without that no bound on regret is known
    nonnegative: ClassVar[bool] = False  # no coordinate of an arm and no reward is ever below 0
    fixed: ClassVar[bool] = False  # every round of a trial has the same arms

    def law(self) -> Law:
        """The law of the rewards."""
        raise NotImplementedError

    def arms(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[tuple[Floats, Floats]]:
        """For each block of rounds (counted from 1) yield its arms `[rounds, d, k]` and their means `[rounds, k]`.

        Both may be overwritten by the next block. Draw from `rng` in the order of the rounds, so that no number depends
        on where a block ends.
        """
        raise NotImplementedError

    def arms_together(self, setting: Setting, rngs: Sequence[Generator], rounds: Blocks) -> Tables:
        """For each block of `rounds()` yield the rounds of several trials, `[round, d + 1, k, trial]`.

        The first d rows are the arms, the last row is their means. Each trial has one of the streams. Its arms are bit
        for bit those that `arms` draws from this stream. The next block may overwrite an array.
        """
        known, lowest = setting.known(), REWARDS[self.law()].lowest_mean
        tables = [self.arms(setting, rng, rounds()) for rng in rngs]
        for block in rounds():
            own = [guards.next_arms(table, self, block, setting.n_arms, known, lowest) for table in tables]
            arms, means = map(np.stack, zip(*own, strict=True))
            rows = np.concatenate([arms, means[:, :, None]], axis=2)
            out = aligned((*rows.shape[1:], len(rngs)), np.float64)
            side_by_side(rows.reshape(len(rngs), -1), out.reshape(-1, len(rngs)))
            yield out

    def on_demand(self) -> ArmLaw | None:
        """The law of arms that are drawn on demand (`games.on_demand`); it replaces the tables of `arms`."""
        return None

    def events_of_log(self, setting: Setting, rng: Generator) -> Events | None:
        """The events of a log that replace the tables of `arms`, in the order of a trial (`games.logged`)."""
        return None

    def bounds(self, setting: Setting) -> tuple[float, float]:
        """(L, S): bounds on the norms of the arms and of θ."""
        return 1.0, 1.0

    def revealed(self, setting: Setting) -> Setting:
        law, bounds = self.law(), self.bounds(setting)
        if law not in tuple(REWARDS):
            raise PluginError(f"law returned {law!r}: return one of {', '.join(REWARDS)}", type(self).law)
        if not (isinstance(bounds, tuple) and len(bounds) == 2 and all(0 < bound < math.inf for bound in bounds)):
            raise PluginError(f"bounds returned {bounds!r}: return (L, S), two positive numbers", type(self).bounds)
        rewards, (norm, theta_norm) = REWARDS[law], bounds
        known = setting.known()._replace(norm=norm, theta_norm=theta_norm, sigma=rewards.sigma, reward=rewards.largest)
        nonnegative = self.nonnegative and rewards.lowest_mean >= 0
        return setting._replace(contexts=known._replace(nonnegative=nonnegative, fixed=self.fixed))


class Algorithm(players.Algorithm):
    """A learner's parameters, tuning and guarantee; its two steps are functions of the same file.

    `choose(state, arms, rng) -> arm` sees the round's arms `[d, k]`, `update(state, x, reward, rng)` the arm played,
    `[d]`, and its reward. `rng` is the algorithm's own generator.
    """

    game: ClassVar[str] = "contextual"
    # What a file promises of its own steps; a subclass in another file promises nothing.
    optimistic: ClassVar[bool] = False  # `choose` reads the arms only by `ellipsoid.optimistic` and `arms.shape`
    growing: ClassVar[bool] = False  # V only grows, and so the eigenvalues of V^-1 never do

    def promises_all(self, promise: str) -> bool:
        """Whether this file and those of its bases make a promise."""
        mine, base = type(self).__module__, self._wrapped()
        own = any(vars(part).get(promise) for part in type(self).__mro__ if part.__module__ == mine)
        return own and (base is None or (isinstance(base, Algorithm) and base.promises_all(promise)))


# ---------------------------------------------------------------------------------------------- the loop


class Round(NamedTuple):
    """A round whose arms are drawn ahead."""

    arms: Floats  # [d, k]
    means: Floats  # [k]
    best: float  # the largest mean


class Ahead(NamedTuple):
    """The rounds of a block: arms and their means `[round, d + 1, k]`, and the largest mean of each `[round]`."""

    rounds: Floats
    best: Floats


class Table(NamedTuple):
    """What one trial reads to play a block."""

    dealt: Any  # `Ahead`, the `LazyArms` of a game that draws on demand, or the `Events` of a log
    numbers: Floats  # the random numbers of the rewards, [round]
    rng: Generator  # the learner's own


choose: Any = unbound
update: Any = unbound
GUARDED = False  # bound to True for a user's file, whose arms are checked


def deal_round(ahead: Ahead, t: int) -> Round:
    """Round t of a block."""
    rows = borrow(ahead.rounds)[t]
    d = len(rows) - 1
    return Round(rows[:d], rows[d], ahead.best[t])


def arms_of(dealt: Round) -> Floats:
    """The arms that the learner sees in a round, `[d, k]`."""
    return dealt.arms


def take(dealt: Round, arm: int, x: Floats) -> tuple[float, float]:
    """Copy an arm to x; returns its mean and the largest mean of the round."""
    for i in range(len(x)):
        x[i] = dealt.arms[i, arm]
    return dealt.means[arm], dealt.best


def play_round(state: Record, player: Record, rng: Any, dealt: Any, number: float, t: int) -> None:
    """Round t of a block in one trial; dealt: what `arms_of` and `take` read; number: the reward's random number."""
    arm = choose(state, arms_of(dealt), rng)
    if GUARDED and (arm < 0 or arm >= player.n_arms):
        raise WrongArm(arm, player.n_arms, t)
    mean, best = take(dealt, arm, player.x)
    square = 0.0
    for j in range(len(player.x)):
        square += player.x[j] * player.x[j]
    if not square <= player.most:
        player.beyond = square
    player.total += best - mean
    update(state, player.x, reward(player.law, mean, number), rng)


def deal(table: Table, t: int) -> tuple[Any, ...]:
    """The arguments of `play_round` in round t, if trials are played one after the other."""
    return table.rng, deal_round(table.dealt, t), table.numbers[t], t


@cached_per_mode
def loop(modules: tuple[str, ...], layout: Any, source: str, optimistic: bool) -> Callable[..., None]:
    """The loop of a composition for one trial; layout: that of its record.

    source: the module that deals the rounds if arms are drawn on demand or come from a log; empty if they are drawn
    ahead. optimistic: whether arms on demand are drawn only if they may be played.
    """
    names = in_loop(modules, **({"optimistic": on_demand.rule()} if optimistic else {}))
    if source == logged.__name__:
        names |= logged.steps(names["choose"])
    elif source:
        names |= on_demand.steps(optimistic)
    return driver.loop(play_round, deal, names)


# ------------------------------------------------------------------------------------- playing a match


def play(match: Match, trials: Sequence[int], block: int = BLOCK, width: int = WIDTH) -> Floats:
    """Regrets `[algorithms, trials, checkpoints]`; block and width (up to WIDTH) change only the speed."""
    return driver.play(Games, match, trials, block, width)


def _first_record(algorithm: players.Algorithm, setting: Setting, law: int = 0, most: float = 0.0) -> Records:
    """A trial before its first round: the player, with the words of its generator, and the learner's state."""
    own = {"n_arms": setting.n_arms, "law": law, "total": 0.0, "most": most, "beyond": 0.0}
    player = record(**own, x=np.zeros(setting.known().dimension), words=np.zeros(4, np.uint64))
    return record(player=player, state=guards.first_state(algorithm, setting))


class Seat(driver.Seat):
    """An algorithm in the games of some trials, with their generators, and with arms on demand or places in a log."""

    def __init__(self, games: "Games", algorithm: players.Algorithm, loop: Loop, trials: Sequence[int]) -> None:
        setting, known = games.setting, games.setting.known()
        assert isinstance(algorithm, Algorithm)
        self.most = known.norm**2 * (1 + SLACK)
        law = [*REWARDS].index(games.adversary.law())
        super().__init__(algorithm, loop, _first_record(algorithm, setting, law, self.most), trials)
        self.rngs = games.streams("noise", algorithm, trials=trials)
        for words, rng in zip(self.records["player"]["words"], self.rngs, strict=True):
            words[:] = words_of(rng)["words"]
        self.source, self.optimistic = "", False
        self.dealers: Sequence[LazyArms | Events | None] = [None for _ in trials]
        crowd = games.adversary.on_demand()
        events = [own.opened(self.modules) for own in games.events if own is not None]
        if events:
            self.dealers, self.source = events, logged.__name__
        elif crowd is not None:
            if not isinstance(crowd, ArmLaw):
                message = f"on_demand returned {crowd!r}: return ArmLaw(best, low, high), or None"
                raise PluginError(message, type(games.adversary).on_demand)
            self.source, self.optimistic = on_demand.__name__, algorithm.promises_all("optimistic")
            if self.optimistic:
                guards.check_optimistic(self.modules, ellipsoid.optimistic)
            shape, growing = (known.dimension, setting.n_arms), algorithm.promises_all("growing")
            rngs = games.streams("contexts", algorithm, trials=trials)
            crowds = [new_crowd(crowd, *shape, growing, rng) for rng in rngs]
            self.dealers = [LazyArms(shape, own, np.zeros((0, 0) if self.optimistic else shape)) for own in crowds]

    def given(self, table: tuple[Any, ...], rounds: range) -> tuple[Any, ...]:
        return table

    def play_alone(self, given: tuple[Any, ...], marks: Ints, found: Floats) -> None:
        kernel = loop(self.modules, self.records.dtype, self.source, self.optimistic)
        rows, best, numbers = given
        for i, (rng, dealer) in enumerate(zip(self.rngs, self.dealers, strict=True)):
            dealt: Any = dealer
            if dealer is None:
                dealt = Ahead(guards.protected(column(rows, i), self.modules), column(best, i))
            words = self.records["player"]["words"][i]
            state = rng.bit_generator.state
            state["state"]["state"] = words.copy()
            rng.bit_generator.state = state
            try:
                with np.errstate(over="ignore"):  # words wrap around by design
                    kernel(self.records[i : i + 1], marks, found[i], Table(dealt, column(numbers, i), rng))
            except Exhausted:
                n, played = len(dealt.order), int(dealt.places["kept"][0])
                why = f"the log has no event for round {played + 1}, as {n} were shown to the learner"
                raise ValueError(f"{why}: set a smaller horizon") from None
            words[:] = words_of(rng)["words"]

    def play(self, table: tuple[Any, ...], rounds: range, marks: Ints) -> Floats:
        """Raises ValueError if an arm was longer than the adversary declared; `beyond` and `most` are squared norms."""
        found = super().play(table, rounds, marks)
        if longest := np.max(self.numbers("beyond")):
            norm, bound = math.sqrt(longest), math.sqrt(self.most)
            raise ValueError(f"an arm of norm {exact(norm)} was played, but the declared bound is L = {exact(bound)}")
        return found


class Games(driver.Games):
    """The games of a group of trials."""

    width, seat = WIDTH, Seat

    def __init__(self, match: Match, trials: Sequence[int], wanted: int, block: int) -> None:
        super().__init__(match, trials, wanted, block)
        assert isinstance(match.adversary, Adversary)
        self.adversary, self.setting = match.adversary, match.setting
        self.rngs = self.streams("contexts", self.adversary)
        self.events = [self.adversary.events_of_log(self.setting, rng) for rng in self.rngs]
        self.ahead = self.events[0] is None and self.adversary.on_demand() is None

    @classmethod
    def loop(cls, match: Match, algorithm: players.Algorithm, lone: bool = False) -> Loop:
        adversary = match.adversary
        assert isinstance(adversary, Adversary)
        ahead = adversary.on_demand() is None and type(adversary).events_of_log is Adversary.events_of_log
        own = guards.is_own(adversary)  # trials of such a file may share a source of arms, so they play alone
        return cls.form(algorithm, match.setting, lone) if ahead and not own else NONE

    @staticmethod
    def form(algorithm: players.Algorithm, setting: Setting, lone: bool = False) -> Loop:
        """The loop of a tuned algorithm in lockstep, or the reason why it has none; lone: for one trial.

        The states of WIDTH trials, and with many coordinates the arms of a round, must stay in the cache.
        """
        d, k = setting.known().dimension, setting.n_arms
        states, many = WIDTH * guards.first_state(algorithm, setting).nbytes, d > ellipsoid.FEW
        if states > STATES[many] or (many and 8 * WIDTH * k * (d + 1) > ARMS):
            return Loop(None, "the states, or the arms of a round, take too much memory")
        layout, width = _first_record(algorithm, setting).dtype, 1 if lone else WIDTH
        # the first level of LLVM is enough: the code of a round is long, and higher levels make it no faster
        return lockstep.loop(play_round, "contextual", composition(algorithm), layout, width, d, k, quick=True)

    def most_rounds(self) -> int:
        width = 8 * len(self.trials) * self.setting.n_arms * (self.setting.known().dimension + 1)
        return BYTES[len(self.trials) > 1] // width if self.ahead else BLOCK

    def tables(self) -> Iterator[tuple[Any, ...]]:
        """The arms with their means `[round, d + 1, k, trial]`, the largest means and the rewards' random numbers."""
        d, n, foe = self.setting.known().dimension, len(self.trials), self.adversary
        own = Adversary if guards.is_own(foe) else type(foe)  # a file of one's own has the method `arms` alone
        arms = own.arms_together(foe, self.setting, self.rngs, self.blocks) if self.ahead else repeat(None)
        fill = fill_of(REWARDS[foe.law()].kind, *self.streams("rewards", foe))
        numbers = aligned((self.size, n), np.float64)
        for rounds in self.blocks():
            rows = next(arms)
            fill(numbers[: len(rounds)])
            best = None if rows is None else largest(np.ascontiguousarray(rows[:, d]))
            yield rows, best, numbers[: len(rounds)]
