"""One axis of ε for all kinds of privacy: conversions, places on the axis, words, and privacy profiles."""

import math
from dataclasses import replace

import numpy as np
import pytest

from privbandits_cli.accounting import gaussian
from privbandits_cli.actions import privacy, run
from privbandits_cli.analysis import curves
from privbandits_cli.engine import Engine
from privbandits_cli.engine.store import Store
from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.experiment.plan import make_plan
from privbandits_cli.figures import profile, table
from privbandits_cli.games.players import Setting
from privbandits_cli.numerics.jit import without_jit
from privbandits_cli.plugins.registry import Registry
from tests.cli.test_cli import call
from tests.conftest import some

DELTA = 1e-6
MIXED = """\
experiment: mixed
horizon: 300
arms: 3
trials: 12
seed: 3
checkpoints: 2
adversary: {name: bernoulli, means: [0.9, 0.5, 0.1]}
algorithms:
  - kl_ucb
  - {name: dp_klucb, epsilon: [0.5, 2]}
  - {name: adac_ucb, rho: [0.01, 0.1]}
  - {name: dp_ucb, epsilon: [1, 4], bonus: chernoff, counter: [tree, smooth]}
  - {name: ldp_ucb, report: bernoulli, epsilon: 1}
  - {name: ldp_ucb, report: bernoulli, epsilon: 3}
summary: {centre: mean, bars: sd}
plot: {against: epsilon, at_delta: 1e-6}
"""
SHORT = ["horizon=60", "trials=2"]  # what plain Python plays sooner than the loops of six algorithms are compiled


def tuned(name, setting, **given):
    return Registry().find("algorithms", name)(**given).tuned(setting)


def laplace(epsilon, times=1):
    from dp_accounting.pld import privacy_loss_distribution as pld

    return pld.from_laplace_mechanism(1 / epsilon, value_discretization_interval=1e-5).self_compose(times)


def normal(mu):
    from dp_accounting.pld import privacy_loss_distribution as pld

    return pld.from_gaussian_mechanism(1 / mu, value_discretization_interval=1e-5)


def answer(epsilon):
    from dp_accounting.pld import privacy_loss_distribution as pld

    return pld.from_randomized_response(2 / (1 + math.exp(epsilon)), 2)


SETTING = Setting(2.0**10, 4)
PAIRS = {
    "dp_klucb": ({"epsilon": 0.7}, lambda one: laplace(0.7)),
    "dp_ucb": (
        {"epsilon": 2.0, "bonus": "chernoff", "counter": "tree"},
        lambda one: laplace(2.0 / nodes(one), nodes(one)),
    ),
    "adac_ucb": ({"rho": 0.05}, lambda one: normal(math.sqrt(0.1))),
    "gaussian_ts": ({"mu": 0.8}, lambda one: normal(0.8)),
    "ldp_ucb": ({"epsilon": 1.5, "report": "bernoulli"}, lambda one: answer(1.5)),
}


def nodes(one):
    return one._tree(SETTING).nodes


@pytest.mark.parametrize("name", some(PAIRS, "dp_ucb", "adac_ucb"))
@pytest.mark.parametrize("delta", some([1e-3, DELTA], DELTA))
def test_converted_guarantees_agree_with_dp_accounting(name, delta):
    given, law = PAIRS[name]
    one = tuned(name, SETTING, **given)
    ours, theirs = one.epsilon_at(SETTING, delta), law(one).get_epsilon_for_delta(delta)
    assert ours == pytest.approx(theirs, rel=2e-3, abs=1e-4)
    assert one.epsilon_at(SETTING, 0.05) < 0.99 * ours  # control: another δ has another ε


@pytest.mark.usefixtures("no_figure", "plainly")
def test_curves_stand_at_the_epsilon_of_their_guarantee(tmp_path):
    path = tmp_path / "mixed.yaml"
    path.write_text(MIXED)
    plan = make_plan(load(path, SHORT))
    run.run(plan, Store(tmp_path / "out"), Engine(), 1, ["test"])
    found = table.read(tmp_path / "out")
    (lines,) = found.panels.values()
    at = {line.label: line.x.tolist() for line in lines}
    mus = [math.sqrt(2 * rho) for rho in (0.01, 0.1)]
    assert at["AdaC-UCB"] == pytest.approx([gaussian.epsilon_of(mu, DELTA) for mu in mus])
    assert at["DP-KLUCB"] == [0.5, 2.0]  # equal to four digits
    trees = [label for label in at if label.startswith("DP-UCB")]
    assert len(trees) == 2 and all(len(at[label]) == 2 for label in trees)  # a counter is no number: a line for each
    answers = [x for label, xs in at.items() if label.startswith("LDP-UCB") for x in xs]
    assert answers == pytest.approx([1.0, 3.0])  # one line, though two entries
    level = next(line for line in lines if line.algorithm == "kl_ucb")
    assert level.level and found.x_label == "ε at δ = 1e-6"
    assert found.remarks == ("ε is that of a game, but for LDP-UCB (one report)",)
    plain = table.read(tmp_path / "out", against="epsilon")
    assert plain.x_label == found.x_label  # `--kind against=epsilon` is the config's own axis


@pytest.mark.usefixtures("no_figure", "plainly")
def test_a_figure_says_what_epsilon_means_if_curves_differ(tmp_path):
    path = tmp_path / "mixed.yaml"
    swept = MIXED.replace("report: bernoulli, epsilon: 1}", "report: bernoulli, epsilon: [1, 3]}")
    swept = swept.replace("  - {name: ldp_ucb, report: bernoulli, epsilon: 3}\n", "")
    path.write_text(swept.replace(", at_delta: 1e-6", "").replace("rho: [0.01, 0.1]", "rho: 0.1"))
    run.run(make_plan(load(path, SHORT)), Store(tmp_path / "out"), Engine(), 1, ["test"])
    assert table.read(tmp_path / "out").remarks == ("ε is that of a game, δ = 0, but for LDP-UCB (one report)",)
    path.write_text(MIXED.replace(", at_delta: 1e-6", "").split("  - {name: adac")[0] + "plot: {against: epsilon}\n")
    run.run(make_plan(load(path, [*SHORT, "summary={centre: mean}"])), Store(tmp_path / "pure"), Engine(), 1, [])
    assert table.read(tmp_path / "pure").remarks == ()  # control: all alike


@pytest.mark.usefixtures("no_figure", "plainly")
@pytest.mark.parametrize("at", [", at_delta: 1e-6", ""])
def test_an_axis_of_a_person_has_the_epsilon_of_a_person_and_says_so(tmp_path, at):
    """Three rounds cost a sum 3ε, and three reports 3ε at δ = 0; the parameter is that of one round."""
    path = tmp_path / "mixed.yaml"
    entries = "[kl_ucb, {name: dp_klucb, epsilon: [0.5, 2]}, {name: ldp_ucb, report: bernoulli, epsilon: [0.5, 2]}]"
    text = MIXED.split("algorithms:")[0] + f"algorithms: {entries}\nsummary: {{centre: mean}}\n"
    path.write_text(text + f"unit: {{rounds_per_person: 3}}\nplot: {{against: epsilon{at}, bounds: true}}\n")
    run.run(make_plan(load(path, SHORT)), Store(tmp_path / "out"), Engine(), 1, [])
    found = table.read(tmp_path / "out")
    (lines,) = found.panels.values()
    assert [line.x.tolist() for line in lines] == [pytest.approx([1.5, 6.0], rel=1e-5)] * 3
    assert found.remarks == ("ε is that of a person in up to 3 rounds" + ("" if at else ", δ = 0"),)
    assert all(line.fine is None for line in lines)  # theory between two points would be that of other parameters
    run.run(make_plan(load(path, [*SHORT, "unit=null"])), Store(tmp_path / "one"), Engine(), 1, [])
    one = table.read(tmp_path / "one")
    (lines,) = one.panels.values()
    assert [line.x.tolist() for line in lines] == [pytest.approx([0.5, 2.0], rel=1e-5)] * 3
    assert "person" not in one.remarks[0] and "but for LDP-UCB (one report)" in one.remarks[0]


@pytest.mark.usefixtures("no_figure", "plainly")
def test_who_hides_one_round_but_no_person_is_left_out_of_the_axis(tmp_path):
    """Of Wishart noise nothing is proved of two rounds."""
    path = tmp_path / "wishart.yaml"
    one, other = (f"{{name: dp_linucb, noise: {x}, epsilon: [1, 3], delta: 0.01}}" for x in ("wishart", "gaussian"))
    text = "experiment: w\ngame: contextual\nhorizon: 8\narms: 2\ndimension: 2\ntrials: 2\nadversary: sphere_arms\n"
    text += "unit: {rounds_per_person: 2}\nsummary: {centre: mean}\nplot: {against: epsilon}\n"
    path.write_text(text + f"algorithms: [{one}, {other}]\n")
    run.run(make_plan(load(path)), Store(tmp_path / "out"), Engine(), 1, [])
    found = table.read(tmp_path / "out")
    (lines,) = found.panels.values()
    assert [len(line.x) for line in lines] == [2] and min(lines[0].x) > 1
    assert found.remarks[-1].startswith("no ε is proved at this δ, so left out: DP-LinUCB (")
    run.run(make_plan(load(path, [f"algorithms=[{one}]"])), Store(tmp_path / "none"), Engine(), 1, [])
    with pytest.raises(ValueError, match="no ε of a person is proved for any curve"):
        table.read(tmp_path / "none")


@pytest.mark.usefixtures("no_figure", "plainly")
def test_a_line_is_as_private_as_its_least_private_point(tmp_path):
    """Curves of two δ on one line, as `best: [delta]` draws them: its δ is the larger one, whichever point is first."""
    path = tmp_path / "mixed.yaml"
    entries = (
        "[{name: exp3_tau, tau: certified, epsilon: [1, 4], delta: [1e-6, 1e-2]}, {name: dp_exp3_lap, epsilon: [1, 4]}]"
    )
    text = MIXED.split("algorithms:")[0] + f"algorithms: {entries}\nsummary: {{centre: mean}}\n"
    path.write_text(text + "plot: {against: epsilon, best: [delta]}\n")
    run.run(make_plan(load(path, SHORT)), Store(tmp_path / "out"), Engine(), 1, [])
    found = curves.read(tmp_path / "out")
    others = [curve for curve in found.every if curve.algorithm == "dp_exp3_lap"]
    for deltas in ((1e-6, 1e-2), (1e-2, 1e-6)):
        chosen = dict(zip(("1", "4"), deltas, strict=True))
        tau = [
            one
            for one in found.every
            if one.algorithm == "exp3_tau" and chosen[one.own["epsilon"]] == float(one.own["delta"])
        ]
        assert len(tau) == 2
        shown = table.table(replace(found, drawn=[*tau, *others])).remarks
        assert shown == ("ε is that of a game, δ = 0.01, but for DP-EXP3-Lap (one report, δ = 0)",)


@pytest.mark.slow
@pytest.mark.usefixtures("no_figure")
def test_a_label_that_states_delta_is_not_told_it_again(tmp_path):
    path = tmp_path / "mixed.yaml"
    for label, told in (("EXP3-τ, δ = 1e-6", "EXP3-τ, δ = 1e-6"), ("blocks", "blocks (δ = 1e-6)")):
        blocks = f'{{name: exp3_tau, label: "{label}", tau: certified, epsilon: [1, 4], delta: 1e-6}}'
        entries = f"[{blocks}, {{name: dp_imed, epsilon: [1, 4]}}, {{name: dp_klucb, epsilon: [1, 4]}}]"
        text = MIXED.split("algorithms:")[0] + f"algorithms: {entries}\nsummary: {{centre: mean}}\n"
        path.write_text(text + "plot: {against: epsilon}\n")
        run.run(make_plan(load(path, ["horizon=100"])), Store(tmp_path / label), Engine(), 1, [])
        remarks = table.read(tmp_path / label).remarks
        assert remarks == (f"ε is that of a game, δ = 0, but for {told}",)


def test_a_delta_of_the_axis_needs_an_axis_of_epsilon(tmp_path):
    path = tmp_path / "mixed.yaml"
    path.write_text(MIXED.replace("against: epsilon, ", ""))
    with pytest.raises(ConfigError, match="it says where curves stand on an axis of ε: write `against: epsilon`"):
        load(path)


@pytest.mark.usefixtures("no_figure")
def test_curves_stand_at_the_rounds_of_a_person_that_they_hide(tmp_path):
    path = tmp_path / "mixed.yaml"
    text = MIXED.replace("dp_klucb, epsilon: [0.5, 2]", "dp_klucb, epsilon: [0.1, 0.3, 2]")
    text = (
        text.replace("rho: [0.01, 0.1]", "rho: [0.001, 0.01, 0.1]").split("  - {name: dp_ucb")[0]
        + "summary: {centre: mean}\n"
    )
    path.write_text(text + "plot: {against: rounds_per_person, at_epsilon: 1, at_delta: 1e-6}\n")
    run.run(make_plan(load(path)), Store(tmp_path / "out"), Engine(), 1, [])
    found = table.read(tmp_path / "out")
    (lines,) = found.panels.values()
    at = {line.label: line.x.tolist() for line in lines if not line.level}
    allowed = gaussian.mu_of(1.0, DELTA)
    most = [math.floor(allowed / math.sqrt(2 * rho)) for rho in (0.1, 0.01, 0.001)]
    assert at["DP-KLUCB"] == [3.0, 10.0] and most == [0, 1, 5]
    assert at["AdaC-UCB"] == [1.0, 5.0]  # the third one hides not even one round
    assert found.x_label == "rounds per person at ε = 1, δ = 1e-6"
    left = "ε = 1 is proved not even for one round, so left out: DP-KLUCB (ε = 2), AdaC-UCB ("
    assert found.remarks[-1].startswith(left)


def test_rounds_of_a_person_need_their_axis_and_a_delta(tmp_path):
    path = tmp_path / "mixed.yaml"
    for plot in ("against: epsilon, at_epsilon: 1, at_delta: 1e-6", "against: rounds_per_person, at_epsilon: 1"):
        path.write_text(MIXED.replace("against: epsilon, at_delta: 1e-6", plot))
        with pytest.raises(ConfigError, match="write `against: rounds_per_person` and a δ, `at_delta`"):
            load(path)


@pytest.mark.usefixtures("no_figure", "plainly")
def test_curves_without_a_guarantee_at_that_delta_are_left_out(tmp_path):
    """EXP3-τ's printed ε holds at its own δ only; nothing is proved at a smaller one."""
    path = tmp_path / "mixed.yaml"
    path.write_text(
        MIXED.replace("  - {name: dp_ucb, epsilon: [1, 4], bonus: chernoff, counter: [tree, smooth]}\n", "")
    )
    plan = make_plan(load(path, SHORT))
    run.run(plan, Store(tmp_path / "out"), Engine(), 1, ["test"])
    manifest = (tmp_path / "out" / "manifest.json").read_text()
    known = next(curve for curve in plan.curves if curve.algorithm.name == "adac_ucb")
    text = manifest.replace(f'"converted": {known.algorithm.epsilon_at(known.setting, DELTA)!r}', '"converted": null')
    assert text != manifest
    (tmp_path / "out" / "manifest.json").write_text(text)
    found = table.read(tmp_path / "out")
    (lines,) = found.panels.values()
    assert [len(line.x) for line in lines if line.algorithm == "adac_ucb"] == [1]
    assert found.remarks[-1].startswith("no ε is proved at this δ, so left out: AdaC-UCB (")


@pytest.mark.usefixtures("no_figure", "plainly")
def test_a_private_curve_without_any_guarantee_is_left_out(tmp_path, monkeypatch):
    """Its parameter is no ε of the axis."""
    monkeypatch.setattr(Registry().find("algorithms", "dp_klucb"), "bounds", lambda *given: [])
    path = tmp_path / "mixed.yaml"
    path.write_text(MIXED)
    run.run(make_plan(load(path, SHORT)), Store(tmp_path / "out"), Engine(), 1, ["test"])
    found = table.read(tmp_path / "out")
    assert "dp_klucb" not in {line.algorithm for lines in found.panels.values() for line in lines}
    left = "no ε is proved at this δ, so left out: DP-KLUCB (no guarantee) (ε = 0.5), DP-KLUCB (no guarantee) (ε = 2)"
    assert found.remarks[-1] == left


def test_a_run_in_which_no_curve_has_a_place_keeps_its_numbers(tmp_path):
    """Nothing is proved of this Wishart noise at so small a δ: CSVs are written; a warning says why no figure is."""
    path = tmp_path / "nothing.yaml"
    path.write_text(
        "experiment: nothing\ngame: contextual\nhorizon: 20\narms: 3\ndimension: 2\ntrials: 2\nadversary: sphere_arms\n"
        "algorithms: [{name: dp_linucb, noise: wishart, epsilon: [0.5, 1], delta: 1e-6}]\n"
        "summary: {centre: mean}\nplot: {against: epsilon, at_delta: 1e-12}\n"
    )
    plan = make_plan(load(path))
    with without_jit(), pytest.warns(run.NotDrawn, match="no curve has an ε that is proved at δ = 1e-12"):
        outcome = run.run(plan, Store(tmp_path / "out"), Engine(), 1, ["test"])
    assert "summary.csv" in outcome.written and not list((tmp_path / "out").glob("*.png"))


@pytest.mark.parametrize("algorithms", some(["all", "two"], "two"))
def test_profiles_are_drawn_to_a_file(tmp_path, algorithms):
    path = tmp_path / "mixed.yaml"
    path.write_text(MIXED)
    few = ["algorithms=[{name: dp_klucb, epsilon: [0.5, 2]}, {name: adac_ucb, rho: 0.1}]"]
    experiment = load(path, few if algorithms == "two" else [])
    found, without = privacy.profiles(experiment)
    assert without == ({} if algorithms == "two" else {"KL-UCB": "not designed to be private"})
    every = ["dp_klucb"] * 2 + ["adac_ucb"] * 2 + ["dp_ucb"] * 4 + ["ldp_ucb"] * 2
    assert [one.algorithm for one in found] == (every[:3] if algorithms == "two" else every)
    for one in found:
        assert (np.diff(one.epsilon) <= 0).all()  # a larger δ never needs a larger ε
    drawn = profile.figure(found)
    assert [line.get_ydata().tolist() for line in drawn.axes[0].lines] == [one.delta.tolist() for one in found]
    one = "algorithms={name: dp_klucb, epsilon: 1}"
    done = call("privacy", path, one, "--plot", tmp_path / "profile.svg")
    assert done.exit_code == 0 and "ε" in (tmp_path / "profile.svg").read_text()
    for m in (1, 8):
        unit = f"unit={{rounds_per_person: {m}}}"
        call("privacy", path, one, unit, "--plot", tmp_path / f"{m}.svg")
        texts = " ".join((tmp_path / f"{m}.svg").read_text().split())
        assert (profile.LOCAL in texts, "a person in up to 8 rounds" in texts) == (m == 1, m == 8)
    for file, why in (("profile.gif", "a figure is a .png, .pdf or .svg file"), ("none/profile.png", "no such folder")):
        wrong = call("privacy", path, one, "--plot", tmp_path / file)
        assert wrong.exit_code == 2 and why in wrong.stderr and not wrong.stdout


@pytest.mark.usefixtures("no_figure", "plainly")
def test_who_plays_without_noise_is_a_level_like_those_without_privacy(tmp_path):
    path = tmp_path / "mixed.yaml"
    entries = "[{name: dp_klucb, epsilon: [0.5, 2]}, {name: adac_ucb, rho: 1e9, label: silent}]"
    path.write_text(MIXED.split("algorithms:")[0] + f"algorithms: {entries}\nsummary: {MIXED.split('summary: ')[1]}")
    run.run(make_plan(load(path, SHORT)), Store(tmp_path / "out"), Engine(), 1, [])
    (lines,) = table.read(tmp_path / "out").panels.values()
    assert {line.algorithm: (line.level, line.x.tolist()) for line in lines} == {
        "dp_klucb": (False, [0.5, 2.0]),
        "adac_ucb": (True, [0.5, 2.0]),
    }


def test_who_has_no_profile_is_said(tmp_path):
    path, drawn = tmp_path / "mixed.yaml", tmp_path / "profile.svg"
    path.write_text(MIXED)
    algorithms = "algorithms=[ucb1, {name: dp_klucb, epsilon: 1}]"
    done = call("privacy", path, algorithms, "--plot", drawn)
    assert done.exit_code == 0 and "UCB1 (not designed to be private)" in done.stderr and "DP-KLUCB" not in done.stderr
    none = call("privacy", path, "algorithms=[ucb1]", "--plot", drawn)
    assert none.exit_code == 2 and "no ε is proved for any of these algorithms" in none.stderr
