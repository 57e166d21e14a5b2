"""Random numbers made of 64 random bits: `beta(rng.bits, i, a, b)` and others, for the steps of an algorithm.

A number is a function of the bits and of its place i = 0, 1, 2, ... in the round. Numbers of different places are
independent; the same bits and place give the same number. The bits and the place select a stream of SplitMix64 (Steele,
Lea & Flood 2014), from which a number takes as many words as it needs.
"""

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from privbandits_cli.numerics.jit import once
from privbandits_cli.numerics.types import Floats

STEP, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
ONE, UNUSED = np.uint64(1), np.uint64(12)
EARLY, MIDDLE, LATE = np.uint64(30), np.uint64(27), np.uint64(31)

# The coefficients of AS 241: the centre of the normal law, its tails, and their ends.
CENTRE = (
    2.5090809287301226727e3,
    3.3430575583588128105e4,
    6.7265770927008700853e4,
    4.5921953931549871457e4,
    1.3731693765509461125e4,
    1.9715909503065514427e3,
    1.3314166789178437745e2,
    3.3871328727963666080e0,
)
BELOW_CENTRE = (
    5.2264952788528545610e3,
    2.8729085735721942674e4,
    3.9307895800092710610e4,
    2.1213794301586595867e4,
    5.3941960214247511077e3,
    6.8718700749205790830e2,
    4.2313330701600911252e1,
    1.0,
)
TAIL = (
    7.74545014278341407640e-4,
    2.27238449892691845833e-2,
    2.41780725177450611770e-1,
    1.27045825245236838258e0,
    3.64784832476320460504e0,
    5.76949722146069140550e0,
    4.63033784615654529590e0,
    1.42343711074968357734e0,
)
BELOW_TAIL = (
    1.05075007164441684324e-9,
    5.47593808499534494600e-4,
    1.51986665636164571966e-2,
    1.48103976427480074590e-1,
    6.89767334985100004550e-1,
    1.67638483018380384940e0,
    2.05319162663775882187e0,
    1.0,
)
END = (
    2.01033439929228813265e-7,
    2.71155556874348757815e-5,
    1.24266094738807843860e-3,
    2.65321895265761230930e-2,
    2.96560571828504891230e-1,
    1.78482653991729133580e0,
    5.46378491116411436990e0,
    6.65790464350110377720e0,
)
BELOW_END = (
    2.04426310338993978564e-15,
    1.42151175831644588870e-7,
    1.84631831751005468180e-5,
    7.86869131145613259100e-4,
    1.48753612908506148525e-2,
    1.36929880922735805310e-1,
    5.99832206555887937690e-1,
    1.0,
)

# A normal number whose word has the first byte i is between EDGES[i] and EDGES[i + 1]. None is farther than 8.3 from 0.
EDGES = np.array([-8.3, *(NormalDist().inv_cdf(i / 256) for i in range(1, 256)), 8.3])
TO_BYTE = np.uint64(56)
SLACK = 1e-9  # relative; more than all rounding in a gamma number and in its bounds
HUGE = 1e300  # more than any gamma number
THIRD = 1.0 / 3.0
QUOTIENT = 1e-15  # relative; more than the rounding of the quotient that makes a beta number


def mixed(word: Any) -> Any:
    """The output of SplitMix64 in the state `word`."""
    word = (word ^ (word >> EARLY)) * FIRST
    word = (word ^ (word >> MIDDLE)) * SECOND
    return word ^ (word >> LATE)


def stream(bits: Any, i: int) -> Any:
    """The state in which the stream of place i >= 0 begins. Each word adds STEP to the state."""
    word = np.uint64(bits)  # compiled, the sum of bits and an int is signed
    return mixed(word + STEP * (np.uint64(i) + ONE))


def unit(word: Any) -> float:
    """A number in (0, 1) from a word. It has 2^52 possible values, and is never 0 or 1."""
    number: float = (np.int64(word >> UNUSED) + 0.5) * 2.0**-52
    return number


def polynomial(coefficients: Any, x: float) -> float:
    """The value at x of a polynomial of degree 7, its highest coefficient first."""
    a, b, c, d, e, f, g, h = coefficients
    value: float = ((((((a * x + b) * x + c) * x + d) * x + e) * x + f) * x + g) * x + h
    return value


def standard_normal(state: Any) -> float:
    """The standard normal number of a state, the quantile of its number in (0, 1) (Wichura 1988, AS 241)."""
    u = unit(mixed(state))
    q = u - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return q * polynomial(CENTRE, r) / polynomial(BELOW_CENTRE, r)
    r = math.sqrt(-math.log(u if q < 0.0 else 1.0 - u))
    if r <= 5.0:
        r -= 1.6
        x = polynomial(TAIL, r) / polynomial(BELOW_TAIL, r)
    else:
        r -= 5.0
        x = polynomial(END, r) / polynomial(BELOW_END, r)
    return -x if q < 0.0 else x


def gamma_number(state: Any, shape: float) -> float:
    """The Gamma(shape) number, for shape >= 1, of this state and those that follow (Marsaglia & Tsang 2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        state += STEP
        x = standard_normal(state)
        state += STEP
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            u, square = unit(mixed(state)), x * x
            if u < 1.0 - 0.0331 * square * square:  # this implies the next condition, and spares two logarithms
                return d * v
            if math.log(u) < 0.5 * square + d - d * v + d * math.log(v):
                return d * v


def log_gamma_number(state: Any, shape: float) -> float:
    """The logarithm of a Gamma(shape) number of this state and those that follow.

    The logarithm is needed because for a small shape the number itself may be smaller than any float. Gamma(a) has the
    law of Gamma(a + 1) U^(1/a).
    """
    if not 0.0 < shape < math.inf:
        raise ValueError("the shapes of gamma(bits, i, shape) and beta(bits, i, a, b) must be positive and finite")
    if shape >= 1.0:
        return math.log(gamma_number(state, shape))
    return math.log(unit(mixed(state))) / shape + math.log(gamma_number(state, shape + 1.0))


def log_poisson(k: float, mean: float, above: float) -> float:
    """The logarithm of the probability of k >= 0 under the Poisson law; above: k - mean, which may be known better.

    For k >= 16 by Stirling's series, in which nothing cancels (Loader 2000).
    """
    if k < 16.0:
        return k * math.log(mean) - mean - math.lgamma(k + 1.0)
    share = above / mean
    series = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1260.0 * k * k)) / (k * k)) / k
    return mean * (share - (1.0 + share) * math.log1p(share)) - 0.5 * math.log(2.0 * math.pi * k) - series


def poisson_above(state: Any, mean: float) -> float:
    """A Poisson number of this state and those that follow, minus the whole part of its mean, which may be large.

    From a mean of 10 on by transformed rejection (Hörmann 1993, PTRS); below, by a product of uniform numbers.
    """
    whole = math.floor(mean)
    if mean < 10.0:
        product, k = unit(mixed(state)), 0.0
        while product > math.exp(-mean):
            state += STEP
            product *= unit(mixed(state))
            k += 1.0
        return k - whole
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = 0.02483 * b - 0.059
    inside, height = 0.9277 - 3.6224 / (b - 2.0), math.log(1.1239 + 1.1328 / (b - 3.4))
    while True:
        state += STEP
        u = unit(mixed(state)) - 0.5
        state += STEP
        v, edge = unit(mixed(state)), 0.5 - abs(u)
        above = math.floor((2.0 * a / edge + b) * u + (mean - whole) + 0.43)
        if edge >= 0.07 and v <= inside:
            return float(above)
        if above + whole < 0.0 or (edge < 0.013 and v > edge):
            continue
        if math.log(v) + height - math.log(a / (edge * edge) + b) <= log_poisson(
            above + whole, mean, above - (mean - whole)
        ):
            return float(above)


def uniform(bits: Any, i: int) -> float:
    """A number in (0, 1)."""
    return unit(mixed(stream(bits, i)))


def normal(bits: Any, i: int) -> float:
    """A standard normal number."""
    return standard_normal(stream(bits, i))


def gamma(bits: Any, i: int, shape: float) -> float:
    """A number of the law Gamma(shape) with scale 1, for shape > 0."""
    return math.exp(log_gamma_number(stream(bits, i), shape))


@once
def beta(bits: Any, i: int, a: float, b: float) -> float:
    """A number of the law Beta(a, b), for a, b > 0."""
    word = stream(bits, i)
    if 1.0 <= a < math.inf and 1.0 <= b < math.inf:
        first, second = gamma_number(stream(word, 0), a), gamma_number(stream(word, 1), b)
        return first / (first + second)
    x, y = log_gamma_number(stream(word, 0), a), log_gamma_number(stream(word, 1), b)
    if x >= y:
        return 1.0 / (1.0 + math.exp(y - x))
    return math.exp(x - y) / (1.0 + math.exp(x - y))


def gamma_between(state: Any, shape: float) -> tuple[float, float]:
    """A lower and an upper bound on `gamma_number(state, shape)`, shape >= 1, in steps that a compiler can vectorise.

    The bounds use one byte of the first normal number x. They are 0 and HUGE unless x is sure to be accepted. Let
    y = c x, so v = (1 + y)³. Then x is accepted if log u is below x²/2 + d (1 - v + log v), which is -3 d times the
    integral of s³/(1 + s) from 0 to y. For y >= -1/2, which is tested here, this is at least -3 d y⁴/2 = -x⁴/(54 d).
    And log u <= u - 1.
    """
    d = max(shape, 1.0) - 1.0 / 3.0
    root = np.sqrt(d)  # 1/(3 c)
    cell = np.int64(mixed(state + STEP) >> TO_BYTE)
    low, high = EDGES[cell], EDGES[cell + 1]
    square = max(low * low, high * high)
    u = unit(mixed(state + STEP + STEP))
    margin = 1e-14 * d  # for the rounding in the condition
    sure = (low >= -1.5 * root) & ((1.0 - u - margin) * (54.0 * d) > square * square)
    least, most, scale = root + low * THIRD, root + high * THIRD, np.divide(1.0, root)
    return (
        least * least * least * scale * (1.0 - SLACK) if sure else 0.0,
        most * most * most * scale * (1.0 + SLACK) if sure else HUGE,
    )


def beta_between(bits: Any, i: int, a: float, b: float) -> tuple[float, float]:
    """A lower and an upper bound on `beta(bits, i, a, b)`, in less than a third of its time."""
    word = stream(bits, i)
    (low, high), (least, most) = gamma_between(stream(word, 0), a), gamma_between(stream(word, 1), b)
    lower, upper = np.divide(low, low + most), np.divide(high, high + least)
    usual = (a >= 1.0) & (b >= 1.0) & (a < HUGE) & (b < HUGE)
    return lower * (1.0 - QUOTIENT) if usual else 0.0, upper * (1.0 + QUOTIENT) if usual else 1.0


def largest_beta(bits: Any, a: Floats, b: Floats) -> int:
    """The first i for which `beta(bits, i, a[i], b[i])` is largest. Few of these numbers are computed."""
    best = 0
    low, high = beta_between(bits, 0, a[0], b[0])  # the number of `best` is between these
    for i in range(1, len(a)):
        least, most = beta_between(bits, i, a[i], b[i])
        if least > high:
            best, low, high = i, least, most
        elif most >= low:
            if low < high:
                low = beta(bits, best, a[best], b[best])
                high = low
            drawn = beta(bits, i, a[i], b[i])
            if drawn > low:
                best, low, high = i, drawn, drawn
    return best


@once
def skellam(bits: Any, i: int, variance: float) -> float:
    """A whole number of the Skellam law with mean 0: the difference of two Poisson numbers of mean variance/2 > 0."""
    if not 0.0 < variance < math.inf:
        raise ValueError("the variance of skellam(bits, i, variance) must be positive and finite")
    word = stream(bits, i)
    return poisson_above(stream(word, 0), variance / 2.0) - poisson_above(stream(word, 1), variance / 2.0)
