"""The game `best_arm`: the cap, blocks, and what counts as wrong."""

import numpy as np
import pytest

from privbandits_cli.algorithms import dp_sprt, eb_tci, uniform_best_arm
from privbandits_cli.games import best_arm
from privbandits_cli.games.players import Setting
from tests.conftest import foe, make


def play(algorithm, means, cap, trials=4, seed=3):
    setting = Setting(cap, len(means))
    return best_arm.play(algorithm.tuned(setting), foe("bernoulli", means=means), setting, range(trials), seed)


def test_tau_counts_the_first_play_of_every_arm():
    found = play(uniform_best_arm.Parameters(), [0.0, 1.0, 0.0], 11)
    assert found.pulls.tolist() == [9] * 4 and found.answers.tolist() == [1] * 4
    assert found.plays.tolist() == [[3, 3, 3]] * 4 and not found.capped.any() and found.wrong(1) == 0
    assert found.wrong(0) == 4


@pytest.mark.parametrize("cap", [1, 511, 512, 513, 3000])
def test_a_trial_that_reaches_the_cap_has_no_answer(cap):
    found = play(eb_tci.Parameters(), [0.5, 0.5], cap)
    assert found.capped.all() and (found.pulls == cap).all() and (found.plays.sum(1) == cap).all()
    assert found.wrong(0) == found.wrong(1) == 0


def test_the_cap_and_the_blocks_change_no_other_number(monkeypatch):
    whole = play(eb_tci.Parameters(), [0.6, 0.5, 0.4], 50_000)
    assert not whole.capped.any()
    half = play(eb_tci.Parameters(), [0.6, 0.5, 0.4], int(np.median(whole.pulls)))
    assert half.capped.any() and not half.capped.all()
    same = ~half.capped
    np.testing.assert_array_equal(half.pulls[same], whole.pulls[same])
    monkeypatch.setattr(best_arm, "FIRST", 100)
    for one, other in zip(play(eb_tci.Parameters(), [0.6, 0.5, 0.4], 50_000), whole, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_trial_does_not_depend_on_the_others():
    four = play(dp_sprt.Parameters(epsilon=1.0, mu0=0.3, mu1=0.7), [0.5], 5000)
    two = play(dp_sprt.Parameters(epsilon=1.0, mu0=0.3, mu1=0.7), [0.5], 5000, trials=2)
    for one, other in zip(two, four, strict=True):
        np.testing.assert_array_equal(one, other[:2])


def test_blocks_cover_the_rounds():
    for cap in (1, 512, 513, 100_000):
        rounds = [t for block in best_arm.blocks(cap) for t in block]
        assert rounds == list(range(1, cap + 1))


def test_a_learner_without_a_stop_is_refused():
    with pytest.raises(TypeError, match="ucb1 has no step `stop`"):
        play(make("ucb1"), [0.5, 0.4], 100)


def test_a_bandit_learner_with_a_stop_plays_both_games():
    found = play(make("dp_se", epsilon=10.0, beta=0.1), [0.9, 0.1], 100_000)
    assert found.answers.tolist() == [0] * 4
