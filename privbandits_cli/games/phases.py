"""The regret of a learner that plays arms in phases by upper confidence bounds: the theorem of `dp_klucb` (ours)."""

from typing import NamedTuple

import numpy as np

from privbandits_cli.numerics.types import Floats

GRID = np.concatenate([np.logspace(-6, -1, 200), np.linspace(0.1, 1, 301)[1:-1]])  # of λ: every λ gives a valid bound
LARGEST = 30.0  # λ: e^-30 is still distinct from 0 beside 1


class Phases(NamedTuple):
    """The numbers on which an arm's index depends, after each of its phases, `[phases]`."""

    plays: Floats  # N, of the arm
    gains: Floats  # n <= N, in its noisy sum
    noises: Floats  # m, Laplace numbers in its noisy sum


class Limit(NamedTuple):
    """The least q, over λ of `rates`, with -λx - ln(1 - q + q e^-λ) = (ln t + m cost)/n, where x is the noisy mean."""

    rates: Floats  # λ, `[rates]`
    cost: Floats  # the cost of a Laplace number, `[rates]`


def rates_of(epsilon: float) -> tuple[Floats, Floats]:
    """Some λ below ε, and -ln(1 - λ²/ε²), the logarithm of E e^(λZ) of a Laplace number Z; both `[rates]`."""
    rates = min(epsilon, LARGEST) * GRID
    return rates, -np.log1p(-((rates / epsilon) ** 2))


def pulls(phases: Phases, limit: Limit, epsilon: float, mean: float, best: float, rounds: Floats) -> Floats:
    """Bound on the expected plays of an arm of this mean after `rounds` `[points]`; best: the mean of a best arm.

    epsilon: the Laplace numbers have scale 1/ε. The arm begins a phase at a round t only if its limit is then at least
    `best` (`high`), or if the limit of a best arm is below `best` (`low`). Such a phase adds its length to the plays.
    """
    plays, n, m = phases
    rates, noise = rates_of(epsilon)
    after = np.add.outer(plays, plays)  # rounds that precede a phase if the best arm has had some number of phases
    found = []
    for t in rounds:
        spent = (np.log(t) + np.multiply.outer(m, limit.cost)) / n[:, None]
        least = ((-np.log1p(best * np.expm1(-limit.rates)) - spent) / limit.rates).max(1)  # mean whose limit is `best`
        exponent = np.multiply.outer(least, rates) - np.log1p(mean * np.expm1(rates)) - np.multiply.outer(m / n, noise)
        high = np.where(least > 0, np.exp(-n * np.maximum(exponent.max(1), 0.0)), 1.0)
        low = np.where(after < t, 1 / (after + 1), 0.0).sum(1)
        lengths = np.diff(np.minimum(plays, t), append=t)
        found.append(min(t, plays[0]) + lengths @ np.minimum(1.0, high + low))
    return np.array(found)
