"""Audits of experts that a shrinking dartboard draws: what a loss costs, by brute force; experts in another order."""

import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from privbandits_cli.accounting.dartboard import Dartboard
from privbandits_cli.audit.auditor import audit
from privbandits_cli.games.linear import Setting, Simplex
from tests.audit.mutants import CORRECT, Mutant
from tests.conftest import make

SMALL = Setting(2**10, 3, space=Simplex(3))


def chances(model, given):
    """P(sequence) of all sequences of experts, summed over the draws that cannot be seen."""
    horizon, n = given.shape
    worlds = {((), 0): 1.0}  # experts so far, draws used
    for t in range(horizon):
        weights = (1 - model.eta) ** given[:t].sum(axis=0)
        after = defaultdict(float)
        for (path, used), chance in worlds.items():
            keep = (1 - model.p) * (1 - model.eta) ** given[t - 1, path[-1]] if t else 0.0
            keep = 1.0 if used == model.draws else keep
            if t:
                after[path + path[-1:], used] += chance * keep
            for i in range(n):
                after[(*path, i), used + (t > 0)] += chance * (1 - keep) * weights[i] / weights.sum()
        worlds = after
    found = defaultdict(float)
    for (path, _), chance in worlds.items():
        found[path] += chance
    return found


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("draws", [1, 2, 5])
def test_the_sequence_of_the_attack_costs_what_it_says(n, draws):
    model, horizon = Dartboard(eta=0.3, p=0.4, draws=draws), 5
    turns, few = min(draws, horizon // 2), min(2, n - 1)
    own = np.zeros((horizon, n))
    own[: horizon - turns - 1, :few] = 1.0
    other = own.copy()
    own[horizon - turns - 1, few:] = 1.0
    other[horizon - turns - 1, :few] = 1.0
    path = (few,) * (horizon - turns) + tuple([0, 1] * turns)[:turns]
    first, second = chances(model, own), chances(model, other)
    assert sum(first.values()) == pytest.approx(1, abs=1e-12)
    found = model.attack(n, horizon)
    assert math.log(first[path] / second[path]) == pytest.approx(found, abs=1e-12)
    worst = max(abs(math.log(first[path] / second[path])) for path in first if first[path] > 0)
    assert found <= worst + 1e-12


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_no_sequence_of_a_tiny_game_costs_more_than_the_papers_epsilon(epsilon):
    setting, rng = Setting(6, 2, space=Simplex(2)), np.random.default_rng(1)
    algorithm = make("shrinking_dartboard", epsilon=epsilon).tuned(setting)
    model, claim = algorithm.view(setting).model, algorithm.guarantee(setting).epsilon
    worst = model.attack(2, 6)
    for _ in range(40):
        own = np.round(rng.random((6, 2)))
        other = own.copy()
        other[rng.integers(6)] = np.round(rng.random(2))
        first, second = chances(model, own), chances(model, other)
        worst = max(worst, *(abs(math.log(first[path] / second[path])) for path in first if first[path] > 0))
    assert 0 < worst <= claim


@pytest.mark.parametrize(("share", "verdict"), [(0.37, "VIOLATION"), (0.372, "CONSISTENT")])
def test_a_claim_below_the_cost_of_a_sequence_is_refuted(monkeypatch, share, verdict):
    """At T = 1,024 and ε = 1 the sequence costs 0.371 of the paper's ε."""
    algorithm = make("shrinking_dartboard", epsilon=1.0).tuned(SMALL)
    claim = algorithm.guarantee(SMALL)
    smaller = replace(claim, epsilon=share * claim.epsilon)
    monkeypatch.setattr(type(algorithm), "guarantee", lambda *_: smaller)
    assert audit(algorithm, SMALL).verdict == verdict


@pytest.mark.usefixtures("plainly")
def test_experts_that_are_drawn_in_another_order_are_not_accused(monkeypatch):
    """The law is the same. If it is not, the algorithm is accused, whatever the order."""
    subject = CORRECT["shrinking_dartboard"]
    monkeypatch.setitem(CORRECT, "shrinking_dartboard", replace(subject, setting=subject.setting._replace(horizon=16)))
    ends = "threshold, reached, expert = uniform * total", "threshold, reached, expert = (1 - {}) * total"
    backwards = Mutant("backwards", "shrinking_dartboard", {ends[0]: ends[1].format("uniform")})
    found = backwards.audited(0.001, 2**10, 0)
    assert found.verdict == "NOT AUDITABLE" and "let `rng.uniform[0]` keep the expert" in found.found
    wrong = Mutant("backwards", "shrinking_dartboard", {ends[0]: ends[1].format("uniform**2")})
    assert wrong.audited(0.001, 2**10, 0).verdict == "VIOLATION"
