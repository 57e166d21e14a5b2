"""Elimination on G-optimal designs: the design, the widths, the noise, the basis, and the plain twins."""

import math
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.games import contextual
from privbandits_cli.games.contextual import Contexts, Setting
from privbandits_cli.games.drawing import WIDTH
from privbandits_cli.mechanisms import phased_design
from privbandits_cli.mechanisms.phased_design import contest, designed
from privbandits_cli.numerics.jit import compile_step, record, without_jit
from tests.conftest import foe, make, some
from tests.games.test_contextual import PLAIN, VECTORS, match
from tests.naive_contextual import regrets

FLAT = [[*x[:2], x[0] + x[1]] for x in VECTORS["vectors"]]  # in a plane
FOES = {
    "generic": lambda: foe("fixed_arms", **VECTORS),
    "in a plane": lambda: foe("fixed_arms", vectors=FLAT, theta=[0.3, 0.1, 0.3], rewards="signs"),
    "sphere": lambda: foe("fixed_arms", rewards="signs", shape="sphere"),
}
LEARNERS = {
    "phased": lambda: make("phased_gope", alpha=0.9),
    "pure": lambda: make("adap_gope", epsilon=30.0, alpha=0.9),
    "local": lambda: make("ldp_gope", epsilon=30.0, alpha=0.9),
    "zCDP": lambda: make("adac_gope", rho=50.0, alpha=0.9),
}
PRIVATE = ("adap_gope", "ldp_gope", "adac_gope")
SETTING = Setting(2**14, 6, contexts=Contexts(3, fixed=True))


def sphere(k, d, seed=1):
    arms = np.random.default_rng(seed).standard_normal((k, d))
    return arms / np.linalg.norm(arms, axis=1, keepdims=True)


SETS = {
    "sphere": sphere(30, 4),
    "basis": np.eye(5),
    "a plane": sphere(12, 2) @ sphere(2, 5, 2),
    "all alike": np.ones((4, 3)),
    "only zeros": np.zeros((3, 2)),
    "zeros and copies": np.vstack([np.zeros((2, 3)), sphere(6, 3), sphere(6, 3)]),
    "lengths from 1e-3 to 1": sphere(20, 3) * np.geomspace(1e-3, 1, 20)[:, None],
}


def design_of(arms, step=designed, left=None):
    """The state of a phase after its design for these arms, `[k, d]`."""
    state = record(**contest(Contexts(arms.shape[1]), len(arms)))
    state["points"][0], state["left"] = arms, left or len(arms)
    step(state[0])
    return state[0]


def check_design(arms, state):
    rank = np.linalg.matrix_rank(arms) if arms.any() else 0
    weights = state.weights
    assert state.rank == rank and (weights >= 0).all() and weights.sum() == pytest.approx(float(rank > 0))
    inverse = np.linalg.pinv((arms.T * weights) @ arms, rcond=1e-12, hermitian=True)
    value = max(x @ inverse @ x for x in arms)
    assert state.value == pytest.approx(value, rel=1e-9, abs=1e-12)
    assert rank - 1e-9 <= value <= 1.01 * rank + 1e-12
    assert (weights > 0).sum() <= max(1, rank * (rank + 1))


@pytest.mark.parametrize("arms", SETS.values(), ids=SETS)
def test_the_value_of_the_design_is_at_most_a_hundredth_above_the_dimension(arms, by_hand):
    with without_jit():
        state = design_of(arms)
    check_design(arms, state)
    if len(arms) == 30:  # the control: equal weights are no such design
        assert max(x @ np.linalg.inv(arms.T @ arms / 30) @ x for x in arms) > 1.1 * 4


@pytest.mark.slow
@pytest.mark.parametrize("size", [(300, 20), (100, 5), (25, 24)], ids=str)
def test_designs_of_many_arms(size):
    step = compile_step(designed)
    for seed in range(3):
        arms = sphere(*size, seed)
        check_design(arms, design_of(arms, step))


def test_a_design_is_kept_until_arms_leave(monkeypatch, by_hand):
    state = design_of(SETS["sphere"])
    first = state.weights.copy()
    state.weights[:] = first[::-1]
    designed(state)
    np.testing.assert_array_equal(state.weights, first[::-1])
    state.theta[:] = state.points[3] * 10
    state.beta = 1.0
    assert phased_design.eliminate(state) < 30 and state.changed == 1


def equals_its_twin(rival, plain, horizon, trials=(0, 3)):
    played = match(FOES[rival](), [make() for make in LEARNERS.values()], horizon, checkpoints=[1, 40, horizon])
    with without_jit(plain), np.errstate(over="ignore"):
        found = contextual.play(played, trials)
    for i, trial in enumerate(trials):
        np.testing.assert_allclose(found[:, i], regrets(played, trial), atol=1e-7)
    assert len({*found[:, 0, -1]}) == len(LEARNERS)  # none plays as another


@pytest.mark.parametrize("rival", some(FOES, "generic"))
@pytest.mark.parametrize("plain", PLAIN)
def test_equals_its_twin(rival, plain):
    """Over three phases and more."""
    equals_its_twin(rival, plain, 800)


@pytest.mark.slow
def test_vectors_equal_single_trials():
    played = match(FOES["sphere"](), [make() for make in LEARNERS.values()], 500, checkpoints=[40, 500])
    assert all(contextual.Games.loop(played, algorithm).play for algorithm in played.algorithms)
    found = contextual.play(played, range(WIDTH + 1), block=64)
    with without_jit(), np.errstate(over="ignore"):
        np.testing.assert_array_equal(found[:, [0, WIDTH]], contextual.play(played, [0, WIDTH], width=1))


def test_on_the_basis_it_is_elimination(by_hand):
    """Every arm of S is played equally often in a phase, and leaves if its mean is more than 2 β behind."""
    k, means = 4, np.array([0.9, 0.6, 0.5, 0.1])
    setting = Setting(4000, k, contexts=Contexts(k, sigma=0.5, fixed=True))
    algorithm = make("phased_gope", alpha=0.5).tuned(setting)
    state, rng, arms = algorithm.state(setting)[0], np.random.default_rng(3), np.eye(k)
    choose = import_module("privbandits_cli.algorithms.phased_gope").choose
    left, phase, seen = list(range(k)), 0, []
    plan: list[int] = []
    for _ in range(4000):
        if not plan:
            if phase:
                own = {a: np.mean([y for b, y in seen if a == b]) for a in left}
                left = [a for a in left if max(own.values()) - own[a] <= 2 * 0.5**phase]
            phase, seen = phase + 1, []
            c = 2 * len(left) * 0.25 * math.log(k * phase * (phase + 1) / 0.5) * 4**phase
            plan = [a for a in left for _ in range(math.ceil(c / len(left)))] if len(left) > 1 else left * 10**4
        arm, y = choose(state, arms, rng), float(rng.random() < means[plan[0]])
        assert arm == plan.pop(0)
        phased_design.update(state, arms[:, arm], y, rng)
        seen.append((arm, y))
    assert left == [0] and phase > 2


# ---------------------------------------------------------------------------------------------------- widths


def errors(arms, counts, scale, by_sum, sigma, games, rng):
    """Errors of the estimates of all arms, `[games, k]`, for normal rewards and Laplace noise."""
    inverse = np.linalg.pinv((arms.T * counts) @ arms)
    h = arms @ inverse @ arms[counts > 0].T
    n = counts[counts > 0]
    noise = sigma * np.sqrt(n) * rng.standard_normal((games, len(n)))
    each = np.ones_like(n) if by_sum else n
    laplace = rng.standard_gamma(each, (games, len(n))) - rng.standard_gamma(each, (games, len(n)))
    return (noise + scale * laplace) @ h.T


@pytest.mark.parametrize("name", ["adap_gope", "ldp_gope"])
@pytest.mark.parametrize("epsilon", [0.1, 5.0])
def test_an_estimate_is_rarely_too_high(name, epsilon, by_hand):
    """Sub-gamma: more than β with probability at most e^-L. A third of the width is exceeded more often than that."""
    arms, rng, k = sphere(6, 3), np.random.default_rng(5), 6
    algorithm = make(name, epsilon=epsilon, alpha=0.6).tuned(SETTING)
    state = algorithm.state(SETTING)[0]
    module = import_module(f"privbandits_cli.algorithms.{name}")
    module.choose(state, arms.T.copy(), rng)
    chance, games = 0.6 / (k * 2), 40_000  # e^-L of phase 1
    found = errors(arms, state.counts, state.scale, name == "adap_gope", 1.0, games, rng)
    most = games * chance + 5 * math.sqrt(games * chance)
    assert ((found > state.beta).sum(axis=0) <= most).all() and ((found < -state.beta).sum(axis=0) <= most).all()
    assert (found > state.beta / 3).sum(axis=0).max() > most


@pytest.mark.parametrize("name", PRIVATE)
def test_c_is_what_the_bound_on_regret_says(name, by_hand):
    """The plays of a phase are at most those of `plays`, and the width of the first phase is not far below β."""
    for seed, epsilon in ((1, 0.1), (2, 2.0)):
        given = {"rho": epsilon} if name == "adac_gope" else {"epsilon": epsilon}
        algorithm = make(name, **given).tuned(SETTING)
        state = algorithm.state(SETTING)[0]
        module = import_module(f"privbandits_cli.algorithms.{name}")
        module.choose(state, sphere(6, 3, seed).T.copy(), np.random.default_rng(1))
        most = algorithm.length(SETTING, 1, 3, 6)
        assert 0.2 * most < state.rounds <= most + 6
        bound = algorithm.regret_bound(np.array([1.0, 2.0**14, 2.0**40]), SETTING)
        assert (np.diff(bound) > 0).all() and bound[-1] < 0.1 * 2.0**41


# ----------------------------------------------------------------------------------------------------- noise


def ends_of_phases(name, rounds, phases=1, **given):
    """What is released, and what would be without noise, in units of the noise, at the ends of many first phases."""
    algorithm = make(name, alpha=0.9, **given).tuned(SETTING)
    module, arms = import_module(f"privbandits_cli.algorithms.{name}"), sphere(6, 3).T.copy()
    update = getattr(module, "update", phased_design.update)
    rng, found = np.random.default_rng(8), []
    for _ in range(rounds):
        state, sums = algorithm.state(SETTING)[0], np.zeros(6)
        arm = module.choose(state, arms, rng)
        while state.phase == 1:
            y = float(rng.choice([-1.0, 1.0]))
            sums[arm] += y
            update(state, arms[:, arm], y, rng)
            counts, inverse, factor = state.counts.copy(), state.inverse.copy(), state.points.copy()
            arm = module.choose(state, arms, rng)
        found.append(SimpleNamespace(state=state, sums=sums, counts=counts, inverse=inverse, points=factor))
    return found


@pytest.mark.slow
def test_the_noise_of_a_sum_is_laplace(by_hand):
    """Of scale 2/ε for rewards of ±1; not normal with the same variance, and not of scale 1/ε."""
    found = ends_of_phases("adap_gope", 80, epsilon=40.0)
    noise = np.concatenate([(end.state.noisy - end.sums)[end.counts > 0] for end in found]) * 40.0 / 2.0
    assert stats.kstest(noise, "laplace").pvalue > 1e-4
    assert stats.kstest(2 * noise, "laplace").pvalue < 1e-4 and len(noise) > 200
    assert all((end.state.noisy[end.counts == 0] == 0).all() for end in found)


def test_the_noise_of_a_report_is_laplace(by_hand):
    algorithm = make("ldp_gope", epsilon=4.0).tuned(SETTING)
    module, arms = import_module("privbandits_cli.algorithms.ldp_gope"), sphere(6, 3).T
    rng = np.random.default_rng(2)
    state, last, noise = algorithm.state(SETTING)[0], np.zeros(6), []
    for t in range(1500):
        arm = module.choose(state, arms, rng)
        y = (-1.0) ** t
        if state.plays == state.counts[arm]:
            last[arm] = 0.0
        module.update(state, arms[:, arm], y, rng)
        noise.append((state.sums[arm] - last[arm] - y) * 4.0 / 2.0)
        last = state.sums.copy()
    assert stats.kstest(noise, "laplace").pvalue > 1e-4
    assert stats.kstest(2 * np.array(noise), "laplace").pvalue < 1e-4


def test_the_noise_of_an_estimate_has_the_papers_covariance(by_hand):
    """V^-1 w²G²/(2ρ): in the norm of V its square is that times a chi-square number; G is largest in the phase."""
    rho, scaled = 200.0, []
    for end in ends_of_phases("adac_gope", 60, rho=rho):
        v = np.linalg.inv(end.inverse)
        apart = end.state.theta - end.inverse @ end.points.T @ end.sums
        reach = max(z @ end.inverse @ z for z, n in zip(end.points, end.counts, strict=True) if n)
        scaled.append(apart @ v @ apart / (4 * reach / (2 * rho)))
    assert stats.kstest(scaled, stats.chi2(3).cdf).pvalue > 1e-4
    assert stats.kstest(np.array(scaled) / 4, stats.chi2(3).cdf).pvalue < 1e-4


@pytest.mark.parametrize("nonnegative", [True, False])
def test_the_noise_follows_the_range_of_the_rewards(nonnegative):
    setting = SETTING._replace(contexts=Contexts(3, reward=1.5, nonnegative=nonnegative, fixed=True))
    width = 1.5 if nonnegative else 3.0
    assert make("adap_gope", epsilon=2.0).tuned(setting).facts(setting) == {"scale": width / 2}
    assert make("ldp_gope", epsilon=2.0).tuned(setting).facts(setting) == {"scale": width / 2}
    assert make("adac_gope", rho=2.0).tuned(setting).facts(setting) == {"deviation": width / 2}


# ------------------------------------------------------------------------------------------------ what is said


def test_what_cannot_be_played_is_an_error():
    moving, wild = Setting(100, 4, contexts=Contexts(3)), Contexts(3, reward=math.inf, fixed=True)
    for name in ("phased_gope", *PRIVATE):
        assert "same in every round" in next(make(name, **given(name)).errors(moving))
        wrong = list(make(name, **given(name)).errors(moving._replace(contexts=wild)))
        assert [("unbounded" in words) for words in wrong] == [True] * (name in PRIVATE)


def given(name):
    return {"rho": 0.5} if name == "adac_gope" else {}


@pytest.mark.parametrize("name", PRIVATE)
def test_the_attack_needs_a_phase_that_ends(name):
    """A local report is released at once."""
    short = SETTING._replace(horizon=3)
    tuned = make(name, **given(name)).tuned(short)
    assert any(bound.lower for bound in tuned.bounds(short, 1e-5)) == (name == "ldp_gope")
    assert any(bound.lower for bound in make(name, **given(name)).tuned(SETTING).bounds(SETTING, 1e-5))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["phased_gope", *PRIVATE])
def test_regret_stays_below_its_bound(name):
    played = match(FOES["sphere"](), [make(name, **given(name))], 2**14)
    found = contextual.play(played, range(WIDTH))
    assert found.max() <= played.algorithms[0].regret_bound(np.array([2.0**14]), played.setting)[0]
