"""The auditor of the game `linear`: the laws of noise, the mutants it catches, the algorithms it accepts."""

import numpy as np
import pytest

from privbandits_cli.accounting import gaussian, toeplitz
from privbandits_cli.audit.auditor import audit
from privbandits_cli.audit.linear_games import TWINS, losses_of
from privbandits_cli.audit.target import Target
from privbandits_cli.convex.polytope import Polytope
from privbandits_cli.games.linear import Cube, Setting, Simplex, Sphere
from privbandits_cli.mechanisms.honaker import Honaker
from privbandits_cli.mechanisms.square_root import SquareRoot
from tests.audit import FAST, SEEDS
from tests.audit.linear_mutants import FIRST_TOP_UP, HALF, HALF_ROOT, HALF_SMOOTHED, NO_TOP_UP, ONE, ROOT, scaled
from tests.audit.mutants import CORRECT, MUTANTS, Mutant
from tests.audit.subjects import EXPERTS, SHORT
from tests.conftest import first, make, some

# ---------------------------------------------------------------------------------------------- laws


@pytest.mark.parametrize("space", [Simplex(3), Sphere(1), Sphere(4), Cube(3), Polytope(2)], ids=str)
@pytest.mark.parametrize("signed", [False, True])
def test_the_ends_of_a_loss_set_have_its_largest_distances(space, signed):
    losses = space.losses(signed)
    low, high = losses.ends()
    assert losses.admits(np.array([low, high]))
    distances = np.abs(high - low).sum(), np.linalg.norm(high - low)
    assert distances == pytest.approx(losses.changes(), rel=1e-12)


# ------------------------------------------------------------------------------------------- prefixes


def setting(space, horizon=2**16):
    return Setting(horizon, space.dimension, space=space)


@pytest.mark.parametrize("space", [Simplex(2), Sphere(3), Cube(1)], ids=str)
def test_the_twins_losses_are_allowed_and_different(space):
    known = setting(space, 512)
    algorithm = make("dp_ftrl", epsilon=1.0).tuned(known)
    target = Target(algorithm, known, None, {}, algorithm.state(known), None, 0.001, 1, 0)
    given, *others = (losses_of(target, 512, number) for number in range(TWINS + 1))
    for table in (given, *others):
        assert space.losses(False).admits(table) and (table is given or np.mean((given != table).any(axis=1)) > 0.6)
        assert (table == 0).all(axis=1).sum() >= 32 and (table == space.losses(False).ends()[1]).all(axis=1).sum() >= 32


# -------------------------------------------------------------------------------------------- audits

LINEAR = [name for name, subject in CORRECT.items() if subject.setting.space]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", some(LINEAR, *FAST))
def test_no_correct_algorithm_is_flagged(name, seed):
    subject = CORRECT[name]
    found = subject.audited(0.001, 2**18, seed)
    claim = subject.make().tuned(subject.setting).guarantee(subject.setting)
    assert found.verdict == "CONSISTENT", found.found
    least = 0.51 if name == "shrinking_dartboard" else 0.97  # of a bound that is not tight
    assert least * claim.epsilon < found.epsilon_seen < found.refutable == pytest.approx(claim.epsilon, rel=1e-5)
    assert f"{int(subject.setting.horizon):,} rounds" in found.played and found.assumed


FOUND = {  # the round, the level and the field in question
    ("dp_ftrl", "leader of the true prefix"): ["losses act through prefix of"],
    ("dp_ftrl", "leader of the true prefix, late"): ["in round 40,001,", "losses act through prefix of"],
    ("dp_ftrl", "hint beside the prefix"): ["in round 1,000,", "losses act through kept of"],
    ("dp_ftrl", "second level without noise"): ["no noise of its own hides the loss of round 1 in prefix 2"],
    ("dp_ftrl", "a quarter of the noise from level 4 up"): ["the loss of round 1 costs ε = 3.25, where 1 is allowed"],
    ("dp_ftrl", "a quarter of the noise on the last level"): [
        "the loss of round 1 costs ε = 1.187, where 1 is allowed"
    ],
    ("dp_ftrl", "no noise after round 1,000"): ["no noise of its own hides the loss of round 1,001"],
    ("dp_ftrl", "nodes forgotten after round 1,000"): ["the loss of round 1 costs ε = 1.25, where 1 is allowed"],
    ("dp_ftrl, BLT", "noise scale x 0.75"): ["the loss of round 1 costs ε = 1.36"],
    ("dp_ftrl, BLT", "|c| of half of the rounds"): ["the loss of round 1 costs ε = 1.017"],
    ("dp_ftrl, BLT", "no cumulative sum (lowers regret)"): ["of round 1 costs ε = 10,203,911", "μ = 4512"],
    ("dp_ftrl, BLT", "C z for B z (lowers regret)"): ["the loss of round 1 costs ε = 1.047"],
    ("dp_ftrl, BLT", "buffers added"): ["prefix 2,610 is not a finite number"],
    ("dp_ftrl, BLT", "noise redrawn for every prefix"): ["of round 1 costs ε = 436.9", "μ = 25.21"],
    ("dp_ftrl, BLT", "no noise after round 1,000"): ["no noise of its own hides the loss of round 1,001"],
    ("dp_ftrl, BLT", "leader of the true prefix, late"): ["in round 40,001,", "losses act through prefix of"],
    ("dp_ftrl, BLT", "hint beside the prefix"): ["in round 1,000,", "losses act through kept of"],
    ("dp_ftrl, Honaker", "μ of half of the rounds"): ["costs ε = 1.067"],
    ("dp_ftrl, Honaker", "leader of the true prefix"): ["losses act through prefix of"],
    ("dp_ftrl, square root", "|c| of half of the rounds"): ["of round 1 costs ε = 1.045"],
    ("dp_ftrl, smooth", "√(h - w) for h - w"): ["costs ε = 1.414, where 1 is allowed"],
    ("dp_ftrl, smooth", "one number for two nodes"): ["no noise of its own hides the loss of round 1 in prefix 1"],
    ("dp_ftrl, k-ary", "h - 1 levels"): ["costs ε = 1.333, where 1 is allowed"],
    ("dp_ftrl, k-ary", "noise of the last siblings alone (lowers regret)"): ["of round 1 costs ε = 14, where 1"],
    ("dp_ftrl, k-ary", "one number for two nodes"): ["no noise of its own hides the loss of round 1 in prefix 1"],
    ("dp_ftrl, k-ary", "leader of the true prefix, late"): ["in round 40,001,", "losses act through prefix of"],
    ("dp_ftrl, negative digits", "h - 1 levels"): ["costs ε = 2, where 1 is allowed"],
    ("dp_ftrl, negative digits", "leader of the true prefix"): ["losses act through prefix of"],
    ("dp_ftpl, BLT", "no cumulative sum (lowers regret)"): ["of round 1 costs ε = 525"],
    ("dp_scrible", "base fed the true loss, late"): ["in round 40,002,", "losses act through wrapped.losses of"],
    ("dp_scrible", "base fed a thousandth of the true loss"): ["in round 2,", "losses act through wrapped.losses of"],
    ("dp_scrible", "no noise after round 1,000"): ["no noise hides the loss of round 1,001"],
    ("dp_scrible", "noise by the loss"): ["the noise of round 2 depends on the loss"],
    ("dp_scrible, scalar", "noise scale x 0.75"): ["of the scale that ε takes"],
}


@pytest.mark.slow
@pytest.mark.parametrize(("subject", "name"), FOUND)
def test_a_violation_is_told_by_its_round_its_cost_or_the_field(subject, name):
    (mutant,) = (mutant for mutant in MUTANTS if (mutant.subject, mutant.name) == (subject, name))
    found = mutant.audited(0.001, 2**15, 0)
    assert found.verdict == "VIOLATION"
    assert all(words in found.found for words in FOUND[subject, name])


BLT = {"nodes": "gaussian", "delta": 1e-6, "counter": "blt"}


def test_the_shares_of_the_mutants_of_counters_are_those_of_their_norms():
    blt = toeplitz.fitted(EXPERTS.horizon - 1, 3)
    shares = [blt.sensitivity(n) / blt.sensitivity(EXPERTS.horizon - 1) for n in (1, (EXPERTS.horizon - 1) // 2)]
    assert shares == pytest.approx([ONE, HALF], rel=1e-5)
    root, half, estimates, fewer = (
        kind(n, "gaussian").sensitivity() for kind in (SquareRoot, Honaker) for n in (249, 124)
    )
    assert [root, half / root, fewer / estimates] == pytest.approx([ROOT, HALF_ROOT, HALF_SMOOTHED], rel=1e-6)
    smooth, k_ary, negative = (
        CORRECT[f"dp_ftrl, {name}"].make().tuned(CORRECT[f"dp_ftrl, {name}"].setting)
        for name in ("smooth", "k-ary", "negative digits")
    )
    assert [smooth.sums(SHORT).sensitivity(), negative.sums(SHORT).sensitivity()] == [2, 2]
    assert k_ary.sums(EXPERTS).sensitivity() == 4


SWAPPED = {"weights[j] * own + (1.0 - weights[j]) *": "(1.0 - weights[j]) * own + weights[j] *"}
STALE = {
    "    close_level(counter, level, rng)": "    last = counter.noise[0] - counter.noise[1]\n"
    "    close_level(counter, level, rng)\n    counter.noise[0] += last"
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("subject", "changes", "file"),
    [
        ("dp_ftrl, Honaker", SWAPPED, "mechanisms.honaker"),
        ("dp_ftrl, smooth", STALE, "mechanisms.smooth"),
        ("dp_ftrl", NO_TOP_UP, ""),
        ("dp_ftrl, shared", NO_TOP_UP, ""),
        ("dp_ftrl", FIRST_TOP_UP, "mechanisms.fresh_top_up"),
    ],
    ids=["weights", "node", "no top-up", "no shared top-up", "first top-up"],
)
def test_an_error_that_costs_no_privacy_is_not_accused(subject, changes, file):
    """The weights of Honaker's estimates, swapped; noise that is kept after its node; noise besides that of nodes."""
    found = Mutant("other noise", subject, changes, file=file).audited(0.001, 2**18, seed=0)
    assert found.verdict == "CONSISTENT" and 0.99 < found.epsilon_seen <= 1, found.found


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [2, 37, 256, 300, 20_000])
def test_fresh_top_up_noise_hides_as_much_as_its_exact_account_says(horizon):
    """The matrix of a tree with fresh top-up noise, whose account is a recursion."""
    check_fresh(horizon)


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [2, 12, 37])
def test_fresh_top_up_noise_hides_as_much_in_short_games(horizon, plainly):
    check_fresh(horizon)


def test_the_cost_of_every_loss_of_a_short_game_is_computed(plainly):
    """With Honaker's estimates, the loss of round 21 of 48 costs most; it is none of the canaries."""
    known = setting(Simplex(2), 48)
    algorithm = make("dp_ftrl", epsilon=1.0, nodes="gaussian", delta=1e-6, counter="honaker").tuned(known)
    found = audit(algorithm, known)
    assert found.verdict == "CONSISTENT" and found.epsilon_seen == pytest.approx(1.0, rel=1e-9), found.found


def check_fresh(horizon):
    known = setting(Simplex(2), horizon)
    algorithm = make("dp_ftrl", epsilon=1.0, nodes="gaussian", delta=1e-6).tuned(known)
    found = audit(algorithm, known)
    assert found.verdict == "CONSISTENT" and found.epsilon_seen == pytest.approx(1.0, rel=1e-9), found.found
    less = audit(algorithm, known, state=less_noise(algorithm.state(known)))
    assert less.verdict == "VIOLATION" and "is allowed" in less.found


def less_noise(state):
    state["counter"]["scale"] *= 1 - 1e-5
    return state


@pytest.mark.slow
def test_the_noise_of_a_blt_is_measured_to_a_millionth():
    less = Mutant("less noise", "dp_ftrl, BLT", share=1 - 1e-5).audited(0.001, 2**18, seed=1)
    assert less.verdict == "VIOLATION" and "μ = 0.236707 where 0.236704 is allowed" in less.found
    more = Mutant("more noise", "dp_ftrl, BLT", share=1.5).audited(0.001, 2**18, seed=1)
    assert more.verdict == "CONSISTENT" and more.epsilon_seen == pytest.approx(
        gaussian.epsilon_of(gaussian.mu_of(1.0, 1e-6) / 1.5, 1e-6), rel=1e-9
    )


NOT_THE_SUM = "prefix 1 is not the sum of the losses and of noise that does not depend on them"
NORMAL = "rng.normal[first + i]"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "file", "words"),
    [
        (
            {"width =": "weights[0] = 0.01 if noise[0, 0] > 0 else 0.1\n    width ="},
            "mechanisms.blt",
            "depends on the noise, which is then not Gaussian",
        ),
        ({NORMAL: f"({NORMAL} + 0.1 * {NORMAL} ** 2)"}, "mechanisms.blt", NOT_THE_SUM),
        (scaled("0.5 if (losses == 0).all() else 1.0"), "", NOT_THE_SUM),
        (
            scaled("1.0 - 1e-5 if (losses == 0).all() else 1.0"),
            "",
            "the noise of prefix 1 depends on the losses, or is no multiple of `rng.normal`",
        ),
    ],
    ids=["weights by noise", "squares", "halved by zeros", "slightly less by zeros"],
)
def test_a_blt_whose_noise_is_no_linear_function_of_normal_numbers_is_refuted(changes, file, words):
    found = Mutant("other noise", "dp_ftrl, BLT", changes, file=file).audited(0.001, 2**18, seed=0)
    assert found.verdict == "VIOLATION" and words in found.found, found.found


@pytest.mark.slow
@pytest.mark.parametrize("space", [Sphere(1), Cube(3), Simplex(3)], ids=str)
def test_a_blt_of_short_games_on_other_sets(space, plainly):
    for horizon in (1, 2, 3, 40):
        check_blt(space, horizon)


@pytest.mark.slow
@pytest.mark.parametrize("space", [Sphere(1), Sphere(12), Cube(3), Simplex(3)], ids=str)
def test_a_blt_of_short_and_long_games_on_other_sets(space):
    for horizon in (1, 2, 3, 100, 10**6):
        check_blt(space, horizon)


def check_blt(space, horizon):
    known = setting(space, horizon)
    found = audit(make("dp_ftrl", epsilon=2.0, **BLT).tuned(known), known)
    assert found.verdict == "CONSISTENT", found.found
    first = found.epsilon_seen < 1.99 and "are like these" in found.assumed
    assert first if horizon == 10**6 else found.epsilon_seen == pytest.approx(2.0, rel=1e-9)


@pytest.mark.slow
def test_a_blt_whose_noise_rounding_hides_is_not_auditable_and_one_that_draws_more_is_audited(monkeypatch):
    known = setting(Simplex(2))
    algorithm = make("dp_ftrl", epsilon=1e15, **BLT).tuned(known)
    found = audit(algorithm, known)
    assert found.verdict == "NOT AUDITABLE" and "is lost in the rounding of sums of losses" in found.found
    monkeypatch.setattr(type(algorithm), "draws", lambda self, known, rounds: {"normal": np.full_like(rounds, 3)})
    found = audit(make("dp_ftrl", **BLT).tuned(known), known)
    assert found.verdict == "CONSISTENT" and "games of 65,536 rounds" in found.played


@pytest.mark.slow  # in short games: tests/audit/test_short_games.py
@pytest.mark.parametrize("subject", ["dp_ftrl", "dp_ftrl, Gaussian", "noisy_ftrl", "dp_ftpl"])
def test_noise_is_measured_to_a_millionth(subject):
    less = Mutant("less noise", subject, share=1 - 1e-5).audited(0.001, 2**18, seed=1)
    assert less.verdict == "VIOLATION" and "is allowed" in less.found
    more = Mutant("more noise", subject, share=1.5).audited(0.001, 2**18, seed=1)
    assert more.verdict == "CONSISTENT" and more.epsilon_seen < 0.7


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("horizon", some([1, 2, 3, 33], 1))
@pytest.mark.parametrize("space", [Simplex(200), Sphere(200)], ids=str)
def test_fewer_rounds_and_more_coordinates(space, horizon):
    """Games of two rounds if the experiment has no more, and at most 32 coordinates, with the same claim."""
    own = {} if isinstance(space, Simplex) else {"nodes": "gaussian", "delta": 1e-6}
    known = setting(space, horizon)
    found = audit(make("dp_ftrl", epsilon=1.0, **own).tuned(known), known)
    assert found.verdict == "CONSISTENT" and found.claim.startswith("ε = 1"), found.found
    assert f"games of {max(2, horizon)} rounds, N = 32" in found.played
    assert "with N = 200 it behaves as with N = 32" in found.assumed


@pytest.mark.slow
@pytest.mark.parametrize(("name", "space"), [("dp_ftrl", Simplex(10)), ("dp_scrible", Sphere(3))])
def test_of_a_long_game_the_first_rounds_are_played_with_its_parameters(name, space):
    known = setting(space, 10**6)
    found = audit(make(name, epsilon=1.0).tuned(known), known)
    assert found.verdict == "CONSISTENT" and "the first 65,536 of 1,000,000 rounds" in found.played
    assert "are like these" in found.assumed
    assert found.epsilon_seen == pytest.approx(16 / 20 if name == "dp_ftrl" else 1.0, rel=0.03)  # 16 of 20 levels


@pytest.mark.parametrize(("horizon", "epsilon"), first(1, [(16, 1e13), (64, 1e12), (2**16, 1e8)]))
def test_noise_that_rounding_hides_is_not_auditable(horizon, epsilon, request):
    if horizon < 100:
        request.getfixturevalue("plainly")
    known = setting(Simplex(2), horizon)
    found = audit(make("dp_ftrl", epsilon=epsilon).tuned(known), known)
    assert found.verdict == "NOT AUDITABLE" and "rounding" in found.found


TRIANGLE = Polytope(2, ((1, 1), (-1, 0), (0, -1)), (1, 2, 3))


@pytest.mark.slow
@pytest.mark.parametrize("space", [Sphere(1), Cube(3), Sphere(200), TRIANGLE], ids=str)
@pytest.mark.parametrize("noise", ["vector", "scalar"])
def test_noisy_losses_of_other_sets_in_short_games(space, noise, plainly):
    check_noisy(setting(space, 256), noise)


@pytest.mark.slow
@pytest.mark.parametrize("space", [Sphere(1), Cube(3), Sphere(200), TRIANGLE], ids=str)
@pytest.mark.parametrize("noise", ["vector", "scalar"])
def test_noisy_losses_of_other_sets(space, noise):
    check_noisy(setting(space), noise)


def check_noisy(known, noise):
    found = audit(make("dp_scrible", epsilon=2.0, noise=noise).tuned(known), known, budget=2**15)
    assert found.verdict == "CONSISTENT" and 0.9 < found.epsilon_seen < 2 + 1e-9, found.found


def box(n):
    return Polytope(n, tuple(map(tuple, np.vstack([np.eye(n), -np.eye(n)]))), (1.0,) * 2 * n)


@pytest.mark.slow
def test_noisy_losses_of_a_box_in_a_short_game():
    known = setting(box(12), 2**9)
    assert audit(make("dp_scrible", epsilon=2.0).tuned(known), known).verdict == "CONSISTENT"


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [64, 512])
def test_little_noise_that_cancels_losses_is_audited(horizon):
    """Moves of the numbers cancel the losses of a twin of a game without losses, up to the rounding of their sum."""
    known = setting(Simplex(2), horizon)
    for epsilon in (1e4, 1e8):
        algorithm = make("dp_ftrl", epsilon=epsilon).tuned(known)
        found = audit(algorithm, known)
        assert found.verdict == "CONSISTENT" and found.epsilon_seen == pytest.approx(epsilon, rel=1e-6)
        claimed = algorithm.state(known)
        claimed["counter"]["scale"] *= 0.99
        assert audit(algorithm, known, state=claimed).verdict == "VIOLATION"


def test_algorithms_without_a_guarantee_are_not_auditable():
    for name, space in (("ftrl", Simplex(3)), ("ftpl", Cube(2)), ("scrible", Sphere(2))):
        found = audit(make(name).tuned(setting(space)), setting(space))
        assert found.verdict == "NOT AUDITABLE" and found.cost == 0
