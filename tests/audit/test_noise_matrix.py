"""The audit of noise by its whole matrix: exact costs, faults, and what it cannot audit."""

import sys

import numpy as np
import pytest
from scipy import optimize

from privbandits_cli.accounting import gaussian
from privbandits_cli.audit import noise_matrix, noisy_sums
from privbandits_cli.audit.auditor import audit
from privbandits_cli.games.linear import Cube, Setting, Simplex, Sphere
from privbandits_cli.games.steps import composition, steps
from privbandits_cli.numerics.jit import compile_step, unbound
from tests.audit import by_matrix
from tests.conftest import first, make, some

ROUNDS = 24
NUMBERS = 48  # of each coordinate, some of which have no effect: all matrices share their compiled loops


@pytest.fixture(params=some(["plain", "shared", "alone"], "plain"))
def numbers(request, monkeypatch):
    """In plain Python, and in `make test-all` compiled: with and without the numbers that have no effect."""
    if request.param != "shared":
        monkeypatch.setattr(sys.modules[__name__], "NUMBERS", 0)
    if request.param == "plain":
        request.getfixturevalue("plainly")


def nodes(t, k, signed):
    """The nodes (level, number) whose sum is prefix t, with their signs; negative digits if `signed`."""
    found, level = {}, 0
    while t:
        t, digit = divmod(t, k)
        if signed and digit > k // 2:
            t += 1
            found |= {(level, t * k - 1 - i): -1.0 for i in range(k - digit)}
        else:
            found |= {(level, t * k + i): 1.0 for i in range(digit)}
        level += 1
    return found


def matrix(rows):
    """The matrix of these rows, which are weights by the names of the numbers."""
    names = sorted({name for row in rows for name in row})
    return np.array([[row.get(name, 0.0) for name in names] for row in rows])


def k_ary(k, signed=False):
    return matrix([nodes(t, k, signed) for t in range(ROUNDS)])


def smoothed():
    """Honaker's estimates: each node is the mean of its own noisy sum and of its children, by their variances."""

    def estimate(level, number):
        if level == 0:
            return {(0, number): 1.0}
        children = [estimate(level - 1, 2 * number + side) for side in (0, 1)]
        own = 2.0**level / (2.0 ** (level + 1) - 1)
        return {(level, number): own} | {name: (1 - own) * w for child in children for name, w in child.items()}

    rows = []
    for t in range(ROUNDS):
        rows.append({})
        for level, number in nodes(t, 2, False):
            rows[-1] |= estimate(level, number)
    return matrix(rows)


def with_top_up():
    """A binary tree with fresh noise for each level without a node."""
    own = k_ary(2)
    missing = [np.sqrt(5 - bin(t).count("1")) for t in range(ROUNDS)]
    return np.hstack([own, np.diag(missing)])


MATRICES = {
    "binary": k_ary(2),
    "4-ary": k_ary(4),
    "negative digits": k_ary(5, True),
    "smoothed": smoothed(),
    "top-up": with_top_up(),
    "redrawn": np.eye(ROUNDS),
    "all at once": np.tri(ROUNDS, k=-1) + np.eye(ROUNDS) * 0.5,
}


def exact(rows, normal):
    """The largest cost of a loss in one coordinate, from the dual problem: an event of the largest likelihood ratio."""
    found = []
    for loss in range(len(rows) - 1):
        moved = (np.arange(len(rows)) > loss).astype(float)
        if normal:
            found.append(np.sqrt(moved @ np.linalg.pinv(rows @ rows.T, hermitian=True) @ moved))
        else:
            bounded = np.vstack([rows.T, -rows.T])
            result = optimize.linprog(-moved, A_ub=bounded, b_ub=np.ones(len(bounded)), bounds=(None, None))
            found.append(-result.fun)
    return max(found)


def leader(rows, gaussian, epsilon):
    delta = 1e-6 if gaussian else 0.0
    wide = np.hstack([rows, np.zeros((len(rows), max(0, NUMBERS - np.shape(rows)[1])))])
    rows = tuple(map(tuple, wide.tolist()))
    return by_matrix.Parameters(rows=rows, gaussian=gaussian, epsilon=epsilon, delta=delta)


def claimed(rows, normal, space, share=1.0):
    """The audit of noise that is just enough for ε = 1, times `share`."""
    l1, l2 = space.losses(False).changes()
    needed = l2 / gaussian.mu_of(1.0, 1e-6) if normal else l1
    return audited(leader(share * needed * exact(rows, normal) * rows, normal, 1.0), space)


def audited(algorithm, space, **more):
    return audit(algorithm, Setting(ROUNDS, space.dimension, space=space), **more)


@pytest.mark.usefixtures("numbers")
@pytest.mark.parametrize("normal", some([False, True], True))
@pytest.mark.parametrize("name", some(MATRICES, "negative digits", "top-up"))
def test_the_cost_of_a_loss_is_exact(name, normal):
    check(name, normal, Simplex(2))


def check(name, normal, space):
    found = claimed(MATRICES[name], normal, space)
    assert found.verdict == "CONSISTENT", found.found
    assert found.epsilon_seen == pytest.approx(1.0, rel=1e-6) and f"{ROUNDS} rounds" in found.played
    assert claimed(MATRICES[name], normal, space, 1.5).verdict == "CONSISTENT"
    less = claimed(MATRICES[name], normal, space, 1 - 1e-5)
    assert less.verdict == "VIOLATION" and "is allowed" in less.found


@pytest.mark.usefixtures("numbers")
@pytest.mark.parametrize("space", some([Sphere(3), Cube(2)], Cube(2)), ids=str)
@pytest.mark.parametrize("normal", some([False, True], True))
def test_the_cost_on_other_sets_is_exact(normal, space):
    check("smoothed", normal, space)


def test_golden_costs():
    """A loss is in every node of its path; smoothing by later nodes hides nothing of it."""
    assert exact(MATRICES["binary"], False) == pytest.approx(5)
    assert exact(MATRICES["binary"], True) == pytest.approx(np.sqrt(5))
    assert exact(MATRICES["4-ary"], False) == pytest.approx(3)
    assert exact(MATRICES["negative digits"], False) == pytest.approx(3)
    assert exact(MATRICES["redrawn"], False) == pytest.approx(ROUNDS - 1)


@pytest.mark.usefixtures("numbers")
def test_prefix_0_is_a_release_too():
    """Its noise is known, so that it hides nothing later."""
    known = np.hstack([np.tri(ROUNDS)[:, :1], np.eye(ROUNDS)[:, 1:]])
    assert claimed(known, False, Simplex(2)).verdict == "CONSISTENT"
    reused = np.eye(ROUNDS)
    reused[1] = reused[0]
    found = audited(leader(100 * reused, False, 1.0), Simplex(2))
    assert found.verdict == "VIOLATION" and found.found == "no noise of its own hides the loss of round 1 in prefix 1"


@pytest.mark.usefixtures("numbers")
def test_a_prefix_without_noise_is_found():
    rows = 100 * k_ary(2)
    rows[12] = 0.0
    for normal in (False, True):
        found = audited(leader(rows, normal, 1.0), Simplex(2))
        assert found.verdict == "VIOLATION"
        assert found.found == "no noise of its own hides the loss of round 1 in prefix 12"


@pytest.mark.slow
@pytest.mark.usefixtures("numbers")
@pytest.mark.parametrize("n", [2, 3])
def test_less_noise_in_one_coordinate_is_found_on_sets_whose_losses_change_one_at_a_time(n):
    for space, normal in ((Cube(n), False), (Cube(n), True), (Sphere(n), True)):
        rows = k_ary(2)
        l1, l2 = space.losses(False).changes()
        needed = exact(rows, normal) * (l2 / gaussian.mu_of(1.0, 1e-6) if normal else l1)
        algorithm = leader(needed * rows, normal, 1.0)
        assert audited(algorithm, space).verdict == "CONSISTENT"
        state = algorithm.state(Setting(ROUNDS, n, space=space))
        state[0].matrix[:, :, -1] *= 0.9
        found = audited(algorithm, space, state=state)
        assert found.verdict == "VIOLATION" and ("where 1 is" in found.found) == (not normal)


# ---------------------------------------------------------------------------------------------- faults

right_choose = right_update = unbound  # bound when a step is compiled


def by_loss(state, losses, rng):
    right_update(state, losses, rng)
    if losses[0] == 0.5:
        state.z[:] *= 0.999


def squared(state, x, rng):
    right_choose(state, x, rng)
    if state.t == 0:
        state.z[:] += 1e-3 * state.z**2


def late_hint(state, x, rng):
    right_choose(state, x, rng)
    if state.t > 20:
        x[:] = 0.0
        x[np.argmin(state.sums)] = 1.0


def used_twice(state, x, rng):
    right_choose(state, x, rng)
    if state.t == 0:
        x[0] = 0.5 + 0.001 * state.z[5, 0]
        x[1] = 1.0 - x[0]


def twice_the_sum(state, losses, rng):
    right_update(state, losses, rng)
    state.sums += losses


def shared_by_coordinates(state, x, rng):
    if state.t == 0 and len(rng.laplace):
        rng.laplace[1::2] += rng.laplace[::2]
    right_choose(state, x, rng)


def other_numbers(state, x, rng):
    right_choose(state, x, rng)
    state.noisy += rng.uniform[0]


FAULTS = [
    ("update", by_loss, "VIOLATION", "of noise that does not depend on them and is linear in `rng.laplace`"),
    ("choose", squared, "VIOLATION", "of noise that does not depend on them and is linear in `rng.laplace`"),
    (
        "choose",
        late_hint,
        "VIOLATION",
        "play different points: losses act through sums of",
    ),
    ("choose", used_twice, "VIOLATION", "in round 1, two games with the same prefixes play different points"),
    ("update", twice_the_sum, "VIOLATION", "prefix 1 is not the sum of the losses"),
    ("choose", shared_by_coordinates, "NOT AUDITABLE", "acts on several coordinates: give each coordinate its own"),
    ("choose", other_numbers, "CONSISTENT", "a loss costs at most"),  # a uniform number besides is no matter
]


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize(("step", "broken", "verdict", "words"), FAULTS, ids=lambda one: getattr(one, "__name__", None))
def test_a_fault_is_found(step, broken, verdict, words, monkeypatch):
    monkeypatch.setattr(
        by_matrix.Parameters,
        "draws",
        lambda self, known, rounds: original(self, known, rounds) | {"uniform": rounds * 0 + 1},
    )
    right = {f"right_{name}": compile_step(getattr(by_matrix, name)) for name in ("choose", "update")}
    plain = {"choose": by_matrix.choose, "update": by_matrix.update, step: broken}
    bound = {name: compile_step(function, **right) for name, function in plain.items()}
    algorithm = leader(100 * k_ary(2), False, 1.0)
    assert audited(algorithm, Simplex(2), bound=bound | {step: right[f"right_{step}"]}).verdict == "CONSISTENT"
    found = audited(algorithm, Simplex(2), bound=bound)
    assert found.verdict == verdict and words in found.found, found.found


original = by_matrix.Parameters.draws


@pytest.mark.usefixtures("numbers")
def test_noise_that_rounding_hides_is_not_auditable():
    found = audited(leader(1e-14 * k_ary(2), False, 1.0), Simplex(2))
    assert found.verdict in ("NOT AUDITABLE", "VIOLATION")


@pytest.mark.usefixtures("numbers")
def test_laplace_noise_at_a_delta_is_judged_at_delta_0_only():
    algorithm = leader(2 * 5 * k_ary(2), False, 1.0).model_copy(update={"delta": 1e-3})
    assert audited(algorithm, Simplex(2)).verdict == "CONSISTENT"
    more = algorithm.model_copy(update={"epsilon": 0.9})
    found = audited(more, Simplex(2))
    assert found.verdict == "NOT AUDITABLE" and "costs ε = 1 at δ = 0" in found.found


@pytest.mark.parametrize(
    "case", some([(8, 12, True), (16, ROUNDS, True), (16, ROUNDS, False), (256, 300, False)], (8, 12, True))
)
def test_long_games_are_cut(case, monkeypatch, request):
    first, rounds, plain = case
    if plain:
        request.getfixturevalue("plainly")
    assert noisy_sums.FIRST == 256
    monkeypatch.setattr(noisy_sums, "FIRST", first)
    if rounds < ROUNDS:
        monkeypatch.setattr(sys.modules[__name__], "NUMBERS", 0)
    algorithm = leader((first - 1) * 2 * np.eye(rounds), False, 1.0)
    found = audit(algorithm, Setting(rounds, 2, space=Simplex(2)))
    assert found.verdict == "CONSISTENT" and found.epsilon_seen == pytest.approx(1.0)
    assert f"the first {first} of {rounds} rounds" in found.played
    assert "are like these" in found.assumed


# ------------------------------------------------------------------------------------------ long games


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(("gaussian", "verdict"), [(True, "NOT AUDITABLE"), (False, "VIOLATION")])
def test_noise_of_two_kinds_of_numbers_is_not_accused_at_a_delta(gaussian, verdict, monkeypatch):
    """Normal noise with a uniform number besides, too little by itself; at δ = 0 only the Laplace numbers count."""
    kinds = original(leader(k_ary(2), gaussian, 1.0), Setting(ROUNDS, 2), np.arange(1, ROUNDS + 1))
    monkeypatch.setattr(by_matrix.Parameters, "draws", lambda *_: kinds | {"uniform": np.ones(ROUNDS, np.int64)})
    right = compile_step(by_matrix.choose)
    bound = {"choose": compile_step(other_numbers, right_choose=right), "update": compile_step(by_matrix.update)}
    found = audited(leader(k_ary(2), gaussian, 1.0), Simplex(2), bound=bound)
    assert found.verdict == verdict, found.found
    assert ("numbers of other kinds" in found.found) == gaussian


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(
    ("counter", "first", "words"),
    first(1, [("honaker", 16, "costs at least ε = 0."), ("tree", 16, "exactly: that of round 1, μ = ")]),
)
def test_gaussian_noise_of_more_numbers_than_sums_is_exact_if_numbers_leave_the_sums(
    counter, first, words, monkeypatch
):
    """Of 40 rounds, 16 are the first ones. Numbers of Honaker's tree stay until the end: there are limits."""
    monkeypatch.setattr(noisy_sums, "FIRST", first)
    monkeypatch.setattr(noise_matrix, "ENTRIES", 300)
    known = Setting(40, 2, space=Simplex(2))
    found = audit(make("dp_ftrl", epsilon=1.0, nodes="gaussian", delta=1e-6, counter=counter).tuned(known), known)
    assert found.verdict == "CONSISTENT" and words in found.found, found.found
    assert ("no more than those of the first 16 rounds" in found.assumed) == (counter == "honaker")
    assert (found.epsilon_seen == pytest.approx(1.0, rel=1e-9)) == (counter == "tree")


@pytest.mark.usefixtures("plainly")
def test_a_late_round_without_numbers_is_not_accused(monkeypatch):
    monkeypatch.setattr(noisy_sums, "FIRST", 16)
    known = Setting(40, 2, space=Simplex(2))
    algorithm = make("noisy_ftrl", epsilon=1.0).tuned(known)
    monkeypatch.setattr(type(algorithm), "draws", lambda self, known, rounds: {"laplace": np.where(rounds < 30, 2, 0)})
    bound = steps(composition(algorithm)) | {"update": compile_step(no_number)}
    found = audit(algorithm, known, bound=bound)
    assert found.verdict == "NOT AUDITABLE" and "no numbers are drawn in round 30" in found.found, found.found


def no_number(state, losses, rng):
    for i in range(len(losses)):
        state.wrapped.losses[i] += losses[i] + (state.scale * rng.laplace[i] if len(rng.laplace) else 0.0)
