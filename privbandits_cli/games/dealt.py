"""Rounds of the game `contextual` for WIDTH trials: in memory, each number is beside that of the next trial."""

from collections.abc import Callable

import numpy as np

from privbandits_cli.numerics.jit import Records, bind, kept, record
from privbandits_cli.numerics.lanes import aligned
from privbandits_cli.numerics.types import Floats
from privbandits_cli.numerics.vectors import WIDTH, widened


def turn(arms: Floats, means: Floats, rounds: Records) -> None:
    """Fill the rounds from `arms[trial, round, d, k]` and `means[trial, round, k]`."""
    for t in range(len(rounds)):
        here = rounds[t]
        for trial in range(WIDTH):
            here.best[trial] = means[trial, t, 0]
        for a in range(means.shape[2]):
            for trial in range(WIDTH):
                here.means[a, trial] = means[trial, t, a]
                here.best[trial] = max(here.best[trial], means[trial, t, a])
        for i in range(arms.shape[2]):
            for a in range(arms.shape[3]):
                for trial in range(WIDTH):
                    here.arms[i, a, trial] = arms[trial, t, i, a]


def turn_back(rounds: Records, arms: Floats, means: Floats, best: Floats) -> None:
    """The reverse; `best[trial, round]` are the largest means."""
    for t in range(len(rounds)):
        here = rounds[t]
        for trial in range(WIDTH):
            best[trial, t] = here.best[trial]
        for a in range(means.shape[2]):
            for trial in range(WIDTH):
                means[trial, t, a] = here.means[a, trial]
        for i in range(arms.shape[2]):
            for a in range(arms.shape[3]):
                for trial in range(WIDTH):
                    arms[trial, t, i, a] = here.arms[i, a, trial]


@kept
def turner(loop: Callable[..., None]) -> Callable[..., None]:
    """The compiled `turn` or `turn_back`."""
    return bind(loop)


def new_rounds(dimension: int, n_arms: int, n: int) -> Records:
    """Empty records of n rounds of WIDTH trials. A record has the arms, their means, and the largest mean."""
    one = record(arms=np.zeros((dimension, n_arms)), means=np.zeros(n_arms), best=0.0)
    return aligned((n,), widened(one.dtype))


def turned(arms: Floats, means: Floats) -> Records:
    """Rounds from `arms[trial, round, d, k]` and their means `[trial, round, k]`."""
    _, n, dimension, n_arms = arms.shape
    rounds = new_rounds(dimension, n_arms, n)
    turner(turn)(arms, means, rounds)
    return rounds


def apart(rounds: Records) -> tuple[Floats, Floats, Floats]:
    """The inverse of `turned`: the arms, their means, and the largest means `[trial, round]`."""
    n, (dimension, n_arms, _) = len(rounds), rounds.dtype["arms"].shape
    arms, means, best = np.empty((WIDTH, n, dimension, n_arms)), np.empty((WIDTH, n, n_arms)), np.empty((WIDTH, n))
    turner(turn_back)(rounds, arms, means, best)
    return arms, means, best
