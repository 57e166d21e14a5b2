"""Counters: their noise against matrices written from the papers' words, its law, and its privacy by other methods."""

import math
from functools import partial
from importlib import import_module

import numpy as np
import pytest
from scipy import optimize

from privbandits_cli.accounting import toeplitz, trees
from privbandits_cli.games.linear import Draws
from privbandits_cli.mechanisms.blt import Buffered
from privbandits_cli.mechanisms.counters import best, class_of, counter, with_law
from privbandits_cli.mechanisms.fresh_top_up import FreshTopUp
from privbandits_cli.mechanisms.honaker import Honaker
from privbandits_cli.mechanisms.k_ary import KAryTree
from privbandits_cli.mechanisms.negative_digits import NegativeDigits
from privbandits_cli.mechanisms.shared_top_up import SharedTopUp
from privbandits_cli.mechanisms.smooth import SmoothTree, next_code
from privbandits_cli.mechanisms.square_root import MOST_ROUNDS, SquareRoot
from privbandits_cli.numerics.jit import compile_step, record
from tests import plain_counters
from tests.conftest import some

LINEAR = {  # those whose noise is linear in their numbers
    "tree, fresh top-up": partial(FreshTopUp, law="gaussian"),
    "tree, shared top-up": partial(SharedTopUp, law="gaussian"),
    "tree, shared top-up, Laplace": partial(SharedTopUp, law="laplace"),
    "tree": partial(KAryTree, law="gaussian"),
    "tree, Laplace": partial(KAryTree, law="laplace"),
    "k-ary": partial(KAryTree.best, law="laplace"),
    "k = 5": partial(KAryTree, law="gaussian", k=5),
    "negative digits": partial(NegativeDigits.best, law="laplace"),
    "negative digits, k = 4": lambda n: NegativeDigits(n, "laplace", 4),
    "negative digits, k = 3": lambda n: NegativeDigits(n, "laplace", 3),
    "negative digits, k = 2": lambda n: NegativeDigits(n, "laplace", 2),
    "smooth": partial(SmoothTree.best, law="gaussian"),
    "smooth, Laplace": partial(SmoothTree.best, law="laplace"),
    "smooth, balanced": partial(SmoothTree, law="gaussian", ones=4),
    "Honaker": partial(Honaker, law="gaussian"),
    "square root": partial(SquareRoot, law="gaussian"),
    "BLT": partial(Buffered, law="gaussian", buffers=3),
    "BLT, 1 buffer": partial(Buffered, law="gaussian", buffers=1),
}
NOTHING = np.empty(0)


def drawn(made, rounds):
    """How many numbers of its kind a coordinate takes in rounds 1 to `rounds`, `[rounds]`."""
    return made.draws(np.arange(1, rounds + 1))[made.kind]


def played(made, numbers, scale=1.0, compiled=False):
    """The noise of the prefixes 1, ..., n by the steps, `[n, N]`; numbers: `[in the order drawn, N]`."""
    file = import_module(type(made).__module__)
    add_item, release = (compile_step(step) if compiled else step for step in (file.add_item, file.release))
    width, marks = numbers.shape[1], np.append(0, np.cumsum(drawn(made, made.n + 1)))
    state, out = record(**made.state(width, scale))[0], np.zeros((made.n + 1, width))
    for t in range(made.n + 1):
        own = np.ascontiguousarray(numbers[marks[t] : marks[t + 1]]).ravel()
        rng = Draws(NOTHING, *((own, NOTHING) if made.kind == "laplace" else (NOTHING, own)))
        release(state, out[t], rng)
        if t < made.n:
            add_item(state, rng)
    return out[1:]


def by_unit_numbers(made, compiled=False):
    """The matrix of the noise, `[n, numbers]`: coordinate i of a run has number i alone."""
    return played(made, np.eye(int(drawn(made, made.n + 1).sum())), compiled=compiled)


@pytest.mark.parametrize("n", some([1, 2, 3, 7, 8, 27, 100], 1, 27))
@pytest.mark.parametrize("name", LINEAR)
def test_the_steps_make_the_noise_of_the_plain_twin(name, n):
    equals_the_plain_twin(LINEAR[name](n), compiled=False)


@pytest.mark.parametrize("name", some(LINEAR, "smooth"))
def test_compiled_steps_make_the_noise_of_the_plain_twin(name):
    equals_the_plain_twin(LINEAR[name](100), compiled=True)


def equals_the_plain_twin(made, compiled):
    found, wanted = by_unit_numbers(made, compiled), plain_counters.matrix(made)
    np.testing.assert_allclose(found[:, : wanted.shape[1]], wanted, atol=1e-9)
    assert (found[:, wanted.shape[1] :] == 0).all()  # numbers of the round after the last prefix


@pytest.mark.parametrize("n", some([1, 2, 5, 8, 27, 31, 100], 1, 27))
@pytest.mark.parametrize("name", LINEAR)
def test_declared_variances_are_those_of_the_noise(name, n):
    made = LINEAR[name](n)
    squares = made.unit * (plain_counters.matrix(made) ** 2).sum(axis=1)
    np.testing.assert_allclose(made.variances(np.arange(1, n + 1)), squares, rtol=1e-9)
    np.testing.assert_allclose(made.spread(), (squares.mean(), squares.max()), rtol=1e-9)


@pytest.mark.parametrize("name", LINEAR)
def test_mean_and_largest_variance_are_those_of_all_prefixes(name):
    for n in (1, 6, 500, 4095, 4096, 10_000):
        squares = LINEAR[name](n).variances(np.arange(1, n + 1))
        np.testing.assert_allclose(LINEAR[name](n).spread(), (squares.mean(), squares.max()), rtol=1e-8)


def moves(n):
    """Column i is how far item i + 1, changed by 1, moves the prefixes, `[n, n]`."""
    return np.tri(n)


@pytest.mark.parametrize("n", some([1, 2, 5, 8, 27, 31, 100], 1, 27))
@pytest.mark.parametrize("name", [name for name in LINEAR if LINEAR[name](3).law == "gaussian"])
def test_the_sensitivity_of_gaussian_noise_is_that_of_its_covariance(name, n):
    """μ² is the largest a' S^-1 a. Shared top-up noise also releases the empty prefix, which reveals nothing more."""
    made = LINEAR[name](n)
    noise = plain_counters.matrix(made)
    covariance = noise @ noise.T
    squares = np.diag(moves(n).T @ np.linalg.solve(covariance, moves(n)))
    if name == "tree, shared top-up":
        levels, _ = plain_counters.levels_of(n)
        whole = np.vstack([np.append(np.ones(levels), np.zeros(n)), plain_counters.matrix(made)])
        later = np.vstack([np.zeros(n), moves(n)])
        squares = np.diag(later.T @ np.linalg.pinv(whole @ whole.T) @ later)
    assert made.sensitivity() == pytest.approx(math.sqrt(squares.max()), rel=1e-8)
    assert made.sensitivity() <= made.counted() * (1 + 1e-12)


@pytest.mark.parametrize("n", some([5, 31, 100], 31))
@pytest.mark.parametrize("name", [name for name in LINEAR if LINEAR[name](3).law == "laplace" and "shared" not in name])
def test_the_sensitivity_of_laplace_noise_is_that_of_a_linear_programme(name, n):
    """The least |s|_1 with B s = a: the shift of the numbers that hides the move a of the prefixes."""
    made = LINEAR[name](n)
    noise = plain_counters.matrix(made)
    items = {1, 2, 3, n // 2, n // 2 + 1, n - 1, n, *range(4, n + 1, 7)}
    least = []
    for item in sorted(items):
        both = np.hstack([noise, -noise])
        found = optimize.linprog(np.ones(both.shape[1]), A_eq=both, b_eq=moves(n)[:, item - 1], bounds=(0, None))
        least.append(found.fun)
    assert max(least) == pytest.approx(made.sensitivity(), rel=1e-9)


COVERED = ["smooth", "tree, shared top-up, Laplace"]


@pytest.mark.parametrize(
    ("name", "draws", "less"),
    [(name, 10_000, 0.9) for name in COVERED]
    + [pytest.param(name, 40_000, 0.95, marks=pytest.mark.slow) for name in LINEAR],
)
def test_noise_has_its_covariance(name, draws, less):
    """Draws at T = 100, within six errors of each entry.

    A product of two linear forms has the variance S_ii S_jj + S_ij² + κ Σ B_ik² B_jk², with κ = 12 for Laplace numbers.
    Controls: independent noise of the same variances, and 10 % less noise (of 40,000 draws 5 %), are detected.
    """
    made = LINEAR[name](99)
    rng = np.random.default_rng(9)
    shape = (int(drawn(made, 100).sum()), draws)
    numbers = rng.standard_normal(shape) if made.law == "gaussian" else rng.laplace(size=shape)
    found = played(made, numbers, scale=2.0, compiled=True) / 2
    sample, noise = found @ found.T / draws, plain_counters.matrix(made)
    excess = 12 * noise**2 @ (noise**2).T if made.law == "laplace" else 0.0

    def farthest(covariance):
        own = np.diag(covariance)
        error = np.sqrt((np.outer(own, own) + covariance**2 + excess) / draws)
        return np.max(np.abs(sample - covariance) / error)

    wanted = made.unit * noise @ noise.T
    assert farthest(wanted) < 6
    assert farthest(np.diag(np.diag(wanted))) > 6 < farthest(less**2 * wanted)


@pytest.mark.parametrize("name", LINEAR)
def test_no_counter_is_below_the_bound_of_all_factorisations(name):
    """Laplace noise has √2 its scale as deviation, and the l1 norm is at least the l2 norm."""
    for n in (1, 2, 10, 100, 1023, 4096):
        made = LINEAR[name](n)
        assert made.rms() >= math.sqrt(made.unit) * toeplitz.least_rms(n) * (1 - 1e-12)


@pytest.mark.parametrize("n", some([1, 2, 3, 4, 5, 6, 12, 31, 100, 255, 256, 700, 1023], 1, 2, 3, 5, 6, 12, 31, 100))
def test_the_exact_privacy_of_smoothed_and_topped_up_trees_is_that_of_a_dense_solve(n):
    for made in (Honaker(n, "gaussian"), FreshTopUp(n, "gaussian")):
        noise = plain_counters.matrix(made)
        squares = np.diag(moves(n).T @ np.linalg.solve(noise @ noise.T, moves(n)))
        if isinstance(made, FreshTopUp):  # the empty prefix has noise of its own, which hides nothing
            squares = squares[squares > 0]
        assert made.sensitivity() == pytest.approx(math.sqrt(squares.max()), rel=1e-9)


def test_large_smoothed_trees():
    assert trees.smoothed(16) == pytest.approx(3.690468, abs=1e-6)
    assert trees.smoothed(1) == 1 and trees.smoothed(2) == pytest.approx(math.sqrt(1.8))  # by hand


@pytest.mark.parametrize("n", [1, 2, 3, 10, 99, 1000])
def test_the_best_parameters_have_the_least_noise(n):
    for law in ("gaussian", "laplace"):
        assert KAryTree.best(n, law).rms() == min(KAryTree(n, law, k).rms() for k in range(2, 65))
        shapes = [SmoothTree(n, law, ones) for ones in range(1, 30)]
        assert SmoothTree.best(n, law).rms() <= min(shape.rms() for shape in shapes if shape.levels <= 62)
    assert NegativeDigits.best(n, "laplace").rms() <= KAryTree.best(n, "laplace").rms()
    for law in ("gaussian", "laplace"):
        small = [name for name in with_law(law) if name not in ("square_root", "tree", "honaker")]
        if n > 10 or law == "laplace":
            assert counter(best(n, law), n, law).rms() == min(counter(name, n, law).rms() for name in small)


def test_prefixes_far_out():
    """At 10^15 and beyond, single prefixes and the whole have what they have in closed form."""
    n = 2**50 - 1
    assert KAryTree(n, "gaussian").spread() == (pytest.approx(25, rel=1e-12), 50)
    assert KAryTree(n, "gaussian").variances(np.array([n, 2**49]))[0] == 50
    made = SmoothTree.best(10**15, "gaussian")
    first = SmoothTree(2000, "gaussian", made.ones).variances(np.arange(1, 2001))
    np.testing.assert_array_equal(made.variances(np.arange(1, 2001)), first)
    assert made.spread()[1] == made.ones > made.spread()[0] > made.ones - 3
    assert NegativeDigits.best(10**15, "laplace").largest() < KAryTree.best(10**15, "laplace").largest()


def test_only_the_square_root_keeps_the_numbers_of_all_rounds():
    for name in with_law("gaussian") + with_law("laplace"):
        made = counter(name, 10**9, "gaussian" if "gaussian" in class_of(name).laws else "laplace")
        if name == "square_root":
            with pytest.raises(ValueError, match="for at most 16,384 rounds"):
                made.state(10, 1.0)
            assert SquareRoot(MOST_ROUNDS - 1, "gaussian").state(1, 1.0)["numbers"].size == MOST_ROUNDS - 1
        else:
            assert record(**made.state(10, 1.0)).nbytes < 20_000


def test_codes_of_smooth_trees_are_the_numbers_with_so_many_ones():
    codes = [n for n in range(2**10) if n.bit_count() == 4]
    assert [next_code(code) for code in codes[:-1]] == codes[1:]
