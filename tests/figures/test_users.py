"""The figure of users against ε."""

import math

import pytest

from privbandits_cli.figures.users import BEYOND, Point, figure

POINTS = [
    *(Point("floor", epsilon, 100) for epsilon in (0.1, 1.0, math.inf)),
    *(Point("one_shot", epsilon, 200 / epsilon) for epsilon in (0.1, 1.0)),
    Point("one_shot", math.inf, 150),
    *(Point("sequential", epsilon, 900, 1200) for epsilon in (0.1, 1.0, math.inf)),
]


def test_a_panel_has_a_line_for_each_design_and_marks_without_privacy():
    (axis,) = figure({"five arms": POINTS}).axes
    lines = {line.get_label(): line for line in axis.lines if not line.get_label().startswith("_")}
    assert [*lines] == ["impossible below, if it must be sure", "one release", "until it is sure, mean to 90 %"]
    assert lines["one release"].get_xydata().tolist() == [[0.1, 2000], [1.0, 200]]
    marks = [line.get_xydata().tolist() for line in axis.lines if line.get_label() == "_"]
    assert marks == [[[BEYOND, users]] for users in (100, 150, 900)]
    (band,) = axis.collections
    assert band.get_paths()[0].vertices[:, 1].max() == pytest.approx(1200)
    assert [label.get_text() for label in axis.get_xticklabels()] == ["0.1", "1", "none"]
    assert axis.get_title() == "five arms" and axis.get_xscale() == axis.get_yscale() == "log"


def test_panels_share_their_users():
    drawn = figure({"a": POINTS, "b": POINTS, "c": POINTS[:3]})
    assert [axis.get_title() for axis in drawn.axes] == ["a", "b", "c"]
    assert len({axis.get_ylim() for axis in drawn.axes}) == 1 and len(drawn.legends) == 1


def test_without_levels_of_no_privacy_there_is_no_tick_for_it():
    (axis,) = figure({"a": [Point("floor", 0.3, 10), Point("floor", 0.5, 9)]}).axes
    assert [label.get_text() for label in axis.get_xticklabels()] == ["0.3", "0.5"]
