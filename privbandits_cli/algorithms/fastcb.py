"""FastCB (Foster & Krishnamurthy 2021) in batches, with the private logistic oracle (`mechanisms.batches`).

f(a) is the predicted loss of arm a, 1 minus its predicted reward, in [0, 1], and b the arm with the smallest one. An
arm a other than b is played with probability f(b)/(K f(b) + γ (f(a) - f(b))), and b with the remaining probability. In
a batch that begins after τ rounds, γ = γ0 τ^r. Where f(b) = 0 this is its limit: 1/K for an arm with the same loss,
otherwise 0.

Close to b this is SquareCB with γ/f(b) in place of γ: an arm that hardly ever loses needs less comparison, and the
regret is then of order √L*, where L* is the loss of the best policy. So γ0 has another scale than in `squarecb`, and
its default is a tenth of that one's. The analysis needs log loss, and the oracle is always `logistic`.
"""

from typing import Literal

from numpy.random import Generator
from pydantic import Field

from privbandits_cli.algorithms.squarecb import update
from privbandits_cli.games.contextual import Floats
from privbandits_cli.games.parameters import Size
from privbandits_cli.mechanisms.batches import ByGap, drawn_arm
from privbandits_cli.mechanisms.oracle import oracle_predict
from privbandits_cli.numerics.jit import Record

__all__ = ["Parameters", "choose", "probabilities", "update"]


class Parameters(ByGap):
    """γ0 and r."""

    read = "paper"
    display = "FastCB"

    gamma: Size = Field(1.0, description="γ0")
    oracle: Literal["logistic"] = Field("logistic", description="logistic regression with a perturbed loss")


def choose(state: Record, arms: Floats, rng: Generator) -> int:
    oracle_predict(state.theta, arms, state.scores)
    probabilities(state, state.scores, state.chances)
    return drawn_arm(state.chances, rng.random())


def probabilities(state: Record, f: Floats, out: Floats) -> None:
    """The probabilities of the arms with these predictions in [0, 1], `[k]`; in the first batch they are equal."""
    out[:] = 1.0 / len(out)
    if state.batch == 0:
        return
    best, rest, gamma = f.argmax(), 1.0, state.gamma * state.began**state.power
    least = 1.0 - f[best]
    for a in range(len(out)):
        if a != best:
            if f[a] < f[best]:
                out[a] = least / (len(out) * least + gamma * (f[best] - f[a]))
            rest -= out[a]
    out[best] = rest
