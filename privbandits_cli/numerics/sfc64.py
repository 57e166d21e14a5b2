"""NumPy's random numbers, drawn in compiled loops in half the time of calls to its Generator.

SFC64 (Doty-Humphrey 2010) has a state of four words, which a loop keeps in registers. The ziggurat (Marsaglia & Tsang
2000) makes a standard normal number from one word, in about 1.5 % of cases from several. The numbers equal `.random`
and `.standard_normal` of a Generator on the same stream bit for bit. `source` has the fields that a record needs for
this; it does not advance `rng`, so whatever else is drawn from `rng` must be drawn before.

One stream is a chain of operations, each of which waits for the one before. `advance` draws from 16 streams side by
side, in vectors.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import SFC64, Generator
from numpy.typing import NDArray

from privbandits_cli.numerics.jit import Record, once
from privbandits_cli.numerics.logarithm import logarithm
from privbandits_cli.numerics.reals import number_of
from privbandits_cli.numerics.types import Floats

Words = NDArray[np.uint64]
Fill = Callable[[NDArray[Any]], None]  # fills an array with random numbers, continuing where the last call ended

ONE, EIGHT, THREE, ELEVEN, TWELVE = np.uint64(1), np.uint64(8), np.uint64(3), np.uint64(11), np.uint64(12)
LEFT, RIGHT = np.uint64(24), np.uint64(40)  # rotation by 24 bits
LAYER = np.uint64(255)  # 256 layers of a ziggurat
MANTISSA = np.uint64(2**52 - 1)
TAIL, OVER_TAIL = 3.6541528853610087963519472518, 0.27366123732975827203338247596  # the start of the normal tail
EXPONENTIAL_TAIL = 7.69711747013104972  # where the tail of the exponential law begins
UNIT = 2.0**-53
SQUEEZE = 0.0331  # a constant of Marsaglia & Tsang 2000
UNITY = np.uint64(np.float64(1.0).view(np.uint64))
SIGN = np.uint64(63)
STREAMS, AHEAD = 16, 8  # streams side by side, and the words that each gives at a time
TOGETHER = STREAMS * AHEAD


def words_of(rng: Generator) -> dict[str, Any]:
    """The field of a record from which `word_of` and `uniform` draw the numbers of rng."""
    assert isinstance(rng.bit_generator, SFC64)
    return {"words": rng.bit_generator.state["state"]["state"].copy()}


def source(rng: Generator) -> dict[str, Any]:
    """Fields of a record from which these functions draw the numbers of rng: its words, and the ziggurat's layers."""
    return words_of(rng) | layers()


def streams_of(rng: Generator) -> dict[str, Any]:
    """Fields of a record that `advance` draws from: 16 streams whose states are words of rng, and room for words."""
    streams = np.ones((4, STREAMS), np.uint64)  # the last word of a state counts from 1
    streams[:3] = rng.bit_generator.random_raw(3 * STREAMS).reshape(3, STREAMS)
    return {"streams": streams, "ready": np.zeros(TOGETHER, np.uint64)}


def layers() -> dict[str, Any]:
    """Fields of a record with the layers of the ziggurats of the normal and the exponential law."""
    from numba.np.random import _constants

    names = {"width": "wi_double", "inside": "ki_double", "height": "fi_double"}  # of NumPy's tables
    names |= {"slope": "we_double", "below": "ke_double", "density": "fe_double"}
    return {field: getattr(_constants, name) for field, name in names.items()}


def following(a: Any, b: Any, c: Any, n: Any) -> tuple[Any, Any, Any, Any, Any]:
    """SFC64: the next word, and the next state."""
    word = a + b + n
    return word, b ^ (b >> ELEVEN), c + (c << THREE), ((c << LEFT) | (c >> RIGHT)) + word, n + ONE


def word_of(words: Words) -> Any:
    """The next word, 64 random bits."""
    word, words[0], words[1], words[2], words[3] = following(words[0], words[1], words[2], words[3])
    return word


def advance(room: Record) -> None:
    """Fill `room.ready` with the next eight words of every stream: word n is from stream n modulo 16."""
    streams, out, k = room.streams, room.ready, room.streams.shape[1]
    for i in range(k):
        a, b, c, n = streams[0, i], streams[1, i], streams[2, i], streams[3, i]
        out[i], a, b, c, n = following(a, b, c, n)
        out[k + i], a, b, c, n = following(a, b, c, n)
        out[2 * k + i], a, b, c, n = following(a, b, c, n)
        out[3 * k + i], a, b, c, n = following(a, b, c, n)
        out[4 * k + i], a, b, c, n = following(a, b, c, n)
        out[5 * k + i], a, b, c, n = following(a, b, c, n)
        out[6 * k + i], a, b, c, n = following(a, b, c, n)
        out[7 * k + i], a, b, c, n = following(a, b, c, n)
        streams[0, i], streams[1, i], streams[2, i], streams[3, i] = a, b, c, n


def uniform(words: Words) -> float:
    """A number in [0, 1)."""
    return uniform_of(word_of(words))


def uniform_of(word: np.uint64) -> float:
    """The number in [0, 1) that the upper 53 bits of a word make."""
    number: float = np.int64(word >> ELEVEN) * UNIT
    return number


def fraction(word: np.uint64) -> float:
    """A number in (0, 1) from the upper 52 bits of a word: an odd multiple of 2^-53."""
    number: float = number_of(word >> TWELVE | UNITY) - 1.0 + UNIT
    return number


def sign(word: np.uint64) -> float:
    """1 or -1, by the lowest bit."""
    number: float = number_of(word << SIGN | UNITY)
    return number


def laplace_of(word: np.uint64) -> float:
    """The Laplace number that a word makes, of density exp(-|x|)/2: -ln U with a random sign.

    52 bits of the word are U, and the lowest is the sign. So the largest number is 53 ln 2 = 36.7.
    """
    return -sign(word) * logarithm(fraction(word))


def fill_words(words: Words, out: Words) -> None:
    """Fill `out` with the next words. Meanwhile the state of the stream is in registers."""
    a, b, c, n = words[0], words[1], words[2], words[3]
    for i in range(len(out)):
        out[i], a, b, c, n = following(a, b, c, n)
    words[0], words[1], words[2], words[3] = a, b, c, n


def fill_normal(words: Words, layers: Any, out: Floats) -> None:
    """Standard normal numbers, one after the other."""
    a, b, c, n = words[0], words[1], words[2], words[3]
    for i in range(len(out)):
        word, a, b, c, n = following(a, b, c, n)
        x, layer, size = normal_of(word, layers)
        if size >= layers.inside[layer]:
            words[0], words[1], words[2], words[3] = a, b, c, n
            x = outside(words, layers, layer, size, x)
            a, b, c, n = words[0], words[1], words[2], words[3]
        out[i] = x
    words[0], words[1], words[2], words[3] = a, b, c, n


def normal_of(word: Any, layers: Any) -> tuple[float, Any, Any]:
    """A normal number x from a word, its layer, and its size; x is valid if it is inside the layer's rectangle."""
    layer, size = word & LAYER, (word >> EIGHT >> ONE) & MANTISSA
    return np.int64(size) * layers.width[layer] * sign(word >> EIGHT), layer, size


def standard_normal(words: Words, layers: Any) -> float:
    """A standard normal number, as NumPy's Generator draws it."""
    x, layer, size = normal_of(word_of(words), layers)
    if size >= layers.inside[layer]:
        x = outside(words, layers, layer, size, x)
    return x


@once
def standard_exponential(words: Words, layers: Any) -> float:
    """A standard exponential number, as NumPy's Generator draws it (Marsaglia & Tsang 2000)."""
    while True:
        word = word_of(words) >> THREE
        layer, size = word & LAYER, word >> EIGHT
        x: float = np.float64(size) * layers.slope[layer]
        if size < layers.below[layer]:
            return x
        if layer == 0:
            end: float = EXPONENTIAL_TAIL - np.log1p(-uniform(words))
            return end
        high, low = layers.density[layer - ONE], layers.density[layer]
        if (high - low) * uniform(words) + low < np.exp(-x):
            return x


@once
def laplace(words: Words, loc: float = 0.0, scale: float = 1.0) -> float:
    """A Laplace number of this mean and scale, as NumPy's Generator draws it: by the inverse of its distribution."""
    u = uniform(words)
    while u == 0.0:
        u = uniform(words)
    number: float = loc - scale * np.log(2.0 - u - u) if u >= 0.5 else loc + scale * np.log(u + u)
    return number


def standard_gamma(words: Words, layers: Any, shape: float) -> float:
    """A standard gamma number of a shape of at least 1, as NumPy's Generator draws it (Marsaglia & Tsang 2000).

    ValueError for another shape.
    """
    if shape == 1.0:
        return standard_exponential(words, layers)
    if not shape > 1.0:
        raise ValueError("the shape of a gamma number must be at least 1")
    b = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * b)
    while True:
        x = standard_normal(words, layers)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            u = uniform(words)
            if u < 1.0 - SQUEEZE * (x * x) * (x * x) or np.log(u) < 0.5 * x * x + b * (1.0 - v + np.log(v)):
                drawn: float = b * v
                return drawn


@once
def outside(words: Words, layers: Any, layer: Any, size: Any, x: float) -> float:
    """The normal number that replaces an x outside its layer's rectangle: from the wedge, the tail or a new word."""
    while True:
        if layer == 0:
            along = -OVER_TAIL * np.log1p(-uniform(words))
            while -2.0 * np.log1p(-uniform(words)) <= along * along:
                along = -OVER_TAIL * np.log1p(-uniform(words))
            end: float = -(TAIL + along) if (size >> EIGHT) & ONE else TAIL + along
            return end
        high, low = layers.height[layer - ONE], layers.height[layer]
        if (high - low) * uniform(words) + low < np.exp(-0.5 * x * x):
            return x
        word = word_of(words)
        x, layer, size = normal_of(word, layers)
        if size < layers.inside[layer]:
            return x
