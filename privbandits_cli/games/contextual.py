"""The game `contextual`: each round k arms in R^d arrive, the learner plays one, x, and sees a reward.

The mean of the reward is <θ, x> with a hidden θ, the same in every round. The regret is the pseudo-regret: the sum over
rounds of the largest mean minus the mean of the arm played (Shariff & Sheffet 2018, section 1.1). The game counts it
itself, from the means and the arms. The noise of the reward is drawn once a round, so that all algorithms play the same
game. Where arms are drawn on demand, each algorithm has a θ and arms of its own (`games.on_demand`). On a log, each
algorithm has its own place in it, and the rewards take the place of the means (`games.logged`).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import SFC64, Generator
from numpy.typing import NDArray

from privbandits_cli.convex.losses import SLACK
from privbandits_cli.games import (
    contextual_lockstep,
    ellipsoid,
    guards,
    lockstep,
    logged,
    on_demand,
    players,
)
from privbandits_cli.games.dealt import apart as apart_of
from privbandits_cli.games.dealt import dealt, largest
from privbandits_cli.games.drawing import WIDTH, fill_of
from privbandits_cli.games.guards import WrongArm
from privbandits_cli.games.logged import Events, Exhausted
from privbandits_cli.games.match import Match
from privbandits_cli.games.on_demand import Crowd, Dealer, new_crowd
from privbandits_cli.games.players import Contexts, Setting
from privbandits_cli.games.rewards import LAWS, REWARDS, Law, reward
from privbandits_cli.games.steps import blocks, composition, in_loop
from privbandits_cli.numerics.arrays import aligned
from privbandits_cli.numerics.jit import (
    PluginError,
    Records,
    bind,
    borrow,
    interpreted,
    kept,
    record,
    unbound,
)
from privbandits_cli.numerics.sfc64 import words_of
from privbandits_cli.numerics.streams import stream
from privbandits_cli.numerics.text import exact
from privbandits_cli.numerics.types import Floats

__all__ = ["Adversary", "Algorithm", "Contexts", "Floats", "Law", "Setting", "play"]

LOG = logged.__name__
BLOCK = 4096  # rounds, at most
BYTES = 2**20  # at most, of a block's arms
STATES = 2**22, 2**18  # bytes at most, of the states of WIDTH trials: with up to FEW coordinates, and with more
ARMS = 2**18  # the same, of the arms of a round with more
BYTES_TOGETHER = (
    2**22
)  # of a block's arms, of WIDTH trials; more rounds are played at a call, though they leave the second cache
GUARDED = False  # bound to True for a user's file, whose arms are checked


class Adversary(players.Adversary):
    """The source of the arms, and the law of the rewards."""

    game: ClassVar[str] = "contextual"
    linear: ClassVar[bool] = True  # the mean of an arm x is <θ, x>; without that no bound on regret is known
    nonnegative: ClassVar[bool] = False  # no coordinate of an arm and no reward is ever below 0

    def law(self) -> Law:
        """The law of the rewards."""
        raise NotImplementedError

    def arms(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[tuple[Floats, Floats]]:
        """For each block of rounds (counted from 1) yield its arms `[rounds, d, k]` and their means `[rounds, k]`.

        Both may be overwritten by the next block. Draw from `rng` in the order of the rounds, so that no number depends
        on where a block ends.
        """
        raise NotImplementedError

    def arms_together(
        self, setting: Setting, rngs: Sequence[Generator], rounds: Callable[[], Iterable[range]]
    ) -> Iterator[Floats]:
        """For each block of `rounds()` yield its rounds (`games.dealt`) for trials with these streams.

        A lane has the arms of `arms`, to the bit. An array may be overwritten by the next block.
        """
        known, lowest = setting.known(), REWARDS[self.law()].lowest_mean
        tables = [self.arms(setting, rng, rounds()) for rng in rngs]
        for block in rounds():
            own = [guards.next_arms(table, self, block, setting.n_arms, known, lowest) for table in tables]
            yield dealt(*map(np.stack, zip(*own, strict=True)))

    def on_demand(self) -> Crowd | None:
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
        return setting._replace(contexts=known._replace(nonnegative=self.nonnegative and rewards.lowest_mean >= 0))


class Algorithm(players.Algorithm):
    """A learner's parameters, tuning and guarantee; its two steps are functions of the same file.

    `choose(state, arms, rng) -> arm` sees the round's arms `[d, k]`, `update(state, x, reward, rng)` the arm played,
    `[d]`, and its reward. `rng` is the algorithm's own generator.
    """

    game: ClassVar[str] = "contextual"
    # What a file promises of its own steps; a subclass in another file promises nothing.
    optimistic: ClassVar[bool] = False  # `choose` reads the arms by `ellipsoid.optimistic` and `arms.shape` alone
    growing: ClassVar[bool] = False  # V only grows, and so the eigenvalues of V^-1 never do

    def promises_all(self, promise: str) -> bool:
        """Whether this file and those of its bases make a promise."""
        mine, base = type(self).__module__, self._wrapped()
        own = any(vars(part).get(promise) for part in type(self).__mro__ if part.__module__ == mine)
        return own and (base is None or (isinstance(base, Algorithm) and base.promises_all(promise)))


# ---------------------------------------------------------------------------------------------- the loop


choose: Any = unbound
update: Any = unbound


class Table(NamedTuple):
    """The arms of a block `[rounds, d, k]`, their means `[rounds, k]`, and the largest of each round `[rounds]`."""

    arms: Floats
    means: Floats
    best: Floats


def deal(table: Table, t: int) -> Floats:
    """The arms of round t, `[d, k]`."""
    arms: Floats = borrow(table.arms)[t]
    return arms


def take(table: Table, t: int, arm: int, x: Floats) -> tuple[float, float]:
    """Copy an arm to x; returns its mean and the largest mean of the round."""
    for i in range(len(x)):
        x[i] = table.arms[t, i, arm]
    return table.means[t, arm], table.best[t]


def play_block(
    table: Any,
    numbers: Floats,
    marks: NDArray[np.int64],
    regrets: Floats,
    seated: Records,
    states: Records,
    rng: Generator,
) -> None:
    """Play one block; `regrets[i]` is the learner's regret after `marks[i]` rounds.

    table: a `Table`, the `Dealer` of arms drawn on demand, or the `Events` of a log. numbers: the random numbers of the
    rewards, `[rounds]`.
    """
    state, player = states[0], seated[0]
    x = player.x
    t = 0
    for i in range(len(marks)):
        while t < marks[i]:
            arm = choose(state, deal(table, t), rng)
            if GUARDED and (arm < 0 or arm >= player.n_arms):
                raise WrongArm(arm, player.n_arms, t + 0)  # numba 0.62 takes t itself for its first value
            mean, best = take(table, t, arm, x)
            square = 0.0
            for j in range(len(x)):
                square += x[j] * x[j]
            if not square <= player.most:
                player.beyond = square
            player.regret += best - mean
            update(state, x, reward(player.law, mean, numbers[t]), rng)
            t += 1
        regrets[i] = player.regret


@kept
def loop(modules: tuple[str, ...], layout: str, source: str, optimistic: bool) -> Callable[..., None]:
    """The compiled `play_block` of a composition whose state has this record layout.

    source: the module of arms that are drawn on demand, or of the game on a log, else empty. optimistic: whether the
    learner leaves most of the arms undrawn.
    """
    if source == LOG:
        names = in_loop(modules)
        names |= logged.steps(modules, names["choose"])
    else:
        rule = {"optimistic": on_demand.rule()} if optimistic else {}
        names = in_loop(modules, **rule) | (on_demand.steps(optimistic) if source else {})
    return bind(play_block, **names)


# ------------------------------------------------------------------------------------- playing a match


def play(match: Match, trials: Sequence[int], block: int = BLOCK, width: int = WIDTH) -> Floats:
    """Regrets `[algorithms, trials, checkpoints]`; block and width (up to WIDTH) change only the speed."""
    width = min(width, together(match))
    groups = [trials[first : first + width] for first in range(0, len(trials), width)]
    way = _play_together if width > 1 else _play_one_by_one
    return np.concatenate([way(match, group, block) for group in groups], axis=1)


def together(match: Match) -> int:
    """The trials that play at once, if any algorithm can; a few take as long as all."""
    return WIDTH if any(in_lockstep(match, algorithm) for algorithm in match.algorithms) else 1


def in_lockstep(match: Match, algorithm: players.Algorithm) -> bool:
    """Whether an algorithm can play several trials of this match at once."""
    adversary, setting = match.adversary, match.setting
    assert isinstance(algorithm, Algorithm) and isinstance(adversary, Adversary)
    ahead = adversary.on_demand() is None and type(adversary).events_of_log is Adversary.events_of_log
    own = guards.is_own(adversary)  # its trials may share what they draw from
    fits = _fits(algorithm, setting)
    return ahead and fits and not own and not interpreted() and _loop(algorithm, setting).play is not None


def _fits(algorithm: players.Algorithm, setting: Setting) -> bool:
    """Whether the states of WIDTH trials, and with many coordinates the arms of a round, stay in the cache."""
    states, many = WIDTH * guards.first_state(algorithm, setting).nbytes, setting.known().dimension > ellipsoid.FEW
    return states <= STATES[many] and (_arms_bytes(setting) <= ARMS or not many)


def _arms_bytes(setting: Setting) -> int:
    """The bytes of the arms of a round, in WIDTH trials."""
    return 8 * WIDTH * setting.n_arms * (setting.known().dimension + 1)


def alone_because(algorithm: players.Algorithm, setting: Setting) -> str:
    """Why the trials of a tuned algorithm play one after the other, and the line; empty if they play in lockstep."""
    if not _fits(algorithm, setting):
        return "the states, or the arms of a round, take too much memory"
    return _loop(algorithm, setting).reason


def _loop(algorithm: players.Algorithm, setting: Setting) -> lockstep.Loop:
    layout, shape = _first_record(algorithm, setting).dtype, (setting.known().dimension, setting.n_arms)
    return contextual_lockstep.loop(composition(algorithm), layout, *shape)


PLAYER = ("law", "regret", "most", "beyond", "x")  # what `play_block` knows of a player, beside the number of arms


def _first_record(algorithm: players.Algorithm, setting: Setting, law: int = 0, most: float = 0.0) -> Records:
    """A trial before its first round: the player, with the words of its generator, and the learner's state."""
    x, words = np.zeros(setting.known().dimension), np.zeros(4, np.uint64)
    player = record(law=law, regret=0.0, most=most, beyond=0.0, x=x, words=words)
    return record(player=player, state=guards.first_state(algorithm, setting))


class _Seat:
    """One algorithm in its game: loop, state and random numbers, and its own arms, on demand, or place in the log."""

    def __init__(self, match: Match, algorithm: players.Algorithm, trial: int, events: Events | None) -> None:
        adversary, seed, known = match.adversary, match.seed, match.setting.known()
        assert isinstance(algorithm, Algorithm) and isinstance(adversary, Adversary)
        self.states = guards.first_state(algorithm, match.setting)
        self.modules = composition(algorithm)
        most, k = known.norm**2 * (1 + SLACK), match.setting.n_arms
        law = [*LAWS].index(adversary.law())
        self.player = record(n_arms=k, law=law, regret=0.0, most=most, beyond=0.0, x=np.zeros(known.dimension))
        who = algorithm.identity(), adversary.identity()
        layout = f"{self.states.dtype.descr} {self.player.dtype.descr}"
        self.dealer: Dealer | Events | None = None
        source, optimistic = "", False
        if events is not None:
            self.dealer, source = events.opened(self.modules), LOG
        elif (crowd_law := adversary.on_demand()) is not None:
            if not isinstance(crowd_law, Crowd):
                message = f"on_demand returned {crowd_law!r}: return Crowd(best, low, high), or None"
                raise PluginError(message, type(adversary).on_demand)
            optimistic, growing = algorithm.promises_all("optimistic"), algorithm.promises_all("growing")
            if optimistic:
                guards.check_optimistic(self.modules, ellipsoid.optimistic)
            rng, shape = stream(seed, "contexts", *who, trial=trial), (known.dimension, k)
            crowd = new_crowd(crowd_law, *shape, growing, rng)
            self.dealer = Dealer(shape, crowd, np.zeros((0, 0) if optimistic else shape))
            layout, source = f"{layout} {crowd.dtype.descr}", on_demand.__name__
        self.kernel = loop(self.modules, layout, source, optimistic)
        self.rng = stream(seed, "noise", *who, trial=trial)

    def play(self, table: Table | None, numbers: Floats, rounds: range, marks: NDArray[np.int64]) -> Floats:
        """Its regrets after the marks, `[marks]`."""
        regrets = np.empty(len(marks))
        dealt = self.dealer if table is None else table._replace(arms=guards.shown(table.arms, self.modules))
        with np.errstate(over="ignore"):  # words wrap around by design
            game = dealt, numbers, marks, regrets, self.player, self.states, self.rng
            try:
                guards.play_block(self.kernel, game, self.modules, rounds, self.states)
            except Exhausted:
                raise ValueError(self._ended()) from None
        _check_norms(self.player["beyond"], float(self.player["most"][0]))
        return regrets

    def _ended(self) -> str:
        """The error that the log has no more events."""
        assert isinstance(self.dealer, Events)
        n, played = len(self.dealer.order), int(self.dealer.places["kept"][0])
        return f"the log has no event for round {played + 1}, as {n} were shown to the learner: set a smaller horizon"


class _Seats:
    """One algorithm in the games of WIDTH trials, which it plays at once."""

    def __init__(self, match: Match, algorithm: players.Algorithm, trials: Sequence[int]) -> None:
        adversary, seed, known = match.adversary, match.seed, match.setting.known()
        assert isinstance(adversary, Adversary)
        who, law = (algorithm.identity(), adversary.identity()), [*LAWS].index(adversary.law())
        first = _first_record(algorithm, match.setting, law, known.norm**2 * (1 + SLACK))
        self.seats, self.loop = np.repeat(first, WIDTH), _loop(algorithm, match.setting)
        self.modules, self.most = composition(algorithm), float(first["player"]["most"][0])
        self.words: lockstep.Words | None = None  # the records between blocks
        for i, trial in enumerate(trials):
            self.seats["player"]["words"][i] = words_of(stream(seed, "noise", *who, trial=trial))["words"]

    def play(self, dealt: Floats, best: Floats, numbers: Floats, rounds: range, marks: NDArray[np.int64]) -> Floats:
        """Their regrets after the marks, `[WIDTH, marks]`."""
        regrets, layout = np.empty((WIDTH, len(marks))), self.loop.layout
        assert self.loop.play is not None
        words = self.words if self.words is not None else lockstep.spread(self.seats, layout, WIDTH)
        before, self.words = words.copy(), words
        if not self.loop.play(words, marks, regrets, (dealt, best, numbers)):
            lockstep.collect(before, self.seats, layout)
            self.words = None
            self._play_alone(tables_of(dealt, best), numbers, rounds, marks, regrets)
            _check_norms(self.seats["player"]["beyond"], self.most)
            return regrets
        _check_norms(words.view(np.float64)[0, lockstep.place(layout, "player", "beyond")], self.most)
        if guards.guarded(self.modules):
            lockstep.collect(words, self.seats, layout)
            for state in self.seats["state"]:
                guards.check_numbers(state, self.modules, rounds)
        return regrets

    def _play_alone(
        self, tables: Sequence[Table], numbers: Floats, rounds: range, marks: NDArray[np.int64], regrets: Floats
    ) -> None:
        """Play the block one trial after the other, because one of them has an error, or a gamma number of shape 1."""
        layout = self.seats.dtype["state"]
        kernel = loop(self.modules, f"{layout.descr} alone", "", False)
        for i, table in enumerate(tables):
            state = self.seats["state"][i : i + 1].copy().view((np.record, layout))
            player, shown = self.seats["player"][i], table._replace(arms=guards.shown(table.arms, self.modules))
            one = record(n_arms=table.means.shape[1], **{name: player[name] for name in PLAYER})
            rng = Generator(SFC64())
            words = rng.bit_generator.state
            words["state"]["state"] = player["words"].copy()
            rng.bit_generator.state = words
            own = np.ascontiguousarray(numbers[:, i])
            with np.errstate(over="ignore"):  # words wrap around by design
                game = shown, own, marks, regrets[i], one, state, rng
                guards.play_block(kernel, game, self.modules, rounds, state)
            self.seats["state"][i] = state[0]
            for name in PLAYER:
                self.seats["player"][name][i] = one[name][0]
            self.seats["player"]["words"][i] = words_of(rng)["words"]


def tables_of(dealt: Floats, best: Floats) -> list[Table]:
    """The rounds of each trial."""
    return list(map(Table, *apart_of(dealt), np.ascontiguousarray(best.T)))


def _check_norms(beyond: Floats, most: float) -> None:
    """ValueError if an arm was longer than the adversary declared; both are squares of norms."""
    if longest := np.max(beyond):
        norm, bound = math.sqrt(longest), math.sqrt(most)
        raise ValueError(f"an arm of norm {exact(norm)} was played, but the declared bound is L = {exact(bound)}")


def _play_one_by_one(match: Match, trials: Sequence[int], block: int) -> Floats:
    """Regrets `[algorithms, trials, checkpoints]`."""
    return np.stack([_play_trial(match, trial, block) for trial in trials], axis=1)


def _play_trial(match: Match, trial: int, block: int) -> Floats:
    """Regrets `[algorithms, checkpoints]` of one trial."""
    adversary, _, setting, checkpoints, seed = match
    assert isinstance(adversary, Adversary)
    horizon, foe, rewards = int(checkpoints[-1]), adversary.identity(), REWARDS[adversary.law()]
    rng = stream(seed, "contexts", foe, trial=trial)
    events = adversary.events_of_log(setting, rng)
    ahead = events is None and adversary.on_demand() is None
    seats = [_Seat(match, algorithm, trial, events) for algorithm in match.algorithms]
    width = 8 * setting.n_arms * (setting.known().dimension + 1) if ahead else 0
    block = max(1, min(block, horizon, BYTES // max(1, width)))
    arms = adversary.arms(setting, rng, blocks(horizon, block)) if ahead else iter(())
    fill = fill_of(rewards.kind, stream(seed, "rewards", foe, trial=trial))
    numbers = np.empty(block)
    regrets = np.empty((len(seats), len(checkpoints)))
    for rounds in blocks(horizon, block):
        table = None
        if ahead:
            lowest = rewards.lowest_mean
            shown, means = guards.next_arms(arms, adversary, rounds, setting.n_arms, setting.known(), lowest)
            table = Table(shown, means, largest(means[:, :, None])[:, 0])
        fill(numbers[: len(rounds)])
        inside = slice(*np.searchsorted(checkpoints, (rounds.start, rounds.stop)))
        marks = np.append(checkpoints[inside] - rounds.start + 1, len(rounds))
        for k, seat in enumerate(seats):
            regrets[k, inside] = seat.play(table, numbers, rounds, marks)[:-1]
    return regrets


def _play_together(match: Match, trials: Sequence[int], block: int) -> Floats:
    """Regrets `[algorithms, trials, checkpoints]` of up to WIDTH trials, which are played at once.

    The first trial also plays in the lanes that are left. An algorithm that does not play in vectors gets the same
    arms, trial by trial.
    """
    adversary, _, setting, checkpoints, seed = match
    assert isinstance(adversary, Adversary)
    horizon, foe, d = int(checkpoints[-1]), adversary.identity(), setting.known().dimension
    lanes = [*trials, *[trials[0]] * (WIDTH - len(trials))]
    seats = [
        _Seats(match, algorithm, lanes)
        if in_lockstep(match, algorithm)
        else [_Seat(match, algorithm, trial, None) for trial in trials]
        for algorithm in match.algorithms
    ]
    block = max(1, min(block, horizon, BYTES_TOGETHER // _arms_bytes(setting)))
    contexts = [stream(seed, "contexts", foe, trial=trial) for trial in lanes]
    arms = adversary.arms_together(setting, contexts, lambda: blocks(horizon, block))
    fill = fill_of(REWARDS[adversary.law()].kind, *(stream(seed, "rewards", foe, trial=trial) for trial in lanes))
    numbers, apart = aligned((block, WIDTH), np.float64), not all(isinstance(seat, _Seats) for seat in seats)
    regrets = np.empty((len(seats), len(trials), len(checkpoints)))
    for rounds in blocks(horizon, block):
        shown, n = next(arms), len(rounds)
        best = largest(np.ascontiguousarray(shown[:, d]))
        fill(numbers[:n])
        inside = slice(*np.searchsorted(checkpoints, (rounds.start, rounds.stop)))
        marks = np.append(checkpoints[inside] - rounds.start + 1, n)
        tables = tables_of(shown, best) if apart else []
        own = np.ascontiguousarray(numbers[:n].T)
        for j, seat in enumerate(seats):
            if isinstance(seat, _Seats):
                regrets[j, :, inside] = seat.play(shown, best, numbers[:n], rounds, marks)[: len(trials), :-1]
            else:
                for i, alone in enumerate(seat):
                    regrets[j, i, inside] = alone.play(tables[i], own[i], rounds, marks)[:-1]
    return regrets
