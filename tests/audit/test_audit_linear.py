"""The auditor of the game `linear`: the laws of noise, the mutants it catches, the algorithms it accepts."""

import math

import numpy as np
import pytest
from scipy import stats

from privbandits_cli.audit import evidence, laws
from privbandits_cli.audit.auditor import audit, reduced
from privbandits_cli.audit.mutants import CORRECT, MUTANTS, Mutant
from privbandits_cli.audit.prefixes import Noise, expected
from privbandits_cli.convex.polytope import Polytope
from privbandits_cli.games.linear import Cube, Setting, Simplex, Sphere
from tests.audit import SEEDS
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
def test_the_density_of_a_sum_of_nodes_is_the_fold_of_one(nodes):
    """Laplace nodes by Fourier inversion of (1 + s²)^-nodes on a grid; the tail is the density's integral."""
    s, z = np.linspace(0, 400, 400_001), np.array([0.0, 0.7, 3.0, 8.0])
    characteristic = (1 + s**2) ** -float(nodes)
    density = np.array([np.trapezoid(characteristic * np.cos(s * at), s) / math.pi for at in z])
    np.testing.assert_allclose(np.exp(laws.log_density(z, nodes, False)), density, atol=1e-3 if nodes == 1 else 1e-8)
    fine = np.linspace(0, 60, 600_001)
    tail = np.trapezoid(np.exp(laws.log_density(fine, nodes, False)), fine)
    assert tail == pytest.approx(0.5, abs=1e-8)
    step = np.diff(np.exp(laws.log_tail(fine, nodes, False))) / np.diff(fine)
    middle = (fine[1:] + fine[:-1]) / 2
    np.testing.assert_allclose(-step, np.exp(laws.log_density(middle, nodes, False)), atol=1e-8)


@pytest.mark.parametrize("nodes", [1, 2, 5])
@pytest.mark.parametrize("gaussian", [False, True])
def test_noise_of_its_law_becomes_laplace_noise(nodes, gaussian):
    """p-values are uniform if the law is right (the count below 0.05: the 1e-6 quantile), and see 5 % too little."""
    rng = np.random.default_rng(nodes)
    draw = rng.standard_normal if gaussian else lambda size: rng.laplace(size=size)

    def p(n, factor=1.0):
        noise = factor * draw((n, nodes)).sum(axis=1)
        return evidence.conformance(laws.as_laplace(noise, laws.log_tail(noise, nodes, gaussian)), 1.0)

    assert sum(p(500) < 0.05 for _ in range(400)) <= stats.binom.ppf(1 - 1e-6, 400, 0.05)
    assert p(20_000, 0.95) < 1e-4
    other = math.sqrt(nodes) * (rng.laplace(size=100_000) / math.sqrt(2) if gaussian else rng.normal(size=100_000))
    noise = other * (1.0 if gaussian else math.sqrt(2))  # the right deviation, another shape
    assert evidence.conformance(laws.as_laplace(noise, laws.log_tail(noise, nodes, gaussian)), 1.0) < 1e-6


@pytest.mark.parametrize("n", [1, 2, 4, 10])
def test_noise_along_a_point_becomes_laplace_noise(n):
    rng = np.random.default_rng(n)
    points = rng.normal(size=(20_000, n))
    points[:100, 1:] = 0.0  # an axis
    noise = (rng.laplace(size=points.shape) * points).sum(axis=1)
    tail = laws.log_tail_of_point(noise, points)
    known = ~np.isnan(tail)
    assert known.mean() > 0.95
    assert evidence.conformance(laws.as_laplace(noise, tail)[known], 1.0) > 1e-3
    along = laws.log_tail_of_point(noise, np.ascontiguousarray(points[:, ::-1]) * 1.05)
    assert evidence.conformance(laws.as_laplace(noise, along)[~np.isnan(along)], 1.0) < 1e-4


def test_where_digits_cancel_no_tail_is_given():
    points = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-9], [0.0, 0.0], [1.0, 0.5]])
    assert list(np.isnan(laws.log_tail_of_point(np.ones(4), points))) == [True, True, True, False]


# ------------------------------------------------------------------------------------------- prefixes


def setting(space, horizon=2**16):
    return Setting(horizon, space.dimension, space=space)


def short_game(name, space, **own):
    algorithm = make(name, **own)
    short = reduced(algorithm.tuned(setting(space)), setting(space))
    return algorithm.tuned(short), short


def test_the_nodes_of_five_prefixes_by_hand():
    """m = 3. Prefix 3 has the node of the first two losses, that of the third, and a top-up for the third level."""
    algorithm, short = short_game("dp_ftrl", Simplex(2), epsilon=1.0)
    assert short.horizon == 5
    fresh = expected(algorithm.view(short), short, algorithm.guarantee(short)).nodes
    assert [len(nodes) for nodes in fresh] == [3] * 5
    shared = {(s, t): len(fresh[s] & fresh[t]) for s in range(5) for t in range(s + 1, 5)}
    assert {pair for pair, count in shared.items() if count} == {(2, 3)} and shared[2, 3] == 1
    sharing, _ = short_game("dp_ftrl", Simplex(2), epsilon=1.0, spare="once")
    once = expected(sharing.view(short), short, sharing.guarantee(short)).nodes
    assert [len(once[0] & nodes) for nodes in once] == [3, 2, 2, 1, 2]  # a top-up for each zero
    assert len(once[2] & once[3]) == 2 and len(once[1] & once[2]) == 1
    noisy, short = short_game("noisy_ftrl", Simplex(2), epsilon=1.0)
    assert [len(nodes) for nodes in expected(noisy.view(short), short, noisy.guarantee(short)).nodes] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("normal", [False, True])
def test_the_score_of_fresh_noise_is_the_likelihood_ratio_of_the_canary(normal):
    """With fresh noise on each loss, the first prefix alone depends on the canary."""
    rng = np.random.default_rng(1)
    noise = Noise([set(range(t)) for t in range(4)], 2.0, normal)
    prefixes = rng.normal(size=(50, 4, 3))
    off = [(prefixes[:, 1] - end) / 2 for end in (0.0, 1.0)]
    each = [-(z**2) / 2 if normal else -np.abs(z) for z in off]
    wanted = (each[1] - each[0]).sum(axis=1)
    np.testing.assert_allclose(noise.score(prefixes, (np.zeros(3), np.ones(3))), wanted, atol=2e-9)


def test_scores_of_prefixes_favour_the_true_end():
    """The mean difference of the two worlds exceeds six standard errors; with permuted coins it does not."""
    algorithm, short = short_game("dp_ftrl", Simplex(2), epsilon=8.0)
    noise = expected(algorithm.view(short), short, algorithm.guarantee(short))
    rng = np.random.default_rng(2)
    draws = {name: rng.laplace(size=(4000, 2)) for nodes in noise.nodes for name in sorted(nodes)}
    total = np.stack([sum(draws[name] for name in nodes) for nodes in noise.nodes], axis=1) * noise.scale
    coins = rng.integers(0, 2, 4000)
    total[:, 1:] += coins[:, None, None]
    score = noise.score(total, (np.zeros(2), np.ones(2)))

    def distance(labels):
        x, y = score[labels == 1], score[labels == 0]
        return (x.mean() - y.mean()) / math.sqrt(x.var() / len(x) + y.var() / len(y))

    assert distance(coins) > 6 > abs(distance(rng.permutation(coins)))


def test_a_wrong_number_of_nodes_and_wrongly_shared_nodes_are_detected():
    rng = np.random.default_rng(3)
    nodes = [{"a", "b"}, {"b", "c"}, {"d", "e"}]
    draws = {name: rng.laplace(size=(5000, 2)) for name in "abcdef"}

    def p(named):
        seen = np.stack([sum(draws[name] for name in names) for names in named], axis=1)
        return Noise(nodes, 1.0, False).conformance(seen)

    assert p(nodes) > 1e-3
    assert p(["ab", "bc", "de"]) > 1e-3
    assert p(["ab", "bc", "def"]) < 1e-6  # a node too many
    assert p(["ab", "bc", "d"]) < 1e-6  # no top-up
    assert p(["ab", "fc", "de"]) < 1e-6  # b drawn anew: each prefix has its law, their difference has not
    assert p(["ab", "bc", "ae"]) < 1e-6  # a shared where it should not be


# -------------------------------------------------------------------------------------------- audits

LINEAR = [name for name, subject in CORRECT.items() if subject.setting.space]


@pytest.mark.parametrize("test", ["bets", "counts"])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", LINEAR)
def test_no_correct_algorithm_is_flagged(name, seed, test):
    found = CORRECT[name].audited(0.001, 2**18, seed, test)
    claim = CORRECT[name].make().tuned(CORRECT[name].setting)
    assert found.verdict == "CONSISTENT", found.found
    assert found.refutable is not None and claim.guarantee(CORRECT[name].setting).epsilon < found.refutable < 10


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "mutant",
    [mutant for mutant in MUTANTS if mutant.subject in LINEAR],
    ids=lambda mutant: f"{mutant.subject}, {mutant.name}",
)
def test_every_mutant_is_caught(mutant, seed):
    """With an eighth of the budget."""
    assert mutant.audited(0.001, 2**15, seed).verdict == "VIOLATION"


@pytest.mark.parametrize("subject", ["dp_ftrl", "noisy_ftrl", "dp_scrible, scalar"])
def test_bets_refute_what_is_reported_as_refutable(subject):
    """Noise of three quarters of the refutable share is refuted by a bet; noise of twice that share is not."""
    right = CORRECT[subject].audited(0.001, 2**18, seed=1)
    share = 1 / right.refutable  # the claim is 1
    less = Mutant("less noise", subject, share=0.75 * share).audited(0.001, 2**18, seed=2)
    assert less.verdict == "VIOLATION" and "refuted after" in less.found
    more = Mutant("more noise", subject, share=2 * share).audited(0.001, 2**18, seed=2)
    assert "refuted after" not in more.found


def test_fewer_rounds_and_more_coordinates():
    """Games of two rounds if the experiment has no more, and at most ten coordinates, with the same claim."""
    for space, own in ((Simplex(200), {}), (Sphere(200), {"nodes": "gaussian", "delta": 1e-6})):
        for horizon in (1, 2, 3, 2**16) if isinstance(space, Simplex) else (1, 2**16):
            known = setting(space, horizon)
            found = audit(make("dp_ftrl", epsilon=1.0, **own).tuned(known), known, budget=2**13)
            assert found.verdict == "CONSISTENT" and found.claim.startswith("ε = 1")


@pytest.mark.parametrize(
    "space", [Sphere(1), Cube(3), Sphere(200), Polytope(2, ((1, 1), (-1, 0), (0, -1)), (1, 2, 3))], ids=str
)
@pytest.mark.parametrize("noise", ["vector", "scalar"])
def test_noisy_losses_of_other_sets(space, noise):
    found = audit(make("dp_scrible", epsilon=2.0, noise=noise).tuned(setting(space)), setting(space), budget=2**15)
    assert found.verdict == "CONSISTENT" and 0 < found.epsilon_seen < 2


def test_points_whose_noise_law_is_inaccurate_are_not_auditable():
    """Forty coordinates of a box: no tail of <Z, x> is known to enough digits."""
    box = Polytope(40, tuple(map(tuple, np.vstack([np.eye(40), -np.eye(40)]))), (1.0,) * 80)
    found = audit(make("dp_scrible", epsilon=2.0).tuned(setting(box)), setting(box), budget=2**10)
    assert found.verdict == "NOT AUDITABLE" and "digits" in found.found


def test_algorithms_without_a_guarantee_are_not_auditable():
    for name, space in (("ftrl", Simplex(3)), ("ftpl", Cube(2)), ("scrible", Sphere(2))):
        found = audit(make(name).tuned(setting(space)), setting(space))
        assert found.verdict == "NOT AUDITABLE" and found.cost == 0
