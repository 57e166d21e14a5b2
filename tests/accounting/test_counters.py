"""Counters: their noise against factorisations written out as matrices, and the values of independent computations."""

import csv
import math

import numpy as np
import pytest

from privbandits_cli.accounting import toeplitz, trees
from privbandits_cli.accounting.digits import least_sums
from tests.conftest import committed, script, some, started

counters = script("counters.py")
FOUND = {(row.law.title(), row.name): row.counter for row in counters.COUNTERS}

# E max and E rms at T = 2^10 and 2^16, from computations that are independent of this code.
REFERENCE = {
    ("Gaussian", "tree, shared top-up"): ("10", "10", "16", "16"),
    ("Gaussian", "tree, fresh top-up"): ("", "", "12.56", "12.56"),
    ("Gaussian", "tree, redrawn"): ("", "", "6.46", "6.46"),
    ("Gaussian", "tree"): ("10", "7.07", "16", "11.31"),
    ("Gaussian", "tree, smoothed"): ("7.05", "4.99", "10.95", "7.74"),  # by √m: 7.62 to 8.39
    ("Gaussian", "smooth binary"): (
        "6.32",
        "5.72",
        "9.38",
        "8.82",
    ),  # with w = h/2 everywhere: 7, 10
    ("Gaussian", "square root"): ("3.272", "", "4.596", "4.434"),
    ("Gaussian", "BLT, 3 buffers"): ("3.277", "3.113", "4.697", "4.505"),
    ("Gaussian", "BLT, 5 buffers"): ("3.272", "", "4.600", ""),
    ("Laplace", "tree, top-up"): ("44.7", "44.7", "90.5", "90.5"),
    ("Laplace", "tree"): ("44.7", "31.6", "90.5", "64.0"),
    ("Laplace", "k-ary tree"): ("", "", "43.8", "31.0"),  # at 2^10, k = 11 is better than the reference's k = 32
    ("Laplace", "k-ary, negative digits"): ("18.0", "", "33.9", "24.6"),
    ("Laplace", "smooth, unbalanced"): ("17.5", "15.0", "32.5", "29.0"),  # with noise on empty nodes: 17.5 and 32.4
}


def test_every_counter_has_a_reference():
    assert set(REFERENCE) == set(FOUND)


SLOWEST = ("Gaussian", "BLT, 5 buffers")


@pytest.mark.parametrize("name", some(REFERENCE, *REFERENCE.keys() - {SLOWEST}), ids=", ".join)
def test_the_noise_is_that_of_independent_computations(name):
    found = []
    for power in (10, 16):
        n = 2**power - 1
        counter = FOUND[name](n)
        errors = counter.errors(np.arange(1, n + 1))
        assert errors.shape == (n,)
        assert counter.largest() == pytest.approx(errors.max(), rel=1e-9)
        assert counter.rms() == pytest.approx(math.sqrt(np.mean(errors**2)), rel=1e-9)
        found += [counter.largest(), counter.rms()]
    for value, text in zip(found, REFERENCE[name], strict=True):
        last = 10.0 ** -len(text.partition(".")[2])
        assert not text or abs(value - float(text)) < 0.52 * last


def factors(blt, n):
    """C and B = A C^-1 of a BLT, from c_k = Σ ω θ^(k-1)."""
    c = np.concatenate([[1.0], ((1 - blt.rates) ** np.arange(n - 1)[:, None]) @ blt.weights()])
    return _toeplitz(c), np.tril(np.ones((n, n))) @ np.linalg.inv(_toeplitz(c))


@pytest.mark.parametrize("n", [5, 64, 200])
def test_factors_multiply_to_prefix_sums(n):
    """B C = A, |c| is the largest column of C, and the variance of sum t is the square of row t of B."""
    blt, sums = toeplitz.fitted(n, 2), np.tril(np.ones((n, n)))
    lower, rows = factors(blt, n)
    np.testing.assert_allclose(blt.variances(np.arange(1, n + 1)), (rows**2).sum(axis=1), rtol=1e-10)
    assert blt.sensitivity(n) == pytest.approx(np.linalg.norm(lower, axis=0).max(), rel=1e-12)
    assert blt.deviation(n) == pytest.approx(np.linalg.norm(rows, axis=1).max(), rel=1e-12)
    root = _toeplitz(toeplitz.square_root(n))
    np.testing.assert_allclose(root @ root, sums, atol=1e-12)


def _toeplitz(c):
    n = len(c)
    return np.array([[c[i - j] if i >= j else 0.0 for j in range(n)] for i in range(n)])


def test_the_fit_interleaves_and_is_as_published():
    made = toeplitz.fitted(2**16 - 1, 3)
    both = np.stack([made.rates, made.inverse_rates], axis=1).ravel()
    assert np.all(np.diff(both) > 0) and both[0] > 0 and both[-1] < 1
    np.testing.assert_allclose(made.rates, [3.1608e-5, 1.78910e-3, 8.12206e-2], rtol=2e-5)
    np.testing.assert_allclose(made.weights(), [8.75923e-3, 5.05570e-2, 0.313733], rtol=2e-5)
    assert made.sensitivity(2**16 - 1) == pytest.approx(2.116107, rel=1e-6)
    assert toeplitz.fitted(5 * 10**7 - 1, 5).sensitivity(5 * 10**7 - 1) == pytest.approx(2.565163, rel=1e-5)


def test_jax_privacy_agrees():
    """The numbers are those of jax_privacy 2.0.0, whose fits minimise the square of sensitivity times deviation."""
    root = toeplitz.square_root(1023)
    assert root[-1] == pytest.approx(0.017646009046805276, rel=1e-12)
    assert np.linalg.norm(root) == pytest.approx(1.8089342367660426, rel=1e-12)
    for n, loss, sensitivity in ((1023, 10.740586125321103, 1.8065182223), (65535, 22.063264931497617, 2.1161068086)):
        found = toeplitz.fitted(n, 3)
        assert (found.sensitivity(n) * found.deviation(n)) ** 2 == pytest.approx(loss, rel=1e-8)
        assert found.sensitivity(n) == pytest.approx(sensitivity, rel=1e-6)


@pytest.mark.parametrize("n", some([3, 20, 100, 1023], 3))
def test_no_gaussian_counter_is_below_the_bound(n):
    least = toeplitz.least_rms(n)
    singular = np.linalg.svd(np.tril(np.ones((n, n))), compute_uv=False)
    assert least == pytest.approx(singular.mean(), rel=1e-10)
    for (law, name), counter in FOUND.items():
        assert law == "Laplace" or counter(n).rms() >= least, name


def _nodes(t, levels):
    """The nodes (level, number) of prefix t."""
    return {(j, (t >> j) - 1) for j in range(levels) if t >> j & 1}


def _largest_mu(covariance, first):
    inverse = np.linalg.inv(covariance)
    after = [(np.arange(first, first + len(inverse)) >= i).astype(float) for i in range(1, first + len(inverse))]
    return max(math.sqrt(a @ inverse @ a) for a in after)


@pytest.mark.parametrize("levels", [2, 3, 5, 8])
def test_the_exact_privacy_of_trees_is_that_of_the_covariance(levels):
    prefixes = [_nodes(t, levels) for t in range(1, 2**levels)]
    fresh = np.array([[float(len(a & b)) for b in prefixes] for a in prefixes])
    fresh[np.diag_indices(len(fresh))] = levels
    assert trees.fresh_top_up(2**levels - 1) == pytest.approx(_largest_mu(fresh, 1), rel=1e-9)
    assert trees.fresh_top_up(2**levels - 1) < math.sqrt(levels)  # than if the nodes were released


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 20, 31, 32, 33, 100, 127])
def test_the_exact_privacy_of_a_redrawn_tree_is_that_of_the_covariance_at_every_horizon(n):
    t, levels = np.arange(n + 1), 1 + n.bit_length()
    redrawn = sum((t[:, None] >> j == t[None, :] >> j).astype(float) for j in range(levels))
    assert trees.redrawn(n) == pytest.approx(_largest_mu(redrawn, 0), rel=1e-9)
    assert trees.redrawn(n) < math.sqrt(levels)  # than if the nodes were released


def test_large_trees():
    assert trees.fresh_top_up(2**16 - 1) == pytest.approx(3.139, abs=5e-4)
    assert [round(trees.redrawn(n), 3) for n in (2**16 - 1, 2**26 - 1, 5 * 10**7 - 1)] == [1.568, 1.889, 1.873]


def test_negative_digits_represent_every_prefix():
    """The noise is that of the shortest representation, found by trying all digits."""
    k, height, n = 4, 3, 40
    digits = np.arange(-(k // 2), k // 2 + 1)
    least = np.full(n + 1, math.inf)
    for a in digits:
        for b in digits:
            for c in digits:
                value = a + k * b + k**2 * c
                if 0 <= value <= n:
                    least[value] = min(least[value], abs(a) + abs(b) + abs(c))
    np.testing.assert_allclose(least_sums(np.arange(1, n + 1), k, height, signed=True), least[1:])


def test_the_noise_of_a_blt_has_the_covariance_of_its_factor():
    """The stream x_t = z_t - Σ ω_j s_j, s_j <- θ_j s_j + x_t, summed up, 40,000 times 30 items, within 6 errors."""
    n, draws, rng = 30, 40_000, np.random.default_rng(1)
    blt = toeplitz.fitted(n, 2)
    weights, fade = blt.weights(), 1 - blt.rates
    state, total, made = np.zeros((draws, 2)), np.zeros(draws), []
    for _ in range(n):
        x = rng.standard_normal(draws) - state @ weights
        state = fade * state + x[:, None]
        total += x
        made.append(total.copy())
    rows = factors(blt, n)[1]
    wanted = rows @ rows.T
    scale = np.sqrt((np.outer(np.diag(wanted), np.diag(wanted)) + wanted**2) / draws)
    assert np.abs((np.cov(np.array(made)) - wanted) / scale).max() < 6
    plain = np.minimum.outer(np.arange(1, n + 1), np.arange(1, n + 1))  # of sums of the normal numbers themselves
    assert np.abs((np.cov(np.array(made)) - plain) / scale).max() > 100


def test_the_script_prints_the_table(capsys):
    found = counters.curves(1023)
    assert [(one.row.law.title(), one.row.name) for one in found] == list(FOUND)
    blt = next(one for one in found if one.row.name == "BLT, 3 buffers")
    assert blt.rms == pytest.approx(3.113, abs=5e-4) and blt.so_far[-1] == pytest.approx(blt.rms)
    counters.show(found, 1023)
    text = capsys.readouterr().out
    assert "BLT, 3 buffers" in text and "any factorisation" in text and max(map(len, text.splitlines())) <= 80


@pytest.mark.slow
def test_the_csv_is_the_committed_one_and_the_figure_has_all_counters(tmp_path):
    assert started("counters.py", tmp_path).exit_code == 0
    made, kept = (list(csv.DictReader((path / "counters.csv").open())) for path in (tmp_path, committed() / "results"))
    for one, other in zip(made, kept, strict=True):
        assert {**one, "E": "", "rms": ""} == {**other, "E": "", "rms": ""}
        for size in ("E", "rms"):  # a fit's last digits depend on the machine
            assert float(one[size] or 0) == pytest.approx(float(other[size] or 0), rel=1e-4)
    text = (tmp_path / "counters.svg").read_text(encoding="utf-8")
    assert all(f"{name} (" in text for _, name in FOUND)
    gone = started("counters.py", tmp_path / "gone")
    assert gone.exit_code == 2 and "gone: no such folder" in gone.stderr
