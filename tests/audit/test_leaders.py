"""Audits of leaders by report-noisy-max: the probabilities of experts, and noise that cannot be audited."""

from dataclasses import replace

import numpy as np
import pytest

from privbandits_cli.audit.auditor import audit
from privbandits_cli.audit.leaders import _race
from privbandits_cli.audit.target import Target
from privbandits_cli.games.linear import Setting, Simplex
from privbandits_cli.games.steps import composition, steps
from tests.audit.mutants import CORRECT, Mutant
from tests.conftest import make

SMALL = Setting(2**9, 3, space=Simplex(3))


def raced(setting=SMALL, **own):
    algorithm = make("rnm_ftnl", **own).tuned(setting)
    setup = algorithm, setting, algorithm.view(setting), steps(composition(algorithm)), algorithm.state(setting)
    return _race(Target(*setup, algorithm.guarantee(setting), alpha=0.001, budget=2**12, seed=0))


def test_the_mean_chance_of_an_expert_is_that_of_the_exponential_mechanism():
    """Within five standard errors over 2,000 tables of the other numbers; control: another ε."""
    race, sums = raced(epsilon=1.5, noise="gumbel"), np.array([0.0, 1.0, 2.5])
    state = race.target.state.copy()
    state["losses"] = sums
    for i in range(3):
        chances = np.exp([race.log_chance(state, own, i) for own in race.tables("others", 2000)])
        right, wrong = (np.exp(-epsilon * sums / 2) / np.exp(-epsilon * sums / 2).sum() for epsilon in (1.5, 2.5))
        error = 5 * chances.std() / np.sqrt(len(chances))
        assert abs(chances.mean() - right[i]) < error
        assert i == 1 or abs(chances.mean() - wrong[i]) > error


def test_the_chance_of_an_expert_under_laplace_noise_by_hand():
    """Lap(2): expert 0 has lost 3 and leads if 2 Z + 3 < 0.5, so if Z < -1.25."""
    race = raced(epsilon=1.0)
    state = race.target.state.copy()
    state["losses"] = [3.0, 0.5, 4.0]
    found = race.log_chance(state, np.array([9.0, 0.0, 0.0]), 0)
    assert found == pytest.approx(-1.25 - np.log(2), abs=1e-12)


@pytest.mark.parametrize("epsilon", [1e-3, 0.3, 30.0, 1e4])
def test_small_and_large_noise_is_not_accused(epsilon):
    found = audit(make("rnm_ftnl", epsilon=epsilon).tuned(SMALL), SMALL)
    assert found.verdict == "CONSISTENT" and found.epsilon_seen <= epsilon * (1 + 1e-6), found.found


@pytest.mark.parametrize(("epsilon", "verdict"), [(0.01, "CONSISTENT"), (8.0, "CONSISTENT"), (9.0, "NOT AUDITABLE")])
def test_uniform_numbers_show_no_tiny_probabilities(epsilon, verdict):
    algorithm = make("rnm_ftnl", epsilon=epsilon, noise="gumbel").tuned(SMALL)
    assert audit(algorithm, SMALL).verdict == verdict


@pytest.mark.slow
def test_noise_that_stays_in_the_state_is_not_accused():
    check_unforgotten()


@pytest.mark.usefixtures("plainly")
def test_noise_that_stays_in_the_state_of_a_short_game_is_not_accused(monkeypatch):
    subject = CORRECT["rnm_ftnl"]
    monkeypatch.setitem(CORRECT, "rnm_ftnl", replace(subject, setting=subject.setting._replace(horizon=64)))
    check_unforgotten()


def check_unforgotten():
    """The noisy sums, not the sums, stay for the next epoch: their old noise hides the old losses, too."""
    found = Mutant("noisy sums stay", "rnm_ftnl", {"state.losses[:] = 0.0": "pass"}).audited(0.001, 2**18, 0)
    assert found.verdict == "NOT AUDITABLE" and "stay in the state" in found.found
