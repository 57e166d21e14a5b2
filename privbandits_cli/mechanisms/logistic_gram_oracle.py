"""The logistic oracle that also releases the matrix Σ x x' of each batch, for widths of confidence.

θ is that of the logistic oracle with ε/2, which needs no δ. The noise on the matrix is that of the quadratic oracle:
symmetric with entries N(0, σ²), and 2σ² on the diagonal, which is μ-GDP with μ = L²/σ. σ is the least with which both
releases together are (ε, δ)-private for any pair of releases with these guarantees (`accounting.composition.mixed_mu`).
By the printed account, the matrix alone is (ε/2, δ)-private, and the two ε are added.

The oracle predicts <θ, x>, so that a width can be added to it. The logistic oracle's prediction increases with <θ, x>.

After `fit` and until the next `learn`, `sums` has the noisy matrix in its upper triangle.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from privbandits_cli.accounting import composition
from privbandits_cli.games.players import Contexts
from privbandits_cli.mechanisms.logistic_oracle import Logistic
from privbandits_cli.mechanisms.logistic_oracle import fit as fit_predictor
from privbandits_cli.mechanisms.logistic_oracle import learn as keep
from privbandits_cli.mechanisms.oracle import Fit, ends
from privbandits_cli.mechanisms.quadratic_oracle import ROOT_2, predict
from privbandits_cli.numerics.jit import Record
from privbandits_cli.numerics.types import Floats

__all__ = ["LogisticGram", "fit", "learn", "predict"]


@dataclass(frozen=True, kw_only=True)
class LogisticGram(Logistic):
    """The oracle with the ε of its predictor, and with σ of the noise on its matrix, 0 without privacy."""

    sigma: float

    pure = False
    source = "objective perturbation and Gaussian noise, composed exactly"

    @classmethod
    def tuned(cls, known: Contexts, ridge: float, epsilon: float | None, delta: float, printed: bool) -> "LogisticGram":
        """Half of ε for the predictor, and the noise for what is left."""
        if epsilon is None:
            return cls(known, ridge, math.inf, sigma=0.0)
        half, log = epsilon / 2, math.log(1 / delta)
        if printed:
            mu = ROOT_2 * half / (math.sqrt(log + half) + math.sqrt(log))
        else:
            mu = composition.mixed_mu(half, epsilon, delta)
        return cls(known, ridge, half, 2.0 if printed else 1.0, sigma=known.norm**2 / mu)

    @property
    def predictions(self) -> tuple[float, float]:
        return -math.inf, math.inf

    def epsilon(self, delta: float) -> float:
        mu = self.known.norm**2 / self.sigma if self.sigma > 0 else math.inf
        return composition.mixed(self.spent, mu, delta)

    def state(self, records: int) -> dict[str, Any]:
        d = self.known.dimension  # these fields come first: numba confuses a record with one that it begins with
        return {"sigma": self.sigma, "sums": np.zeros((d, d)), **super().state(records)}

    def fitted(self, rows: Floats, rewards: Floats, rng: Generator) -> Fit:
        gram = rows.T @ rows
        if self.sigma > 0:
            noise, (i, j) = np.zeros(gram.shape), np.triu_indices(len(gram))
            noise[i, j] = rng.standard_normal(len(i))
            gram += self.sigma * (noise + noise.T - (2 - ROOT_2) * np.diag(np.diag(noise)))
        return Fit(super().fitted(rows, rewards, rng).theta, gram)

    def predicted(self, theta: Floats, arms: Floats) -> Floats:
        return theta @ arms

    def facts(self) -> dict[str, float]:
        return {"sigma": self.sigma} if self.sigma else {}

    def mechanism(self) -> str:
        return f"{super().mechanism()}, and Gaussian noise on its Σ x x' (σ = {self.sigma:.4g})"


def learn(oracle: Record, x: Floats, y: float) -> None:
    """Keep a record, and add it to the upper triangle of Σ x x'."""
    sums, (first, last) = oracle.sums, ends(x)
    if oracle.n == 0:
        sums[:] = 0.0
    for i in range(first, last):
        for j in range(i, last):
            sums[i, j] += x[i] * x[j]
    keep(oracle, x, y)


def fit(oracle: Record, theta: Floats, rng: Generator) -> None:
    """The predictor and the noisy matrix of the batch; the next record begins another one."""
    sums = oracle.sums
    if oracle.sigma > 0.0:
        for i in range(len(sums)):
            sums[i, i] += ROOT_2 * oracle.sigma * rng.standard_normal()
            for j in range(i + 1, len(sums)):
                sums[i, j] += oracle.sigma * rng.standard_normal()
    fit_predictor(oracle, theta, rng)
