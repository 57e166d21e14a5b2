"""The algorithms of the game `best_arm` against plain twins, reference values, and the laws that hold for them.

A reference value is the mean τ of some trials; ours is that of others. They must agree within four joint standard
errors. Where τ has a heavy tail, only quantiles and the share of trials that reach the cap are compared.
"""

import inspect
import math

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.algorithms import adap_tt, ctb_tt, dp_halving, dp_sprt, dp_tt, dp_uniform_best_arm, eb_tci
from privbandits_cli.audit.auditor import audit
from privbandits_cli.games import best_arm, views
from privbandits_cli.games.bandit import Draws
from privbandits_cli.games.players import Setting
from privbandits_cli.games.steps import plain
from privbandits_cli.numerics.jit import without_jit
from privbandits_cli.plugins.registry import Registry, including
from tests import naive_best_arm as naive
from tests.best_arm_reference import BUDGETS, CELLS, FREQUENCIES, HEAVY, INSTANCES, NOT_CLIPPED, SAMPLES
from tests.conftest import first, foe, outcomes, some

FAR = 10**9  # a cap that no trial reaches
ERRORS = 4  # joint standard errors
THREE, TWO = [0.25, 0.85, 0.5], [0.8, 0.3]


def made(name, **parameters):
    """An algorithm of the game by name, not tuned."""
    model = Registry().find("algorithms", name)
    return model(**parameters).in_game("best_arm") if model.game != "best_arm" else model(**parameters)


def setting_for(algorithm, n_arms, horizon=FAR, beta=0.01):
    """A setting in which it plays: with this probability of an error, unless it has a budget."""
    return Setting(horizon, n_arms, confidence=None if isinstance(algorithm, best_arm.Budgeted) else 1 - beta)


def played(algorithm, means, trials, seed=1, cap=FAR, beta=0.01):
    """The outcomes of some trials, on Bernoulli arms."""
    setting = setting_for(algorithm, len(means), cap, beta)
    return outcomes(algorithm.tuned(setting), foe("bernoulli", means=means), setting, trials, seed)


# ------------------------------------------------------------------------------------------ twins

EPS = {"epsilon": 1.0}
TWINS = {
    "eb_tci": ("eb_tci", {}, naive.eb_tci, {"delta": 0.05}, THREE, 2000),
    "ctb_tt": ("ctb_tt", {"epsilon": 3.0}, naive.eb_tci, {"delta": 0.1, "flip": math.exp(-3)}, TWO, 2000),
    "track_and_stop": ("track_and_stop", {}, naive.track_and_stop, {"delta": 0.05}, THREE, 2000),
    "successive_elimination": (
        "successive_elimination",
        {},
        naive.successive_elimination,
        {"delta": 0.05},
        THREE,
        5000,
    ),
    "dp_se": ("dp_se", {**EPS}, naive.dp_se, {"delta": 0.05, **EPS}, THREE, 20_000),
    "adap_tt": ("adap_tt", {**EPS}, naive.adap_tt, {"delta": 0.1, "star": False, **EPS}, TWO, 9000),
    "adap_tt_star": (
        "adap_tt_star",
        {"epsilon": 0.1},
        naive.adap_tt,
        {"delta": 0.1, "star": True, "epsilon": 0.1},
        THREE,
        40_000,
    ),
    "adap_tt_star_near": (
        "adap_tt_star",
        {**EPS},
        naive.adap_tt,
        {"delta": 0.1, "star": True, **EPS},
        TWO,
        9000,
    ),
    **{
        f"dp_tt_{rule}_{sampling}": (
            "dp_tt",
            {"threshold": rule, "sampling": sampling, **EPS},
            naive.dp_tt,
            {"delta": 0.1, "rule": rule, "bonus": bonus, "start": start, **EPS},
            THREE,
            3000,
        )
        for rule in ("sum", "paired", "chernoff", "stylised")
        for sampling, bonus, start in (("published", 1, 1), ("recommended", 3, 16))
    },
    "dp_tt_growth": (
        "dp_tt",
        {"growth": 0.5, "epsilon": 0.3},
        naive.dp_tt,
        {"delta": 0.1, "rule": "chernoff", "bonus": 3, "start": 54, "growth": 0.5, "epsilon": 0.3},
        TWO,
        3000,
    ),
    "dp_uniform": (
        "dp_uniform",
        {**EPS},
        naive.dp_uniform,
        {"delta": 0.1, "rule": "chernoff", "start": 16, **EPS},
        THREE,
        3000,
    ),
    "uniform": ("uniform_best_arm", {}, naive.uniform, {"budget": 100}, THREE, 100),
    "dp_uniform_laplace": (
        "dp_uniform_best_arm",
        {"epsilon": 0.2},
        naive.uniform,
        {"budget": 100, "epsilon": 0.2, "law": "laplace"},
        THREE,
        100,
    ),
    "dp_uniform_gumbel": (
        "dp_uniform_best_arm",
        {"epsilon": 0.2, "noise": "gumbel"},
        naive.uniform,
        {"budget": 100, "epsilon": 0.2, "law": "gumbel"},
        THREE,
        100,
    ),
    **{
        f"dp_halving_{memory}": (
            "dp_halving",
            {"epsilon": 0.2, "memory": memory},
            naive.halving,
            {"budget": 300, "epsilon": 0.2, "keep": memory == "all"},
            [0.4, 0.6, 0.5, 0.3, 0.2, 0.55],
            300,
        )
        for memory in ("last", "all")
    },
    "dp_sprt": (
        "dp_sprt",
        {"mu0": 0.3, "mu1": 0.7, **EPS},
        naive.sprt,
        {"mu0": 0.3, "mu1": 0.7, "alpha": 0.05, "beta": 0.05, **EPS},
        [0.7],
        2000,
    ),
}
FIRST = [
    "eb_tci",
    "dp_se",
    "adap_tt_star_near",
    "dp_tt_chernoff_recommended",
    "dp_halving_last",
    "dp_uniform_gumbel",
]


@pytest.mark.parametrize("key", some(TWINS, *FIRST))
def test_twins(key):
    """τ and the answer are those of a plain twin that has the same random numbers."""
    name, parameters, twin, given, means, cap = TWINS[key]
    algorithm, beta = made(name, **parameters), given.get("delta", given.get("beta", 0.01))
    setting, adversary = setting_for(algorithm, len(means), cap, beta), foe("bernoulli", means=means)
    algorithm = algorithm.tuned(setting)
    with without_jit(), np.errstate(over="ignore"):
        found = outcomes(algorithm, adversary, setting, 3, 5)
    wanted = [naive.play(twin, algorithm, adversary, setting, 5, trial, **given) for trial in range(3)]
    assert list(zip(found.pulls.tolist(), found.answers.tolist(), strict=True)) == wanted
    assert max(answer for _, answer in wanted) >= 0 and not found.capped.all()


@pytest.mark.parametrize(
    ("name", "parameters", "cap"),
    first(1, [("adap_tt_star", {"epsilon": 1.0}, 800), ("dp_tt", {"epsilon": 1.0}, 800), ("track_and_stop", {}, 200)]),
)
def test_compiled_and_plain_steps_play_the_same(name, parameters, cap):
    algorithm = made(name, **parameters)
    compiled = played(algorithm, THREE, 2, cap=cap)
    with without_jit(), np.errstate(over="ignore"):
        plain = played(algorithm, THREE, 2, cap=cap)
    for one, other in zip(compiled, plain, strict=True):
        np.testing.assert_array_equal(one, other)


# ------------------------------------------------------------------------------------------ reference values


def of_cell(name, epsilon, given):
    """The algorithm of a reference value."""
    parameters = ({"epsilon": epsilon} if epsilon < math.inf else {}) | given
    if name.startswith("dp_tt_"):
        return dp_tt.Parameters(threshold=name[6:], sampling="published", **parameters)
    return made({"se": "successive_elimination"}.get(name, name), **parameters)


def label(cell):
    name, instance, epsilon, delta, given = cell[:5]
    return "-".join([name, instance, f"{epsilon:g}", f"{delta:g}", *(f"{k}={v:g}" for k, v in given.items())])


FEW = {"se": {}, "dp_se": {}, "dp_tt_chernoff": {"first": 16, "bonus": 3.0}, "dp_tt_stylised": {}}
LIGHT = [cell for cell in CELLS if cell[1] == "C2" and cell[6] < 5_000 and FEW.get(cell[0]) == cell[4]]
LIGHT = list({cell[0]: cell for cell in sorted(LIGHT, key=lambda cell: -cell[6])}.values())  # the least mean of each


@pytest.mark.parametrize(
    "cell", [pytest.param(c, id=label(c), marks=[] if c in LIGHT else pytest.mark.slow) for c in CELLS]
)
def test_reference_values(cell):
    """Both standard deviations estimate the same one; where τ has few values, the larger of them counts."""
    name, instance, epsilon, delta, given, n, mean, error, _, errors, _ = cell
    trials = 150
    found = played(of_cell(name, epsilon, given), INSTANCES[instance], trials, beta=delta)
    own = max(found.pulls.std(ddof=1), error * math.sqrt(n)) / math.sqrt(trials)
    spread = math.hypot(error, own) or 1e-9
    assert abs(found.pulls.mean() - mean) <= ERRORS * spread
    assert not found.capped.any()
    if "stylised" not in name:
        assert errors == 0 or delta >= 0.2
        assert found.wrong(int(np.argmax(INSTANCES[instance]))) <= stats.binom.ppf(1 - 1e-6, trials, delta)


def misfit(ours, wanted):
    """The probability of two samples that differ as much, if both have one law; each is value: count.

    Values of which one sample is expected to have fewer than five are put together with those above them.
    """
    values, sizes = sorted({*ours, *wanted}), (sum(ours.values()), sum(wanted.values()))
    columns, own = [], np.zeros(2)
    for value in values:
        own += ours.get(value, 0), wanted.get(value, 0)
        if own.sum() * min(sizes) / sum(sizes) >= 5:
            columns.append(own)
            own = np.zeros(2)
    columns[-1] = columns[-1] + own
    return stats.chi2_contingency(np.array(columns).T, correction=False).pvalue if len(columns) > 1 else 1.0


@pytest.mark.parametrize("key", some(FREQUENCIES, ("pair", 0.1, 0.01)), ids=str)
def test_frequencies_of_dp_se(key):
    """τ has few values, so how often each of them comes says more than its mean; a wrong ε is found."""
    instance, epsilon, delta = key
    wanted = FREQUENCIES[key]

    def counted(epsilon):
        found = played(made("dp_se", epsilon=epsilon), INSTANCES[instance], 500, beta=delta)
        assert found.wrong(int(np.argmax(INSTANCES[instance]))) == 0 and not found.capped.any()
        return dict(zip(*(part.tolist() for part in np.unique(found.pulls, return_counts=True)), strict=True))

    chance = 2 * stats.norm.sf(ERRORS)
    assert misfit(counted(epsilon), wanted) > chance
    if key == ("pair", 0.1, 0.01):
        assert misfit(counted(0.12), wanted) < chance


def test_a_threshold_of_another_cell_is_found_to_be_wrong():
    """Negative control: `paired` is not within four standard errors of the reference of `chernoff`."""
    cell = next(c for c in CELLS if c[0] == "dp_tt_chernoff" and c[1] == "C2" and c[4] == {"first": 16, "bonus": 3.0})
    found = played(of_cell("dp_tt_paired", cell[2], cell[4]), INSTANCES["C2"], 150, beta=cell[3])
    assert abs(found.pulls.mean() - cell[6]) > ERRORS * math.hypot(cell[7], found.pulls.std() / math.sqrt(150))


def quartiles_agree(found, cell):
    """The shares of our trials below each quartile of the reference are those of the reference, but for chance."""
    n, *quartiles = cell[4:8]
    for share, quartile in zip((0.25, 0.5, 0.75), quartiles, strict=True):
        below, trials = float(np.mean((found.pulls <= quartile) & ~found.capped)), len(found.pulls)
        assert abs(below - share) <= ERRORS * math.sqrt(share * (1 - share) * (1 / n + 1 / trials))


def capped_agree(found, cell):
    """The share of our trials that reach the cap is that of the reference, but for chance."""
    n, capped, trials = cell[4], cell[8], len(found.pulls)
    both = (capped + found.capped.sum()) / (n + trials)
    spread = math.sqrt(both * (1 - both) * (1 / n + 1 / trials))
    assert abs(found.capped.mean() - capped / n) <= ERRORS * spread


@pytest.mark.parametrize("cell", some(HEAVY, HEAVY[1]), ids=str)
def test_quartiles_of_heavy_tails(cell):
    """With ties of arms, τ has no mean in practice."""
    name, instance, epsilon, delta, *_ = cell
    found = played(of_cell(name, epsilon, {}), INSTANCES[instance], 100, cap=math.ceil(cell[7]) + 1, beta=delta)
    quartiles_agree(found, cell)


@pytest.mark.slow
def test_means_that_are_not_clipped(tmp_path):
    """AdaP-TT without our clipping, from its source: some trials do not end, as the file says."""
    own = tmp_path / "not_clipped.py"
    source = inspect.getsource(adap_tt)
    old = "from privbandits_cli.numerics.kl import clipped\n"
    assert source.count(old) == 1
    own.write_text(source.replace(old, "") + "\n\ndef clipped(x):\n    return x\n", encoding="utf-8")
    model = including([own])[0].find("algorithms", "not_clipped")
    _, instance, epsilon, delta, *_ = NOT_CLIPPED
    found = played(model(epsilon=epsilon), INSTANCES[instance], 100, cap=3_000_000, beta=delta)
    quartiles_agree(found, NOT_CLIPPED)
    capped_agree(found, NOT_CLIPPED)
    clipped = played(made("adap_tt", epsilon=epsilon), INSTANCES[instance], 100, cap=3_000_000, beta=delta)
    assert not clipped.capped.any() and not np.array_equal(clipped.pulls, found.pulls)


@pytest.mark.slow
def test_shares_that_reach_the_cap():
    name, instance, epsilon, delta, *_ = HEAVY[1]
    found = played(of_cell(name, epsilon, {}), INSTANCES[instance], 60, cap=3_000_000, beta=delta)
    capped_agree(found, HEAVY[1])
    assert found.wrong(0) == 0
    other = dp_tt.Parameters(threshold="sum", epsilon=epsilon)
    cured = played(other, INSTANCES[instance], 60, cap=3_000_000, beta=delta)
    assert not cured.capped.any()


@pytest.mark.parametrize(
    "key", some(BUDGETS, *[key for key in BUDGETS if key[1] == "C2" and key[2] == 1 and key[3] == 200]), ids=str
)
def test_reference_errors_with_a_budget(key):
    name, instance, epsilon, budget = key
    if name.startswith("uniform"):
        law = "gumbel" if name == "uniform_gumbel" else "laplace"
        algorithm = dp_uniform_best_arm.Parameters(epsilon=epsilon, noise=law)
    else:
        algorithm = dp_halving.Parameters(epsilon=epsilon, memory="all" if name.endswith("cumulative") else "last")
    trials, rate = 500, BUDGETS[key][0]
    found = played(algorithm, INSTANCES[instance], trials, cap=budget)
    own = found.wrong(int(np.argmax(INSTANCES[instance]))) / trials
    both = (own * trials + rate * 20_000) / (trials + 20_000)
    assert abs(own - rate) <= ERRORS * math.sqrt(both * (1 - both) * (1 / trials + 1 / 20_000))
    assert not found.capped.any() and found.pulls.max() <= budget


@pytest.mark.parametrize("key", SAMPLES, ids=str)
def test_reference_samples_of_the_test_of_one_mean(key):
    mean, epsilon = key
    found = played(dp_sprt.Parameters(epsilon=epsilon, mu0=0.3, mu1=0.7), [mean], 100, beta=0.05)
    own = found.pulls.std(ddof=1) / 10
    assert abs(found.pulls.mean() - SAMPLES[key][0]) <= ERRORS * math.hypot(own, SAMPLES[key][1])
    assert found.wrong(int(mean > 0.5)) <= stats.binom.ppf(1 - 1e-6, 100, 0.05)


def test_the_stylised_threshold_errs_more_often_than_it_says():
    """At ε = 0.1 its error rate is proved to be above β with confidence 1 - 1e-6; `chernoff` makes no such error."""
    pair, trials, beta = INSTANCES["pair"], 1000, 0.01
    wrong = played(dp_tt.Parameters(epsilon=0.1, threshold="stylised", sampling="published"), pair, trials).wrong(0)
    assert stats.binom.sf(wrong - 1, trials, beta) < 1e-6
    sure = played(dp_tt.Parameters(epsilon=0.1, sampling="published"), pair, 200).wrong(0)
    assert sure <= stats.binom.ppf(1 - 1e-6, 200, beta)


# ------------------------------------------------------------------------------------------ audits


def audited(name, horizon, monkeypatch, louder=1.0, **parameters):
    """The verdict of an audit of the sums that a learner releases; louder: what its noise is multiplied by."""
    model = type(made(name, **parameters))
    setting, state = setting_for(made(name, **parameters), 2, horizon), model.state

    def changed(self, setting):
        own = state(self, setting)
        own["scale"] *= louder
        return own

    monkeypatch.setattr(model, "state", changed)
    with without_jit(), np.errstate(over="ignore"):
        return audit(made(name, **parameters).tuned(setting), setting, seed=0).verdict


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("dp_uniform", {"first": 2}),
        ("dp_halving", {}),
        ("dp_tt", {"sampling": "published"}),
        ("adap_tt", {}),
        ("dp_uniform_best_arm", {}),
    ],
    ids=str,
)
def test_audits(name, given, monkeypatch):
    """The noisy sums explain the arms, and their noise is enough; with nine tenths of it they are caught."""
    assert audited(name, 48, monkeypatch, epsilon=1.0, **given) == "CONSISTENT"
    monkeypatch.undo()
    assert audited(name, 48, monkeypatch, louder=0.9, epsilon=1.0, **given) == "VIOLATION"


# ------------------------------------------------------------------------------------------ laws

ALL = [
    made("eb_tci"),
    made("track_and_stop"),
    made("successive_elimination"),
    made("uniform_best_arm"),
    made("dp_se", **EPS),
    *(made(name, **EPS) for name in ("adap_tt", "adap_tt_star", "dp_tt", "dp_uniform", "ctb_tt")),
    *(made(name, **EPS) for name in ("dp_uniform_best_arm", "dp_halving")),
    made("dp_sprt", mu0=0.3, mu1=0.7, **EPS),
]


def setting_of(algorithm, horizon=5000):
    return setting_for(algorithm, 1 if algorithm.name == "dp_sprt" else 4, horizon)


@pytest.mark.parametrize("algorithm", ALL, ids=lambda algorithm: algorithm.name)
def test_promises(algorithm):
    setting = setting_of(algorithm)
    tuned = algorithm.tuned(setting)
    assert not tuned.untuned() and not list(tuned.errors(setting))
    promise = tuned.guarantee(setting)
    if not tuned.private:
        assert promise is None and not tuned.mechanism() and tuned.view(setting) is None
        return
    assert promise.epsilon == pytest.approx(1.0) and (promise.delta, promise.status) == (0.0, "proved")
    assert tuned.mechanism() and isinstance(tuned.view(setting), views.View)
    lower = [bound for bound in tuned.bounds(setting, 0.0) if bound.lower]
    assert all(bound.epsilon == pytest.approx(1.0) for bound in lower)
    assert bool(lower) == (tuned.name != "dp_sprt")
    half = tuned.bounds(setting, 0.0, sensitivity=0.5)[0]
    assert half.epsilon == pytest.approx(0.5 if tuned.name != "ctb_tt" else half.epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALL, ids=lambda algorithm: algorithm.name)
def test_steps_have_a_form_for_many_trials(algorithm):
    setting = setting_of(algorithm)
    assert best_arm.Games.form(algorithm.tuned(setting), setting).reason == ""


def rewarded(algorithm, gains, noise, cap=20_000, releases=None, beta=0.1):
    """Play plain steps on stacks: the n-th play of arm a has the gain `gains[a][n]`; noise: a number for each round.

    releases: a list for the rounds in which a noisy sum was released.
    """
    setting, steps = setting_for(algorithm, len(gains), cap, beta), plain(type(algorithm).__module__)
    state, plays = algorithm.tuned(setting).state(setting)[0], [0] * len(gains)
    for t in range(cap):
        rng = Draws(0.5, noise[t])
        arm = steps["choose"](state, rng)
        before = state.phases[arm] if releases is not None else 0
        steps["update"](state, arm, gains[arm][plays[arm]], rng)
        if releases is not None and state.phases[arm] > before:
            releases.append(t)
        plays[arm] += 1
        answer = steps["stop"](state)
        if answer >= 0:
            return t + 1, answer, state
    return cap, -1, state


def coins(means, n, seed):
    """Stacks of Bernoulli gains."""
    rng = np.random.default_rng(seed)
    return [(rng.random(n) < mean).astype(float) for mean in means]


@pytest.mark.slow
def test_users_of_one_phase_may_change_places():
    """What a private learner does follows from its noisy sums: two gains of one phase of an arm are exchanged."""
    noise = np.random.default_rng(8).laplace(size=20_000)
    changed = 0
    for name, i, j in (
        ("dp_tt", 2, 12),
        ("dp_uniform", 2, 12),
        ("dp_se", 3, 30),
        ("adap_tt", 9, 15),
        ("dp_halving", 0, 9),
    ):
        cap = 600 if name == "dp_halving" else 20_000
        for seed in range(3):
            one = coins(TWO, 20_000, seed)
            other = [own.copy() for own in one]
            other[0][i], other[0][j] = 1.0, 0.0
            one[0][i], one[0][j] = 0.0, 1.0
            algorithm = made(name, epsilon=1.0)
            first, second = (rewarded(algorithm, gains, noise, cap) for gains in (one, other))
            assert first[:2] == second[:2] and first[1] >= 0
    for seed in range(10):  # negative control: a stopping rule that reads each gain
        one = coins(TWO, 20_000, seed)
        other = [own.copy() for own in one]
        one[0][0], one[0][9], other[0][0], other[0][9] = 0.0, 1.0, 1.0, 0.0
        changed += rewarded(eb_tci.Parameters(), one, noise)[2].plays.tolist() != (
            rewarded(eb_tci.Parameters(), other, noise)[2].plays.tolist()
        )
    assert changed > 0


def test_the_time_of_a_raw_stopping_rule_gives_one_gain_away():
    """Flip one early gain of the best arm: τ, which has one value for each table, differs; so no ε holds."""
    differs = 0
    for seed in range(20):
        gains = coins(THREE, 5000, seed)
        flipped = [own.copy() for own in gains]
        flipped[1][1] = 1 - flipped[1][1]
        tables = gains, flipped
        times = [rewarded(eb_tci.Parameters(), table, np.zeros(5000), 5000, beta=0.05)[0] for table in tables]
        differs += times[0] != times[1]
    assert differs >= 15


@pytest.mark.parametrize("name", some(["dp_tt", "dp_uniform", "adap_tt", "adap_tt_star"], "dp_tt", "adap_tt"))
def test_one_number_of_noise_for_each_release(name):
    """The numbers of rounds without a release are not read; each release reads its own, once."""
    gains, noise = coins(TWO, 20_000, 4), np.random.default_rng(9).laplace(size=20_000)
    algorithm, rounds = made(name, epsilon=1.0), []
    tau, answer, state = rewarded(algorithm, gains, noise, releases=rounds)
    first = 1 if name.startswith("adap") else 16
    assert len(rounds) == sum(1 + math.floor(math.log2(n / first)) for n in state.plays) and answer >= 0
    rare = np.full(20_000, math.nan)
    rare[rounds] = noise[rounds]
    assert rewarded(algorithm, gains, rare)[:2] == (tau, answer)
    for t in rounds:
        lost = noise.copy()
        lost[t] = math.nan
        assert np.isnan(rewarded(algorithm, gains, lost, t + 1)[2].sums).sum() == 1


@pytest.mark.slow
def test_no_privacy_is_a_limit():
    """With ε = 40 a report is the gain itself, so CTB-TT plays like EB-TCI."""
    one, other = played(ctb_tt.Parameters(epsilon=40.0), THREE, 5), played(eb_tci.Parameters(), THREE, 5)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_first_phases_and_equal_plays():
    quick = dp_tt.Parameters(epsilon=0.5, first=40, threshold="stylised")
    assert played(quick, [0.99, 0.01, 0.02], 20, beta=0.4).pulls.min() >= 120
    noise = np.random.default_rng(5).laplace(size=20_000)
    for algorithm in (quick, made("dp_uniform", epsilon=1.0)):
        tau, _, state = rewarded(algorithm, coins([0.99, 0.01, 0.02], 20_000, 2), noise)
        assert state.plays.sum() == tau and state.plays.min() >= (40 if algorithm is quick else 16)
    assert set((state.plays / 16).tolist()) <= {2.0**i for i in range(12)} and len({*state.plays.tolist()}) == 1


def test_the_last_epoch_of_dp_se_counts_in_full():
    """With two arms τ is twice the sum of the first epochs' R."""
    epsilon, beta, ends, total = 1.0, 0.2, [], 0
    for e in range(1, 8):
        one, two = math.log(16 * e**2 / beta), math.log(8 * e**2 / beta)
        total += 2 * (math.ceil(max(32 * one * 4**e, 8 * two * 2**e / epsilon)) + 1)
        ends.append(total)
    found = played(made("dp_se", epsilon=epsilon), INSTANCES["pair"], 50, beta=beta)
    assert set(found.pulls.tolist()) <= set(ends)


def test_permuted_arms_permute_the_answer():
    means = [0.2, 0.9, 0.4]
    for algorithm in (dp_tt.Parameters(epsilon=1.0), eb_tci.Parameters()):
        for order in ([0, 1, 2], [1, 2, 0], [2, 0, 1]):
            permuted = [means[i] for i in order]
            assert set(played(algorithm, permuted, 10).answers.tolist()) == {permuted.index(0.9)}


def test_gumbel_noise_is_the_exponential_mechanism():
    """The answer's law has weights e^(ε sum), within the error of 4000 trials; those of ε/2 do not fit."""
    setting, epsilon, trials = Setting(6, 3), 0.8, 4000
    algorithm = made("dp_uniform_best_arm", epsilon=epsilon, noise="gumbel")
    found = outcomes(algorithm, foe("bernoulli", means=[1.0, 0.0, 0.5]), setting, trials, 2)
    counts = np.bincount(found.answers, minlength=3)

    def misfit(rate):
        last = np.array([1.0, 2.0, 1.0]) / 4  # the probabilities of 0, 1 and 2 gains of the last arm
        parts = np.exp(rate * np.array([[2.0, 0.0, gains] for gains in range(3)]))
        parts = last @ (parts / parts.sum(1, keepdims=True))
        return stats.chisquare(counts, trials * parts / parts.sum()).pvalue

    assert misfit(epsilon) > 1e-6 > misfit(epsilon / 2)


def test_budgets_that_are_too_small_are_refused():
    assert list(dp_halving.Parameters(epsilon=1.0).errors(Setting(14, 5)))
    assert not list(dp_halving.Parameters(epsilon=1.0).errors(Setting(15, 5)))
    assert list(made("uniform_best_arm").errors(Setting(3, 4)))
    sure = Setting(100, 2, confidence=0.9)
    assert not list(dp_sprt.Parameters(epsilon=1.0, mu0=0.3, mu1=0.7).errors(sure))
    assert list(dp_sprt.Parameters(epsilon=1.0, mu0=0.7, mu1=0.3).errors(sure))
    assert list(dp_sprt.Parameters(epsilon=1.0, mu0=0.3, mu1=0.7).errors(sure._replace(n_arms=3)))


def test_the_stylised_threshold_is_flagged():
    setting = Setting(1000, 3, confidence=0.99)
    flagged = dp_tt.Parameters(epsilon=1.0, threshold="stylised").tuned(setting)
    assert flagged.remarks(setting) and flagged.caveats(setting)
    assert not dp_tt.Parameters(epsilon=1.0).tuned(setting).remarks(setting)


@pytest.mark.parametrize("epsilon", [1e-9, 1e9])
@pytest.mark.parametrize("means", [[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]], ids=str)
def test_the_ends_of_the_parameters(epsilon, means):
    """Noisy means far outside [0, 1], and means of exactly 0 and 1: no step divides by 0, and no number is lost."""
    for name, given in (("dp_tt", {"first": 1}), ("dp_uniform", {"first": 1}), ("adap_tt", {}), ("adap_tt_star", {})):
        for rule in ("sum", "chernoff", "stylised") if name.startswith("dp") else (None,):
            chosen = {"threshold": rule} if rule else {}
            with without_jit(), np.errstate(over="ignore"):
                found = played(made(name, epsilon=epsilon, **given, **chosen), means, 1, cap=150)
            assert found.pulls[0] == 150 or found.answers[0] == 0
