"""Numbers as text."""

import numpy as np
import pytest

from privbandits_cli.numerics.text import exact, meant


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0000001, "1.0000001"),
        (1234567, "1234567"),
        (np.float64(0.1), "0.1"),
        (-0.5, "-0.5"),
        (-0.0, "0"),
        (1e300, "1e+300"),
    ],
)
def test_a_number_is_written_so_that_it_can_be_read_back(value, text):
    assert exact(value) == text and float(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("50%", "0.5"),
        ("5 \u2030", "0.005"),
        ("\u221257 %", "-0.57"),
        ("$5", "5"),
        ("3,50 €", "3.5"),
        ("0,125", "0.125"),
        ("1,234", "1234 or 1.234"),
        ("12,000", "12000"),
        ("12.000,5", "12000.5"),
        ("1/2", ""),
        ("10k", ""),
        ("all", ""),
    ],
)
def test_a_number_for_people_is_named_as_it_is_to_be_written(text, value):
    assert meant(text) == value
