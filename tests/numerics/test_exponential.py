"""exp for vectors: its error against forty digits, its twin, its ends."""

from decimal import Decimal, localcontext
from math import ulp

import numpy as np

from privbandits_cli.numerics.exponential import exponential, small_exponential
from privbandits_cli.numerics.jit import bind
from tests import naive_linear

RNG = np.random.default_rng(1)
HALVES = (np.arange(-1020, 0) + 0.5) * np.log(2)  # where k changes
SMALL = -(2.0 ** np.arange(-1070, 0, 7))
POINTS = np.concatenate([-RNG.exponential(3, 5000), -708 * RNG.random(5000), HALVES, SMALL, [0.0, -708.0]])


NEAR = np.concatenate([RNG.uniform(-1.0009, 1.0009, 5000), RNG.uniform(-0.01, 0.01, 1000), [1.0009, -1.0009]])


def fill(x, out):
    for i in range(len(out)):
        out[i] = exponential(x[i])


def fill_small(x, out):
    for i in range(len(out)):
        out[i] = small_exponential(x[i])


FILL, FILL_SMALL = bind(fill), bind(fill_small)


def compiled(x, fill=FILL):
    out = np.empty(len(x))
    fill(x, out)
    return out


def test_it_is_right_to_one_unit_in_the_last_place():
    with localcontext() as context:
        context.prec = 40
        for x, found in zip(POINTS, compiled(POINTS), strict=True):
            wanted = Decimal(float(x)).exp()
            assert abs(Decimal(float(found)) - wanted) < Decimal(ulp(float(wanted))), x


def test_vectors_single_numbers_and_the_twin_agree_to_the_bit():
    together = compiled(POINTS)
    assert together.tolist() == [naive_linear.exp(x) for x in POINTS.tolist()]
    assert together.tolist() == [compiled(POINTS[i : i + 1])[0] for i in range(len(POINTS))]
    assert together[:50].tolist() == [exponential(x) for x in POINTS[:50]]


def test_its_ends():
    assert compiled(np.array([0.0, -0.0])).tolist() == [1.0, 1.0]
    assert (compiled(np.array([-709.0, -1e300, -np.inf])) == compiled(np.array([-708.0]))).all()


def units(x, found):
    """The errors of numbers that should be exp x, in units of the last place."""
    with localcontext() as context:
        context.prec = 40
        wanted = [Decimal(one).exp() for one in x.tolist()]
        pairs = zip(found.tolist(), wanted, strict=True)
        return np.array([float(abs(Decimal(own) - true) / Decimal(ulp(float(true)))) for own, true in pairs])


def test_small_numbers_have_small_errors():
    errors = units(NEAR, compiled(NEAR, FILL_SMALL))
    assert errors[NEAR >= -0.5].max() < 2 and errors.max() < 4
    assert units(np.array([1.1]), compiled(np.array([1.1]), FILL_SMALL)) > 2  # the polynomial ends there


def test_small_numbers_in_vectors_and_alone_agree_to_the_bit():
    assert compiled(NEAR, FILL_SMALL).tolist() == [small_exponential(x) for x in NEAR.tolist()]
