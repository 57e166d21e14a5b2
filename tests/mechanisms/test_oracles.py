"""Regression oracles: what a fit costs, the noise in it, and solutions of small problems."""

import math
from functools import partial

import numpy as np
import pytest
from numpy.random import SFC64, Generator
from scipy import stats

from privbandits_cli.accounting import composition, gaussian
from privbandits_cli.games.players import Contexts
from privbandits_cli.mechanisms import logistic_gram_oracle, logistic_oracle, quadratic_oracle
from privbandits_cli.mechanisms.batches import drawn_arm, largest_batch
from privbandits_cli.mechanisms.logistic_gram_oracle import LogisticGram
from privbandits_cli.mechanisms.logistic_oracle import Logistic
from privbandits_cli.mechanisms.oracle import Fit
from privbandits_cli.mechanisms.quadratic_oracle import Quadratic
from privbandits_cli.numerics.jit import record

KINDS = {
    "quadratic": (Quadratic, quadratic_oracle),
    "logistic": (Logistic, logistic_oracle),
    "logistic with matrix": (LogisticGram, logistic_gram_oracle),
}
SIGNED, COUNTS = Contexts(4, reward=2.0), Contexts(4, nonnegative=True)


def batch(known, n=30, seed=1):
    """Random records within the bounds."""
    rng = Generator(SFC64(seed))
    rows = rng.standard_normal((n, known.dimension))
    rows *= known.norm / np.linalg.norm(rows, axis=1, keepdims=True)
    rewards = known.reward * np.sign(rows[:, 0] + 0.5 * rng.standard_normal(n))
    return (np.abs(rows), np.maximum(0, rewards)) if known.nonnegative else (rows, rewards)


def fitted(kind, oracle, rows, rewards, rng):
    """The fit of the steps, played as plain Python, after a batch that must not matter."""
    (state,), theta, d = record(**oracle.state(len(rows))), np.zeros(rows.shape[1]), rows.shape[1]
    for order, numbers in ((slice(None, None, -2), Generator(SFC64(9))), (slice(None), rng)):
        for x, y in zip(rows[order], rewards[order], strict=True):
            KINDS[kind][1].learn(state, x, y)
        KINDS[kind][1].fit(state, theta, numbers)
        assert state.n == 0
    if kind == "logistic":
        return Fit(theta)
    upper = np.triu(state.sums[:, :d])
    return Fit(theta, upper + np.triu(upper, 1).T)


@pytest.mark.parametrize("known", [SIGNED, COUNTS], ids=["signed", "counts"])
@pytest.mark.parametrize("epsilon", [None, 5.0])
@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_equals_its_twin_and_the_noise_is_real(kind, epsilon, known):
    oracle = KINDS[kind][0].tuned(known, 0.01, epsilon, 1e-5, False)
    rows, rewards = batch(known)
    first, other = (oracle.fitted(rows, rewards, Generator(SFC64(seed))) for seed in (0, 1))
    found = fitted(kind, oracle, rows, rewards, Generator(SFC64(0)))
    for part, right, wrong in zip(found, first, other, strict=True):
        if kind == "logistic" and part is None:
            continue  # it releases no matrix
        np.testing.assert_allclose(part, right, rtol=1e-6, atol=1e-8)
        assert (epsilon is None) == bool(np.allclose(right, wrong, rtol=1e-9))


def test_without_noise_the_logistic_fit_is_a_minimum():
    """The gradient vanishes there, and not beside it."""
    rows, rewards = batch(COUNTS)
    oracle = Logistic.tuned(COUNTS, 0.01, None, 0.5, False)
    theta = oracle.fitted(rows, rewards, Generator(SFC64(0))).theta

    def gradient(at):
        return rows.T @ (1 / (1 + np.exp(-rows @ at)) - rewards) + 0.01 * len(rows) * at

    assert np.abs(gradient(theta)).max() < 1e-8 < np.abs(gradient(theta + 1e-6)).max()


@pytest.mark.parametrize("known", [SIGNED, COUNTS, Contexts(3, norm=2.0, reward=0.5)])
def test_no_two_records_cost_more_than_the_account(known):
    """Random pairs and those of the worst angle: their exact μ is at most that of the account, which is reached."""
    oracle = Quadratic.tuned(known, 0.1, 1.0, 1e-5, False)
    pairs = [batch(known, 2, seed) for seed in range(2000)]
    axes = np.linspace(0, math.pi / (2 if known.nonnegative else 1), 400)
    for angle in axes:
        rows = np.zeros((2, known.dimension))
        rows[:, :2] = known.norm * np.array([[1, 0], [math.cos(angle), math.sin(angle)]])
        pairs.append((rows, known.reward * np.array([1.0, 1.0 if known.nonnegative else -1.0])))
    found = []
    for rows, rewards in pairs:
        matrix = np.outer(rows[0], rows[0]) - np.outer(rows[1], rows[1])
        vector = rewards[0] * rows[0] - rewards[1] * rows[1]
        found.append(math.sqrt((matrix**2).sum() / 2 / oracle.sigma**2 + (vector**2).sum() / oracle.tau**2))
    assert 0.999 * oracle.mu() < max(found) <= oracle.mu() * (1 + 1e-12)
    assert oracle.epsilon(1e-5) == pytest.approx(1.0, rel=1e-9)
    assert Quadratic.tuned(known, 0.1, 1.0, 1e-5, True).epsilon(1e-5) < 0.95  # the published noise is larger


def test_the_logistic_account_covers_the_jacobian_and_half_of_epsilon_is_left():
    for printed in (False, True):
        for n in (1, 10, 10_000):
            oracle = Logistic.tuned(COUNTS, 1e-4, 1.0, 0.5, printed)
            m, left = oracle.strength(n), 2 / oracle.length(n)
            assert left >= 0.5 - 1e-12
            assert left + oracle.curvatures * math.log1p(0.25 / m) == pytest.approx(1.0)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0, 1e4])
def test_the_matrix_beside_a_logistic_fit_takes_what_the_fit_leaves(epsilon):
    """Exactly ε together; by the printed account, which adds the two ε, the noise is larger."""
    exact, printed = (LogisticGram.tuned(SIGNED, 0.1, epsilon, 1e-5, printed) for printed in (False, True))
    assert exact.spent == epsilon / 2 and not exact.pure
    assert exact.epsilon(1e-5) == pytest.approx(epsilon, rel=1e-9)
    assert gaussian.epsilon_of(SIGNED.norm**2 / printed.sigma, 1e-5) <= epsilon / 2 * (1 + 1e-12)
    assert printed.sigma > exact.sigma and printed.epsilon(1e-5) < epsilon
    assert composition.mixed(epsilon, SIGNED.norm**2 / exact.sigma, 1e-5) > epsilon  # all of ε for the predictor
    assert LogisticGram.tuned(SIGNED, 0.1, None, 1e-5, False).epsilon(1e-5) == math.inf


def test_no_two_records_move_the_matrix_further_than_its_noise_allows():
    oracle, found = LogisticGram.tuned(SIGNED, 0.1, 1.0, 1e-5, False), []
    for seed in range(2000):
        rows, _ = batch(SIGNED, 2, seed)
        if seed == 0:
            rows = SIGNED.norm * np.eye(SIGNED.dimension)[:2]
        matrix = np.outer(rows[0], rows[0]) - np.outer(rows[1], rows[1])
        variances = oracle.sigma**2 * (1 + np.eye(SIGNED.dimension))
        found.append(math.sqrt((np.triu(matrix) ** 2 / variances).sum()))
    assert max(found) == pytest.approx(SIGNED.norm**2 / oracle.sigma)


@pytest.mark.parametrize(
    ("kind", "drawn", "n"),
    [
        ("quadratic", "steps", 500),
        ("quadratic", "twin", 2000),
        ("logistic with matrix", "steps", 500),
        pytest.param("quadratic", "steps", 2000, marks=pytest.mark.slow),
        pytest.param("logistic with matrix", "steps", 2000, marks=pytest.mark.slow),
        pytest.param("logistic with matrix", "twin", 2000, marks=pytest.mark.slow),  # it solves a regression each time
    ],
)
def test_the_noise_of_a_matrix_has_its_law(kind, drawn, n):
    """Of a record that is 0: symmetric, N(0, σ²), and 2σ² on the diagonal; half of that would be seen."""
    oracle, rng, d = KINDS[kind][0].tuned(SIGNED, 0.1, 1.0, 1e-5, False), Generator(SFC64(4)), SIGNED.dimension
    fit = oracle.fitted if drawn == "twin" else partial(fitted, kind, oracle)
    grams = np.array([fit(np.zeros((1, d)), np.zeros(1), rng).gram for _ in range(n)]) / oracle.sigma
    np.testing.assert_array_equal(grams, grams.transpose(0, 2, 1))
    i, j = np.triu_indices(d)
    entries = grams[:, i, j] / np.where(i == j, math.sqrt(2), 1)  # standard normal numbers
    assert stats.kstest(entries.ravel(), "norm").pvalue > 1e-3
    squares = (entries**2).sum(axis=0)
    low, high = stats.chi2(n).ppf([1e-5, 1 - 1e-5])
    assert ((low < squares) & (squares < high)).all()
    assert (0.5 * squares[i == j] < low).all()  # the variance of the others
    correlations = np.corrcoef(entries.T) - np.eye(len(i))
    assert np.abs(correlations).max() < 4.5 / math.sqrt(n)  # 45 pairs; exceeded with a probability of 3e-4


def test_the_vector_that_perturbs_the_loss_has_its_law():
    """|b| is Gamma(d, 2L/ε'), by Kolmogorov and Smirnov; with half of the scale it would not be."""
    known = Contexts(3, nonnegative=True)
    oracle = Logistic.tuned(known, 0.5, 1.0, 0.5, False)
    state, lengths = record(**oracle.state(1))[0], []
    rng = Generator(SFC64(3))
    for _ in range(4000):
        logistic_oracle.noise(state, oracle.strength(1), rng)
        lengths.append(float(np.linalg.norm(state.b)))
    p = {share: stats.kstest(lengths, stats.gamma(3, scale=share * oracle.length(1)).cdf).pvalue for share in (1, 0.9)}
    assert p[1] > 1e-3 and p[0.9] < 1e-6


def test_a_batch_that_cannot_end_needs_no_room():
    assert [largest_batch(t) for t in (1, 2, 3, 6, 7, 14, 15)] == [1, 1, 2, 2, 4, 4, 8]
    oracle = Logistic.tuned(COUNTS, 0.1, None, 0.5, False)
    state = record(**oracle.state(2))[0]
    for _ in range(5):
        logistic_oracle.learn(state, np.ones(4) / 2, 1.0)
    assert state.n == 2


def test_a_number_draws_the_arm_of_its_interval():
    chances = np.array([0.25, 0.0, 0.5, 0.25])
    assert [drawn_arm(chances, u) for u in (0.0, 0.2499, 0.25, 0.7499, 0.75, 1 - 2**-53)] == [0, 0, 2, 2, 3, 3]
