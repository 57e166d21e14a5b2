"""SCRiBLe: closed forms, estimates, plays inside the set, thin polytopes, bounds; and its privacy with noise."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

from privbandits_cli.accounting import composition as composed
from privbandits_cli.convex.barriers import parameter
from privbandits_cli.convex.polytope import Polytope
from privbandits_cli.games.linear import Cube, Draws, Setting, Simplex, Sphere, play
from privbandits_cli.games.match import Match
from privbandits_cli.games.steps import composition, steps
from privbandits_cli.numerics.jit import bind, without_jit
from privbandits_cli.plugins.registry import Registry
from tests.conftest import Steps, make, some
from tests.naive_scrible import hessian, inequalities, leader, least, regrets, slab

NONE = np.empty(0)


def named(space):
    """A short name of a set for pytest."""
    thin = f", {min(space.b):g} thick" if isinstance(space, Polytope) else ""
    return f"{space.name} of {space.dimension}{thin}"


# Each number of coordinates is compiled anew: few of them.
SETS = [Sphere(1), Sphere(2), Sphere(4), Cube(1), Cube(4), slab(1, 1.0), slab(3, 0.5), slab(3, 1e-3)]
LONGER = 4  # by how much more than the tolerance a negative control must be off


def setting(space, horizon=1000):
    return Setting(horizon, space.dimension, space=space)


def match(space, algorithm, horizon=1000, checkpoints=None, gap=0.3, seed=5):
    known = setting(space, horizon)
    rounds = np.array([horizon] if checkpoints is None else checkpoints, np.int64)
    return Match(Registry().find("adversaries", "gap")(gap=gap), [algorithm.tuned(known)], known, rounds, seed)


def fresh(space, eta, algorithm="scrible", plain=None):
    """The state of a SCRiBLe with this eta, and its steps, in plain Python or compiled."""
    tuned = make(algorithm, eta=eta).tuned(setting(space))
    with without_jit(Steps.plain if plain is None else plain):
        return tuned.state(setting(space)), steps(composition(tuned))


def axes(space):
    """x = ... + axes z; the coordinates in which a state keeps its losses."""
    return space.rounded.axes if isinstance(space, Polytope) else np.eye(space.dimension)


def enumerated(state, step, n):
    """The 2N plays from a state, and N s C e of each: `[2N, N]` both."""
    plays, slopes = np.empty((2 * n, n)), np.empty((2 * n, n))
    own = state[0]["wrapped"] if "wrapped" in state.dtype.names else state[0]
    for k in range(2 * n):
        step["choose"](state[0], plays[k], Draws(np.array([(k + 0.5) / (2 * n)]), NONE, NONE))
        slopes[k] = own["slope"]
    return plays, slopes


def states(space, eta=0.1):
    """Some states with losses of one size each, as SCRiBLe may have."""
    rng = np.random.default_rng(3)
    for size in (0.0, 1e-9, 1.0, 30.0, 1000.0):
        state, step = fresh(space, eta)
        losses = size * rng.standard_normal(space.dimension)
        state[0]["losses"] = axes(space).T @ losses
        yield losses, state, step


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("space", SETS, ids=named)
def test_the_leader_is_the_minimiser_and_the_half_axes_are_those_of_its_hessian(space):
    n = space.dimension
    for losses, state, step in states(space):
        plays, slopes = enumerated(state, step, n)
        x = plays.mean(axis=0)
        expected = leader(space, 0.1, losses)
        h = hessian(space, expected)
        tolerance = 1e-5 if isinstance(space, Polytope) else 1e-8  # of lengths at the leader
        assert np.sqrt((x - expected) @ h @ (x - expected)) < tolerance
        c = np.linalg.inv(axes(space)).T @ slopes[::2].T / n  # signs + come first
        np.testing.assert_allclose(np.linalg.inv(np.linalg.cholesky(h)) @ c @ c.T, np.linalg.cholesky(h).T, 2e-5, 1e-4)
        for half in plays - x:
            assert half @ h @ half == pytest.approx(1, abs=1e-4)


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("space", [Sphere(2), Sphere(4), Cube(4)], ids=named)
def test_the_directions_are_eigenvectors_with_the_eigenvalues_of_numpy(space):
    n = space.dimension
    for losses, state, step in states(space):
        h = hessian(space, leader(space, 0.1, losses))
        _, slopes = enumerated(state, step, n)
        directions = slopes[::2] / n
        found = np.linalg.norm(directions, axis=1)
        np.testing.assert_allclose(np.sort(found**2), np.linalg.eigvalsh(h), rtol=1e-6)
        for d in directions:
            np.testing.assert_allclose(h @ d, (d @ d) * d, rtol=1e-6, atol=1e-6 * np.linalg.norm(h))


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("space", SETS, ids=named)
def test_the_estimate_is_unbiased_over_its_2n_plays(space):
    n = space.dimension
    loss = np.linspace(1.0, -0.5, n) / n
    for _, state, step in states(space):
        plays, slopes = enumerated(state, step, n)
        mean = ((plays @ loss)[:, None] * slopes).mean(axis=0)
        size = np.abs(plays @ loss).max() * np.linalg.norm(slopes, axis=1).max()
        assert np.abs(mean - axes(space).T @ loss).max() < 1e-12 * size
        if n > 1:  # negative control: one play left out
            assert (
                np.abs(((plays @ loss)[:, None] * slopes)[1:].mean(axis=0) - axes(space).T @ loss).max() > 1e-9 * size
            )


@pytest.mark.usefixtures("by_hand")
def test_there_is_no_cancellation_at_the_border():
    """At η|L| = 1e12, r = 1 in doubles; the half-axis along x is still 1/√(q (q + 1))."""
    state, step = fresh(Sphere(3), 1e12)
    state[0]["losses"] = [0.6, 0.0, 0.8]
    plays, slopes = enumerated(state, step, 3)
    q = 1e12
    np.testing.assert_allclose(np.linalg.norm(slopes[0]) / 3, math.sqrt(q * (q + 1)), rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(slopes[2]) / 3, math.sqrt(q + 1), rtol=1e-12)
    assert np.linalg.norm(plays, axis=1).max() <= 1 + 4 * 2.0**-52


TWINS = [Sphere(1), Sphere(4), Cube(4), slab(1, 1.0), slab(3, 0.1)]


@pytest.mark.parametrize("plain", some([True, False], True), ids=["plain", "compiled"])
@pytest.mark.parametrize(
    "algorithm", some([{}, {"epsilon": 2.0}, {"epsilon": 2.0, "noise": "scalar"}], {}, {"epsilon": 2.0}), ids=str
)
@pytest.mark.parametrize("space", some(TWINS, Sphere(4), Cube(4), slab(3, 0.1)), ids=named)
def test_it_plays_as_its_twin(space, algorithm, plain):
    """To rounding and, on a polytope, Newton's decrement of 1e-6."""
    name = "dp_scrible" if algorithm else "scrible"
    game = match(space, make(name, **algorithm), 150, np.arange(1, 151))
    with without_jit(plain):
        found = play(game, [0])[0, 0]
    np.testing.assert_allclose(found, regrets(game), rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("name", some(["scrible", "dp_scrible"], "dp_scrible"))
def test_compiled_steps_play_the_twins_game(name):
    game = match(slab(3, 0.2), make(name), 150, np.arange(1, 151))
    np.testing.assert_allclose(play(game, [0])[0, 0], regrets(game), rtol=1e-6, atol=1e-5)


def worst(states, uniform, losses, noise, a, b, found):
    """Play on and on; `found` is the largest <a_k, x> - b_k over what rounding may do to it, and |x|^2 - 1."""
    state, x = states[0], np.zeros(losses.shape[1])
    for t in range(len(uniform)):
        rng = Draws(uniform[t : t + 1], noise, noise)
        choose(state, x, rng)  # noqa: F821 bound below
        loss, squares = noise[t % len(noise)], 0.0
        for i in range(len(x)):
            loss += losses[t % len(losses), i] * x[i]
            squares += x[i] * x[i]
        for k in range(len(b)):
            over, size = -b[k], abs(b[k])
            for i in range(len(x)):
                over += a[k, i] * x[i]
                size += abs(a[k, i] * x[i])
            found[0] = max(found[0], over / size)
        found[1] = max(found[1], squares - 1.0)
        update(state, x, loss, rng)  # noqa: F821


def excess(space, rounds, eta):
    """The largest excess in a long game at a large eta, whose constant loss and noise drive the plays to the border."""
    state, step = fresh(space, eta, plain=False)
    loop = bind(worst, choose=step["choose"], update=step["update"])
    a = (
        np.array(space.a)
        if isinstance(space, Polytope)
        else np.vstack([np.eye(space.dimension), -np.eye(space.dimension)])
    )
    b = np.array(space.b) if isinstance(space, Polytope) else np.ones(len(a))
    rng, found = np.random.default_rng(8), np.full(2, -np.inf)
    losses = rng.standard_normal((7, space.dimension)) * 0.1
    losses[:, 0] -= 0.5
    loop(state, rng.random(rounds), losses / space.dimension, rng.laplace(size=1009) / 8, a, b, found)
    return found, state


PLAYS = 50_000  # 10^7 have been played by hand: see the test below


WIDE = [Sphere(1), Sphere(3), Cube(3), slab(3, 1.0), slab(3, 1e-6)]


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.05, 1.0])
@pytest.mark.parametrize("space", WIDE, ids=named)
def test_every_play_lies_in_the_set(space, step):
    """Within 4 units in the last place."""
    (over, outside_ball), state = excess(space, PLAYS, step / space.dimension)
    assert over <= 4 * 2.0**-52
    assert np.isfinite(state[0]["losses"]).all()
    if isinstance(space, Sphere):
        assert -1e-2 < outside_ball <= 2 * 4 * 2.0**-52  # the squared norm; it came to the border
    else:
        assert over > -1e-2


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("space", [Sphere(1), Sphere(3), Cube(3), slab(3, 1.0), slab(3, 1e-6)], ids=named)
def test_plays_at_the_very_border_are_clipped(space):
    """From leaders within 1e-3 to 1e-9 of the border, where half-axes would sometimes end outside by rounding."""
    state, step = fresh(space, 1.0)
    rng = np.random.default_rng(9)
    for size in 10 ** rng.uniform(3, 9, 100):
        state[0]["losses"] = size * rng.standard_normal(space.dimension)
        state[0]["z"] = 0.0
        for x in enumerated(state, step, space.dimension)[0]:
            if isinstance(space, Sphere):
                assert np.linalg.norm(x) <= 1 + 2.0**-52
            elif isinstance(space, Cube):
                assert np.abs(x).max() <= 1
            else:
                sums = [sum(u * v for u, v in zip(row, x, strict=True)) for row in space.a]
                assert max(total - b for total, b in zip(sums, space.b, strict=True)) <= 0


@pytest.mark.slow
def test_plays_on_a_ball_of_many_coordinates_are_clipped():
    """Without clipping, rounding would lead 6 units in the last place outside."""
    state, step = fresh(Sphere(3000), 1.0, plain=False)
    rng, x = np.random.default_rng(1), np.empty(3000)
    for size in 10 ** rng.uniform(12, 16, 60):
        state[0]["losses"] = size * rng.uniform(0.5, 1, 3000)
        step["choose"](state[0], x, Draws(rng.random(1), NONE, NONE))
        assert math.sqrt(math.fsum(x * x)) <= 1 + 4 * 2.0**-52


@pytest.mark.parametrize("space", some([Sphere(3), Cube(3), slab(3, 0.5)], Cube(3)), ids=named)
def test_estimates_that_grow_without_end_are_an_error(space):
    tuned = make("scrible", eta=5.0).tuned(setting(space))
    (remark,) = tuned.remarks(setting(space))
    assert "η N M = 1" in remark
    assert make("scrible").tuned(setting(space)).remarks(setting(space)) == []
    with pytest.raises(ArithmeticError, match="eta times the losses is too large"):
        excess(space, 100_000, 5.0)


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("thickness", some([1.0, 1e-3, 2.5e-6, 4e-7], 4e-7))
def test_newtons_decrement_is_small_in_every_round_however_thin_the_polytope(thickness):
    """In x, with QR so that no condition number is squared; the box is half as thick as it is wide at 1."""
    space, eta = slab(5, thickness), 0.05
    a, b = np.array(space.a), np.array(space.b)
    state, step = fresh(space, eta)
    rng, x = np.random.default_rng(2), np.zeros(5)
    inside = space.rounded
    for _ in range(300):
        draws = Draws(rng.random(1), NONE, NONE)
        step["choose"](state[0], x, draws)
        at = inside.centre + inside.axes @ state[0]["z"]
        q, r = np.linalg.qr(a / (b - a @ at)[:, None])
        push = np.linalg.solve(inside.axes.T @ r.T, eta * state[0]["losses"])
        assert np.linalg.norm(push + q.sum(axis=0)) < 1.01e-6
        step["update"](state[0], x, 0.5 + x[0] + rng.laplace(), draws)
    assert np.linalg.norm(state[0]["losses"]) * eta > 1  # negative control: it has moved away from the centre


@pytest.mark.usefixtures("by_hand")
def test_needless_rows_change_nothing():
    """Rows of zeros, and rows parallel to a tighter row, affect neither nu nor the play."""
    plain = inequalities([[1, 0], [-1, 0], [0, 1], [0, -1]], [1, 1, 1, 1])
    longer = inequalities([[1, 0], [2, 0], [-1, 0], [0, 0], [0, 3], [0, 1], [0, -1]], [5, 2, 1, 0, 3, 7, 1])
    assert not list(longer.errors())
    assert parameter(longer) == parameter(plain) == 4
    assert longer.largest_loss() == pytest.approx(1, abs=1e-12)
    game, other = (match(space, make("scrible"), 50) for space in (plain, longer))
    with without_jit(Steps.plain):
        np.testing.assert_allclose(play(game, [0]), play(other, [0]), rtol=1e-9)


def test_unsupported_settings_are_reported():
    (message,) = make("scrible").errors(setting(Simplex(3)))
    assert "exp2" in message
    (message,) = make("dp_scrible", epsilon=1.0, base=make("scrible", eta=1.0, constant=1.0)).errors(setting(Sphere(3)))
    assert "not both" in message
    assert not list(make("scrible").errors(setting(Sphere(3))))


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("horizon", [1, 2, 3])
@pytest.mark.parametrize("space", [Sphere(1), Cube(2), slab(1, 1.0)], ids=named)
def test_the_shortest_games_are_played(space, horizon):
    for algorithm in (make("scrible"), make("dp_scrible", epsilon=1.0)):
        with without_jit(Steps.plain):
            found = play(match(space, algorithm, horizon), [0])
        assert np.isfinite(found).all()
        assert np.abs(found).max() <= 2 * horizon


def test_default_rates_are_those_of_the_papers():
    """T = 10^4: Abernethy et al. 2008, Theorem 1, and Agarwal & Singh's Theorem 4.5 with the noise's own variance."""
    root = math.sqrt(math.log(10_000) / 10_000)
    assert make("scrible").tuned(setting(Sphere(5), 10_000)).eta == pytest.approx(root / 4 / 5)
    assert make("scrible").tuned(setting(Cube(5), 10_000)).eta == pytest.approx(math.sqrt(5) * root / 4 / 5)
    assert make("scrible", constant=0.5).tuned(setting(Sphere(5), 10_000)).eta == pytest.approx(root / 2 / 5)
    box = inequalities(np.vstack([np.eye(5), -np.eye(5)]), [3] * 10)
    assert make("scrible").tuned(setting(box, 10_000)).eta == pytest.approx(math.sqrt(10) * root / 4 / 5 / 3)
    private = make("dp_scrible", epsilon=2.0, noise="scalar").tuned(setting(Sphere(5), 10_000))
    assert private.base.eta == pytest.approx(root / math.sqrt(2) / 5 / math.sqrt(1 + 2 * (2 / 2) ** 2))
    private = make("dp_scrible", epsilon=2.0).tuned(setting(Cube(5), 10_000))
    assert private.base.eta == pytest.approx(math.sqrt(5) * root / math.sqrt(2) / 5 / math.sqrt(1 + 2 * 5))
    assert make("dp_scrible", epsilon=2.0, base=make("scrible", eta=0.3)).tuned(setting(Cube(5))).base.eta == 0.3


@pytest.mark.parametrize(
    "space", some([Sphere(2), Sphere(4), Cube(4), slab(3, 0.2)], Sphere(2), slab(3, 0.2)), ids=named
)
def test_regret_is_below_the_bound_and_the_bound_below_the_theorem(space):
    horizon, n = 4096, space.dimension
    rounds = np.array([64, 512, horizon])
    game = match(space, make("scrible"), horizon, rounds)
    found = play(game, range(24))[0]
    error = found.std(axis=0, ddof=1) / np.sqrt(24)
    bound = game.algorithms[0].regret_bound(rounds, game.setting)
    assert (found.mean(axis=0) + 4 * error < bound).all()
    nu, most = parameter(space), space.largest_loss()
    assert bound[-1] < 16 * most * n * math.sqrt(nu * horizon * math.log(horizon))
    assert make("scrible", eta=1.0).tuned(game.setting).regret_bound(rounds, game.setting) is None
    assert make("dp_scrible", epsilon=1.0).tuned(game.setting).regret_bound(rounds, game.setting) is None


@pytest.mark.parametrize("space", [Sphere(2), Cube(2), slab(3, 0.2)], ids=named)
def test_it_learns(space):
    """A learner that stays at the centre loses the gap in each round."""
    horizon = 2**14
    found = play(match(space, make("scrible", constant=1.0), horizon, gap=0.5), range(8))[0, :, 0]
    middle = 0.5 * -least(space, np.eye(space.dimension)[0]) * horizon
    assert found.mean() + 4 * found.std(ddof=1) / np.sqrt(8) < 0.4 * middle


# ------------------------------------------------------------------------------------------ privacy


@pytest.mark.parametrize(
    "space, noise, corrected",
    [
        (Sphere(9), "vector", 2 * 3),
        (Sphere(9), "scalar", 2),
        (Cube(9), "vector", 2),
        (Cube(9), "scalar", 2),
        (inequalities([[1], [-1]], [3, 1]), "vector", 2),
        (inequalities([[1], [-1]], [3, 1]), "scalar", 6),
    ],
)
def test_the_scale_covers_the_replacement_of_a_loss_and_the_printed_scale_half_of_it(space, noise, corrected):
    for calibration, change in (("corrected", corrected), ("printed", corrected / 2)):
        private = make("dp_scrible", epsilon=0.5, noise=noise, calibration=calibration)
        assert private.scale(setting(space)) == pytest.approx(change / 0.5)
        proved = private.guarantee(setting(space))
        assert (proved.epsilon, proved.delta, proved.status) == (pytest.approx(0.5 * corrected / change), 0.0, "proved")
        tight = [bound for bound in private.bounds(setting(space), 1e-6) if bound.lower and bound.delta == 0]
        assert [bound.epsilon for bound in tight] == [proved.epsilon]
    short = make("dp_scrible", epsilon=0.5, noise=noise).bounds(setting(space, 1), 0.1)
    assert [(bound.lower, bound.delta) for bound in short] == [(False, 0.0), (False, 0.1)]
    least = {"vector": composed.optimal(0.5, 1, 0.1), "scalar": 0.5 + 2 * math.log(0.9)}
    assert short[1].epsilon == pytest.approx(least[noise])


def test_the_largest_change_is_attained_and_never_exceeded():
    """|<l - l', x>| for random losses and plays, divided by |x|_inf for vector noise; the largest is at a diagonal."""
    rng, known = np.random.default_rng(4), setting(Sphere(4))
    x, loss, other = (v / np.linalg.norm(v, axis=1)[:, None] for v in rng.standard_normal((3, 100_000, 4)))
    for noise, scaled in (("vector", np.abs(x).max(axis=1)), ("scalar", 1.0)):
        change = make("dp_scrible", epsilon=1.0, noise=noise).scale(known)
        assert (np.abs(np.einsum("ti,ti->t", loss - other, x)) / scaled).max() <= change
        diagonal = np.full(4, 0.5)
        reached = 2 * (diagonal @ diagonal) / (np.abs(diagonal).max() if noise == "vector" else 1)
        assert reached == pytest.approx(change)


def laplace_delta(epsilon, distance, scale):
    """The δ at ε between two Laplace laws that are this far apart, by quadrature."""

    def density(y, mean):
        return math.exp(-abs(y - mean) / scale) / (2 * scale)

    def beyond(y):
        return max(0.0, density(y, distance) - math.exp(epsilon) * density(y, 0.0))

    return integrate.quad(beyond, -40 * scale, 40 * scale, points=[0.0, distance / 2, distance], limit=2000)[0]


def first_noisy_loss(algorithm, space):
    """The attack at δ = 0.02, and δ at its ε of the first round's play and noisy loss where l = e_1 or -e_1."""
    n, known = space.dimension, setting(space)
    (attack,) = [bound for bound in algorithm.bounds(known, 0.02) if bound.lower and bound.delta > 0]
    tuned = algorithm.tuned(known)
    plays, _ = enumerated(tuned.state(known), steps(composition(tuned)), n)
    along = np.abs(plays[:, 0][np.abs(plays[:, 0]) > 1e-12])
    assert len(along) == 2  # of the 2N plays; of the others both losses are 0
    scale = tuned.scale(known) * (along[0] if tuned.noise == "vector" else 1)
    return attack, 2 / (2 * n) * laplace_delta(attack.epsilon, 2 * along[0], scale)


@pytest.mark.parametrize("noise", ["vector", "scalar"])
@pytest.mark.parametrize("space", some([Sphere(3), Cube(4)], Sphere(3)), ids=named)
def test_the_attack_at_delta_is_exact(space, noise):
    attack, delta = first_noisy_loss(make("dp_scrible", epsilon=3.0, noise=noise), space)
    assert attack.epsilon > 0.5
    assert delta == pytest.approx(attack.delta, rel=1e-3)


@pytest.mark.parametrize("noise", ["vector", "scalar"])
def test_releases_have_the_variance_of_the_noise(noise):
    """2 λ² |x|² or 2 λ²; the variance's own standard error from the fourth moment, 6 σ^4 kurtosis of one Laplace."""
    known, n = setting(Sphere(4)), 40_000
    tuned = make("dp_scrible", epsilon=1.0, noise=noise).tuned(known)
    state, released = tuned.state(known), steps(composition(tuned))["released"]
    x, rng = np.array([0.1, -0.3, 0.5, 0.2]), np.random.default_rng(6)
    seen = np.array([released(state[0], x, 0.25, Draws(NONE, row, NONE)) for row in rng.laplace(size=(n, 4))])
    one = 2 * tuned.scale(known) ** 2
    expected = one * (x @ x if noise == "vector" else 1)
    tolerance = 5 * math.sqrt(5 / n)  # of a variance in its own units: at most (kurtosis 6 - 1) / n
    assert seen.var() == pytest.approx(expected, rel=tolerance)
    assert seen.mean() == pytest.approx(0.25, abs=5 * math.sqrt(expected / n))
    wrong = one * (1 if noise == "vector" else x @ x)  # negative control: the other noise
    assert abs(seen.var() / wrong - 1) > LONGER * tolerance


@pytest.mark.slow
def test_noise_costs_and_the_vector_costs_more():
    horizon, trials = 2**13, 40
    constant = make("scrible", constant=0.5)
    players = [constant] + [
        make("dp_scrible", epsilon=1.0, noise=noise, base=constant) for noise in ("scalar", "vector")
    ]
    found = [play(match(Sphere(4), player, horizon), range(trials))[0, :, 0] for player in players]
    for less, more in pairwise(found):
        difference = more - less  # the same losses in each trial
        assert difference.mean() > 3 * difference.std(ddof=1) / np.sqrt(trials)


def test_tuning_for_an_epsilon():
    found = Registry().find("algorithms", "dp_scrible").for_epsilon(2.0, 1e-6, 10**6, {"noise": "scalar"})
    assert found["certified"].guarantee(setting(Sphere(3))).epsilon == 2
    assert found["paper"].guarantee(setting(Sphere(3))).epsilon == 4
    assert found["paper"].noise == "scalar"
    assert any("twice" in caveat for caveat in found["paper"].caveats(setting(Sphere(3))))


def test_the_bound_by_hand():
    """η = 0.01, N = 3, M = 1, ν = 1, T = 100: after 50 rounds 2 η N² 50 + ln(11)/η + 2 · 50/10."""
    known = Setting(100, 3, space=Sphere(3))
    found = make("scrible", eta=0.01).tuned(known).regret_bound(np.array([50.0]), known)[0]
    assert found == pytest.approx(2 * 0.01 * 9 * 50 + math.log(11) / 0.01 + 10)
