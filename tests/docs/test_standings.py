"""The leaderboard: who is compared with whom, and what a significant difference is."""

import csv
import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from privbandits_cli.analysis import estimates
from privbandits_cli.plugins.registry import Registry
from tests.conftest import ROOT, committed

sys.path.append(str(ROOT / "docs"))  # as conf.py does

from _generate.standings import KINDS, Entry, Instance, Kind, Row, chosen, in_yaml, instances, kinds

CENTRAL = Kind(0)


def entry(name, mean, epsilon=1.0, delta=0.0, kind=CENTRAL, spread=10.0, trials=40, seed=0, game=0):
    x = mean + spread * np.random.default_rng(seed).standard_normal(trials)
    return Entry(name, "fig", game, kind, epsilon, delta, estimates.mean(dict(enumerate(x.tolist()))))


def instance(*entries):
    return Instance("bandit", "", "bernoulli", "C2", 1000, False, entries)


def unbeaten(entries):
    return Row(instance(*entries), 1.0, sorted(entries, key=lambda one: one.mean.value)).unbeaten


def names(found):
    return [one.algorithm for one in found]


def test_of_two_that_differ_clearly_one_is_beaten_and_of_two_that_do_not_none_is():
    far = instance(entry("a", 100), entry("b", 200, seed=1))
    assert names(unbeaten(far.eligible(Kind(0), 1.0))) == ["a"]
    near = instance(entry("a", 100), entry("b", 101, seed=1))
    assert sorted(names(unbeaten(near.eligible(Kind(0), 1.0)))) == ["a", "b"]


def test_same_games_are_paired():
    """The same noise of both, 30 times their difference: only trial by trial is it significant."""
    one, other = entry("a", 100, spread=30), entry("b", 101, spread=30)
    assert names(unbeaten([one, other])) == ["a"]
    assert names(unbeaten([one, entry("b", 101, spread=30, game=1)])) == ["a", "b"]


def test_privacy_decides_who_is_compared():
    every = instance(
        entry("local", 900, kind=Kind(2)),
        entry("central", 100, seed=1),
        entry("weak", 50, epsilon=10.0, seed=2),
        entry("of rewards", 10, kind=Kind(0, arms=False), seed=3),
        entry("none", 1, kind=None, epsilon=math.inf, delta=math.inf, seed=4),
    )
    assert names(every.eligible(Kind(0), 1.0)) == ["central", "local"]
    assert names(every.eligible(Kind(2), 10.0)) == ["local"]
    assert names(every.eligible(Kind(0, arms=False), 10.0)) == ["of rewards", "weak", "central", "local"]
    rows = {row.epsilon: names(row.unbeaten) for row in every.rows(Kind(0))}
    assert rows == {1.0: ["central"], 10.0: ["weak"]}
    assert names(every.plain()) == ["none"]


def test_a_smaller_delta_is_not_beaten():
    pure, approximate = entry("pure", 200), entry("approximate", 100, delta=1e-6, seed=1)
    assert names(unbeaten([approximate, pure])) == ["approximate", "pure"]
    assert names(unbeaten([entry("pure", 100), entry("approximate", 200, delta=1e-6, seed=1)])) == ["pure"]


def test_what_is_not_proved_beats_nothing_that_is():
    proved = entry("dp_tt", 200)
    stylised = replace(entry("dp_tt", 100, seed=1), choices={"threshold": "stylised"})
    assert unbeaten([stylised, proved]) == [stylised, proved]
    assert names(unbeaten([replace(stylised, choices={"threshold": "paired"}), entry("dp_se", 200)])) == ["dp_tt"]
    assert names(unbeaten([entry("dp_se", 100), replace(stylised, mean=proved.mean)])) == ["dp_se"]


def test_equal_laws_are_seldom_said_to_differ():
    """Ten algorithms with one law, 300 times. The joint error is at most 5 %: of 300, 26 or more have p < 0.005."""
    from scipy.stats import binom

    limit = int(binom.isf(0.005, 300, 0.05))
    wrong = 0
    for i in range(300):
        found = [entry(str(k), 100, seed=1000 * i + k, game=str(k)) for k in range(10)]
        wrong += len(unbeaten(found)) < 10
    assert wrong <= limit
    alone = 0  # the control: without Bonferroni, the largest and the smallest mean often differ
    for i in range(300):
        found = [entry(str(k), 100, seed=1000 * i + k, game=str(k)).mean for k in range(10)]
        low, high = (pick(found, key=lambda one: one.value) for pick in (min, max))
        alone += estimates.two(low, high).interval(1.0, 0.95)[1] < 0
    assert alone > limit


def test_one_wild_trial_decides_nothing():
    calm, wild = entry("calm", 300), entry("wild", 100, seed=1)
    regrets = wild.mean.regrets | {0: 4000.0}
    wild = Entry("wild", "fig", 0, Kind(0), 1.0, 0.0, estimates.mean(regrets))
    assert sorted(names(unbeaten([calm, wild]))) == ["calm", "wild"]


def test_an_entry_whose_mean_may_be_twice_as_large_is_not_named():
    steady, wild = entry("steady", 300), entry("wild", 250, seed=1)
    regrets = wild.mean.regrets | {0: 12_000.0}  # a mean of about 540 ± 600
    wild = Entry("wild", "fig", 0, Kind(0), 1.0, 0.0, estimates.mean(regrets))
    assert names(unbeaten([steady, wild])) == ["steady"]
    calm = entry("steady", 300)
    row = Row(instance(calm, wild), 1.0, [calm, wild])
    assert row.beaten(calm) == {wild.player} and not row.beaten(wild)
    assert sorted(names(unbeaten([entry("steady", 600), wild]))) == ["steady", "wild"]
    assert names(unbeaten([wild])) == ["wild"]


def test_those_that_an_entry_beats_are_counted_by_player():
    every = [
        entry("a", 100),
        *(entry("b", 200 + k, seed=k) for k in (1, 2)),
        entry("c", 100.5, seed=3),
        entry("d", 300),
    ]
    row = Row(instance(*every), 1.0, sorted(every, key=lambda one: one.mean.value))
    assert {one.algorithm: len(row.beaten(one)) for one in row.unbeaten} == {"a": 2, "c": 2}


def test_the_next_best_is_the_least_of_those_not_named():
    every = [entry("a", 100), entry("b", 160, seed=1), entry("c", 150, seed=2), entry("d", 100.5, seed=3)]
    row = Row(instance(*every), 1.0, sorted(every, key=lambda one: one.mean.value))
    assert names(row.unbeaten) in (["a", "d"], ["d", "a"]) and row.next.algorithm == "c"
    assert Row(instance(every[0]), 1.0, [every[0]]).next is None


def made(name, **given):
    return Registry().rebuilt("algorithms", {"name": name, **given})


def test_choices_are_words_that_differ_from_their_defaults():
    assert chosen(made("dp_klucb", epsilon=1, width="asymptotic")) == ({}, {"epsilon": 1.0})
    safe = chosen(made("dp_klucb", epsilon=1, width="optimal", first=16))
    assert safe == ({"width": "optimal"}, {"epsilon": 1.0, "first": 16.0})
    tsallis = {"name": "tsallis_inf"}
    assert chosen(made("dp_reduction", epsilon=1, base=tsallis))[0] == {"base.name": "tsallis_inf"}  # base: required
    plain, words = made("dp_exp3_lap", epsilon=1, base={"name": "exp3", "gamma": 0.5}), {"base.gamma": 0.5}
    assert chosen(plain) == ({}, {"epsilon": 1.0} | words)  # the usual base


def test_parameters_are_written_as_in_a_config():
    import yaml

    text = in_yaml({"width": "optimal", "first": 16.0, "base.name": "exp3", "base.gamma": 0.5, "log": "2"})
    assert text == "width: optimal, first: 16, base: {name: exp3, gamma: 0.5}, log: '2'"
    nested = {"width": "optimal", "first": 16, "base": {"name": "exp3", "gamma": 0.5}, "log": "2"}
    assert yaml.safe_load(f"{{{text}}}") == nested


def test_a_row_says_what_a_config_needs():
    def given(mean, epsilon=1.0, seed=0, swept=(), **others):
        own = {"epsilon": 1.0} | others
        return replace(entry("dp_x", mean, epsilon, seed=seed), others=own, swept=frozenset(swept))

    usual, first = given(100, eta=0.123456, bonus=3.0), given(101, first=16.0, eta=0.654321, bonus=3.0, seed=1)
    row = Row(instance(usual, first), 1.0, [usual, first])
    assert [row.parameters(one) for one in (usual, first)] == ["", "first: 16"]  # η is computed, the bonus is the same
    alone = given(100, swept=["gamma"], gamma=0.01, eta=0.5)
    assert Row(instance(alone), 1.0, [alone]).parameters(alone) == "gamma: 0.01"
    other = given(100, epsilon=0.02)  # less is proved than the ε that is given
    assert Row(instance(other), 1.0, [other]).parameters(other) == "epsilon: 1"
    no_epsilon = replace(entry("adac_ucb", 100), others={"rho": 0.5})
    twin = replace(entry("adac_ucb", 90, epsilon=2.0), others={"rho": 0.9})
    assert Row(instance(no_epsilon, twin), 1.0, [no_epsilon]).parameters(no_epsilon) == "rho: 0.5"


@pytest.fixture(scope="module")
def played():
    return instances(committed() / "results" / name for name in ("trust", "stochastic_time", "heavy_scaling"))


def test_committed_results_become_instances(played):
    assert {one.adversary for one in played} == {"bernoulli", "pareto"}
    assert [KINDS[kind] for kind in kinds(played)] == ["central privacy", "distributed trust", "local privacy"]
    worst = [one for one in played if one.adversary == "pareto"]
    assert worst and all("worst" in one.title and one.rounds == 10_000_000 for one in worst)
    (c2,) = (one for one in played if one.rounds == 1_000_000)
    assert names(c2.plain())[0] == "kl_ucb"
    rows = {row.epsilon: row for row in c2.rows(Kind(2))}
    assert all(one.kind == Kind(2) and one.epsilon <= 0.5 * (1 + 1e-6) for one in rows[0.5].unbeaten)
    assert all(one.mean.trials == 100 for one in c2.entries)


def test_the_epsilon_of_a_person_is_not_compared_with_that_of_a_round():
    assert not instances([committed() / "results" / "patients"])


def test_noise_on_every_gain_is_local_privacy():
    """At ε = 1 against the deterministic adversary, EXP3-τ and Batched HTINF are central, and two others are local."""
    found = {one.adversary: one for one in instances([committed() / "results" / "state_of_the_art"])}
    (row,) = (row for row in found["deterministic"].rows(Kind(2)) if row.epsilon == 1)
    assert {"dp_exp2", "dp_exp3_lap"} <= set(names(row.entries)) and "batched_htinf" not in names(row.entries)


def test_guessing_is_measured_or_follows_from_the_game(played):
    (c2,) = (one for one in played if one.rounds == 1_000_000)
    assert c2.guess == pytest.approx(1e6 * (0 + 0.125 + 0.25 + 0.375 + 0.5) / 5)
    known = instances(committed() / "results" / name for name in ("heavy_scaling", "oracle_iris", "best_arm_budget"))
    assert all("uniform" not in names(one.entries) for one in known)
    iris = [one for one in known if one.adversary == "table"]
    assert iris and all(one.guess == pytest.approx(one.rounds * 2 / 3) for one in iris)
    budget = [one for one in known if one.game == "best_arm"]
    assert budget and all(0 < one.guess < 1 for one in budget)
    middle = {one.title: one.guess for one in instances([committed() / "results" / "price_scaling"])}
    assert middle["Gap (simplex), at the worst gap, simplex"] == pytest.approx(2**18 * 0.5 * 0.9)  # N = 10
    assert middle["Gap (sphere), at the worst gap, sphere"] == pytest.approx(2**18 * 0.5)
    folder = committed() / "results" / "state_of_the_art"
    found = {one.adversary: one for one in instances([folder])}
    with (folder / "final.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["algorithm"] == "uniform"]
    for adversary, one in found.items():
        own = [float(row["regret"]) for row in rows if row["adversary"] == adversary]
        assert own and one.guess == pytest.approx(np.mean(own)) and "uniform" not in names(one.entries)


def test_an_algorithm_of_two_folders_counts_once(played):
    twice = instances([committed() / "results" / "trust"] * 2)
    once = [one for one in played if one.rounds == 1_000_000]
    assert len(twice) == 1 and len(twice[0].entries) == len(once[0].entries)
