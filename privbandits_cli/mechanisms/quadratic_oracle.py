"""The quadratic oracle: private ridge regression on the records (x, y) of a batch.

θ = (Σ x x' + N + n λ I)^-1 (Σ x y + ν), over the n records of the batch. N is symmetric with entries N(0, σ²), and 2σ²
on the diagonal; ν ~ N(0, τ² I). If the matrix is not positive definite, λ is doubled until it is, which depends on the
noisy matrix alone.

The account is that of Gaussian noise when one record is replaced. Let L and B bound |x| and |y|. The matrix moves by at
most √2 L², so N hides it as σ hides L². The vector moves by at most Δ, which is √2 LB if all coordinates and rewards
are at least 0, as the two terms of the difference then have an angle of at most 90°. Both maxima are reached by
orthogonal records, and all is μ-GDP with μ² = (L²/σ)² + (Δ/τ)². Each term has one half.

If they may be negative, the angle φ between two vectors y x matters: μ² = sin² φ (L²/σ)² + (2 - 2 cos φ) (LB/τ)². With
s = σ/L² and t = τ/LB, its largest value is (1/s + s/t²)² for s <= t. At s = √2/μ, it is μ² for
t = √(√2/(1 - 1/√2))/μ = 2.197/μ. The benchmark (`batches`) has no case for negative numbers.

After `fit` and until the next `learn`, `sums` has the noisy sums. They are released with θ, which follows from them.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from privbandits_cli.accounting import gaussian as gdp
from privbandits_cli.games.players import Contexts
from privbandits_cli.mechanisms.oracle import Fit, Oracle, eliminate, ends, solve
from privbandits_cli.numerics.arrays import copy
from privbandits_cli.numerics.jit import Record
from privbandits_cli.numerics.types import Floats

ROOT_2 = math.sqrt(2)
SIGNED = math.sqrt(ROOT_2 / (1 - 1 / ROOT_2))  # τ μ/LB if numbers may be negative


@dataclass(frozen=True)
class Quadratic(Oracle):
    """The oracle with its noise: σ on the matrix, τ on the vector, both 0 without privacy."""

    sigma: float
    tau: float

    source = "Gaussian noise, exactly"

    @classmethod
    def tuned(cls, known: Contexts, ridge: float, epsilon: float | None, delta: float, printed: bool) -> "Quadratic":
        """The noise for (ε, δ): the least by the exact account, or by ρ-zCDP, ρ = (√(ln 1/δ + ε) - √ln 1/δ)²."""
        if epsilon is None:
            return cls(known, ridge, 0.0, 0.0)
        log = math.log(1 / delta)
        root = epsilon / (math.sqrt(log + epsilon) + math.sqrt(log))  # √ρ
        mu = ROOT_2 * root if printed else gdp.mu_of(epsilon, delta)
        tau = (2.0 if known.nonnegative else SIGNED) * known.norm * known.reward / mu
        return cls(known, ridge, ROOT_2 * known.norm**2 / mu, tau)

    def mu(self) -> float:
        """μ of a fit; infinite without noise, and if rewards are unbounded."""
        if not 0 < min(self.sigma, self.tau) <= max(self.sigma, self.tau) < math.inf:
            return math.inf
        s, t = self.sigma / self.known.norm**2, self.tau / (self.known.norm * self.known.reward)
        if self.known.nonnegative:
            return math.sqrt(1 / s**2 + 2 / t**2)
        return 1 / s + s / t**2 if s <= t else 2 / t

    def epsilon(self, delta: float) -> float:
        return gdp.epsilon_of(self.mu(), delta)

    def state(self, records: int) -> dict[str, Any]:
        d = self.known.dimension
        noise = {"sigma": self.sigma, "tau": self.tau}
        return {"n": 0, "ridge": self.ridge, **noise, "sums": np.zeros((d, d + 1)), "work": np.zeros((d, d + 1))}

    def fitted(self, rows: Floats, rewards: Floats, rng: Generator) -> Fit:
        n, d = rows.shape
        matrix, vector = rows.T @ rows, rows.T @ rewards
        if self.sigma > 0:
            for i in range(d):
                numbers = rng.standard_normal(d - i + 1)
                matrix[i, i] += ROOT_2 * self.sigma * numbers[0]
                matrix[i, i + 1 :] += self.sigma * numbers[1:-1]
                matrix[i + 1 :, i] = matrix[i, i + 1 :]
                vector[i] += self.tau * numbers[-1]
        shift = n * self.ridge
        while np.linalg.eigvalsh(matrix + shift * np.eye(d))[0] <= 0:
            shift *= 2
        return Fit(np.linalg.solve(matrix + shift * np.eye(d), vector), matrix)

    def facts(self) -> dict[str, float]:
        return {"sigma": self.sigma, "tau": self.tau} if self.sigma else {}

    def mechanism(self) -> str:
        return f"Gaussian noise on a batch's Σ x x' (σ = {self.sigma:.4g}) and Σ x y (τ = {self.tau:.4g})"


def learn(oracle: Record, x: Floats, y: float) -> None:
    """Add a record to the upper triangle of Σ x x' and to the last column, Σ x y."""
    sums, d, (first, last) = oracle.sums, len(x), ends(x)
    if oracle.n == 0:
        sums[:] = 0.0
    for i in range(first, last):
        for j in range(i, last):
            sums[i, j] += x[i] * x[j]
        sums[i, d] += x[i] * y
    oracle.n += 1


def fit(oracle: Record, theta: Floats, rng: Generator) -> None:
    """The predictor of the batch; the next record begins another one."""
    sums, work, d = oracle.sums, oracle.work, len(theta)
    if oracle.sigma > 0.0:
        for i in range(d):
            sums[i, i] += ROOT_2 * oracle.sigma * rng.standard_normal()
            for j in range(i + 1, d):
                sums[i, j] += oracle.sigma * rng.standard_normal()
            sums[i, d] += oracle.tau * rng.standard_normal()
    shift, definite = oracle.n * oracle.ridge, False
    while not definite:
        for i in range(d):
            copy(sums[i], work[i])
            work[i, i] += shift
        definite = eliminate(work)
        shift *= 2.0
    solve(work, theta)
    oracle.n = 0


def predict(theta: Floats, arms: Floats, out: Floats) -> None:
    """The predicted mean rewards of `arms[d, k]`, `[k]`: <θ, x>."""
    out[:] = 0.0
    for i in range(len(theta)):
        for a in range(len(out)):
            out[a] += theta[i] * arms[i, a]
