"""Guarantees: the one to quote, and those of wrappers."""

import numpy as np
import pytest

from privbandits_cli.accounting.guarantee import Guarantee, leading
from privbandits_cli.actions.privacy import LOCAL, block
from privbandits_cli.actions.show import facts
from privbandits_cli.experiment.settings import Size
from privbandits_cli.games import views
from privbandits_cli.games.bandit import Draws, Numbers, Setting
from privbandits_cli.games.players import Algorithm
from privbandits_cli.plugins.registry import Registry
from tests.accounting.test_composition import DELTA
from tests.algorithms.test_algorithms import ready
from tests.conftest import make


def test_numeric_never_leads():
    bounds = [
        Guarantee(1.0, 0.1, "searched", "numeric"),
        Guarantee(5.0, 0.1, "lemma", "proved"),
        Guarantee(3.0, 0.1, "theorem", "paper"),
        Guarantee(0.5, 0.1, "attack", "exact", lower=True),
    ]
    assert leading(bounds).source == "lemma"
    assert leading(bounds[2:]).source == "theorem"
    assert leading([bounds[0], bounds[3]]) is None


@pytest.mark.parametrize(
    ("horizon", "n_arms", "delta"),
    [
        (2**18, 4, DELTA),
        (10_000, 2, 1e-5),
        (50, 3, 0.01),
        pytest.param(10**6, 10, 1e-9, marks=pytest.mark.slow),
    ],
)
def test_the_quoted_guarantee_is_the_ledgers_best(horizon, n_arms, delta):
    setting = Setting(horizon, n_arms)
    for algorithm in (make("exp3"), make("exp3_tau", tau=7), make("dp_exp3_lap", epsilon=0.5)):
        ready = algorithm.tuned(setting)
        bounds = ready.bounds(setting, delta)
        quoted = ready.guarantee(setting, delta)
        assert quoted.epsilon == pytest.approx(leading(bounds).epsilon, rel=1e-9)
        lower = [bound.epsilon for bound in bounds if bound.lower and bound.delta == delta]
        assert all(epsilon <= quoted.epsilon for epsilon in lower)


def test_who_is_local_hides_each_round_in_a_report_of_its_own():
    """Where a round moves numbers of its own, with noise of its own, they are the report of this round."""
    registry, kinds = Registry(), set()
    for name, model in registry.every("algorithms"):
        if not (issubclass(model, Algorithm) and model.private):
            continue
        known = facts(registry, name, Size(2**12, 4))
        tuned = registry.rebuilt("algorithms", {"name": name, **known["tuned"]})
        setting = Size(2**12, 4).setting(tuned)
        spent = leading(tuned.bounds(setting, tuned.stated_delta(setting) or 1e-6)).spent
        assert model.local == getattr(spent, "fresh", False), name
        assert (known["privacy"] == "local") == model.local, name
        assert (LOCAL in block(tuned, setting)["notes"]) == model.local, name
        kinds.add(known["privacy"])
    assert kinds == {"central", "distributed", "local"}
    every = {name for name, model in registry.every("algorithms") if getattr(model, "local", False)}
    assert every >= {"dp_exp3_lap", "dp_exp2", "dp_reduction", "dp_lambda_lap", "dp_scrible", "ldp_ucb"}


def test_blocks_of_a_local_base_are_not_local():
    """The mean gain of a block needs all of its gains: the noise comes after."""
    setting = Setting(10_000, 4)
    blocks = make("mini_batch", tau=10, base=make("ldp_ucb", epsilon=2.0)).tuned(setting)
    views = {bound.view for bound in (blocks.guarantee(setting), *blocks.bounds(setting, 1e-6))}
    assert views == {"each report of a block's mean; who computes the mean sees the gains"} and not blocks.local


def test_what_is_averaged_is_not_called_exact():
    """The attacks on EXP3 replace a random prefix by its mean."""
    setting = Setting(10_000, 4)
    for algorithm in (make("exp3"), make("exp3_tau", tau=7)):
        attacks = [bound for bound in algorithm.tuned(setting).bounds(setting, 1e-6) if bound.lower]
        assert [bound.status for bound in attacks] == ["numeric", "numeric"]


def test_wrappers_account_for_their_bases():
    setting = Setting(10_000, 4)
    noisy = make("mini_batch", tau=10, base=make("dp_exp3_lap", epsilon=2.0)).tuned(setting)
    assert noisy.guarantee(setting).epsilon == pytest.approx(0.2)  # one gain moves an average by a tenth
    assert make("mini_batch", tau=10, base=make("tsallis_inf")).tuned(setting).guarantee(setting) is None


LATE = [
    ("dp_se", {"epsilon": 8.0, "beta": 0.5}),
    ("dp_robust_se", {"constants": 0.1, "beta": 0.5}),
    ("dp_robust_se", {"constants": 1.0, "beta": 0.5, "u": 0.001}),
    ("ldp_robust_se", {"constants": 1.0, "beta": 0.5}),
    ("ldp_robust_ucb", {"epsilon": 0.5}),
    ("ldp_robust_ucb", {"epsilon": 90.0}),
    ("dp_tsallis_switch", {"cost": 90.0}),
    ("dp_klucb", {"first": 40.0}),
    ("dp_imed", {}),
    ("adap_ucb", {"epsilon": 0.7}),
    ("adap_klucb", {}),
    ("dp_ucb", {"bonus": "chernoff"}),
    ("dp_ucb", {"bonus": "chernoff", "counter": "smooth"}),
    ("dp_ucb", {"bonus": "chernoff", "counter": "k_ary", "epsilon": 3.0}),
    ("dp_ts", {}),
    ("lazy_dp_ts", {}),
]


@pytest.mark.parametrize(("name", "given"), LATE)
def test_the_lower_bound_is_what_a_gain_changes_within_the_horizon(name, given):
    """Three games in which the first gain is 0, or one that is released in full, or 0 with noise of 1.

    The first release that differs costs its change divided by the scale of the noise; before it nothing is released.
    """
    far = Setting(4000, 2)
    algorithm = make(name, **given).tuned(far)
    view, (bound, low) = algorithm.view(far), ready(name, far, plain=True, **given)
    high, noisy, place = low.copy(), low.copy(), view.values
    first = min(1.0, view.canary(low)[1])
    kind = Numbers if "bits" in algorithm.drawn else Draws

    def numbers(laplace):
        return kind(*(laplace if name == "laplace" else 0.3 for name in kind._fields))

    for t in range(1, 4001):
        arm = bound["choose"](low, numbers(0.0)) if kind is Draws else 0
        for one, gain, laplace in ((low, 0.0, 0.0), (high, first if t == 1 else 0.0, 0.0), (noisy, 0.0, 1.0)):
            if kind is Draws:
                bound["choose"](one, numbers(0.0))
            bound["update"](one, arm, gain, numbers(laplace))
        with np.errstate(invalid="ignore"):  # arms that were never played have infinite means
            change, scale = (np.nanmax(abs(views.read(one, place) - views.read(low, place))) for one in (high, noisy))
        if change > 0:
            break
    bounds = algorithm.bounds(far if t == 1 else far._replace(horizon=t), 1e-9)  # a tree is that of its horizon
    upper, (lower,) = bounds[0], [bound for bound in bounds if bound.lower and bound.delta]
    assert lower.epsilon == pytest.approx(change / scale, rel=1e-6) and lower.lower and lower.status == "exact"
    assert upper.epsilon == algorithm.epsilon
    if t > 1:
        if name != "dp_klucb":  # its first phase is at most the game
            nothing = algorithm.bounds(far._replace(horizon=t - 1), 1e-9)
            assert all(not bound.lower and "this game ends before the first" in bound.source for bound in nothing)
        for rounds, many in ((3 * t - 1, 2), (3 * t, 4)):  # an incomplete block has no mean
            game = far._replace(horizon=rounds)
            assert len(make("mini_batch", tau=3, base=make(name, **given)).tuned(game).bounds(game, 1e-9)) == many


def test_gains_of_any_size_reach_the_bounds_of_truncated_ones():
    known = Setting(10**6, 4, v=0.5, u=2.0)
    for name in ("dp_robust_se", "ldp_robust_se", "ldp_robust_ucb"):
        upper, *_, lower = make(name, epsilon=1.0).tuned(known).bounds(known, 1e-9)
        assert lower.epsilon == pytest.approx(upper.epsilon, rel=1e-8) and "[0, 1]" not in lower.neighbours
        upper, *_, lower = make(name, epsilon=1.0).tuned(known._replace(v=None)).bounds(known._replace(v=None), 1e-9)
        assert lower.epsilon <= upper.epsilon / 2 and "[0, 1]" in lower.neighbours
