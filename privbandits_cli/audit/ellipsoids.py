"""What the audits of contextual learners share: whether one plays by the V and u~ that are released, and no more."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.audit.target import Steps, Target
from privbandits_cli.games.contextual import Floats
from privbandits_cli.games.ellipsoid import optimistic
from privbandits_cli.games.views import Ellipsoid
from privbandits_cli.numerics.jit import bind, unbound

shift: Any = unbound  # these are bound when a loop is compiled
inverse: Any = unbound
theta: Any = unbound
indefinite: Any = unbound

ROUNDING = 1e-7  # of V^-1 V


def bound(target: Target[Ellipsoid]) -> Steps:
    """What loops over this view call: the optimistic rule, and the readers of the view's places."""
    view, layout = target.view, str(target.state.dtype.descr)
    places = {"shift": view.shift, "inverse": view.inverse, "theta": view.theta, "indefinite": view.indefinite}
    return {"optimistic": _rule(layout)} | {name: target.at(place) for name, place in places.items()}


@cache
def _rule(layout: str) -> Callable[..., Any]:
    return bind(optimistic, "audit", layout)  # compiled on its own: not anew for each loop that calls it


def strays(inverse: Floats, theta: Floats, v: Floats, u: Floats) -> bool:
    """Whether V^-1 and θ~ are not those of this V and u~."""
    size = np.abs(u).sum() + np.abs(v).max() * np.abs(theta).sum()
    for i in range(len(u)):
        along = -u[i]
        for j in range(len(u)):
            along += v[i, j] * theta[j]
            one = -1.0 if i == j else 0.0
            for k in range(len(u)):
                one += v[i, k] * inverse[k, j]
            if not abs(one) < ROUNDING:
                return True
        if not abs(along) <= ROUNDING * size:
            return True
    return False


def lower(d: int) -> NDArray[np.bool_]:
    """Which of the numbers `[d, d + 1]` are free: the lower triangle of a symmetric matrix, and the last column."""
    free: NDArray[np.bool_] = np.tril(np.ones((d, d + 1), bool)) | (np.arange(d + 1) == d)
    return free
