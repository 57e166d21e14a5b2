"""FTRL and FTPL, private and not: twins, points of the set, the law of released prefixes, guarantees, regret bounds."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from privbandits_cli.accounting import gaussian, laplace
from privbandits_cli.algorithms import ftpl
from privbandits_cli.algorithms.dp_ftrl import noise_width
from privbandits_cli.convex.polytope import Polytope
from privbandits_cli.games import linear
from privbandits_cli.games.linear import Cube, Draws, Setting, Simplex, Sphere
from privbandits_cli.games.match import Match
from privbandits_cli.games.steps import composition, steps
from privbandits_cli.mechanisms import shared_top_up, tree
from privbandits_cli.numerics.jit import record, without_jit
from privbandits_cli.plugins.registry import Registry
from tests import plain_counters
from tests.conftest import ROOT, Steps, first, foe, make, some
from tests.naive_linear import height, regrets

HOMES = [Simplex(2), Simplex(5), Sphere(1), Sphere(4), Cube(1), Cube(3)]
EMPTY = np.empty(0)
NOTHING = Draws(EMPTY, EMPTY, EMPTY)
EUCLIDEAN = {"base": {"regulariser": "euclidean"}}
GAUSSIAN = {"nodes": "gaussian", "delta": 1e-6}
LAWS = [
    (nodes, {"spare": top_up, **({} if nodes == "laplace" else GAUSSIAN)})
    for nodes in ("laplace", "gaussian")
    for top_up in ("fresh", "once")
]
BLT = {**GAUSSIAN, "counter": "blt"}
PLAYERS = [
    ("ftrl", {}),
    ("ftrl", {"regulariser": "euclidean"}),
    *[("dp_ftrl", parameters) for _, parameters in LAWS],
    ("dp_ftrl", {"epsilon": 3.0, "calibration": "printed", **EUCLIDEAN}),
    ("noisy_ftrl", {}),
    ("noisy_ftrl", {"rate": "non_private", **EUCLIDEAN}),
    ("rw_ftpl", {}),
    ("rw_ftpl", {"epsilon": 50.0}),
    ("ftpl", {}),
    ("dp_ftpl", {}),
    ("dp_ftpl", {"spare": "once", "calibration": "printed"}),
]


def setting(space, horizon=1000, signed=False):
    return Setting(horizon, space.dimension, space=space, signed=signed)


def ready(name, space, horizon=1000, plain=None, **parameters):
    """The steps of a tuned algorithm, in plain Python or compiled, and its first state."""
    known = setting(space, horizon)
    algorithm = make(name, **parameters).tuned(known)
    with without_jit(Steps.plain if plain is None else plain):
        return algorithm, steps(composition(algorithm)), algorithm.state(known)[0]


def game(algorithm, space, horizon, checkpoints, adversary=None, seed=11):
    known = setting(space, horizon)
    return Match(adversary or foe("gap"), [algorithm.tuned(known)], known, np.array(checkpoints), seed)


# ---------------------------------------------------------------------------------------------- twins


# Each player and space is another kernel: all play in plain Python, and one player of each file compiled.
in_plain = pytest.mark.parametrize("plain", some([True, False], True), ids=["plain", "compiled"])


@pytest.mark.parametrize(
    "name", some(["ftrl", "dp_ftrl", "noisy_ftrl", "ftpl", "dp_ftpl", "rw_ftpl"], "ftrl", "dp_ftpl", "rw_ftpl")
)
def test_compiled_steps_play_the_twins_game(name):
    match = game(make(name), Simplex(4), 77, [1, 2, 33, 77])
    np.testing.assert_array_equal(linear.play(match, trials=[2])[0, 0], regrets(match, trial=2))


def rounding(parameters, space):
    """The twin sorts to find the threshold of a projection on the simplex, and so it rounds differently."""
    projected = parameters.get("base", parameters).get("regulariser") == "euclidean"
    return 1e-12 if projected and isinstance(space, Simplex) else 0


@in_plain
@pytest.mark.parametrize("space", some(HOMES, *HOMES[1::2]), ids=str)
@pytest.mark.parametrize(("name", "parameters"), PLAYERS, ids=str)
def test_the_twin_plays_the_same_game(name, parameters, space, plain):
    """To the bit, but for `rounding`."""
    for horizon, checkpoints in ((64, [1, 2, 33, 64]), (77, [77])):
        match = game(make(name, **parameters), space, horizon, checkpoints)
        with without_jit(plain):
            found = linear.play(match, trials=[2])[0, 0]
        np.testing.assert_allclose(found, regrets(match, trial=2), rtol=rounding(parameters, space))


@in_plain
@pytest.mark.parametrize("horizon", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("name", "parameters"), PLAYERS, ids=str)
def test_the_shortest_games(name, parameters, horizon, plain):
    match = game(make(name, **parameters), Simplex(2), horizon, range(1, horizon + 1))
    with without_jit(plain):
        found = linear.play(match, trials=[0])[0, 0]
    np.testing.assert_allclose(found, regrets(match, trial=0), rtol=rounding(parameters, Simplex(2)))


@in_plain
@pytest.mark.parametrize("space", some(HOMES, HOMES[-1]), ids=str)
@pytest.mark.parametrize("buffers", some([1, 3, 5], 3))
@pytest.mark.parametrize("longest", some([40, 77], 40))
def test_the_twin_with_the_whole_matrix_plays_the_same_game(longest, buffers, space, plain):
    """The twin multiplies dense matrices, so that rounding may differ."""
    for horizon, checkpoints in ((1, [1]), (2, [1, 2]), (3, [3]), (longest, [1, 2, 33, longest])):
        match = game(make("dp_ftrl", buffers=buffers, **BLT), space, horizon, checkpoints)
        with without_jit(plain):
            found = linear.play(match, trials=[2])[0, 0]
        np.testing.assert_allclose(found, regrets(match, trial=2), rtol=1e-9, atol=1e-9)


COUNTED = [
    *[("dp_ftrl", {"counter": name}) for name in ("k_ary", "negative_digits", "smooth")],
    *[("dp_ftrl", {"counter": name, **GAUSSIAN}) for name in ("k_ary", "smooth", "honaker", "square_root")],
    *[("dp_ftrl", {"spare": "none", **own}) for own in ({}, GAUSSIAN)],
    *[("dp_ftpl", {"counter": name}) for name in ("blt", "honaker", "square_root")],
    ("dp_ftpl", {"spare": "none", "epsilon": 50.0}),
]


@in_plain
@pytest.mark.parametrize(("name", "parameters"), first(5, COUNTED[::3] + COUNTED[1::3] + COUNTED[2::3]), ids=str)
def test_the_twin_of_any_counter_plays_the_same_game(name, parameters, plain):
    for space, horizon, checkpoints in ((Simplex(5), 1, [1]), (Cube(3), 2, [1, 2]), (Sphere(4), 77, [1, 2, 33, 77])):
        match = game(make(name, **parameters), space, horizon, checkpoints)
        with without_jit(plain):
            found = linear.play(match, trials=[2])[0, 0]
            for block in (1, 7):
                np.testing.assert_array_equal(linear.play(match, trials=[2], block=block)[0, 0], found)
        np.testing.assert_allclose(found, regrets(match, trial=2), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("name", "parameters"), [*COUNTED, *PLAYERS], ids=str)
def test_any_counter_has_the_epsilon_asked_for(name, parameters):
    if not make(name).private or parameters.get("calibration") == "printed" or name in ("noisy_ftrl", "rw_ftpl"):
        return
    for horizon, epsilon in ((2, 0.7), (100, 1.0), (1000, 0.05)):
        known = setting(Simplex(10), horizon)
        algorithm = make(name, **parameters | {"epsilon": epsilon}).tuned(known)
        if name == "dp_ftpl":
            algorithm = algorithm.model_copy(update={"base": algorithm.base.model_copy(update={"sigma": 1e-3})})
        upper = algorithm.guarantee(known)
        assert upper.epsilon == pytest.approx(epsilon, rel=1e-9) and upper.delta == (algorithm.delta or 0)
        assert upper.status == ("proved" if algorithm.law() == "laplace" else "exact")


def test_auto_is_the_counter_with_the_least_noise_and_needs_a_horizon():
    known = setting(Simplex(10), 2**16)
    for law, name in (({}, "negative_digits"), (GAUSSIAN, "blt")):
        algorithm = make("dp_ftrl", counter="auto", **law)
        assert algorithm.tuned(known) == make("dp_ftrl", counter=name, **law).tuned(known)
    assert make("dp_ftrl", counter="auto").tuned(setting(Simplex(10), 8)).counter == "k_ary"
    with pytest.raises(ValueError, match="which counter is the best depends on the horizon"):
        composition(make("dp_ftrl", counter="auto").tuned(known).model_copy(update={"counter": "auto"}))


def test_ftpl_keeps_its_own_perturbation_beside_the_noise_of_a_counter():
    """In root mean square, both together have FTPL's deviation, until privacy needs more."""
    known = setting(Simplex(10), 2**12)
    easy, hard = (make("dp_ftpl", counter="blt", epsilon=epsilon).tuned(known) for epsilon in (20.0, 0.1))
    assert easy.mean_deviation(known) == pytest.approx(easy.base.sigma)
    assert hard.start(known) == hard.node_scale(known) and hard.mean_deviation(known) > 2 * hard.base.sigma
    assert make("dp_ftpl", spare="none").tuned(known).regret_bound(np.array([9.0]), known) is None
    rounds = np.array([4096.0])
    assert easy.regret_bound(rounds, known) > easy.base.regret_bound(rounds, known)


# --------------------------------------------------------------------------------------------- points


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize(
    ("space", "regulariser"),
    [(Simplex(5), "entropic"), (Simplex(5), "euclidean"), (Sphere(4), "euclidean"), (Cube(3), "euclidean")],
    ids=str,
)
def test_ftrl_minimises_the_regularised_loss(space, regulariser):
    """Compared with SciPy's minimum over the set, at small and large losses: inside the set and on its boundary."""
    _, bound, state = ready("ftrl", space, regulariser=regulariser, eta=0.7)
    rng, n = np.random.default_rng(4), space.dimension
    for scale in (0.01, 1.0, 10.0):
        losses, x = scale * rng.normal(size=n), np.empty(n)
        state.losses[:] = losses
        bound["choose"](state, x, NOTHING)

        def cost(y, losses=losses):
            size = (y * np.log(np.maximum(y, 1e-300))).sum() if regulariser == "entropic" else y @ y
            return 0.7 * losses @ y + size

        inside = {
            Simplex: [{"type": "eq", "fun": lambda y: y.sum() - 1}],
            Sphere: [{"type": "ineq", "fun": lambda y: 1 - y @ y}],
            Cube: [],
        }[type(space)]
        box = [(0, 1) if isinstance(space, Simplex) else (-1, 1)] * n
        start = np.full(n, 1 / n) if isinstance(space, Simplex) else np.zeros(n)
        found = optimize.minimize(
            cost, start, bounds=box, constraints=inside, method="SLSQP", options={"ftol": 1e-15, "maxiter": 500}
        )
        np.testing.assert_allclose(x, found.x, atol=2e-5)
        assert cost(x) <= cost(found.x) + 1e-9
        assert all(abs(fit["fun"](x)) < 1e-12 or (fit["type"] == "ineq" and fit["fun"](x) > -1e-12) for fit in inside)
        assert cost(x) < cost(start) and not np.allclose(x, start, atol=1e-3)  # control: the start is no minimum


@pytest.mark.usefixtures("by_hand")
def test_the_projection_on_the_simplex_meets_its_conditions():
    """x is the nearest point if and only if y - x is the same number where x > 0, and no larger elsewhere."""
    _, bound, state = ready("ftrl", Simplex(6), regulariser="euclidean", eta=2.0)
    rng, x = np.random.default_rng(5), np.empty(6)
    seen = set()
    for _ in range(200):
        state.losses[:] = rng.normal(size=6) * rng.choice([0.1, 1, 5])
        bound["choose"](state, x, NOTHING)
        over = -state.losses - x
        top = over[x > 0]
        assert x.sum() == pytest.approx(1, abs=1e-12) and (x >= 0).all()
        assert np.ptp(top) < 1e-12 and (over[x == 0] <= top[0] + 1e-12).all()
        seen.add(int((x > 0).sum()))
    assert len(seen) >= 4  # corners, edges and the inside


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("space", HOMES, ids=str)
def test_ftpl_plays_the_best_point_against_the_perturbed_losses(space):
    _, bound, state = ready("ftpl", space)
    rng, x = np.random.default_rng(6), np.empty(space.dimension)
    for t in range(30):
        bound["choose"](state, x, Draws(EMPTY, EMPTY, rng.normal(size=space.dimension) if t == 0 else EMPTY))
        assert x @ state.losses == pytest.approx(space.least(state.losses[None])[0], rel=1e-12)
        bound["update"](state, rng.random(space.dimension), NOTHING)


# ------------------------------------------------------------------------------------ released prefixes


def released(name, n, horizon, losses, change=lambda t, kind, numbers: numbers, **parameters):
    """What the leader sees before each round, `[rounds, n]`, and its algorithm; random numbers may be changed."""
    algorithm, bound, state = ready(name, Simplex(n), horizon, plain=Steps.plain and n < 100, **parameters)
    counts = algorithm.draws(setting(Simplex(n), horizon), np.arange(1, horizon + 1))
    rng = np.random.default_rng(horizon)
    make_numbers = {
        "uniform": rng.random,
        "laplace": lambda size: rng.laplace(size=size),
        "normal": rng.standard_normal,
    }
    x, seen = np.empty(n), []
    for t in range(1, horizon + 1):
        drawn = {kind: change(t, kind, make_numbers[kind](many[t - 1])) for kind, many in counts.items()}
        numbers = Draws(*(drawn.get(kind, EMPTY) for kind in Draws._fields))
        bound["choose"](state, x, numbers)
        seen.append(state.wrapped.losses.copy())
        bound["update"](state, losses[t - 1], numbers)
    return np.array(seen), algorithm


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("horizon", [1, 2, 3, 16, 17, 100])
@pytest.mark.parametrize("law", [law for _, law in LAWS])
def test_without_noise_prefix_t_is_the_sum_of_the_first_t_losses(law, horizon):
    losses = np.random.default_rng(1).random((horizon, 3))
    found, _ = released("dp_ftrl", 3, horizon, losses, lambda t, kind, numbers: 0 * numbers, **law)
    wanted = np.vstack([np.zeros(3), losses.cumsum(axis=0)[:-1]])
    np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("horizon", some([2, 3, 16, 24], 3))
@pytest.mark.parametrize(("nodes", "law"), first(1, LAWS))
def test_every_released_prefix_has_the_variance_of_all_levels(nodes, law, horizon):
    """With n coordinates and no losses, there are n samples of the noise of `levels` = m nodes of variance v each.

    A sample variance has the relative deviation √((2 + κ/m)/n), κ = 3 of a Laplace number and 0 of a normal one; six
    are allowed. Control: without the top-up a prefix falls short, wherever it has a zero.
    """
    n, zeros = 20_000, np.zeros((horizon, 20_000))
    found, algorithm = released("dp_ftrl", n, horizon, zeros, **law)
    levels = height(horizon)
    tolerance = 6 * math.sqrt((2 + (3 / levels if nodes == "laplace" else 0)) / n)
    wanted = algorithm.deviation(setting(Simplex(n), horizon)) ** 2
    scale = algorithm.node_scale(setting(Simplex(n), horizon))
    assert wanted == pytest.approx(levels * scale**2 * (2 if nodes == "laplace" else 1))
    np.testing.assert_allclose(found.var(axis=1), wanted, rtol=tolerance)
    own = released("dp_ftrl", n, horizon, zeros, without_top_up(n, nodes), **law)[0].var(axis=1)
    ones = np.array([tree.ones(t) for t in range(horizon)])
    np.testing.assert_allclose(own, wanted * ones / levels, rtol=2 * tolerance * math.sqrt(levels))
    assert (own[ones < levels] < (1 - tolerance) * wanted).all() and (ones < levels).any()


def without_top_up(n, nodes):
    """Set a round's random numbers to 0, except the node's own, which are the last n of the kind that nodes use."""

    def change(t, kind, numbers):
        kept = kind == ("normal" if nodes == "gaussian" else "laplace")
        numbers[: len(numbers) - (n if kept else 0)] = 0
        return numbers

    return change


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [2, 4, 64])
def test_top_up_noise_has_the_law_of_its_laplace_numbers(horizon):
    """The first prefix is the sum of `levels` Laplace numbers: a Kolmogorov-Smirnov test against sampled sums.

    Negative control: one number fewer, or a normal number if there is a single level, is detected.
    """
    n, levels = 40_000, height(horizon)
    found, algorithm = released("dp_ftrl", n, horizon, np.zeros((horizon, n)))
    scale = algorithm.node_scale(setting(Simplex(n), horizon))
    numbers = np.random.default_rng(8).laplace(size=(levels + 1, n)) * scale
    assert stats.ks_2samp(found[0], numbers[:levels].sum(axis=0)).pvalue > 1e-4
    assert stats.ks_2samp(found[0], numbers.sum(axis=0)).pvalue < 1e-5
    if levels == 1:
        assert stats.kstest(found[0] / (scale * math.sqrt(2)), "norm").pvalue < 1e-9
        assert stats.kstest(found[0] / scale, "laplace").pvalue > 1e-4


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("buffers", [1, 3])
def test_prefixes_of_a_blt_have_its_noise_to_every_digit(buffers):
    losses, n, horizon = np.random.default_rng(1).random((200, 3)), 3, 200
    drawn = []

    def keep(t, kind, numbers):
        drawn.append(numbers.copy())
        return numbers

    found, algorithm = released("dp_ftrl", n, horizon, losses, keep, buffers=buffers, **BLT)
    known = setting(Simplex(n), horizon)
    left = plain_counters.matrix(algorithm.sums(known))
    wanted = losses.cumsum(axis=0)[:-1] + algorithm.node_scale(known) * left @ np.array(drawn[:-1])
    np.testing.assert_allclose(found[1:], wanted, atol=1e-9)
    assert (found[0] == 0).all()  # no loss is in it


@pytest.mark.parametrize("case", some([(20_000, 30), (40_000, 100)], (20_000, 30)), ids=str)
def test_prefixes_of_a_blt_have_its_covariance(case):
    """From so many coordinates: S_ij has the error √((S_ii S_jj + S_ij²)/n), and six are allowed.

    Controls: independent noise of the same variances, and 5 % less noise, are detected.
    """
    n, horizon = case
    found, algorithm = released("dp_ftrl", n, horizon, np.zeros((horizon, n)), **BLT)
    known = setting(Simplex(n), horizon)
    left = plain_counters.matrix(algorithm.sums(known))
    sample = found[1:] @ found[1:].T / n / algorithm.node_scale(known) ** 2

    def farthest(covariance):
        own = np.diag(covariance)
        return np.max(np.abs(sample - covariance) / np.sqrt((np.outer(own, own) + covariance**2) / n))

    wanted = left @ left.T
    assert farthest(wanted) < 6
    assert wanted[-1, -1] == pytest.approx((algorithm.deviation(known) / algorithm.node_scale(known)) ** 2, rel=1e-9)
    for other in (np.diag(np.diag(wanted)), 0.95**2 * wanted):
        assert farthest(other) > 6


@pytest.mark.parametrize("horizon", [2, 3, 8, 37, 64])
def test_the_tree_is_the_brute_force_one_on_the_same_noise(horizon):
    """The noise of every dyadic range is drawn first; a prefix has the ranges of its ones and top-up for its zeros."""
    rng, levels, n = np.random.default_rng(horizon), height(horizon), 3
    node = {(level, k): rng.laplace(size=n) for level in range(levels) for k in range(horizon >> level)}
    shared = rng.laplace(size=(levels, n))
    (counter,) = record(**shared_top_up.SharedTopUp(horizon - 1, "laplace").state(n, 2.0))
    shared_top_up.begin(counter, shared.ravel() / 2)
    for t in range(1, horizon):
        level = tree.trailing_zeros(t)
        shared_top_up.add_item(counter, Draws(*[node[level, (t >> level) - 1]] * len(Draws._fields)))
        wanted, end = np.zeros(n), 0
        for j in reversed(range(levels)):
            if end + 2**j <= t:
                wanted, end = wanted + 2 * node[j, end >> j], end + 2**j
            else:
                wanted = wanted + shared[j]
        assert end == t
        np.testing.assert_allclose(counter.noise[0], wanted, atol=1e-12)
        assert not np.allclose(counter.noise[0], wanted - shared[0])  # control


# ------------------------------------------------------------------------------------------ guarantees


@pytest.mark.parametrize("horizon", [2, 2**10, 2**18 - 1, 2**18])
@pytest.mark.parametrize("signed", [False, True])
def test_laplace_nodes_have_the_epsilon_asked_for_and_printed_ones_more(horizon, signed):
    """`printed` divides by |l|_1 log2 T where m nodes move by |l - l'|_1, twice |l|_1 where losses are signed."""
    known = setting(Simplex(10), horizon, signed)
    corrected = make("dp_ftrl", epsilon=0.7).tuned(known)
    assert corrected.guarantee(known).epsilon == pytest.approx(0.7) and corrected.guarantee(known).delta == 0
    printed = make("dp_ftrl", epsilon=0.7, calibration="printed").tuned(known)
    assert len({(bound.neighbours, bound.view) for bound in printed.bounds(known, 1e-6)}) == 1
    levels, log_t = height(horizon), max(1.0, math.log2(horizon))
    wanted = 0.7 * (2 if signed else 1) * levels / log_t
    assert printed.guarantee(known).epsilon == pytest.approx(wanted)
    stated, *_ = printed.bounds(known, 1e-6)
    assert (stated.epsilon, stated.status) == (0.7, "paper")


@pytest.mark.parametrize("space", [Simplex(10), Sphere(10), Cube(10)], ids=str)
def test_gaussian_nodes_have_exactly_the_epsilon_and_delta_asked_for(space):
    known = setting(space, 2**12)
    algorithm = make("dp_ftrl", epsilon=0.7, nodes="gaussian", delta=1e-6, spare="once").tuned(known)
    upper, lower = algorithm.bounds(known, 1e-6)
    assert upper.epsilon == pytest.approx(0.7, rel=1e-9) and upper.delta == 1e-6
    assert (upper.status, lower.status, lower.lower, lower.epsilon) == ("exact", "exact", True, upper.epsilon)
    assert algorithm.guarantee(known).delta == 1e-6
    change = {Simplex: math.sqrt(10), Sphere: 2.0, Cube: 2.0}[type(space)]
    mu = math.sqrt(12) * change / algorithm.node_scale(known)
    assert gaussian.delta_of(mu, 0.7) == pytest.approx(1e-6, rel=1e-9)


@pytest.mark.parametrize("parameters", [{"spare": "fresh"}, {"counter": "honaker"}], ids=str)
def test_all_nodes_of_a_loss_are_an_upper_bound_where_some_are_hidden(parameters):
    """`exact` needs less noise than `nodes`, which gives less ε than asked for."""
    known = setting(Simplex(10), 2**16)
    exact, nodes = (
        make("dp_ftrl", epsilon=1.0, calibration=word, **GAUSSIAN, **parameters).tuned(known)
        for word in ("exact", "nodes")
    )
    share = exact.node_scale(known) / nodes.node_scale(known)
    assert share == pytest.approx(exact.sums(known).sensitivity() / 4) and share < 0.93
    assert exact.guarantee(known).epsilon == pytest.approx(1.0, rel=1e-9)
    assert nodes.guarantee(known).epsilon == pytest.approx(0.771 if "spare" in parameters else 0.917, abs=1e-3)


@pytest.mark.parametrize("space", [Simplex(10), Sphere(10), Cube(10)], ids=str)
@pytest.mark.parametrize("most", some([60, 300], 60))
@pytest.mark.parametrize("buffers", some([1, 3, 8], 1, 3))
def test_a_blt_has_exactly_the_epsilon_and_delta_asked_for(buffers, space, most):
    """μ is the distance of the means of two streams, in the metric of the covariance of all prefixes."""
    for horizon, epsilon in ((2, 0.7), (3, 1.0), (most, 0.1), (most, 20.0)):
        known = setting(space, horizon)
        algorithm = make("dp_ftrl", epsilon=epsilon, buffers=buffers, **BLT).tuned(known)
        upper, lower = algorithm.bounds(known, 1e-6)
        assert upper.epsilon == lower.epsilon == pytest.approx(epsilon, rel=1e-9)
        assert (upper.status, lower.status, lower.lower) == ("exact", "exact", True)
        left = plain_counters.matrix(algorithm.sums(known))
        change = {Simplex: math.sqrt(10), Sphere: 2.0, Cube: 2.0}[type(space)]
        moves = np.tri(horizon - 1)  # column i: of the prefixes, if loss i changes by 1
        squares = np.diag(moves.T @ np.linalg.solve(left @ left.T, moves))
        mu = change * math.sqrt(squares.max()) / algorithm.node_scale(known)
        assert mu == pytest.approx(gaussian.mu_of(epsilon, 1e-6), rel=1e-9)


def test_a_blt_has_a_third_of_the_trees_noise_and_a_short_state():
    known = setting(Simplex(10), 2**16)
    blt, other = (make("dp_ftrl", **law).tuned(known) for law in (BLT, GAUSSIAN))
    assert other.deviation(known) / blt.deviation(known) == pytest.approx(12.557 / 4.697, rel=1e-3)
    long = setting(Simplex(10), 10**9)
    assert make("dp_ftrl", **BLT).tuned(long).state(long).nbytes == blt.state(known).nbytes < 1000


def test_a_description_gives_the_same_algorithm_again():
    known = setting(Simplex(10), 2**16)
    plain, blt = (make("dp_ftrl", **law).tuned(known) for law in (GAUSSIAN, BLT))
    assert plain.described()["counter"] == "tree" and blt.described()["calibration"] == "exact"
    for algorithm in (plain, blt):
        again = Registry().rebuilt("algorithms", algorithm.described())
        assert again == algorithm and type(again) is type(algorithm) and algorithm.tuned(known) == algorithm


@pytest.mark.parametrize("space", [Simplex(10), Sphere(10), Cube(10)], ids=str)
@pytest.mark.parametrize("name", ["dp_ftrl", "noisy_ftrl"])
def test_laplace_noise_at_a_delta_lies_between_its_attack_and_its_proof(name, space):
    """For experts the two agree: ε at δ = 1e-6 of 12 nodes of 10 numbers each and ε = 1; dp-accounting confirms."""
    from dp_accounting.pld import privacy_loss_distribution

    known = setting(space, 2**12)
    bare = {"spare": "none"} if name == "dp_ftrl" else {}
    bounds = make(name, epsilon=1.0, **bare).tuned(known).bounds(known, 1e-6)
    for spare in ("fresh", "once") if bare else ():  # top-up noise hides nodes
        hidden = make(name, epsilon=1.0, spare=spare).tuned(known).bounds(known, 1e-6)
        assert not any(b.lower and b.delta for b in hidden)
    lower, upper = ([b.epsilon for b in bounds if b.lower == side and b.delta] for side in (True, False))
    assert 0 < lower[0] <= upper[0] and len(lower) == len(upper) == 1
    assert all(b.epsilon == pytest.approx(1.0) for b in bounds if not b.delta)
    if not isinstance(space, Simplex):
        return
    assert lower[0] == pytest.approx(upper[0], rel=1e-6)
    numbers = 120 if name == "dp_ftrl" else 10
    theirs = privacy_loss_distribution.from_laplace_mechanism(numbers, value_discretization_interval=1e-5)
    assert upper[0] == pytest.approx(theirs.self_compose(numbers).get_epsilon_for_delta(1e-6), rel=1e-4)
    assert upper[0] < 0.9995  # control: less than at δ = 0


@pytest.mark.parametrize(("delta", "wanted"), [(1e-5, 0.779), (1e-6, 0.878), (1e-9, 0.9995)])
def test_golden_epsilons_of_19_laplace_numbers(delta, wanted):
    low, high = laplace.bracket(19, 1 / 19, delta)
    assert low <= high <= low + 1e-7 and low == pytest.approx(wanted, abs=5e-4)


def test_one_laplace_number_has_its_closed_form():
    """δ = 1 - e^((ε - s)/2): ε = s + 2 ln(1 - δ)."""
    for s, delta in ((1.0, 1e-3), (0.1, 1e-2), (30.0, 1e-9)):
        low, high = laplace.bracket(1, s, delta)
        assert low <= s + 2 * math.log1p(-delta) + 1e-12 and s + 2 * math.log1p(-delta) <= high + 1e-12
        assert high - low < 1e-6
    assert laplace.bracket(1, 0.1, 0.2) == (0, 0) == laplace.bracket(5, 0.0, 1e-6)


@pytest.mark.parametrize("given", [(0, 1.0, 1e-6), (1, -1.0, 1e-6), (1, 1.0, 0.0), (1, 501.0, 1e-6)])
def test_laplace_numbers_outside_the_domain_are_refused(given):
    with pytest.raises(ValueError, match=r"k must|epsilon0 must|delta must"):
        laplace.bracket(*given)


def test_blur_is_the_deviation_in_units_of_the_rate():
    for law in ({}, {"nodes": "gaussian"}, BLT):
        known = setting(Simplex(10), 2**12)
        algorithm = make("dp_ftrl", epsilon=None, blur=0.3, **law).tuned(known)
        assert algorithm.mean_deviation(known) * algorithm.base.eta == pytest.approx(0.3)


def test_noisy_ftrl_gets_its_privacy_from_the_noise_of_each_loss():
    for signed in (False, True):
        known = setting(Simplex(10), 100, signed)
        algorithm = make("noisy_ftrl", epsilon=0.7).tuned(known)
        assert algorithm.guarantee(known).epsilon == pytest.approx(0.7) and algorithm.guarantee(known).delta == 0
        assert algorithm.scale(known) == pytest.approx((20 if signed else 10) / 0.7)
        rate = math.sqrt(math.log(10) / (100 * (1 + 2 * algorithm.scale(known) ** 2)))
        assert algorithm.base.eta == pytest.approx(rate)
        other = make("noisy_ftrl", epsilon=0.7, rate="non_private").tuned(known)
        assert other.base.eta == make("ftrl").tuned(known).eta


def test_privacy_is_free_from_ftpls_own_epsilon_upwards():
    known = setting(Simplex(10), 2**16)
    algorithm = make("dp_ftpl", delta=1e-6).tuned(known)
    own = algorithm.own_epsilon(known)
    assert own == pytest.approx(0.6349, abs=1e-4)  # 256 = √T, 16 levels, 3.139 * 4 √10/256-GDP
    for epsilon, factor in ((1.01 * own, 1.0), (8.0, 1.0), (own / 2, 1.9)):
        other = make("dp_ftpl", epsilon=epsilon, delta=1e-6).tuned(known)
        assert (other.deviation(known) == pytest.approx(256)) == (factor == 1)
        assert other.deviation(known) >= factor * 256 * (1 - 1e-12)
        assert other.guarantee(known).epsilon == pytest.approx(min(epsilon, own), rel=1e-6)


def test_the_printed_sigma_is_twenty_times_too_large():
    """Theorem 3.5's second term against the noise of 16 nodes, and against the least, which hides part of the nodes.

    Jain et al. take a root of the logarithm.
    """
    known = setting(Simplex(10), 2**16)
    printed = make("dp_ftpl", epsilon=1.0, delta=1e-6, calibration="printed").tuned(known).node_scale(known)
    own = {"base": {"sigma": 1.0}, "calibration": "nodes"}
    corrected = make("dp_ftpl", epsilon=1.0, delta=1e-6, **own).tuned(known).node_scale(known)
    assert corrected == pytest.approx(4 * math.sqrt(10) / gaussian.mu_of(1.0, 1e-6))
    assert printed / corrected == pytest.approx(15.7, abs=0.05)
    assert printed / corrected / math.sqrt(math.log(16e6)) == pytest.approx(3.86, abs=0.01)
    least = make("dp_ftpl", epsilon=1.0, delta=1e-6, base={"sigma": 1.0}).tuned(known).node_scale(known)
    assert printed / least == pytest.approx(15.7 * 4 / 3.139, abs=0.05)
    for page, words in (
        ("papers/linear", f"Its printed σ is {printed / least:.1f} times the necessary one"),
        ("privacy/errata", f"{printed / least:.1f} times the necessary deviation for ten experts"),
        ("privacy/errata", f"(with it: {printed / least / math.sqrt(math.log(16e6)):.1f} times)"),
        ("papers/linear", "perturbation of FTPL itself already gives ε = 0.635, δ = 1e-6 at no cost"),  # 0.6349 above
    ):
        assert words in " ".join((ROOT / f"docs/{page}.md").read_text(encoding="utf-8").split())


# ---------------------------------------------------------------------------------------------- errors


SQUARE = Polytope(2, ((1, 0), (-1, 0), (0, 1), (0, -1)), (1, 1, 1, 1))


@pytest.mark.parametrize(
    ("name", "space", "parameters", "message"),
    [
        ("ftrl", SQUARE, {}, "a polytope needs a projection"),
        ("noisy_ftrl", SQUARE, {}, "a polytope needs a projection"),
        ("dp_ftrl", SQUARE, {}, "a polytope needs a projection"),
        ("ftpl", SQUARE, {}, "a linear programme in every round"),
        ("rw_ftpl", SQUARE, {}, "a linear programme in every round"),
        ("dp_ftpl", SQUARE, {}, "a linear programme in every round"),
        ("ftrl", Cube(2), {"regulariser": "entropic"}, "the entropic regulariser is for the simplex"),
        ("dp_ftrl", Cube(2), {"epsilon": None}, "give either epsilon or blur"),
        ("dp_ftrl", Cube(2), {"blur": 1.0}, "give either epsilon or blur"),
        ("dp_ftrl", Cube(2), {"delta": 0.1}, "Laplace nodes need no delta"),
        ("dp_ftrl", Cube(2), {**GAUSSIAN, "calibration": "printed"}, "has no Gaussian nodes for FTRL"),
        ("dp_ftrl", Cube(2), {"counter": "blt"}, "the noise of a BLT is Gaussian: set nodes: gaussian"),
        ("dp_ftrl", Cube(2), {**BLT, "spare": "once"}, "only a tree has top-up noise: leave spare out"),
        ("dp_ftrl", Cube(2), {"buffers": 3}, "only a BLT has buffers: leave buffers out, or set counter: blt"),
        (
            "dp_ftrl",
            Cube(2),
            {**GAUSSIAN, "counter": "negative_digits"},
            "negative digits is Laplace: set nodes: l",
        ),
        ("dp_ftrl", Cube(2), {"counter": "k_ary", "calibration": "printed"}, "the paper's λ is for its tree"),
        ("dp_ftpl", Cube(2), {"counter": "smooth", "calibration": "printed"}, "the paper's σ is for its tree"),
        (
            "dp_ftpl",
            Cube(2),
            {"counter": "negative_digits"},
            "is Laplace: set counter: tree, honaker, smooth, ",
        ),
    ],
)
def test_unsupported_settings_are_reported(name, space, parameters, message):
    errors = list(make(name, **parameters).errors(setting(space)))
    assert len(errors) == 1 and message in errors[0]
    assert not list(make(name).errors(setting(Cube(2))))


# ---------------------------------------------------------------------------------------------- regret


@pytest.mark.parametrize("space", some([Simplex(4), Sphere(3), Cube(3)], Simplex(4)), ids=str)
@pytest.mark.parametrize(
    "player", some([*PLAYERS, ("dp_ftrl", BLT)], PLAYERS[0], ("dp_ftrl", BLT), PLAYERS[-2]), ids=str
)
def test_mean_regret_stays_below_its_bound(player, space):
    """At gaps that are hard to see and against alternating losses; four standard errors are allowed."""
    name, parameters = player
    known = setting(space, 2000)
    algorithm = make(name, **({"epsilon": 20.0} | parameters if make(name).private else parameters)).tuned(known)
    checkpoints = np.array([200, 2000])
    bound = algorithm.regret_bound(checkpoints.astype(float), known)
    if bound is None:
        assert name == "noisy_ftrl" and algorithm.base.eta * algorithm.scale(known) >= 1
        return
    for adversary in (foe("gap", gap=0.03), foe("gap", gap=0.1), foe("alternating")):
        found = linear.play(game(algorithm, space, 2000, checkpoints, adversary), trials=range(48))[0]
        error = found.std(axis=0) / math.sqrt(len(found))
        assert (found.mean(axis=0) - 4 * error <= bound).all()


def test_shared_top_up_noise_attains_its_account_with_the_empty_prefix_and_not_without():
    """All prefixes 0, ..., 15 as linear functions of the random numbers: the steps take unit vectors as numbers."""
    counter, numbers = shared_top_up.SharedTopUp(15, "gaussian"), 19
    (state,) = record(**counter.state(numbers, 1.0))
    rows, drawn = [], 0
    for t, many in enumerate(counter.draws(np.arange(1, 17))["normal"], 1):
        own = np.eye(numbers)[drawn : drawn + many].ravel()
        drawn = min(drawn + many, numbers)
        rows.append(np.zeros(numbers))
        shared_top_up.release(state, rows[-1], NOTHING._replace(normal=own))
        if t < 16:
            shared_top_up.add_item(state, NOTHING._replace(normal=own))
    rows, moved = np.array(rows), np.tri(16)[:, 1:]  # item i moves the prefixes from i on
    for start, mu in ((0, 2.0), (1, 1.6536)):
        covariance = rows[start:] @ rows[start:].T
        found = np.einsum("ti,ti->i", moved[start:], np.linalg.solve(covariance, moved[start:])).max()
        assert math.sqrt(found) == pytest.approx(mu, abs=5e-5)
    assert counter.sensitivity() == 2.0


@pytest.mark.parametrize("law", [{}, GAUSSIAN], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("counter", ["tree", "honaker", "smooth", "k_ary", "negative_digits", "square_root", "blt"])
def test_a_bound_on_the_regret_needs_noise_of_one_law_or_gaussian_noise_that_grows(counter, law):
    known = setting(Simplex(3), 40)
    for spare in ("fresh", "once", "none") if counter == "tree" else ("fresh",):
        algorithm = make("dp_ftrl", counter=counter, spare=spare, **law)
        if list(algorithm.errors(known)):
            continue
        algorithm = algorithm.tuned(known)
        steps = np.diff(algorithm.sums(known).variances(np.arange(1, 40)))
        holds = (np.abs(steps) < 1e-12).all() or (law != {} and (steps > -1e-12).all())
        assert (algorithm.regret_bound(np.array([40.0]), known) is not None) == holds
        found = algorithm.remarks(known)
        assert ["For a bound set counter: tree" in remark for remark in found] == ([] if holds else [True])


def test_against_uneven_noise_the_regret_is_linear_and_exceeds_the_bound_of_one_law():
    """Two experts, a binary tree without top-up noise, T = 2^20: the mean regret, an integral over the noise.

    In a round with the noise of n nodes and the lead d the mean weight of the second expert is E 1/(1 + e^-η(d + z√n)).
    Control: the same losses, when each prefix has the noise of the same number of nodes.
    """
    own = {"spare": "none", "epsilon": 0.03, **GAUSSIAN}
    known, end = Setting(2**20, 2, space=Simplex(2)), np.array([2.0**20])
    algorithm, adversary = make("dp_ftrl", **own).tuned(known), foe("uneven_noise", counter="tree", **own)
    c, swings = adversary.lead(known), np.concatenate(list(adversary.swings(known)))
    lead, nodes = np.cumsum(swings) - swings, np.bitwise_count(np.arange(2**20))
    z, weights = np.polynomial.hermite_e.hermegauss(40)
    leads, scale = np.linspace(0, lead.max(), 200), algorithm.node_scale(known) * math.sqrt(2.0)

    def regrets(ones):
        """Per round, after the first c."""
        second = np.empty(2**20)
        for n in np.unique(ones):
            noisy = leads[:, None] + scale * math.sqrt(n) * z
            mean = (1 / (1 + np.exp(-algorithm.base.eta * noisy))) @ weights / weights.sum()
            second[ones == n] = np.interp(lead[ones == n], leads, mean)
        return (np.where(swings > 0, 1 - second, np.where(swings < 0, second, 0)) - np.abs(swings) / 2)[c:]

    found = regrets(nodes)
    first, last = np.array_split(found, 2)
    bound = algorithm.base.regret_bound(end, known)[0] + noise_width(algorithm, known)
    assert found.sum() > bound and algorithm.regret_bound(end, known) is None
    assert last.sum() > 0.8 * first.sum()  # 0.41 if the regret grew as √T
    assert abs(regrets(np.full(2**20, 10)).sum()) < bound / 10


def test_the_width_of_the_noise_is_bounded():
    """E [max <Z, x> - min <Z, x>] by 4000 draws, at most the bound and at least a third of it."""
    rng = np.random.default_rng(3)
    for space in (Simplex(10), Sphere(10), Cube(10)):
        for law in ({}, GAUSSIAN):
            known = setting(space, 2**12)
            algorithm = make("dp_ftrl", **law).tuned(known)
            draw = rng.normal if law else rng.laplace
            noise = algorithm.node_scale(known) * draw(size=(4000, 12, 10)).sum(axis=1)
            width = (-space.least(noise) - space.least(-noise)).mean()
            assert noise_width(algorithm, known) / 3 < width < 1.02 * noise_width(algorithm, known)


def test_ftpls_default_sigma_minimises_its_bound_on_the_sphere():
    known, rounds = setting(Sphere(5), 1000), np.array([1000.0])
    least = ftpl.perturbed(make("ftpl").tuned(known).sigma, rounds, known)
    assert least == pytest.approx(math.sqrt(2000))
    signed = setting(Simplex(5), 1000, signed=True)
    theorem_8 = 2 * math.sqrt(2 * 1000 * math.log(5))
    assert make("ftpl").tuned(signed).regret_bound(rounds, signed) == pytest.approx(theorem_8)
    for sigma in (0.8, 1.25):
        assert ftpl.perturbed(sigma * make("ftpl").tuned(known).sigma, rounds, known) > least


@pytest.mark.parametrize(("name", "law"), [("dp_ftrl", {}), ("dp_ftrl", BLT), ("dp_ftpl", {})])
def test_a_single_round_releases_nothing(name, law):
    known = Setting(1, 3, space=Simplex(3))
    (bound,) = make(name, **law).tuned(known).bounds(known, 0.1)
    assert bound.epsilon == bound.delta == 0 and bound.status == "exact"


def test_the_bound_of_noisy_losses_is_the_formula():
    """η N λ² a round more than FTRL's on a sphere, -ln(1 - η²λ²)/η on the simplex."""
    rounds = np.array([100.0])
    for space, more in (
        (Sphere(4), lambda eta, scale: eta * 4 * scale**2),
        (Simplex(4), lambda eta, scale: -math.log1p(-((eta * scale) ** 2)) / eta),
    ):
        known = Setting(10_000, 4, space=space)
        algorithm = make("noisy_ftrl", epsilon=2.0).tuned(known)
        base = algorithm.base.regret_bound(rounds, known)
        wanted = base + rounds * more(algorithm.base.eta, algorithm.scale(known))
        np.testing.assert_allclose(algorithm.regret_bound(rounds, known), wanted, rtol=1e-12)
