"""Audit of the noisy Gram matrices that a contextual learner plays by.

The games are those of `ellipsoids`. The arms must be chosen by V and u~ alone, and these must be the true sums with the
noise of the tree's nodes. A node's noise must not change before the node is complete, and must not depend on the data.
In addition:

- The noise that is drawn must have a node's law, on every level and in every window of rounds. This is symmetric
  Gaussian noise, or Wishart noise, whose factor by Bartlett has independent normal and χ² numbers.
- Gaussian noise: all releases together must not reveal more about a datum than (ε, δ) allows. Their account is exact
  (`accounting.trees.redrawn`).
- Wishart noise: a datum is hidden by one node on each level but the top. These nodes must not reveal more about it than
  (ε, δ) allows. The score is their exact likelihood ratio for two data, and their noise is that of first releases. The
  corner, the sum of y², is never released, nor any part of it.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from privbandits_cli.audit import evidence, laws
from privbandits_cli.audit.ellipsoids import EARLY, LONGEST, Trio, longest
from privbandits_cli.audit.evidence import Conformance
from privbandits_cli.audit.gram_reports import canaries, lower, moments
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.verdict import Audit, accounted, weighed
from privbandits_cli.games.contextual import Floats
from privbandits_cli.games.views import Gram, Normal, Wishart, read
from privbandits_cli.mechanisms.matrix_tree import Redrawn, n_levels
from privbandits_cli.mechanisms.tree import trailing_zeros
from privbandits_cli.numerics.jit import Record, unbound
from privbandits_cli.numerics.types import Ints

nodes: Any = unbound  # bound when a loop is compiled

COSINE = 0.5  # between the arms of the two canaries, so that V differs, too
FEW = 32  # numbers of a level, at least: if one game draws fewer, more games are played
BUSY = 3  # the lowest level whose noise is tested in all games; that of levels below is tested in the first one
ROUNDS_A_RELEASE = 2**5  # of the budget, for each first release
IMPOSSIBLE = 1e3  # replaces an infinite log-likelihood ratio


def force(state: Record, wanted: Record, moved: Floats, depth: int) -> None:
    """Give the nodes the noise of another state's, moved by the difference of the true sums."""
    ours, theirs = nodes(state), nodes(wanted)
    for j in range(depth - 1):
        for r in range(moved.shape[0]):
            for c in range(moved.shape[1]):
                ours[j, r, c] = theirs[j, r, c] + moved[r, c]


def hold(state: Record, out: Floats) -> None:
    """Copy the noise, which a round changes."""
    noise = nodes(state)
    for j in range(len(out)):
        for r in range(out.shape[1]):
            for c in range(out.shape[2]):
                out[j, r, c] = noise[j, r, c]


def released(state: Record, sums: Floats, out: Floats) -> None:
    """out = the noisy sums that V and u~ are computed from."""
    noise = nodes(state)
    for r in range(len(out)):
        for c in range(out.shape[1]):
            out[r, c] = sums[r, c] + noise[0, r, c]


def drawn_by_choose(state: Record, before: Floats, t: int, out: Floats) -> int:
    """Put the noise of the nodes that round t, from 0, completes into out; -1 if another node was drawn."""
    noise = nodes(state)
    levels = len(before) - 1
    fresh = levels if t == 0 else min(levels, trailing_zeros(t) + 1)
    wrong = 0
    for j in range(fresh):
        for r in range(out.shape[1]):
            for c in range(out.shape[2]):
                out[j, r, c] = noise[j, r, c] - noise[j + 1, r, c]
    for j in range(fresh, levels):
        for r in range(out.shape[1]):
            for c in range(out.shape[2]):
                wrong += noise[j, r, c] != before[j, r, c]
    return fresh if wrong == 0 else -1


def drawn_by_update(state: Record, before: Floats, row: Floats, out: Floats) -> int:
    """No noise."""
    return 0


def drawing(rounds: int, levels: int) -> tuple[Ints, Ints]:
    """(level, round from 0) of the nodes that a game draws, in order."""
    t = np.arange(1, rounds)
    fresh = np.minimum(levels, 1 + np.round(np.log2(t & -t)).astype(np.int64))
    fresh = np.concatenate([[levels], fresh])
    first = np.repeat(np.cumsum(fresh) - fresh, fresh)
    return np.arange(fresh.sum()) - first, np.repeat(np.arange(rounds), fresh)


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


def standard(noise: Floats, law: Normal | Wishart) -> Floats | None:
    """Nodes `[n, d, d + 1]` of this law as standard Laplace noise `[n, numbers]`; None if they are not positive."""
    d = noise.shape[-2]
    if isinstance(law, Normal):
        return _laplace(normal_numbers(noise, law.sigma))
    from scipy import stats

    made = factors(noise, law.scale)
    if made is None:
        return None
    factor, last = made
    out = [_laplace(factor[..., np.tril(np.ones((d, d), bool), -1)]), _laplace(last)]
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (len(noise), d))
    for i in range(d):
        squares = factor[..., i, i] ** 2  # too small ones become small numbers
        size = np.minimum(-stats.chi2(law.rows - i).logsf(squares), IMPOSSIBLE)
        out.append((signs[:, i] * size)[:, None])
    return np.concatenate(out, axis=-1)


def _laplace(normals: Floats) -> Floats:
    return laws.as_laplace(normals, laws.log_tail(normals, 1, True))


def conformance(noise: Floats, levels: Ints, rounds: Ints, law: Normal | Wishart, level: float) -> Conformance:
    """How nodes `[n, d, d + 1]`, drawn on these levels in these rounds, compare with their law."""
    made = standard(noise, law)
    if made is None:
        worst = int(np.argmin(np.linalg.eigvalsh(symmetric(noise))[:, 0]))
        return Conformance(0.0, f"level {levels[worst]}, round {rounds[worst] + 1:,}, not positive definite,")
    groups = evidence.windows(np.minimum(rounds + 1, LONGEST - 1))
    for j in range(int(levels.max()) + 1):
        groups[f"level {j}, round 1"] = (levels == j) & (rounds == 0)
        groups[f"level {j}, later rounds"] = (levels == j) & (rounds > 0)
    count = made.shape[-1]
    found = evidence.by_groups(made.ravel(), {name: np.repeat(own, count) for name, own in groups.items()}, level)
    if isinstance(law, Wishart):  # the proof is of this law alone: larger numbers are not more Wishart noise
        return replace(found, p=min(found.p, found.more), more=1.0, where=found.where if found.p < found.more else "")
    return found


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


def trio(target: Target[Gram]) -> Trio:
    """The games of a target."""
    levels = len(read(target.state[0], target.view.nodes)) - 1
    knowing = force, hold, released, drawn_by_choose, drawn_by_update
    return Trio(target, knowing, levels + 1, lambda rounds: len(drawing(rounds, levels)[0]) if rounds else levels)


def audit_grams(target: Target[Gram]) -> Audit:
    """Whether the nodes reveal more about a datum than (ε, δ) allows, and whether the releases are correct."""
    setting, claim, law = target.setting, target.claim, target.view.noise
    d, data = setting.known().dimension, canaries(setting.known(), COSINE)
    name = "Gaussian" if isinstance(law, Normal) else "Wishart"
    size = f"σ = {law.sigma:.4g}" if isinstance(law, Normal) else f"k = {law.rows}"
    words = f"{claim} of all releases in {int(setting.horizon):,} rounds with d = {d}, {name} noise of {size} a node"
    games, threes = -(-FEW // int(lower(d).sum())), trio(target)
    rounds = max(2, longest(target, target.budget // games))
    short, levels = min(EARLY, rounds), threes.depth - 1
    (level, t), (early_level, early_t) = drawing(rounds, levels), drawing(short, levels)
    played, so_far = threes.series(
        words,
        "nodes",
        *((f"game {game}", rounds) for game in range(games)),
        ("early rounds", short, EARLY),
        ("first releases", 1, max(64, target.budget // ROUNDS_A_RELEASE)),
    )
    if so_far.verdict != "CONSISTENT":
        return so_far
    *long, early, first = (one.noise for one in played)
    rare = level >= BUSY
    drawn = [(long[0][0], level, t), *((one[0, rare], level[rare], t[rare]) for one in long[1:])]
    drawn += [(one, early_level, early_t) for one in early]
    if isinstance(law, Normal):
        drawn += [(one, *drawing(1, levels)) for one in first]
    noise, level_of, round_of = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
    conforms = conformance(noise, level_of, round_of, law, target.alpha / 2)
    if isinstance(law, Normal):
        tree = Redrawn(math.ceil(setting.horizon) - 1, "gaussian")
        mu = tree.sensitivity() * setting.known().row_norm() ** 2 / law.sigma
        return accounted(target, so_far, mu, conforms)
    truth, hiding = moments(data), first[:, : n_levels(setting.horizon) - 1]
    coins = target.coins(len(hiding))

    def scores(share: float) -> Floats:
        observed = truth[coins.astype(int)][:, None] + share * hiding
        ends = [log_density(observed - own, law) for own in truth]
        with np.errstate(invalid="ignore"):
            ratio = np.nan_to_num(ends[1] - ends[0], nan=0.0, posinf=IMPOSSIBLE, neginf=-IMPOSSIBLE)
        return np.asarray(np.round(ratio.sum(axis=1), 9), np.float64)

    result = weighed(target, words, scores, coins, conforms, so_far.cost, 1, name)
    return replace(result, played=so_far.played, assumed=so_far.assumed)
