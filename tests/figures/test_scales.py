"""Axes: the range that shows the bulk of the values, and its ticks."""

import numpy as np
import pytest

from privbandits_cli.figures import distribution_plot, distributions, scales
from privbandits_cli.figures.styles import Drawn


def test_an_axis_shows_the_bulk_and_what_is_far():
    bulk = np.linspace(90, 110, 50)
    assert scales.fitting(bulk).kind == "linear"
    assert scales.fitting(np.append(bulk, 1e5)).kind == "log"
    far = scales.fitting(np.append(bulk, [-5.0, 1e5]))
    assert far.kind == "asinh"
    places = far(np.array([-5.0, 90.0, 110.0, 1e5]))
    assert (np.diff(places) > 0.01).all() and places[0] > 0 and places[-1] < 1
    assert scales.fitting(np.zeros(3)).kind == "linear" and scales.fitting(np.full(3, 7.0)).kind == "linear"


@pytest.mark.parametrize(
    ("kind", "low", "high", "wanted"),
    [
        ("linear", -1, 10, [0, 2, 4, 6, 8, 10]),
        ("linear", 0.0, 0.07, [0, 0.02, 0.04, 0.06]),
        ("log", 0.5, 20_000, [1, 10, 100, 1000, 10_000]),
        ("log", 30, 600, [50, 100, 200, 500]),
        ("asinh", -200, 20_000, [-100, 0, 100, 1000, 10_000]),
    ],
)
def test_the_axis_of_a_distribution_has_these_ticks(kind, low, high, wanted):
    rows = [distributions.Distribution("A", "A", "", np.array([low, high], float))]
    axes = {"P": scales.Scale(kind, low, high, 100)}
    shown = distribution_plot.figure(
        distributions.Distributions({"P": rows}, axes, "x", "", False, 1, 1, [Drawn("a", "A")])
    )
    ticks = shown.axes[0].get_xticks()
    assert [x for x in ticks if low <= x <= high] == pytest.approx(wanted)
