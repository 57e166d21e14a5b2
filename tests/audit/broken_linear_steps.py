"""Steps of linear algorithms, each with a plausible error, for the mutants."""

from typing import Any

import numpy as np

from privbandits_cli.games.linear import Draws, Floats
from privbandits_cli.mechanisms.tree import trailing_zeros, trailing_zeros_in
from privbandits_cli.numerics.jit import Record, unbound

base_choose: Any = unbound  # these are bound when a mutant is compiled
base_update: Any = unbound
right_choose: Any = unbound
counter_release: Any = unbound
right_update: Any = unbound
right_released: Any = unbound
released: Any = unbound
FACTOR = 1.0

EARLY, LATE = 1_000, 40_000  # rounds


def released_prefix(state: Record) -> None:
    """The prefix with the noise of its nodes, without top-up."""
    state.wrapped.losses[:] = state.prefix + state.counter.noise[0]


def no_top_up(state: Record, x: Floats, rng: Draws) -> None:
    """No top-up noise: a prefix has the noise of its own nodes only."""
    released_prefix(state)
    base_choose(state.wrapped, x, rng)


def one_top_up(state: Record, x: Floats, rng: Draws) -> None:
    """Top-up noise in the first round only."""
    if state.t == 0:
        state.wrapped.losses[:] = state.prefix
        counter_release(state.counter, state.wrapped.losses, rng)
    else:
        released_prefix(state)
    base_choose(state.wrapped, x, rng)


def true_prefix(state: Record, x: Floats, rng: Draws) -> None:
    """The leader of the true prefix, not of the noisy one that is released."""
    state.wrapped.losses[:] = state.prefix
    counter_release(state.counter, state.wrapped.losses, rng)
    noisy = state.wrapped.losses.copy()
    state.wrapped.losses[:] = state.prefix
    base_choose(state.wrapped, x, rng)
    state.wrapped.losses[:] = noisy


def redrawn(state: Record, x: Floats, rng: Draws) -> None:
    """Fresh noise of the right deviation for every prefix, in place of that of its nodes."""
    deviation = state.counter.scale * np.sqrt(float(len(state.counter.shared)))
    state.wrapped.losses[:] = state.prefix + deviation * rng.normal[len(rng.normal) - len(x) :]
    base_choose(state.wrapped, x, rng)


def hinted(state: Record, x: Floats, rng: Draws) -> None:
    """In every thousandth round the leader of the true prefix of the round before, kept in a field of its own."""
    state.wrapped.losses[:] = state.prefix
    counter_release(state.counter, state.wrapped.losses, rng)
    base_choose(state.wrapped, x, rng)
    if state.t % 1000 == 999:
        x[:] = 0.0
        x[np.argmin(state.kept)] = 1.0
    state.kept[:] = state.prefix


def late_leader(state: Record, x: Floats, rng: Draws) -> None:
    """The leader of the true prefix after round LATE."""
    state.wrapped.losses[:] = state.prefix
    counter_release(state.counter, state.wrapped.losses, rng)
    noisy = state.wrapped.losses.copy()
    if state.t >= LATE:
        state.wrapped.losses[:] = state.prefix
    base_choose(state.wrapped, x, rng)
    state.wrapped.losses[:] = noisy


def scaled(rng: Draws, factor: float) -> Draws:
    """The same random numbers, with noise of another scale."""
    return Draws(rng.uniform, factor * rng.laplace, factor * rng.normal)


def quarter(state: Record, losses: Floats, rng: Draws) -> None:
    """The nodes from level FACTOR up have a quarter of their noise."""
    above = (state.t + 1) % 2 ** int(FACTOR) == 0
    right_update(state, losses, scaled(rng, 0.25 if above else 1.0))


def fading(state: Record, losses: Floats, rng: Draws) -> None:
    """No noise after round EARLY; `kept` counts the rounds."""
    state.kept[0] += 1
    right_update(state, losses, scaled(rng, 1.0 if state.kept[0] <= EARLY else 0.0))


def by_loss(state: Record, losses: Floats, rng: Draws) -> None:
    """Noise in proportion to the largest coordinate of the loss."""
    right_update(state, losses, scaled(rng, np.abs(losses).max()))


def levels_for_scale(state: Record, losses: Floats, rng: Draws) -> None:
    """The number of levels is read where the scale should be."""
    right_update(state, losses, scaled(rng, state.counter.levels / state.counter.scale))


def eta_for_scale(state: Record, losses: Floats, rng: Draws) -> None:
    """The learning rate is read where the scale should be."""
    right_update(state, losses, scaled(rng, state.wrapped.eta / state.scale))


def restarted(state: Record, losses: Floats, rng: Draws) -> None:
    """The noise of all nodes is dropped after round EARLY, the prefix is not."""
    if state.t == EARLY:
        state.counter.noise[:] = 0.0
    right_update(state, losses, rng)


def no_sum(state: Record, losses: Floats, rng: Draws) -> None:
    """Use x_t alone as the noise of a prefix of a BLT, instead of the sum of x_1, ..., x_t."""
    state.counter.noise[:] = 0.0
    right_update(state, losses, rng)


def other_factor(state: Record, losses: Floats, rng: Draws) -> None:
    """Use (C z)_t instead of (B z)_t as the noise of a prefix of a BLT."""
    fresh = state.counter.scale * rng.normal
    state.counter.noise[0] = fresh
    for j in range(len(state.counter.rates)):
        state.counter.noise[0] += state.counter.weights[j] * state.counter.buffers[j]
        state.counter.buffers[j] += fresh - state.counter.rates[j] * state.counter.buffers[j]
    state.prefix += losses
    state.t += 1


def redrawn_sum(state: Record, x: Floats, rng: Draws) -> None:
    """Fresh noise for every prefix, in place of that of its counter."""
    numbers = rng.normal if len(rng.normal) > 0 else rng.laplace
    state.wrapped.losses[:] = state.prefix + state.counter.scale * numbers[len(numbers) - len(x) :]
    base_choose(state.wrapped, x, rng)


def last_siblings(state: Record, losses: Floats, rng: Draws) -> None:
    """Of the nodes of a prefix of a k-ary tree that have the same parent, only the last one has noise."""
    counter = state.counter
    level = trailing_zeros_in(counter.items + 1, counter.k)
    for i in range(len(losses)):
        counter.noise[level, i] = counter.noise[level + 1, i] if level + 1 < len(counter.noise) else 0.0
    right_update(state, losses, rng)


def one_for_two(state: Record, losses: Floats, rng: Draws) -> None:
    """Two nodes in a row have the same Laplace noise."""
    if state.t % 2 == 0:
        state.kept[:] = rng.laplace
    right_update(state, losses, Draws(rng.uniform, state.kept.copy(), rng.normal))


def forgetful(state: Record, losses: Floats, rng: Draws) -> None:
    """The noise of all nodes is dropped in every 16th round, the prefix is not."""
    if state.t % 16 == 8:
        state.counter.noise[:] = 0.0
    right_update(state, losses, rng)


def mirrored(state: Record, losses: Floats, rng: Draws) -> None:
    """Nodes to the left and to the right of the middle of their parent have the same noise."""
    k, n, own = state.counter.sums.shape[1] - 1, len(losses), rng.laplace.copy()
    for first in range(0, len(own), k * n):
        for child in range(k // 2):
            for i in range(n):
                own[first + (k - 1 - child) * n + i] = own[first + child * n + i]
    right_update(state, losses, Draws(rng.uniform, own, rng.normal))


def no_left_half(state: Record, losses: Floats, rng: Draws) -> None:
    """The estimate of a node leaves out that of its left half."""
    state.counter.left[:] = 0.0
    right_update(state, losses, rng)


def not_estimated(state: Record, losses: Floats, rng: Draws) -> None:
    """The noise of a node has the variance of its estimate, but does not contain that of the nodes below."""
    counter, n = state.counter, len(losses)
    level, own = trailing_zeros(counter.items + 1), np.zeros(len(rng.normal))
    for i in range(n):
        own[level * n + i] = rng.normal[level * n + i] / np.sqrt(counter.weights[level])
    counter.left[:] = 0.0
    right_update(state, losses, Draws(rng.uniform, rng.laplace, own))


def last_number(state: Record, losses: Floats, rng: Draws) -> None:
    """Use z_t alone as the noise of a prefix of the square root, instead of the sum of c_s z_(t-s)."""
    state.counter.numbers[:] = 0.0
    right_update(state, losses, rng)


def used_twice(state: Record, x: Floats, rng: Draws) -> None:
    """In every thousandth round, play the point that is best for the noise of the coming loss."""
    state.wrapped.losses[:] = state.prefix
    counter_release(state.counter, state.wrapped.losses, rng)
    base_choose(state.wrapped, x, rng)
    if state.t % 1000 == 999:
        x[:] = 0.0
        x[np.argmin(rng.normal)] = 1.0


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


def fading_loss(state: Record, x: Floats, loss: float, rng: Draws) -> float:
    """No noise after round EARLY; `kept` counts the rounds."""
    state.kept[0] += 1
    return float(right_released(state, x, loss, scaled(rng, 1.0 if state.kept[0] <= EARLY else 0.0)))


def loss_by_loss(state: Record, x: Floats, loss: float, rng: Draws) -> float:
    """Noise in proportion to the loss."""
    return float(right_released(state, x, loss, scaled(rng, abs(loss))))


def eta_for_loss_scale(state: Record, x: Floats, loss: float, rng: Draws) -> float:
    """The learning rate is read where the scale should be."""
    return float(right_released(state, x, loss, scaled(rng, state.wrapped.eta / state.scale)))


def late_true_loss(state: Record, x: Floats, loss: float, rng: Draws) -> None:
    """The base is fed the loss itself after round LATE; `kept` counts the rounds."""
    state.kept[0] += 1
    base_update(state.wrapped, x, released(state, x, loss, rng) if state.kept[0] <= LATE else loss, rng)


def leaking(state: Record, x: Floats, loss: float, rng: Draws) -> None:
    """A thousandth of the loss itself joins the noisy loss."""
    base_update(state.wrapped, x, released(state, x, loss, rng) + 0.001 * loss, rng)


def leader_drawn_once(state: Record, x: Floats, rng: Draws) -> None:
    """The noise of the first epoch in all epochs."""
    if state.t == 1:
        state.kept[:] = rng.laplace
    right_choose(state, x, Draws(rng.uniform, state.kept.copy(), rng.normal))


def leader_drawn_for_two(state: Record, x: Floats, rng: Draws) -> None:
    """The noise of an epoch is used again in the next one."""
    begins = state.t & (state.t - 1) == 0
    again = begins and state.kept[0] != 0.0
    right_choose(state, x, Draws(rng.uniform, state.kept.copy() if again else rng.laplace, rng.normal))
    if again:
        state.kept[:] = 0.0
    elif begins:
        state.kept[:] = rng.laplace


def leader_of_one_number(state: Record, x: Floats, rng: Draws) -> None:
    """One number for all experts."""
    first = rng.laplace.copy()
    if len(first) > 0:
        first[:] = first[0]
    right_choose(state, x, Draws(rng.uniform, first, rng.normal))


def leader_late_silence(state: Record, x: Floats, rng: Draws) -> None:
    """No noise after round EARLY."""
    right_choose(state, x, Draws(rng.uniform, (0.0 if state.t > EARLY else 1.0) * rng.laplace, rng.normal))


def leader_by_losses(state: Record, x: Floats, rng: Draws) -> None:
    """Half of the noise if the first expert has lost in most rounds."""
    share = 0.5 if 4 * state.losses[0] > state.t else 1.0
    right_choose(state, x, Draws(rng.uniform, share * rng.laplace, rng.normal))


def unforgotten_epochs(state: Record, x: Floats, rng: Draws) -> None:
    """The losses of earlier epochs stay in the sums, so that each is in many choices."""
    before = state.losses.copy()
    right_choose(state, x, rng)
    state.losses[:] = before


def leader_left(state: Record, x: Floats, rng: Draws) -> None:
    """A leader that loses much is left before its epoch ends."""
    right_choose(state, x, rng)
    if state.losses[state.expert] > 20.0 + state.losses.min():
        x[:] = 0.0
        x[np.argmin(state.losses)] = 1.0


def true_leader_of_epoch(state: Record, x: Floats, rng: Draws) -> None:
    """The leader of one epoch is that without noise."""
    if state.t == 2048:
        state.expert = np.argmin(state.losses)
        state.losses[:] = 0.0
        x[:] = 0.0
        x[state.expert] = 1.0
    else:
        right_choose(state, x, rng)


def noise_of_gumbel(state: Record, x: Floats, rng: Draws, base: float, sign: float) -> None:
    """Gumbel noise with a logarithm to this base, and with this sign."""
    if state.t & (state.t - 1) == 0:
        for i in range(len(x)):
            noise = np.log(-np.log(rng.uniform[i]) / np.log(base)) / np.log(base)
            state.losses[i] += sign * state.scale * noise
        state.expert = np.argmin(state.losses)
        state.losses[:] = 0.0
    x[:] = 0.0
    x[state.expert] = 1.0


def gumbel_of_other_base(state: Record, x: Floats, rng: Draws) -> None:
    """Gumbel noise with logarithms to the base 10."""
    noise_of_gumbel(state, x, rng, 10.0, 1.0)


def gumbel_of_other_sign(state: Record, x: Floats, rng: Draws) -> None:
    """Gumbel noise for the largest sum, where the least is chosen."""
    noise_of_gumbel(state, x, rng, np.e, -1.0)


def gumbel_drawn_once(state: Record, x: Floats, rng: Draws) -> None:
    """The noise of the first epoch in all epochs, for uniform numbers."""
    if state.t == 1:
        state.kept[:] = rng.uniform
    right_choose(state, x, Draws(state.kept.copy(), rng.laplace, rng.normal))


def gumbel_of_one_number(state: Record, x: Floats, rng: Draws) -> None:
    """One number for all experts, for uniform numbers."""
    first = rng.uniform.copy()
    if len(first) > 0:
        first[:] = first[0]
    right_choose(state, x, Draws(first, rng.laplace, rng.normal))
