"""The reduction of Agarwal & Singh 2017 to a base without privacy: noise of any size, limits, tunings, releases."""

import math

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.audit.auditor import audit
from privbandits_cli.games.bandit import Draws, Setting, play
from privbandits_cli.games.steps import composition, steps
from privbandits_cli.numerics.jit import without_jit
from tests.conftest import Steps, foe, make, match, some
from tests.naive import regrets, tsallis_by_bisection

PAPER = Setting(2**18, 4)


def ready(algorithm, setting=PAPER, plain=None):
    """The steps of an algorithm, in plain Python or compiled, and its first state."""
    tuned = algorithm.tuned(setting)
    with without_jit(Steps.plain if plain is None else plain):
        return steps(composition(tuned)), tuned.state(setting)[0]


def distribution(bound, state, n_arms=4):
    out = np.full(n_arms, np.nan)
    bound["probabilities"](state, out)
    return out


def lead_to(bound, state, arm, n_arms=4):
    """Choose with a uniform number that leads to this arm."""
    p = distribution(bound, state, n_arms)
    assert bound["choose"](state, Draws(p[:arm].sum() + p[arm] / 2, 0.0)) == arm


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


@pytest.mark.parametrize("base", some(BASES, "exp3"))
@pytest.mark.parametrize("epsilon", some([0.01, 1e-4], 0.01))
def test_bases_tolerate_noise_of_any_size_and_sign(base, epsilon):
    """Under noise of scale 100 and 10,000 the probabilities always equal an independent computation from the sums."""
    algorithm = make("dp_reduction", epsilon=epsilon, base=make(base))
    bound, state = ready(algorithm, Setting(2**14, 4), plain=False)
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
    bound, state = ready(make("exp2", eta=0.25, gamma=0.9), Setting(100, 4), plain=False)
    for t in range(12_000):
        lead_to(bound, state, t % 4)
        bound["update"](state, t % 4, 0.0, Draws(0, 0))
    assert state.gains.max() < -2000 and state.offset < -1000
    assert state.sums[1] > 1e-200
    np.testing.assert_allclose(distribution(bound, state), reference("exp2", state), rtol=1e-9)


@pytest.mark.usefixtures("by_hand")
def test_exp3s_polynomial_is_for_small_steps_of_either_sign():
    """A step of -3 by the polynomial would be a weight far from exp -3; the limit was on one side only."""
    bound, state = ready(make("exp3", gamma=0.5), Setting(100, 4))
    bound["update"](state, 1, -6.0, Draws(0, 0))
    assert state.gains[1] == -3.0
    np.testing.assert_allclose(state.weights, [1, math.exp(-3), 1, 1], rtol=1e-14)


# ------------------------------------------------------------------------------------------ the reduction


@pytest.mark.parametrize("adversary", some(["deterministic", "stochastic", "switching_costs"], "stochastic"))
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


@pytest.mark.usefixtures("by_hand")
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


@pytest.mark.parametrize("nested", some(NESTED, "reduction of blocks"))
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


# ------------------------------------------------------------------------------------------ privacy


AUDITED = NESTED | {"blocks of noise": lambda: make("mini_batch", tau=3, base=make("dp_exp3_lap", epsilon=1.0))}


@pytest.mark.parametrize("nested", some(AUDITED))
def test_short_releases_are_audited_in_blocks_too(nested):
    setting = Setting(24, 4)
    with without_jit():
        assert audit(AUDITED[nested]().tuned(setting), setting, budget=2**11).verdict == "CONSISTENT"


@pytest.mark.slow
@pytest.mark.parametrize("nested", AUDITED)
def test_releases_are_audited_in_blocks_too(nested):
    assert audit(AUDITED[nested]().tuned(PAPER), PAPER, budget=2**14).verdict == "CONSISTENT"


def test_a_gain_in_a_block_of_three_has_a_third_of_epsilon():
    scaled = AUDITED["blocks of noise"]().tuned(PAPER)
    assert scaled.guarantee(PAPER).epsilon == pytest.approx(1 / 3)


@pytest.mark.usefixtures("by_hand")
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
