"""The errors of the mutants of bandit algorithms: steps with a plausible slip in each."""

from privbandits_cli.algorithms.dp_robust_se import noise as mean_noise
from privbandits_cli.algorithms.exp3 import restart
from privbandits_cli.algorithms.robust_se import begin, cut, pulled
from privbandits_cli.games.bandit import Draws
from privbandits_cli.numerics.jit import Record

FACTOR = 1.0  # set where a mutant is made


def scaled_noise(state: Record, gain: float, rng: Draws) -> float:
    """Noise of FACTOR times the scale."""
    noisy: float = gain + FACTOR * state.scale * rng.laplace
    return noisy


def no_noise(state: Record, gain: float, rng: Draws) -> float:
    """No noise at all."""
    return gain


def twice_the_gain(state: Record, gain: float, rng: Draws) -> float:
    """The sensitivity taken for half of what it is: gains of range 2 under the noise for range 1."""
    noisy: float = 2.0 * gain - 0.5 + state.scale * rng.laplace
    return noisy


def one_noise(state: Record, gain: float, rng: Draws) -> float:
    """One noise, drawn in the first round and kept."""
    if state.kept == 0.0:
        state.kept = state.scale * rng.laplace
    noisy: float = gain + state.kept
    return noisy


def noise_for_two(state: Record, gain: float, rng: Draws) -> float:
    """Each noise serves two rounds."""
    if state.kept == 0.0:
        state.kept = state.scale * rng.laplace
        noisy: float = gain + state.kept
    else:
        noisy = gain + state.kept
        state.kept = 0.0
    return noisy


def true_gain(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The base is fed the gain itself; the noise only decides whether."""
    noisy = gain + state.scale * rng.laplace
    if -state.b <= noisy <= state.b + 1.0:
        base_update(state.wrapped, arm, (gain + state.b) / (2.0 * state.b + 1.0), rng)


def true_gain_kept(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The base is fed the gain itself, and the noise is released for show."""
    base_update(state.wrapped, arm, gain, rng)


def doubled_rate(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """EXP3 with twice the learning rate."""
    p = (1.0 - state.gamma) * state.weights[arm] / state.sums[1] + state.rate
    state.gains[arm] += 2.0 * state.rate * gain / p
    restart(state, state.gains.max())


def no_floor(state: Record, rng: Draws) -> int:
    """EXP3 that forgets to explore."""
    threshold = rng.uniform * state.sums[1]
    reached = 0.0
    arm = 0
    for i in range(len(state.weights) - 1):
        reached += state.weights[i]
        arm += threshold >= reached
    return arm


def losses(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """EXP3 carried over to losses: the difference of two tables is amplified, not contracted."""
    p = (1.0 - state.gamma) * state.weights[arm] / state.sums[1] + state.rate
    state.gains[arm] -= state.rate * (1.0 - gain) / p
    restart(state, state.gains.max())


def sum_of_block(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """A mini-batch that feeds the sum of its block, not the mean."""
    state.gain += gain
    state.played += 1
    if state.played == state.tau:
        base_update(state.wrapped, arm, state.gain, rng)
        state.gain = 0.0
        state.played = 0


def scaled_release(state: Record, gain: float, rng: Draws) -> float:
    """What is released of a block under noise of FACTOR times the scale."""
    noisy: float = right_released(state, gain, Draws(rng.uniform, FACTOR * rng.laplace))
    return noisy


def sum_released(state: Record, gain: float, rng: Draws) -> float:
    """The sum of a block, under the noise for its mean."""
    noisy: float = right_released(state, (state.gain + gain) * state.tau - state.gain, rng)
    return noisy


def first_noise(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The noise of the first round, for every block."""
    if state.kept == 0.0:
        state.kept = rng.laplace
    right_update(state, arm, gain, Draws(rng.uniform, state.kept))


def scaled(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The right step under noise of FACTOR times the scale."""
    right_update(state, arm, gain, Draws(rng.uniform, FACTOR * rng.laplace))


def sum_for_mean(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The division of an epoch's sum by R forgotten, but in the noise."""
    if state.left > 1 and pulled(state, arm, state.cycles * cut(state, gain), mean_noise(state, rng)):
        begin(state)


def uncut(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """Gains that are not truncated, under the noise for those that are."""
    if state.left > 1 and pulled(state, arm, gain, mean_noise(state, rng)):
        begin(state)


def redrawn(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """Fresh noise for every sum that is asked for, in place of that of its nodes."""
    state.noise[:] = 0.0
    right_update(state, arm, gain, rng)


def right_update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """Stands for the algorithm's own step until its mutant is compiled."""
    raise NotImplementedError


def right_released(state: Record, gain: float, rng: Draws) -> float:
    """Stands for the algorithm's own tap until its mutant is compiled."""
    raise NotImplementedError


def base_update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """Stands for EXP3's step until `sum_of_block` is compiled."""
    raise NotImplementedError
