"""LinUCB with ρ = 1 on the standard basis, as a bandit's index, and a bandit's gains made from given numbers."""

import numpy as np

from privbandits_cli.games import bandit
from privbandits_cli.numerics.jit import record


class Parameters(bandit.Algorithm):
    drawn = ()
    s: float
    sigma: float
    alpha: float

    def state(self, setting):
        k = setting.n_arms
        fixed, log_term = self.s, 2 * np.log(2 / self.alpha)
        return record(plays=np.zeros(k), sums=np.zeros(k), sigma=self.sigma, fixed=fixed, log_term=log_term)


class Table(bandit.Adversary):
    """A gain is 1 where the round's number lies below the arm's mean."""

    numbers: list[float]
    means: list[float]

    def __init__(self, numbers, means):
        super().__init__(numbers=numbers, means=means)

    def gains(self, setting, rng, blocks):
        for rounds in blocks:
            numbers = np.array(self.numbers[rounds.start - 1 : rounds.stop - 1])
            yield (numbers[:, None] < np.array(self.means)).astype(float)

    def mean_gains(self, setting):
        return np.array(self.means)


def choose(state, rng):
    logdet = 0.0
    for a in range(len(state.plays)):
        logdet += np.log(1.0 + state.plays[a])
    beta = state.fixed + state.sigma * np.sqrt(logdet + state.log_term)
    best, arm = -np.inf, 0
    for a in range(len(state.plays)):
        index = state.sums[a] / (1.0 + state.plays[a]) + beta / np.sqrt(1.0 + state.plays[a])
        if index > best:
            best, arm = index, a
    return arm


def update(state, arm, gain, rng):
    state.plays[arm] += 1.0
    state.sums[arm] += gain
