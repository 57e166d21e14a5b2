"""Thresholds: how large the evidence for an arm must be before an algorithm may stop.

The evidence for arm a against arm b is a cost of `costs`. If it exceeds the threshold although b is better, that is an
error. Each threshold but `stylised` keeps the probability of any error in a game at most δ, by a union over the arms
and the phases that the evidence may come from.

All functions are plain Python, which steps compile. k and j are the phases of two arms, n and m the plays in their
means. Domain: K >= 2 arms, 0 < δ < 1, n, m, k, j >= 1, 0 < ε < infinity. Units: nats.
"""

import math

import numpy as np

from privbandits_cli.numerics.jit import once
from privbandits_cli.numerics.logarithm import logarithm
from privbandits_cli.numerics.types import Floats

SQUARES = math.pi**2 / 6  # ζ(2)


def zeta(s: float) -> float:
    """Riemann's ζ(s) for s > 1, by the formula of Euler and Maclaurin."""
    n = 100
    total = sum(k**-s for k in range(1, n))
    end = n ** (1 - s) / (s - 1) + 0.5 * n**-s + s * n ** (-s - 1) / 12
    return float(total + end - s * (s + 1) * (s + 2) * n ** (-s - 3) / 720)


# ------------------------------------------------------------------------------------------ without privacy


def mixture(n_arms: int, delta: float, n: float, m: float) -> float:
    """ln((K - 1)/δ) + ½ ln n + ½ ln m + 2 ln 2, for the evidence `transport` (ours).

    For one arm, the mixture of the likelihood ratios by Krichevsky and Trofimov is a martingale with mean 1, and is at
    least e^(n kl(mean, μ))/(2√n). The product of two arms' mixtures exceeds (K - 1)/δ with probability δ/(K - 1).
    """
    return math.log((n_arms - 1) / delta) + 0.5 * logarithm(n * m) + 2.0 * math.log(2.0)


# ------------------------------------------------------------------------------------------ AdaP-TT, AdaP-TT*

RATES: Floats = np.linspace(0.505, 0.995, 197)  # λ; every grid gives a valid threshold
PRICES: Floats = np.array(
    [2 * x - 2 * x * math.log(4 * x) + math.log(zeta(2 * x)) - 0.5 * math.log1p(-x) for x in RATES]
)


@once
def gaussian_price(x: float) -> float:
    """C_G(x), the least (2λ - 2λ ln 4λ + ln ζ(2λ) - ½ ln(1 - λ) + x)/λ over ½ < λ < 1."""
    least = math.inf
    for i in range(len(RATES)):
        least = min(least, (PRICES[i] + x) / RATES[i])
    return least


def gaussian(n_arms: int, delta: float, n: float, m: float) -> float:
    """c_G(δ) = 2 C_G(½ ln((K - 1)/δ)) + 2 ln(4 + ln n) + 2 ln(4 + ln m) (Azize 2024)."""
    both = math.log(4.0 + math.log(n)) + math.log(4.0 + math.log(m))
    return 2.0 * gaussian_price(0.5 * math.log((n_arms - 1) / delta)) + 2.0 * both


def adap_tt(n_arms: int, delta: float, epsilon: float, n: float, k: float, m: float, j: float) -> float:
    """2 c_G(δ/(2ζ² k² j²)) + 4/ε² Σ ln²(2Kζ k²/δ)/n over the two arms (Azize 2024, eq. 5.11, with s = 2)."""
    shared = delta / (2.0 * SQUARES**2 * k**2 * j**2)
    noise = spread(n_arms, delta, k, 2.0) ** 2 / n + spread(n_arms, delta, j, 2.0) ** 2 / m
    return 2.0 * gaussian(n_arms, shared, n, m) + 4.0 / epsilon**2 * noise


def adap_tt_star(
    n_arms: int, delta: float, epsilon: float, gap: float, n: float, k: float, m: float, j: float
) -> float:
    """The threshold of AdaP-TT*, for noisy means that differ by `gap` (Azize 2024, with s = 2).

    gap < 3ε: ½ `adap_tt`(2δ/3) + (2√2/ε) Σ √(h/n) ln(3Kζ k²/δ). Otherwise: 12 ln(3Kζ max(k, j)²/δ) + 3√2 ε Σ √(n h).
    The thesis prints the last logarithm without the square, which the union over phases needs.
    """
    h, i = wander(n_arms, delta, n, k), wander(n_arms, delta, m, j)
    if gap < 3.0 * epsilon:
        first = math.sqrt(h / n) * spread(n_arms, delta, k, 3.0) + math.sqrt(i / m) * spread(n_arms, delta, j, 3.0)
        return 0.5 * adap_tt(n_arms, 2.0 * delta / 3.0, epsilon, n, k, m, j) + 2.0 * math.sqrt(2.0) / epsilon * first
    both = math.sqrt(n * h) + math.sqrt(m * i)
    return 12.0 * spread(n_arms, delta, max(k, j), 3.0) + 3.0 * math.sqrt(2.0) * epsilon * both


def spread(n_arms: int, delta: float, k: float, parts: float) -> float:
    """ln(parts K ζ(2) k²/δ)."""
    return math.log(parts * n_arms * SQUARES * k**2 / delta)


def wander(n_arms: int, delta: float, n: float, k: float) -> float:
    """h = ½ W(2 ln(3Kζ k²/δ) + 4 ln(4 + ln n) + ½), which bounds n (mean - μ)²/(2σ²) of an arm's gains."""
    return 0.5 * upper_root(2.0 * spread(n_arms, delta, k, 3.0) + 4.0 * math.log(4.0 + math.log(n)) + 0.5)


@once
def upper_root(x: float) -> float:
    """W(x), the w >= 1 with w - ln w = x. Domain: x >= 1."""
    w = x + math.log(x)
    for _ in range(50):
        step = (w - math.log(w) - x) * w / (w - 1.0) if w > 1.0 else 0.0
        w -= step
        if abs(step) <= 1e-14 * w:
            break
    return w


# ------------------------------------------------------------------------------------------ DP-TT

# docs/privacy/best_arm.md has the proofs. k and j are also the numbers of Laplace numbers in the two means.


def noise_price(eta: float) -> float:
    """h = -ln(η(2 - η)), what one Laplace number costs if d± are those of (1 - η)ε. Domain: 0 < η < 1."""
    return -math.log(eta * (2.0 - eta))


def summed(n_arms: int, delta: float, k: float, j: float, price: float) -> float:
    """ln(K k(k + 1)/δ) + ln(K j(j + 1)/δ) + (k + j) h, for the evidence with (1 - η)ε (ours, after DP-TT's proof)."""
    own = math.log(n_arms * k * (k + 1.0) / delta) + math.log(n_arms * j * (j + 1.0) / delta)
    return own + (k + j) * price


def paired(n_arms: int, delta: float, k: float, j: float, price: float) -> float:
    """c + (k + j) h with (1 + c) e^-c = δ/((K - 1) k(k + 1) j(j + 1)) (ours).

    With h = `noise_price` it is for the evidence with (1 - η)ε; with h = 0 for `noisy_transport` (`chernoff`).
    """
    return gamma_tail(math.log((n_arms - 1) * k * (k + 1.0) * j * (j + 1.0) / delta)) + (k + j) * price


@once
def gamma_tail(x: float) -> float:
    """The c >= 0 with (1 + c) e^-c = e^-x, for x >= 0: a sum of two Exp(1) numbers is at least c with this probability.

    Newton's method from above: c <= x + √(2x) (Chatzigeorgiou 2013), and c - ln(1 + c) is convex.
    """
    c = x + math.sqrt(2.0 * x) + 1.0
    for _ in range(100):
        step = (c - math.log1p(c) - x) * (1.0 + c) / c
        c -= step
        if abs(step) <= 1e-14 * c:
            break
    return c


def stylised(delta: float, t: float) -> float:
    """ln((1 + ln t)/δ) after t plays: not proved, and wrong with privacy: it errs more often than δ."""
    return math.log((1.0 + math.log(t)) / delta)
