"""Overtaking bounds and designs against reference values, grids and simulations."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.identification import designs
from privbandits_cli.identification.times import split
from tests.best_arm_reference import BUDGETS, DESIGNS, INSTANCES


def overtaking(best, worse, n, numbers, epsilon):
    """p_a(n, j), a bound on the probability that the noisy sum of a worse arm is at least that of the best arm."""
    return math.exp(designs.log_overtaking(best, worse, n, numbers, epsilon))


class Phase(NamedTuple):
    """A phase of sequential halving."""

    arms: int  # that are still in the game
    plays: int  # of each of them
    kept: int  # arms after the phase


def halvings(n_arms, budget):
    """The phases of sequential halving: each has 1/⌈log2 K⌉ of the budget, rounded down to equal plays of its arms."""
    phases, arms, count = [], n_arms, math.ceil(math.log2(n_arms))
    for _ in range(count):
        kept = (arms + 1) // 2
        phases.append(Phase(arms, budget // (arms * count), kept))
        arms = kept
    return phases


def uniform_error(means, budget, epsilon):
    """A bound on the error of equal plays of all arms: Σ p_a(⌊T/K⌋, 1)."""
    _, top, others = split(means)
    n = budget // (len(others) + 1)
    return min(1.0, sum(overtaking(top, float(low), n, 1, epsilon) for low in others))


def halving_error(means, budget, epsilon, keep=False):
    """A bound on the error of sequential halving; keep: whether sums also hold the earlier phases.

    In a phase with s arms let q = ⌈s/4⌉. If the best arm is dropped, at least ⌈s/2⌉ - q + 1 arms overtake it that are
    not among the q best, so (Markov) its probability is at most (s - q)/(⌈s/2⌉ - q + 1) times that of the arm of rank
    q + 1. With `keep`, the arms of a phase depend on the sums: s - q is K - q, and all plays and numbers count.
    """
    _, top, others = split(means)
    ranked, total, plays = np.sort(others)[::-1], 0.0, 0
    for number, phase in enumerate(halvings(len(others) + 1, budget), 1):
        q, plays = -(-phase.arms // 4), plays + phase.plays
        n, numbers, several = (plays, number, len(others) + 1) if keep else (phase.plays, 1, phase.arms)
        worst = overtaking(top, float(ranked[q - 1]), n, numbers, epsilon)
        total += (several - q) / (phase.kept - q + 1) * worst
    return min(1.0, total)


@pytest.mark.parametrize("arms", sorted({arms for arms, *_ in DESIGNS}))
def test_reference_designs(arms):
    for (n_arms, gap, epsilon), (users, _) in DESIGNS.items():
        if n_arms == arms:
            assert n_arms * designs.one_shot_plays(n_arms, gap, epsilon, 0.05) == users


def test_reference_bounds_of_budgets():
    for (name, instance, epsilon, budget), (_, bound) in BUDGETS.items():
        if not math.isnan(bound):
            means = INSTANCES[instance]
            kept = name.endswith("cumulative")
            found = (
                uniform_error(means, budget, epsilon)
                if name == "uniform"
                else halving_error(means, budget, epsilon, kept)
            )
            assert found == pytest.approx(bound, rel=1e-5)


def test_errors_are_below_their_bounds():
    """The error rates of the reference, in 20,000 trials each."""
    compared = 0
    for (name, *_), (rate, bound) in BUDGETS.items():
        if not math.isnan(bound) and bound < 1:
            compared += 1
            assert rate <= bound + 4 * math.sqrt(bound / 20_000), name
    assert compared > 10


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 3.0, math.inf])
def test_the_bound_is_the_least_on_a_grid(epsilon):
    for best, worse, n, numbers in ((0.6, 0.4, 50, 1), (0.9, 0.85, 400, 3), (1.0, 0.3, 10, 1), (0.5, 0.0, 20, 2)):
        rates = min(epsilon, 30.0) * np.linspace(0, 1, 100_001)[:-1]
        gains = np.log1p(best * np.expm1(-rates)) + np.log1p(worse * np.expm1(rates))
        noise = -2 * numbers * np.log1p(-((rates / epsilon) ** 2)) if epsilon < math.inf else 0.0
        found = designs.log_overtaking(best, worse, n, numbers, epsilon)
        assert found == pytest.approx(min(0.0, float(np.min(n * gains + noise))), rel=1e-3, abs=1e-4)


def test_overtaking_is_rarer_than_its_bound():
    """For one Laplace number each; a bound that counts no noise is broken."""
    rng, n, epsilon, trials = np.random.default_rng(5), 40, 0.2, 200_000
    noise = rng.laplace(0, 1 / epsilon, (2, trials))
    ahead = rng.binomial(n, 0.75, trials) - rng.binomial(n, 0.25, trials) + noise[0] - noise[1]
    rate, slack = float(np.mean(ahead <= 0)), 4 * math.sqrt(1 / trials)
    assert rate <= overtaking(0.75, 0.25, n, 1, epsilon) + slack
    assert rate > overtaking(0.75, 0.25, n, 0, math.inf) + slack  # negative control


def test_the_phases_of_halving():
    assert halvings(5, 100) == [(5, 6, 3), (3, 11, 2), (2, 16, 1)]
    for n_arms in range(2, 40):
        for budget in (200, 1001):
            phases = halvings(n_arms, budget)
            assert sum(phase.arms * phase.plays for phase in phases) <= budget
            assert phases[-1].kept == 1 and len(phases) == math.ceil(math.log2(n_arms))


def test_a_design_of_one_play_less_is_too_short():
    n = designs.one_shot_plays(5, 0.1, 0.5, 0.05)
    means = designs.planning_means(5, 0.1)
    assert means.tolist() == pytest.approx([0.55, 0.45, 0.45, 0.45, 0.45])
    enough = [4 * overtaking(0.55, 0.45, k, 1, 0.5) <= 0.05 for k in (n - 1, n)]
    assert enough == [False, True]
    assert uniform_error(means, 5 * n, 0.5) <= 0.05 < uniform_error(means, 5 * (n - 1), 0.5)
    public, private = (designs.one_shot_plays(2, 1e-5, epsilon, 0.05) for epsilon in (math.inf, 1.0))
    assert public == pytest.approx(math.log(20) / 1e-5**2, rel=1e-9) and public < private  # no rounding
    assert designs.one_shot_test(0.5, 0.50001, math.inf, 0.05) < designs.one_shot_test(0.5, 0.50001, 1.0, 0.05)


def test_without_noise_the_bound_is_chernoffs():
    """At ε = infinity the exact probability that one binomial number reaches another one is below the bound."""
    n, best, worse = 30, 0.8, 0.5
    k = np.arange(n + 1)
    exact = float(stats.binom.pmf(k, n, best) @ stats.binom.sf(k - 1, n, worse))
    bound = overtaking(best, worse, n, 0, math.inf)
    assert exact <= bound <= 30 * exact


def test_the_usual_calculators():
    """Those of R's power.prop.test; and the exact power, from the laws of both counts, with a fifth less users, too."""
    for low, high, power, users in ((0.4, 0.6, 0.8, 97), (0.1, 0.12, 0.8, 3841), (0.5, 0.6, 0.9, 519)):
        assert designs.z_test_plays(low, high, 0.05, power) == users

    def seen(n):
        k = np.arange(n + 1)
        one, other = k[:, None] / n, k[None, :] / n
        both = 0.5 * (one + other)
        z = (one - other) / np.sqrt(np.maximum(2 * both * (1 - both) / n, 1e-12))
        chances = np.outer(stats.binom.pmf(k, n, 0.6), stats.binom.pmf(k, n, 0.4))
        return float(chances[z > stats.norm.ppf(0.975)].sum())

    assert abs(seen(97) - 0.8) < 0.02 < 0.8 - seen(78)
