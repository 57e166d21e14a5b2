"""Plain-Python twins, written from the papers: slow, with only the state that the paper has.

They draw from the same streams as the package and keep the same order of operations where floating point
could tell the difference, so that comparisons are exact.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
from scipy import optimize

from privbandits_cli.games.bandit import Adversary, Algorithm, One, Setting, random_needs
from privbandits_cli.numerics import bits as numbers
from privbandits_cli.numerics.streams import stream


class Exp3:
    """Eq. (2.1) and the estimator below it: G_i, and p_i from G."""

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


class Reduction:
    """Algorithm 4 of Agarwal & Singh 2017."""

    def __init__(self, base, epsilon: float, laplace: Callable[[], float]) -> None:
        self.base, self.epsilon, self.laplace, self.choose = base, epsilon, laplace, base.choose

    def update(self, arm: int, gain: float) -> None:
        self.base.update(arm, gain + self.laplace() * (1 / self.epsilon))


class Exp2:
    """Algorithm 5 of Agarwal & Singh 2017 over arms, from the estimated losses."""

    def __init__(self, algorithm: Algorithm, n_arms: int) -> None:
        self.eta, self.gamma, self.mu = algorithm.eta, algorithm.gamma, algorithm.mu or [1 / n_arms] * n_arms
        self.losses = [0.0] * n_arms

    def probabilities(self) -> list[float]:
        least = min(self.losses)
        weights = [math.exp(-self.eta * (loss - least)) for loss in self.losses]
        mixed = zip(weights, self.mu, strict=True)
        return [(1 - self.gamma) * w / sum(weights) + self.gamma * share for w, share in mixed]

    def choose(self, uniform: Callable[[], float]) -> int:
        self.p = self.probabilities()
        return draw(self.p, uniform())

    def update(self, arm: int, gain: float) -> None:
        self.losses[arm] += (1 - gain) / self.p[arm]


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

    def rate(self) -> float:
        return 2 / math.sqrt(self.t)

    def probabilities(self) -> list[float]:
        eta = self.rate()
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


class Htinf(TsallisInf):
    """Tsallis-INF's step at another rate, and rounds of large losses are skipped (Huang, Dai & Huang 2022)."""

    def __init__(self, n_arms: int, sigma: float) -> None:
        super().__init__(n_arms)
        self.sigma = sigma

    def rate(self) -> float:
        return 2 / (self.sigma * math.sqrt(self.t))

    def update(self, arm: int, gain: float) -> None:
        if abs(1 - gain) > (1 - 2 ** (-1 / 3)) * self.sigma * math.sqrt(self.t * self.p[arm]):
            self.t += 1
        else:
            super().update(arm, gain)


class TsallisSwitch(TsallisInf):
    """Blocks of Rouyer, Seldin & Cesa-Bianchi 2021: max(⌈a⌉, 1) rounds, a = (3λ/2) √(n/K); `t` is the block n."""

    def __init__(self, n_arms: int, cost: float, scale: float, laplace: Callable[[], float]) -> None:
        super().__init__(n_arms)
        self.cost, self.scale, self.laplace, self.played, self.loss = cost, scale, laplace, 0, 0.0

    def a(self) -> float:
        return 1.5 * self.cost / math.sqrt(len(self.losses)) * math.sqrt(self.t)

    def rate(self) -> float:
        square = (self.a() + 1) ** 2 + 2 * self.scale**2
        return 2 * math.sqrt(2 / (self.t * square))

    def choose(self, uniform: Callable[[], float]) -> int:
        if self.played == 0:
            self.arm = super().choose(uniform)
        return self.arm

    def update(self, arm: int, gain: float) -> None:
        self.loss += 1 - gain
        self.played += 1
        if self.played >= max(math.ceil(self.a()), 1):
            noise = self.scale * self.laplace() if self.scale else 0
            self.losses[arm] += (self.loss + noise) / self.p[arm]
            self.played, self.loss, self.t = 0, 0.0, self.t + 1


class FtplFrechet:
    """Algorithm 2 of Honda, Ito & Tsuchiya 2023: r = 1/√(-ln U), η = c/√t, and 1/p by geometric resampling."""

    def __init__(self, algorithm: Algorithm, n_arms: int, bits: Callable[[], int]) -> None:
        self.algorithm, self.bits, self.losses, self.t = algorithm, bits, [0.0] * n_arms, 1

    def leader(self, turn: int) -> int:
        k, inverse = len(self.losses), math.sqrt(self.t) / self.algorithm.c  # 1/η
        with np.errstate(over="ignore"):
            roots = [math.sqrt(-math.log(numbers.uniform(self.bits(), k * turn + i))) for i in range(k)]  # 1/r
        perturbed = [loss - inverse / root for loss, root in zip(self.losses, roots, strict=True)]
        return perturbed.index(min(perturbed))

    def choose(self, uniform: Callable[[], float]) -> int:
        return self.leader(0)

    def update(self, arm: int, gain: float) -> None:
        turn = found = 0
        while gain != 1 and found < self.algorithm.resamplings:
            turn += 1
            found += self.leader(turn) == arm
        self.losses[arm] += (1 - gain) * turn / self.algorithm.resamplings
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


def coin_divergence(x: float, y: float) -> float:
    """The divergence kl(x, y) of two Bernoulli laws."""
    if y in (0.0, 1.0):
        return 0.0 if x == y else math.inf
    first = x * math.log(x / y) if x > 0 else 0.0
    return first + ((1 - x) * math.log((1 - x) / (1 - y)) if x < 1 else 0.0)


def furthest(divergence: Callable[[float, float], float], x: float, cost: float) -> float:
    """-ln(1 - q) of the largest q with divergence(x, q) <= cost, by bisection."""
    if x == 1 or divergence(x, 1.0) <= cost:
        return math.inf
    low = -math.log1p(-x)
    high = low + 1
    while divergence(x, -math.expm1(-high)) <= cost:
        high *= 2
        if -math.expm1(-high) == 1:  # q is 1 up to rounding
            return high
    for _ in range(80):
        y = (low + high) / 2
        low, high = (y, high) if divergence(x, -math.expm1(-y)) <= cost else (low, y)
    return low


class Index:
    """Play each arm once, then the first arm with the largest index, a function of its gains."""

    def __init__(self, algorithm: Algorithm, n_arms: int, horizon: float) -> None:
        self.algorithm, self.horizon, self.t = algorithm, horizon, 1
        self.gains: list[list[float]] = [[] for _ in range(n_arms)]

    def choose(self, uniform: Callable[[], float]) -> int:
        if [] in self.gains:
            return self.gains.index([])
        index = [self.index(gains, sum(gains) / len(gains)) for gains in self.gains]
        return index.index(max(index))

    def update(self, arm: int, gain: float) -> None:
        self.gains[arm].append(gain)
        self.t += 1


class KlUcb(Index):
    """Algorithm 1 of Garivier & Cappé 2011."""

    def index(self, gains: list[float], mean: float) -> float:
        cost = math.log(self.t) + self.algorithm.c * math.log(max(1, math.log(self.t)))
        return furthest(coin_divergence, min(1, max(0, mean)), cost / len(gains))


class Imed(Index):
    """Algorithm 1 of Honda & Takemura 2015, which plays the arm with the smallest index."""

    def index(self, gains: list[float], mean: float) -> float:
        best = max(sum(other) / len(other) for other in self.gains)
        return -(len(gains) * coin_divergence(mean, best) + math.log(len(gains)))


class Moss(Index):
    """Figure 1 of Audibert & Bubeck 2009."""

    def index(self, gains: list[float], mean: float) -> float:
        return mean + math.sqrt(max(0, math.log(self.horizon / (len(self.gains) * len(gains)))) / len(gains))


class UcbV(Index):
    """Section 3 of Audibert, Munos & Szepesvári 2009."""

    def index(self, gains: list[float], mean: float) -> float:
        n = len(gains)
        variance = max(0, sum(gain * gain for gain in gains) / n - mean * mean)
        width = self.algorithm.zeta * math.log(self.t)
        return mean + math.sqrt(2 * variance * width / n) + 3 * width / n


class Thompson:
    """Algorithm 2 of Agrawal & Goyal 2012."""

    def __init__(self, n_arms: int, bits: Callable[[], int]) -> None:
        self.bits, self.sums, self.plays = bits, [0] * n_arms, [0] * n_arms

    def choose(self, uniform: Callable[[], float]) -> int:
        with np.errstate(over="ignore"):
            draws = [self.draw(arm) for arm in range(len(self.plays))]
        return draws.index(max(draws))

    def draw(self, arm: int) -> float:
        s, n = self.sums[arm], self.plays[arm]
        return numbers.beta(self.bits(), arm, 1 + s, 1 + n - s)

    def update(self, arm: int, gain: float) -> None:
        with np.errstate(over="ignore"):
            coin = numbers.uniform(self.bits(), len(self.plays))
        self.sums[arm] += coin < gain
        self.plays[arm] += 1


class GaussianTs:
    """Ou, Avella Medina & Cummings 2024: b pulls of every arm, then the largest draw of N(S/(n + 1), c/(n + 1))."""

    def __init__(self, algorithm: Algorithm, n_arms: int, normal: Callable[[], list[float]]) -> None:
        self.algorithm, self.normal = algorithm, normal
        self.gains: list[list[float]] = [[] for _ in range(n_arms)]

    def choose(self, uniform: Callable[[], float]) -> int:
        plays = [len(own) for own in self.gains]
        if min(plays) < self.algorithm.b:
            return plays.index(min(plays))
        draws = [
            sum(own) / (len(own) + 1) + math.sqrt(self.algorithm.c / (len(own) + 1)) * number
            for own, number in zip(self.gains, self.normal(), strict=True)
        ]
        return draws.index(max(draws))

    def update(self, arm: int, gain: float) -> None:
        self.gains[arm].append(gain)


class LazyDpTs:
    """Algorithm 1 of Hu & Hegde 2022. Each arm has (noisy mean, O) of its last epoch, and the list of gains since."""

    def __init__(self, algorithm: Algorithm, n_arms: int, laplace: Callable, bits: Callable[[], int]) -> None:
        self.algorithm, self.laplace, self.bits, self.t = algorithm, laplace, bits, 1
        self.last: list[tuple[float, int]] = [(0.0, 0)] * n_arms
        self.since: list[list[float]] = [[] for _ in range(n_arms)]

    def choose(self, uniform: Callable[[], float]) -> int:
        if self.t <= len(self.last):
            return self.t - 1
        log = math.log(self.t) if self.algorithm.log == "e" else math.log2(self.t)
        draws = []
        for arm, (mean, n) in enumerate(self.last):
            p = min(1, max(0, mean + 3 * log / (self.algorithm.epsilon * n)))
            with np.errstate(over="ignore"):
                draws.append(numbers.beta(self.bits(), arm, p * n + 1, (1 - p) * n + 1))
        return draws.index(max(draws))

    def update(self, arm: int, gain: float) -> None:
        self.since[arm].append(gain)
        n = len(self.since[arm])
        if n == max(1, 2 * self.last[arm][1]):
            self.last[arm] = (sum(self.since[arm]) + self.laplace() / self.algorithm.epsilon) / n, n
            self.since[arm] = []
        self.t += 1


class DpTs:
    """Algorithm 2 of Hu & Hegde 2022. Each arm has the list of its gains, and the noise that came with each."""

    def __init__(self, algorithm: Algorithm, n_arms: int, laplace: Callable, bits: Callable[[], int]) -> None:
        self.algorithm, self.laplace, self.bits, self.t = algorithm, laplace, bits, 1
        self.gains: list[list[float]] = [[] for _ in range(n_arms)]
        self.noise: list[list[float]] = [[] for _ in range(n_arms)]

    def sum(self, arm: int) -> float:
        noise, epoch, first, total = self.noise[arm], 0, 0, 0.0
        while first + 2**epoch <= len(noise):
            first += 2**epoch
            total += 2 * noise[first - 1] / self.algorithm.epsilon
            epoch += 1
        tree = sum(noise[first + end - 1] for end in ends(len(noise) - first))
        return sum(self.gains[arm]) + total + 2 * epoch / self.algorithm.epsilon * tree

    def choose(self, uniform: Callable[[], float]) -> int:
        if self.t <= len(self.gains):
            return self.t - 1
        log = math.log if self.algorithm.log == "e" else math.log2
        draws = []
        for arm, gains in enumerate(self.gains):
            n = len(gains)
            far = 6 * math.sqrt(8) * log(n + 1) * log(self.t) / self.algorithm.epsilon
            p = min(1, max(0, (self.sum(arm) + far) / n))
            with np.errstate(over="ignore"):
                draws.append(numbers.beta(self.bits(), arm, p * n + 1, (1 - p) * n + 1))
        return draws.index(max(draws))

    def update(self, arm: int, gain: float) -> None:
        self.gains[arm].append(gain)
        self.noise[arm].append(self.laplace())
        self.t += 1


class Exp3Ix:
    """Algorithm 1 of Neu 2015."""

    def __init__(self, n_arms: int, eta: float, gamma: float) -> None:
        self.eta, self.gamma, self.losses = eta, gamma, [0.0] * n_arms

    def choose(self, uniform: Callable[[], float]) -> int:
        weights = [math.exp(-self.eta * (loss - min(self.losses))) for loss in self.losses]
        self.p = [weight / sum(weights) for weight in weights]
        return draw(self.p, uniform())

    def update(self, arm: int, gain: float) -> None:
        self.losses[arm] += (1 - gain) / (self.p[arm] + self.gamma)


class Exp3P:
    """Figure 3.1 of Bubeck & Cesa-Bianchi 2012."""

    def __init__(self, algorithm: Algorithm, n_arms: int) -> None:
        self.algorithm, self.gains = algorithm, [0.0] * n_arms

    def choose(self, uniform: Callable[[], float]) -> int:
        eta, gamma, k = self.algorithm.eta, self.algorithm.gamma, len(self.gains)
        weights = [math.exp(eta * (gain - max(self.gains))) for gain in self.gains]
        self.p = [(1 - gamma) * weight / sum(weights) + gamma / k for weight in weights]
        return draw(self.p, uniform())

    def update(self, arm: int, gain: float) -> None:
        for i, p in enumerate(self.p):
            self.gains[i] += ((gain if i == arm else 0) + self.algorithm.beta) / p


class Exp3PlusPlus:
    """Algorithm 1 of Seldin & Slivkins 2014 with the ξ of its experiments."""

    def __init__(self, n_arms: int) -> None:
        self.losses, self.t = [0.0] * n_arms, 1

    def choose(self, uniform: Callable[[], float]) -> int:
        k, t, least = len(self.losses), self.t, min(self.losses)
        eta = math.sqrt(math.log(k) / (t * k)) / 2
        weights = [math.exp(-eta * (loss - least)) for loss in self.losses]
        x = [max(math.e, t * min(1, (loss - least) / t) ** 2) for loss in self.losses]
        extra = [min(1 / (2 * k), eta, math.log(own) / (32 * own)) for own in x]
        self.p = [(1 - sum(extra)) * w / sum(weights) + e for w, e in zip(weights, extra, strict=True)]
        return draw(self.p, uniform())

    def update(self, arm: int, gain: float) -> None:
        self.losses[arm] += (1 - gain) / self.p[arm]
        self.t += 1


class Optimist:
    """Each arm once, then the largest index; a list for each arm has the reports of its gains."""

    def __init__(self, algorithm: Algorithm, n_arms: int, horizon: float, laplace: Callable[[], float]) -> None:
        self.algorithm, self.n_arms, self.horizon, self.laplace = algorithm, n_arms, horizon, laplace
        self.reports: list[list[float]] = [[] for _ in range(n_arms)]
        self.t, self.foul = 1, None  # what of the game is replaced

    def choose(self, uniform: Callable[[], float]) -> int:
        self.uniform = uniform
        if [] in self.reports:
            return self.reports.index([])
        index = [self.mean(arm) + self.bonus(len(x)) for arm, x in enumerate(self.reports)]
        return index.index(max(index))

    def mean(self, arm: int) -> float:
        return sum(self.reports[arm]) / len(self.reports[arm])

    def update(self, arm: int, gain: float) -> None:
        self.reports[arm].append(self.report(gain, len(self.reports[arm]) + 1))
        self.t += 1

    def truncated(self, gain: float, bound: float) -> float:
        return gain if abs(gain) <= bound else 0.0


def limit(algorithm: Algorithm, factor: float = 1.0) -> float:
    """The B at which α outliers of B, each magnified by the factor, move a mean as far as cutting may: αcB = u/B^v."""
    share = factor * algorithm.alpha
    return (algorithm.u / share) ** (1 / (1 + algorithm.v)) if share else math.inf


class RobustUcb(Optimist):
    """Bubeck et al. 2013; ln t² of t = 2 in round 1."""

    def report(self, gain: float, n: int) -> float:
        v, u = self.algorithm.v, self.algorithm.u
        bound = (u * n / (2 * math.log(max(2, self.t)))) ** (1 / (1 + v))
        return self.truncated(gain, min(bound, limit(self.algorithm)))

    def bonus(self, n: int) -> float:
        v, u = self.algorithm.v, self.algorithm.u
        return 4 * self.algorithm.constants * u ** (1 / (1 + v)) * (2 * math.log(self.t) / n) ** (v / (1 + v))


class Local(Optimist):
    """Arms with few plays first (Ren et al. 2020)."""

    def choose(self, uniform: Callable[[], float]) -> int:
        for arm, reports in enumerate(self.reports):
            if len(reports) <= 4 * math.log(self.t + 1):
                return arm
        return super().choose(uniform)


class LdpRobustUcb(Local):
    """Zhou & Zhang 2024, and the same with bits ±cB in place of noise; ln t⁴ of t = 2 in round 1."""

    def __init__(self, *given) -> None:
        super().__init__(*given)
        self.bits = self.algorithm.report == "bernoulli"
        odds = math.exp(self.algorithm.epsilon)
        self.c = (odds + 1) / (odds - 1) if self.bits else 1 / self.algorithm.epsilon  # what privacy costs a report

    def choose(self, uniform: Callable[[], float]) -> int:
        return Optimist.choose(self, uniform) if self.bits else super().choose(uniform)

    def report(self, gain: float, n: int) -> float:
        v, u = self.algorithm.v, self.algorithm.u
        bound = (u * math.sqrt(n / (4 * math.log(max(2, self.t)))) / self.c) ** (1 / (1 + v))
        after = self.foul is not None and self.foul.after
        bound = min(self.algorithm.truncation * bound, limit(self.algorithm, self.c if after else 1.0))
        if after and gain in (math.inf, -math.inf):
            return math.copysign(self.c * bound if self.bits else self.foul.outlier, gain)
        kept = self.truncated(gain, bound)
        if not self.bits:
            return kept + 2 * bound / self.algorithm.epsilon * self.laplace()
        return self.c * bound * (1 if self.uniform() < (1 + kept / (self.c * bound)) / 2 else -1)

    def bonus(self, n: int) -> float:
        v, u = self.algorithm.v, self.algorithm.u
        width = (math.sqrt(4 * math.log(self.t) / n) * self.c) ** (v / (1 + v))
        return 4 * self.algorithm.constants * u ** (1 / (1 + v)) * width


class LdpUcb(Local):
    """Ren et al. 2020, CTL and CTB."""

    def choose(self, uniform: Callable[[], float]) -> int:
        if self.algorithm.report == "laplace":
            return super().choose(uniform)
        return Optimist.choose(self, uniform)

    def report(self, gain: float, n: int) -> float:
        odds = math.exp(self.algorithm.epsilon)
        if self.algorithm.report == "laplace":
            return gain + self.laplace() / self.algorithm.epsilon
        report = 1.0 if self.uniform() < (gain * odds + 1 - gain) / (1 + odds) else 0.0
        return (report * (odds + 1) - 1) / (odds - 1)

    def bonus(self, n: int) -> float:
        epsilon = self.algorithm.epsilon
        if self.algorithm.report == "laplace":
            return math.sqrt(2 * math.log(self.t) / n) + math.sqrt(32 * math.log(self.t) / n) / epsilon
        return (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1) * math.sqrt(2 * math.log(self.t) / n)


class Tree:
    """Algorithm 2 of Tao et al. line by line: the sums and the noisy sums of dyadic ranges, by their levels."""

    def __init__(self) -> None:
        self.n, self.alpha, self.noisy = 0, [0.0] * 64, [0.0] * 64

    def insert(self, item: float, noise: float) -> float:
        self.n += 1
        level = next(j for j in range(64) if self.n >> j & 1)
        self.alpha[level] = sum(self.alpha[:level]) + item
        for j in range(level):
            self.alpha[j] = self.noisy[j] = 0.0
        self.noisy[level] = self.alpha[level] + noise
        return sum(self.noisy[j] for j in range(64) if self.n >> j & 1)


def paths(alphabet: int, height: int, ones: int | None) -> Iterator[tuple[int, ...]]:
    """The paths to the leaves of a tree from left to right; if `ones` is given, only those with so many ones."""
    if height == 0:
        yield ()
        return
    for turn in range(alphabet):
        left = None if ones is None else ones - turn
        if left is None or 0 <= left <= height - 1:
            for rest in paths(alphabet, height - 1, left):
                yield (turn, *rest)


def digits(n: int, k: int) -> list[int]:
    """The digits of n in base k, the highest first."""
    return [*([] if n < k else digits(n // k, k)), n % k]


@cache
def most_digits(k: int, items: int) -> int:
    """The largest sum of digits among 1, ..., items."""
    return max(sum(digits(n, k)) for n in range(1, items + 1))


@cache
def best_shape(counter: str, items: int) -> tuple[int, int, int | None]:
    """The (k, height, ones) that minimises (nodes that contain an item)² times (nodes of a prefix)."""
    if counter == "smooth":
        shapes = [(h, w) for h in range(2, 62) for w in range(1, h) if math.comb(h, w) > items]
        return (2, *min(shapes, key=lambda shape: (shape[0] - shape[1]) ** 2 * shape[1]))
    k = min(range(2, 65), key=lambda k: len(digits(items, k)) ** 2 * most_digits(k, items))
    return k, len(digits(items, k)), None


class PathTree:
    """A k-ary or smooth tree by its paths: prefix n consists of the nodes to the left of the path to leaf n + 1."""

    def __init__(self, counter: str, items: int) -> None:
        k, height, ones = best_shape(counter, items)
        self.sensitivity, self.leaves = height - (ones or 0), paths(k, height, ones)
        self.path = next(self.leaves)
        self.inside: set[tuple[int, ...]] = set()  # the nodes that contain an item
        self.noise: dict[tuple[int, ...], float] = {}

    def insert(self, noise: float) -> float:
        """The noise of the prefix after the node that this item closes was given this noise."""
        self.inside |= {self.path[:end] for end in range(1, len(self.path) + 1)}
        self.path = next(self.leaves)
        left = [(*self.path[:i], turn) for i in range(len(self.path)) for turn in range(self.path[i])]
        return sum(self.noise.setdefault(node, noise) for node in left if node in self.inside)


class DpRobustUcb(Optimist):
    """Tao et al. 2022, Algorithm 1; `reports` are the truncated gains."""

    def __init__(self, *given) -> None:
        super().__init__(*given)
        counter, items = self.algorithm.counter, int(self.horizon)
        self.trees = [Tree() if counter == "tree" else PathTree(counter, items) for _ in range(self.n_arms)]
        self.prefix = [0.0] * self.n_arms

    def mean(self, arm: int) -> float:
        return self.prefix[arm] / len(self.reports[arm])

    def update(self, arm: int, gain: float) -> None:
        v, u, epsilon = self.algorithm.v, self.algorithm.u, self.algorithm.epsilon
        log_t, n = math.log(self.horizon), len(self.reports[arm]) + 1
        plain, tree = self.algorithm.counter == "tree", self.trees[arm]
        levels = int(self.horizon).bit_length() if plain else tree.sensitivity
        divisor = log_t if self.algorithm.levels == "printed" else levels
        bound = min((epsilon * u * n / log_t**1.5) ** (1 / (1 + v)), limit(self.algorithm))
        self.reports[arm].append(self.truncated(gain, bound))
        noise = 2 * bound * divisor / epsilon * self.laplace()
        kept = self.reports[arm]
        self.prefix[arm] = tree.insert(kept[-1], noise) if plain else sum(kept) + tree.insert(noise)
        self.t += 1

    def bonus(self, n: int) -> float:
        v, u, log_t = self.algorithm.v, self.algorithm.u, math.log(self.horizon)
        private = math.log(2 * self.t**4) * log_t ** (1.5 + 1 / v) / (n * self.algorithm.epsilon)
        return 18 * self.algorithm.constants * u ** (1 / (1 + v)) * private ** (v / (1 + v))


class DpUcb(Optimist):
    """Tossou & Dimitrakakis 2016 and the bonuses that others have; `reports` are the gains."""

    def __init__(self, *given) -> None:
        super().__init__(*given)
        self.noise: list[list[float]] = [[] for _ in range(self.n_arms)]  # of each insertion, standard
        self.of_prefix = [0.0] * self.n_arms
        if self.algorithm.counter != "tree":
            self.trees = [PathTree(self.algorithm.counter, int(self.horizon)) for _ in range(self.n_arms)]

    def update(self, arm: int, gain: float) -> None:
        self.reports[arm].append(gain)
        self.noise[arm].append(self.laplace())
        if self.algorithm.counter == "tree":
            self.of_prefix[arm] = self.scaled_noise(self.noise[arm])
        else:
            tree = self.trees[arm]
            self.of_prefix[arm] = tree.insert(tree.sensitivity / self.algorithm.epsilon * self.noise[arm][-1])
        self.t += 1

    def mean(self, arm: int) -> float:
        return (sum(self.reports[arm]) + self.of_prefix[arm]) / len(self.reports[arm])

    def scaled_noise(self, noise: list[float]) -> float:
        """The noise of the nodes whose ranges end at n, at n without its lowest one, and so on."""
        epsilon, n = self.algorithm.epsilon, len(noise)
        if not self.algorithm.hybrid:
            return sum(noise[end - 1] for end in ends(n)) * int(self.horizon).bit_length() / epsilon
        level = n.bit_length() - 1
        blocks = sum(noise[2**k - 1] for k in range(level + 1))
        within = sum(noise[2**level + end - 1] for end in ends(n - 2**level))
        return 2 / epsilon * (blocks + level * within)

    def bonus(self, n: int) -> float:
        epsilon, gamma, t, k = self.algorithm.epsilon, self.algorithm.gamma, self.t, self.n_arms
        log_t, plain = math.log(self.horizon), math.sqrt(2 * math.log(t) / n)
        match self.algorithm.bonus:
            case "with_nu":
                nu = math.sqrt(8) / epsilon * math.log(4 * t**4)
                return plain + nu * (1 if n.bit_count() == 1 else 1 + math.log(n)) / n
            case "without_nu":
                return plain
            case "chernoff":
                return plain + self.exceeded() / n
            case "mishra_thakurta":
                return plain + log_t**2 * math.log(k * self.horizon * log_t / gamma) / (epsilon * n)
        sure = math.log(2 / gamma)
        return math.sqrt(2 * sure / n) + math.sqrt(8) * log_t**1.5 * sure / (epsilon * n)

    def exceeded(self) -> float:
        """A number that the noise of a prefix exceeds with probability at most t^-4, by Chernoff's bound."""
        counter, items = self.algorithm.counter, int(self.horizon)
        k, height, ones = (2, items.bit_length(), None) if counter == "tree" else best_shape(counter, items)
        m = ones or most_digits(k, items)
        return (height - (ones or 0)) / self.algorithm.epsilon * chernoff(m, 4 * math.log(items), 4 * math.log(self.t))


@cache
def theta(m: int, log: float) -> float:
    """The θ in (0, 1) that minimises (log - m ln(1 - θ²))/θ, by ternary search."""
    low, high = 1e-9, 1 - 1e-9
    for _ in range(200):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if bound_of(m, log, a) < bound_of(m, log, b) else (a, high)
    return low


def bound_of(m: int, log: float, theta: float) -> float:
    return (log - m * math.log(1 - theta**2)) / theta


def chernoff(m: int, tuned: float, log: float) -> float:
    """The bound at probability e^-log, with the θ that is best at probability e^-tuned."""
    return bound_of(m, log, theta(m, tuned))


def ends(n: int) -> list[int]:
    """Where the dyadic ranges that make up 1..n end: n, n without its lowest one, ..."""
    return [] if n == 0 else [n, *ends(n & (n - 1))]


class AdapUcb:
    """Azize & Basu 2022: (mean, m) of an arm's last episode."""

    def __init__(self, n_arms: int, epsilon: float, beta: float, laplace: Callable[[], float]) -> None:
        self.n_arms, self.epsilon, self.beta, self.laplace, self.t = n_arms, epsilon, beta, laplace, 1
        self.plays, self.last, self.episode = [0] * n_arms, [(math.inf, 1)] * n_arms, []

    def choose(self, uniform: Callable[[], float]) -> int:
        if not self.episode:
            index = []
            for mean, m in self.last:
                width = self.beta * math.log(self.t)
                index.append(mean + math.sqrt(width / (2 * m)) + width / (self.epsilon * m))
            self.arm = index.index(max(index))
        return self.arm

    def update(self, arm: int, gain: float) -> None:
        self.episode.append(gain)
        m = max(1, self.plays[arm])
        if len(self.episode) == m:
            self.last[arm] = (sum(self.episode) / m + self.noise(m), m)
            self.plays[arm] += m
            self.episode = []
        self.t += 1

    def noise(self, m: int) -> float:
        """The noise of the mean of m gains."""
        return self.laplace() / (self.epsilon * m)


class AdacUcb(AdapUcb):
    """Azize & Basu 2023: AdaP-UCB with a normal number for the Laplace number, and one width for sampling and noise."""

    def choose(self, uniform: Callable[[], float]) -> int:
        if not self.episode:
            log, rho = self.beta * math.log(self.t), self.epsilon
            index = [mean + math.sqrt((1 / (2 * m) + 1 / (rho * m**2)) * log) for mean, m in self.last]
            self.arm = index.index(max(index))
        return self.arm

    def noise(self, m: int) -> float:
        return self.laplace() * math.sqrt(1 / (2 * self.epsilon)) / m


class AdapKlucb(AdapUcb):
    """Azize & Basu 2022: the index of KL-UCB on the noisy mean plus a bonus for its noise."""

    def choose(self, uniform: Callable[[], float]) -> int:
        if not self.episode:
            index = []
            for mean, m in self.last:
                width = self.beta * math.log(self.t) / m
                x = min(1, max(0, mean + width / self.epsilon)) if mean < math.inf else 1
                index.append(math.inf if mean == math.inf else furthest(coin_divergence, x, width))
            unplayed = [arm for arm, plays in enumerate(self.plays) if not plays]
            self.arm = unplayed[0] if unplayed else index.index(max(index))
        return self.arm


def private_divergence(epsilon: float) -> Callable[[float, float], float]:
    """The least ε(z - x) + kl(z, y) for z in [x, y]: at x, or where the slope is 0."""

    def divergence(x: float, y: float) -> float:
        z = max(x, y / (y + (1 - y) * math.exp(min(700, epsilon)))) if y > x else y
        return epsilon * (z - x) * (y > x) + coin_divergence(z, y)

    return divergence


def by_chernoff(n: int, m: int, epsilon: float) -> Callable[[float, float], float]:
    """The exponent of Chernoff's bound: n Bernoulli numbers of mean y and m Laplace numbers have a sum below nx."""

    def divergence(x: float, y: float) -> float:
        def exponent(rate: float) -> float:
            coins = -rate * x - math.log1p(y * math.expm1(-rate))
            return n * coins + m * math.log1p(-((rate / epsilon) ** 2))

        options = {"bounds": (0, 50), "method": "bounded", "options": {"xatol": 1e-9}}
        found = optimize.minimize_scalar(lambda u: -exponent(min(epsilon, 40) * math.exp(-u)), **options)
        return max(0.0, -float(found.fun))

    return divergence


class Phased:
    """DP-KLUCB and DP-IMED of Azize et al. 2025. Each arm has the list of (gains, noise) of its phases."""

    def __init__(self, algorithm: Algorithm, n_arms: int, laplace: Callable[[], float]) -> None:
        self.algorithm, self.laplace, self.t = algorithm, laplace, 1
        self.phases: list[list[tuple[list[float], float]]] = [[] for _ in range(n_arms)]
        self.gains: list[float] = []

    def noisy(self, arm: int) -> tuple[float, int, int]:
        """The clipped noisy mean, and how many gains and how many Laplace numbers are in it."""
        last = getattr(self.algorithm, "memory", "all") == "last"
        kept = self.phases[arm][-1:] if last else self.phases[arm]
        n = sum(len(gains) for gains, _ in kept)
        total = 0.0
        for gains, noise in kept:
            total += sum(gains) + noise
        return min(1, max(0, total / n)), n, len(kept)

    def choose(self, uniform: Callable[[], float]) -> int:
        if self.gains:
            return self.arm
        if [] in self.phases:
            self.arm = self.phases.index([])
            return self.arm
        seen = [self.noisy(arm) for arm in range(len(self.phases))]
        if self.algorithm.name == "dp_imed":
            d, best = private_divergence(self.algorithm.epsilon), max(x for x, _, _ in seen)
            index = [-(n * d(x, best) + math.log(n)) for x, n, _ in seen]
        elif self.algorithm.width == "optimal":
            epsilon, log_t = self.algorithm.epsilon, math.log(self.t)
            index = [furthest(by_chernoff(n, m, epsilon), x, log_t) for x, n, m in seen]
        else:
            eta = self.algorithm.eta if self.algorithm.width == "chernoff" else 0
            h = -math.log(eta * (2 - eta)) if eta else 0
            d = private_divergence((1 - eta) * self.algorithm.epsilon)
            index = [furthest(d, x, (math.log(self.t) + m * h) / n) for x, n, m in seen]
        self.arm = index.index(max(index))
        return self.arm

    def update(self, arm: int, gain: float) -> None:
        self.gains.append(gain)
        self.t += 1
        n = sum(len(gains) for gains, _ in self.phases[arm])
        first = math.ceil(self.algorithm.first / self.algorithm.epsilon)
        length = math.ceil(self.algorithm.alpha * n) - n if n else first
        if len(self.gains) == max(1, length):
            self.phases[arm].append((self.gains, self.laplace() / self.algorithm.epsilon))
            self.gains = []


class Eliminator:
    """Algorithms 3 and 4 of Tao et al. 2022 and that of Sajed & Sheffet 2019: S, τ, and the samples of the epoch."""

    def __init__(self, algorithm: Algorithm, n_arms: int, laplace: Callable[[], float]) -> None:
        self.algorithm, self.laplace, self.viable, self.tau = algorithm, laplace, list(range(n_arms)), 0
        self.foul = None  # what of the game is replaced
        self.begin()

    def begin(self) -> None:
        self.tau += 1
        self.pulls, self.mean = 0, {}
        self.samples: dict[int, list[float]] = {arm: [] for arm in self.viable}
        self.length, self.bound, self.noise, self.threshold = self.epoch(len(self.viable))

    def epoch(self, s: int) -> tuple[int, float, float, float]:
        """R, B, the scale of the noise, and how far below the best an arm may be."""
        algorithm, tau = self.algorithm, self.tau
        if algorithm.name == "dp_se":
            h_log, c_log, d = (
                math.log(8 * s * tau**2 / algorithm.beta),
                math.log(4 * s * tau**2 / algorithm.beta),
                2**-tau,
            )
            length = math.ceil(max(32 * h_log / d**2, 8 * c_log / (algorithm.epsilon * d))) + 1
            width = 2 * math.sqrt(h_log / (2 * length)) + 2 * c_log / (length * algorithm.epsilon)
            return length, math.inf, 1 / (length * algorithm.epsilon), width
        v, u, c = algorithm.v, algorithm.u, algorithm.constants
        most, unit = limit(algorithm), u ** (1 / (1 + v))
        moved = 2 * (2 * unit * algorithm.alpha ** (v / (1 + v)) + algorithm.alpha * unit)  # two means, each so far
        if algorithm.name == "ldp_robust_se":
            log, epsilon, d = math.log(8 * s * tau**2 / algorithm.beta), algorithm.epsilon, algorithm.epochs**-tau
            power = 2 * (1 + v) / v
            length = math.ceil(u ** (2 / v) * (28 * c) ** power * log / (epsilon**2 * d**power) + log)
            bound = min((u * math.sqrt(length) * epsilon / math.sqrt(log)) ** (1 / (1 + v)), most)
            root = length if algorithm.err == "printed" else math.sqrt(length)
            err = u ** (1 / (1 + v)) * (math.sqrt(log) / (root * epsilon)) ** (v / (1 + v))
            return length, bound, 2 * bound / epsilon, 14 * c * err + moved
        log, d = math.log(4 * s * tau**2 / algorithm.beta), 2**-tau
        epsilon = getattr(algorithm, "epsilon", 1)
        length = math.ceil(u ** (1 / v) * (24 * c) ** ((1 + v) / v) * log / (epsilon * d ** ((1 + v) / v)) + 1)
        bound = min((u * length * epsilon / log) ** (1 / (1 + v)), most)
        err = u ** (1 / (1 + v)) * (log / (length * epsilon)) ** (v / (1 + v))
        scale = 2 * bound / (length * epsilon) if hasattr(algorithm, "epsilon") else 0.0
        return length, bound, scale, 12 * c * err + moved

    def choose(self, uniform: Callable[[], float]) -> int:
        return self.viable[self.pulls % len(self.viable)]

    def update(self, arm: int, gain: float) -> None:
        if len(self.viable) == 1:
            return
        self.pulls += 1
        local = self.algorithm.name == "ldp_robust_se"
        kept = gain if abs(gain) <= self.bound else 0.0
        report = kept + self.noise * self.laplace() if local else kept
        if local and gain in (math.inf, -math.inf):
            report = math.copysign(self.foul.outlier, gain)
        self.samples[arm].append(report)
        if len(self.samples[arm]) == self.length:
            fresh = 0.0 if local or self.noise == 0 else self.noise * self.laplace()
            self.mean[arm] = sum(self.samples[arm]) / self.length + fresh
        if len(self.mean) == len(self.viable):
            best = max(self.mean.values())
            self.viable = [arm for arm in self.viable if best - self.mean[arm] <= self.threshold]
            self.begin()


class Distributed:
    """Dist-DP-SE and Dist-RDP-SE of Chowdhury & Zhou 2023: the messages of each arm's users in this batch, mod M.

    The last user of an arm sends the noise of all of its users.
    """

    def __init__(self, algorithm: Algorithm, n_arms: int, horizon: float, laplace: Callable, bits: Callable) -> None:
        self.algorithm, self.log, self.laplace, self.bits = algorithm, math.log(2 * horizon), laplace, bits
        self.skellam, self.viable, self.b = algorithm.name == "dist_rdp_se", list(range(n_arms)), 0
        self.begin()

    def begin(self) -> None:
        self.b, self.pulls = self.b + 1, 0
        self.length, epsilon = self.algorithm.growth**self.b, self.algorithm.epsilon
        self.sent: dict[int, list[int]] = {arm: [] for arm in self.viable}
        finer = self.algorithm.s if self.skellam else 1
        self.g = math.ceil(finer * epsilon * math.sqrt(self.length))
        reach = self.log / epsilon * self.g
        if self.skellam:
            reach = 2 * self.g / epsilon * math.sqrt(self.log) + math.sqrt(2) * self.log
        self.tau = math.ceil(reach)
        self.modulus = self.length * self.g + 2 * self.tau + 1

    def choose(self, uniform: Callable[[], float]) -> int:
        return self.viable[self.pulls % len(self.viable)]

    def noise(self) -> int:
        """Skellam noise, or discrete Laplace noise at the quantile of the Laplace number."""
        scale = self.g / self.algorithm.epsilon
        if self.skellam:
            with np.errstate(over="ignore"):
                return int(numbers.skellam(self.bits(), 1, scale**2))
        z, q = self.laplace(), math.exp(-1 / scale)
        k = 0
        while q ** (k + 1) / (1 + q) >= math.exp(-abs(z)) / 2:
            k += 1
        return k if z > 0 else -k

    def update(self, arm: int, gain: float) -> None:
        if len(self.viable) == 1:
            return
        self.pulls += 1
        message = math.floor(self.g * gain)
        with np.errstate(over="ignore"):
            message += numbers.uniform(self.bits(), 0) < self.g * gain - message
        if len(self.sent[arm]) == self.length - 1:
            message += self.noise()
        self.sent[arm].append(message % self.modulus)
        if self.pulls == self.length * len(self.viable):
            self.eliminate()
            self.begin()

    def eliminate(self) -> None:
        mean = {}
        for arm, sent in self.sent.items():
            y = sum(sent) % self.modulus
            if y > self.length * self.g + self.tau:
                y -= self.modulus
            mean[arm] = y / (self.length * self.g)
        epsilon, share = self.algorithm.epsilon, 2 * len(self.viable) * self.b**2 / self.algorithm.p
        sigma, h = math.sqrt(2) / epsilon, 1 / epsilon
        if self.skellam:
            s = self.algorithm.s
            sigma, h = 2 / epsilon + math.sqrt(2) / (s * epsilon), 1 / (s * epsilon)
        width = math.sqrt(math.log(2 * share) / (2 * self.length))
        width += sigma * math.sqrt(math.log(share)) / self.length + h * math.log(share) / self.length
        best = max(mean.values())
        self.viable = [arm for arm in self.viable if mean[arm] + width >= best - width]


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


OPTIMISTS = {
    "dp_robust_ucb": DpRobustUcb,
    "dp_ucb": DpUcb,
    "ldp_robust_ucb": LdpRobustUcb,
    "ldp_ucb": LdpUcb,
    "robust_ucb": RobustUcb,
}


INDICES = {"imed": Imed, "kl_ucb": KlUcb, "moss": Moss, "ucb_v": UcbV}


def learner(
    algorithm: Algorithm,
    n_arms: int,
    laplace: Callable[[], float],
    horizon: float = math.nan,
    bits: Callable[[], int] | None = None,
    normal: Callable | None = None,
):
    """The twin of a tuned algorithm; wrappers do not pass on what follows the Laplace numbers."""
    if algorithm.name in INDICES:
        return INDICES[algorithm.name](algorithm, n_arms, horizon)
    if algorithm.name in OPTIMISTS:
        return OPTIMISTS[algorithm.name](algorithm, n_arms, horizon, laplace)
    match algorithm.name:
        case "dp_robust_se" | "dp_se" | "ldp_robust_se" | "robust_se":
            return Eliminator(algorithm, n_arms, laplace)
        case "dist_dp_se" | "dist_rdp_se":
            return Distributed(algorithm, n_arms, horizon, laplace, bits)
        case "adap_ucb":
            return AdapUcb(n_arms, algorithm.epsilon, algorithm.beta, laplace)
        case "adac_ucb":
            return AdacUcb(n_arms, algorithm.rho, algorithm.beta, normal)
        case "adap_klucb":
            return AdapKlucb(n_arms, algorithm.epsilon, algorithm.beta, laplace)
        case "dp_klucb" | "dp_imed":
            return Phased(algorithm, n_arms, laplace)
        case "batched_htinf":
            return MiniBatch(learner(algorithm.base, n_arms, laplace), algorithm.tau)
        case "dp_exp2" | "dp_reduction":
            return Reduction(learner(algorithm.base, n_arms, laplace), algorithm.epsilon, laplace)
        case "exp2":
            return Exp2(algorithm, n_arms)
        case "htinf":
            return Htinf(n_arms, algorithm.sigma)
        case "exp3":
            return Exp3(n_arms, algorithm.gamma)
        case "exp3_ix":
            return Exp3Ix(n_arms, algorithm.eta, algorithm.gamma)
        case "exp3_p":
            return Exp3P(algorithm, n_arms)
        case "exp3_pp":
            return Exp3PlusPlus(n_arms)
        case "dp_ts":
            return DpTs(algorithm, n_arms, laplace, bits)
        case "lazy_dp_ts":
            return LazyDpTs(algorithm, n_arms, laplace, bits)
        case "gaussian_ts":
            return GaussianTs(algorithm, n_arms, normal)
        case "thompson":
            return Thompson(n_arms, bits)
        case "tsallis_switch":
            return TsallisSwitch(n_arms, algorithm.cost, 0.0, laplace)
        case "dp_tsallis_switch":
            return TsallisSwitch(n_arms, algorithm.cost, 1 / algorithm.epsilon, laplace)
        case "ftpl_frechet":
            return FtplFrechet(algorithm, n_arms, bits)
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
    rng = stream(seed, "gains", adversary.name, trial=trial)
    (table,) = adversary.gains(setting, rng, [range(1, int(setting.horizon) + 1)])
    return np.asarray(table, float)


def regrets(
    adversary: Adversary, algorithm: Algorithm, setting: Setting, checkpoints: Sequence[int], seed: int, trial: int
) -> list[float]:
    """The regret at each checkpoint: the gain of the best arm so far minus the learner's own gain.

    Against an adversary that tells its means: what the means of the arms played fall short of the largest.
    """
    means = adversary.mean_gains(setting)
    table = gain_table(adversary, setting, seed, trial)
    sources = {"uniform": stream(seed, "uniform", algorithm.name, trial=trial).random}
    sources["laplace"] = standard_laplace(stream(seed, "laplace", algorithm.name, trial=trial))
    sources["normal"] = stream(seed, "normal", algorithm.name, trial=trial).standard_normal
    words = iter(stream(seed, "bits", algorithm.name, trial=trial).bit_generator.random_raw, None)
    sources["bits"] = lambda: np.uint64(next(words))
    now: dict[str, float] = {}  # this round's numbers; using a kind that is not due raises an error

    def uniform() -> float:
        return now["uniform"]

    others = (lambda: now["bits"]), (lambda: now["normal"])
    player = learner(algorithm, setting.n_arms, lambda: now["laplace"], setting.horizon, *others)
    player.foul = setting.contamination
    memory, observed = adversary.reaction()
    arms: list[int] = []
    own, totals, out = 0.0, [0.0] * setting.n_arms, []
    for t, gains in enumerate(table.tolist(), start=1):
        now.clear()
        for kind, n in random_needs(algorithm, setting).items():
            if not isinstance(n, One):
                now[kind] = [sources[kind]() for _ in range(n)]
            elif t % n.period in (0, 1 % n.period):
                now[kind] = sources[kind]()
        arm = player.choose(uniform)
        held = arms[max(0, len(arms) - memory) :] if memory else []  # the arms of the last m rounds
        pays = memory == 0 or all(other == arm for other in held)
        own += means[arm] - max(means) if means is not None else gains[arm] if pays else 0.0
        player.update(arm, gains[arm] if pays or not observed else 0.0)
        arms.append(arm)
        totals = [total + gain for total, gain in zip(totals, gains, strict=True)]
        if t in checkpoints:
            out.append((max(totals) if means is None else 0.0) - own)
    return out


def standard_laplace(rng) -> Callable[[], float]:
    """-ln U, or ln U if a word's lowest bit is 1; U is the odd multiple of 2^-53 that its upper 52 bits give."""

    def number() -> float:
        word = int(rng.bit_generator.random_raw())
        return (1 if word & 1 else -1) * math.log((2 * (word >> 12) + 1) / 2**53)

    return number


def bernoulli(rng, means: Sequence[float], n: int) -> list[list[bool]]:
    """Rows of gains: 16 bits of a word each, lowest first, compared with the mean; another stream decides ties."""
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
