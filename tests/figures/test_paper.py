"""Figures that a paper can take as they are: names, widths, shared axes, and marks where a centre would mislead."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.text import Text

from privbandits_cli.analysis import curves, theories
from privbandits_cli.experiment.config import load
from privbandits_cli.experiment.keys import Plot
from privbandits_cli.experiment.names import Name
from privbandits_cli.figures import bulk, ends, layout, panel, plot, shown, table
from privbandits_cli.figures.bulk import Bulk
from privbandits_cli.figures.line import Line, lifted
from privbandits_cli.figures.scales import Scale, common, round_values, thousands
from privbandits_cli.plugins.registry import Registry
from tests.conftest import committed, first, some
from tests.test_results import COMMITTED

TRIALS = 100


def line_of(label, regret, x=None, **more):
    """A line whose trials are normal with a deviation of a tenth of the regret."""
    regret = np.array(regret, float)
    x = np.arange(1.0, len(regret) + 1) if x is None else np.array(x, float)
    sd = 0.1 * np.abs(regret)
    lies = Bulk(regret, sd, regret - 1.645 * sd, regret, regret + 1.645 * sd, np.full(len(x), float(TRIALS)))
    return Line("a" + label, Name(label), x, regret, sd, sd, TRIALS, None, **{"bulk": lies, **more})


def rising(count, base="name"):
    return [line_of(f"{base} {k}", np.arange(1.0, 5.0) * (1 + k)) for k in range(count)]


def table_of_panels(*panels, swept=True, **more):
    titles = {Name(f"P{i}"): list(lines) for i, lines in enumerate(panels)}
    label = "ε" if swept else "round"
    return table.Table(titles, label, "mean", table.BARS["sd"], Plot(**more), TRIALS)


def names_of(drawn):
    """The names at the ends of lines, by panel."""
    return [[text for text in axis.texts if hasattr(text, "xyann")] for axis in drawn.axes]


def overlap(boxes):
    """Whether two boxes have more than a hundredth of an inch in common."""
    return any(
        min(one.x1, two.x1) - max(one.x0, two.x0) > 3 and min(one.y1, two.y1) - max(one.y0, two.y0) > 3
        for i, one in enumerate(boxes)
        for two in boxes[:i]
    )


def share(drawn):
    """The part of a figure that its legend takes; 0 without one."""
    found = [*drawn.legends, *(axis.get_legend() for axis in drawn.axes if not axis.axison and axis.get_legend())]
    boxes = [plot.extent(legend) for legend in found]
    return sum(box.width * box.height for box in boxes) / (drawn.bbox.width * drawn.bbox.height)


@pytest.mark.parametrize(
    ("panels", "wide", "narrow"),
    [(1, 1, 1), (2, 2, 2), (3, 3, 1), (4, 2, 2), (5, 3, 2), (6, 3, 2), (7, 4, 2), (8, 3, 2), (10, 3, 2), (12, 3, 2)],
)
def test_cells_without_a_panel_take_at_most_a_fifth(panels, wide, narrow):
    assert (layout.columns(panels, layout.PAGE), layout.columns(panels, layout.COLUMN)) == (wide, narrow)
    for n in (wide, narrow):
        assert -panels % n <= layout.MOST_SHARE * (panels + -panels % n)


def test_a_figure_is_one_or_two_columns_wide():
    one, two = rising(3), [rising(3)] * 2
    assert plot.figure(table_of_panels(one)).get_figwidth() == layout.COLUMN
    assert plot.figure(table_of_panels(*two)).get_figwidth() == layout.PAGE
    assert plot.figure(table_of_panels(one, width="two")).get_figwidth() == layout.PAGE
    assert plot.figure(table_of_panels(*two, width="one")).get_figwidth() == layout.COLUMN
    assert plot.figure(table_of_panels(*two, width=5.0, height=3.0)).get_size_inches().tolist() == [5, 3]


def test_width_and_height_are_keys_of_a_config(small):
    drawn = load(small, ["plot={width: two, height: 3}"]).keys.plot
    assert (drawn.width, drawn.height) == ("two", 3)


def test_names_stand_at_the_ends_of_lines_and_do_not_overlap():
    lines = [line_of(f"name {k}", [1, 2, 3, 4 + k / 100]) for k in range(7)]  # they end at nearly the same regret
    drawn = plot.figure(table_of_panels(lines))
    (names,) = names_of(drawn)
    assert [text.get_text() for text in names] == [line.label for line in lines] and not drawn.legends
    boxes = [text.get_window_extent() for text in names]
    assert not overlap(boxes)
    assert all(box.x1 <= drawn.bbox.x1 + 3 and box.y0 >= 0 and box.y1 <= drawn.bbox.y1 for box in boxes)
    heights = [box.y0 for box in boxes]
    assert heights == sorted(heights)  # in the order of the regrets
    for text in names:
        text.xy = (1, 0.5)
    assert overlap([text.get_window_extent() for text in names])


def test_names_move_as_little_as_they_can():
    heights = np.full(3, 0.1)
    np.testing.assert_allclose(ends.apart(np.array([0.2, 0.9, 0.5]), heights), [0.2, 0.9, 0.5])
    np.testing.assert_allclose(ends.apart(np.array([0.5, 0.5, 0.5]), heights), [0.4, 0.5, 0.6])
    np.testing.assert_allclose(ends.apart(np.array([1.0, 1.0, 0.0]), heights), [0.85, 0.95, 0.05])


def test_names_are_in_the_last_panel_of_a_row_if_it_has_all_lines():
    drawn = plot.figure(table_of_panels(*[rising(3)] * 4))
    assert [len(names) for names in names_of(drawn)] == [0, 3, 0, 3] and not drawn.legends
    lacking = plot.figure(table_of_panels(rising(3), rising(2)))
    assert not any(names_of(lacking)) and lacking.legends


@pytest.mark.parametrize(("count", "panels"), first(1, [(30, 1), (30, 2), (40, 5)]))
def test_a_legend_takes_at_most_a_fifth(count, panels):
    long = "with a long name that says what it is,"
    made = table_of_panels(*[rising(count, long)] * panels)
    drawn = plot.figure(made)
    assert 0.05 < share(drawn) <= layout.MOST_SHARE + 0.01
    assert (
        share(plot.figure(replace(made, plot=Plot(height=2.0 + panels / 2)))) > layout.MOST_SHARE + 0.01
    )  # of a height that is given


@pytest.mark.parametrize("name", some([name for name, _ in COMMITTED], "fig1", "oracle_iris", "best_arm_confidence"))
def test_committed_figures_have_small_legends_and_names_apart(name):
    drawn = plot.figure(table.read(committed() / "results" / name))
    assert share(drawn) <= layout.MOST_SHARE + 0.01 and drawn.get_figwidth() in layout.WIDTHS.values()
    for axis, names in zip(drawn.axes, names_of(drawn), strict=True):
        boxes = [text.get_window_extent() for text in names]
        assert not overlap(boxes) and all(box.x1 <= drawn.bbox.x1 + 3 for box in boxes)
        assert not axis.axison or axis.lines  # no empty panel
    assert min(text.get_fontsize() for text in drawn.findobj(Text) if text.get_text()) >= 6.0  # points


def test_notes_are_as_large_as_the_numbers_of_axes():
    for drawn in (plot.figure(table_of_panels(rising(2))), plot.figure(table_of_panels(rising(40)))):
        (note,) = [text for text in drawn.findobj(Text) if "mean of 100 trials" in text.get_text()]
        assert note.get_fontsize() == 6.5 and note.get_window_extent().width < drawn.bbox.width


@pytest.mark.slow
def test_rows_grow_for_many_names():
    few, many = (plot.figure(table_of_panels(*[rising(count)] * 4)) for count in (5, 11))
    assert few.get_figheight() < many.get_figheight() < layout.MORE * few.get_figheight() and not many.legends
    widths = [
        {line.get_linewidth() for line in drawn.axes[0].lines if line.get_label().startswith("name")}
        for drawn in (few, many)
    ]
    assert widths[1] == {0.8} and min(widths[0]) > 1


def test_what_all_curves_share_is_in_the_title_once():
    def named(*guarantees):
        notes = [{"guarantee": note} for note in guarantees]
        return [
            replace(line, label=Name(line.label, note), guarantee=(float(note["guarantee"].split()[2][0]), delta))
            for line, note, delta in zip(rising(len(notes)), notes, (1e-6, 0.0, 1e-6), strict=False)
        ]

    same = named("ε = 1, δ = 1e-06", "ε = 1, δ = 1e-06")
    drawn = plot.figure(table_of_panels(same))
    assert drawn.axes[0].get_title() == "P0\nε = 1, δ = 1e-06"
    assert [text.get_text() for text in names_of(drawn)[0]] == ["name 0", "name 1"]
    assert plot.figure(table_of_panels(same, same)).get_suptitle() == "ε = 1, δ = 1e-06"
    free = replace(rising(1)[0], label=Name("free"), private=False)
    assert shown.shared_notes([*same, free])[1] == "private curves: ε = 1, δ = 1e-06"
    assert shown.shared_notes(named("ε = 1, δ = 1e-06", "ε = 1"))[1] == "ε = 1, δ ≤ 1e-6"
    assert shown.shared_notes(named("ε = 1", "ε = 2"))[1] == ""
    twins = [
        replace(line, label=Name("A", notes)) for line, notes in zip(same, ({"guarantee": "ε = 1"}, {}), strict=True)
    ]
    assert shown.shared_notes([twins[0], replace(twins[1], private=False)])[1] == ""  # the names would be the same


def test_a_comparison_at_unequal_privacy_says_so():
    def named(*epsilons):
        return [
            replace(line, label=Name(line.label, {"guarantee": f"ε = {epsilon}"}), guarantee=(epsilon, 0.0))
            for line, epsilon in zip(rising(len(epsilons)), epsilons, strict=True)
        ]

    said = "not equally private: ε from 0.5 to 20"
    assert shown.unequal(named(0.5, 20, 3)) == said
    assert plot.figure(table_of_panels(named(0.5, 20))).axes[0].get_title() == f"P0\n{said}"
    assert plot.figure(table_of_panels(*[named(0.5, 20)] * 2)).get_suptitle() == said
    assert shown.unequal(named(1, 1.05)) == shown.unequal(rising(2)) == shown.unequal(named(0.0, 0.0)) == ""
    swept = [replace(line, label=Name(name, *line.label.brackets)) for name in ("a", "b") for line in named(0.5, 20)]
    assert shown.unequal(swept) == ""  # two algorithms at the same two ε
    assert shown.unequal(swept[:3]) == said


def test_what_is_said_above_a_narrow_panel_is_not_cut_off():
    lines = [
        replace(line, label=Name(f"Gaussian Thompson sampling {i}", {"guarantee": f"ε = {i}"}), guarantee=(i, 0.0))
        for line, i in zip(rising(2), (0.9927, 5.449), strict=True)
    ]
    drawn = plot.figure(table_of_panels(lines))
    drawn.canvas.draw()
    assert "not equally private" in drawn.axes[0].get_title()
    assert drawn.axes[0].title.get_window_extent().x0 > 0


def test_the_figure_of_the_paper_says_that_its_privacy_is_unequal():
    folder = committed() / "results"
    assert shown.sheet(table.read(folder / "fig1")).shared == ["not equally private: ε from 1.504 to 243.3"]
    assert shown.sheet(table.read(folder / "fig1_equal_privacy")).shared == []


def labels_of(axis):
    shown = [any(tick.label1.get_visible() for tick in side.get_major_ticks()) for side in (axis.xaxis, axis.yaxis)]
    return bool(axis.get_xlabel()), shown[0], bool(axis.get_ylabel()), shown[1]


def test_axes_that_panels_share_are_labelled_at_the_outer_ones():
    drawn = plot.figure(table_of_panels(*[rising(2)] * 4))
    assert [labels_of(axis) for axis in drawn.axes] == [
        (False, False, True, True),
        (False, False, False, False),
        (True, True, True, True),
        (True, True, False, False),
    ]
    higher = [line_of(line.label, line.regret * 100, x=line.x * 7) for line in rising(2)]
    own = plot.figure(table_of_panels(rising(2), rising(2), rising(2), higher))
    assert [labels_of(axis) for axis in own.axes] == [
        (False, True, True, True),
        (False, True, False, True),
        (True, True, True, True),
        (True, True, False, True),
    ]


def test_panels_share_an_axis_if_it_costs_little():
    near, far = [Scale("log", 1, 1000), Scale("log", 1, 2000)], [Scale("log", 1, 10), Scale("log", 1, 1000)]
    assert common(near) == Scale("log", 1, 2000) and common(far) is None
    assert common([Scale("log", 1, 10), Scale("linear", 1, 10)]) is None


def sample(draw):
    """The bulk of a point whose trials are these."""
    low, middle, high = np.quantile(draw, (0.05, 0.5, 0.95))
    return Bulk(*(np.array([part]) for part in (draw.mean(), draw.std(ddof=1), low, middle, high, float(len(draw)))))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("normal", False), ("uniform", False), ("exponential", False), ("pareto", True), ("groups", True), ("rare", True)],
)
def test_uneven_trials_are_heavy_tailed_lopsided_or_in_groups(name, wanted):
    """Quantiles of the laws themselves at 4,000 even ranks: no draw is left to chance."""
    u = (np.arange(4000) + 0.5) / 4000
    normal = 100 + 20 * np.sqrt(2) * np.array([float(x) for x in _inverse_erf(2 * u - 1)])
    law = {
        "normal": normal,
        "uniform": 100 * u,
        "exponential": -100 * np.log(1 - u),
        "pareto": (1 - u) ** (-1 / 1.5),
        "groups": np.where(u < 0.5, 100.0, 1000.0) + u,
        "rare": np.where(u < 0.9, 100.0, 5000.0) + u,
    }[name]
    assert sample(law).uneven()[0] == wanted
    assert not sample(law[:: len(law) // 7][:7]).uneven()[0]  # seven trials are too few to tell


def _inverse_erf(x):
    from scipy.special import erfinv

    return erfinv(x)


def test_uneven_trials_have_pale_quantiles():
    plain = rising(2)
    wild = replace(plain[1], bulk=plain[1].bulk._replace(sd=plain[1].regret * 2))
    made = table_of_panels([plain[0], wild])
    pale = [part for part in plot.figure(made).axes[0].collections if part.get_alpha() == panel.PALE["alpha"]]
    assert len(pale) == 1 and len(pale[0].get_segments()) == 4
    for (x, low), (_, high) in pale[0].get_segments():
        at = int(x) - 1
        assert (low, high) == pytest.approx((wild.bulk.low[at], wild.bulk.high[at]))
    assert any(note.startswith("pale:") for note in shown.sheet(made).marks)
    calm = table_of_panels(plain)
    assert not [p for p in plot.figure(calm).axes[0].collections if p.get_alpha() == panel.PALE["alpha"]]
    assert not any(note.startswith("pale:") for note in shown.sheet(calm).marks)


def rings_of(axis):
    found = [line for line in axis.lines if line.get_markersize() == panel.RING["ms"] and len(line.get_xdata())]
    return [(line.get_xdata().tolist(), line.get_ydata().tolist()) for line in found]


def test_a_centre_outside_the_bulk_of_its_trials_is_ringed():
    plain, line = rising(2)
    high = line.bulk.high.copy()
    high[2] = line.regret[2] * 0.9  # a mean that one trial in a hundred makes
    odd = replace(line, bulk=line.bulk._replace(high=high))
    made = table_of_panels([plain, odd])
    assert rings_of(plot.figure(made).axes[0]) == [([3.0], [odd.regret[2]])]
    assert shown.sheet(made).marks[-1] == "ring: the mean is outside the 5 % and 95 % quantiles of the trials"
    assert rings_of(plot.figure(table_of_panels([plain, line])).axes[0]) == []


@pytest.mark.parametrize(
    ("mean", "sd", "held"),
    [(250.0, 600.0, True), (250.0, 60.0, False), (350.0, 600.0, True), (20.0, 600.0, False)],
)
def test_no_centre_is_drawn_below_a_floor_that_it_does_not_beat(mean, sd, held):
    """A centre of 70 beside a floor of 300: the mean is surely lower if its error, sd / 10, is small enough."""
    floor = replace(line_of("floor", [300.0, 300.0]), private=False, level=True)
    two = np.ones(2)
    lies = Bulk(mean * two, sd * two, 20 * two, 52 * two, 1300 * two, 100 * two)
    line = replace(line_of("private", [70.0, 400.0]), bulk=lies)
    regret, at_floor = lifted(line, [floor, line])
    assert at_floor.tolist() == [held, False] and regret.tolist() == [300.0 if held else 70.0, 400.0]
    made = table_of_panels([floor, line])
    assert rings_of(plot.figure(made).axes[0]) == ([([1.0], [300.0])] if held else [])
    assert any("curve without privacy" in note for note in shown.sheet(made).marks) == held
    assert not lifted(replace(line, private=False), [floor, line])[1].any()
    alone, moved = lifted(replace(line, by_itself=True), [floor, line])
    assert not moved.any() and np.array_equal(alone, line.regret)


def test_the_committed_point_below_its_base_is_drawn_at_it():
    lines = table.read(committed() / "results" / "state_of_the_art").panels[Name("Oblivious")]
    (line,) = [line for line in lines if line.label == "DP-Tsallis-INF"]
    regret, at_floor = lifted(line, lines)
    assert at_floor.tolist() == [False, False, True] and line.regret[2] < 40 and regret[2] > 360


def test_no_line_crosses_values_that_were_left_out():
    assert bulk.gaps(np.array([0.1, 0.25, 0.5, 1, 500])).tolist() == [4]
    for even in ([1, 2, 3, 4, 5], [0.1, 1, 10, 100], [1, 2, 4, 8], [1, 2, 4, 8, 12, 16, 32], [3.0]):
        assert not len(bulk.gaps(np.array(even, float)))
    far = [line_of("A", [5, 4, 3, 2, 1], x=[0.1, 0.25, 0.5, 1, 500])]
    made = table_of_panels(far)
    marker = shown.sheet(made).styles["A"].marker
    drawn = [line for line in plot.figure(made).axes[0].lines if line.get_marker() == marker]
    assert [len(line.get_xdata()) for line in drawn if len(line.get_xdata()) and line.get_ydata()[0] > 0][:2] == [4, 1]
    assert "no line where values in between were left out" in shown.sheet(made).marks


def test_a_panel_of_nothing_but_chance_is_left_out_and_named():
    flat = [line_of(f"A{k}", np.full(4, 100.0) + k) for k in range(3)]
    made = table_of_panels(rising(3), flat)
    drawn = plot.figure(made)
    assert [axis.get_title() for axis in drawn.axes] == ["P0"]
    assert drawn.get_supxlabel().replace("\n", " ").endswith("points differ there by no more than chance: P1")
    seen = [*flat[:2], line_of("A2", [100, 100, 100, 120])]
    assert len(plot.figure(table_of_panels(rising(3), seen)).axes) == 2
    assert len(plot.figure(table_of_panels(flat, flat)).axes) == 2  # a figure is never empty


def test_theory_is_drawn_between_the_points_of_a_sweep():
    folder = committed() / "results" / "thompson_private"
    lines = table.read(folder).panels[Name("one good arm")]
    (line,) = [line for line in lines if line.label == "DP-SE"]
    x, theory = line.fine
    assert len(x) > 60 and x.min() == 0.1 and x.max() == 500
    at_points = np.isin(x, line.x)
    np.testing.assert_array_equal(theory.rates[0].regret[at_points], line.rates[0].regret)
    straight = np.exp(np.interp(np.log(x), np.log(line.x), np.log(line.rates[0].regret)))
    assert (np.abs(theory.rates[0].regret / straight - 1)).max() > 0.1  # a straight line would have misled
    found = curves.read(folder)
    game = theories.Game(found.config, Registry(), table.NOBODY)
    panel = next(curves for title, curves in found.panels().items() if title == "one good arm")
    swept = [curve for curve in panel if curve.algorithm == "dp_se"]
    known = [theories.theory_of(curve, np.array([max(curve.rounds)], float), game) for curve in swept]
    again = theories.theory_between(swept, known, "epsilon", np.array([0.1]), game)
    assert again is not None and again[0].rates[0].regret == known[0].rates[0].regret
    other = [known[0]._replace(rates=known[1].rates), *known[1:]]  # as if a further parameter depended on ε
    assert theories.theory_between(swept, other, "epsilon", np.array([0.1]), game) is None
    assert theories.theory_between(swept, known, "beta_", np.array([0.1]), game) is None


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (0.008, 12, [0.01, 0.1, 1, 10]),
        (0.5, 2e6, [1, 100, 10_000, 1_000_000]),
        (800, 12_000, [1000, 2000, 5000, 10_000]),
        (220, 480, [300, 400]),
        (100, 1000, [100, 200, 500, 1000]),
    ],
)
def test_logarithmic_axes_have_round_ticks(low, high, wanted):
    assert round_values(low, high, 5) == pytest.approx(wanted)


def test_numbers_at_ticks_are_short():
    shown = {0.01: "0.01", 1: "1", 1000: "1k", 2.5e6: "2.5M", 1e-5: "10⁻⁵", -2e9: "−2×10⁹", 1e10: "10¹⁰", 0: "0"}
    assert [thousands(x) for x in shown] == list(shown.values())


def test_a_bar_above_the_frame_ends_in_an_arrow():
    line = replace(line_of("A", [10, 20, 30, 95]), above=np.full(4, 20.0))
    made = table_of_panels([line, *rising(1)], top=100.0)
    axis = plot.figure(made).axes[0]
    arrows = [each for each in axis.lines if each.get_marker() == panel.UP and len(each.get_xdata())]
    assert [each.get_xdata().tolist() for each in arrows] == [[4.0]]
    assert arrows[0].get_ydata() == [axis.get_ylim()[1]]
    assert "arrow up: the bar ends above the axis" in shown.sheet(made).marks
    caps = [cap for bars in axis.containers for cap in bars.lines[1]]
    assert max(cap.get_ydata().max() for cap in caps) == pytest.approx(115)  # beyond the frame, not on it
    free = plot.figure(table_of_panels([line, *rising(1)])).axes[0]
    assert not [each for each in free.lines if each.get_marker() == panel.UP and len(each.get_xdata())]


def test_a_style_sheet_of_ones_own(tmp_path):
    sheet = tmp_path / "own.mplstyle"
    sheet.write_text("axes.facecolor: ffeeaa\nsvg.fonttype: path\npdf.fonttype: 3\n")
    made = table_of_panels(rising(2))
    own = plot.figure(made, style=str(sheet))
    assert own.axes[0].get_facecolor()[:3] == pytest.approx((1, 0xEE / 255, 0xAA / 255))
    assert plot.figure(made).axes[0].get_facecolor()[:3] == (1, 1, 1)
    assert plot.figure(made, style="ggplot").axes[0].get_facecolor()[:3] != (1, 1, 1)
    svg, pdf = plot.save(own, tmp_path, "own", ["svg", "pdf"], str(sheet))
    assert ">name 0</text>" in svg.read_text()  # text remains text, and fonts are embedded, whatever the sheet says
    assert b"/Type3" not in pdf.read_bytes() and b"/FontFile2" in pdf.read_bytes()
    with pytest.raises(ValueError, match="no style sheet 'ggplt', did you mean 'ggplot'"):
        plot.figure(made, style="ggplt")


@pytest.mark.skipif(bool(shutil.which("xelatex")), reason="there is a TeX system")
def test_pgf_without_tex_is_said(tmp_path):
    with pytest.raises(ValueError, match="pgf needs a TeX system: 'xelatex' not found"):
        plot.save(plot.figure(table_of_panels(rising(2))), tmp_path, "out", ["pgf"])
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not shutil.which("xelatex"), reason="pgf needs a TeX system")
def test_pgf_holds_the_texts(tmp_path):
    (path,) = plot.save(plot.figure(table_of_panels(rising(2))), tmp_path, "out", ["pgf"])
    assert "name 0" in path.read_text() and "pgfpicture" in path.read_text()
