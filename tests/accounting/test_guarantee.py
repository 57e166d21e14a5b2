"""Guarantees: the one to quote, and those of wrappers."""

import pytest

from privbandits_cli.accounting.guarantee import Guarantee, leading
from privbandits_cli.games.bandit import Setting
from tests.accounting.test_composition import DELTA
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


def test_wrappers_account_for_their_bases():
    setting = Setting(10_000, 4)
    noisy = make("mini_batch", tau=10, base=make("dp_exp3_lap", epsilon=2.0)).tuned(setting)
    assert noisy.guarantee(setting).epsilon == pytest.approx(0.2)  # one gain moves an average by a tenth
    assert make("mini_batch", tau=10, base=make("tsallis_inf")).tuned(setting).guarantee(setting) is None
