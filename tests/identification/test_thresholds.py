"""Thresholds against their definitions, and the probabilities that they bound."""

import math

import numpy as np
import pytest
from scipy import optimize, special, stats

from privbandits_cli.identification import thresholds


def test_zeta():
    for s in (1.01, 1.134, 1.5, 2.0, 3.0):
        assert thresholds.zeta(s) == pytest.approx(special.zeta(s), rel=1e-10)
    assert thresholds.zeta(1.134) == pytest.approx(8.0496, abs=5e-5)


@pytest.mark.parametrize("x", [0.0, 0.01, 1.0, 10.0, 300.0])
def test_the_tail_of_two_exponential_numbers(x):
    c = thresholds.gamma_tail(x)
    assert math.log(stats.gamma.sf(c, 2)) == pytest.approx(-x, rel=1e-8, abs=1e-7)  # Gamma(2, 1)


@pytest.mark.parametrize("x", [1.0, 1.5, 10.0, 100.0])
def test_the_upper_root(x):
    w = thresholds.upper_root(x)
    assert w >= 1 and w - math.log(w) == pytest.approx(x)
    if x > 1:  # at 1 SciPy has no value
        assert w == pytest.approx(-special.lambertw(-math.exp(-x), -1).real, rel=1e-6)


@pytest.mark.parametrize("x", [1.0, 3.0, 20.0])
def test_the_price_is_the_least_over_its_rates(x):
    def value(rate):
        zeta = math.log(special.zeta(2 * rate))
        return (2 * rate - 2 * rate * math.log(4 * rate) + zeta - 0.5 * math.log(1 - rate) + x) / rate

    least = optimize.minimize_scalar(value, bounds=(0.5001, 0.9999), method="bounded").fun
    found = thresholds.gaussian_price(x)
    assert least * (1 - 1e-9) <= found <= least * (1 + 1e-3)  # a grid is never below, and so it is valid


def test_adap_tt_by_hand():
    K, delta, epsilon, n, k, m, j = 5, 0.01, 0.5, 64.0, 8.0, 16.0, 6.0
    z = special.zeta(2)
    shared = delta / (2 * z**2 * k**2 * j**2)
    price = thresholds.gaussian_price(0.5 * math.log((K - 1) / shared))
    c_g = 2 * price + 2 * math.log(4 + math.log(n)) + 2 * math.log(4 + math.log(m))
    noise = sum(math.log(2 * K * z * x**2 / delta) ** 2 / y for x, y in ((k, n), (j, m)))
    assert thresholds.adap_tt(K, delta, epsilon, n, k, m, j) == pytest.approx(2 * c_g + 4 / epsilon**2 * noise)

    def h(x, y):
        inner = 2 * math.log(3 * K * z * x**2 / delta) + 4 * math.log(4 + math.log(y)) + 0.5
        return -0.5 * special.lambertw(-math.exp(-inner), -1).real

    first = 0.5 * thresholds.adap_tt(K, 2 * delta / 3, epsilon, n, k, m, j)
    second = sum(math.sqrt(h(x, y) / y) * math.log(3 * K * z * x**2 / delta) for x, y in ((k, n), (j, m)))
    star = thresholds.adap_tt_star(K, delta, epsilon, 0.3, n, k, m, j)
    assert star == pytest.approx(first + 2 * math.sqrt(2) / epsilon * second)
    far = 12 * math.log(3 * K * z * max(k, j) ** 2 / delta)
    far += 3 * math.sqrt(2) * epsilon * (math.sqrt(n * h(k, n)) + math.sqrt(m * h(j, m)))
    assert thresholds.adap_tt_star(K, delta, epsilon, 1.6, n, k, m, j) == pytest.approx(far)


def test_the_union_of_dp_tt_spends_delta():
    """Σ over phases of what `summed` and `paired` spend on each is δ; without m(m + 1) it would be infinite."""
    K, delta, phases = 5, 0.05, np.arange(1, 3000)
    own = sum(K * math.exp(-math.log(K * m * (m + 1) / delta)) for m in phases)
    assert own == pytest.approx(delta, rel=1e-3)
    few = np.arange(1, 60)
    spent = 0.0
    for m in few:
        for j in few:
            spent += (K - 1) * stats.gamma.sf(thresholds.paired(K, delta, float(m), float(j), 0.0), 2)
    assert spent == pytest.approx(delta * (60 - 1) ** 2 / 60**2, rel=1e-6)


def test_laws_of_the_thresholds():
    for K in (2, 5, 50):
        for k, j in ((1.0, 1.0), (3.0, 7.0), (20.0, 12.0)):
            for delta in (0.2, 1e-2, 1e-9):
                h = thresholds.noise_price(0.3)
                both = thresholds.summed(K, delta, k, j, h), thresholds.paired(K, delta, k, j, h)
                assert both[1] < both[0]
                assert thresholds.paired(K, delta, k, j, 0.0) == pytest.approx(both[1] - (k + j) * h)
                assert thresholds.paired(K, delta / 10, k, j, h) > both[1]
    small = 1e-200  # the leading ln(1/δ) is paid once in place of twice
    ratio = thresholds.paired(2, small, 1.0, 1.0, 0.0) / thresholds.summed(2, small, 1.0, 1.0, 0.0)
    assert ratio == pytest.approx(0.5, abs=0.02)
    assert thresholds.stylised(0.01, 1000.0) < thresholds.paired(2, 0.01, 5.0, 5.0, 0.0)


def crossed(bar, trials=400, rounds=2000):
    """How often N kl(mean, ½) exceeds a boundary in a run of fair coins."""
    rng, found = np.random.default_rng(11), 0
    n = np.arange(1, rounds + 1)
    limits = np.array([bar(int(x)) for x in n])
    for _ in range(trials):
        means = np.cumsum(rng.random(rounds) < 0.5) / n
        evidence = n * (special.rel_entr(means, 0.5) + special.rel_entr(1 - means, 0.5))
        found += bool(np.any(evidence > limits))
    return found


def test_the_mixture_holds_for_all_rounds_at_once():
    """ln(1/δ) + ½ ln n + ln 2 is crossed by one arm in at most a share δ of all runs; ln(1/δ) alone is not enough."""
    delta, trials = 0.1, 400
    most = stats.binom.ppf(1 - 1e-6, trials, delta)
    assert crossed(lambda n: thresholds.mixture(2, delta, float(n), float(n)) / 2 + 0.5 * math.log(1 / delta)) <= most
    assert crossed(lambda n: math.log(1 / delta)) > most  # negative control
    assert thresholds.mixture(5, delta, 10.0, 40.0) == pytest.approx(math.log(4 / delta) + math.log(20) + math.log(4))


def test_the_mixture_is_large_enough_for_sums_that_are_no_whole_numbers():
    """B(s + ½, n - s + ½)/B(½, ½) >= (s/n)^s (1 - s/n)^(n-s)/(2√n): what the proof for gains in [0, 1] needs."""
    for n in (1, 2, 3, 10, 100, 10_000):
        s = np.unique(np.r_[np.linspace(0, n, 4001), np.geomspace(1e-9, 1, 200), n - np.geomspace(1e-9, 1, 200)])
        mixture = special.betaln(s + 0.5, n - s + 0.5) - special.betaln(0.5, 0.5)
        best = special.xlogy(s, s / n) + special.xlogy(n - s, 1 - s / n)
        least = mixture - best + 0.5 * math.log(n) + math.log(2)
        assert least.min() >= -1e-9
        assert (least - math.log(2)).min() < 0  # negative control: 2√n may not be √n
