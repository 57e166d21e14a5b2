"""Figures: what is drawn is what stands in the CSV."""

import csv
import hashlib
from contextlib import nullcontext

import numpy as np
import pytest

from privbandits_cli.actions import run
from privbandits_cli.engine import Engine
from privbandits_cli.engine.store import Store
from privbandits_cli.experiment.config import load
from privbandits_cli.experiment.plan import make_plan
from privbandits_cli.figures import plot, styles, table
from privbandits_cli.figures.line import Line
from privbandits_cli.figures.scales import axes_of, number_places, wants_logarithm


def ran(tmp_path, small, *overrides, watch=lambda played: True):
    plan, store = make_plan(load(small, list(overrides))), Store(tmp_path / "out")
    run.run(plan, store, Engine(), 2, ["test"], events=run.Events(playing=lambda: nullcontext(watch)))
    return tmp_path / "out"


def rows(folder):
    with (folder / "summary.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_lines_and_bars_are_the_csvs(tmp_path, small):
    folder = ran(tmp_path, small)
    drawn = plot.figure(table.read(folder))
    axes = [axis for axis in drawn.axes if axis.get_title()]
    assert [axis.get_title() for axis in axes] == ["(a) Stochastic", "(b) Switching costs"]
    for axis, adversary in zip(axes, ("stochastic", "switching_costs"), strict=True):
        for line in [line for line in axis.lines if not line.get_label().startswith("_")]:
            wanted = [row for row in rows(folder) if (row["adversary"], row["label"]) == (adversary, line.get_label())]
            np.testing.assert_array_equal(line.get_ydata(), [float(row["regret"]) for row in wanted])
            np.testing.assert_array_equal(line.get_xdata(), [float(row["round"]) for row in wanted])
            (left, right), (low, high) = axis.get_xlim(), axis.get_ylim()
            assert left <= line.get_xdata().min() and line.get_xdata().max() <= right  # nothing is cut off
            assert low <= min(0, line.get_ydata().min()) and line.get_ydata().max() <= high
        bars = [c.lines[2][0].get_segments() for c in axis.containers]
        first = {(row["label"], float(row["round"])): row for row in rows(folder) if row["adversary"] == adversary}
        for segments, label in zip(bars, dict.fromkeys(label for label, _ in first), strict=True):
            for (x, low), (_, high) in segments:
                row = first[label, x]
                assert high - low == pytest.approx(float(row["gmd_below"]) + float(row["gmd_above"]))
                assert float(row["regret"]) - low == pytest.approx(float(row["gmd_below"]))


@pytest.mark.parametrize("bars", ["gini", "sd", "quantiles", "bootstrap"])
def test_every_kind_of_bar(tmp_path, small, bars):
    folder = ran(tmp_path, small, f"summary={{groups: 4, bars: {bars}}}")
    read = table.read(folder)
    line = read.panels["Stochastic"][0]
    row = next(row for row in rows(folder) if row["algorithm"] == "exp3" and row["round"] == "1000")
    regret = float(row["regret"])
    wanted = {
        "gini": lambda: float(row["gmd_above"]),
        "sd": lambda: float(row["sd"]),
        "quantiles": lambda: float(row["q95"]) - regret,
        "bootstrap": lambda: float(row["boot_high"]) - regret,
    }[bars]()
    assert line.above[-1] == pytest.approx(max(0, wanted))
    plot.figure(read)


def test_bounds_are_the_theorems(tmp_path, small):
    folder = ran(tmp_path, small)
    panels = table.read(folder, bounds=True).panels
    exp3, _, tau = panels["Stochastic"]
    assert (exp3.bound > exp3.regret)[-1] and (tau.bound > tau.regret)[-1]
    assert panels["Switching costs"][0].bound is None  # no theorem for EXP3 there
    drawn = plot.figure(table.read(folder, bounds=True), log=True)
    assert drawn.axes[0].get_xscale() == "log"


def test_bounds_that_nothing_can_exceed_are_not_drawn(tmp_path, small):
    """DP-EXP3-Lap's bound at ε = 1 is above all 1,000 rounds; EXP3's is so in the first rounds only."""
    folder = ran(tmp_path, small, "checkpoints=[1, 10, 1000]")
    read = table.read(folder, bounds=True)
    exp3, lap, _ = read.panels["Stochastic"]
    early = np.isnan(exp3.bound)
    assert early[0] and not early[-1] and (exp3.bound[~early] < exp3.x[~early]).all()
    assert np.isnan(lap.bound).all() and "empty bounds: DP-EXP3-Lap (ε = 1)" in read.notes()
    assert any(note.startswith("dotted: the theorem's bound, where it is not empty") for note in read.notes())
    for log in (False, True):
        drawn = plot.figure(read, log=log)
        assert np.isfinite(drawn.axes[0].get_ylim()).all()
    assert not [note for note in table.read(folder).notes() if "empty" in note]


def test_an_incomplete_figure_is_marked(tmp_path, small):
    folder = ran(tmp_path, small, watch=lambda played: False)
    texts = [text.get_text() for text in plot.figure(table.read(folder)).texts]
    assert any(text.startswith("PARTIAL ") and text.endswith("/16") for text in texts)
    whole = ran(tmp_path, small)
    assert not plot.figure(table.read(whole)).texts


def test_styles_are_fixed_per_algorithm_and_distinct(tmp_path, small):
    one = plot.line_styles(table.read(ran(tmp_path, small)).named())
    other = plot.line_styles(
        table.read(ran(tmp_path, small, "algorithms=[exp3_tau, {name: dp_exp3_lap, epsilon: [1, 2, 3]}, exp3]")).named()
    )
    for label in ("EXP3", "DP-EXP3-Lap (ε = 1)"):
        assert one[label] == other[label]
    assert len({(style["color"], style["marker"]) for style in other.values()}) == len(other)
    many = plot.line_styles(
        table.read(
            ran(tmp_path, small, "algorithms=[{name: exp3, gamma: [0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1]}]")
        ).named()
    )
    assert len({(style["color"], style["marker"]) for style in many.values()}) == 10


def test_more_algorithms_than_colours_stay_distinct():
    names = [(f"algorithm{i}", f"A{i}") for i in range(12)] + [("exp3", "EXP3"), ("algorithm11", "A11, again")]
    found = styles.styles_of(names)
    assert len({(style.colour, style.marker, style.stroke, style.pale) for style in found.values()}) == len(names)
    assert len({(style.colour, style.marker) for style in found.values()}) == len(names)
    assert found["EXP3"] == styles.styles_of([("exp3", "EXP3")])["EXP3"]


def test_the_same_bytes_twice_and_text_as_text(tmp_path, small):
    folder = ran(tmp_path, small)
    digests = []
    for name in ("one", "two"):
        paths = plot.save(plot.figure(table.read(folder)), tmp_path, name, plot.FORMATS)
        digests.append([hashlib.sha256(path.read_bytes()).hexdigest() for path in paths])
    assert digests[0] == digests[1]
    assert "Switching costs</text>" in (tmp_path / "one.svg").read_text()
    pdf = (tmp_path / "one.pdf").read_bytes()
    assert b"/Type3" not in pdf and b"/FontFile2" in pdf


def test_nothing_overlaps(tmp_path, small):
    """Titles, tick labels and the legend of every panel stay inside the figure and off each other."""
    for overrides in (
        [],
        ["adversary=[deterministic, stochastic, oblivious, fully_oblivious, switching_costs]"],
        ["adversary=stochastic", "algorithms=[exp3, exp3_tau, ucb1, uniform, tsallis_inf]"],
    ):
        drawn = plot.figure(table.read(ran(tmp_path, small, *overrides)))
        renderer = drawn.canvas.get_renderer()
        boxes = [axis.get_tightbbox(renderer) for axis in drawn.axes if axis.axison]
        boxes += [legend.get_window_extent(renderer) for legend in drawn.legends]
        boxes += [axis.get_legend().get_window_extent(renderer) for axis in drawn.axes if axis.get_legend()]
        for i, box in enumerate(boxes):
            assert box.x0 >= -1 and box.x1 <= drawn.bbox.x1 + 1 and box.y0 >= -1 and box.y1 <= drawn.bbox.y1 + 1
            for other in boxes[:i]:
                apart = (
                    min(box.x1, other.x1) - max(box.x0, other.x0) <= 1
                    or min(box.y1, other.y1) - max(box.y0, other.y0) <= 1
                )
                assert apart, overrides


def test_numbers_beside_near_lines_do_not_hide_each_other():
    assert number_places([0.3, 0.5]) == [("right", 0), ("right", 0)]
    assert number_places([0.5, 0.53]) == [("right", 0), ("left", 0)]
    assert number_places([0.5, 0.53, 0.56, 0.9]) == [("right", 0), ("right", 1), ("left", 0), ("right", 0)]


def test_nearly_equal_regrets_are_drawn_from_nought():
    def flat(*regrets):
        zero = np.zeros(2)
        return [Line("a", str(y), np.array([1.0, 2.0]), np.array([y, y]), zero, zero, 1, None) for y in regrets]

    assert wants_logarithm(flat(100.0, 301.0)) and not wants_logarithm(flat(100.0, 299.0))
    assert not wants_logarithm(flat(-1.0, 500.0))
    assert axes_of(flat(100.0, 200.0), True)[1].kind == "linear" and axes_of(flat(100.0, 400.0), True)[1].kind == "log"


def test_shades_of_one_colour_can_be_told_apart():
    """Lightness of neighbours differs by a twelfth of the way from black to white, in every colour of the palette."""
    for owner in ("exp3", "tsallis_inf", "mini_batch"):
        light = [sum(style.mixed()) / 3 for style in styles.styles_of([(owner, label) for label in "abc"]).values()]
        assert min(np.abs(np.diff(light))) > 1 / 12 and sorted(light) in (light, light[::-1])
