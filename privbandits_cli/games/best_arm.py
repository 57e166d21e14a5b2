"""The game `best_arm`: the learner plays arms until it stops, and then names the arm that it takes for the best one.

A round is a round of the game `bandit`: the learner chooses an arm and sees its gain. After each round, its step
`stop(state)` returns the answer, or -1 to go on. The score is the number of plays τ, the first of every arm included,
and whether the answer is right. A trial that reaches the cap has no answer: it is neither right nor wrong.

The adversaries are those of `bandit` whose gains are in [0, 1]. A round has one user, who may be played once.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.releases import Release, noised
from privbandits_cli.games import bandit, players, views
from privbandits_cli.games.bandit import Numbers, Setting, asked, axis
from privbandits_cli.games.contract import One
from privbandits_cli.games.drawing import draw, fill_of
from privbandits_cli.games.parameters import Chance
from privbandits_cli.numerics.arrays import aligned
from privbandits_cli.numerics.jit import Records, bind, borrower, compile_step, kept, unbound
from privbandits_cli.numerics.streams import stream
from privbandits_cli.numerics.types import Ints

FIRST, LARGEST = 512, 16384  # rounds of the first block, and of the longest; each is twice as long as the one before
STEPS = "choose", "update", "stop"


class Algorithm(bandit.Algorithm):
    """A learner that stops: beside `choose` and `update`, its file has a step `stop(state) -> arm`, or -1 to go on.

    If it has an answer after every round, its file has `recommend(state) -> arm`, too.
    """

    game: ClassVar[str] = "best_arm"


class Sure(Algorithm):
    """A learner whose answer is wrong with probability at most β, whatever the means of the arms."""

    beta: Chance = Field(0.01, description="β, the probability of a wrong answer; δ in the papers")


class Summing(Sure):
    """A learner whose gains act through noisy sums alone, each with one number Lap(1/ε)."""

    private: ClassVar[bool] = True
    drawn: ClassVar[tuple[str, ...]] = ("laplace",)

    epsilon: float = Field(ge=1e-9, le=1e9, description="ε")

    def mechanism(self) -> str:
        return "Laplace noise on the sum of each phase"

    def view(self, setting: Setting) -> views.View | None:
        return views.Noisy("sums")

    def first_phase(self, setting: Setting) -> int:
        """The number of plays that enter an arm's first noisy sum."""
        return 1

    def bounds(self, setting: Setting, delta: float, sensitivity: float = 1.0) -> list[Guarantee]:
        """ε: each gain is in one noisy sum, and the arms, τ and the answer are functions of these sums."""
        return sums_bounds(self.epsilon, self.first_phase(setting), setting, delta, sensitivity)


def sums_bounds(epsilon: float, first: int, setting: Setting, delta: float, sensitivity: float) -> list[Guarantee]:
    """The bounds of noisy sums of disjoint gains; first: the plays that enter the first of them."""
    view = "all noisy sums, and so all arms played, when it stops, and the answer"
    one = Release("laplace", epsilon * sensitivity)
    share = float(first <= setting.horizon)
    return noised(one, delta, "a gain is in one noisy sum", "noisy sum", view, surely=one.part(share))


class Budgeted(Algorithm):
    """A learner with a fixed budget, the horizon: it may use fewer rounds, if they do not divide evenly."""

    def least(self, n_arms: int) -> int:
        """The least budget with which every arm is played in every phase that it is in."""
        raise NotImplementedError(f"{self.name} has no method `least`")

    def errors(self, setting: Setting) -> Iterator[str]:
        least = self.least(setting.n_arms)
        if setting.horizon < least:
            yield f"{setting.horizon:,.0f} rounds are too few for {setting.n_arms} arms: set horizon to {least} or more"


# ------------------------------------------------------------------------------------- playing trials


class Outcomes(NamedTuple):
    """What some trials came to."""

    pulls: Ints  # τ, or the cap, `[trials]`
    answers: Ints  # the arm that was named, or -1 in a trial that reached the cap, `[trials]`
    plays: Ints  # of each arm, `[trials, arms]`

    @property
    def capped(self) -> NDArray[np.bool_]:
        """The trials without an answer, `[trials]`."""
        return self.answers < 0

    def wrong(self, best: int) -> int:
        """The number of trials with an answer that is not the best arm."""
        return int(np.sum((self.answers >= 0) & (self.answers != best)))


class Table(NamedTuple):
    """What a trial reads to play a block."""

    gains: Any  # [round, arm]
    uniform: Any  # random numbers, [round] or [round, number]
    laplace: Any
    normal: Any
    bits: Any


choose: Any = unbound
update: Any = unbound
stop: Any = unbound
borrow: Any = unbound


def play_block(states: Records, plays: Ints, table: Table) -> tuple[int, int]:
    """Play a block of a trial until the learner stops; returns the rounds played, and the answer or -1."""
    state, gains = states[0], borrow(table.gains)
    uniform, laplace, normal, bits = table.uniform, table.laplace, table.normal, table.bits
    for t in range(len(gains)):
        rng = Numbers(borrow(uniform)[t], borrow(laplace)[t], borrow(normal)[t], borrow(bits)[t])
        arm = choose(state, rng)
        update(state, arm, gains[t, arm], rng)
        plays[arm] += 1
        answer = stop(state)
        if answer >= 0:
            return t + 1, answer
    return len(gains), -1


def plain(algorithm: players.Algorithm, *names: str) -> dict[str, Callable[..., Any]]:
    """The steps of an algorithm's file by name. Those that it lacks are those of a class that its class extends."""
    files = [sys.modules[model.__module__] for model in type(algorithm).__mro__ if model.__module__ != __name__]
    found = {}
    for name in names:
        file = next((file for file in files if getattr(file, name, unbound) is not unbound), None)
        if file is None:
            raise TypeError(f"{algorithm.name} has no step `{name}`: it does not play the game best_arm")
        found[name] = getattr(file, name)
    return found


@kept
def loop(*steps: Callable[..., Any]) -> Callable[..., tuple[int, int]]:
    """The compiled `play_block` of an algorithm with these plain steps."""
    names = {name: compile_step(step) for name, step in zip(STEPS, steps, strict=True)}
    return bind(play_block, **names, borrow=borrower())


def blocks(cap: int) -> Iterator[range]:
    """The rounds 1..cap in blocks, the first ones short, because many trials stop early."""
    first, size = 1, FIRST
    while first <= cap:
        yield range(first, min(first + size, cap + 1))
        first, size = first + size, min(2 * size, LARGEST)


def play(
    algorithm: players.Algorithm, adversary: bandit.Adversary, setting: Setting, trials: Sequence[int], seed: int
) -> Outcomes:
    """Play trials of a tuned algorithm, one after the other; a trial ends at the horizon, which is the cap."""
    kernel = loop(*plain(algorithm, *STEPS).values())
    pulls, answers = np.zeros(len(trials), np.int64), np.full(len(trials), -1)
    plays = np.zeros((len(trials), setting.n_arms), np.int64)
    numbers = asked(algorithm, setting)
    rooms = {kind: _room(kind, *axis(n)) for kind, n in numbers.items()}
    nothing, cap = np.full(LARGEST, np.nan), int(setting.horizon)
    tables = [rooms.get(kind, nothing) for kind in Numbers._fields]
    for i, trial in enumerate(trials):
        names = algorithm.identity(), adversary.identity()
        fills = {kind: fill_of(kind, stream(seed, kind, *names, trial=trial)) for kind in rooms}
        gains = adversary.gains(setting, stream(seed, "gains", names[1], trial=trial), blocks(cap))
        state = algorithm.state(setting)
        for rounds, earned in zip(blocks(cap), gains, strict=True):
            for kind, fill in fills.items():
                draw(rounds, n.period if isinstance(n := numbers[kind], One) else 1, fill, rooms[kind])
            own = [table[..., 0] if table is not nothing else table for table in tables]
            count, answers[i] = kernel(state, plays[i], Table(np.ascontiguousarray(earned, np.float64), *own))
            pulls[i] += count
            if answers[i] >= 0:
                break
    return Outcomes(pulls, answers, plays)


def _room(kind: str, *count: int) -> NDArray[Any]:
    """Memory for the random numbers of a block in one trial."""
    return aligned((LARGEST, *count, 1), np.uint64 if kind == "bits" else np.float64)
