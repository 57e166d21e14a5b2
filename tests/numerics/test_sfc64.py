"""NumPy's numbers without its Generator."""

import numpy as np
import pytest
from numpy.random import SFC64, Generator

from privbandits_cli.games.steps import SOURCES
from privbandits_cli.numerics.jit import bind, record, uncompiled
from privbandits_cli.numerics.sfc64 import advance, fill_exponential, fill_normal, source, streams_of, uniform


def draw_normal(normals, uniforms, rooms):
    """Both kinds, in turn."""
    for t in range(len(normals)):
        fill_normal(rooms[0], normals[t])
        uniforms[t] = uniform(rooms[0].words)


def draw_exponential(numbers, uniforms, rooms):
    """Both kinds, in turn."""
    for t in range(len(numbers)):
        fill_exponential(rooms[0], numbers[t])
        uniforms[t] = uniform(rooms[0].words)


def test_the_numbers_are_numpys_bit_for_bit():
    """Among them numbers beyond the ziggurat's end, at 3.654, which are drawn in another way."""
    n, rng = 20000, Generator(SFC64(7))
    normals, uniforms = np.empty((n, 5, 20)), np.empty(n)
    bind(draw_normal, "test_numbers", "normal")(normals, uniforms, record(**source(rng)))
    assert (abs(normals) > 3.66).sum() > 100
    for t in range(n):
        assert np.array_equal(normals[t], rng.standard_normal((5, 20)))
        assert uniforms[t] == rng.random()


def test_exponential_numbers_equal_numpys_too():
    """Beyond the ziggurat's end, at 7.697, lie 1 in 2,200."""
    n, rng = 20000, Generator(SFC64(7))
    numbers, uniforms = np.empty((n, 100)), np.empty(n)
    bind(draw_exponential, "test_numbers", "exponential")(numbers, uniforms, record(**source(rng, "exponential")))
    assert (numbers > 7.7).sum() > 700
    for t in range(n):
        assert np.array_equal(numbers[t], rng.standard_exponential(100))
        assert uniforms[t] == rng.random()


def numpys(kind, rng, n):
    """The numbers of a kind by NumPy alone."""
    if kind == "laplace":
        words = rng.spawn(1)[0].bit_generator.random_raw(-(-n // 64)).astype("<u8")
        signs = np.unpackbits(words.view(np.uint8), bitorder="little")[:n]
        return (1.0 - 2.0 * signs) * rng.standard_exponential(n)
    return {"uniform": rng.random, "normal": rng.standard_normal, "bits": rng.bit_generator.random_raw}[kind](n)


@pytest.mark.parametrize("kind", SOURCES)
def test_a_source_goes_on_where_it_stopped_compiled_or_not(kind):
    found = []
    for plain in (False, True):
        with uncompiled(plain):
            fill = SOURCES[kind](Generator(SFC64(3)))
            cuts = [1, 0, 62, 1, 64, 65, 128, 179]
            parts = [np.empty(n, np.uint64 if kind == "bits" else np.float64) for n in cuts]
            for part in parts:
                fill(part)
            found.append(np.concatenate(parts))
    expected = numpys(kind, Generator(SFC64(3)), 500)
    assert np.array_equal(found[0], expected) and np.array_equal(found[1], expected)
    assert not np.array_equal(found[0], numpys(kind, Generator(SFC64(4)), 500))


def draw_ahead(rooms, out):
    for i in range(len(out)):
        advance(rooms[0])
        out[i] = rooms[0].ready


def test_streams_side_by_side_are_numpys():
    """Word n is of stream n modulo 16, whose state is three words of the generator and a count from 1."""
    rng, expected = Generator(SFC64(3)), np.empty((6, 8, 16), np.uint64)
    room, states = record(**streams_of(Generator(SFC64(3)))), rng.bit_generator.random_raw(48).reshape(3, 16)
    for i in range(16):
        bits = SFC64()
        state = bits.state
        state["state"]["state"] = np.array([*states[:, i], 1], np.uint64)
        bits.state = state
        expected[:, :, i] = bits.random_raw(48).reshape(6, 8)
    found = np.empty((6, 128), np.uint64)
    bind(draw_ahead, "test_numbers", "ahead")(room, found)
    np.testing.assert_array_equal(found, expected.reshape(6, 128))
