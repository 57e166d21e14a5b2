"""The divergences and their inverses against their definitions, solved by SciPy."""

import math

import numpy as np
import pytest
from scipy import optimize
from scipy.special import rel_entr

from privbandits_cli.numerics import kl
from privbandits_cli.numerics.jit import compile_step

POINTS = [(x, y) for x in (0.0, 1e-9, 0.1, 0.5, 0.75, 0.999) for y in (1e-6, 0.3, 0.7, 0.9999, 1.0) if x < y]
EPSILONS = (1e-9, 1e-3, 0.1, 1.0, 5.0, 50.0, 1e9)


def divergence(x, y):
    return rel_entr(x, y) + rel_entr(1 - x, 1 - y)


def private(x, y, epsilon):
    """The least ε(z - x) + kl(z, y) over z in [x, y], a convex function."""
    if y == 1:
        return epsilon * (1 - x)
    found = optimize.minimize_scalar(
        lambda z: epsilon * (z - x) + divergence(z, y), bounds=(x, y), method="bounded", options={"xatol": 1e-12}
    )
    return min(found.fun, divergence(x, y), epsilon * (y - x))


@pytest.mark.parametrize(("x", "y"), POINTS)
def test_divergences_are_their_definitions(x, y):
    assert kl.kl(x, y) == pytest.approx(divergence(x, y), rel=1e-9, abs=1e-15)
    assert kl.kl(x, x) == kl.private_kl(y, x, 1.0) == 0
    for epsilon in EPSILONS:
        assert kl.private_kl(x, y, epsilon) == pytest.approx(private(x, y, epsilon), rel=2e-7, abs=1e-15)
    if y < 1:
        assert kl.private_kl(x, y, 1e9) == pytest.approx(kl.kl(x, y), rel=1e-7)  # without privacy
    assert kl.private_kl(x, y, 1e-6) == pytest.approx(1e-6 * (y - x), rel=1e-5)  # total variation, for small ε


def test_the_private_divergence_is_chernoffs_exponent_cut_at_epsilon():
    """sup over 0 <= λ <= ε of -λx - ln(1 - y + y e^-λ)."""
    grid = np.linspace(0, 0.7, 200_001)
    for x, y in ((0.2, 0.5), (0.6, 0.75), (0.0, 0.3)):
        most = np.max(-grid * x - np.log(1 - y + y * np.exp(-grid)))
        assert kl.private_kl(x, y, 0.7) == pytest.approx(most, rel=1e-9)


@pytest.mark.parametrize("x", [0.0, 1e-12, 0.01, 0.5, 0.75, 0.999, 1 - 1e-12])
@pytest.mark.parametrize("cost", [1e-12, 1e-6, 1e-2, 0.3, 2.0, 30.0])
def test_a_reach_has_its_cost(x, cost):
    y = kl.reach(x, cost)
    rest = math.exp(-y)  # 1 - q
    spent = (x * math.log(x / -math.expm1(-y)) if x else 0) + (1 - x) * (math.log1p(-x) + y)
    assert spent == pytest.approx(cost, rel=1e-7, abs=1e-14)
    assert rest < 1 - x or cost < 1e-9
    for epsilon in EPSILONS:
        far = kl.private_reach(x, cost, epsilon)
        if cost >= epsilon * (1 - x):
            assert far == math.inf
        else:
            assert far >= y * (1 - 1e-9)
            q = -math.expm1(-far)
            if q < 1 - 1e-9:
                assert kl.private_kl(x, q, epsilon) == pytest.approx(cost, rel=1e-5, abs=1e-13)


def test_ends():
    assert kl.reach(1.0, 0.5) == kl.private_reach(1.0, 0.5, 1.0) == math.inf
    assert kl.reach(0.3, 0.0) == pytest.approx(-math.log(0.7))
    assert kl.kl(0.5, 1.0) == kl.kl(0.5, 0.0) == math.inf
    assert kl.private_kl(0.5, 1.0, 3.0) == 1.5


def test_compiled_and_plain_functions_agree():
    rng = np.random.default_rng(1)
    for name, epsilon in (("reach", ()), ("private_reach", (0.7,)), ("kl", ()), ("private_kl", (0.7,))):
        plain, compiled = getattr(kl, name), compile_step(getattr(kl, name))
        for x, y in rng.random((200, 2)):
            assert compiled(x, y, *epsilon) == plain(x, y, *epsilon)
