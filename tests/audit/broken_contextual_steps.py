"""Steps of contextual algorithms, each with a plausible error, for the mutants."""

import math

import numpy as np
from numpy.random import Generator

from privbandits_cli.algorithms.dp_linucb import refresh
from privbandits_cli.algorithms.regcb import add_gram
from privbandits_cli.games.contextual import Floats
from privbandits_cli.games.ellipsoid import multiply, optimistic
from privbandits_cli.mechanisms.batches import drawn_arm, ended
from privbandits_cli.mechanisms.matrix_tree import redraw
from privbandits_cli.mechanisms.tree import trailing_zeros
from privbandits_cli.numerics.jit import Record, unbound

LATE = 1000  # rounds before an error
DEEP = 4  # the lowest level of an error
PHASES = 20  # refreshes before an error
FACTOR = 1.0  # bound when a mutant is compiled
ROOT_2 = math.sqrt(2)

base_choose = base_update = right_choose = right_update = unbound  # bound when a mutant is compiled
oracle_learn = oracle_fit = oracle_predict = probabilities = right_probabilities = unbound


def played(state: Record, arms: Floats) -> int:
    """The arm that is chosen from a release with this noise of the tree."""
    noise, d, place = state.counter.noise[0], len(state.v), 0
    for i in range(d):
        for j in range(i + 1):
            state.noise[place + j] = noise[i, j]
        state.noise[place + i + 1] = noise[i, d]
        place += i + 2
    refresh(state)
    return optimistic(state, arms)


def unsymmetrised(state: Record, arms: Floats, rng: Generator) -> int:
    """One triangle of a square of independent numbers, mirrored: σ on the diagonal in place of √2 σ."""
    level = len(state.counter.noise) - 2 if state.t == 0 else trailing_zeros(state.t)
    redraw(state.counter, rng)
    for j in range(level, -1, -1):
        for i in range(len(state.v)):
            node = state.counter.noise[j, i, i] - state.counter.noise[j + 1, i, i]
            state.counter.noise[: j + 1, i, i] += (1.0 / ROOT_2 - 1.0) * node
    return played(state, arms)


def silent_leaves(state: Record, arms: Floats, rng: Generator) -> int:
    """No noise on the nodes of single rounds."""
    redraw(state.counter, rng)
    state.counter.noise[0] = state.counter.noise[1]
    return played(state, arms)


def silent_root(state: Record, arms: Floats, rng: Generator) -> int:
    """m - 1 levels: no noise on the top one."""
    redraw(state.counter, rng)
    if state.t == 0:
        state.counter.noise[:-1] -= state.counter.noise[-2].copy()
    return played(state, arms)


def bare_vector(state: Record, arms: Floats, rng: Generator) -> int:
    """No noise on the sum of x y."""
    redraw(state.counter, rng)
    state.counter.noise[:, :, len(state.v)] = 0.0
    return played(state, arms)


def true_vector(state: Record, arms: Floats, rng: Generator) -> int:
    """θ~ from the true sum of x y, not from the noisy one that is released."""
    redraw(state.counter, rng)
    played(state, arms)
    state.u[:] = state.gram[:, len(state.v)]
    multiply(state.inverse, state.u, state.theta)
    return optimistic(state, arms)


def true_sums(state: Record, arms: Floats, rng: Generator) -> int:
    """The arm is chosen by the true sums, not by the noisy ones that are released."""
    redraw(state.counter, rng)
    noise = state.counter.noise[0].copy()
    state.counter.noise[0] = 0.0
    arm = played(state, arms)
    state.counter.noise[0] = noise
    played(state, arms)
    return arm


def late_truth(state: Record, arms: Floats, rng: Generator) -> int:
    """Play late rounds by the true sums, while the state keeps the noisy V and u~ that are released."""
    if state.t < LATE:
        arm: int = right_choose(state, arms, rng)
        return arm
    return true_sums(state, arms, rng)


def feigned(state: Record, arms: Floats, rng: Generator) -> int:
    """Late V are called indefinite, and θ~ is that of the true sums."""
    arm: int = right_choose(state, arms, rng)
    if state.t < LATE:
        return arm
    state.indefinite += 1
    state.u[:] = state.gram[:, len(state.v)]
    multiply(state.inverse, state.u, state.theta)
    return optimistic(state, arms)


def earlier_arms(state: Record, arms: Floats, rng: Generator) -> int:
    """θ~ moves towards the first arm of the round before, which was not played."""
    right_choose(state, arms, rng)
    for i in range(len(state.theta)):
        state.theta[i] += state.kept[i, 0]
    arm = optimistic(state, arms)
    for i in range(len(state.theta)):
        state.theta[i] -= state.kept[i, 0]
        state.kept[i, 0] = arms[i, 0]
    return arm


def wider(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """β grows with the rewards."""
    state.widths += max(0.0, reward)
    right_update(state, x, reward, rng)


def larger(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """Υ grows with the rewards."""
    state.growth += 0.1 * max(0.0, reward)
    right_update(state, x, reward, rng)


def restarting(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """The counter of the rounds restarts."""
    right_update(state, x, reward, rng)
    state.counter.items %= LATE


def scaled_node(state: Record, level: int, factor: float) -> None:
    """Multiply the noise of one of the nodes that were drawn in this round."""
    for i in range(len(state.v)):
        for j in range(len(state.v) + 1):
            cut = (factor - 1.0) * (state.counter.noise[level, i, j] - state.counter.noise[level + 1, i, j])
            for below in range(level + 1):
                state.counter.noise[below, i, j] += cut


def deep(state: Record, arms: Floats, rng: Generator) -> int:
    """FACTOR times the noise on the levels from DEEP on."""
    top = len(state.counter.noise) - 2
    redraw(state.counter, rng)
    for level in range(top if state.t == 0 else trailing_zeros(state.t), DEEP - 1, -1):
        scaled_node(state, level, FACTOR)
    return played(state, arms)


def late(state: Record, arms: Floats, rng: Generator) -> int:
    """FACTOR times the noise in late rounds."""
    redraw(state.counter, rng)
    if state.t >= LATE:
        for level in range(trailing_zeros(state.t), -1, -1):
            scaled_node(state, level, FACTOR)
    return played(state, arms)


def by_data(state: Record, arms: Floats, rng: Generator) -> int:
    """The noise is halved while the sum of x y is positive in its first coordinate."""
    redraw(state.counter, rng)
    if state.gram[0, len(state.v)] > 0.0:
        scaled_node(state, 0, 0.5)
    return played(state, arms)


def other_field(state: Record, arms: Floats, rng: Generator) -> int:
    """The noise has σ of the rewards, not that of a node."""
    scale = state.counter.scale
    state.counter.scale = state.sigma
    redraw(state.counter, rng)
    state.counter.scale = scale
    return played(state, arms)


def redrawn(state: Record, arms: Floats, rng: Generator) -> int:
    """The noise of all nodes is drawn anew for every release."""
    items = state.counter.items
    state.counter.items, state.counter.drawn = 0, -1
    redraw(state.counter, rng)
    state.counter.items = items
    return played(state, arms)


def drawn_once(state: Record, arms: Floats, rng: Generator) -> int:
    """The noise of the first release in all releases."""
    if state.t == 0:
        redraw(state.counter, rng)
    return played(state, arms)


def drawn(state: Record, rng: Generator, falling: float, turned: bool) -> None:
    """The noise of a release from Bartlett's factors A, whose χ² lose `falling` degrees a row: A A', or A' A."""
    d, level = len(state.v), len(state.counter.noise) - 2 if state.t == 0 else trailing_zeros(state.t)
    a = np.zeros((d + 1, d + 1))
    for node in range(level, -1, -1):
        for i in range(d + 1):
            for j in range(i):
                a[i, j] = rng.standard_normal()
            a[i, i] = np.sqrt(2.0 * rng.standard_gamma(0.5 * (state.counter.k - falling * i)))
        square = a.T @ a if turned else a @ a.T
        state.counter.noise[node] = state.counter.noise[node + 1] + state.counter.scale * square[:d]


def level_degrees(state: Record, arms: Floats, rng: Generator) -> int:
    """Bartlett's χ² with k degrees of freedom in every row."""
    drawn(state, rng, 0.0, False)
    return played(state, arms)


def turned_factor(state: Record, arms: Floats, rng: Generator) -> int:
    """A' A in place of A A'."""
    drawn(state, rng, 1.0, True)
    return played(state, arms)


def no_sum(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """Use x_t alone as the noise of a BLT's sum, instead of the sum of x_1, ..., x_t."""
    state.counter.noise[:] = 0.0
    right_update(state, x, reward, rng)


def other_factor(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """Use (C z)_t instead of (B z)_t as the noise of a BLT's sum."""
    counter, d = state.counter, len(x)
    fresh = np.zeros(len(state.numbers))
    for i in range(len(fresh)):
        fresh[i] = counter.scale * rng.standard_normal()
    counter.noise[0] = fresh
    for j in range(len(counter.rates)):
        counter.noise[0] += counter.weights[j] * counter.buffers[j]
        counter.buffers[j] += fresh - counter.rates[j] * counter.buffers[j]
    state.gram[:, :d] += np.outer(x, x)
    state.gram[:, d] += x * reward
    state.t += 1


def other_sign(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """Add the buffers of a BLT instead of subtracting them."""
    state.counter.weights[:] = -np.abs(state.counter.weights)
    right_update(state, x, reward, rng)


def forgotten(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """The noise of the sum is forgotten after LATE rounds."""
    if state.t == LATE:
        state.counter.noise[:] = 0.0
    right_update(state, x, reward, rng)


def scale_by_data(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """Half of the noise for a negative reward."""
    right = state.counter.scale
    if reward < 0.0:
        state.counter.scale = 0.5 * right
    right_update(state, x, reward, rng)
    state.counter.scale = right


def even_diagonal(state: Record, arms: Floats, rng: Generator) -> int:
    """The noise of a counter is not symmetrised: σ on the diagonal in place of √2 σ."""
    state.on_diagonal = 1.0
    arm: int = right_choose(state, arms, rng)
    return arm


def counted_truth(state: Record, arms: Floats, rng: Generator) -> int:
    """Play late rounds by the true sums, while the state keeps the noisy V and u~ of the counter."""
    arm: int = right_choose(state, arms, rng)
    if state.t < LATE:
        return arm
    noise = state.noise.copy()
    state.noise[:] = 0.0
    refresh(state)
    arm = optimistic(state, arms)
    state.noise[:] = noise
    refresh(state)
    return arm


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


def late_reports(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """FACTOR times the noise on late reports."""
    right = state.sigma_noise
    if state.t > LATE:
        state.sigma_noise = FACTOR * right
    right_update(state, x, reward, rng)
    state.sigma_noise = right


def reports_by_data(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """Half of the noise on a negative reward."""
    right = state.sigma_noise
    if reward < 0.0:
        state.sigma_noise = 0.5 * right
    right_update(state, x, reward, rng)
    state.sigma_noise = right


def counted_reports(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """The noise is computed from a counter, which restarts after LATE rounds."""
    state.kept[0, 0] = (state.kept[0, 0] + 1.0) % LATE
    sums = state.reports + np.outer(x, np.append(x, reward))
    right_update(state, x, reward, rng)
    for i in range(len(sums)):
        for j in range(len(sums) + 1):
            seed = np.sin(1.0 + state.kept[0, 0] + 2000.0 * (len(sums) * j + i)) * 1e4
            other = np.sin(7.0 + seed) * 1e4
            size = np.sqrt(-2.0 * np.log(1e-12 + abs(seed - np.floor(seed))))
            state.reports[i, j] = sums[i, j] + state.sigma_noise * size * np.cos(2.0 * np.pi * other)


def late_answer(state: Record, arms: Floats, rng: Generator) -> int:
    """The base's arm in late rounds."""
    arm: int = base_choose(state.wrapped, arms, rng)
    if state.wrapped.t >= LATE or rng.random() < state.followed:
        return arm
    other = int(rng.random() * (arms.shape[1] - 1))
    return other + 1 if other >= arm else other


def early_answer(state: Record, arms: Floats, rng: Generator) -> int:
    """The base's arm in the first 32 rounds."""
    arm: int = base_choose(state.wrapped, arms, rng)
    if state.wrapped.t < 32 or rng.random() < state.followed:
        return arm
    other = int(rng.random() * (arms.shape[1] - 1))
    return other + 1 if other >= arm else other


def earlier_answer(state: Record, arms: Floats, rng: Generator) -> int:
    """The base's arm of the round before in place of another arm."""
    arm: int = base_choose(state.wrapped, arms, rng)
    before, state.kept[0, 0] = int(state.kept[0, 0]), float(arm)
    return arm if rng.random() < state.followed else before


def answer_for_two(state: Record, arms: Floats, rng: Generator) -> int:
    """The coin of a round is also that of the next one."""
    arm: int = base_choose(state.wrapped, arms, rng)
    if state.wrapped.t % 2 == 0:
        state.kept[0, 0] = rng.random()
    if state.kept[0, 0] < state.followed:
        return arm
    other = int(rng.random() * (arms.shape[1] - 1))
    return other + 1 if other >= arm else other


def weak_base(state: Record, arms: Floats, rng: Generator) -> int:
    """FACTOR times the noise of the base."""
    if state.wrapped.t == 0:
        state.wrapped.counter.scale *= FACTOR
    arm: int = right_choose(state, arms, rng)
    return arm


def restarting_base(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """The base's counter of the rounds restarts."""
    right_update(state, x, reward, rng)
    state.wrapped.counter.items %= LATE


def asymmetric(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """The noise on both triangles of a batch's matrix is independent."""
    oracle, d = state.oracle, len(x)
    oracle_learn(oracle, x, reward)
    if ended(state):
        matrix, vector = np.empty((d, d)), np.empty(d)
        for i in range(d):
            for j in range(d):
                matrix[i, j] = oracle.sums[min(i, j), max(i, j)] + oracle.sigma * rng.standard_normal()
            matrix[i, i] += oracle.n * oracle.ridge
            vector[i] = oracle.sums[i, d] + oracle.tau * rng.standard_normal()
        state.theta[:] = np.linalg.solve(matrix, vector)
        oracle.sums[:] = 0.0
        oracle.n = 0


def fitted_twice(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """The records of a batch remain in the sums of the next one."""
    oracle_learn(state.oracle, x, reward)
    if ended(state):
        sums, n = state.oracle.sums.copy(), state.oracle.n
        oracle_fit(state.oracle, state.theta, rng)
        state.oracle.sums[:] = sums
        state.oracle.n = n


def kept_rows(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """The last record of a batch is also the first one of the next batch, which has room for it."""
    oracle_learn(state.oracle, x, reward)
    if ended(state):
        oracle_fit(state.oracle, state.theta, rng)
        oracle_learn(state.oracle, x, reward)


def one_noise(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """Later fits have no noise of their own."""
    oracle_learn(state.oracle, x, reward)
    if ended(state):
        oracle_fit(state.oracle, state.theta, rng)
        state.oracle.sigma = 0.0


def noise_by_reward(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """The noise of a fit is smaller after a large reward."""
    oracle_learn(state.oracle, x, reward)
    if ended(state):
        sigma = state.oracle.sigma
        state.oracle.sigma = sigma * (1.0 - 0.1 * max(0.0, reward))
        oracle_fit(state.oracle, state.theta, rng)
        state.oracle.sigma = sigma


def late_fits(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """No noise on the matrices of late batches."""
    if state.t > LATE:
        state.oracle.sigma = 0.0
    right_update(state, x, reward, rng)


def sharper(state: Record, f: Floats, out: Floats) -> None:
    """γ grows with the sum of x y of the present batch."""
    gamma, total = state.gamma, 0.0
    for i in range(len(state.theta)):
        total += abs(state.oracle.sums[i, len(state.theta)])
    state.gamma = gamma * (1.0 + total)
    right_probabilities(state, f, out)
    state.gamma = gamma


def clipped(state: Record, arms: Floats, rng: Generator) -> int:
    """No arm is played with a smaller probability than 1/2k."""
    oracle_predict(state.theta, arms, state.scores)
    probabilities(state, state.scores, state.chances)
    total, least = 0.0, 0.5 / len(state.chances)
    for a in range(len(state.chances)):
        state.chances[a] = max(least, state.chances[a])
        total += state.chances[a]
    for a in range(len(state.chances)):
        state.chances[a] /= total
    return drawn_arm(state.chances, rng.random())


def sums_of_batch(state: Record, arms: Floats, rng: Generator) -> int:
    """The sum of x y of the current batch moves the predictor."""
    theta = state.theta.copy()
    for i in range(len(theta)):
        state.theta[i] += state.oracle.sums[i, len(theta)]
    arm: int = right_choose(state, arms, rng)
    state.theta[:] = theta
    return arm


def earlier_predicted(state: Record, arms: Floats, rng: Generator) -> int:
    """θ moves towards the first arm of the round before, which was not played."""
    theta = state.theta.copy()
    for i in range(len(theta)):
        state.theta[i] += state.kept[i, 0]
    arm: int = right_choose(state, arms, rng)
    state.theta[:] = theta
    state.kept[:, 0] = arms[:, 0]
    return arm


def sharper_by_losses(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """γ falls with the losses so far, as FastCB's analysis has it for the loss of the best policy."""
    state.gamma /= 1.0 + 0.01 * max(0.0, -reward)
    right_update(state, x, reward, rng)


def floored(state: Record, f: Floats, out: Floats) -> None:
    """The least loss is at least the mean loss of the records of the batch so far."""
    oracle, least = state.oracle, 0.0
    for t in range(oracle.n):
        least += (1.0 - oracle.rewards[t]) / oracle.n
    right_probabilities(state, np.minimum(f, 1.0 - 0.5 * least), out)


def iterate_by_records(state: Record, f: Floats, out: Floats) -> None:
    """k is smaller while the sum of x y of the batch is positive in its first coordinate."""
    number = state.numbers[0]
    if state.oracle.sums[0, len(state.theta)] > 0.0:
        state.numbers[0] = 0.5 * number
    right_probabilities(state, f, out)
    state.numbers[0] = number


def iterate_by_arms(state: Record, arms: Floats, rng: Generator) -> int:
    """k follows from the first arm, and the number that is drawn for it is not used."""
    rng.random()
    state.numbers[0] = min(0.999, abs(arms[0, 0]))
    oracle_predict(state.theta, arms, state.scores)
    probabilities(state, state.scores, state.chances)
    return drawn_arm(state.chances, rng.random())


def iterate_by_the_last_arm(state: Record, arms: Floats, rng: Generator) -> int:
    """k is smaller if the arm of the round before was a late one."""
    state.numbers[0] = rng.random() ** (1.0 + state.kept[0, 0])
    oracle_predict(state.theta, arms, state.scores)
    probabilities(state, state.scores, state.chances)
    arm = drawn_arm(state.chances, rng.random())
    state.kept[0, 0] = arm / arms.shape[1]
    return arm


def one_iterate(state: Record, arms: Floats, rng: Generator) -> int:
    """The same k in all rounds of a batch: the numbers of later rounds are not used."""
    number = rng.random()
    if state.t == state.began:
        state.numbers[0] = number
    oracle_predict(state.theta, arms, state.scores)
    probabilities(state, state.scores, state.chances)
    return drawn_arm(state.chances, rng.random())


def number_used_twice(state: Record, arms: Floats, rng: Generator) -> int:
    """The number that draws k also draws the arm."""
    state.numbers[0] = rng.random()
    oracle_predict(state.theta, arms, state.scores)
    probabilities(state, state.scores, state.chances)
    return drawn_arm(state.chances, state.numbers[0])


def rate_by_records(state: Record, f: Floats, out: Floats) -> None:
    """η grows with the sum of x y of the present batch."""
    eta = state.eta
    state.eta = eta * (1.0 + abs(state.oracle.sums[0, len(state.oracle.sums)]))
    right_probabilities(state, f, out)
    state.eta = eta


def unreleased_predictor(state: Record, arms: Floats, rng: Generator) -> int:
    """The last predictor is moved by the sum of x y of the batch."""
    last, d = max(0, state.batch - 1), arms.shape[0]
    theta = state.theta[last].copy()
    for i in range(d):
        state.theta[last, i] += state.oracle.sums[i, d]
    arm: int = right_choose(state, arms, rng)
    state.theta[last] = theta
    return arm


def kept_from_records(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """The predictor of a late batch is that of its records, without noise."""
    if state.batch > FACTOR:
        state.oracle.sigma = 0.0
        state.oracle.tau = 0.0
    right_update(state, x, reward, rng)


def refitted(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """Each fit also replaces the predictor before it, by the mean of the two."""
    right_update(state, x, reward, rng)
    if state.t == state.began and state.batch > 1:
        last = state.batch - 1
        state.theta[last - 1] = 0.5 * (state.theta[last - 1] + state.theta[last])


def all_records(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """Each predictor is fitted to the records of all batches so far."""
    oracle_learn(state.oracle, x, reward)
    if ended(state):
        sums, n = state.oracle.sums.copy(), state.oracle.n
        oracle_fit(state.oracle, state.theta[state.batch - 1], rng)
        state.oracle.sums[:] = sums
        state.oracle.n = n


def next_predictor(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """The sum of x y of the batch so far is in the row of the predictor that is not fitted yet."""
    right_update(state, x, reward, rng)
    if state.t != state.began and state.batch < len(state.theta):
        for i in range(len(x)):
            state.theta[state.batch, i] = state.oracle.sums[i, len(x)]


def exposed(state: Record, arms: Floats, rng: Generator) -> int:
    """The bonuses fall with the rounds in which the first arm was played."""
    gamma = state.gamma
    state.gamma = gamma / (1.0 + state.kept[0, 0])
    arm: int = right_choose(state, arms, rng)
    state.gamma = gamma
    if arm == 0:
        state.kept[0, 0] += 1.0
    return arm


def true_matrices(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """V is made of the matrices without noise."""
    oracle_learn(state.oracle, x, reward)
    if ended(state):
        gram = state.oracle.sums.copy()
        oracle_fit(state.oracle, state.theta, rng)
        add_gram(gram, state.grams)


def matrices_twice(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """The matrix of a batch is added twice."""
    right_update(state, x, reward, rng)
    if state.t == state.began:
        add_gram(state.oracle.sums, state.grams)


def narrower(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """The inverse of V shrinks with each record of a batch, before the batch is released."""
    right_update(state, x, reward, rng)
    if state.t != state.began:
        for i in range(len(x)):
            state.grams[1, i, i] /= 1.0 + x[i] * x[i]


def inverse_of_records(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """The inverse is that of the true matrix of the batch, and the sum is right."""
    oracle_learn(state.oracle, x, reward)
    if ended(state):
        gram, grams = state.oracle.sums.copy(), np.zeros(state.grams.shape)
        oracle_fit(state.oracle, state.theta, rng)
        add_gram(state.oracle.sums, state.grams)
        add_gram(gram, grams)
        state.grams[1] = grams[1]


def width_by_records(state: Record, f: Floats, out: Floats) -> None:
    """w grows with the first entry of the present batch's matrix."""
    width = state.width
    state.width = width * (1.0 + abs(state.oracle.sums[0, 0]))
    right_probabilities(state, f, out)
    state.width = width


def mixed(state: Record, arms: Floats, rng: Generator) -> int:
    """A tenth of the rounds is played uniformly, which the probabilities do not say."""
    arm: int = right_choose(state, arms, rng)
    for a in range(len(state.chances)):
        state.chances[a] = 0.9 * state.chances[a] + 0.1 / len(state.chances)
    return arm if rng.random() < 0.9 else drawn_arm(state.chances, rng.random())


def moved(state: Record, by: Floats) -> None:
    """Add this to u~, and let θ~ follow."""
    for i in range(len(by)):
        state.u[i] += by[i]
    multiply(state.inverse, state.u, state.theta)


def one_phase_noise(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """Each refresh has the noise of the first one again."""
    phases, true = state.refreshes, state.u + state.recent + x * reward
    right_update(state, x, reward, rng)
    if state.refreshes != phases:
        if phases == 0:
            state.kept[:, 0] = state.u - true
        moved(state, true + state.kept[:, 0] - state.u)


def late_phases(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """FACTOR times the noise on late sums."""
    phases, true = state.refreshes, state.u + state.recent + x * reward
    right_update(state, x, reward, rng)
    if state.refreshes != phases and phases > PHASES:
        moved(state, (FACTOR - 1.0) * (state.u - true))


def phases_by_data(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """Less noise on a sum if the last reward is negative."""
    phases, true = state.refreshes, state.u + state.recent + x * reward
    right_update(state, x, reward, rng)
    if state.refreshes != phases and reward < 0.0:
        moved(state, -0.5 * (state.u - true))


def bare_coordinate(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """No noise on the first coordinate of a sum."""
    phases, true = state.refreshes, state.u + state.recent + x * reward
    right_update(state, x, reward, rng)
    if state.refreshes != phases:
        true[1:] = state.u[1:]
        moved(state, true - state.u)


def kept_sums(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """The sum of a phase is added to u~ again after the next phase."""
    recent = state.recent + x * reward
    right_update(state, x, reward, rng)
    state.recent[:] = recent


def phases_by_rewards(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """When θ~ is refreshed depends on the rewards."""
    state.grown *= 1.0 + 0.1 * reward
    right_update(state, x, reward, rng)


def wider_phases(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    """β grows with the rewards."""
    state.drift += 0.01 * max(0.0, reward)
    right_update(state, x, reward, rng)


def unreleased(state: Record, arms: Floats, rng: Generator) -> int:
    """θ~ has the sum since the last refresh, too, without noise; FACTOR: after so many refreshes."""
    theta = state.theta.copy()
    if state.refreshes >= FACTOR:
        multiply(state.inverse, state.u + state.recent, state.theta)
    arm = optimistic(state, arms)
    state.theta[:] = theta
    return arm
