"""EXP2, the reduction of Agarwal & Singh 2017 to a base without privacy, HTINF and its batches."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.algorithms.exp3 import exp_near_0
from privbandits_cli.algorithms.htinf import THETA
from privbandits_cli.audit.auditor import audit
from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.games.bandit import Draws, Setting, play
from privbandits_cli.games.steps import composition, steps
from tests.conftest import foe, make, match
from tests.naive import regrets, tsallis_by_bisection

PAPER = Setting(2**18, 4)
MU = [0.4, 0.3, 0.2, 0.1]


def ready(algorithm, setting=PAPER):
    """The steps of an algorithm and its first state."""
    tuned = algorithm.tuned(setting)
    return steps(composition(tuned)), tuned.state(setting)[0]


def distribution(bound, state, n_arms=4):
    out = np.full(n_arms, np.nan)
    bound["probabilities"](state, out)
    return out


def lead_to(bound, state, arm, n_arms=4):
    """Choose with a uniform number that leads to this arm."""
    p = distribution(bound, state, n_arms)
    assert bound["choose"](state, Draws(p[:arm].sum() + p[arm] / 2, 0.0)) == arm


# ---------------------------------------------------------------------------------------------- EXP2


def test_exp2_by_hand():
    """K = 2, η = 0.5, γ = 0.5, μ = (0.8, 0.2): two rounds worked on paper."""
    bound, state = ready(make("exp2", eta=0.5, gamma=0.5, mu=[0.8, 0.2]), Setting(10, 2))
    np.testing.assert_allclose(distribution(bound, state, 2), [0.65, 0.35], rtol=1e-15)
    assert bound["choose"](state, Draws(0.64, 0)) == 0 and bound["choose"](state, Draws(0.66, 0)) == 1
    bound["update"](state, 1, 0.25, Draws(0, 0))  # l = 0.75, estimate 0.75/0.35
    w = math.exp(-0.5 * 0.75 / 0.35)
    p = [0.5 / (1 + w) + 0.4, 0.5 * w / (1 + w) + 0.1]
    np.testing.assert_allclose(distribution(bound, state, 2), p, rtol=1e-14)
    bound["update"](state, 0, -3.0, Draws(0, 0))  # a noisy gain: l = 4
    v = math.exp(-0.5 * 4 / p[0])
    np.testing.assert_allclose(distribution(bound, state, 2)[0], 0.5 * v / (v + w) + 0.4, rtol=1e-13)


def test_exp2s_estimates_are_unbiased_by_exact_enumeration():
    """In rational arithmetic: Σ_i p_i (estimate of arm j after i was played) = l_j, and the second moment is l_j²/p_j.

    The steps themselves are then held to these estimates.
    """
    losses = [Fraction(9, 10), Fraction(1, 10), Fraction(6, 10), Fraction(1)]
    bound, state = ready(make("exp2", eta=0.01, gamma=0.2, mu=MU))
    rng = np.random.default_rng(4)
    for _ in range(300):
        draws = Draws(rng.random(), 0.0)
        bound["update"](state, bound["choose"](state, draws), rng.random(), draws)
    p = [Fraction(float(share)) for share in distribution(bound, state)]
    for j, loss in enumerate(losses):
        estimates = [loss / p[j] if i == j else Fraction(0) for i in range(4)]
        assert sum(p[i] * estimates[i] for i in range(4)) == loss
        assert sum(p[i] * estimates[i] ** 2 for i in range(4)) == loss**2 / p[j]
        fork = state.copy()
        lead_to(bound, fork, j)
        bound["update"](fork, j, float(1 - loss), Draws(0, 0))
        moved = -(fork.gains - state.gains) / state.eta
        np.testing.assert_allclose(moved, [float(estimates[j]) if i == j else 0.0 for i in range(4)], atol=1e-9)


@pytest.mark.parametrize("n_arms", [2, 8, 9, 17, 100])
def test_exp2_descends_its_tree_for_any_mu(n_arms):
    """As u runs through [0, 1), each arm is selected for an interval of length p_i."""
    rng = np.random.default_rng(n_arms)
    mu = rng.dirichlet(np.ones(n_arms)) * 0.9 + 0.1 / n_arms
    bound, state = ready(make("exp2", eta=0.05, gamma=0.5, mu=mu.tolist()), Setting(10**4, n_arms))
    for _ in range(500):
        draws = Draws(rng.random(), 0.0)
        bound["update"](state, bound["choose"](state, draws), rng.random(), draws)
    p, n = distribution(bound, state, n_arms), 20_000
    counts = np.bincount([bound["choose"](state, Draws((i + 0.5) / n, 0.0)) for i in range(n)], minlength=n_arms)
    assert np.abs(counts - n * p).max() <= 2
    assert (p >= 0.5 * mu * (1 - 1e-12)).all() and not np.allclose(p, 1 / n_arms, atol=1e-3)


def test_exp2_with_another_mu_plays_as_its_twin():
    game = match(foe("stochastic"), [make("exp2", mu=MU, gamma=0.3, eta=0.02)], 2000, checkpoints=[10, 2000])
    twin = regrets(game.adversary, game.algorithms[0], game.setting, [10, 2000], game.seed, 0)
    assert play(game, [0])[0, 0].tolist() == twin


def test_exp2s_tuning_minimises_the_bound_of_lemma_4_4():
    """Over all (η, γ) that satisfy its condition; the bound is then 2√(3KT ln K)."""
    exp2, horizon = make("exp2").tuned(PAPER), np.array([2.0**18])
    least = exp2.regret_bound(horizon, PAPER)[0]
    assert least == pytest.approx(2 * math.sqrt(3 * 4 * 2**18 * math.log(4)), rel=1e-12)
    for eta, gamma in itertools.product((0.5, 0.9, 1.1, 2.0), (1.0, 1.1, 2.0)):
        other = make("exp2", eta=exp2.eta * eta, gamma=exp2.gamma * eta * gamma).tuned(PAPER)
        assert other.regret_bound(horizon, PAPER)[0] > least
    outside = make("exp2", eta=exp2.eta, gamma=exp2.gamma * 0.9).tuned(PAPER)
    assert outside.regret_bound(horizon, PAPER) is None  # the condition is not kept
    assert exp2.regret_bound(horizon, PAPER, memory=1) is None


CONFIG = """\
experiment: x
horizon: 100
trials: 24
adversary: stochastic
algorithms:
  - {name: exp2, mu: MU}
"""


@pytest.mark.parametrize(
    ("mu", "message"),
    [
        ("[0.4, 0.3, 0.2]", "x.yaml:6:22: mu should sum to 1, not to 0.9, got [0.4, 0.3, 0.2]"),
        ("[0.5, 0.5]", "x.yaml:6:5: mu has 2 probabilities for 4 arms"),
        ("[0.5, 0.5, 0.0, 0.0]", "x.yaml:6:33: mu[2] should be greater than 0, got 0.0"),
        ("[1.5, -0.5, 0, 0]", "x.yaml:6:28: mu[1] should be greater than 0, got -0.5"),
    ],
)
def test_a_mu_that_is_not_a_distribution_is_a_located_error(tmp_path, monkeypatch, mu, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.yaml").write_text(CONFIG.replace("MU", mu))
    with pytest.raises(ConfigError) as error:
        load(type(tmp_path)("x.yaml"))
    assert message in str(error.value)


def test_a_mu_of_thirds_is_accepted():
    shares = make("exp2", mu=[0.3333333, 0.3333333, 0.3333333]).shares(Setting(10, 3))
    np.testing.assert_allclose(shares, 1 / 3, rtol=1e-15)


# ------------------------------------------------------------------------------------- noise of any size


BASES = ("exp2", "exp3", "tsallis_inf", "htinf")


def reference(base, state):
    """The distribution from the sums that the base keeps, by another way than its own."""
    if base in ("exp2", "exp3"):
        weights = np.exp(state.gains - state.gains.max())
        floor = state.gamma * (state.mu if base == "exp2" else 1 / 4)
        return (1 - state.gamma) * weights / weights.sum() + floor
    eta = 2 / math.sqrt(state.t) / (state.sigma if base == "htinf" else 1)
    return tsallis_by_bisection((state.losses - state.losses.min()).tolist(), eta)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("epsilon", [0.01, 1e-4])
def test_bases_tolerate_noise_of_any_size_and_sign(base, epsilon):
    """Under noise of scale 100 and 10,000 the probabilities always equal an independent computation from the sums."""
    algorithm = make("dp_reduction", epsilon=epsilon, base=make(base))
    bound, state = ready(algorithm, Setting(2**14, 4))
    rng, largest = np.random.default_rng(5), 0.0
    for t in range(20_000):
        draws = Draws(rng.random(), rng.laplace())
        arm = bound["choose"](state, draws)
        before = distribution(bound, state)
        bound["update"](state, arm, float(rng.random() < 0.5), draws)
        after = distribution(bound, state)
        largest = max(largest, np.abs(after - before).max())
        if t % 100 == 0:
            assert np.isfinite(after).all() and abs(after.sum() - 1) < 1e-9
            np.testing.assert_allclose(after, reference(base, state.wrapped), rtol=1e-6, atol=1e-9)
    assert largest > 0.05  # the noise did have an effect


def test_weights_are_recomputed_before_all_underflow():
    """With losses every weight of EXP2 falls: after 3000 factors of e^-1 all would underflow."""
    bound, state = ready(make("exp2", eta=0.25, gamma=0.9), Setting(100, 4))
    for t in range(12_000):
        lead_to(bound, state, t % 4)
        bound["update"](state, t % 4, 0.0, Draws(0, 0))
    assert state.gains.max() < -2000 and state.offset < -1000
    assert state.sums[1] > 1e-200
    np.testing.assert_allclose(distribution(bound, state), reference("exp2", state), rtol=1e-9)


def test_exp3s_series_is_for_small_steps_of_either_sign():
    """A step of -3 by the series would be a weight of -1.6; the limit was on one side only."""
    bound, state = ready(make("exp3", gamma=0.5), Setting(100, 4))
    bound["update"](state, 1, -6.0, Draws(0, 0))
    assert state.gains[1] == -3.0
    np.testing.assert_allclose(state.weights, [1, math.exp(-3), 1, 1], rtol=1e-14)


def test_the_series_of_exp():
    """Equal to exp to two units in the last place; negative control: beyond its range it is not."""
    x = np.linspace(-(2.0**-5), 2.0**-5, 20_001)
    found = np.array([exp_near_0(float(step)) for step in x])
    assert np.abs(found / np.exp(x) - 1).max() <= 2 * 2.0**-52
    assert abs(exp_near_0(1.0) / math.e - 1) > 1e-6


# ------------------------------------------------------------------------------------------ the reduction


@pytest.mark.parametrize("adversary", ["deterministic", "stochastic", "switching_costs"])
def test_without_noise_it_is_its_base(adversary, shared_streams):
    exp2 = make("exp2")
    silent = [make("dp_reduction", epsilon=math.inf, base=base) for base in (exp2, make("exp3"))]
    one = make("mini_batch", tau=1, base=make("htinf", sigma=math.sqrt(6)))
    lineup = [exp2, silent[0], make("exp3"), silent[1], one, make("batched_htinf", epsilon=math.inf)]
    noisy = [make("dp_reduction", epsilon=1.0, base=exp2)]
    found = play(match(foe(adversary), lineup + noisy, 3000, checkpoints=[10, 3000]), range(4))
    for plain, reduced in ((0, 1), (2, 3), (4, 5)):
        np.testing.assert_array_equal(found[reduced], found[plain])
    assert not np.array_equal(found[6], found[0])  # the comparison can fail


def test_the_base_is_fed_the_gain_and_its_noise_unscaled():
    bound, state = ready(make("dp_reduction", epsilon=0.5, base=make("tsallis_inf")))
    for arm, (gain, noise) in enumerate([(0.25, 7.0), (1.0, -40.0), (0.0, 0.5)]):
        lead_to(bound, state, arm)
        p, before = state.wrapped.p[arm], state.wrapped.losses[arm]
        bound["update"](state, arm, gain, Draws(0.0, noise))
        assert state.wrapped.losses[arm] - before == pytest.approx((1 - (gain + 2 * noise)) / p, rel=1e-12)


NESTED = {
    "reduction of blocks": lambda: make("dp_reduction", epsilon=2.0, base=make("mini_batch", tau=3, base=make("exp2"))),
    "blocks of a reduction": lambda: make("mini_batch", tau=3, base=make("dp_exp2", epsilon=2.0)),
    "blocks of blocks": lambda: make("mini_batch", tau=2, base=make("batched_htinf", epsilon=0.4)),
}


@pytest.mark.parametrize("nested", NESTED)
def test_wrappers_compose(nested):
    game = match(foe("stochastic"), [NESTED[nested]()], 1200, checkpoints=[7, 1200])
    twin = regrets(game.adversary, game.algorithms[0], game.setting, [7, 1200], game.seed, 1)
    for block in (64, 100, 5000):
        assert play(game, [1, 2], block=block)[0, 0].tolist() == twin


def test_layers_of_noise_must_not_share_their_draws():
    for base in (make("dp_exp2", epsilon=1.0), make("batched_htinf", epsilon=1.0)):
        assert "one layer of noise" in next(make("dp_reduction", epsilon=1.0, base=base).errors(PAPER))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_tunings_of_theorem_4_1(epsilon):
    """Each equals its formula with natural logarithms; all three satisfy the condition of EXP2's bound under noise."""
    scale, k, t = 1 / epsilon, 4, 2.0**18
    log = math.log(k * t)
    tuned = {name: make("dp_exp2", epsilon=epsilon, tuning=name).tuned(PAPER) for name in ("printed", "proof")}
    printed, proof = tuned["printed"].base, tuned["proof"].base
    assert printed.eta == pytest.approx(math.sqrt(math.log(k) / (2 * k * t * (1 + 2 * scale**2 * log))), rel=1e-12)
    assert printed.gamma == pytest.approx(printed.eta * k * math.sqrt(1 + 2 * scale**2 * log), rel=1e-12)
    assert proof.eta == pytest.approx(math.sqrt(math.log(k) / (2 * k * t * (1 + 2 * scale**2 * log**2))), rel=1e-12)
    assert proof.gamma == pytest.approx(proof.eta * k * (1 + 4 * scale * log), rel=1e-12)
    assert printed.gamma < printed.eta * k * (1 + 4 * scale * log)  # the condition of the proof, which it misses
    best = make("dp_exp2", epsilon=epsilon).tuned(PAPER)
    assert best.tuning == "variance"
    bounds = {name: a.regret_bound(np.array([t]), PAPER)[0] for name, a in (tuned | {"variance": best}).items()}
    assert bounds["variance"] < bounds["printed"] < bounds["proof"]
    least = 2 * scale + 2 / 3 * (1 + 2 * scale**2)
    assert best.base.gamma == pytest.approx(2 * best.base.eta * k * scale, rel=1e-12)
    assert bounds["variance"] == pytest.approx(2 * math.sqrt(k * t * math.log(k) * least), rel=1e-12)
    assert make("dp_exp2", epsilon=epsilon, base=make("exp2", eta=0.1)).tuned(PAPER).base.eta == 0.1


@pytest.mark.parametrize("a", [0.05, 0.3, 0.5])
@pytest.mark.parametrize("loss", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_the_step_of_the_bound_under_noise(a, loss, scale):
    """E exp(-η(l + Z)/p) <= 1 - ηl/p + ⅔ (η/p)² (1 + 2λ²) for a = ηλ/p <= ½, by quadrature; false at a = 0.95."""
    from scipy import integrate

    def mean(a):
        step = a / scale
        z = integrate.quad(lambda x: math.exp(-a * x - abs(x)) / 2, -400, 400, points=[0], limit=200)[0]
        return math.exp(-step * loss) * z, 1 - step * loss + 2 / 3 * step**2 * (1 + 2 * scale**2)

    found, bound = mean(a)
    assert found == pytest.approx(math.exp(-a / scale * loss) / (1 - a**2), rel=1e-6)
    assert found <= bound * (1 + 1e-9)
    if scale >= 1:
        found, bound = mean(0.95)
        assert found > bound


def test_at_epsilon_1_the_tuning_by_variance_learns():
    """T = 2^16, a gap of 0.2: at most half the regret of uniform play; the tuning of the proof has more."""
    lineup = [make("uniform"), *(make("dp_exp2", epsilon=1.0, tuning=t) for t in ("variance", "printed", "proof"))]
    game = match(foe("stochastic", best=0.6, others=0.4), lineup, 2**16)
    regret = play(game, range(8))[:, :, 0]
    uniform, variance, printed, proof = regret.mean(1)
    error = regret.std(1, ddof=1).max() / math.sqrt(8)
    assert variance + 5 * error < uniform / 2 < proof - 5 * error
    assert variance + 5 * error < printed


# ------------------------------------------------------------------------------------------ HTINF


def test_htinf_without_large_losses_is_tsallis_inf(shared_streams):
    """σ = 1 and no skipped round: once Θ√(t p) >= 1, no loss in [0, 1] is skipped at p >= 1/4."""
    bound, state = ready(make("htinf"))
    plain_bound, plain = ready(make("tsallis_inf"))
    for start in (state, plain):
        start.t = 10**6
    rng = np.random.default_rng(0)
    for _ in range(500):
        draws, gain = Draws(rng.random(), 0.0), rng.random()
        arm = bound["choose"](state, draws)
        assert plain_bound["choose"](plain, draws) == arm
        bound["update"](state, arm, gain, draws)
        plain_bound["update"](plain, arm, gain, draws)
        assert state.losses.tolist() == plain.losses.tolist()


@pytest.mark.parametrize("loss", [-1.0, 1.0])
def test_htinf_skips_at_its_threshold_and_at_most_doubles(loss):
    """Just below it the loss counts, and (p_i)^(3/2) of the arm alone at most doubles; just above it is skipped."""
    t, sigma = 400, math.sqrt(6)
    for share, counts in ((0.999, True), (1.001, False)):
        bound, state = ready(make("htinf", sigma=sigma))
        state.t = t
        lead_to(bound, state, 2)
        bound["choose"](state, Draws(0.6, 0.0))
        p = state.p[2]
        size = share * THETA * sigma * math.sqrt(t * p)
        bound["update"](state, 2, 1 - loss * size, Draws(0, 0))
        assert state.losses[2] == pytest.approx(loss * size / p if counts else 0.0)
        assert state.t == t + 1
        root = 1 / (1 / math.sqrt(p) + loss * share * THETA / math.sqrt(p))  # of the step without the sum being 1
        assert (root / math.sqrt(p)) ** 3 <= 2 * (1 + 1e-12) or share > 1
    doubled = (1 - THETA) ** -3
    assert doubled == pytest.approx(2)


@pytest.mark.parametrize("seed", range(5))
def test_htinf_solves_its_equation(seed):
    rng = np.random.default_rng(seed)
    bound, state = ready(make("htinf", sigma=2.0))
    state.losses[:], state.t = rng.normal(scale=10.0 ** rng.integers(-2, 6), size=4), int(10 ** rng.uniform(0, 8))
    wanted = tsallis_by_bisection(state.losses.tolist(), 1 / math.sqrt(state.t))
    np.testing.assert_allclose(distribution(bound, state), wanted, rtol=1e-9)


@pytest.mark.parametrize(("epsilon", "tau"), [(0.1, 10), (0.3, 4), (0.5, 2), (1.0, 1), (8.0, 1)])
def test_batches_and_their_noise(epsilon, tau):
    """τ = ⌈1/ε⌉; a gain changes a mean by 1/τ, under noise of scale 1/(ετ): exactly ε for a gain."""
    algorithm = make("batched_htinf", epsilon=epsilon).tuned(PAPER)
    state = algorithm.state(PAPER)[0]
    assert (algorithm.tau, state.tau, algorithm.periods()) == (tau, tau, {"uniform": tau, "laplace": tau})
    assert state.wrapped.scale == pytest.approx(1 / (epsilon * tau)) and state.wrapped.scale <= 1
    promised = algorithm.guarantee(PAPER)
    assert promised.epsilon == pytest.approx(epsilon) and promised.delta == 0 and promised.status == "proved"
    attack = next(bound for bound in algorithm.bounds(PAPER, 1e-9) if bound.lower)
    assert attack.epsilon == pytest.approx(epsilon, abs=1e-8)


def test_a_batch_longer_than_the_game_is_an_error():
    assert "does not fit" in next(make("batched_htinf", epsilon=0.001).errors(Setting(500, 4)))


def test_batched_htinf_feeds_noisy_means_by_hand():
    """ε = 0.4: three rounds, the mean of their gains, and the last round's noise over ετ = 1.2."""
    bound, state = ready(make("batched_htinf", epsilon=0.4, sigma=100.0))
    for gain, noise in ((1.0, 5.0), (0.0, 5.0), (0.5, -2.0)):
        arm = bound["choose"](state, Draws(0.1, 0))
        assert bound["released"](state.copy(), gain, Draws(0, 1.2)) == pytest.approx((state.gain + gain) / 3 + 1)
        bound["update"](state, arm, gain, Draws(0.1, noise))
    assert state.wrapped.wrapped.losses[0] == pytest.approx((1 - (0.5 - 2.0 / 1.2)) / 0.25)


def test_regret_of_batches_falls_below_noise_on_every_gain():
    """ε = 0.1, where the theorems put √(KT/ε) against √(KT)/ε."""
    lineup = [make("batched_htinf", epsilon=0.1), make("dp_exp2", epsilon=0.1)]
    regret = play(match(foe("stochastic", best=0.7, others=0.3), lineup, 2**15), range(16))[:, :, 0]
    batched, every = regret.mean(1)
    assert batched + 5 * math.sqrt(regret.var(1, ddof=1).sum() / 16) < every


# ------------------------------------------------------------------------------------------ privacy


@pytest.mark.parametrize("make_it", NESTED.values(), ids=NESTED)
def test_releases_are_audited_in_blocks_too(make_it):
    found = audit(make_it().tuned(PAPER), PAPER, budget=2**14)
    assert found.verdict == "CONSISTENT"
    scaled = make("mini_batch", tau=3, base=make("dp_exp3_lap", epsilon=1.0)).tuned(PAPER)
    assert scaled.guarantee(PAPER).epsilon == pytest.approx(1 / 3)
    assert audit(scaled, PAPER, budget=2**14).verdict == "CONSISTENT"


def test_the_noise_of_a_release_has_its_law():
    """g' - g of the reduction is Laplace with scale 1/ε by a Kolmogorov-Smirnov test; with half the scale it is not."""
    bound, state = ready(make("dp_exp2", epsilon=0.5))
    noise = np.random.default_rng(3).laplace(size=4000)
    seen = [bound["released"](state, 0.5, Draws(0.0, z)) - 0.5 for z in noise]
    assert stats.kstest(seen, stats.laplace(scale=2).cdf).pvalue > 1e-4
    assert stats.kstest(seen, stats.laplace(scale=1).cdf).pvalue < 1e-9


def test_the_proofs_exploration_is_capped_where_the_game_is_short():
    assert make("dp_exp2", epsilon=0.1, tuning="proof").tuned(Setting(10, 4)).base.gamma == 0.5
    assert make("dp_exp2", epsilon=0.1, tuning="printed").tuned(Setting(2, 4)).base.gamma == 1.0


@pytest.mark.parametrize(("sigma", "scale", "wanted"), [(1.0, 0.0, 15.6947), (2.0, 0.0, 10.8473), (1.0, 0.5, 22.5420)])
def test_the_bound_of_htinf_by_hand(sigma, scale, wanted):
    """(2σ + (4 + 2/Θ) s²/σ) √(Kt), Θ = 1 - 2^(-1/3) = 0.2063: the bracket, as 4 + 2/Θ = 13.6947 and s² = 1 + 2λ²."""
    found = make("htinf", sigma=sigma).noisy_regret_bound(np.array([25.0]), Setting(100, 4), scale)[0]
    assert found == pytest.approx(10 * wanted, rel=1e-5)
