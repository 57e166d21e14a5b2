"""Audit of the noisy sums of a tree: games of three rounds with one arm, the first gain the canary.

A tree of three items has only two levels. The canary is in the nodes that items 1 and 2 close, and the exact
likelihood ratio of these two is the score. The noise of each node follows from the sums, so its law is tested, too:
noise that is drawn anew for every sum fails this test.
"""

from dataclasses import replace

import numpy as np

from privbandits_cli.audit import evidence
from privbandits_cli.audit.releases import moved_from_outside
from privbandits_cli.audit.target import Target, canary, choose, update, values
from privbandits_cli.audit.verdict import Audit, contest, decided
from privbandits_cli.games.bandit import Draws, Floats
from privbandits_cli.games.views import Tree
from privbandits_cli.mechanisms.tree import depth
from privbandits_cli.numerics.jit import Records

ITEMS = 3


def observe_trees(states: Records, coins: Floats, laplace: Floats, nodes: Floats, ranges: Floats) -> None:
    """Fill `nodes[game, item]` with the value of the node that the item closes, `ranges[item]` with its sensitivity."""
    for game in range(len(coins)):
        states[1] = states[0]
        sums = np.zeros(laplace.shape[1] + 1)
        for n in range(1, len(sums)):
            rng = Draws(0.0, laplace[game, n - 1])
            low, high = canary(states[1])
            ranges[n - 1] = high - low
            gain = 0.0
            if n == 1:
                gain = high if coins[game] > 0 else low
            arm = choose(states[1], rng)
            update(states[1], arm, gain, rng)
            sums[n] = values(states[1])[arm] * n
            nodes[game, n - 1] = sums[n] - sums[n & (n - 1)]


def audit_tree(target: Target[Tree]) -> Audit:
    """Whether the nodes with the canary reveal more about it than ε allows, and whether all noise has the right law."""
    further = moved_from_outside(target, target.state)
    if further is not None:
        return further
    epsilon, games, levels = target.claim.epsilon, target.budget // ITEMS, depth(ITEMS)
    coins, laplace = target.coins(games), target.numbers("laplace", games * ITEMS)
    nodes, ranges = np.empty((games, ITEMS)), np.empty(ITEMS)
    target.loop(observe_trees)(np.repeat(target.state, 2), coins, laplace.reshape(games, ITEMS), nodes, ranges)
    claim = f"ε = {epsilon:.4g} of all noisy sums, Laplace noise of scale {levels}/ε times a gain's range on each node"
    low, _ = target.at(target.view.canary)(target.state[0])
    scales = ranges * levels / epsilon
    ends = low, low + ranges[0]
    held = [0, 1]  # items 1 and 2 close the nodes with the canary
    score = sum((np.abs(nodes[:, i] - ends[0]) - np.abs(nodes[:, i] - ends[1])) / scales[i] for i in held)
    score = np.round(score, 9)  # it has atoms at both ends; unrounded, the last bits would depend on the coin
    noise = nodes.copy()
    noise[:, held] -= np.where(coins > 0, ends[1], ends[0])[:, None]
    conforms = evidence.by_groups((noise / scales).ravel(), {}, target.alpha / 2)
    found = contest(target, score, coins, epsilon)
    return replace(decided(claim, found, found.limit(), conforms, target.budget, ITEMS), refutable=found.refutable())
