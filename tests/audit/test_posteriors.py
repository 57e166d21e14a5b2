"""Audits of draws: the cost of a gain by hand, little and much noise, and numbers that cannot be audited."""

import math

import pytest

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.audit.auditor import audit
from privbandits_cli.audit.posteriors import cost
from privbandits_cli.audit.target import Target
from privbandits_cli.games.players import Setting
from privbandits_cli.games.steps import composition, steps
from privbandits_cli.numerics.jit import PluginError
from tests.conftest import make

SMALL = Setting(84, 4)  # four arms, as in other audits, whose compiled loops it shares


def costs(**own):
    """The cost of a gain, as a function of its round and of what its arm always earns."""
    algorithm = make("gaussian_ts", mu=None, **own).tuned(SMALL)
    setup = algorithm, SMALL, algorithm.view(SMALL), steps(composition(algorithm)), algorithm.state(SMALL)
    target = Target(*setup, algorithm.guarantee(SMALL), alpha=0.001, budget=2**12, seed=0)
    return lambda t, worth: cost(target, int(SMALL.horizon), t, worth)


@pytest.mark.slow
def test_the_cost_of_a_gain_by_hand():
    """An arm whose draws are far below is not played again: 84 - 40 draws of 1/√(c (n + 1)), n = 10; far above, all."""
    few = costs(b=10, c=1e-6)
    assert few(0, 0.0) == pytest.approx(math.sqrt(44 / 11e-6), rel=1e-9)
    assert few(39, 1.0) == pytest.approx(math.sqrt(sum(1 / (n + 1) for n in range(10, 54)) / 1e-6), rel=1e-6)
    assert few(39, 1.0) < 0.8 * few(0, 0.0)


@pytest.mark.parametrize("c", [1e-9, 1e-3, 1.0, 1e6, 1e20])
@pytest.mark.parametrize("b", [0, 1, 20])
def test_little_and_much_noise_is_not_accused(b, c):
    algorithm = make("gaussian_ts", mu=None, b=b, c=c, delta=1e-6).tuned(SMALL)
    found = audit(algorithm, SMALL)
    assert found.verdict == "CONSISTENT", found.found
    lower = algorithm.bounds(SMALL, 1e-6)[1].epsilon
    assert lower * (1 - 1e-6) <= found.epsilon_seen <= algorithm.guarantee(SMALL).epsilon * (1 + 1e-6)


def test_a_claim_without_delta_has_no_gaussian_noise(monkeypatch):
    algorithm = make("gaussian_ts").tuned(SMALL)
    pure = Guarantee(1.0, 0.0, "none", "proved")
    monkeypatch.setattr(type(algorithm), "guarantee", lambda *given: pure)
    with pytest.raises(PluginError, match="a guarantee with δ > 0"):
        audit(algorithm, SMALL)
