"""Numbers as text."""

import numpy as np
import pytest

from privbandits_cli.numerics.text import exact


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
