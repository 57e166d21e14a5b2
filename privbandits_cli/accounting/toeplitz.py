"""Toeplitz factorisations of prefix sums: the square root, and buffered linear Toeplitz matrices (BLT).

The n prefix sums of a stream x are A x, where A is the lower triangle of ones. A factorisation A = B C releases
B (C x + z) = A x + B z with z standard normal noise, so all sums together are Gaussian noise on C x. If both factors
are lower triangular Toeplitz matrices with coefficients b and c, the noise of sum t has the variance b_0² + ... +
b_(t-1)², and C x moves by at most |c| if one item changes by 1.

- The square root (Henzinger, Upadhyay & Upadhyay 2023; Fichtenberger, Henzinger & Upadhyay 2022): b = c, where
  c_k = (2k choose k)/4^k. Its noise needs a memory of n numbers.
- BLT (Dvijotham, McMahan, Pillutla, Steinke & Thakurta 2024): c_0 = 1 and c_k = Σ_j ω_j θ_j^(k-1), for a few buffers
  j. Its noise needs a memory of one number for each buffer.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from privbandits_cli.numerics.types import Floats, Ints

STARTS = (0.7, 0.8, 0.9, 1.0, 1.1)  # the fit starts with these slowest rates, as powers of 1/n


def square_root(n: int) -> Floats:
    """c_0, ..., c_(n-1) of the square root of A: c_k = c_(k-1) (2k - 1)/2k."""
    k = np.arange(1.0, n)
    return np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))])


def together(c: Floats, rounds: int) -> float:
    """The largest norm that a sum of `rounds` columns of C has, for coefficients c >= 0 that do not increase.

    It is that of the first columns: the product of two columns is a sum of c_k c_(k+d), where d is their distance, and
    has fewer terms for a later column. So no pair of columns has a larger product than the pair of first ones in the
    same order.
    """
    sums = np.cumsum(c)
    sums[rounds:] -= sums[:-rounds].copy() if rounds < len(c) else 0.0
    return float(np.linalg.norm(sums))


@dataclass(frozen=True)
class Blt:
    """A BLT, given by the rates at which its buffers fade: 1 - θ_j, and 1 - θ̂_j for its inverse.

    The generating function of c is Π_j (1 - θ̂_j z)/(1 - θ_j z). All coefficients of c and b are positive if
    1 > θ_1 > θ̂_1 > θ_2 > ... > θ̂_b > 0. The formulas are written with the rates, because the largest θ are close to 1.
    """

    rates: Floats
    inverse_rates: Floats

    def weights(self) -> Floats:
        """The weights ω in c_k = Σ_j ω_j θ_j^(k-1)."""
        between = self.rates[None, :] - self.rates[:, None]
        np.fill_diagonal(between, 1.0)
        away = self.inverse_rates[None, :] - self.rates[:, None]
        return np.asarray(away.prod(axis=1) / between.prod(axis=1), np.float64)

    def cumulative(self) -> tuple[float, Floats]:
        """The weights (β_0, β) in b_k = β_0 + Σ_j β_j θ̂_j^k."""
        between = self.inverse_rates[None, :] - self.inverse_rates[:, None]
        np.fill_diagonal(between, 1.0)
        away = self.rates[None, :] - self.inverse_rates[:, None]
        own = -away.prod(axis=1) / (self.inverse_rates * between.prod(axis=1))
        return float(np.prod(self.rates / self.inverse_rates)), own

    def sensitivity(self, n: int) -> float:
        """|c| for n items."""
        weights = self.weights()
        return math.sqrt(1 + float(weights @ _sums(_product(self.rates), n - 1) @ weights))

    def together(self, n: int, rounds: int) -> float:
        """The largest norm of a sum of that many columns, as of `together`: c_1, c_2, ... are sums of powers."""
        m, weights = min(n, rounds), self.weights()
        powers = np.exp(np.outer(np.arange(m - 1), np.log1p(-self.rates))) @ weights
        first = np.cumsum(np.concatenate([[1.0], powers]))
        later = weights * _sums(self.rates, m)
        rest = later @ _sums(_product(self.rates), n - m) @ later
        return math.sqrt(float(first @ first + rest))

    def deviation(self, n: int) -> float:
        """The largest standard deviation of the noise, that of sum n: √(b_0² + ... + b_(n-1)²)."""
        return math.sqrt(float(self.variances(np.array([n]))[0]))

    def variances(self, t: Ints) -> Floats:
        """b_0² + ... + b_(t-1)² for each of these t, `[sums]`."""
        return self._squares(t, lambda rates: _sums(rates, t))

    def mean_variance(self, n: int) -> float:
        """The mean of `variances` over 1, ..., n."""

        def mean(rates: Floats) -> Floats:
            return (1 - (1 - rates) * _sums(rates, np.array([n])) / n) / rates

        return float(self._squares(np.array([(n + 1) / 2]), mean)[0])

    def _squares(self, many: Floats | Ints, summed: Callable[[Floats], Floats]) -> Floats:
        """Sums of b_k²; many: their numbers of terms, `[sums]`; summed: Σ_k (1 - rate)^k for rates `[rates, 1]`."""
        last, own = self.cumulative()
        both = _product(self.inverse_rates).reshape(-1, 1)
        squares = last**2 * many + 2 * last * own @ summed(self.inverse_rates[:, None])
        return np.asarray(squares + np.outer(own, own).ravel() @ summed(both), np.float64)


def _product(rates: Floats) -> Floats:
    """1 - θ_i θ_j."""
    return np.asarray(rates[:, None] + rates[None, :] - np.outer(rates, rates), np.float64)


def _sums(rates: Floats, n: int | Ints) -> Floats:
    """Σ_(k<n) (1 - rate)^k."""
    return np.asarray(-np.expm1(n * np.log1p(-rates)) / rates, np.float64)


@cache
def fitted(n: int, buffers: int) -> Blt:
    """The BLT with the smallest product of |c| and deviation for n items, the best of several local minima.

    The variables are the logarithms of the increments of ln 1/rate, so the rates are positive and interleaved.
    """
    from scipy import optimize

    def made(x: Floats) -> Blt:
        rates = np.exp(-np.cumsum(np.exp(x)))[::-1]
        return Blt(rates[0::2], rates[1::2])

    def loss(x: Floats) -> float:
        return math.log(made(x).sensitivity(n) * made(x).deviation(n))

    found = []
    for power in STARTS:
        start = np.full(2 * buffers, math.log(power * math.log(n + 1) / (2 * buffers)))
        found.append(optimize.minimize(loss, start, method="BFGS", options={"gtol": 1e-9}))
    return made(min(found, key=lambda one: float(one.fun)).x)


def least_rms(n: int) -> float:
    """The least product of sensitivity and root mean square noise that a factorisation of the n sums can have.

    It is the sum of the singular values of A, 1/(2 sin((2j - 1) π/(4n + 2))) for j = 1, ..., n, divided by n
    (Henzinger, Upadhyay & Upadhyay 2023, with the exact singular values of A).
    """
    j = np.arange(1, n + 1)
    return float(np.mean(0.5 / np.sin((2 * j - 1) * math.pi / (4 * n + 2))))
