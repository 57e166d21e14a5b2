"""Plain twins of the contextual game, from the papers: one round at a time, whole matrices, direct solves.

They draw from the same streams in the same order, so that only rounding may differ.
"""

import math

import numpy as np
from scipy import special, stats

from privbandits_cli.numerics.streams import stream
from tests.plain_counters import matrix

# ------------------------------------------------------------------------------------------------- adversaries


def in_order(x, y):
    """<x, y>, summed from the first coordinate to the last: the order decides ties of unit vectors."""
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total += a * b
    return total


def sphere_arms(adversary, setting, rng):
    """Yields each round's arms `[k, d]` and means: directions, redrawn along θ where they are out of range."""
    d, k = setting.known().dimension, setting.n_arms
    low, high, best = -adversary.best, adversary.best - adversary.gap, adversary.best
    theta = rng.standard_normal(d)
    theta = theta / np.linalg.norm(theta)
    largest = max((1 - u * u) ** ((d - 3) / 2) for u in [low, high] + [0.0] * (low < 0 < high))

    def turned(x, old, new):
        across = x - old * theta
        return new * theta + np.sqrt((1 - new * new) / in_order(across, across)) * across

    while True:
        arms = rng.standard_normal((d, k)).T.copy()
        means = np.zeros(k)
        for a in range(k):
            scale = 1 / np.sqrt(in_order(arms[a], arms[a]))
            means[a] = in_order(theta, arms[a]) * scale
            arms[a] *= scale
        for a in range(k):
            if not low <= means[a] <= high:
                while True:
                    u = low + (high - low) * rng.random()
                    if rng.random() * largest < (1 - u * u) ** ((d - 3) / 2):
                        break
                arms[a], means[a] = turned(arms[a], means[a], u), u
        a = int(rng.random() * k)
        arms[a], means[a] = turned(arms[a], means[a], best), best
        yield arms, means


def the_same_arms(vectors, theta):
    """Yields these arms `[k, d]` and their means, for ever."""
    while True:
        yield vectors, vectors @ theta


def games(adversary, setting, rng):
    """The rounds of any of the three."""
    if adversary.name == "sphere_arms":
        return sphere_arms(adversary, setting, rng)
    if adversary.name == "basis_arms":
        return the_same_arms(np.eye(setting.n_arms), np.array(adversary.means))
    return the_same_arms(*adversary.drawn(setting, rng))


def rewards(adversary, rng):
    """A source of rewards about a mean."""
    return {
        "signs": lambda mean: 1.0 if rng.random() < (1 + mean) / 2 else -1.0,
        "bernoulli": lambda mean: 1.0 if rng.random() < mean else 0.0,
        "gaussian": lambda mean: mean + rng.standard_normal(),
    }[adversary.law()]


# --------------------------------------------------------------------------------------------------- learners


def highest(arms, v, u, beta):
    """The first arm of the largest <V^-1 u, x> + β |x| in the norm of V^-1.

    Added up in the order of the coordinates: before the first reward unit vectors differ by rounding alone.
    """
    theta, inverse = np.linalg.solve(v, u), np.linalg.inv(v)
    scores = []
    for x in arms:
        mean, square = 0.0, 0.0
        for i in range(len(x)):
            square += x[i] * (inverse[i, i] * x[i] + 2 * sum(inverse[i, j] * x[j] for j in range(i)))
            mean += theta[i] * x[i]
        scores.append(mean + beta * math.sqrt(max(0.0, square)))
    return int(np.argmax(scores))


def proposition_4(known, v, alpha, rho_min, rho_max, gamma):
    """β."""
    inside = 2 * math.log(2 / alpha) + np.linalg.slogdet(v)[1] - known.dimension * math.log(rho_min)
    return known.sigma * math.sqrt(max(0, inside)) + known.theta_norm * math.sqrt(rho_max) + gamma


class LinUCB:
    """With a constant regulariser."""

    def __init__(self, algorithm, setting, rng):
        self.algorithm, self.known = algorithm, setting.known()
        d = self.known.dimension
        self.v, self.u = algorithm.rho * np.eye(d), np.zeros(d)

    def choose(self, arms):
        rho = self.algorithm.rho
        return highest(arms, self.v, self.u, proposition_4(self.known, self.v, self.algorithm.alpha, rho, rho, 0))

    def update(self, x, y):
        self.v += np.outer(x, x)
        self.u += x * y


class LinTS:
    """Agrawal & Goyal 2013, with the covariance's root that solves L' y = z for V = L L'."""

    def __init__(self, algorithm, setting, rng):
        self.algorithm, self.known, self.rng, self.t = algorithm, setting.known(), rng, 1
        d = self.known.dimension
        self.v, self.u = algorithm.rho * np.eye(d), np.zeros(d)

    def choose(self, arms):
        d, v = len(self.u), self.algorithm.v
        if v is None:
            v = self.known.sigma * math.sqrt(9 * d * math.log(self.t / self.algorithm.alpha))
        root = np.linalg.cholesky(self.v)
        theta = np.linalg.solve(self.v, self.u) + v * np.linalg.solve(root.T, self.rng.standard_normal(d))
        return int(np.argmax(arms @ theta))

    def update(self, x, y):
        self.v += np.outer(x, x)
        self.u += x * y
        self.t += 1


def symmetric_gaussian(d, sigma, rng):
    """Gaussian noise of order d + 1; the corner, which is never used, is 0."""
    z = np.zeros((d + 1, d + 1))
    for i in range(d):
        for j in range(i):
            z[i, j] = z[j, i] = sigma * rng.standard_normal()
        z[i, i] = math.sqrt(2) * sigma * rng.standard_normal()
        z[i, d] = z[d, i] = sigma * rng.standard_normal()
    return z


def bartlett(d, scale, k, rng):
    """Wishart noise of order d + 1 without the corner."""
    a = np.zeros((d + 1, d + 1))
    for i in range(d + 1):
        a[i, : min(i, d)] = rng.standard_normal(min(i, d))
        if i < d:
            a[i, i] = math.sqrt(2 * rng.standard_gamma((k - i) / 2))
    return scale * a @ a.T


class DPLinUCB:
    """The tree's nodes by name: (level, t div 2^level)."""

    def __init__(self, algorithm, setting, rng):
        self.algorithm, self.setting, self.known, self.rng = algorithm, setting, setting.known(), rng
        d = self.known.dimension
        self.m = 1 + math.ceil(math.log2(setting.horizon))
        self.sum, self.t, self.nodes = np.zeros((d + 1, d + 1)), 0, {}

    def node(self):
        d = self.known.dimension
        if self.algorithm.noise == "gaussian":
            return symmetric_gaussian(d, self.algorithm.sigma(self.setting), self.rng)
        return bartlett(d, self.known.row_norm() ** 2, self.algorithm.rows(self.setting), self.rng)

    def noise(self):
        """The noise of the current release."""
        total = np.zeros_like(self.sum)
        for level in reversed(range(self.m)):
            name = level, self.t >> level
            if name not in self.nodes:
                self.nodes[name] = self.node()
            total += self.nodes[name]
        return total

    def share(self):
        """The current regularisers as a share of the largest."""
        return 1.0

    def choose(self, arms):
        d, made = self.known.dimension, self.algorithm.regularisers(self.setting)
        released = self.sum + self.noise()
        share, least = self.share(), self.least if self.algorithm.shift_by == "round" else 1.0
        v = released[:d, :d] + share * made.shift * np.eye(d)
        alpha = self.algorithm.alpha if self.algorithm.calibration == "printed" else self.algorithm.alpha / 2
        gamma = math.sqrt(share) * made.gamma
        beta = proposition_4(self.known, v, alpha, least * made.rho_min, share * made.rho_max, gamma)
        return highest(arms, v, released[:d, d], beta)

    def update(self, x, y):
        row = np.append(x, y)
        self.sum += np.outer(row, row)
        self.t += 1


class CountedLinUCB(DPLinUCB):
    """The noise is the counter's matrix times all numbers so far, coordinate by coordinate."""

    def __init__(self, algorithm, setting, rng):
        super().__init__(algorithm, setting, rng)
        self.counter, self.numbers = algorithm.sums(setting), []
        self.factor = matrix(self.counter)
        self.variances = (self.factor**2).sum(axis=1)
        self.least = math.sqrt(self.variances[0] / self.variances.max())

    def noise(self):
        d, out = self.known.dimension, np.zeros_like(self.sum)
        if self.t == 0:
            return out
        weights = self.factor[self.t - 1, : len(self.numbers)] @ np.array(self.numbers)
        z = list(self.algorithm.sigma(self.setting) * weights)
        for i in range(d):
            for j in range(i):
                out[i, j] = out[j, i] = z.pop(0)
            out[i, i] = math.sqrt(2) * z.pop(0)
            out[i, d] = out[d, i] = z.pop(0)
        return out

    def share(self):
        if self.algorithm.shift_by == "game":
            return 1.0
        end = 1
        while end <= self.t:
            end *= 2
        return math.sqrt(self.variances[: max(1, end - 1)].max() / self.variances.max())

    def update(self, x, y):
        super().update(x, y)
        if self.t <= self.counter.n:
            (many,) = self.counter.draws(np.array([self.t]))["normal"]
            d = self.known.dimension
            self.numbers += [self.rng.standard_normal(d * (d + 3) // 2) for _ in range(many)]


def private(algorithm, setting, rng):
    """The twin of dp_linucb."""
    return (DPLinUCB if algorithm.counter == "redrawn" else CountedLinUCB)(algorithm, setting, rng)


class AdaCOFUL:
    """Azize & Basu 2023, with the smallest eigenvalue of V in the width."""

    def __init__(self, algorithm, setting, rng):
        self.algorithm, self.setting, self.known, self.rng = algorithm, setting, setting.known(), rng
        d = self.known.dimension
        self.v, self.data, self.noises, self.seen = algorithm.regulariser * np.eye(d), [], [np.zeros(d)], 0
        self.last = self.v.copy()

    def choose(self, arms):
        known, least, alpha = self.known, self.algorithm.regulariser, self.algorithm.alpha
        d, phases = known.dimension, len(self.noises) - 1
        u = sum((x * y for x, y in self.data[: self.seen]), np.zeros(d)) + sum(self.noises)
        largest = d * math.log(1 + self.setting.horizon * known.norm**2 / (d * least))
        refreshes = min(self.setting.horizon, max(1, largest / math.log(1 + self.algorithm.growth)))
        each = alpha / 2 / refreshes
        sigma = math.sqrt(2 / self.algorithm.rho) * known.norm * known.reward
        length = sigma * math.sqrt(phases * stats.chi2.isf(each, d))
        gamma = length / math.sqrt(np.linalg.eigvalsh(self.last)[0])
        return highest(arms, self.last, u, proposition_4(known, self.last, alpha, least, least, gamma))

    def update(self, x, y):
        self.v += np.outer(x, x)
        self.data.append((x, y))
        if np.linalg.det(self.v) > (1 + self.algorithm.growth) * np.linalg.det(self.last):
            sigma = math.sqrt(2 / self.algorithm.rho) * self.known.norm * self.known.reward
            self.noises.append(sigma * self.rng.standard_normal(len(x)))
            self.seen, self.last = len(self.data), self.v.copy()


class LDPLinUCB:
    """Zheng et al. 2020."""

    def __init__(self, algorithm, setting, rng):
        self.algorithm, self.setting, self.rng = algorithm, setting, rng
        d = setting.known().dimension
        self.v, self.u, self.t = np.zeros((d, d)), np.zeros(d), 1

    def choose(self, arms):
        d, t, sigma, horizon = len(self.u), self.t, self.algorithm.sigma(), self.setting.horizon
        upsilon = sigma * math.sqrt(t) * (4 * math.sqrt(d) + 2 * math.log(2 * horizon / self.algorithm.alpha))
        beta = 2 * sigma * math.sqrt(d * math.log(horizon))
        beta += (math.sqrt(3 * upsilon) + sigma * math.sqrt(d * t / upsilon)) * d * math.log(horizon)
        return highest(arms, self.v + 2 * upsilon * np.eye(d), self.u, beta)

    def update(self, x, y):
        d, sigma = len(x), self.algorithm.sigma()
        for i in range(d):
            for j in range(i + 1):
                self.v[i, j] += x[i] * x[j] + sigma * self.rng.standard_normal()
                self.v[j, i] = self.v[i, j]
            self.u[i] += x[i] * y + sigma * self.rng.standard_normal()
        self.t += 1


class PlainDP:
    """Randomised response on a base's arm."""

    def __init__(self, algorithm, setting, rng):
        self.base, self.rng, self.k = LEARNERS[algorithm.base.name](algorithm.base, setting, rng), rng, setting.n_arms
        self.followed = math.exp(algorithm.epsilon) / (math.exp(algorithm.epsilon) + self.k - 1)

    def choose(self, arms):
        arm = self.base.choose(arms)
        if self.rng.random() < self.followed:
            return arm
        return [a for a in range(self.k) if a != arm][int(self.rng.random() * (self.k - 1))]

    def update(self, x, y):
        self.base.update(x, y)


class ByBatches:
    """A rule in batches whose records are kept whole and fitted by direct solves; `chances` has the predictors' θ."""

    def __init__(self, algorithm, setting, rng):
        self.algorithm, self.rng, self.k, self.known = algorithm, rng, setting.n_arms, setting.known()
        self.oracle, self.batch, self.done, self.size = algorithm.fits(setting), [], 0, 1
        self.thetas, self.grams = [], []

    def choose(self, arms):
        self.arms = arms
        chances = self.chances([self.oracle.predicted(theta, arms.T) for theta in self.thetas])
        return min(int(np.searchsorted(np.cumsum(chances), self.rng.random(), side="right")), self.k - 1)

    def update(self, x, y):
        self.batch.append((x, y))
        if len(self.batch) == self.size:
            rows, rewards = map(np.array, zip(*self.batch, strict=True))
            theta, gram = self.oracle.fitted(rows, rewards, self.rng)
            self.thetas, self.grams = [*self.thetas, theta], [*self.grams, gram]
            self.done, self.size, self.batch = self.done + self.size, 2 * self.size, []

    def losses(self, f):
        low = 0 if self.known.nonnegative else -self.known.reward
        return 1 - f if self.algorithm.oracle == "logistic" else (self.known.reward - f) / (self.known.reward - low)


class SquareCB(ByBatches):
    """Foster & Rakhlin 2020."""

    def weight(self, f):
        return 1

    def chances(self, every):
        chances = np.full(self.k, 1 / self.k)
        if every:
            f, w = every[-1], self.weight(every[-1])
            chances = w / (w * self.k + self.algorithm.gamma * self.done**self.algorithm.power * (f.max() - f))
            chances[np.argmax(f)] = 0
            chances[np.argmax(f)] = 1 - chances.sum()
        return chances


class FastCB(SquareCB):
    """Foster & Krishnamurthy 2021."""

    def weight(self, f):
        return max(1 - f.max(), 1e-300)


class VPO(ByBatches):
    """All iterates of mirror descent on the last predictor, one of which is drawn."""

    def chances(self, every):
        u, size = self.rng.random(), max(1, self.size // 2)
        f = self.losses(every[-1]) if every else np.zeros(self.k)
        eta = self.algorithm.eta * min(1 / self.k, (self.k * size) ** -0.5)
        return special.softmax(-eta * np.outer(np.arange(size), f), axis=1)[math.floor(u * size)]


class BPO(ByBatches):
    """Mirror descent on all predictors with bonuses; each step from the probabilities before it."""

    def chances(self, every):
        q, exposure = np.full(self.k, 1 / self.k), np.zeros(self.k)
        for j, f in enumerate(map(self.losses, every)):
            n = 2**j
            bonus = np.minimum(1, self.algorithm.gamma * math.sqrt((2 * n - 1) / self.k) / (1 + exposure))
            exposure = exposure + n * q
            q = special.softmax(np.log(q) - self.algorithm.eta * n * np.maximum(0, f - bonus))
        return q


class RegCB(ByBatches):
    """Foster et al. 2018: all arms whose interval reaches the highest lower end."""

    def chances(self, every):
        left = np.ones(self.k)
        if every:
            v, shift = sum(self.grams), np.eye(self.arms.shape[1])
            while np.linalg.eigvalsh(v + shift)[0] <= 0:
                shift = 2 * shift
            width = [self.algorithm.width * math.sqrt(x @ np.linalg.solve(v + shift, x)) for x in self.arms]
            left = np.array(every[-1] + width >= np.max(every[-1] - width), float)
        return left / left.sum()


def spanning(arms):
    """Arms that span what all span, each the farthest from the span of those before; and orthonormal axes of it."""
    rest, chosen, axes, longest = arms.copy(), [], [], 0.0
    for _ in range(arms.shape[1]):
        squares = np.array([in_order(x, x) for x in rest])
        a, longest = int(np.argmax(squares)), max(longest, squares.max())
        if not squares[a] > 1e-10 * longest:
            break
        axis = rest[a] / math.sqrt(squares[a])
        rest = rest - np.outer(rest @ axis, axis)
        chosen, axes = [*chosen, a], [*axes, axis]
    return chosen, np.array(axes)


def g_optimal(arms):
    """The weights of a G-optimal design, and its value, by Frank-Wolfe steps towards an arm and away from one."""
    chosen, _ = spanning(arms)
    weights, r = np.zeros(len(arms)), len(chosen)
    weights[chosen] = 1 / r
    while True:
        inverse = np.linalg.pinv((arms.T * weights) @ arms, rcond=1e-11, hermitian=True)
        squares = np.array([x @ inverse @ x for x in arms])
        used, up = np.flatnonzero(weights), int(np.argmax(squares))
        if squares[up] <= 1.009 * r:
            return weights, squares[up]
        down = used[np.argmin(squares[used])]
        a = up if squares[up] - r >= r - squares[down] else down
        most = -weights[a] / (1 - weights[a])
        step = -math.inf if squares[a] <= 1 else (squares[a] - r) / (r * (squares[a] - 1))
        weights = (1 - max(step, most)) * weights
        weights[a] = 0 if step <= most else weights[a] + step


class PhasedGOPE:
    """Lattimore & Szepesvári 2020, Algorithm 12; a phase keeps its rewards by arm."""

    def __init__(self, algorithm, setting, rng):
        self.algorithm, self.setting, self.known, self.rng = algorithm, setting, setting.known(), rng
        self.low = 0.0 if self.known.nonnegative else -self.known.reward
        self.phase, self.plan, self.heard = 0, [], {}
        self.left = list(range(setting.n_arms))

    def choose(self, arms):
        if not self.plan:
            if self.phase:
                scores = arms[self.left] @ self.estimated()
                near = scores.max() - scores <= 2 * self.beta
                self.left = [a for a, stays in zip(self.left, near, strict=True) if stays]
            self.begin(arms[self.left])
        return self.plan[0]

    def begin(self, arms):
        self.phase, self.x, self.heard = self.phase + 1, arms, {}
        self.beta, self.log = (
            2**-self.phase,
            math.log(self.setting.n_arms * self.phase * (self.phase + 1) / self.algorithm.alpha),
        )
        self.weights, self.g = g_optimal(arms)
        self.share(self.length())
        if len(self.left) == 1:
            self.counts = [10**6]
        self.plan = [a for a, n in zip(self.left, self.counts, strict=True) for _ in range(n)]

    def share(self, c):
        """⌈c π⌉ plays, and V^-1."""
        self.counts = [math.ceil(c * weight) for weight in self.weights]
        self.inverse = np.linalg.pinv((self.x.T * self.counts) @ self.x, rcond=1e-11, hermitian=True)

    def length(self):
        return 2 * self.g * self.known.sigma**2 * self.log / self.beta**2

    def sums(self):
        return np.array([sum(self.heard.get(a, [])) for a in self.left])

    def estimated(self):
        return self.inverse @ self.x.T @ self.sums()

    def update(self, x, y):
        self.heard.setdefault(self.plan.pop(0), []).append(y)


def solved(beta, gauss, tail):
    """The c with gauss/√c + tail/c = β."""
    return (max(np.roots([beta, -gauss, -tail]))) ** 2


class LDPGOPE(PhasedGOPE):
    """The rewards are heard with Laplace noise."""

    def scale(self):
        return (self.known.reward - self.low) / self.algorithm.epsilon

    def length(self):
        variance = self.known.sigma**2 + 2 * self.scale() ** 2
        return solved(self.beta, math.sqrt(2 * variance * self.g * self.log), self.scale() * self.g * self.log)

    def update(self, x, y):
        super().update(x, y + self.scale() * self.rng.laplace(0, 1))


class AdaPGOPE(LDPGOPE):
    """The sum of an arm has noise, when it is complete."""

    def spread(self, used):
        weights = self.x @ self.inverse @ self.x.T
        return math.sqrt((weights**2 * (np.array(used) > 0)).sum(axis=1).max())

    def length(self):
        self.share(1)
        self.inverse = np.linalg.pinv((self.x.T * self.weights) @ self.x, rcond=1e-11, hermitian=True)
        tail = self.scale() * (2 * self.spread(self.weights) * math.sqrt(self.log) + self.g * self.log)
        c = solved(self.beta, math.sqrt(2 * self.known.sigma**2 * self.g * self.log), tail)
        while True:
            self.share(c)
            most = max(x @ self.inverse @ x for x in self.x)
            variance = self.known.sigma**2 * most + 2 * (self.scale() * self.spread(self.counts)) ** 2
            if math.sqrt(2 * variance * self.log) + self.scale() * most * self.log <= self.beta:
                return c
            c *= 1.05

    def update(self, x, y):
        a = self.plan[0]
        PhasedGOPE.update(self, x, y)
        if a not in self.plan:
            self.heard[a].append(self.scale() * self.rng.laplace(0, 1))


class AdaCGOPE(PhasedGOPE):
    """Azize & Basu 2023; the noise is on V^-1/2 Σ x y."""

    def length(self):
        r, g, log, rho = len(spanning(self.x)[0]), self.g, self.log, self.algorithm.rho
        f = r + 2 * math.sqrt(r * (log + math.log(2))) + 2 * (log + math.log(2))
        width = self.known.reward - self.low
        return 8 * g * self.known.sigma**2 / self.beta**2 * (log + math.log(4)) + g * width / self.beta * math.sqrt(
            2 * f / rho
        )

    def estimated(self):
        _, axes = spanning(self.x)
        root = np.linalg.cholesky(np.linalg.inv(axes @ (self.x.T * self.counts) @ self.x @ axes.T))
        reach = math.sqrt(max(x @ self.inverse @ x for x, n in zip(self.x, self.counts, strict=True) if n))
        sigma = (self.known.reward - self.low) * reach / math.sqrt(2 * self.algorithm.rho)
        released = root.T @ axes @ self.x.T @ self.sums() + sigma * self.rng.standard_normal(len(axes))
        return axes.T @ root @ released


LEARNERS = {
    "phased_gope": PhasedGOPE,
    "adap_gope": AdaPGOPE,
    "ldp_gope": LDPGOPE,
    "adac_gope": AdaCGOPE,
    "linucb": LinUCB,
    "lints": LinTS,
    "adac_oful": AdaCOFUL,
    "dp_linucb": private,
    "ldp_linucb": LDPLinUCB,
    "plain_dp_linucb": PlainDP,
    "squarecb": SquareCB,
    "fastcb": FastCB,
    "vpo": VPO,
    "bpo": BPO,
    "regcb": RegCB,
}


# --------------------------------------------------------------------------------------------------- the game


def regrets(match, trial):
    """Pseudo-regrets `[algorithms, checkpoints]` of one trial, each algorithm in a game of its own."""
    adversary, _, setting, checkpoints, seed = match
    out = np.zeros((len(match.algorithms), len(checkpoints)))
    for k, algorithm in enumerate(match.algorithms):
        learner = LEARNERS[algorithm.name](algorithm, setting, stream(seed, "noise", algorithm.name, trial=trial))
        table = games(adversary, setting, stream(seed, "contexts", adversary.name, trial=trial))
        reward = rewards(adversary, stream(seed, "rewards", adversary.name, trial=trial))
        total = 0.0
        for t in range(1, int(checkpoints[-1]) + 1):
            arms, means = next(table)
            arm = learner.choose(arms)
            total += means.max() - means[arm]
            learner.update(arms[arm], reward(means[arm]))
            out[k, checkpoints == t] = total
    return out
