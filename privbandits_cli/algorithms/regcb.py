"""RegCB (Foster et al. 2018) in batches, with a private regression oracle that also releases Σ x x' of each batch.

Arm a has the score f(a) = <θ, x_a> and the width w s(a), with s(a) = √(x_a' V^-1 x_a). V is c I + S, where S is the
sum of the noisy matrices Σ x x' of all batches so far. Arm a may be the best one if f(a) + w s(a) is not less than
f(b) - w s(b) of any arm b. One of these arms is played, each with the same probability. This is the paper's variant by
elimination; no arm is eliminated for good.

The quadratic oracle's f(a) is the predicted reward, and the matrix is part of what its fits release. The logistic
oracle pays half of ε for the matrix (`mechanisms.logistic_gram_oracle`). Its predicted reward increases with f(a), so
that the same arms may be the best one.

The paper finds the largest and the smallest prediction among all regressors of small loss. We take a closed form for
linear predictors, with a w that the user chooses, from the repository private-contextual-bandits of alex-rbch (2026).
There c = 1. With noise V may then be indefinite; the repository inverts it all the same, and replaces a negative
x' V^-1 x with 0. Here c is the first of 1, 2, 4, ... with which V is positive definite. It depends on released matrices
alone.
"""

import math
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.games import views
from privbandits_cli.games.contextual import Floats, Setting
from privbandits_cli.games.ellipsoid import copy, invert
from privbandits_cli.games.parameters import Chance
from privbandits_cli.mechanisms.batches import Learner, drawn_arm, ended
from privbandits_cli.mechanisms.logistic_gram_oracle import LogisticGram
from privbandits_cli.mechanisms.oracle import Oracle, eliminate, ends, oracle_fit, oracle_learn, oracle_predict
from privbandits_cli.mechanisms.quadratic_oracle import Quadratic
from privbandits_cli.numerics.jit import Record, Records, record


class Parameters(Learner):
    """w, by which the width of each prediction is multiplied."""

    read = "paper"
    display = "RegCB"
    oracles: ClassVar[dict[str, type[Oracle]]] = {"quadratic": Quadratic, "logistic": LogisticGram}

    delta: Chance = Field(1e-5, description="δ, of the noise on the matrices")
    width: float = Field(0.1, ge=0, le=1e100, description="w: the larger, the more arms may be the best one")

    def state(self, setting: Setting) -> Records:
        d, k = setting.known().dimension, setting.n_arms
        grams = np.zeros((2, d, d))  # the sum of the noisy matrices, and V^-1
        return record(width=self.width, grams=grams, **self.fields(setting) | {"scores": np.zeros((2, k))})

    def mechanism(self) -> str:
        noisy = self.epsilon is not None and self.oracle == "logistic"
        return super().mechanism() + (", and Gaussian noise on its Σ x x'" if noisy else "")

    def view(self, setting: Setting) -> views.View | None:
        return None if self.epsilon is None else views.Fits(self.fits(setting), grams="grams")


def choose(state: Record, arms: Floats, rng: Generator) -> int:
    oracle_predict(state.theta, arms, state.scores[0])
    norms(state.grams[1], arms, state.scores[1])
    probabilities(state, state.scores, state.chances)
    return drawn_arm(state.chances, rng.random())


def probabilities(state: Record, f: Floats, out: Floats) -> None:
    """The probabilities of the arms with these scores and roots, `f[2, k]`; in the first batch they are equal."""
    low = -np.inf
    if state.batch > 0:
        for a in range(len(out)):
            low = max(low, f[0, a] - state.width * f[1, a])
    count = 0.0
    for a in range(len(out)):
        out[a] = 1.0 if f[0, a] + state.width * f[1, a] >= low else 0.0
        count += out[a]
    for a in range(len(out)):
        out[a] /= count


def update(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    oracle_learn(state.oracle, x, reward)
    if ended(state):
        oracle_fit(state.oracle, state.theta, rng)
        add_gram(state.oracle.sums, state.grams)


def add_gram(gram: Floats, grams: Floats) -> None:
    """Add a batch's matrix, an upper triangle, to the sum of all, and invert I plus this sum."""
    total, inverse, shift, definite = grams[0], grams[1], 1.0, False
    for i in range(len(total)):
        for j in range(len(total)):
            total[i, j] += gram[min(i, j), max(i, j)]
    while not definite:
        shifted(total, shift, inverse)
        definite = eliminate(inverse)  # most shifts are too small, which it finds out early
        if definite:
            shifted(total, shift, inverse)
            definite = not np.isnan(invert(inverse))
        shift *= 2.0


def shifted(total: Floats, shift: float, out: Floats) -> None:
    """out = total + shift I."""
    copy(total, out)
    for i in range(len(out)):
        out[i, i] += shift


def norms(inverse: Floats, arms: Floats, out: Floats) -> None:
    """√(x' V^-1 x) of `arms[d, k]`, `[k]`."""
    for a in range(len(out)):
        x = arms[:, a]
        square, (first, last) = 0.0, ends(x)
        for i in range(first, last):
            row = 0.0
            for j in range(first, i):
                row += inverse[i, j] * x[j]
            square += x[i] * (inverse[i, i] * x[i] + 2.0 * row)
        out[a] = math.sqrt(max(0.0, square))  # below 0 by rounding alone
