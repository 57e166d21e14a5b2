"""The planner: the table of the reference, simulated studies, tests of one rate, words, and errors."""

import math
import re

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.actions import plan, plan_words
from privbandits_cli.identification.designs import one_shot_test
from tests.best_arm_reference import PLANS, SAMPLES

FIVE = plan.question(5, 0.2, 0.05)


def row(asked, epsilon, design, **more):
    return next(one for one in plan.rows(asked, [epsilon], **more) if one.design == design)


# ------------------------------------------------------------------------------------------ the reference


@pytest.mark.parametrize("gap", sorted({gap for gap, _ in PLANS}))
def test_bounds_and_one_release_are_those_of_the_reference(gap):
    asked = plan.question(5, gap, 0.05)
    for (other, epsilon), (floor, users, *_) in PLANS.items():
        if other == gap:
            assert abs(row(asked, epsilon, "floor").users - floor) <= 1  # which is rounded there
            assert row(asked, epsilon, "one_shot").users == users


def agrees(gap, epsilon, runs):
    """Whether 200 studies of the reference and some of ours have the mean and 90 % quantile in common."""
    *_, mean, q90 = PLANS[gap, epsilon]
    asked = plan.question(5, gap, 0.05)
    users, certified = plan._studies(asked, epsilon, asked.means(), runs, 1, lambda *_: None)
    spread = float(users.std()) * math.sqrt(1 / runs + 1 / 200)  # both have the same deviation
    assert certified.all() and abs(users.mean() - mean) <= 4 * spread, (users.mean(), mean, spread)
    below = float(np.mean(users <= q90))  # 0.9, but for chance in our sample, and in the one of the reference
    assert abs(below - 0.9) <= 4 * math.sqrt(0.09 * (1 / runs + 1 / 200)), below


def test_studies_until_sure_are_those_of_the_reference():
    agrees(0.2, 1.0, 96)


@pytest.mark.slow
@pytest.mark.parametrize(("gap", "epsilon"), PLANS)
def test_all_studies_until_sure_are_those_of_the_reference(gap, epsilon):
    agrees(gap, epsilon, 200)


@pytest.mark.parametrize(("rate", "epsilon"), SAMPLES)
def test_sequential_tests_are_those_of_the_reference(rate, epsilon):
    asked, runs, (mean, error) = plan.question(1, None, 0.05, null=0.3, alternative=0.7), 320, SAMPLES[rate, epsilon]
    users, certified = plan._studies(asked, epsilon, [rate], runs, 1, lambda *_: None)
    assert certified.all() and abs(users.mean() - mean) <= 4 * math.hypot(error, users.std() / math.sqrt(runs))


# ------------------------------------------------------------------------------------------ rows


def test_rows_of_a_comparison():
    rows = plan.rows(FIVE, [1.0, math.inf], 32, seed=3)
    assert [one.design for one in rows] == 2 * ["floor", "one_shot", "sequential", "looks"]
    floor, one, sequential, few = rows[:4]
    assert (one.users, one.each) == (580, 116) and one.price == pytest.approx(580 / 540)
    assert floor.users < one.users < few.users < sequential.mean < sequential.q90 <= sequential.q99
    assert few.mean <= few.users and few.mean_twice < few.mean and few.certified < few.certified_twice
    assert sequential.mean_twice < 0.5 * sequential.mean and sequential.certified == 1.0
    assert rows == plan.rows(FIVE, [1.0, math.inf], 32, seed=3)
    other = plan.rows(FIVE, [1.0], 32, seed=4)[2]
    assert other.mean != sequential.mean


def test_the_first_studies_do_not_depend_on_the_number_of_all():
    few, many = (plan._studies(FIVE, 1.0, FIVE.means(), runs, 1, lambda *_: None)[0] for runs in (10, 40))
    assert few.tolist() == many[:10].tolist() and len({*many.tolist()}) > 3


def test_what_is_not_simulated_is_left_out():
    rows = plan.rows(FIVE, [1.0])
    assert [one.users is None for one in rows] == [False, False, True, False]
    assert {one.mean for one in rows} == {None} and {one.runs for one in rows} == {None}


def test_the_watcher_is_told_of_every_trial():
    for asked in (FIVE, plan.question(2, 0.7, 0.05), plan.question(1, None, 0.05, null=0.2, alternative=0.7)):
        told = []
        plan.rows(asked, [2.0], 33, 0, lambda trials, plays, told=told: told.append((trials, plays)))
        assert sum(trials for trials, _ in told) == plan.trials(asked, [2.0], 33)
        assert all(plays >= trials for trials, plays in told)


def test_the_number_of_plays_is_known_beforehand():
    for asked in (FIVE, plan.question(2, 0.2, 0.05)):
        told = []
        plan.rows(asked, [0.5], 32, 0, lambda trials, plays, told=told: told.append(plays))
        assert 0.5 < sum(told) / plan.plays(asked, [0.5], 32) < 2


def test_a_lead_that_does_not_fit_twice_is_simulated_once():
    assert plan.question(2, 0.7, 0.05).leads() == (1,)
    assert row(plan.question(2, 0.7, 0.05), 1.0, "looks", runs=20).mean_twice is None


def test_studies_that_reach_the_cap_are_not_certified(monkeypatch):
    monkeypatch.setattr(plan, "CAP", 2)
    found = row(FIVE, 1.0, "sequential", runs=32)
    assert found.certified < 0.5 and found.q99 == 2 * 580


def test_rare_events_take_fewer_users():
    rare, plain = (plan.question(5, 0.01, 0.05, centre) for centre in (0.02, 0.5))
    assert 5 * row(rare, 0.5, "one_shot").users < row(plain, 0.5, "one_shot").users
    assert 5 * row(rare, 0.5, "floor").users < row(plain, 0.5, "floor").users


def test_less_privacy_takes_fewer_users():
    for asked in (FIVE, plan.question(1, None, 0.05, null=0.2, alternative=0.3)):
        rows = plan.rows(asked, [0.05, 0.2, 1.0, 5.0, math.inf])
        for design in {one.design for one in rows} - {"sequential"}:
            users = [one.users for one in rows if one.design == design]
            assert users == sorted(users, reverse=True), design


def test_the_lower_bound_does_not_bind_one_release():
    """Two arms with a lead of 0.1: equal plays of fewer users than the bound err in less than 5 % of studies."""
    n, k = 150, np.arange(151)
    error = float(stats.binom.pmf(k, n, 0.55) @ stats.binom.sf(k - 1, n, 0.45))  # a tie is an error
    assert error < 0.05 and 2 * n < row(plan.question(2, 0.1, 0.05), math.inf, "floor").users == 529


# ------------------------------------------------------------------------------------------ one rate


def laplace_tail(x, scale):
    """P(Lap(scale) > x)."""
    return np.where(x > 0, 0.5 * np.exp(-np.abs(x) / scale), 1 - 0.5 * np.exp(-np.abs(x) / scale))


@pytest.mark.parametrize("rates", [(0.3, 0.7), (0.1, 0.12), (0.01, 0.03)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_errors_of_a_test_by_one_release(rates, epsilon):
    """Computed from the law of the noisy sum. A fifth of the users is too few."""
    n, x = one_shot_test(*rates, epsilon, 0.05)

    def errors(n):
        k = np.arange(n + 1)
        above = laplace_tail(n * x - k, 1 / epsilon)
        low, high = (float(stats.binom.pmf(k, n, rate) @ above) for rate in rates)
        return low, 1 - high

    assert max(errors(n)) <= 0.05 < max(errors(n // 5))
    assert rates[0] < x < rates[1]


def test_the_test_without_privacy_is_chernoffs():
    n, x = one_shot_test(0.3, 0.7, math.inf, 0.05)
    assert x == pytest.approx(0.5) and n == math.ceil(math.log(20) / (0.5 * math.log(0.25 / 0.21)))


def test_rows_of_a_test():
    asked = plan.question(1, None, 0.05, null=0.3, alternative=0.7)
    rows = plan.rows(asked, [1.0], 64)
    assert [one.design for one in rows] == ["floor", "one_shot", "sequential"]
    assert rows[0].users == 7 and rows[1].users == 44 and rows[2].mean > 200  # 321 in the reference
    assert "more than design 1" in plan_words.explained(asked, rows[2]).how
    long = plan.question(1, None, 0.05, null=0.5, alternative=0.51)
    free = row(long, math.inf, "sequential", runs=16)
    assert free.mean < row(long, math.inf, "one_shot").users and "more than" not in plan_words.explained(long, free).how


# ------------------------------------------------------------------------------------------ words


@pytest.mark.parametrize("epsilon", [0.5, math.inf])
@pytest.mark.parametrize("asked", [FIVE, plan.question(2, 0.01, 0.001, 0.03), plan.question(3, 0.1, 0.05, 0.9)])
def test_each_design_says_its_numbers(asked, epsilon):
    rows = {one.design: one for one in plan.rows(asked, [epsilon], 0)}
    words = {design: plan_words.explained(asked, one) for design, one in rows.items()}
    text = " ".join(part for each in words.values() for part in each if part)
    assert f"{rows['one_shot'].each:,} users" in words["one_shot"].how
    assert ("Laplace" in text) == ("private" in words["floor"].how) == (epsilon == 0.5)
    assert ("centre" in text) == (asked.centre != 0.5)
    assert all(each.not_guaranteed for design, each in words.items() if design != "floor")
    assert not re.search(r"None|\bnan\b|  ", text)


def test_shares_are_not_rounded_up():
    assert [plan_words.share(value) for value in (0.95, 0.975, 0.999999, 1 - 0.05)] == [
        "95 %",
        "97.5 %",
        "99.999 %",
        "95 %",
    ]


ERRORS = [
    ((5, 5.0, 0.05), {}, "gap 5 must be above 0 and below 1: 0.05 means a lead of 5 percentage points"),
    ((5, 0.0, 0.05), {}, "gap 0 must be above 0 and below 1: 0.05 means a lead of 5 percentage points"),
    ((2, 1e-9, 0.05), {}, "gap 1e-09 takes more users than there are people: give a larger one"),
    ((1, None, 0.05), {"null": 0.1, "alternative": 0.1 + 1e-10}, "takes more users than there are people"),
    ((5, None, 0.05), {}, "gap is missing: give the smallest lead that matters"),
    ((5, 0.05, 0.5), {}, "delta 0.5 must be above 0 and below 0.5"),
    ((5, 0.05, 5.0), {}, "delta 5 must be above 0 and below 0.5: 0.05 means that 5 % of such studies may err"),
    ((5, 0.05, 0.05), {"centre": 0.02}, "give a centre from 0.025 to 0.975, or a smaller gap"),
    ((5, 0.05, 0.05), {"centre": math.nan}, "give a centre from 0.025 to 0.975"),
    ((0, 0.05, 0.05), {}, "arms 0 must be 1 or more"),
    ((5, 0.05, 0.05), {"null": 0.1}, "leave them out, or set arms to 1"),
    ((1, 0.05, 0.05), {}, "leave gap out, and give null and alternative"),
    ((1, None, 0.05), {"null": 0.1}, "one arm needs null and alternative"),
    ((1, None, 0.05), {"null": 10.0, "alternative": 12.0}, "null 10 must be above 0 and below 1: 0.12 means 12 %"),
    ((1, None, 0.05), {"null": 0.1, "alternative": 0.1}, "give a larger alternative"),
    ((1, None, 0.05), {"null": 0.12, "alternative": 0.1}, "count the opposite, 0.88 and 0.9"),
]


@pytest.mark.parametrize(("given", "more", "message"), ERRORS, ids=[message for *_, message in ERRORS])
def test_errors_say_what_to_write(given, more, message):
    with pytest.raises(ValueError, match=r".") as error:
        plan.question(*given, **more)
    assert message in str(error.value)


def test_levels_of_privacy():
    assert [plan.privacy(value) for value in (None, math.inf, 0.5, 2)] == [math.inf, math.inf, 0.5, 2]
    for value in (0.0, -1.0, math.nan, 1e10):
        with pytest.raises(ValueError, match=r"give one such as 0\.5, or none"):
            plan.privacy(value)


def test_arms_at_the_ends_of_the_interval():
    asked = plan.question(2, 0.2, 0.05, 0.1)
    assert asked.means().tolist() == pytest.approx([0.2, 0.0])
    floor, one, _, few = plan.rows(asked, [1.0])
    assert 10 < floor.users < one.users < few.users < row(plan.question(2, 0.2, 0.05), 1.0, "looks").users
    sure = plan.rows(asked, [1.0], 32)[2]
    assert sure.certified == 1.0 and sure.mean > floor.users
