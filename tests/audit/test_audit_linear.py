"""The auditor of the game `linear`: the laws of noise, the mutants it catches, the algorithms it accepts."""

import math

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.audit import laws
from privbandits_cli.audit.auditor import audit
from privbandits_cli.audit.mutants import CORRECT, MUTANTS, Mutant
from privbandits_cli.audit.prefix_games import TWINS, losses_of
from privbandits_cli.audit.prefixes import Law
from privbandits_cli.audit.target import Target
from privbandits_cli.convex.polytope import Polytope
from privbandits_cli.games.linear import Cube, Setting, Simplex, Sphere
from tests.audit import SEEDS, conforms
from tests.conftest import make

# ---------------------------------------------------------------------------------------------- laws


@pytest.mark.parametrize("space", [Simplex(3), Sphere(1), Sphere(4), Cube(3), Polytope(2)], ids=str)
@pytest.mark.parametrize("signed", [False, True])
def test_the_ends_of_a_loss_set_have_its_largest_distances(space, signed):
    losses = space.losses(signed)
    low, high = losses.ends()
    assert losses.admits(np.array([low, high]))
    distances = np.abs(high - low).sum(), np.linalg.norm(high - low)
    assert distances == pytest.approx(losses.changes(), rel=1e-12)


@pytest.mark.parametrize("nodes", [1, 2, 3, 6])
def test_the_tail_of_a_sum_of_nodes_has_the_density_of_the_sum(nodes):
    """Laplace nodes: the derivative of the tail against the Fourier inversion of (1 + s²)^-nodes on a grid."""
    s, z, step = np.linspace(0, 400, 400_001), np.array([0.7, 3.0, 8.0]), 1e-4
    characteristic = (1 + s**2) ** -float(nodes)
    density = np.array([np.trapezoid(characteristic * np.cos(s * at), s) / math.pi for at in z])
    low, high = (np.exp(laws.log_tail(z + move, nodes, False)) for move in (-step, step))
    np.testing.assert_allclose((low - high) / (2 * step), density, atol=1e-3 if nodes == 1 else 1e-7)
    assert np.exp(laws.log_tail(np.zeros(1), nodes, False)) == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("nodes", [1, 2, 5])
@pytest.mark.parametrize("gaussian", [False, True])
def test_noise_of_its_law_becomes_laplace_noise(nodes, gaussian):
    """p-values are uniform if the law is right (the count below 0.05: the 1e-6 quantile), and see 5 % too little."""
    rng = np.random.default_rng(nodes)
    draw = rng.standard_normal if gaussian else lambda size: rng.laplace(size=size)

    def p(n, factor=1.0):
        noise = factor * draw((n, nodes)).sum(axis=1)
        return conforms(laws.as_laplace(noise, laws.log_tail(noise, nodes, gaussian)))

    assert sum(p(500) < 0.05 for _ in range(400)) <= stats.binom.ppf(1 - 1e-6, 400, 0.05)
    assert p(20_000, 0.95) < 1e-4
    other = math.sqrt(nodes) * (rng.laplace(size=100_000) / math.sqrt(2) if gaussian else rng.normal(size=100_000))
    noise = other * (1.0 if gaussian else math.sqrt(2))  # the right deviation, another shape
    assert conforms(laws.as_laplace(noise, laws.log_tail(noise, nodes, gaussian))) < 1e-6


@pytest.mark.parametrize("n", [1, 2, 4, 10])
def test_noise_along_a_point_becomes_laplace_noise(n):
    rng = np.random.default_rng(n)
    points = rng.normal(size=(20_000, n))
    points[:100, 1:] = 0.0  # an axis
    noise = (rng.laplace(size=points.shape) * points).sum(axis=1)
    tail = laws.log_tail_of_point(noise, points)
    known = ~np.isnan(tail)
    assert known.mean() > 0.95
    assert conforms(laws.as_laplace(noise, tail)[known]) > 1e-3
    along = laws.log_tail_of_point(noise, np.ascontiguousarray(points[:, ::-1]) * 1.05)
    assert conforms(laws.as_laplace(noise, along)[~np.isnan(along)]) < 1e-4


def test_where_digits_cancel_no_tail_is_given():
    points = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-9], [0.0, 0.0], [1.0, 0.5]])
    assert list(np.isnan(laws.log_tail_of_point(np.ones(4), points))) == [True, True, True, False]


# ------------------------------------------------------------------------------------------- prefixes


def setting(space, horizon=2**16):
    return Setting(horizon, space.dimension, space=space)


def members(t):
    """The nodes of prefix t as ranges of losses: one for each 1 of t in binary, from the top."""
    start, found = 0, set()
    for level in reversed(range(t.bit_length())):
        if t >> level & 1:
            found.add((start, start + (1 << level)))
            start += 1 << level
    return found


@pytest.mark.parametrize("rounds", [2, 3, 8, 21])
def test_prefixes_are_taken_apart_into_nodes(rounds):
    """A node with noise of its own size is found alone; a loss costs what the nodes that contain it cost."""
    tree, fresh = (Law(1.0, False, 1, tree) for tree in (True, False))
    rng = np.random.default_rng(rounds)
    size = {node: rng.normal() for t in range(rounds) for node in members(t)}
    prefixes = np.array([[sum(size[node] for node in members(t))] for t in range(rounds)])
    closed = [max(members(t)) for t in range(1, rounds)]
    np.testing.assert_allclose(tree.nodes(prefixes)[1:, 0], [size[node] for node in closed])
    own = np.array([np.inf, *(abs(size[node]) for node in closed)])
    total, met = tree.totals(own)
    for loss in range(rounds - 1):
        inside = {node for t in range(rounds) for node in members(t) if node[0] <= loss < node[1]}
        assert met[loss] == len(inside) and total[loss] == pytest.approx(sum(abs(size[node]) for node in inside))
    np.testing.assert_allclose(fresh.nodes(np.cumsum(own[1:])[:, None])[1:, 0], own[2:])
    np.testing.assert_array_equal(fresh.totals(own), [own[1:], np.ones(rounds - 1)])


@pytest.mark.parametrize("space", [Simplex(2), Sphere(3), Cube(1)], ids=str)
def test_the_twins_losses_are_allowed_and_different(space):
    known = setting(space, 512)
    algorithm = make("dp_ftrl", epsilon=1.0).tuned(known)
    target = Target(algorithm, known, None, {}, algorithm.state(known), None, 0.001, 1, 0, "bets")
    given, *others = (losses_of(target, 512, number) for number in range(TWINS + 1))
    for table in (given, *others):
        assert space.losses(False).admits(table) and (table is given or np.mean((given != table).any(axis=1)) > 0.6)
        assert (table == 0).all(axis=1).sum() >= 32 and (table == space.losses(False).ends()[1]).all(axis=1).sum() >= 32


# -------------------------------------------------------------------------------------------- audits

LINEAR = [name for name, subject in CORRECT.items() if subject.setting.space]


@pytest.mark.parametrize("seed", [*SEEDS, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (3, 4))])
@pytest.mark.parametrize("name", LINEAR)
def test_no_correct_algorithm_is_flagged(name, seed):
    subject = CORRECT[name]
    found = subject.audited(0.001, 2**18, seed)
    claim = subject.make().tuned(subject.setting).guarantee(subject.setting)
    assert found.verdict == "CONSISTENT", found.found
    assert 0.97 * claim.epsilon < found.epsilon_seen < found.refutable == pytest.approx(claim.epsilon, rel=1e-5)
    assert f"{int(subject.setting.horizon):,} rounds" in found.played and found.assumed


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "mutant",
    [mutant for mutant in MUTANTS if mutant.subject in LINEAR],
    ids=lambda mutant: f"{mutant.subject}, {mutant.name}",
)
def test_every_mutant_is_caught(mutant, seed):
    found = mutant.audited(0.001, 2**15, seed)
    assert found.verdict == "VIOLATION"
    for words in FOUND.get((mutant.subject, mutant.name), ()) if seed == 0 else ():  # a tie may hide a leader
        assert words in found.found


FOUND = {  # the round, the level and the field in question
    ("dp_ftrl", "leader of the true prefix"): [": prefix carries"],
    ("dp_ftrl", "leader of the true prefix, late"): ["in round 40,001,", ": prefix carries"],
    ("dp_ftrl", "hint beside the prefix"): ["in round 1,000,", ": kept carries"],
    ("dp_ftrl", "second level without noise"): ["no noise of its own hides the loss of round 2"],
    ("dp_ftrl", "a quarter of the noise from level 4 up"): ["of round 1 costs ε = 3.25", "round 16 closes at level 4"],
    ("dp_ftrl", "a quarter of the noise on the last level"): ["costs ε = 1.1875", "round 32,768 closes at level 15"],
    ("dp_ftrl", "no noise after round 1,000"): ["no noise of its own hides the loss of round 1,001"],
    ("dp_ftrl", "nodes forgotten after round 1,000"): ["prefix 1,001 does not have the noise of its nodes"],
    ("dp_ftrl", "top-up missing"): ["prefix 0 does not have top-up noise"],
    ("dp_ftrl, shared", "top-up missing"): ["prefix 0 does not have top-up noise"],
    ("dp_scrible", "base fed the true loss, late"): ["in round 40,002,", ": wrapped.losses carries"],
    ("dp_scrible", "base fed a thousandth of the true loss"): ["in round 2,", ": wrapped.losses carries"],
    ("dp_scrible", "no noise after round 1,000"): ["no noise hides the loss of round 1,001"],
    ("dp_scrible", "noise by the loss"): ["the noise of round 2 depends on the loss"],
    ("dp_scrible, scalar", "noise scale x 0.75"): ["costs ε = 1.33"],
}


def test_every_finding_is_of_a_mutant():
    assert set(FOUND) <= {(mutant.subject, mutant.name) for mutant in MUTANTS}


@pytest.mark.parametrize("subject", ["dp_ftrl", "dp_ftrl, Gaussian", "noisy_ftrl", "dp_scrible", "dp_scrible, scalar"])
def test_noise_is_measured_to_a_millionth(subject):
    less = Mutant("less noise", subject, share=1 - 1e-5).audited(0.001, 2**18, seed=1)
    assert less.verdict == "VIOLATION" and "is allowed" in less.found
    more = Mutant("more noise", subject, share=1.5).audited(0.001, 2**18, seed=1)
    assert more.verdict == "CONSISTENT" and "noise is larger than the claim needs" in more.found


def test_fewer_rounds_and_more_coordinates():
    """Games of two rounds if the experiment has no more, and at most ten coordinates, with the same claim."""
    for space, own in ((Simplex(200), {}), (Sphere(200), {"nodes": "gaussian", "delta": 1e-6})):
        for horizon in (1, 2, 3, 100) if isinstance(space, Simplex) else (1, 100):
            known = setting(space, horizon)
            found = audit(make("dp_ftrl", epsilon=1.0, **own).tuned(known), known)
            assert found.verdict == "CONSISTENT" and found.claim.startswith("ε = 1"), found.found
            assert f"games of {max(2, horizon)} rounds, N = 10" in found.played


@pytest.mark.parametrize(("name", "space"), [("dp_ftrl", Simplex(10)), ("dp_scrible", Sphere(3))])
def test_of_a_long_game_the_first_rounds_are_played_with_its_parameters(name, space):
    known = setting(space, 10**6)
    found = audit(make(name, epsilon=1.0).tuned(known), known)
    assert found.verdict == "CONSISTENT" and "the first 65,536 of 1,000,000 rounds" in found.played
    assert "later rounds like the first ones" in found.assumed
    assert found.epsilon_seen == pytest.approx(16 / 20 if name == "dp_ftrl" else 1.0, rel=0.03)  # 16 of 20 levels


def test_noise_that_rounding_hides_is_not_auditable():
    known = setting(Simplex(2))
    found = audit(make("dp_ftrl", epsilon=1e8).tuned(known), known)
    assert found.verdict == "NOT AUDITABLE" and "rounding" in found.found


@pytest.mark.parametrize(
    "space", [Sphere(1), Cube(3), Sphere(200), Polytope(2, ((1, 1), (-1, 0), (0, -1)), (1, 2, 3))], ids=str
)
@pytest.mark.parametrize("noise", ["vector", "scalar"])
def test_noisy_losses_of_other_sets(space, noise):
    found = audit(make("dp_scrible", epsilon=2.0, noise=noise).tuned(setting(space)), setting(space), budget=2**15)
    assert found.verdict == "CONSISTENT" and 1 < found.epsilon_seen < 2 + 1e-9, found.found


def test_points_whose_noise_law_is_inaccurate_are_not_auditable():
    """Forty coordinates of a box: no tail of <Z, x> is known to enough digits."""
    box = Polytope(40, tuple(map(tuple, np.vstack([np.eye(40), -np.eye(40)]))), (1.0,) * 80)
    found = audit(make("dp_scrible", epsilon=2.0).tuned(setting(box)), setting(box), budget=2**10)
    assert found.verdict == "NOT AUDITABLE" and "digits" in found.found


def test_algorithms_without_a_guarantee_are_not_auditable():
    for name, space in (("ftrl", Simplex(3)), ("ftpl", Cube(2)), ("scrible", Sphere(2))):
        found = audit(make(name).tuned(setting(space)), setting(space))
        assert found.verdict == "NOT AUDITABLE" and found.cost == 0
