"""Audit of the noisy prefixes of losses that a leader is given: games of a few rounds, the first loss the canary.

A coin places the first loss at one of two ends of the loss set; all later losses are 0. The audit observes the noisy
prefixes that the view names. Losses may act only through these: a twin that saw the other end but receives the same
prefix must play the same point (bypass.py). The claim is tested on a likelihood ratio of the prefixes. The noise of a
prefix must have the law of the sum of its nodes, and the difference of two prefixes that of the nodes which only one of
them has. This detects noise that is drawn anew, and missing top-up noise, which the regret does not reveal.
"""

import math
from collections.abc import Hashable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.audit import laws
from privbandits_cli.audit.bypass import Round, bypassed
from privbandits_cli.audit.evidence import Conformance
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.verdict import Audit, weighed
from privbandits_cli.games.linear import Draws, Floats, Setting, choose, loss_set, update
from privbandits_cli.games.views import Prefix, read
from privbandits_cli.numerics.jit import Records, unbound

losses: Any = unbound  # bound when a loop is compiled

ROUNDS = 5  # the fewest for which log2 T is no whole number and two prefixes share a node
NUMBERS = 2**22  # random numbers of all games together, at most
FEWEST = 64  # games

Ends = NDArray[np.int64]


def observe_prefixes(
    states: Records, coins: Floats, ends: Floats, numbers: Draws, marks: tuple[Ends, Ends, Ends], prefixes: Floats
) -> None:
    """`prefixes[game, round, N]` is what the base plays by.

    states: the first state, and scratch space for a game's state; ends: the two canaries, `[2, N]`; numbers: the random
    numbers of all games in order, by kind; marks: by kind, where the rounds of a game begin, and its end.
    """
    u, v, w = marks
    x, nothing = np.zeros(ends.shape[1]), np.zeros(ends.shape[1])
    for game in range(len(coins)):
        states[1] = states[0]
        i, j, k = game * u[-1], game * v[-1], game * w[-1]
        for t in range(prefixes.shape[1]):
            rng = Draws(
                numbers.uniform[i + u[t] : i + u[t + 1]],
                numbers.laplace[j + v[t] : j + v[t + 1]],
                numbers.normal[k + w[t] : k + w[t + 1]],
            )
            choose(states[1], x, rng)
            prefixes[game, t] = losses(states[1])
            update(states[1], ends[int(coins[game])] if t == 0 else nothing, rng)


class Noise(NamedTuple):
    """The law that the noise of the prefixes should have: the nodes of each prefix, and their scale or deviation."""

    nodes: list[set[Hashable]]
    scale: float
    gaussian: bool

    def conformance(self, noise: Floats) -> float:
        """The p-value of `noise[game, prefix, N]` in units of the scale; Bonferroni over all prefixes and pairs."""
        found = [laws.conformance(noise[:, t], len(own), self.gaussian) for t, own in enumerate(self.nodes)]
        for (s, first), (t, second) in combinations(enumerate(self.nodes), 2):
            found.append(laws.conformance(noise[:, t] - noise[:, s], len(first ^ second), self.gaussian))
        return min(1.0, len(found) * min(found))

    def score(self, prefixes: Floats, ends: tuple[Floats, Floats]) -> Floats:
        """A likelihood ratio of the ends given `prefixes[game, prefix, N]`: a weighted sum of each prefix's own.

        The weights are those that are best for Gaussian noise with these nodes in common, for which this is exact.
        """
        later = self.nodes[1:]
        weights = np.linalg.solve([[float(len(s & t)) for s in later] for t in later], np.ones(len(later)))
        total = np.zeros(len(prefixes))
        for t, nodes in enumerate(later, 1):
            noise = [(prefixes[:, t] - end) / self.scale for end in ends]
            low, high = (laws.log_density(own, len(nodes), self.gaussian) for own in noise)
            total += weights[t - 1] * len(nodes) * (high - low).sum(axis=1)
        return np.round(total, 9)  # one Laplace node has atoms; unrounded, the last bits would depend on the coin


def expected(view: Prefix, setting: Setting, claim: Guarantee) -> Noise:
    """The noise that the claim needs: on the nodes of a tree with its top-up, or fresh on every loss."""
    rounds, (l1, l2) = range(int(setting.horizon)), loss_set(setting).changes()
    levels = view.levels or 1  # at most this many nodes contain a loss
    if view.gaussian:
        scale = math.sqrt(levels) * l2 / gaussian.mu_of(claim.epsilon, claim.delta)
    else:
        scale = levels * l1 / claim.epsilon
    if view.levels is None:
        return Noise([set(range(t)) for t in rounds], scale, view.gaussian)

    def name(t: int, level: int) -> Hashable:
        """The node of this level in prefix t: a position in its level, or top-up noise for all prefixes or for one."""
        return ("node", level, t >> level) if t >> level & 1 else ("top-up", level, 0 if view.shared else t)

    return Noise([{name(t, level) for level in range(levels)} for t in rounds], scale, view.gaussian)


def audit_prefixes(target: Target[Prefix]) -> Audit:
    """Whether the prefixes reveal more about the first loss than (ε, δ) allows, and whether their noise is right."""
    setting, claim = target.setting, target.claim
    noise, ends = expected(target.view, setting, claim), loss_set(setting).ends()
    law = "Gaussian" if noise.gaussian else "Laplace"
    game = f"{int(setting.horizon)} rounds with N = {setting.n_arms}, {law} noise of {noise.scale:.4g} a node"
    words = f"{claim} of all noisy prefixes in {game}, {len(noise.nodes[-1])} nodes in the last"
    if _bypassed(target):
        more = "two losses with the same prefix lead to different points: more is used than the prefix"
        return Audit("VIOLATION", words, more, 2)
    coins, prefixes = _observed(target)
    truth = np.zeros_like(prefixes)
    truth[:, 1:] = np.where(coins[:, None] > 0, ends[1], ends[0])[:, None]

    def scores(share: float) -> Floats:
        return noise.score(truth + share * (prefixes - truth), ends)

    conforms = Conformance(noise.conformance((prefixes - truth) / noise.scale))
    games, rounds, _ = prefixes.shape
    return weighed(target, words, scores, coins, conforms, games * rounds, rounds, law)


def _bypassed(target: Target[Prefix]) -> bool:
    """Whether the second point depends on the first loss other than through the prefix."""
    setting, steps = target.setting, target.steps
    uniform, laplace, normal = _asked(target, 2).values()
    low, high = loss_set(setting).ends()
    ends = low, np.append(high[:1], low[1:])  # adding a constant to all experts does not change the leader

    def play(end: int, numbers: Floats) -> Round:
        fork, x = target.state.copy(), np.zeros(setting.n_arms)
        first = Draws(np.full(uniform[0], 0.5), numbers[: laplace[0]].copy(), numbers[laplace[0] :].copy())
        second = Draws(np.full(uniform[1], 0.5), np.zeros(laplace[1]), np.zeros(normal[1]))
        steps["choose"](fork[0], x, first)
        steps["update"](fork[0], ends[end], first)
        steps["choose"](fork[0], x, second)
        return Round(np.array(read(fork[0], target.view.losses)), x)

    return bypassed(play, int(laplace[0] + normal[0]))


def _asked(target: Target[Prefix], rounds: int) -> dict[str, Ends]:
    """How many random numbers of each kind the algorithm asks for, `[rounds]`."""
    asked = target.algorithm.draws(target.setting, np.arange(1, rounds + 1))
    return {kind: asked.get(kind, np.zeros(rounds, np.int64)) for kind in Draws._fields}


def _observed(target: Target[Prefix]) -> tuple[Floats, Floats]:
    """The coins of the games, and their prefixes `[game, round, N]`."""
    setting, rounds = target.setting, int(target.setting.horizon)
    marks = {kind: np.append(0, np.cumsum(asked)) for kind, asked in _asked(target, rounds).items()}
    most = rounds * setting.n_arms + sum(int(mark[-1]) for mark in marks.values())
    games = max(FEWEST, min(target.budget // rounds, NUMBERS // most))
    coins, prefixes = target.coins(games), np.empty((games, rounds, setting.n_arms))
    numbers = Draws(*(target.numbers(kind, games * mark[-1]) for kind, mark in marks.items()))
    ends = np.array(loss_set(setting).ends())
    target.loop(observe_prefixes)(np.repeat(target.state, 2), coins, ends, numbers, tuple(marks.values()), prefixes)
    return coins, prefixes
