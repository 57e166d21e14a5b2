"""What a noisy sum of whole numbers costs: discrete Laplace and Skellam noise, and the least ε from their masses.

The ε at δ is that at which Σ max(0, P(k) - e^ε P(k - change)) is δ. A law is cut where it has less than 1e-9 δ. A sum
that is seen mod M has the masses of all k that are equal mod M together.

Units: ε in nats; change and M are whole numbers. Domain: 0 <= δ < 1; Skellam noise needs δ > 0.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from privbandits_cli.accounting.privacy_loss import PrivacyLoss
from privbandits_cli.numerics.types import Floats

EXPONENT = 512.0  # a larger ε overflows, or takes probabilities that underflow
REACH = 40.0  # scales or deviations beyond which a law on whole numbers is cut
CUT = 1e-9  # of δ, which the masses beyond may have


@dataclass(frozen=True)
class DiscreteLaplace:
    """Noise of the law P(k) ∝ e^(-|k|/s) on whole numbers; spread: s, in units of the most that one gain adds to a sum.

    At the scale 1/ε, a sum is ε-DP.
    """

    words: ClassVar[str] = "discrete Laplace noise of the scale that this takes"
    spread: float


@dataclass(frozen=True)
class Skellam:
    """The difference of two Poisson numbers; spread: its deviation, in units of the most that a gain adds to a sum."""

    words: ClassVar[str] = "Skellam noise of the deviation that this takes"
    spread: float


Noise = DiscreteLaplace | Skellam


def masses(law: Noise, unit: float, far: float) -> Floats:
    """P(k) for k = 0, 1, ..., from |k| = `far` on by REACH spreads; unit: what a gain adds to a sum."""
    spread = law.spread * unit
    k = np.arange(far + 2 + REACH * spread)
    if isinstance(law, DiscreteLaplace):
        own: Floats = np.asarray(math.tanh(0.5 / spread) * np.exp(-k / spread), np.float64)
    else:
        from scipy.special import ive

        own = np.asarray(ive(k, spread**2), np.float64)
    return own


@lru_cache(256)
def cost(law: Noise, unit: float, delta: float, change: float | None = None, modulus: float | None = None) -> float:
    """The ε at δ of a sum that one gain changes by `change`, by default by `unit`; infinite if it is not found.

    modulus: M, if the sum is seen mod M. An ε from EXPONENT on is not found, nor one at a δ below what the law is cut.
    """
    step = int(unit if change is None else change)
    if isinstance(law, DiscreteLaplace) and delta == 0 and modulus is None:
        return step / unit / law.spread
    if isinstance(law, DiscreteLaplace) and modulus is not None:
        k: Floats = np.arange(modulus, dtype=np.float64)
        rate = 1.0 / (law.spread * unit)
        seen = np.logaddexp(-rate * k, -rate * (modulus - k))  # ln Σ e^-|k + iM|/s over all i, up to a constant
        seen -= np.logaddexp.reduce(seen)
        return PrivacyLoss.between(seen, np.roll(seen, step)).epsilon(delta)
    own = masses(law, unit, step)
    both = np.concatenate([own[:0:-1], own])
    if both[:step].sum() > CUT * delta:
        return math.inf
    if modulus is None:
        both = np.append(both, np.zeros(step))
    else:
        both = np.bincount(np.arange(len(both)) % int(modulus), both, int(modulus))
    with np.errstate(divide="ignore"):
        log_masses = np.log(both)
    found = PrivacyLoss.between(log_masses, np.roll(log_masses, step)).epsilon(delta)
    return found if found < EXPONENT else math.inf
