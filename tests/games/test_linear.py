"""The game `linear`: loss sets and decision sets, the adversaries, regret counted by hand, configs and their errors."""

import math
import sys

import numpy as np
import pytest
import yaml
from scipy import optimize, stats

from privbandits_cli.actions.privacy import ledger
from privbandits_cli.convex.polytope import Polytope
from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.experiment.plan import make_plan
from privbandits_cli.figures import prices
from privbandits_cli.figures.line import Line
from privbandits_cli.games import linear
from privbandits_cli.games.linear import Cube, Setting, Simplex, Sphere, loss_set
from privbandits_cli.games.match import Match
from privbandits_cli.games.steps import blocks
from privbandits_cli.numerics.jit import without_jit
from privbandits_cli.numerics.streams import stream
from tests import plain_counters
from tests.conftest import foe, make, match, playing, script, some
from tests.naive_linear import uneven

BOX = Polytope(2, ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1)), (1, 1, 2, 2, 2))
SPACES = [Simplex(3), Sphere(1), Sphere(4), Cube(1), Cube(3), BOX]
ADVERSARIES = playing("adversaries", "linear")
TABLES = script("price_tables.py")


def setting(space, horizon=1000):
    return Setting(horizon, space.dimension, space=space)


def game(adversary, space, horizon=1000, algorithms=None, checkpoints=None, seed=5):
    known = adversary.tuned(setting(space, horizon)).revealed(setting(space, horizon))
    tuned = [algorithm.tuned(known) for algorithm in algorithms or [make("ftrl")]]
    rounds = np.array([horizon] if checkpoints is None else checkpoints, np.int64)
    return Match(adversary.tuned(known), tuned, known, rounds, seed)


def played(adversary, space, horizon, size, trial=0):
    known = adversary.revealed(setting(space, horizon))
    found = adversary.losses(known, stream(5, "losses", adversary.name, trial=trial), blocks(horizon, size))
    return np.concatenate(list(found)), known


# ------------------------------------------------------------------------------------------------ sets


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_the_best_fixed_point_is_the_minimum_over_the_set(space):
    totals = np.random.default_rng(1).normal(size=(20, space.dimension)) * 10
    if isinstance(space, Simplex):
        wanted = [min(total) for total in totals]
    elif isinstance(space, Sphere):
        wanted = [-np.linalg.norm(total) for total in totals]
    elif isinstance(space, Cube):
        corners = np.array(np.meshgrid(*[[-1, 1]] * space.dimension)).reshape(space.dimension, -1).T
        wanted = (totals @ corners.T).min(axis=1)
    else:
        corners = np.array([(-1, -2), (1, -2), (1, 1), (0, 2), (-1, 2)])
        wanted = (totals @ corners.T).min(axis=1)
        assert space.radius() == pytest.approx(5**0.5)  # of the box around it
    np.testing.assert_allclose(space.least(totals), wanted, rtol=1e-9)


@pytest.mark.parametrize("space", SPACES, ids=str)
@pytest.mark.parametrize("signed", [False, True])
def test_norms_and_changes_are_those_of_the_extreme_losses(space, signed):
    """By maximising over many losses of the set, its extreme ones among them."""
    allowed = space.losses(signed)
    n = space.dimension
    if isinstance(space, Simplex):
        ends = np.array(np.meshgrid(*[[-1.0 if signed else 0.0, 1.0]] * n)).reshape(n, -1).T
    elif isinstance(space, Sphere):
        axes = np.vstack([np.eye(n), np.ones(n) / n**0.5])
        ends = np.vstack([axes, -axes])
    else:
        ends = np.vstack([np.eye(n), -np.eye(n)])
    assert (allowed.excess(ends) < 1e-12).all() and (allowed.excess(1.01 * ends[-1:]) > 0).all()
    differences = (ends[:, None] - ends[None]).reshape(-1, n)
    for order, norm, change in zip((1, 2), allowed.norms(), allowed.changes(), strict=True):
        assert np.linalg.norm(ends, order, axis=1).max() == pytest.approx(norm)
        assert np.linalg.norm(differences, order, axis=1).max() == pytest.approx(change)


@pytest.mark.parametrize(
    ("polytope", "message"),
    [
        (Polytope(1, ((1,), (-1,)), (1, -2)), "empty"),
        (Polytope(2, ((1, 0), (-1, 0), (0, 1)), (1, 1, 1)), "unbounded along x_2"),
    ],
)
def test_an_invalid_polytope_is_refused(polytope, message):
    (error,) = polytope.errors()
    assert message in error
    assert not list(BOX.errors())


# ------------------------------------------------------------------------------------------ adversaries


@pytest.mark.parametrize("name", ADVERSARIES)
@pytest.mark.parametrize("space", [space for space in SPACES if space.dimension > 1], ids=str)
def test_losses_lie_in_their_set_and_do_not_depend_on_blocks(name, space):
    losses, known = played(foe(name), space, 600, 600)
    assert losses.shape == (600, space.dimension) and (loss_set(known).excess(losses) < 1e-12).all()
    for size in (1, 7, 256):
        np.testing.assert_array_equal(played(foe(name), space, 600, size)[0], losses)
    assert name in ("alternating", "uneven_noise") or not np.array_equal(
        played(foe(name), space, 600, 600, trial=1)[0], losses
    )


@pytest.mark.parametrize("space", [Simplex(3), Sphere(4), Cube(3), BOX], ids=str)
def test_means_are_as_documented(space):
    """Six standard errors of a mean of n numbers in [-1, 1] are at most 6/√n; a gap twice as large is detected."""
    n = 40_000
    tolerance, centre = 6 / n**0.5, 0.5 if isinstance(space, Simplex) else 0.0
    null = played(foe("iid_uniform"), space, n, n)[0].mean(axis=0)
    np.testing.assert_allclose(null, centre, atol=tolerance)
    lean = np.zeros(space.dimension)
    lean[0] = 0.2
    found = played(foe("gap", gap=0.2), space, n, n)[0].mean(axis=0)
    np.testing.assert_allclose(found, centre - lean, atol=tolerance)
    doubled = played(foe("gap", gap=0.4), space, n, n)[0].mean(axis=0)
    assert abs(doubled[0] - (centre - 0.2)) > tolerance
    drift = played(foe("drifting", gap=0.2), space, n, n)[0]
    first, last = drift[: n // 10].mean(axis=0), drift[-n // 10 :].mean(axis=0)
    for part, axis in ((first, 0), (last, 1)):
        assert abs(part[axis] - centre + 0.2) < tolerance * 10**0.5 + 0.005  # cos² of a tenth of the way: 0.992


def test_the_uniform_law_has_the_moments_of_the_set():
    """E l_1² = 1/3 - ... of the unit cube, 1/(N + 2) of the ball, 2/((N + 1)(N + 2)) of the l1 ball; six sd."""
    n = 40_000
    for space, wanted in ((Simplex(3), 1 / 3), (Sphere(4), 1 / 6), (Cube(3), 2 / 20)):
        squares = played(foe("iid_uniform"), space, n, n)[0][:, 0] ** 2
        assert abs(squares.mean() - wanted) < 6 * squares.std() / n**0.5
        assert abs(squares.mean() - 1.2 * wanted) > 6 * squares.std() / n**0.5


def test_alternating_losses_cancel():
    losses = played(foe("alternating"), Simplex(2), 4, 4)[0]
    np.testing.assert_array_equal(losses, [[0.75, 0.25], [0, 1], [1, 0], [0, 1]])
    np.testing.assert_array_equal(played(foe("alternating"), Cube(2), 3, 3)[0], [[0.5, 0], [-1, 0], [1, 0]])


UNEVEN = [("honaker", "gaussian"), ("smooth", "gaussian"), ("tree", "gaussian")]
UNEVEN += [(name, "laplace") for name in ("k_ary", "negative_digits", "smooth", "tree")]


@pytest.mark.parametrize(("counter", "law"), UNEVEN)
def test_rounds_are_loud_or_quiet_as_in_the_twin(counter, law):
    """Its twin computes the noise of each prefix from the whole matrix of the mechanism."""
    known = setting(Simplex(2), 203)
    spare = "none" if counter == "tree" else "fresh"
    adversary = foe("uneven_noise", counter=counter, nodes=law, spare=spare, epsilon=0.1)
    swings, c = np.concatenate(list(adversary.swings(known))), adversary.lead(known)
    assert c == 50  # an even number of rounds, at most 203/4: the noise is larger
    wanted = uneven(plain_counters.matrix(adversary.mechanism(known)).tolist(), c)
    np.testing.assert_array_equal(swings, wanted)
    assert swings[:c].all() and not swings[c:].sum() and (np.abs(np.cumsum(swings)[c:] - c) <= c / 2).all()
    losses, _ = played(adversary, Simplex(2), 203, 203)
    np.testing.assert_array_equal(losses[:, 0] - losses[:, 1], swings)


def test_few_rounds_are_in_memory_at_once(monkeypatch):
    """With a lead of more rounds than that, the blocks are shorter, and the lead returns after each of them."""
    adversary, known = foe("uneven_noise", counter="honaker", nodes="gaussian", epsilon=0.1), setting(Simplex(2), 203)
    monkeypatch.setattr(sys.modules[type(adversary).__module__], "LONGEST", 8)
    pieces, c = list(adversary.swings(known)), adversary.lead(known)
    assert max(map(len, pieces)) == 8 < c and sum(map(len, pieces)) == 203
    first = math.ceil(c / 8)
    assert sum(map(sum, pieces[:first])) == c and not any(map(sum, pieces[first:]))


@pytest.mark.parametrize("space", [Simplex(2), Sphere(3), Cube(2)], ids=str)
def test_the_lead_is_of_the_size_of_the_noise(space):
    """The lead is 1.4 times the deviation of the learner's noise, along the line on which the losses move."""
    own = {"nodes": "gaussian", "delta": 1e-6, "counter": "honaker", "epsilon": 1.0}
    known = setting(space, 2**20)
    deviation = make("dp_ftrl", **own).tuned(known).mean_deviation(known)
    along = 2**0.5 if isinstance(space, Simplex) else 1.0  # the lead of an expert has the noise of two coordinates
    assert foe("uneven_noise", **own).lead(known) == pytest.approx(1.4 * along * deviation, abs=2)
    signed = known._replace(signed=True)  # twice the losses, and so twice the noise: the lead is as many rounds
    assert foe("uneven_noise", **own).lead(signed) == foe("uneven_noise", **own).lead(known)


@pytest.mark.parametrize(
    ("parameters", "space", "message"),
    [
        ({"counter": "tree"}, Simplex(2), "there is nothing to exploit; set counter: k_ary, honaker or smooth"),
        ({"counter": "tree", "spare": "once"}, Simplex(2), "there is nothing to exploit"),
        ({"counter": "blt", "nodes": "gaussian"}, Simplex(2), "a BLT has one law, or never becomes smaller"),
        ({"counter": "honaker"}, Simplex(2), "Honaker's tree is Gaussian: set nodes: gaussian, or set counter: tree"),
        ({"counter": "negative_digits", "nodes": "gaussian"}, Simplex(2), "is Laplace: set nodes: laplace, or set"),
        ({"counter": "smooth", "spare": "none"}, Simplex(2), "only a tree has top-up noise: leave spare out"),
        ({"delta": 1e-6}, Simplex(2), "Laplace noise needs no delta: leave it out, or set nodes: gaussian"),
        ({}, Simplex(1), "needs two experts: set a dimension of at least 2"),
    ],
)
def test_settings_without_uneven_noise_are_reported(parameters, space, message):
    (error,) = foe("uneven_noise", **parameters).errors(setting(space))
    assert message in error
    assert not list(foe("uneven_noise", counter="tree", spare="none").errors(setting(Cube(1))))


# ------------------------------------------------------------------------------------------------ game


@pytest.mark.parametrize("n", some([3, 4], 4))
def test_regret_is_counted_on_the_losses(n):
    """By hand: entropic FTRL on the losses of the adversary."""
    found = linear.play(game(foe("gap", gap=0.3), Simplex(n), 200, checkpoints=[1, 50, 200]), trials=[4])
    losses = played(foe("gap", gap=0.3), Simplex(n), 200, 200, trial=4)[0]
    eta, total, suffered, wanted = (np.log(n) / 200) ** 0.5, np.zeros(n), 0.0, {}
    for t, loss in enumerate(losses, 1):
        x = np.exp(-eta * total) / np.exp(-eta * total).sum()
        suffered += x @ loss
        total += loss
        wanted[t] = suffered - total.min()
    np.testing.assert_allclose(found[0, 0], [wanted[t] for t in (1, 50, 200)], rtol=1e-10)


def blocks_change_no_number(name, n, horizon):
    algorithm = make(name)
    spaces = [space for space in (Simplex(n), Sphere(n)) if not list(algorithm.errors(setting(space)))]
    assert spaces
    for space in spaces:
        known = game(foe("gap"), space, horizon, [algorithm], checkpoints=[1, horizon // 2, horizon])
        whole = linear.play(known, [0, 1])
        for block in (1, 37):
            np.testing.assert_array_equal(linear.play(known, [0, 1], block), whole)
        np.testing.assert_array_equal(linear.play(known, [1])[:, 0], whole[:, 1])


@pytest.mark.parametrize("rounds", some([40, 150], 40))
@pytest.mark.parametrize("name", playing("algorithms", "linear"))
def test_blocks_change_no_number_in_plain_python(name, rounds):
    with without_jit():
        blocks_change_no_number(name, 4, rounds)


@pytest.mark.parametrize(
    ("name", "n", "horizon"),
    [
        ("dp_ftrl", 4, 150),
        *(pytest.param(name, 3, 300, marks=pytest.mark.slow) for name in playing("algorithms", "linear")),
    ],
)
def test_blocks_change_no_number(name, n, horizon):
    blocks_change_no_number(name, n, horizon)


def test_a_bandits_gains_are_losses_of_experts():
    against = foe("deterministic")
    found = linear.play(game(against, Simplex(4), 500), trials=[0])[0, 0, 0]
    known = against.revealed(Setting(500, 4))
    gains = np.concatenate(
        list(against.gains(known, stream(5, "losses", against.name, trial=0), blocks(500, 500)))
    ).astype(float)
    eta, total, suffered = (np.log(4) / 500) ** 0.5, np.zeros(4), 0.0
    for loss in 1 - gains:
        x = np.exp(-eta * total) / np.exp(-eta * total).sum()
        suffered += x @ loss
        total += loss
    assert found == pytest.approx(suffered - total.min(), rel=1e-10)


def test_a_loss_outside_its_set_is_reported_with_its_round(monkeypatch):
    wild = foe("gap", gap=0.3)
    monkeypatch.setattr(type(wild), "losses", lambda self, s, r, parts: (np.full((len(p), 4), 1.5) for p in parts))
    with pytest.raises(ValueError, match=r"gap: the loss of round 1 is outside \[0, 1\]\^4 by 0\.5"):
        linear.play(game(wild, Simplex(4), 10), trials=[0])
    monkeypatch.setattr(type(wild), "losses", lambda self, s, r, parts: (np.full((len(p), 4), np.nan) for p in parts))
    with pytest.raises(ValueError, match=r"the loss of round 1 holds NaN"):
        linear.play(game(wild, Simplex(4), 10), trials=[0])


@pytest.mark.parametrize("n", some([2, 4], 4))
def test_long_games_keep_the_regret_bound(n):
    """FTRL's regret against alternating losses stays below 2 √(T ln N): the game is played to its end."""
    regret = linear.play(game(foe("alternating"), Simplex(n), 10**5), trials=[0])[0, 0, 0]
    assert 0 < regret < 2 * (10**5 * np.log(n)) ** 0.5


# --------------------------------------------------------------------------------------------- configs

LINEAR = """\
experiment: small
game: linear
set: simplex
dimension: [2, 3]
horizon: [64, 256]
trials: 24
checkpoints: 4
adversary:
  - {name: gap, gap: [0.1, 0.3]}
  - stochastic
algorithms: [ftrl]
"""


def read(tmp_path, text, *overrides):
    path = tmp_path / "linear.yaml"
    path.write_text(text)
    return load(path, list(overrides))


def test_a_config_sweeps_dimensions_and_horizons(tmp_path):
    plan = make_plan(read(tmp_path, LINEAR))
    assert len(plan.curves) == 3 * 2 * 2
    assert plan.curves[0].title == "Gap (gap = 0.1, N = 2)"
    assert plan.curves[0].swept == {"horizon": 64, "dimension": 2, "gap": 0.1}
    assert len({curve.key for curve in plan.curves}) == len(plan.curves)
    again = read(tmp_path, __import__("yaml").safe_dump(read(tmp_path, LINEAR).resolved()))
    assert {curve.key for curve in make_plan(again).curves} == {curve.key for curve in plan.curves}
    several = make_plan(read(tmp_path, LINEAR, "set=[simplex, sphere, cube]", "adversary=iid_uniform"))
    assert [curve.title for curve in several.curves[:2]] == [
        "Uniform losses (simplex, N = 2)",
        "Uniform losses (simplex, N = 3)",
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["arms=4"], "the game linear has no 'arms': leave it out"),
        (["set={a: [[1], [-1]], b: [1, -2]}"], "the rows of a give a polytope's dimension"),
        (["adversary=pareto"], "pareto has gains of arms, which are losses on the simplex only"),
        (["set=cube"], "stochastic has gains of arms, which are losses on the simplex only"),
        (["algorithms=[exp3]"], "exp3 plays the game bandit, not linear; these are possible: "),
        (["feedback=bandit"], "ftrl observes the whole loss vector: set `feedback: full`"),
        (["adversary={name: gap, gap: 0.7}"], "the mean loss 1/2 - gap of an expert would be negative"),
        (["set=ball"], "set should be 'simplex', 'sphere' or 'cube'"),
        (["dimension=[1, 2]"], "a single expert leaves nothing to choose"),
        (["set=sphere", "dimension=1", "adversary=drifting"], "drifting needs two coordinates"),
        (["dimension=0"], "dimension should be greater than or equal to 1"),
        (["plot={against: gap, price: {floor: exp3}}"], "this experiment has no algorithm 'exp3' (known: "),
        (["plot={price: {floor: ftrl}}"], "drawn against a swept parameter"),
    ],
)
def test_errors_are_located_and_say_what_to_do(tmp_path, changes, message):
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, LINEAR, *changes)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("given", "place", "message"),
    [
        ("{a: [[1, 0], [-1, 0], [0, 1], [0, -1]], b: [1, 1, 1]}", ":3:", "3 numbers for 4 rows of a"),
        ("{a: [[1, 0], [1]], b: [1, 1]}", ":3:", "row 2 has 1 numbers, row 1 2"),
        ("{a: [[1, 0], [-1, 0]], b: [1, 1]}", ":3:", "unbounded along x_2"),
        ("{a: [[1, 0], [-1, 0], [0, 1], [0, -1]], b: [1, -2, 1, 1]}", ":3:", "the polytope is empty"),
    ],
)
def test_errors_in_polytopes_are_located(tmp_path, given, place, message):
    text = LINEAR.replace("set: simplex\ndimension: [2, 3]", f"set: {given}").replace("  - stochastic\n", "")
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value) and place in str(caught.value)


def test_a_missing_dimension_is_asked_for(tmp_path):
    with pytest.raises(ConfigError, match="missing key 'dimension'"):
        read(tmp_path, LINEAR.replace("dimension: [2, 3]\n", ""))
    with pytest.raises(ConfigError, match="the game bandit has no 'dimension'"):
        read(tmp_path, LINEAR.replace("game: linear\nset: simplex\n", ""), "algorithms=[exp3]", "adversary=stochastic")
    with pytest.raises(ConfigError, match=r"missing key 'set': simplex, sphere, cube, or \{a: rows"):
        read(tmp_path, LINEAR.replace("set: simplex\n", ""))
    with pytest.raises(ConfigError, match=r"set should be 'simplex', 'sphere' or 'cube', got 'ball'"):
        read(tmp_path, LINEAR, "set=ball")
    with pytest.raises(ConfigError, match=r"exp3 cannot be the base of dp_ftrl; these can: ftrl$"):
        read(tmp_path, LINEAR, "algorithms=[{name: dp_ftrl, epsilon: 1, base: exp3}]")


def test_a_sweep_over_a_default_survives_resolving(tmp_path):
    """The resolved config has `counter: tree`, swept, so that labels and keys are the same."""
    swept = "[ftrl, {name: dp_ftrl, nodes: gaussian, delta: 1e-6, epsilon: 1, counter: [tree, blt]}]"
    first = read(
        tmp_path, LINEAR, f"algorithms={swept}", "adversary={name: gap, gap: 0.1}", "horizon=64", "dimension=2"
    )
    _, tree, blt = first.resolved()["algorithms"]
    assert (tree["counter"], blt["counter"], blt["buffers"]) == (["tree"], ["blt"], 3) and tree["buffers"] is None
    again = read(tmp_path, yaml.safe_dump(first.resolved(), allow_unicode=True))
    plans = make_plan(first), make_plan(again)
    assert len({tuple((curve.key, curve.label) for curve in plan.curves) for plan in plans}) == 1
    plain = swept.replace(", counter: [tree, blt]", "")
    alone = read(
        tmp_path, LINEAR, f"algorithms={plain}", "adversary={name: gap, gap: 0.1}", "horizon=64", "dimension=2"
    )
    assert {curve.key for curve in make_plan(alone).curves} < {curve.key for curve in plans[0].curves}


def test_the_ledger_names_set_dimension_and_horizon_where_they_are_swept(tmp_path):
    """Names distinguish guarantees for different horizons, dimensions and sets, even if their parameters are equal."""
    algorithms, adversary = "[{name: dp_ftrl, epsilon: [1, 2], base: {eta: 0.1}}]", "{name: gap, gap: 0.1}"
    overrides = "set=[simplex, cube]", f"algorithms={algorithms}", f"adversary={adversary}"
    titles = [row["algorithm"] for row in ledger(read(tmp_path, LINEAR, *overrides))]
    games = [f"{space}, N = {n}, T = {t}" for t in (64, 256) for space in ("simplex", "cube") for n in (2, 3)]
    assert titles == [f"DP-FTRL (epsilon = {epsilon}, {game})" for game in games for epsilon in (1, 2)]


# ---------------------------------------------------------------------------------------------- prices


def line(algorithm, x, regret, game=()):
    x, regret = np.array(x, float), np.array(regret, float)
    zero = np.zeros(len(x))
    return Line(algorithm, algorithm, x, regret, zero, zero, 1, None, game=game)


def test_where_privacy_is_free():
    floor = line("ftrl", [0.1, 10], [100, 100])
    steep = line("dp_ftrl", [0.1, 1, 10], [1000, 121, 100])  # ln 1.21 to ln 1: 1.1 is half way
    lines = [floor, steep]
    assert prices.free_from(steep, lines, "ftrl", 0.1) == pytest.approx(10**0.5)
    assert prices.free_from(floor, lines, "ftrl", 0.1) is None
    assert prices.free_from(line("dp_ftrl", [0.1, 1], [900, 500]), lines, "ftrl", 0.1) is None  # nowhere
    assert prices.free_from(line("dp_ftrl", [0.1, 1], [100, 99]), lines, "ftrl", 0.1) is None  # everywhere
    wavy = line("dp_ftrl", [1, 2, 4, 8], [105, 250, 121, 100])  # the last crossing counts
    assert 4 < prices.free_from(wavy, lines, "ftrl", 0.1) < 8
    assert prices.free_from(line("dp_ftrl", [0.1, 1], [150, 99]), lines, "ftrl", 0.1) is None  # the trials' spread
    found = prices.as_multiples([*lines, line("dp_ftrl", [1], [300], game=("256",))], "ftrl")
    assert [other.algorithm for other in found] == ["dp_ftrl"]  # the other game has no floor
    np.testing.assert_allclose(found[0].regret, [10, 1.21, 1])


def test_the_interval_of_where_privacy_is_free():
    draws, crossing, free_range = TABLES.DRAWS, TABLES.crossing, TABLES.free_range
    x, n = np.array([1.0, 10.0]), 400
    alike = np.ones((1, n))
    at = crossing(x, np.array([1.21, 1.0]) / 1.1)
    assert at == pytest.approx(10**0.5)
    np.testing.assert_allclose(free_range(100 * alike, np.stack([121 * alike, 100 * alike]), x), at)
    assert free_range(100 * alike, np.stack([300 * alike, 200 * alike]), x) == (np.inf, np.inf)  # nowhere
    spread = np.random.default_rng(1).normal(1, 0.1, (1, n))
    paired = free_range(100 * spread, np.stack([121 * spread, 100 * spread]), x)
    np.testing.assert_allclose(paired, at)  # what floor and regret share is drawn together
    low, high = free_range(100 * alike, np.stack([121 * spread, 100 * alike]), x)
    error = 1.959964 * spread.std() / np.sqrt(n)
    wanted = [crossing(x, np.array([1.21 * m, 1.0]) / 1.1) for m in (spread.mean() - error, spread.mean() + error)]
    assert wanted[0] < at < wanted[1]
    # of `draws` samples the rank of the 2.5 % quantile has a standard deviation of sqrt(draws 0.025 0.975): five of it
    slack = 5 * np.sqrt(0.025 * 0.975 / draws) / stats.norm.pdf(1.959964) / (2 * 1.959964) * (wanted[1] - wanted[0])
    assert abs(low - wanted[0]) < slack and abs(high - wanted[1]) < slack
    worst = np.concatenate([100 * alike, 50 * alike]), np.stack([np.concatenate([121 * alike, 50 * alike])] * 2)
    worst[1][1, 0] = 100
    np.testing.assert_allclose(free_range(*worst, x), at)  # the worst gap is the largest, of either


def test_one_further_trial_may_move_where_privacy_is_free():
    """Of n trials 99 and 101, one at 2 (value - mean) moves a mean by 2/(n + 1); of 121, 100 it moves the crossing."""
    crossing, open_range = TABLES.crossing, TABLES.open_range
    x, n = np.array([1.0, 10.0]), 20
    floor = np.where(np.arange(n) % 2, 99.0, 101.0)[None]
    regret, step = np.stack([np.full((1, n), 121.0), np.full((1, n), 100.0)]), 2 / (n + 1)
    ends = sorted(crossing(x, np.array([121.0, 100.0]) / (100 + side * step) / 1.1) for side in (-1, 1))
    assert not open_range(floor, regret, x, (ends[0] * 0.9999, ends[1] * 1.0001))
    assert open_range(floor, regret, x, (ends[0] * 1.0001, ends[1] * 1.0001))
    assert open_range(floor, regret, x, (ends[0] * 0.9999, ends[1] * 0.9999))
    rare = regret + np.where(np.arange(n) == 0, 100.0, 0.0) * np.array([0.0, 1.0])[:, None, None]
    assert open_range(floor, rare, x, (1.0, 10.0))  # then it is free nowhere
    assert not open_range(floor, rare, x, (1.0, np.inf))


def test_the_minimum_over_a_polytope_agrees_with_scipy():
    cost = np.array([[1.0, 3.0]])
    wanted = optimize.linprog(cost[0], A_ub=BOX.a, b_ub=BOX.b, bounds=(None, None)).fun
    assert BOX.least(cost)[0] == pytest.approx(wanted)


def test_a_match_knows_its_game():
    assert game(foe("gap"), Simplex(2), 10).game == "linear"
    assert match(foe("stochastic"), [make("exp3")], 10).game == "bandit"


@pytest.mark.parametrize(
    "setting",
    [
        Setting(8, 3, space=Simplex(3)),
        Setting(8, 3, space=Simplex(3), signed=True),
        Setting(8, 2, space=Sphere(2)),
        Setting(8, 3, space=Cube(3)),
        Setting(8, 2, space=Polytope(2, ((1, 0), (-1, 0), (0, 1), (0, -1)), (5, -2, 1, 0.5))),  # [2, 5] x [-1/2, 1]
    ],
    ids=lambda setting: f"{setting.space.name}{' signed' * setting.signed}",
)
@pytest.mark.parametrize("several", some([100, 500], 100))
def test_no_round_costs_more_than_the_largest_regret(setting, several):
    """max <l, x> - min <l, x> over losses: some reach it, and none exceeds it."""
    space, losses = setting.decisions(), loss_set(setting)
    axes = np.concatenate([np.eye(setting.n_arms), -np.eye(setting.n_arms)])
    found = [axes, losses.swinging(np.array([1.0])), losses.uniform(np.random.default_rng(1))(several)]
    every = np.concatenate(found)
    every = every[losses.excess(every) <= 1e-9]
    width = -space.least(-every) - space.least(every)
    assert width.max() == pytest.approx(setting.largest_regret(), rel=1e-9)


# ------------------------------------------------------------------------------------------- dynamic regret


@pytest.mark.parametrize("name", ["drifting", "stochastic"])
def test_the_dynamic_regret_of_experts_is_that_to_the_best_sequence(name):
    """Against quadratic dynamic programming over the last switch; losses of experts, or gains of arms."""
    horizon, n, ends = 60, 3, [1, 20, 60]
    for switches in (1, 3):
        fixed = game(foe(name), Simplex(n), horizon, checkpoints=ends)
        dynamic = fixed._replace(setting=fixed.setting._replace(switches=switches))
        found = [linear.play(one, range(2)) for one in (fixed, dynamic)]
        np.testing.assert_array_equal(linear.play(dynamic, range(2), block=7), found[1])
        for trial in range(2):
            rng = stream(5, "losses", fixed.adversary.name, trial=trial)
            (losses,) = linear._losses(fixed.adversary, fixed.setting, rng, lambda: [range(1, horizon + 1)])
            sums = np.vstack([np.zeros(n), losses.cumsum(axis=0)])
            for i, end in enumerate(ends):
                least = sums[: end + 1].min(axis=1)
                for _ in range(switches):
                    least = np.array(
                        [min(least[s] + (sums[t] - sums[s]).min() for s in range(t + 1)) for t in range(end + 1)]
                    )
                more = sums[end].min() - least[end]
                assert found[1][0, trial, i] - found[0][0, trial, i] == pytest.approx(more, abs=1e-12)
        assert more > 0
