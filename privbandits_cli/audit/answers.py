"""Audit of the arm played, for learners that also hide a round's own arms.

In each round a coin decides which of two arms is best by far. That arm has a random direction; all other arms are 0.
The arm played must not reveal the coin, in any window of rounds, and the answers of different rounds must be
independent. The audit of the base, in the same learner, covers what later arms reveal about a round.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.accounting.rounding import pair
from privbandits_cli.audit import evidence
from privbandits_cli.audit.ellipsoids import EARLY, LONGEST, SETS, Trio, longest
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.verdict import TESTS, Audit, contest
from privbandits_cli.games.contextual import Floats
from privbandits_cli.games.views import Answer
from privbandits_cli.numerics.types import Ints

LEAST = 100.0  # variance of a count, for the normal limit


def best_arms(target: Target[Answer]) -> Floats:
    """Pairs of sets of arms, `[2 sets, d, k]`: in the first only arm 0 is not 0, in the second only arm 1."""
    known = target.setting.known()
    directions = target.stream("directions").standard_normal((SETS, known.dimension))
    directions *= known.norm / np.linalg.norm(directions, axis=1, keepdims=True)
    arms = np.zeros((SETS, 2, known.dimension, target.setting.n_arms))
    arms[:, 0, :, 0] = arms[:, 1, :, 1] = directions
    return arms.reshape(2 * SETS, known.dimension, -1)


def windows_refuted(target: Target[Answer], hits: NDArray[np.bool_], coins: Floats, rounds: Ints) -> str:
    """The window of rounds in which the arms refute the claim; "" if there is none. hits: whether arm 1 is played."""
    groups = evidence.windows(np.minimum(rounds, LONGEST - 1))
    for name, own in groups.items():
        for arm in (0, 1):
            x, y = (((hits if arm else ~hits) & own)[own & (coins == c)] for c in (arm, 1 - arm))
            pairs, level = min(len(x), len(y)), target.alpha / (8 * len(groups))
            if TESTS[target.test](x[:pairs], y[:pairs], target.view.epsilon, 0.0, level) is not None:
                return name
    return ""


def dependence(followed: NDArray[np.bool_], rounds: Ints) -> tuple[float, int]:
    """(p-value, lag) of the largest correlation of answers; followed: whether the best arm is played, `[rounds]`."""
    from scipy import stats

    centred = followed.astype(float)
    for own in evidence.windows(np.minimum(rounds, LONGEST - 1)).values():
        centred[own] -= centred[own].mean()
    n, power = len(centred), float((centred**2).sum())
    if power < LEAST:
        return 1.0, 0
    products = np.fft.irfft(np.abs(np.fft.rfft(centred, 2 * n)) ** 2)[1 : n // 2]
    size = np.abs(products) / (power / n * np.sqrt(n - np.arange(1, n // 2)))
    lag = int(np.argmax(size))
    return min(1.0, len(size) * 2 * float(stats.norm.sf(size[lag]))), lag + 1


def audit_answers(target: Target[Answer], trio: Trio) -> Audit:
    """Whether the arm played reveals more about its own round's arms than ε allows; trio: the games of its base."""
    epsilon, rounds = target.view.epsilon, longest(target, max(64, target.budget // 4))
    words, early, bank = f"{pair(epsilon, 0.0)} of the arm of a round", min(EARLY, rounds), best_arms(target)
    games, so_far = trio.series(words, "base", ("answers", rounds, 1, bank), ("early answers", early, 4 * EARLY, bank))
    if so_far.verdict != "CONSISTENT":
        return so_far
    long, short = games
    arms, coins = (
        np.concatenate([a.ravel(), b.ravel()]) for a, b in ((short.arms, long.arms), (short.shown, long.shown))
    )
    coins, t = (coins % 2).astype(float), np.concatenate([np.tile(np.arange(early), 4 * EARLY), np.arange(rounds)]) + 1
    found = contest(target, 1.0 * (arms == 1) - 1.0 * (arms == 0), coins, epsilon)
    p, lag = dependence(long.arms[0] == long.shown[0] % 2, t[-rounds:])
    wrong = windows_refuted(target, arms == 1, coins, t)
    if found.stopped is not None:
        wrong, cost = f"refuted after {found.stopped} pairs", 2 * found.stopped
    elif wrong:
        wrong, cost = f"refuted in {wrong}", len(arms)
    elif p < target.alpha / 4:
        wrong, cost = f"the answers of rounds {lag:,} apart depend on each other (p = {p:.2g})", len(arms)
    if wrong:
        return replace(so_far, verdict="VIOLATION", found=wrong, cost=cost, epsilon_seen=found.limit())
    fine = f"answers are independent (p = {p:.2g}); not refuted by {target.test}, in any window of rounds"
    return replace(so_far, found=fine, epsilon_seen=found.limit(), refutable=found.refutable())
