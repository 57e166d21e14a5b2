"""The auditor of the game `contextual`: how it transforms noise, the mutants it catches, the algorithms it accepts."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.audit import answers, grams
from privbandits_cli.audit.auditor import audit, reduced
from privbandits_cli.audit.gram_reports import canaries
from privbandits_cli.games.contextual import Contexts, Setting
from tests.audit import FAST, SEEDS, each
from tests.audit.mutants import CORRECT, MUTANTS
from tests.conftest import make, some
from tests.naive_contextual import bartlett, symmetric_gaussian

CONTEXTUAL = [name for name, subject in CORRECT.items() if subject.setting.contexts]
SETTING = Setting(5e7, 25, contexts=Contexts(5))


def tuned(setting, **own):
    return make("dp_linucb", **({"epsilon": 1.0, "delta": 0.1, "calibration": "code"} | own)).tuned(setting)


def test_the_nodes_that_a_game_draws_by_hand():
    """Five rounds, m = 4: at t = 0 four nodes; t = 1: level 0, 2: 0 and 1, 3: 0, 4: 0, 1 and 2."""
    levels, rounds = grams.drawing(5, 4)
    assert levels.tolist() == [0, 1, 2, 3, 0, 0, 1, 0, 0, 1, 2]
    assert rounds.tolist() == [0, 0, 0, 0, 1, 2, 2, 3, 4, 4, 4]
    assert len(grams.drawing(2**16, 17)[0]) == 17 + 2**17 - 1 - 17


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_canaries_have_full_norm_and_nearly_orthogonal_rows(d):
    known = Contexts(d, norm=2.0, reward=1.5)
    rows = canaries(known, 0.5)
    assert np.linalg.norm(rows, axis=1) == pytest.approx([known.row_norm()] * 2)
    assert np.linalg.norm(rows[:, :-1], axis=1) == pytest.approx([2.0, 2.0])


def test_wishart_noise_becomes_its_factor():
    rng = np.random.default_rng(1)
    factor = np.tril(rng.standard_normal((4, 4)), -1) + np.diag([9.0, 8.0, 7.0, 0.0])
    made, last = grams.factors((2.0 * factor @ factor.T)[None, :3], 2.0)
    np.testing.assert_allclose(made[0], factor[:3, :3], atol=1e-12)
    np.testing.assert_allclose(last[0], factor[3, :3], atol=1e-12)
    assert grams.factors(-np.ones((1, 2, 3)), 1.0) is None


@pytest.mark.parametrize("noise", ["gaussian", "wishart"])
def test_noise_of_the_twins_conforms_and_a_twentieth_less_does_not(noise):
    rng, law = np.random.default_rng(2), tuned(SETTING, noise=noise, calibration="exact").view(SETTING).noise

    def node():
        if noise == "gaussian":
            return symmetric_gaussian(5, law.sigma, rng)[:5]
        return bartlett(5, law.scale, law.rows, rng)[:5]

    nodes, levels, rounds = np.array([node() for _ in range(2000)]), np.arange(2000) % 3, np.arange(2000)
    assert grams.conformance(nodes, levels, rounds, law, 5e-4).p > 1e-3
    assert grams.conformance(0.95 * nodes, levels, rounds, law, 5e-4).p < 1e-6
    levels[-4:], nodes[-4:] = 12, nodes[-4:] * 0.25
    found = grams.conformance(nodes, levels, rounds, law, 5e-4)
    assert found.p < 1e-6 and found.where == "level 12, later rounds"
    assert 0 < found.share < 1 and found.weakest


def test_the_score_is_the_likelihood_ratio_of_the_whole_wishart_density():
    """With the corner integrated out: density ratios of V and u, from SciPy's Wishart and normal laws."""
    setting, rng = Setting(5e7, 25, contexts=Contexts(2)), np.random.default_rng(3)
    law = tuned(setting, noise="wishart", calibration="exact").view(setting).noise
    square, k = setting.known().row_norm() ** 2, law.rows
    nodes = np.array([bartlett(2, square, k, rng)[:2] for _ in range(3)])
    by_hand = [
        stats.wishart(k, square * np.eye(2)).logpdf(x[:, :2])
        + stats.multivariate_normal(np.zeros(2), square * x[:, :2]).logpdf(x[:, 2])
        for x in nodes
    ]
    found = grams.log_density(nodes, law)
    np.testing.assert_allclose(np.diff(found), np.diff(by_hand), rtol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("test", some(["bets", "counts"], "bets"))
@pytest.mark.parametrize("budget", some([2**11, 2**15], 2**11))
@pytest.mark.parametrize("name", some(CONTEXTUAL, *FAST))  # the others in short games: tests/audit/test_short_games.py
def test_no_correct_algorithm_is_flagged(name, budget, test, seed):
    found = CORRECT[name].audited(0.001, budget, seed, test)
    assert found.verdict == "CONSISTENT", found.found


@pytest.mark.slow
@pytest.mark.parametrize("mutant", each([mutant for mutant in MUTANTS if mutant.subject in CONTEXTUAL]))
def test_every_mutant_is_caught(mutant):
    assert mutant.audited(0.001, 2**18, 0).verdict == "VIOLATION"


@pytest.mark.parametrize("name", [name for name in CONTEXTUAL if name in FAST])
def test_fast_mutants_are_caught_with_a_small_budget(name):
    found = [m.audited(0.001, 2**14, 0).verdict for m in MUTANTS if m.subject == name and m.name in FAST[name]]
    assert found == ["VIOLATION"] * len(FAST[name])


@pytest.mark.slow
def test_the_first_rounds_of_a_long_game_are_audited_with_its_parameters():
    algorithm = tuned(SETTING, noise="wishart", calibration="exact")
    assert reduced(algorithm, SETTING).horizon == reduced(tuned(SETTING), SETTING).horizon == 5e7
    found = audit(algorithm, SETTING, budget=2**12)
    assert found.verdict == "CONSISTENT" and "k = " in found.claim and "in 50,000,000 rounds" in found.claim
    assert found.played.startswith("games: 2 of 2,048 rounds, 64 of 64 rounds, 128 of 1 round; T = 50,000,000, d = 5")
    assert found.assumed == "rounds after 2,048 are like these"


@pytest.mark.slow
def test_the_configured_game_is_audited_with_all_its_levels():
    setting = Setting(2**16, 25, contexts=Contexts(3))
    found = audit(tuned(setting), setting)
    assert found.verdict == "CONSISTENT" and "4 of 65,536 rounds" in found.played and found.cost >= 2**18


def test_algorithms_without_a_guarantee_are_not_auditable():
    for algorithm in (make("linucb"), make("plain_dp_linucb", epsilon=0.5, base=make("linucb"))):
        assert audit(algorithm.tuned(SETTING), SETTING, budget=2**10).verdict == "NOT AUDITABLE"


@pytest.mark.parametrize("period", [1, 3, 700])
def test_answers_that_use_a_coin_again_are_not_independent(period):
    rng, rounds = np.random.default_rng(5), np.arange(1, 2**14 + 1)
    fresh = rng.random(2**14) < 0.1
    assert answers.dependence(fresh, rounds)[0] > 1e-3
    again = np.where(np.arange(2**14) // period % 2 == 0, fresh, np.roll(fresh, period))
    p, lag = answers.dependence(again, rounds)
    assert p < 1e-9 and lag == period


@pytest.mark.slow
def test_a_field_that_carries_a_reward_past_the_view_is_named():
    check_carrier()


@pytest.mark.usefixtures("plainly")
def test_a_field_that_carries_a_reward_past_the_view_of_a_short_game_is_named(monkeypatch):
    subject = CORRECT["dp_linucb"]
    monkeypatch.setitem(CORRECT, "dp_linucb", replace(subject, setting=subject.setting._replace(horizon=16)))
    check_carrier()


def check_carrier():
    mutant = next(m for m in MUTANTS if m.name == "β grows with rewards")
    found = mutant.audited(0.001, 2**14, 0)
    assert found.verdict == "VIOLATION"
    assert found.found.endswith("another arm is played: the field `widths` of the state carries them")
