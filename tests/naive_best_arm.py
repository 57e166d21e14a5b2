"""Best-arm identification in plain Python: each algorithm as its description says it, with no code of the package.

An algorithm is a function that calls `pull(arm)`, which returns the gain of the round and its random numbers, and that
returns its answer. Costs are minimised by ternary search, and divergences are suprema over λ.
"""

import math

import numpy as np
from scipy import optimize, special

from privbandits_cli.games.bandit import One, random_needs
from privbandits_cli.games.drawing import fill_of
from privbandits_cli.numerics.streams import stream


class Capped(Exception):
    """The game has no more rounds."""


def play(twin, algorithm, adversary, setting, seed, trial, **given):
    """τ and the answer of a twin, with the numbers that the package deals to this algorithm."""
    cap = int(setting.horizon)
    gains = next(adversary.gains(setting, stream(seed, "gains", adversary.name, trial=trial), [range(1, cap + 1)]))
    numbers = {}
    for kind, count in random_needs(algorithm, setting).items():
        several = 1 if isinstance(count, One) else count
        table = np.empty((cap, several, 1))
        fill_of(kind, stream(seed, kind, algorithm.name, trial=trial))(table)
        numbers[kind] = table[:, :, 0]
    t = [0]

    def pull(arm):
        if t[0] == cap:
            raise Capped
        t[0] += 1
        return float(gains[t[0] - 1, arm]), {kind: table[t[0] - 1] for kind, table in numbers.items()}

    try:
        answer = twin(pull, setting.n_arms, **given)
    except Capped:
        answer = -1
    return t[0], answer


def first(values):
    """The index of the largest value, the first in a tie."""
    return max(range(len(values)), key=lambda i: (values[i], -i))


def least(function, low, high, steps=70):
    """The least value of a convex function on an interval."""
    for _ in range(steps):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if function(a) < function(b) else (a, high)
    return function((low + high) / 2)


def bernoulli_kl(x, y):
    """kl(x, y)."""
    return float(special.rel_entr(x, y) + special.rel_entr(1 - x, 1 - y))


def transport(up, low, n, m):
    """The least n kl(up, y) + m kl(low, y)."""
    if up <= low:
        return 0.0
    y = (n * up + m * low) / (n + m)
    return n * bernoulli_kl(up, y) + m * bernoulli_kl(low, y)


def d_plus(x, y, epsilon):
    """The divergence by its edge."""
    if y <= x:
        return 0.0
    if y * (x + (1 - x) * math.exp(-epsilon)) <= x:
        return bernoulli_kl(x, y)
    return -math.log(1 - y * (1 - math.exp(-epsilon))) - epsilon * x


def private_transport(up, low, n, m, epsilon):
    """The least n d-(up, y) + m d+(low, y)."""
    if up <= low:
        return 0.0
    return least(lambda y: n * d_plus(1 - up, 1 - y, epsilon) + m * d_plus(low, y, epsilon), low, up)


def noisy_divergence(x, y, share, epsilon):
    """D."""
    if y <= x:
        return 0.0
    most = min(epsilon, 40.0)
    found = least(
        lambda rate: (
            rate * x + math.log(1 - y + y * math.exp(-rate)) - share * math.log(max(1e-300, 1 - (rate / epsilon) ** 2))
        ),
        0.0,
        most,
    )
    return max(0.0, -found)


def noisy_transport(up, low, n, k, m, j, epsilon):
    """The least n D(1 - up, 1 - y) + m D(low, y)."""
    if up <= low:
        return 0.0
    return least(
        lambda y: n * noisy_divergence(1 - up, 1 - y, k / n, epsilon) + m * noisy_divergence(low, y, j / m, epsilon),
        low,
        up,
        45,
    )


# ------------------------------------------------------------------------------------------ without privacy


def eb_tci(pull, K, delta, flip=None):
    """Top two on means; flip: e^-ε of randomised-response reports."""
    N, S, led, followed = [0] * K, [0.0] * K, [0] * K, [0] * K

    def take(a):
        x, numbers = pull(a)
        if flip is not None:
            x = float(numbers["uniform"][0] < (x * (1 - flip) + flip) / (1 + flip))
        N[a] += 1
        S[a] += x

    for a in range(K):
        take(a)
    while True:
        mu = [S[a] / N[a] for a in range(K)]
        best = first(mu)
        cost = {a: transport(mu[best], mu[a], N[best], N[a]) for a in range(K) if a != best}
        if all(
            cost[a] > math.log((K - 1) / delta) + (math.log(N[best]) + math.log(N[a])) / 2 + 2 * math.log(2)
            for a in cost
        ):
            return best
        led[best] += 1
        if followed[best] <= led[best] / 2:
            followed[best] += 1
            take(best)
        else:
            take(min(cost, key=lambda a: (cost[a] + math.log(N[a]), a)))


def weights(mu):
    """The optimal weights, by the root of Garivier & Kaufmann."""
    best, top = int(np.argmax(mu)), max(mu)
    others = [a for a in range(len(mu)) if a != best]

    def r(a, level):
        def cost(z):
            x = (top + z * mu[a]) / (1 + z)
            return bernoulli_kl(top, x) + z * bernoulli_kl(mu[a], x)

        high = 1.0
        while cost(high) < level:
            high *= 2
        return optimize.brentq(lambda z: cost(z) - level, 0, high, xtol=1e-14)

    def excess(level):
        total = 0.0
        for a in others:
            x = (top + r(a, level) * mu[a]) / (1 + r(a, level))
            total += bernoulli_kl(top, x) / bernoulli_kl(mu[a], x)
        return total - 1

    end = min(bernoulli_kl(top, mu[a]) for a in others)
    level = optimize.brentq(excess, 1e-6 * end, end * (1 - 1e-6), xtol=1e-15)
    found = [1.0 if a == best else r(a, level) for a in range(len(mu))]
    return [x / sum(found) for x in found]


def track_and_stop(pull, K, delta):
    """Direct tracking of the optimal weights, which are kept for a fiftieth of the rounds."""
    N, S, t, due, w = [0] * K, [0.0] * K, 0, 0, None

    def take(a):
        nonlocal t
        S[a] += pull(a)[0]
        N[a] += 1
        t += 1

    for a in range(K):
        take(a)
    while True:
        mu = [S[a] / N[a] for a in range(K)]
        best = first(mu)
        bars = {
            a: math.log((K - 1) / delta) + math.log(N[best] * N[a]) / 2 + math.log(4) for a in range(K) if a != best
        }
        if all(transport(mu[best], mu[a], N[best], N[a]) > bars[a] for a in bars):
            return best
        few = min(range(K), key=lambda a: (N[a], a))
        if N[few] < math.sqrt(t) - K / 2:
            take(few)
            continue
        if t >= due:
            cut = [min(0.999, max(0.001, x)) for x in mu]
            w = weights(cut) if sum(x >= cut[best] for x in cut) == 1 else None
            due = t + max(1, t // 50)
        take(few if w is None else first([t * w[a] - N[a] for a in range(K)]))


def successive_elimination(pull, K, delta):
    """Every arm that is left once a turn."""
    S, left, n = [0.0] * K, list(range(K)), 0
    while len(left) > 1:
        n += 1
        for a in left:
            S[a] += pull(a)[0]
        r = math.sqrt(math.log(4 * K * n**2 / delta) / (2 * n))
        top = max(S[a] / n for a in left)
        left = [a for a in left if top - S[a] / n <= 2 * r]
    return left[0]


# ------------------------------------------------------------------------------------------ with privacy


def dp_se(pull, K, delta, epsilon):
    """Epochs of fresh plays."""
    left, e = list(range(K)), 0
    while len(left) > 1:
        e += 1
        s, D = len(left), 2.0**-e
        one, two = math.log(8 * s * e**2 / delta), math.log(4 * s * e**2 / delta)
        R = math.ceil(max(32 * one / D**2, 8 * two / (epsilon * D))) + 1
        S = dict.fromkeys(left, 0.0)
        for i in range(R):
            for a in left:
                x, numbers = pull(a)
                S[a] += x
                if i == R - 1:
                    S[a] += numbers["laplace"][0] / epsilon
        width = math.sqrt(one / (2 * R)) + two / (R * epsilon)
        top = max(S.values()) / R
        left = [a for a in left if top - S[a] / R <= 2 * width]
    return left[0]


class Sums:
    """The noisy sums of DP-TT: released when an arm has first (1 + growth)^m plays."""

    def __init__(self, pull, K, epsilon, start, growth):
        self.pull, self.epsilon, self.start, self.growth = pull, epsilon, start, growth
        self.N, self.n, self.m, self.S, self.new, self.t = [0] * K, [0] * K, [0] * K, [0.0] * K, [0.0] * K, 0

    def take(self, a):
        """Play an arm. Returns whether its sum was released."""
        x, numbers = self.pull(a)
        self.t += 1
        self.N[a] += 1
        self.new[a] += x
        if self.N[a] < self.start * (1 + self.growth) ** self.m[a] * (1 - 1e-12):
            return False
        self.S[a] += self.new[a] + numbers["laplace"][0] / self.epsilon
        self.n[a], self.new[a] = self.N[a], 0.0
        self.m[a] += 1
        return True

    def means(self):
        """The noisy means, not clipped."""
        return [s / n for s, n in zip(self.S, self.n, strict=True)]


def cut(x):
    """x, clipped to [0, 1]."""
    return min(1.0, max(0.0, x))


def passes(rule, sums, best, a, K, delta, epsilon, eta=0.3):
    """Whether a threshold of DP-TT is passed."""
    mu = [cut(x) for x in sums.means()]
    n, m, k, j = sums.n[best], sums.n[a], sums.m[best], sums.m[a]
    if rule == "stylised":
        return private_transport(mu[best], mu[a], n, m, epsilon) > math.log((1 + math.log(sums.t)) / delta)
    h = -math.log(eta * (2 - eta))
    if rule == "sum":
        bar = sum(math.log(K * i * (i + 1) / delta) + i * h for i in (k, j))
        return private_transport(mu[best], mu[a], n, m, (1 - eta) * epsilon) > bar
    c, wanted = 1.0, math.log((K - 1) * k * (k + 1) * j * (j + 1) / delta)
    for _ in range(200):
        c = wanted + math.log(1 + c)
    if rule == "paired":
        return private_transport(mu[best], mu[a], n, m, (1 - eta) * epsilon) > c + (k + j) * h
    return noisy_transport(mu[best], mu[a], n, k, m, j, epsilon) > c


def dp_tt(pull, K, delta, epsilon, rule, bonus, start, growth=1.0):
    """Top two on noisy sums."""
    sums, led, followed = Sums(pull, K, epsilon, start, growth), [0] * K, [0] * K
    for a in range(K):
        for _ in range(start):
            released = sums.take(a)
    while True:
        mu = sums.means()
        best = first(mu)
        if released and all(passes(rule, sums, best, a, K, delta, epsilon) for a in range(K) if a != best):
            return best
        led[best] += 1
        if followed[best] <= led[best] / 2:
            followed[best] += 1
            released = sums.take(best)
            continue
        up, rest = cut(mu[best]), [a for a in range(K) if a != best]
        costs = [
            private_transport(up, cut(mu[a]), sums.N[best], sums.N[a], epsilon) + bonus * math.log(sums.N[a])
            for a in rest
        ]
        released = sums.take(rest[costs.index(min(costs))])


def dp_uniform(pull, K, delta, epsilon, rule, start, growth=1.0):
    """Round robin with the same test, when all arms have new sums."""
    sums = Sums(pull, K, epsilon, start, growth)
    while True:
        released = [sums.take(a) for a in range(K)]
        if all(released):
            best = first(sums.means())
            if all(passes(rule, sums, best, a, K, delta, epsilon) for a in range(K) if a != best):
                return best


def adap_tt(pull, K, delta, epsilon, star):
    """Top two on the noisy means of doubling phases, each alone."""
    N, end, n, k, mu, new = [0] * K, [0] * K, [0] * K, [0] * K, [0.0] * K, [0.0] * K
    led, followed, z = [0] * K, [0] * K, math.pi**2 / 6

    def take(a):
        x, numbers = pull(a)
        N[a] += 1
        new[a] += x
        if N[a] < max(1, 2 * end[a]):
            return False
        n[a] = N[a] - end[a]
        mu[a] = (new[a] + numbers["laplace"][0] / epsilon) / n[a]
        end[a], new[a] = N[a], 0.0
        k[a] += 1
        return True

    def W(a, b, plays):
        g = max(0.0, cut(mu[a]) - cut(mu[b]))
        return 2 * g * (min(3 * epsilon, g) if star else g) / (1 / plays[a] + 1 / plays[b])

    def price(x):
        rates = np.linspace(0.505, 0.995, 197)
        prices = 2 * rates - 2 * rates * np.log(4 * rates) + np.log(special.zeta(2 * rates)) - 0.5 * np.log(1 - rates)
        return float(np.min((prices + x) / rates))

    def plain_bar(risk, a, b):
        shared = risk / (2 * z**2 * k[a] ** 2 * k[b] ** 2)
        c = 2 * price(math.log((K - 1) / shared) / 2) + sum(2 * math.log(4 + math.log(n[i])) for i in (a, b))
        return 2 * c + 4 / epsilon**2 * sum(math.log(2 * K * z * k[i] ** 2 / risk) ** 2 / n[i] for i in (a, b))

    def bar(a, b):
        if not star:
            return plain_bar(delta, a, b)
        logs = {i: math.log(3 * K * z * k[i] ** 2 / delta) for i in (a, b)}
        h = {}
        for i in (a, b):
            x = 2 * logs[i] + 4 * math.log(4 + math.log(n[i])) + 0.5
            h[i] = -0.5 * special.lambertw(-math.exp(-x), -1).real
        if max(0.0, cut(mu[a]) - cut(mu[b])) < 3 * epsilon:
            noise = sum(math.sqrt(h[i] / n[i]) * logs[i] for i in (a, b))
            return plain_bar(2 * delta / 3, a, b) / 2 + 2 * math.sqrt(2) / epsilon * noise
        return 12 * max(logs.values()) + 3 * math.sqrt(2) * epsilon * sum(math.sqrt(n[i] * h[i]) for i in (a, b))

    for a in range(K):
        released = take(a)
    while True:
        best = first(mu)
        if released and all(W(best, a, n) > bar(best, a) for a in range(K) if a != best):
            return best
        leader = first([cut(mu[a]) + math.sqrt(k[a] / n[a]) + k[a] / (epsilon * n[a]) for a in range(K)])
        led[leader] += 1
        if followed[leader] <= led[leader] / 2:
            followed[leader] += 1
            released = take(leader)
        else:
            rest = [a for a in range(K) if a != leader]
            released = take(min(rest, key=lambda a: (W(leader, a, N), a)))


def uniform(pull, K, budget, epsilon=math.inf, law=None):
    """Equal plays and one release."""
    n, S = budget // K, [0.0] * K
    for i in range(n):
        for a in range(K):
            x, numbers = pull(a)
            S[a] += x
            if law and i == n - 1:
                z = numbers["laplace"][0] if law == "laplace" else -math.log(-math.log(numbers["uniform"][0]))
                S[a] += z / epsilon
    return first(S)


def halving(pull, K, budget, epsilon, keep):
    """Private sequential halving."""
    left, S = list(range(K)), [0.0] * K
    L = math.ceil(math.log2(K))
    while len(left) > 1:
        n, new = budget // (len(left) * L), [0.0] * K
        for i in range(n):
            for a in left:
                x, numbers = pull(a)
                new[a] += x + (numbers["laplace"][0] / epsilon if i == n - 1 else 0.0)
        for a in left:
            S[a] = new[a] + (S[a] if keep else 0.0)
        left = sorted(left, key=lambda a: -S[a])[: (len(left) + 1) // 2]
    return left[0]


def sprt(pull, K, epsilon, mu0, mu1, alpha, beta):
    """The private sequential test."""
    theta = math.log(mu1 / (1 - mu1)) - math.log(mu0 / (1 - mu0))
    gamma, s, S, n = max(0.5, 1 - 1 / epsilon), 1.134, 0.0, 0
    Z = None
    while True:
        x, numbers = pull(0)
        n, S = n + 1, S + x
        Y = 4 / epsilon * numbers["laplace"][0]
        Z = 2 / epsilon * numbers["laplace"][1] if Z is None else Z
        wide0 = 6 / epsilon * math.log(n**s * special.zeta(s) / ((1 - gamma) * beta))
        wide1 = 6 / epsilon * math.log(n**s * special.zeta(s) / ((1 - gamma) * alpha))
        low = n * mu0 + (n * bernoulli_kl(mu0, mu1) - math.log(1 / (gamma * beta))) / theta - wide0 - Z
        high = n * mu1 - (n * bernoulli_kl(mu1, mu0) - math.log(1 / (gamma * alpha))) / theta + wide1 + Z
        seen = S + Y
        if seen <= low:
            return 0
        if seen >= high:
            return 1
