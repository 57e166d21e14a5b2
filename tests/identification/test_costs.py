"""The costs of mistaking arms against their definitions on grids, and their limits."""

import math

import numpy as np
import pytest
from scipy import optimize
from scipy.special import rel_entr

from privbandits_cli.identification import costs
from privbandits_cli.numerics.jit import compiled
from privbandits_cli.numerics.kl import entropy

EPSILONS = (1e-9, 1e-3, 0.1, 1.0, 5.0, 50.0, 1e9)
PAIRS = [(0.6, 0.4), (0.95, 0.9), (0.9, 0.01), (0.5, 1e-9), (0.75, 0.0), (1.0, 0.3), (1.0, 0.0), (0.999, 0.998)]
PLAYS = [(1.0, 1.0), (30.0, 2.0), (2.0, 30.0), (1000.0, 1.0), (1.0, 1e5)]


def chernoff(x, y, epsilon, share=0.0):
    """The largest -λx - ln(1 - y + y e^-λ) + share ln(1 - λ²/ε²) on a fine grid of λ in [0, ε)."""
    rates = (
        min(epsilon, 60.0) * np.linspace(0, 1, 200_001)[:-1]
        if share
        else min(epsilon, 60.0) * np.linspace(0, 1, 200_001)
    )
    noise = share * np.log1p(-((rates / epsilon) ** 2)) if share else 0.0
    return float(np.max(-rates * x - np.log1p(y * np.expm1(-rates)) + noise))


def divergence(x, y):
    return rel_entr(x, y) + rel_entr(1 - x, 1 - y)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_both_divergences_are_chernoffs_exponents_cut_at_epsilon(epsilon):
    """The plain twin of d+ has no cases: it is a supremum over λ."""
    for x, y in ((0.2, 0.5), (0.0, 0.3), (0.6, 0.61), (0.9, 0.999), (1e-6, 0.5)):
        assert costs.d_plus(x, y, epsilon) == pytest.approx(chernoff(x, y, epsilon), rel=3e-5, abs=1e-13)
        assert costs.d_minus(1 - x, 1 - y, epsilon) == pytest.approx(costs.d_plus(x, y, epsilon), rel=1e-6, abs=1e-13)
    assert costs.d_plus(0.5, 0.4, epsilon) == costs.d_minus(0.4, 0.5, epsilon) == 0


def test_divergences_meet_at_their_edge():
    for x in (1e-6, 0.1, 0.5, 0.9):
        for epsilon in (1e-3, 0.5, 3.0):
            y = costs.edge_of(x, math.exp(-epsilon))
            assert math.log(y / (1 - y) * (1 - x) / x) == pytest.approx(epsilon, rel=1e-6)
            assert costs.d_plus(x, y, epsilon) == pytest.approx(divergence(x, y), rel=1e-6)
            inside, outside = x + 0.99 * (y - x), y + 0.5 * (1 - y)
            assert costs.d_plus(x, inside, epsilon) == pytest.approx(divergence(x, inside), rel=1e-6)
            assert costs.d_plus(x, outside, epsilon) < divergence(x, outside) * (1 - 1e-9)
    assert costs.edge_of(0.0, math.exp(-1.0)) == 0.0
    assert costs.d_plus(0.3, 0.7, 1e-9) == pytest.approx(4e-10, rel=1e-6)  # ε (y - x)
    assert costs.d_plus(0.3, 0.7, math.inf) == pytest.approx(divergence(0.3, 0.7))
    assert costs.d_plus(0.0, 0.7, math.inf) == pytest.approx(-math.log(0.3))


@pytest.mark.parametrize("epsilon", [*EPSILONS, math.inf])
def test_the_closed_form_of_the_cost_is_the_least_on_a_grid(epsilon):
    for up, low in PAIRS:
        for n, m in PLAYS:
            ends = (low, up) if epsilon < math.inf else (max(low, 1e-12), min(up, 1 - 1e-12))
            grid = np.linspace(*ends, 2001)
            values = [n * costs.d_minus(up, y, epsilon) + m * costs.d_plus(low, y, epsilon) for y in grid]
            found = costs.private_transport(up, low, n, m, epsilon)
            least = min(values)
            rounding = 1e-15 * (n + m)  # kl is accurate to some 1e-16
            assert found <= least * (1 + 1e-9) + rounding
            i = int(np.argmin(values))
            near = optimize.minimize_scalar(
                lambda y, a=up, b=low, n=n, m=m: n * costs.d_minus(a, y, epsilon) + m * costs.d_plus(b, y, epsilon),
                bounds=(grid[max(0, i - 1)], grid[min(2000, i + 1)]),
                method="bounded",
                options={"xatol": 1e-13},
            )
            assert found == pytest.approx(min(near.fun, least), rel=1e-5, abs=rounding)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_costs_of_steps_are_the_same_up_to_rounding(epsilon):
    for up, low in [*PAIRS, (0.4, 0.4), (0.3, 0.4)]:
        entropies = entropy(up), entropy(low)
        for n, m in PLAYS:
            rounding = 1e-15 * (n + m)
            quick = costs.quick_private_transport(up, low, n, m, *entropies, epsilon)
            assert quick == pytest.approx(costs.private_transport(up, low, n, m, epsilon), rel=1e-9, abs=rounding)
            quick = costs.quick_transport(up, low, n, m, *entropies)
            assert quick == pytest.approx(costs.transport(up, low, n, m), rel=1e-9, abs=rounding)


def test_all_four_pieces_of_the_closed_form_are_played():
    """A minimum may be where both divergences are kl, where one is private, or where both are."""
    pieces = set()
    for small in np.exp([-0.1, -1.0, -3.0]):
        for up, low in PAIRS:
            for n, m in PLAYS:
                edges = costs.edge_of(low, small), costs.edge_of(1 - up, small)
                y = costs.meeting_of(up, low, n, m, *edges, 1 - small)
                pieces.add((y > edges[0], y < 1 - edges[1]))
    assert len(pieces) == 4


def test_a_wrong_piece_is_found():
    """Negative control: with the weighted mean in place of the meeting point the cost is larger than the least."""
    up, low, n, m, epsilon = 0.9, 0.4, 30.0, 2.0, 0.5
    y = (n * up + m * low) / (n + m)
    wrong = n * costs.d_minus(up, y, epsilon) + m * costs.d_plus(low, y, epsilon)
    assert wrong > costs.private_transport(up, low, n, m, epsilon) * (1 + 1e-3)


def test_laws_of_the_cost():
    for up, low in PAIRS:
        for n, m in PLAYS:
            before = 0.0
            for epsilon in (*EPSILONS, math.inf):
                found = costs.private_transport(up, low, n, m, epsilon)
                rounding = 1e-15 * (n + m)  # kl is accurate to some 1e-16
                assert found >= before * (1 - 1e-9) - rounding  # increasing in ε
                assert found <= epsilon * min(n, m) * (up - low) * (1 + 1e-6) + rounding  # total variation
                mirror = costs.private_transport(1 - low, 1 - up, m, n, epsilon)
                assert found == pytest.approx(mirror, rel=1e-6, abs=rounding)
                before = found
            assert before == pytest.approx(costs.transport(up, low, n, m))
    assert costs.private_transport(0.4, 0.4, 5.0, 5.0, 1.0) == costs.transport(0.3, 0.4, 5.0, 5.0) == 0


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("share", [1e-6, 1e-3, 0.05, 1.0])
def test_the_noisy_divergence_is_chernoffs_bound_with_laplace_numbers(epsilon, share):
    for x, y in ((0.2, 0.5), (0.0, 0.3), (0.6, 0.61), (0.9, 0.999)):
        found = costs.noisy_kl(x, y, share, epsilon)
        assert found == pytest.approx(chernoff(x, y, epsilon, share), rel=1e-4, abs=1e-9 * epsilon)
        assert found <= costs.d_plus(x, y, epsilon) * (1 + 1e-9)
        step = 1e-4 * (1 - y)
        rise = costs.noisy_kl(x, y + step, share, epsilon) - costs.noisy_kl(x, y - step, share, epsilon)
        slope = costs.noisy_steepness(x, y, share, epsilon)
        assert slope == pytest.approx(rise / (2 * step), rel=0.02, abs=1e-6 * epsilon)
    assert costs.noisy_kl(0.2, 0.5, 1e-12, epsilon) == pytest.approx(costs.d_plus(0.2, 0.5, epsilon), rel=1e-4)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_noisy_cost_is_the_least_on_a_grid_and_below_the_private_one(epsilon):
    for up, low in ((0.6, 0.4), (0.95, 0.5), (1.0, 0.2)):
        for n, k, m, j in ((64, 7, 64, 7), (512, 10, 8, 4), (160, 1, 320, 2)):
            both = [
                n * costs.noisy_kl(1 - up, 1 - y, k / n, epsilon) + m * costs.noisy_kl(low, y, j / m, epsilon)
                for y in np.linspace(low, up, 801)
            ]
            found = costs.noisy_transport(up, low, n, k, m, j, epsilon)
            assert found <= min(both) * (1 + 1e-9) and found == pytest.approx(min(both), rel=1e-3, abs=1e-3)
            assert found <= costs.private_transport(up, low, n, m, epsilon) * (1 + 1e-9)


def fill(values, out):
    for i in range(len(values)):
        up, low, n, m, epsilon = values[i, 0], values[i, 1], values[i, 2], values[i, 3], values[i, 4]
        out[i, 0] = costs_private(up, low, n, m, epsilon)
        out[i, 1] = costs_noisy(up, low, n, 3.0, m, 2.0, epsilon)


costs_private, costs_noisy = costs.private_transport, costs.noisy_transport


def test_compiled_and_plain_costs_agree():
    rng = np.random.default_rng(3)
    values = np.column_stack([rng.random((50, 2)), 1 + 1000 * rng.random((50, 2)), 3 * rng.random(50)])
    values[:, :2] = np.sort(values[:, :2])[:, ::-1]
    out, plain = np.empty((50, 2)), np.empty((50, 2))
    compiled(fill)(values, out)
    fill(values, plain)
    np.testing.assert_allclose(out, plain, rtol=1e-9, atol=1e-12)


def tail_share(draws, means, n, k, epsilon, mean):
    """How often the noisy mean is so low that N D >= 2, as a share of the bound e^-2."""
    d = np.array([n * costs.noisy_kl(min(1.0, max(0.0, x)), mean, k / n, epsilon) for x in draws])
    return float(np.mean(d >= 2)) / math.exp(-2)


def test_the_tail_of_the_noisy_divergence_is_below_its_bound():
    """P(N D >= 2) <= e^-2 with k Laplace numbers; a D that counts one number breaks it where there are eight."""
    rng, n, k, epsilon, mean, trials = np.random.default_rng(7), 30, 8, 0.3, 0.5, 4000
    sums = rng.binomial(n, mean, trials) + rng.laplace(0, 1 / epsilon, (k, trials)).sum(0)
    slack = 4 * math.sqrt(math.exp(2) / trials)
    assert tail_share(sums / n, mean, n, k, epsilon, mean) <= 1 + slack
    assert tail_share(sums / n, mean, n, 0, epsilon, mean) > 1 + slack  # negative control: no noise counted
