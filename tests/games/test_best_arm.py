"""The game `best_arm`: the cap, blocks, lockstep, and what counts as wrong."""

import numpy as np
import pytest

from privbandits_cli.algorithms import dp_sprt, dp_tt, eb_tci, uniform_best_arm
from privbandits_cli.games import best_arm
from privbandits_cli.games.match import Match
from privbandits_cli.games.players import Setting
from tests.conftest import foe, make, outcomes, playing, some

MEANS = [0.6, 0.5, 0.4]


def setting_for(algorithm, cap, n_arms):
    return Setting(cap, n_arms, confidence=None if isinstance(algorithm, best_arm.Budgeted) else 0.99)


def play(algorithm, means, cap, trials=4, seed=3, **how):
    setting = setting_for(algorithm, cap, len(means))
    return outcomes(algorithm.tuned(setting), foe("bernoulli", means=means), setting, trials, seed, **how)


def equal(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_tau_counts_the_first_play_of_every_arm():
    found = play(uniform_best_arm.Parameters(), [0.0, 1.0, 0.0], 11)
    assert found.pulls.tolist() == [9] * 4 and found.answers.tolist() == [1] * 4
    assert not found.capped.any() and found.wrong(1) == 0 and found.wrong(0) == 4


@pytest.mark.parametrize("cap", [1, 511, 512, 513, 1400])
def test_a_trial_that_reaches_the_cap_has_no_answer(cap):
    found = play(eb_tci.Parameters(), [0.505, 0.5], cap)
    assert found.capped.all() and (found.pulls == cap).all()
    assert found.wrong(0) == found.wrong(1) == 0
    assert set(found.regrets.ravel().round(9)) <= {0.0, 0.005}  # a recommendation is no answer


def test_the_cap_the_blocks_and_the_group_change_no_other_number():
    whole = play(eb_tci.Parameters(), MEANS, 50_000, 40)
    assert not whole.capped.any()
    half = play(eb_tci.Parameters(), MEANS, int(np.median(whole.pulls)), 40)
    assert half.capped.any() and not half.capped.all()
    same = ~half.capped
    np.testing.assert_array_equal(half.pulls[same], whole.pulls[same])
    for how in ({"block": 100}, {"block": 2**14}, {"width": 1}, {"width": 16}):
        equal(play(eb_tci.Parameters(), MEANS, 50_000, 40, **how), whole)
    equal(play(eb_tci.Parameters(), MEANS, 50_000, 3), [part[:3] for part in whole])


def test_a_test_of_one_mean_has_two_answers():
    four = play(dp_sprt.Parameters(epsilon=1.0, mu0=0.3, mu1=0.7), [0.7], 5000)
    two = play(dp_sprt.Parameters(epsilon=1.0, mu0=0.3, mu1=0.7), [0.7], 5000, trials=2)
    equal(two, [part[:2] for part in four])
    assert four.answers.tolist() == [1] * 4


@pytest.mark.parametrize(
    ("mean", "regrets"),
    [(0.7, [0.4, 0.0]), (0.8, [0.5, 0.0]), (0.3, [0.0, 0.4]), (0.2, [0.0, 0.5]), (0.5, [0.0, 0.0])],
)
def test_answers_of_a_test_are_wrong_if_the_other_one_holds(mean, regrets):
    test = dp_sprt.Parameters(epsilon=1.0, mu0=0.3, mu1=0.7)
    assert test.regrets(np.array([mean])).tolist() == pytest.approx(regrets)
    assert test.regrets(np.array([0.25, 0.75])).tolist() == [0.5, 0.0]  # two arms are compared
    never = dp_sprt.Parameters(epsilon=1.0, mu0=0.1, mu1=0.2)
    found = play(never, [0.9], 5000)  # far above both means: the answer is mu1
    assert found.answers.tolist() == [1] * 4 and not found.regrets[:, -1].any()


def test_a_wrong_answer_of_a_test_has_a_regret():
    """With α = ½, μ1 is said under μ0 in some trials, whose regret is then μ1 - μ0."""
    found = play(dp_sprt.Parameters(epsilon=1e6, mu0=0.4, mu1=0.6, alpha=0.5, beta=0.5), [0.4], 5000, trials=32)
    wrong = found.answers == 1
    assert wrong.any() and not wrong.all()
    np.testing.assert_allclose(found.regrets[:, -1], np.where(wrong, 0.2, 0.0))


def test_one_arm_leaves_nothing_to_compare():
    for name in playing("algorithms", "best_arm"):
        algorithm = make(name)
        said = " ".join(algorithm.errors(setting_for(algorithm, 1000, 1)))
        assert ("give two means or more" in said) == (name != "dp_sprt"), name


def test_checkpoints_show_the_recommendation_and_then_the_answer():
    """The regrets are those of the arms that a trial of one round more would name."""
    setting, adversary = Setting(4000, 3, confidence=0.99), foe("bernoulli", means=MEANS)
    algorithm = eb_tci.Parameters().tuned(setting)
    rounds = np.array([1, 2, 7, 300, 512, 513, 1500, 4000])
    found = best_arm.play(Match(adversary, [algorithm], setting, rounds, 2), range(6))[0]
    assert found.shape == (6, len(rounds) + 2)
    for i, t in enumerate(rounds):
        short = best_arm.play(Match(adversary, [algorithm], setting, rounds[i : i + 1], 2), range(6))[0]
        np.testing.assert_array_equal(found[:, i], short[:, 0])
        np.testing.assert_array_equal(np.minimum(found[:, -2], t), short[:, 1])
    assert set(found[:, :-2].ravel().round(9)) <= {0.0, 0.1, 0.2} and len(np.unique(found[:, 0])) >= 1
    answered = found[:, -1] >= 0
    below = 0.6 - np.array(MEANS)
    np.testing.assert_allclose(found[answered, -3], below[found[answered, -1].astype(int)])


def test_without_recommendations_nothing_is_named_before_the_answer():
    setting, adversary = Setting(60, 3), foe("bernoulli", means=MEANS)
    one = Match(adversary, [uniform_best_arm.Parameters()], setting, np.array([30, 59, 60]), 2)
    found = best_arm.play(one, range(3))[0]
    assert (found[:, :2] == best_arm.NONE).all() and (found[:, 2] >= 0).all() and (found[:, 3] == 60).all()


@pytest.mark.slow
def test_each_learner_of_a_match_plays_as_it_does_alone():
    setting, adversary = Setting(20_000, 3, confidence=0.95), foe("bernoulli", means=MEANS)
    every = [eb_tci.Parameters(), dp_tt.Parameters(epsilon=1.0).tuned(setting)]
    rounds = np.array([100, 20_000])
    both = best_arm.play(Match(adversary, every, setting, rounds, 2), range(20))
    for algorithm, found in zip(every, both, strict=True):
        alone = best_arm.play(Match(adversary, [algorithm], setting, rounds, 2), range(20), width=1)
        np.testing.assert_array_equal(found, alone[0])
    assert both[0, :, -2].max() < both[1, :, -2].max()


EVERY = {
    "eb_tci": {},
    "track_and_stop": {},
    "successive_elimination": {},
    "dp_se": {"epsilon": 1.0},
    "adap_tt": {"epsilon": 1.0},
    "adap_tt_star": {"epsilon": 1.0},
    "dp_tt": {"epsilon": 1.0},
    "dp_uniform": {"epsilon": 1.0},
    "ctb_tt": {"epsilon": 2.0},
    "dp_uniform_best_arm": {"epsilon": 1.0},
    "dp_halving": {"epsilon": 1.0},
}


@pytest.mark.parametrize("name", some(EVERY, "dp_se"))
def test_trials_that_stop_in_different_rounds_play_in_lockstep(name):
    algorithm = make(name, **EVERY[name])
    algorithm = algorithm.in_game("best_arm") if algorithm.also else algorithm
    together, alone = (play(algorithm, [0.2, 0.9, 0.5], 12_000, 16, 4, width=width) for width in (32, 1))
    equal(together, alone)
    assert not alone.capped.all()


def test_blocks_cover_the_rounds():
    setting, adversary = Setting(10, 3, confidence=0.9), foe("bernoulli", means=MEANS)
    for cap in (1, 511, 512, 513, 100_000):
        one = Match(adversary, [eb_tci.Parameters()], setting, np.array([cap]), 0)
        blocks = list(best_arm.Games(one, range(16), 16, 2**14).blocks())
        assert [t for block in blocks for t in block] == list(range(1, cap + 1))
        assert len(blocks[0]) == min(cap, best_arm.FIRST) and len(blocks) < 8 + cap / 1000


def test_a_bandit_learner_with_a_stop_plays_both_games():
    bandit_learner = make("dp_se", epsilon=10.0)
    found = play(bandit_learner.in_game("best_arm"), [0.9, 0.1], 100_000)
    assert found.answers.tolist() == [0] * 4
    assert bandit_learner.tuned(Setting(1000, 2)).beta == 1e-3
    assert bandit_learner.in_game("best_arm").tuned(Setting(1000, 2, confidence=0.99)).beta == 0.01


@pytest.mark.parametrize(
    ("name", "given", "reason"),
    [
        ("bernoulli", {"means": [0.5, 0.7, 0.7]}, "the arms 1 and 2 both have the largest mean, 0.7"),
        ("stochastic", {"best": 0.4}, "the arms 1 and 2 both have the largest mean, 0.5"),
        ("constrained", {}, "have no fixed means"),
        ("oblivious", {}, "have no fixed means"),
        ("switching_costs", {}, "have no fixed means"),
        ("student_t", {}, "gains outside \\[0, 1\\]"),
    ],
)
def test_adversaries_without_one_best_arm_are_refused(name, given, reason):
    setting = Setting(100, 3)
    adversary = foe(name, **given).tuned(setting)
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(*best_arm.unfit(adversary, setting))
    assert not list(best_arm.unfit(foe("stochastic"), setting))
    assert not list(best_arm.unfit(foe("bernoulli", means="linear"), setting))
