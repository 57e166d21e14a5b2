"""Audit of a tree: games of three rounds with one arm, the first gain a canary, all noisy sums seen.

Three items make two levels, few enough to count. The canary is in the nodes that items 1 and 2 close; the exact
likelihood ratio of these two is the score. The noise of each node follows from the sums, so its law is tested, too:
noise that is drawn anew for every sum does not have it.
"""

import numpy as np

from privbandits_cli.audit import evidence
from privbandits_cli.audit.verdict import Audit, Steps, Test, canary, choose, compiled, contest, update
from privbandits_cli.games.bandit import Draws, Floats
from privbandits_cli.games.steps import SOURCES
from privbandits_cli.mechanisms.tree import depth
from privbandits_cli.numerics.jit import Records
from privbandits_cli.numerics.streams import stream

ITEMS = 3


def watch_trees(states: Records, coins: Floats, laplace: Floats, nodes: Floats, ranges: Floats) -> None:
    """`nodes[game, item]`: what the node that the item closes holds; `ranges[item]`: how far one gain may move it."""
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
            sums[n] = states[1].means[arm] * n
            nodes[game, n - 1] = sums[n] - sums[n & (n - 1)]


def audit_tree(bound: Steps, state: Records, epsilon: float, alpha: float, budget: int, seed: int, test: Test) -> Audit:
    """Whether the nodes that hold the canary tell more of it than ε, and whether every node's noise has its law."""
    games = budget // ITEMS
    coins = stream(seed, "audit", "coins", trial=0).integers(0, 2, games).astype(float)
    laplace = np.empty(games * ITEMS)
    SOURCES["laplace"](stream(seed, "audit", "laplace", trial=0))(laplace)
    nodes, ranges = np.empty((games, ITEMS)), np.empty(ITEMS)
    compiled(watch_trees, bound)(np.repeat(state, 2), coins, laplace.reshape(games, ITEMS), nodes, ranges)
    levels = depth(ITEMS)
    claim = f"ε = {epsilon:.4g} of all noisy sums, Laplace noise of scale {levels}/ε of a gain's range on each node"
    low, _ = bound["canary"](state[0])
    scales = ranges * levels / epsilon
    ends = low, low + ranges[0]
    held = [0, 1]  # items 1 and 2 close the nodes with the canary
    score = sum((np.abs(nodes[:, i] - ends[0]) - np.abs(nodes[:, i] - ends[1])) / scales[i] for i in held)
    score = np.round(score, 9)  # it has atoms at both ends, which rounding would tell apart by the coin
    noise = nodes.copy()
    noise[:, held] -= np.where(coins > 0, ends[1], ends[0])[:, None]
    conforms = evidence.conformance((noise / scales).ravel(), 1.0)
    level = alpha / 2
    found = contest(score, coins, epsilon, 0.0, level, test)
    stopped, limit, most = found.stopped, found.limit(0.0), found.refutable(epsilon, 0.0, level)
    if stopped is not None:
        return Audit("VIOLATION", claim, f"refuted after {stopped} pairs of games", 2 * ITEMS * stopped, limit, most)
    if conforms < level:
        law = f"the nodes' noise is not Laplace of that scale (p = {conforms:.2g})"
        return Audit("VIOLATION", claim, law, budget, limit, most)
    return Audit(
        "CONSISTENT", claim, f"noise conforms (p = {conforms:.2g}); not refuted by {test}", budget, limit, most
    )
