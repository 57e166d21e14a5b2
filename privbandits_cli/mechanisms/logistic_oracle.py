"""The logistic oracle: private logistic regression on the records (x, y) of a batch, by objective perturbation.

With 1/(1 + e^-<θ, x>) as the predicted reward, rewards scaled to [0, 1] and ℓ(s, y) = ln(1 + e^s) - y s,
θ = argmin Σ ℓ(<θ, x>, y) + m |θ|²/2 + <b, θ>, over the n records of the batch (Chaudhuri, Monteleoni & Sarwate 2011,
Algorithm 2). b has density proportional to e^(-ε' |b|/2L), where L bounds |x|: a random direction, and a length of the
law Gamma(d, 2L/ε'). m = n λ, or more if ε' needs it.

This is ε-private when one record is replaced. θ determines b = -Σ (predicted - y) x - m θ, so the density of θ is that
of b times |det ∂b/∂θ|. The first factor changes by at most e^ε', because each record's term has norm at most L. The
Jacobian is m I + Σ w x x' with weights w <= 1/4. Let A be this matrix without the record. With it, the determinant is
det A (1 + w x' A^-1 x), between det A and det A (1 + L²/4m). So the second factor changes by at most 1 + L²/4m, and
ε = ε' + ln(1 + L²/4m). The paper has twice this logarithm, because it bounds the two eigenvalues of the
difference one by one. But the determinants of both batches lie in the same range above det A.

At least half of ε is left for ε': m >= L²/4(e^(ε/2) - 1), and with the printed account L²/4(e^(ε/4) - 1).

Newton's method finds the minimum; it stops when the gradient is 1e-10 of what its terms may add up to, or after 100
steps. The account takes this minimum as exact, as it takes floating-point numbers for real ones.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from privbandits_cli.games.players import Contexts
from privbandits_cli.mechanisms.oracle import Fit, Oracle, eliminate, ends, solve
from privbandits_cli.numerics.arrays import copy
from privbandits_cli.numerics.jit import Record, once
from privbandits_cli.numerics.types import Floats

STEPS = 100  # of Newton's method, at most
EXACT = 1e-10
LEAST = 1e-10  # the share of a step below which it is not halved again


@dataclass(frozen=True)
class Logistic(Oracle):
    """The oracle with its ε, infinite without privacy; curvatures: how often a record's curvature is paid for."""

    spent: float
    curvatures: float = 1.0

    pure = True
    source = "objective perturbation"

    @classmethod
    def tuned(cls, known: Contexts, ridge: float, epsilon: float | None, delta: float, printed: bool) -> "Logistic":
        """The noise for ε; δ is not used."""
        return cls(known, ridge, math.inf if epsilon is None else epsilon, 2.0 if printed else 1.0)

    @property
    def least(self) -> float:
        """The least m."""
        return self.known.norm**2 / (4 * math.expm1(self.spent / (2 * self.curvatures))) if self.spent < 1400 else 0.0

    @property
    def predictions(self) -> tuple[float, float]:
        return 0.0, 1.0

    def strength(self, n: int) -> float:
        """m of a batch of n records."""
        return max(n * self.ridge, self.least)

    def length(self, n: int) -> float:
        """2L/ε', the scale of |b|."""
        curvature = math.log1p(self.known.norm**2 / (4 * self.strength(n)))
        return 2 * self.known.norm / (self.spent - self.curvatures * curvature)

    def epsilon(self, delta: float) -> float:
        return self.spent

    def state(self, records: int) -> dict[str, Any]:
        d, low, high = self.known.dimension, *self.range
        return {
            "n": 0,
            "low": low,
            "high": high,
            "ridge": self.ridge,
            "least": self.least,
            "spent": self.spent,
            "curvatures": self.curvatures,
            "norm": self.known.norm,
            "rows": np.zeros((records, d)),
            "rewards": np.zeros(records),
            "b": np.zeros(d),
            "step": np.zeros(d),
            "trial": np.zeros(d),
            "work": np.zeros((d, d + 1)),
        }

    def fitted(self, rows: Floats, rewards: Floats, rng: Generator) -> Fit:
        n, d = rows.shape
        b, m, (low, high) = np.zeros(d), self.strength(n), self.range
        if math.isfinite(self.spent):
            direction: Floats = rng.standard_normal((d,))
            length = self.length(n) * float(np.sum(rng.standard_exponential(d)))
            b = direction * (length / float(np.linalg.norm(direction)))
        y, theta = (rewards - low) / (high - low), np.zeros(d)

        def loss(at: Floats) -> float:
            s = rows @ at
            return float(np.logaddexp(0, s).sum() - y @ s + m * at @ at / 2 + b @ at)

        for _ in range(STEPS):
            p = share(rows @ theta)
            gradient = rows.T @ (p - y) + m * theta + b
            step = -np.linalg.solve((rows.T * (p * (1 - p))) @ rows + m * np.eye(d), gradient)
            part = 1.0
            while part > LEAST and loss(theta + part * step) > loss(theta):
                part /= 2
            theta = theta + part * step
        return Fit(theta)

    def predicted(self, theta: Floats, arms: Floats) -> Floats:
        return share(theta @ arms)

    def mechanism(self) -> str:
        return "a random vector added to the gradient of a batch's logistic loss"


def share(s: Floats) -> Floats:
    """1/(1 + e^-s), by the operations of `predict`: other ones break the ties of predictions next to 1 otherwise."""
    with np.errstate(over="ignore"):
        out: Floats = 1 / (1 + np.exp(-s))
    return out


def learn(oracle: Record, x: Floats, y: float) -> None:
    """Keep a record, with its reward scaled to [0, 1]; a batch that has no room does not end within the horizon."""
    if oracle.n < len(oracle.rewards):
        copy(x, oracle.rows[oracle.n])
        oracle.rewards[oracle.n] = (y - oracle.low) / (oracle.high - oracle.low)
        oracle.n += 1


def fit(oracle: Record, theta: Floats, rng: Generator) -> None:
    """The predictor of the batch; an empty batch begins."""
    m = max(oracle.n * oracle.ridge, oracle.least)
    noise(oracle, m, rng)
    minimise(oracle, theta, m)
    oracle.n = 0


@once
def minimise(oracle: Record, theta: Floats, m: float) -> bool:
    """Set θ to the minimum; returns whether Newton's method found it."""
    step, trial, d = oracle.step, oracle.trial, len(theta)
    theta[:] = 0.0
    now = loss(oracle, theta, m)
    for _ in range(STEPS):
        if newton(oracle, theta, m):
            return True
        part = 1.0
        while True:
            for i in range(d):
                trial[i] = theta[i] + part * step[i]
            then = loss(oracle, trial, m)
            if then <= now or part <= LEAST:
                break
            part /= 2.0
        copy(trial, theta)
        now = then
    return False


def noise(oracle: Record, m: float, rng: Generator) -> None:
    """Draw b; 0 without privacy."""
    b, square, length = oracle.b, 0.0, 0.0
    if oracle.spent == np.inf:
        return
    for i in range(len(b)):
        b[i] = rng.standard_normal()
        square += b[i] * b[i]
    for _ in range(len(b)):
        length += rng.standard_exponential()
    left = oracle.spent - oracle.curvatures * np.log1p(oracle.norm**2 / (4.0 * m))
    scale = 2.0 * oracle.norm / left * length / np.sqrt(square)
    for i in range(len(b)):
        b[i] *= scale


def loss(oracle: Record, theta: Floats, m: float) -> float:
    """The perturbed loss at θ."""
    total = 0.0
    for i in range(len(theta)):
        total += theta[i] * (oracle.b[i] + 0.5 * m * theta[i])
    for t in range(oracle.n):
        s = score(oracle.rows[t], theta)
        total += max(s, 0.0) + np.log1p(np.exp(-abs(s))) - oracle.rewards[t] * s
    return total


def score(x: Floats, theta: Floats) -> float:
    """<θ, x>."""
    total, (first, last) = 0.0, ends(x)
    for i in range(first, last):
        total += theta[i] * x[i]
    return total


def newton(oracle: Record, theta: Floats, m: float) -> bool:
    """Set `step` = Newton's step from θ; returns whether θ is the minimum."""
    work, d, size = oracle.work, len(theta), 0.0
    work[:] = 0.0
    for t in range(oracle.n):
        x = oracle.rows[t]
        p = 1.0 / (1.0 + np.exp(-score(x, theta)))
        first, last = ends(x)
        size += abs(p - oracle.rewards[t])
        for i in range(first, last):
            weighted = p * (1.0 - p) * x[i]
            for j in range(i, last):
                work[i, j] += weighted * x[j]
            work[i, d] -= (p - oracle.rewards[t]) * x[i]
    size, gradient = size * oracle.norm, 0.0
    for i in range(d):
        work[i, i] += m
        work[i, d] -= m * theta[i] + oracle.b[i]
        gradient = max(gradient, abs(work[i, d]))
        size = max(size, abs(oracle.b[i]))
    if gradient <= EXACT * size:
        return True
    eliminate(work)
    solve(work, oracle.step)
    return False


def predict(theta: Floats, arms: Floats, out: Floats) -> None:
    """The predicted mean rewards of `arms[d, k]`, scaled to [0, 1], `[k]`: 1/(1 + e^-<θ, x>)."""
    out[:] = 0.0
    for i in range(len(theta)):
        for a in range(len(out)):
            out[a] += theta[i] * arms[i, a]
    for a in range(len(out)):
        out[a] = 1.0 / (1.0 + np.exp(-out[a]))
