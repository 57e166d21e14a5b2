"""Heavy tails and the UCB family: what configs allow, rounds worked by hand, the law of what is reported."""

import math

import numpy as np
import pytest
import yaml
from scipy import stats

from privbandits_cli.actions import privacy
from privbandits_cli.games.bandit import Draws, Setting, play
from privbandits_cli.games.players import Contamination
from privbandits_cli.games.steps import composition, steps
from privbandits_cli.numerics.jit import without_jit
from tests.conftest import Steps, foe, make, match, some
from tests.experiment.test_config import errors, plan_of
from tests.naive import ends

HEAVY = """\
experiment: heavy
horizon: 1000
arms: 5
trials: 16
adversary:
  - {name: pareto, v: 0.5}
  - {name: pareto, v: 0.9, label: light}
  - {name: bernoulli, means: C2}
algorithms:
  - {name: dp_robust_ucb, epsilon: 1}
  - {name: robust_ucb, u: 0.5x}
  - uniform
summary: {groups: 4}
"""


def ready(name, setting, **own):
    algorithm = make(name, **own).tuned(setting)
    with without_jit(Steps.plain):
        return steps(composition(algorithm)), algorithm.state(setting)[0]


def played(bound, state, gains, laplace=0.0):
    """The arms of so many rounds; `gains(t, arm)`, and the same Laplace number in every round."""
    arms = []
    for t in range(1, 10_000):
        draws = Draws(0.0, laplace)
        arms.append(bound["choose"](state, draws))
        gain = gains(t, arms[-1])
        if gain is None:
            return arms
        bound["update"](state, arms[-1], gain, draws)


# ---------------------------------------------------------------------------------------------- configs


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("v: 0.5}", "v: 1.5}", "6:23", "less than or equal to 1, got 1.5"),
        ("v: 0.5}", "v: 0}", "6:23", "greater than or equal to 0.1, got 0"),
        ("v: 0.5}", "v: 0.5, shape: 1.5}", "6:5", "set shape above it, or v below 0.5"),
        ("v: 0.5}", "v: 0.5, means: [0.9, 0.1]}", "6:5", "set arms: 2"),
        ("C2}", "C5}", "8:30", "'C4'"),
        ("epsilon: 1}", "epsilon: 0}", "10:36", "greater than or equal to 0.000000001"),
        ("epsilon: 1}", "epsilon: 1, u: 0}", "10:42", "greater than or equal to 1e-100"),
        ("epsilon: 1}", "epsilon: 1, u: -2}", "10:42", "greater than or equal to 1e-100"),
        ("epsilon: 1}", "epsilon: 1, v: 2}", "10:42", "less than or equal to 1"),
        ("epsilon: 1}", "epsilon: 1, v: 0.9}", "10:5", "for v = 0.5: with v = 0.9 give u as a number"),
        ("epsilon: 1}", "epsilon: 1, counter: smooth, levels: printed}", "10:5", "leave `counter` out, or set levels"),
        ("- uniform", "- {name: dp_ucb, epsilon: 1, counter: b_ary}", "12:41", "'k_ary', 'smooth' or 'auto'"),
        ("u: 0.5x}", "u: 0x}", "11:5", "a multiple of the adversary's u such as 0.5x"),
        ("u: 0.5x}", "u: half}", "11:5", "give a positive number"),
        ("- uniform", "- exp3", "12:5", "exp3 needs gains in [0, 1], which pareto does not guarantee"),
        ("- uniform", "- {name: adap_ucb, epsilon: 1}", "12:5", "these do not: dp_robust_se, "),
    ],
)
def test_config_errors_are_located_and_suggest_a_fix(tmp_path, old, new, place, words):
    assert HEAVY.count(old) == 1
    (found,) = errors(tmp_path, HEAVY.replace(old, new))
    assert found.startswith(f"x.yaml:{place}: ") and words in found, found


def test_an_algorithm_is_tuned_for_each_adversary(tmp_path):
    plan = plan_of(tmp_path, HEAVY)
    settings = [curve.setting for curve in plan.curves[::3]]
    exact = [float(foe("pareto", v=v).tuned(Setting(1000, 5)).moments(Setting(1000, 5)).max()) for v in (0.5, 0.9)]
    assert settings == [Setting(1000, 5, 0.5, exact[0]), Setting(1000, 5, 0.9, exact[1]), Setting(1000, 5)]
    robust = [curve.algorithm for curve in plan.curves[1::3]]
    assert [(a.v, a.u) for a in robust] == [(0.5, exact[0] / 2), (0.9, exact[1] / 2), (1.0, 0.5)]
    assert [curve.label for curve in plan.curves[:3]] == ["DP-Robust-UCB (ε = 1)", "Robust UCB", "Uniform"]
    assert len({curve.key for curve in plan.curves}) == 9
    assert all(plan.match([curve]).setting == curve.setting for curve in plan.curves)


def test_its_resolved_config_runs_as_the_original(tmp_path):
    plan = plan_of(tmp_path, HEAVY)
    resolved = plan.experiment.resolved()
    assert resolved["algorithms"][1]["u"] == "0.5x" and resolved["adversary"][0]["shape"] == 2.5
    again = plan_of(tmp_path, yaml.safe_dump(resolved, sort_keys=False))
    assert [curve.key for curve in again.curves] == [curve.key for curve in plan.curves]
    alone = plan_of(tmp_path, HEAVY, "adversary={name: pareto, v: 0.5}")
    assert alone.experiment.resolved()["algorithms"][1]["u"] == plan.curves[1].algorithm.u  # nothing to disagree about


def test_the_ledger_has_each_tuning_once(tmp_path):
    titles = [row["algorithm"] for row in privacy.ledger(plan_of(tmp_path, HEAVY).experiment)]
    robust = ["DP-Robust-UCB", "Robust UCB"]
    other = [f"{title} against {foe}" for foe in ("light", "Bernoulli") for title in robust]
    assert titles == [*robust, "Uniform", *other]


# ----------------------------------------------------------------------------------------- by hand


@pytest.mark.usefixtures("by_hand")
def test_robust_ucb_cuts_and_widens_by_hand():
    """v = 1, u = 4: B = √(4n / ln t²) = 1.70 in rounds 1 and 2, then 1.91 for n = 2 in round 3."""
    bound, state = ready("robust_ucb", Setting(10, 2), v=1.0, u=4.0)
    assert played(bound, state, lambda t, arm: [1.6, -1.8][arm] if t <= 2 else None) == [0, 1, 0]
    assert state.means.tolist() == [1.6, 0.0]
    wanted = [1.6 + 8 * math.sqrt(2 * math.log(3)), 8 * math.sqrt(2 * math.log(3))]
    np.testing.assert_allclose(state.means + state.width * state.grown * state.rates, wanted, rtol=1e-12)
    bound["update"](state, 0, 1.9, Draws(0, 0))
    assert state.means[0] == 1.75
    bound["update"](state, 0, 99.0, Draws(0, 0))
    assert state.means[0] == pytest.approx(3.5 / 3)


@pytest.mark.usefixtures("by_hand")
def test_dp_robust_ucb_by_hand():
    """T = 1000, ε = 0.5, v = 0.5, u = 2: 10 levels; B_n = (n / ln^1.5 T)^(2/3) = n^(2/3) / ln T."""
    log_t = math.log(1000)
    bound, state = ready("dp_robust_ucb", Setting(1000, 2), epsilon=0.5, v=0.5, u=2.0, constants=1.0)
    noise, first = 0.25, 1 / log_t
    arms = played(bound, state, lambda t, arm: [first * 0.9, first * 1.1][arm] if t <= 2 else None, noise)
    scale = 2 * 10 / 0.5
    assert arms[:2] == [0, 1]
    np.testing.assert_allclose(state.means, [first * (0.9 + scale * noise), first * scale * noise], rtol=1e-12)
    bonus = 18 * 2 ** (2 / 3) * (math.log(2 * 3**4) * log_t**3.5 / 0.5) ** (1 / 3)  # n = 1 for both in round 3
    assert state.width * state.grown * state.rates[0] == pytest.approx(bonus, rel=1e-12)
    bound["update"](state, 0, 0.0, Draws(0, noise))  # node of level 1: the first node's noise is gone
    second = 2 ** (2 / 3) / log_t
    assert state.means[0] == pytest.approx((first * 0.9 + scale * second * noise) / 2, rel=1e-12)


@pytest.mark.usefixtures("by_hand")
def test_dp_robust_ucb_with_a_smooth_tree_by_hand():
    """T = 1000: height 20 with 17 ones, so a gain is in 3 nodes, and each of the first 17 gains closes a node."""
    bound, state = ready("dp_robust_ucb", Setting(1000, 2), epsilon=0.5, v=0.5, u=2.0, counter="smooth")
    b = np.arange(1, 4) ** (2 / 3) / math.log(1000)
    for n in range(3):
        bound["update"](state, 0, 0.0, Draws(0, 0.25))
        assert state.means[0] == pytest.approx(2 * 3 / 0.5 * 0.25 * b[: n + 1].sum() / (n + 1), rel=1e-12)
    algorithm = make("dp_robust_ucb", epsilon=0.5, counter="auto").tuned(Setting(1000, 2))
    assert algorithm.counter == "smooth" and algorithm.guarantee(Setting(1000, 2)).epsilon == 0.5
    assert "with 2.4 times the noise" in algorithm.caveats(Setting(1000, 2))[1]


@pytest.mark.usefixtures("by_hand")
def test_dp_ucb_with_the_bonus_of_its_own_noise_by_hand():
    """T = 1000, ε = 0.5: √(2 ln t/n) + 6 (4 ln t - 17 ln(1 - θ²)) / (θ n), with the same θ in all rounds."""
    bound, state = ready("dp_ucb", Setting(1000, 2), epsilon=0.5, bonus="chernoff", counter="smooth")
    played(bound, state, lambda t, arm: 0.5 if t <= 2 else None, 0.25)
    assert state.means.tolist() == [0.5 + 3 / 0.5 * 0.25] * 2
    theta = 24 / state.d
    assert 0.5 < theta < 1
    made = make("dp_ucb", epsilon=0.5, bonus="chernoff", counter="smooth").tuned(Setting(1000, 2))
    assert made.facts(Setting(1000, 2)) == {"scale": 6.0, "h": 20, "w": 17} and state.scale == 6.0
    assert state.c == pytest.approx(-6 * 17 * math.log(1 - theta**2) / theta, rel=1e-9)
    assert (state.a, state.b) == (0, 1)
    _, tree = ready("dp_ucb", Setting(1000, 2), epsilon=0.5, bonus="chernoff")
    assert tree.c + tree.d * math.log(1000) > 2 * (state.c + state.d * math.log(1000))


def test_a_counter_is_for_sums_of_one_tree():
    setting = Setting(1000, 2)
    for bonus in ("with_nu", "without_nu"):
        (error,) = make("dp_ucb", bonus=bonus, counter="smooth").errors(setting)
        assert "come from hybrid trees" in error and "set bonus: chernoff" in error
    assert not list(make("dp_ucb", bonus="azize", counter="k_ary").errors(setting))
    found = make("dp_ucb", bonus="azize", counter="auto").tuned(setting)
    assert found.counter == "smooth" and "`chernoff` is for the counter" in found.caveats(setting)[0]
    assert found.mechanism().startswith("one smooth tree per arm") and found.guarantee(setting).epsilon == 1.0


@pytest.mark.usefixtures("by_hand")
def test_ldp_robust_ucb_reports_by_hand():
    """v = 1, u = 1, ε = 4, truncation 0.5: in round 1 B = √(4 √(1/(4 ln 2))) / 2 = 0.775, noise 0.387 a unit."""
    bound, state = ready("ldp_robust_ucb", Setting(1000, 2), epsilon=4.0, truncation=0.5, constants=1.0)
    b = 0.5 * math.sqrt(4 * math.sqrt(1 / (4 * math.log(2))))
    for gain, kept in ((0.7, 0.7), (-0.7, -0.7), (0.8, 0.0), (1e300, 0.0)):
        fork = state.copy()
        bound["update"](fork, 0, gain, Draws(0, -1.5))
        assert fork.sums[0] == pytest.approx(kept - 1.5 * b / 2, rel=1e-12)
    bound["update"](state, 0, 0.7, Draws(0, 2.0))
    assert state.means[0] == pytest.approx(0.7 + b, rel=1e-12)
    bonus = 4 * math.sqrt(math.sqrt(4 * math.log(2) / 1) / 4)
    assert state.width * state.grown * state.rates[0] == pytest.approx(bonus, rel=1e-12)


def bits(foul=None, **own):
    """ε = ln 3, so c = 2; v = 1 and u = 1: in round 1, B = √(1/(2 √(4 ln 2))) = 0.548."""
    setting = Setting(1000, 2, 1.0, 1.0, contamination=foul)
    return ready("ldp_robust_ucb", setting, epsilon=math.log(3), report="bernoulli", constants=1.0, **own)


@pytest.mark.usefixtures("by_hand")
def test_bits_of_truncated_gains_by_hand():
    """A report is 2B with the chance 1/2 + x/(4B), and -2B otherwise; gains above B count as 0. No plays are forced."""
    bound, state = bits()
    b = math.sqrt(0.5 / math.sqrt(4 * math.log(2)))
    for gain, chance in ((0.8 * b, 0.7), (-0.8 * b, 0.3), (0.4 * b, 0.6), (0.0, 0.5), (1.01 * b, 0.5), (-9.0, 0.5)):
        for uniform, report in ((chance - 1e-9, 2 * b), (chance + 1e-9, -2 * b)):
            assert bound["released"](state, gain, Draws(uniform, math.nan)) == pytest.approx(report, rel=1e-12)
            fork = state.copy()
            bound["update"](fork, 0, gain, Draws(uniform, math.nan))
            assert fork.sums[0] == pytest.approx(report, rel=1e-12)
    assert state.width * state.grown == pytest.approx(4 * math.sqrt(2 * math.sqrt(4 * math.log(2))), rel=1e-12)
    assert state.forced == -1 and state.due == math.inf


@pytest.mark.usefixtures("by_hand")
def test_what_replaces_a_report():
    """Replaced bits are ±cB; without bits a report of any size arrives. Only a learner that knows α caps B."""
    late = {"plays": np.array([10**6, 10**6]), "powers": np.array([1000.0**0.5] * 2)}  # B = 16.6 without α
    for foul, alpha, b in (
        (Contamination(0.04, 5.0, after=True), 0.04, math.sqrt(1 / (0.04 * 2))),
        (Contamination(0.04, 5.0), 0.04, 5.0),
        (Contamination(0.04, 5.0, after=True), 0.0, None),
    ):
        bound, state = bits(foul, alpha=alpha)
        for name, value in late.items():
            getattr(state, name)[:] = value
        b = b or math.sqrt(0.5 * math.sqrt((10**6 + 1) / (4 * math.log(2))))
        for gain in (math.inf, -math.inf):
            assert bound["released"](state, gain, Draws(0.5, math.nan)) == pytest.approx(math.copysign(2 * b, gain))
    for name in ("ldp_robust_ucb", "ldp_robust_se"):
        bound, state = ready(name, Setting(1000, 2, 1.0, 1.0, contamination=Contamination(0.04, 5.0, after=True)))
        for gain in (math.inf, -math.inf):
            fork = state.copy()
            bound["update"](fork, 0, gain, Draws(0.5, 3.0))
            assert fork.sums[0] == math.copysign(5.0, gain)


def test_the_threshold_of_elimination_grows_by_twice_the_displacement():
    """u = 4, v = 1, α = 0.01: B = 20, and each mean may be off by 2 · 2 · 0.1 + 2 · 0.01 = 0.42."""
    setting = Setting(1000, 2)
    for name in ("robust_se", "dp_robust_se", "ldp_robust_se"):
        plain, foul = (ready(name, setting, v=1.0, u=4.0, constants=1.0, alpha=alpha)[1] for alpha in (0.0, 0.01))
        assert foul.threshold - plain.threshold == pytest.approx(0.84, rel=1e-9)
        assert plain.bound > foul.bound == 20.0 and foul.cycles == plain.cycles


@pytest.mark.parametrize(("epsilon", "v"), [(0.5, None), (2.0, 1.0)])
def test_the_epsilon_of_bits(epsilon, v):
    """Gains in [0, 1] move a chance from 1/2 to one end, others from end to end; B > 1 in round 1 leaves no attack."""
    setting = Setting(1000, 2, v, None if v is None else 1.0)
    bounds = make("ldp_robust_ucb", epsilon=epsilon, report="bernoulli").tuned(setting).bounds(setting, 0.0)
    wanted = epsilon if v else math.log((1 + math.exp(epsilon)) / 2)
    assert {(bound.epsilon == pytest.approx(wanted), bound.lower) for bound in bounds} == {(True, False), (True, True)}
    wide = make("ldp_robust_ucb", epsilon=epsilon, report="bernoulli", truncation=100.0).tuned(setting)
    assert any(bound.lower for bound in wide.bounds(setting, 0.0)) == (v is not None)


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ({"name": "ldp_robust_se", "alpha": 0.1}, "set alpha: 0, or use ldp_robust_ucb"),
        ({"name": "ldp_robust_ucb", "alpha": "known"}, "with `report: bernoulli`"),
        ({"name": "ldp_robust_ucb", "report": "bernoulli", "epsilon": 600.0}, "an ε of at most 500"),
    ],
)
def test_reports_that_withstand_nothing_are_errors(own, words):
    setting = Setting(1000, 2, 1.0, 1.0, contamination=Contamination(0.1, 5.0, after=True))
    (found,) = make(**own).errors(setting)
    assert words in found
    clean = setting._replace(contamination=None)
    assert not list(make(**own).errors(clean)) or "epsilon" in own


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("name", some(["ldp_ucb", "ldp_robust_ucb"], "ldp_robust_ucb"))
def test_local_learners_play_every_arm_4_ln_t_times_for_any_gains(name):
    bound, state = ready(name, Setting(10_000, 3))
    arms = played(bound, state, lambda t, arm: float(arm == 0) if t < 5000 else None, laplace=-0.2)
    for t in (100, 1000, 4999):
        assert min(arms[:t].count(arm) for arm in range(3)) >= math.floor(4 * math.log(t + 1))
    assert arms[:11] == [0] * 10 + [1]  # the first arm with too few: 4 ln 11 = 9.6, 4 ln 12 = 9.9
    bound, state = ready("robust_ucb", Setting(10_000, 3), constants=0.01)  # negative control
    assert played(bound, state, lambda t, arm: float(arm == 0) if t < 5000 else None)[:3] == [0, 1, 2]
    assert state.plays.min() < 4 * math.log(5000)


@pytest.mark.usefixtures("by_hand")
def test_adap_ucb_doubles_and_forgets():
    """Arm 0 earns 1 - t/100, arm 1 nothing; ε so large that bonuses are small: 0, 1, then 0 for 1, 2, 4, 8 rounds."""
    bound, state = ready("adap_ucb", Setting(1000, 2), epsilon=1e6)
    arms = played(bound, state, lambda t, arm: (1 - t / 100 if arm == 0 else -9.0) if t <= 17 else None)
    assert arms[:17] == [0, 1] + [0] * 15
    assert state.plays.tolist() == [16, 1]
    means = [np.mean([1 - t / 100 for t in range(10, 18)]), -9.0]
    assert (state.sums / state.counts).tolist() == pytest.approx(means)
    noisy, private = ready("adap_ucb", Setting(1000, 2), epsilon=0.5)
    assert played(noisy, private, lambda t, arm: 0.25 if t <= 1 else None, laplace=3.0) == [0, 1]
    assert private.sums[0] == pytest.approx(0.25 + 3.0 / 0.5) and private.counts[0] == 1
    log = 3.1 * math.log(2)
    assert private.index[0] == pytest.approx(0.25 + 3.0 / 0.5 + math.sqrt(log / 2) + log / 0.5)


def test_the_noise_of_the_hybrid_mechanism_costs_epsilon():
    """Each prefix has its nodes' noise and no other; the rates 1/scale of a gain's nodes sum to ε at most."""
    setting, n = Setting(64, 2), 64
    algorithm = make("dp_ucb", epsilon=0.8).tuned(setting)
    bound = steps(composition(algorithm))
    found = np.empty((n, n))  # [node, prefix]
    for node in range(n):
        state = algorithm.state(setting)[0]
        for k in range(n):
            bound["update"](state, 0, 0.0, Draws(0.0, float(k == node)))
            found[node, k] = state.means[0] * (k + 1)
    for prefix in range(1, n + 1):
        level = prefix.bit_length() - 1
        wanted = np.zeros(n)
        wanted[[2**k - 1 for k in range(level + 1)]] = 2 / 0.8
        wanted[[2**level + end - 1 for end in ends(prefix - 2**level)]] = 2 * level / 0.8
        np.testing.assert_allclose(found[:, prefix - 1], wanted, atol=1e-12)
    spent = np.zeros(n + 1)
    for node in range(1, n + 1):
        level = node.bit_length() - 1
        if node == 2**level:  # the block since the last power of two
            spent[node // 2 + 1 : node + 1] += 0.8 / 2
        else:
            within = node - 2**level
            spent[node - (within & -within) + 1 : node + 1] += 0.8 / (2 * level)
    assert spent[1:].max() == pytest.approx(0.8, rel=1e-12)


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("case", some([(8000, 0.8), (20_000, 0.9)], (8000, 0.8)), ids=str)
@pytest.mark.parametrize("epsilon", some([0.3, 1.0, 3.0], 0.3))
def test_reports_have_the_law_that_makes_them_private(epsilon, case):
    (n, narrower), rng, gain = case, np.random.default_rng(4), 0.7
    bound, state = ready("ldp_ucb", Setting(1000, 2), epsilon=epsilon)
    seen = np.array([bound["released"](state, gain, Draws(0.0, x)) for x in rng.laplace(size=n)])
    assert stats.kstest((seen - gain) * epsilon, "laplace").pvalue > 1e-4
    assert stats.kstest((seen - gain) * epsilon * narrower, "laplace").pvalue < 1e-4  # negative control
    bound, state = ready("ldp_ucb", Setting(1000, 2), epsilon=epsilon, report="bernoulli")
    values = {}
    for given in (0.0, gain, 1.0):
        seen = np.array([bound["released"](state, given, Draws(x, 0.0)) for x in rng.random(n)])
        high, low = seen.max(), seen.min()
        values[given] = (high, low)
        ones = int((seen == high).sum())
        assert set(seen) == {high, low}
        wanted = (given * math.exp(epsilon) + 1 - given) / (1 + math.exp(epsilon))
        assert stats.binomtest(ones, n, wanted).pvalue > 1e-4
        assert wanted * high + (1 - wanted) * low == pytest.approx(given, abs=1e-12)  # right in the mean
    assert len(set(values.values())) == 1  # the two values of a report reveal nothing about the gain


def test_the_ledger_of_randomised_response_is_tight():
    algorithm = make("ldp_ucb", epsilon=1.5, report="bernoulli").tuned(Setting(1000, 2))
    upper, lower = algorithm.bounds(Setting(1000, 2), 0.0)
    assert upper.epsilon == pytest.approx(1.5) and lower.epsilon == pytest.approx(1.5) and lower.lower
    upper, _, at_delta, lower = algorithm.bounds(Setting(1000, 2), 0.01, sensitivity=0.25)
    assert upper.epsilon == pytest.approx(math.log(1 + 0.25 * (math.exp(1.5) - 1)))
    assert at_delta.epsilon == lower.epsilon < upper.epsilon and lower.lower and at_delta.delta == 0.01


# ------------------------------------------------------------------------------------------- bounds


def test_the_bound_of_theorem_2_is_minimised_over_the_gap_threshold():
    """Against a search, and by its definition: twice Lemma 2's bonus equals the gap after A/K gap^-((1+v)/v) plays."""
    setting = Setting(10**12, 5, 0.5, 0.9)
    algorithm = make("dp_robust_ucb", epsilon=0.5, constants=1.0).tuned(setting)
    t = 1e30
    found = algorithm.regret_bound(np.array([t]), setting)[0]
    log_t = math.log(10**12)
    a = 5 * 36**3 * 0.9**2 * (math.log(2) + 4 * math.log(t)) * log_t**3.5 / 0.5
    gaps = np.geomspace(1e-12, 1, 100_001)
    late = 5 * (1 + math.pi**2 / 3) * 2 * 0.9 ** (2 / 3)
    assert found == pytest.approx((t * gaps + a * gaps**-2).min() + late, rel=1e-6)
    plays = a / 5 * 0.1**-3
    width = 18 * 0.9 ** (2 / 3) * ((math.log(2) + 4 * math.log(t)) * log_t**3.5 / (plays * 0.5)) ** (1 / 3)
    assert 2 * width == pytest.approx(0.1)
    for own in ({"constants": 0.5}, {"epsilon": 1.5, "constants": 1.0}):
        assert make("dp_robust_ucb", **own).tuned(setting).regret_bound(np.array([t]), setting) is None


@pytest.mark.slow
def test_less_noise_is_less_regret():
    """On C2 at ε = 1, with the bonus for the noise, a smooth tree loses less in every trial than a tree in any."""
    own = {"epsilon": 1.0, "bonus": "chernoff"}
    game = match(foe("bernoulli", means="C2"), [make("dp_ucb", counter=c, **own) for c in ("tree", "smooth")], 10**5, 5)
    tree, smooth = play(game, range(4))[:, :, 0]
    assert 1.5 * smooth.max() < tree.min()


def test_a_learner_that_knows_the_moment_learns_on_every_tail():
    """The regret of every trial is less than half of the smallest of uniform play."""
    for adversary in (foe("pareto", v=0.9), foe("student_t", v=0.9), foe("lognormal", v=0.9)):
        game = match(adversary, [make("robust_ucb"), make("uniform")], 50_000, n_arms=5)
        robust, uniform = play(game, range(4))[:, :, 0]
        assert 2 * robust.max() < uniform.min(), adversary.name
