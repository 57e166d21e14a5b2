"""The privacy of EXP3 with respect to one gain: Lemma A bounds the loss of a round from above, attacks from below.

Setting. EXP3 has the learning rate η = γ/K and the floor γ/K: u_i = η G_i, q = softmax(u), p = (1-γ) q + γ/K. Playing
arm i with gain g adds η g / p_i to u_i. Two tables of gains in [0, 1] differ in round s only, and there by at most Δ
(1 for EXP3, 1/τ for the averages of EXP3-τ). The observer sees all arms. Fix a path of arms and let D_i = u_i - u'_i.
After round s only the arm played in that round has D_i ≠ 0, and |D_i| <= ηΔ/p <= Δ, as p >= η.

This difference persists, so every later draw is affected. It also changes all later importance weights 1/p, a feedback
that the proof sketch of Tossou & Dimitrakakis leaves out. Lemma A shows that the feedback does no harm.

    Lemma A. The range R = max_i D_i - min_i D_i never increases. Consequently the log-ratios ln(p_i/p'_i) of each
    later round lie in an interval of length R <= Δ that contains 0: the round is Δ-private and of Δ-bounded range.

`docs/privacy/lemma_a.md` has the proof. It holds for each path of arms separately, and so for adversaries that react to
the arms, such as switching costs. It needs gains: with losses, the difference is amplified.

Units: nats, rounds. Domain: 0 < γ <= 1, K >= 2, 0 < Δ <= 1, k >= 1 later draws, 0 < δ < 1.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from privbandits_cli.accounting.composition import check
from privbandits_cli.accounting.privacy_loss import PrivacyLoss

MOST = 2**31  # silent rounds of a canary: with more, the logarithm of a binomial coefficient has lost its digits


@dataclass(frozen=True)
class ExponentialWeights:
    """The privacy model of EXP3: γ, K arms, k updates, gains that differ by at most Δ."""

    gamma: float
    n_arms: int
    k: int
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        check(self.sensitivity, self.k)
        if not 0 < self.gamma <= 1 or self.n_arms < 2 or self.sensitivity > 1:
            raise ValueError(f"not a valid EXP3: {self}")

    @property
    def floor(self) -> float:
        """γ/K: the least probability of an arm, and the learning rate."""
        return self.gamma / self.n_arms


@dataclass(frozen=True)
class Canary:
    """An attack: the others earn 1 until arm 1 has probability (1 + a) γ/K, then arm 1 earns b or b + Δ, then all 0.

    In a game the weights after the first rounds are random. Here they have their means, so all numbers that follow are
    numeric: at T = 2^18 and K = 4, 150 real prefixes cost ε = 62.470 where this has 62.477.
    """

    start: float  # the round of the canary
    silent: int  # rounds after it, over which arm 1 is counted
    p: float  # probability of arm 1 before the canary; with it arm 1 is played, and the canary has an effect
    low: float  # its probability after it was played and earned b
    high: float  # ... or b + Δ


def canary(game: ExponentialWeights, a: float, base: float = 0.0) -> Canary:
    """The canary with arm 1 at (1 + a) times the floor, in a game whose other arms have equal weights.

    base: b, in [0, 1 - Δ]. The attack is stronger near 1: the gain makes arm 1 popular, so its draws reveal more.
    """
    floor = game.floor
    q = floor * a / (1 - game.gamma)
    start = math.log((1 / q - 1) / (game.n_arms - 1)) / floor  # u of each other arm grows by η a round
    p = floor * (1 + a)
    low, high = (raised(game, p, gain) for gain in (base, base + game.sensitivity))
    return Canary(start, int(game.k - start - 1), p, low, high)


def raised(game: ExponentialWeights, p: float, gain: float) -> float:
    """The probability of an arm that had p, after it was played and earned `gain`: u grows by η gain / p."""
    q = (p - game.floor) / (1 - game.gamma)
    odds = q / (1 - q) * math.exp(game.floor * gain / p)
    return game.floor + (1 - game.gamma) * odds / (1 + odds)


@cache
def attack(game: ExponentialWeights, delta: float, base: float = 0.0) -> float:
    """A lower bound on every valid ε at δ, numeric: the ε of the canary at the best a; 0 if none is detectable at this
    δ, or beyond `MOST` rounds.

    Arm 1 is played with probability p. Its count over the silent rounds is then binomial with one or the other
    probability, and δ(ε) is p times the hockey-stick divergence of the two.
    """
    from scipy import optimize

    check(0.0, 1, delta)
    a = np.geomspace(0.05, 30.0, 61)
    values = [_canary_epsilon(game, x, delta, base) for x in a]
    i = int(np.argmax(values))
    if values[i] == 0:
        return 0.0
    bracket = (a[max(0, i - 1)], a[min(len(a) - 1, i + 1)])
    best = optimize.minimize_scalar(
        lambda x: -_canary_epsilon(game, x, delta, base), bounds=bracket, method="bounded", options={"xatol": 1e-4}
    )
    return max(values[i], -float(best.fun))


def _canary_epsilon(game: ExponentialWeights, a: float, delta: float, base: float) -> float:
    from scipy import stats

    if game.floor * a >= 1 - game.gamma:
        return 0.0
    c = canary(game, a, base)
    if c.start < 0 or not 1 <= c.silent <= MOST:
        return 0.0
    spread = 40 * math.sqrt(c.silent * c.high)  # counts beyond have less mass than any delta
    counts = np.arange(max(0, int(c.silent * c.low - spread)), min(c.silent, int(c.silent * c.high + spread) + 50) + 1)
    low, high = (stats.binom.logpmf(counts, c.silent, p) for p in (c.low, c.high))
    pairs = (high, low), (low, high)
    return max(PrivacyLoss.between(*pair).epsilon(delta / c.p) for pair in pairs)


def pure_attack(game: ExponentialWeights, base: float = 0.0) -> float:
    """A lower bound on every pure ε, numeric: the canary, followed by silent rounds in all of which arm 1 is played."""
    from scipy import optimize

    def minus_loss(a: float) -> float:
        c = canary(game, a, base)
        return -max(0, c.silent) * math.log(c.high / c.low) if c.start >= 0 else 0.0

    most = min(30.0, (1 - game.gamma) / game.floor * 0.99)
    if most <= 0.01:
        return 0.0
    return max(0.0, -float(optimize.minimize_scalar(minus_loss, bounds=(0.01, most), method="bounded").fun))
