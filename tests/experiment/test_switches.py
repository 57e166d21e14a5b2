"""The key `switches`, by which regret becomes dynamic."""

import numpy as np
import pytest

from privbandits_cli.actions import run
from privbandits_cli.analysis import curves
from privbandits_cli.analysis.measured import foreign
from privbandits_cli.analysis.rates import theory
from privbandits_cli.engine import Engine
from privbandits_cli.engine.store import Store
from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.experiment.plan import make_plan
from privbandits_cli.figures import table

EXPERTS = """\
experiment: x
game: linear
set: simplex
dimension: 3
horizon: 100
trials: 4
adversary: drifting
algorithms: [ftrl]
summary: {centre: mean}
"""
ARMS = EXPERTS.replace("linear\nset: simplex\ndimension: 3", "bandit").replace("drifting", "stochastic")
ARMS = ARMS.replace("ftrl", "exp3")


def planned(tmp_path, text):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    return make_plan(load(path))


@pytest.mark.parametrize("text", [EXPERTS, ARMS])
def test_without_the_key_nothing_is_new(tmp_path, text):
    """The text of the resolved config has no such key, and the curve keeps its own; with the key it is another."""
    plan, dynamic = planned(tmp_path, text), planned(tmp_path, text + "switches: 2\n")
    assert "switches" not in plan.experiment.resolved() and dynamic.experiment.resolved()["switches"] == 2
    assert plan.curves[0].key != dynamic.curves[0].key
    assert plan.curves[0].setting.switches == 0 and dynamic.curves[0].setting.switches == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (EXPERTS.replace("simplex", "sphere"), "sequences are of arms or of experts: set `set: simplex`"),
        (EXPERTS.replace("simplex", "[simplex, cube]"), "sequences are of arms or of experts: set `set: simplex`"),
        (ARMS.replace("game: bandit", "game: best_arm"), "the game best_arm has no 'switches'"),
        (ARMS.replace("stochastic", "switching_costs"), "it reacts to switches, which the best sequence would pay for"),
    ],
)
def test_sequences_are_of_arms_or_of_experts_that_cost_nothing_to_change(tmp_path, text, message):
    with pytest.raises(ConfigError) as failed:
        planned(tmp_path, text + "switches: 2\n")
    assert message in "\n".join(failed.value.errors)
    planned(tmp_path, ARMS.replace("stochastic", "{name: switching_costs, memory: 0}") + "switches: 2\n")


@pytest.mark.usefixtures("no_figure")
def test_no_bound_on_regret_is_one_on_dynamic_regret(tmp_path):
    """And the figure calls it by its name."""
    rounds = np.array([100.0])
    for text, known in ((EXPERTS, True), (EXPERTS + "switches: 1\n", False)):
        plan = planned(tmp_path, text)
        (curve,) = plan.curves
        assert (theory(curve.algorithm, curve.adversary, curve.setting, rounds).bound is not None) == known
        folder = tmp_path / str(known)
        run.run(plan, Store(folder), Engine(), 1, ["test"])
        drawn = table.table(curves.read(folder), bounds=True)
        assert all((line.bound is not None) == known for lines in drawn.panels.values() for line in lines)
        other = planned(tmp_path, EXPERTS + "switches: 1\n" * known).experiment
        assert foreign(folder, plan.experiment) == "" and "another switches" in foreign(folder, other)
        assert drawn.labels()[1] == ("regret" if known else "dynamic regret")
        assert any("at most 1 change" in note for note in drawn.notes()) != known
