"""The rounds of `contextual` for several trials, in tables `[round, d + 1, k, trial]`: the arms, then their means."""

from collections.abc import Callable

import numpy as np

from privbandits_cli.games.drawing import side_by_side
from privbandits_cli.numerics.arrays import aligned
from privbandits_cli.numerics.jit import bind, kept
from privbandits_cli.numerics.types import Floats


def dealt(arms: Floats, means: Floats) -> Floats:
    """The rounds of trials with these `arms[trial, round, d, k]` and their means `[trial, round, k]`."""
    n, rounds, d, k = arms.shape
    out: Floats = aligned((rounds, d + 1, k, n), np.float64)
    side_by_side(np.concatenate([arms, means[:, :, None]], axis=2).reshape(n, -1), out.reshape(-1, n))
    return out


def apart(dealt: Floats) -> tuple[Floats, Floats]:
    """The reverse."""
    rows = np.moveaxis(dealt, -1, 0)
    return np.ascontiguousarray(rows[:, :, :-1]), np.ascontiguousarray(rows[:, :, -1])


def largest(means: Floats) -> Floats:
    """The largest of `means[round, k, trial]` in each round, `[round, trial]`."""
    best: Floats = aligned((len(means), means.shape[2]), np.float64)
    finder()(means, best)
    return best


def find_largest(means: Floats, best: Floats) -> None:
    """Fill `best`; on rows this short NumPy takes eight times as long."""
    for t in range(len(means)):
        for trial in range(means.shape[2]):
            best[t, trial] = means[t, 0, trial]
        for a in range(1, means.shape[1]):
            for trial in range(means.shape[2]):
                best[t, trial] = max(best[t, trial], means[t, a, trial])


@kept
def finder() -> Callable[..., None]:
    """The compiled `find_largest`."""
    return bind(find_largest)
