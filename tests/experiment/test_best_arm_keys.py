"""Keys of a config in the game best_arm."""

import pytest

from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.experiment.plan import make_plan

CONFIG = """\
experiment: x
game: best_arm
confidence: 0.9
horizon: 1000
arms: means
trials: 5
adversary:
  - {name: bernoulli, means: [0.6, 0.4]}
  - {name: bernoulli, means: [0.7, 0.5, 0.2]}
algorithms: [{name: dp_tt, epsilon: 1}]
"""


def written(tmp_path, text):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    return path


def test_each_adversary_may_have_as_many_arms_as_it_lists_means(tmp_path):
    plan = make_plan(load(written(tmp_path, CONFIG)))
    assert [curve.setting.n_arms for curve in plan.curves] == [2, 3]
    fixed = make_plan(load(written(tmp_path, CONFIG.replace("means\n", "2\n").replace(", 0.2", ""))))
    assert [curve.setting.n_arms for curve in fixed.curves] == [2, 2]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("means: [0.6, 0.4]", "means: C2", "`arms: means` needs a list of means: give bernoulli one"),
        ("arms: means", "arms: d^2", "'d^2' is for the game contextual: give a number"),
        ("arms: means", "arms: 1", "or should be 'd^2' or 'means', got 1"),
        ("means: [0.6, 0.4]", "means: [0.6]", "dp_tt compares arms, and there is only one: give two means or more"),
        ("game: best_arm\nconfidence: 0.9", "game: bandit", "'means' is for the game best_arm: give a number"),
    ],
)
def test_who_may_leave_the_number_of_arms_out(tmp_path, old, new, message):
    with pytest.raises(ConfigError) as failed:
        load(written(tmp_path, CONFIG.replace(old, new)))
    assert message in "\n".join(failed.value.errors)


def test_no_median_of_means_is_made_of_these_trials(tmp_path):
    """So they need not be a multiple of its groups."""
    assert load(written(tmp_path, CONFIG)).keys.trials == 5


def test_one_mean_is_tested(tmp_path):
    one = CONFIG.replace("dp_tt, ", "dp_sprt, mu0: 0.3, mu1: 0.7, ").replace("[0.6, 0.4]", "[0.7]")
    one = one.replace("  - {name: bernoulli, means: [0.7, 0.5, 0.2]}\n", "")
    assert [curve.setting.n_arms for curve in make_plan(load(written(tmp_path, one))).curves] == [1]
