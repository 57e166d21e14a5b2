"""Configs: what is read, every error at once with its place, overrides, sweeps, the schema."""

import json
import math
from pathlib import Path

import pytest

from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.experiment.document import number, parse
from privbandits_cli.experiment.plan import make_plan
from privbandits_cli.experiment.schema import schema
from tests.conftest import ROOT, SMALL

CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))

PLANTED = """\
experiment: bad
horizon: 2^10
horizn: 3
trials: 100
seed: 1
seed: 2
arms: many
adversary:
  - stochstic
  - {name: stochastic, best: 1.3}
algorithms:
  - exp3
  - {name: dp_exp3_lap, epsilom: 1}
"""


def errors(tmp_path, text, *overrides, smoke=False):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(path, list(overrides), smoke)
    return [error.replace(f"{tmp_path}/", "") for error in caught.value.errors]


def plan_of(tmp_path, text, *overrides):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    return make_plan(load(path, list(overrides)))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
@pytest.mark.parametrize("smoke", [False, True])
def test_shipped_configs_are_valid(path, smoke):
    plan = make_plan(load(path, smoke=smoke))
    assert plan.name == path.stem + ("-smoke" if smoke else "")
    assert path.read_text().startswith("# yaml-language-server: $schema=experiment.schema.json\n")


def test_seven_planted_errors_are_found_at_their_places(tmp_path):
    found = errors(tmp_path, PLANTED)
    assert [error.splitlines()[0].split(" (known")[0] for error in found] == [
        "x.yaml:3:1: unknown key 'horizn', did you mean 'horizon'?",
        "x.yaml:4:9: 100 trials are not a multiple of 24 groups (summary.groups);"
        " take 96 or 120, or `summary: {centre: mean}`",
        "x.yaml:6:1: duplicate key 'seed', first on line 5",
        "x.yaml:7:7: arms should be an integer or should be 'd^2', got 'many'",
        "x.yaml:9:5: unknown adversary 'stochstic', did you mean 'stochastic'?",
        "x.yaml:10:30: best should be less than or equal to 1, got 1.3",
        "x.yaml:13:25: unknown key 'epsilom', did you mean 'epsilon'?",
    ]
    for error in found:
        shown, caret = error.splitlines()[1:]
        assert shown[4:] in PLANTED and caret.strip() == "^"
    assert found[4].splitlines()[2].index("^") - 4 == 4  # under the s of stochstic


@pytest.mark.parametrize(
    ("change", "place", "words"),
    [
        ("horizon: 0", "2:10", "greater than or equal to 1"),
        ("horizon: 1.5", "2:10", "should be an integer"),
        ("trials: true", "4:9", "should be an integer"),
        ("experiment: ../up", "1:13", "pattern"),
        ("adversary: []", "7:12", "name at least one of"),
        ("algorithms: {name: exp3, gamma: [0.1, 2]}", "8:39", "less than or equal to 1, got 2"),
        ("algorithms: {name: exp3, gamma: []}", "8:33", "empty list"),
        ("algorithms: [exp3, exp3]", "8:20", "the same as algorithms[0]"),
        ("algorithms: dp_lambda_lap", "8:13", "missing key 'epsilon'"),
        ("algorithms: {name: dp_lambda_lap, epsilon: 1, base: exp4}", "8:53", "did you mean 'exp3'"),
        ("algorithms: {name: dp_exp3_lap, base: {name: exp3, gama: 1}}", "8:52", "did you mean 'gamma'"),
        ("algorithms: {name: exp3_tau, tau: corollary_3.3}", "8:13", "needs an epsilon"),
        ("algorithms: {name: exp3_tau, tau: 10000}", "8:13", "does not fit into the horizon"),
        ("algorithms: {name: dp_exp3_lap, epsilon: corollary_3.1}", "8:42", "'corollary_3.2'"),
        ("checkpoints: [1, 2000]", "6:18", "beyond the horizon"),
        ("checkpoints: {count: 8, spacing: cubic}", "6:34", "'linear' or 'log'"),
        ("summary: {groups: 5}", "4:9", "not a multiple of 5 groups"),
        ("plot: {bar: 3}", "14:8", "did you mean 'bars'"),
        ("game: chess", "14:7", "'bandit'"),
    ],
)
def test_each_error_is_reported_at_its_place(tmp_path, change, place, words):
    key = change.partition(":")[0]
    flat = SMALL.replace(
        "algorithms:\n  - exp3\n  - {name: dp_exp3_lap, epsilon: 1}\n  - exp3_tau\n", "algorithms: exp3\n"
    )
    lines = [line for line in flat.splitlines() if not line.startswith(f"{key}:")]
    original = [line.partition(":")[0] for line in flat.splitlines()]
    lines.insert(original.index(key) if key in original else len(lines), change)
    text = "\n".join(lines) + "\n"
    if key not in original:
        text = text.replace(change, "#\n#\n#\n#\n" + change)
    (found,) = [error for error in errors(tmp_path, text) if words in error]
    assert found.startswith(f"x.yaml:{place}: "), found


def test_text_that_is_no_yaml_or_no_mapping(tmp_path):
    (found,) = errors(tmp_path, "a: [1, 2\nb: 3\n")
    assert found.startswith("x.yaml:2:2: not YAML")
    (found,) = errors(tmp_path, "- 1\n- 2\n")
    assert "a mapping of keys" in found
    assert any("missing key 'horizon'" in error for error in errors(tmp_path, ""))


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError, match="No such file"):
        load(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2^18", 262144),
        ("1e5", 100000),
        ("1e-3", 0.001),
        ("010", 10),
        ("0.5", 0.5),
        (".5", 0.5),
        ("-3", -3),
        ("1.0", 1.0),
    ],
)
def test_numbers_are_those_of_yaml_1_2_and_powers(text, value):
    assert number(text) == value and type(number(text)) is type(value)
    assert parse(f"x: {text}", "x").data == {"x": value}


def test_yaml_1_1_surprises_stay_text():
    assert parse("a: no\nb: on\nc: 12:30:45\nd: 1_000\n", "x").data == {
        "a": "no",
        "b": "on",
        "c": "12:30:45",
        "d": "1_000",
    }
    assert parse("a: .inf", "x").data == {"a": math.inf}
    assert parse("a: true\nb: null\nc: ''\n", "x").data == {"a": True, "b": None, "c": ""}


def test_overrides_reach_into_lists(tmp_path):
    plan = plan_of(
        tmp_path, SMALL, "horizon=2^9", "algorithms[1].epsilon=0.5", "algorithms[0].gamma=0.25", "adversary=stochastic"
    )
    assert plan.experiment.keys.horizon == 512
    gammas = [curve.algorithm.described().get("gamma") for curve in plan.curves]
    assert gammas[0] == 0.25
    assert plan.curves[1].algorithm.epsilon == 0.5
    assert {curve.adversary.name for curve in plan.curves} == {"stochastic"}


def test_wrong_overrides_name_themselves(tmp_path):
    found = errors(
        tmp_path, SMALL, "trials=15", "algorithms[9].epsilon=1", "horizon", "algorithms[1].epsilon=-1", "adversary.x=1"
    )
    for override in ("trials=15", "algorithms[9].epsilon=1", "horizon", "algorithms[1].epsilon=-1", "adversary.x=1"):
        assert any(error.startswith(f"override '{override}': ") for error in found), override


def test_lists_are_swept_and_become_columns(tmp_path):
    text = SMALL.replace("epsilon: 1}", "epsilon: [0.5, 2], base: {name: exp3, gamma: [0.1, 0.2]}}")
    plan = plan_of(tmp_path, text, "adversary={name: stochastic, best: [0.6, 0.9]}")
    swept = [dict(curve.swept) for curve in plan.curves if curve.algorithm.name == "dp_exp3_lap"]
    assert len(swept) == 8
    assert swept[0] == {"best": 0.6, "epsilon": 0.5, "base.gamma": 0.1}
    assert len({curve.key for curve in plan.curves}) == len(plan.curves)
    assert {curve.adversary_label for curve in plan.curves} == {"Stochastic (best = 0.6)", "Stochastic (best = 0.9)"}


def test_bases_are_swept_by_name(tmp_path):
    text = SMALL.replace(
        "- {name: dp_exp3_lap, epsilon: 1}", "- {name: dp_lambda_lap, epsilon: 1, base: [exp3, tsallis_inf]}"
    )
    labels = [curve.label for curve in plan_of(tmp_path, text).curves]
    assert "DP-EXP3-Lap (base = exp3, ε = 1)" in labels
    assert "DP-Tsallis-INF-Lap (base = tsallis_inf, ε = 1)" in labels


@pytest.mark.parametrize(
    ("checkpoints", "rounds"),
    [
        ("4", [250, 500, 750, 1000]),
        ("[10, 5]", [5, 10, 1000]),
        ("{count: 4, spacing: log}", [1, 10, 100, 1000]),
        ("5000", list(range(1, 1001))),
    ],
)
def test_checkpoints(tmp_path, checkpoints, rounds):
    assert plan_of(tmp_path, SMALL, f"checkpoints={checkpoints}").curves[0].checkpoints.tolist() == rounds


def test_keys_hold_what_is_computed_and_nothing_else(tmp_path):
    keys = [curve.key for curve in plan_of(tmp_path, SMALL).curves]
    same = ["trials=32", "title=x", "plot={log: true}", "summary={centre: mean}", "experiment=other"]
    for override in same:
        assert [curve.key for curve in plan_of(tmp_path, SMALL, override).curves] == keys, override
    labelled = plan_of(tmp_path, SMALL.replace("epsilon: 1}", "epsilon: 1.0, label: mine}"))
    assert [curve.key for curve in labelled.curves] == keys and labelled.curves[1].label == "mine (ε = 1)"
    for override in ("seed=4", "horizon=999", "arms=5", "checkpoints=9"):
        assert not set(keys) & {curve.key for curve in plan_of(tmp_path, SMALL, override).curves}, override
    other = plan_of(tmp_path, SMALL, "algorithms[1].epsilon=2").curves
    assert [a.key == b for a, b in zip(other, keys, strict=True)] == [True, False, True] * 2


def test_a_resolved_config_runs_as_the_original(tmp_path):
    import yaml

    for path in CONFIGS:
        plan = make_plan(load(path))
        again = tmp_path / "resolved.yaml"
        again.write_text(yaml.safe_dump(plan.experiment.resolved(), sort_keys=False))
        replan = make_plan(load(again))
        assert [curve.key for curve in replan.curves] == [curve.key for curve in plan.curves]
        assert replan.experiment.resolved() == plan.experiment.resolved()


def test_private_curves_carry_their_epsilon():
    plan = make_plan(load(ROOT / "configs" / "fig1.yaml"))
    assert [curve.label for curve in plan.curves[:3]] == [
        "EXP3",
        "DP-EXP3-Lap (ε = 243.3)",
        "EXP3-τ (ε = 1.504, δ = 1.5e-11)",
    ]
    assert plan.rounds == 2_831_155_200


def test_the_committed_schema_is_the_generated_one():
    """`make schema` renews it."""
    committed = json.loads((ROOT / "configs" / "experiment.schema.json").read_text())
    assert committed == json.loads(json.dumps(schema()))


def test_the_schema_knows_every_name_and_key():
    made = schema()
    assert set(made["required"]) == {"experiment", "horizon", "trials", "adversary", "algorithms"}
    assert "dp_exp3_lap" in made["$defs"]["algorithms"]["anyOf"][0]["enum"]
    assert made["$defs"]["exp3_tau"]["properties"]["tau"]["description"]
    references = {word for word in json.dumps(made).split('"') if word.startswith("#/$defs/")}
    assert all(reference.removeprefix("#/$defs/") in made["$defs"] for reference in references)


def test_smoke_has_a_folder_of_its_own(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(SMALL + "smoke: {horizon: 100, trials: 8}\n")
    small = load(path, smoke=True)
    assert (small.keys.experiment, small.keys.horizon, small.keys.trials) == ("small-smoke", 100, 8)
    assert Path(path).read_text().startswith("experiment: small\n")
    assert any(":13:" in error for error in errors(tmp_path, SMALL + "smoke: {horizon: 0}\n", smoke=True))


def test_equal_labels_are_distinguished_by_what_differs(tmp_path):
    text = SMALL.replace("  - exp3\n", "  - {name: exp3, gamma: 0.1}\n  - {name: exp3, gamma: 0.2}\n")
    plan = plan_of(tmp_path, text, "adversary=[{name: stochastic, best: 0.6}, {name: stochastic, best: 0.9}]")
    assert [curve.label for curve in plan.curves[:2]] == ["EXP3 (gamma = 0.1)", "EXP3 (gamma = 0.2)"]
    assert {curve.adversary_label for curve in plan.curves} == {"Stochastic (best = 0.6)", "Stochastic (best = 0.9)"}
    same = SMALL.replace("- exp3\n", "- {name: exp3, label: A}\n").replace("- exp3_tau", "- {name: exp3_tau, label: A}")
    assert len({curve.label for curve in plan_of(tmp_path, same).curves}) == 3


def test_a_wrapper_of_a_private_base_carries_its_epsilon(tmp_path):
    text = SMALL.replace("- exp3_tau", "- {name: mini_batch, tau: 10, base: {name: dp_exp3_lap, epsilon: 2}}")
    assert plan_of(tmp_path, text).curves[2].label == "DP-EXP3-Lap-τ (ε = 0.2)"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("adversary:", "name at least one of"),
        ("algorithms:", "name at least one of"),
        ("checkpoints: 1e12", "less than or equal to 100000"),
        ("algorithms: {name: exp3_tau, tau: corollary_3.3, epsilon: .inf}", "less than or equal to"),
        ("algorithms: {name: exp3_tau, tau: corollary_3.3, epsilon: 1e-200}", "greater than or equal to"),
        ("algorithms: {name: dp_exp3_lap, epsilon: 1e-320}", "greater than or equal to"),
        ("adversary: {name: switching_costs, sigma: .inf}", "less than or equal to"),
        ("algorithms: &a [*a]", "refers to itself"),
        ("checkpoints: [1.5]", "checkpoints[0] should be an integer"),
        ("algorithms: {name: mini_batch, tau: 50, base: {name: mini_batch, tau: 50, base: exp3}}", "does not fit"),
    ],
)
def test_odd_values_are_errors_not_tracebacks(tmp_path, line, words):
    key = line.partition(":")[0]
    kept = [
        old for old in SMALL.splitlines() if not old.startswith((f"{key}:", "  -" if key == "algorithms" else "\0"))
    ]
    assert any(words in error for error in errors(tmp_path, "\n".join([*kept, line]) + "\n"))


def test_a_single_round_is_a_game(tmp_path):
    assert plan_of(tmp_path, SMALL, "horizon=1", "checkpoints=1").rounds == 6 * 16


def test_overrides_of_smoke_say_what_to_shrink_to(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(SMALL + "smoke: {horizon: 100, trials: 8}\n")
    small = load(path, ["smoke.trials=4", "seed=9", "experiment=other"], smoke=True).keys
    assert (small.trials, small.horizon, small.seed, small.experiment) == (4, 100, 9, "other-smoke")


def test_the_only_base_that_fits_need_not_be_named(tmp_path):
    assert plan_of(tmp_path, SMALL, "algorithms[1].base.gamma=0.5").curves[1].algorithm.base.gamma == 0.5
