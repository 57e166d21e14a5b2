"""The auditor of bandits catches every mutant, accepts every correct algorithm, and reports what it cannot audit."""

import math

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.audit import arms, coupling, modular_sums
from privbandits_cli.audit.auditor import AUDITS, audit
from privbandits_cli.audit.target import rare
from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.games.steps import composition, steps
from privbandits_cli.plugins.registry import Registry
from tests.audit import FAST, ONCE, conforms
from tests.audit.mutants import CORRECT, MUTANTS
from tests.conftest import first, make, some

SETTING = Setting(2**18, 4)
SMALL = Setting(2**12, 4)
SHORT_GAME = Setting(12, 4)  # for plain Python
OTHERS = {name for name, subject in CORRECT.items() if subject.setting.space or subject.setting.contexts}
BANDITS = [name for name in CORRECT if name not in OTHERS]  # those: test_audit_linear.py, test_audit_contextual.py


def test_every_view_has_a_correct_algorithm_and_a_fault_in_the_fast_tests():
    subjects = [CORRECT[name] for name in FAST | ONCE]
    tuned = [(subject.make().tuned(subject.setting), subject.setting) for subject in subjects]
    seen = {(algorithm.game, type(algorithm.view(setting))) for algorithm, setting in tuned}
    assert seen == set(AUDITS)


def test_every_private_algorithm_is_audited_and_so_are_faults_of_it():
    audited = {subject.make().name for subject in CORRECT.values()}
    broken = {CORRECT[mutant.subject].make().name for mutant in MUTANTS}
    private = {name for name, model in Registry().every("algorithms") if model.private}
    wrappers = {"dp_lambda_lap", "dp_reduction"}  # dp_exp3_lap has their steps
    unseen = {"dp_sprt"}  # its noisy sums are secret
    assert private - wrappers - unseen <= audited & broken, (
        "add it to CORRECT in subjects.py, and faults of it to the mutants"
    )


LONG = {"dp_ts", "lazy_dp_ts"}  # a choice draws from the law of each arm, so that an audit takes a minute
PAIRS = [(seed, name) for seed in range(3) for name in BANDITS if name not in LONG or seed == 0]
QUICK = [(0, name) for name in FAST]


@pytest.mark.parametrize(
    ("seed", "name", "budget"),
    [(*one, 2**16) for one in QUICK if one in PAIRS]
    + [pytest.param(*one, 2**18, marks=pytest.mark.slow) for one in PAIRS],
)
def test_no_correct_algorithm_is_flagged(seed, name, budget):
    found = CORRECT[name].audited(0.001, budget, seed)
    assert found.verdict == "CONSISTENT" and found.refutable is not None


@pytest.mark.slow
def test_reports_are_audited_across_epochs():
    """With a small c an epoch of LDP-Robust-SE ends within the game: each report is tested with B of its epoch."""
    algorithm = make("ldp_robust_se", epsilon=1.0, constants=0.042, epochs=2, v=1.0, u=1.0).tuned(SETTING)
    assert 4 * int(algorithm.state(SETTING)[0].cycles) < SETTING.horizon
    assert all(audit(algorithm, SETTING, seed=seed).verdict == "CONSISTENT" for seed in range(3))


@pytest.mark.usefixtures("plainly")
def test_an_observable_that_no_gain_changes_is_not_auditable():
    """The first mean of DP-Robust-SE is released after the end of this game."""
    found = audit(make("dp_robust_se", epsilon=1.0).tuned(SHORT_GAME), SHORT_GAME)
    assert found.verdict == "NOT AUDITABLE" and "no gain changes what the view names" in found.found


WORDS = {
    "dp_exp3_lap": "each noisy gain, Laplace noise",
    "dp_ucb": "all noisy numbers of the arms, Laplace noise",
}


@pytest.mark.parametrize(
    ("name", "budget"), [("dp_exp3_lap", 2**15), *(pytest.param(name, 2**18, marks=pytest.mark.slow) for name in WORDS)]
)
def test_the_claim_has_the_same_words_whether_it_is_refuted_or_not(name, budget):
    broken = next(mutant for mutant in MUTANTS if mutant.subject == name)
    audits = CORRECT[name].audited(0.001, budget, 0), broken.audited(0.001, budget, 0)
    assert [found.verdict for found in audits] == ["CONSISTENT", "VIOLATION"]
    assert {found.claim for found in audits} == {f"ε = 1 of {WORDS[name]}"}


def test_a_large_claim_is_tested_by_the_exact_loss_of_a_gain():
    found = audit(make("dp_exp3_lap", epsilon=243).tuned(SMALL), SMALL)
    assert found.verdict == "CONSISTENT" and found.epsilon_seen == pytest.approx(243)


def test_algorithms_without_a_guarantee_are_not_auditable():
    for name in ("ucb1", "tsallis_inf", "uniform"):
        found = audit(make(name).tuned(SETTING), SETTING)
        assert found.verdict == "NOT AUDITABLE" and found.found


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("exp3_tau", {"tau": 300_000}),
        ("dp_exp3_lap", {"epsilon": math.inf}),
        ("mini_batch", {"tau": 3, "base": make("exp3_tau", tau=3)}),
    ],
)
def test_games_without_a_canary_are_not_auditable(name, own):
    assert audit(make(name, **own).tuned(SETTING), SETTING, budget=2**14).verdict == "NOT AUDITABLE"


@pytest.mark.parametrize("epsilon", some([400.0, 1000.0], 1000.0))
def test_huge_claims_do_not_overflow(epsilon):
    assert audit(make("dp_exp3_lap", epsilon=epsilon).tuned(SMALL), SMALL, budget=2**14).verdict == "CONSISTENT"


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [
        pytest.param("dp_ucb", 1e-9, marks=pytest.mark.slow),
        pytest.param("dp_ucb", 1e6, marks=pytest.mark.slow),
        pytest.param("adap_ucb", 1e-3, marks=pytest.mark.slow),
        pytest.param("adap_ucb", 1e6, marks=pytest.mark.slow),
        pytest.param("ldp_ucb", 1e-9, marks=pytest.mark.slow),
    ],
)
def test_small_and_large_noise_is_told_from_rounding(name, epsilon):
    own = {"bonus": "azize"} if name == "dp_ucb" else {}
    found = audit(make(name, epsilon=epsilon, **own).tuned(SMALL), SMALL, budget=2**12)
    assert found.verdict == "CONSISTENT" and (found.epsilon_seen or 0.0) <= epsilon * (1 + 1e-6)


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(("name", "epsilon"), first(1, [("dp_ucb", 1e-9), ("adap_ucb", 1e6), ("adap_ucb", 1e-3)]))
def test_small_and_large_noise_of_a_short_game_is_told_from_rounding(name, epsilon):
    own = {"bonus": "azize"} if name == "dp_ucb" else {}
    found = audit(make(name, epsilon=epsilon, **own).tuned(SHORT_GAME), SHORT_GAME, budget=2**10)
    assert found.verdict == "CONSISTENT" and (found.epsilon_seen or 0.0) <= epsilon * (1 + 1e-6)


@pytest.mark.slow
def test_the_privacy_loss_of_a_tree_is_that_of_its_levels():
    """One arm: its first gain is in all nodes 1, 2, 4, ... up to the horizon, 2^12 here."""
    found = audit(make("dp_ucb", epsilon=1.0, bonus="azize").tuned(alone := Setting(2**12, 1)), alone)
    assert found.epsilon_seen == pytest.approx(1.0)


@pytest.mark.slow
def test_a_long_game_is_audited_in_its_first_rounds():
    check_long(coupling.LONGEST)


@pytest.mark.usefixtures("plainly")
def test_a_longer_game_than_is_played_is_audited_in_its_first_rounds(monkeypatch):
    monkeypatch.setattr(coupling, "LONGEST", 12)
    check_long(12, 2**10)


def check_long(longest, budget=2**12):
    long = Setting(4 * longest, 2)
    found = audit(make("adap_ucb", epsilon=1.0).tuned(long), long, budget=budget)
    assert found.verdict == "CONSISTENT" and f"{longest:,} rounds" in found.played
    assert found.assumed.startswith(f"rounds after {longest:,} are like these")


@pytest.mark.parametrize("kind", ["uniform", "laplace", "normal"])
def test_rare_numbers_have_probabilities_of_all_sizes_at_both_ends(kind):
    """The logarithm of the probability beyond them is uniform down to 2^-53. Control: ordinary numbers."""
    law = {"uniform": stats.uniform, "laplace": stats.laplace, "normal": stats.norm}[kind]
    rng = np.random.default_rng(2)
    numbers, ordinary = rare(kind, 2000, rng), law.rvs(size=2000, random_state=rng)
    tails = [np.minimum(law.cdf(some), law.sf(some)) for some in (numbers, ordinary)]
    own, control = (stats.kstest(-np.log2(some) / 53, "uniform").pvalue for some in tails)
    assert own > 1e-6 > control and (kind != "uniform" or numbers.max() < 1.0)
    assert abs((numbers > law.median()).sum() - 1000) < 6 * np.sqrt(500)


# ------------------------------------------------------------------------------------------- evidence


def test_conformance_is_a_p_value_and_detects_five_percent():
    rng = np.random.default_rng(5)
    p = np.array([conforms(rng.laplace(size=1000)) for _ in range(400)])
    assert (p < 0.05).sum() <= stats.binom.ppf(1 - 1e-6, 400, 0.05)
    assert conforms(0.95 * rng.laplace(size=20_000)) < 1e-3
    for wrong in (rng.uniform(-2, 2, 20_000), np.abs(rng.laplace(size=20_000)), np.sign(rng.normal(size=20_000))):
        assert conforms(wrong) < 1e-6  # the right mean size, another law
    assert conforms(np.repeat(rng.laplace(size=10_000), 2)) < 1e-6  # each for two rounds


@pytest.mark.usefixtures("plainly")
def test_arms_that_are_drawn_in_another_order_are_not_accused(monkeypatch):
    """They are drawn from the last one to the first. Controls: other probabilities; some numbers draw another arm."""
    monkeypatch.setattr(arms, "STRATA", 2**9)
    setting = Setting(4, 3)
    algorithm = make("exp3", gamma=0.5).tuned(setting)
    right = steps(composition(algorithm))

    def turned(state, rng):
        return right["choose"](state, Draws(1.0 - 2.0**-53 - rng.uniform, 0.0))

    def uneven(state, rng):
        return right["choose"](state, Draws((1.0 - 2.0**-53 - rng.uniform) ** 1.1, 0.0))

    def between(state, rng):
        p = np.empty(3)
        right["probabilities"](state, p)
        arm = right["choose"](state, rng)
        return (arm + 1) % 3 if 0.6 < (rng.uniform - p[:arm].sum()) / p[arm] < 0.9 else arm

    ways = turned, uneven, between
    found = [audit(algorithm, setting, bound=right | {"choose": choose}).verdict for choose in ways]
    assert found == ["CONSISTENT", "VIOLATION", "VIOLATION"]


@pytest.mark.usefixtures("plainly")
def test_the_cost_of_a_gain_for_the_arms_of_a_game_is_a_limit_on_epsilon():
    setting = Setting(64, 3)
    algorithm = make("exp3", gamma=0.3).tuned(setting)
    found = audit(algorithm, setting)
    assert 0 < found.epsilon_seen < algorithm.guarantee(setting).epsilon


# --------------------------------------------------------------------------------------- noise in groups

LEVEL = 5e-4


def windows(rounds):
    """Which rounds, from 1 on, lie between two powers of two; the first window ends with round 64."""
    power = np.maximum(np.frexp(rounds - 1)[1], 6)
    return {f"rounds {2 ** (k - 1) + 1 if k > 6 else 1:,} to {2**k:,}": power == k for k in np.unique(power).tolist()}


def grouped(noise, coins=None):
    rounds = np.arange(1, len(noise) + 1)
    groups = windows(rounds) | ({} if coins is None else {"heads": coins > 0, "tails": coins == 0})
    return modular_sums.by_groups(noise, groups, LEVEL)


@pytest.mark.parametrize("samples", some([40, 100, 300], 40))
def test_correct_noise_is_accused_at_most_as_often_as_stated(samples):
    """At most the 1e-6 quantile of Bin(samples, 0.05) have p < 0.05; Bonferroni makes it fewer."""
    rng = np.random.default_rng(5)
    noise = rng.laplace(size=(samples, 4096))
    coins = rng.integers(0, 2, (samples, 4096)).astype(float)
    accused = sum(grouped(own, coins=coin).p < 0.05 for own, coin in zip(noise, coins, strict=True))
    assert accused <= stats.binom.ppf(1 - 1e-6, samples, 0.05)


def test_errors_of_a_quarter_of_the_scale_are_found_where_they_are():
    rng = np.random.default_rng(6)
    rounds = np.arange(1, 2**14 + 1)
    for begin, last in ((65, 128), (1025, 2**14)):
        noise = rng.laplace(size=2**14) * np.where((rounds >= begin) & (rounds <= last), 0.25, 1.0)
        found = grouped(noise)
        assert found.p < LEVEL < found.more and (last > 128 or found.where == "rounds 65 to 128")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda z, coins: np.roll(z, 1) + z - 0.3 * z,  # neighbours are correlated
        lambda z, coins: z * np.where(coins > 0, 1.05, 0.95),  # the size depends on the data
        lambda z, coins: np.clip(z, -3.0, 3.0),
        lambda z, coins: np.where(coins > 0, np.abs(z), -np.abs(z)),  # the sign depends on the data
    ],
)
def test_noise_that_is_not_independent_or_not_laplace_is_found(wrong):
    rng = np.random.default_rng(7)
    z, coins = rng.laplace(size=2**15), rng.integers(0, 2, 2**15).astype(float)
    assert grouped(wrong(z, coins), coins=coins).p < LEVEL < grouped(z, coins=coins).p


def test_larger_noise_is_told_from_wrong_noise():
    found = grouped(1.1 * np.random.default_rng(8).laplace(size=2**14))
    assert found.more < LEVEL < found.p


@pytest.mark.parametrize("samples", some([40, 100, 400], 40))
def test_the_power_that_is_stated_is_reached(samples):
    """At the stated share of the scale, 95 % of the samples of the weakest group are found, up to six deviations."""
    rng = np.random.default_rng(9)
    share = grouped(rng.laplace(size=2**12)).share
    low = np.where(np.arange(1, 2**12 + 1) <= 64, share, 1.0)  # the first window is the weakest
    found = sum(grouped(rng.laplace(size=2**12) * low).p < LEVEL for _ in range(samples))
    assert found >= 0.95 * samples - 6 * np.sqrt(samples * 0.95 * 0.05)
