"""Random numbers made of 64 random bits: `beta(rng.bits, i, a, b)` and others, for the steps of an algorithm.

A number is a function of the bits and of its place i = 0, 1, 2, ... in the round. Numbers of different places are
independent; the same bits and place give the same number. The bits and the place select a stream of SplitMix64 (Steele,
Lea & Flood 2014), from which a number takes as many words as it needs.
"""

import math
from typing import Any

import numpy as np

STEP, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
ONE, TWO, UNUSED = np.uint64(1), np.uint64(2), np.uint64(12)
EARLY, MIDDLE, LATE = np.uint64(30), np.uint64(27), np.uint64(31)


def mixed(word: Any) -> Any:
    """The output of SplitMix64 in the state `word`."""
    word = (word ^ (word >> EARLY)) * FIRST
    word = (word ^ (word >> MIDDLE)) * SECOND
    return word ^ (word >> LATE)


def stream(bits: Any, i: int) -> Any:
    """The state in which the stream of place i >= 0 begins; it adds STEP for each word."""
    word = np.uint64(bits)  # compiled, the sum of bits and an int is signed
    return mixed(word + STEP * (np.uint64(i) + ONE))


def unit(word: Any) -> float:
    """The number in (0, 1) of a word: one of 2^52, none of which is 0 or 1."""
    number: float = (np.int64(word >> UNUSED) + 0.5) * 2.0**-52
    return number


def standard_normal(state: Any) -> float:
    """The standard normal number of a state and the next one (Box & Muller 1958)."""
    return math.sqrt(-2.0 * math.log(unit(mixed(state)))) * math.cos(2.0 * math.pi * unit(mixed(state + STEP)))


def log_gamma_number(state: Any, shape: float) -> float:
    """The logarithm of a Gamma(shape) number of this state and those that follow (Marsaglia & Tsang 2000).

    The logarithm, as a number of a small shape may be less than any float: Gamma(a) is Gamma(a + 1) U^(1/a).
    """
    if not 0.0 < shape < math.inf:
        raise ValueError("the shapes of gamma(bits, i, shape) and beta(bits, i, a, b) must be positive and finite")
    boost = 0.0
    if shape < 1.0:
        boost = math.log(unit(mixed(state))) / shape
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        state += STEP
        x = standard_normal(state)
        state += TWO * STEP
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            if math.log(unit(mixed(state))) < 0.5 * x * x + d - d * v + d * math.log(v):
                return math.log(d * v) + boost


def uniform(bits: Any, i: int) -> float:
    """A number in (0, 1)."""
    return unit(mixed(stream(bits, i)))


def normal(bits: Any, i: int) -> float:
    """A standard normal number."""
    return standard_normal(stream(bits, i))


def gamma(bits: Any, i: int, shape: float) -> float:
    """A number of the law Gamma(shape) with scale 1, for shape > 0."""
    return math.exp(log_gamma_number(stream(bits, i), shape))


def beta(bits: Any, i: int, a: float, b: float) -> float:
    """A number of the law Beta(a, b), for a, b > 0."""
    word = stream(bits, i)
    x, y = log_gamma_number(stream(word, 0), a), log_gamma_number(stream(word, 1), b)
    if x >= y:
        return 1.0 / (1.0 + math.exp(y - x))
    return math.exp(x - y) / (1.0 + math.exp(x - y))
