"""Audit of the arm itself where a round's own arms are secret, too.

In each round one of two arms is best by far, by a coin. The rounds are forks of one state: what later arms reveal of a
round is for the audit of the base.
"""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.audit.target import Target
from privbandits_cli.audit.verdict import Audit, contest
from privbandits_cli.games.contextual import Floats, choose
from privbandits_cli.games.views import Answer
from privbandits_cli.numerics.jit import Records


def observe_answers(states: Records, coins: Floats, best: Floats, played: NDArray[np.int64], rng: Generator) -> None:
    """`played[fork]`, the arm of a fork of the state; best: the arms for each side of the coin, `[2, d, k]`."""
    for t in range(len(coins)):
        states[1] = states[0]
        played[t] = choose(states[1], best[int(coins[t])], rng)


def audit_answers(target: Target[Answer]) -> Audit:
    """Whether an arm reveals more of its own round's arms than ε."""
    known, epsilon, rounds = target.setting.known(), target.view.epsilon, max(64, target.budget // 4)
    claim = f"ε = {epsilon:.4g} of the arm of a round"
    best = np.zeros((2, known.dimension, target.setting.n_arms))
    best[0, 0, 0] = best[1, 0, 1] = known.norm
    coins, played = target.coins(rounds), np.empty(rounds, np.int64)
    target.loop(observe_answers)(np.repeat(target.state, 2), coins, best, played, target.stream("noise"))
    score = 1.0 * (played == 1) - 1.0 * (played == 0)
    found = contest(target, score, coins, epsilon)
    if found.stopped is not None:
        return Audit("VIOLATION", claim, f"refuted after {found.stopped} pairs", 2 * found.stopped, found.limit())
    return Audit("CONSISTENT", claim, f"not refuted by {target.test}", rounds, found.limit(), found.refutable())
