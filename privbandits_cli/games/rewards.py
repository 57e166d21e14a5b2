"""The laws of a reward in the game `contextual`, given its mean."""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

Law = Literal["signs", "bernoulli", "gaussian", "certain"]


class Rewards(NamedTuple):
    """A law of rewards, given their mean."""

    kind: str  # kind of the random number that determines a reward
    sigma: float
    largest: float  # |reward|
    lowest_mean: float  # the highest is the largest reward


REWARDS: dict[Law, Rewards] = {
    "signs": Rewards("uniform", 1.0, 1.0, -1.0),
    "bernoulli": Rewards("uniform", 0.5, 1.0, 0.0),
    "gaussian": Rewards("normal", 1.0, math.inf, -math.inf),
    "certain": Rewards("uniform", 0.5, 1.0, 0.0),  # σ = 1/2 covers any noise in [0, 1] about a linear mean
}


def signs(mean: float, number: float) -> float:
    """1 with probability (1 + mean)/2, else -1."""
    return 1.0 if 2.0 * number < 1.0 + mean else -1.0


def bernoulli(mean: float, number: float) -> float:
    """1 with probability mean, else 0."""
    return 1.0 if number < mean else 0.0


def gaussian(mean: float, number: float) -> float:
    """The mean and standard normal noise."""
    return mean + number


def certain(mean: float, number: float) -> float:
    """The mean itself."""
    return mean


LAWS: dict[Law, Callable[[float, float], float]] = {
    "signs": signs,
    "bernoulli": bernoulli,
    "gaussian": gaussian,
    "certain": certain,
}
SIGNS, BERNOULLI, GAUSSIAN, CERTAIN = range(len(LAWS))


def reward(law: int, mean: float, number: float) -> float:
    """A reward of the law at this place in LAWS; one loop plays all of them."""
    if law == SIGNS:
        drawn = signs(mean, number)
    elif law == BERNOULLI:
        drawn = bernoulli(mean, number)
    elif law == GAUSSIAN:
        drawn = gaussian(mean, number)
    else:
        drawn = certain(mean, number)
    return drawn
