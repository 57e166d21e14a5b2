"""AdaC-OFUL: its account, its ellipsoid, and what an audit says where it is a base."""

import math

import numpy as np
import pytest

from privbandits_cli.accounting import gaussian
from privbandits_cli.audit.auditor import audit
from privbandits_cli.games.contextual import Contexts, Setting
from privbandits_cli.games.ellipsoid import largest_eigenvalue
from privbandits_cli.games.steps import composition, steps
from privbandits_cli.numerics.jit import compile_step
from tests.conftest import make, some

SETTING = Setting(2**14, 10, contexts=Contexts(3, norm=2.0, reward=1.5))


def test_a_reward_moves_a_sum_by_twice_its_bound():
    """σ = 2 L B/√(2ρ), and μ = √(2ρ)."""
    algorithm = make("adac_oful", rho=0.125, delta=1e-5).tuned(SETTING)
    assert algorithm.facts(SETTING) == {"sigma": pytest.approx(2 * 2.0 * 1.5 / 0.5)}
    stated = algorithm.guarantee(SETTING)
    assert stated.epsilon == gaussian.epsilon_of(0.5, 1e-5) and stated.delta == 1e-5
    loose = max(bound.epsilon for bound in algorithm.bounds(SETTING, 1e-5))
    assert loose == pytest.approx(0.125 + 2 * math.sqrt(0.125 * math.log(1e5)))
    found = type(make("adac_oful")).for_epsilon(1.0, 1e-6, 10**6, {})["certified"].tuned(SETTING)
    assert found.guarantee(SETTING).epsilon == pytest.approx(1.0)


@pytest.mark.parametrize("given", some([{}, {"growth": 100.0}, {"growth": 5000.0}], {}), ids=str)
@pytest.mark.parametrize("rounds", some([1, 2, 3, 7], 1, 7))
def test_a_reward_that_changes_sides_is_the_attack(rounds, given):
    """Orthogonal arms take turns; the first sum moves by √(2ρ) in units of the noise, and is or is not released."""
    setting = SETTING._replace(horizon=rounds)
    algorithm, ends, noised = make("adac_oful", rho=0.5, **given).tuned(setting), [], []
    update = steps(composition(algorithm))["update"]
    for first in (1.5, -1.5):
        state, rng = algorithm.state(setting)[0], np.random.default_rng(2)
        for t in range(rounds):
            update(state, 2.0 * np.eye(3)[t % 3], first if t == 0 else 0.5, rng)
        ends.append(state.u.copy())
        noised.append(bool(state.refreshes))
    attacks = [bound for bound in algorithm.bounds(setting, 1e-5) if bound.lower]
    moved = np.linalg.norm(ends[0] - ends[1]) / algorithm.sigma(setting)
    assert noised == [bool(attacks)] * 2 and moved == pytest.approx(float(noised[0]))
    assert [bound.epsilon for bound in attacks] == [gaussian.epsilon_of(1.0, 1e-5)] * noised[0]


def test_a_reward_that_is_never_below_0_moves_a_sum_by_half_as_much():
    setting = SETTING._replace(contexts=SETTING.contexts._replace(nonnegative=True))
    _, proved, attack = make("adac_oful", rho=0.5).tuned(setting).bounds(setting, 1e-5)
    assert proved.epsilon == gaussian.epsilon_of(1.0, 1e-5) and proved.status == "proved"
    assert attack.epsilon == gaussian.epsilon_of(0.5, 1e-5) and attack.neighbours.endswith("in [0, 1.5]")


def test_unbounded_rewards_are_refused():
    setting = SETTING._replace(contexts=Contexts(3, reward=math.inf))
    assert "unbounded" in next(make("adac_oful").errors(setting))


@pytest.mark.parametrize("values", [[3.0], [2.0, 2.0], [1e-9, 1e9, 3.0], [1.0, 0.999, 0.5, 0.25, 0.999]])
def test_the_largest_eigenvalue(values):
    """To 1e-14, also where eigenvalues are equal, nearly equal, or far apart."""
    d = len(values)
    axes, _ = np.linalg.qr(np.random.default_rng(d).standard_normal((d, d)))
    found = compile_step(largest_eigenvalue)(axes @ np.diag(values) @ axes.T, np.zeros((d, d)), np.zeros((d, d)))
    assert found == pytest.approx(max(values), rel=1e-14 * d)


@pytest.mark.parametrize("case", some([(25, 400), (100, 1000)], (25, 400)), ids=str)
def test_the_ellipsoid_covers_theta(case):
    """|θ~ - θ| <= β in the norm of V, at all refreshes of nearly all games; the noise's part alone is not too wide."""
    games, rounds = case
    rng, setting, covered, shares = np.random.default_rng(4), Setting(2**14, 10, contexts=Contexts(3)), 0, []
    algorithm = make("adac_oful", rho=0.5, alpha=0.1).tuned(setting)
    bound, theta = steps(composition(algorithm)), np.array([0.6, 0.0, -0.6])
    for _ in range(games):
        state, inside, last = algorithm.state(setting)[0], True, 0
        for _ in range(rounds):
            x = rng.standard_normal(3)
            x /= np.linalg.norm(x)
            bound["update"](state, x, 1.0 if rng.random() < (1 + theta @ x) / 2 else -1.0, rng)
            if state.refreshes > last:
                last = state.refreshes
                apart = state.theta - theta
                beta = state.fixed + math.sqrt(state.logdet + state.log_term)
                shares.append(math.sqrt(apart @ np.linalg.solve(state.inverse, apart)) / beta)
                inside = inside and shares[-1] <= 1
        covered += inside
    assert covered >= 0.9 * games and 0.05 < np.mean(shares) < 1


def test_as_a_base_it_is_not_audited():
    wrapped = make("plain_dp_linucb", epsilon=0.5, base=make("adac_oful", delta=1e-3)).tuned(SETTING)
    found = audit(wrapped, SETTING, budget=2**10)
    assert found.verdict == "NOT AUDITABLE" and "this base" in found.found
