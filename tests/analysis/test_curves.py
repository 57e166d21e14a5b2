"""Sweeps: several horizons, the worst of a parameter, slopes on logarithmic axes, panels beside each other."""

import numpy as np
import pytest

from privbandits_cli.actions import run
from privbandits_cli.analysis import curves, estimates
from privbandits_cli.analysis.estimates import Estimate
from privbandits_cli.analysis.folder import read_manifest
from privbandits_cli.engine import Engine
from privbandits_cli.engine.store import Store
from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.experiment.plan import make_plan
from privbandits_cli.figures import distributions, plot, table
from privbandits_cli.numerics.jit import without_jit
from tests.conftest import some, table_of

pytestmark = pytest.mark.usefixtures("no_figure")

SWEPT = """\
experiment: swept
horizon: [256, 2^10, 4096]
arms: 4
trials: 12
seed: 3
checkpoints: 2
adversary: {name: stochastic, best: [0.55, 0.65, 0.9]}
algorithms:
  - exp3
  - {name: exp3_tau, panel: blocks}
  - {name: dp_exp3_lap, epsilon: [1, 10]}
  - uniform
summary: {centre: mean, bars: sd}
plot: {against: horizon, worst: best, log: true, slopes: true}
"""


@pytest.fixture
def ran(tmp_path):
    """Runs a config text into a folder, perhaps in plain Python; the plan, its store and the folder."""

    def played(text, *overrides, name="out", plain=False):
        path = tmp_path / "swept.yaml"
        path.write_text(text)
        plan, store = make_plan(load(path, list(overrides))), Store(tmp_path / name)
        with without_jit(plain):
            run.run(plan, store, Engine(), 1 if plain else 2, ["test"])
        return plan, store, tmp_path / name

    return played


def test_each_horizon_is_an_experiment_of_its_own(ran):
    """Tuned and played as if it were the only one: the same keys, the same regrets."""
    plan, store, _ = ran(SWEPT)
    alone, own, _ = ran(SWEPT, "horizon=4096", "plot={}", name="alone")
    assert {curve.key for curve in alone.curves} == {c.key for c in plan.curves if c.setting.horizon == 4096}
    for curve in alone.curves:
        np.testing.assert_array_equal(own.regrets(curve, 12)[1], store.regrets(curve, 12)[1])
    assert plan.trials == 12 and sum(curve.horizon for curve in plan.curves) == 15 * (256 + 1024 + 4096)
    gammas = {c.setting.horizon: c.algorithm.gamma for c in plan.curves if c.algorithm.name == "exp3"}
    assert gammas[256] > gammas[1024] > gammas[4096]


def test_a_line_is_the_worst_of_each_horizon(ran):
    _, _, folder = ran(SWEPT)
    found = table.read(folder)
    assert list(found.panels) == ["Stochastic", "Stochastic, blocks"]
    assert [line.label for line in found.panels["Stochastic"]] == [
        "EXP3",
        "DP-EXP3-Lap (ε = 1)",
        "DP-EXP3-Lap (ε = 10)",
        "Uniform",
    ]
    finals = [row for row in table_of(folder / "summary.csv") if row["round"] == row["horizon"]]
    for line, (algorithm, epsilon) in zip(
        found.panels["Stochastic"],
        [("exp3", ""), ("dp_exp3_lap", "1"), ("dp_exp3_lap", "10"), ("uniform", "")],
        strict=True,
    ):
        assert line.x.tolist() == [256, 1024, 4096]
        for horizon, regret in zip(line.x, line.regret, strict=True):
            means = {
                float(row["best"]): float(row["mean"])
                for row in finals
                if (row["algorithm"], row["epsilon"], float(row["horizon"])) == (algorithm, epsilon, horizon)
            }
            assert len(means) == 3 and regret == max(means.values())
            assert algorithm != "uniform" or regret == means[0.9]  # it loses most where the gap is largest
    uniform = found.panels["Stochastic"][3].slope
    assert abs(uniform[0] - 1) < 4 * uniform[1]  # the control: linear regret
    assert found.panels["Stochastic"][3].slope_text()[:9] in ("slope 1.0", "slope 0.9")
    drawn = plot.figure(found)
    assert [axis.get_xscale() for axis in drawn.axes[:2]] == ["log", "log"]


GRID = """\
experiment: grid
game: contextual
horizon: 40
arms: 3
dimension: 15
trials: 3
seed: 3
adversary: {name: table, path: iris, target: class}
algorithms:
  - {name: squarecb, label: S, gamma: [1, 1000], oracle: [quadratic, logistic], epsilon: [1, 8]}
  - {name: squarecb, label: S, gamma: [1, 1000]}
  - {name: linucb, label: L}
summary: {centre: mean, bars: sd}
plot: {against: epsilon, best: [gamma, oracle]}
"""


@pytest.mark.slow
def test_a_line_is_the_best_of_a_grid_at_each_point(ran):
    _, _, folder = ran(GRID, plain=True)
    (lines,) = table.read(folder).panels.values()
    swept, level, linucb = lines
    means = {}
    for row in table_of(folder / "summary.csv"):
        if row["round"] == "40":
            grid = (row["label"][0], row["epsilon"])
            means.setdefault(grid, []).append(float(row["mean"]))
    assert [len(found) for found in means.values()] == [4, 4, 2, 1]
    assert swept.x.tolist() == [1, 8] and swept.regret.tolist() == [min(means["S", "1"]), min(means["S", "8"])]
    assert min(means["S", "1"]) < max(means["S", "1"])  # the grid matters
    assert level.level and set(level.regret) == {min(means["S", ""])} and linucb.level
    assert swept.label == "S" and "γ = " in level.label and linucb.label == "L"
    assert any("each point at the best γ, oracle of the grid" in note for note in table.read(folder).notes())
    finals = distributions.distribution(curves.read(folder, finals=True))
    assert "each at the best γ, oracle of its grid" in finals.note
    every = table.read(folder, against="gamma").panels  # another axis keeps the other parameter of the grid
    assert sum(len(each) for each in every.values()) == 4


def test_a_resolved_sweep_plays_the_same(ran, tmp_path):
    """config.yaml spreads the sweeps out, and keeps the horizons."""
    plan, _, folder = ran(SWEPT)
    assert len(table.read(folder).panels) == 2
    again = make_plan(load(folder / "config.yaml"))
    assert {curve.key for curve in again.curves} == {curve.key for curve in plan.curves}
    assert {curve.panel for curve in again.curves} == {"", "blocks"}
    simple = "plot={against: best}", "horizon=256", "algorithms=[exp3, uniform]"
    _, _, folder = ran(SWEPT, *simple, name="simple")
    _, _, second = ran((folder / "config.yaml").read_text(), name="second")
    found = [table.read(f).panels["Stochastic"] for f in (folder, second)]
    assert [line.regret.tolist() for line in found[0]] == [line.regret.tolist() for line in found[1]]
    assert [line.x.tolist() for line in found[1]] == [[0.55, 0.65, 0.9]] * 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("plot={against: gamma}", "no parameter 'gamma' is swept"),
        ("plot={against: horizon, worst: gap}", "no parameter 'gap' is swept .known: best, epsilon, horizon"),
        ("plot={against: horizon, best: [gap]}", "no parameter 'gap' is swept"),
        ("plot={slopes: true}", "slopes are fitted over `against`"),
    ],
)
def test_what_is_not_swept_cannot_be_drawn_against(ran, change, message):
    with pytest.raises(ConfigError, match=message):
        ran(SWEPT, change)


def test_errors_of_horizons(ran):
    with pytest.raises(ConfigError, match="greater than or equal to 1"):
        ran(SWEPT, "horizon=[256, 0]")
    with pytest.raises(ConfigError, match="at least 1 item"):
        ran(SWEPT, "horizon=[]")
    with pytest.raises(ConfigError, match="beyond the horizon 256"):
        ran(SWEPT, "checkpoints=[300]")
    with pytest.raises(ConfigError, match="a panel should be text"):
        ran(SWEPT, "algorithms[0]={name: exp3, panel: 3}")
    with pytest.raises(ConfigError, match="unknown key 'panel'"):
        ran(SWEPT, "adversary={name: stochastic, panel: x}")


def test_slopes_are_those_of_least_squares():
    x, mean = np.array([1e2, 1e3, 1e4, 1e5]), np.array([3.0, 1.5, 8.0, 13.0])
    fit = np.polyfit(np.log(x), np.log(mean), 1)[0]
    assert estimates.slope_of(x, [Estimate(one) for one in mean]).value == pytest.approx(fit)


FTRLS = """\
experiment: ftrls
game: linear
set: simplex
dimension: 3
horizon: [16, 32]
trials: 3
seed: 1
checkpoints: 1
adversary: {name: gap, gap: [0.1, 0.4], label: "%s"}
algorithms:
  - {name: ftrl, label: "%s"}
  - {name: dp_ftrl, label: "%s", nodes: laplace, epsilon: [1, 4]}
  - {name: dp_ftrl, label: "%s", nodes: gaussian, epsilon: [1, 4]}
summary: {centre: mean, bars: sd}
plot: {against: epsilon, worst: gap}
"""
PLAIN = "G", "F", "A", "B"
MARKED = "Gap (gap = 0.1), N = 3", "FTRL", "DP-FTRL (Laplace)", "DP-FTRL (Gaussian)"
GREEK = "Gap (a) (b", "F: slope 1, 2", "X (ε = 1)", "X (ε = 1, δ = 0)"


def drawn(folder, **options):
    """The lines of a figure, panel by panel, without their names."""
    return [
        [(dict(line.game), dict(line.own), line.x.tolist(), line.regret.tolist()) for line in lines]
        for lines in table.read(folder, **options).panels.values()
    ]


def without_names(folder, name):
    """The CSV without the columns in which labels stand."""
    out = table_of(folder / name)
    for row in out:
        for column in ("label", "panel", "family", "parameters"):
            row.pop(column, None)
    return out


@pytest.mark.parametrize("labels", some([MARKED, GREEK], MARKED))
def test_a_label_is_only_read(ran, labels):
    """Brackets, commas, equals signs and Greek letters in a label change what is read, and nothing else."""
    _, _, plain = ran(FTRLS % PLAIN, name="plain", plain=True)
    _, _, marked = ran(FTRLS % labels, name="marked", plain=True)
    for name in ("summary.csv", "final.csv"):
        assert without_names(plain, name) == without_names(marked, name)
    for against in ("", "horizon"):
        assert drawn(plain, against=against) == drawn(marked, against=against)
    found = table.read(marked)
    assert list(found.panels) == [labels[0]]
    assert [line.label.base for line in found.panels[labels[0]]] == [*labels[1:]] * 2  # for each horizon
    assert all(line.x.tolist() == [1, 4] for line in found.panels[labels[0]])


@pytest.mark.parametrize("label", some(["label: DP-FTRL, ", ""], ""))
def test_entries_that_share_a_label_stay_two_lines(ran, label):
    """Only the guarantee tells them apart in a legend, and a figure against epsilon has no guarantees."""
    text = FTRLS.replace('label: "%s", nodes', f"{label}nodes") % PLAIN[:2]
    _, _, folder = ran(text.replace("gaussian, epsilon: [1, 4]", "gaussian, epsilon: [1, 5]"), "horizon=16", plain=True)
    lines = table.read(folder).panels["G"]
    assert [line.label for line in lines] == ["F", "DP-FTRL (nodes = laplace)", "DP-FTRL (nodes = gaussian)"]
    assert [line.x.tolist() for line in lines] == [[1, 5], [1, 4], [1, 5]]
    _, _, folder = ran(
        FTRLS % PLAIN,
        "algorithms=[ftrl, {name: dp_ftrl, epsilon: 1}, {name: dp_ftrl, epsilon: 4}]",
        "plot={against: horizon, worst: gap}",
        name="given",
        plain=True,
    )
    labels = [line.label for line in table.read(folder).panels["G"]]
    assert labels == ["FTRL", "DP-FTRL (ε = 1)", "DP-FTRL (ε = 4)"]


def test_a_level_line_has_the_epsilon_of_its_curve(ran):
    """Whether the config has one entry with its ε or several; a line against rho has many ε, and so none."""
    one, two = "{name: dp_se, epsilon: 1}", "{name: dp_klucb, epsilon: 1}, {name: dp_klucb, epsilon: 0.25}"
    text = "experiment: level\nhorizon: 16\ntrials: 2\narms: 2\nadversary: {name: bernoulli, means: [0.9, 0.1]}\n"
    text += f"algorithms: [ucb1, {one}, {two}, {{name: adac_ucb, rho: [0.1, 1]}}]\nplot: {{against: rho}}\n"
    text += "summary: {centre: mean}\n"
    for unit, shown in (
        ("null", ["1", "0.25"]),
        ("{rounds_per_person: 2}", ["2, 2 rounds a person", "0.5, 2 rounds a person"]),
    ):
        _, _, folder = ran(text, f"unit={unit}", name=f"of {shown[0]}", plain=True)
        (lines,) = table.read(folder).panels.values()
        private = [f"DP-SE (ε = {shown[0]})", *(f"DP-KLUCB (ε = {one})" for one in shown)]
        assert [str(line.label) for line in lines] == ["UCB1", *private, "AdaC-UCB"]


def test_lines_of_one_name_have_distinct_legends(ran):
    """An entry that does not sweep epsilon is a level line; the name of another algorithm is added to its label."""
    learners = "[{name: dp_ftrl, label: A, epsilon: [1, 4]}, {name: dp_ftrl, label: A, epsilon: 2}"
    learners += ", {name: ftrl, label: B}, {name: dp_ftpl, label: B, epsilon: [1, 4]}"
    learners += ", {name: dp_ftrl, label: B, epsilon: [6, 8]}"
    learners += ", {name: dp_ftpl, label: C, epsilon: [2, 3]}, {name: dp_ftrl, label: C, epsilon: [3, 5]}]"
    _, _, folder = ran(FTRLS % PLAIN, "horizon=16", f"algorithms={learners}", plain=True)
    lines = table.read(folder).panels["G"]
    assert [(line.label, line.level) for line in lines] == [
        ("A", False),
        ("A (ε = 2)", True),
        ("B (without ε)", True),
        ("B (name = dp_ftpl)", False),
        ("B (name = dp_ftrl)", False),
        ("C (name = dp_ftpl)", False),
        ("C (name = dp_ftrl)", False),
    ]


def test_the_manifest_describes_every_curve_in_every_setting(ran):
    plan, _, folder = ran(FTRLS % PLAIN, plain=True)
    found = read_manifest(folder)
    assert list(found["curves"]) == [curve.key for curve in plan.curves]
    for curve in plan.curves:
        record, promised = found["curves"][curve.key], curve.algorithm.guarantee(curve.setting)
        assert record["adversary"]["swept"] == {"horizon": curve.horizon, "gap": curve.adversary.gap}
        assert record["algorithm"]["family"] == curve.label.base
        assert (record["epsilon"], record["delta"], record["status"]) == (
            (promised.epsilon, promised.delta, promised.status) if promised else (None, None, None)
        )
    covered = [key for entry in found["privacy"] for key in entry["curves"]]
    assert sorted(covered) == sorted(found["curves"]) and len(found["privacy"]) == 2 * 5
    assert {entry["setting"]["horizon"] for entry in found["privacy"]} == {16, 32}
    of = {key: entry["facts"] for entry in found["privacy"] for key in entry["curves"]}
    assert all(of[curve.key] == curve.algorithm.facts(curve.setting) for curve in plan.curves)
    assert any("deviation" in facts for facts in of.values())
    lines = (folder / "manifest.json").read_text(encoding="utf-8").splitlines()
    for key in found["curves"]:  # one line for each
        assert sum(line.startswith(f'  "{key}": {{') and line.rstrip(",").endswith("}") for line in lines) == 1


def test_a_folder_whose_manifest_lacks_the_names_is_refused(ran):
    _, _, folder = ran(FTRLS % PLAIN, "horizon=16", plain=True)
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(text.replace('"curves": {', '"forgotten": {', 1))
    with pytest.raises(ValueError, match="does not describe the curves: run the experiment again"):
        curves.read(folder)
    key = next(iter(read_manifest(folder)["forgotten"]))
    (folder / "manifest.json").write_text(text.replace(key, "0" * 16))
    with pytest.raises(ValueError, match="of different runs: run the experiment again"):
        curves.read(folder)
