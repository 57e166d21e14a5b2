"""Audit of the noisy prefixes of losses that a leader is given: games of a few rounds, the first loss the canary.

The first loss is at one of two ends of the loss set by a coin, the later ones are 0. Observed are the noisy prefixes
that the view names, through which alone losses may act: a twin that saw the other end but is given the same prefix must
play the same point (bypass.py). The claim is put to the test on a likelihood ratio of the prefixes. The noise of each
prefix must have the law of the nodes of which it is the sum, and the difference of any two that of the nodes which one
of them alone has. This detects a missing top-up, which no regret shows, and noise that is drawn anew.
"""

import math
from collections.abc import Hashable
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.audit import evidence, laws
from privbandits_cli.audit.bypass import Round, bypassed
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.verdict import Audit, Contest, contest, decided, refuted_share
from privbandits_cli.games.linear import Draws, Floats, Setting, choose, loss_set, update
from privbandits_cli.games.players import Algorithm
from privbandits_cli.games.steps import SOURCES
from privbandits_cli.games.views import Prefix, read
from privbandits_cli.numerics.jit import Records, unbound

prefix: Any = unbound  # bound when a loop is compiled

ROUNDS = 5  # the fewest for which log2 T is no whole number and two prefixes share a node
NUMBERS = 2**22  # of all games together, at most
FEWEST = 64  # games

Ends = NDArray[np.int64]


def shortened(algorithm: Algorithm, setting: Setting) -> Setting:
    """Games of a few rounds."""
    return setting._replace(horizon=max(2, min(ROUNDS, setting.horizon)))


def observe_prefixes(
    states: Records, coins: Floats, ends: Floats, numbers: Draws, marks: tuple[Ends, Ends, Ends], prefixes: Floats
) -> None:
    """`prefixes[game, round, N]` is what the base plays by.

    states: the first one, and room for the game's; ends: the canary's, `[2, N]`; numbers: of each kind those of all
    games, one after another; marks: of each kind where a game's rounds begin, and its end.
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
            noisy = prefix(states[1])
            for n in range(len(x)):
                prefixes[game, t, n] = noisy[n]
            update(states[1], ends[int(coins[game])] if t == 0 else nothing, rng)


class Noise(NamedTuple):
    """The law that the prefixes' noise should have: the names of each one's nodes, and a node's scale or deviation."""

    nodes: list[set[Hashable]]
    scale: float
    gaussian: bool

    def conformance(self, noise: Floats) -> float:
        """The p-value of `noise[game, prefix, N]` in units of the scale: each prefix and each pair, by Bonferroni."""
        found = [self._judged(noise[:, t], len(own)) for t, own in enumerate(self.nodes)]
        for (s, first), (t, second) in combinations(enumerate(self.nodes), 2):
            found.append(self._judged(noise[:, t] - noise[:, s], len(first ^ second)))
        return min(1.0, len(found) * min(found))

    def _judged(self, noise: Floats, nodes: int) -> float:
        flat = noise.ravel()
        if nodes == 0:
            return evidence.conformance(flat, 0.0)
        return evidence.conformance(laws.as_laplace(flat, laws.log_tail(flat, nodes, self.gaussian)), 1.0)

    def score(self, prefixes: Floats, ends: tuple[Floats, Floats]) -> Floats:
        """A likelihood ratio of the ends given `prefixes[game, prefix, N]`: a weighted sum of each prefix's own.

        The weights are those that are best for Gaussian noise with these nodes in common, for which this is exact.
        """
        later = self.nodes[1:]
        weights = np.linalg.solve([[float(len(s & t)) for s in later] for t in later], np.ones(len(later)))
        total = np.zeros(len(prefixes))
        for t, nodes in enumerate(later, 1):
            low, high = (
                laws.log_density((prefixes[:, t] - end) / self.scale, len(nodes), self.gaussian) for end in ends
            )
            total += weights[t - 1] * len(nodes) * (high - low).sum(axis=1)
        return np.round(total, 9)  # one Laplace node has atoms; unrounded, the last bits would depend on the coin


def expected(view: Prefix, setting: Setting, claim: Guarantee) -> Noise:
    """The noise that the claim needs: on the nodes of a tree with its top-up, or fresh on every loss."""
    rounds, (l1, l2) = range(int(setting.horizon)), loss_set(setting).changes()
    levels = view.levels or 1  # a loss is in so many nodes, at most
    if view.gaussian:
        scale = math.sqrt(levels) * l2 / gaussian.mu_of(claim.epsilon, claim.delta)
    else:
        scale = levels * l1 / claim.epsilon
    if view.levels is None:
        return Noise([set(range(t)) for t in rounds], scale, view.gaussian)

    def name(t: int, level: int) -> Hashable:
        """A node has a place in its level; top-up noise serves all prefixes, or one."""
        return ("node", level, t >> level) if t >> level & 1 else ("top-up", level, 0 if view.shared else t)

    return Noise([{name(t, level) for level in range(levels)} for t in rounds], scale, view.gaussian)


def audit_prefixes(target: Target[Prefix]) -> Audit:
    """Whether the prefixes reveal more of the first loss than (ε, δ), and whether their noise has its law."""
    setting, claim = target.setting, target.claim
    noise, ends = expected(target.view, setting, claim), loss_set(setting).ends()
    what = f"{'Gaussian' if noise.gaussian else 'Laplace'} noise of {noise.scale:.4g} a node"
    game = f"{int(setting.horizon)} rounds with N = {setting.n_arms}"
    words = f"{claim} of all noisy prefixes in {game}, {what}, {len(noise.nodes[-1])} nodes in the last"
    if _bypassed(target):
        more = "two losses that lead to one prefix lead to different points: more is used than the prefix"
        return Audit("VIOLATION", words, more, 2)
    coins, prefixes = _observed(target)
    cost, level = prefixes.shape[0] * prefixes.shape[1], target.alpha / 2  # half for the bet, half for the noise's law
    truth = np.zeros_like(prefixes)
    truth[:, 1:] = np.where(coins[:, None] > 0, ends[1], ends[0])[:, None]

    def met(share: float) -> Contest:
        """The contest on this share of the noise."""
        score = noise.score(truth + share * (prefixes - truth), ends)
        return contest(score, coins, claim.epsilon, claim.delta, level, target.test)

    found = met(1.0)
    conforms = noise.conformance((prefixes - truth) / noise.scale)
    limit = found.limit(claim.delta)
    result = decided(words, found, limit, conforms, level, target.test, cost, len(noise.nodes))
    if result.verdict == "VIOLATION":
        return result
    share = refuted_share(lambda share: met(share).stopped is not None)
    return replace(result, refutable=_epsilon(claim, noise.gaussian, share) if share else None)


def _epsilon(claim: Guarantee, normal: bool, share: float) -> float:
    """The ε of an algorithm whose nodes have this share of the claim's noise."""
    if normal:
        return gaussian.epsilon_of(gaussian.mu_of(claim.epsilon, claim.delta) / share, claim.delta)
    return claim.epsilon / share


def _bypassed(target: Target[Prefix]) -> bool:
    """Whether the second point depends on the first loss by another way than the prefix."""
    setting, steps = target.setting, target.steps
    asked = target.algorithm.draws(setting, np.array([1, 2]))
    sizes = [asked.get(kind, np.zeros(2, np.int64)) for kind in SOURCES]
    low, high = loss_set(setting).ends()
    ends = low, np.append(high[:1], low[1:])  # what is added to all experts changes no leader of them

    def play(end: int, numbers: Floats) -> Round:
        fork, x = target.state.copy(), np.zeros(setting.n_arms)
        noisy = sizes[1][0]
        first = Draws(np.full(sizes[0][0], 0.5), numbers[:noisy].copy(), numbers[noisy:].copy())
        second = Draws(np.full(sizes[0][1], 0.5), np.zeros(sizes[1][1]), np.zeros(sizes[2][1]))
        steps["choose"](fork[0], x, first)
        steps["update"](fork[0], ends[end], first)
        steps["choose"](fork[0], x, second)
        return Round(np.array(read(fork[0], target.view.losses)), x)

    return bypassed(play, int(sizes[1][0] + sizes[2][0]))


def _observed(target: Target[Prefix]) -> tuple[Floats, Floats]:
    """The coins of the games, and their prefixes `[game, round, N]`."""
    setting = target.setting
    rounds, ends = int(setting.horizon), np.array(loss_set(setting).ends())
    asked = target.algorithm.draws(setting, np.arange(1, rounds + 1))
    marks = {kind: np.append(0, np.cumsum(asked.get(kind, np.zeros(rounds, np.int64)))) for kind in SOURCES}
    most = rounds * setting.n_arms + sum(int(mark[-1]) for mark in marks.values())
    games = max(FEWEST, min(target.budget // rounds, NUMBERS // most))
    coins = target.coins(games)
    numbers = {kind: np.empty(games * mark[-1]) for kind, mark in marks.items()}
    for kind, out in numbers.items():
        SOURCES[kind](target.stream(kind))(out)
    prefixes = np.empty((games, rounds, setting.n_arms))
    loop = target.loop(observe_prefixes, prefix=target.at(target.view.losses))
    loop(np.repeat(target.state, 2), coins, ends, Draws(**numbers), tuple(marks.values()), prefixes)
    return coins, prefixes
