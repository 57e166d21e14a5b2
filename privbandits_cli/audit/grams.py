"""Audit of the noisy Gram matrices that a contextual learner plays by: short games, the first datum the canary.

A coin selects the first arm and reward from two pairs; all later ones are 0. Three properties are tested in each round:

- arms are chosen by V and u~ alone, and these are the true sums with the noise of the tree's nodes;
- a node's noise does not change until its round is over, and what is drawn then has a node's law: symmetric Gaussian
  noise, or Wishart noise, whose factor by Bartlett has independent normal and χ² numbers;
- the nodes that alone hide the canary, one on each level but the top, do not reveal more about it than (ε, δ) allows:
  their exact likelihood ratio is the score. The corner, the sum of y², is never released, nor any part of it.
"""

import math
from typing import Any

import numpy as np
from numpy.random import Generator

from privbandits_cli.audit import evidence, laws
from privbandits_cli.audit.evidence import Conformance
from privbandits_cli.audit.gram_reports import Counts, bound, canaries, indefinite, lower, moments, strays
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.verdict import Audit, weighed
from privbandits_cli.games.contextual import Floats, Setting, choose, update
from privbandits_cli.games.ellipsoid import optimistic
from privbandits_cli.games.players import Algorithm
from privbandits_cli.games.views import Gram, Normal, Wishart
from privbandits_cli.mechanisms.matrix_tree import n_levels
from privbandits_cli.mechanisms.tree import trailing_zeros
from privbandits_cli.numerics.jit import Records, unbound

nodes: Any = unbound  # bound when a loop is compiled

COSINE = 0.5  # between the arms of the two canaries, so that V differs, too
ROUNDS = 17  # at most: six levels, of which five hide the canary
NUMBERS = 2**22  # random numbers for the nodes of all games together, at most
FEWEST = 64  # games
IMPOSSIBLE = 1e3  # replaces an infinite log-likelihood ratio
WRONG = (
    "the arm played is not the one that V and u~ determine",
    "V or u~ is not the sum with the noise of the nodes",
    "a node's noise was drawn anew before the node was complete",
)


def shortened(algorithm: Algorithm, setting: Setting) -> Setting:
    """Games of a few rounds, or the first rounds of the long game if nothing is proved about so short a tree."""
    short = setting._replace(horizon=max(2, min(ROUNDS, setting.horizon)))
    return short if not list(algorithm.errors(short)) and algorithm.tuned(short).guarantee(short) else setting


def observe_grams(
    states: Records, coins: Floats, data: Floats, arms: Floats, observed: Floats, wrong: Counts, rng: Generator
) -> None:
    """`observed[game, node, d, d + 1]`: the noise of the nodes as they are drawn, level by level from below.

    data: the two canaries, `[2, d + 1]`; wrong: the number of releases in which [the arm, V or u~, an old node] is
    incorrect, `[3]`.
    """
    d = data.shape[1] - 1
    nothing, levels = np.zeros(d + 1), len(nodes(states[1])) - 1
    for game in range(len(coins)):
        states[1] = states[0]
        drawn, sums = 0, np.zeros((d, d + 1))
        before = nodes(states[1]).copy()
        for t in range(arms.shape[0]):
            stale = indefinite(states[1])
            arm = choose(states[1], arms[t], rng)
            noise = nodes(states[1])
            wrong[0] += arm != optimistic(states[1], arms[t])
            fresh = levels if t == 0 else trailing_zeros(t) + 1
            for j in range(levels):
                if j < fresh:
                    observed[game, drawn] = noise[j] - noise[j + 1]
                    drawn += 1
                else:
                    wrong[2] += np.any(noise[j] != before[j])
            before[:] = noise
            if indefinite(states[1]) == stale:
                wrong[1] += strays(states[1], noise[0] + sums)
            row = data[int(coins[game])] if t == 0 else nothing
            sums += np.outer(row[:d], row)
            update(states[1], row[:d], row[d], rng)


def held(rounds: int, levels: int) -> list[int]:
    """The indices, in drawing order, of the nodes that hide the first datum."""
    later = [(t, level) for t in range(1, rounds) for level in range(trailing_zeros(t) + 1)]
    return [levels + place for place, (t, level) in enumerate(later) if t == 2**level]


def normal_numbers(nodes: Floats, sigma: float) -> Floats:
    """The standard normal numbers from which symmetric Gaussian noise `[..., d, d + 1]` is made."""
    d = nodes.shape[-2]
    scale = sigma * (1 + (math.sqrt(2) - 1) * np.eye(d, d + 1))
    return np.asarray((nodes / scale)[..., lower(d)], np.float64)


def symmetric(nodes: Floats) -> Floats:
    """The matrices `[..., d, d]` of nodes, by their lower triangles."""
    triangle = np.tril(nodes[..., :-1])
    return np.asarray(triangle + np.swapaxes(np.tril(triangle, -1), -1, -2), np.float64)


def factors(nodes: Floats, square: float) -> tuple[Floats, Floats] | None:
    """Bartlett's numbers of Wishart noise, `[..., d, d]` and `[..., d]` of the last row; None if not positive."""
    try:
        factor = np.linalg.cholesky(symmetric(nodes) / square)
    except np.linalg.LinAlgError:
        return None
    last: Floats = np.linalg.solve(factor, nodes[..., -1:] / square)[..., 0]
    return np.asarray(factor, np.float64), last


def conformance(nodes: Floats, law: Normal | Wishart) -> float:
    """The p-value of nodes `[..., d, d + 1]` as noise of this law."""
    d = nodes.shape[-2]
    if isinstance(law, Normal):
        return laws.conformance(normal_numbers(nodes, law.sigma), 1, True)
    from scipy import stats

    made = factors(nodes, law.scale)
    if made is None:
        return 0.0
    factor, last = made
    normals = np.concatenate([factor[..., np.tril(np.ones((d, d), bool), -1)].ravel(), last.ravel()])
    found = [laws.conformance(normals, 1, True)]
    for i in range(d):
        chi2, squares = stats.chi2(law.rows - i), factor[..., i, i].ravel() ** 2
        low, high = chi2.logcdf(squares), chi2.logsf(squares)
        laplace = np.where(low < high, math.log(2) + low, -math.log(2) - high)
        found.append(evidence.conformance(np.clip(laplace, -IMPOSSIBLE, IMPOSSIBLE), 1.0))
    return min(1.0, len(found) * min(found))


def log_density(observed: Floats, law: Normal | Wishart) -> Floats:
    """Log-density of the nodes' noise `observed[..., d, d + 1]`, up to a constant.

    Wishart: V ~ W(L~² I, k), and given V the last column is N(0, L~² V).
    """
    if isinstance(law, Normal):
        return np.asarray(-(normal_numbers(observed, law.sigma) ** 2).sum(axis=-1) / 2, np.float64)
    d, square = observed.shape[-2], law.scale
    matrix = symmetric(observed) / square
    sign, logdet = np.linalg.slogdet(matrix)
    positive = (np.linalg.eigvalsh(matrix)[..., 0] > 0) & (sign > 0)
    u = observed[..., -1:] / square
    safe = np.where(positive[..., None, None], matrix, np.eye(d))
    along = (u * np.linalg.solve(safe, u)).sum(axis=(-1, -2))
    density = (law.rows - d - 2) / 2 * logdet - (np.trace(matrix, axis1=-2, axis2=-1) + along) / 2
    return np.where(positive, density, -math.inf)


def audit_grams(target: Target[Gram]) -> Audit:
    """Whether the nodes reveal more about the first datum than (ε, δ) allows, and whether the releases are correct."""
    setting, claim, law = target.setting, target.claim, target.view.noise
    rounds, data = int(min(ROUNDS, setting.horizon)), canaries(setting.known(), COSINE)
    levels, d = n_levels(setting.horizon), setting.known().dimension
    name = "Gaussian" if isinstance(law, Normal) else "Wishart"
    size = f"σ = {law.sigma:.4g}" if isinstance(law, Normal) else f"k = {law.rows}"
    game = f"{int(setting.horizon)} rounds with d = {d}"
    words = f"{claim} of all releases in {game}, {name} noise of {size} a node"
    drawn = levels + sum(trailing_zeros(t) + 1 for t in range(1, rounds))
    games = max(FEWEST, min(target.budget // rounds, NUMBERS // (drawn * d * (d + 1))))
    coins, cost = target.coins(games), games * rounds
    arms = target.stream("arms").standard_normal((rounds, d, setting.n_arms))
    nodes, wrong = np.empty((games, drawn, d, d + 1)), np.zeros(3, np.int64)
    loop = target.loop(observe_grams, **bound(target))
    loop(np.repeat(target.state, 2), coins, data, arms, nodes, wrong, target.stream("noise"))
    for count, what in zip(wrong, WRONG, strict=True):
        if count:
            return Audit("VIOLATION", words, f"{what}, in {count} of {cost} releases", cost)
    truth, hiding = moments(data), nodes[:, held(rounds, levels)]

    def scores(share: float) -> Floats:
        observed = truth[coins.astype(int)][:, None] + share * hiding
        ends = [log_density(observed - own, law) for own in truth]
        with np.errstate(invalid="ignore"):
            ratio = np.nan_to_num(ends[1] - ends[0], nan=0.0, posinf=IMPOSSIBLE, neginf=-IMPOSSIBLE)
        return np.asarray(np.round(ratio.sum(axis=1), 9), np.float64)

    return weighed(target, words, scores, coins, Conformance(conformance(nodes, law)), cost, rounds, name)
