"""The law of a privacy loss against enumeration, closed forms and dp-accounting; sums, and bounds from both sides."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.accounting import gaussian, laplace, whole
from privbandits_cli.accounting.composition import response
from privbandits_cli.accounting.laplace import _merged, _split
from privbandits_cli.accounting.privacy_loss import PrivacyLoss, composed

P = np.log([0.5, 0.3, 0.15, 0.05])
Q = np.log([0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0, 1.6])
def test_delta_is_what_the_best_event_tells(epsilon):
    """δ is the largest gain of the 16 events of four outcomes."""
    gains = [sum(np.exp(P)[list(e)]) - math.exp(epsilon) * sum(np.exp(Q)[list(e)]) for e in events(4)]
    loss = PrivacyLoss.between(P, Q)
    assert loss.delta(epsilon) == pytest.approx(max(gains), abs=1e-15)
    assert loss.epsilon(0.0) == pytest.approx(math.log(5))
    if loss.delta(epsilon) > 0:
        assert loss.epsilon(loss.delta(epsilon)) == pytest.approx(epsilon, abs=1e-12)


def events(n):
    return [[i for i in range(n) if word >> i & 1] for word in range(2**n)]


def test_outcomes_that_one_law_never_has():
    """An outcome of probability 0 under Q alone has infinite loss; one of probability 0 under P costs nothing."""
    loss = PrivacyLoss.between(np.array([*P, -math.inf]), np.array([*Q[:3], -math.inf, math.log(0.4)]))
    assert loss.infinite == pytest.approx(0.05)
    assert loss.epsilon(0.04) == loss.epsilon(0.0) == math.inf > loss.epsilon(0.06) > 0
    assert loss.delta(100.0) == pytest.approx(0.05)


@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-9, 2.0**-36, 1e-30, 1e-100])
@pytest.mark.parametrize("k", [1, 2, 600])
def test_sums_of_randomised_responses_have_many_digits_of_each_delta(k, delta):
    """The tilted sum of k laws on two points against the binomial law, down to δ = 1e-100."""
    exact, one = response(0.05, k), response(0.05, 1)
    epsilon = exact.epsilon(delta)
    tilt = next((t for t in np.geomspace(1e-3, 1e4, 300) if exact.losses @ tilted(exact, t) >= epsilon), 1e4)
    summed = composed([(one, k)], tilt)
    assert summed.delta(epsilon) == pytest.approx(exact.delta(epsilon), rel=1e-9)
    assert summed.epsilon(delta) == pytest.approx(epsilon, abs=1e-9)
    plain = composed([(one, k)])
    assert plain.delta(0.1) == pytest.approx(exact.delta(0.1), rel=1e-12)
    if k == 600 and delta < 1e-20:  # the control: without a tilt, the error of the transform is larger than δ
        assert abs(plain.delta(epsilon) / exact.delta(epsilon) - 1) > 1e-3


def tilted(law, tilt):
    logs = np.log(law.masses) + tilt * law.losses
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def test_sums_of_different_laws_by_enumeration():
    """Three losses of one law and two of another on the same grid. A loss of the first may be infinite."""
    one = PrivacyLoss(np.array([-1.0, -0.5, 0.0, 0.5]), np.array([0.1, 0.2, 0.3, 0.3]), 0.1)
    other = PrivacyLoss(np.array([0.5, 1.0]), np.array([0.4, 0.6]))
    parts, outcomes = [one] * 3 + [other] * 2, []
    for path in product(*(range(len(law.losses) + 1) for law in parts)):
        losses, masses = zip(
            *(
                (np.append(law.losses, np.inf)[i], np.append(law.masses, law.infinite)[i])
                for law, i in zip(parts, path, strict=True)
            ),
            strict=True,
        )
        outcomes.append((math.fsum(losses) if math.inf not in losses else math.inf, math.prod(masses)))
    for epsilon, tilt in product((0.0, 0.75, 2.0), (0.0, 0.5)):
        exact = sum(mass * -math.expm1(epsilon - loss) for loss, mass in outcomes if loss > epsilon)
        assert composed([(one, 3), (other, 2)], tilt).delta(epsilon) == pytest.approx(exact, rel=1e-12)
    assert composed([(one, 3), (other, 2)]).infinite == pytest.approx(1 - 0.9**3, rel=1e-12)


def test_nothing_is_wrapped_around():
    """The law is heavy: P(L > x) falls like 1/x up to the last point. The sum has all points from 3 to 3000."""
    edges = np.arange(0.0, 1001.0)
    heavy = PrivacyLoss.rounded_up(lambda x: 1 - 1 / (1 + x), edges)
    total = composed([(heavy, 3)])
    assert heavy.infinite == pytest.approx(1 / 1001) and heavy.masses.sum() + heavy.infinite == pytest.approx(1)
    assert (total.losses[0], total.losses[-1]) == (3.0, 3000.0)
    masses = np.convolve(np.convolve(heavy.masses, heavy.masses), heavy.masses)
    np.testing.assert_allclose(total.masses, masses, atol=1e-15)


@pytest.mark.parametrize("mu", [0.3, 2.0])
def test_a_loss_with_a_density_is_bounded_from_above(mu):
    """δ of the Gaussian loss, rounded up, is above its closed form, by less than the width of the grid."""
    edges = np.linspace(-12 * mu, 14 * mu, 20_001)
    loss = PrivacyLoss.rounded_up(stats.norm(mu**2 / 2, mu).cdf, edges)
    for epsilon in (0.0, 0.5, 3.0):
        exact = gaussian.delta_of(mu, epsilon)
        assert exact <= loss.delta(epsilon) * (1 + 1e-9) + 1e-17
        assert loss.delta(epsilon) < exact + edges[1] - edges[0]


@pytest.mark.parametrize(
    ("k", "s", "delta"), [(1, 0.4, 1e-3), (19, 1 / 19, 1e-9), (120, 1 / 120, 1e-30), (3, 8.0, 0.1)]
)
def test_laplace_numbers_from_both_sides(k, s, delta):
    """Merged cells give a smaller ε than split cells, and smaller cells a narrower bracket."""
    fine = laplace.bracket(k, s, delta)
    low, high = (composed([(law(s, 4), k)], 1 / s).epsilon(delta) for law in (_merged, _split))
    assert low <= fine[0] <= fine[1] <= high * (1 + 1e-12)
    assert fine[1] - fine[0] < 1e-6 * fine[1] and fine[1] < k * s
    for law in (_merged(s, 7), _split(s, 7)):  # with the item and without it, the masses sum to 1
        assert law.masses.sum() == pytest.approx(1) and law.masses @ np.exp(-law.losses) == pytest.approx(1)


def test_laplace_numbers_that_cost_nothing():
    """ε is 0 if δ(0) of one number, 1 - e^(-s/2), is less than δ."""
    assert laplace.bracket(1, 0.3, 0.2) == (0.0, 0.0) < laplace.bracket(1, 0.3, 0.13)


@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_whole_numbers_agree_with_dp_accounting(delta):
    """A sum with discrete Laplace noise of scale 15, which the change moves by exactly 20."""
    from dp_accounting.pld import privacy_loss_distribution

    theirs = privacy_loss_distribution.from_discrete_laplace_mechanism(1 / 15, 20, value_discretization_interval=1e-5)
    ours = whole.cost(whole.DiscreteLaplace(1.0), 15.0, delta, 20.0)
    assert ours == pytest.approx(theirs.get_epsilon_for_delta(delta), rel=1e-5)
    assert ours < (1 - delta) * 20 / 15


def test_mixed_releases_agree_with_dp_accounting():
    """Ten Laplace numbers and six randomised responses: our bracket is narrow, and the ε of dp-accounting agrees."""
    from dp_accounting.pld import common, privacy_loss_distribution

    parameters = common.DifferentialPrivacyParameters(0.25, 0)
    theirs = privacy_loss_distribution.from_privacy_parameters(parameters, value_discretization_interval=1e-5)
    numbers = privacy_loss_distribution.from_laplace_mechanism(1 / 0.25, value_discretization_interval=1e-5)
    wanted = theirs.self_compose(6).compose(numbers.self_compose(10)).get_epsilon_for_delta(1e-5)
    cells = 512
    flips = PrivacyLoss(np.linspace(-0.25, 0.25, cells + 1), np.zeros(cells + 1))
    flips.masses[[0, -1]] = response(0.25, 1).masses
    low, high = (
        composed([(flips if n == cells else fine(flips), 6), (law(0.25, cells), 10)], 5.0).epsilon(1e-5)
        for law, n in ((_merged, 2 * cells), (_split, cells))
    )
    assert low <= high and high - low < 1e-5 * high
    assert high == pytest.approx(wanted, rel=1e-4)


def fine(law):
    """The same law on a grid of half the width."""
    masses = np.zeros(2 * len(law.losses) - 1)
    masses[::2] = law.masses
    return PrivacyLoss(np.linspace(law.losses[0], law.losses[-1], len(masses)), masses)
