"""Steps of bandit algorithms, each with a plausible error, for the mutants."""

import math

import numpy as np

from privbandits_cli.algorithms.dp_robust_se import noise as mean_noise
from privbandits_cli.algorithms.exp3 import restart
from privbandits_cli.algorithms.robust_se import begin, cut, pulled
from privbandits_cli.games.bandit import Draws, Numbers
from privbandits_cli.mechanisms.arm_trees import level_closed
from privbandits_cli.numerics.jit import Record, unbound

base_update = right_choose = right_update = right_released = unbound  # bound when a mutant is compiled
FACTOR = 1.0  # bound when a mutant is compiled
LATE = 1000  # rounds after which some errors begin


def twice_the_gain(state: Record, gain: float, rng: Draws) -> float:
    """The noise for half the sensitivity: gains have range 2, the noise is that for range 1."""
    return float(2.0 * gain - 0.5 + state.scale * rng.laplace)


def one_noise(state: Record, gain: float, rng: Draws) -> float:
    """The noise of the first round in all rounds."""
    if state.kept == 0.0:
        state.kept = state.scale * rng.laplace
    return float(gain + state.kept)


def noise_for_two(state: Record, gain: float, rng: Draws) -> float:
    """Each noise is used in two rounds."""
    noise = state.kept
    if noise != 0.0:
        state.kept = 0.0
    else:
        noise = state.kept = state.scale * rng.laplace
    return float(gain + noise)


def true_gain(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The base is fed the gain itself; the noise only decides whether it is accepted."""
    noisy = gain + state.scale * rng.laplace
    if -state.b <= noisy <= state.b + 1.0:
        base_update(state.wrapped, arm, (gain + state.b) / (2.0 * state.b + 1.0), rng)


def true_gain_kept(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The base is fed the gain itself, not the noisy gain that is released."""
    base_update(state.wrapped, arm, gain, rng)


def doubled_rate(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """EXP3 with twice the learning rate."""
    p = (1.0 - state.gamma) * state.weights[arm] / state.sums[1] + state.rate
    state.gains[arm] += 2.0 * state.rate * gain / p
    restart(state, state.gains.max())


def no_floor(state: Record, rng: Draws) -> int:
    """EXP3 without exploration."""
    return int(np.sum(rng.uniform * state.sums[1] >= np.cumsum(state.weights[:-1])))


def losses(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """EXP3 with losses in place of gains: the difference of two tables is amplified, not contracted."""
    p = (1.0 - state.gamma) * state.weights[arm] / state.sums[1] + state.rate
    state.gains[arm] -= state.rate * (1.0 - gain) / p
    restart(state, state.gains.max())


def sum_of_block(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """Mini-batches whose base is fed the sum of a block, not the mean."""
    state.gain += gain
    state.played += 1
    if state.played == state.tau:
        base_update(state.wrapped, arm, state.gain, rng)
        state.gain = 0.0
        state.played = 0


def scaled_release(state: Record, gain: float, rng: Draws) -> float:
    """The release of a block with noise of FACTOR times the scale."""
    return float(right_released(state, gain, Draws(rng.uniform, FACTOR * rng.laplace)))


def sum_released(state: Record, gain: float, rng: Draws) -> float:
    """The sum of a block with the noise for its mean."""
    return float(right_released(state, (state.gain + gain) * state.tau - state.gain, rng))


def first_noise(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The noise of the first round in every block."""
    if state.kept == 0.0:
        state.kept = rng.laplace
    right_update(state, arm, gain, Draws(rng.uniform, state.kept))


def scaled(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The right step with noise of FACTOR times the scale."""
    right_update(state, arm, gain, Draws(rng.uniform, FACTOR * rng.laplace))


def sum_for_mean(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The sum of an epoch, not divided by R, with the noise for the mean."""
    if state.left > 1 and pulled(state, arm, state.cycles * cut(state, gain), mean_noise(state, rng)):
        begin(state)


def uncut(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """Gains that are not truncated, with the noise for truncated ones."""
    if state.left > 1 and pulled(state, arm, gain, mean_noise(state, rng)):
        begin(state)


def redrawn(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """Fresh noise for every released sum, in place of that of its nodes."""
    state.noise[:] = 0.0
    right_update(state, arm, gain, rng)


def not_replaced(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """Later sums have the noise of the node before in place of that of the closed node."""
    level = level_closed(state.codes[arm], state.k)
    before = state.noise[arm, level]
    right_update(state, arm, gain, rng)
    state.noise[arm, level] = before


def first_code(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The sum of an arm begins with the code FACTOR, which is not that of its counter."""
    if state.plays[arm] == 0:
        state.codes[arm] = int(FACTOR)
    right_update(state, arm, gain, rng)


def late_silence(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """No noise after round LATE, which `kept` counts."""
    state.kept += 1.0
    right_update(state, arm, gain, Draws(rng.uniform, 0.0 if state.kept > LATE else rng.laplace))


def noise_by_gain(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """Half of the noise on gains in the upper half of [0, 1]."""
    right_update(state, arm, gain, Draws(rng.uniform, (0.5 if gain > 0.5 else 1.0) * rng.laplace))


def released_by_gain(state: Record, gain: float, rng: Draws) -> float:
    """Half of the noise on gains in the upper half of [0, 1]."""
    return float(gain + (0.5 if gain > 0.5 else 1.0) * state.scale * rng.laplace)


def true_gain_late(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The base is fed the gain itself after round LATE, which `kept` counts."""
    state.kept += 1.0
    if state.kept > LATE:
        base_update(state.wrapped, arm, (gain + state.b) / (2.0 * state.b + 1.0), rng)
    else:
        right_update(state, arm, gain, rng)


def rate_for_scale(state: Record, gain: float, rng: Draws) -> float:
    """The scale of the noise is read from the learning rate of the base."""
    return float(gain + state.wrapped.rate * rng.laplace)


def plays_for_scale(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The scale of the noise is divided by the number of plays, as if a sum were a mean."""
    right_update(state, arm, gain, Draws(rng.uniform, rng.laplace / (1.0 + state.plays[arm])))


def counted_gains(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """After round LATE large gains count as rounds, and so widen the bonus of the arms."""
    right_update(state, arm, gain, rng)
    if state.t > LATE and gain > 0.5:
        state.t += 1


def quiet_levels(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """A quarter of the noise from level 4 of the tree up."""
    deep = (state.plays[arm] + 1) % 16 == 0
    right_update(state, arm, gain, Draws(rng.uniform, (0.25 if deep else 1.0) * rng.laplace))


def restarted(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """Every 1,000 plays the noise of an arm's tree is forgotten, while its sum is kept."""
    if state.plays[arm] % 1000 == 999:
        state.noise[arm, :] = 0.0
    right_update(state, arm, gain, rng)


def true_total(state: Record, rng: Draws) -> int:
    """An arm whose last episode had a true mean above 1/2 is played again."""
    if state.left == 0 and state.t > 1 and 2.0 * state.total > state.plays[state.arm]:
        return int(state.arm)
    return int(right_choose(state, rng))


def true_leader_late(state: Record, rng: Draws) -> int:
    """After round LATE the arm with the largest sum without noise is played."""
    if state.t > LATE:
        return int(np.argmax(state.sums))
    return int(right_choose(state, rng))


def no_floor_late(state: Record, rng: Draws) -> int:
    """EXP3 without exploration once its weights have grown."""
    if state.gains.sum() > 1.0:
        return no_floor(state, rng)
    return int(right_choose(state, rng))


def doubled_rate_late(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """EXP3 with twice the learning rate after round LATE, which `kept` counts."""
    state.kept += 1.0
    if state.kept > LATE:
        doubled_rate(state, arm, gain, rng)
    else:
        right_update(state, arm, gain, rng)


def greedy_now_and_then(state: Record, rng: Draws) -> int:
    """In one round of a thousand the arm with the largest weight."""
    if rng.uniform > 0.999:
        return int(np.argmax(state.gains))
    return int(right_choose(state, rng))


def first_arms_noise(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The last number of the first arm hides the gains of all arms."""
    if arm == 0:
        state.kept = rng.laplace
    right_update(state, arm, gain, Draws(rng.uniform, state.kept))


def phase_noise_for_two(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The noise of a phase is used again in the next phase, whatever its arm."""
    last = state.played + 1 == state.length
    if last and state.kept != 0.0:
        right_update(state, arm, gain, Draws(rng.uniform, state.kept))
        state.kept = 0.0
    else:
        right_update(state, arm, gain, rng)
        if last:
            state.kept = rng.laplace


def renoised(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """Every phase adds noise to the sum of all gains so far anew. `noises` is not used, and holds the true sums."""
    state.noises[arm] += gain
    right_update(state, arm, gain, rng)
    if state.played == 0:
        state.noises[arm] -= 1.0
        state.sums[arm] = state.noises[arm] + state.scale * rng.laplace


def true_phase(state: Record, rng: Draws) -> int:
    """A phase does not end while most of its gains are ones."""
    if state.played > 0 and state.total > 4.0 and 4.0 * state.total > 3.0 * state.played:
        state.length = state.played + 2
        return int(state.arm)
    return int(right_choose(state, rng))


def hiding(rng: Numbers) -> float:
    """The number that hides gains: the Laplace number or, if none is drawn, the normal number."""
    number: float = rng.normal if np.isnan(rng.laplace) else rng.laplace
    return number


def hidden_by(number: float, rng: Numbers) -> Numbers:
    """The numbers of a round, in which this one replaces the number that hides gains."""
    return Numbers(rng.uniform, number, number, rng.bits)


def first_number(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """The noise of the first round in every epoch, for steps that take `Numbers`."""
    if state.kept == 0.0:
        state.kept = hiding(rng)
    right_update(state, arm, gain, hidden_by(state.kept, rng))


def first_arms_number(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """The last noise of the first arm hides the gains of all arms, for steps that take `Numbers`."""
    if arm == 0:
        state.kept = hiding(rng)
    right_update(state, arm, gain, hidden_by(state.kept, rng))


def phase_number_for_two(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """`phase_noise_for_two` for steps that take `Numbers`."""
    last = state.left == 1 or (state.left == 0 and state.plays[arm] <= 1)
    if last and state.kept != 0.0:
        right_update(state, arm, gain, hidden_by(state.kept, rng))
        state.kept = 0.0
    else:
        right_update(state, arm, gain, rng)
        if last:
            state.kept = hiding(rng)


def plays_for_deviation(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """`plays_for_scale` for steps that take `Numbers`."""
    right_update(state, arm, gain, hidden_by(hiding(rng) / (1.0 + state.plays[arm]), rng))


def uniform_noise(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """Uniform noise of the same variance in place of normal noise."""
    right_update(state, arm, gain, hidden_by(math.sqrt(3.0) * math.erf(math.sqrt(0.5) * rng.normal), rng))


def number_by_gain(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """Half of the noise on gains in the upper half of [0, 1], for steps that take `Numbers`."""
    right_update(state, arm, gain, hidden_by((0.5 if gain > 0.5 else 1.0) * hiding(rng), rng))


def late_number(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """No noise after round LATE, for steps that take `Numbers`."""
    right_update(state, arm, gain, hidden_by(0.0 if state.t > LATE else hiding(rng), rng))


def whole_epochs(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """The sum of a complete epoch gets FACTOR times its noise, as if all of ε were its own."""
    complete = state.since[arm] + 1 == 1 << state.level[arm]
    right_update(state, arm, gain, hidden_by((FACTOR if complete else 1.0) * rng.laplace, rng))


def one_level(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """The nodes of a tree in an epoch have the noise of a tree with one level."""
    levels = 1.0 if state.since[arm] + 1 == 1 << state.level[arm] else 1.0 * state.level[arm]
    right_update(state, arm, gain, hidden_by(rng.laplace / levels, rng))


def forgotten_epochs(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """The noise of complete epochs is forgotten, while their gains are kept."""
    if state.since[arm] + 1 == 1 << state.level[arm]:
        state.epochs[arm] = 0.0
    right_update(state, arm, gain, rng)


def block_noise_for_two(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The Laplace number of a block is used again in the next block."""
    again, last = state.n % 2 == 0, state.played + 1 == state.length
    right_update(state, arm, gain, Draws(rng.uniform, state.kept if again else rng.laplace))
    if last and not again:
        state.kept = rng.laplace


def mean_noise_for_sum(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The noise for the mean of a block on its sum."""
    right_update(state, arm, gain, Draws(rng.uniform, rng.laplace / state.length))


def rate_for_block_scale(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The learning rate of a block is read where the scale should be."""
    right_update(state, arm, gain, Draws(rng.uniform, state.eta / state.scale * rng.laplace))


def gain_beside_block(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """A thousandth of each gain itself joins the estimate of its arm."""
    right_update(state, arm, gain, rng)
    state.losses[arm] -= 0.001 * gain


def true_block(state: Record, rng: Draws) -> int:
    """A block whose loss so far is small does not end."""
    if state.played + 1 == state.length and state.loss < 0.25 * state.played:
        state.length += 1
    return int(right_choose(state, rng))


def remembered(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """The gains of earlier epochs are kept, while their noise is dropped."""
    right_update(state, arm, gain, rng)
    if state.plays[arm] == 0:
        state.totals[arm] = state.sums[arm] - state.scale * rng.laplace


def true_share(state: Record, rng: Numbers) -> int:
    """An arm whose gains since its last release are nearly all ones is played again."""
    for i in range(len(state.plays)):
        if state.plays[i] > 8 and state.totals[i] > 0.9 * state.plays[i]:
            return i
    return int(right_choose(state, rng))


def draws_of_scale(state: Record, rng: Numbers) -> int:
    """Draws of variance 1/(n + 1) for FACTOR = 1, of 1/(c (n + 1)) for 0."""
    arm: int = right_choose(state, rng)
    if state.t >= state.first:
        for i in range(len(state.plays)):
            n = state.plays[i] + 1.0
            c = 1.0 if FACTOR == 1.0 else 1.0 / state.c
            state.drawn[i] = state.gains[i] / n + np.sqrt(c / n) * rng.normal[i]
        arm = int(np.argmax(state.drawn))
    return arm


def draws_of_square(state: Record, rng: Numbers) -> int:
    """Draws of variance c/(n + 1)²."""
    arm: int = right_choose(state, rng)
    if state.t >= state.first:
        for i in range(len(state.plays)):
            n = state.plays[i] + 1.0
            state.drawn[i] = (state.gains[i] + np.sqrt(state.c) * rng.normal[i]) / n
        arm = int(np.argmax(state.drawn))
    return arm


def draws_of_first_numbers(state: Record, rng: Numbers) -> int:
    """The number of arm 0 in the first draws is kept for all later ones."""
    if state.t >= state.first:
        if state.kept == 0.0:
            state.kept = rng.normal[0]
        rng.normal[0] = state.kept
    arm: int = right_choose(state, rng)
    return arm


def draws_of_one_number(state: Record, rng: Numbers) -> int:
    """One number makes the noise of all arms."""
    rng.normal[:] = rng.normal[0]
    arm: int = right_choose(state, rng)
    return arm


def draws_by_gains(state: Record, rng: Numbers) -> int:
    """The noise is larger for arms with larger gains."""
    rng.normal[:] *= 1.0 + state.gains / (state.plays + 1.0)
    arm: int = right_choose(state, rng)
    return arm


def draws_without_late_noise(state: Record, rng: Numbers) -> int:
    """No noise in the rounds after LATE."""
    if state.t >= LATE + 10:
        rng.normal[:] = 0.0
    arm: int = right_choose(state, rng)
    return arm


def draws_for_show(state: Record, rng: Numbers) -> int:
    """The arm of the largest true mean is played late, whatever is drawn."""
    arm: int = right_choose(state, rng)
    return int(np.argmax(state.gains / (state.plays + 1.0))) if state.t >= LATE + 10 else arm
