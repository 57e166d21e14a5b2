"""The audit detects every mutant, most of them in games so short that plain Python plays them."""

import pytest

from tests.audit import FAST, ONCE
from tests.audit.mutants import CORRECT, MUTANTS, Mutant
from tests.audit.subjects import ROUNDS
from tests.conftest import some

QUICK = [mutant for mutant in MUTANTS if ONCE.get(mutant.subject) == mutant.name]
FULL = [mutant for mutant in MUTANTS if mutant.name in FAST.get(mutant.subject, ())]


# The audit of a correct `plain_dp_linucb`, beside brute force: tests/audit/test_brute_contextual.py
@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("name", some(ROUNDS, *ONCE.keys() - {"plain_dp_linucb"}))
def test_no_correct_algorithm_is_flagged(name):
    found = CORRECT[name].shorter(ROUNDS[name]).audited(0.001, 2**10, 0)
    assert found.verdict == "CONSISTENT", found.found


@pytest.mark.parametrize("mutant", some(MUTANTS, *QUICK), ids=str)
def test_every_mutant_is_caught(mutant):
    assert mutant.caught()


@pytest.mark.parametrize("mutant", FULL, ids=str)
def test_mutants_are_caught_in_the_game_of_their_subject(mutant):
    assert mutant.audited(0.001, 2**18, 0).verdict == "VIOLATION"


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("name", some(["dp_ftrl, Gaussian", "dp_ftpl", "noisy_ftrl"], "noisy_ftrl"))
def test_noise_is_measured_to_a_millionth(name):
    less = Mutant("less noise", name, share=1 - 1e-5)
    found = less.audited(0.001, 2**10, 1, CORRECT[name].shorter(ROUNDS[name]))
    assert found.verdict == "VIOLATION" and "is allowed" in found.found


def test_every_finding_is_of_a_mutant():
    named = [(name, fault) for name, faults in FAST.items() for fault in faults]
    assert {*named, *ONCE.items()} <= {(mutant.subject, mutant.name) for mutant in MUTANTS}
