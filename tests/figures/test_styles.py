"""One look for each algorithm, in all figures; colour-blind readers and grey print can tell curves apart."""

import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from privbandits_cli.figures import plot, shown, styles, table
from privbandits_cli.figures.styles import Drawn, Style
from privbandits_cli.plugins.registry import Registry
from privbandits_cli.report import plots
from tests.conftest import committed, some
from tests.figures.test_plot import line_of, ran
from tests.test_results import COMMITTED

ALGORITHMS = dict(Registry().every("algorithms"))
# What a reader without one kind of cones sees of linear red, green and blue: Machado, Oliveira & Fernandes (2009),
# "A Physiologically-based Model for Simulation of Color Vision Deficiency", severity 1.
VISIONS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = XYZ.sum(axis=1)
APART = 23.0  # least distance of two families' colours in CIELAB; about 2 is the least that an eye notices
GREY = 25.0  # difference of CIE lightness by which grey print tells two lines apart


def linear(colour):
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(colour, vision="normal"):
    """A colour as a reader sees it, in CIELAB: lightness, and two coordinates of the hue."""
    seen = np.clip(VISIONS[vision] @ linear(colour), 0, 1)
    part = XYZ @ seen / WHITE
    root = np.where(part > (6 / 29) ** 3, np.cbrt(part), part * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def least(colours, vision):
    """The least distance of two of these colours."""
    return min(float(np.linalg.norm(lab(a, vision) - lab(b, vision))) for a, b in combinations(colours, 2))


def test_colours_in_cielab():
    np.testing.assert_allclose(lab("#ffffff"), [100, 0, 0], atol=1e-3)
    np.testing.assert_allclose(lab("#ff0000"), [53.24, 80.09, 67.20], atol=0.02)


@pytest.mark.parametrize("vision", VISIONS)
def test_every_reader_can_tell_families_apart(vision):
    assert len({*styles.HUES, *styles.GREYS}) == 10
    assert least((*styles.HUES, *styles.GREYS), vision) > APART
    assert {style.colour for style in styles.PRIVATE.values()} == set(styles.HUES)
    assert {style.colour for style in styles.PLAIN.values()} == set(styles.GREYS)


def test_the_usual_red_green_and_brown_would_not_do():
    """Three of matplotlib's own colours."""
    usual = ("#d62728", "#2ca02c", "#8c564b")
    assert least(usual, "normal") > 2 * APART and least(usual, "deuteranopia") < APART


def test_every_algorithm_has_its_own_style():
    private = {name for name, algorithm in ALGORITHMS.items() if algorithm.private}
    plain = ALGORITHMS.keys() - private
    lacking = private - styles.PRIVATE.keys() | plain - styles.PLAIN.keys()
    assert not lacking, f"give {', '.join(sorted(lacking))} a marker in figures/styles.py"
    assert styles.PLAIN.keys() <= plain
    assert styles.PRIVATE.keys() <= ALGORITHMS.keys()
    for game in {algorithm.game for algorithm in ALGORITHMS.values()}:
        own = [
            style
            for looks in (styles.PLAIN, styles.PRIVATE)
            for name, style in looks.items()
            if ALGORITHMS[name].game == game
        ]
        assert len({(style.marker, style.stroke) for style in own}) == len(own)
        assert len({(style.marker, style.colour) for style in own}) == len(own)


def test_neighbours_have_dashes_of_their_own():
    """AdaP-UCB and AdaP-KLUCB run beside each other in several figures."""
    one, other = styles.PRIVATE["adap_ucb"], styles.PRIVATE["adap_klucb"]
    assert one.stroke != other.stroke and one.marker != other.marker


def test_the_page_on_figures_names_the_families():
    page = (Path(__file__).parents[2] / "docs/start/reading_a_figure.md").read_text()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.split("\n") if line.startswith("|")]
    (head,) = [i for i, row in enumerate(rows) if row[0] == "colour"]
    named = {}
    for colour, *cells in rows[head + 2 : head + 2 + len(styles.HUES)]:
        for game, cell in zip(("bandit", "linear", "contextual", "best_arm"), cells, strict=True):
            named |= {name: (getattr(styles, colour.upper()), game) for name in re.findall(r"`(\w+)`", cell)}
    wanted = {name: (style.colour, ALGORITHMS[name].game) for name, style in styles.PRIVATE.items()}
    wrong = {name for name, _ in named.items() ^ wanted.items()}
    assert not wrong, f"in the table of reading_a_figure.md: {', '.join(sorted(wrong))}"


def confused(figures):
    """What differs between figures, and pairs that grey print shows alike; figures: (curves, styles by label)."""
    found, colours, own = [], {}, {}
    for curves, looks in figures:
        first = {}
        for curve in curves:
            who, look = (curve.algorithm, curve.private), looks[curve.label]
            first.setdefault(who, look)
            if colours.setdefault(who, look.colour) != look.colour:
                found.append(f"{who}: {look.colour} and {colours[who]}")
        for who, look in first.items():
            if own.setdefault(who, look) != look:
                found.append(f"{who}: {look} and {own[who]}")
        for (one, a), (other, b) in combinations(looks.items(), 2):
            light = abs(lab(a.colour)[0] - lab(b.colour)[0])
            if (a.marker, a.stroke) == (b.marker, b.stroke) and light < GREY:
                found.append(f"{one} and {other} are alike")
    return found


@pytest.fixture(scope="module", params=some([1, 8], 8), ids=["all", "every eighth"])
def figures(request):
    read = [table.read(committed() / "results" / name) for name, _ in COMMITTED[:: request.param]]
    return [[line.drawn for line in one.lines] for one in read]


def test_committed_figures_agree_and_can_be_printed_in_grey(figures):
    assert len(COMMITTED) > 30
    drawn = [(curves, styles.styles_of(curves)) for curves in figures]
    assert confused(drawn) == []
    for curves, looks in drawn:
        assert len({(look.marker, look.stroke) for look in looks.values()}) == len(looks)
        for who in {(curve.algorithm, curve.private) for curve in curves}:
            kin = {curve.label: looks[curve.label] for curve in curves if (curve.algorithm, curve.private) == who}
            assert (
                len({look.marker for look in kin.values()}) == len({look.stroke for look in kin.values()}) == len(kin)
            )


def test_colours_by_the_order_in_a_figure_would_be_found(figures):
    def by_place(curves):
        return {
            label: Style(styles.HUES[k % 7], styles.MARKERS[k % 12], styles.STROKES[k % 12])
            for k, label in enumerate(dict.fromkeys(curve.label for curve in curves))
        }

    assert len(confused([(curves, by_place(curves)) for curves in figures])) > 0.7 * len(figures)
    looks = styles.styles_of(figures[0])
    (one, a), (other, b), *_ = looks.items()
    alike = looks | {other: replace(b, marker=a.marker, stroke=a.stroke, colour=a.colour)}
    assert f"{one} and {other} are alike" in confused([(figures[0], alike)])


def test_the_page_has_the_colours_of_the_picture():
    sheet = shown.sheet(table.read(committed() / "results" / "price_experts"))
    pictured = plot.line_styles(sheet.styles)
    title, panel = next(iter(sheet.panels.items()))
    traces = [trace for trace in plots.line_plot(title, sheet, "")["data"] if "error_y" in trace]
    for line, trace in zip(panel.lines, traces, strict=True):
        look = pictured[line.line.label]
        assert trace["line"]["color"] == trace["marker"]["color"] == look["color"]
        assert trace["marker"]["symbol"] == plots.SYMBOLS[look["marker"]]


def test_a_users_algorithm_keeps_its_style():
    mine = Drawn("my_bandit", "Mine")
    alone = styles.styles_of([mine])["Mine"]
    others = [Drawn(name, name) for name in ALGORITHMS]
    assert styles.styles_of([*others, mine])["Mine"] == styles.styles_of([mine, *others])["Mine"] == alone
    assert alone.colour in styles.HUES
    assert styles.styles_of([replace(mine, private=False)])["Mine"].colour in styles.GREYS


def test_users_algorithms_never_clash():
    many = [Drawn(f"algorithm{k}", f"A{k}") for k in range(60)]
    found = styles.styles_of(many)
    assert len({(look.marker, look.stroke) for look in found.values()}) == 60
    assert found == styles.styles_of(many[::-1])
    assert len({look.colour for look in found.values()}) == len(styles.HUES)
    assert len({(look.marker, look.stroke) for look in map(Drawn.style, many)}) < 60, "else nothing was resolved"


def test_variants_have_the_colour_and_neither_marker_nor_stroke():
    found = styles.styles_of([Drawn("dp_ftrl", str(k)) for k in range(12)])
    assert found["0"] == styles.PRIVATE["dp_ftrl"]
    assert {look.colour for look in found.values()} == {styles.BLUE}
    assert len({look.marker for look in found.values()}) == len({look.stroke for look in found.values()}) == 12


def test_many_curves_never_share_both_marker_and_dash():
    found = styles.styles_of(Drawn(name, f"{name} {k}") for name in ("exp3", "a", "b") for k in range(40)).values()
    assert len({(style.marker, style.stroke) for style in found}) == 120
    assert len(styles.styles_of(Drawn("exp3", str(k)) for k in range(200))) == 200


def test_what_is_not_private_is_grey():
    """SquareCB has a private oracle or none; its marker is the same."""
    looks = styles.styles_of([Drawn("squarecb", "without ε", private=False), Drawn("squarecb", "with ε")])
    assert looks["without ε"].colour in styles.GREYS and looks["with ε"].colour in styles.HUES
    assert looks["without ε"].marker == looks["with ε"].marker and looks["without ε"].stroke != looks["with ε"].stroke


def swept(values, name="epsilon", algorithm="dp_klucb"):
    return [Drawn(algorithm, f"{name} = {value}", own={name: value}) for value in values]


def test_the_shades_of_a_sweep_follow_its_numbers():
    for algorithm in ("dp_klucb", "ldp_ucb", "dp_reduction", "exp3"):
        values = ["10", "0.1", "1", "0.3", "3", "30", "100"]
        looks = styles.styles_of(swept(values, algorithm=algorithm))
        ordered = [lab(looks[f"epsilon = {value}"].colour)[0] for value in sorted(values, key=float)]
        assert min(np.diff(ordered)) > 6 and ordered[0] < 20 and 75 < ordered[-1] < 80
        assert len({look.marker for look in looks.values()}) == len({look.stroke for look in looks.values()}) == 7
    even = styles.Sweep(styles.BLUE, "k", {"a": 1.0, "b": 4.0})
    assert not even.log and even.shade(2.5) == styles.shade(styles.BLUE, 0.5)
    assert styles.Sweep(styles.BLUE, "k", {"a": 1.0, "b": 100.0}).shade(10.0) == styles.shade(styles.BLUE, 0.5)


def test_what_is_no_sweep():
    assert styles.sweeps(swept("1234")) == [] and len(styles.sweeps(swept("12345"))) == 1
    assert styles.sweeps(swept("abcde")) == [] and styles.sweeps(swept(["1", "2", "3", "4", "inf"])) == []
    assert styles.sweeps([*swept("12345"), Drawn("dp_klucb", "safe")]) == []
    assert styles.sweeps([replace(curve, own={**curve.own, "b": "1"}) for curve in swept("12345")]) == []
    assert len(styles.sweeps([*swept("12345"), Drawn("kl_ucb", "KL-UCB", private=False)])) == 1


@pytest.mark.usefixtures("one_format")
def test_a_sweep_has_a_colour_bar_in_place_of_a_legend(tmp_path, small):
    gammas = "{name: exp3, gamma: [0.02, 0.05, 0.1, 0.2, 0.5, 1]}"
    read = table.read(ran(tmp_path, small, f"algorithms=[exp3_tau, {gammas}]"))
    figure = plot.figure(read)
    (bar,) = [axis for axis in figure.axes if axis.get_ylabel() == "EXP3: γ"]
    assert bar.get_ylim() == pytest.approx((0.02, 1)) and bar.get_yscale() == "log"
    legends = [*figure.legends, *(axis.get_legend() for axis in figure.axes if axis.get_legend())]
    texts = [text for legend in legends for text in legend.get_texts()] + figure.axes[0].texts + figure.axes[1].texts
    assert {" ".join(text.get_text().split()) for text in texts} == {read.lines[0].label}
    assert len(figure.axes[0].lines) >= 7


def test_a_line_tells_what_decides_its_style():
    line = replace(line_of([1, 2], [0, 0]), private=False, own={"gamma": "0.1"})
    assert line.drawn == Drawn("aA", "A", False, {"gamma": "0.1"})
