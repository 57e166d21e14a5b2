"""The laws of a reward in the game `contextual`, given its mean."""

import math
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
SIGNS, BERNOULLI, GAUSSIAN, CERTAIN = range(len(REWARDS))


def reward(law: int, mean: float, number: float) -> float:
    """A reward with this mean, from its random number, by the law at this place in REWARDS; one loop plays all laws."""
    if law == SIGNS:  # 1 with probability (1 + mean)/2, else -1
        drawn = 1.0 if 2.0 * number < 1.0 + mean else -1.0
    elif law == BERNOULLI:
        drawn = 1.0 if number < mean else 0.0
    elif law == GAUSSIAN:
        drawn = mean + number
    else:
        drawn = mean
    return drawn
