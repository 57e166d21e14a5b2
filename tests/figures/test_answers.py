"""Figures of the game best_arm: of hand-made trials whose numbers are known, and of a short run."""

import csv
import json
import math

import numpy as np
import pytest
import yaml
from scipy import stats

from privbandits_cli.analysis import curves, manifest
from privbandits_cli.analysis.folder import PULLS, STOPPED
from privbandits_cli.experiment.config import load
from privbandits_cli.experiment.plan import make_plan
from privbandits_cli.figures import answers, distributions, plot, shown, table, write
from privbandits_cli.identification import times
from privbandits_cli.report import data, plots

CONFIG = """\
experiment: small
game: best_arm
confidence: 0.9
horizon: 1000
arms: means
trials: 20
checkpoints: [10, 1000]
adversary: {name: bernoulli, means: [0.7, 0.4], label: two}
algorithms:
  - {name: eb_tci}
  - {name: dp_tt, epsilon: [0.1, 1, 10]}
plot: {against: epsilon, log: true, bounds: true}
"""
CAP = 1000
OLD = list(range(100, 120))  # times of the trials of a curve


def results(tmp_path, made, text=CONFIG):
    """A results folder: made has for each curve, by its ε, the time and the answer of each trial; None at the cap."""
    path = tmp_path / "small.yaml"
    path.write_text(text)
    experiment = load(path)
    plan = make_plan(experiment)
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "config.yaml").write_text(yaml.safe_dump(experiment.resolved(), allow_unicode=True))
    names = {curve.key: manifest._names(curve) for curve in plan.curves}
    (folder / "manifest.json").write_text(json.dumps({"curves": names}))
    summary, final = [], []
    for curve in plan.curves:
        trials = made[curve.swept.get("epsilon")]
        shared = {
            "curve": curve.key, "adversary": curve.adversary.name, "algorithm": curve.algorithm.name,
            "label": curve.label, "epsilon": curve.swept.get("epsilon", ""),
        }  # fmt: skip
        parameters = json.dumps(curve.parameters())
        for t in curve.checkpoints.tolist():
            row = dict.fromkeys(STOPPED, 0) | {"experiment": "small", "parameters": parameters}
            summary.append(shared | row | {"round": t, "trials": len(trials)})
        for i, (time, answer) in enumerate(trials):
            ends = {"pulls": time, "answer": answer, "regret": 0.3 * answer} if answer is not None else {"pulls": CAP}
            final.append(shared | {"trial": i} | ends)
    order = ("experiment", "curve", "adversary", "algorithm", "label", "parameters", "trials", "round", *STOPPED)
    for name, rows, columns in (
        ("summary.csv", summary, order),
        ("final.csv", final, ("curve", "adversary", "algorithm", "label", "trial", *PULLS, "regret")),
    ):
        with (folder / name).open("w", newline="") as file:
            writer = csv.DictWriter(file, [*columns, "epsilon"], restval="")
            writer.writeheader()
            writer.writerows(rows)
    return folder


def right(times):
    return [(time, 0) for time in times]


CAPPED = [*right(OLD[:17]), *[(CAP, None)] * 3]
MOST = [*right(OLD[:9]), *[(CAP, None)] * 11]


@pytest.fixture
def folder(tmp_path):
    return results(tmp_path, {None: right(OLD), 0.1: MOST, 1: CAPPED, 10: right([2 * t for t in OLD])})


def test_mean_times_have_students_interval_and_capped_ones_the_median(folder):
    floor, line = table.read(folder).panels["two"]
    assert floor.level and floor.regret.tolist() == [np.mean(OLD)] * 2
    assert line.x.tolist() == [1, 10]  # more than half of the trials are at the cap with ε = 0.1
    low, middle, high = np.quantile([*OLD[:17], CAP, CAP, CAP], (0.1, 0.5, 0.9))
    twice = 2 * np.array(OLD)
    half = stats.t.ppf(0.975, 19) * stats.sem(twice)
    np.testing.assert_allclose(line.regret, [middle, twice.mean()])
    np.testing.assert_allclose(line.below, [middle - low, half])
    np.testing.assert_allclose(line.above, [high - middle, half])
    assert line.marked == ((1.0, middle, "3/20"),)


def test_the_figure_says_what_marks_mean_and_draws_them(folder):
    made = table.read(folder)
    axis = plot.figure(made).axes[0]
    assert [text.get_text() for text in axis.texts if "/" in text.get_text()] == ["3/20"]
    notes = " ".join(made.notes())
    assert "mean of 20 trials" in notes and "no point where more than half of the trials reached the cap" in notes
    assert "numbers above points: so many trials reached the cap" in notes
    assert made.labels() == ("ε", "plays until the answer") and "asymptotic" not in notes


def test_both_lower_bounds_are_drawn_between_the_points_too(folder):
    lines = table.read(folder).panels["two"]
    (line,) = [line for line in lines if line.rates]
    assert [rate.name for rate in line.rates] == ["lower bound of 2023", "lower bound of 2025"]
    x, theory = line.fine
    assert len(x) > 60 and (x.min(), x.max()) == (0.1, 10)
    for rate, bound in zip(theory.rates, (times.lower_bound_2023, times.lower_bound), strict=True):
        wanted = [bound((0.7, 0.4), epsilon, 0.1) for epsilon in x[::20]]
        np.testing.assert_allclose(rate.regret[::20], wanted, rtol=1e-9)
    assert [len(rate.regret) for rate in line.rates] == [2, 2]  # at the points that are drawn
    rows = data.finals(table.read(folder))[0].rows
    assert rows["lower bound of 2025"][-1].regret == pytest.approx(times.lower_bound((0.7, 0.4), 10, 0.1))


def test_trials_that_go_on(tmp_path):
    text = CONFIG.replace("against: epsilon, ", "")
    made = {None: right(OLD), 0.1: MOST, 1: CAPPED, 10: right([500] * 20)}
    lines = table.read(results(tmp_path, made, text)).panels["two"]
    whole, most, some, same = lines
    at = dict(zip(whole.x.tolist(), whole.regret.tolist(), strict=True))
    assert all(share == np.mean(np.array(OLD) > t) for t, share in at.items()) and whole.x[-1] < max(OLD)
    assert most.x[-1] == some.x[-1] == CAP and (most.regret[-1], some.regret[-1]) == (11 / 20, 3 / 20)
    assert set(same.regret) == {1.0} and same.x[-1] < 500


def test_no_wrong_answer_has_a_hollow_marker_at_the_upper_end_of_its_interval(tmp_path):
    text = CONFIG.replace("against: epsilon, ", "against: epsilon, quantity: wrong, ")
    wrong = [(time, int(i < 4)) for i, time in enumerate(OLD)]
    made = table.read(results(tmp_path, {None: right(OLD), 0.1: CAPPED, 1: wrong, 10: right(OLD)}, text))
    _, line = made.panels["two"]
    none = 1 - 0.025 ** (1 / 20)
    low, high = stats.beta.ppf(0.025, 4, 17), stats.beta.ppf(0.975, 5, 16)
    np.testing.assert_allclose(line.regret, [none, 0.2, none])
    np.testing.assert_allclose(line.below, [0, 0.2 - low, 0], atol=1e-9)
    np.testing.assert_allclose(line.above, [0, high - 0.2, 0], atol=1e-9)
    assert line.hollow.tolist() == [True, False, True] and made.level == pytest.approx(0.1)
    sheet = shown.sheet(made)
    (drawn,) = [one for one in sheet.panels["two"].lines if not one.line.level]
    assert np.isnan(drawn.solid).tolist() == [True, False, True]  # no line leads there
    assert not any(line.rates for line in made.panels["two"])
    cells = data.finals(made)[0].rows[line.label]
    assert (cells[0].regret, cells[0].above) == (0.0, pytest.approx(none)) and cells[1].regret == 0.2
    traces = plots.line_plot("two", sheet, "")["data"]
    hollow = [trace for trace in traces if trace.get("marker", {}).get("symbol", "").endswith("-open")]
    assert hollow[-1]["x"] == [0.1, 10.0] and hollow[-1]["customdata"][0] == f"0 +{none:.4g}"
    assert "hollow: no trial was wrong" in " ".join(made.notes())


def test_kinds_of_plot_choose_the_quantity(folder):
    assert write.drawn(folder, write.kind("wrong")).axes[0].get_ylabel() == "share of wrong answers"
    assert write.drawn(folder, write.kind("pulls")).axes[0].get_ylabel() == "plays until the answer"


def test_distributions_and_pairs_are_of_times(folder):
    found = curves.read(folder)
    made = distributions.distribution(found)
    assert made.x_label == "plays until the answer" and made.note.endswith("a trial without an answer is at the cap")
    assert made.panels["two"][0].values.tolist() == OLD
    pairs = distributions.paired(found)
    assert pairs.x_label == "difference of plays until the answer, trial by trial"
    assert pairs.panels["two"][-1].values.tolist() == OLD


def test_errors_of_recommendations_over_the_rounds():
    def curve(*rows):
        rounds = {t: {"trials": 10, "stopped": s, "wrong": w, "wrong_low": low} for t, s, w, low in rows}
        return type("Curve", (), {"rounds": rounds})

    always = answers.KINDS["wrong", False].points(curve((1, 0, 5, 0.2), (10, 5, 2, 0.0)))
    assert [point.y for point in always] == [0.5, 0.2]
    at_the_end = answers.KINDS["wrong", False].points(curve((1, 0, 0, math.nan), (10, 5, 2, 0.1)))
    assert [(point.x, point.y) for point in at_the_end] == [(10, 0.4)]
