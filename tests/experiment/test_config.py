"""Configs: those that ship, overrides, sweeps, smoke."""

from functools import cache
from pathlib import Path

import pytest
import yaml

from privbandits_cli.experiment.config import ConfigError, load, shipped
from privbandits_cli.experiment.plan import make_plan
from tests.conftest import ROOT, SMALL, some

CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))
# One of each kind: a swept bandit, presets of means, horizons, a linear and two contextual games, one with a table.
SOME = ("frontier", "bounded_private", "heavy_scaling", "price_noisy", "linucb_time", "oracle_wine")

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


@cache
def planned(name, smoke=False):
    """The plan of a shipped config."""
    return make_plan(load(ROOT / "configs" / f"{name}.yaml", smoke=smoke))


@pytest.mark.parametrize("name", some([path.stem for path in CONFIGS], *SOME))
@pytest.mark.parametrize("smoke", some([False, True], True))
def test_shipped_configs_are_valid(name, smoke):
    assert planned(name, smoke).name == name + ("-smoke" if smoke else "")


def test_shipped_configs_point_editors_at_the_schema():
    line = "# yaml-language-server: $schema=experiment.schema.json\n"
    assert [path for path in CONFIGS if not path.read_text(encoding="utf-8").startswith(line)] == []


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


@pytest.mark.parametrize("name", some([path.stem for path in CONFIGS], *SOME))
def test_a_resolved_config_runs_as_the_original(tmp_path, name):
    plan = planned(name)
    again = tmp_path / "resolved.yaml"
    again.write_text(yaml.safe_dump(plan.experiment.resolved(), sort_keys=False))
    replan = make_plan(load(again))
    assert [curve.key for curve in replan.curves] == [curve.key for curve in plan.curves]
    assert replan.experiment.resolved() == plan.experiment.resolved()


def test_smoke_has_a_folder_of_its_own(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(SMALL + "smoke: {horizon: 100, trials: 8}\n")
    small = load(path, smoke=True)
    assert (small.keys.experiment, small.keys.horizon, small.keys.trials) == ("small-smoke", 100, 8)
    assert Path(path).read_text().startswith("experiment: small\n")
    assert any(":13:" in error for error in errors(tmp_path, SMALL + "smoke: {horizon: 0}\n", smoke=True))


def test_a_single_round_is_a_game(tmp_path):
    plan = plan_of(tmp_path, SMALL, "horizon=1", "checkpoints=1")
    assert plan.trials == 16 and [curve.horizon for curve in plan.curves] == [1] * 6


def test_overrides_of_smoke_say_what_to_shrink_to(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(SMALL + "smoke: {horizon: 100, trials: 8}\n")
    small = load(path, ["smoke.trials=4", "seed=9", "experiment=other"], smoke=True).keys
    assert (small.trials, small.horizon, small.seed, small.experiment) == (4, 100, 9, "other-smoke")


def test_the_only_base_that_fits_need_not_be_named(tmp_path):
    assert plan_of(tmp_path, SMALL, "algorithms[1].base.gamma=0.5").curves[1].algorithm.base.gamma == 0.5


def test_shipped_configs_say_how_their_noise_is_calibrated():
    """They reproduce papers, whose noise is larger than what an entry without `calibration` gets."""

    def entries(given):
        for entry in given:
            if isinstance(entry, dict):
                yield from (inner for inner in (entry, entry.get("base")) if isinstance(inner, dict))

    for name in shipped():
        for entry in entries(yaml.safe_load((ROOT / "configs" / f"{name}.yaml").read_text("utf-8"))["algorithms"]):
            assert entry.get("name") not in ("dp_linucb", "ldp_linucb") or "calibration" in entry, name


def means_of(tmp_path, written):
    text = SMALL.replace(
        "adversary: [stochastic, switching_costs]", f"adversary: {{name: bernoulli, means: {written}}}"
    )
    curves = plan_of(tmp_path, text).curves
    return list({str(curve.adversary.means): curve.swept.get("means") for curve in curves}.items())


def test_lists_of_named_instances_and_of_lists_are_swept(tmp_path):
    assert means_of(tmp_path, "[C1, C2]") == [("C1", "C1"), ("C2", "C2")]
    one, other = [0.5, 0.2, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4]
    assert means_of(tmp_path, f"[C1, {one}]") == [("C1", "C1"), (str(one), one)]
    assert means_of(tmp_path, f"[{one}, {other}]") == [(str(one), one), (str(other), other)]
    assert means_of(tmp_path, str(one)) == [(str(one), None)]
    text = SMALL.replace("adversary: [stochastic, switching_costs]", "adversary: {name: bernoulli, means: [C1, C9]}")
    (found,) = errors(tmp_path, text)
    assert found.startswith("x.yaml:7:42: means should be 'linear', 'convex', ") and found.count("got") == 1
    (found,) = errors(tmp_path, text.replace("[C1, C9]", "[0.5, x, 0.1, 0.1]"))
    assert "x.yaml:7:43: means[1] should be a number, got 'x'" in found


def test_a_list_of_vectors_is_one_value_and_a_list_of_those_is_swept(tmp_path):
    head = "experiment: x\ngame: contextual\nhorizon: 100\ndimension: 2\narms: 2\ntrials: 24\nalgorithms: linucb\n"
    one = "[[1, 0], [0, 1]]"
    plan = plan_of(tmp_path, f"{head}adversary: {{name: fixed_arms, vectors: {one}, theta: [0.5, 0.1]}}\n")
    assert [curve.swept for curve in plan.curves] == [{}]
    plan = plan_of(tmp_path, f"{head}adversary: {{name: fixed_arms, vectors: [{one}], theta: [0.5, 0.1]}}\n")
    assert [curve.swept for curve in plan.curves] == [{"vectors": [[1, 0], [0, 1]]}]
