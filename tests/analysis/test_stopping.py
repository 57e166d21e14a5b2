"""Runs of the game best_arm: their CSVs, the readers of these, errors of configs, and users' files."""

import csv
import math

import numpy as np
import pytest
from scipy import stats

from privbandits_cli import load, run, summary
from privbandits_cli.analysis import measured, rows, stopping
from privbandits_cli.analysis.provenance import doubts
from privbandits_cli.api import RunError
from privbandits_cli.experiment.config import ConfigError
from privbandits_cli.experiment.plan import make_plan
from privbandits_cli.games import best_arm
from privbandits_cli.identification import times
from tests.cli import call
from tests.conftest import some, without_figures

pytestmark = pytest.mark.usefixtures("no_figure")

CONFIG = """\
experiment: sure
game: best_arm
arms: 3
confidence: [0.9, 0.99]
horizon: 600
trials: 24
checkpoints: [100, 500]
adversary: {name: bernoulli, means: [0.3, 0.8, 0.5]}
algorithms: [eb_tci, {name: dp_tt, epsilon: [1, 10]}, {name: ctb_tt, epsilon: 2}]
summary: {centre: mean}
"""
TRIALS = 24


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A config, and the results folder of its run."""
    folder = tmp_path_factory.mktemp("sure")
    path = folder / "sure.yaml"
    path.write_text(CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        without_figures(patch)
        return path, run(path, results=folder, jobs=1)


def table(folder, name):
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_clopper_pearson():
    for wrong, of in ((0, 24), (3, 24), (24, 24), (1, 5000)):
        wanted = stats.binomtest(wrong, of).proportion_ci(0.95, "exact")
        assert stopping.clopper_pearson(wrong, of) == pytest.approx((wanted.low, wanted.high))
    assert stopping.clopper_pearson(0, 0) == (0.0, 1.0)


def test_the_csvs_say_what_was_played(played):
    path, folder = played
    finals, ends, middles = (table(folder, name) for name in ("final", "stopping", "summary"))
    plan = make_plan(load(path))
    below = np.array([0.5, 0.0, 0.3])
    assert [row["curve"] for row in ends] == [curve.key for curve in plan.curves]
    capped = 0
    for curve, end in zip(plan.curves, ends, strict=True):
        found = best_arm.outcomes(best_arm.play(plan.match([curve]), range(TRIALS))[0])
        own = [row for row in finals if row["curve"] == curve.key]
        assert [int(row["pulls"]) for row in own] == found.pulls.tolist()
        answers = [int(row["answer"]) if row["answer"] else -1 for row in own]
        assert answers == found.answers.tolist() and all(bool(row["regret"]) == bool(row["answer"]) for row in own)
        assert [float(row["regret"]) for row in own if row["regret"]] == pytest.approx(
            below[found.answers[~found.capped]]
        )
        wrong = found.wrong(1)
        assert (int(end["trials"]), int(end["capped"]), int(end["wrong"])) == (TRIALS, found.capped.sum(), wrong)
        assert float(end["pulls_mean"]) == pytest.approx(found.pulls.mean())
        assert float(end["pulls_error"]) == pytest.approx(found.pulls.std(ddof=1) / math.sqrt(TRIALS))
        assert float(end["pulls_q90"]) == pytest.approx(np.quantile(found.pulls, 0.9))
        assert (float(end["wrong_low"]), float(end["wrong_high"])) == stopping.clopper_pearson(wrong, TRIALS)
        rounds = [row for row in middles if row["curve"] == curve.key]
        assert [int(row["round"]) for row in rounds] == [100, 500, 600]
        for row, named in zip(rounds, found.regrets.T, strict=True):
            answered = ~found.capped & (found.pulls <= int(row["round"]))
            assert int(row["stopped"]) == answered.sum() and int(row["wrong"]) == (named > 0).sum()
            assert float(row["regret"]) == pytest.approx(named.mean())
        capped += found.capped.sum()
    assert 0 < capped < TRIALS * len(ends)


def test_lower_bounds_are_those_of_the_setting(played):
    means = [0.3, 0.8, 0.5]
    for row in table(played[1], "stopping"):
        beta = round(1 - float(row["confidence"]), 6)
        found = float(row["lower_2023"]), float(row["lower_2025"])
        if row["algorithm"] == "eb_tci":
            assert found == pytest.approx([times.characteristic_time(means) * times.binary_kl(beta)] * 2)
        elif row["algorithm"] == "ctb_tt":
            assert found == pytest.approx([times.local_lower_bound(means, 2.0, beta)] * 2)
        else:
            epsilon = float(row["epsilon"])
            wanted = times.lower_bound_2023(means, epsilon, beta), times.lower_bound(means, epsilon, beta)
            assert found == pytest.approx(wanted) and found[0] <= found[1]


def test_jobs_and_an_interruption_change_no_byte(played, tmp_path):
    path, folder = played
    part = load(path, "trials=7")
    run(part, results=tmp_path)
    other = run(path, results=tmp_path, jobs=2)
    for name in ("summary", "final", "stopping"):
        assert (other / f"{name}.csv").read_bytes() == (folder / f"{name}.csv").read_bytes()


def test_what_one_trial_does_not_tell_is_empty(played, tmp_path):
    assert call("run", played[0], "-q", "trials=1", "--results", tmp_path).exit_code == 0
    words = "trials=1", "algorithms=[exp3]", "adversary=stochastic", "summary={centre: mean, bars: bootstrap}"
    assert call("run", "fig1", "--smoke", "-q", *words, "--results", tmp_path).exit_code == 0
    (end, *_), (row, *_) = table(tmp_path / "sure", "stopping"), table(tmp_path / "fig1-smoke", "summary")
    assert end["pulls_mean"] and end["pulls_error"] == ""
    assert row["mean"] and {row[name] for name in ("gmd_below", "gmd_above", "sd", "boot_low", "boot_high")} == {""}


def test_a_changed_stopping_csv_is_noticed(played, tmp_path):
    path, _ = played
    folder = run(path, results=tmp_path)
    assert not list(doubts(folder, "A"))
    (folder / "stopping.csv").write_text((folder / "stopping.csv").read_text() + "\n")
    assert [text for text in doubts(folder, "A") if "stopping.csv is not the file" in text]


def test_the_readers(played):
    _, folder = played
    curves = measured.curves_of(folder, named=True)
    assert len(curves) == 8 and all(len(curve.pulls) == len(curve.finals) == TRIALS for curve in curves)
    assert {key for curve in curves for key in curve.swept} == {"confidence", "epsilon"}
    last = summary(folder)[2]
    assert last["round"] == 600 and last["stopped"] + 0 <= TRIALS and last["wrong_low"] <= last["wrong_high"]
    finals = summary(folder, final=True)
    assert finals[0]["pulls"] > 3 and {row["answer"] for row in finals} <= {None, 0, 1, 2}
    every = rows.trials(folder)
    assert len(every) == 3 * len(finals) and {row["regret"] for row in every} <= {0.0, 0.5, 0.3, 0.30000000000000004}
    found = call("plot", folder, "--format", "svg")
    assert found.exit_code == 0 and (folder / f"{folder.name}.svg").exists(), found.stderr


def test_a_fixed_budget_has_no_lower_bound_and_names_nothing_before_its_end(tmp_path):
    path = tmp_path / "budget.yaml"
    text = CONFIG.replace("confidence: [0.9, 0.99]\n", "").replace("sure", "budget")
    algorithms = "algorithms: [uniform_best_arm, {name: dp_halving, epsilon: 1}]\n"
    path.write_text(text[: text.index("algorithms")] + algorithms + "summary: {centre: mean}\n")
    folder = run(path, results=tmp_path)
    first, *_ = table(folder, "summary")
    assert first["algorithm"] == "uniform_best_arm" and first["stopped"] == "0"
    assert first["wrong"] == "0" and first["wrong_low"] == first["wrong_high"] == first["regret"] == ""
    assert all(row["lower_2025"] == "" and row["capped"] == "0" for row in table(folder, "stopping"))


ERRORS = {
    "a budget learner": ({"[eb_tci,": "[{name: dp_halving, epsilon: 1},"}, "leave `confidence` out"),
    "no confidence": (
        {"confidence: [0.9, 0.99]\n": ""},
        "eb_tci plays until it is sure enough: write `confidence: 0.99`",
    ),
    "two best arms": ({"[0.3, 0.8, 0.5]": "[0.3, 0.8, 0.8]"}, "the arms 1 and 2 both have the largest mean"),
    "no means": ({"{name: bernoulli, means: [0.3, 0.8, 0.5]}": "oblivious"}, "have no fixed means"),
    "another game": ({"eb_tci": "exp3"}, "exp3 plays the game bandit, not best_arm"),
    "a dimension": ({"arms: 3": "arms: 3\ndimension: 2"}, "the game best_arm has no 'dimension': leave it out"),
    "a percentage": ({"[0.9, 0.99]": "99"}, "confidence should be less than 1"),
    "a coin": ({"[0.9, 0.99]": "0.5"}, "confidence should be greater than 0.5"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_a_config_say_what_to_do(name, tmp_path):
    changes, message = ERRORS[name]
    text, path = CONFIG, tmp_path / "wrong.yaml"
    for old, new in changes.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    path.write_text(text)
    with pytest.raises(ConfigError, match=message.replace("`", ".")):
        load(path)


def test_a_confidence_belongs_to_best_arm_alone(small):
    with pytest.raises(ConfigError, match="the game bandit has no 'confidence'"):
        load(small, "confidence=0.9")


STEPS = {
    "an answer that is no arm": ("    return best\n", "    return 7\n", "stop returned arm 7 in round"),
    "advice that is no arm": (
        "    return int(np.argmax(state.means))\n",
        "    return 9 if state.t == 500 else int(np.argmax(state.means))\n",
        "recommend returned arm 9 in round 500",
    ),
    "an arm that is none": ("state.t % len(state.means))", "state.t)", "choose returned arm 3 in round 4"),
    "a true answer": (
        "        return -1\n    n, best",
        "        return False\n    n, best",
        "stop returned False, a bool",
    ),
    "NaN": ("(gain - state.means[arm]) / n", "np.nan", "update left NaN in state.means"),
    "no answer": ("    return best\n", "    best += 0\n", "`stop` ends here without an arm"),
    "another argument": (
        "def stop(state: Record)",
        "def stop(state: Record, rng: Draws)",
        "`stop` should take \\(state\\)",
    ),
}


@pytest.mark.parametrize("name", some(STEPS, "an answer that is no arm"))
def test_faults_of_a_users_file_have_a_message(name, played, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("new", "algorithm", "mine.py", "--game", "best_arm").exit_code == 0
    old, new, message = STEPS[name]
    mine = tmp_path / "mine.py"
    text = mine.read_text()
    assert text.count(old) == 1
    mine.write_text(text.replace(old, new))
    with pytest.raises((ConfigError, RunError), match=message):
        run(load(played[0], "algorithms=mine", "horizon=1500", include=mine), results=tmp_path)


def test_the_template_plays_as_it_is(played, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("new", "algorithm", "mine.py", "--game", "best_arm").exit_code == 0
    means = "adversary={name: bernoulli, means: [0.1, 0.9, 0.2]}"
    folder = run(load(played[0], "algorithms=mine", means, include=tmp_path / "mine.py"), results=tmp_path)
    assert all(row["capped"] == row["wrong"] == "0" for row in table(folder, "stopping"))
    refused = call("new", "adversary", "foe.py", "--game", "best_arm")
    assert refused.exit_code != 0 and "an adversary of the game bandit plays best_arm, too" in refused.stderr
