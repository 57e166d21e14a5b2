"""Joint privacy of LinUCB: the numbers of the papers, the tree's noise, exact losses, what is promised."""

import math
from functools import cache

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import signal, stats

from privbandits_cli.accounting import gaussian, trees, wishart
from privbandits_cli.actions.privacy import block
from privbandits_cli.games import regularisers
from privbandits_cli.games.contextual import Contexts, Setting
from privbandits_cli.games.steps import composition, steps
from privbandits_cli.mechanisms import matrix_tree
from privbandits_cli.mechanisms.matrix_tree import redraw
from privbandits_cli.numerics import goe
from privbandits_cli.numerics.jit import compile_step, record, without_jit
from tests.conftest import Steps, first, foe, make, some
from tests.naive_contextual import bartlett, symmetric_gaussian
from tests.plain_counters import buffered

AUTHORS = Setting(5e7, 25, contexts=Contexts(5))
PAPER = {"epsilon": 1.0, "delta": 0.1}


def ready(setting=AUTHORS, **parameters):
    return make("dp_linucb", **({"calibration": "code"} | PAPER | parameters)).tuned(setting)


# ------------------------------------------------------------------------------------------- printed numbers


@pytest.mark.parametrize(
    ("parameters", "rho_min"),
    [
        ({}, 92208.7),
        ({"noise": "wishart"}, 2.22336e5),
        ({"noise": "wishart_unshifted"}, 1.28101e7),
        ({"shift": "optimal"}, 71629.33),
        ({"noise": "wishart", "shift": "optimal"}, 207392.9),
        ({"rho": 1234.5}, 1234.5),
        ({"noise": "wishart", "rho": 1234.5}, 1234.5),
        ({"noise": "wishart", "shift": "rho_min=1234.5"}, 1234.5),
    ],
)
def test_rho_min_equals_the_authors_value(parameters, rho_min):
    made = ready(**parameters).regularisers(AUTHORS)
    assert made.rho_min == pytest.approx(rho_min, rel=2e-6)
    assert made.rho_max > made.rho_min and made.gamma > 0


@pytest.mark.parametrize(
    "given",
    [
        {"shift": "rho_min=many"},
        {"shift": "rho_min=3", "rho": 3.0},
        {"shift": "noise=-1"},
        {"shift": "noise=3", "deviations": 3.0},
    ],
)
def test_a_malformed_shift_is_refused(given):
    with pytest.raises(ValidationError, match="should be paper, optimal, rho_min=NUMBER or noise=NUMBER"):
        ready(**given)


def test_the_noise_scale_equals_the_authors_and_the_papers():
    assert matrix_tree.n_levels(5e7) == 27
    assert ready().sigma(AUTHORS) == pytest.approx(153.34, abs=0.005)
    assert ready().rows(AUTHORS) == 239_278
    assert ready(calibration="printed").rows(AUTHORS) == 139_115
    short = Setting(2.0**18, 25, contexts=Contexts(5))
    assert ready(short, calibration="printed", delta=1e-5).rows(short) == 859_078


def test_regularisers_by_hand():
    """Proposition 11: ρ_max = 3Υ; Proposition 9: shifted ρ'_max = 8 L~² √(mk) D."""
    made = ready().regularisers(AUTHORS)
    assert made.rho_max == pytest.approx(3 * made.rho_min)
    wide = ready(noise="wishart").regularisers(AUTHORS)
    assert wide.rho_max == pytest.approx(2 * wide.rho_min)
    unshifted = ready(noise="wishart_unshifted").regularisers(AUTHORS)
    assert unshifted.shift == 0 and unshifted.gamma == pytest.approx(unshifted.reach)
    assert wide.gamma == pytest.approx(unshifted.gamma * math.sqrt(unshifted.rho_min / wide.rho_min))


def test_the_optimal_shift_has_the_least_bound():
    made = ready(shift="optimal").regularisers(AUTHORS)
    known = AUTHORS.contexts
    bounds = [
        regularisers.regret_bound(known, made.shifted_to(factor * made.rho_min), 5e7, 1e-8)
        for factor in (0.99, 1, 1.01)
    ]
    assert min(bounds) == bounds[1]


# ----------------------------------------------------------------------------------------------------- noise


compiled = cache(compile_step)


def released_noise(horizon, rounds, seed, k=0.0, scale=1.0, d=2):
    """The noise of the releases after 0, 1, ..., `[rounds, d, d + 1]`."""
    state = record(**matrix_tree.state(horizon, d, scale, k))[0]
    redraw, rng = compiled(matrix_tree.redraw), np.random.default_rng(seed)
    out = []
    for _ in range(rounds):
        redraw(state, rng)
        out.append(state.noise[0].copy())
        state.items += 1
    return np.array(out)


@pytest.mark.parametrize("horizon", some([1, 2, 3, 16, 17, 100], 1, 17))
def test_every_release_has_the_noise_of_m_nodes(horizon):
    """The mean of Wishart nodes, k L~² each, counts the nodes; only levels up to the trailing zeros change."""
    k = 1e12
    noise = released_noise(horizon, horizon, 1, k)
    m = 1 + math.ceil(math.log2(horizon))
    np.testing.assert_allclose(noise[:, 0, 0] / k, m, rtol=1e-4)
    steps_ = np.abs(np.diff(noise[:, 0, 0])) / math.sqrt(k)
    changed = [matrix_tree.trailing_zeros(t) + 1 for t in range(1, horizon)]
    assert (steps_ < 12 * np.sqrt(4 * np.array(changed, float))).all()


@pytest.mark.parametrize("case", some([(8, 2000), (16, 4000)], (8, 2000)), ids=str)
def test_noise_has_one_law_in_every_round(case):
    """m Gaussian nodes have variance m σ², twice that on the diagonal; two releases share the unchanged nodes."""
    (horizon, runs), sigma = case, 3.0
    found = np.array([released_noise(horizon, horizon, seed, scale=sigma) for seed in range(runs)])
    m, slack = matrix_tree.n_levels(horizon), 6 * math.sqrt(2 / runs)  # less than a node
    variance = found.var(axis=0) / (m * sigma**2)
    np.testing.assert_allclose(variance[:, 1, 0], 1, atol=slack)
    np.testing.assert_allclose(variance[:, :, 2], 1, atol=slack)
    np.testing.assert_allclose(variance[:, [0, 1], [0, 1]], 2, atol=2 * slack)
    for s in range(horizon):
        for t in range(s, horizon):
            shared = sum(s >> level == t >> level for level in range(m))
            correlation = np.corrcoef(found[:, s, 1, 0], found[:, t, 1, 0])[0, 1]
            assert abs(correlation - shared / m) < 6 / math.sqrt(runs)


def test_dyadic_ranges_hide_a_datum():
    """The rounds t >= s in 0..n-1 are a union of ranges (level, index), one a level at most: m nodes hide datum s."""
    for n in (1, 2, 5, 16, 23):
        m = matrix_tree.n_levels(n)
        for s in range(1, n):
            t, used = s, []
            while t < 2 ** (m - 1):
                level = matrix_tree.trailing_zeros(t)
                used.append(level)
                t += 2**level
            assert len(set(used)) == len(used) <= m


@pytest.mark.parametrize("d", some([1, 3], 3))
def test_bartlett_is_the_gram_matrix_of_rows(d):
    """Against k rows drawn one by one; negative control: the printed W(L~ I, k) in place of W(L~² I, k)."""
    k, scale, runs = d + 4, 2.0, 3000
    rng = np.random.default_rng(4)
    rows = math.sqrt(scale) * rng.standard_normal((runs, k, d + 1))
    grams = np.einsum("rki,rkj->rij", rows, rows)
    node = compiled(matrix_tree.wishart_node)
    above, out, factor, found = np.zeros((d, d + 1)), np.zeros((d, d + 1)), np.zeros((d + 1, d)), []
    for _ in range(runs):
        node(above, out, factor, scale, float(k), rng)
        full = np.tril(out[:, :d]) + np.tril(out[:, :d], -1).T
        found.append([np.trace(full), np.linalg.det(full), out[-1, d], out[0, d], *np.linalg.solve(full, out[:, d])])
    blocks, column = grams[:, :d, :d], grams[:, :d, d]
    solved = np.linalg.solve(blocks, column[..., None])[..., 0]
    true = [np.trace(blocks, axis1=1, axis2=2), np.linalg.det(blocks), column[:, -1], column[:, 0], *solved.T]
    for own, other in zip(np.array(found).T, true, strict=True):
        assert stats.ks_2samp(own, other).pvalue > 1e-6
    assert stats.ks_2samp(np.array(found)[:, 0] / math.sqrt(scale), true[0]).pvalue < 1e-6


def test_nodes_equal_their_twins():
    d = 4
    above, out, factor = np.ones((d, d + 1)), np.zeros((d, d + 1)), np.zeros((d + 1, d))
    compiled(matrix_tree.gaussian_node)(above, out, 2.5, np.random.default_rng(3))
    twin = symmetric_gaussian(d, 2.5, np.random.default_rng(3))[:d]
    lower = np.tril_indices(d)
    np.testing.assert_allclose(out[lower], 1 + twin[lower], rtol=1e-14)
    np.testing.assert_allclose(out[:, d], 1 + twin[:, d], rtol=1e-14)
    compiled(matrix_tree.wishart_node)(above, out, factor, 2.0, 9.0, np.random.default_rng(3))
    twin = bartlett(d, 2.0, 9, np.random.default_rng(3))[:d]
    np.testing.assert_allclose(out[lower], 1 + twin[lower], rtol=1e-12)
    np.testing.assert_allclose(out[:, d], 1 + twin[:, d], rtol=1e-12)


@pytest.mark.parametrize("noise", ["gaussian", "wishart", "wishart_unshifted"])
@pytest.mark.parametrize("rounds", some([600, 3000], 600))  # a step would be compiled for each noise
def test_released_matrices_stay_positive_definite(rounds, noise):
    setting = Setting(20_000, 3, contexts=Contexts(3))
    algorithm = ready(setting, noise=noise, epsilon=1.0)
    with without_jit(rounds == 600):
        bound, state = steps(composition(algorithm)), algorithm.state(setting)[0]
    rng, arms = np.random.default_rng(0), np.eye(3)
    for _ in range(rounds):
        arm = bound["choose"](state, arms, rng)
        bound["update"](state, arms[arm], 1.0, rng)
    assert state.indefinite == 0 and state.t == rounds
    made = algorithm.regularisers(setting)
    least = np.linalg.eigvalsh(np.linalg.inv(state.inverse) - np.diag(np.diag(state.gram[:, :3])))
    assert made.rho_min <= least[0] and least[-1] <= made.rho_max


def lie_between(states, rounds, rng, v, out):
    """`out`: the least and the largest eigenvalue of the shifted noise of so many releases."""
    counter = states[0].counter
    noise = counter.noise
    for _ in range(rounds):
        redraw(counter, rng)
        counter.items += 1
        for i in range(len(v)):
            for j in range(i + 1):
                v[i, j] = v[j, i] = noise[0, i, j]
            v[i, i] += states[0].shift
        values = np.linalg.eigvalsh(v)
        out[0], out[1] = min(out[0], values[0]), max(out[1], values[-1])


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["gaussian", "wishart", "wishart_unshifted"])
@pytest.mark.parametrize("calibration", ["code", "exact"])
def test_no_eigenvalue_of_many_releases_leaves_its_bounds(noise, calibration):
    """2^15 releases of a tree for 5e7 rounds come within a factor of 3 of the bounds, so the bounds are not vacuous."""
    algorithm = ready(noise=noise, calibration=calibration)
    made, out = algorithm.regularisers(AUTHORS), np.array([np.inf, 0.0])
    loop = compile_step(lie_between, redraw=compiled(matrix_tree.redraw))
    loop(algorithm.state(AUTHORS), 2**15, np.random.default_rng(1), np.zeros((5, 5)), out)
    assert made.rho_min < out[0] < 3 * made.rho_min and made.rho_max / 3 < out[1] < made.rho_max


@pytest.mark.usefixtures("by_hand")
def test_without_a_shift_the_last_positive_definite_matrix_is_kept():
    """A shift of the size of the Gaussian noise: in some rounds V is not positive definite, which is noticed."""
    setting = Setting(1000, 3, contexts=Contexts(3))
    algorithm = ready(setting)
    with without_jit(Steps.plain):
        bound, state = steps(composition(algorithm)), algorithm.state(setting)[0]
    state.shifts[:] = 1.3 * math.sqrt(11) * algorithm.sigma(setting)
    rng, arms = np.random.default_rng(0), np.eye(3)
    for _ in range(100):
        before, bad = state.inverse.copy(), int(state.indefinite)
        bound["choose"](state, arms, rng)
        assert np.isfinite(state.theta).all() and np.isfinite(state.logdet)
        if state.indefinite > bad:
            np.testing.assert_array_equal(state.inverse, before)
        bound["update"](state, arms[0], 1.0, rng)
    assert 0 < state.indefinite < 100


# ------------------------------------------------------------------------------------------------ accounting


def epsilon_of_one_row(delta, freedom, nodes):
    """The ε if a row is added or removed, not replaced."""
    return max(wishart.losses((change,), freedom, nodes).epsilon(delta) for change in ("remove", "add"))


@pytest.mark.slow
def test_exact_epsilons_of_the_authors_rows():
    """n = 2^18, m = 19, d = 5, ε = 1, δ = 1e-5: Wishart's k = 859078, and what an added or removed row needs."""
    m, delta = 19, 1e-5
    assert epsilon_of_one_row(delta, 859_078 - 5, m) == pytest.approx(0.00789, rel=2e-3)
    assert wishart.epsilon(delta, 859_078 - 5, m) == pytest.approx(0.0117, rel=5e-3)
    assert epsilon_of_one_row(delta, 0.999 * 160.5 - 5, m) > 1 > epsilon_of_one_row(delta, 1.001 * 160.5 - 5, m)


@pytest.mark.slow
def test_exact_epsilons_of_the_notes():
    """n = 2^18, m = 19, d = 5, ε = 1, δ = 1e-5: Wishart's k = 160.5, Gaussian 16.26 for 224.9."""
    m, delta = 19, 1e-5
    assert epsilon_of_one_row(delta, 160.5 - 5, m) == pytest.approx(1, rel=2e-3)
    assert 250 < wishart.freedom(1.0, delta, m) + 5 < 300
    assert math.sqrt(m) / gaussian.mu_of(1.0, delta) == pytest.approx(16.26, abs=0.005)
    paper = 1 / (4 * math.log(4 / delta))
    assert gaussian.epsilon_of(paper, delta) == pytest.approx(0.0566, abs=5e-5)
    assert gaussian.epsilon_of(paper / math.sqrt(2), delta) == pytest.approx(0.0386, abs=5e-5)


@pytest.mark.parametrize("freedom", some([6.0, 40.0, 2000.0], 40.0))
@pytest.mark.parametrize("change", ["add", "remove"])
def test_one_node_has_the_privacy_of_a_shifted_chi_square(freedom, change):
    """δ(ε) is the gain of the best half-line; on the grid it is that or a step more."""
    found = wishart.losses((change,), freedom, 1)
    x = np.linspace(max(0, freedom - 18 * math.sqrt(freedom)), freedom + 18 * math.sqrt(freedom) + 40, 200_001)
    without, with_row = stats.chi2(freedom), stats.chi2(freedom, loc=1)
    p, q = (with_row.sf(x), without.sf(x)) if change == "add" else (without.cdf(x), with_row.cdf(x))
    for epsilon in (0.0, 0.5 / math.sqrt(freedom), 1.5 / math.sqrt(freedom)):
        exact = max(0.0, (p - math.exp(epsilon) * q).max())
        assert -1e-9 < found.delta(epsilon) - exact < found.losses[1] - found.losses[0]
    swapped = wishart.losses(("remove" if change == "add" else "add",), freedom, 1)  # the control
    assert abs(swapped.delta(epsilon) - exact) > 10 * (found.losses[1] - found.losses[0])


@pytest.mark.parametrize("change", ["add", "remove"])
def test_losses_add_up(change):
    """Four nodes against simulation; the control, three nodes, is far off."""
    freedom, nodes, runs = 30.0, 4, 200_000
    c = np.random.default_rng(2).chisquare(freedom, (runs, nodes))
    half = (freedom - 2) / 2
    with np.errstate(invalid="ignore"):
        losses = 0.5 - half * np.log1p(1 / c) if change == "add" else -0.5 - half * np.log1p(-1 / c)
    total = np.nan_to_num(losses, nan=np.inf).sum(axis=1)
    epsilon = 0.3
    sampled = np.maximum(0, -np.expm1(epsilon - total))
    error = 6 * sampled.std() / math.sqrt(runs)
    assert abs(wishart.losses((change,), freedom, nodes).delta(epsilon) - sampled.mean()) < error
    assert abs(wishart.losses((change,), freedom, nodes - 1).delta(epsilon) - sampled.mean()) > error


def test_no_loss_is_lost_at_the_end_of_the_grid():
    """With few rows, losses have heavy tails. Here they are rounded down and summed by hand, so δ is not overstated."""
    freedom, width, epsilon = 10.0, 0.005, 5.0
    edges = np.arange(-200, 12_001) * width
    masses = np.diff(wishart.cdf("remove", freedom)(edges))
    total = signal.fftconvolve(signal.fftconvolve(masses, masses), masses)
    losses = 3 * edges[0] + np.arange(len(total)) * width
    infinite = 1 - stats.chi2(freedom).sf(1.0) ** 3
    least = infinite + (total * -np.expm1(np.minimum(epsilon - losses, 0.0))).sum()
    assert least <= wishart.losses(("remove",), freedom, 3).delta(epsilon) < 1.003 * least


def test_the_loss_of_a_replaced_row_is_that_of_whole_matrices():
    """Log-likelihood ratios of W_4(I, k) + a a' and + b b' at full matrices, against the law from a 2 x 2 block."""
    p, k, runs = 4, 25, 20_000
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((runs, k, p))
    a, b = np.eye(p)[0], np.eye(p)[2]
    seen = np.einsum("rki,rkj->rij", rows, rows) + np.outer(a, a)
    log = [(k - p - 1) / 2 * np.linalg.slogdet(seen - np.outer(x, x))[1] for x in (a, b)]
    law = wishart.cdf("replace", k - p + 1.0)
    edge = np.array([law(np.array([x]))[0] for x in np.quantile(log[0] - log[1], np.linspace(0.05, 0.95, 19))])
    np.testing.assert_allclose(edge, np.linspace(0.05, 0.95, 19), atol=6 * 0.5 / math.sqrt(runs))
    other = wishart.cdf("add", k - p + 1.0)  # the control: a row removed
    off = np.array([other(np.array([x]))[0] for x in np.quantile(log[0] - log[1], [0.05, 0.95])])
    assert np.abs(off - [0.05, 0.95]).max() > 0.03


@pytest.mark.slow
@pytest.mark.parametrize("freedom", [20.0, 300.0])
def test_shorter_rows_lose_less_and_halves_are_a_bound(freedom):
    deltas = []
    for r in (0.3, 0.7, 1.0):
        x = np.linspace(1e-9, freedom + 40 * math.sqrt(freedom), 40_001)
        p, q = stats.chi2.pdf(x, freedom), stats.chi2.pdf(x, freedom, loc=r)
        deltas.append(np.trapezoid(np.maximum(0, p - math.exp(0.05) * q), x))
    assert deltas == sorted(deltas)
    d, m = 5, 8
    halves = wishart.epsilon_by_halves(1e-4, (freedom - d) / 2, m)
    assert halves > wishart.epsilon(1e-4, freedom, m)


@pytest.mark.parametrize(("freedom", "delta"), first(1, [(10.0, 0.01), (4.0, 0.1)]))
def test_a_row_may_be_replaced_by_zeros(freedom, delta):
    """At the ε of a replaced row, no half-line distinguishes C ~ χ² from C + 1 better than δ permits."""
    x, epsilon = np.linspace(0, 60, 200_001), wishart.epsilon(delta, freedom, 1)
    without, with_row = stats.chi2(freedom).cdf(x), stats.chi2(freedom, loc=1).cdf(x)
    assert (without - math.exp(epsilon) * with_row).max() <= delta
    orthogonal = wishart.losses(("replace",), freedom, 1).epsilon(delta)
    assert (without - math.exp(orthogonal) * with_row).max() > delta  # which alone would not suffice


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_wishart_noise_has_the_epsilon_that_it_is_made_for(epsilon):
    freedom = wishart.freedom(epsilon, 0.1, 17)
    assert wishart.epsilon(0.1, freedom, 17) == pytest.approx(epsilon, rel=1e-3)
    assert max(wishart.losses((x,), freedom, 17).epsilon(0.1) for x in ("add", "remove")) <= epsilon * 1.001


@pytest.mark.parametrize("runs", some([100_000, 400_000], 100_000))
def test_halves_account_for_one_removal_and_one_addition(runs):
    """One half loses a row and the other gains one: sums of losses sampled from the two laws have the same δ."""
    freedom, m, delta = 8.0, 2, 0.05
    rng, grid = np.random.default_rng(8), np.linspace(-wishart.reach(freedom), wishart.reach(freedom), 200_001)

    def drawn(change):
        return np.interp(rng.random((m, runs)), wishart.cdf(change, freedom)(grid), grid).sum(axis=0)

    epsilon = wishart.epsilon_by_halves(delta, freedom, m)
    both, same = drawn("add") + drawn("remove"), drawn("add") + drawn("add")
    found, other = (np.maximum(0, -np.expm1(epsilon - losses)) for losses in (both, same))
    assert found.mean() == pytest.approx(delta, abs=5 * found.std() / math.sqrt(runs))
    assert other.mean() != pytest.approx(delta, abs=5 * other.std() / math.sqrt(runs))


def test_basis_arms_reveal_attainable_bounds_on_norms():
    """θ contains the arms' means, which are at most 1 each; its norm is √k if all are 1."""
    setting = Setting(100, 9, contexts=Contexts(9))
    adversary = foe("basis_arms", means=[1.0] * 9)
    arms, means = next(adversary.arms(setting, np.random.Generator(np.random.SFC64(1)), [range(1, 3)]))
    longest = np.linalg.norm(np.linalg.solve(arms[0].T, means[0]))
    assert adversary.bounds(setting) == (1.0, pytest.approx(longest))


def test_a_delta_too_small_for_the_transform_is_refused():
    with pytest.raises(ValueError, match="1e-09"):
        wishart.epsilon(1e-12, 50.0, 3)
    with pytest.raises(ValueError, match="must exceed 2"):
        wishart.cdf("add", 1.5)


# --------------------------------------------------------------------------------------------------- promises


def test_guarantees_state_neighbours_and_view():
    setting = Setting(2.0**18, 25, contexts=Contexts(5))
    algorithm = ready(setting, delta=1e-5)
    paper, proved = algorithm.bounds(setting, 1e-5)
    assert (paper.epsilon, paper.status, proved.status) == (1.0, "paper", "proved")
    mu = trees.redrawn(2**18 - 1) / (4 * math.sqrt(19) * math.log(4 / 1e-5))
    assert proved.epsilon == pytest.approx(gaussian.epsilon_of(mu, 1e-5), rel=1e-9) and proved.epsilon < 0.0566 / 2
    assert "rounds after" in proved.view and "replaced" in proved.neighbours
    assert algorithm.guarantee(setting) == proved  # at its own δ, not T^-2
    assert algorithm.bounds(setting, 1e-6)[0].status == "proved"  # the paper states its bound at its own δ only


@pytest.mark.parametrize(
    ("parameters", "epsilon"),
    [
        ({}, 1.0),
        ({"counter": "blt"}, 1.0),
        ({"counter": "auto", "buffers": 2}, 1.0),
        ({"calibration": "nodes"}, 0.0788),
    ],
)
def test_the_ledger_has_the_exact_epsilon_of_all_releases(parameters, epsilon):
    """A count of the nodes asks for far more noise than ε = 1 needs."""
    algorithm = ready(**({"calibration": "exact"} | parameters))
    (found,) = algorithm.bounds(AUTHORS, 0.1)
    assert found.epsilon == pytest.approx(epsilon, rel=1e-9 if epsilon == 1 else 5e-3) and found.status == "proved"
    warned = any("set `calibration: exact`" in note for note in algorithm.remarks(AUTHORS))
    assert warned == (epsilon < 1)


@pytest.mark.slow
def test_wishart_noise_of_the_exact_calibration_is_that_of_a_count_of_nodes():
    one, other = (ready(noise="wishart", calibration=name) for name in ("exact", "nodes"))
    assert one.rows(AUTHORS) == other.rows(AUTHORS) == 40


def test_the_exact_account_of_a_redrawn_tree_is_that_of_its_covariance():
    """All releases of 130 rounds at once, and each row replaced at its round."""
    m, n = 9, 130
    t = np.arange(n)
    covariance = sum(((t[:, None] >> level) == (t[None, :] >> level)).astype(float) for level in range(m))
    moved = (t[:, None] >= t[None, 1:]).astype(float)  # row s is in the releases from round s on
    mu = np.sqrt(np.einsum("ts,ts->s", moved, np.linalg.solve(covariance, moved))).max()
    setting = Setting(float(n), 25, contexts=Contexts(5))
    algorithm = ready(setting, calibration="exact")
    assert algorithm.sigma(setting) * gaussian.mu_of(1.0, 0.1) / 2 == pytest.approx(mu)
    assert mu < 0.5 * math.sqrt(m)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"noise": "wishart", "counter": "blt"}, "counter is for Gaussian noise"),
        ({"noise": "wishart", "eigenvalues": "exact"}, "eigenvalues is for Gaussian noise"),
        ({"noise": "wishart", "deviations": 200.0}, "deviations is for Gaussian noise"),
        ({"counter": "blt", "calibration": "nodes"}, "calibration nodes is that of the authors' tree"),
        ({"shift_by": "round"}, "the noise of the authors' tree does not grow"),
        ({"buffers": 3}, "only a BLT has buffers"),
        ({"counter": "square_root"}, "the square root keeps all random numbers"),
        ({"rho": 3.0, "deviations": 3.0}, "keep one of them"),
        ({"deviations": 1e-100}, "ρ_min is 0 up to rounding"),
    ],
)
def test_parameters_that_do_not_fit_together_are_refused(given, message):
    algorithm = make("dp_linucb", **({"calibration": "exact"} | PAPER | given))
    assert any(message in error for error in algorithm.errors(AUTHORS))


def test_a_square_root_of_too_many_rounds_is_refused_before_it_is_computed():
    algorithm = make("dp_linucb", **PAPER, calibration="exact", counter="square_root")
    (error,) = algorithm.errors(AUTHORS._replace(horizon=2**62))
    assert "at most 16,384 rounds" in error


# ------------------------------------------------------------------------------------------------- eigenvalues


@pytest.mark.parametrize("runs", some([10_000, 40_000], 10_000))
@pytest.mark.parametrize("d", some([1, 2, 3, 5, 8], 2, 5))
def test_the_expected_number_of_large_eigenvalues_is_that_of_samples(d, runs):
    """Of symmetric Gaussian matrices; negative control: the next order has clearly more."""
    rng = np.random.default_rng(d)
    z = rng.standard_normal((runs, d, d))
    values = np.linalg.eigvalsh((z + np.swapaxes(z, 1, 2)) / math.sqrt(2))
    for x in (-1.0, 0.5, 2.0, 3.5):
        counts = (values > x).sum(axis=1)
        error = counts.std() / math.sqrt(runs)
        assert abs(counts.mean() - goe.expected_above(d, x)) < 5 * error + 1e-9
        assert abs(counts.mean() - goe.expected_above(d + 1, x)) > 5 * error


@pytest.mark.parametrize("runs", some([20_000, 60_000], 20_000))
def test_the_bound_on_all_eigenvalues_holds_with_its_probability(runs):
    """Samples of d = 5: close to the chance where it is small, by the union over both signs and all eigenvalues."""
    rng, d, chance = np.random.default_rng(3), 5, 0.02
    z = rng.standard_normal((runs, d, d))
    values = np.abs(np.linalg.eigvalsh((z + np.swapaxes(z, 1, 2)) / math.sqrt(2))).max(axis=1)
    found = (values > goe.largest(d, math.log(chance))).mean()
    assert 0.8 * chance < found < chance + 5 * math.sqrt(chance / runs)
    assert goe.largest(1, math.log(1e-12)) == pytest.approx(math.sqrt(2) * stats.norm.isf(5e-13), rel=1e-9)


def test_exact_bounds_are_eight_times_tighter():
    paper, tight = (ready(eigenvalues=kind).regularisers(AUTHORS) for kind in ("paper", "exact"))
    assert paper.high / tight.high == pytest.approx(8.7, abs=0.1)
    assert tight.rho_min == pytest.approx(tight.high) and tight.rho_max == pytest.approx(3 * tight.high)
    assert tight.reach < paper.reach
    chance = stats.chi(5).sf(tight.reach / ready(eigenvalues="exact").deviation(AUTHORS))
    assert chance == pytest.approx(1e-8 / 5e7 / 2, rel=1e-6)


@pytest.mark.parametrize("counter", ["redrawn", "blt", "tree"])
def test_the_shift_may_be_in_deviations_of_the_noise(counter):
    algorithm = ready(calibration="exact", shift="noise=200", counter=counter)
    largest = 27 if counter == "redrawn" else algorithm.sums(AUTHORS).spread()[1]
    deviation = algorithm.sigma(AUTHORS) * math.sqrt(largest)
    assert algorithm.regularisers(AUTHORS).rho_min == pytest.approx(200 * deviation)
    assert algorithm.facts(AUTHORS)["deviation"] == pytest.approx(deviation)


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("counter", some(["blt", "tree", "honaker"], "tree"))
def test_a_growing_shift_covers_the_noise_of_every_round(counter):
    """In each round ρ_min, ρ_max and γ are at least in proportion to the noise, and ln det V has the least ρ_min."""
    setting = Setting(3000.0, 9, contexts=Contexts(3))
    algorithm = ready(setting, calibration="exact", counter=counter, shift_by="round", shift="noise=50")
    made, shares, state = algorithm.regularisers(setting), algorithm.shares(setting), algorithm.state(setting)[0]
    items = np.arange(1, 3000)
    deviations = np.sqrt(algorithm.sums(setting).variances(items) / algorithm.sums(setting).spread()[1])
    own = shares[np.frexp(items)[1]]  # the number of binary digits
    assert (own >= deviations - 1e-12).all() and own.max() == 1 and (np.diff(shares) >= 0).all() and shares[0] < 0.9
    assert state.log_term == pytest.approx(
        2 * math.log(2 / (algorithm.alpha / 2)) - 3 * math.log(shares[0] * made.rho_min)
    )
    rng, arms = np.random.default_rng(0), np.tile(np.eye(3), 3)
    with without_jit(Steps.plain):
        bound = steps(composition(algorithm))
    for t in range(600):
        arm = bound["choose"](state, arms, rng)
        share = shares[int(t).bit_length()]
        assert state.shift == pytest.approx(share * made.shift)
        assert state.fixed == pytest.approx(math.sqrt(share) * (math.sqrt(made.rho_max) + made.gamma))
        bound["update"](state, arms[:, arm].copy(), 1.0, rng)
    assert state.indefinite == 0
    constant = ready(setting, calibration="exact", counter=counter, shift="noise=50")
    assert constant.regret_bound(np.array([3000.0]), setting) < algorithm.regret_bound(np.array([3000.0]), setting)


@pytest.mark.parametrize("case", some([(6, 800), (12, 1000), (12, 4000)]), ids=str)
def test_the_noise_of_a_counter_has_its_covariance(case):
    """Releases of a BLT: the off-diagonal numbers and the vector have B B' σ², the diagonal twice that."""
    (rounds, runs), setting = case, Setting(64.0, 4, contexts=Contexts(2))
    algorithm = ready(setting, calibration="exact", counter="blt", buffers=2)
    bound, found = steps(composition(algorithm)), np.zeros((runs, rounds, 5))
    for run in range(runs):
        state, rng = algorithm.state(setting)[0], np.random.default_rng(run)
        for t in range(rounds):
            bound["choose"](state, np.zeros((2, 4)), rng)
            found[run, t] = state.noise
            bound["update"](state, np.zeros(2), 0.0, rng)
    found *= np.array([math.sqrt(2), 1, 1, math.sqrt(2), 1]) / algorithm.sigma(setting)
    assert (found[:, 0] == 0).all()  # the first round has no item
    factor = buffered(algorithm.sums(setting))[: rounds - 1, : rounds - 1]
    for i, twice in enumerate([2, 1, 1, 2, 1]):
        seen = np.cov(found[:, 1:, i], rowvar=False)
        expected = twice * factor @ factor.T
        error = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / runs)
        assert (np.abs(seen - expected) < 6 * error).all()
    assert abs(np.corrcoef(found[:, -1, 1], found[:, -1, 2])[0, 1]) < 6 / math.sqrt(runs)


@pytest.mark.parametrize("noise", some(["gaussian", "wishart"], "gaussian"))
def test_exact_calibration_reaches_its_epsilon(noise):
    setting = Setting(2.0**18, 25, contexts=Contexts(5))
    algorithm = ready(setting, noise=noise, calibration="exact", delta=1e-5)
    found = {bound.status: bound.epsilon for bound in algorithm.bounds(setting, 1e-5)}
    if noise == "gaussian":
        assert found == {"proved": pytest.approx(1.0, rel=1e-9)}
        nodes = ready(setting, calibration="nodes", delta=1e-5).sigma(setting)
        assert ready(setting, delta=1e-5).sigma(setting) / nodes == pytest.approx(13.83, abs=0.01)
        assert nodes / algorithm.sigma(setting) == pytest.approx(math.sqrt(19) / trees.redrawn(2**18 - 1))
    else:
        assert 0.99 < found["numeric"] <= 1 and 1 < found["proved"] < 2


def test_the_sensitivity_of_a_report_is_what_the_local_noise_assumes():
    rng, n = np.random.default_rng(0), 20_000
    v, norms = rng.standard_normal((2, n, 2)), np.where(rng.random((2, n)) < 0.5, 1, rng.random((2, n)))
    x, other = v * (norms / np.linalg.norm(v, axis=2))[:, :, None]
    y, z = np.clip(rng.uniform(-3, 3, (2, n, 1)), -1, 1)  # two of three at an end
    moved = np.einsum("ti,tj->tij", x, x) - np.einsum("ti,tj->tij", other, other)
    squares = (moved[:, *np.triu_indices(2)] ** 2).sum(axis=1) + ((y * x - z * other) ** 2).sum(axis=1)
    assert 4.3 < squares.max() <= 4.5 + 1e-12
    local = make("ldp_linucb", calibration="exact", **PAPER).tuned(AUTHORS)
    assert local.guarantee(AUTHORS).epsilon == pytest.approx(1.0)
    positive = AUTHORS._replace(contexts=AUTHORS.contexts._replace(nonnegative=True))
    for setting, square in ((AUTHORS, 4.0), (positive, 1.0)):  # x y - x z, for |x| = 1 and the outermost rewards
        (attack,) = [bound for bound in local.bounds(setting, 0.1) if bound.lower]
        assert attack.epsilon == pytest.approx(gaussian.epsilon_of(math.sqrt(square) / local.sigma(), 0.1))
        assert square <= squares.max() and attack.status == "exact"


def test_a_guarantee_of_joint_privacy_has_no_attack_on_what_no_observer_sees():
    """The arms played are the view; the noisy sums are what the noise hides."""
    for algorithm in (ready(), ready(counter="blt", calibration="exact")):
        found = algorithm.bounds(AUTHORS, 0.1)
        assert found and not any(bound.lower for bound in found)
        assert {bound.view for bound in found} == {"all arms played in the rounds after it (joint privacy)"}


def test_randomised_response_adds_its_epsilon():
    base = ready(calibration="exact")
    plain = make("plain_dp_linucb", epsilon=0.5, base=base).tuned(AUTHORS)
    assert plain.guarantee(AUTHORS).epsilon == pytest.approx(1.5)
    assert plain.guarantee(AUTHORS).view == "all arms played"


@pytest.mark.parametrize("epsilon", some([3.0, 10.0], 3.0))
@pytest.mark.parametrize(
    "parameters", some([{"calibration": "exact"}, {"calibration": "exact", "shift": "optimal"}, {}], {})
)
def test_gamma_bounds_the_noise_of_the_rewards(parameters, epsilon):
    """Samples of |h| in the norm of H^-1: γ bounds all but α' of them, shifted up or down; γ/4 does not."""
    setting = Setting(1000.0, 25, contexts=Contexts(5))
    algorithm = ready(setting, noise="wishart", epsilon=epsilon, **parameters)
    made, d, m = algorithm.regularisers(setting), 5, matrix_tree.n_levels(1000.0)
    assert (made.shift > 0) == (parameters != {})
    square = setting.contexts.row_norm() ** 2
    drawn = stats.wishart.rvs(m * algorithm.rows(setting), square * np.eye(d + 1), size=2000, random_state=8)
    shifted = drawn[:, :d, :d] + made.shift * np.eye(d)
    h = drawn[:, :d, d]
    norms = np.sqrt(np.einsum("ti,ti->t", h, np.linalg.solve(shifted, h[..., None])[..., 0]))
    assert norms.max() <= made.gamma
    assert np.mean(norms > made.gamma / 4) > 0.01


def test_golden_numbers_of_accounting_and_bounds():
    """Each is recomputed independently: halves of k - d degrees, Theorem 5, the local σ, α = 1/T."""
    setting = Setting(2.0**18, 25, contexts=Contexts(5))
    exact = ready(setting, noise="wishart", calibration="exact", delta=1e-5)
    assert exact.rows(setting) == 275
    (proved,) = (bound.epsilon for bound in exact.bounds(setting, 1e-5) if bound.status == "proved")
    assert proved == pytest.approx(1.501, abs=5e-4)
    made = ready().regularisers(AUTHORS)
    beta = AUTHORS.contexts.sigma * math.sqrt(2 * math.log(2e7) + 5 * math.log(3 + 1e6 / (5 * made.rho_min)))
    beta += math.sqrt(made.rho_max) + made.gamma
    grown = math.log1p(1e6 / (5 * made.rho_min))
    found = regularisers.regret_bound(AUTHORS.contexts, made, 1e6, 1e-7)
    assert found == pytest.approx(beta * math.sqrt(8 * 1e6 * 5 * grown))
    local = make("ldp_linucb", calibration="printed", epsilon=2.0, delta=0.1)
    assert local.sigma() == pytest.approx(3 * math.sqrt(2 * math.log(25)))
    assert make("linucb").tuned(AUTHORS).alpha == pytest.approx(2e-8)


def test_an_unreachable_epsilon_is_an_error():
    with pytest.raises(ValueError, match="takes more than 1e\\+07 rows"):
        wishart.freedom(1e-6, 1e-9, 12)


def test_the_error_for_ragged_vectors_lists_their_lengths():
    arms = foe("fixed_arms", vectors=[[1.0, 0.0], [0.5]], theta=[1.0, 0.0])
    (error,) = arms.errors(Setting(1000.0, 2, contexts=Contexts(2)))
    assert error == "vectors and theta need d = 2 numbers each, but have 1, 2"


@pytest.mark.parametrize("name", ["dp_linucb", "ldp_linucb"])
def test_by_default_the_noise_is_what_epsilon_requires(name):
    algorithm = make(name, **PAPER).tuned(AUTHORS)
    assert algorithm.guarantee(AUTHORS).epsilon == pytest.approx(1.0) and not algorithm.remarks(AUTHORS)


@pytest.mark.parametrize(
    ("name", "given"), [("dp_linucb", "code"), ("dp_linucb", "printed"), ("ldp_linucb", "printed")]
)
def test_noise_that_is_far_larger_than_epsilon_requires_gets_a_warning(name, given):
    algorithm = make(name, calibration=given, **PAPER).tuned(AUTHORS)
    need = "the noise is far larger than the ε of the config requires"
    warning = f"{need}, it gives ε = 0, δ = 0.1: set `calibration: exact`"
    assert algorithm.remarks(AUTHORS) == [warning] and block(algorithm, AUTHORS)["notes"].count(warning) == 1
    assert make("plain_dp_linucb", epsilon=1.0, base=algorithm).tuned(AUTHORS).remarks(AUTHORS) == [warning]


@pytest.mark.slow
def test_an_epsilon_that_only_a_computation_supports_gets_a_warning():
    (warning,) = ready(noise="wishart", calibration="exact").remarks(AUTHORS)
    assert warning.startswith("ε = 1 of this Wishart noise is a computation; proved is ε = 2.57")
