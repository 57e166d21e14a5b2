"""The interactive panels: bars that leave the axis, markers and dashes, few trials."""

import numpy as np
import pytest
from plotly.graph_objects import Figure

from privbandits_cli.figures import distributions, styles, table
from privbandits_cli.figures.scales import axes_of
from privbandits_cli.report import page, plots
from tests.conftest import committed
from tests.figures.test_distributions import Played, folder_of
from tests.figures.test_plot import drawn_of, line_of


def panel(*lines):
    """The traces of a panel, after plotly has checked them."""
    made, _ = drawn_of(*lines)
    found = plots.line_plot("P", list(lines), made, styles.styles_of(made.drawn()), "")
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
    read = table.read(committed() / "results" / folder)
    title, lines = next(iter(read.panels.items()))
    found = plots.line_plot(title, lines, read, styles.styles_of(read.drawn()), "")["data"]
    curves = [trace for trace in found if "error_y" in trace]
    looks = [(trace["line"]["color"], trace["line"]["dash"]) for trace in curves]
    assert len({trace["marker"]["symbol"] for trace in curves}) == len(set(looks)) == len(lines)


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
