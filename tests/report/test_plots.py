"""The interactive panels: bars that leave the axis, markers and dashes, few trials."""

import numpy as np
import pytest
from plotly.graph_objects import Figure

from privbandits_cli.experiment.names import Name
from privbandits_cli.figures import distributions, plot, shown, styles, table
from privbandits_cli.figures import panel as drawing
from privbandits_cli.figures.scales import axes_of
from privbandits_cli.report import page, plots
from tests.conftest import committed, some
from tests.figures.test_distributions import Played, folder_of
from tests.figures.test_plot import drawn_of, line_of
from tests.test_results import COMMITTED

MARKED = "state_of_the_art_stochastic", "price_cube", "best_of_both"  # committed figures with all kinds of marks


def panel(*lines):
    """The traces of a panel, after plotly has checked them."""
    made, _ = drawn_of(*lines)
    found = plots.line_plot(Name("P"), shown.sheet(made), "")
    Figure(found)
    return found


def test_an_arrow_and_a_value_end_a_bar_that_leaves_the_axis():
    line = line_of([100, 1000, 100_000, 10**6], [20, 50, 50_000, 1_188_972])
    found = panel(line)
    (arrow,) = [trace for trace in found["data"] if "text" in trace]
    assert arrow["marker"]["symbol"] == "arrow-down" and arrow["text"] == ["−188,972"] and arrow["x"] == [10.0]
    assert np.log10(arrow["y"][0]) == pytest.approx(found["layout"]["yaxis"]["range"][0])


def test_a_bar_below_nought_is_whole_on_an_axis_that_is_linear_there():
    line = line_of([10_000, 1000, 55], [100, 300, 563])
    found = panel(line)
    trace = found["data"][0]
    y = axes_of([line], True)[1]
    ends = np.array(trace["y"]) - trace["error_y"]["arrayminus"], np.array(trace["y"]) + trace["error_y"]["array"]
    np.testing.assert_allclose(ends, [y(line.regret - line.below), y(line.regret + line.above)])
    assert 0 < ends[0][-1] < y(0.0) < trace["y"][-1] and found["layout"]["yaxis"]["range"] == [0, 1]
    assert trace["customdata"][-1] == "55 −563 +27.5" and not any("text" in trace for trace in found["data"])
    assert "−500" in found["layout"]["yaxis"]["ticktext"]


@pytest.mark.parametrize("folder", ["state_of_the_art", "price_experts"])
def test_curves_differ_by_marker_and_dash(folder):
    sheet = shown.sheet(table.read(committed() / "results" / folder))
    title, panel = next(iter(sheet.panels.items()))
    found = plots.line_plot(title, sheet, "")["data"]
    curves = [trace for trace in found if "error_y" in trace]
    looks = [(trace["line"]["color"], trace["line"]["dash"]) for trace in curves]
    assert len({trace["marker"]["symbol"] for trace in curves}) == len(set(looks)) == len(panel.lines)


def sheet_of(folder):
    return shown.sheet(table.read(committed() / "results" / folder))


def strokes(trace):
    """The lengths of the pieces of a trace, between its nulls."""
    found = [0]
    for y in trace["y"]:
        found = [*found, 0] if y is None else [*found[:-1], found[-1] + 1]
    return found


@pytest.mark.parametrize("folder", some([name for name, _ in COMMITTED], *MARKED[1:]))
def test_the_page_shows_what_the_picture_shows(folder):
    """Lines with their breaks, pale bars and rings of every panel, in the picture and on the page."""
    sheet = sheet_of(folder)
    for axis, (title, panel) in zip(plot.figure(sheet.table).axes, sheet.panels.items(), strict=False):
        data = plots.line_plot(title, sheet, "")["data"]
        curves = {trace["legendgroup"]: trace for trace in data if "error_y" in trace}
        pieces = {line.line.label: strokes(curves[line.line.label]) for line in panel.lines if not line.line.level}
        assert {label: parts for label, parts in pieces.items() if len(parts) > 1} == {
            line.line.label: [len(part) for part in np.split(line.line.x, line.breaks)]
            for line in panel.lines
            if len(line.breaks)
        }

        def places(values, y=panel.y):
            return sorted(np.array(y(values) if y.kind == "asinh" else values).tolist())

        hollow = [trace for trace in data if trace.get("marker", {}).get("symbol") == "circle-open"]
        rings = [y for trace in hollow if trace.get("mode") == "markers" for y in trace["y"]]  # others are of bounds
        ringed = [line for line in axis.lines if line.get_markersize() == drawing.RING["ms"]]
        assert sorted(rings) == pytest.approx(places([y for line in ringed for y in line.get_ydata()]))
        pale = [y for trace in data if trace.get("opacity") == 0.22 for y in trace["y"] if y is not None]
        bars = [part for part in axis.collections if part.get_alpha() == drawing.PALE["alpha"]]
        assert sorted(pale) == pytest.approx(
            places([y for part in bars for _, y in np.concatenate(part.get_segments())])
        )


def test_the_figures_above_have_each_mark():
    """Else nothing would be compared."""
    marks = {mark.partition(":")[0] for name in MARKED for mark in sheet_of(name).marks}
    assert marks >= {"pale", "ring", "ring on a curve without privacy", "no line where values in between were left out"}


def test_no_line_crosses_values_that_were_left_out():
    sheet = sheet_of("thompson_private")
    title, panel = next(iter(sheet.panels.items()))
    (line,) = [line for line in panel.lines if line.line.label == "DP-SE"]
    data = plots.line_plot(title, sheet, "")["data"]
    (trace,) = [trace for trace in data if "error_y" in trace and trace["legendgroup"] == "DP-SE"]
    assert line.breaks.tolist() == [len(line.line.x) - 1] and trace["y"].index(None) == len(line.line.x) - 1
    lengths = {len(trace[name]) for name in ("x", "y", "customdata")} | {
        len(part) for part in (trace["marker"]["size"], *(trace["error_y"][name] for name in ("array", "arrayminus")))
    }
    assert lengths == {len(line.line.x) + 1}


def test_theory_is_drawn_between_the_points_and_read_at_them():
    sheet = sheet_of("thompson_private")
    title = next(iter(sheet.panels))
    name = next(iter(sheet.rates))
    drawn, read = [trace for trace in plots.line_plot(title, sheet, "")["data"] if trace["name"] == name][:2]
    assert len(drawn["x"]) > 60 and drawn["hoverinfo"] == "skip" and drawn["line"]["color"] == styles.RATE
    assert len(read["x"]) < 12 and set(read["x"]) <= set(drawn["x"]) and len(read["customdata"]) == len(read["x"])


def test_what_all_curves_share_is_on_the_page_once():
    read = table.read(committed() / "results" / "uneven_noise")
    sheet = shown.sheet(read)
    (said,) = sheet.shared
    title, panel = next(iter(sheet.panels.items()))
    made = plots.line_plot(title, sheet, "")
    assert made["layout"]["title"]["text"] == f"{title}<br>{said}"
    assert not [trace for trace in made["data"] if "ε" in trace["name"]]
    assert all("ε" in line.line.label for line in panel.lines)


def test_every_marker_has_a_symbol_and_a_glyph():
    assert set(styles.MARKERS) == set(plots.SYMBOLS) == set(page.GLYPHS)
    assert len(set(plots.SYMBOLS.values())) == len(set(page.GLYPHS.values())) == len(styles.MARKERS)
    Figure([{"type": "scatter", "marker": {"symbol": f"{symbol}-open"}} for symbol in plots.SYMBOLS.values()])


@pytest.mark.parametrize(("trials", "drawn"), [(7, False), (8, True)])
def test_few_trials_have_no_box_and_no_interval(tmp_path, trials, drawn):
    found = folder_of(tmp_path, [Played(name, list(range(trials)), {}, {}) for name in ("exp3", "ucb1")])
    for figure in (distributions.distribution(found), distributions.paired(found)):
        made = plots.distribution_plot("Gap", figure, styles.styles_of(figure.drawn), "")
        Figure(made)
        (text, *_) = [trace["hovertext"] for trace in made["data"] if "hovertext" in trace]
        assert any(word in text for word in ("quartiles", "95 % interval")) == drawn
        assert f"trials: {trials}" in text and ("mean: 0" if figure.paired else "median: ") in text
        boxes = [trace for trace in made["data"] if trace["mode"] == "lines"]
        diamonds = [trace["x"] for trace in made["data"] if trace["mode"] == "lines+markers"]
        assert len(boxes) == (2 if drawn and not figure.paired else 0)
        assert len(diamonds) == (1 if figure.paired else 0)
