"""The game `best_arm`: the learner plays arms until it stops, and then names the arm that it takes for the best one.

A round is a round of the game `bandit`: the learner chooses an arm and sees its gain. After each round, its step
`stop(state)` returns the answer, or -1 to go on. The score is the number of plays τ, the first of every arm included,
and the simple regret of the answer, which is how far its mean is below that of the best arm. A trial that reaches the
horizon has no answer: it is neither right nor wrong. Before the answer, the step `recommend(state)`, if the file has
it, says which arm would be named now.

With a confidence, the horizon is a cap. Without one, it is a fixed budget. The adversaries are those of `bandit` whose
gains are in [0, 1], with fixed means and one best arm. A round has one user, who may be played once.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.games import bandit, driver, guards, lockstep, players
from privbandits_cli.games.bandit import Adversary, Numbers, Setting
from privbandits_cli.games.driver import column
from privbandits_cli.games.guards import WrongAdvice, WrongAnswer, WrongArm
from privbandits_cli.games.lockstep import LANES, Loop
from privbandits_cli.games.match import Match
from privbandits_cli.games.steps import in_loop, plain
from privbandits_cli.numerics.jit import Record, Records, borrow, cached_per_mode, record, unbound
from privbandits_cli.numerics.types import Floats, Ints

__all__ = ["Adversary", "Algorithm", "Budgeted", "Outcomes", "Sure", "play"]

FIRST = 512  # rounds of the first block; each is twice as long as the one before, because many trials stop early
NONE = -1.0  # the regret where no arm would be named, and the answer of a trial that has not stopped


class Algorithm(bandit.Algorithm):
    """A learner that stops: beside `choose` and `update`, its file has a step `stop(state) -> arm`, or -1 to go on.

    If it has an answer after every round, its file has `recommend(state) -> arm`, too.
    """

    game: ClassVar[str] = "best_arm"
    fewest: ClassVar[int] = 2  # arms

    def errors(self, setting: Setting) -> Iterator[str]:
        if setting.n_arms < self.fewest:
            test = "or take dp_sprt, which tests whether one mean is mu0 or mu1"
            yield f"{self.name} compares arms, and there is only one: give two means or more, {test}"
        yield from super().errors(setting)

    def regrets(self, means: Floats) -> Floats:
        """The simple regret of each answer, `[answers]`: how far the mean of this arm is below that of the best one."""
        below: Floats = means.max() - means
        return below


class Sure(Algorithm):
    """A learner whose answer is wrong with probability at most β = 1 - confidence, whatever the means of the arms."""

    def errors(self, setting: Setting) -> Iterator[str]:
        if setting.confidence is None:
            yield f"{self.name} plays until it is sure enough: write `confidence: 0.99` beside the horizon, its cap"
        yield from super().errors(setting)


class Budgeted(Algorithm):
    """A learner with a fixed budget, the horizon: it may use fewer rounds, if they do not divide evenly."""

    def least(self, n_arms: int) -> int:
        """The least budget with which every arm is played in every phase that it is in."""
        raise NotImplementedError(f"{self.name} has no method `least`")

    def errors(self, setting: Setting) -> Iterator[str]:
        if setting.confidence is not None:
            yield f"{self.name} plays a fixed budget, the horizon, and knows no confidence: leave `confidence` out"
        least = self.least(setting.n_arms)
        yield from super().errors(setting)
        if setting.horizon < least:
            yield f"{setting.horizon:,.0f} rounds are too few for {setting.n_arms} arms: set horizon to {least} or more"


# ------------------------------------------------------------------------------------- which adversaries can play


def means_of(adversary: Adversary, setting: Setting) -> Floats | None:
    """The fixed means of the arms, `[arms]`; None if the adversary has none."""
    coins = adversary.coins(setting)
    fixed = adversary.stationary and adversary.reaction()[0] == 0
    return coins if coins is not None else adversary.mean_gains(setting) if fixed else None


def unfit(adversary: Adversary, setting: Setting) -> Iterator[str]:
    """The reasons why a tuned adversary cannot play this game, and what to do."""
    if not adversary.bounded:
        yield f"{adversary.name} has gains outside [0, 1]: take bernoulli, or scale the gains and set `bounded = True`"
        return
    means = means_of(adversary, setting)
    if means is None:
        hint = "take bernoulli, or return its means from a method `mean_gains` of your file"
        yield f"the arms of {adversary.name} have no fixed means, so none of them is the best one: {hint}"
    elif np.sum(means == means.max()) > 1 and len(means) > 1:
        first, second = np.flatnonzero(means == means.max())[:2]
        yield f"the arms {first} and {second} both have the largest mean, {means.max():g}: give one arm a larger one"


# ------------------------------------------------------------------------------------- playing a match


class Table(NamedTuple):
    """What one trial reads to play a block. For a group, each array but `due` has the trials as an additional axis."""

    gains: Any  # [round, arm]
    uniform: Any  # random numbers, [round] or [round, number]
    laplace: Any
    normal: Any
    bits: Any
    regrets: Any  # the simple regret of each answer, [answer]
    due: Any  # 1 for a checkpoint, else 0, [round]


choose: Any = unbound
update: Any = unbound
stop: Any = unbound
recommend: Any = unbound
NAMES = False  # bound to True if there is a step `recommend`
GUARDED = False  # bound to True for a user's file, whose arms are checked


def play_round(state: Record, player: Record, rng: Any, gains: Floats, regrets: Floats, due: int, t: int) -> None:
    """Round t of a block in one trial, unless it has stopped. `Table` explains the other arguments."""
    if player.answer < 0.0:
        arm = choose(state, rng)
        if GUARDED and (arm < 0 or arm >= len(gains)):
            raise WrongArm(arm, len(gains), t)
        update(state, arm, gains[arm], rng)
        player.pulls += 1.0
        answer = stop(state)
        if answer >= 0:
            if GUARDED and answer >= len(regrets):
                raise WrongAnswer(answer, len(regrets), t)
            player.answer = float(answer)
            player.total = regrets[answer]
        elif NAMES and due > 0:
            named = recommend(state)
            if GUARDED and (named < 0 or named >= len(regrets)):
                raise WrongAdvice(named, len(regrets), t)
            player.total = regrets[named]


def deal(table: Table, t: int) -> tuple[Any, ...]:
    """The arguments of `play_round` in round t, if trials are played one after the other."""
    uniform, laplace, normal, bits = table.uniform, table.laplace, table.normal, table.bits
    rng = Numbers(borrow(uniform)[t], borrow(laplace)[t], borrow(normal)[t], borrow(bits)[t])
    return rng, borrow(table.gains)[t], borrow(table.regrets), borrow(table.due)[t], t


def names(modules: tuple[str, ...]) -> bool:
    """Whether the outermost file of a composition has a step `recommend`."""
    return "recommend" in plain(modules[0])


@cached_per_mode
def loop(modules: tuple[str, ...], layout: Any) -> Callable[..., None]:
    """The loop of a composition for one trial; layout: that of its record."""
    return driver.loop(play_round, deal, in_loop(modules) | {"NAMES": names(modules)})


class Seat(bandit.Seat):
    """An algorithm in the games of some trials."""

    def given(self, table: Floats, rounds: range) -> tuple[Any, ...]:
        due = np.isin(np.arange(rounds.start, rounds.stop), self.checkpoints).astype(np.int64)
        gains, *numbers = super().given(table, rounds)[: 1 + len(Numbers._fields)]
        return gains, *numbers, self.regrets, due

    def __init__(self, games: "Games", algorithm: players.Algorithm, loop: Loop, trials: Sequence[int]) -> None:
        super().__init__(games, algorithm, loop, trials)
        assert isinstance(algorithm, Algorithm)
        self.checkpoints = games.match.checkpoints
        self.regrets = np.repeat(algorithm.regrets(games.arms)[:, None], len(trials), axis=1)

    def play_alone(self, given: tuple[Any, ...], marks: Ints, found: Floats) -> None:
        kernel, (*tables, due) = loop(self.modules, self.records.dtype), given
        for i in range(len(self.records)):
            own = Table._make((*(column(table, i) for table in tables), due))
            kernel(self.records[i : i + 1], marks, found[i], own)

    def over(self) -> bool:
        return bool((self.numbers("answer") >= 0).all())


class Games(bandit.Games):
    """The games of a group of trials."""

    seat, extra = Seat, ("pulls", "answer")

    def __init__(self, match: Match, trials: Sequence[int], wanted: int, block: int) -> None:
        super().__init__(match, trials, wanted, block)
        means = means_of(self.adversary, match.setting)
        assert means is not None, f"the arms of {self.adversary.name} have no fixed means"
        self.arms = means

    @classmethod
    def loop(cls, match: Match, algorithm: players.Algorithm, lone: bool = False) -> Loop:
        return cls.form(algorithm, match.setting, lone)

    @staticmethod
    def in_lockstep(modules: tuple[str, ...], layout: Any, width: int, n_arms: int, axes: Any, known: bool) -> Loop:
        given = {"NAMES": names(modules)}
        return lockstep.loop(play_round, "best_arm", modules, layout, width, n_arms, axes, **given)

    @staticmethod
    def first(algorithm: players.Algorithm, setting: Setting, memory: int = 0) -> Records:
        """A trial before its first round: the player and the learner's state."""
        player = record(answer=NONE, pulls=0.0, total=NONE)
        return record(player=player, state=guards.first_state(algorithm, setting))

    def blocks(self) -> Iterator[range]:
        first, size = 1, min(FIRST, self.size)
        while first <= self.horizon:
            yield range(first, min(first + size, self.horizon + 1))
            first, size = first + size, min(2 * size, self.size)

    def best(self, table: Floats, marks: Ints) -> Floats:
        return driver.Games.best(self, table, marks)

    def regret(self, total: Floats, best: Floats) -> Floats:
        return total


def play(match: Match, trials: Sequence[int], block: int = bandit.BLOCK, width: int = LANES) -> Floats:
    """`[algorithms, trials, checkpoints + 2]`; block and width (up to LANES) change only the speed.

    At each checkpoint the simple regret of the answer, or of the recommendation, or NONE; then τ, or the horizon in a
    trial without an answer; then the answer, or NONE.
    """
    return driver.play(Games, match, trials, block, width)


class Outcomes(NamedTuple):
    """What some trials of an algorithm came to."""

    regrets: Floats  # the simple regret at each checkpoint, or NONE, `[trials, checkpoints]`
    pulls: Ints  # τ, or the horizon, `[trials]`
    answers: Ints  # the arm that was named, or -1 in a trial that reached the horizon, `[trials]`

    @property
    def capped(self) -> NDArray[np.bool_]:
        """The trials without an answer, `[trials]`."""
        return self.answers < 0

    def wrong(self, best: int) -> int:
        """The number of trials with an answer that is not the best arm."""
        return int(np.sum((self.answers >= 0) & (self.answers != best)))


def outcomes(found: Floats) -> Outcomes:
    """The outcomes of an algorithm's trials; found: a row of what `play` returns, or what is stored of it."""
    return Outcomes(found[:, :-2], found[:, -2].astype(np.int64), found[:, -1].astype(np.int64))
