"""Audits of games so short that plain Python plays them: a correct algorithm of each view, and many of its faults."""

from dataclasses import replace

import pytest

from privbandits_cli.games.players import Contexts
from tests.audit import FAST, ONCE, SHORT
from tests.audit.mutants import CORRECT, MUTANTS, Mutant
from tests.conftest import some

pytestmark = pytest.mark.usefixtures("plainly")


SMALLER = {"plain_dp_linucb": {"n_arms": 3, "contexts": Contexts(1)}}  # its answers are alike in all dimensions


def shorter(monkeypatch, name):
    """The subject in a short game, in which its mutants are audited, too; and the budget."""
    horizon, budget, _ = SHORT[name]
    subject = CORRECT[name]
    setting = subject.setting._replace(horizon=horizon, n_arms=min(subject.setting.n_arms, 6))
    setting = setting._replace(**SMALLER.get(name, {}))
    monkeypatch.setitem(CORRECT, name, replace(subject, setting=setting))
    return CORRECT[name], budget


# The audit of a correct `plain_dp_linucb`, beside brute force: tests/audit/test_brute_contextual.py
@pytest.mark.parametrize("name", some(SHORT, *ONCE - {"plain_dp_linucb"}))
def test_no_correct_algorithm_is_flagged(name, monkeypatch):
    subject, budget = shorter(monkeypatch, name)
    found = subject.audited(0.001, budget, 0)
    assert found.verdict == "CONSISTENT", found.found


FAULTS = [(name, fault) for name, short in SHORT.items() for fault in short[2]]


@pytest.mark.parametrize("case", some(FAULTS, *((name, SHORT[name][2][0]) for name in ONCE)), ids="-".join)
def test_every_mutant_is_caught(case, monkeypatch):
    name, fault = case
    _, budget = shorter(monkeypatch, name)
    (mutant,) = (mutant for mutant in MUTANTS if (mutant.subject, mutant.name) == (name, fault))
    assert mutant.audited(0.001, budget, 0).verdict == "VIOLATION"


@pytest.mark.parametrize("name", some(["dp_ftrl, Gaussian", "dp_ftpl", "noisy_ftrl"], "noisy_ftrl"))
def test_noise_is_measured_to_a_millionth(name, monkeypatch):
    _, budget = shorter(monkeypatch, name)
    less = Mutant("less noise", name, share=1 - 1e-5).audited(0.001, budget, seed=1)
    assert less.verdict == "VIOLATION" and "is allowed" in less.found


def test_every_finding_is_of_a_mutant():
    named = [(name, fault) for name, faults in FAST.items() for fault in faults]
    assert set(named) <= {(mutant.subject, mutant.name) for mutant in MUTANTS}
