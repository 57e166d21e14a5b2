"""Audit of the noisy prefixes of losses that a leader is given: games of a few rounds, the first loss a canary.

The first loss is at one of two ends of the loss set by a coin, the later ones are 0. What is watched is
`state.wrapped.losses` when the base plays, by which alone losses may act: a twin that saw the other end but is given
the same prefix must play the same point (twins.py). The claim is put to the test on a likelihood ratio of the prefixes;
and the noise of each must have the law of the nodes that it is made of, the difference of any two that of the nodes
which one of them alone has. So a top-up that is missing is seen, which no regret shows, and noise that is drawn anew.
"""

import math
from collections.abc import Hashable
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.algorithms.dp_ftrl import Aggregating
from privbandits_cli.audit import evidence, laws
from privbandits_cli.audit.twins import Seen, sees_more
from privbandits_cli.audit.verdict import Audit, Contest, Steps, Test, compiled, contest, refuted_share
from privbandits_cli.games.linear import Algorithm, Draws, Floats, Setting, choose, loss_set, update
from privbandits_cli.games.steps import SOURCES
from privbandits_cli.mechanisms import tree
from privbandits_cli.numerics.jit import Records
from privbandits_cli.numerics.streams import stream

ROUNDS = 5  # the fewest for which log2 T is no whole number and two prefixes share a node
NUMBERS = 2**22  # of all games together, at most
FEWEST = 64  # games

Ends = NDArray[np.int64]


def watch_prefixes(
    states: Records, coins: Floats, ends: Floats, numbers: Draws, marks: tuple[Ends, Ends, Ends], prefixes: Floats
) -> None:
    """`prefixes[game, round, N]` is what the base plays by.

    states: the first one, and room for the game's; ends: `[2, N]`, the canary's; numbers: of each kind those of all
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
            for n in range(len(x)):
                prefixes[game, t, n] = states[1].wrapped.losses[n]
            update(states[1], ends[int(coins[game])] if t == 0 else nothing, rng)


class Noise(NamedTuple):
    """What the noise of the prefixes should be: the names of the nodes in each, their scale or deviation, their law."""

    nodes: list[set[Hashable]]
    scale: float
    gaussian: bool

    def conformance(self, noise: Floats) -> float:
        """The p-value of `noise[game, prefix, N]` in units of the scale: of each prefix and each pair, Bonferroni."""
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
        """A likelihood ratio of the ends given `prefixes[game, prefix, N]`: of each prefix by itself, then weighed.

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
        return np.round(total, 9)  # of one Laplace node it has atoms, which rounding would tell apart by the coin


def expected(algorithm: Algorithm, setting: Setting, claim: Guarantee) -> Noise:
    """The noise that the claim asks for: of the nodes of a tree with its top-up, or fresh on every loss."""
    rounds, (l1, l2) = range(int(setting.horizon)), loss_set(setting).changes()
    if not isinstance(algorithm, Aggregating):
        return Noise([set(range(t)) for t in rounds], l1 / claim.epsilon, False)
    levels, once = tree.height(setting.horizon), algorithm.spare == "once"
    if algorithm.gaussian():
        scale = math.sqrt(levels) * l2 / gaussian.mu_of(claim.epsilon, claim.delta)
    else:
        scale = levels * l1 / claim.epsilon

    def name(t: int, level: int) -> Hashable:
        """A node has a place in its level; a spare serves all prefixes, or one."""
        return ("node", level, t >> level) if t >> level & 1 else ("spare", level, 0 if once else t)

    return Noise([{name(t, level) for level in range(levels)} for t in rounds], scale, algorithm.gaussian())


def audit_prefixes(
    algorithm: Algorithm, setting: Setting, bound: Steps, state: Records, claim: Guarantee, alpha: float,
    budget: int, seed: int, test: Test,
) -> Audit:  # fmt: skip
    """Whether the prefixes tell more of the first loss than (ε, δ), and whether their noise has its law."""
    noise, ends = expected(algorithm, setting, claim), loss_set(setting).ends()
    what = f"{'Gaussian' if noise.gaussian else 'Laplace'} noise of {noise.scale:.4g} a node"
    game = f"{int(setting.horizon)} rounds with N = {setting.n_arms}"
    said = f"{claim} of all noisy prefixes in {game}, {what}, {len(noise.nodes[-1])} nodes in the last"
    if _sees_more(algorithm, setting, bound, state):
        more = "two losses that lead to one prefix lead to different points: more is used than the prefix"
        return Audit("VIOLATION", said, more, 2)
    coins, prefixes = _watch(algorithm, setting, bound, state, budget, seed)
    cost, level = prefixes.shape[0] * prefixes.shape[1], alpha / 2  # half for the bet, half for the noise's law
    truth = np.zeros_like(prefixes)
    truth[:, 1:] = np.where(coins[:, None] > 0, ends[1], ends[0])[:, None]

    def met(share: float) -> Contest:
        """The bet, had there been this share of the noise."""
        score = noise.score(truth + share * (prefixes - truth), ends)
        return contest(score, coins, claim.epsilon, claim.delta, level, test)

    found = met(1.0)
    limit = found.limit(claim.delta)
    conforms = noise.conformance((prefixes - truth) / noise.scale)
    if found.stopped is not None:
        pairs = f"refuted after {found.stopped} pairs of games"
        return Audit("VIOLATION", said, pairs, 2 * len(noise.nodes) * found.stopped, limit)
    if conforms < level:
        law = f"the noise of the prefixes does not have that law (p = {conforms:.2g})"
        return Audit("VIOLATION", said, law, cost, limit)
    most = _epsilon(claim, noise.gaussian, refuted_share(lambda share: met(share).stopped is not None))
    return Audit("CONSISTENT", said, f"noise conforms (p = {conforms:.2g}); not refuted by {test}", cost, limit, most)


def _epsilon(claim: Guarantee, bell: bool, share: float | None) -> float | None:
    """What is lost, had every node this share of the claim's noise."""
    if share is None:
        return None
    if bell:
        return gaussian.epsilon_of(gaussian.mu_of(claim.epsilon, claim.delta) / share, claim.delta)
    return claim.epsilon / share


def _sees_more(algorithm: Algorithm, setting: Setting, bound: Steps, state: Records) -> bool:
    """Whether the second point depends on the first loss by another way than the prefix."""
    asked = algorithm.draws(setting, np.array([1, 2]))
    sizes = [asked.get(kind, np.zeros(2, np.int64)) for kind in SOURCES]
    low, high = loss_set(setting).ends()
    ends = low, np.append(high[:1], low[1:])  # no leader of experts minds what is added to all of them

    def play(end: int, numbers: Floats) -> Seen:
        fork, x = state.copy(), np.zeros(setting.n_arms)
        noisy = sizes[1][0]
        first = Draws(np.full(sizes[0][0], 0.5), numbers[:noisy].copy(), numbers[noisy:].copy())
        second = Draws(np.full(sizes[0][1], 0.5), np.zeros(sizes[1][1]), np.zeros(sizes[2][1]))
        bound["choose"](fork[0], x, first)
        bound["update"](fork[0], ends[end], first)
        bound["choose"](fork[0], x, second)
        return Seen(fork[0].wrapped.losses.copy(), x)

    return sees_more(play, int(sizes[1][0] + sizes[2][0]))


def _watch(
    algorithm: Algorithm, setting: Setting, bound: Steps, state: Records, budget: int, seed: int
) -> tuple[Floats, Floats]:
    """The coins of the games, and what was seen of them."""
    rounds, ends = int(setting.horizon), np.array(loss_set(setting).ends())
    asked = algorithm.draws(setting, np.arange(1, rounds + 1))
    marks = {kind: np.append(0, np.cumsum(asked.get(kind, np.zeros(rounds, np.int64)))) for kind in SOURCES}
    most = rounds * setting.n_arms + sum(int(mark[-1]) for mark in marks.values())
    games = max(FEWEST, min(budget // rounds, NUMBERS // most))
    coins = stream(seed, "audit", "coins", trial=0).integers(0, 2, games).astype(float)
    numbers = {kind: np.empty(games * mark[-1]) for kind, mark in marks.items()}
    for kind, out in numbers.items():
        SOURCES[kind](stream(seed, "audit", kind, trial=0))(out)
    prefixes = np.empty((games, rounds, setting.n_arms))
    compiled(watch_prefixes, bound)(np.repeat(state, 2), coins, ends, Draws(**numbers), tuple(marks.values()), prefixes)
    return coins, prefixes
