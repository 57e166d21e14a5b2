"""Audit of the noisy Gram matrices that a contextual learner plays by: games of a few rounds, the first datum a canary.

The first arm and reward are one of two pairs by a coin, later ones are 0. Three things are watched in each round:

- that arms are chosen by V and u~ alone, and that these are the true sums with the noise of the tree's nodes;
- that a node's noise stays what it is until its round is over, and that what is drawn then is a node's: symmetric
  Gaussian noise, or Wishart noise, whose factor by Bartlett has independent normal and χ² numbers;
- what the nodes tell of the canary that they alone hide, one on each level but the top: their exact likelihood ratio is
  the score. The corner, the sum of y², is never released, and no part of it.
"""

import math
from functools import cache

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privbandits_cli.accounting import gaussian
from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.algorithms.dp_linucb import Parameters as Joint
from privbandits_cli.audit import evidence, laws
from privbandits_cli.audit.verdict import Audit, Contest, Steps, Test, compiled, contest, refuted_share
from privbandits_cli.games.contextual import Contexts, Floats, Setting, choose, update
from privbandits_cli.games.ellipsoid import optimistic
from privbandits_cli.mechanisms.matrix_tree import n_levels
from privbandits_cli.mechanisms.tree import trailing_zeros
from privbandits_cli.numerics.jit import Record, Records, bind
from privbandits_cli.numerics.streams import stream

ROUNDS = 17  # at most: six levels, of which five hide the canary
NUMBERS = 2**22  # of the nodes of all games together, at most
FEWEST = 64  # games
ROUNDING = 1e-7  # of V^-1 V
IMPOSSIBLE = 1e3  # of a log-likelihood ratio


def watch_grams(
    states: Records, coins: Floats, data: Floats, arms: Floats, nodes: Floats, wrong: NDArray[np.int64], rng: Generator
) -> None:
    """`nodes[game, node, d, d + 1]`: the noise of the nodes as they are drawn, level by level from below.

    data: the two canaries, `[2, d + 1]`; wrong: of how many releases [the arm, V or u~, an old node] is not as it
    should be, `[3]`.
    """
    d = data.shape[1] - 1
    nothing, v, u = np.zeros(d), np.zeros((d, d)), np.zeros(d)
    levels = len(states[1].noise) - 1
    for game in range(len(coins)):
        states[1] = states[0]
        row, drawn = data[int(coins[game])], 0
        before = states[1].noise.copy()
        for t in range(arms.shape[0]):
            stale = states[1].indefinite
            arm = choose(states[1], arms[t], rng)
            noise = states[1].noise
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
                v[i, i] += states[1].shift
                u[i] = noise[0, i, d] + (row[i] * row[d] if t > 0 else 0.0)
            if states[1].indefinite == stale:
                wrong[1] += strays(states[1], v, u)
            update(states[1], row[:d] if t == 0 else nothing, row[d] if t == 0 else 0.0, rng)


def strays(state: Record, v: Floats, u: Floats) -> bool:
    """Whether V^-1 and θ~ are not those of this V and u~."""
    size = np.abs(u).sum() + np.abs(v).max() * np.abs(state.theta).sum()
    for i in range(len(u)):
        along = -u[i]
        for j in range(len(u)):
            along += v[i, j] * state.theta[j]
            one = -1.0 if i == j else 0.0
            for k in range(len(u)):
                one += v[i, k] * state.inverse[k, j]
            if not abs(one) < ROUNDING:
                return True
        if not abs(along) <= ROUNDING * size:
            return True
    return False


@cache
def beside(layout: str) -> Steps:
    """The rule by which arms should be chosen, compiled on its own: not anew for each loop that is watched."""
    return {"optimistic": bind(optimistic, "audit", layout)}


def held(rounds: int, levels: int) -> list[int]:
    """Where among the nodes, in the order in which they are drawn, are those that hide the first datum."""
    place, found = levels, []
    for t in range(1, rounds):
        fresh = trailing_zeros(t) + 1
        if t == 2 ** (fresh - 1):
            found.append(place + fresh - 1)
        place += fresh
    return found


def canaries(known: Contexts) -> Floats:
    """Two rows of full norm, `[2, d + 1]`: rewards ±B, arms at 60° so that V is told apart, too."""
    rows = np.zeros((2, known.dimension + 1))
    rows[:, -1] = known.reward, -known.reward
    rows[:, 0] = known.norm
    if known.dimension > 1:
        rows[1, :2] = known.norm / 2, known.norm * math.sqrt(0.75)
    return rows


def moments(rows: Floats) -> Floats:
    """What a datum adds to the sums, `[d, d + 1]`, for each row: x x' and x y."""
    return rows[:, :-1, None] * rows[:, None, :]


def bell_numbers(nodes: Floats, sigma: float) -> Floats:
    """The standard normal numbers that symmetric Gaussian noise `[..., d, d + 1]` is made of."""
    d = nodes.shape[-2]
    scale = sigma * (1 + (math.sqrt(2) - 1) * np.eye(d, d + 1))
    return np.asarray((nodes / scale)[..., np.tril(np.ones((d, d + 1), bool)) | (np.arange(d + 1) == d)], np.float64)


def factors(nodes: Floats, square: float) -> tuple[Floats, Floats] | None:
    """Of Wishart noise Bartlett's numbers, `[..., d, d]` and `[..., d]` of the last row; None if it is not positive."""
    lower = np.tril(nodes[..., :-1])
    matrix = (lower + np.swapaxes(np.tril(lower, -1), -1, -2)) / square
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    last: Floats = np.linalg.solve(factor, nodes[..., -1:] / square)[..., 0]
    return np.asarray(factor, np.float64), last


def conformance(nodes: Floats, algorithm: Joint, setting: Setting) -> float:
    """The p-value of nodes `[..., d, d + 1]` as noise of this algorithm's law."""
    d = nodes.shape[-2]
    if not algorithm.wishart:
        numbers = bell_numbers(nodes, algorithm.sigma(setting)).ravel()
        return evidence.conformance(laws.as_laplace(numbers, laws.log_tail(numbers, 1, True)), 1.0)
    from scipy import stats

    made = factors(nodes, setting.known().row_norm() ** 2)
    if made is None:
        return 0.0
    factor, last = made
    bells = np.concatenate([factor[..., np.tril(np.ones((d, d), bool), -1)].ravel(), last.ravel()])
    parts = [laws.as_laplace(bells, laws.log_tail(bells, 1, True))]
    for i in range(d):
        law, squares = stats.chi2(algorithm.rows(setting) - i), factor[..., i, i].ravel() ** 2
        low, high = law.logcdf(squares), law.logsf(squares)
        made_so = np.where(low < high, math.log(2) + low, -math.log(2) - high)
        parts.append(np.clip(made_so, -IMPOSSIBLE, IMPOSSIBLE))
    return min(1.0, len(parts) * min(evidence.conformance(part, 1.0) for part in parts))


def log_density(seen: Floats, algorithm: Joint, setting: Setting) -> Floats:
    """Of nodes' noise `seen[..., d, d + 1]`, but for a constant. Wishart: V ~ W(L~² I, k), given it u ~ N(0, L~² V)."""
    if not algorithm.wishart:
        return np.asarray(-(bell_numbers(seen, algorithm.sigma(setting)) ** 2).sum(axis=-1) / 2, np.float64)
    d, square = seen.shape[-2], setting.known().row_norm() ** 2
    lower = np.tril(seen[..., :-1])
    matrix = (lower + np.swapaxes(np.tril(lower, -1), -1, -2)) / square
    sign, logdet = np.linalg.slogdet(matrix)
    positive = (np.linalg.eigvalsh(matrix)[..., 0] > 0) & (sign > 0)
    u = seen[..., -1:] / square
    safe = np.where(positive[..., None, None], matrix, np.eye(d))
    along = (u * np.linalg.solve(safe, u)).sum(axis=(-1, -2))
    density = (algorithm.rows(setting) - d - 2) / 2 * logdet - (np.trace(matrix, axis1=-2, axis2=-1) + along) / 2
    return np.where(positive, density, -math.inf)


def audit_grams(
    algorithm: Joint, setting: Setting, bound: Steps, state: Records, claim: Guarantee, alpha: float,
    budget: int, seed: int, test: Test,
) -> Audit:  # fmt: skip
    """Whether nodes tell more of the first datum than (ε, δ), and whether they and the releases are as they should."""
    rounds, data = int(min(ROUNDS, setting.horizon)), canaries(setting.known())
    size = f"k = {algorithm.rows(setting)}" if algorithm.wishart else f"σ = {algorithm.sigma(setting):.4g}"
    game = f"{int(setting.horizon)} rounds with d = {setting.known().dimension}"
    said = f"{claim} of all releases in {game}, {'Wishart' if algorithm.wishart else 'Gaussian'} noise of {size} a node"
    coins, nodes, wrong = _watch(setting, bound, state, data, budget, seed)
    cost = len(coins) * rounds
    for count, what in zip(wrong, WRONG, strict=True):
        if count:
            return Audit("VIOLATION", said, f"{what}, in {count} of {cost} releases", cost)
    level, truth = alpha / 2, moments(data)  # half for the bet, half for the noise's law
    hiding = nodes[:, held(rounds, n_levels(setting.horizon))]

    def met(share: float) -> Contest:
        """The bet, had there been this share of the noise."""
        seen = truth[coins.astype(int)][:, None] + share * hiding
        ends = [log_density(seen - own, algorithm, setting) for own in truth]
        with np.errstate(invalid="ignore"):
            ratio = np.nan_to_num(ends[1] - ends[0], nan=0.0, posinf=IMPOSSIBLE, neginf=-IMPOSSIBLE)
        return contest(np.round(ratio.sum(axis=1), 9), coins, claim.epsilon, claim.delta, level, test)

    found, conforms = met(1.0), conformance(nodes, algorithm, setting)
    limit = found.limit(claim.delta)
    if found.stopped is not None:
        pairs = f"refuted after {found.stopped} pairs of games"
        return Audit("VIOLATION", said, pairs, 2 * rounds * found.stopped, limit)
    if conforms < level:
        return Audit("VIOLATION", said, f"the nodes' noise does not have that law (p = {conforms:.2g})", cost, limit)
    most = found.refutable(claim.epsilon, claim.delta, level)
    if not algorithm.wishart and (share := refuted_share(lambda share: met(share).stopped is not None)):
        most = gaussian.epsilon_of(gaussian.mu_of(claim.epsilon, claim.delta) / share, claim.delta)
    return Audit("CONSISTENT", said, f"noise conforms (p = {conforms:.2g}); not refuted by {test}", cost, limit, most)


WRONG = (
    "another arm is played than V and u~ ask for",
    "V or u~ is not the sum with the noise of the nodes",
    "a node's noise was drawn anew before its time",
)


def _watch(
    setting: Setting, bound: Steps, state: Records, data: Floats, budget: int, seed: int
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """The coins of the games, the nodes' noise, and the counts of what is wrong."""
    rounds, d = int(min(ROUNDS, setting.horizon)), data.shape[1] - 1
    drawn = n_levels(setting.horizon) + sum(trailing_zeros(t) + 1 for t in range(1, rounds))
    games = max(FEWEST, min(budget // rounds, NUMBERS // (drawn * d * (d + 1))))
    coins = stream(seed, "audit", "coins", trial=0).integers(0, 2, games).astype(float)
    arms = stream(seed, "audit", "arms", trial=0).standard_normal((rounds, d, setting.n_arms))
    nodes, wrong = np.empty((games, drawn, d, d + 1)), np.zeros(3, np.int64)
    rng = stream(seed, "audit", "noise", trial=0)
    compiled(watch_grams, bound | beside(str(state.dtype.descr)))(
        np.repeat(state, 2), coins, data, arms, nodes, wrong, rng
    )
    return coins, nodes, wrong
