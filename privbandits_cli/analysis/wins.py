"""Results folders -> win rates: in how many games an algorithm loses less than another one, each at its best.

A game is an adversary of a folder, for example a table with classes. In each game and at each ε an algorithm is
represented by those parameters whose mean final regret is the least: the best of the grid that was played. They are
chosen by the trials that are reported, and the choice is not private, so that the regrets are smaller than those of
parameters that are chosen beforehand. a beats b in a game if its regret is smaller by more than rounding; a tie is half
a win. This is the protocol of the repository private-contextual-bandits of alex-rbch (2026).

The interval of a rate is a bootstrap over trials: 2,000 times the trials of each game are drawn again, the same ones
for all algorithms, and the best parameters are chosen anew. So it says what chance does in these games, and nothing of
other games. It rests on the trials that were played: `open` counts the games that one further trial could turn.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from privbandits_cli.analysis import measured
from privbandits_cli.analysis.estimates import mean, two
from privbandits_cli.analysis.measured import Measured
from privbandits_cli.numerics.streams import stream
from privbandits_cli.numerics.types import Floats

DRAWS = 2000
TIE = 1e-12
ENDS = (0.025, 0.975)


@dataclass(frozen=True)
class Best:
    """An algorithm at its best in a game."""

    game: str
    epsilon: float  # infinite without privacy
    algorithm: str  # its label
    regret: float  # the least mean final regret of its curves
    curves: int  # of which the best was chosen
    chosen: str  # the curve with that regret
    trials: int
    regrets: Mapping[int, float]  # of that curve, by trial
    drawn: Floats  # the least mean regret of each bootstrap sample, [draws]


@dataclass(frozen=True)
class Rate:
    """How often an algorithm beats an opponent."""

    epsilon: float
    algorithm: str
    opponent: str
    games: int  # that both have played
    rate: float  # wins and half of the ties, as a part of the games
    low: float
    high: float
    open: int  # games whose winner one further trial, twice as far from the mean as any so far, could change


def best_of(folders: Sequence[Path]) -> list[Best]:
    """Every algorithm at its best in every game, the largest ε first.

    FileNotFoundError or ValueError if a folder has no results, a curve has not played the trials of the others, or two
    folders have the same game.
    """
    found = [best for folder in folders for best in _in_folder(folder)]
    places = [(best.game, best.epsilon, best.algorithm) for best in found]
    twice = next((place for place in places if places.count(place) > 1), None)
    if twice:
        raise ValueError(f"{twice[0]} is in two folders: a game counts once")
    return sorted(found, key=lambda best: -best.epsilon)


def _in_folder(folder: Path) -> Iterator[Best]:
    groups: dict[tuple[str, float, str], list[Measured]] = {}
    every = measured.read(folder).values()
    several = len({curve.game for curve in every}) > 1
    for curve in every:
        epsilon = curve.parameters["algorithm"].get("epsilon")
        game = folder.resolve().name + (f": {curve.parameters['adversary'].get('label') or curve.adversary}" * several)
        groups.setdefault((game, math.inf if epsilon is None else epsilon, curve.family), []).append(curve)
    for (game, epsilon, name), curves in groups.items():
        trials = curves[0].finals.keys()
        other = next((curve for curve in every if curve.finals.keys() != trials), None if trials else curves[0])
        if other:
            raise ValueError(f"{folder}: {other.title} has not played the trials of the others: run it again")
        if len({curve.game for curve in curves}) > 1:
            raise ValueError(
                f"{folder}: {game} is the name of several games: give each adversary a label, and a "
                "horizon or dimension one value"
            )
        regrets = np.array([[curve.finals[trial] for trial in trials] for curve in curves])  # [curves, trials]
        means = regrets.mean(axis=1)
        chosen = curves[int(means.argmin())]
        shares = _shares(len(trials), game)
        drawn = np.array([(own[:, None] * shares).sum(axis=0) for own in regrets]).min(axis=0)
        yield Best(
            game, epsilon, name, float(means.min()), len(curves), _named(chosen), len(trials), chosen.finals, drawn
        )


def _named(curve: Measured) -> str:
    """The swept parameters of a curve, but for ε."""
    return ", ".join(f"{name} = {value}" for name, value in curve.swept.items() if name != "epsilon")


def _shares(n: int, game: str) -> Floats:
    """How often each of n trials is in each bootstrap sample, as a part of n, `[n, draws]`."""
    counts = stream(0, "wins", game, trial=0).multinomial(n, np.full(n, 1 / n), DRAWS)
    return counts.T / n


def rates(every: Sequence[Best]) -> list[Rate]:
    """The rate of each ordered pair at each ε, of the games that both have played at that ε."""
    out = []
    for epsilon in dict.fromkeys(best.epsilon for best in every):
        level = [best for best in every if best.epsilon == epsilon]
        names = dict.fromkeys(best.algorithm for best in level)
        games = {name: {best.game: best for best in level if best.algorithm == name} for name in names}
        for a in names:
            for b in (name for name in names if name != a):
                both = [(games[a][game], games[b][game]) for game in games[a] if game in games[b]]
                if both:
                    rate = float(np.mean([_won(one.regret, other.regret) for one, other in both]))
                    drawn = np.mean([_won(one.drawn, other.drawn) for one, other in both], axis=0)
                    low, high = np.quantile(drawn, ENDS, method="nearest")
                    unsure = sum(_open(one, other) for one, other in both)
                    out.append(Rate(epsilon, a, b, len(both), rate, float(low), float(high), unsure))
    return out


def _open(one: Best, other: Best) -> bool:
    """Whether one further trial of the chosen curves could change who has less regret."""
    pair = two(*(mean(best.game, best.regrets) for best in (one, other)))
    won = _won(pair.a.value, pair.b.value)
    return any(_won(further.value, 0.0) != won for further in pair.further(1.0))


def _won(one: Floats | float, other: Floats | float) -> Floats:
    """1 where one is smaller, ½ where they are equal, else 0."""
    difference, room = np.subtract(one, other), TIE * np.maximum(1.0, np.abs(other))
    return np.where(difference < -room, 1.0, np.where(difference > room, 0.0, 0.5))
