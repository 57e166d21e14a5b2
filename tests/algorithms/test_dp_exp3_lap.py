"""DP-EXP3-Lap: the threshold b and the regret bound."""

import math

import numpy as np
import pytest

from privbandits_cli.games.bandit import Setting
from tests.accounting.test_composition import K, T
from tests.conftest import make


def test_rejected_rounds_count_in_the_bound_at_threshold_zero():
    setting, end = Setting(T, K), np.array([float(T)])
    everything = make("dp_exp3_lap", epsilon=10.0, b=0.0).tuned(setting).regret_bound(end, setting)[0]
    assert everything > 2 * T * K
    assert make("dp_exp3_lap", epsilon=math.inf).tuned(setting).regret_bound(end, setting)[0] == pytest.approx(3160.857)


def test_least_bound_threshold_is_the_least():
    setting, horizon = Setting(T, K), np.array([float(T)])
    for epsilon in (0.1, 1.0, 50.0):
        best = make("dp_exp3_lap", epsilon=epsilon, b="least_bound").tuned(setting)
        least = best.regret_bound(horizon, setting)[0]
        for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0):
            other = make("dp_exp3_lap", epsilon=epsilon, b=best.b * factor).tuned(setting)
            assert other.regret_bound(horizon, setting)[0] >= least - 1e-9
