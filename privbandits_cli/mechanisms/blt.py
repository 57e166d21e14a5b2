"""Correlated noise for all prefix sums of a stream, by a buffered linear Toeplitz matrix (BLT; Dvijotham, McMahan,
Pillutla, Steinke & Thakurta 2024, "Efficient and near-optimal noise generation for streaming differential privacy").

The matrix A of prefix sums is B C, where C is the Toeplitz matrix with c_0 = 1 and c_k = Σ_j ω_j θ_j^(k-1). The noise
of prefix t is σ W_t, where W = B z with standard normal numbers z. Since B = A C^-1, W_t is the sum of x_1, ..., x_t,
where x = C^-1 z is computed item by item: x_t = z_t - Σ_j ω_j s_j, and then s_j becomes θ_j s_j + x_t. Each item takes
one new random number. The memory holds b + 1 numbers: b buffers and W_t.

All prefixes together are B (C l + σ z) for the items l. If an item changes by Δ, C l moves by at most |c| Δ, so the
prefixes are exactly μ-GDP with μ = |c| Δ/σ (`accounting.toeplitz`). Two similar choices of noise do not have this μ.
The noise σ x_t in place of σ W_t is far smaller, but its μ grows with the number of prefixes. The noise σ (C z)_t has
μ = |b| Δ/σ, because A = C B as well; there σ would have to be calibrated to |b|.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from privbandits_cli.accounting import toeplitz
from privbandits_cli.games.linear import Draws
from privbandits_cli.mechanisms.counter import Counter, release
from privbandits_cli.numerics.jit import Record
from privbandits_cli.numerics.types import Floats, Ints

__all__ = ["Buffered", "add_item", "release"]


@dataclass(frozen=True)
class Buffered(Counter):
    """A BLT fitted to n prefixes."""

    title = "a BLT"
    laws = ("gaussian",)
    steady = True

    buffers: int = 3  # at T = 2^16 its noise is 2 % above that of the square root

    @cached_property
    def fitted(self) -> toeplitz.Blt:
        """The matrix with the least noise for n prefixes."""
        return toeplitz.fitted(self.n, self.buffers)

    def state(self, width: int, scale: float) -> dict[str, Any]:
        return {
            "scale": scale,
            "weights": self.fitted.weights(),
            "rates": self.fitted.rates,
            "buffers": np.zeros((self.buffers, width)),
            "noise": np.zeros((1, width)),
        }

    def sensitivity(self) -> float:
        return self.fitted.sensitivity(self.n)

    def together(self, rounds: int) -> float:
        return self.fitted.together(self.n, rounds)

    def variances(self, prefixes: Ints) -> Floats:
        return self.fitted.variances(prefixes)

    def spread(self) -> tuple[float, float]:
        return self.fitted.mean_variance(self.n), self.fitted.deviation(self.n) ** 2

    def facts(self) -> dict[str, float]:
        """The rates 1 - θ and weights ω of the buffers, and the norm |c| of a column."""
        rates, weights = self.fitted.rates.tolist(), self.fitted.weights().tolist()
        found = {f"rate_{j}": rate for j, rate in enumerate(rates, 1)}
        return found | {f"omega_{j}": weight for j, weight in enumerate(weights, 1)} | {"norm": self.sensitivity()}


def add_item(counter: Record, rng: Draws) -> None:
    """Turn the noise of a prefix into that of the next one, with one normal number for each coordinate."""
    noise, buffers, weights, rates = counter.noise, counter.buffers, counter.weights, counter.rates
    width = noise.shape[1]
    first = len(rng.normal) - width
    for i in range(width):
        x = counter.scale * rng.normal[first + i]
        for j in range(len(rates)):
            x -= weights[j] * buffers[j, i]
        for j in range(len(rates)):
            buffers[j, i] += x - rates[j] * buffers[j, i]
        noise[0, i] += x
