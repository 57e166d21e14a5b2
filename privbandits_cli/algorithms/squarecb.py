"""SquareCB (Foster & Rakhlin 2020) in batches, with a private regression oracle (`mechanisms.batches`).

f(a) is the predicted reward of arm a, and b the arm with the largest prediction. An arm a other than b is played with
probability 1/(K + γ (f(b) - f(a))), and b with the remaining probability. In a batch that begins after τ rounds,
γ = γ0 τ^r.
"""

from numpy.random import Generator

from privbandits_cli.games.contextual import Floats
from privbandits_cli.mechanisms.batches import ByGap, drawn_arm, ended
from privbandits_cli.mechanisms.oracle import oracle_fit, oracle_learn, oracle_predict
from privbandits_cli.numerics.jit import Record


class Parameters(ByGap):
    """γ0 and r."""

    read = "paper"
    display = "SquareCB"


def choose(state: Record, arms: Floats, rng: Generator) -> int:
    oracle_predict(state.theta, arms, state.scores)
    probabilities(state, state.scores, state.chances)
    return drawn_arm(state.chances, rng.random())


def probabilities(state: Record, f: Floats, out: Floats) -> None:
    """The probabilities of the arms with these predictions, `[k]`; in the first batch they are equal."""
    out[:] = 1.0 / len(out)
    if state.batch == 0:
        return
    best, rest, gamma = f.argmax(), 1.0, state.gamma * state.began**state.power
    for a in range(len(out)):
        if a != best:
            out[a] = 1.0 / (len(out) + gamma * (f[best] - f[a]))
            rest -= out[a]
    out[best] = rest


def update(state: Record, x: Floats, reward: float, rng: Generator) -> None:
    oracle_learn(state.oracle, x, reward)
    if ended(state):
        oracle_fit(state.oracle, state.theta, rng)
