"""Whether a linear learner uses more of a loss than what it releases of it."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from privbandits_cli.games.linear import Floats


class Seen(NamedTuple):
    """Of a round: what is released of its loss, and the points that may be played next, one after another."""

    released: Floats
    points: Floats


def sees_more(play: Callable[[int, Floats], Seen], count: int) -> bool:
    """Whether two losses that are released as one lead to different points, `play(end, numbers)` being the round.

    count: how many random numbers the round's noise takes. It is found by trying how what is released follows each of
    them, which numbers make the other end's release the same. Where none do there is no noise, which counts will tell.
    """
    numbers = np.random.default_rng(0).standard_normal(count)
    first, other = play(0, numbers), play(1, numbers)
    response = np.stack([play(1, numbers + step).released - other.released for step in np.eye(count)], axis=1)
    shift, *_ = np.linalg.lstsq(response, first.released - other.released)
    twin = play(1, numbers + shift)
    same = np.allclose(twin.released, first.released, rtol=1e-9, atol=1e-9)
    return same and not np.allclose(twin.points, first.points, rtol=1e-8, atol=1e-8)
