"""Self-concordant barriers of the decision sets: the regularised leader, and a point of its Dikin ellipsoid.

There is one step each for a ball, a cube and a polytope. It finds x = argmin <ηL, x> + R(x) and a root H = C C' of the
Hessian H of R at x. It fills
- `x` with x + s C^-T e, which has distance 1 from x in the norm of H and is therefore in the set,
- `slope` with N s C e: times the loss of that point, it is an unbiased estimate of the loss vector, as E e e' = I/N.
e is the column `axis` of the identity, and s is 1 or -1. Abernethy, Hazan & Rakhlin 2008 take the root from the
eigenvectors; with any other root the estimate is also unbiased, and has the same dual norm: e' C' H^-1 C e = 1.
"""

from typing import Any

import numpy as np

from privbandits_cli.convex.polytope import Polytope, Rounded
from privbandits_cli.convex.spaces import Cube, Space, Sphere
from privbandits_cli.numerics.jit import Record
from privbandits_cli.numerics.types import Floats

BALL, CUBE, POLYTOPE = 0, 1, 2
NOWHERE = Rounded(*(np.zeros(shape) for shape in (1, (1, 1), (1, 1), (1, 1), 1)))  # for sets with closed forms
CENTRED = 1e-6  # Newton's decrement at which the minimum counts as found
STEPS = 1000
LARGEST = 1e150  # an upper limit on η|L|, so that its square does not overflow
DIVERGED = "SCRiBLe's estimates diverged: eta times the losses is too large"


def parameter(space: Space) -> float:
    """ν: 1 for -ln(1 - |x|^2) on the ball, N for -sum ln(1 - x_i^2) on the cube, the number of rows for a log barrier.

    On the ball g' H^-1 g = 2r^2 / (1 + r^2), which is at most 1.
    """
    match space:
        case Sphere():
            return 1.0
        case Cube():
            return float(space.dimension)
        case Polytope():
            return float(len(space.rounded.b))
    raise TypeError(f"there is no barrier of {space}")


def barrier(space: Space) -> dict[str, Any]:
    """The fields of a state that the steps need; on a polytope, losses are in the round coordinates z."""
    inside = space.rounded if isinstance(space, Polytope) else NOWHERE
    n, m = len(inside.centre), len(inside.b)
    return {
        "kind": {Sphere: BALL, Cube: CUBE, Polytope: POLYTOPE}[type(space)],
        "losses": np.zeros(space.dimension),
        "slope": np.zeros(space.dimension),
        **inside._asdict(),
        "z": np.zeros(n),
        "slack": np.ones(m),
        "step": np.zeros(n),
        "root": np.zeros((n, n)),  # C, lower triangular
    }


def ball(eta: float, losses: Floats, axis: int, sign: float, x: Floats, slope: Floats) -> None:
    """x = -ηL/(1 + q) with q = √(1 + |ηL|²); H is q (q + 1) along x and q + 1 across it.

    With r = |x|, 1 - r² = 2/(1 + q), which avoids cancellation. The directions are the columns of the reflection that
    maps the first axis to ± x/|x|, so that one of them takes O(N) operations.
    """
    n = len(x)
    squares = 0.0
    for i in range(n):
        squares += losses[i] * losses[i]
    length = np.sqrt(squares)
    s = eta * length
    if not s < LARGEST:
        raise ArithmeticError(DIVERGED)
    q = np.sqrt(1.0 + s * s)
    root = np.sqrt(q * (q + 1.0) if axis == 0 else q + 1.0)
    # The reflection is I - v v'/(1 + |u_1|) with u = L/|L|, v = u + sign(u_1) e_1; where L = 0, u = e_1.
    inverse = 1.0 / length if length > 0 else 0.0
    first = losses[0] * inverse if length > 0 else 1.0
    pole = first + (1.0 if first >= 0 else -1.0)
    own = (pole if axis == 0 else losses[axis] * inverse) / (1.0 + abs(first))
    shrink, step, norm = -eta / (1.0 + q), sign / root, 0.0
    for i in range(n):
        direction = (1.0 if i == axis else 0.0) - own * (pole if i == 0 else losses[i] * inverse)
        slope[i] = n * sign * root * direction
        x[i] = shrink * losses[i] + step * direction
        norm += x[i] * x[i]
    if norm > 1.0:  # by rounding
        norm = np.sqrt(norm)
        for i in range(n):
            x[i] /= norm


def cube(eta: float, losses: Floats, axis: int, sign: float, x: Floats, slope: Floats) -> None:
    """The one-dimensional ball in each coordinate: x_i = -ηL_i/(1 + q_i), H_ii = q_i (q_i + 1)."""
    n = len(x)
    for i in range(n):
        s = eta * losses[i]
        if not abs(s) < LARGEST:
            raise ArithmeticError(DIVERGED)
        x[i] = -s / (1.0 + np.sqrt(1.0 + s * s))
    q = np.sqrt(1.0 + (eta * losses[axis]) ** 2)
    root = np.sqrt(q * (q + 1.0))
    x[axis] = min(1.0, max(-1.0, x[axis] + sign / root))
    slope[:] = 0.0
    slope[axis] = n * sign * root


def polytope(state: Record, axis: int, sign: float, x: Floats) -> None:
    """Newton's method in the round coordinates, started at the last z; then x = centre + axes z."""
    centre(state)
    n = len(x)
    root, step = state.root, state.step
    for i in range(n):
        step[i] = sign if i == axis else 0.0
        state.slope[i] = n * sign * root[i, axis]
    back(root, step)
    for i in range(n):
        step[i] += state.z[i]
    place(state, 1.0, x)
    gap = 2.0**-50
    while outside(state, x):  # after rounding: shrink the polytope about its centre
        place(state, 1.0 - gap, x)
        gap *= 4.0


def centre(state: Record) -> None:
    """Newton's method for argmin <ηL, z> - sum ln(1 - rows z); sets z, and `root` to the Cholesky factor of H at z.

    It is damped while the decrement is above 1/4, so that it never leaves the set; then it converges quadratically.
    """
    root, step, z = state.root, state.step, state.z
    for _ in range(STEPS):
        derivatives(state)
        factorise(root)
        decrement = forth(root, step)
        if decrement < CENTRED:
            return
        back(root, step)
        damping = 1.0 / (1.0 + decrement) if decrement > 0.25 else 1.0
        for i in range(len(z)):
            z[i] -= damping * step[i]
    raise ArithmeticError(DIVERGED)


def derivatives(state: Record) -> None:
    """The slacks 1 - rows z, the gradient in `step`, the Hessian's lower triangle in `root`."""
    rows, slack, step, root, z = state.rows, state.slack, state.step, state.root, state.z
    n = len(z)
    for i in range(n):
        step[i] = state.eta * state.losses[i]
        for j in range(i + 1):
            root[i, j] = 0.0
    for k in range(len(slack)):
        left = 1.0
        for i in range(n):
            left -= rows[k, i] * z[i]
        if not left > 0.0:
            raise ArithmeticError(DIVERGED)
        slack[k] = left
        inverse = 1.0 / left
        for i in range(n):
            push = rows[k, i] * inverse
            step[i] += push
            push *= inverse
            for j in range(i + 1):
                root[i, j] += push * rows[k, j]


def factorise(matrix: Floats) -> None:
    """Cholesky's factor C of a positive definite matrix = C C', in its lower triangle, in place."""
    for i in range(len(matrix)):
        for j in range(i + 1):
            left = matrix[i, j]
            for k in range(j):
                left -= matrix[i, k] * matrix[j, k]
            if i > j:
                matrix[i, j] = left / matrix[j, j]
            elif left > 0.0:
                matrix[i, i] = np.sqrt(left)
            else:
                raise ArithmeticError(DIVERGED)


def forth(root: Floats, vector: Floats) -> float:
    """C^-1 vector in place; returns its length."""
    squares = 0.0
    for i in range(len(vector)):
        left = vector[i]
        for j in range(i):
            left -= root[i, j] * vector[j]
        vector[i] = left / root[i, i]
        squares += vector[i] * vector[i]
    length: float = np.sqrt(squares)
    return length


def back(root: Floats, vector: Floats) -> None:
    """C^-T vector in place."""
    for i in range(len(vector) - 1, -1, -1):
        vector[i] /= root[i, i]
        for j in range(i):
            vector[j] -= root[i, j] * vector[i]


def place(state: Record, scale: float, x: Floats) -> None:
    """x = centre + scale axes z, with z in `step`."""
    n = len(x)
    for i in range(n):
        moved = 0.0
        for j in range(n):
            moved += state.axes[i, j] * state.step[j]
        x[i] = state.centre[i] + scale * moved


def outside(state: Record, x: Floats) -> bool:
    """Whether a row is violated in double precision."""
    for k in range(len(state.b)):
        total = 0.0
        for i in range(len(x)):
            total += state.a[k, i] * x[i]
        if total > state.b[k]:
            return True
    return False
