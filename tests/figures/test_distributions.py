"""Distributions and paired differences against tables made by hand; what is drawn."""

import csv
import json
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

from privbandits_cli.analysis import curves, measured
from privbandits_cli.analysis.folder import FINAL, SUMMARY
from privbandits_cli.experiment.names import Name
from privbandits_cli.figures import distribution_plot, distributions, styles, table
from tests.conftest import table_of
from tests.figures.test_plot import ran

pytestmark = pytest.mark.usefixtures("one_format")


@dataclass
class Played:
    """A curve for tables made by hand: its algorithm's and its adversary's parameters, a regret a trial."""

    algorithm: str
    regrets: list
    adversary: dict
    own: dict
    first: int = 0  # trial


def folder_of(folder, played, swept=(), **config):
    """A results folder whose curves end with these regrets."""
    folder.mkdir(exist_ok=True)
    records = {}
    with (folder / "summary.csv").open("w") as summary, (folder / "final.csv").open("w") as final:
        rows, finals = csv.writer(summary), csv.writer(final)
        rows.writerow([*SUMMARY, *swept])
        finals.writerow([*FINAL, *swept])
        for i, curve in enumerate(played):
            parameters = json.dumps({"adversary": curve.adversary, "algorithm": curve.own})
            notes = {name: f"{name} = {value}" for name, value in (curve.own | curve.adversary).items()}
            label = Name(curve.algorithm.upper(), notes)
            shared = [i, "gap", curve.algorithm, label]
            records[i] = {
                "adversary": {"title": "Gap", "notes": [], "swept": curve.adversary},
                "algorithm": {"family": label.base, "notes": [notes], "swept": curve.own, "apart": {}},
                "panel": "",
            }
            values = [(curve.own | curve.adversary).get(name, "") for name in swept]
            mean = np.mean(curve.regrets)
            rows.writerow(
                ["x", *shared, parameters, 100, len(curve.regrets), mean, 0, 0, mean, 1, mean, mean, mean, *values]
            )
            for trial, regret in enumerate(curve.regrets, curve.first):
                finals.writerow([*shared, trial, regret, *values])
    (folder / "config.yaml").write_text(json.dumps({"experiment": "x"} | config))
    (folder / "manifest.json").write_text(json.dumps({"curves": records}))
    return curves.read(folder, finals=True)


def rows_of(figure):
    """The rows by title and value."""
    return {(one.title, one.at): one for members in figure.panels.values() for one in members}


def test_the_distribution_is_final_csv(tmp_path):
    found = folder_of(tmp_path, [Played("exp3", [3, 1, 2, 5], {}, {}), Played("ucb1", [4, 4, 9, 4], {}, {})])
    drawn = rows_of(distributions.distribution(found))
    assert drawn["EXP3", ""].values.tolist() == [3, 1, 2, 5]
    assert drawn["EXP3", ""].box() == pytest.approx((1.15, 1.75, 2.5, 3.5, 4.7))
    assert drawn["UCB1", ""].interval is None


def test_pairs_are_of_the_same_trial_of_the_same_game(tmp_path):
    """Trials are matched by number, games by all that is known of them; the first algorithm of a game is the base."""
    near, far = {"gap": 0.1}, {"gap": 0.5}
    found = folder_of(
        tmp_path,
        [
            Played("exp3", [1, 2, 3], near, {}),
            Played("exp3", [10, 20, 30], far, {}),
            Played("ucb1", [5, 5, 5], near, {}, first=1),
            Played("ucb1", [0, 0, 0], far, {}),
        ],
        swept=("gap",),
    )
    drawn = rows_of(distributions.paired(found))
    assert drawn["UCB1 (gap = 0.1) − EXP3 (gap = 0.1)", ""].values.tolist() == [5 - 2, 5 - 3]
    assert drawn["UCB1 (gap = 0.5) − EXP3 (gap = 0.5)", ""].values.tolist() == [-10, -20, -30]
    assert len(drawn) == 2


def test_a_pair_by_name_or_label_agrees_in_what_both_sweep(tmp_path):
    sweep = [{"epsilon": 1}, {"epsilon": 2}]
    played = [Played(name, [k + i] * 2, {}, own) for i, name in enumerate(("a", "b")) for k, own in enumerate(sweep)]
    found = folder_of(tmp_path, [*played, Played("c", [7, 7], {}, {})], swept=("epsilon",))
    by_name = rows_of(distributions.paired(found, pair=("b", "a")))
    assert {title for title, _ in by_name} == {"B (ε = 1) − A (ε = 1)", "B (ε = 2) − A (ε = 2)"}
    for name in ("A (ε = 2)", "A (epsilon = 2)"):  # as in the figure, and as in the CSVs
        by_label = rows_of(distributions.paired(found, pair=(name, "c")))
        assert {title: one.values.tolist() for (title, _), one in by_label.items()} == {"A (ε = 2) − C": [-6, -6]}
    with pytest.raises(curves.NothingToDraw, match="no algorithm or curve 'd'"):
        distributions.paired(found, pair=("a", "d"))
    with pytest.raises(curves.NothingToDraw, match="have no game in common"):
        distributions.paired(found, pair=("c", "c"))


def test_a_worst_case_is_compared_in_its_own_game(tmp_path):
    """Each curve stands at the gap of its largest mean; what it is compared with met that gap, not its own worst."""
    gaps = [{"gap": 0.1}, {"gap": 0.5}]
    played = [Played("exp3", [mean, mean], gap, {}) for mean, gap in zip((5, 1), gaps, strict=True)]
    played += [Played("ucb1", [mean, mean], gap, {"epsilon": 1}) for mean, gap in zip((2, 9), gaps, strict=True)]
    plot = {"against": "epsilon", "worst": "gap"}
    found = folder_of(tmp_path, played, swept=("gap", "epsilon"), plot=plot)
    paired = distributions.paired(found)
    assert [one.values.tolist() for one in rows_of(paired).values()] == [[9 - 1, 9 - 1]]
    assert "at the gap with its largest mean regret" in paired.note
    assert rows_of(distributions.distribution(found))["UCB1", "ε = 1"].values.tolist() == [9, 9]


def test_the_interval_of_a_difference_holds_its_mean(tmp_path):
    rng = np.random.default_rng(5)
    base, more = rng.normal(0, 50, 400), rng.normal(3, 1, 400)
    found = folder_of(tmp_path, [Played("a", base.tolist(), {}, {}), Played("b", (base + more).tolist(), {}, {})])
    one = next(iter(rows_of(distributions.paired(found)).values()))
    low, high = one.interval
    assert low < one.mean < high
    assert high - low == pytest.approx(2 * 1.96 * one.values.std(ddof=1) / 20, rel=0.1)  # of the mean's error


def test_rare_far_trials_are_always_drawn(tmp_path):
    values = np.append(np.random.default_rng(1).normal(100, 5, 5000), [90_000.0, -3.0])
    one = distributions.Distribution("A", "A", "", values)
    shown, beside = one.points()
    assert len(shown) == distributions.MOST_POINTS and 90_000.0 in shown and -3.0 in shown
    assert np.abs(beside).max() <= 0.5
    few = distributions.Distribution("A", "A", "", values[:50])
    assert sorted(few.points()[0]) == sorted(values[:50])


def test_figures_draw_the_distributions(finished):
    found = curves.read(finished, finals=True)
    for figure in (distributions.distribution(found), distributions.paired(found)):
        drawn = distribution_plot.figure(figure)
        for axis, members in zip(drawn.axes, figure.panels.values(), strict=False):
            looks = styles.styles_of(figure.drawn)
            dots = [line for line in axis.lines if line.get_alpha()]
            for line, one in zip(dots, members, strict=True):
                assert line.get_marker() == looks[one.line].marker
                assert sorted(line.get_xdata()) == sorted(one.values)
                left, right = axis.get_xlim()
                assert left <= one.values.min() and one.values.max() <= right
            diamonds = [line.get_xdata()[0] for line in axis.lines if line.get_marker() == "D" and not line.get_alpha()]
            assert diamonds == ([one.mean for one in members] if figure.paired else [])


def test_few_trials_have_points_but_no_box_and_no_interval(tmp_path):
    """7 trials are too few, 8 are enough; the caption says so."""
    few = [Played(name, list(range(7)), {}, {}) for name in ("exp3", "ucb1")]
    lacking = folder_of(tmp_path / "few", few)
    enough = folder_of(tmp_path / "enough", [replace(one, regrets=list(range(8))) for one in few])
    for draw, note, drawn in ((distributions.distribution, "whiskers", 4), (distributions.paired, "interval", 1)):
        for found, bare in ((lacking, True), (enough, False)):
            figure = draw(found)
            axis = distribution_plot.figure(figure).axes[0]
            strokes = [
                line for line in axis.lines if line.get_color() == distribution_plot.DARK and line.get_lw() > 0.5
            ]
            strokes = [line for line in strokes if line.get_marker() == "None"]
            assert len(strokes) == (0 if bare else drawn * len(figure.panels["Gap"]))
            assert ("drawn for at least 8 trials" in figure.note) == bare and note in figure.note


def test_an_incomplete_distribution_is_marked(finished):
    config = (finished / "config.yaml").read_text()
    (finished / "config.yaml").write_text(config.replace("trials: 16", "trials: 17"))
    drawn = distribution_plot.figure(distributions.distribution(curves.read(finished, finals=True)))
    assert any(text.get_text() == "PARTIAL 16/17" for text in drawn.texts)


def test_against_a_parameter_that_the_config_does_not_name(tmp_path, small):
    folder = ran(tmp_path, small, "algorithms=[exp3, {name: dp_exp3_lap, epsilon: [1, 10, 100]}]")
    exp3, private = table.read(folder, against="epsilon").panels["Stochastic"]
    assert private.x.tolist() == [1, 10, 100] and exp3.regret[0] == exp3.regret[1]
    last = [row for row in table_of(folder / "summary.csv") if row["round"] == "1000"]
    wanted = [float(row["regret"]) for row in last if row["epsilon"] and row["adversary"] == "stochastic"]
    assert private.regret.tolist() == wanted


def test_a_pair_of_labels_with_commas_is_cut_where_both_are_known(tmp_path):
    played = [Played("a, b", [1, 2], {}, {}), Played("c", [5, 5], {}, {}), Played("d", [7, 7], {}, {"x": 1})]
    found = folder_of(tmp_path, played)
    assert distributions.pair_of(found, "A, B,c") == ("A, B", "c") and distributions.pair_of(found, "c , a, b") == (
        "c",
        "a, b",
    )
    assert distributions.pair_of(found, "D,C") == ("D", "C")  # without the notes: (x = 1)
    assert distributions.pair_of(found, "c,e, f") == ("c", "e, f")  # one is not known: `paired` says so


def test_final_regrets_of_another_run_are_refused(finished):
    """Another label, or no trial of a curve; claims miss only this curve."""
    text = (finished / "final.csv").read_text()
    (finished / "final.csv").write_text(text.replace(",EXP3,", ",EXP4,"))
    for read in (measured.read, partial(curves.read, finals=True)):
        with pytest.raises(ValueError, match="of different runs"):
            read(finished)
    (finished / "final.csv").write_text("".join(row for row in text.splitlines(True) if ",EXP3," not in row))
    with pytest.raises(ValueError, match="of different runs"):
        curves.read(finished, finals=True)
    assert {len(curve.finals) for curve in measured.read(finished).values() if curve.label != "EXP3"} == {16}
    assert {len(curve.finals) for curve in measured.read(finished).values() if curve.label == "EXP3"} == {0}
