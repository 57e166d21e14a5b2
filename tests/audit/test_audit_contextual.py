"""The auditor of the game `contextual`: how it transforms noise, the mutants it catches, the algorithms it accepts."""

from dataclasses import replace

import numpy as np
import pytest

from privbandits_cli.audit.auditor import audit, reduced
from privbandits_cli.audit.context_loops import earn
from privbandits_cli.audit.contexts import costliest, products
from privbandits_cli.games.contextual import Contexts, Setting
from tests.audit import SEEDS
from tests.audit.mutants import CORRECT, MUTANTS
from tests.conftest import make, some

CONTEXTUAL = [name for name, subject in CORRECT.items() if subject.setting.contexts]
SETTING = Setting(5e7, 25, contexts=Contexts(5))


def tuned(setting, **own):
    return make("dp_linucb", **({"epsilon": 1.0, "delta": 0.1, "calibration": "code"} | own)).tuned(setting)


@pytest.mark.parametrize("d", some([1, 2, 3], 1, 2))
def test_the_costliest_pair_of_records_by_hand(d):
    """L = B = 1: symmetric noise, with √2 on the diagonal, costs μ = 2/σ. Equal noise costs √4.5/σ from two rows on."""
    weights, known, rng = np.ones(d * (d + 3) // 2), Contexts(d), np.random.default_rng(1)
    assert costliest(weights, known, False, rng) == pytest.approx(4.0 if d == 1 else 4.5, rel=1e-9)
    assert costliest(np.ones(d), known, True, rng) == pytest.approx(4.0, rel=1e-9)
    weights[[i * (i + 3) // 2 + i for i in range(d)]] = 0.5
    assert costliest(weights, known, False, rng) == pytest.approx(4.0, rel=1e-9)
    assert costliest(np.ones(d), known._replace(nonnegative=True), True, rng) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("low", [0.0, -1.0])
def test_rewards_are_those_of_the_game(low):
    """If the game has no reward below 0, an honest learner may rely on that."""
    arms, rng, row, seen = np.eye(2) / 2, np.random.default_rng(1), np.zeros(3), []
    for t in range(400):
        earn(arms, t % 2, np.array([0.6, -0.6, 1.0, low]), rng.uniform(-1, 1), t, row)
        seen.append(row[2])
    assert min(seen) == low and max(seen) == 1.0 and len(set(seen)) > 50


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_costliest_pair_of_records_for_laplace_noise(d):
    """With d = 1 it is x = 1 and x = 1/2, whose rewards differ: 1 - 1/4 and 1 + 1/2. Public arms cost 2 |x|_1."""
    weights, known, rng = np.ones(d * (d + 3) // 2), Contexts(d), np.random.default_rng(1)
    found = costliest(weights, known, False, rng, 1)
    assert costliest(np.ones(d), known, True, rng, 1) == pytest.approx(2 * np.sqrt(d), rel=1e-6)
    assert found == pytest.approx(2.25, rel=1e-6) if d == 1 else found > 2.25
    for _ in range(2000):
        arms, rewards = rng.standard_normal((2, d)), rng.choice([-1.0, 1.0], 2)
        arms *= (rng.random((2, 1)) ** 0.25) / np.linalg.norm(arms, axis=1, keepdims=True)
        one, other = (products(np.append(arm, y), len(weights)) for arm, y in zip(arms, rewards, strict=True))
        assert np.abs(one - other).sum() <= found * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("budget", [2**11, 2**15])
@pytest.mark.parametrize("name", CONTEXTUAL)  # in short games: tests/audit/test_mutants.py
def test_no_correct_algorithm_is_flagged(name, budget, seed):
    found = CORRECT[name].audited(0.001, budget, seed)
    assert found.verdict == "CONSISTENT", found.found


@pytest.mark.slow
def test_a_mutant_is_caught_with_a_small_budget():
    (mutant,) = (m for m in MUTANTS if (m.subject, m.name) == ("dp_linucb", "noise scale x 0.9"))
    assert mutant.audited(0.001, 2**14, 0).verdict == "VIOLATION"


@pytest.mark.slow
def test_the_first_rounds_of_a_long_game_are_audited_with_its_parameters():
    algorithm = tuned(SETTING, noise="wishart", calibration="exact")
    assert reduced(algorithm, SETTING).horizon == reduced(tuned(SETTING), SETTING).horizon == 5e7
    found = audit(algorithm, SETTING, budget=2**12)
    assert found.verdict == "CONSISTENT" and found.claim.endswith("of all noisy sums")
    assert found.played.startswith("games: 1 of 4,096 rounds, 16 of 64 rounds; T = 50,000,000, d = 5")
    assert found.assumed == "rounds after 4,096 are like these"


@pytest.mark.slow
def test_the_configured_game_is_audited_with_all_its_levels():
    setting = Setting(2**16, 25, contexts=Contexts(3))
    found = audit(tuned(setting), setting)
    assert found.verdict == "CONSISTENT" and "3 of 65,536 rounds" in found.played and found.cost >= 2**16


def test_algorithms_without_a_guarantee_are_not_auditable():
    for algorithm in (make("linucb"), make("plain_dp_linucb", epsilon=0.5, base=make("linucb"))):
        assert audit(algorithm.tuned(SETTING), SETTING, budget=2**10).verdict == "NOT AUDITABLE"


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
