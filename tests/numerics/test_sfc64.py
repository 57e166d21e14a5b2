"""NumPy's numbers without its Generator."""

import numpy as np
import pytest
from numpy.random import SFC64, Generator

from privbandits_cli.games import drawing
from privbandits_cli.numerics.jit import bind, record, without_jit
from privbandits_cli.numerics.sfc64 import fill_normal, source, uniform


def draw_normal(normals, uniforms, rooms):
    """Both kinds, in turn."""
    for t in range(len(normals)):
        for row in range(len(normals[t])):
            fill_normal(rooms[0].words, rooms[0], normals[t, row])
        uniforms[t] = uniform(rooms[0].words)


def test_the_numbers_are_numpys_bit_for_bit():
    """Among them numbers beyond the ziggurat's end, at 3.654, which are drawn in another way."""
    n, rng = 20000, Generator(SFC64(7))
    normals, uniforms = np.empty((n, 5, 20)), np.empty(n)
    bind(draw_normal)(normals, uniforms, record(**source(rng)))
    assert (abs(normals) > 3.66).sum() > 100
    for t in range(n):
        assert np.array_equal(normals[t], rng.standard_normal((5, 20)))
        assert uniforms[t] == rng.random()


def numpys(kind, rng, n):
    """The numbers of a kind by NumPy alone; the logarithm may differ in the last place."""
    if kind == "laplace":
        return made_by_numpy(kind, rng.bit_generator.random_raw(n))
    return {"uniform": rng.random, "normal": rng.standard_normal, "bits": rng.bit_generator.random_raw}[kind](n)


def made_by_numpy(kind, words):
    """A number of each word: -ln U with a sign, or U itself, an odd multiple of 2^-53."""
    u = (2.0 * (words >> np.uint64(12)).astype(float) + 1.0) * 2.0**-53
    return u if kind == "uniform" else np.where(words & np.uint64(1), 1.0, -1.0) * np.log(u)


def drawn(fill_of, kind):
    """500 numbers in parts, compiled and not."""
    found = []
    for plain in (False, True):
        with without_jit(plain):
            fill = fill_of(kind, Generator(SFC64(3)))
            cuts = [1, 0, 62, 1, 64, 65, 128, 179]
            parts = [np.empty(n, np.uint64 if kind == "bits" else np.float64) for n in cuts]
            for part in parts:
                fill(part)
            found.append(np.concatenate(parts))
    assert np.array_equal(*found)
    return found[0]


@pytest.mark.parametrize("kind", drawing.NUMBERS)
def test_a_source_goes_on_where_it_stopped_compiled_or_not(kind):
    found, expected = drawn(drawing.fill_of, kind), numpys(kind, Generator(SFC64(3)), 500)
    np.testing.assert_allclose(found, expected, rtol=1e-15 if kind == "laplace" else 0)
    assert not np.allclose(found, numpys(kind, Generator(SFC64(4)), 500))


def sixteen(rng, n):
    """Words of 16 streams in turn; their states are words of rng and a counter."""
    states, words = rng.bit_generator.random_raw(48).reshape(3, 16), np.empty(n, np.uint64)
    for i in range(16):
        bits = SFC64()
        state = bits.state
        state["state"]["state"] = np.array([*states[:, i], 1], np.uint64)
        bits.state = state
        words[i::16] = bits.random_raw(len(words[i::16]))
    return words


@pytest.mark.parametrize("kind", ["uniform", "laplace"])
def test_the_linear_games_numbers_come_from_sixteen_streams_in_turn(kind):
    found, words = drawn(drawing.wide_fill_of, kind), sixteen(Generator(SFC64(3)), 500)
    np.testing.assert_allclose(found, made_by_numpy(kind, words), rtol=1e-15)
    assert not np.allclose(found, made_by_numpy(kind, sixteen(Generator(SFC64(4)), 500)))
