"""DP-Robust-SE: its first epochs, by the notes and by hand."""

import math

import pytest

from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.games.steps import composition, steps
from tests.conftest import make


def test_first_epochs_at_the_printed_constants():
    """Values of the notes: u = 1, K = 5, β = 1/T; five arms take 0.19 of T = 1e6 and 1.67 of 1e5 rounds, at v = 1."""
    for horizon, share in ((10**5, 1.67), (10**6, 0.19)):
        algorithm = make("dp_robust_se", v=1.0, u=1.0, constants=1.0)
        setting = Setting(horizon, 5)
        assert algorithm.tuned(setting).first_epoch(setting) / horizon == pytest.approx(share, rel=0.03)
        assert bool(algorithm.tuned(setting).remarks(setting)) == (share > 1)


def test_an_epoch_of_dp_robust_se_by_hand():
    """Two arms, c so small that R = 2: means of two truncated gains, with noise in the last cycle alone."""
    setting = Setting(10, 2)
    algorithm = make("dp_robust_se", epsilon=1.0, v=1.0, u=1.0, constants=0.001, beta=0.1).tuned(setting)
    bound, state = steps(composition(algorithm)), algorithm.state(setting)[0]
    log = math.log(4 * 2 / 0.1)
    assert state.cycles == 2 and state.bound == pytest.approx(math.sqrt(2 / log))
    assert state.threshold == pytest.approx(12 * 0.001 * math.sqrt(log / 2))
    for t, (arm, gain) in enumerate([(0, 0.5), (1, 0.4), (0, 9.0), (1, 0.1)]):  # 9 is cut to 0
        draws = Draws(0.0, 0.3 if t >= 2 else 100.0)
        assert bound["choose"](state, draws) == arm
        bound["update"](state, arm, gain, draws)
    noise = 0.3 * 2 * math.sqrt(2 / log) / 2
    assert state.means.tolist() == pytest.approx([0.25 + noise, 0.25 + noise])
    assert state.left == 2 and state.epoch == 2 and state.sums.tolist() == [0.0, 0.0]
