"""The logarithm, and two coordinates of random directions, in vectors: accuracy and law."""

import numpy as np
import pytest
from numpy.random import SFC64, Generator
from scipy import stats

from privbandits_cli.numerics import directions
from privbandits_cli.numerics.jit import compile_step, record, uncompiled
from privbandits_cli.numerics.logarithm import logarithm
from privbandits_cli.numerics.sfc64 import streams_of


@pytest.mark.parametrize(("low", "high"), [(-1074 + 53, 1023), (-54, 0), (-1, 1), (-1e-9, 1e-9)])
def test_the_logarithm_is_right_to_one_unit_in_the_last_place(low, high):
    x = 2.0 ** np.random.default_rng(0).uniform(low, high, 10**5)
    exact = np.log(x.astype(np.longdouble))
    found = np.vectorize(compile_step(logarithm))(x)
    assert (abs(found - exact) <= np.spacing(abs(exact).astype(float))).all()
    np.testing.assert_array_equal(found[:500], [logarithm(one) for one in x[:500]])  # plain Python
    assert logarithm(1.0) == 0.0


def drawn(d, n, seed=1, low=0.0, high=1.0):
    """Two coordinates of n random directions in R^d, `[n]` each, and the words `[2, n]` that made them."""
    room = record(**directions.directions_room(d), **streams_of(Generator(SFC64(seed))))[0]
    following, size = compile_step(directions.next_directions), directions.TOGETHER
    (u, v), words = np.empty((2, n)), np.empty((2, n), np.uint64)
    for first in range(0, n, size):
        following(room, low, high)
        some = slice(first, first + size)
        u[some], v[some], words[:, some] = room.u, room.v, room.ready.reshape(2, size)
    return u, v, words


@pytest.mark.parametrize("d", [2, 3, 5, 64])
def test_coordinates_are_those_of_their_words(d):
    """Ulrich's formula with the C library, in long double."""
    u, v, words = drawn(d, 6400)
    w, place = ((word >> np.uint64(12)).astype(np.longdouble) / 2**52 + np.longdouble(2) ** -53 for word in words)
    radius = np.sqrt(1 - w ** (2 / np.longdouble(d - 2))) if d > 2 else 1.0
    angle = place * np.pi / 2
    signs = [1 - 2 * ((words[1] >> np.uint64(bit)) & np.uint64(1)).astype(float) for bit in (0, 1)]
    np.testing.assert_allclose(u, signs[0] * radius * np.cos(angle), atol=1e-15)
    np.testing.assert_allclose(v, signs[1] * radius * np.sin(angle), atol=1e-15)


@pytest.mark.parametrize("d", [2, 3, 4, 16, 64])
def test_coordinates_are_those_of_a_normal_vector_over_its_length(d):
    """So has their mixture, along a line between both axes. The control is the law in two more dimensions."""
    u, v, _ = drawn(d, 64_000)
    law, wrong = (stats.beta((n - 1) / 2, (n - 1) / 2, loc=-1, scale=2) for n in (d, d + 2))
    for found in (u, v, 0.6 * u - 0.8 * v):
        assert stats.kstest(found, law.cdf).pvalue > 1e-6
        assert d > 16 or stats.kstest(found, wrong.cdf).pvalue < 1e-6


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.01), (0.1, 1.0), (0.4, 0.6)])
def test_coordinates_under_a_condition_are_those_that_fulfil_it(low, high):
    """W = (1 - r²)^((d - 2)/2) is uniform between the bounds, and the angle is uniform, too."""
    u, v, _ = drawn(9, 64_000, low=low, high=high)
    w = (1 - u * u - v * v) ** 3.5
    assert low <= w.min() + 1e-12 and w.max() <= high + 1e-12
    assert stats.kstest(w, stats.uniform(low, high - low).cdf).pvalue > 1e-6
    assert stats.kstest(np.arctan2(u, v), stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 1e-6
    assert stats.kstest(w, stats.uniform(0.0, 1.0).cdf).pvalue < 1e-6  # the control


@pytest.mark.parametrize("chance", [0.5, 0.1, 1e-3, 1e-12])
def test_gaps_are_geometric(chance):
    """Compared with the law's probabilities of ranges; the control is a chance that is a tenth larger."""
    room = record(**directions.directions_room(9), **streams_of(Generator(SFC64(1))))[0]
    following, gaps = compile_step(directions.next_gaps), []
    for _ in range(1000):
        following(room, chance)
        gaps.append(room.gaps.copy())
    found = np.concatenate(gaps)
    assert (found == np.floor(found)).all() and found.min() >= 0
    ends = np.unique(stats.geom.ppf(np.arange(1, 20) / 20, chance) - 1)

    def p_value(chance):
        shares = np.diff(np.concatenate([[0.0], -np.expm1((ends + 1) * np.log1p(-chance)), [1.0]]))
        counts = np.bincount(np.searchsorted(ends, found), minlength=len(shares))
        return stats.chisquare(counts, shares * len(found)).pvalue

    assert p_value(chance) > 1e-6 > p_value(1.1 * chance)


def test_plain_python_draws_the_same_numbers():
    kept = drawn(5, 128)
    with uncompiled(), np.errstate(over="ignore"):
        for found, before in zip(drawn(5, 128), kept, strict=True):
            np.testing.assert_array_equal(found, before)
