"""Printed bounds are bounds: upper ones are rounded up, lower ones down."""

import math
from decimal import Decimal

import numpy as np
import pytest

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.accounting.rounding import at_least, at_most, pair, regret


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [
        (1.5039288943, "1.504", "1.503"),
        (8.298628276, "8.299", "8.298"),
        (0.04975064406, "0.04976", "0.04975"),
        (243.2919314, "243.3", "243.2"),
        (999.96, "1,000", "999.9"),
        (403_685.2, "403,686", "403,685"),
        (1.4551915228366852e-11, "1.456e-11", "1.455e-11"),
        (0.1, "0.1", "0.1"),  # in binary it is 1e-17 larger
        (0.1 + 0.2, "0.3", "0.3"),  # an error of the arithmetic
        (1 - 1e-16, "1", "1"),
        (1 - 1e-9, "1", "0.9999"),
        (0.0, "0", "0"),
        (math.inf, "∞", "∞"),
        (None, "–", "–"),
    ],
)
def test_bounds_are_rounded_outward(value, up, down):
    assert (at_most(value), at_least(value)) == (up, down)


def test_a_printed_bound_is_on_its_side_of_the_value():
    for value in np.exp(np.random.default_rng(1).uniform(-30, 30, 2000)).tolist():
        low, high = (Decimal(text(value).replace(",", "")) for text in (at_least, at_most))
        assert low * (1 - Decimal("1e-11")) <= Decimal(value) <= high * (1 + Decimal("1e-11"))
        assert high - low <= Decimal(value) / 900 or high - low <= 1


def test_a_guarantee_is_printed_rounded_up():
    assert str(Guarantee(1.5039, 1.4551915228366852e-11, "", "proved")) == "ε = 1.504, δ = 1.5e-11"
    assert str(Guarantee(8.2981, 0.0, "", "proved")) == "ε = 8.299"
    assert pair(8.29810001, 1.1e-7, 8) == "ε = 8.2981001, δ = 1.1e-7"
    assert pair(math.inf, 0.0) == "ε = ∞"


@pytest.mark.parametrize(
    ("bound", "text"),
    [(99.2, "99.2"), (1e2, "100 (vacuous)"), (1e2 * (1 - 1e-15), "100 (vacuous)"), (1e7, "10,000,000 (vacuous)")],
)
def test_a_bound_that_nothing_can_exceed_is_vacuous(bound, text):
    assert regret(bound, 100.0) == text
