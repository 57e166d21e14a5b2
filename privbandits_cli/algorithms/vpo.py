"""VPO in batches (Attias et al. 2026): vanilla policy optimisation by one private predictor, averaged.

f(a) is the predicted loss of arm a: 0 is the highest reward and 1 the lowest. If the predictor was fitted to B records,
arm a is played with the average over k = 0, ..., B - 1 of the probabilities proportional to e^(-k η f(a)). These are
the iterates of mirror descent on f from uniform play. η = η0 min(1/K, 1/√(K B)).

We draw k uniformly, which plays each arm with the same probability as the average, in a time that does not depend on B.

We know this rule from the paper's code, private-contextual-bandits (`mechanisms.batches`). The code follows Levy &
Mansour 2026. We have not read the papers, only their abstracts. That of Attias et al. states a regret of order
√(K T ln|F|) for a finite class F of predictors, one of which is right, and of √(K T ln|F|)(1 + ε^(-1/2)) with pure ε,
both up to logarithms.
"""

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.algorithms.squarecb import update
from privbandits_cli.games import views
from privbandits_cli.games.contextual import Floats, Setting
from privbandits_cli.games.parameters import Size
from privbandits_cli.mechanisms.batches import ByLosses, drawn_arm, loss, softmax
from privbandits_cli.mechanisms.oracle import oracle_predict
from privbandits_cli.numerics.jit import Record, Records, record

__all__ = ["Parameters", "choose", "probabilities", "update"]


class Parameters(ByLosses):
    """η0."""

    read = "code"
    display = "VPO"

    eta: Size = Field(2.0, description="η0")

    def state(self, setting: Setting) -> Records:
        return record(eta=self.eta, numbers=np.zeros(1), **self.fields(setting))

    def view(self, setting: Setting) -> views.View | None:
        return None if self.epsilon is None else views.Fits(self.fits(setting), numbers="numbers")


def choose(state: Record, arms: Floats, rng: Generator) -> int:
    state.numbers[0] = rng.random()
    oracle_predict(state.theta, arms, state.scores)
    probabilities(state, state.scores, state.chances)
    return drawn_arm(state.chances, rng.random())


def probabilities(state: Record, f: Floats, out: Floats) -> None:
    """The probabilities of the arms with these predictions, `[k]`, for the k that the state's number draws."""
    size = 1 + state.began // 2  # B; in the first batch 1, so k = 0, which is uniform play
    step = int(state.numbers[0] * size)  # k: a uniform one has the law of the average
    rate = state.eta * min(1.0 / len(out), 1.0 / np.sqrt(len(out) * size))
    for a in range(len(out)):
        out[a] = step * rate * loss(state, f[a])
    softmax(out)
