"""A test of the noise of a tree's nodes, in games of the configured length, which reach all levels of a tree.

A released sum consists of an earlier released sum and of the node that the last gain closes. So the noise of each node
follows from two sums. It is tested by the node's level and by the round in which it was drawn.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.audit.coupling import DEEP, LONGEST, tree_of
from privbandits_cli.audit.evidence import by_groups, windows
from privbandits_cli.audit.releases import in_own_scale
from privbandits_cli.audit.target import Target, canary, choose, update, values
from privbandits_cli.audit.twins import copy
from privbandits_cli.audit.verdict import Audit, Verdict, claimed, law_words
from privbandits_cli.games.bandit import Draws, Floats
from privbandits_cli.games.views import Tree
from privbandits_cli.numerics.jit import Records

GAMES = 32  # so that a quarter of the scale would be found on a level with one node in a game
TESTED = 2**22  # nodes, at most
ROUNDING = 1e-15  # of a sum of gains, relative


def observe_nodes(
    states: Records,
    coins: Floats,
    uniform: Floats,
    laplace: Floats,
    closes: NDArray[np.int8],
    noise: Floats,
    scale: Floats,
    levels: NDArray[np.int64],
    arms: NDArray[np.int64],
) -> None:
    """Play a game; `noise[round]` is that of the node that the round closes, in ranges of its gain.

    coins: whether the gain of arm 0 is at the upper end of its range, `[rounds]`; the other arms earn the other end.
    closes: the level of the node that the n-th gain of an arm closes, `[rounds]`.
    Filled in as well, `[rounds]`: scale, by how much the noise grows with the Laplace number; levels, of the nodes;
    arms, those played.
    """
    copy(states, 0, 1)
    kept = values(states[1])
    plays = np.zeros(len(kept), np.int64)
    totals = np.zeros((len(kept), 64))  # for each arm and level, the noise of the nodes of this level and above
    sums = np.zeros(len(kept))
    for t in range(len(coins)):
        rng = Draws(uniform[t], laplace[t])
        low, high = canary(states[1])
        copy(states, 1, 2)
        arm = choose(states[1], rng)
        gain = high if (coins[t] > 0) == (arm == 0) else low
        update(states[1], arm, gain, rng)
        plays[arm] += 1
        moved = Draws(uniform[t], laplace[t] + 1.0)
        choose(states[2], moved)
        update(states[2], arm, gain, moved)
        scale[t] = (values(states[2])[arm] - values(states[1])[arm]) * plays[arm] / (high - low)
        sums[arm] += gain
        level = closes[plays[arm] - 1]
        total = values(states[1])[arm] * plays[arm] - sums[arm]
        noise[t] = (total - totals[arm, level]) / (high - low)
        levels[t], arms[t] = level, arm
        totals[arm, : level + 1] = total


def audit_tree(target: Target[Tree], exact: bool = False) -> Audit:
    """Whether the noise of all nodes, on every level and in every round, is that of a tree with the claimed ε.

    exact: whether its scale is known to suffice; then each node's noise is compared with its own scale.
    """
    rounds, counter = int(min(target.setting.horizon, LONGEST)), tree_of(target.view, target.setting)
    needed, closes = counter.sensitivity, counter.levels(rounds)
    games, level = max(1, min(GAMES, TESTED // rounds)), target.alpha / 2
    coins = (target.stream("coins").random((games, rounds)) < DEEP).astype(float)
    uniform, laplace = (target.numbers(kind, games * rounds).reshape(games, rounds) for kind in ("uniform", "laplace"))
    (noise, scale), (levels, arms) = np.empty((2, games, rounds)), np.empty((2, games, rounds), np.int64)
    states, observe = np.repeat(target.state, 3), target.loop(observe_nodes)
    for game in range(games):
        seen = noise[game], scale[game], levels[game], arms[game]
        observe(states, coins[game], uniform[game], laplace[game], closes, *seen)
    groups = {f"level {level}": levels.ravel() == level for level in np.unique(levels).tolist()}
    groups |= windows(np.tile(np.arange(1, rounds + 1), games))
    unit = in_own_scale(noise.ravel(), scale.ravel() * exact, target.claim.epsilon / needed)
    width = ROUNDING * rounds * (1 + target.claim.epsilon)
    found = by_groups(unit, groups, level, coins.ravel(), width, arms.ravel())
    verdict: Verdict = "VIOLATION" if found.p < level else "CONSISTENT"
    played = f"{games} game{'s' * (games > 1)} of {rounds:,} rounds with {levels.max() + 1} levels"
    words = law_words(replace(found, share=None) if exact else found, level)
    return Audit(verdict, claimed(target), words, games * rounds, played=played)
