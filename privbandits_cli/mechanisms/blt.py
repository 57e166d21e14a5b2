"""Correlated noise for all prefix sums of a stream, by a buffered linear Toeplitz matrix (BLT; Dvijotham, McMahan,
Pillutla, Steinke & Thakurta 2024, "Efficient and near-optimal noise generation for streaming differential privacy").

The matrix A of prefix sums is B C, where C is the Toeplitz matrix with c_0 = 1 and c_k = Σ_j ω_j θ_j^(k-1). The noise
of prefix t is W_t = (B z)_t with standard normal numbers z, times σ. Since B = A C^-1, it is the sum of x_1, ..., x_t,
where x = C^-1 z is computed item by item: x_t = z_t - Σ_j ω_j s_j, and then s_j becomes θ_j s_j + x_t. This takes one
new number for each item and b + 1 stored ones: b buffers and W_t.

All prefixes together are B (C l + σ z) for the items l. An item that changes by Δ moves C l by at most |c| Δ, so the
prefixes are exactly μ-Gaussian-private with μ = |c| Δ/σ (`accounting.toeplitz`). Other noise made of the same numbers
is not: with x_t in place of their sum, which would be far less noise, μ would grow with the number of prefixes; with
(C z)_t, μ would be |b| Δ/σ, because A is C B as well, and σ is calibrated to |c|.
"""

from privbandits_cli.numerics.types import Floats


def add_item(buffers: Floats, noise: Floats, weights: Floats, rates: Floats, scale: float, fresh: Floats) -> None:
    """Turn the noise of a prefix into that of the next one, with σ = `scale` and the standard normal numbers `fresh`.

    buffers: `[b, N]`; noise, fresh: `[N]`; weights, rates: ω and 1 - θ, `[b]`. Zeros before the first item.
    """
    for i in range(len(noise)):
        x = scale * fresh[i]
        for j in range(len(rates)):
            x -= weights[j] * buffers[j, i]
        for j in range(len(rates)):
            buffers[j, i] += x - rates[j] * buffers[j, i]
        noise[i] += x
