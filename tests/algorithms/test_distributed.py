"""Dist-DP-SE and Dist-RDP-SE: their batches by hand, the laws of their noise, their widths and their privacy."""

import math

import numpy as np
import pytest
from scipy import special, stats

from privbandits_cli.accounting import gaussian
from privbandits_cli.algorithms import dist_dp_se, dist_rdp_se
from privbandits_cli.games.bandit import Numbers, Setting, play
from tests.algorithms.test_algorithms import ready
from tests.conftest import ROOT, foe, make, match, some

LEVEL = 1e-6
BOTH = ("dist_dp_se", "dist_rdp_se")


def turns(bound, state, gain, laplace=0.0):
    """Play the batch to its end with this gain for all arms, and return its length."""
    length, batch = state.cycles, state.epoch
    while state.epoch == batch:
        arm = bound["choose"](state, Numbers(0.0, laplace, 0.0, np.uint64(1)))
        bound["update"](state, arm, gain, Numbers(0.0, laplace, 0.0, np.uint64(1)))
    return length


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize(("growth", "lengths"), [(2, [2, 4, 8, 16]), (4, [4, 16, 64, 256])])
def test_batches_grow(growth, lengths):
    bound, state = ready("dist_dp_se", Setting(1000, 2), epsilon=2.0, growth=growth)
    assert [turns(bound, state, 0.0) for _ in lengths] == lengths
    assert state.g == math.ceil(2 * math.sqrt(lengths[-1] * growth))


@pytest.mark.parametrize(
    ("noise", "decoded"), [(0, 4), (-5, -1), (14, 18), (15, -12), (-16, -12), (-17, 18), (31, 4), (-62, 4)]
)
def test_the_server_decodes_a_sum_modulo_m_by_hand(noise, decoded):
    """ε = 2, T = 1000, l = 2: g = 3, τ = 12, M = 31. The sum is 4 of 6; what leaves -12, ..., 18 comes back by 31."""
    _, state = ready("dist_dp_se", Setting(1000, 2), epsilon=2.0)
    assert (state.g, state.tau, state.cycles) == (3, 12, 2)
    state.sums[1] = 4.0
    dist_dp_se.decode(state, 1, float(noise))
    assert state.means[1] == decoded / 6 and state.sums[1] == 0


@pytest.mark.parametrize("n", some([4000, 20_000], 4000))
def test_gains_are_rounded_at_random(n):
    """g = 3: the gain 0.4 is 1.2, and so 2 with probability 0.2; 0 and 1 are always 0 and 3."""
    _, state = ready("dist_dp_se", Setting(1000, 2), epsilon=2.0)
    words = np.random.default_rng(1).integers(2**64, size=n, dtype=np.uint64)

    def rounded(gain):
        found = []
        for word in words:
            state.sums[0] = 0.0
            with np.errstate(over="ignore"):
                dist_dp_se.encode(state, 0, gain, word)
            found.append(float(state.sums[0]))
        return found

    assert set(rounded(0.0)) == {0.0} and set(rounded(1.0)) == {3.0}
    seen = rounded(0.4)
    assert set(seen) == {1.0, 2.0}
    assert stats.binomtest(seen.count(2.0), n, 0.2).pvalue > LEVEL
    assert stats.binomtest(seen.count(2.0), n, 0.4).pvalue < 1e-12  # control: the part of the gain itself


@pytest.mark.parametrize("scale", [1.42, 10.0, 3e4])
def test_discrete_noise_has_the_probabilities_of_its_law(scale):
    """It is n or more from that Laplace number on which is exceeded with probability q^n/(1 + q), n >= 1."""
    q = math.exp(-1 / scale)
    for n in (1, 2, 3, 7, round(5 * scale)):
        edge = -math.log(2 * q**n / (1 + q))
        for sign in (1, -1):
            assert dist_dp_se.discrete(sign * edge * (1 - 1e-9), scale) == sign * (n - 1)
            assert dist_dp_se.discrete(sign * edge * (1 + 1e-9), scale) == sign * n
    edge = -math.log(2 * q / (1 + q))
    assert abs(edge - 0.5 / scale) > 1e-5 / scale**2  # control: where a rounded Laplace number would jump


@pytest.mark.parametrize("users", [1, 4])
def test_the_noise_of_the_users_is_a_discrete_laplace_number(users):
    """ε = 0.5, g = 1: differences of Pólya(1/l, q) numbers, convolved; control: the published sampler's scale."""
    q, n = math.exp(-0.5), 200

    def total(q):
        own, one = stats.nbinom(1 / users, 1 - q).pmf(np.arange(n)), np.ones(1)
        for _ in range(users):
            one = np.convolve(one, own)[:n]
        return np.convolve(one, one[::-1])

    law = (1 - q) / (1 + q) * q ** np.abs(np.arange(1 - n, n))
    np.testing.assert_allclose(total(q)[100:-100], law[100:-100], rtol=1e-9)
    scale = (1 - q) / q  # a mixture of Poisson laws over Gamma(1/l, scale) is Pólya(1/l, scale/(1 + scale))
    assert np.abs(total(scale / (1 + scale)) - law).sum() > 0.4


def test_the_errata_have_the_deviation_of_the_published_noise():
    """ε = 0.1, l = 64, where g = 1: 2l Poisson laws mixed over Gamma(1/l, c) have the variance 2c (1 + c) together."""
    q = math.exp(-0.1)
    own, published = (math.sqrt(2 * scale * (1 + scale)) for scale in (q / (1 - q), (1 - q) / q))
    words = (ROOT / "docs/privacy/errata.md").read_text()
    assert f"deviation {published:.2f} there and {own:.1f} here" in words


def noise_tails(name, epsilon, plays, s=10.0):
    """The law of the noise of a batch, in units of 1/g, as a function x -> P(|noise| > x)."""
    g = math.ceil((epsilon if name == "dist_dp_se" else s * epsilon) * math.sqrt(plays))
    if name == "dist_dp_se":
        q = math.exp(-epsilon / g)
        return lambda x: 2 * q ** (math.floor(x * g) + 1) / (1 + q)
    further = np.arange(1, 20 * math.ceil(g / epsilon))
    return lambda x: 2 * special.ive(math.floor(x * g) + further, (g / epsilon) ** 2).sum()


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_widths_cover_the_noise(name, epsilon):
    """P(|noise| > σ √L + h L) <= 2 e^-L, at L = ln(2 |S| b²/p); control: half of this width does not."""
    bound, state = ready(name, Setting(10**4, 4), epsilon=epsilon)
    for _ in range(6):
        log, tail = math.log(2 * 4 * state.epoch**2 * 1e4), noise_tails(name, epsilon, state.cycles)
        noise = state.sigma * math.sqrt(log) + state.h * log
        assert state.threshold == pytest.approx(
            2 * (math.sqrt((log + math.log(2)) / 2 / state.cycles) + noise / state.cycles), rel=1e-12
        )
        assert tail(noise) <= 2 * math.exp(-log) < tail(0.45 * noise)
        turns(bound, state, 0.5)


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_server_is_rarely_wrong_by_m(name, epsilon):
    """P(|noise| > τ) <= 1/T; control: not beyond τ/2."""
    bound, state = ready(name, Setting(10**4, 4), epsilon=epsilon)
    for _ in range(6):
        tail = noise_tails(name, epsilon, state.cycles)
        assert tail(state.tau / state.g) <= 1e-4 < tail(state.tau / 2 / state.g)
        turns(bound, state, 0.5)


def exact_divergence(alpha, shift, variance):
    """The Rényi divergence of order α of Skellam noise and the same noise with a shift."""
    far = shift * (alpha + 2) + int(12 * math.sqrt(variance))
    k = np.arange(-far, far + 1)
    p, q = special.ive(np.abs(k), variance), special.ive(np.abs(k - shift), variance)
    inside = (p > 0) & (q > 0)  # what is left out would make the divergence larger
    return np.logaddexp.reduce(alpha * np.log(p[inside]) + (1 - alpha) * np.log(q[inside])) / (alpha - 1)


@pytest.mark.parametrize("s", [1.0, 3.0, 10.0])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0])
def test_the_renyi_divergence_is_below_its_bound(epsilon, s):
    """At orders 2, 3 and 8, for the coarsest grids; control: on fine grids 0.98 of the Gaussian part is too small."""
    for plays in (2, 4, 8):
        g = math.ceil(s * epsilon * math.sqrt(plays))
        for alpha in (2, 3, 8):
            exact = exact_divergence(alpha, g, (g / epsilon) ** 2)
            assert exact <= dist_rdp_se.divergence(np.array([alpha]), epsilon, s)[0]
            assert alpha > 2 or s < 10 or exact > 0.98 * alpha * epsilon**2 / 2


def test_guarantees():
    """ε for discrete Laplace noise; for Skellam noise a little more than ε-GDP. Blocks of rounds divide the change."""
    setting = Setting(10**6, 5)
    pure = make("dist_dp_se", epsilon=0.5).tuned(setting)
    assert str(pure.guarantee(setting)) == "ε = 0.5"
    fine, coarse = (make("dist_rdp_se", epsilon=0.5, s=s).tuned(setting) for s in (1000.0, 1.0))
    least, most = (one.bounds(setting, 1e-6)[0].epsilon for one in (fine, coarse))
    limit = gaussian.epsilon_of(0.5, 1e-6)
    assert limit < least < 1.15 * limit < most  # a Rényi divergence converts with a loss
    assert coarse.bounds(setting, 0.0) == []
    assert coarse.guarantee(setting, 1e-6).epsilon == pytest.approx(limit, rel=1e-3)  # exactly, of all its batches
    assert pure.bounds(setting, 0.0, 0.01)[0].epsilon == 0.5  # of a grid with one step
    large = make("dist_dp_se", epsilon=50.0).tuned(setting)
    assert 0.1 * 50 <= large.bounds(setting, 0.0, 0.1)[0].epsilon <= 0.12 * 50


@pytest.mark.parametrize("epsilon", some([0.01, 1.0, 20.0], 1.0))
def test_an_epsilon_of_the_noise_is_found_for_an_epsilon_of_privacy(epsilon):
    """By the exact account of the sums of 10^6 rounds; those of 10^8 have only the bound of Rényi."""
    for horizon in (10**6, 10**8):
        found = type(make("dist_rdp_se")).for_epsilon(epsilon, 1e-6, horizon, {})["certified"]
        setting = Setting(horizon, 5)
        stated = found.tuned(setting).guarantee(setting, 1e-6).epsilon
        assert (1 - 1e-4) * epsilon < stated <= (1 + 1e-9) * epsilon
        assert (found.epsilon == gaussian.mu_of(epsilon, 1e-6)) == (horizon == 10**6)
    assert type(make("dist_rdp_se")).for_epsilon(1e-8, 1e-12, 10**6, {}) == {}  # no order is large enough


@pytest.mark.slow
def test_noise_costs_little_where_epsilon_is_large():
    """C2, T = 10^6: the regret at ε = 0.01 is several times that at ε = 100, of both algorithms."""
    own = [make(name, epsilon=epsilon, p=0.1) for name in BOTH for epsilon in (0.01, 100.0)]
    regret = play(match(foe("bernoulli", means="C2"), own, 10**6, 5), range(8))[:, :, 0].mean(1)
    assert regret[0] > 2 * regret[1] and regret[2] > 2 * regret[3]
    assert regret[[1, 3]].max() < 1.3 * regret[[1, 3]].min()
