"""BPO in batches (Attias et al. 2026): policy optimisation with bonuses, by all private predictors so far.

f_j(a) is the loss of arm a that predictor j predicts: 0 is the highest reward and 1 the lowest. The predictor is fitted
to the N_j = 2^(j-1) records of batch j, with which T_j = 2^j - 1 rounds are over. In each round, all predictors are
replayed for the arms of this round, from uniform probabilities q_1 and exposures D_1 = 0:

    bonus_j(a) = min(1, γ √(T_j/K)/(1 + D_j(a))),
    q_(j+1)(a) ∝ q_j(a) e^(-η N_j max(0, f_j(a) - bonus_j(a))),
    D_(j+1)(a) = D_j(a) + N_j q_j(a).

D_j(a) is how often arm a would have been played in earlier rounds with these arms. The arm is drawn with the last q.

All predictors are released, and each record is in the batch of one. So the arms of later rounds follow from releases,
of which one depends on the record, and ε is not divided.

We know this rule from the paper's code, private-contextual-bandits (`mechanisms.batches`). The code follows Levy &
Mansour 2026, who have bonuses and no privacy. We have not read the papers, only their abstracts.
"""

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.games.contextual import Floats, Setting
from privbandits_cli.games.parameters import Size
from privbandits_cli.mechanisms.batches import ByLosses, drawn_arm, ended, fits_within, loss, softmax
from privbandits_cli.mechanisms.oracle import oracle_fit, oracle_learn, oracle_predict
from privbandits_cli.numerics.arrays import copy
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(ByLosses):
    """η and γ."""

    read = "code"
    display = "BPO"

    eta: Size = Field(0.1, description="η")
    gamma: Size = Field(0.01, description="γ, of the bonuses")

    def state(self, setting: Setting) -> Records:
        fits, d, k = fits_within(setting.horizon), setting.known().dimension, setting.n_arms
        every = {"theta": np.zeros((fits, d)), "scores": np.zeros((fits, k))}  # a row for each predictor
        sums = {"exposures": np.zeros(k), "penalties": np.zeros(k)}
        return record(eta=self.eta, gamma=self.gamma, **self.fields(setting) | every | sums)


def choose(state: Record, arms: Floats, rng: Generator) -> int:
    for j in range(state.batch):
        oracle_predict(state.theta[j], arms, state.scores[j])
    probabilities(state, state.scores, state.chances)
    return drawn_arm(state.chances, rng.random())


def probabilities(state: Record, f: Floats, out: Floats) -> None:
    """The probabilities of the arms, `[k]`, with the predictions `f[j]` of each predictor so far."""
    exposures, penalties, size, total = state.exposures, state.penalties, 1.0, 0.0
    exposures[:] = 0.0
    penalties[:] = 0.0
    out[:] = 1.0 / len(out)
    for j in range(state.batch):
        total += size
        width = state.gamma * np.sqrt(total / len(out))
        for a in range(len(out)):
            bonus = min(1.0, width / (1.0 + exposures[a]))
            penalties[a] += state.eta * size * max(0.0, loss(state, f[j, a]) - bonus)
            exposures[a] += size * out[a]
        copy(penalties, out)
        softmax(out)
        size *= 2.0


def update(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    oracle_learn(state.oracle, x, reward)
    if ended(state):
        oracle_fit(state.oracle, state.theta[state.batch - 1], rng)
