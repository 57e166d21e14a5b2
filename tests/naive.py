"""Plain-Python twins, written from the papers: slow, without state that the paper does not have.

They draw from the same streams as the package and keep the same order of operations where floating point
could tell the difference, so that comparisons are exact.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from privbandits_cli.games.bandit import Adversary, Algorithm, Setting
from privbandits_cli.streams import stream


class Exp3:
    """Eq. (2.1) and the estimator below it: G_i, p_i from G, nothing else."""

    def __init__(self, n_arms: int, gamma: float) -> None:
        self.n_arms, self.gamma, self.estimate = n_arms, gamma, [0.0] * n_arms

    def probabilities(self) -> list[float]:
        top = max(self.estimate)
        weights = [math.exp(self.gamma / self.n_arms * (g - top)) for g in self.estimate]
        return [(1 - self.gamma) * w / sum(weights) + self.gamma / self.n_arms for w in weights]

    def choose(self, uniform: Callable[[], float]) -> int:
        self.p = self.probabilities()
        return draw(self.p, uniform())

    def update(self, arm: int, gain: float) -> None:
        self.estimate[arm] += gain / self.p[arm]


class DpExp3Lap:
    """Algorithm 1."""

    def __init__(self, base, epsilon: float, b: float, laplace: Callable[[], float]) -> None:
        self.base, self.epsilon, self.b, self.laplace = base, epsilon, b, laplace

    def choose(self, uniform: Callable[[], float]) -> int:
        return self.base.choose(uniform)

    def update(self, arm: int, gain: float) -> None:
        noisy = gain + self.laplace() / self.epsilon
        if -self.b <= noisy <= self.b + 1:
            self.base.update(arm, (noisy + self.b) * (1 / (2 * self.b + 1)))


class MiniBatch:
    """Section 3.2: interval j starts on round (j - 1)τ + 1 and ends on round jτ."""

    def __init__(self, base, tau: int) -> None:
        self.base, self.tau, self.t, self.block = base, tau, 0, []

    def choose(self, uniform: Callable[[], float]) -> int:
        if self.t % self.tau == 0:
            self.arm = self.base.choose(uniform)
        return self.arm

    def update(self, arm: int, gain: float) -> None:
        self.t += 1
        self.block.append(gain)
        if self.t % self.tau == 0:
            self.base.update(arm, sum(self.block) / self.tau)
            self.block = []


class TsallisInf:
    """p_i = 4 / (η (L_i - x))², x by Newton's method (Zimmert & Seldin 2021, Algorithm 2).

    Losses amplify what differs in the last bit, so the twin keeps the package's order of operations;
    `tsallis_by_bisection` finds the same distribution by another way.
    """

    def __init__(self, n_arms: int) -> None:
        self.losses, self.t = [0.0] * n_arms, 1

    def probabilities(self) -> list[float]:
        eta = 2 / math.sqrt(self.t)
        x = min(self.losses) - 2 / eta
        while True:
            roots = [2 / (eta * (loss - x)) for loss in self.losses]
            p = [root * root for root in roots]
            total = slope = 0.0
            for share, root in zip(p, roots, strict=True):
                total += share
                slope += eta * share * root
            if x - (total - 1) / slope >= x:
                return [share / total for share in p]
            x -= (total - 1) / slope

    def choose(self, uniform: Callable[[], float]) -> int:
        self.p = self.probabilities()
        return draw(self.p, uniform())

    def update(self, arm: int, gain: float) -> None:
        self.losses[arm] += (1 - gain) / self.p[arm]
        self.t += 1


def tsallis_by_bisection(losses: Sequence[float], eta: float) -> list[float]:
    """The x at which 4 / (η (L_i - x))² sum to one, between those where the best arm has 1/K and 1."""
    low = min(losses) - 2 * math.sqrt(len(losses)) / eta
    high = min(losses) - 2 / eta
    for _ in range(200):
        x = (low + high) / 2
        p = [4 / (eta * (loss - x)) ** 2 for loss in losses]
        low, high = (x, high) if sum(p) < 1 else (low, x)
    return p


class Ucb1:
    """Figure 1 of Auer, Cesa-Bianchi & Fischer 2002."""

    def __init__(self, n_arms: int) -> None:
        self.gains: list[list[float]] = [[] for _ in range(n_arms)]
        self.t = 1

    def choose(self, uniform: Callable[[], float]) -> int:
        for arm, gains in enumerate(self.gains):
            if not gains:
                return arm
        index = [sum(g) / len(g) + math.sqrt(2 * math.log(self.t) / len(g)) for g in self.gains]
        return index.index(max(index))

    def update(self, arm: int, gain: float) -> None:
        self.gains[arm].append(gain)
        self.t += 1


class Uniform:
    def __init__(self, n_arms: int) -> None:
        self.n_arms = n_arms

    def choose(self, uniform: Callable[[], float]) -> int:
        return math.floor(uniform() * self.n_arms)

    def update(self, arm: int, gain: float) -> None:
        pass


def draw(p: Sequence[float], u: float) -> int:
    """The first arm whose cumulative probability exceeds u."""
    reached = 0.0
    for arm, share in enumerate(p):
        reached += share
        if u < reached:
            return arm
    return len(p) - 1


def learner(algorithm: Algorithm, n_arms: int, laplace: Callable[[], float]):
    """The twin of a tuned algorithm."""
    match algorithm.name:
        case "exp3":
            return Exp3(n_arms, algorithm.gamma)
        case "tsallis_inf":
            return TsallisInf(n_arms)
        case "ucb1":
            return Ucb1(n_arms)
        case "uniform":
            return Uniform(n_arms)
        case "dp_exp3_lap" | "dp_lambda_lap":
            return DpExp3Lap(learner(algorithm.base, n_arms, laplace), algorithm.epsilon, algorithm.b, laplace)
        case "exp3_tau" | "mini_batch":
            return MiniBatch(learner(algorithm.base, n_arms, laplace), algorithm.tau)
    raise LookupError(f"write a twin of {algorithm.name}")


def gain_table(adversary: Adversary, setting: Setting, seed: int, trial: int) -> np.ndarray:
    """All gains of a game `[rounds, arms]`, generated before the game starts, as in the paper."""
    rng = stream(seed, "gains", adversary.identity(), trial=trial)
    (table,) = adversary.gains(setting, rng, [range(1, int(setting.horizon) + 1)])
    return np.asarray(table, float)


def regrets(
    adversary: Adversary, algorithm: Algorithm, setting: Setting, checkpoints: Sequence[int], seed: int, trial: int
) -> list[float]:
    """The regret at each checkpoint: best arm on the gains up to it, less the learner's own gain.

    Against an adversary that tells its means: what the means of the arms played fall short of the largest.
    """
    means = adversary.mean_gains(setting)
    table = gain_table(adversary, setting, seed, trial)
    names = (algorithm.identity(), adversary.identity())
    numbers = {"uniform": stream(seed, "uniform", *names, trial=trial).random}
    numbers["laplace"] = standard_laplace(stream(seed, "laplace", *names, trial=trial))
    now: dict[str, float] = {}  # this round's numbers: a kind that is not due has none, and using it raises

    def uniform() -> float:
        return now["uniform"]

    player = learner(algorithm, setting.n_arms, lambda: now["laplace"])
    memory, observed = adversary.reaction()
    arms: list[int] = []
    own, totals, out = 0.0, [0.0] * setting.n_arms, []
    for t, gains in enumerate(table.tolist(), start=1):
        now.clear()
        now.update({kind: numbers[kind]() for kind, n in algorithm.draws().items() if t % n in (0, 1 % n)})
        arm = player.choose(uniform)
        held = arms[len(arms) - memory :] if memory else []  # the arms of the last m rounds
        pays = memory == 0 or all(other == arm for other in held)
        own += means[arm] - max(means) if means is not None else gains[arm] if pays else 0.0
        player.update(arm, gains[arm] if pays or not observed else 0.0)
        arms.append(arm)
        totals = [total + gain for total, gain in zip(totals, gains, strict=True)]
        if t in checkpoints:
            out.append((max(totals) if means is None else 0.0) - own)
    return out


def standard_laplace(rng) -> Callable[[], float]:
    """Exponential numbers with the bits of another stream, lowest first, as signs."""
    words = iter(rng.spawn(1)[0].bit_generator.random_raw, None)
    signs = (int(word) >> bit & 1 for word in words for bit in range(64))
    return lambda: (1 - 2 * next(signs)) * rng.standard_exponential()


def bernoulli(rng, means: Sequence[float], n: int) -> list[list[bool]]:
    """Rows of gains: 16 bits of a word for each, lowest first, against the mean; a tie goes to another stream."""
    last, rows = rng.spawn(1)[0], []
    for _ in range(n):
        words = [int(rng.bit_generator.random_raw()) for _ in range(math.ceil(len(means) / 4))]
        numbers = [words[i // 4] >> 16 * (i % 4) & 0xFFFF for i in range(len(means))]
        whole = [min(math.floor(65536 * mean), 65535) for mean in means]
        rows.append(
            [
                number < least or (number == least and last.random() < 65536 * mean - least)
                for number, least, mean in zip(numbers, whole, means, strict=True)
            ]
        )
    return rows


def walk(steps: Sequence[float]) -> list[float]:
    """W_t = W_ρ(t) + ξ_t, ρ(t) = t - gcd(t, 2^T), by its definition (Dekel et al. 2014)."""
    w = [0.0]
    for t, step in enumerate(steps, start=1):
        w.append(w[t - math.gcd(t, 2 ** len(steps))] + step)
    return w[1:]


def gini_mean_difference(sample: Sequence[float]) -> float:
    """The mean of |x - y| over all pairs."""
    n = len(sample)
    return sum(abs(x - y) for i, x in enumerate(sample) for y in sample[:i]) / (n * (n - 1) / 2)


def median_of_means(sample: Sequence[float], groups: int) -> float:
    size = len(sample) // groups
    means = sorted(sum(sample[g * size : (g + 1) * size]) / size for g in range(groups))
    middle = groups // 2
    return means[middle] if groups % 2 else (means[middle - 1] + means[middle]) / 2
