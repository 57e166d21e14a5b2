"""Audit of the noisy Gram matrices that a contextual learner plays by: short games, the first datum the canary.

The first arm and reward are one of two pairs by a coin, later ones are 0. Three properties are tested in each round:

- arms are chosen by V and u~ alone, and these are the true sums with the noise of the tree's nodes;
- a node's noise does not change until its round is over, and what is drawn then has a node's law: symmetric Gaussian
  noise, or Wishart noise, whose factor by Bartlett has independent normal and χ² numbers;
- the nodes that alone hide the canary, one on each level but the top, do not reveal more of it than (ε, δ): their exact
  likelihood ratio is the score. The corner, the sum of y², is never released, nor any part of it.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.accounting import gaussian
from privbandits_cli.audit import evidence, laws
from privbandits_cli.audit.ellipsoids import bound, indefinite, inverse, lower, shift, strays, theta
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.verdict import Audit, Contest, contest, decided, refuted_share
from privbandits_cli.games.contextual import Contexts, Floats, Setting, choose, update
from privbandits_cli.games.ellipsoid import optimistic
from privbandits_cli.games.players import Algorithm
from privbandits_cli.games.views import Gram, Normal, Wishart
from privbandits_cli.mechanisms.matrix_tree import n_levels
from privbandits_cli.mechanisms.tree import trailing_zeros
from privbandits_cli.numerics.jit import Records, unbound

nodes_of: Any = unbound  # bound when a loop is compiled

ROUNDS = 17  # at most: six levels, of which five hide the canary
NUMBERS = 2**22  # of the nodes of all games together, at most
FEWEST = 64  # games
IMPOSSIBLE = 1e3  # of a log-likelihood ratio
WRONG = (
    "another arm is played than V and u~ ask for",
    "V or u~ is not the sum with the noise of the nodes",
    "a node's noise was drawn anew before its time",
)


def shortened(algorithm: Algorithm, setting: Setting) -> Setting:
    """Games of a few rounds; or the first rounds of the long game if nothing is proved of so short a tree."""
    short = setting._replace(horizon=max(2, min(ROUNDS, setting.horizon)))
    return short if not list(algorithm.errors(short)) and algorithm.tuned(short).guarantee(short) else setting


def observe_grams(
    states: Records, coins: Floats, data: Floats, arms: Floats, nodes: Floats, wrong: NDArray[np.int64], rng: Generator
) -> None:
    """`nodes[game, node, d, d + 1]`: the noise of the nodes as they are drawn, level by level from below.

    data: the two canaries, `[2, d + 1]`; wrong: in how many releases [the arm, V or u~, an old node] is not as it
    should be, `[3]`.
    """
    d = data.shape[1] - 1
    nothing, v, u = np.zeros(d), np.zeros((d, d)), np.zeros(d)
    levels = len(nodes_of(states[1])) - 1
    for game in range(len(coins)):
        states[1] = states[0]
        row, drawn = data[int(coins[game])], 0
        before = nodes_of(states[1]).copy()
        for t in range(arms.shape[0]):
            stale = indefinite(states[1])
            arm = choose(states[1], arms[t], rng)
            noise = nodes_of(states[1])
            wrong[0] += arm != optimistic(states[1], arms[t])
            fresh = levels if t == 0 else trailing_zeros(t) + 1
            for j in range(levels):
                if j < fresh:
                    nodes[game, drawn] = noise[j] - noise[j + 1]
                    drawn += 1
                else:
                    wrong[2] += np.any(noise[j] != before[j])
            before[:] = noise
            for i in range(d):
                for j in range(i + 1):
                    v[i, j] = noise[0, i, j] + (row[i] * row[j] if t > 0 else 0.0)
                    v[j, i] = v[i, j]
                v[i, i] += shift(states[1])
                u[i] = noise[0, i, d] + (row[i] * row[d] if t > 0 else 0.0)
            if indefinite(states[1]) == stale:
                wrong[1] += strays(inverse(states[1]), theta(states[1]), v, u)
            update(states[1], row[:d] if t == 0 else nothing, row[d] if t == 0 else 0.0, rng)


def held(rounds: int, levels: int) -> list[int]:
    """The places, in the order in which nodes are drawn, of those that hide the first datum."""
    place, found = levels, []
    for t in range(1, rounds):
        fresh = trailing_zeros(t) + 1
        if t == 2 ** (fresh - 1):
            found.append(place + fresh - 1)
        place += fresh
    return found


def canaries(known: Contexts) -> Floats:
    """Two rows of full norm, `[2, d + 1]`: rewards ±B, arms at 60° so that V differs, too."""
    rows = np.zeros((2, known.dimension + 1))
    rows[:, -1] = known.reward, -known.reward
    rows[:, 0] = known.norm
    if known.dimension > 1:
        rows[1, :2] = known.norm / 2, known.norm * math.sqrt(0.75)
    return rows


def moments(rows: Floats) -> Floats:
    """What a datum adds to the sums, `[d, d + 1]`, for each row: x x' and x y."""
    return rows[:, :-1, None] * rows[:, None, :]


def normal_numbers(nodes: Floats, sigma: float) -> Floats:
    """The standard normal numbers that make symmetric Gaussian noise `[..., d, d + 1]`."""
    d = nodes.shape[-2]
    scale = sigma * (1 + (math.sqrt(2) - 1) * np.eye(d, d + 1))
    return np.asarray((nodes / scale)[..., lower(d)], np.float64)


def factors(nodes: Floats, square: float) -> tuple[Floats, Floats] | None:
    """Bartlett's numbers of Wishart noise, `[..., d, d]` and `[..., d]` of the last row; None if not positive."""
    triangle = np.tril(nodes[..., :-1])
    matrix = (triangle + np.swapaxes(np.tril(triangle, -1), -1, -2)) / square
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    last: Floats = np.linalg.solve(factor, nodes[..., -1:] / square)[..., 0]
    return np.asarray(factor, np.float64), last


def conformance(nodes: Floats, law: Normal | Wishart) -> float:
    """The p-value of nodes `[..., d, d + 1]` as noise of this law."""
    d = nodes.shape[-2]
    if isinstance(law, Normal):
        numbers = normal_numbers(nodes, law.sigma).ravel()
        return evidence.conformance(laws.as_laplace(numbers, laws.log_tail(numbers, 1, True)), 1.0)
    from scipy import stats

    made = factors(nodes, law.scale)
    if made is None:
        return 0.0
    factor, last = made
    normals = np.concatenate([factor[..., np.tril(np.ones((d, d), bool), -1)].ravel(), last.ravel()])
    parts = [laws.as_laplace(normals, laws.log_tail(normals, 1, True))]
    for i in range(d):
        chi2, squares = stats.chi2(law.rows - i), factor[..., i, i].ravel() ** 2
        low, high = chi2.logcdf(squares), chi2.logsf(squares)
        laplace = np.where(low < high, math.log(2) + low, -math.log(2) - high)
        parts.append(np.clip(laplace, -IMPOSSIBLE, IMPOSSIBLE))
    return min(1.0, len(parts) * min(evidence.conformance(part, 1.0) for part in parts))


def log_density(observed: Floats, law: Normal | Wishart) -> Floats:
    """Log-density of the nodes' noise `observed[..., d, d + 1]`, up to a constant.

    Wishart: V ~ W(L~² I, k), and given V the last column is N(0, L~² V).
    """
    if isinstance(law, Normal):
        return np.asarray(-(normal_numbers(observed, law.sigma) ** 2).sum(axis=-1) / 2, np.float64)
    d, square = observed.shape[-2], law.scale
    triangle = np.tril(observed[..., :-1])
    matrix = (triangle + np.swapaxes(np.tril(triangle, -1), -1, -2)) / square
    sign, logdet = np.linalg.slogdet(matrix)
    positive = (np.linalg.eigvalsh(matrix)[..., 0] > 0) & (sign > 0)
    u = observed[..., -1:] / square
    safe = np.where(positive[..., None, None], matrix, np.eye(d))
    along = (u * np.linalg.solve(safe, u)).sum(axis=(-1, -2))
    density = (law.rows - d - 2) / 2 * logdet - (np.trace(matrix, axis1=-2, axis2=-1) + along) / 2
    return np.where(positive, density, -math.inf)


def audit_grams(target: Target[Gram]) -> Audit:
    """Whether nodes reveal more of the first datum than (ε, δ), and whether nodes and releases are right."""
    setting, claim, law, test = target.setting, target.claim, target.view.noise, target.test
    rounds, data = int(min(ROUNDS, setting.horizon)), canaries(setting.known())
    game = f"{int(setting.horizon)} rounds with d = {setting.known().dimension}"
    gaussian_nodes = isinstance(law, Normal)
    noise = f"Gaussian noise of σ = {law.sigma:.4g}" if isinstance(law, Normal) else f"Wishart noise of k = {law.rows}"
    words = f"{claim} of all releases in {game}, {noise} a node"
    coins, nodes, wrong = _observed(target, data)
    cost = len(coins) * rounds
    for count, what in zip(wrong, WRONG, strict=True):
        if count:
            return Audit("VIOLATION", words, f"{what}, in {count} of {cost} releases", cost)
    level, truth = target.alpha / 2, moments(data)  # half for the bet, half for the noise's law
    hiding = nodes[:, held(rounds, n_levels(setting.horizon))]

    def met(share: float) -> Contest:
        """The contest on this share of the noise."""
        observed = truth[coins.astype(int)][:, None] + share * hiding
        ends = [log_density(observed - own, law) for own in truth]
        with np.errstate(invalid="ignore"):
            ratio = np.nan_to_num(ends[1] - ends[0], nan=0.0, posinf=IMPOSSIBLE, neginf=-IMPOSSIBLE)
        return contest(np.round(ratio.sum(axis=1), 9), coins, claim.epsilon, claim.delta, level, test)

    found = met(1.0)
    result = decided(words, found, found.limit(claim.delta), conformance(nodes, law), level, test, cost, rounds)
    if result.verdict == "VIOLATION":
        return result
    most = found.refutable(claim.epsilon, claim.delta, level)
    if gaussian_nodes and (share := refuted_share(lambda share: met(share).stopped is not None)):
        most = gaussian.epsilon_of(gaussian.mu_of(claim.epsilon, claim.delta) / share, claim.delta)
    return replace(result, refutable=most)


def _observed(target: Target[Gram], data: Floats) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """The coins of the games, the nodes' noise, and the counts of what is wrong."""
    setting = target.setting
    rounds, d = int(min(ROUNDS, setting.horizon)), data.shape[1] - 1
    drawn = n_levels(setting.horizon) + sum(trailing_zeros(t) + 1 for t in range(1, rounds))
    games = max(FEWEST, min(target.budget // rounds, NUMBERS // (drawn * d * (d + 1))))
    coins = target.coins(games)
    arms = target.stream("arms").standard_normal((rounds, d, setting.n_arms))
    nodes, wrong = np.empty((games, drawn, d, d + 1)), np.zeros(3, np.int64)
    loop = target.loop(observe_grams, nodes_of=target.at(target.view.nodes), **bound(target))
    loop(np.repeat(target.state, 2), coins, data, arms, nodes, wrong, target.stream("noise"))
    return coins, nodes, wrong
