"""Steps of `dist_dp_se` and `dist_rdp_se`, each with a plausible error, for the mutants."""

import math
from typing import Any

import numpy as np

from privbandits_cli.algorithms.dist_dp_se import begin, decode, discrete, encode
from privbandits_cli.algorithms.robust_se import turned
from privbandits_cli.games.bandit import Numbers
from privbandits_cli.numerics.bits import skellam
from privbandits_cli.numerics.bits import uniform as coin
from privbandits_cli.numerics.jit import Record, unbound

right_update = unbound  # bound when a mutant is compiled
FACTOR = 1.0  # bound when a mutant is compiled
LATE = 5  # batches after which some errors begin


def batch(state: Record, arm: int, gain: float, bits: Any, noise: float) -> None:
    """The right step with this noise."""
    if state.left == 1:
        return
    if encode(state, arm, gain, bits):
        decode(state, arm, noise)
    if turned(state):
        begin(state)


def last(state: Record) -> bool:
    """Whether the gain is the last of its arm's batch."""
    closes: bool = state.cycle == state.cycles - 1
    return closes


def published(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """Pólya numbers of scale (1 - q)/q in place of q/(1 - q), as in the authors' code: q turns into 1 - q."""
    q = math.exp(-1.0 / state.scale)
    batch(state, arm, gain, rng.bits, discrete(rng.laplace, -1.0 / math.log1p(-q)))


def cut(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """A Laplace number without its decimals, which is 0 too often."""
    batch(state, arm, gain, rng.bits, np.trunc(state.scale * rng.laplace))


def without_grid(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """Noise of scale 1/ε, for gains that are not multiplied by g."""
    batch(state, arm, gain, rng.bits, discrete(rng.laplace, 1.0 / state.epsilon))


def other_logarithm(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """The sampler takes the logarithm to the base 10 of its uniform number."""
    batch(state, arm, gain, rng.bits, discrete(rng.laplace / math.log(10.0), state.scale))


def by_gain(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """Half of the noise if the last gain is in the upper half of [0, 1]."""
    batch(state, arm, gain, rng.bits, discrete((0.5 if gain > 0.5 else 1.0) * rng.laplace, state.scale))


def moved(rng: Numbers) -> float:
    """What the noise is made of, as a float: the Laplace number, or else 52 of the bits."""
    return float(np.int64(rng.bits >> np.uint64(12))) if np.isnan(rng.laplace) else rng.laplace


def instead(number: float, rng: Numbers) -> Numbers:
    """The numbers of a round with this one in place of what the noise is made of."""
    bits = np.uint64(np.int64(number)) if np.isnan(rng.laplace) else rng.bits
    return Numbers(rng.uniform, number, rng.normal, bits)


def drawn_once(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """The noise of the first round in all batches."""
    if state.kept == 0.0:
        state.kept = moved(rng)
    right_update(state, arm, gain, instead(state.kept, rng))


def drawn_for_first_arm(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """One number for all arms, that of the first arm that is left."""
    if state.place == 0:
        state.kept = moved(rng)
    right_update(state, arm, gain, instead(state.kept, rng))


def drawn_for_two(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """The noise of a batch is used again in the next one."""
    if state.epoch % 2 == 0:
        right_update(state, arm, gain, instead(state.kept, rng))
        return
    if last(state):
        state.kept = moved(rng)
    right_update(state, arm, gain, rng)


def silent_late(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """No noise after LATE batches."""
    if state.epoch > LATE:
        batch(state, arm, gain, rng.bits, 0.0)
    else:
        right_update(state, arm, gain, rng)


def noise_of(state: Record, rng: Numbers) -> float:
    """The right noise."""
    scale = state.scale
    return skellam(rng.bits, 1, scale * scale) if np.isnan(rng.laplace) else discrete(rng.laplace, scale)


def true_means(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """Arms are eliminated by their means without noise."""
    if state.left == 1:
        return
    if encode(state, arm, gain, rng.bits):
        mean = state.sums[arm] / (state.cycles * state.g)
        decode(state, arm, noise_of(state, rng))
        state.means[arm] = mean
    if turned(state):
        begin(state)


def remembered(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """The gains of earlier batches stay in the sum."""
    if state.left == 1:
        return
    if encode(state, arm, gain, rng.bits):
        total = state.sums[arm]
        decode(state, arm, noise_of(state, rng))
        state.sums[arm] = total
    if turned(state):
        begin(state)


def twice_on_the_grid(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """Gains are multiplied by 2g under the noise for g."""
    right_update(state, arm, 2.0 * gain, rng)


def scaled_skellam(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """Skellam noise of FACTOR times the variance."""
    batch(state, arm, gain, rng.bits, skellam(rng.bits, 1, FACTOR * state.scale * state.scale))


def deviation_for_variance(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """Skellam noise whose variance is what its deviation should be."""
    batch(state, arm, gain, rng.bits, skellam(rng.bits, 1, state.scale))


def inverted(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """Skellam noise of deviation ε/g."""
    batch(state, arm, gain, rng.bits, skellam(rng.bits, 1, 1.0 / state.scale**2))


def uniform_whole(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """Uniform noise of the same variance, rounded to a whole number."""
    width = math.sqrt(12.0) * state.scale
    batch(state, arm, gain, rng.bits, np.floor(width * (coin(rng.bits, 1) - 0.5) + 0.5))


def positive(state: Record, arm: int, gain: float, rng: Numbers) -> None:
    """The absolute value of the noise: sums only grow."""
    batch(state, arm, gain, rng.bits, abs(noise_of(state, rng)))
