"""Audit of the arm played, for learners that also hide a round's own arms.

In each round a coin decides which of two arms is best by far. All rounds are forks of one state: the audit of the base
covers what later arms reveal about a round.
"""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.accounting.rounding import pair
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.verdict import Audit, contest
from privbandits_cli.games.contextual import Floats, choose
from privbandits_cli.games.views import Answer
from privbandits_cli.numerics.jit import Records


def observe_answers(states: Records, coins: Floats, best: Floats, played: NDArray[np.int64], rng: Generator) -> None:
    """Fill `played[fork]` with the arm played in each fork; best: the arms for each side of the coin, `[2, d, k]`."""
    for t in range(len(coins)):
        states[1] = states[0]
        played[t] = choose(states[1], best[int(coins[t])], rng)


def audit_answers(target: Target[Answer]) -> Audit:
    """Whether the arm played reveals more about its own round's arms than ε allows."""
    known, epsilon, rounds = target.setting.known(), target.view.epsilon, max(64, target.budget // 4)
    claim = f"{pair(epsilon, 0.0)} of the arm of a round"
    best = np.zeros((2, known.dimension, target.setting.n_arms))
    best[0, 0, 0] = best[1, 0, 1] = known.norm
    coins, played = target.coins(rounds), np.empty(rounds, np.int64)
    target.loop(observe_answers)(np.repeat(target.state, 2), coins, best, played, target.stream("noise"))
    score = 1.0 * (played == 1) - 1.0 * (played == 0)
    found = contest(target, score, coins, epsilon)
    if found.stopped is not None:
        return Audit("VIOLATION", claim, f"refuted after {found.stopped} pairs", 2 * found.stopped, found.limit())
    return Audit("CONSISTENT", claim, f"not refuted by {target.test}", rounds, found.limit(), found.refutable())
