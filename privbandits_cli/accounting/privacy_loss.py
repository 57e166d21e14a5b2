"""The law of a privacy loss on finitely many points: its δ at ε, its ε at δ, and the law of the sum of several losses.

An outcome that has the probability p with an item and q without it has the loss ln p/q. δ(ε) = E(1 - e^(ε - L))_+ for
the loss L with the item (Kairouz, Oh & Viswanath 2015). The losses of several releases add up.
`docs/privacy/privacy_loss.md` says how laws with a density are moved to points, so that their δ is a bound.

Units: ε and losses in nats. Domain: ε >= 0, 0 <= δ < 1.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.numerics.types import Floats

TINY = 1e-320  # below every δ, but with a finite logarithm
NEGLIGIBLE = 1e-18  # the smallest losses may be rounded up to one point if they have at most this mass


@dataclass(frozen=True, eq=False)
class PrivacyLoss:
    """The law of a privacy loss.

    losses: `[points]`, in increasing order. masses: their probabilities. infinite: the probability of an infinite loss.
    """

    losses: Floats
    masses: Floats
    infinite: float = 0.0

    @classmethod
    def between(cls, log_p: Floats, log_q: Floats) -> Self:
        """The loss of a law p with respect to a law q on the same points, from the logarithms of their masses."""
        never = log_q == -math.inf
        both = ~never & (log_p > -math.inf)
        ratio = log_p[both] - log_q[both]
        order = np.argsort(ratio)
        return cls(ratio[order], np.exp(log_p[both][order]), float(np.exp(log_p[never]).sum()))

    @classmethod
    def rounded_up(cls, cdf: Callable[[Floats], Floats], edges: Floats) -> Self:
        """A loss with this distribution function, rounded up to the next one of `edges`: δ is not understated.

        Low edges are left out if the mass below them is at most NEGLIGIBLE, and high edges if no mass is above them.
        Mass above the last edge counts as an infinite loss.
        """
        below = cdf(edges)
        first = max(0, int(np.searchsorted(below, NEGLIGIBLE, "right")) - 1)
        last = max(first + 2, int(np.searchsorted(below, 1.0)))
        below, edges = below[first : last + 1], edges[first : last + 1]
        masses: Floats = np.diff(below)
        masses[0] += below[0]
        return cls(edges[1:], masses, float(1 - below[-1]))

    def delta(self, epsilon: float) -> float:
        """δ(ε)."""
        beyond = int(np.searchsorted(self.losses, epsilon, "right"))
        spent = self.masses[beyond:] @ -np.expm1(epsilon - self.losses[beyond:])
        return min(1.0, float(spent) + self.infinite)

    def epsilon(self, delta: float) -> float:
        """The least ε >= 0 with δ(ε) <= delta; infinite if there is none."""
        from scipy.optimize import brentq

        if self.infinite > delta:
            return math.inf
        if delta == 0:
            return max(0.0, float(self.losses[-1]))
        if self.delta(0.0) <= delta:
            return 0.0
        beyond = self.infinite + np.cumsum(self.masses[:0:-1])[::-1]  # P(L > loss) >= δ(loss), without the last loss
        most = float(self.losses[int(np.searchsorted(-beyond, -delta / 2))])

        def excess(epsilon: float) -> float:  # a difference of logarithms, as δ may be 1e-11
            return math.log(max(self.delta(epsilon), TINY)) - math.log(delta)

        return float(brentq(excess, 0.0, most, xtol=1e-14 * most, rtol=1e-14))


def composed(parts: Sequence[tuple[PrivacyLoss, int]], tilt: float = 0.0) -> PrivacyLoss:
    """The law of a sum of independent losses.

    parts: laws, and how many losses of each are summed. All laws have evenly spaced points, at the same distance.
    tilt: θ >= 0. The masses times e^(θL) are convolved by a Fourier transform, whose error is about 1e-16 of the
    largest of these products. With θ = 0, δ has an error of about 1e-15. With θ > 0, δ has a small relative error at
    each ε near the mean of the tilted sum.
    """
    from scipy import fft

    grid = parts[0][0].losses
    step = float(grid[-1] - grid[0]) / (len(grid) - 1)
    size = 1 + sum(times * (len(law.losses) - 1) for law, times in parts)
    points = fft.next_fast_len(size, real=True)
    transform: NDArray[np.complex128] = np.ones(points // 2 + 1, np.complex128)
    log_moment = rest = 0.0
    for law, times in parts:
        tilted = law.masses * np.exp(tilt * (law.losses - law.losses[-1]))
        moment = float(tilted.sum())
        transform *= fft.rfft(tilted / moment, points) ** times
        log_moment += times * math.log(moment)
        rest += times * math.log1p(-law.infinite)
    first, last = (sum(times * float(law.losses[end]) for law, times in parts) for end in (0, -1))
    losses = first + np.arange(size, dtype=np.float64) * step
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(fft.irfft(transform, points)[:size], 0.0)) + log_moment - tilt * (losses - last)
    return PrivacyLoss(losses, np.exp(np.minimum(logs, 0.0)), -math.expm1(rest))
