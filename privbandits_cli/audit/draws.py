"""The random numbers of the linear games that an audit plays: whole games, or their first rounds."""

import math
from typing import Any

import numpy as np

from privbandits_cli.audit.target import Target
from privbandits_cli.games import guards
from privbandits_cli.games.drawing import fill_of
from privbandits_cli.games.linear import Draws, Floats, Ints
from privbandits_cli.numerics.jit import PluginError

ROUNDS = 2**16  # of a game, at most
ALIKE = 1e-6  # points at this distance, in units of the set's radius, are the same

Marks = tuple[Ints, Ints, Ints]


def check_view(target: Target[Any], feedback: str, gaussian: bool = False) -> None:
    """Raise PluginError if the view does not fit the algorithm's feedback or its guarantee."""
    view, own = type(target.view).__name__, getattr(target.algorithm, "feedback", None)
    right = "NoisyLoss" if own == "bandit" else "Prefix"
    reasons = {
        f'needs `feedback = "{feedback}"`: return a views.{right}': own != feedback,
        "declares Gaussian noise, but the guarantee has δ = 0, which only Laplace noise has": gaussian
        and target.claim.delta == 0,
        "declares noise, but the guarantee is ε = 0, which no noise has": target.claim.epsilon == 0,
    }
    for reason, wrong in reasons.items():
        if wrong:
            raise PluginError(f"view returned a views.{view}, which {reason}", type(target.algorithm).view)


def marks_of(target: Target[Any], most: int = ROUNDS) -> Marks:
    """By kind, where the numbers of each of the first rounds begin, and where the last round's end, `[rounds + 1]`."""
    rounds = min(most, int(target.setting.horizon))
    asked = guards.asked(target.algorithm, "draws", target.setting, np.arange(1, rounds + 1))
    counts = (asked.get(kind, np.zeros(rounds, np.int64)) for kind in Draws._fields)
    u, v, w = (np.append(0, np.cumsum(count)) for count in counts)
    return u, v, w


def numbers_of(table: Draws, marks: Marks, t: int) -> Draws:
    """The numbers of one round, a part of the table of all rounds."""
    u, v, w = marks
    return Draws(table.uniform[u[t] : u[t + 1]], table.laplace[v[t] : v[t + 1]], table.normal[w[t] : w[t + 1]])


def copied(table: Draws, marks: Marks, t: int) -> Draws:
    """The numbers of one round, in arrays of their own that a step may write into."""
    now = numbers_of(table, marks, t)
    return Draws(now.uniform.copy(), now.laplace.copy(), now.normal.copy())


def drawn(target: Target[Any], marks: Marks, game: str) -> Draws:
    """A table of random numbers; `game` selects which."""
    tables = []
    for kind, mark in zip(Draws._fields, marks, strict=True):
        table = np.empty(int(mark[-1]))
        fill_of(kind, target.stream(f"{kind}, {game}"))(table)
        tables.append(table)
    return Draws(*tables)


def silent(marks: Marks) -> Draws:
    """A table of numbers that make no noise: 0, and 1/2 for uniform ones."""
    uniform, laplace, normal = (np.zeros(int(mark[-1])) for mark in marks)
    return Draws(uniform + 0.5, laplace, normal)


def step_of(ratio: float) -> float:
    """The power of 2 by which a number is moved to measure its effect: about as far as losses move a release.

    ratio: the size of a release in units of the noise. A step of 1 would be lost in the rounding of little noise.
    """
    return float(2.0 ** max(0, math.ceil(math.log2(max(ratio, 1.0)))))


def played(target: Target[Any], marks: Marks) -> str:
    """The numbers of rounds and coordinates that are played, in words."""
    horizon, rounds = int(target.setting.horizon), len(marks[0]) - 1
    first = f"{rounds:,}" if rounds == horizon else f"the first {rounds:,} of {horizon:,}"
    return f"{first} rounds, N = {target.setting.n_arms}"


def assumed(target: Target[Any], marks: Marks, points: Floats | None = None) -> str:
    """The assumptions that are not tested, in words; points: those of a game, if they were compared up to ALIKE."""
    later = ", and later rounds like the first ones" if len(marks[0]) - 1 < target.setting.horizon else ""
    near = f"; points that differ by less than {ALIKE:g} of the radius differ by rounding"
    between = points is not None and bool((points != np.round(points)).any())  # not vertices
    return f"other losses are treated like those that were played{later}{near * between}"
