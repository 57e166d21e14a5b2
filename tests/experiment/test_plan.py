"""Plans: sweeps, checkpoints, keys and labels of curves."""

import numpy as np
import pytest

from privbandits_cli.experiment.config import load
from privbandits_cli.experiment.plan import make_plan
from tests.conftest import ROOT, SMALL
from tests.experiment.test_config import plan_of


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


def test_private_curves_carry_their_epsilon():
    plan = make_plan(load(ROOT / "configs" / "fig1.yaml"))
    assert [curve.label for curve in plan.curves[:3]] == [
        "EXP3",
        "DP-EXP3-Lap (ε = 243.3)",
        "EXP3-τ (ε = 1.504, δ = 1.5e-11)",
    ]
    assert plan.trials * sum(curve.horizon for curve in plan.curves) == 2_831_155_200


def test_equal_labels_are_distinguished_by_what_differs(tmp_path):
    text = SMALL.replace("  - exp3\n", "  - {name: exp3, gamma: 0.1}\n  - {name: exp3, gamma: 0.2}\n")
    plan = plan_of(tmp_path, text, "adversary=[{name: stochastic, best: 0.6}, {name: stochastic, best: 0.9}]")
    assert [curve.label for curve in plan.curves[:2]] == ["EXP3 (gamma = 0.1)", "EXP3 (gamma = 0.2)"]
    assert {curve.adversary_label for curve in plan.curves} == {"Stochastic (best = 0.6)", "Stochastic (best = 0.9)"}
    text = SMALL.replace("- exp3_tau", "- {name: exp3_tau, tau: 10}\n  - {name: exp3_tau, tau: 10, epsilon: 1}")
    ends = [curve.label.split(" (")[-1] for curve in plan_of(tmp_path, text, "adversary=stochastic").curves]
    assert ends[-2:] == ["epsilon = none)", "epsilon = 1)"]
    same = SMALL.replace("- exp3\n", "- {name: exp3, label: A}\n").replace("- exp3_tau", "- {name: exp3_tau, label: A}")
    assert len({curve.label for curve in plan_of(tmp_path, same).curves}) == 3


def test_a_wrapper_of_a_private_base_carries_its_epsilon(tmp_path):
    text = SMALL.replace("- exp3_tau", "- {name: mini_batch, tau: 10, base: {name: dp_exp3_lap, epsilon: 2}}")
    assert plan_of(tmp_path, text).curves[2].label == "DP-EXP3-Lap-τ (ε = 0.2)"


@pytest.mark.parametrize(
    ("name", "jobs", "sizes"),
    [
        ("linucb_rho", 2, [8, 8, 8, 6] * 5),  # 30 trials of five games
        ("linucb_plain_dp", 2, [8, 8, 8, 8]),  # fewer would leave lanes empty
        ("linucb_plain_dp", 8, [4] * 8),  # but every job has some
        ("linucb_plain_dp", 100, [1] * 32),
        ("heavy_central", 2, [32, 28] * 2),  # 60 trials of two games: as many as play at once
        ("heavy_central", 4, [16, 16, 16, 12] * 2),  # whole vectors of 16 trials, not chunks of 30
        ("bounded_private", 2, [20] * 4),  # all trials of a game, not 16 of them
        ("bounded_private", 8, [8, 8, 4] * 4),
        ("linucb_dimension", 2, [3] * (33 * 34) + [1] * 34),  # arms on demand: one trial after the other
    ],
)
def test_chunks_hold_as_many_trials_as_play_at_once(name, jobs, sizes):
    plan = make_plan(load(ROOT / "configs" / f"{name}.yaml"))
    chunks = list(plan.chunks(lambda curve: np.empty(0, np.int64), jobs))
    assert sorted(len(chunk.trials) for chunk in chunks) == sorted(sizes)


def test_the_longest_games_are_played_first():
    """Of chunks with the same first trial: by horizon in a sweep of it, by arms where all horizons are equal."""
    lengths = {"heavy_scaling": lambda match: match.checkpoints[-1], "linucb_dimension": lambda m: m.setting.n_arms}
    for name, length in lengths.items():
        plan = make_plan(load(ROOT / "configs" / f"{name}.yaml"))
        chunks = list(plan.chunks(lambda curve: np.empty(0, np.int64), 2))
        first = [length(chunk.match) for chunk in chunks if chunk.trials[0] == 0]
        assert len(set(first)) > 5 and first == sorted(first, reverse=True)
