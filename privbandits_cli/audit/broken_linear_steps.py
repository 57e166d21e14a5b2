"""Steps of linear algorithms, each with a plausible error, for the mutants."""

from typing import Any

import numpy as np

from privbandits_cli.algorithms.dp_ftrl import release
from privbandits_cli.games.linear import Draws, Floats
from privbandits_cli.numerics.jit import Record, unbound

base_choose = base_update = right_update = unbound  # bound when a mutant is compiled


def released_prefix(state: Record) -> None:
    """The prefix with the noise of its nodes, without top-up."""
    state.wrapped.losses[:] = state.prefix + state.noise[0]


def no_top_up(state: Record, x: Floats, rng: Draws) -> None:
    """No top-up noise: a prefix has the noise of its own nodes only."""
    released_prefix(state)
    base_choose(state.wrapped, x, rng)


def one_top_up(state: Record, x: Floats, rng: Draws) -> None:
    """Top-up noise in the first round only."""
    if state.t == 0:
        release(state, x, rng)
    else:
        released_prefix(state)
    base_choose(state.wrapped, x, rng)


def true_prefix(state: Record, x: Floats, rng: Draws) -> None:
    """The leader of the true prefix, not of the noisy one that is released."""
    release(state, x, rng)
    noisy = state.wrapped.losses.copy()
    state.wrapped.losses[:] = state.prefix
    base_choose(state.wrapped, x, rng)
    state.wrapped.losses[:] = noisy


def redrawn(state: Record, x: Floats, rng: Draws) -> None:
    """Fresh noise of the right deviation for every prefix, in place of that of its nodes."""
    deviation = state.scale * np.sqrt(float(state.levels))
    state.wrapped.losses[:] = state.prefix + deviation * rng.normal[len(rng.normal) - len(x) :]
    base_choose(state.wrapped, x, rng)


def silent_level(state: Record, losses: Floats, rng: Draws) -> None:
    """The nodes of the second level have no noise."""
    if state.t % 4 == 1:
        rng.laplace[len(rng.laplace) - len(losses) :] = 0.0
    right_update(state, losses, rng)


def one_noise(state: Record, losses: Floats, rng: Draws) -> None:
    """The noise of the first round in every round."""
    if not state.kept.any():
        state.kept[:] = state.scale * rng.laplace
    state.noisy[:] = losses + state.kept
    base_update(state.wrapped, state.noisy, rng)


def one_number(state: Record, x: Floats, loss: float, rng: Draws) -> float:
    """Noise that does not depend on the point: one number with the scale of the vector's."""
    return float(loss + state.scale * rng.laplace[0])


def one_coordinate(state: Record, x: Floats, loss: float, rng: Draws) -> float:
    """Noise on the first coordinate of the loss only."""
    return float(loss + state.scale * rng.laplace[0] * x[0])


def kept_number(state: Record, x: Floats, loss: float, rng: Draws) -> float:
    """The noise of the first round in every round."""
    if state.kept[0] == 0.0:
        state.kept[0] = state.scale * rng.laplace[0]
    return float(loss + state.kept[0])


def true_loss(state: Record, *played: Any) -> None:
    """The base is fed the loss itself, not the noisy loss that is released."""
    base_update(state.wrapped, *played)
