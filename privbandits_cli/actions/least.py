"""The least ε whose mean regret reaches a target, found by bisection over runs."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from privbandits_cli.actions.privacy import choices, for_a_person, promised
from privbandits_cli.algorithms import uniform
from privbandits_cli.analysis import estimates
from privbandits_cli.analysis.format import amount
from privbandits_cli.experiment.settings import Size, sized
from privbandits_cli.experiment.variants import single
from privbandits_cli.games.match import Match
from privbandits_cli.games.players import Adversary, Algorithm, Setting
from privbandits_cli.plugins.loader import GAMES
from privbandits_cli.plugins.registry import Registry

GRID = np.geomspace(1e2, 1e-3, 11).tolist()  # the ε that are tried first, from the largest on
STEP = 1.05  # bisection ends if two neighbours differ by at most this factor
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Tried:
    """What was measured at an ε; regrets are infinite where the algorithm cannot be that private."""

    epsilon: float
    regret: float  # the mean over trials
    low: float  # of its 95 % interval by Student
    high: float


@dataclass(frozen=True)
class Found:
    """The least ε for a target: infinite if the largest of GRID does not reach it, 0 if all of GRID do.

    low, high: where the ends of the regret's 95 % interval reach the target. tried: from the smallest ε on. guess: the
    mean regret of uniform play in the same games; None where it cannot play. doubts: why the answer says little.
    of_round: if `epsilon` is that of a person in several rounds, what the same parameters promise one round.
    """

    epsilon: float
    low: float
    high: float
    tried: list[Tried]
    guess: float | None = None
    doubts: tuple[str, ...] = ()
    of_round: float | None = None


Measure = Callable[[float], Tried]


def least(target: float, measure: Measure) -> Found:
    """The least ε from which on the mean regret is at most the target: GRID down to the first that misses it, then
    bisection of log ε between the two.

    A learner that is very private may hold on to one arm, and be lucky: so an ε below one that misses does not count.
    """
    known: dict[float, Tried] = {}

    def reached(epsilon: float, end: str) -> bool:
        if epsilon not in known:
            known[epsilon] = measure(epsilon)
        return bool(getattr(known[epsilon], end) <= target)

    def bisected(end: str) -> float:
        above, below = math.inf, 0.0
        for below in GRID:
            if not reached(below, end):
                break
            above = below
        else:
            return 0.0
        if math.isinf(above):
            return above
        while above > below * STEP:
            middle = math.sqrt(below * above)
            below, above = (below, middle) if reached(middle, end) else (middle, above)
        return above

    epsilon, low, high = map(bisected, ("regret", "low", "high"))
    return Found(epsilon, low, high, [known[epsilon] for epsilon in sorted(known)])


def doubts(target: float, found: Found) -> Iterator[str]:
    """Why a least ε says little: it is beyond the ε that are tried, or who learns nothing reaches the target, too."""
    if found.guess is not None and target >= found.guess:
        yield (
            f"uniform play, which learns nothing, has a mean regret of {amount(found.guess)} in these games: the "
            "target needs no learning, so choose a smaller one"
        )
    elif found.epsilon == 0:
        yield (
            f"every ε reaches the target, down to {GRID[-1]:g}, at which next to nothing is learned: choose a smaller "
            "target, or more rounds"
        )
    if math.isinf(found.epsilon):
        least = min(one.regret for one in found.tried)
        yield f"no ε up to {GRID[0]:g} reaches the target: the least mean regret of those tried is {amount(least)}"
    elif found.epsilon > 0 and (found.low == 0 or math.isinf(found.high)):
        yield "an end of the interval is beyond the ε that are tried: take more trials"


def met(player: Algorithm, foe: Adversary, size: Size) -> tuple[Adversary, Setting]:
    """The tuned adversary and the setting in which an algorithm meets it; ValueError if they cannot meet."""
    if player.game != foe.game or foe.game == "best_arm":
        raise ValueError(f"{player.name} and {foe.name} have no game with a regret in common: choose another adversary")
    if player.bounded and not foe.bounded:
        raise ValueError(f"{player.name} needs bounded gains, unlike those of {foe.name}: choose another adversary")
    setting = sized(foe, size.setting(foe))
    for error in foe.errors(setting):
        raise ValueError(f"{foe.name}: {error}")
    foe = foe.tuned(setting)
    return foe, foe.revealed(setting)


def measured(
    choose: Callable[[float], Algorithm | None], foe: Adversary, setting: Setting, trials: int, seed: int
) -> Measure:
    """How to measure the regret of an algorithm at an ε against an adversary that it has `met`.

    choose: its parameters at an ε, None if none are known. All ε have the same games, and the same random numbers of
    the learner.
    """
    rounds = np.array([int(setting.horizon)])

    def measure(epsilon: float) -> Tried:
        algorithm = choose(epsilon)
        if algorithm is None or any(algorithm.errors(setting)):
            return Tried(epsilon, math.inf, math.inf, math.inf)
        match = Match(foe, [algorithm.tuned(setting)], setting, rounds, seed)
        regrets: Any = GAMES[match.game].play(match, range(trials))
        mean = estimates.mean(dict(enumerate(regrets[0, :, -1].tolist())))
        half = mean.error * estimates.quantile(trials - 1, CONFIDENCE)
        return Tried(epsilon, mean.value, mean.value - half, mean.value + half)

    return measure


def search(
    registry: Registry,
    name: str,
    base: str | None,
    delta: float,
    adversary: dict[str, Any],
    size: Size,
    target: float,
    trials: int,
    seed: int,
    rounds_per_person: int = 1,
) -> Found:
    """The least ε of a named algorithm for a target; adversary: its name and its parameters.

    rounds_per_person: ε is that of a person who is in at most so many rounds.
    Raises KeyError for an unknown name or a wrong parameter, ValueError if the two cannot meet.
    """
    if not adversary["name"]:
        raise KeyError("name the adversary with --against")
    foe = single(registry, "adversaries", adversary)
    assert isinstance(foe, Adversary)
    at = partial(choices, registry, name, base, delta=delta, horizon=size.horizon)
    foe, setting = met(at(GRID[0])["certified"], foe, size)
    people = setting._replace(rounds_per_person=min(rounds_per_person, int(setting.horizon)))

    def choose(epsilon: float) -> Algorithm | None:
        several = people.rounds_per_person > 1
        return for_a_person(at, "certified", people, epsilon, delta) if several else at(epsilon)["certified"]

    found = least(target, measured(choose, foe, setting, trials, seed))
    if people != setting and 0 < found.epsilon < math.inf and (best := choose(found.epsilon)) is not None:
        found = replace(found, of_round=promised(best, setting, delta))
    if foe.game == "bandit":
        found = replace(
            found, guess=measured(lambda epsilon: uniform.Parameters(), foe, setting, trials, seed)(0.0).regret
        )
    return replace(found, doubts=tuple(doubts(target, found)))
