"""NumPy's numbers without its Generator."""

import numpy as np
from numpy.random import SFC64, Generator

from privbandits_cli.games.normals import fill_normal, source, uniform
from privbandits_cli.jit import bind, record


def draw(normals, uniforms, rooms):
    """Both kinds, in turn."""
    for t in range(len(normals)):
        fill_normal(rooms[0], normals[t])
        uniforms[t] = uniform(rooms[0])


def test_the_numbers_are_numpys_bit_for_bit():
    """Among them numbers beyond the ziggurat's end, at 3.654, which are drawn in another way."""
    n, rng = 20000, Generator(SFC64(7))
    normals, uniforms = np.empty((n, 5, 20)), np.empty(n)
    bind(draw, "test_normals")(normals, uniforms, record(**source(rng)))
    assert (abs(normals) > 3.66).sum() > 100
    for t in range(n):
        assert np.array_equal(normals[t], rng.standard_normal((5, 20)))
        assert uniforms[t] == rng.random()
