"""A slow SCRiBLe from the papers: barriers by their definitions, Newton's method with NumPy, whole matrices.

Only what is a choice and no formula is the same: that directions come from a reflection, or from Cholesky's factor in
the coordinates z of a polytope.
"""

import numpy as np

from privbandits_cli.convex.polytope import Polytope
from privbandits_cli.games.drawing import wide_fill_of
from privbandits_cli.games.linear import Cube, Sphere
from privbandits_cli.numerics.streams import stream


def inequalities(a, b):
    """A polytope as a decision set."""
    a = np.asarray(a, float)
    return Polytope(a.shape[1], tuple(map(tuple, a.tolist())), tuple(map(float, b)))


def slab(n, thickness, seed=0):
    """A box that is `thickness` times as thick as it is wide, turned at random."""
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]
    sides = np.append(np.ones(n - 1), thickness)
    return inequalities(np.vstack([turn, -turn]), np.tile(sides, 2))


def value(space, x):
    """R(x)."""
    if isinstance(space, Sphere):
        return -np.log(1 - x @ x)
    if isinstance(space, Cube):
        return -np.sum(np.log(1 - x * x))
    return -np.sum(np.log(np.array(space.b) - np.array(space.a) @ x))


def gradient(space, x):
    """Of R at x."""
    if isinstance(space, Sphere):
        return 2 * x / (1 - x @ x)
    if isinstance(space, Cube):
        return 2 * x / (1 - x * x)
    return (np.array(space.a) / (np.array(space.b) - np.array(space.a) @ x)[:, None]).sum(axis=0)


def hessian(space, x):
    """Of R at x."""
    if isinstance(space, Sphere):
        left = 1 - x @ x
        return 2 * np.eye(len(x)) / left + 4 * np.outer(x, x) / left**2
    if isinstance(space, Cube):
        return np.diag(2 * (1 + x * x) / (1 - x * x) ** 2)
    scaled = np.array(space.a) / (np.array(space.b) - np.array(space.a) @ x)[:, None]
    return scaled.T @ scaled


def leader(space, eta, losses):
    """argmin of eta <losses, x> + R(x), by damped Newton from the middle."""
    x = space.rounded.centre.copy() if isinstance(space, Polytope) else np.zeros(space.dimension)
    for _ in range(500):
        step = np.linalg.solve(hessian(space, x), eta * losses + gradient(space, x))
        decrement = np.sqrt(step @ hessian(space, x) @ step)
        if decrement < 1e-11:
            return x
        x = x - step / (1 + decrement if decrement > 1e-3 else 1)
    raise ArithmeticError(f"the decrement stays at {decrement}")


def root(space, x, losses):
    """C with C C' = the Hessian at x; its columns are the directions."""
    h, n = hessian(space, x), len(x)
    if isinstance(space, Polytope):
        axes = space.rounded.axes
        return np.linalg.inv(axes).T @ np.linalg.cholesky(axes.T @ h @ axes)
    if isinstance(space, Cube):
        return np.sqrt(h)
    u = losses / np.linalg.norm(losses) if losses.any() else np.eye(n)[0]
    v = u + (1 if u[0] >= 0 else -1) * np.eye(n)[0]
    basis = np.eye(n) - 2 * np.outer(v, v) / (v @ v)
    return basis * np.sqrt(np.diag(basis.T @ h @ basis))


def least(space, total):
    """min <total, x>; of a polytope over the corners of a turned box."""
    if isinstance(space, Sphere):
        return -np.linalg.norm(total)
    if isinstance(space, Cube):
        return -np.abs(total).sum()
    n = space.dimension
    return -np.abs(np.array(space.a[:n]) @ total) @ np.array(space.b[:n])


def regrets(game, trial=0):
    """Regret after each round of a match with one algorithm; with `epsilon`, the private one."""
    adversary, (algorithm,), setting, checkpoints, seed = game
    horizon, space, n = int(checkpoints[-1]), setting.space, setting.n_arms
    private = hasattr(algorithm, "epsilon")
    width = {"vector": n, "scalar": 1}[algorithm.noise] if private else 0
    uniform, noise = np.empty(horizon), np.empty(horizon * width)
    for kind, out in (("uniform", uniform), ("laplace", noise)):
        wide_fill_of(kind, stream(seed, kind, algorithm.name, trial=trial))(out)
    eta = (algorithm.base if private else algorithm).eta
    gains = stream(seed, "losses", adversary.name, trial=trial)
    table = np.concatenate(list(adversary.losses(setting, gains, [range(1, horizon + 1)])))
    estimates, suffered, out = np.zeros(n), 0.0, []
    for t, losses in enumerate(table):
        x = leader(space, eta, estimates)
        c = root(space, x, estimates)
        axis, sign = divmod(int(2 * n * uniform[t]), 2)[0], 1 - 2 * (int(2 * n * uniform[t]) % 2)
        play = x + sign * np.linalg.inv(c).T[:, axis]
        suffered += losses @ play
        seen = losses @ play
        if private:
            z = algorithm.scale(setting) * noise[t * width : (t + 1) * width]
            seen += z @ play if algorithm.noise == "vector" else z[0]
        estimates = estimates + n * seen * sign * c[:, axis]
        out.append(suffered - least(space, table[: t + 1].sum(axis=0)))
    return np.array(out)
