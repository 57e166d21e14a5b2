"""Figures: what is drawn is what stands in the CSV."""

import hashlib
import io
import math
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import yaml

from privbandits_cli.actions import run
from privbandits_cli.analysis import curves, statistics
from privbandits_cli.engine import Engine
from privbandits_cli.engine.store import Store
from privbandits_cli.experiment.config import load
from privbandits_cli.experiment.keys import Plot
from privbandits_cli.experiment.names import Name
from privbandits_cli.experiment.plan import make_plan
from privbandits_cli.figures import distributions, panel, plot, shown, styles, table, words
from privbandits_cli.figures.line import Line
from privbandits_cli.figures.scales import axes_of, number_places, wants_logarithm
from tests.conftest import committed, first, some, table_of

pytestmark = pytest.mark.usefixtures("one_format")


def ran(tmp_path, small, *overrides, watch=lambda played: True):
    plan, store = make_plan(load(small, list(overrides))), Store(tmp_path / "out")
    run.run(plan, store, Engine(), 2, ["test"], events=run.Events(playing=lambda: nullcontext(watch)))
    return tmp_path / "out"


def test_lines_and_bars_are_the_csvs(finished):
    rows, drawn = table_of(finished / "summary.csv"), plot.figure(table.read(finished))
    axes = [axis for axis in drawn.axes if axis.get_title()]
    assert [axis.get_title() for axis in axes] == ["(a) Stochastic", "(b) Switching costs"]
    for axis, adversary in zip(axes, ("stochastic", "switching_costs"), strict=True):
        for line in [line for line in axis.lines if not line.get_label().startswith("_")]:
            wanted = [
                row
                for row in rows
                if (row["adversary"], row["label"].replace("1e-06", "1e-6")) == (adversary, line.get_label())
            ]
            np.testing.assert_array_equal(line.get_ydata(), [float(row["regret"]) for row in wanted])
            np.testing.assert_array_equal(line.get_xdata(), [float(row["round"]) for row in wanted])
            (left, right), (low, high) = axis.get_xlim(), axis.get_ylim()
            assert left <= line.get_xdata().min() and line.get_xdata().max() <= right  # nothing is cut off
            assert low <= min(0, line.get_ydata().min()) and line.get_ydata().max() <= high
        bars = [c.lines[2][0].get_segments() for c in axis.containers]
        first = {(row["label"], float(row["round"])): row for row in rows if row["adversary"] == adversary}
        for segments, label in zip(bars, dict.fromkeys(label for label, _ in first), strict=True):
            for (x, low), (_, high) in segments:
                row = first[label, x]
                assert high - low == pytest.approx(float(row["gmd_below"]) + float(row["gmd_above"]))
                assert float(row["regret"]) - low == pytest.approx(float(row["gmd_below"]))


@pytest.mark.parametrize("bars", some(["gini", "sd", "quantiles", "bootstrap"], "bootstrap"))
def test_every_kind_of_bar(tmp_path, small, bars):
    folder = ran(tmp_path, small, f"summary={{groups: 4, bars: {bars}}}")
    read = table.read(folder)
    line = read.panels["Stochastic"][0]
    row = next(row for row in table_of(folder / "summary.csv") if row["algorithm"] == "exp3" and row["round"] == "1000")
    regret = float(row["regret"])
    wanted = {
        "gini": lambda: float(row["gmd_above"]),
        "sd": lambda: float(row["sd"]),
        "quantiles": lambda: float(row["q95"]) - regret,
        "bootstrap": lambda: float(row["boot_high"]) - regret,
    }[bars]()
    assert line.above[-1] == pytest.approx(max(0, wanted))
    plot.figure(read)


def test_bounds_are_the_theorems(finished):
    folder = finished
    panels = table.read(folder, bounds=True).panels
    exp3, _, tau = panels["Stochastic"]
    assert (exp3.bound > exp3.regret)[-1] and (tau.bound > tau.regret)[-1]
    assert panels["Switching costs"][0].bound is None  # no theorem for EXP3 there
    drawn = plot.figure(table.read(folder, bounds=True), log=True)
    assert drawn.axes[0].get_xscale() == "log"


def test_bounds_that_nothing_can_exceed_are_not_drawn(finished):
    """DP-EXP3-Lap's bound at ε = 1 is above all 1,000 rounds; EXP3-τ's is so in the first rounds only."""
    folder = finished
    read = table.read(folder, bounds=True)
    _, lap, tau = read.panels["Stochastic"]
    early = np.isnan(tau.bound)
    assert early[0] and not early[-1] and (tau.bound[~early] < tau.x[~early]).all()
    assert np.isnan(lap.bound).all() and "vacuous bounds: DP-EXP3-Lap (ε = 1)" in read.notes()
    assert any(note.startswith("dotted: the theorem's bound, where it is not vacuous") for note in read.notes())
    for log in (False, True):
        drawn = plot.figure(read, log=log)
        assert np.isfinite(drawn.axes[0].get_ylim()).all()
    assert not [note for note in table.read(folder).notes() if "empty" in note]


@pytest.mark.parametrize("resumed", some([False, True], False))
def test_an_incomplete_figure_is_marked(tmp_path, small, finished, resumed):
    folder = ran(tmp_path / "part", small, watch=lambda played: False)

    def watermarks(of):
        texts = [text.get_text() for text in plot.figure(table.read(of)).texts]
        return [text for text in texts if text.startswith("PARTIAL ") and text.endswith("/16")]

    assert watermarks(folder)
    whole = ran(tmp_path / "part", small) if resumed else finished
    assert not watermarks(whole)


def test_the_same_bytes_twice_and_text_as_text(tmp_path, finished):
    folder = finished
    digests = []
    for name in ("one", "two"):
        paths = plot.save(plot.figure(table.read(folder)), tmp_path, name, ("pdf", "png", "svg"))
        digests.append([hashlib.sha256(path.read_bytes()).hexdigest() for path in paths])
    assert digests[0] == digests[1]
    assert "Switching costs</text>" in (tmp_path / "one.svg").read_text()
    pdf = (tmp_path / "one.pdf").read_bytes()
    assert b"/Type3" not in pdf and b"/FontFile2" in pdf


@pytest.mark.parametrize(
    "five",
    some(
        ["exp3_tau, {name: exp3, gamma: [0.1, 0.2, 0.4, 0.8]}", "exp3, exp3_tau, ucb1, uniform, tsallis_inf"],
        "exp3_tau, {name: exp3, gamma: [0.1, 0.2, 0.4, 0.8]}",
    ),
    ids=["swept", "named"],
)
def test_nothing_overlaps(tmp_path, small, five):
    """Titles, tick labels and the legend of every panel stay inside the figure and off each other."""
    for overrides in (
        [],
        ["adversary=[deterministic, stochastic, oblivious, fully_oblivious, switching_costs]"],
        ["adversary=stochastic", f"algorithms=[{five}]"],
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


def test_regrets_over_the_logarithm_of_the_rounds():
    line = line_of([1, 30, 400], [0, 0, 200])
    x, y = axes_of([line], "x")
    assert (x.kind, y.kind) == ("log", "linear") and y.high > 600
    cut = axes_of([line], "x", 100)[1]
    assert 100 < cut.high < 110 and axes_of([line], True, 100)[1] == axes_of([line], True)[1]
    assert axes_of([line], "x", 1e6)[1] == y, "a top above all regrets changes nothing"
    table, drawn = drawn_of(line, log="x", top=100.0)
    assert shown.sheet(table).marks == ["regrets above 100 are beyond the axis"]
    assert drawn.axes[0].get_xscale() == "log" and drawn.axes[0].get_ylim() == (cut.low, cut.high)
    assert shown.sheet(drawn_of(line, log="x")[0]).marks == []


def drawn_of(*lines, log=True, bars="gini", top=None):
    """A table of one panel with these lines, and its figure."""
    made = table.Table({Name("P"): list(lines)}, "ε", "mean", table.BARS[bars], Plot(log=log, top=top), 9)
    return made, plot.figure(made)


def line_of(regret, below, label="A", trials=9):
    regret = np.array(regret, float)
    x = np.logspace(0, 1, len(regret))
    return Line("a" + label, Name(label), x, regret, np.array(below, float), regret / 2, trials, None)


def bars_of(axis):
    """The ends of the error bars by x, and the arrows."""
    segments = [segment for bars in axis.containers for segment in bars.lines[2][0].get_segments()]
    arrows = [line for line in axis.lines if line.get_marker() == panel.DOWN]
    return {float(low[0]): (low[1], high[1]) for low, high in segments}, arrows


def numbers_of(axis):
    """The upright numbers above an axis."""
    return [text for text in axis.texts if text.get_rotation() == 90]


def test_a_bar_that_ends_a_little_below_nought_is_drawn_whole():
    """Regret 55 with a bar down to -508: the axis is linear around 0, so that all of the bar is there."""
    line = line_of([10_000, 1000, 55], [100, 300, 563])
    _, drawn = drawn_of(line)
    axis = drawn.axes[0]
    bars, arrows = bars_of(axis)
    assert axis.get_yscale() == "asinh" and axis.get_ylim()[0] < -508
    assert list(bars) == pytest.approx(line.x.tolist()) and bars[10.0] == pytest.approx((-508, 82.5))
    assert not any(arrow.get_xdata().size for arrow in arrows)
    assert "linear near 0" in drawn.get_supxlabel().replace("\n", " ")
    down, up = (axis.transData.transform((10, y))[1] for y in bars[10.0])
    assert up - down > 0.15 * axis.bbox.height


def test_a_bar_that_ends_far_below_nought_has_an_arrow_and_its_value():
    line = line_of([100, 1000, 100_000, 10**6], [20, 995, 50_000, 1_188_972])
    made, drawn = drawn_of(line)
    axis = drawn.axes[0]
    low = axis.get_ylim()[0]
    bars, arrows = bars_of(axis)
    assert axis.get_yscale() == "log" and 0 < low < 80 and list(bars) == pytest.approx(line.x.tolist())
    assert bars[10.0] == pytest.approx((low, 1.5e6)) and bars[float(line.x[1])][0] == pytest.approx(low)
    assert [arrow.get_xdata().tolist() for arrow in arrows] == [line.x[[1, 3]].tolist()]
    assert {text.get_text() for text in numbers_of(axis)} == {"5", "−188,972"}
    assert "arrow: the bar ends at this regret, below the axis" in shown.sheet(made).marks


@pytest.mark.parametrize("part", [1.0, 1 + 1e-14])
def test_a_bar_that_ends_at_nought_has_an_arrow(part):
    line = line_of([2, 100, 5000], [2 * part, 10, 100])
    _, drawn = drawn_of(line)
    bars, (arrow,) = bars_of(drawn.axes[0])
    assert drawn.axes[0].get_yscale() == "log" and bars[1.0][0] == pytest.approx(drawn.axes[0].get_ylim()[0])
    assert arrow.get_xdata().tolist() == [1.0] and [text.get_text() for text in numbers_of(drawn.axes[0])] == ["0"]


def test_a_bar_that_the_room_for_numbers_shows_has_no_arrow():
    line = line_of([100, 1000, 5000], [89, 992, 100])  # down to 11, and to 8, a little below the axis without the room
    made, drawn = drawn_of(line)
    bars, arrows = bars_of(drawn.axes[0])
    assert sorted(bars.values())[0][0] == pytest.approx(8) and drawn.axes[0].get_ylim()[0] < 8
    assert (
        not any(arrow.get_xdata().size for arrow in arrows)
        and not numbers_of(drawn.axes[0])
        and not shown.sheet(made).marks
    )


def test_numbers_of_many_arrows_stay_in_the_panel():
    _, drawn = drawn_of(*(line_of([100, 10**6], [20, 2 * 10**6 + k], str(k)) for k in range(12)))
    numbers = numbers_of(drawn.axes[0])
    assert len(numbers) == 12 and drawn.axes[0].get_yscale() == "log"
    assert all(text.get_position()[1] < 0.9 for text in numbers)


def test_a_regret_of_nought_on_a_logarithmic_axis_is_mentioned():
    made, drawn = drawn_of(line_of([0, 10, 1000], [0, 1, 10]))
    assert drawn.axes[0].get_yscale() == "log" and shown.sheet(made).marks == ["regrets of 0 are below the axis"]
    assert shown.sheet(drawn_of(line_of([1, 10, 1000], [0, 1, 10]))[0]).marks == []


def test_a_parameter_of_nought_keeps_its_place():
    x, _ = axes_of([replace(line_of([1, 10, 1000], [0, 0, 0]), x=np.array([0.0, 1.0, 2.0]))], True)
    assert x.kind == "linear" and x.low < 0 < 2 < x.high


def test_what_theory_says_of_a_curve_has_its_marker(finished):
    read = table.read(finished, bounds=True)
    looks = styles.styles_of(line.drawn for line in read.lines)
    for axis, lines in zip(plot.figure(read).axes, read.panels.values(), strict=False):
        hollow = [line for line in axis.lines if line.get_markerfacecolor() == "white"]
        bounds = [line for line in lines if line.bound is not None]
        wanted = [looks[line.label].marker for line in bounds]
        assert wanted and [line.get_marker() for line in hollow][: len(wanted)] == wanted
        for dotted, line in zip(hollow, bounds, strict=False):
            at_points = np.isin(dotted.get_xdata(), line.x)
            np.testing.assert_array_equal(dotted.get_ydata()[at_points], line.bound)
            assert not at_points.all()  # the theorem is drawn between the checkpoints, too


@pytest.mark.parametrize(("trials", "shown"), first(2, [(7, False), (8, True), (2, False)]))
def test_a_spread_of_few_trials_is_no_bar(tmp_path, small, trials, shown):
    folder = ran(tmp_path, small, f"trials={trials}", "summary={groups: 1, centre: mean, bars: bootstrap}")
    read = table.read(folder)
    lengths = np.concatenate([line.below + line.above for lines in read.panels.values() for line in lines])
    assert lengths.any() == shown
    assert read.notes()[1] == f"bars: {table.BARS['bootstrap'] if shown else 'none (fewer than 8 trials)'}"


@pytest.mark.parametrize(("centre", "level"), [("cvar", 0.75), ("quantile", 0.9), ("cvar", None)])
def test_a_centre_in_the_tail_is_that_of_the_trials(tmp_path, small, centre, level):
    words = f"centre: {centre}" + ("" if level is None else f", level: {level}")
    folder = ran(tmp_path, small, f"summary={{{words}}}")
    finals, read = table_of(folder / "final.csv"), table.read(folder)
    statistic = {"cvar": statistics.cvar, "quantile": partial(np.quantile, axis=0)}[centre]
    last = {row["curve"]: row for row in table_of(folder / "summary.csv") if row["round"] == "1000"}
    for key, row in last.items():
        x = np.array([[float(one["regret"])] for one in finals if one["curve"] == key])
        assert float(row["regret"]) == pytest.approx(statistic(x, level or 0.95)[0], rel=1e-12)
        assert float(row["boot_low"]) <= float(row["regret"]) <= float(row["boot_high"])
    name = f"{level or 0.95:g} {'CVaR' if centre == 'cvar' else 'quantile'}"
    assert read.notes()[:2] == [f"{name} of 16 trials", f"bars: {table.BARS['tail']}"]
    assert not [note for note in shown.sheet(read).notes if note.startswith("ring")]
    line = next(line for lines in read.panels.values() for line in lines)
    row = next(row for row in last.values() if line.regret[-1] == float(row["regret"]))
    assert line.below[-1] == pytest.approx(line.regret[-1] - float(row["boot_low"]))


C2 = "adversary={name: bernoulli, means: C2}"


def test_regrets_as_multiples_of_lower_bounds(tmp_path, small):
    """A bound by hand: Σ Δ ln t / kl(μ, μ*) of KL-UCB; DP-KLUCB has another; what has none is left out."""
    pair = "algorithms=[kl_ucb, {name: dp_klucb, epsilon: 0.1}]"
    folder = ran(tmp_path, small, "arms=5", C2, pair, "plot={over: lower_bound}", "checkpoints=[1, 10, 1000]")
    read, means = table.read(folder), (0.75, 0.625, 0.5, 0.375, 0.25)

    def kl(p, q):
        return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))

    lower = math.log(1000) * sum((0.75 - mu) / kl(mu, 0.75) for mu in means[1:])
    (lines,) = read.panels.values()
    rows = [row for row in table_of(folder / "summary.csv") if row["round"] == "1000"]
    assert lines[0].regret[-1] * lower == pytest.approx(float(rows[0]["regret"]))
    assert lines[0].above[-1] * lower == pytest.approx(float(rows[0]["gmd_above"]))
    assert float(rows[1]["regret"]) / lines[1].regret[-1] > 1.5 * lower  # at ε = 0.1 more is needed
    for line, row in zip(lines, rows, strict=True):  # the CSV alone is enough to draw the figure
        assert float(row["regret"]) / float(row["lower_bound"]) == pytest.approx(line.regret[-1])
    assert [line.x.tolist() for line in lines] == [[10, 1000]] * 2  # at round 1 the bound is 0
    assert read.labels() == ("round", "regret / lower bound") and read.level == 1
    assert any("asymptotic" in note for note in read.notes()) and not any("left out" in note for note in read.notes())
    assert all(line.by_itself for line in lines)
    plot.figure(read)


def test_without_a_lower_bound_there_is_nothing_to_divide_by(tmp_path, small):
    folder = ran(tmp_path, small, "adversary=switching_costs")
    path = folder / "config.yaml"
    config = yaml.safe_load(path.read_text(encoding="utf-8")) | {"plot": {"over": "lower_bound"}}
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    with pytest.raises(ValueError, match="Bernoulli arms with fixed means"):
        table.read(folder)


def test_lines_of_enough_trials_keep_their_bars_beside_others():
    made, _ = drawn_of(line_of([1, 2], [0, 0], "A", 7), line_of([1, 2], [0, 0], "B", 8))
    assert made.spread == "Gini's mean difference below and above, drawn for at least 8 trials"


def test_the_axis_says_what_the_number_is():
    read = table.read(committed() / "results" / "oracle_iris")
    assert read.labels() == ("ε", "wrong classes")
    assert plot.figure(read).axes[0].get_ylabel() == "wrong classes"
    lines = next(iter(read.panels.values()))
    mixed = replace(read, panels={Name("P"): [*lines, replace(lines[0], adversary="sphere_arms")]})
    assert mixed.labels() == ("ε", "final regret")
    worst = table.read(committed() / "results" / "worst_trials")
    assert worst.labels() == ("ε", "0.95 CVaR of the final regret")
    found = curves.read(committed() / "results" / "oracle_iris", finals=True)
    assert distributions.distribution(found).x_label == "wrong classes"
    assert distributions.paired(found).x_label == "difference of wrong classes, trial by trial"


def test_axes_legends_and_panels_have_the_fields_symbols(tmp_path, small):
    base = "{name: exp3, gamma: [0.1, 0.2]}"
    sweep = f"algorithms=[{base}, {{name: mini_batch, tau: 3, base: {base}}}]"
    folder = ran(tmp_path, small, sweep, "adversary={name: oblivious, spread: [0.05, 0.1]}")
    read = table.read(folder)
    assert [str(title) for title in read.panels] == ["Oblivious (spread = 0.05)", "Oblivious (spread = 0.1)"]
    labels = [line.label for line in next(iter(read.panels.values()))]
    assert labels[0] == "EXP3 (γ = 0.1)" and "(base γ = 0.1)" in labels[2]
    assert {row["label"] for row in table_of(folder / "summary.csv")} >= {"EXP3 (gamma = 0.1)"}  # the CSV is as it was
    assert table.read(folder, against="gamma").labels() == ("γ", "final regret")
    assert table.read(folder, against="base.gamma").labels() == ("base γ", "final regret")


@pytest.mark.parametrize(
    ("folder", "label"),
    [
        ("fig1", "round"),
        ("frontier", "ε"),
        ("heavy_scaling", "horizon T"),
        ("linucb_dimension", "dimension d"),
        ("linucb_rho", "regulariser ρ"),
        ("zcdp_price", "zCDP ρ"),
        ("price_collapse", "η × deviation of the noise"),
    ],
)
def test_the_axes_of_committed_figures(folder, label):
    assert table.read(committed() / "results" / folder).labels()[0] == label


LONG = "EXP3 with the tuning of Auer, Cesa-Bianchi, Freund and Schapire (2003), gains in [0, 1]"
RUSSIAN = "EXP3 с настройкой Ауэра, Чеза-Бьянки, Фройнда и Шапире (2003), выигрыши в [0, 1]"
CAPITALS = "WITHOUTABLANKWITHOUTABLANKWITHOUTABLANKWITHOUTABLANKWITHOUTABLANKWITHOUTABLANK"
SQUARES = "指数加权算法" * 14


def labelled(label, panels):
    """A figure with two lines of this label in so many panels, of the same title."""
    x = np.arange(1.0, 5.0)
    lines = [Line("exp3", Name(f"{label}{k}"), x, x * k, x * 0, x * 0, 24, None) for k in (1, 2)]
    titles = [Name(f"{label} {place}") for place in range(panels)]
    return table.Table(dict.fromkeys(titles, lines), "round", "mean", "none", Plot(bars=0), 24)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the font has no")
@pytest.mark.parametrize("panels", [1, 2, 3])
@pytest.mark.parametrize("label", [LONG, RUSSIAN, CAPITALS, SQUARES], ids=["english", "russian", "capitals", "squares"])
def test_long_labels_stay_in_the_figure(label, panels):
    drawn = plot.figure(labelled(label, panels))
    renderer, whole = drawn.canvas.get_renderer(), drawn.bbox
    legends = [*drawn.legends, *(axis.get_legend() for axis in drawn.axes if axis.get_legend())]
    for part in [*legends, *(axis.title for axis in drawn.axes)]:
        box = part.get_window_extent(renderer)
        assert whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1
    assert all(axis.bbox.height > 40 for axis in drawn.axes if axis.lines)


def test_wrapping_keeps_every_sign_and_short_texts():
    with plot.styled():
        assert words.wrapped("EXP3\n(ε = 1)", 3.0, 7) == "EXP3\n(ε = 1)"
        for text in (LONG, RUSSIAN, CAPITALS):
            parted = words.wrapped(text, 1.3, 7)
            assert "".join(parted.split()) == "".join(text.split()) and parted.count("\n") >= 2
            assert all(words.inches(line, 7) <= 1.3 for line in parted.split("\n"))


def test_signs_that_the_font_lacks_are_told_in_one_sentence():
    with pytest.warns(plot.FontWarning, match=r"the font has no 基 线: give one .* as `font` of `plot`") as said:
        plot.figure(labelled("基线", 1)).savefig(io.BytesIO(), format="png")
    assert len(said) == 1


def test_a_figure_has_the_font_that_its_config_names(recwarn):
    one = plot.figure(replace(labelled("EXP3", 1), plot=Plot(bars=0, font="DejaVu Serif")))
    assert one.axes[0].title.get_fontfamily() == ["DejaVu Serif", "sans-serif"]
    assert not [warning for warning in recwarn.list if "font" in str(warning.message)]
    with pytest.warns(plot.FontWarning, match="no font is called 'Nonsense' here"):
        other = plot.figure(replace(labelled("EXP3", 1), plot=Plot(bars=0, font="Nonsense")))
    assert other.axes[0].title.get_fontfamily() == ["sans-serif"]
