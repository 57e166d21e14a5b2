"""Test whether a linear learner uses more of a loss than it releases."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from privbandits_cli.games.linear import Floats


class Round(NamedTuple):
    """The release of a round's loss, and the points that may be played next, in order."""

    released: Floats
    points: Floats


def bypassed(play: Callable[[int, Floats], Round], count: int) -> bool:
    """Whether two losses with the same release lead to different points; `play(end, numbers)` plays the round.

    count: how many random numbers the round's noise takes. The release is affine in them, so its response to each
    number shows which numbers make the other end's release the same. If none do, there is no noise, and the counts
    will show it.
    """
    numbers = np.random.default_rng(0).standard_normal(count)
    first, other = play(0, numbers), play(1, numbers)
    response = np.stack([play(1, numbers + step).released - other.released for step in np.eye(count)], axis=1)
    shift, *_ = np.linalg.lstsq(response, first.released - other.released)
    twin = play(1, numbers + shift)
    same = np.allclose(twin.released, first.released, rtol=1e-9, atol=1e-9)
    return same and not np.allclose(twin.points, first.points, rtol=1e-8, atol=1e-8)
