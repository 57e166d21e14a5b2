"""Plain-Python twins of the game `linear`, written from the papers: whole sums and trees, no state kept for speed.

They draw from the same streams as the package and keep its order of operations where floating point could tell the
difference, so that comparisons are exact.
"""

import math
from collections.abc import Sequence

import numpy as np

from privbandits_cli.games.drawing import wide_fill_of
from privbandits_cli.games.linear import Algorithm, Cube, Draws, Setting, Simplex, Sphere
from privbandits_cli.games.match import Match
from privbandits_cli.numerics.streams import stream
from tests import plain_counters

Numbers = dict[str, list[float]]


class Ftrl:
    """argmin of eta <x, L> + R(x)."""

    def __init__(self, algorithm: Algorithm, setting: Setting) -> None:
        self.eta, self.entropic = algorithm.eta, algorithm.regulariser == "entropic"
        self.space = setting.space
        self.losses = [0.0] * setting.n_arms

    def choose(self, numbers: Numbers) -> list[float]:
        return self.lead(self.losses)

    def lead(self, losses: Sequence[float]) -> list[float]:
        if self.entropic:
            weights = [exp(self.eta * (min(losses) - loss)) for loss in losses]
            inverse = 1 / add(weights)
            return [weight * inverse for weight in weights]
        x = [-0.5 * self.eta * loss for loss in losses]
        if isinstance(self.space, Sphere):
            squares = add([y * y for y in x])
            return x if squares <= 1 else [y * (1 / math.sqrt(squares)) for y in x]
        if isinstance(self.space, Cube):
            return [max(-1.0, min(1.0, y)) for y in x]
        return project(x)

    def update(self, losses: Sequence[float], numbers: Numbers) -> None:
        self.losses = [total + loss for total, loss in zip(self.losses, losses, strict=True)]


class Ftpl(Ftrl):
    """argmin of <x, Z + L>."""

    def __init__(self, algorithm: Algorithm, setting: Setting) -> None:
        self.sigma, self.space, self.losses = algorithm.sigma, setting.space, None

    def choose(self, numbers: Numbers) -> list[float]:
        if self.losses is None:
            self.losses = [self.sigma * z for z in numbers["normal"]]
        return self.lead(self.losses)

    def lead(self, losses: Sequence[float]) -> list[float]:
        if isinstance(self.space, Simplex):
            best = min(range(len(losses)), key=losses.__getitem__)
            return [float(i == best) for i in range(len(losses))]
        if isinstance(self.space, Sphere):
            inverse = -1 / math.sqrt(add([loss * loss for loss in losses]))
            return [inverse * loss for loss in losses]
        return [-1.0 if loss > 0 else 1.0 for loss in losses]


def uneven(noise: Sequence[Sequence[float]], lead: int) -> list[int]:
    """What each round of `uneven_noise` adds to the second expert's lead. Row t of `noise` is that of prefix t + 1.

    Of the rounds of a block, a round is loud if fewer than half of them are louder than it. Of rounds that are equally
    loud, a later one counts as louder.
    """
    horizon = len(noise) + 1
    swings = [1] * min(lead, horizon)
    for first in range(lead + 1, horizon + 1, lead):
        rounds = range(first, min(first + lead, horizon + 1))
        loud = {t: (round(add([z * z for z in noise[t - 2]]), 9), t) for t in rounds}
        for t in rounds:
            louder, quieter = sum(loud[i] > loud[t] for i in rounds), sum(loud[i] < loud[t] for i in rounds)
            swings.append((louder < len(rounds) // 2) - (quieter < len(rounds) // 2))
    return swings


def height(horizon: float) -> int:
    """The largest number of nodes that contain one item if the prefixes 0 to T - 1 are released: ceil(log2 T), or 1."""
    return max(1, math.ceil(math.log2(horizon)))


class Aggregating:
    """Algorithms 1 and 3: the leader on the prefixes that Algorithm 2 releases."""

    def __init__(self, algorithm: Algorithm, setting: Setting) -> None:
        self.base = learner(algorithm.base, setting)
        self.n, self.levels, self.scale = setting.n_arms, height(setting.horizon), algorithm.node_scale(setting)
        self.gaussian, self.once = algorithm.law() == "gaussian", algorithm.spare == "once"
        self.losses, self.nodes, self.shared = [], {}, None

    def choose(self, numbers: Numbers) -> list[float]:
        if self.once and self.shared is None:
            drawn = iter(numbers["normal" if self.gaussian else "laplace"])
            self.shared = [[self.scale * next(drawn) for _ in range(self.n)] for _ in range(self.levels)]
        return self.base.lead([self.released(i, numbers) for i in range(self.n)])

    def released(self, i: int, numbers: Numbers) -> float:
        """Coordinate i of the prefix of all losses so far."""
        t, noise = len(self.losses), 0.0
        zeros = [level for level in range(self.levels) if not t >> level & 1]
        for level in reversed(range(self.levels)):
            if level not in zeros:
                noise += self.nodes[t >> level][i]  # the items before t = b_m ... b_level 0 ... 0
            elif self.once:
                noise += self.shared[level][i]
        prefix = add([loss[i] for loss in self.losses]) + noise
        if self.once:
            return prefix
        if self.gaussian:
            return prefix + self.scale * math.sqrt(len(zeros)) * numbers["normal"][i]
        product = 1.0
        for uniform in numbers["uniform"][i :: self.n]:
            product *= 1 - uniform
        return prefix + self.scale * math.sqrt(-2 * log(product)) * numbers["normal"][i]

    def update(self, losses: Sequence[float], numbers: Numbers) -> None:
        """Each item closes one node; a node's name is its last item divided by its size, an odd number."""
        self.losses.append(losses)
        t, level = len(self.losses), 0
        while t % 2 ** (level + 1) == 0:
            level += 1
        fresh = numbers["normal" if self.gaussian else "laplace"][-self.n :]
        self.nodes[t >> level] = [self.scale * number for number in fresh]


class Correlated(Aggregating):
    """The noise of all prefixes at once, by the whole matrix of a counter that is written from its paper's words."""

    def __init__(self, algorithm: Algorithm, setting: Setting) -> None:
        self.base, self.n = learner(algorithm.base, setting), setting.n_arms
        self.kind = "normal" if algorithm.law() == "gaussian" else "laplace"
        self.factor = algorithm.node_scale(setting) * plain_counters.matrix(algorithm.sums(setting))
        self.start = algorithm.start(setting) if algorithm.name == "dp_ftpl" else 0.0
        self.losses, self.numbers = [], []

    def choose(self, numbers: Numbers) -> list[float]:
        t = len(self.losses)
        if t == 0:
            own = numbers[self.kind][: self.n] if self.start else [0.0] * self.n
            self.losses.append([self.start * z for z in own])
            t, self.skip = 1, len(own) if self.start else 0
        drawn = np.reshape(self.numbers, (-1, self.n))
        noise = self.factor[t - 2, : len(drawn)] @ drawn if t > 1 else np.zeros(self.n)
        return self.base.lead((np.sum(self.losses, axis=0) + noise).tolist())

    def update(self, losses: Sequence[float], numbers: Numbers) -> None:
        self.losses.append(losses)
        self.numbers += numbers[self.kind][self.skip :]
        self.skip = 0


class NoisyFtrl:
    """Each loss with independent Laplace noise."""

    def __init__(self, algorithm: Algorithm, setting: Setting) -> None:
        self.base, self.scale = learner(algorithm.base, setting), algorithm.scale(setting)
        self.choose = self.base.choose

    def update(self, losses: Sequence[float], numbers: Numbers) -> None:
        noisy = [loss + self.scale * z for loss, z in zip(losses, numbers["laplace"], strict=True)]
        self.base.update(noisy, numbers)


class RwFtpl(Ftpl):
    """The leader of losses with normal noise; before the first one, every point leads."""

    def __init__(self, algorithm: Algorithm, setting: Setting) -> None:
        self.sigma, self.space, self.losses = algorithm.scale(setting), setting.space, [0.0] * setting.n_arms

    def choose(self, numbers: Numbers) -> list[float]:
        nothing = isinstance(self.space, Sphere) and not any(self.losses)
        return self.losses if nothing else self.lead(self.losses)

    def update(self, losses: Sequence[float], numbers: Numbers) -> None:
        noisy = [loss + self.sigma * z for loss, z in zip(losses, numbers["normal"], strict=True)]
        self.losses = [total + loss for total, loss in zip(self.losses, noisy, strict=True)]


class ShrinkingDartboard:
    """Algorithm 1 of Asi et al. 2023: kept with probability (1 - p) w^t_x / w^(t-1)_x, else drawn anew."""

    def __init__(self, algorithm: Algorithm, setting: Setting) -> None:
        self.eta, self.p = algorithm.rates(setting)
        self.limit, self.changes, self.x = 4 * setting.horizon * self.p, 0, None
        self.weights = self.before = [1.0] * setting.n_arms

    def choose(self, numbers: Numbers) -> list[float]:
        keep, place = numbers["uniform"]
        if self.x is None:
            self.x = self.drawn(place)
        elif keep >= (1 - self.p) * self.weights[self.x] / self.before[self.x] and self.changes < self.limit:
            self.changes += 1
            self.x = self.drawn(place)
        return [float(i == self.x) for i in range(len(self.weights))]

    def drawn(self, place: float) -> int:
        ends = np.cumsum(self.weights) / sum(self.weights)
        return int((ends[:-1] <= place).sum())

    def update(self, losses: Sequence[float], numbers: Numbers) -> None:
        self.before = self.weights
        self.weights = [w * (1 - self.eta) ** loss for w, loss in zip(self.weights, losses, strict=True)]


class RnmFtnl:
    """Epochs of 1, 2, 4, ... rounds, each of which plays the expert with the least noisy loss of the previous epoch."""

    def __init__(self, algorithm: Algorithm, setting: Setting) -> None:
        self.algorithm, self.range, self.table, self.n = algorithm, 2 if setting.signed else 1, [], setting.n_arms

    def choose(self, numbers: Numbers) -> list[float]:
        played = len(self.table)
        if played + 1 == 2 ** played.bit_length():
            epoch = self.table[played // 2 :]
            sums = [add([losses[i] for losses in epoch]) for i in range(self.n)]
            scale = (1 if self.algorithm.noise == "printed" else 2) * self.range / self.algorithm.epsilon
            if self.algorithm.noise == "gumbel":
                noise = [math.log(-math.log(u)) for u in numbers["uniform"]]
            else:
                noise = numbers["laplace"]
            noisy = [total + scale * own for total, own in zip(sums, noise, strict=True)]
            self.expert = noisy.index(min(noisy))
        return [float(i == self.expert) for i in range(self.n)]

    def update(self, losses: Sequence[float], numbers: Numbers) -> None:
        self.table.append(losses)


def exp(x: float) -> float:
    """fdlibm's, for -708 <= x <= 0: 2^k (1 + r c / (2 - c) + r), r = x - k ln 2 in two parts."""
    x = max(x, -708.0)
    k = round(x * 1.4426950408889634)
    high, low = x - k * float.fromhex("0x1.62e42feep-1"), k * float.fromhex("0x1.a39ef35793c76p-33")
    r, c = high - low, 0.0
    for p in (
        4.13813679705723846e-8,
        -1.6533902205465252e-6,
        6.6137563214379344e-5,
        -2.7777777777015593e-3,
        0.16666666666666602,
    ):
        c = p + r * r * c
    c = r - r * r * c
    return math.ldexp(1 + (r * c / (2 - c) - low + high), k)


def log(x: float) -> float:
    """fdlibm's, for x > 0: f - f²/2 + s (f²/2 + R(s²)) + k ln 2, x = 2^k (1 + f), s = f/(2 + f)."""
    m, k = math.frexp(x)
    if m < math.sqrt(0.5):
        m, k = 2 * m, k - 1
    f = m - 1
    half, s = 0.5 * f * f, f / (2 + f)
    z, odd, even = s * s, 0.0, 0.0
    for p in (0.14798198605116586, 0.1818357216161805, 0.2857142874366239, 0.6666666666666735):
        odd = p + z * z * odd
    for p in (0.15313837699209373, 0.22222198432149784, 0.3999999999940942):
        even = p + z * z * even
    r = z * odd + z * z * even
    return s * (half + r) + k * float.fromhex("0x1.a39ef35793c76p-33") - half + f + k * float.fromhex("0x1.62e42feep-1")


def add(values: Sequence[float]) -> float:
    """Summed from the first to the last."""
    total = 0.0
    for value in values:
        total += value
    return total


def project(x: Sequence[float]) -> list[float]:
    """The nearest point of the simplex: x minus a threshold, clipped at 0; the threshold makes the sum 1."""
    largest = sorted(x, reverse=True)
    thresholds = [(add(largest[: k + 1]) - 1) / (k + 1) for k in range(len(x))]
    threshold = [theta for theta, y in zip(thresholds, largest, strict=True) if y > theta][-1]
    return [max(0.0, y - threshold) for y in x]


def learner(algorithm: Algorithm, setting: Setting):
    """The twin of a tuned algorithm."""
    topped = getattr(algorithm, "counter", "") == "tree" and algorithm.spare != "none"
    twins = {
        "dp_ftpl": Aggregating if topped else Correlated,
        "dp_ftrl": Aggregating if topped else Correlated,
        "ftpl": Ftpl,
        "ftrl": Ftrl,
        "noisy_ftrl": NoisyFtrl,
        "rnm_ftnl": RnmFtnl,
        "rw_ftpl": RwFtpl,
        "shrinking_dartboard": ShrinkingDartboard,
    }
    return twins[algorithm.name](algorithm, setting)


def regrets(match: Match, trial: int) -> list[float]:
    """The regret of the match's first algorithm at each checkpoint, against an adversary of losses."""
    algorithm, adversary, setting = match.algorithms[0], match.adversary, match.setting
    rounds = range(1, int(match.checkpoints[-1]) + 1)
    (table,) = adversary.losses(setting, stream(match.seed, "losses", adversary.name, trial=trial), [rounds])
    name = algorithm.name
    fills = {kind: wide_fill_of(kind, stream(match.seed, kind, name, trial=trial)) for kind in Draws._fields}
    asked = algorithm.draws(setting, np.array(rounds))
    counts = {kind: np.broadcast_to(many, len(rounds)).tolist() for kind, many in asked.items()}
    player, suffered, total, out = learner(algorithm, setting), 0.0, np.zeros(setting.n_arms), []
    for t, losses in enumerate(table.tolist(), start=1):
        numbers: Numbers = {}
        for kind, many in counts.items():
            drawn = np.empty(many[t - 1])
            fills[kind](drawn)
            numbers[kind] = drawn.tolist()
        x = player.choose(numbers)
        suffered += add([loss * y for loss, y in zip(losses, x, strict=True)])
        player.update(losses, numbers)
        total += losses
        if t in match.checkpoints:
            out.append(suffered - float(setting.space.least(total[None])[0]))
    return out
