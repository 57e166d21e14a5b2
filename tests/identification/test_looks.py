"""The study with a few looks: hand-worked studies, a plain twin, its error, and controls that must err."""

import math

import numpy as np
import pytest
from scipy.stats import binom, chisquare

from privbandits_cli.identification import looks
from privbandits_cli.identification.costs import noisy_transport, transport
from privbandits_cli.identification.designs import log_overtaking, one_shot_plays, planning_means
from privbandits_cli.numerics.jit import compiled

MANY = 4_000


def held(sums, plan):
    """Studies with these noisy sums `[trial, look, arm]`."""
    sums = np.array(sums, float)
    out = [np.zeros(len(sums), np.int64) for _ in range(3)]
    compiled(looks.fill_studies)(sums, np.array(plan.plays, float), plan.epsilon, plan.bar, *out)
    return looks.Studies(out[0], out[1], out[2] == 1)


def test_a_plan_has_a_sure_number_of_users():
    plan = looks.planned(5, 0.05, 0.5, 0.05)
    assert plan.plays == (269, 538, 1076, 2151) and plan.users == 5 * 2151
    assert plan.plays[-1] == one_shot_plays(5, 0.05, 0.5, 0.025, numbers=4) > one_shot_plays(5, 0.05, 0.5, 0.05)
    assert (1 + plan.bar) * math.exp(-plan.bar) == pytest.approx(0.025 / (4 * 4))
    assert looks.planned(2, 0.9, math.inf, 0.4).plays == (1,)  # few plays have fewer looks


def test_one_look_is_one_release():
    plan = looks.planned(3, 0.2, 1.0, 0.1, looks=1)
    assert plan.plays == (one_shot_plays(3, 0.2, 1.0, 0.05),)
    found = looks.simulate(plan, [0.3, 0.5, 0.4], 50, 1)
    assert set(found.users) == {plan.users}


def test_studies_by_hand():
    """Two looks after 10 and 20 plays; without privacy 2 x 10 kl(1, ½) = 13.9 passes, and 11 against 9 of 20 not."""
    plan = looks.Looks(3, math.inf, (10, 20), 8.0)
    found = held(
        [
            [[10, 0, 0], [0, 0, 20]],  # both others are dropped at once
            [[0, 10, 9], [0, 12, 9]],  # arm 0 is dropped; then arm 1 leads, not surely
            [[5, 5, 6], [9, 11, 10]],  # nothing is sure
        ],
        plan,
    )
    assert found.users.tolist() == [30, 50, 60]
    assert found.answers.tolist() == [0, 1, 1]
    assert found.certified.tolist() == [True, False, False]


def plain_study(plan, sums):
    """One study in plain Python: users, answer, certified."""
    left, users, before = list(range(plan.n_arms)), 0, 0
    for look, n in enumerate(plan.plays):
        users, before = users + len(left) * (n - before), n
        leader = max(left, key=lambda a: sums[look][a])
        mean = {a: min(1.0, max(0.0, sums[look][a] / n)) for a in left}

        def evidence(a, n=n, j=look + 1, mean=mean, leader=leader):
            if plan.epsilon == math.inf:
                return transport(mean[leader], mean[a], n, n)
            return noisy_transport(mean[leader], mean[a], n, j, n, j, plan.epsilon)

        left = [a for a in left if a == leader or evidence(a) <= plan.bar]
        if len(left) == 1:
            return users, leader, True
    return users, leader, False


@pytest.mark.parametrize("epsilon", [0.3, 2.0, math.inf])
def test_studies_are_those_of_a_plain_twin(epsilon):
    plan, rng = looks.planned(4, 0.25, epsilon, 0.1), np.random.default_rng(3)
    rates = rng.uniform(0.1, 0.9, (60, 1, 4))
    steps = np.diff(plan.plays, prepend=0)[:, None]
    noise = rng.laplace(0, 0 if epsilon == math.inf else 1 / epsilon, (60, len(plan.plays), 4))
    sums = np.cumsum(rng.binomial(steps, rates, noise.shape) + noise, axis=1)
    found = held(sums, plan)
    twins = [plain_study(plan, one) for one in sums]
    assert [*zip(*(column.tolist() for column in found), strict=True)] == twins
    assert 3 < sum(certified for *_, certified in twins) < 57


def test_simulated_studies_have_the_law_of_the_twin():
    """The users of as many studies of another generator; a wrong scale of the noise is found."""
    plan, means, trials = looks.planned(3, 0.3, 0.5, 0.1), [0.8, 0.5, 0.2], 2000
    steps, rng = np.diff(plan.plays, prepend=0)[:, None], np.random.default_rng(7)

    def counts(scale):
        noise = rng.laplace(0, scale, (trials, len(plan.plays), 3))
        sums = np.cumsum(rng.binomial(steps, means, noise.shape) + noise, axis=1)
        users = held(sums, plan).users
        return np.array([np.sum(users <= edge) for edge in edges])

    found = looks.simulate(plan, means, trials, 1).users
    edges = np.quantile(found, [0.2, 0.4, 0.6, 0.8])
    own = np.array([np.sum(found <= edge) for edge in edges])
    slack = 4 * math.sqrt(2 * 0.25 * trials)
    assert np.abs(counts(2.0) - own).max() < slack
    assert np.abs(counts(8.0) - own).max() > slack  # negative control
    again = looks.simulate(plan, means, 100, 1)
    assert again.users.tolist() == found[:100].tolist()


# ------------------------------------------------------------------------------------------ its error

STUDIES = [(2, 0.2, 0.1), (2, 0.1, 1.0), (5, 0.2, 0.1), (5, 0.2, 1.0), (8, 0.3, math.inf), (5, 0.3, 0.02)]


@pytest.mark.parametrize(("n_arms", "gap", "epsilon"), STUDIES)
def test_the_error_is_at_most_delta_at_the_gap(n_arms, gap, epsilon):
    """Exact test at one in 30,000: so many errors in 4,000 studies are possible if the error is at most δ."""
    delta = 0.2
    plan = looks.planned(n_arms, gap, epsilon, delta)
    found = looks.simulate(plan, planning_means(n_arms, gap), MANY, 2)
    assert np.sum(found.answers != 0) <= binom.isf(3e-5, MANY, delta)
    assert np.sum(found.certified & (found.answers != 0)) <= binom.isf(3e-5, MANY, delta / 2)
    assert found.users.max() <= plan.users
    twice = looks.simulate(plan, planning_means(n_arms, 2 * gap), 1000, 2)
    assert twice.users.mean() < found.users.mean() and twice.certified.mean() > 0.5


@pytest.mark.parametrize("epsilon", [0.1, math.inf])
def test_certified_answers_are_right_whatever_the_lead_is(epsilon):
    """A lead of a hundredth of the gap: nearly half of the answers are wrong, but few of them certified."""
    plan = looks.planned(2, 0.3, epsilon, 0.2)
    found = looks.simulate(plan, planning_means(2, 0.003), MANY, 3)
    wrong = found.answers != 0
    assert np.mean(wrong) > 0.4
    assert np.sum(wrong & found.certified) <= binom.isf(3e-5, MANY, 0.1)


def test_arms_that_are_worse_by_the_gap_are_rarely_the_answer():
    """Between them and the best arm there are arms that are nearly as good, which may be."""
    plan = looks.planned(5, 0.2, 0.3, 0.2)
    found = looks.simulate(plan, [0.6, 0.59, 0.5, 0.4, 0.4], MANY, 4)
    assert np.sum(found.answers >= 3) <= binom.isf(3e-5, MANY, 0.2)
    assert np.sum(found.answers > 0) > binom.isf(3e-5, MANY, 0.2)


def test_a_plan_that_counts_one_laplace_number_errs_too_often():
    """Negative control: with 32 looks the last sums hold 32 numbers each, and a plan for one of them is too short."""
    means, delta, bound = planning_means(2, 0.2), 0.2, binom.isf(3e-5, MANY, 0.2)
    right, wrong = (looks.planned(2, 0.2, 0.05, delta, looks=6, numbers=numbers) for numbers in (0, 1))
    assert np.sum(looks.simulate(right, means, MANY, 5).answers != 0) <= bound
    spread = tuple(range(wrong.plays[-1] - 31, wrong.plays[-1] + 1))  # as many looks at last
    many = looks.Looks(2, 0.05, spread, looks.threshold(2, delta / 2, 32))
    assert np.sum(looks.simulate(many, means, MANY, 5).answers != 0) > bound


def test_a_test_that_counts_no_laplace_number_errs_too_often():
    """Negative control: the threshold for sums without noise, on noisy ones."""
    plan = looks.planned(2, 0.3, 0.1, 0.2)
    assert plan.epsilon == 0.1
    means, steps = planning_means(2, 0.003), np.diff(plan.plays, prepend=0)[:, None]
    rng, shape = np.random.default_rng(6), (MANY, len(plan.plays), 2)
    sums = np.cumsum(rng.binomial(steps, means, shape) + rng.laplace(0, 10, shape), axis=1)
    found = held(sums, plan._replace(epsilon=math.inf))
    assert np.sum(found.certified & (found.answers != 0)) > binom.isf(3e-5, MANY, 0.1)


# ------------------------------------------------------------------------------------------ lemma 3


@pytest.mark.parametrize(("epsilon", "numbers"), [(0.1, 1), (0.5, 4), (math.inf, 1)])
def test_the_planning_instance_is_the_hardest(epsilon, numbers):
    """Lemma 3 on a grid: no two means with at least this lead overtake more easily, also around another centre."""
    gap, n = 0.2, 60

    def bound(best, worse):
        return log_overtaking(best, worse, n, numbers, epsilon)

    hardest, low = bound(0.6, 0.4), bound(0.3, 0.1)
    grid = np.linspace(0, 1, 21)
    pairs = [(best, worse) for best in grid for worse in grid if best - worse >= gap - 1e-12]
    assert all(bound(*pair) <= hardest + 1e-9 for pair in pairs) and len(pairs) > 100
    assert all(bound(*pair) <= low + 1e-9 for pair in pairs if pair[0] <= 0.3)
    assert max(bound(*pair) for pair in pairs) > 0.99 * low  # which relies on the centre
    assert bound(0.6, 0.45) > 0.9 * hardest  # and on the lead


def test_chance_of_looks_is_uniform_in_arms():
    """Without a lead all arms are the answer equally often: no arm has an advantage by its place."""
    plan = looks.planned(4, 0.3, 0.5, 0.2)
    answers = looks.simulate(plan, [0.5] * 4, MANY, 8).answers
    assert chisquare(np.bincount(answers, minlength=4)).pvalue > 1e-4
