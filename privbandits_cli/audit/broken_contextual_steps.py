"""Steps of contextual algorithms, each with a plausible error, for the mutants."""

import math

import numpy as np
from numpy.random import Generator

from privbandits_cli.algorithms.dp_linucb import refresh
from privbandits_cli.games.contextual import Floats
from privbandits_cli.games.ellipsoid import multiply, optimistic
from privbandits_cli.mechanisms.matrix_tree import release
from privbandits_cli.mechanisms.tree import trailing_zeros
from privbandits_cli.numerics.jit import Record, unbound

FACTOR = 1.0  # bound when a mutant is compiled
ROOT_2 = math.sqrt(2)

base_choose = base_update = right_update = unbound  # bound when a mutant is compiled


def played(state: Record, arms: Floats) -> int:
    """The arm of a release, given its noise."""
    refresh(state)
    return optimistic(state, arms)


def unsymmetrised(state: Record, arms: Floats, rng: Generator) -> int:
    """One triangle of a square of independent numbers, mirrored: σ on the diagonal in place of √2 σ."""
    level = len(state.noise) - 2 if state.t == 0 else trailing_zeros(state.t)
    release(state, state.t, rng)
    for j in range(level, -1, -1):
        for i in range(len(state.v)):
            node = state.noise[j, i, i] - state.noise[j + 1, i, i]
            state.noise[: j + 1, i, i] += (1.0 / ROOT_2 - 1.0) * node
    return played(state, arms)


def silent_leaves(state: Record, arms: Floats, rng: Generator) -> int:
    """No noise on the nodes of single rounds."""
    release(state, state.t, rng)
    state.noise[0] = state.noise[1]
    return played(state, arms)


def silent_root(state: Record, arms: Floats, rng: Generator) -> int:
    """m - 1 levels: no noise on the top one."""
    release(state, state.t, rng)
    if state.t == 0:
        state.noise[:-1] -= state.noise[-2].copy()
    return played(state, arms)


def bare_vector(state: Record, arms: Floats, rng: Generator) -> int:
    """No noise on the sum of x y."""
    release(state, state.t, rng)
    state.noise[:, :, len(state.v)] = 0.0
    return played(state, arms)


def true_vector(state: Record, arms: Floats, rng: Generator) -> int:
    """θ~ from the true sum of x y, not from the noisy one that is released."""
    release(state, state.t, rng)
    refresh(state)
    state.u[:] = state.gram[:, len(state.v)]
    multiply(state.inverse, state.u, state.theta)
    return optimistic(state, arms)


def true_sums(state: Record, arms: Floats, rng: Generator) -> int:
    """The arm is chosen by the true sums, not by the noisy ones that are released."""
    release(state, state.t, rng)
    noise = state.noise[0].copy()
    state.noise[0] = 0.0
    arm = played(state, arms)
    state.noise[0] = noise
    refresh(state)
    return arm


def redrawn(state: Record, arms: Floats, rng: Generator) -> int:
    """The noise of all nodes is drawn anew for every release."""
    release(state, 0, rng)
    return played(state, arms)


def drawn_once(state: Record, arms: Floats, rng: Generator) -> int:
    """The noise of the first release in all releases."""
    if state.t == 0:
        release(state, 0, rng)
    return played(state, arms)


def drawn(state: Record, rng: Generator, falling: float, turned: bool) -> None:
    """The noise of a release from Bartlett's factors A, whose χ² lose `falling` degrees a row: A A', or A' A."""
    d, level = len(state.v), len(state.noise) - 2 if state.t == 0 else trailing_zeros(state.t)
    a = np.zeros((d + 1, d + 1))
    for node in range(level, -1, -1):
        for i in range(d + 1):
            for j in range(i):
                a[i, j] = rng.standard_normal()
            a[i, i] = np.sqrt(2.0 * rng.standard_gamma(0.5 * (state.k - falling * i)))
        square = a.T @ a if turned else a @ a.T
        state.noise[node] = state.noise[node + 1] + state.scale * square[:d]


def level_degrees(state: Record, arms: Floats, rng: Generator) -> int:
    """Bartlett's χ² with k degrees of freedom in every row."""
    drawn(state, rng, 0.0, False)
    return played(state, arms)


def turned_factor(state: Record, arms: Floats, rng: Generator) -> int:
    """A' A in place of A A'."""
    drawn(state, rng, 1.0, True)
    return played(state, arms)


def noiseless_vector(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """No noise on the report of x y."""
    sums = state.reports[:, len(x)] + x * reward
    right_update(state, x, reward, rng)
    state.reports[:, len(x)] = sums


def one_report(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """The noise of the first report on all reports."""
    first, sums = state.t == 1, state.reports + np.outer(x, np.append(x, reward))
    right_update(state, x, reward, rng)
    if first:
        state.kept[:] = state.reports - sums
    state.reports[:] = sums + state.kept


def answer(state: Record, arms: Floats, rng: Generator) -> int:
    """The base's arm with FACTOR times the probability of randomised response."""
    arm: int = base_choose(state.wrapped, arms, rng)
    if rng.random() < FACTOR * state.followed:
        return arm
    other = int(rng.random() * (arms.shape[1] - 1))
    return other + 1 if other >= arm else other


def any_arm(state: Record, arms: Floats, rng: Generator) -> int:
    """If the base's arm is not followed, any arm is played, including that one."""
    arm: int = base_choose(state.wrapped, arms, rng)
    return arm if rng.random() < state.followed else int(rng.random() * arms.shape[1])
